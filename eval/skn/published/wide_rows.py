"""The rows as the published benchmark writes them: one wide object a sample, a column a pipeline.

The keys are its own (``src/benchmark.py`` and ``src/evaluator.py``). Where it writes an invented
value for what it does not have, null stands here: an answer that could not be judged is neither
wrong nor free of hallucination. Where samples are asked more than once, every time is an object of
its own that says which (``repeat``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from eval.skn.formats.extracting import Extraction
from eval.skn.judges.record import Verdicts
from eval.skn.pipelines import PIPELINES
from eval.skn.running.row import SknRow
from eval.skn.running.samples import Sample
from eval.skn.running.searching import Found

Wide = dict[str, Any]

CHARS_A_TOKEN = 4
"""The published estimate of tokens is a quarter of the characters; the server's counts are in the
rows."""


def tokens_estimate(context: str) -> int:
    """The published estimate of a context's tokens."""
    return max(1, len(context) // CHARS_A_TOKEN)


class WideRows:
    """Rows by sample, repeat and pipeline, and what is made of them.

    Args:
        samples: those that were asked.
        found: what was found for each, in the same order.
        rows: the rows of the run.
        pipelines: in the order of the columns.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        found: Sequence[Found],
        rows: Iterable[SknRow],
        pipelines: Sequence[str],
    ) -> None:
        self._samples = samples
        self._found = found
        self._pipelines = pipelines
        self._rows: dict[tuple[str, int], dict[str, SknRow]] = {}
        for row in rows:
            self._rows.setdefault((row.id, row.repeat), {})[row.pipeline] = row
        self._repeats = 1 + max((repeat for _, repeat in self._rows), default=0)

    def searches(self) -> list[Wide]:
        """``search_results.json``: the published keys, then the single results and failures."""
        return [
            {
                "id": one.id,
                "question": one.question,
                "raw_text": one.text,
                "raw_text_chars": len(one.text),
                "results": [msgspec.to_builtins(result) for result in one.results],
                "error": one.error,
            }
            for one in self._found
        ]

    def extractions(self) -> list[Wide]:
        """``extractions.json``: what the agent was given, and how it could be read."""
        return [
            {**head, **_of_each(rows, _extracted)}
            for head, rows in self._each(lambda sample, _: {"id": sample.id})
        ]

    def responses(self) -> list[Wide]:
        """``agent_responses.json``."""
        return [
            {**head, **{f"{name}_response": _response(row) for name, row in rows.items()}}
            for head, rows in self._each(
                lambda sample, _: {"id": sample.id, "question": sample.question}
            )
        ]

    def details(self) -> list[Wide]:
        """``detailed_results.json``: what was answered, and what the judges say of it."""
        return [
            {**head, **_of_each(rows, _answered), **_of_each(rows, _judged)}
            for head, rows in self._each(
                lambda sample, found: {
                    "id": sample.id,
                    "category": sample.category,
                    "question": sample.question,
                    "raw_text": found.text,
                    "ground_truth": sample.ground_truth,
                    "answerable": sample.answerable,
                }
            )
        ]

    def _each(self, head: Any) -> Iterator[tuple[Wide, Mapping[str, SknRow]]]:
        for sample, found in zip(self._samples, self._found, strict=True):
            for repeat in range(self._repeats):
                by_name = self._rows[sample.id, repeat]
                asked = {"repeat": repeat} if self._repeats > 1 else {}
                yield {**head(sample, found), **asked}, {n: by_name[n] for n in self._pipelines}


def _of_each(rows: Mapping[str, SknRow], part: Any) -> Wide:
    return {
        f"{name}_{key}": value for name, row in rows.items() for key, value in part(row).items()
    }


def _extracted(row: SknRow) -> Wide:
    extraction = row.extraction
    if extraction is None or not extraction.context:
        return {"extraction": None, "tokens_est": None, "validity": _validity(extraction)}
    return {
        "extraction": _as_handed_on(extraction),
        "tokens_est": tokens_estimate(extraction.context),
        "validity": _validity(extraction),
    }


def _validity(extraction: Extraction | None) -> str | None:
    return None if extraction is None else extraction.validity


def _as_handed_on(extraction: Extraction) -> Any:
    """The context: as an object where it is one in JSON, else as the text it is."""
    if PIPELINES[extraction.pipeline].notation == "json":
        # As published, JSON that is no object goes on in a form that is no JSON.
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            return msgspec.json.decode(extraction.context)
    return extraction.context


def _response(row: SknRow) -> Wide:
    answered = _answered(row)
    stated = None if row.response is None else row.response.abstained
    return {**answered, "abstained": stated}


def _answered(row: SknRow) -> Wide:
    said = row.response
    if said is None:
        return {"answer": "", "confidence": None, "reasoning": ""}
    return {"answer": said.answer, "confidence": said.confidence, "reasoning": said.reasoning}


def _judged(row: SknRow) -> Wide:
    return {
        "correct": _correct(row),
        "hallucination": None if row.verdicts is None else claims_of(row.verdicts),
        "groundedness": None if row.verdicts is None else grounds_of(row.verdicts),
        "abstained": row.outcome == "ABSTAINED",
        "outcome": row.outcome,
        "stage": row.stage,
        "error": row.error,
    }


def claims_of(verdicts: Verdicts) -> Wide:
    """What is made up, under the published keys; null is what could not be had."""
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


def grounds_of(verdicts: Verdicts) -> Wide:
    """How well the answer is grounded, likewise."""
    return {
        "groundedness_score": verdicts.groundedness,
        "unsupported_fraction": verdicts.unsupported_fraction,
    }


def _correct(row: SknRow) -> bool | None:
    """As published, null for samples without an answer; whoever abstains from one is wrong."""
    if not row.answerable:
        return None
    judged = None if row.verdicts is None else row.verdicts.correct
    return False if judged is None and row.outcome == "ABSTAINED" else judged
