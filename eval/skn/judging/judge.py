"""Judges the replies of a run, and anchors whose verdicts are known, for the harness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import msgspec

from eval.harness.reply import Reply, Vote, read_votes
from eval.harness.systems.system_call import FATAL_ERRORS
from eval.model.calls import current_calls
from eval.model.foreign_values import describe_failure
from eval.model.usage import round_cost
from eval.skn.items import Sample
from eval.skn.judges.anchors import AnchorRow, assign_wrong_answers, judge_anchors
from eval.skn.judges.record import Failure
from eval.skn.judging.judge_set import JudgeSet
from eval.skn.row_builder import build_row
from eval.skn.search_source import Source
from kg.base.errors import RecordError


class SknJudge:
    """The judge of a run.

    Args:
        judge_set: the judges.
        samples: all samples of the run, asked or not. The wrong answers of anchors are drawn from
            all of them, so that a higher limit does not change the anchors.
        sources: the search results by sample id; read when a reply is judged.
        published: whether abstentions are read and judged as in the published benchmark.
        has_anchors: whether the samples with an answer have anchors.
        seed: seed of the wrong answers that anchors show.
        wrong_answers: sample id → wrong answer that the sample's anchor showed to an earlier
            judge; it is shown again instead of one that is drawn.
    """

    def __init__(
        self,
        judge_set: JudgeSet,
        samples: Sequence[Sample],
        sources: Mapping[str, Source],
        *,
        published: bool,
        has_anchors: bool,
        seed: int,
        wrong_answers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name = judge_set.model
        self._judge_set = judge_set
        self._sources = sources
        self._published = published
        self._has_anchors = has_anchors
        truths = {sample.id: sample.ground_truth for sample in samples if sample.answerable}
        self._wrong_answers = {**assign_wrong_answers(truths, seed), **wrong_answers}

    def needs_vote(self, sample: Sample, reply: Reply) -> bool:
        """Returns whether a reply has an answer or abstention in words."""
        return build_row(sample, reply, None, published=self._published).has_answer_text

    def has_anchor(self, sample: Sample) -> bool:
        """Returns whether a sample has an anchor."""
        return self._has_anchors and sample.answerable

    async def judge_reply(self, sample: Sample, reply: Reply) -> Vote:
        """Judges a reply; the verdict is a ``Verdicts``.

        An abstention from a question with an answer is not right, and no judge is needed to say
        so; but what else an abstention states may be made up.
        """
        row = build_row(sample, reply, None, published=self._published)
        if row.response is None:
            raise ValueError(f"the reply to {sample.id!r} has no answer to judge")
        compared = sample.answerable and (self._published or row.outcome == "ANSWERED")
        try:
            verdicts = await self._judge_set.judges.judge_answer(
                question=sample.question,
                answer=row.response.answer,
                ground_truth=sample.ground_truth if compared else None,
                sources=self._sources[sample.id].text,
                # The same for every pipeline, so that equal answers are judged by equal prompts.
                seed_key=sample.id,
            )
        except FATAL_ERRORS:
            raise
        except Exception as error:
            return Vote(failed=True, problem=describe_failure(error))
        usage = round_cost(verdicts.usage)
        return Vote(
            verdict=msgspec.structs.replace(verdicts, usage=usage),
            failed=_has_failed_call(verdicts.problems),
            usage=usage,
        )

    async def judge_anchor(self, sample: Sample) -> Vote:
        """Judges the right answer and a wrong one; the verdict is an ``AnchorRow``."""
        try:
            row = await judge_anchors(
                self._judge_set.judges,
                id=sample.id,
                question=sample.question,
                ground_truth=sample.ground_truth,
                wrong_answer=self._wrong_answers.get(sample.id),
                seed_key=sample.id,
            )
        except FATAL_ERRORS:
            raise
        except Exception as error:
            return Vote(failed=True, problem=describe_failure(error))
        usage = round_cost(current_calls().sum_usage())
        return Vote(verdict=row, failed=_has_failed_call(row.problems), usage=usage)

    async def aclose(self) -> None:
        """Closes the connections to models."""
        for close in self._judge_set.on_close:
            await close()


def read_anchors(path: Path) -> list[AnchorRow]:
    """Returns the judged anchors in a file of votes.

    Raises:
        RecordError: a line is damaged, or the verdict on an anchor is.
    """
    verdicts = [vote.verdict for vote in read_votes(path) if vote.anchor]
    try:
        return [msgspec.convert(row, AnchorRow) for row in verdicts if row is not None]
    except msgspec.ValidationError as error:
        raise RecordError(
            f"the verdict on an anchor cannot be read: {error}",
            where=str(path),
            hint="Judge the run again with `epoche skn judge`.",
        ) from error


def _has_failed_call(problems: Sequence[Failure]) -> bool:
    return any(problem.kind == "call" for problem in problems)
