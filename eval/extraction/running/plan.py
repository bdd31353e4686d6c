"""Which rows a run has, and what is asked for each."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from eval.extraction.row import OUTCOMES, ExtractionRow, Outcome
from eval.extraction.running.extractors import Extracted, ModelExtractor, RuleExtractor
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.extraction.settings import Matching
from eval.result import Usage
from eval.running.grid import AsyncQuestion, Grid, RowKey, SyncQuestion
from eval.running.row_layout import RowLayout
from eval.running.workers import AnsweredRow
from kg.base.files import to_json_bytes

Extractor = ModelExtractor | RuleExtractor

_SHOWN_ERRORS = 3


class ExtractionPlan(Grid[ExtractionRow]):
    """Every sample × every repeat × every system.

    Args:
        samples: all of the data set.
        extractors: one of each system, in the order of the rows.
        places: where the rows belong.
        matching: how extractions are compared with what was expected.
        seen: is given outcome code and usage of every row that is read.
        ready: awaited before a model is asked.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        extractors: Sequence[Extractor],
        layout: RowLayout,
        matching: Matching,
        *,
        on_row: Callable[[int, Usage | None], None],
        ready: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        super().__init__(
            [sample.id for sample in samples],
            [extractor.name for extractor in extractors],
            layout,
            row_type=ExtractionRow,
            row_key=_told,
            nouns=("sample", "system"),
            on_row=on_row,
        )
        self._samples = samples
        self._extractors = extractors
        self._matching = matching
        self._ready = ready

    def question(self, place: int) -> AsyncQuestion | SyncQuestion:
        """What is asked for a place."""
        item, repeat, column = self.split_position(place)
        sample, extractor = self._samples[item], self._extractors[column]
        if isinstance(extractor, ModelExtractor):
            return AsyncQuestion(place, repeat, self._later(sample, extractor, repeat))
        return SyncQuestion(place, repeat, self._now(sample, extractor, repeat))

    def _later(
        self, sample: Sample, extractor: ModelExtractor, repeat: int
    ) -> Callable[[], Coroutine[Any, Any, AnsweredRow]]:
        async def work() -> AnsweredRow:
            await self._ready()
            got = await extractor.extract(sample.text, sample.schema)
            return _answered(row_of(sample, extractor.name, repeat, got, self._matching))

        return work

    def _now(
        self, sample: Sample, extractor: RuleExtractor, repeat: int
    ) -> Callable[[], AnsweredRow]:
        def work() -> AnsweredRow:
            predicted = extractor.extract(sample.text, sample.schema)
            got = Extracted(
                parsed=True,
                predicted=predicted,
                input_chars=len(sample.text),
                output_chars=len(to_json_bytes(predicted).decode()),
            )
            return _answered(row_of(sample, extractor.name, repeat, got, self._matching))

        return work


def row_of(
    sample: Sample, system: str, repeat: int, got: Extracted, matching: Matching
) -> ExtractionRow:
    """The row of one extraction, scored.

    Args:
        sample: what was extracted from, with what was expected.
        system: who extracted.
        repeat: for the n-th time.
        got: what came.
        matching: how it is compared.
    """
    found = score_sample(sample, got.predicted, matching, parsed=got.parsed).score
    outcome: Outcome = "OK" if found.valid else "INVALID"
    if not got.parsed:
        outcome = "ERROR" if got.failed else "UNPARSABLE"
    problem = got.problem
    if outcome == "INVALID":
        problem = "not valid under the schema: " + "; ".join(found.schema_errors[:_SHOWN_ERRORS])
    return ExtractionRow(
        id=sample.id,
        system=system,
        repeat=repeat,
        outcome=outcome,
        predicted=got.predicted if got.parsed else None,
        raw=got.raw,
        problem=problem,
        notes=got.notes,
        confidence=got.confidence,
        latency_s=got.latency_s,
        ttft_s=got.ttft_s,
        at_s=got.at_s,
        usage=got.usage,
        retries=got.retries,
        timed_out=got.timed_out,
        input_chars=got.input_chars,
        output_chars=got.output_chars,
        score=found,
    )


def _answered(row: ExtractionRow) -> AnsweredRow:
    return AnsweredRow(OUTCOMES.index(row.outcome), to_json_bytes(row) + b"\n", row.usage)


def _told(row: ExtractionRow) -> RowKey:
    return RowKey(row.id, row.system, row.repeat, OUTCOMES.index(row.outcome), row.usage)
