"""Grades, service levels and the decision tree, at and next to their limits."""

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
from eval.extraction.metrics.quality_score import interpret_score
from eval.extraction.metrics.recommendation import (
    DECISION_TREE,
    NO_RECOMMENDATION,
    NOT_RECOMMENDED,
    build_recommendation,
    decide_verdict,
)
from eval.extraction.record import Breakdown, Dimension, Errors, Estimate, Group

EXAMPLE = {
    "extraction_quality_score": 0.823,
    "schema_validity": 0.987,
    "field_f1_partial": 0.856,
    "exact_match": 0.673,
    "hallucination_rate": 0.032,
    "latency_p95_s": 1.2,
    "type_accuracy": 0.97,
    "success_rate": 0.996,
}
"""The specification's (4.5.8); type accuracy and success rate are ours."""
NO_ERRORS = Errors(groups={}, total=0)


def make_metrics(width: float = 0.0, **changed: float | None) -> dict[str, Estimate]:
    found = {**EXAMPLE, **changed}
    return {
        name: Estimate(
            value=value,
            low=None if value is None else value - width,
            high=None if value is None else value + width,
        )
        for name, value in found.items()
    }


def make_breakdowns(**bins: dict[str, Estimate]) -> dict[Dimension, Breakdown]:
    dimensions: tuple[Dimension, ...] = (
        *("type", "depth", "name", "required", "complexity", "domain", "language"),
    )
    groups = {
        name: Group(samples=10, expected=50, predicted=50, metrics=found)
        for name, found in bins.items()
    }
    return {one: Breakdown(groups=groups if one == "complexity" else {}) for one in dimensions}


def recommended_verdict(**changed: float | None) -> str:
    given = make_metrics(**changed)
    return build_recommendation(given, make_breakdowns(), grade_metrics(given), NO_ERRORS).verdict


def test_specification_example_gets_its_grades() -> None:
    found = {one.metric: one.grade for one in grade_metrics(make_metrics())}
    assert found["schema_validity"] == "A+"
    assert found["field_f1_partial"] == "A"
    assert found["exact_match"] == "B+"
    assert found["hallucination_rate"] == "A+"
    assert found["latency_p95_s"] == "A"


def test_grade_limits_are_inclusive() -> None:
    for one in grade_metrics(make_metrics()):
        worse = -1.0 if one.higher_is_better else 1e9
        for number, (name, limit) in enumerate(one.limits.items()):
            assert grade_value(one.metric, limit) == name
            assert grade_value(one.metric, nextafter(limit, worse)) == GRADES[number + 1]
    assert grade_value("exact_match", None) == ""
    with pytest.raises(KeyError):
        grade_value("coverage", 0.5)


@given(st.sampled_from(sorted(EXAMPLE)), st.floats(0, 20), st.floats(0, 20))
@settings(deadline=None)
def test_grades_are_monotone(metric: str, one: float, two: float) -> None:
    low, high = sorted((one, two))
    if metric in ("hallucination_rate", "latency_p95_s"):
        low, high = high, low
    assert GRADES.index(grade_value(metric, high)) <= GRADES.index(grade_value(metric, low))


def test_grade_shows_other_grades_within_its_interval() -> None:
    by = {one.metric: one for one in grade_metrics(make_metrics(0.06))}
    f1 = by["field_f1_partial"]
    assert (f1.grade_at_worst, f1.grade, f1.grade_at_best) == ("B", "A", "A+")
    rate = by["hallucination_rate"]
    assert (rate.grade_at_worst, rate.grade, rate.grade_at_best) == ("B+", "A+", "A+")


