"""Comparison of two pipelines and the classification of rows, beyond the other tests."""

from __future__ import annotations

from typing import Any

from eval.skn.metrics import MeasurementPlan, measure_observations
from eval.skn.scoring.observation import Observation
from eval.skn.scoring.record import Difference, SknReport
from eval.stats.paired_tests import mcnemar_minimum_effect

PLAN = MeasurementPlan(resamples=200)


def make_observed(sample: int, pipeline: str, **told: Any) -> Observation:
    """Returns a judged answer to an answerable sample, with the given changes."""
    base: dict[str, Any] = {
        **{"category": "diagnostic", "answerable": True, "outcome": "ANSWERED"},
        **{"read_by": "field", "correct": True, "confidence": 0.9, "detected": False},
        **{"claims": 4.0, "fabricated": 0.0, "severity": 0.0, "groundedness": 1.0},
        "unsupported": 0.0,
    }
    return Observation(sample=f"s{sample:02}", pipeline=pipeline, **{**base, **told})


def find_difference(report: SknReport, metric: str) -> Difference:
    (found,) = [one for one in report.comparisons if one.metric == metric]
    return found


def test_repeats_are_tested_by_sample_means() -> None:
    rows = [
        make_observed(
            sample, pipeline, repeat=repeat, correct=pipeline == "skn" or repeat + sample > 2
        )
        for sample in range(12)
        for pipeline in ("skn", "json")
        for repeat in range(3)
    ]
    found = find_difference(measure_observations(rows, PLAN), "accuracy")
    # json is wrong in 3, 2 and 1 of the repeats of three samples, and never on the other nine.
    assert (found.n, found.n_differ, found.test) == (12, 3, "sign-flip")
    assert found.discordant is None
    assert found.difference is not None
    assert abs(found.difference - 6 / 36) < 1e-9
    assert found.p == 0.25, "p = 2 of 8 sign patterns"


def test_descriptive_metrics_have_no_better_side() -> None:
    rows = [
        make_observed(
            sample, pipeline, confidence=sure, context_chars=chars, agent_prompt_tokens=chars
        )
        for sample in range(30)
        for pipeline, sure, chars in (
            ("skn", 0.5 + sample / 100, 300.0 + sample),
            ("json", 0.2 + sample / 90, 900.0 + 3 * sample),
        )
    ]
    report = measure_observations(rows, PLAN)
    for metric in ("mean_confidence", "context_chars"):
        found = find_difference(report, metric)
        assert found.p_holm is not None
        assert found.p_holm < 0.01
        assert found.better is None
    assert find_difference(report, "agent_prompt_tokens").better == "skn"


def test_minimum_detectable_effect_is_at_least_the_mcnemar_floor() -> None:
    rows = [
        make_observed(sample, pipeline, correct=not (pipeline == "json" and sample == 0))
        for sample in range(40)
        for pipeline in ("skn", "json")
    ]
    found = find_difference(measure_observations(rows, PLAN), "accuracy")
    assert found.n_differ == 1
    floor = mcnemar_minimum_effect(40)
    assert floor is not None
    assert found.minimum_detectable_effect is not None
    assert abs(found.minimum_detectable_effect - floor) < 1e-9


def test_only_answers_are_calibrated_and_outcomes_are_counted() -> None:
    """The published code also judges abstentions; such verdicts are not of answers."""
    ends: dict[str, Any] = {"to_judge": False, "correct": None, "confidence": None}
    rows = [
        *(make_observed(sample, "skn") for sample in range(4)),
        make_observed(4, "skn", outcome="ABSTAINED", correct=False, confidence=0.8),
        *(make_observed(5 + n, "skn", **ends, outcome="INVALID", stage="agent") for n in range(2)),
        make_observed(7, "skn", **ends, outcome="ERROR", stage="search"),
        make_observed(8, "skn", **ends, outcome="ERROR", stage="search", answerable=False),
        make_observed(9, "skn", severity=None),
    ]
    one = measure_observations(rows, PLAN).pipelines["skn"]
    ends_of = one.outcomes
    assert (ends_of.answered, ends_of.abstained, ends_of.invalid, ends_of.error) == (5, 1, 2, 2)
    assert ends_of.stages == {"agent": 2, "search": 2}
    assert ends_of.unjudged == 1, "a verdict without severity counts as unjudged"
    assert (one.confidences.given, one.confidences.missing, one.confidences.unreadable) == (5, 0, 3)
    assert one.calibration is not None
    assert one.calibration.n == 5
    assert one.metrics["mean_confidence"].n == 5
