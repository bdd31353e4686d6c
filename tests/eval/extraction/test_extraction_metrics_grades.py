"""Tests grades, service levels and the decision tree at their limits and just beside them."""

from __future__ import annotations

from math import nextafter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.extraction.metrics.grades import (
    GRADES,
    REQUIREMENTS,
    check_service_levels,
    grade_metrics,
    grade_value,
)
from eval.extraction.metrics.quality_score import interpret_interval, interpret_score
from eval.extraction.metrics.recommendation import (
    DECISION_TREE,
    NO_RECOMMENDATION,
    NOT_RECOMMENDED,
    build_recommendation,
    decide_verdict,
)
from eval.extraction.record import Breakdown, Dimension, Errors, Estimate, Group

EXAMPLE_METRICS = {
    "extraction_quality_score": 0.823,
    "schema_validity": 0.987,
    "field_f1_partial": 0.856,
    "exact_match": 0.673,
    "hallucination_rate": 0.032,
    "latency_p95_s": 1.2,
    "type_accuracy": 0.97,
    "success_rate": 0.996,
}
"""The example values of the specification (section 4.5.8), plus type accuracy and success rate."""
NO_ERRORS = Errors(groups={}, total=0)


def make_metrics(half_width: float = 0.0, **overrides: float | None) -> dict[str, Estimate]:
    """Returns the example metrics with some values replaced and intervals of ± ``half_width``."""
    values = {**EXAMPLE_METRICS, **overrides}
    return {
        name: Estimate(
            value=value,
            low=None if value is None else value - half_width,
            high=None if value is None else value + half_width,
        )
        for name, value in values.items()
    }


def make_breakdowns(**metrics_by_complexity: dict[str, Estimate]) -> dict[Dimension, Breakdown]:
    """Makes breakdowns that have groups by complexity only."""
    dimensions: tuple[Dimension, ...] = (
        *("type", "depth", "name", "required", "complexity", "domain", "language"),
    )
    groups = {
        name: Group(samples=10, expected=50, predicted=50, metrics=metrics)
        for name, metrics in metrics_by_complexity.items()
    }
    return {
        dimension: Breakdown(groups=groups if dimension == "complexity" else {})
        for dimension in dimensions
    }


def compute_verdict(**overrides: float | None) -> str:
    metrics = make_metrics(**overrides)
    return build_recommendation(
        metrics, make_breakdowns(), grade_metrics(metrics), NO_ERRORS
    ).verdict


def test_specification_example_gets_its_grades() -> None:
    letters = {grade.metric: grade.grade for grade in grade_metrics(make_metrics())}
    assert letters["schema_validity"] == "A+"
    assert letters["field_f1_partial"] == "A"
    assert letters["exact_match"] == "B+"
    assert letters["hallucination_rate"] == "A+"
    assert letters["latency_p95_s"] == "A"


def test_grade_limits_are_inclusive() -> None:
    for grade in grade_metrics(make_metrics()):
        worse_direction = -1.0 if grade.higher_is_better else 1e9
        for position, (letter, limit) in enumerate(grade.limits.items()):
            assert grade_value(grade.metric, limit) == letter
            next_worse_value = nextafter(limit, worse_direction)
            assert grade_value(grade.metric, next_worse_value) == GRADES[position + 1]
    assert grade_value("exact_match", None) == ""
    with pytest.raises(KeyError):
        grade_value("coverage", 0.5)


@given(st.sampled_from(sorted(EXAMPLE_METRICS)), st.floats(0, 20), st.floats(0, 20))
@settings(deadline=None)
def test_grades_are_monotone(metric: str, value: float, other_value: float) -> None:
    worse_value, better_value = sorted((value, other_value))
    if metric in ("hallucination_rate", "latency_p95_s"):
        worse_value, better_value = better_value, worse_value
    assert GRADES.index(grade_value(metric, better_value)) <= GRADES.index(
        grade_value(metric, worse_value)
    )


def test_grade_shows_other_grades_within_its_interval() -> None:
    grades = {grade.metric: grade for grade in grade_metrics(make_metrics(0.06))}
    f1 = grades["field_f1_partial"]
    assert (f1.grade_at_worst, f1.grade, f1.grade_at_best) == ("B", "A", "A+")
    hallucinations = grades["hallucination_rate"]
    assert (hallucinations.grade_at_worst, hallucinations.grade, hallucinations.grade_at_best) == (
        "B+",
        "A+",
        "A+",
    )


def test_score_is_described_in_words() -> None:
    for score, description in (
        (0.9, "Excellent"),
        (0.75, "Good"),
        (0.6, "Moderate"),
        (0.0, "Poor"),
    ):
        assert interpret_score(score)[0] == description
    assert interpret_score(0.8999)[0] == "Good"
    assert interpret_score(0.7499)[0] == "Moderate"
    assert interpret_score(0.5999)[0] == "Poor"
    assert interpret_score(None) == ("", "")


