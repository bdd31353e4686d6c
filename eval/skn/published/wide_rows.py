"""Builds the published benchmark's wide rows: one object per sample, a group of keys per pipeline.

The keys are those of the published code (``src/benchmark.py`` and ``src/evaluator.py``). Where the
published code invents a missing value, null is written here: an answer that could not be judged is
neither wrong nor free of hallucination. If samples are repeated, each repeat is a separate
object, with its number under ``repeat``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from eval.skn.formats.extraction import Extraction
from eval.skn.formats.pipelines import PIPELINES
from eval.skn.items import Sample
from eval.skn.judges.record import Verdicts
from eval.skn.retention.retention import estimate_tokens
from eval.skn.row import SknRow
from eval.skn.search_source import Source

NOBODY: Final = "nobody"
"""Stands for the judge if there was none."""
Wide = dict[str, Any]


class WideRows:
    """Builds the published output files from the rows of a run.

    Args:
        samples: the samples of the run.
        searches: the search results of each sample, in the same order.
        rows: the rows of the run.
        pipelines: names, in the order of the columns.
        answered_by, judged_by: the models, or ``NOBODY``; None if they are not known.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        searches: Sequence[Source],
        rows: Iterable[SknRow],
        pipelines: Sequence[str],
        *,
        answered_by: str | None = None,
        judged_by: str | None = None,
    ) -> None:
        self._makers = {"answered_by": answered_by, "judged_by": judged_by}
        self._samples = samples
        self._searches = searches
        self._pipelines = pipelines
        self._rows: dict[tuple[str, int], dict[str, SknRow]] = {}
        for row in rows:
            self._rows.setdefault((row.id, row.repeat), {})[row.pipeline] = row
        self._repeats = 1 + max((repeat for _, repeat in self._rows), default=0)

    def build_searches(self) -> list[Wide]:
        """Builds ``search_results.json``.

        After the published keys come two keys of our own: ``results``, the list of search results,
        and ``error``, the reason why the search failed.
        """
        return [
            {
                "id": search.id,
                "question": search.question,
                "raw_text": search.text,
                "raw_text_chars": len(search.text),
                "results": [msgspec.to_builtins(result) for result in search.results],
                "error": search.error,
            }
            for search in self._searches
        ]

    def build_extractions(self) -> list[Wide]:
        """Builds ``extractions.json``: the context of each answer and its validity."""
        return [
            {**head, **_prefix_keys(rows, _build_extraction_part)}
            for head, rows in self._iter_samples(lambda sample, _: {"id": sample.id})
        ]

    def build_responses(self) -> list[Wide]:
        """Builds ``agent_responses.json``."""
        return [
            {**head, **{f"{name}_response": _build_response(row) for name, row in rows.items()}}
            for head, rows in self._iter_samples(
                lambda sample, _: {"id": sample.id, "question": sample.question}
            )
        ]

    def build_details(self) -> list[Wide]:
        """Builds ``detailed_results.json``: the answers and the judges' verdicts on them."""
        return [
            {
                **head,
                **_prefix_keys(rows, _build_answer_part),
                **_prefix_keys(rows, _build_verdict_part),
            }
            for head, rows in self._iter_samples(
                lambda sample, search: {
                    "id": sample.id,
                    "category": sample.category,
                    "question": sample.question,
                    "raw_text": search.text,
                    "ground_truth": sample.ground_truth,
                    "answerable": sample.answerable,
                    **self._makers,
                }
            )
        ]

    def _iter_samples(self, build_head: Any) -> Iterator[tuple[Wide, Mapping[str, SknRow]]]:
        """Yields each sample and repeat: its first keys, and its rows by pipeline name."""
        for sample, search in zip(self._samples, self._searches, strict=True):
            for repeat in range(self._repeats):
                by_name = self._rows[sample.id, repeat]
                repeat_key = {"repeat": repeat} if self._repeats > 1 else {}
                yield (
                    {**build_head(sample, search), **repeat_key},
                    {name: by_name[name] for name in self._pipelines},
                )


def _prefix_keys(rows: Mapping[str, SknRow], build_part: Any) -> Wide:
    return {
        f"{name}_{key}": value
        for name, row in rows.items()
        for key, value in build_part(row).items()
    }


def _build_extraction_part(row: SknRow) -> Wide:
    extraction = row.extraction
    if extraction is None or not extraction.context:
        return {"extraction": None, "tokens_est": None, "validity": _get_validity(extraction)}
    return {
        "extraction": _decode_context(extraction),
        "tokens_est": estimate_tokens(extraction.context),
        "validity": _get_validity(extraction),
    }


def _get_validity(extraction: Extraction | None) -> str | None:
    return None if extraction is None else extraction.validity


def _decode_context(extraction: Extraction) -> Any:
    """Returns the context, decoded if it is JSON, otherwise as text."""
    if PIPELINES[extraction.pipeline].notation == "json":
        # In the published setting a reply in JSON that is not an object is passed on as Python's
        # str() of it, which may not be JSON.
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            return msgspec.json.decode(extraction.context)
    return extraction.context


def _build_response(row: SknRow) -> Wide:
    # Here ``abstained`` is the field of the reply; in ``detailed_results.json`` it is the outcome.
    abstained_field = None if row.response is None else row.response.abstained
    return {**_build_answer_part(row), "abstained": abstained_field}


def _build_answer_part(row: SknRow) -> Wide:
    response = row.response
    if response is None:
        return {"answer": "", "confidence": None, "reasoning": ""}
    return {
        "answer": response.answer,
        "confidence": response.confidence,
        "reasoning": response.reasoning,
    }


def _build_verdict_part(row: SknRow) -> Wide:
    return {
        "correct": _get_published_correctness(row),
        "hallucination": None if row.verdicts is None else build_hallucination_record(row.verdicts),
        "groundedness": None if row.verdicts is None else build_groundedness_record(row.verdicts),
        "abstained": row.outcome == "ABSTAINED",
        "outcome": row.outcome,
        "stage": row.stage,
        "error": row.error,
    }


def build_hallucination_record(verdicts: Verdicts) -> Wide:
    """Returns the verdict on made-up claims under the published keys; null for missing values."""
    claims = verdicts.hallucination
    share = None
    if claims.fabricated is not None and claims.total_claims:
        share = claims.fabricated / claims.total_claims
    return {
        "hallucination_detected": claims.detected,
        "hallucination_severity": claims.severity,
        "total_claims": claims.total_claims,
        "fabricated_claims": list(claims.fabricated_claims),
        "normalized_hallucination": share,
    }


def build_groundedness_record(verdicts: Verdicts) -> Wide:
    """Returns the verdict on groundedness under the published keys; null for missing values."""
    return {
        "groundedness_score": verdicts.groundedness,
        "unsupported_fraction": verdicts.unsupported_fraction,
    }


def _get_published_correctness(row: SknRow) -> bool | None:
    """Returns whether the answer is correct, as published.

    Null for unanswerable samples; an abstention on an answerable sample is wrong.
    """
    if not row.answerable:
        return None
    correct = None if row.verdicts is None else row.verdicts.correct
    return False if correct is None and row.outcome == "ABSTAINED" else correct
