"""The decision tree of the specification (4.5.10) with its reasons, and what speaks either way.

The tree reads the score and the hallucination rate. Its reasons say by how much each limit is met
or missed, and whether the interval would give the same verdict; the same tree is put to each bin of
schemas, because a system may be fit for simple ones only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nextafter
from typing import Final

from eval.extraction.measuring.grades import all_of, check
from eval.extraction.record import (
    Branch,
    Breakdown,
    Check,
    Dimension,
    Errors,
    Grade,
    Recommendation,
    Value,
)
from eval.extraction.verdicts.sample_score import UNDECLARED
from kg.words.plain_text import plain

TREE: Final = (
    ("Deploy without human review", 0.90, 0.02),
    ("Deploy with spot-check human review", 0.80, 0.05),
    ("Deploy with mandatory human review", 0.70, 0.10),
)
"""Verdict, least score, and the hallucination rate that must not be reached; best first."""
OTHERWISE: Final = "Not recommended for production - needs improvement"
UNKNOWN: Final = "No recommendation: the score or the hallucination rate is not known"

_GOOD = ("A+", "A")
_BAD = ("C", "D", "F")
_AT_MOST = 5
_APART = 0.05
"""Least difference in F1 that is worth naming."""

_NAMES: Final[Mapping[str, str]] = {
    "extraction_quality_score": "extraction quality score",
    "schema_validity": "schema validity",
    "field_f1_partial": "field F1 (partial)",
    "exact_match": "exact match",
    "type_accuracy": "type accuracy",
    "success_rate": "success rate",
    "hallucination_rate": "hallucination rate",
    "latency_p95_s": "p95 latency",
}
_SECONDS = ("latency_p95_s",)
_WHOLE = ("extraction_quality_score", "field_f1_partial")
_GROUPS: Final[Mapping[Dimension, str]] = {
    "type": "fields of type {}",
    "depth": "fields at depth {}",
    "required": "{} fields",
    "complexity": "{} schemas",
    "domain": "domain {}",
    "language": "language {}",
    "name": "the field {}",
}


def recommendation(
    metrics: Mapping[str, Value],
    breakdowns: Mapping[Dimension, Breakdown],
    grades: Sequence[Grade],
    errors: Errors,
) -> Recommendation:
    """What to do with a system, and why."""
    branches = _branches(metrics)
    verdict = _verdict(branches)
    return Recommendation(
        verdict=verdict,
        reasons=(*_reasons(branches, metrics), *_left_out(branches, metrics)),
        branches=branches,
        by_complexity={
            name: _verdict(_branches(group.metrics))
            for name, group in breakdowns["complexity"].groups.items()
        },
        strengths=tuple(_strengths(metrics, grades)),
        weaknesses=tuple(_weaknesses(metrics, grades, breakdowns, errors)),
    )


def _branches(metrics: Mapping[str, Value]) -> tuple[Branch, ...]:
    found: list[Branch] = []
    taken = False
    for verdict, score, rate in TREE:
        checks = (
            check("extraction_quality_score", metrics, score),
            check("hallucination_rate", metrics, rate, higher=False, strict=True),
        )
        takes = not taken and all_of(checks) is True
        taken = taken or takes
        found.append(Branch(verdict=verdict, checks=checks, taken=takes))
    return tuple(found)


def _verdict(branches: Sequence[Branch]) -> str:
    for branch in branches:
        if branch.taken:
            return branch.verdict
    # A null among the last branch's checks decides nothing unless the other check fails.
    return UNKNOWN if all_of(branches[-1].checks) is None else OTHERWISE


def _reasons(branches: Sequence[Branch], metrics: Mapping[str, Value]) -> Iterator[str]:
    """Why this branch and not the one before: its limits, and what the better one lacks."""
    taken = next((place for place, branch in enumerate(branches) if branch.taken), None)
    if taken is not None:
        yield from (_against(one) for one in branches[taken].checks)
    better = len(branches) - 1 if taken is None else taken - 1
    if better >= 0:
        for one in branches[better].checks:
            if not one.passed:
                yield f"“{branches[better].verdict}” asks for more: {_against(one)}"
    for one in (one for branch in branches for one in branch.checks):
        if one.value is not None and not one.sure and _decides(one, metrics):
            yield (
                f"the interval of the {_NAMES[one.metric]} includes "
                f"{_number(one.metric, one.limit)}, so more samples may move the verdict"
            )


def _decides(one: Check, metrics: Mapping[str, Value]) -> bool:
    """Whether the verdict can depend on one limit, wherever in its interval the other value is."""
    score, rate = metrics["extraction_quality_score"], metrics["hallucination_rate"]
    of_score = one.metric == "extraction_quality_score"
    other = rate if of_score else score
    beyond = nextafter(one.limit, -1.0)

    def told(value: float, beside: float) -> str:
        return decision(value, beside) if of_score else decision(beside, value)

    ends = [end for end in (other.low, other.value, other.high) if end is not None]
    return any(told(one.limit, end) != told(beyond, end) for end in ends)


def decision(score: float, rate: float) -> str:
    """The verdict of the tree on a score and a hallucination rate."""
    return next((verdict for verdict, s, r in TREE if score >= s and rate < r), OTHERWISE)


def _left_out(branches: Sequence[Branch], metrics: Mapping[str, Value]) -> Iterator[str]:
    """What the tree does not look at and a reader of its verdict must know.

    The specification's rate knows spurious fields only, not made-up values of fields that were
    expected; and its score is over the calls that came back.
    """
    taken = next((branch for branch in branches if branch.taken), None)
    if taken is None:
        return
    made_up = metrics.get("fabricated_value_rate")
    limit = taken.checks[1].limit
    if made_up is not None and made_up.value is not None and made_up.value >= limit:
        yield (
            f"the verdict leaves out made-up values of fields that were expected: with them "
            f"{100 * made_up.value:.1f} % of what was extracted is made up"
        )
    score = metrics["extraction_quality_score"]
    if score.missing and score.worst is not None and score.worst < taken.checks[0].limit:
        calls = "call" if score.missing == 1 else "calls"
        yield (
            f"the verdict leaves out {score.missing} failed {calls}: had all of them brought "
            f"nothing right, the score would be {_number('extraction_quality_score', score.worst)}"
        )


def _against(one: Check) -> str:
    side = "at least" if one.higher_is_better else "below"
    limit = f"{side} {_number(one.metric, one.limit)} is asked"
    if one.value is None:
        return f"the {_NAMES[one.metric]} is not known, {limit}"
    return f"the {_NAMES[one.metric]} is {_number(one.metric, one.value)}, {limit}"


def _strengths(metrics: Mapping[str, Value], grades: Sequence[Grade]) -> Iterator[str]:
    good = [one for one in grades if one.grade in _GOOD]
    for one in good[:_AT_MOST]:
        # A hundred per cent of a handful is no strength that the data bear.
        reach = one.grade_at_worst if one.grade_at_worst in _BAD else ""
        yield _graded(one, metrics, reach)


def _graded(one: Grade, metrics: Mapping[str, Value], reach: str) -> str:
    """A metric with its grade, and the one that its interval reaches where that is the opposite."""
    reaches = f"; the interval reaches {reach}" if reach else ""
    return f"{_NAMES[one.metric]} {_shown(one.metric, metrics)} ({one.grade}{reaches})"


def _weaknesses(
    metrics: Mapping[str, Value],
    grades: Sequence[Grade],
    breakdowns: Mapping[Dimension, Breakdown],
    errors: Errors,
) -> Iterator[str]:
    for one in [one for one in grades if one.grade in _BAD][:_AT_MOST]:
        yield _graded(one, metrics, one.grade_at_best if one.grade_at_best in _GOOD else "")
    yield from _weak_groups(metrics, breakdowns)
    if errors.top:
        first = errors.top[0]
        pattern = first.pattern.replace("_", " ")
        known = first.path != UNDECLARED
        where = plain(first.path, 80) if known else "fields that the schema does not know"
        alike = sum(one.count == first.count for one in errors.top) > 1
        which = "one of the most frequent errors" if alike else "most frequent error"
        yield f"{which}: {pattern} in {where}, {first.count} times"


def _weak_groups(
    metrics: Mapping[str, Value], breakdowns: Mapping[Dimension, Breakdown]
) -> Iterator[str]:
    """Parts whose whole interval of partial F1 lies below the F1 of all, the worst first."""
    overall = metrics["field_f1_partial"].value
    if overall is None:
        return
    found: list[tuple[float, str]] = []
    for dimension, words in _GROUPS.items():
        for key, group in breakdowns[dimension].groups.items():
            one = group.metrics["field_f1_partial"]
            # A key of which nothing is expected is 0 by itself: names that the schema lacks.
            if not group.expected or one.value is None or one.high is None:
                continue
            if one.high < overall and overall - one.value >= _APART:
                found.append((one.value, words.format(plain(key, 60))))
    for value, words in sorted(found)[:_AT_MOST]:
        yield f"{words}: partial F1 {value:.3f} against {overall:.3f} of all"


def _shown(metric: str, metrics: Mapping[str, Value]) -> str:
    return _number(metric, metrics[metric].value or 0.0)


def _number(metric: str, value: float) -> str:
    if metric in _SECONDS:
        return f"{value:.2f} s"
    return f"{value:.3f}" if metric in _WHOLE else f"{100 * value:.1f} %"
