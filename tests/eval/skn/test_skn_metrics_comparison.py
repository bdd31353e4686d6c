"""Tests special cases of the comparison of two pipelines and of the classification of rows."""

from __future__ import annotations

from typing import Any

from eval.metrics.comparison import Comparison
from eval.skn.metrics import MeasurementPlan, measure_observations
from eval.skn.scoring.observation import Observation
from eval.skn.scoring.record import SknReport
from eval.stats.paired_tests import mcnemar_minimum_effect

PLAN = MeasurementPlan(resamples=200)


def make_observation(sample: int, pipeline: str, **changes: Any) -> Observation:
    """Returns a judged answer to an answerable sample, with the given changes."""
    base: dict[str, Any] = {
        **{"category": "diagnostic", "answerable": True, "outcome": "ANSWERED"},
        **{"abstention_source": "field", "correct": True, "confidence": 0.9, "detected": False},
        **{"claims": 4.0, "fabricated": 0.0, "severity": 0.0, "groundedness": 1.0},
        "unsupported": 0.0,
    }
    return Observation(sample=f"s{sample:02}", pipeline=pipeline, **{**base, **changes})


def find_difference(report: SknReport, metric: str) -> Comparison:
    (difference,) = [comparison for comparison in report.comparisons if comparison.metric == metric]
    return difference


def test_repeats_are_tested_by_sample_means() -> None:
    rows = [
        make_observation(
            sample, pipeline, repeat=repeat, correct=pipeline == "skn" or repeat + sample > 2
        )
        for sample in range(12)
        for pipeline in ("skn", "json")
        for repeat in range(3)
    ]
    comparison = find_difference(measure_observations(rows, PLAN), "accuracy")
    # json is wrong in 3, 2 and 1 of the repeats of three samples, and never on the other nine.
    assert (comparison.n, comparison.n_differ, comparison.test) == (12, 3, "sign-flip")
    assert comparison.discordant is None
    assert comparison.difference is not None
    assert abs(comparison.difference - 6 / 36) < 1e-9
    # Two of the eight sign patterns of three differences are as extreme as the observed one.
    assert comparison.p == 0.25


def test_descriptive_metrics_have_no_better_side() -> None:
    rows = [
        make_observation(
            sample, pipeline, confidence=confidence, context_chars=chars, agent_prompt_tokens=chars
        )
        for sample in range(30)
        for pipeline, confidence, chars in (
            ("skn", 0.5 + sample / 100, 300.0 + sample),
            ("json", 0.2 + sample / 90, 900.0 + 3 * sample),
        )
    ]
    report = measure_observations(rows, PLAN)
    for metric in ("mean_confidence", "context_chars"):
        comparison = find_difference(report, metric)
        assert comparison.p_holm is not None
        assert comparison.p_holm < 0.01
        assert comparison.better is None
    assert find_difference(report, "agent_prompt_tokens").better == "skn"


def test_minimum_detectable_effect_is_at_least_the_mcnemar_floor() -> None:
    rows = [
        make_observation(sample, pipeline, correct=not (pipeline == "json" and sample == 0))
        for sample in range(40)
        for pipeline in ("skn", "json")
    ]
    comparison = find_difference(measure_observations(rows, PLAN), "accuracy")
    assert comparison.n_differ == 1
    floor = mcnemar_minimum_effect(40)
    assert floor is not None
    assert comparison.minimum_detectable_effect is not None
    assert abs(comparison.minimum_detectable_effect - floor) < 1e-9


def test_only_answers_are_calibrated_and_outcomes_are_counted() -> None:
    """Abstentions may have verdicts too, because the published code judges them."""
    failure_fields: dict[str, Any] = {"has_answer_text": False, "correct": None, "confidence": None}
    rows = [
        *(make_observation(sample, "skn") for sample in range(4)),
        make_observation(4, "skn", outcome="ABSTAINED", correct=False, confidence=0.8),
        *(
            make_observation(5 + n, "skn", **failure_fields, outcome="INVALID", stage="agent")
            for n in range(2)
        ),
        make_observation(7, "skn", **failure_fields, outcome="ERROR", stage="search"),
        make_observation(
            8, "skn", **failure_fields, outcome="ERROR", stage="search", answerable=False
        ),
        make_observation(9, "skn", severity=None),
    ]
    pipeline_report = measure_observations(rows, PLAN).pipelines["skn"]
    outcomes = pipeline_report.outcomes
    assert (outcomes.answered, outcomes.abstained, outcomes.invalid, outcomes.error) == (5, 1, 2, 2)
    assert outcomes.stages == {"agent": 2, "search": 2}
    assert outcomes.unjudged == 1  # the verdict without severity
    assert (
        pipeline_report.confidences.given,
        pipeline_report.confidences.missing,
        pipeline_report.confidences.unreadable,
    ) == (5, 0, 3)
    assert pipeline_report.calibration is not None
    assert pipeline_report.calibration.n == 5
    assert pipeline_report.metrics["mean_confidence"].n == 5