def test_service_levels_match_the_specification() -> None:
    levels = {
        "minimum": (0.75, 0.95, 0.70, 0.10, 5000, 0.99),
        "target": (0.85, 0.98, 0.80, 0.05, 2000, 0.995),
        "excellence": (0.90, 0.99, 0.90, 0.02, 1000, 0.999),
    }
    for level, limits in levels.items():
        requirements = REQUIREMENTS[level]
        assert limits == (
            *(requirements.eqs, requirements.schema_validity, requirements.field_f1_partial),
            *(
                requirements.hallucination_rate_max,
                requirements.p95_latency_max,
                requirements.success_rate,
            ),
        )
        at_limit = make_metrics(
            extraction_quality_score=limits[0],
            schema_validity=limits[1],
            field_f1_partial=limits[2],
            hallucination_rate=limits[3],
            latency_p95_s=limits[4] / 1000,
            success_rate=limits[5],
        )
        assert check_service_levels(at_limit)[level].passed is True
        for metric, missed_value in (
            ("extraction_quality_score", limits[0] - 1e-9),
            ("schema_validity", limits[1] - 1e-9),
            ("field_f1_partial", limits[2] - 1e-9),
            ("hallucination_rate", limits[3] + 1e-9),
            ("latency_p95_s", limits[4] / 1000 + 1e-9),
            ("success_rate", limits[5] - 1e-9),
        ):
            level_result = check_service_levels(at_limit | {metric: Estimate(value=missed_value)})[
                level
            ]
            assert level_result.passed is False
            assert [check.metric for check in level_result.checks if not check.passed] == [metric]


def test_service_level_is_undecided_while_a_metric_is_missing() -> None:
    metrics_without_latency = make_metrics(
        extraction_quality_score=0.95,
        schema_validity=1.0,
        field_f1_partial=0.95,
        hallucination_rate=0.0,
        success_rate=1.0,
        latency_p95_s=None,
    )
    assert check_service_levels(metrics_without_latency)["excellence"].passed is None
    low_validity_metrics = metrics_without_latency | {"schema_validity": Estimate(value=0.5)}
    assert check_service_levels(low_validity_metrics)["minimum"].passed is False


def test_decision_tree_branches() -> None:
    assert (
        compute_verdict(extraction_quality_score=0.90, hallucination_rate=0.0199)
        == DECISION_TREE[0][0]
    )
    # The rate must be below its limit, the score at or above its limit.
    assert (
        compute_verdict(extraction_quality_score=0.90, hallucination_rate=0.02)
        == DECISION_TREE[1][0]
    )
    assert (
        compute_verdict(extraction_quality_score=0.8999, hallucination_rate=0.0)
        == DECISION_TREE[1][0]
    )
    assert (
        compute_verdict(extraction_quality_score=0.80, hallucination_rate=0.0499)
        == DECISION_TREE[1][0]
    )
    assert (
        compute_verdict(extraction_quality_score=0.95, hallucination_rate=0.05)
        == DECISION_TREE[2][0]
    )
    assert (
        compute_verdict(extraction_quality_score=0.70, hallucination_rate=0.0999)
        == DECISION_TREE[2][0]
    )
    assert (
        compute_verdict(extraction_quality_score=0.70, hallucination_rate=0.10) == NOT_RECOMMENDED
    )
    assert (
        compute_verdict(extraction_quality_score=0.6999, hallucination_rate=0.0) == NOT_RECOMMENDED
    )
    assert compute_verdict(extraction_quality_score=None) == NO_RECOMMENDATION
    # A high hallucination rate suffices for a negative verdict, even without a score.
    assert compute_verdict(extraction_quality_score=None, hallucination_rate=0.5) == NOT_RECOMMENDED


def test_reasons_name_met_and_unmet_requirements() -> None:
    metrics = make_metrics(0.01)
    recommendation = build_recommendation(
        metrics, make_breakdowns(), grade_metrics(metrics), NO_ERRORS
    )
    assert recommendation.verdict == DECISION_TREE[1][0]
    reasons = " | ".join(recommendation.reasons)
    assert "extraction quality score is 0.823, at least 0.800 is required" in reasons
    assert "hallucination rate is 3.2 %, below 5.0 % is required" in reasons
    assert f"“{DECISION_TREE[0][0]}” requires more" in reasons
    assert [branch.taken for branch in recommendation.branches] == [False, True, False]


