"""Correlations, calibration and consistency: by hand, and against scipy."""

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

from eval.extraction.aggregate import Plan, aggregate
from eval.extraction.measuring.correlations import correlation
from eval.extraction.record import Consistency, Correlation, SystemReport
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.schemas.complexity import FEATURES
from eval.extraction.scoring import score

FAST = Plan(resamples=200)
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "n": {"type": "number"},
        "list": {"type": "array", "items": {"type": "string"}},
    },
}
NO_JSON = object()


def row(
    name: str,
    predicted: Any,
    *,
    expected: Any = None,
    schema: dict[str, Any] = SCHEMA,
    text: str = "some text",
    failed: bool = False,
    **known: Any,
) -> ExtractionRow:
    expected = {"a": "x", "n": 1} if expected is None else expected
    sample = Sample(id=name, text=text, schema=schema, expected=expected)
    parsed = predicted is not NO_JSON
    found = score(sample, predicted if parsed else None, parsed=parsed).score
    outcome = "OK" if found.valid else "INVALID" if parsed else "UNPARSABLE"
    return ExtractionRow(
        id=name,
        system="m",
        outcome="ERROR" if failed else outcome,
        predicted=predicted if parsed else None,
        score=found,
        **known,
    )


def measured(rows: Sequence[ExtractionRow], plan: Plan = FAST) -> SystemReport:
    return aggregate(rows, plan).systems["m"]


def found(one: SystemReport, metric: str, feature: str) -> Correlation:
    return next(c for c in one.correlations if (c.metric, c.feature) == (metric, feature))


def wide(fields: int) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {f"f{n}": {"type": "integer"} for n in range(fields)},
    }


def test_a_correlation_is_scipys() -> None:
    rng = np.random.default_rng(7)
    first = np.round(rng.random(60), 1)
    second = np.round(first + rng.random(60), 1)
    first[3], second[9] = np.nan, np.nan
    one = correlation("m", first, "f", second, 0.95)
    known = ~(np.isnan(first) | np.isnan(second))
    assert one.n == known.sum() == 58
    assert one.pearson == pytest.approx(stats.pearsonr(first[known], second[known])[0])
    assert one.spearman == pytest.approx(stats.spearmanr(first[known], second[known])[0])
    assert one.pearson_low is not None
    assert one.pearson_high is not None
    assert one.pearson_low < one.pearson < one.pearson_high
    # Bonett and Wright, on Fisher's z scale.
    reach = stats.norm.ppf(0.975) * math.sqrt((1 + one.spearman**2 / 2) / 55)
    assert one.spearman_low == pytest.approx(math.tanh(math.atanh(one.spearman) - reach))
    assert one.spearman_high == pytest.approx(math.tanh(math.atanh(one.spearman) + reach))


def test_the_interval_of_pearson_covers_what_it_says() -> None:
    # Skewed counts against a bounded score, as fields against F1 are: population r by 10**6 draws.
    def draw(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
        fields = rng.geometric(0.1, n).astype(np.float64)
        return np.clip(1 - fields / 60 - rng.exponential(0.15, n), 0, 1), fields

    true = np.corrcoef(*draw(np.random.default_rng(0), 10**6))[0, 1]
    hits = 0
    for seed in range(1, 401):
        scores, fields = draw(np.random.default_rng(seed), 120)
        one = correlation("m", scores, "f", fields, 0.95)
        assert one.pearson_low is not None
        assert one.pearson_high is not None
        hits += one.pearson_low <= true <= one.pearson_high
    assert 0.91 <= hits / 400 <= 0.98


def test_a_constant_has_no_correlation_and_says_so() -> None:
    ones, rising = np.ones(9), np.arange(9.0)
    one = correlation("f1", ones, "fields", rising, 0.95)
    assert (one.pearson, one.spearman, one.n) == (None, None, 9)
    assert one.why == "f1 is the same for all samples"
    assert correlation("f1", rising, "fields", ones, 0.95).why.startswith("fields is the same")
    # The tenth part of a sum is not the same to the last bit, and yet constant.
    tenth = np.array([0.1 + 0.2, 0.3, 0.3, 0.3])
    assert correlation("f1", tenth, "fields", np.arange(4.0), 0.95).pearson is None
    assert correlation("f1", rising[:2], "fields", rising[:2], 0.95).why == "2 samples have both"


def test_a_perfect_correlation_has_no_interval() -> None:
    one = correlation("m", np.arange(9.0), "f", 3 - np.arange(9.0), 0.95)
    assert (one.pearson, one.spearman) == (-1, -1)
    assert (one.pearson_low, one.pearson_high, one.spearman_low) == (None, None, None)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), max_size=30))
