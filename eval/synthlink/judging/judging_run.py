"""Puts matters to judges, and keeps what they say in a journal that survives anything."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from eval.judges.choosing import Chosen, choose_judges
from eval.judges.panel import USUAL_REPEATS, check_panel
from eval.running.grid import shuffled
from eval.running.journal import Journal
from eval.running.session import Limits, Session
from eval.running.totals import CallTotals, Meter
from eval.running.workers import Question as Asked
from eval.synthlink.judging.claim_judge import ClaimJudge
from eval.synthlink.judging.judging_plan import LOST, JudgingPlan
from eval.synthlink.judging.matters import Matter
from eval.synthlink.running.answerer import Answerer
from eval.synthlink.verdicts.record import JUDGED, JudgedLine, Judgement
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
        answerers: who answered in each file whose claims are judged, the one scored first.
        limits: how many are asked at once, and when to give up.
        spent: what was paid before, for the answers, which ``limits.max_cost`` bounds too.
    """

    models: tuple[str, ...]
    client: ClientOptions
    repeats: int | None = None
    answerers: tuple[Answerer, ...] = (Answerer(),)
    limits: Limits = field(default_factory=Limits)
    spent: CallTotals | None = None

    def choose(self) -> Chosen:
        """Finds out who judges.

        Raises:
            SettingError: none is named, one twice, a model that answered though ``same`` was not
                said, or the number of votes makes no sense.
            ModelAccessError: a name is none, or its address or key is not set.
        """
        first, *others = self.answerers
        chosen = choose_judges(self.models, first.model, by_model=first.by_model)
        check_panel(len(chosen.models), self.votes)
        if not chosen.same:
            for one in others:
                choose_judges(chosen.models, one.model, by_model=one.by_model)
        return chosen

    @property
    def votes(self) -> int:
        """Of each judge on every claim."""
        return USUAL_REPEATS if self.repeats is None else self.repeats


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
        SettingError, ModelAccessError: as ``JudgeOptions.choose``; or no call can succeed.
        RecordError, DuplicateIdError: the journal is damaged.
        WriteError: it cannot be written, or another run is writing it.
        CostLimitError, TooManyErrorsError: a limit was reached first.
    """
    chosen = options.choose()
    with _opened(options, chosen) as judge:
        return Judgement(
            models=chosen.models,
            same=chosen.same,
            planned=judge.planned,
            params=judge.params(),
            lines=tuple(_judged(matters, folder, judge, options)),
        )


@contextmanager
def _opened(options: JudgeOptions, chosen: Chosen) -> Iterator[ClaimJudge]:
    """The judge, closed whatever happens before anybody asks it."""
    judge = ClaimJudge.open(options.client, chosen.models, repeats=options.votes)
    try:
        yield judge
    finally:
        # In a thread of its own, since a notebook's runs a loop already.
        with ThreadPoolExecutor(1) as threads:
            threads.submit(lambda: asyncio.run(judge.aclose())).result()


def _judged(
    matters: Sequence[Matter], folder: Path, judge: ClaimJudge, options: JudgeOptions
) -> list[JudgedLine]:
    """The journal's lines of all matters, once what it lacks was asked."""
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
                f"judge {', '.join(judge.models)}",
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
        return [decode(line) for line in islice(journal.lines(), len(matters))]


def _lines(path: Path) -> int:
    """How many lines a journal has; none where there is no file."""
    if not path.is_file():
        return 0
    with write_errors_named(path), path.open("rb") as handle:
        return sum(1 for _ in handle)