def test_interval_that_crosses_a_limit_is_reported() -> None:
    wide_intervals = make_metrics(0.03)
    reasons = build_recommendation(
        wide_intervals, make_breakdowns(), grade_metrics(wide_intervals), NO_ERRORS
    ).reasons
    assert any(
        "interval of the extraction quality score includes 0.800" in reason for reason in reasons
    )
    narrow_intervals = make_metrics(0.001)
    reasons = build_recommendation(
        narrow_intervals, make_breakdowns(), grade_metrics(narrow_intervals), NO_ERRORS
    ).reasons
    assert not any("interval" in reason for reason in reasons)


def test_a_verdict_on_extractions_made_elsewhere_names_exact_matches_and_no_calls() -> None:
    for exact, is_named in ((0.004, True), (0.9, False)):
        metrics = make_metrics(0.001, field_accuracy_macro=0.95, exact_match=exact, success_rate=1)
        grades = grade_metrics(metrics)
        found = build_recommendation(
            metrics, make_breakdowns(), grades, NO_ERRORS, "field_accuracy_macro"
        )
        named = f"as a whole, {100 * exact:.1f} % of the extractions are right"
        assert any(named in reason for reason in found.reasons) == is_named
        assert not any("success rate" in strength for strength in found.strengths)
        of_run = build_recommendation(metrics, make_breakdowns(), grades, NO_ERRORS)
        assert any("success rate" in strength for strength in of_run.strengths)


def test_there_is_no_verdict_where_intervals_span_two() -> None:
    for half_width, verdict in (
        (0.02, DECISION_TREE[1][0]),
        (
            0.03,
            "No verdict, the intervals allow anything from mandatory human review to spot-check",
        ),
        (0.15, "No verdict, the intervals allow anything from no deployment to no human review"),
    ):
        metrics = make_metrics(half_width, hallucination_rate=0.0)
        metrics["hallucination_rate"] = Estimate(value=0.01, low=0.005, high=0.015)
        recommendation = build_recommendation(
            metrics, make_breakdowns(simple=metrics), grade_metrics(metrics), NO_ERRORS
        )
        assert recommendation.verdict.startswith(verdict)
        assert recommendation.by_complexity["simple"] == recommendation.verdict
        is_decided = verdict == DECISION_TREE[1][0]
        assert any(branch.taken for branch in recommendation.branches) is is_decided
        if not is_decided:
            assert any("interval" in reason for reason in recommendation.reasons)
    # The rate alone can leave it open.
    metrics = make_metrics(0.001, extraction_quality_score=0.95)
    metrics["hallucination_rate"] = Estimate(value=0.01, low=0.0, high=0.12)
    assert build_recommendation(
        metrics, make_breakdowns(), grade_metrics(metrics), NO_ERRORS
    ).verdict.startswith("No verdict, the intervals allow anything from no deployment")


@pytest.mark.parametrize(
    ("low", "value", "high", "word"),
    [
        (0.91, 0.95, 0.99, "Excellent"),
        (0.89, 0.95, 0.99, "Good to Excellent"),
        (0.1, 0.7, 0.95, "Poor to Excellent"),
        (None, 0.7, None, "Moderate"),
        (None, None, None, ""),
    ],
)
def test_word_for_a_score_names_all_grades_of_its_interval(
    low: float | None, value: float | None, high: float | None, word: str
) -> None:
    found, meaning = interpret_interval(Estimate(value=value, low=low, high=high))
    assert found == word
    assert meaning.startswith("No verdict") is (" to " in word)


def test_interval_without_effect_on_the_verdict_is_not_reported() -> None:
    # With a score of .342 the system is not recommended, whatever the rate is; with a rate of .5 it
    # is not recommended, whatever the score is.
    low_score = make_metrics(0.03, extraction_quality_score=0.342, hallucination_rate=0.05)
    assert not any(
        "interval" in reason
        for reason in build_recommendation(
            low_score, make_breakdowns(), grade_metrics(low_score), NO_ERRORS
        ).reasons
    )
    high_rate = make_metrics(0.03, extraction_quality_score=0.8, hallucination_rate=0.5)
    assert not any(
        "interval" in reason
        for reason in build_recommendation(
            high_rate, make_breakdowns(), grade_metrics(high_rate), NO_ERRORS
        ).reasons
    )
    # Whether the rate is below .05 matters only if the score may reach .80.
    for score, is_reported in ((0.79, True), (0.74, False)):
        metrics = make_metrics(0.02, extraction_quality_score=score, hallucination_rate=0.05)
        reasons = build_recommendation(
            metrics, make_breakdowns(), grade_metrics(metrics), NO_ERRORS
        ).reasons
        assert any("rate includes 5.0 %" in reason for reason in reasons) is is_reported


@given(st.floats(0, 1), st.floats(0, 1))
@settings(deadline=None)
def test_decision_of_two_numbers_matches_the_tree(score: float, rate: float) -> None:
    assert decide_verdict(score, rate) == compute_verdict(
        extraction_quality_score=score, hallucination_rate=rate
    )