@settings(deadline=None, max_examples=60)
def test_correlations_lie_within_their_intervals(pairs: list[tuple[int, int]]) -> None:
    columns = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    one = correlation("m", columns[:, 0], "f", columns[:, 1], 0.95)
    for value, low, high in (
        (one.pearson, one.pearson_low, one.pearson_high),
        (one.spearman, one.spearman_low, one.spearman_high),
    ):
        assert value is None or -1 <= value <= 1
        if low is not None and high is not None:
            assert value is not None
            assert -1 <= low <= value <= high <= 1


def test_metrics_are_correlated_with_features_of_schemas() -> None:
    # Of schemas of 1 … 8 fields the first is right and no other: F1 falls as 1/n.
    rows = []
    for n in range(1, 9):
        truth = {f"f{k}": k for k in range(n)}
        came = {name: value if name == "f0" else -1 for name, value in truth.items()}
        rows.append(row(f"s{n}", came, expected=truth, schema=wide(n)))
    one = measured(rows)
    pair = found(one, "field_f1_partial", "total_fields")
    fields = np.arange(1.0, 9.0)
    assert pair.n == 8
    assert pair.pearson == pytest.approx(stats.pearsonr(fields, 1 / fields)[0])
    assert pair.spearman == -1
    assert found(one, "field_f1_partial", "max_nesting_depth").why == (
        "max_nesting_depth is the same for all samples"
    )
    features = {c.feature for c in one.correlations}
    assert features >= set(FEATURES)
    metrics = {c.metric for c in one.correlations}
    assert metrics >= {"extraction_quality_score", "field_f1_partial", "latency_s"}


def test_metrics_are_correlated_with_one_another() -> None:
    rows = [
        row(f"s{n}", {"a": "x", "n": 1 if n < 3 else 2}, latency_s=1.0 if n < 3 else 2.0)
        for n in range(6)
    ]
    pairs = {(c.metric, c.feature): c for c in measured(rows).metric_correlations}
    assert len(pairs) == 9 * 8 / 2
    # The slow half is the wrong half.
    assert pairs["exact_match", "latency_s"].pearson == pytest.approx(-1)
    assert pairs["field_f1_partial", "field_recall_partial"].spearman == pytest.approx(1)
    assert pairs["type_accuracy", "latency_s"].why == "type_accuracy is the same for all samples"


