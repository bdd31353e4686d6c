"""Tests correlations, calibration and consistency against manual values and SciPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from eval.extraction.aggregate import MeasurementPlan, aggregate_rows
from eval.extraction.metrics.correlations import correlate_pair
from eval.extraction.record import Consistency, Correlation, SystemReport
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.schemas.complexity import FEATURES
from eval.extraction.scorer import score_sample

FAST_PLAN = MeasurementPlan(resamples=200)
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "n": {"type": "number"},
        "list": {"type": "array", "items": {"type": "string"}},
    },
}
NO_JSON = object()
"""Stands for a reply that is not JSON."""


def make_row(
    name: str,
    predicted: Any,
    *,
    expected: Any = None,
    schema: dict[str, Any] = SCHEMA,
    text: str = "some text",
    failed: bool = False,
    **row_fields: Any,
) -> ExtractionRow:
    expected = {"a": "x", "n": 1} if expected is None else expected
    sample = Sample(id=name, text=text, schema=schema, expected=expected)
    is_json = predicted is not NO_JSON
    score = score_sample(sample, predicted if is_json else None, parsed=is_json).score
    invalid_outcome = "INVALID" if is_json else "UNPARSABLE"
    outcome = "OK" if score.valid else invalid_outcome
    return ExtractionRow(
        id=name,
        system="m",
        outcome="ERROR" if failed else outcome,
        predicted=predicted if is_json else None,
        score=score,
        **row_fields,
    )


def measure_rows(rows: Sequence[ExtractionRow], plan: MeasurementPlan = FAST_PLAN) -> SystemReport:
    return aggregate_rows(rows, plan).systems["m"]


def find_correlation(report: SystemReport, metric: str, feature: str) -> Correlation:
    return next(c for c in report.correlations if (c.metric, c.feature) == (metric, feature))


def make_schema(fields: int) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {f"f{n}": {"type": "integer"} for n in range(fields)},
    }


def test_correlation_matches_scipy() -> None:
    rng = np.random.default_rng(7)
    metric_values = np.round(rng.random(60), 1)
    feature_values = np.round(metric_values + rng.random(60), 1)
    metric_values[3], feature_values[9] = np.nan, np.nan
    result = correlate_pair("m", metric_values, "f", feature_values, 0.95)
    has_both = ~(np.isnan(metric_values) | np.isnan(feature_values))
    # One of the 60 pairs has no metric value and another has no feature value.
    assert result.n == has_both.sum() == 58
    assert result.pearson == pytest.approx(
        stats.pearsonr(metric_values[has_both], feature_values[has_both])[0]
    )
    assert result.spearman == pytest.approx(
        stats.spearmanr(metric_values[has_both], feature_values[has_both])[0]
    )
    assert result.pearson_low is not None
    assert result.pearson_high is not None
    assert result.pearson_low < result.pearson < result.pearson_high
    # The interval of Bonett and Wright (2000) on Fisher's z scale; 55 is 58 pairs minus 3.
    half_width = stats.norm.ppf(0.975) * math.sqrt((1 + result.spearman**2 / 2) / 55)
    assert result.spearman_low == pytest.approx(math.tanh(math.atanh(result.spearman) - half_width))
    assert result.spearman_high == pytest.approx(
        math.tanh(math.atanh(result.spearman) + half_width)
    )


def test_pearson_interval_has_nominal_coverage() -> None:
    # The number of fields is a skewed count, and F1 is a score between 0 and 1; the random pairs
    # are like them. The true correlation is estimated from 10**6 pairs.
    def sample_pairs(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
        fields = rng.geometric(0.1, n).astype(np.float64)
        return np.clip(1 - fields / 60 - rng.exponential(0.15, n), 0, 1), fields

    true_correlation = np.corrcoef(*sample_pairs(np.random.default_rng(0), 10**6))[0, 1]
    covering_intervals = 0
    for seed in range(1, 401):
        scores, fields = sample_pairs(np.random.default_rng(seed), 120)
        result = correlate_pair("m", scores, "f", fields, 0.95)
        assert result.pearson_low is not None
        assert result.pearson_high is not None
        covering_intervals += result.pearson_low <= true_correlation <= result.pearson_high
    # The nominal coverage is .95; the limits allow for a sample of only 400 intervals.
    assert 0.91 <= covering_intervals / 400 <= 0.98


def test_constant_column_has_a_reason_instead_of_a_correlation() -> None:
    ones, rising = np.ones(9), np.arange(9.0)
    result = correlate_pair("f1", ones, "fields", rising, 0.95)
    assert (result.pearson, result.spearman, result.n) == (None, None, 9)
    assert result.why == "f1 is the same for all samples"
    assert correlate_pair("f1", rising, "fields", ones, 0.95).why.startswith("fields is the same")
    # 0.1 + 0.2 differs from 0.3 in the last bit, but the values count as constant.
    nearly_constant = np.array([0.1 + 0.2, 0.3, 0.3, 0.3])
    assert correlate_pair("f1", nearly_constant, "fields", np.arange(4.0), 0.95).pearson is None
    assert correlate_pair("f1", rising[:2], "fields", rising[:2], 0.95).why == "2 samples have both"


def test_a_perfect_correlation_has_no_interval() -> None:
    result = correlate_pair("m", np.arange(9.0), "f", 3 - np.arange(9.0), 0.95)
    assert (result.pearson, result.spearman) == (-1, -1)
    assert (result.pearson_low, result.pearson_high, result.spearman_low) == (None, None, None)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), max_size=30))
@settings(deadline=None, max_examples=60)
def test_correlations_lie_within_their_intervals(pairs: list[tuple[int, int]]) -> None:
    columns = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    result = correlate_pair("m", columns[:, 0], "f", columns[:, 1], 0.95)
    for value, low, high in (
        (result.pearson, result.pearson_low, result.pearson_high),
        (result.spearman, result.spearman_low, result.spearman_high),
    ):
        assert value is None or -1 <= value <= 1
        if low is not None and high is not None:
            assert value is not None
            assert -1 <= low <= value <= high <= 1


def test_metrics_are_correlated_with_features_of_schemas() -> None:
    # The schemas have 1 … 8 fields, of which only the first is right, so F1 is 1/n.
    rows = []
    for n in range(1, 9):
        truth = {f"f{k}": k for k in range(n)}
        predicted = {name: value if name == "f0" else -1 for name, value in truth.items()}
        rows.append(make_row(f"s{n}", predicted, expected=truth, schema=make_schema(n)))
    report = measure_rows(rows)
    correlation = find_correlation(report, "field_f1_partial", "total_fields")
    fields = np.arange(1.0, 9.0)
    assert correlation.n == 8
    assert correlation.pearson == pytest.approx(stats.pearsonr(fields, 1 / fields)[0])
    assert correlation.spearman == -1
    assert find_correlation(report, "field_f1_partial", "max_nesting_depth").why == (
        "max_nesting_depth is the same for all samples"
    )
    features = {c.feature for c in report.correlations}
    assert features >= set(FEATURES)
    metrics = {c.metric for c in report.correlations}
    assert metrics >= {"extraction_quality_score", "field_f1_partial", "latency_s"}


def test_metrics_are_correlated_with_one_another() -> None:
    rows = [
        make_row(f"s{n}", {"a": "x", "n": 1 if n < 3 else 2}, latency_s=1.0 if n < 3 else 2.0)
        for n in range(6)
    ]
    correlations = {(c.metric, c.feature): c for c in measure_rows(rows).metric_correlations}
    # Each pair of the nine metrics occurs once.
    assert len(correlations) == 9 * 8 / 2
    # The wrong replies are the slow ones.
    assert correlations["exact_match", "latency_s"].pearson == pytest.approx(-1)
    assert correlations["field_f1_partial", "field_recall_partial"].spearman == pytest.approx(1)
    assert (
        correlations["type_accuracy", "latency_s"].why
        == "type_accuracy is the same for all samples"
    )


def test_latency_is_correlated_with_lengths() -> None:
    rows = [
        make_row(
            f"s{n}",
            {"a": "x", "n": 1},
            text="t" * (10 * n),
            latency_s=1.0 + n,
            input_chars=100 - n,
            output_chars=n * n,
            failed=n == 6,
        )
        for n in range(1, 7)
    ]
    report = measure_rows(rows)
    assert find_correlation(report, "latency_s", "text_characters").pearson == pytest.approx(1)
    assert find_correlation(report, "latency_s", "input_chars").pearson == pytest.approx(-1)
    expected_pearson = stats.pearsonr(np.arange(5), np.arange(1, 6) ** 2)[0]
    # The sixth call failed and is left out.
    assert find_correlation(report, "latency_s", "output_chars").pearson == pytest.approx(
        expected_pearson
    )
    assert find_correlation(report, "latency_s", "output_chars").n == 5
    assert find_correlation(report, "latency_s", "output_tokens").why == "0 samples have both"


def test_confidences_are_calibrated_against_exact_matches() -> None:
    right, wrong = {"a": "x", "n": 1}, {"a": "x", "n": 9}
    rows = [
        make_row("a", right, confidence=0.95),
        make_row("b", wrong, confidence=0.95),
        make_row("c", right, confidence=0.55),
        make_row("d", wrong, confidence=0.25),
        make_row("e", right),
        make_row("f", right, failed=True, confidence=0.95),
    ]
    report = measure_rows(rows)
    # Bin .9–1 has two replies, one of them right; .5–.6 has one right reply, .2–.3 one wrong reply.
    expected_error = (2 * abs(0.5 - 0.95) + abs(1 - 0.55) + abs(0 - 0.25)) / 4
    calibration_error = report.metrics["expected_calibration_error"]
    assert calibration_error.value == pytest.approx(expected_error)
    assert (
        report.confidences.given,
        report.confidences.missing,
        report.confidences.unreadable,
    ) == (4, 1, 1)
    assert report.calibration is not None
    assert report.calibration.brier.value == pytest.approx(
        (0.05**2 + 0.95**2 + 0.45**2 + 0.25**2) / 4
    )
    assert [part.n for part in report.calibration.bins] == [1, 1, 2]
    assert calibration_error.missing == 2
    assert calibration_error.worst == pytest.approx((4 * expected_error + 2) / 6)
    assert calibration_error.best == pytest.approx(
        (4 * expected_error - 2) / 6 if 4 * expected_error > 2 else 0
    )
    without_confidence = measure_rows([make_row("a", right)])
    assert without_confidence.calibration is None
    assert (
        without_confidence.metrics["expected_calibration_error"].why == "no reply has a confidence"
    )


def measure_consistency(
    *reply_lists: Sequence[Any], failed: Sequence[tuple[int, int]] = ()
) -> Consistency:
    """Measures the consistency of samples; each argument is the list of one sample's replies.

    ``failed`` names the calls that failed as (sample number, repeat).
    """
    rows = [
        make_row(
            f"s{sample_number}", reply, repeat=repeat, failed=(sample_number, repeat) in failed
        )
        for sample_number, replies in enumerate(reply_lists)
        for repeat, reply in enumerate(replies)
    ]
    consistency = measure_rows(
        rows, replace(FAST_PLAN, repeats=max(2, *map(len, reply_lists)))
    ).consistency
    assert consistency is not None
    return consistency


def test_consistency_matches_manual_values() -> None:
    consistency = measure_consistency(
        # Three of four replies are equal; a agrees in 6 of 6 pairs, n (1, 1, 1, 5) in 3 of 6.
        [{"a": "x", "n": 1}, {"a": "x", "n": 1}, {"a": "x", "n": 1}, {"a": "x", "n": 5}],
        # All equal: order is ignored, null equals absent, 2.0 equals 2.
        [{"a": "y", "n": 2}, {"n": 2.0, "a": "y"}, {"a": "y", "n": 2, "list": None}] * 2,
    )
    assert consistency.samples == 2
    assert consistency.exact_match_consistency.value == pytest.approx((3 / 4 + 1) / 2)
    assert consistency.field_level_consistency.value == pytest.approx(((1 + 1 / 2) / 2 + 1) / 2)
    deviation = float(np.std([1, 1, 1, 5]))
    assert consistency.value_variance.value == pytest.approx((deviation + 0) / 2)
    assert consistency.value_variation.value == pytest.approx((deviation / 2 + 0) / 2)


def test_missing_field_disagrees_with_any_value() -> None:
    consistency = measure_consistency([{"a": "x"}, {"a": "x", "n": 1}, {"a": "x"}])
    # a agrees in 3 of 3 pairs; n agrees in 1 of 3, the pair of replies that both lack it.
    assert consistency.field_level_consistency.value == pytest.approx((1 + 1 / 3) / 2)
    assert consistency.value_variance.value is None
    assert consistency.value_variance.why == "no number occurs in two replies"


def test_reply_that_is_not_json_disagrees_with_all() -> None:
    consistency = measure_consistency([NO_JSON, NO_JSON, {"a": "x"}, {"a": "x"}])
    # The two equal JSON replies are half of the replies, and one of the six pairs.
    assert consistency.exact_match_consistency.value == pytest.approx(2 / 4)
    assert consistency.field_level_consistency.value == pytest.approx(1 / 6)
    assert measure_consistency([NO_JSON, NO_JSON]).exact_match_consistency.value == 0
    assert measure_consistency([NO_JSON, NO_JSON]).field_level_consistency.value == 0
    assert measure_consistency([{}, {}]).field_level_consistency.value == 1


def test_failed_call_is_not_counted_as_repeat() -> None:
    consistency = measure_consistency(
        [{"a": "x"}, {"a": "x"}, {}], [{"a": "x"}, {}], failed=[(0, 2), (1, 1)]
    )
    assert consistency.samples == 1
    assert consistency.exact_match_consistency.value == 1


def test_values_of_different_types_disagree() -> None:
    for value, other_value in itertools.combinations([1, True, "1", [1], ["1"]], 2):
        consistency = measure_consistency([{"a": value}, {"a": other_value}])
        assert consistency.exact_match_consistency.value == 0.5, (value, other_value)
        assert consistency.field_level_consistency.value == 0


def test_infinite_numbers_and_surrogates_are_compared() -> None:
    for value in (10**4000, 1e308, -1e300, float("nan"), float("inf"), "\ud800", "\x008"):
        consistency = measure_consistency([{"a": value}, {"a": value}])
        assert consistency.exact_match_consistency.value == 1
        assert consistency.value_variance.value is None
        assert measure_consistency([{"a": value}, {"a": 8}]).exact_match_consistency.value == 0.5
    assert measure_consistency([{"n": 1e308}, {"n": int(1e308)}]).exact_match_consistency.value == 1


def test_sample_asked_once_has_no_consistency() -> None:
    report = measure_rows([make_row("a", {"a": "x"})])
    assert report.consistency is None
    assert report.metrics["exact_match_consistency"].why == "each sample was asked once"
    single_replies = measure_consistency([{"a": "x"}], [{"a": "y"}])
    assert single_replies.exact_match_consistency.value is None
    assert single_replies.exact_match_consistency.why == "no sample has two replies"


def test_repeats_of_a_sample_are_resampled_together() -> None:
    rows = [
        make_row(f"s{n}", {"a": "x", "n": 1 if n % 2 else 2}, repeat=repeat)
        for n in range(20)
        for repeat in range(5)
    ]
    # Every fifth row is the first repeat of a sample.
    single_run = measure_rows(rows[::5], FAST_PLAN).metrics["exact_match"]
    repeated_run = measure_rows(rows, replace(FAST_PLAN, repeats=5)).metrics["exact_match"]
    assert (single_run.method, single_run.n) == ("wilson", 20)
    assert repeated_run.n == 100
    assert repeated_run.method.startswith("bootstrap")
    assert single_run.low is not None
    assert single_run.high is not None
    assert repeated_run.low is not None
    assert repeated_run.high is not None
    # Five copies of twenty samples carry no more information than twenty samples, so the intervals
    # are about equally wide.
    assert repeated_run.high - repeated_run.low == pytest.approx(
        single_run.high - single_run.low, abs=0.06
    )
