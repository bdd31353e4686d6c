"""Applies the specification's decision tree (4.5.10); lists reasons, strengths and weaknesses.

The tree uses the headline and the hallucination rate, so what ranks systems also decides what is
said of them: the headline is the quality score or, of extractions made elsewhere, field accuracy.
There is a verdict only if it is the same throughout the intervals of both; otherwise what they
allow is named. The reasons say whether each limit is met, and which limits an interval includes.
The tree is also applied to each complexity bin, because a system may be good enough for simple
schemas only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nextafter
from typing import Final

import msgspec

from eval.extraction.metrics.grades import check_limit, have_all_passed
from eval.extraction.record import (
    Branch,
    Breakdown,
    Check,
    Dimension,
    Errors,
    Estimate,
    Grade,
    Headline,
    Recommendation,
)
from eval.extraction.verdicts.sample_score import UNDECLARED_FIELDS_KEY
from kg.base.plain_text import clean_text

DECISION_TREE: Final = (
    ("Deploy without human review", 0.90, 0.02),
    ("Deploy with spot-check human review", 0.80, 0.05),
    ("Deploy with mandatory human review", 0.70, 0.10),
)
"""Verdict, minimum score, and maximum hallucination rate (exclusive); best verdict first."""
NOT_RECOMMENDED: Final = "Not recommended for production - needs improvement"
_LEVELS: Final[Mapping[str, str]] = {
    DECISION_TREE[0][0]: "no human review",
    DECISION_TREE[1][0]: "spot-check human review",
    DECISION_TREE[2][0]: "mandatory human review",
    NOT_RECOMMENDED: "no deployment",
}
"""What each verdict asks for, to name the verdicts that intervals span."""
NO_VERDICT: Final = "No verdict"
NO_RECOMMENDATION: Final = "No recommendation: the score or the hallucination rate is not known"

_GOOD_GRADES = ("A+", "A")
_BAD_GRADES = ("C", "D", "F")
_MAX_ENTRIES = 5
_FEW_EXACT = 0.5
"""Share of extractions that are right as a whole below which a verdict on fields says so."""
_MIN_F1_GAP = 0.05
"""Minimum difference in F1 for a group to be listed as a weakness."""

_METRIC_NAMES: Final[Mapping[str, str]] = {
    "extraction_quality_score": "extraction quality score",
    "field_accuracy_macro": "field accuracy",
    "field_accuracy": "field accuracy",
    "schema_validity": "schema validity",
    "field_f1_partial": "field F1 (partial)",
    "exact_match": "exact match",
    "type_accuracy": "type accuracy",
    "success_rate": "success rate",
    "hallucination_rate": "hallucination rate",
    "latency_p95_s": "p95 latency",
}
_SECOND_METRICS = ("latency_p95_s",)
_FRACTION_METRICS = (
    *("extraction_quality_score", "field_f1_partial", "field_accuracy_macro", "field_accuracy"),
)
_GROUP_NAMES: Final[Mapping[Dimension, str]] = {
    "type": "fields of type {}",
    "depth": "fields at depth {}",
    "required": "{} fields",
    "complexity": "{} schemas",
    "domain": "domain {}",
    "language": "language {}",
    "name": "the field {}",
}


def build_recommendation(
    metrics: Mapping[str, Estimate],
    breakdowns: Mapping[Dimension, Breakdown],
    grades: Sequence[Grade],
    errors: Errors,
    headline: Headline = "extraction_quality_score",
) -> Recommendation:
    """Builds the recommendation for a system, with its reasons."""
    branches = _evaluate_branches(metrics, headline)
    # Groups have one average of the field accuracy.
    of_group = "field_accuracy" if headline == "field_accuracy_macro" else headline
    verdict = _select_verdict(branches, metrics)
    caveats = tuple(_iter_caveats(branches, metrics))
    if verdict.startswith(NO_VERDICT):
        branches = tuple(msgspec.structs.replace(branch, taken=False) for branch in branches)
    return Recommendation(
        verdict=verdict,
        reasons=(*_iter_reasons(verdict, branches, metrics), *caveats),
        branches=branches,
        by_complexity={
            name: _select_verdict(_evaluate_branches(group.metrics, of_group), group.metrics)
            for name, group in breakdowns["complexity"].groups.items()
        },
        strengths=tuple(_iter_strengths(metrics, grades, headline)),
        weaknesses=tuple(_iter_weaknesses(metrics, grades, breakdowns, errors)),
    )


def _evaluate_branches(metrics: Mapping[str, Estimate], score: str) -> tuple[Branch, ...]:
    """Evaluates the branches; each first checks the score, then the rate."""
    branches: list[Branch] = []
    any_taken = False
    for verdict, min_score, max_rate in DECISION_TREE:
        checks = (
            check_limit(score, metrics, min_score),
            check_limit("hallucination_rate", metrics, max_rate, is_minimum=False, strict=True),
        )
        is_taken = not any_taken and have_all_passed(checks) is True
        any_taken = any_taken or is_taken
        branches.append(Branch(verdict=verdict, checks=checks, taken=is_taken))
    return tuple(branches)


def _select_verdict(branches: Sequence[Branch], metrics: Mapping[str, Estimate]) -> str:
    worst, best = _find_extreme_verdicts(metrics, branches[0].checks[0].metric)
    if worst != best:
        return (
            f"{NO_VERDICT}, the intervals allow anything from {_LEVELS[worst]} to {_LEVELS[best]}; "
            "more samples would tell"
        )
    for branch in branches:
        if branch.taken:
            return branch.verdict
    # An undefined check of the last branch leaves the verdict open, unless the other check fails.
    return NO_RECOMMENDATION if have_all_passed(branches[-1].checks) is None else NOT_RECOMMENDED


def _find_extreme_verdicts(metrics: Mapping[str, Estimate], score_metric: str) -> tuple[str, str]:
    """Returns the worst and the best verdict within the intervals of score and rate.

    They are the same if one of the two has no value: then only the other decides.
    """
    score, rate = metrics[score_metric], metrics["hallucination_rate"]
    if score.value is None or rate.value is None:
        return NO_RECOMMENDATION, NO_RECOMMENDATION

    def get_end(estimate: Estimate, end: float | None) -> float:
        return (estimate.value or 0.0) if end is None else end

    return (
        decide_verdict(get_end(score, score.low), get_end(rate, rate.high)),
        decide_verdict(get_end(score, score.high), get_end(rate, rate.low)),
    )


def _iter_reasons(
    verdict: str, branches: Sequence[Branch], metrics: Mapping[str, Estimate]
) -> Iterator[str]:
    """Yields the reasons for the verdict, and the limits of the next better verdict not met."""
    taken_index = next((index for index, branch in enumerate(branches) if branch.taken), None)
    if taken_index is not None:
        yield from (_describe_check(check) for check in branches[taken_index].checks)
    # If no branch is taken, the last branch has the next better verdict.
    better_index = len(branches) - 1 if taken_index is None else taken_index - 1
    if better_index >= 0 and not verdict.startswith(NO_VERDICT):
        for check in branches[better_index].checks:
            if not check.passed:
                yield f"“{branches[better_index].verdict}” requires more: {_describe_check(check)}"
    score = branches[0].checks[0].metric
    for check in (check for branch in branches for check in branch.checks):
        if check.value is not None and not check.sure and _is_decisive(check, metrics, score):
            yield (
                f"the interval of the {_METRIC_NAMES[check.metric]} includes "
                f"{_format_number(check.metric, check.limit)}, so more samples may change the "
                "verdict"
            )


def _is_decisive(check: Check, metrics: Mapping[str, Estimate], score: str) -> bool:
    """Returns whether passing or failing one limit can change the verdict.

    The other metric is tried at its value and at both ends of its interval.
    """
    score_estimate, rate_estimate = metrics[score], metrics["hallucination_rate"]
    is_score = check.metric == score
    other_estimate = rate_estimate if is_score else score_estimate
    # A score passes at its limit and fails just below it; a rate fails at its limit.
    just_below = nextafter(check.limit, -1.0)

    def verdict_at(value: float, other_value: float) -> str:
        return (
            decide_verdict(value, other_value) if is_score else decide_verdict(other_value, value)
        )

    ends = [
        end
        for end in (other_estimate.low, other_estimate.value, other_estimate.high)
        if end is not None
    ]
    return any(verdict_at(check.limit, end) != verdict_at(just_below, end) for end in ends)


def decide_verdict(score: float, rate: float) -> str:
    """Returns the tree's verdict for a score and a hallucination rate."""
    return next(
        (
            verdict
            for verdict, min_score, max_rate in DECISION_TREE
            if score >= min_score and rate < max_rate
        ),
        NOT_RECOMMENDED,
    )