def test_score_is_described_in_words() -> None:
    for score, word in ((0.9, "Excellent"), (0.75, "Good"), (0.6, "Moderate"), (0.0, "Poor")):
        assert interpret_score(score)[0] == word
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
        wanted = REQUIREMENTS[level]
        assert limits == (
            *(wanted.eqs, wanted.schema_validity, wanted.field_f1_partial),
            *(wanted.hallucination_rate_max, wanted.p95_latency_max, wanted.success_rate),
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
        for metric, worse in (
            ("extraction_quality_score", limits[0] - 1e-9),
            ("schema_validity", limits[1] - 1e-9),
            ("field_f1_partial", limits[2] - 1e-9),
            ("hallucination_rate", limits[3] + 1e-9),
            ("latency_p95_s", limits[4] / 1000 + 1e-9),
            ("success_rate", limits[5] - 1e-9),
        ):
            found = check_service_levels(at_limit | {metric: Estimate(value=worse)})[level]
            assert found.passed is False
            assert [one.metric for one in found.checks if not one.passed] == [metric]


def test_service_level_is_undecided_while_a_metric_is_missing() -> None:
    good = make_metrics(
        extraction_quality_score=0.95,
        schema_validity=1.0,
        field_f1_partial=0.95,
        hallucination_rate=0.0,
        success_rate=1.0,
        latency_p95_s=None,
    )
    assert check_service_levels(good)["excellence"].passed is None
    bad = good | {"schema_validity": Estimate(value=0.5)}
    assert check_service_levels(bad)["minimum"].passed is False


def test_decision_tree_branches() -> None:
    assert (
        recommended_verdict(extraction_quality_score=0.90, hallucination_rate=0.0199)
        == DECISION_TREE[0][0]
    )
    # The rate must be below its limit, the score at or above its limit.
    assert (
        recommended_verdict(extraction_quality_score=0.90, hallucination_rate=0.02)
        == DECISION_TREE[1][0]
    )
    assert (
        recommended_verdict(extraction_quality_score=0.8999, hallucination_rate=0.0)
        == DECISION_TREE[1][0]
    )
    assert (
        recommended_verdict(extraction_quality_score=0.80, hallucination_rate=0.0499)
        == DECISION_TREE[1][0]
    )
    assert (
        recommended_verdict(extraction_quality_score=0.95, hallucination_rate=0.05)
        == DECISION_TREE[2][0]
    )
    assert (
        recommended_verdict(extraction_quality_score=0.70, hallucination_rate=0.0999)
        == DECISION_TREE[2][0]
    )
    assert (
        recommended_verdict(extraction_quality_score=0.70, hallucination_rate=0.10)
        == NOT_RECOMMENDED
    )
    assert (
        recommended_verdict(extraction_quality_score=0.6999, hallucination_rate=0.0)
        == NOT_RECOMMENDED
    )
    assert recommended_verdict(extraction_quality_score=None) == NO_RECOMMENDATION
    # The known metrics suffice for a negative verdict.
    assert (
        recommended_verdict(extraction_quality_score=None, hallucination_rate=0.5)
        == NOT_RECOMMENDED
    )


def test_reasons_name_met_and_unmet_requirements() -> None:
    given = make_metrics(0.01)
    one = build_recommendation(given, make_breakdowns(), grade_metrics(given), NO_ERRORS)
    assert one.verdict == DECISION_TREE[1][0]
    told = " | ".join(one.reasons)
    assert "extraction quality score is 0.823, at least 0.800 is required" in told
    assert "hallucination rate is 3.2 %, below 5.0 % is required" in told
    assert f"“{DECISION_TREE[0][0]}” requires more" in told
    assert [branch.taken for branch in one.branches] == [False, True, False]


def test_interval_that_crosses_a_limit_is_reported() -> None:
    wide = make_metrics(0.03)
    told = build_recommendation(wide, make_breakdowns(), grade_metrics(wide), NO_ERRORS).reasons
    assert any("interval of the extraction quality score includes 0.800" in one for one in told)
    narrow = make_metrics(0.001)
    told = build_recommendation(narrow, make_breakdowns(), grade_metrics(narrow), NO_ERRORS).reasons
    assert not any("interval" in one for one in told)


def test_interval_without_effect_on_the_verdict_is_not_reported() -> None:
    # At a score of .342 no rate helps, and at a rate of .5 no score.
    poor = make_metrics(0.03, extraction_quality_score=0.342, hallucination_rate=0.05)
    assert not any(
        "interval" in one
        for one in build_recommendation(
            poor, make_breakdowns(), grade_metrics(poor), NO_ERRORS
        ).reasons
    )
    inventive = make_metrics(0.03, extraction_quality_score=0.8, hallucination_rate=0.5)
    assert not any(
        "interval" in one
        for one in build_recommendation(
            inventive, make_breakdowns(), grade_metrics(inventive), NO_ERRORS
        ).reasons
    )
    # A rate of .05 decides only where the score may reach .80.
    for value, told in ((0.79, True), (0.74, False)):
        near = make_metrics(0.02, extraction_quality_score=value, hallucination_rate=0.05)
        reasons = build_recommendation(
            near, make_breakdowns(), grade_metrics(near), NO_ERRORS
        ).reasons
        assert any("rate includes 5.0 %" in one for one in reasons) is told


@given(st.floats(0, 1), st.floats(0, 1))
@settings(deadline=None)
def test_decision_of_two_numbers_matches_the_tree(score: float, rate: float) -> None:
    assert decide_verdict(score, rate) == recommended_verdict(
        extraction_quality_score=score, hallucination_rate=rate
    )


def test_verdict_names_what_it_ignores() -> None:
    def recommendation_reasons(**changed: Estimate) -> str:
        given = make_metrics(0.0, extraction_quality_score=0.85) | changed
        return " | ".join(
            build_recommendation(given, make_breakdowns(), grade_metrics(given), NO_ERRORS).reasons
        )

    assert "ignores" not in recommendation_reasons(fabricated_value_rate=Estimate(value=0.0499))
    told = recommendation_reasons(fabricated_value_rate=Estimate(value=0.05))
    assert "with them, 5.0 % of the extracted fields are made up" in told
    failed = Estimate(value=0.85, worst=0.79, missing=3)
    told = recommendation_reasons(extraction_quality_score=failed)
    assert "ignores 3 failed calls" in told
    assert "the score would be 0.790" in told
    harmless = Estimate(value=0.85, worst=0.80, missing=3)
    assert "ignores" not in recommendation_reasons(extraction_quality_score=harmless)
    # A negative verdict stays negative.
    refused = Estimate(value=0.5, worst=0.2, missing=3)
    assert "ignores" not in recommendation_reasons(
        extraction_quality_score=refused, fabricated_value_rate=Estimate(value=0.9)
    )


def test_a_verdict_by_complexity_and_weak_parts() -> None:
    given = make_metrics(0.01)
    simple = make_metrics(0.01, extraction_quality_score=0.93, hallucination_rate=0.01)
    hard = make_metrics(0.01, extraction_quality_score=0.5, field_f1_partial=0.4)
    parts = make_breakdowns(simple=simple, complex=hard)
    one = build_recommendation(given, parts, grade_metrics(given), NO_ERRORS)
    assert one.by_complexity == {"simple": DECISION_TREE[0][0], "complex": NOT_RECOMMENDED}
    assert any("complex schemas: partial F1 0.400 against 0.856" in w for w in one.weaknesses)
    assert not any("simple" in w for w in one.weaknesses)
    near = make_breakdowns(complex=make_metrics(0.001, field_f1_partial=0.82))
    told = build_recommendation(given, near, grade_metrics(given), NO_ERRORS).weaknesses
    assert not any("complex" in w for w in told), "drops below .05 are not mentioned"
    assert any("schema validity 98.7 % (A+)" in s for s in one.strengths)


def test_strength_with_an_interval_reaching_a_bad_grade_is_marked() -> None:
    given = make_metrics(0.01, schema_validity=1.0)
    few = Estimate(value=1.0, low=0.5, high=1.0, higher_is_better=True)
    given["schema_validity"] = few
    one = build_recommendation(
        given, make_breakdowns(simple=given), grade_metrics(given), NO_ERRORS
    )
    assert "schema validity 100.0 % (A+; the interval reaches F)" in one.strengths
    given["schema_validity"] = Estimate(value=0.5, low=0.2, high=1.0, higher_is_better=True)
    one = build_recommendation(
        given, make_breakdowns(simple=given), grade_metrics(given), NO_ERRORS
    )
    assert "schema validity 50.0 % (F; the interval reaches A+)" in one.weaknesses
