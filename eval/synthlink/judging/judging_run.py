"""Puts matters to judges, and keeps what they say in a journal that survives anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from eval.judges.choosing import Chosen, choose_judges
from eval.judges.panel import USUAL_REPEATS
from eval.running.grid import shuffled
from eval.running.journal import Journal
from eval.running.session import Limits, Session
from eval.running.totals import CallTotals, Meter
from eval.running.workers import Question as Asked
from eval.synthlink.judging.claim_judge import ClaimJudge
from eval.synthlink.judging.judging_plan import LOST, JudgingPlan
from eval.synthlink.judging.matters import Matter
from eval.synthlink.judging.record import JUDGED, JudgedLine, Judgement
from kg.base.errors import TooManyErrorsError
from kg.base.files import write_errors_named

if TYPE_CHECKING:
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Who judges, and how they are called.

    Attributes:
        models: as given with ``--judge-model``.
        client: how models are called.
        repeats: votes of each on every claim; null for the usual number.
        answerer: the model that answered; null where that is not known here.
        by_model: whether a model answered at all, as far as is known.
        limits: how many are asked at once, and when to give up.
        spent: what was paid before, for the answers, which ``limits.max_cost`` bounds too.
    """

    models: tuple[str, ...]
    client: ClientOptions
    repeats: int | None = None
    answerer: str | None = None
    by_model: bool = True
    limits: Limits = field(default_factory=Limits)
    spent: CallTotals | None = None

    def open(self) -> tuple[Chosen, ClaimJudge]:
        """Finds out who judges, and opens a client for each; nothing is sent yet.

        Raises:
            SettingError: none is named, one twice, the answering model though ``same`` was not
                said, or the number of votes makes no sense.
            ModelAccessError: a name is none, or its address or key is not set.
        """
        chosen = choose_judges(self.models, self.answerer, by_model=self.by_model)
        repeats = USUAL_REPEATS if self.repeats is None else self.repeats
        return chosen, ClaimJudge.open(self.client, chosen.models, repeats=repeats)


def judge_matters(matters: Sequence[Matter], folder: Path, options: JudgeOptions) -> Judgement:
    """Asks what the journal in ``folder`` lacks.

    Each line is written as it comes. Whatever ends this, the same call goes on from there; what
    got no verdict is asked again. Lines of other claims or judges stay where they are.

    Args:
        matters: what is to be judged.
        folder: of the scores.
        options: who judges.

    Returns:
        All that was said of these matters, in their order.

    Raises:
        SettingError, ModelAccessError: as ``JudgeOptions.open``; or no call can succeed.
        RecordError, DuplicateIdError: the journal is damaged.
        WriteError: it cannot be written, or another run is writing it.
        CostLimitError, TooManyErrorsError: a limit was reached first.
    """
    chosen, judge = options.open()
    meter = Meter()
    path = folder / JUDGED
    plan = JudgingPlan(matters, judge, seen=meter.row)
    with Journal(path, len(matters) + _lines(path)) as journal:
        journal.load(plan)
        journal.drop(LOST)
        meter.drop(LOST)
        meter.earlier(None)
        if options.spent is not None:
            meter.also(CallTotals(spent_usd=options.spent.spent_usd))
        missing = [place for place in range(len(matters)) if not journal.has(place)]
        order = shuffled(missing, 0, "synthlink judge")

        def questions() -> Iterator[Asked]:
            return (plan.question(place) for place in order)

        try:
            Session(
                f"judge {', '.join(chosen.models)}",
                journal,
                meter,
                options.limits,
                error=LOST,
                missing=len(order),
                save=lambda _status: None,
            ).run(questions(), waits=True, closing=[judge.aclose])
        except TooManyErrorsError as error:
            raise TooManyErrorsError(
                f"{options.limits.max_consecutive_errors} claims in a row got no verdict from the "
                "judge",
                where=str(path),
                hint="See `lost` in its last lines. When it is mended, give the same command "
                "again: what has a verdict is kept.",
            ) from error
        decode = msgspec.json.Decoder(JudgedLine).decode
        lines = [decode(line) for line, _ in zip(journal.lines(), matters, strict=False)]
    return Judgement(
        models=chosen.models,
        same=chosen.same,
        planned=judge.planned,
        params=judge.params(),
        lines=tuple(lines),
    )


def _lines(path: Path) -> int:
    """How many lines a journal has; none where there is no file."""
    if not path.is_file():
        return 0
    with write_errors_named(path), path.open("rb") as handle:
        return sum(1 for _ in handle)
