"""Reads the verdicts on one answer from a row of ``detailed_results.json``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from eval.skn.judges.record import Failure, Hallucination, JudgeName, Verdicts

_DEFAULTS: Final[dict[JudgeName, dict[str, Any]]] = {
    "hallucination": {
        "hallucination_detected": False,
        "hallucination_severity": 0.0,
        "total_claims": 1,
        "fabricated_claims": [],
        "normalized_hallucination": 0.0,
    },
    "groundedness": {"groundedness_score": 0.0, "unsupported_fraction": 1.0},
}
"""What the published code writes for a judgement that it cannot read."""


class _UnreadableError(ValueError):
    """A verdict is missing or has no usable value."""


def read_verdicts(
    row: Mapping[str, Any], pipeline: str, *, answerable: bool
) -> tuple[Verdicts, list[JudgeName]]:
    """Reads the verdicts on the answer of a pipeline.

    A verdict that is missing, of another type, out of range or contradicts itself is null; the
    problem names its key.

    Args:
        row: the row.
        pipeline: name of the pipeline.
        answerable: whether the sample has an answer, so that the answer is right or wrong.

    Returns:
        The verdicts, and the judges whose verdict is exactly that which the published code writes
        if it cannot read a judgement.
    """
    correct, hallucination = None, Hallucination()
    groundedness: tuple[float | None, float | None] = (None, None)
    problems: list[Failure] = []
    for judge in ("accuracy", "hallucination", "groundedness"):
        try:
            if judge == "accuracy":
                correct = _read_correct(row, f"{pipeline}_correct", answerable=answerable)
            elif judge == "hallucination":
                hallucination = _read_hallucination(row, f"{pipeline}_hallucination")
            else:
                key = f"{pipeline}_groundedness"
                groundedness = _read_groundedness(row, key, hallucination.total_claims)
        except _UnreadableError as error:
            problems.append(Failure(judge, 0, "unreadable", str(error)))
    verdicts = Verdicts(
        correct=correct,
        correct_votes=() if correct is None else (correct,),
        hallucination=hallucination,
        groundedness=groundedness[0],
        unsupported_fraction=groundedness[1],
        failures={problem.judge: 1 for problem in problems},
        failed=tuple(problem.judge for problem in problems),
        problems=tuple(problems),
    )
    defaults = [
        judge for judge, value in _DEFAULTS.items() if row.get(f"{pipeline}_{judge}") == value
    ]
    return verdicts, defaults


def _read_correct(row: Mapping[str, Any], key: str, *, answerable: bool) -> bool | None:
    if not answerable:
        return None
    value = row.get(key)
    if not isinstance(value, bool):
        raise _UnreadableError(
            f"{key} is missing" if value is None else f"{key} is not true or false"
        )
    return value


def _read_hallucination(row: Mapping[str, Any], key: str) -> Hallucination:
    group = _read_group(row, key)
    detected = group.get("hallucination_detected")
    if not isinstance(detected, bool):
        raise _UnreadableError(f"{key}.hallucination_detected is not true or false")
    severity = _read_number(group, key, "hallucination_severity", 1.0)
    total = _read_number(group, key, "total_claims", math.inf)
    claims = group.get("fabricated_claims")
    if not isinstance(claims, list):
        raise _UnreadableError(f"{key}.fabricated_claims is not a list")
    # Our own files have medians over votes, so the share may belong to no list of claims.
    share = group.get("normalized_hallucination")
    fabricated = float(len(claims))
    if isinstance(share, float | int) and not isinstance(share, bool) and 0 <= share <= 1:
        fabricated = share * total
    if fabricated > total:
        raise _UnreadableError(f"{key} has more fabricated claims than claims")
    return Hallucination(
        total_claims=total,
        fabricated=fabricated,
        fabricated_claims=tuple(
            claim if isinstance(claim, str) else repr(claim) for claim in claims
        ),
        severity=severity,
        detected=detected,
    )


def _read_groundedness(
    row: Mapping[str, Any], key: str, claims: float | None
) -> tuple[float | None, float | None]:
    group = _read_group(row, key)
    if claims == 0 and group.get("groundedness_score") is None:
        return None, None  # an answer that claims nothing needs no support
    return (
        _read_number(group, key, "groundedness_score", 1.0),
        _read_number(group, key, "unsupported_fraction", 1.0),
    )


def _read_group(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    group = row.get(key)
    if not isinstance(group, Mapping):
        raise _UnreadableError(f"{key} is missing" if group is None else f"{key} is not an object")
    return group


def _read_number(group: Mapping[str, Any], key: str, name: str, most: float) -> float:
    value = group.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        limit = "of at least 0" if most == math.inf else "from 0 to 1"
        raise _UnreadableError(f"{key}.{name} is not a number {limit}")
    return float(value)
