"""Reads the published benchmark's wide rows: one object a sample, a group of keys a pipeline.

They may be ours (``detailed_results.json``, with the outcome of every row) or the published code's,
which knows no outcome: there an answer that says it cannot tell is an abstention, one whose
reasoning is ``error`` a failed call, and one without text unreadable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eval.skn.abstaining import abstained
from eval.skn.running.row import OUTCOMES, Outcome
from eval.skn.scoring.observing import Observed
from kg.base.errors import RecordError

Wide = Mapping[str, Any]

_FAILED = "error"
"""What the published code writes for the reasoning of a call that failed."""


def observed_wide(results: Sequence[Wide], pipelines: Sequence[str]) -> Iterator[Observed]:
    """What wide rows say of some pipelines."""
    for row in results:
        for pipeline in pipelines:
            yield _observed(row, pipeline)


def require_ids(results: Sequence[Wide]) -> None:
    """Sees to it that every row can be told from the others.

    Raises:
        RecordError: a row is no object or has no id.
    """
    for number, row in enumerate(results, start=1):
        if not isinstance(row, Mapping) or not isinstance(row.get("id"), str | int):
            raise RecordError(
                "a row without an id", where=f"row {number}", hint="Each sample needs one."
            )


def _observed(row: Wide, pipeline: str) -> Observed:
    answer = row.get(f"{pipeline}_answer")
    said = answer if isinstance(answer, str) else ""
    stated = row.get(f"{pipeline}_outcome")
    stated = stated if isinstance(stated, str) else None
    known: dict[object, Outcome] = {name: name for name in OUTCOMES}
    outcome = known.get(stated) or _outcome(row, pipeline, said)
    read = outcome in ("ANSWERED", "ABSTAINED")
    correct = row.get(f"{pipeline}_correct")
    claims = _group(row, f"{pipeline}_hallucination")
    grounds = _group(row, f"{pipeline}_groundedness")
    total, share = _number(claims, "total_claims"), _number(claims, "normalized_hallucination")
    detected = claims.get("hallucination_detected")
    score = _number(grounds, "groundedness_score")
    return Observed(
        sample=str(row["id"]),
        category=str(row.get("category", "unknown")),
        pipeline=pipeline,
        answerable=bool(row.get("answerable", True)),
        outcome=outcome,
        repeat=row["repeat"] if isinstance(row.get("repeat"), int) else 0,
        stage="" if read else str(row.get(f"{pipeline}_stage", "agent")),
        read_by=("field" if stated else "text") if read else "",
        to_judge=bool(said.strip()),
        correct=correct if isinstance(correct, bool) else None,
        confidence=_share(row.get(f"{pipeline}_confidence")) if read else None,
        detected=detected if isinstance(detected, bool) else None,
        claims=total,
        fabricated=_fabricated(claims, total, share),
        severity=_number(claims, "hallucination_severity"),
        groundedness=score,
        unsupported=_number(grounds, "unsupported_fraction"),
        claims_nothing=total == 0 and score is None,
    )


def _outcome(row: Wide, pipeline: str, said: str) -> Outcome:
    if not said.strip():
        return "ERROR" if row.get(f"{pipeline}_reasoning") == _FAILED else "INVALID"
    return "ABSTAINED" if abstained(said) else "ANSWERED"


def _group(row: Wide, key: str) -> Wide:
    found = row.get(key)
    return found if isinstance(found, Mapping) else {}


def _number(group: Wide, key: str) -> float | None:
    value = group.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def _share(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None


def _fabricated(claims: Wide, total: float | None, share: float | None) -> float | None:
    """Counted from the share where there is one: a median of counts has no list of claims."""
    if total is None:
        return None
    if share is not None:
        return min(share, 1.0) * total
    listed = claims.get("fabricated_claims")
    return float(min(len(listed), total)) if isinstance(listed, Sequence) else None
