"""Tests every metric against manual values: counts, missing values, bounds and p-values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

import msgspec
import numpy as np
import pytest

from eval.metrics.comparison import Comparison
from eval.model.usage import Usage
from eval.skn.agent import Response
from eval.skn.formats.extraction import Extraction
from eval.skn.formats.pipelines import FAIR_ABLATION_PIPELINES
from eval.skn.judges.record import Hallucination, Verdicts
from eval.skn.metrics import (
    MeasurementPlan,
    calculate_metrics,
    compute_efficiency,
    measure_observations,
    measure_run,
)
from eval.skn.row import SknRow
from eval.skn.scoring.observation import Observation, build_observation
from eval.skn.scoring.pairs import select_pairs
from eval.skn.scoring.record import Metric, SknReport
from eval.stats.estimates import Estimate
from kg.base.errors import DuplicateIdError, RecordError
from kg.base.proportions import wilson_interval

PLAN = MeasurementPlan(resamples=200)


def make_observation(sample: object, pipeline: str = "skn", **changes: Any) -> Observation:
    """Returns a judged answer to an answerable sample, with the given changes."""
    base: dict[str, Any] = {
        "category": "diagnostic",
        "answerable": True,
        "outcome": "ANSWERED",
        "abstention_source": "field",
        "correct": True,
        "confidence": 0.9,
        "detected": False,
        "claims": 4.0,
        "fabricated": 0.0,
        "severity": 0.0,
        "groundedness": 1.0,
        "unsupported": 0.0,
    }
    return Observation(sample=str(sample), pipeline=pipeline, **{**base, **changes})


def make_failed_observation(sample: object, pipeline: str = "skn", **changes: Any) -> Observation:
    """Returns an INVALID row of an answerable sample, with the given changes."""
    base: dict[str, Any] = {"category": "diagnostic", "answerable": True, "outcome": "INVALID"}
    return Observation(
        sample=str(sample),
        pipeline=pipeline,
        has_answer_text=False,
        stage="agent",
        **{**base, **changes},
    )


def measure_metrics(rows: Sequence[Observation], pipeline: str = "skn") -> dict[str, Estimate]:
    return measure_observations(rows, PLAN).pipelines[pipeline].metrics


def find_difference(report: SknReport, metric: str, first: str, second: str) -> Comparison:
    (difference,) = [
        comparison
        for comparison in report.comparisons
        if (comparison.metric, comparison.candidate, comparison.baseline) == (metric, first, second)
    ]
    return difference


def test_accuracy_is_correct_over_answerable_with_bounds() -> None:
    rows = [
        *(make_observation(n) for n in range(5)),
        make_observation(5, correct=False),
        make_observation(6, outcome="ABSTAINED", correct=None),
        make_observation(7, correct=None),  # unjudged
        make_failed_observation(8),
        make_failed_observation(9, outcome="ERROR"),
        make_observation(10, answerable=False, outcome="ABSTAINED", correct=None),
    ]
    report = measure_observations(rows, PLAN)
    accuracy = report.pipelines["skn"].metrics["accuracy"]
    # The value leaves out the unjudged answer and counts failures as wrong; the bounds use all ten.
    assert accuracy.value == pytest.approx(5 / 9)
    assert (accuracy.n, accuracy.missing) == (9, 1)
    assert (accuracy.worst, accuracy.best) == (0.5, 0.8)
    assert (accuracy.low, accuracy.high) == pytest.approx(wilson_interval(5, 9))
    assert accuracy.method == "wilson"
    outcomes = report.pipelines["skn"].outcomes
    assert (outcomes.rows, outcomes.answered, outcomes.abstained) == (11, 7, 2)
    assert (outcomes.invalid, outcomes.error) == (1, 1)
    assert outcomes.unjudged == 1
    assert outcomes.stages == {"agent": 2}
    assert any("1 INVALID and 1 ERROR of 11 rows" in note for note in report.notes)
    assert any("1 answers have a missing verdict" in note for note in report.notes)


def test_failures_without_a_stage_are_not_said_to_be_anywhere() -> None:
    good = make_observation(0)
    unnamed, searched = (
        msgspec.structs.replace(make_failed_observation(number), stage=stage)
        for number, stage in ((1, ""), (3, "search"))
    )
    (note,) = [n for n in measure_observations([good, unnamed], PLAN).notes if "INVALID" in n]
    assert "1 INVALID and 0 ERROR of 2 rows. They do not" in note
    rows = [good, unnamed, make_failed_observation(2), searched]
    (note,) = [n for n in measure_observations(rows, PLAN).notes if "INVALID" in n]
    assert "of 4 rows (1 at agent, 1 at search, 1 without a stage). They" in note


def test_hallucination_metrics_are_averages_and_null_without_claims() -> None:
    rows = [
        make_observation(1, claims=4.0, fabricated=1.0, detected=True, severity=0.4),
        make_observation(2, claims=1.0, fabricated=1.0, detected=True, severity=1.0),
        make_observation(3, claims=0.0, makes_no_claims=True, groundedness=None, unsupported=None),
    ]
    metrics = measure_metrics(rows)
    assert metrics["normalized_hallucination"].value == pytest.approx((0.25 + 1) / 2)
    assert metrics["normalized_hallucination"].n == 2
    assert metrics["normalized_hallucination_micro"].value == pytest.approx(2 / 5)
    assert metrics["hallucination_rate"].value == pytest.approx(2 / 3)
    assert metrics["hallucination_severity"].value == pytest.approx(1.4 / 3)
    assert metrics["claims_per_answer"].value == pytest.approx(5 / 3)
    assert metrics["groundedness"].n == 2
    assert all(metrics[name].missing == 0 for name in ("groundedness", "hallucination_rate"))
    metrics_without_claims = measure_metrics(
        [make_observation(1, claims=0.0, makes_no_claims=True, groundedness=None, unsupported=None)]
    )
    for name in ("normalized_hallucination", "normalized_hallucination_micro", "groundedness"):
        assert metrics_without_claims[name].value is None
        assert metrics_without_claims[name].why == "no judged answer claims anything"
        assert metrics_without_claims[name].worst is metrics_without_claims[name].best is None


def test_bounds_of_judged_metrics_include_unjudged_answers() -> None:
    rows = [
        make_observation(1, detected=True, fabricated=2.0, groundedness=0.5, unsupported=0.5),
        make_observation(2),
        make_failed_observation(3),
        make_observation(
            4, detected=None, claims=None, fabricated=None, severity=None, groundedness=None
        ),
    ]
    metrics = measure_metrics(rows)
    assert (metrics["hallucination_rate"].worst, metrics["hallucination_rate"].best) == (0.75, 0.25)
    fabricated_share = metrics["normalized_hallucination"]
    assert (fabricated_share.value, fabricated_share.worst, fabricated_share.best) == (
        0.25,
        0.625,
        0.125,
    )
    groundedness = metrics["groundedness"]
    assert (groundedness.value, groundedness.worst, groundedness.best) == (0.75, 0.375, 0.875)
    micro_share = metrics["normalized_hallucination_micro"]
    assert (micro_share.worst, micro_share.best) == (1.0, 0.0)


def test_abstention_metrics_and_bounds_match_manual_values() -> None:
    rows = [
        *(
            make_observation(n, answerable=False, outcome="ABSTAINED", correct=None)
            for n in range(3)
        ),
        make_observation(3, answerable=False, correct=None),
        make_failed_observation(4, answerable=False),
        make_observation(5, outcome="ABSTAINED", correct=None, abstention_source="text"),
        *(make_observation(n) for n in range(6, 10)),
        make_failed_observation(10),
    ]
    report = measure_observations(rows, PLAN)
    metrics, outcomes = report.pipelines["skn"].metrics, report.pipelines["skn"].outcomes
    assert metrics["abstention_precision"].value == pytest.approx(3 / 4)
    assert metrics["abstention_recall"].value == pytest.approx(3 / 5)
    assert metrics["abstention_f1"].value == pytest.approx(2 * 0.75 * 0.6 / 1.35)
    assert metrics["abstention_accuracy"].value == pytest.approx(7 / 11)
    assert (metrics["abstention_precision"].worst, metrics["abstention_precision"].best) == (
        0.6,
        0.8,
    )
    assert (metrics["abstention_recall"].worst, metrics["abstention_recall"].best) == (0.6, 0.8)
    assert metrics["abstention_f1"].worst == pytest.approx(6 / 10)
    assert metrics["abstention_f1"].best == pytest.approx(8 / 10)
    confusion_counts = (outcomes.true_positives, outcomes.false_positives, outcomes.false_negatives)
    assert (*confusion_counts, outcomes.true_negatives) == (3, 1, 1, 4)
    assert outcomes.abstention_read == {"field": 8, "text": 1}
    assert any("1 of skn" in note and "by their wording" in note for note in report.notes)
    metrics_without_abstentions = measure_metrics(
        [make_observation(1), make_observation(2, answerable=False, correct=None)]
    )
    assert metrics_without_abstentions["abstention_precision"].value is None
    assert metrics_without_abstentions["abstention_precision"].why == "the pipeline never abstains"
    assert metrics_without_abstentions["abstention_recall"].value == 0.0
    assert metrics_without_abstentions["abstention_f1"].value == 0.0


def test_calibration_uses_decimal_edges_and_reports_chance_level() -> None:
    rows = [
        *(make_observation(f"a{n}", confidence=0.7) for n in range(10)),
        *(make_observation(f"b{n}", confidence=0.65, correct=False) for n in range(10)),
        make_observation("c", confidence=None),
        make_observation("d", outcome="ABSTAINED", correct=None, confidence=0.1),
    ]
    report = measure_observations(rows, PLAN).pipelines["skn"]
    # The answers fall into two bins: .5·.3 + .5·.65. With the published edges they fall into one
    # bin, and the error is .175.
    assert report.metrics["ece"].value == pytest.approx(0.475)
    assert report.metrics["ece"].n == 20
    assert report.confidences.missing == 1
    assert report.calibration is not None
    assert 0 < report.calibration.ece_expected.mean < report.calibration.ece_expected.high < 0.475
    assert report.metrics["mean_confidence"].value == pytest.approx(0.675)
    assert report.metrics["confidence_when_wrong"].value == pytest.approx(0.65)


@pytest.mark.parametrize(("n", "expected"), [(12, 0.20), (42, 0.11)])
def test_calibrated_system_has_a_nonzero_expected_error(n: int, expected: float) -> None:
    # The expected errors are those of a system whose confidences are uniform on [.5, 1].
    confidences = np.random.default_rng(1).uniform(0.5, 1.0, n)
    rows = [
        # Three of four answers are right, which is the mean confidence.
        make_observation(number, confidence=float(confidence), correct=bool(number % 4))
        for number, confidence in enumerate(confidences)
    ]
    report = measure_observations(rows, PLAN)
    calibration = report.pipelines["skn"].calibration
    assert calibration is not None
    assert calibration.ece_expected.mean == pytest.approx(expected, abs=0.035)
    assert any("Even a perfectly calibrated system" in note for note in report.notes)


def test_calibration_is_bounded_by_the_widest_gaps() -> None:
    rows = [
        make_observation(1, confidence=0.8),
        make_observation(2, confidence=0.8, correct=False),
        make_failed_observation(3),
        make_failed_observation(4),
    ]
    ece = measure_metrics(rows)["ece"]
    assert ece.value == pytest.approx(0.3)
    assert (ece.worst, ece.best) == pytest.approx(((0.3 * 2 + 2) / 4, 0.0))
    brier = measure_metrics(rows)["brier"]
    assert brier.value == pytest.approx((0.04 + 0.64) / 2)
    assert (brier.worst, brier.best) == pytest.approx((2.68 / 4, 0.68 / 4))
    ece_without_confidences = measure_metrics(
        [make_observation(1, confidence=None), make_failed_observation(2)]
    )["ece"]
    assert (
        ece_without_confidences.value,
        ece_without_confidences.worst,
        ece_without_confidences.best,
    ) == (None, 1.0, 0.0)


def test_three_more_right_of_twelve_is_not_significant() -> None:
    rows = [
        *(make_observation(n, "json", correct=n < 9) for n in range(12)),
        *(make_observation(n, "skn") for n in range(12)),
    ]
    report = measure_observations(rows, PLAN)
    comparison = find_difference(report, "accuracy", "skn", "json")
    assert comparison.difference == 0.25
    assert comparison.discordant is not None
    counts = comparison.discordant
    assert (counts.both, counts.only_candidate, counts.only_baseline, counts.neither) == (
        9,
        3,
        0,
        0,
    )
    assert comparison.test == "mcnemar"
    assert comparison.exact
    assert comparison.p == 0.25
    assert comparison.better is None
    assert comparison.minimum_detectable_effect is not None
    assert comparison.minimum_detectable_effect > 0.25
    assert any("Only 12 samples" in note for note in report.notes)
    assert any("every answerable sample right" in note for note in report.notes)


def test_unreadable_replies_are_not_reported_as_too_hard() -> None:
    wrong_rows = [make_observation(number, correct=False) for number in range(4)]
    assert any("too hard" in note for note in measure_observations(wrong_rows).notes)
    failed_rows = [make_failed_observation(number) for number in range(4)]
    assert not any("too hard" in note for note in measure_observations(failed_rows).notes)


def test_all_42_right_still_has_an_interval() -> None:
    report = measure_observations([make_observation(n) for n in range(42)], PLAN, mode="published")
    accuracy = report.pipelines["skn"].metrics["accuracy"]
    assert accuracy.low == pytest.approx(0.916, abs=5e-4)
    assert accuracy.high == 1.0
    assert any("[1, 1]" in note and "claims certainty from 42" in note for note in report.notes)
    # All answers have equal groundedness, so the resamples do not vary.
    rows = [make_observation(n, groundedness=0.8) for n in range(42)]
    uniform_report = measure_observations(rows, PLAN)
    groundedness = uniform_report.pipelines["skn"].metrics["groundedness"]
    assert groundedness.method == "wilson-edge"
    assert groundedness.low is not None
    assert groundedness.high is not None
    assert groundedness.high - groundedness.low > 0.1
    assert any("groundedness, " in note and "zero width" in note for note in uniform_report.notes)


def test_tokens_come_from_the_server_and_latency_is_measured() -> None:
    rows = [
        make_observation(n, tokens=100.0 * n if n else None, latency_s=float(n), context_chars=40.0)
        for n in range(21)
    ]
    metrics = measure_metrics(rows)
    assert metrics["tokens"].value == pytest.approx(1050)
    assert (metrics["tokens"].n, metrics["tokens"].missing) == (20, 1)
    assert metrics["latency_p50_s"].value == 10.0
    assert metrics["latency_p95_s"].value == 19.0
    assert metrics["latency_p50_s"].method == "bootstrap-percentile"
    assert metrics["context_chars"].value == 40.0
    assert metrics["context_chars"].method == "none"
    offline_metrics = measure_metrics([make_observation(1), make_observation(2)])
    for name in ("tokens", "agent_prompt_tokens", "latency_p50_s", "latency_mean_s"):
        assert offline_metrics[name].value is None
        assert offline_metrics[name].why


def test_validity_and_retention_count_received_extractions_only() -> None:
    validities = ["strict"] * 6 + ["tolerant"] * 2 + ["repaired", "unreadable"]
    rows = [
        make_observation(n, validity=validity, retained={"facts": (3, 4)})
        for n, validity in enumerate(validities)
    ]
    rows.append(make_failed_observation("search", outcome="ERROR"))
    report = measure_observations(rows, PLAN).pipelines["skn"]
    assert {k: v.value for k, v in report.validity.items()} == {
        **{"strict": 0.6, "tolerant": 0.2, "repaired": 0.1},
        "unreadable": 0.1,
    }
    assert report.validity["strict"].method == "wilson"
    assert report.validity["strict"].n == 10
    assert report.retention["facts"].value == 0.75
    assert report.retention["facts"].n == 10


def test_categories_partition_the_samples() -> None:
    rows = [
        make_observation(n, category="diagnostic" if n % 3 else "misleading", correct=n < 6)
        for n in range(9)
    ]
    report = measure_observations(rows, PLAN)
    assert report.categories == {"diagnostic": 6, "misleading": 3}
    per_category = report.pipelines["skn"].per_category
    assert per_category["diagnostic"]["accuracy"].value == pytest.approx(4 / 6)
    assert per_category["misleading"]["accuracy"].value == pytest.approx(2 / 3)
    assert sum(metrics["accuracy"].n for metrics in per_category.values()) == 9


def test_holm_adjusts_over_the_pairs_of_each_metric() -> None:
    rows = [
        # Only json is ever wrong, on 8 of the 24 samples.
        make_observation(n, name, correct=n >= 8 * (name == "json"))
        for name in FAIR_ABLATION_PIPELINES
        for n in range(24)
    ]
    report = measure_observations(rows, PLAN)
    assert report.pairs == select_pairs(list(report.pipelines))
    assert len(report.pairs) == 8
    comparison = find_difference(report, "accuracy", "skn", "json")
    assert comparison.p == pytest.approx(2 * 0.5**8)
    assert comparison.p_holm == pytest.approx(8 * 2 * 0.5**8)
    assert comparison.better is None
    equal_comparison = find_difference(report, "accuracy", "skn", "json_meta")
    assert (
        equal_comparison.difference,
        equal_comparison.p,
        equal_comparison.p_holm,
        equal_comparison.n_differ,
    ) == (0.0, 1.0, 1.0, 0)
    assert equal_comparison.better is None


def test_better_side_follows_the_metric_direction() -> None:
    rows = [
        make_observation(
            n, name, detected=name == "json", fabricated=float(name == "json"), tokens=float(tokens)
        )
        for name, tokens in (("json", 90), ("skn", 60))
        for n in range(30)
    ]
    report = measure_observations(rows, PLAN)
    assert find_difference(report, "hallucination_rate", "skn", "json").better == "skn"
    assert find_difference(report, "hallucination_rate", "skn", "json").method == "newcombe-paired"
    assert find_difference(report, "normalized_hallucination", "skn", "json").better == "skn"
    assert find_difference(report, "tokens", "skn", "json").p == pytest.approx(2 * 0.5**30)
    assert find_difference(report, "claims_per_answer", "skn", "json").better is None


def test_pairs_compare_only_samples_with_both_values() -> None:
    rows = [
        *(
            make_observation(n, "json", claims=0.0 if n < 3 else 4.0, fabricated=0.0)
            for n in range(10)
        ),
        *(
            make_observation(n, "skn", claims=4.0, fabricated=2.0 if n < 3 else 1.0)
            for n in range(10)
        ),
    ]
    comparison = find_difference(
        measure_observations(rows, PLAN), "normalized_hallucination", "skn", "json"
    )
    assert (comparison.n, comparison.difference, comparison.value_candidate) == (7, 0.25, 0.25)


def test_repeats_do_not_count_as_samples() -> None:
    rows = [make_observation(n, repeat=r, correct=n < 8) for n in range(10) for r in range(5)]
    single_rows = [make_observation(n, correct=n < 8) for n in range(10)]
    repeated_report, single_report = (
        measure_observations(rows, PLAN),
        measure_observations(single_rows, PLAN),
    )
    assert repeated_report.repeats == 5
    repeated, single = (
        report.pipelines["skn"].metrics["accuracy"] for report in (repeated_report, single_report)
    )
    assert repeated.value == single.value == 0.8
    assert repeated.method == "bootstrap-bca"
    assert repeated.low is not None
    assert repeated.high is not None
    # Fifty independent answers would give an interval of width .22.
    assert repeated.high - repeated.low > 0.3


def test_missing_rows_are_failures() -> None:
    rows = [make_observation(1, "json"), make_observation(2, "json"), make_observation(1, "skn")]
    report = measure_observations(rows, PLAN).pipelines["skn"]
    assert report.outcomes.error == 1
    assert report.outcomes.stages == {"missing": 1}
    assert report.metrics["accuracy"].value == 0.5
    assert report.metrics["accuracy"].best == 1.0


def test_contradictory_rows_are_refused() -> None:
    with pytest.raises(RecordError, match="no rows"):
        measure_observations([])
    with pytest.raises(DuplicateIdError, match="two rows of sample 's'"):
        measure_observations([make_observation("s"), make_observation("s")])
    with pytest.raises(RecordError, match="differ in category or answerability"):
        measure_observations(
            [make_observation("s", "json"), make_observation("s", answerable=False)]
        )
    with pytest.raises(RecordError, match="row 1"):
        calculate_metrics([{"skn_answer": "x", "skn_correct": None}], ["skn"], "a/b")


def test_every_metric_is_named_and_nothing_is_nan() -> None:
    rows = [make_observation(n, tokens=5.0, latency_s=1.0 + n) for n in range(4)]
    report = measure_observations(rows, MeasurementPlan(resamples=60))
    assert set(report.pipelines["skn"].metrics) == set(get_args(Metric))
    text = msgspec.json.encode(report)
    assert msgspec.json.decode(text, type=SknReport) == report
    numbers = [v for m in report.pipelines["skn"].metrics.values() for v in (m.value, m.std)]
    assert all(math.isfinite(v) for v in numbers if v is not None)


def make_row(**changes: Any) -> SknRow:
    base: dict[str, Any] = {
        "id": "s1",
        "category": "diagnostic",
        "pipeline": "skn",
        "answerable": True,
        "outcome": "ANSWERED",
        "extraction": Extraction(
            pipeline="skn",
            context="[SKN] …",
            validity="repaired",
            latency_s=1.5,
            usage=Usage(200, 50),
        ),
        "response": Response(
            answer="A full disk.",
            confidence=0.8,
            reasoning="",
            abstained=False,
            readable=True,
            latency_s=0.5,
            usage=Usage(120, 30),
        ),
        "verdicts": Verdicts(
            correct=True,
            hallucination=Hallucination(3.5, 0.5, ("x",), 0.2, True),
            groundedness=0.9,
            unsupported_fraction=0.1,
            failures={"hallucination": 1},
        ),
        "latency_s": 2.0,
        "usage": Usage(320, 80),
    }
    return SknRow(**{**base, **changes})


def test_row_is_converted_to_an_observation() -> None:
    observation = build_observation(make_row())
    assert observation == Observation(
        sample="s1",
        category="diagnostic",
        pipeline="skn",
        answerable=True,
        outcome="ANSWERED",
        abstention_source="field",
        correct=True,
        confidence=0.8,
        detected=True,
        claims=3.5,
        fabricated=0.5,
        severity=0.2,
        groundedness=0.9,
        unsupported=0.1,
        context_chars=7,
        context_tokens_est=1,
        extraction_tokens=50,
        agent_prompt_tokens=120,
        agent_completion_tokens=30,
        tokens=400,
        latency_s=2.0,
        extraction_latency_s=1.5,
        reasoning_latency_s=0.5,
        validity="repaired",
        failures={"hallucination": 1},
    )
    assert not observation.unjudged


def test_null_groundedness_is_missing_only_if_the_judge_failed() -> None:
    no_hallucination = Hallucination(0.0, 0.0, (), 0.0, False)
    without_claims = build_observation(
        make_row(verdicts=Verdicts(correct=True, hallucination=no_hallucination))
    )
    assert without_claims.makes_no_claims
    assert not without_claims.unjudged
    verdicts = Verdicts(correct=True, hallucination=no_hallucination, failed=("groundedness",))
    with_failed_judge = build_observation(make_row(verdicts=verdicts))
    assert not with_failed_judge.makes_no_claims
    assert with_failed_judge.unjudged
    assert build_observation(make_row(verdicts=None)).unjudged
    assert not build_observation(make_row(verdicts=None, outcome="ERROR", stage="agent")).unjudged


def test_row_tokens_are_null_unless_every_call_was_counted() -> None:
    response = Response(answer="x", confidence=None, reasoning="", abstained=False, readable=True)
    observation = build_observation(make_row(response=response, usage=Usage(200, 50)))
    assert (observation.tokens, observation.agent_prompt_tokens, observation.extraction_tokens) == (
        None,
        None,
        50,
    )


def test_failed_row_has_no_answer_values() -> None:
    observation = build_observation(make_row(outcome="INVALID", stage="agent"))
    assert (
        observation.correct,
        observation.confidence,
        observation.detected,
        observation.abstention_source,
    ) == (None, None, None, "")


def test_uncounted_costs_are_null() -> None:
    rows = [make_row(), make_row(id="s2"), make_row(pipeline="json", usage=None, latency_s=None)]
    efficiency = compute_efficiency(rows)
    assert efficiency["pipelines"]["skn"]["avg_total_latency_s"] == 2.0
    assert efficiency["pipelines"]["skn"]["avg_search_time_s"] is None
    assert efficiency["pipelines"]["skn"]["avg_context_tokens"] is None
    assert efficiency["pipelines"]["skn"]["avg_context_tokens_est"] == 1
    assert efficiency["pipelines"]["json"]["avg_total_latency_s"] is None
    assert efficiency["efficiency"]["char_ratio_skn_vs_json"] == 1.0
    assert efficiency["efficiency"]["token_ratio_skn_vs_json"] is None
    published = compute_efficiency(rows, mode="published")
    assert published["pipelines"]["skn"]["avg_context_tokens"] == 1
    assert published["pipelines"]["skn"]["avg_total_latency_s"] == 2.0
    assert published["efficiency"] == {"token_ratio_skn_vs_json": 1.0}
    assert compute_efficiency([make_row()])["efficiency"] == {}


def test_long_and_wide_rows_give_the_same_values() -> None:
    # A long row is one answer of one pipeline; a wide row has the answers of all pipelines.
    rows = [
        make_row(),
        make_row(id="s2", verdicts=Verdicts(correct=False)),
        make_row(id="s3", outcome="ABSTAINED", answerable=False),
    ]
    wide_rows = [
        {
            "id": row.id,
            "category": row.category,
            "answerable": row.answerable,
            "skn_answer": row.response.answer if row.response else "",
            "skn_confidence": 0.8,
            "skn_correct": row.verdicts.correct if row.verdicts and row.answerable else None,
            "skn_hallucination": {
                "hallucination_detected": row.verdicts.hallucination.detected,
                "hallucination_severity": row.verdicts.hallucination.severity,
                "total_claims": row.verdicts.hallucination.total_claims,
                "fabricated_claims": ["x"],
                "normalized_hallucination": 0.5 / 3.5 if n != 1 else None,
            }
            if row.verdicts
            else None,
            "skn_groundedness": {
                "groundedness_score": row.verdicts.groundedness,
                "unsupported_fraction": row.verdicts.unsupported_fraction,
            }
            if row.verdicts
            else None,
            "skn_outcome": row.outcome,
        }
        for n, row in enumerate(rows)
    ]
    long_metrics = measure_run(rows, PLAN).pipelines["skn"].metrics
    wide_metrics = calculate_metrics(wide_rows, ["skn"], plan=PLAN)["skn"]
    for key in ("accuracy", "ece", "hallucination_rate", "abstention_f1", "abstention_recall"):
        assert wide_metrics[key] == long_metrics[key].value
    assert wide_metrics["normalized_hallucination"] == pytest.approx(
        long_metrics["normalized_hallucination"].value
    )
    assert wide_metrics["accuracy_ci"]["ci_low"] == long_metrics["accuracy"].low


def test_outcome_of_published_rows_is_inferred() -> None:
    wide_rows = [
        {"id": 1, "skn_answer": "A full disk.", "skn_confidence": 0.9, "skn_correct": True},
        {"id": 2, "skn_answer": "I don't know.", "skn_confidence": 0.1, "skn_correct": False},
        {"id": 3, "skn_answer": "", "skn_confidence": 0.0, "skn_reasoning": "error"},
        {"id": 4, "skn_answer": ["a", "list"], "skn_confidence": "eight"},
        {"id": 5, "skn_answer": "Unknown", "answerable": False, "skn_correct": None},
    ]
    for row in wide_rows:
        row |= {"skn_hallucination": None, "skn_groundedness": None}
        row.setdefault("skn_correct", None)
    metrics = calculate_metrics(wide_rows, ["skn"], plan=PLAN)["skn"]
    assert metrics["accuracy"] == 0.25  # an abstention and two failures are not correct
    assert metrics["abstention_precision"] == 0.5
    assert metrics["abstention_recall"] == 1.0
    assert metrics["groundedness"] is None
