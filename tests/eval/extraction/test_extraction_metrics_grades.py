"""Grades, service levels and the decision tree, at their limits and beside them."""

from __future__ import annotations

from math import nextafter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.extraction.measuring.grades import GRADES, REQUIREMENTS, grade, grades, service_levels
from eval.extraction.measuring.quality_score import interpretation
from eval.extraction.measuring.recommending import (
    OTHERWISE,
    TREE,
    UNKNOWN,
    decision,
    recommendation,
)
from eval.extraction.record import Breakdown, Dimension, Errors, Group, Value

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


def metrics(width: float = 0.0, **changed: float | None) -> dict[str, Value]:
    found = {**EXAMPLE, **changed}
    return {
        name: Value(
            value=value,
            low=None if value is None else value - width,
            high=None if value is None else value + width,
        )
        for name, value in found.items()
    }


def breakdowns(**bins: dict[str, Value]) -> dict[Dimension, Breakdown]:
    dimensions: tuple[Dimension, ...] = (
        *("type", "depth", "name", "required", "complexity", "domain", "language"),
    )
    groups = {
        name: Group(samples=10, expected=50, predicted=50, metrics=found)
        for name, found in bins.items()
    }
    return {one: Breakdown(groups=groups if one == "complexity" else {}) for one in dimensions}


def decided(**changed: float | None) -> str:
    given = metrics(**changed)
    return recommendation(given, breakdowns(), grades(given), NO_ERRORS).verdict


def test_the_example_of_the_specification_has_its_grades() -> None:
    found = {one.metric: one.grade for one in grades(metrics())}
    assert found["schema_validity"] == "A+"
    assert found["field_f1_partial"] == "A"
    assert found["exact_match"] == "B+"
    assert found["hallucination_rate"] == "A+"
    assert found["latency_p95_s"] == "A"


def test_a_limit_earns_its_grade_and_less_does_not() -> None:
    for one in grades(metrics()):
        worse = -1.0 if one.higher_is_better else 1e9
        for number, (name, limit) in enumerate(one.limits.items()):
            assert grade(one.metric, limit) == name
            assert grade(one.metric, nextafter(limit, worse)) == GRADES[number + 1]
    assert grade("exact_match", None) == ""
    with pytest.raises(KeyError):
        grade("coverage", 0.5)


@given(st.sampled_from(sorted(EXAMPLE)), st.floats(0, 20), st.floats(0, 20))
@settings(deadline=None)
def test_a_better_value_never_has_a_worse_grade(metric: str, one: float, two: float) -> None:
    low, high = sorted((one, two))
    if metric in ("hallucination_rate", "latency_p95_s"):
        low, high = high, low
    assert GRADES.index(grade(metric, high)) <= GRADES.index(grade(metric, low))


def test_a_grade_tells_what_its_interval_leaves_open() -> None:
    by = {one.metric: one for one in grades(metrics(0.06))}
    f1 = by["field_f1_partial"]
    assert (f1.grade_at_worst, f1.grade, f1.grade_at_best) == ("B", "A", "A+")
    rate = by["hallucination_rate"]
    assert (rate.grade_at_worst, rate.grade, rate.grade_at_best) == ("B+", "A+", "A+")


def test_a_score_in_words() -> None:
    for score, word in ((0.9, "Excellent"), (0.75, "Good"), (0.6, "Moderate"), (0.0, "Poor")):
        assert interpretation(score)[0] == word
    assert interpretation(0.8999)[0] == "Good"
    assert interpretation(0.7499)[0] == "Moderate"
    assert interpretation(0.5999)[0] == "Poor"
    assert interpretation(None) == ("", "")


def test_service_levels_are_the_specifications() -> None:
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
        at_limit = metrics(
            extraction_quality_score=limits[0],
            schema_validity=limits[1],
            field_f1_partial=limits[2],
            hallucination_rate=limits[3],
            latency_p95_s=limits[4] / 1000,
            success_rate=limits[5],
        )
        assert service_levels(at_limit)[level].passed is True
        for metric, worse in (
            ("extraction_quality_score", limits[0] - 1e-9),
            ("schema_validity", limits[1] - 1e-9),
            ("field_f1_partial", limits[2] - 1e-9),
            ("hallucination_rate", limits[3] + 1e-9),
            ("latency_p95_s", limits[4] / 1000 + 1e-9),
            ("success_rate", limits[5] - 1e-9),
        ):
            found = service_levels(at_limit | {metric: Value(value=worse)})[level]
            assert found.passed is False
            assert [one.metric for one in found.checks if not one.passed] == [metric]


def test_a_level_is_open_while_a_number_is_lacking_and_none_fails() -> None:
    good = metrics(
        extraction_quality_score=0.95,
        schema_validity=1.0,
        field_f1_partial=0.95,
        hallucination_rate=0.0,
        success_rate=1.0,
        latency_p95_s=None,
    )
    assert service_levels(good)["excellence"].passed is None
    bad = good | {"schema_validity": Value(value=0.5)}
    assert service_levels(bad)["minimum"].passed is False


def test_the_decision_tree_by_its_branches() -> None:
    assert decided(extraction_quality_score=0.90, hallucination_rate=0.0199) == TREE[0][0]
    # The rate must be below its limit, the score at least at its own.
    assert decided(extraction_quality_score=0.90, hallucination_rate=0.02) == TREE[1][0]
    assert decided(extraction_quality_score=0.8999, hallucination_rate=0.0) == TREE[1][0]
    assert decided(extraction_quality_score=0.80, hallucination_rate=0.0499) == TREE[1][0]
    assert decided(extraction_quality_score=0.95, hallucination_rate=0.05) == TREE[2][0]
    assert decided(extraction_quality_score=0.70, hallucination_rate=0.0999) == TREE[2][0]
    assert decided(extraction_quality_score=0.70, hallucination_rate=0.10) == OTHERWISE
    assert decided(extraction_quality_score=0.6999, hallucination_rate=0.0) == OTHERWISE
    assert decided(extraction_quality_score=None) == UNKNOWN
    # What is known suffices to refuse.
    assert decided(extraction_quality_score=None, hallucination_rate=0.5) == OTHERWISE