def _iter_caveats(branches: Sequence[Branch], metrics: Mapping[str, Estimate]) -> Iterator[str]:
    """Yields what the tree ignores but a reader of its verdict should know.

    The specification's hallucination rate only counts spurious fields, not wrong values of expected
    fields that are not in the text, and its score excludes failed calls.
    """
    taken_branch = next((branch for branch in branches if branch.taken), None)
    if taken_branch is None:
        return
    fabricated_rate = metrics.get("fabricated_value_rate")
    max_rate = taken_branch.checks[1].limit
    if (
        fabricated_rate is not None
        and fabricated_rate.value is not None
        and fabricated_rate.value >= max_rate
    ):
        yield (
            f"the verdict ignores wrong values of expected fields that are not in the text: with "
            f"them, {100 * fabricated_rate.value:.1f} % of the extracted fields may be made up"
        )
    score_check = taken_branch.checks[0]
    score, score_name = metrics[score_check.metric], _METRIC_NAMES[score_check.metric]
    accuracy = metrics.get("field_accuracy_macro")
    if accuracy is not None and accuracy.value is not None and accuracy.value < score_check.limit:
        yield (
            f"the verdict follows the {score_name}, which also credits validity, types and "
            f"similar values: the field accuracy is "
            f"{_format_number('field_accuracy_macro', accuracy.value)}"
        )
    exact = metrics.get("exact_match")
    share = None if exact is None else exact.value
    if score_check.metric == "field_accuracy_macro" and share is not None and share < _FEW_EXACT:
        yield (
            f"the verdict follows the fields: as a whole, {_format_number('exact_match', share)} "
            "of the extractions are right (exact match)"
        )
    if score.missing and score.worst is not None and score.worst < score_check.limit:
        calls = "call" if score.missing == 1 else "calls"
        yield (
            f"the verdict ignores {score.missing} failed {calls}: if all fields in them were "
            f"wrong, the {score_name} would be {_format_number(score_check.metric, score.worst)}"
        )


