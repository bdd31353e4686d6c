"""Tests properties of the metrics of any run: row order, merging, bounds and special runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest
from extraction_outputs import get_headline_tally
from hypothesis import given, settings
from hypothesis import strategies as st
from nervaluate.entities import EvaluationResult
from scipy import stats

from eval.extraction.aggregate import MeasurementPlan, aggregate_rows, build_report
from eval.extraction.metrics.quality_score import (
    FIELD_RATIOS,
    LOWER_IS_BETTER,
    compute_sample_metrics,
)
from eval.extraction.metrics.system_rows import OTHER_FIELDS, collect_rows
from eval.extraction.record import Estimate, ExtractionReport, SystemReport
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.model.usage import Usage
from kg.base.errors import DuplicateIdError, RecordError
from kg.base.proportions import wilson_interval

FAST_PLAN = MeasurementPlan(resamples=60)
MODES = ("strict", "partial", "lenient")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "n": {"type": "integer"},
        "o": {"type": "object", "properties": {"b": {"type": "boolean"}, "s": {"type": "string"}}},
        "l": {
            "type": "array",
            "items": {"type": "object", "properties": {"k": {"type": "string"}}},
        },
    },
    "required": ["a"],
}
TRUTHS = [
    {"a": "red fox", "n": 3, "o": {"b": True}, "l": [{"k": "x"}, {"k": "y"}]},
    {"a": "blue whale", "n": 7, "o": {"b": False, "s": "sea"}},
    {"a": "grey owl", "l": [{"k": "z"}]},
    {"a": "old oak"},
]
REPLIES = [
    {"a": "red fox", "n": 3, "o": {"b": True}, "l": [{"k": "x"}, {"k": "y"}]},
    {"a": "the red fox", "n": 4, "o": {"s": "wood"}, "l": [{"k": "y"}]},
    {"a": "blue whale", "n": "seven"},
    {"a": "blue whale", "n": 7, "o": {"b": False, "s": "sea"}, "x": 1},
    {"a": "old oak", "l": [{"k": "z"}, {"k": "w"}]},
    {},
    [1, 2],
    "no JSON",
    "failed",
]
"""Replies to score; "no JSON" stands for unparsable text and "failed" for a failed call."""


@cache
def make_scored_row(truth_index: int, reply_index: int) -> ExtractionRow:
    reply_value = REPLIES[reply_index]
    is_json = not isinstance(reply_value, str)
    sample = Sample(
        id="", text="the red fox by the sea", schema=SCHEMA, expected=TRUTHS[truth_index]
    )
    score = score_sample(sample, reply_value if is_json else None, parsed=is_json).score
    score = msgspec.structs.replace(
        score, domain=f"d{truth_index % 2}", language="de" if truth_index else "en"
    )
    invalid_outcome = "INVALID" if is_json else "UNPARSABLE"
    outcome = "OK" if score.valid else invalid_outcome
    return ExtractionRow(
        id="",
        system="m",
        outcome="ERROR" if reply_value == "failed" else outcome,
        predicted=reply_value if is_json else None,
        score=score,
    )


def make_rows(
    pairs: Sequence[tuple[int, int]], repeats: int = 1, system: str = "m"
) -> list[ExtractionRow]:
    """Returns one row per (truth index, reply index).

    ``repeats`` consecutive rows belong to one sample, which has the truth of the first of them.
    """
    rows = []
    for position, (_, reply_index) in enumerate(pairs):
        sample_number, repeat = divmod(position, repeats)
        truth_index = pairs[sample_number * repeats][0]
        rows.append(
            msgspec.structs.replace(
                make_scored_row(truth_index, reply_index),
                id=f"s{sample_number:03}",
                repeat=repeat,
                system=system,
                latency_s=0.1 + (position * 7 % 11) / 10,
                at_s=1000.0 + position,
                confidence=(position % 5) / 4,
                usage=Usage(100 + position, 10, 0.001),
            )
        )
    return rows


PAIRS = st.lists(
    st.tuples(st.integers(0, len(TRUTHS) - 1), st.integers(0, len(REPLIES) - 1)),
    min_size=1,
    max_size=14,
)


def measure_rows(rows: Sequence[ExtractionRow], plan: MeasurementPlan = FAST_PLAN) -> SystemReport:
    return aggregate_rows(rows, plan).systems["m"]


def collect_estimates(report: SystemReport) -> dict[str, Estimate]:
    """Returns all estimates of a report: metrics, averages and metrics of groups."""
    estimates = dict(report.metrics)
    for name, averages in report.averages.items():
        estimates |= {f"{name} {kind}": estimate for kind, estimate in averages.items()}
    for dimension, breakdown in report.breakdowns.items():
        for key, group in breakdown.groups.items():
            estimates |= {
                f"{dimension} {key} {name}": estimate for name, estimate in group.metrics.items()
            }
    return estimates


def encode_report(report: ExtractionReport) -> bytes:
    return msgspec.json.encode(report)


@given(PAIRS, st.randoms(use_true_random=False), st.sampled_from([1, 2]))
@settings(deadline=None, max_examples=12)
def test_row_order_does_not_matter(pairs: Any, random: Any, repeats: int) -> None:
    plan = replace(FAST_PLAN, repeats=repeats)
    rows = make_rows(pairs, repeats)
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert encode_report(aggregate_rows(shuffled, plan)) == encode_report(
        aggregate_rows(rows, plan)
    )


@given(PAIRS, st.sampled_from(["zero", "as_is"]))
@settings(deadline=None, max_examples=15)
def test_values_stay_in_their_ranges(pairs: Any, invalid: Any) -> None:
    report = measure_rows(make_rows(pairs), replace(FAST_PLAN, invalid=invalid))
    unbounded = ("latency", "throughput", "token", "cost", "value_variance")
    for name, estimate in collect_estimates(report).items():
        assert (estimate.value is None) == bool(estimate.why), name
        if estimate.value is None:
            assert estimate.low is None, name
            continue
        for number in (estimate.value, estimate.low, estimate.high, estimate.worst, estimate.best):
            assert number is None or number >= 0, name
            assert number is None or number <= 1 or name.startswith(unbounded), name
        if (
            estimate.low is not None
            and estimate.high is not None
            and estimate.method != "bootstrap-bca"
        ):
            assert estimate.low <= estimate.high
        if estimate.worst is not None and estimate.best is not None:
            low, high = sorted((estimate.worst, estimate.best))
            assert low - 1e-9 <= estimate.value <= high + 1e-9, name
    for mode in report.categories.values():
        assert all(share.count >= 0 for share in mode.values())


@given(PAIRS)
@settings(deadline=None, max_examples=15)
def test_strict_is_at_most_partial_is_at_most_lenient(pairs: Any) -> None:
    report = measure_rows(make_rows(pairs))
    for kind in ("precision", "recall", "f1"):
        for average in ("micro", "macro", "weighted"):
            values = [
                report.averages[f"field_{kind}_{mode}"][average].value
                for mode in ("strict", "partial", "lenient")
            ]
            if None not in values:
                assert values == sorted(values, key=lambda value: value or 0)


@given(PAIRS, st.sampled_from(["zero", "as_is"]))
@settings(deadline=None, max_examples=12)
def test_precision_recall_and_f1_match_nervaluate(pairs: Any, invalid: Any) -> None:
    report = measure_rows(make_rows(pairs), replace(FAST_PLAN, invalid=invalid))
    for mode in ("strict", "partial"):
        counts = {name: share.count for name, share in report.categories[mode].items()}
        reference = EvaluationResult(
            correct=counts["exact"],
            **{name: counts[name] for name in ("incorrect", "partial", "missed", "spurious")},
        )
        reference.compute_metrics(partial_or_type=mode == "partial")
        for kind in ("precision", "recall", "f1"):
            value = report.metrics[f"field_{kind}_{mode}"].value
            # Where a ratio has no denominator, nervaluate gives 0 and Epoché gives null.
            assert (value or 0.0) == pytest.approx(getattr(reference, kind))


@given(st.lists(st.integers(0, len(TRUTHS) - 1), min_size=1, max_size=10))
@settings(deadline=None, max_examples=12)
def test_expected_output_is_perfect(truths: list[int]) -> None:
    rows = []
    for position, truth in enumerate(truths):
        sample = Sample(id=f"s{position}", text="t", schema=SCHEMA, expected=TRUTHS[truth])
        score = score_sample(sample, TRUTHS[truth]).score
        rows.append(
            ExtractionRow(
                id=sample.id, system="m", outcome="OK", predicted=TRUTHS[truth], score=score
            )
        )
    report = measure_rows(rows)
    for name in ("schema_validity", "exact_match", "extraction_quality_score"):
        assert report.metrics[name].value == 1
    assert report.metrics["extraction_quality_score_micro"].value == 1
    for name in FIELD_RATIOS:
        expected = 0 if name in LOWER_IS_BETTER else 1
        assert {value.value for value in report.averages[name].values()} == {expected}, name
    assert report.errors.total == 0
    # A perfect result still has an interval.
    assert (report.metrics["field_f1_partial"].low or 1) < 1


@given(PAIRS, st.sampled_from(["zero", "as_is"]))
@settings(deadline=None, max_examples=12)
def test_single_sample_metrics_match_per_sample_scores(pairs: Any, invalid: Any) -> None:
    rows = [row for row in make_rows(pairs[:3]) if row.outcome != "ERROR"]
    attribute_names = {
        f"field_{kind}_{mode}": f"{kind}_{mode}"
        for kind in ("precision", "recall", "f1")
        for mode in MODES
    }
    for row in rows:
        report = measure_rows([row], replace(FAST_PLAN, invalid=invalid))
        sample_metrics = compute_sample_metrics(row.score, invalid=invalid)
        assert report.quality.score.value == pytest.approx(sample_metrics.eqs)
        assert report.metrics["exact_match"].value == float(sample_metrics.exact_match)
        for name in FIELD_RATIOS:
            expected = getattr(sample_metrics, attribute_names.get(name, name))
            assert report.averages[name]["macro"].value == pytest.approx(expected), name


@given(PAIRS)
@settings(deadline=None, max_examples=15)
def test_bounds_contain_every_possible_outcome_of_failed_calls(pairs: Any) -> None:
    rows = make_rows(pairs)
    report = measure_rows(rows)
    # The best possible reply is the expected output; the worst has as many fields, all wrong.
    for better in (True, False):
        completed_rows = [
            row if row.outcome != "ERROR" else _replace_failed_call(row, better=better)
            for row in rows
        ]
        completed_report = measure_rows(completed_rows)
        score_names = ("extraction_quality_score", "extraction_quality_score_micro")
        for name in (*FIELD_RATIOS, *score_names, "schema_validity", "exact_match"):
            bounds, value = report.metrics[name], completed_report.metrics[name].value
            if value is None or bounds.worst is None or bounds.best is None:
                continue
            low, high = sorted((bounds.worst, bounds.best))
            assert low - 1e-9 <= value <= high + 1e-9, name


def _replace_failed_call(row: ExtractionRow, *, better: bool) -> ExtractionRow:
    """Returns the row with a perfect reply, or with one whose fields are all wrong."""
    # The row does not name its truth: it is the one whose failed call has the same score.
    truth = next(
        truth
        for truth_index, truth in enumerate(TRUTHS)
        if make_scored_row(truth_index, len(REPLIES) - 1).score == row.score
    )
    reply: Any = truth if better else {f"made up {n}": n for n in range(row.score.tally.expected)}
    sample = Sample(id=row.id, text="t", schema=SCHEMA, expected=truth)
    score = score_sample(sample, reply).score
    return msgspec.structs.replace(row, outcome="OK", predicted=reply, score=score)


@given(PAIRS)
@settings(deadline=None, max_examples=12)
def test_one_more_failure_never_narrows_the_bounds(pairs: Any) -> None:
    rows = make_rows(pairs)
    longer_rows = make_rows([*pairs, (0, len(REPLIES) - 1)])
    report, longer_report = measure_rows(rows), measure_rows(longer_rows)
    for name in ("field_f1_partial", "extraction_quality_score", "hallucination_rate"):
        old_estimate, new_estimate = report.metrics[name], longer_report.metrics[name]
        if old_estimate.worst is None or old_estimate.best is None:
            continue
        assert new_estimate.worst is not None
        assert new_estimate.best is not None
        assert (
            min(new_estimate.worst, new_estimate.best)
            <= min(old_estimate.worst, old_estimate.best) + 1e-12
        )
        assert (
            max(new_estimate.worst, new_estimate.best)
            >= max(old_estimate.worst, old_estimate.best) - 1e-12
        )


def test_bootstrap_matches_scipy() -> None:
    # The first six replies are JSON objects, scored against one of four expected outputs.
    rng = np.random.default_rng(3)
    pairs = list(map(tuple, rng.integers(0, (4, 6), (60, 2)).tolist()))
    rows = make_rows(pairs)
    report = measure_rows(rows, MeasurementPlan(resamples=2000))
    f1_values = [compute_sample_metrics(row.score).f1_partial for row in rows]
    known_f1_values = np.array([value for value in f1_values if value is not None])
    reference = stats.bootstrap(
        (known_f1_values,),
        np.mean,
        n_resamples=2000,
        method="BCa",
        rng=np.random.default_rng(12345),  # the default seed of MeasurementPlan
    ).confidence_interval
    estimate = report.averages["field_f1_partial"]["macro"]
    assert estimate.method == "bootstrap-bca"
    # The limits differ slightly: many resampled values equal the estimate. Epoché counts each of
    # them half, but in SciPy rounding errors make some greater and some smaller.
    assert (estimate.low, estimate.high) == pytest.approx((reference.low, reference.high), abs=5e-4)


def test_micro_average_is_resampled_by_sample() -> None:
    rng = np.random.default_rng(4)
    pairs = list(map(tuple, rng.integers(0, (4, 6), (40, 2)).tolist()))
    rows = make_rows(pairs)
    estimate = measure_rows(rows, MeasurementPlan(resamples=300)).metrics["field_f1_partial"]
    tallies = [get_headline_tally(row.score) for row in sorted(rows, key=lambda row: row.id)]
    sums = np.array([[2 * t.sum_credit("partial"), t.expected + t.predicted] for t in tallies])
    # 300 resamples of the 40 samples, drawn with the default seed of MeasurementPlan.
    draws = np.random.default_rng(12345).integers(0, 40, (300, 40))
    resampled_sums = [sums[indices].sum(axis=0) for indices in draws]
    assert estimate.std == pytest.approx(
        np.std([numerator / denominator for numerator, denominator in resampled_sums], ddof=1)
    )


def test_group_is_resampled_by_its_own_samples() -> None:
    # Each of the four truths with each of the first seven replies, all of which are JSON.
    pairs = [(position % 4, position * 5 % 7) for position in range(40)]
    rows = make_rows(pairs)
    group = measure_rows(rows, MeasurementPlan(resamples=300)).breakdowns["domain"].groups["d1"]
    in_group = np.array([row.score.domain == "d1" for row in rows])
    sums = np.array(
        [
            [2 * t.sum_credit("partial"), t.expected + t.predicted]
            for t in (get_headline_tally(row.score) for row in rows)
        ]
    )
    sums[~in_group] = 0
    # 300 resamples of all 40 samples, drawn with the default seed of MeasurementPlan.
    draws = np.random.default_rng(12345).integers(0, 40, (300, 40))
    resampled_sums = [sums[indices].sum(axis=0) for indices in draws]
    estimate = group.metrics["field_f1_partial"]
    assert estimate.std == pytest.approx(
        np.std([numerator / denominator for numerator, denominator in resampled_sums], ddof=1)
    )


def test_failed_call_only_affects_breakdown_bounds() -> None:
    breakdowns = measure_rows(make_rows([(0, 0), (1, 1)])).breakdowns
    longer_breakdowns = measure_rows(
        make_rows([(0, 0), (1, 1), (0, REPLIES.index("failed"))])
    ).breakdowns
    for dimension in ("type", "depth", "name", "required", "complexity"):
        for key, group in breakdowns[dimension].groups.items():
            longer_group = longer_breakdowns[dimension].groups[key]
            assert (longer_group.expected, longer_group.predicted) == (
                group.expected,
                group.predicted,
            )
            for name, estimate in group.metrics.items():
                assert longer_group.metrics[name].value == estimate.value, (dimension, key, name)
    recall = longer_breakdowns["type"].groups["string"].metrics["field_recall_partial"]
    # The third sample has three expected texts: "red fox", "x" and "y".
    credit, expected = recall.numerator or 0, recall.denominator or 0
    assert (recall.worst, recall.best) == pytest.approx(
        (credit / (expected + 3), (credit + 3) / (expected + 3))
    )


def test_proportions_have_wilson_intervals() -> None:
    estimate = measure_rows(make_rows([(0, 0)] * 7 + [(1, 2)] * 3)).metrics["schema_validity"]
    assert estimate.method == "wilson"
    assert (estimate.low, estimate.high) == pytest.approx(wilson_interval(7, 10))


@pytest.mark.parametrize("reply_index", range(len(REPLIES)))
def test_nearly_empty_runs_are_measured(reply_index: int) -> None:
    # The run has one sample; for some replies it has no valid reply, or its only call failed.
    report = measure_rows(make_rows([(0, reply_index)]))
    assert report.outcomes.rows == 1
    for name, estimate in collect_estimates(report).items():
        assert (estimate.value is None) == bool(estimate.why), name
    assert all(c.pearson is None and c.why for c in report.correlations)
    assert report.recommendation.verdict


def test_a_sample_without_any_field_has_no_score() -> None:
    empty_sample = Sample(id="e", text="t", schema=SCHEMA | {"required": []}, expected={})
    score = score_sample(empty_sample, {}).score
    rows = [ExtractionRow(id="e", system="m", outcome="OK", predicted={}, score=score)]
    report = measure_rows(rows)
    assert report.metrics["schema_validity"].value == 1
    assert report.metrics["exact_match"].value == 1
    assert report.quality.score.value is None
    assert report.quality.score.why
    assert any("no quality score" in note for note in report.notes)
    # Beside another sample, the empty sample is left out of the score instead of counted as 0.
    combined_report = measure_rows([*rows, *make_rows([(0, 0)])])
    assert (combined_report.quality.score.value, combined_report.quality.score.n) == (1, 1)


def test_empty_replies_never_raise_the_score() -> None:
    full_score = measure_rows(make_rows([(0, 0), (1, 1)])).quality.score
    empty_score = measure_rows(make_rows([(0, 0), (1, 5)])).quality.score
    assert full_score.n == empty_score.n == 2
    assert (empty_score.value or 0) < (full_score.value or 0)


def test_inconsistent_rows_are_refused() -> None:
    with pytest.raises(RecordError, match="no rows"):
        aggregate_rows([], FAST_PLAN)
    rows = make_rows([(0, 0), (1, 1)])
    with pytest.raises(DuplicateIdError, match="two rows of sample 's000', repeat 0"):
        aggregate_rows([*rows, rows[0]], FAST_PLAN)
    with pytest.raises(RecordError, match="the rows have 2 repeats, but 1 were planned"):
        aggregate_rows(make_rows([(0, 0), (0, 1)], repeats=2), FAST_PLAN)
    other_system_row = msgspec.structs.replace(make_rows([(2, 0)])[0], system="n")
    with pytest.raises(RecordError, match="expect"):
        aggregate_rows([*rows, other_system_row], FAST_PLAN)


def test_equal_systems_get_equal_resamples() -> None:
    pairs = [(n % 4, n % 6) for n in range(12)]
    report = aggregate_rows(
        [*make_rows(pairs, system="b"), *make_rows(pairs, system="a")], FAST_PLAN
    )
    assert list(report.systems) == ["a", "b"]
    assert report.systems["a"] == report.systems["b"]
    assert report.n_samples == 12


def test_number_of_kept_field_names_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eval.extraction.metrics.system_rows._MAX_KEYS", 6)
    system_rows = collect_rows(make_rows([(0, 1), (1, 3)]))["m"]
    assert ("name", OTHER_FIELDS) in system_rows.keys
    report = build_report({"m": system_rows}, FAST_PLAN).systems["m"]
    assert (
        report.metrics["field_f1_partial"]
        == measure_rows(make_rows([(0, 1), (1, 3)])).metrics["field_f1_partial"]
    )


def test_hash_seed_does_not_matter() -> None:
    script = (
        "import msgspec, sys; from hashlib import sha256;"
        "from eval.extraction.aggregate import aggregate_rows, MeasurementPlan;"
        "from eval.extraction.row import ExtractionRow;"
        "rows = msgspec.json.decode(sys.stdin.buffer.read(), type=list[ExtractionRow]);"
        "report = aggregate_rows(rows, MeasurementPlan(resamples=40, repeats=2));"
        "print(sha256(msgspec.json.encode(report)).hexdigest())"
    )
    given_rows = msgspec.json.encode(make_rows([(n % 4, n % 8) for n in range(20)], repeats=2))
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            input=given_rows,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