def test_reasons_name_what_is_met_and_what_lacks() -> None:
    given = metrics(0.01)
    one = recommendation(given, breakdowns(), grades(given), NO_ERRORS)
    assert one.verdict == TREE[1][0]
    told = " | ".join(one.reasons)
    assert "extraction quality score is 0.823, at least 0.800 is asked" in told
    assert "hallucination rate is 3.2 %, below 5.0 % is asked" in told
    assert f"“{TREE[0][0]}” asks for more" in told
    assert [branch.taken for branch in one.branches] == [False, True, False]


def test_an_interval_that_crosses_a_limit_is_told() -> None:
    wide = metrics(0.03)
    told = recommendation(wide, breakdowns(), grades(wide), NO_ERRORS).reasons
    assert any("interval of the extraction quality score includes 0.800" in one for one in told)
    narrow = metrics(0.001)
    told = recommendation(narrow, breakdowns(), grades(narrow), NO_ERRORS).reasons
    assert not any("interval" in one for one in told)


def test_an_interval_that_cannot_move_the_verdict_is_not_told() -> None:
    # At a score of .342 no rate helps, and at a rate of .5 no score.
    poor = metrics(0.03, extraction_quality_score=0.342, hallucination_rate=0.05)
    assert not any(
        "interval" in one
        for one in recommendation(poor, breakdowns(), grades(poor), NO_ERRORS).reasons
    )
    inventive = metrics(0.03, extraction_quality_score=0.8, hallucination_rate=0.5)
    assert not any(
        "interval" in one
        for one in recommendation(inventive, breakdowns(), grades(inventive), NO_ERRORS).reasons
    )
    # A rate of .05 decides only where the score may reach .80.
    for value, told in ((0.79, True), (0.74, False)):
        near = metrics(0.02, extraction_quality_score=value, hallucination_rate=0.05)
        reasons = recommendation(near, breakdowns(), grades(near), NO_ERRORS).reasons
        assert any("rate includes 5.0 %" in one for one in reasons) is told


@given(st.floats(0, 1), st.floats(0, 1))
@settings(deadline=None)
def test_the_tree_told_of_two_numbers_is_the_tree(score: float, rate: float) -> None:
    assert decision(score, rate) == decided(extraction_quality_score=score, hallucination_rate=rate)


def test_a_verdict_says_what_it_leaves_out() -> None:
    def reasons(**changed: Value) -> str:
        given = metrics(0.0, extraction_quality_score=0.85) | changed
        return " | ".join(recommendation(given, breakdowns(), grades(given), NO_ERRORS).reasons)

    assert "leaves out" not in reasons(fabricated_value_rate=Value(value=0.0499))
    told = reasons(fabricated_value_rate=Value(value=0.05))
    assert "with them 5.0 % of what was extracted is made up" in told
    failed = Value(value=0.85, worst=0.79, missing=3)
    told = reasons(extraction_quality_score=failed)
    assert "leaves out 3 failed calls" in told
    assert "the score would be 0.790" in told
    harmless = Value(value=0.85, worst=0.80, missing=3)
    assert "leaves out" not in reasons(extraction_quality_score=harmless)
    # Who is refused is refused all the same.
    refused = Value(value=0.5, worst=0.2, missing=3)
    assert "leaves out" not in reasons(
        extraction_quality_score=refused, fabricated_value_rate=Value(value=0.9)
    )


def test_a_verdict_by_complexity_and_weak_parts() -> None:
    given = metrics(0.01)
    simple = metrics(0.01, extraction_quality_score=0.93, hallucination_rate=0.01)
    hard = metrics(0.01, extraction_quality_score=0.5, field_f1_partial=0.4)
    parts = breakdowns(simple=simple, complex=hard)
    one = recommendation(given, parts, grades(given), NO_ERRORS)
    assert one.by_complexity == {"simple": TREE[0][0], "complex": OTHERWISE}
    assert any("complex schemas: partial F1 0.400 against 0.856" in w for w in one.weaknesses)
    assert not any("simple" in w for w in one.weaknesses)
    near = breakdowns(complex=metrics(0.001, field_f1_partial=0.82))
    told = recommendation(given, near, grades(given), NO_ERRORS).weaknesses
    assert not any("complex" in w for w in told), "less than .05 is not worth naming"
    assert any("schema validity 98.7 % (A+)" in s for s in one.strengths)


def test_a_strength_whose_interval_reaches_a_bad_grade_says_so() -> None:
    given = metrics(0.01, schema_validity=1.0)
    few = Value(value=1.0, low=0.5, high=1.0, higher_is_better=True)
    given["schema_validity"] = few
    one = recommendation(given, breakdowns(simple=given), grades(given), NO_ERRORS)
    assert "schema validity 100.0 % (A+; the interval reaches F)" in one.strengths
    given["schema_validity"] = Value(value=0.5, low=0.2, high=1.0, higher_is_better=True)
    one = recommendation(given, breakdowns(simple=given), grades(given), NO_ERRORS)
    assert "schema validity 50.0 % (F; the interval reaches A+)" in one.weaknesses
