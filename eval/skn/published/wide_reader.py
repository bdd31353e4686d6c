"""Reads the published benchmark's wide rows: one object per sample, a group of keys per pipeline.

They may be ours (``detailed_results.json``, with the outcome of every row) or come from the
published code, which records no outcome. For the latter, an answer that declines to answer is an
abstention, one whose reasoning is ``error`` is a failed call, and one without text is unreadable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eval.skn.abstention import is_abstention
from eval.skn.running.row import OUTCOMES, Outcome
from eval.skn.scoring.observation import Observation
from kg.base.errors import RecordError

Wide = Mapping[str, Any]

_FAILED_REASONING = "error"
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
    stated = row.get(f"{pipeline}_outcome")
    stated = stated if isinstance(stated, str) else None
    known: dict[object, Outcome] = {name: name for name in OUTCOMES}
    outcome = known.get(stated) or _infer_outcome(row, pipeline, text)
    read = outcome in ("ANSWERED", "ABSTAINED")
    correct = row.get(f"{pipeline}_correct")
    claims = _get_group(row, f"{pipeline}_hallucination")
    grounds = _get_group(row, f"{pipeline}_groundedness")
    total, share = (
        _get_number(claims, "total_claims"),
        _get_number(claims, "normalized_hallucination"),
    )
    detected = claims.get("hallucination_detected")
    score = _get_number(grounds, "groundedness_score")
    return Observation(
        sample=str(row["id"]),
        category=str(row.get("category", "unknown")),
        pipeline=pipeline,
        answerable=bool(row.get("answerable", True)),
        outcome=outcome,
        repeat=row["repeat"] if isinstance(row.get("repeat"), int) else 0,
        stage="" if read else str(row.get(f"{pipeline}_stage", "agent")),
        read_by=("field" if stated else "text") if read else "",
        to_judge=bool(text.strip()),
        correct=correct if isinstance(correct, bool) else None,
        confidence=_parse_share(row.get(f"{pipeline}_confidence")) if read else None,
        detected=detected if isinstance(detected, bool) else None,
        claims=total,
        fabricated=_count_fabricated(claims, total, share),
        severity=_get_number(claims, "hallucination_severity"),
        groundedness=score,
        unsupported=_get_number(grounds, "unsupported_fraction"),
        claims_nothing=total == 0 and score is None,
    )


def _infer_outcome(row: Wide, pipeline: str, text: str) -> Outcome:
    if not text.strip():
        return "ERROR" if row.get(f"{pipeline}_reasoning") == _FAILED_REASONING else "INVALID"
    return "ABSTAINED" if is_abstention(text) else "ANSWERED"


def _get_group(row: Wide, key: str) -> Wide:
    group = row.get(key)
    return group if isinstance(group, Mapping) else {}


def _get_number(group: Wide, key: str) -> float | None:
    value = group.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def _parse_share(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None


def _count_fabricated(claims: Wide, total: float | None, share: float | None) -> float | None:
    """Returns the number of made-up claims, from their share if there is one.

    Only the share is exact: if the number is a median over votes, the list has another length.
    """
    if total is None:
        return None
    if share is not None:
        return min(share, 1.0) * total
    listed = claims.get("fabricated_claims")
    return float(min(len(listed), total)) if isinstance(listed, Sequence) else None
