"""Asks judge models about claims, and writes their verdicts to a journal.

The lines are no ``Vote``: a vote is on one reply, and there is one on each. A line here is on a
claim, of which a reply has several, and which may occur in several files and repeats; and the lines
of several judges stay in one file. So the file is not the ``votes.jsonl`` of a run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.harness.folder_run import close_clients
from eval.harness.judging.judge_run import JudgeRun, collect_lines
from eval.harness.session import RunLimits
from eval.harness.totals import CallTotals
from eval.judges.panel import DEFAULT_REPEATS, check_panel
from eval.judges.selection import JudgeSelection, choose_judges
from eval.model.calls import current_calls
from eval.model.usage import round_cost
from eval.synthlink.answer_source import AnswerSource
from eval.synthlink.judges.claim_judge import ClaimJudge
from eval.synthlink.judges.judge_items import JudgeItem
from eval.synthlink.judges.nli_judge import NliJudge, check_nli_model
from eval.synthlink.verdicts.record import JUDGED_FILE, Judgement, VerdictLine
from eval.synthlink.verdicts.score_update import hash_answer

if TYPE_CHECKING:
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Which models judge, and how they are called.

    Attributes:
        models: as given with ``--judge-model``.
        client: how models are called.
        repeats: votes of each model on every claim; None for the default number.
        answerers: for each file whose claims are judged, the model that answered. The first file is
            the one to be scored; the others are compared with it.
        limits: concurrency, maximum cost, and after how many errors to stop.
        nli: folder of an NLI cross-encoder that judges instead of models; None for models.
        earlier_totals: usage and cost of the answers before judging; it counts towards
            ``limits.max_cost``.
    """

    models: tuple[str, ...]
    client: ClientOptions
    repeats: int | None = None
    answerers: tuple[AnswerSource, ...] = (AnswerSource(),)
    limits: RunLimits = field(default_factory=RunLimits)
    nli: Path | None = None
    earlier_totals: CallTotals | None = None

    def select_judges(self) -> JudgeSelection:
        """Resolves and checks the names of the judges.

        Raises:
            SettingError: no judge is named, a judge is named twice, a model that answered is named
                as a judge other than by ``--judge-model same``, or the number of votes is out of
                range; or the NLI model or its extra is not usable.
            MissingFileError: a file of the NLI model is missing.
            ModelAccessError: a name is not a known model, or its address or key is not set.
        """
        if self.nli is not None:
            check_nli_model(self.nli)
            return JudgeSelection((f"nli/{self.nli.resolve().name}",), same=False)
        first, *other_answerers = self.answerers
        selection = choose_judges(self.models, first.model, answered_by_model=first.by_model)
        check_panel(len(selection.models), self.votes_per_judge)
        if not selection.same:  # The first answerer is not one of the judges.
            for answerer in other_answerers:
                choose_judges(selection.models, answerer.model, answered_by_model=answerer.by_model)
        return selection

    @property
    def votes_per_judge(self) -> int:
        """Votes of each judge on every claim."""
        return DEFAULT_REPEATS if self.repeats is None else self.repeats


def collect_verdicts(items: Sequence[JudgeItem], folder: Path, options: JudgeOptions) -> Judgement:
    """Judges the items that have no verdict yet in the journal in ``folder``.

    Each line is written as its verdict arrives. If the run is interrupted, the same call resumes
    it; items that got no verdict are judged again. Lines on other claims or by other judges are
    kept.

    Args:
        items: the items to be judged.
        folder: folder of the scores.
        options: which models judge, and how they are called.

    Returns:
        The verdicts on these items, in their order.

    Raises:
        SettingError, ModelAccessError: as ``JudgeOptions.select_judges``; or no call can succeed.
        RecordError, DuplicateIdError: the journal is damaged.
        WriteError: the journal cannot be written, or another run is writing it.
        CostLimitError, TooManyErrorsError: a limit was reached first.
    """
    if options.nli is not None:
        nli = NliJudge(options.nli)
        lines = _collect_lines_of_nli(items, folder, nli, options)
        return Judgement(
            models=(nli.name,), same=False, planned=1, params=nli.params(), lines=lines
        )
    selection = options.select_judges()
    judge = ClaimJudge.open(options.client, selection.models, repeats=options.votes_per_judge)

    async def judge_with_models(item: JudgeItem, key: str) -> VerdictLine:
        return await _judge_item(item, key, judge)

    try:
        run = _describe_run(items, folder, judge.params(), judge.models, judge_with_models, options)
        lines = collect_lines(replace(run, on_close=[judge.aclose]))
    finally:
        close_clients([judge.aclose])
    return Judgement(
        models=selection.models,
        same=selection.same,
        planned=judge.planned_votes,
        params=judge.params(),
        lines=lines,
    )


def _collect_lines_of_nli(
    items: Sequence[JudgeItem], folder: Path, nli: NliJudge, options: JudgeOptions
) -> tuple[VerdictLine, ...]:
    """Collects the verdicts of a cross-encoder; those of other judges stay in the journal."""

    async def judge_with_nli(item: JudgeItem, key: str) -> VerdictLine:
        return nli.judge_item(item, key)

    # It costs nothing, and claims without a verdict, whose evidence is too long, are no failures.
    unlimited = replace(options, limits=RunLimits(max_consecutive_errors=0))
    return collect_lines(
        _describe_run(items, folder, nli.params(), (nli.name,), judge_with_nli, unlimited)
    )


def _describe_run(
    items: Sequence[JudgeItem],
    folder: Path,
    params: dict[str, Any],
    models: Sequence[str],
    judge: Callable[[JudgeItem, str], Awaitable[VerdictLine]],
    options: JudgeOptions,
) -> JudgeRun[VerdictLine]:
    keys = [item.compute_key(params) for item in items]

    async def judge_item(position: int) -> VerdictLine:
        return await judge(items[position], keys[position])

    earlier = options.earlier_totals
    return JudgeRun(
        path=folder / JUDGED_FILE,
        title=f"judge {', '.join(models)}",
        noun="claim",
        keys=keys,
        names=[f"a {item.kind} of question {item.question_id!r}" for item in items],
        line_type=VerdictLine,
        judge_task=judge_item,
        limits=options.limits,
        spent_usd=None if earlier is None else earlier.spent_usd,
        groups=[(item.question_id, item.view.evidence) for item in items],
    )


async def _judge_item(item: JudgeItem, key: str, judge: ClaimJudge) -> VerdictLine:
    result = await judge.judge_claim(item.view)
    calls = current_calls()
    return VerdictLine(
        key=key,
        kind=item.kind,
        question_id=item.question_id,
        claim=item.view.claim,
        verdict=result.verdict,
        split=result.is_split,
        planned=judge.planned_votes,
        votes=result.votes,
        lost=result.lost_votes,
        answer_sha256=hash_answer(item.view.evidence[0]) if item.kind == "step" else "",
        latency_s=round(calls.latency_s, 4) if calls.calls else None,
        usage=round_cost(calls.sum_usage()),
    )