def _describe_check(check: Check) -> str:
    side = "at least" if check.higher_is_better else "below"
    limit = f"{side} {_format_number(check.metric, check.limit)} is required"
    if check.value is None:
        return f"the {_METRIC_NAMES[check.metric]} is unknown, {limit}"
    return (
        f"the {_METRIC_NAMES[check.metric]} is {_format_number(check.metric, check.value)}, {limit}"
    )


def _iter_strengths(
    metrics: Mapping[str, Estimate], grades: Sequence[Grade], headline: Headline
) -> Iterator[str]:
    # Of extractions made elsewhere, no call is known.
    left_out = ("success_rate",) if headline == "field_accuracy_macro" else ()
    good_grades = [
        grade for grade in grades if grade.grade in _GOOD_GRADES and grade.metric not in left_out
    ]
    for grade in good_grades[:_MAX_ENTRIES]:
        # With few samples the interval may include a bad grade even if the value is 100 %. The
        # text then says so.
        reached_grade = grade.grade_at_worst if grade.grade_at_worst in _BAD_GRADES else ""
        yield _describe_grade(grade, metrics, reached_grade)


def _describe_grade(grade: Grade, metrics: Mapping[str, Estimate], reached_grade: str) -> str:
    """Describes a metric with its grade, and with the grade that its interval reaches, if any."""
    reaches = f"; the interval reaches {reached_grade}" if reached_grade else ""
    return (
        f"{_METRIC_NAMES[grade.metric]} {_format_metric(grade.metric, metrics)} "
        f"({grade.grade}{reaches})"
    )


def _iter_weaknesses(
    metrics: Mapping[str, Estimate],
    grades: Sequence[Grade],
    breakdowns: Mapping[Dimension, Breakdown],
    errors: Errors,
) -> Iterator[str]:
    for grade in [grade for grade in grades if grade.grade in _BAD_GRADES][:_MAX_ENTRIES]:
        yield _describe_grade(
            grade, metrics, grade.grade_at_best if grade.grade_at_best in _GOOD_GRADES else ""
        )
    yield from _iter_weak_groups(metrics, breakdowns)
    if errors.top:
        top_error = errors.top[0]
        pattern = top_error.pattern.replace("_", " ")
        is_declared = top_error.path != UNDECLARED_FIELDS_KEY
        where = (
            clean_text(top_error.path, 80) if is_declared else "fields that are not in the schema"
        )
        is_tied = sum(error.count == top_error.count for error in errors.top) > 1
        label = "one of the most frequent errors" if is_tied else "most frequent error"
        yield f"{label}: {pattern} in {where}, {top_error.count} times"


def _iter_weak_groups(
    metrics: Mapping[str, Estimate], breakdowns: Mapping[Dimension, Breakdown]
) -> Iterator[str]:
    """Yields groups whose whole interval of partial F1 is below the overall F1, worst first."""
    overall = metrics["field_f1_partial"].value
    if overall is None:
        return
    weak_groups: list[tuple[float, str]] = []
    for dimension, wording in _GROUP_NAMES.items():
        for key, group in breakdowns[dimension].groups.items():
            f1 = group.metrics["field_f1_partial"]
            # A group without expected fields always has F1 0 (field names not in the schema).
            if not group.expected or f1.value is None or f1.high is None:
                continue
            if f1.high < overall and overall - f1.value >= _MIN_F1_GAP:
                weak_groups.append((f1.value, wording.format(clean_text(key, 60))))
    for value, wording in sorted(weak_groups)[:_MAX_ENTRIES]:
        yield f"{wording}: partial F1 {value:.3f} against {overall:.3f} overall"


def _format_metric(metric: str, metrics: Mapping[str, Estimate]) -> str:
    return _format_number(metric, metrics[metric].value or 0.0)


def _format_number(metric: str, value: float) -> str:
    if metric in _SECOND_METRICS:
        return f"{value:.2f} s"
    return f"{value:.3f}" if metric in _FRACTION_METRICS else f"{100 * value:.1f} %"
