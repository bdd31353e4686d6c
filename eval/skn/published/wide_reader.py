"""Reads the published benchmark's wide rows: one object per sample, a group of keys per pipeline.

The rows may be our own (``detailed_results.json``, with the outcome of every row) or come from the
published code, which records no outcome. In the second case the outcome is inferred: an answer that
declines to answer is an abstention; an empty answer is a failed call if its reasoning is ``error``,
and otherwise unreadable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eval.replies.abstention import is_abstention
from eval.skn.published.wide_verdicts import read_verdicts
from eval.skn.row import OUTCOMES, Outcome
from eval.skn.scoring.observation import Observation
from kg.base.errors import RecordError

Wide = Mapping[str, Any]

FAILED_REASONING = "error"
"""What the published code writes as the reasoning of a failed call."""


def read_wide_rows(results: Sequence[Wide], pipelines: Sequence[str]) -> Iterator[Observation]:
    """Yields an observation for each wide row and pipeline."""
    for row in results:
        for pipeline in pipelines:
            yield _read_observation(row, pipeline)


def require_ids(results: Sequence[Wide]) -> None:
    """Checks that every row has an id.

    Raises:
        RecordError: a row is not an object or has no id.
    """
    for number, row in enumerate(results, start=1):
        if not isinstance(row, Mapping) or not isinstance(row.get("id"), str | int):
            raise RecordError(
                "a row without an id", where=f"row {number}", hint="Each sample needs one."
            )


def _read_observation(row: Wide, pipeline: str) -> Observation:
    answer = row.get(f"{pipeline}_answer")
    text = answer if isinstance(answer, str) else ""
    stated_outcome = row.get(f"{pipeline}_outcome")
    stated_outcome = stated_outcome if isinstance(stated_outcome, str) else None
    outcomes_by_name: dict[object, Outcome] = {name: name for name in OUTCOMES}
    outcome = outcomes_by_name.get(stated_outcome) or _infer_outcome(row, pipeline, text)
    is_readable = outcome in ("ANSWERED", "ABSTAINED")
    answerable = bool(row.get("answerable", True))
    verdicts, _ = read_verdicts(row, pipeline, answerable=answerable)
    claims = verdicts.hallucination
    return Observation(
        sample=str(row["id"]),
        category=str(row.get("category", "unknown")),
        pipeline=pipeline,
        answerable=answerable,
        outcome=outcome,
        repeat=row["repeat"] if isinstance(row.get("repeat"), int) else 0,
        stage="" if is_readable else str(row.get(f"{pipeline}_stage", "agent")),
        abstention_source=("field" if stated_outcome else "text") if is_readable else "",
        has_answer_text=bool(text.strip()),
        correct=verdicts.correct,
        confidence=_parse_share(row.get(f"{pipeline}_confidence")) if is_readable else None,
        detected=claims.detected,
        claims=claims.total_claims,
        fabricated=claims.fabricated,
        severity=claims.severity,
        groundedness=verdicts.groundedness,
        unsupported=verdicts.unsupported_fraction,
        makes_no_claims=claims.total_claims == 0 and verdicts.groundedness is None,
    )


def _infer_outcome(row: Wide, pipeline: str, text: str) -> Outcome:
    if not text.strip():
        return "ERROR" if row.get(f"{pipeline}_reasoning") == FAILED_REASONING else "INVALID"
    return "ABSTAINED" if is_abstention(text) else "ANSWERED"


def _parse_share(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None