def test_latency_is_correlated_with_lengths() -> None:
    rows = [
        row(
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
    one = measured(rows)
    assert found(one, "latency_s", "text_characters").pearson == pytest.approx(1)
    assert found(one, "latency_s", "input_chars").pearson == pytest.approx(-1)
    squares = stats.pearsonr(np.arange(5), np.arange(1, 6) ** 2)[0]
    # The sixth call failed and is no part of it.
    assert found(one, "latency_s", "output_chars").pearson == pytest.approx(squares)
    assert found(one, "latency_s", "output_chars").n == 5
    assert found(one, "latency_s", "output_tokens").why == "0 samples have both"


def test_confidences_are_held_against_exact_matches() -> None:
    right, wrong = {"a": "x", "n": 1}, {"a": "x", "n": 9}
    rows = [
        row("a", right, confidence=0.95),
        row("b", wrong, confidence=0.95),
        row("c", right, confidence=0.55),
        row("d", wrong, confidence=0.25),
        row("e", right),
        row("f", right, failed=True, confidence=0.95),
    ]
    one = measured(rows)
    # Bins of .9–1: two replies, half right; .5–.6: right; .2–.3: wrong.
    error = (2 * abs(0.5 - 0.95) + abs(1 - 0.55) + abs(0 - 0.25)) / 4
    value = one.metrics["expected_calibration_error"]
    assert value.value == pytest.approx(error)
    assert (one.confidences.given, one.confidences.missing, one.confidences.unreadable) == (4, 1, 1)
    assert one.calibration is not None
    assert one.calibration.brier.value == pytest.approx((0.05**2 + 0.95**2 + 0.45**2 + 0.25**2) / 4)
    assert [part.n for part in one.calibration.bins] == [1, 1, 2]
    assert value.missing == 2
    assert value.worst == pytest.approx((4 * error + 2) / 6)
    assert value.best == pytest.approx((4 * error - 2) / 6 if 4 * error > 2 else 0)
    silent = measured([row("a", right)])
    assert silent.calibration is None
    assert silent.metrics["expected_calibration_error"].why == "no reply states a confidence"


def repeated(*runs: Sequence[Any], failed: Sequence[tuple[int, int]] = ()) -> Consistency:
    """Samples with the runs of each."""
    rows = [
        row(f"s{place}", came, repeat=number, failed=(place, number) in failed)
        for place, of_sample in enumerate(runs)
        for number, came in enumerate(of_sample)
    ]
    one = measured(rows, replace(FAST, repeats=max(2, *map(len, runs)))).consistency
    assert one is not None
    return one


def test_consistency_by_hand() -> None:
    one = repeated(
        # Three of four alike; a: 6 of 6 pairs; n: 3 of 6 pairs (1, 1, 1, 5).
        [{"a": "x", "n": 1}, {"a": "x", "n": 1}, {"a": "x", "n": 1}, {"a": "x", "n": 5}],
        # All alike, in two orders, null being as good as nothing, 2.0 as 2.
        [{"a": "y", "n": 2}, {"n": 2.0, "a": "y"}, {"a": "y", "n": 2, "list": None}] * 2,
    )
    assert one.samples == 2
    assert one.exact_match_consistency.value == pytest.approx((3 / 4 + 1) / 2)
    assert one.field_level_consistency.value == pytest.approx(((1 + 1 / 2) / 2 + 1) / 2)
    deviation = float(np.std([1, 1, 1, 5]))
    assert one.value_variance.value == pytest.approx((deviation + 0) / 2)
    assert one.value_variation.value == pytest.approx((deviation / 2 + 0) / 2)


def test_a_field_that_is_missing_agrees_with_none_that_is_there() -> None:
    one = repeated([{"a": "x"}, {"a": "x", "n": 1}, {"a": "x"}])
    # a: 3 of 3 pairs; n: absent twice, so 1 of 3.
    assert one.field_level_consistency.value == pytest.approx((1 + 1 / 3) / 2)
    assert one.value_variance.value is None
    assert one.value_variance.why == "no number came in two replies"


def test_a_reply_that_is_no_json_agrees_with_none() -> None:
    one = repeated([NO_JSON, NO_JSON, {"a": "x"}, {"a": "x"}])
    assert one.exact_match_consistency.value == pytest.approx(2 / 4)
    assert one.field_level_consistency.value == pytest.approx(1 / 6)
    assert repeated([NO_JSON, NO_JSON]).exact_match_consistency.value == 0
    assert repeated([NO_JSON, NO_JSON]).field_level_consistency.value == 0
    assert repeated([{}, {}]).field_level_consistency.value == 1


def test_a_failed_call_is_no_run() -> None:
    one = repeated([{"a": "x"}, {"a": "x"}, {}], [{"a": "x"}, {}], failed=[(0, 2), (1, 1)])
    assert one.samples == 1
    assert one.exact_match_consistency.value == 1


def test_values_of_other_types_are_other_values() -> None:
    for one, two in itertools.combinations([1, True, "1", [1], ["1"]], 2):
        found_ = repeated([{"a": one}, {"a": two}])
        assert found_.exact_match_consistency.value == 0.5, (one, two)
        assert found_.field_level_consistency.value == 0


def test_numbers_without_end_and_halves_of_letters_are_compared_too() -> None:
    for value in (10**4000, 1e308, -1e300, float("nan"), float("inf"), "\ud800", "\x008"):
        one = repeated([{"a": value}, {"a": value}])
        assert one.exact_match_consistency.value == 1
        assert one.value_variance.value is None
        assert repeated([{"a": value}, {"a": 8}]).exact_match_consistency.value == 0.5
    assert repeated([{"n": 1e308}, {"n": int(1e308)}]).exact_match_consistency.value == 1


def test_a_sample_put_once_has_no_consistency() -> None:
    one = measured([row("a", {"a": "x"})])
    assert one.consistency is None
    assert one.metrics["exact_match_consistency"].why == "each sample was put once"
    lonely = repeated([{"a": "x"}], [{"a": "y"}])
    assert lonely.exact_match_consistency.value is None
    assert lonely.exact_match_consistency.why == "no sample has two replies"


def test_repeats_of_a_sample_are_resampled_together() -> None:
    rows = [
        row(f"s{n}", {"a": "x", "n": 1 if n % 2 else 2}, repeat=repeat)
        for n in range(20)
        for repeat in range(5)
    ]
    once = measured(rows[::5], FAST).metrics["exact_match"]
    often = measured(rows, replace(FAST, repeats=5)).metrics["exact_match"]
    assert (once.method, once.n) == ("wilson", 20)
    assert often.n == 100
    assert often.method.startswith("bootstrap")
    assert once.low is not None
    assert once.high is not None
    assert often.low is not None
    assert often.high is not None
    # A hundred rows that are twenty samples five times over tell no more than twenty.
    assert often.high - often.low == pytest.approx(once.high - once.low, abs=0.06)
