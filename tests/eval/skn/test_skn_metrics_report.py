"""Every metric against manual values: counts, missing values, bounds and tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

import msgspec
import numpy as np
import pytest

from eval.result import Usage
from eval.skn.agent import Response
from eval.skn.formats.extraction import Extraction
from eval.skn.judges.record import Hallucination, Verdicts
from eval.skn.metrics import (
    MeasurementPlan,
    calculate_metrics,
    compute_efficiency,
    measure_observations,
    measure_run,
)
from eval.skn.pipelines import FAIR_ABLATION_PIPELINES
from eval.skn.running.row import SknRow
from eval.skn.scoring.observation import Observation, build_observation
from eval.skn.scoring.pairs import select_pairs
from eval.skn.scoring.record import Difference, Metric, SknReport
from eval.stats.estimates import Estimate
from kg.base.errors import DuplicateIdError, RecordError
from kg.base.proportions import wilson_interval

PLAN = MeasurementPlan(resamples=200)


def make_observed(sample: object, pipeline: str = "skn", **told: Any) -> Observation:
    """Returns a judged answer to an answerable sample, with the given changes."""
    base: dict[str, Any] = {
        "category": "diagnostic",
        "answerable": True,
        "outcome": "ANSWERED",
        "read_by": "field",
        "correct": True,
        "confidence": 0.9,
        "detected": False,
        "claims": 4.0,
        "fabricated": 0.0,
        "severity": 0.0,
        "groundedness": 1.0,
        "unsupported": 0.0,
    }
    return Observation(sample=str(sample), pipeline=pipeline, **{**base, **told})


def make_failed(sample: object, pipeline: str = "skn", **told: Any) -> Observation:
    base: dict[str, Any] = {"category": "diagnostic", "answerable": True, "outcome": "INVALID"}
    return Observation(
        sample=str(sample), pipeline=pipeline, to_judge=False, stage="agent", **{**base, **told}
    )


def metric_values(rows: Sequence[Observation], pipeline: str = "skn") -> dict[str, Estimate]:
    return measure_observations(rows, PLAN).pipelines[pipeline].metrics


def find_difference(report: SknReport, metric: str, first: str, second: str) -> Difference:
    (found,) = [
        one
        for one in report.comparisons
        if (one.metric, one.first, one.second) == (metric, first, second)
    ]
    return found


def test_accuracy_is_correct_over_answerable_with_bounds() -> None:
    rows = [
        *(make_observed(n) for n in range(5)),
        make_observed(5, correct=False),
        make_observed(6, outcome="ABSTAINED", correct=None),
        make_observed(7, correct=None),  # unjudged
        make_failed(8),
        make_failed(9, outcome="ERROR"),
        make_observed(10, answerable=False, outcome="ABSTAINED", correct=None),
    ]
    report = measure_observations(rows, PLAN)
    accuracy = report.pipelines["skn"].metrics["accuracy"]
    # The value leaves out the unjudged answer and counts failures as wrong; the bounds use all ten.
    assert accuracy.value == pytest.approx(5 / 9)
    assert (accuracy.n, accuracy.missing) == (9, 1)
    assert (accuracy.worst, accuracy.best) == (0.5, 0.8)
    assert (accuracy.low, accuracy.high) == pytest.approx(wilson_interval(5, 9))
    assert accuracy.method == "wilson"
    ended = report.pipelines["skn"].outcomes
    assert (ended.rows, ended.answered, ended.abstained, ended.invalid, ended.error) == (
        *(11, 7, 2, 1),
        1,
    )
    assert ended.unjudged == 1
    assert ended.stages == {"agent": 2}
    assert any("1 INVALID and 1 ERROR of 11 rows" in note for note in report.notes)
    assert any("1 answers have a missing verdict" in note for note in report.notes)


def test_hallucination_averages_and_null_without_claims() -> None:
    rows = [
        make_observed(1, claims=4.0, fabricated=1.0, detected=True, severity=0.4),
        make_observed(2, claims=1.0, fabricated=1.0, detected=True, severity=1.0),
        make_observed(3, claims=0.0, claims_nothing=True, groundedness=None, unsupported=None),
    ]
    found = metric_values(rows)
    assert found["normalized_hallucination"].value == pytest.approx((0.25 + 1) / 2)
    assert found["normalized_hallucination"].n == 2
    assert found["normalized_hallucination_micro"].value == pytest.approx(2 / 5)
    assert found["hallucination_rate"].value == pytest.approx(2 / 3)
    assert found["hallucination_severity"].value == pytest.approx(1.4 / 3)
    assert found["claims_per_answer"].value == pytest.approx(5 / 3)
    assert found["groundedness"].n == 2
    assert all(found[name].missing == 0 for name in ("groundedness", "hallucination_rate"))
    silent = metric_values(
        [make_observed(1, claims=0.0, claims_nothing=True, groundedness=None, unsupported=None)]
    )
    for name in ("normalized_hallucination", "normalized_hallucination_micro", "groundedness"):
        assert silent[name].value is None
        assert silent[name].why == "no judged answer claims anything"
        assert silent[name].worst is silent[name].best is None


def test_bounds_of_judged_metrics_include_unjudged_answers() -> None:
    rows = [
        make_observed(1, detected=True, fabricated=2.0, groundedness=0.5, unsupported=0.5),
        make_observed(2),
        make_failed(3),
        make_observed(
            4, detected=None, claims=None, fabricated=None, severity=None, groundedness=None
        ),
    ]
    found = metric_values(rows)
    assert (found["hallucination_rate"].worst, found["hallucination_rate"].best) == (0.75, 0.25)
    share = found["normalized_hallucination"]
    assert (share.value, share.worst, share.best) == (0.25, 0.625, 0.125)
    ground = found["groundedness"]
    assert (ground.value, ground.worst, ground.best) == (0.75, 0.375, 0.875)
    micro = found["normalized_hallucination_micro"]
    assert (micro.worst, micro.best) == (1.0, 0.0)


def test_abstention_precision_recall_f1_and_their_bounds() -> None:
    rows = [
        *(make_observed(n, answerable=False, outcome="ABSTAINED", correct=None) for n in range(3)),
        make_observed(3, answerable=False, correct=None),
        make_failed(4, answerable=False),
        make_observed(5, outcome="ABSTAINED", correct=None, read_by="text"),
        *(make_observed(n) for n in range(6, 10)),
        make_failed(10),
    ]
    report = measure_observations(rows, PLAN)
    found, ended = report.pipelines["skn"].metrics, report.pipelines["skn"].outcomes
    assert found["abstention_precision"].value == pytest.approx(3 / 4)
    assert found["abstention_recall"].value == pytest.approx(3 / 5)
    assert found["abstention_f1"].value == pytest.approx(2 * 0.75 * 0.6 / 1.35)
    assert found["abstention_accuracy"].value == pytest.approx(7 / 11)
    assert (found["abstention_precision"].worst, found["abstention_precision"].best) == (0.6, 0.8)
    assert (found["abstention_recall"].worst, found["abstention_recall"].best) == (0.6, 0.8)
    assert found["abstention_f1"].worst == pytest.approx(6 / 10)
    assert found["abstention_f1"].best == pytest.approx(8 / 10)
    cells = (ended.true_positives, ended.false_positives, ended.false_negatives)
    assert (*cells, ended.true_negatives) == (3, 1, 1, 4)
    assert ended.abstention_read == {"field": 8, "text": 1}
    assert any("1 of skn" in note and "by their wording" in note for note in report.notes)
    never = metric_values([make_observed(1), make_observed(2, answerable=False, correct=None)])
    assert never["abstention_precision"].value is None
    assert never["abstention_precision"].why == "the pipeline never abstains"
    assert never["abstention_recall"].value == 0.0
    assert never["abstention_f1"].value == 0.0


def test_calibration_uses_decimal_edges_and_reports_chance_level() -> None:
    rows = [
        *(make_observed(f"a{n}", confidence=0.7) for n in range(10)),
        *(make_observed(f"b{n}", confidence=0.65, correct=False) for n in range(10)),
        make_observed("c", confidence=None),
        make_observed("d", outcome="ABSTAINED", correct=None, confidence=0.1),
    ]
    report = measure_observations(rows, PLAN).pipelines["skn"]
    # Two bins: .5·.3 + .5·.65. With the published edges they are one, and the error .175.
    assert report.metrics["ece"].value == pytest.approx(0.475)
    assert report.metrics["ece"].n == 20
    assert report.confidences.missing == 1
    assert report.calibration is not None
    assert 0 < report.calibration.ece_expected.mean < report.calibration.ece_expected.high < 0.475
    assert report.metrics["mean_confidence"].value == pytest.approx(0.675)
    assert report.metrics["confidence_when_wrong"].value == pytest.approx(0.65)


@pytest.mark.parametrize(("n", "expected"), [(12, 0.20), (42, 0.11)])
def test_calibrated_system_has_a_nonzero_expected_error(n: int, expected: float) -> None:
    # The reference value holds for confidences spread evenly over [.5, 1].
    sure = np.random.default_rng(1).uniform(0.5, 1.0, n)
    rows = [make_observed(k, confidence=float(c), correct=bool(k % 4)) for k, c in enumerate(sure)]
    report = measure_observations(rows, PLAN)
    calibration = report.pipelines["skn"].calibration
    assert calibration is not None
    assert calibration.ece_expected.mean == pytest.approx(expected, abs=0.035)
    assert any("Even a perfectly calibrated system" in note for note in report.notes)


def test_calibration_is_bounded_by_the_widest_gaps() -> None:
    rows = [
        make_observed(1, confidence=0.8),
        make_observed(2, confidence=0.8, correct=False),
        make_failed(3),
        make_failed(4),
    ]
    ece = metric_values(rows)["ece"]
    assert ece.value == pytest.approx(0.3)
    assert (ece.worst, ece.best) == pytest.approx(((0.3 * 2 + 2) / 4, 0.0))
    brier = metric_values(rows)["brier"]
    assert brier.value == pytest.approx((0.04 + 0.64) / 2)
    assert (brier.worst, brier.best) == pytest.approx((2.68 / 4, 0.68 / 4))
    none = metric_values([make_observed(1, confidence=None), make_failed(2)])["ece"]
    assert (none.value, none.worst, none.best) == (None, 1.0, 0.0)


def test_nine_against_twelve_of_twelve_is_not_significant() -> None:
    rows = [
        *(make_observed(n, "json", correct=n < 9) for n in range(12)),
        *(make_observed(n, "skn") for n in range(12)),
    ]
    report = measure_observations(rows, PLAN)
    found = find_difference(report, "accuracy", "skn", "json")
    assert found.difference == 0.25
    assert found.discordant is not None
    counts = found.discordant
    assert (counts.both, counts.only_a, counts.only_b, counts.neither) == (9, 3, 0, 0)
    assert found.test == "mcnemar"
    assert found.exact
    assert found.p == 0.25
    assert found.better is None
    assert found.minimum_detectable_effect is not None
    assert found.minimum_detectable_effect > 0.25
    assert any("Only 12 samples" in note for note in report.notes)
    assert any("every answerable sample right" in note for note in report.notes)


def test_unreadable_replies_are_not_reported_as_too_hard() -> None:
    none_right = [make_observed(place, correct=False) for place in range(4)]
    assert any("too hard" in note for note in measure_observations(none_right).notes)
    unread = [make_failed(place) for place in range(4)]
    assert not any("too hard" in note for note in measure_observations(unread).notes)


def test_all_42_right_still_has_an_interval() -> None:
    report = measure_observations([make_observed(n) for n in range(42)], PLAN, mode="published")
    accuracy = report.pipelines["skn"].metrics["accuracy"]
    assert accuracy.low == pytest.approx(0.916, abs=5e-4)
    assert accuracy.high == 1.0
    assert any("[1, 1]" in n and "claims certainty from 42" in n for n in report.notes)
    # All answers have equal groundedness, so the resamples do not vary either.
    rows = [make_observed(n, groundedness=0.8) for n in range(42)]
    flat = measure_observations(rows, PLAN)
    ground = flat.pipelines["skn"].metrics["groundedness"]
    assert ground.method == "wilson-edge"
    assert ground.low is not None
    assert ground.high is not None
    assert ground.high - ground.low > 0.1
    assert any("groundedness, " in note and "zero width" in note for note in flat.notes)


def test_tokens_come_from_the_server_and_latency_is_measured() -> None:
    rows = [
        make_observed(n, tokens=100.0 * n if n else None, latency_s=float(n), context_chars=40.0)
        for n in range(21)
    ]
    found = metric_values(rows)
    assert found["tokens"].value == pytest.approx(1050)
    assert (found["tokens"].n, found["tokens"].missing) == (20, 1)
    assert found["latency_p50_s"].value == 10.0
    assert found["latency_p95_s"].value == 19.0
    assert found["latency_p50_s"].method == "bootstrap-percentile"
    assert found["context_chars"].value == 40.0
    assert found["context_chars"].method == "none"
    offline = metric_values([make_observed(1), make_observed(2)])
    for name in ("tokens", "agent_prompt_tokens", "latency_p50_s", "latency_mean_s"):
        assert offline[name].value is None
        assert offline[name].why


def test_validity_and_retention_count_received_extractions_only() -> None:
    ways = ["strict"] * 6 + ["tolerant"] * 2 + ["repaired", "unreadable"]
    rows = [
        make_observed(n, validity=way, retained={"facts": (3, 4)}) for n, way in enumerate(ways)
    ]
    rows.append(make_failed("search", outcome="ERROR"))
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
        make_observed(n, category="diagnostic" if n % 3 else "misleading", correct=n < 6)
        for n in range(9)
    ]
    report = measure_observations(rows, PLAN)
    assert report.categories == {"diagnostic": 6, "misleading": 3}
    of = report.pipelines["skn"].per_category
    assert of["diagnostic"]["accuracy"].value == pytest.approx(4 / 6)
    assert of["misleading"]["accuracy"].value == pytest.approx(2 / 3)
    assert sum(one["accuracy"].n for one in of.values()) == 9


def test_holm_adjusts_over_the_pairs_of_each_metric() -> None:
    rows = [
        make_observed(n, name, correct=n >= 8 * (name == "json"))
        for name in FAIR_ABLATION_PIPELINES
        for n in range(24)
    ]
    report = measure_observations(rows, PLAN)
    assert report.pairs == select_pairs(list(report.pipelines))
    assert len(report.pairs) == 8
    found = find_difference(report, "accuracy", "skn", "json")
    assert found.p == pytest.approx(2 * 0.5**8)
    assert found.p_holm == pytest.approx(8 * 2 * 0.5**8)
    assert found.better is None
    same = find_difference(report, "accuracy", "skn", "json_meta")
    assert (same.difference, same.p, same.p_holm, same.n_differ) == (0.0, 1.0, 1.0, 0)
    assert same.better is None


def test_better_side_follows_the_metric_direction() -> None:
    rows = [
        make_observed(
            n, name, detected=name == "json", fabricated=float(name == "json"), tokens=float(t)
        )
        for name, t in (("json", 90), ("skn", 60))
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
            make_observed(n, "json", claims=0.0 if n < 3 else 4.0, fabricated=0.0)
            for n in range(10)
        ),
        *(make_observed(n, "skn", claims=4.0, fabricated=2.0 if n < 3 else 1.0) for n in range(10)),
    ]
    found = find_difference(
        measure_observations(rows, PLAN), "normalized_hallucination", "skn", "json"
    )
    assert (found.n, found.difference, found.value_first) == (7, 0.25, 0.25)


def test_repeats_do_not_count_as_samples() -> None:
    rows = [make_observed(n, repeat=r, correct=n < 8) for n in range(10) for r in range(5)]
    once = [make_observed(n, correct=n < 8) for n in range(10)]
    many, few = measure_observations(rows, PLAN), measure_observations(once, PLAN)
    assert many.repeats == 5
    wide, narrow = (one.pipelines["skn"].metrics["accuracy"] for one in (many, few))
    assert wide.value == narrow.value == 0.8
    assert wide.method == "bootstrap-bca"
    assert wide.low is not None
    assert wide.high is not None
    assert wide.high - wide.low > 0.3  # fifty independent answers would give .22


def test_missing_rows_are_failures() -> None:
    rows = [make_observed(1, "json"), make_observed(2, "json"), make_observed(1, "skn")]
    report = measure_observations(rows, PLAN).pipelines["skn"]
    assert report.outcomes.error == 1
    assert report.outcomes.stages == {"missing": 1}
    assert report.metrics["accuracy"].value == 0.5
    assert report.metrics["accuracy"].best == 1.0


def test_contradictory_rows_are_refused() -> None:
    with pytest.raises(RecordError, match="no rows"):
        measure_observations([])
    with pytest.raises(DuplicateIdError, match="two rows of sample 's'"):
        measure_observations([make_observed("s"), make_observed("s")])
    with pytest.raises(RecordError, match="differ in category or answerability"):
        measure_observations([make_observed("s", "json"), make_observed("s", answerable=False)])
    with pytest.raises(RecordError, match="row 1"):
        calculate_metrics([{"skn_answer": "x", "skn_correct": None}], ["skn"], "a/b")


def test_every_metric_is_named_and_nothing_is_nan() -> None:
    rows = [make_observed(n, tokens=5.0, latency_s=1.0 + n) for n in range(4)]
    report = measure_observations(rows, MeasurementPlan(resamples=60))
    assert set(report.pipelines["skn"].metrics) == set(get_args(Metric))
    text = msgspec.json.encode(report)
    assert msgspec.json.decode(text, type=SknReport) == report
    numbers = [v for m in report.pipelines["skn"].metrics.values() for v in (m.value, m.std)]
    assert all(math.isfinite(v) for v in numbers if v is not None)


def make_row(**told: Any) -> SknRow:
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
    return SknRow(**{**base, **told})


def test_row_is_converted_to_an_observation() -> None:
    one = build_observation(make_row())
    assert one == Observation(
        sample="s1",
        category="diagnostic",
        pipeline="skn",
        answerable=True,
        outcome="ANSWERED",
        read_by="field",
        correct=True,
        confidence=0.8,
        detected=True,
        claims=3.5,
        fabricated=0.5,
        severity=0.2,
        groundedness=0.9,
        unsupported=0.1,
        context_chars=7,
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
    assert not one.unjudged


def test_null_groundedness_is_missing_only_if_the_judge_failed() -> None:
    nothing = Hallucination(0.0, 0.0, (), 0.0, False)
    of_nothing = build_observation(make_row(verdicts=Verdicts(correct=True, hallucination=nothing)))
    assert of_nothing.claims_nothing
    assert not of_nothing.unjudged
    verdicts = Verdicts(correct=True, hallucination=nothing, failed=("groundedness",))
    lost = build_observation(make_row(verdicts=verdicts))
    assert not lost.claims_nothing
    assert lost.unjudged
    assert build_observation(make_row(verdicts=None)).unjudged
    assert not build_observation(make_row(verdicts=None, outcome="ERROR", stage="agent")).unjudged


def test_row_tokens_are_null_unless_every_call_was_counted() -> None:
    response = Response(answer="x", confidence=None, reasoning="", abstained=False, readable=True)
    one = build_observation(make_row(response=response, usage=Usage(200, 50)))
    assert (one.tokens, one.agent_prompt_tokens, one.extraction_tokens) == (None, None, 50)


def test_failed_row_has_no_answer_values() -> None:
    one = build_observation(make_row(outcome="INVALID", stage="agent"))
    assert (one.correct, one.confidence, one.detected, one.read_by) == (None, None, None, "")


def test_uncounted_costs_are_null() -> None:
    rows = [make_row(), make_row(id="s2"), make_row(pipeline="json", usage=None, latency_s=None)]
    found = compute_efficiency(rows)
    assert found["pipelines"]["skn"]["avg_total_latency_s"] == 2.0
    assert found["pipelines"]["skn"]["avg_search_time_s"] is None
    assert found["pipelines"]["skn"]["avg_context_tokens"] is None
    assert found["pipelines"]["skn"]["avg_context_tokens_est"] == 1
    assert found["pipelines"]["json"]["avg_total_latency_s"] is None
    assert found["efficiency"]["char_ratio_skn_vs_json"] == 1.0
    assert found["efficiency"]["token_ratio_skn_vs_json"] is None
    published = compute_efficiency(rows, mode="published")
    assert published["pipelines"]["skn"]["avg_context_tokens"] == 1
    assert published["pipelines"]["skn"]["avg_total_latency_s"] == 2.0
    assert published["efficiency"] == {"token_ratio_skn_vs_json": 1.0}
    assert compute_efficiency([make_row()])["efficiency"] == {}


def test_long_and_wide_rows_give_the_same_values() -> None:
    rows = [
        make_row(),
        make_row(id="s2", verdicts=Verdicts(correct=False)),
        make_row(id="s3", outcome="ABSTAINED", answerable=False),
    ]
    wide = [
        {
            "id": one.id,
            "category": one.category,
            "answerable": one.answerable,
            "skn_answer": one.response.answer if one.response else "",
            "skn_confidence": 0.8,
            "skn_correct": one.verdicts.correct if one.verdicts and one.answerable else None,
            "skn_hallucination": {
                "hallucination_detected": one.verdicts.hallucination.detected,
                "hallucination_severity": one.verdicts.hallucination.severity,
                "total_claims": one.verdicts.hallucination.total_claims,
                "fabricated_claims": ["x"],
                "normalized_hallucination": 0.5 / 3.5 if n != 1 else None,
            }
            if one.verdicts
            else None,
            "skn_groundedness": {
                "groundedness_score": one.verdicts.groundedness,
                "unsupported_fraction": one.verdicts.unsupported_fraction,
            }
            if one.verdicts
            else None,
            "skn_outcome": one.outcome,
        }
        for n, one in enumerate(rows)
    ]
    of_rows = measure_run(rows, PLAN).pipelines["skn"].metrics
    of_wide = calculate_metrics(wide, ["skn"], plan=PLAN)["skn"]
    for key in ("accuracy", "ece", "hallucination_rate", "abstention_f1", "abstention_recall"):
        assert of_wide[key] == of_rows[key].value
    assert of_wide["normalized_hallucination"] == pytest.approx(
        of_rows["normalized_hallucination"].value
    )
    assert of_wide["accuracy_ci"]["ci_low"] == of_rows["accuracy"].low


def test_outcome_of_published_rows_is_inferred() -> None:
    wide = [
        {"id": 1, "skn_answer": "A full disk.", "skn_confidence": 0.9, "skn_correct": True},
        {"id": 2, "skn_answer": "I don't know.", "skn_confidence": 0.1, "skn_correct": False},
        {"id": 3, "skn_answer": "", "skn_confidence": 0.0, "skn_reasoning": "error"},
        {"id": 4, "skn_answer": ["a", "list"], "skn_confidence": "eight"},
        {"id": 5, "skn_answer": "Unknown", "answerable": False, "skn_correct": None},
    ]
    for one in wide:
        one |= {"skn_hallucination": None, "skn_groundedness": None}
        one.setdefault("skn_correct", None)
    found = calculate_metrics(wide, ["skn"], plan=PLAN)["skn"]
    assert found["accuracy"] == 0.25  # an abstention and two failures are not correct
    assert found["abstention_precision"] == 0.5
    assert found["abstention_recall"] == 1.0
    assert found["groundedness"] is None