def test_reasons_name_what_the_verdict_ignores() -> None:
    def join_reasons(**overrides: Estimate) -> str:
        metrics = make_metrics(0.0, extraction_quality_score=0.85) | overrides
        return " | ".join(
            build_recommendation(
                metrics, make_breakdowns(), grade_metrics(metrics), NO_ERRORS
            ).reasons
        )

    assert "ignores" not in join_reasons(fabricated_value_rate=Estimate(value=0.0499))
    reasons = join_reasons(fabricated_value_rate=Estimate(value=0.05))
    assert "with them, 5.0 % of the extracted fields may be made up" in reasons
    worst_below_limit = Estimate(value=0.85, worst=0.79, missing=3)
    reasons = join_reasons(extraction_quality_score=worst_below_limit)
    assert "ignores 3 failed calls" in reasons
    assert "the extraction quality score would be 0.790" in reasons
    worst_at_limit = Estimate(value=0.85, worst=0.80, missing=3)
    assert "ignores" not in join_reasons(extraction_quality_score=worst_at_limit)
    # A negative verdict stays negative.
    low_score = Estimate(value=0.5, worst=0.2, missing=3)
    assert "ignores" not in join_reasons(
        extraction_quality_score=low_score, fabricated_value_rate=Estimate(value=0.9)
    )


def test_recommendation_has_verdicts_by_complexity_and_weaknesses() -> None:
    metrics = make_metrics(0.01)
    simple = make_metrics(0.005, extraction_quality_score=0.93, hallucination_rate=0.01)
    hard = make_metrics(0.01, extraction_quality_score=0.5, field_f1_partial=0.4)
    breakdowns = make_breakdowns(simple=simple, complex=hard)
    recommendation = build_recommendation(metrics, breakdowns, grade_metrics(metrics), NO_ERRORS)
    assert recommendation.by_complexity == {
        "simple": DECISION_TREE[0][0],
        "complex": NOT_RECOMMENDED,
    }
    assert any(
        "complex schemas: partial F1 0.400 against 0.856" in weakness
        for weakness in recommendation.weaknesses
    )
    assert not any("simple" in weakness for weakness in recommendation.weaknesses)
    small_drop = make_breakdowns(complex=make_metrics(0.001, field_f1_partial=0.82))
    weaknesses = build_recommendation(
        metrics, small_drop, grade_metrics(metrics), NO_ERRORS
    ).weaknesses
    # A drop of less than .05 against the total is not listed.
    assert not any("complex" in weakness for weakness in weaknesses)
    assert any("schema validity 98.7 % (A+)" in strength for strength in recommendation.strengths)


def test_strength_with_an_interval_reaching_a_bad_grade_is_marked() -> None:
    metrics = make_metrics(0.01, schema_validity=1.0)
    wide_estimate = Estimate(value=1.0, low=0.5, high=1.0, higher_is_better=True)
    metrics["schema_validity"] = wide_estimate
    recommendation = build_recommendation(
        metrics, make_breakdowns(simple=metrics), grade_metrics(metrics), NO_ERRORS
    )
    assert "schema validity 100.0 % (A+; the interval reaches F)" in recommendation.strengths
    metrics["schema_validity"] = Estimate(value=0.5, low=0.2, high=1.0, higher_is_better=True)
    recommendation = build_recommendation(
        metrics, make_breakdowns(simple=metrics), grade_metrics(metrics), NO_ERRORS
    )
    assert "schema validity 50.0 % (F; the interval reaches A+)" in recommendation.weaknesses


@pytest.mark.parametrize(
    ("accuracy", "verdict", "reason"),
    [
        (0.4, NOT_RECOMMENDED, "requires more: the field accuracy is 0.400, at least 0.700"),
        (0.95, "Deploy with spot-check human review", "the field accuracy is 0.950"),
    ],
)
def test_the_recommendation_follows_the_headline(
    accuracy: float, verdict: str, reason: str
) -> None:
    metrics = make_metrics(0.0, extraction_quality_score=0.85)
    metrics["field_accuracy_macro"] = Estimate(value=accuracy)
    group = metrics | {"field_accuracy": Estimate(value=accuracy)}
    found = build_recommendation(
        metrics,
        make_breakdowns(simple=group),
        grade_metrics(metrics),
        NO_ERRORS,
        "field_accuracy_macro",
    )
    assert found.verdict == found.by_complexity["simple"] == verdict
    assert reason in " | ".join(found.reasons)
    assert "quality score" not in " | ".join(found.reasons)
    # By the quality score, the verdict says what it does not tell.
    by_score = build_recommendation(
        metrics, make_breakdowns(), grade_metrics(metrics), NO_ERRORS
    ).reasons
    assert ("the field accuracy is 0.400" in " | ".join(by_score)) == (accuracy < 0.8)
