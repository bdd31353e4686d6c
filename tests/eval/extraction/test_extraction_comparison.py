"""Tests the comparison of systems against manual values, SciPy and the specification's code."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from extraction_outputs import Skill, load_shipped_samples, simulate_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from eval.extraction.aggregate import aggregate_rows
from eval.extraction.comparison import compare_systems
from eval.extraction.comparison_record import ExtractionComparison, SampleComparison
from eval.extraction.metrics.measurement_plan import MeasurementPlan
from eval.extraction.metrics.quality_score import compute_sample_metrics
from eval.extraction.row import ExtractionRow, Outcome
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.model.usage import Usage

FIELDS = ("a", "b", "c", "d")
SAMPLE = Sample(
    id="s",
    text="one two three four",
    schema={
        "type": "object",
        "properties": {name: {"type": "string", "x-match": "exact"} for name in FIELDS},
        "required": list(FIELDS),
    },
    expected=dict(zip(FIELDS, ("one", "two", "three", "four"), strict=True)),
)
PLAN = MeasurementPlan(resamples=200)


def make_row(
    system: str,
    sample_id: int | str,
    right_count: int | None,
    *,
    repeat: int = 0,
    seconds: float | None = None,
    cost: float | None = None,
    with_spurious_field: bool = False,
) -> ExtractionRow:
    """Returns a row whose reply has ``right_count`` of the four fields right; None: a failed call.

    ``with_spurious_field`` adds a field that the schema does not have. Without it, the quality
    score is .15 (valid) + .5 · right_count / 4 + .2 (right types) + .15 (no hallucination).
    """
    sample = msgspec.structs.replace(SAMPLE, id=str(sample_id))
    outcome: Outcome = "ERROR" if right_count is None else "OK"
    predicted = None
    if right_count is not None:
        predicted = {
            key: value if position < right_count else "wrong"
            for position, (key, value) in enumerate(SAMPLE.expected.items())
        }
        if with_spurious_field:
            predicted["remark"] = "five"
    return ExtractionRow(
        id=str(sample_id),
        system=system,
        repeat=repeat,
        outcome=outcome,
        predicted=predicted,
        latency_s=None if right_count is None else seconds,
        at_s=None if right_count is None or seconds is None else 100.0 + seconds,
        usage=None if cost is None else Usage(100, 20, cost),
        score=score_sample(sample, predicted, parsed=right_count is not None).score,
    )


def make_rows(**systems: Sequence[int | None]) -> list[ExtractionRow]:
    return [
        make_row(system, f"{index:03}", right_count)
        for system, replies in systems.items()
        for index, right_count in enumerate(replies)
    ]


def compare_rows(
    rows: Sequence[ExtractionRow], plan: MeasurementPlan = PLAN
) -> ExtractionComparison:
    return compare_systems(rows, aggregate_rows(rows, plan), plan)


def find_pair(
    comparison: ExtractionComparison, metric: str = "extraction_quality_score"
) -> SampleComparison:
    (pair,) = [pair for pair in comparison.pairs if pair.metric == metric]
    return pair


def list_sample_scores(rows: Sequence[ExtractionRow], system: str, key: str) -> list[float]:
    return [
        float(getattr(compute_sample_metrics(row.score), key))
        for row in rows
        if row.system == system
    ]


def compare_by_specification(
    first_scores: Sequence[float], second_scores: Sequence[float]
) -> dict[str, Any]:
    """Computes ``compare_models`` of the specification (4.5.5), with its formulas verbatim."""
    t_statistic, p_value = stats.ttest_rel(first_scores, second_scores)
    mean_diff = np.mean(first_scores) - np.mean(second_scores)
    pooled_std = np.sqrt((np.std(first_scores) ** 2 + np.std(second_scores) ** 2) / 2)
    cohens_d = mean_diff / pooled_std if pooled_std > 0 else 0
    return {
        "mean_a": np.mean(first_scores),
        "mean_b": np.mean(second_scores),
        "mean_difference": mean_diff,
        "t_statistic": t_statistic,
        "p_value": p_value,
        "cohens_d": cohens_d,
        "interpretation": interpret_cohens_d(cohens_d),
    }


def interpret_cohens_d(d: float) -> str:
    abs_d = abs(d)
    if abs_d < 0.2:
        return "negligible"
    if abs_d < 0.5:
        return "small"
    if abs_d < 0.8:
        return "medium"
    return "large"


# ---- manual values -------------------------------------------------------------------------------


def test_comparison_matches_manual_values() -> None:
    comparison = compare_rows(make_rows(good=[4, 4, 3, 2, 4, 4], poor=[4, 1, 2, 1, 3, 0]))
    assert [
        (ranked_system.system, ranked_system.score) for ranked_system in comparison.ranking
    ] == [
        ("good", 0.9375),
        ("poor", 0.729166666667),
    ]
    eqs = find_pair(comparison)
    assert (eqs.candidate, eqs.baseline, eqs.n) == ("good", "poor", 6)
    # Right fields differ by 0 3 1 1 1 4, and each is worth .5 / 4 = 1 / 8. The mean is 10 / 8 / 6.
    assert eqs.difference == pytest.approx(10 / 48)
    assert eqs.value_candidate == 0.9375
    assert eqs.value_baseline == pytest.approx(0.729166666667)
    assert (eqs.n_differ, eqs.test, eqs.exact, eqs.p) == (5, "sign-flip", True, 2 / 2**5)
    assert (eqs.wilcoxon_p, eqs.wilcoxon_exact) == (2 / 2**5, True)
    assert eqs.p_holm == eqs.p, "a single pair needs no Holm adjustment"
    assert eqs.better is None, "p is above .05"
    exact = find_pair(comparison, "exact_match")
    assert exact.discordant is not None
    assert msgspec.structs.astuple(exact.discordant) == (1, 3, 0, 2)
    assert (exact.test, exact.p) == ("mcnemar", 2 / 2**3)
    assert find_pair(comparison, "omission_rate").difference == 0
    assert find_pair(comparison, "latency_s").n == 0
    assert find_pair(comparison, "latency_s").p is None


def test_win_rates_with_ties_match_manual_values() -> None:
    comparison = compare_rows(make_rows(good=[4, 4, 3, 2], poor=[4, 1, 3, 3]))
    rates_by_pair = {(rate.candidate, rate.baseline): rate for rate in comparison.win_rates}
    good_rate, poor_rate = rates_by_pair["good", "poor"], rates_by_pair["poor", "good"]
    assert (good_rate.n, good_rate.wins, good_rate.losses, good_rate.ties, good_rate.share) == (
        4,
        1,
        1,
        2,
        0.25,
    )
    assert (poor_rate.n, poor_rate.wins, poor_rate.losses, poor_rate.ties, poor_rate.share) == (
        4,
        1,
        1,
        2,
        0.25,
    )


def test_holm_adjusts_over_the_pairs_of_each_metric() -> None:
    comparison = compare_rows(
        make_rows(a=[4] * 8, b=[3, 2, 3, 2, 3, 2, 3, 2], c=[1, 2, 1, 0, 1, 0, 1, 0])
    )
    eqs = [pair for pair in comparison.pairs if pair.metric == "extraction_quality_score"]
    assert [(pair.candidate, pair.baseline) for pair in eqs] == [("a", "b"), ("a", "c"), ("b", "c")]
    # b beats c in seven samples and ties in one; a beats both in all eight.
    assert [pair.p for pair in eqs] == [2 / 2**8, 2 / 2**8, 2 / 2**7]
    assert [pair.p_holm for pair in eqs] == [6 / 2**8, 6 / 2**8, 6 / 2**8]
    assert [pair.better for pair in eqs] == ["a", "a", "b"]


def test_direction_of_each_metric_is_respected() -> None:
    rows = [
        make_row(system, index, 4, seconds=base_seconds + index / 100 + (index % 3) / 50)
        for system, base_seconds in (("slow", 1.0), ("quick", 0.4))
        for index in range(12)
    ]
    latency_pair = find_pair(compare_rows(rows), "latency_s")
    assert (latency_pair.candidate, latency_pair.baseline) == ("quick", "slow"), (
        "ties are ordered by name"
    )
    assert latency_pair.difference == pytest.approx(-0.6)
    # Every sample differs by the same amount, so resamples do not vary: no interval, no better one.
    assert (latency_pair.low, latency_pair.better) == (None, None)
    rows[0] = make_row("slow", 0, 4, seconds=1.1)
    assert find_pair(compare_rows(rows), "latency_s").better == "quick"


# ---- SciPy and the specification -----------------------------------------------------------------


def test_comparison_agrees_with_scipy_and_specification() -> None:
    samples = load_shipped_samples(60)
    good_skill, poor_skill = (
        Skill(slip=0.05, unparsable=0, error=0),
        Skill(slip=0.15, unparsable=0.05, error=0),
    )
    rows = [
        *simulate_rows(samples, "x/good", good_skill),
        *simulate_rows(samples, "x/poor", poor_skill),
    ]
    comparison = compare_rows(rows)
    for metric, key in (
        ("extraction_quality_score", "eqs"),
        ("field_f1_partial", "f1_partial"),
        ("field_f1_strict", "f1_strict"),
    ):
        first_scores, second_scores = (
            list_sample_scores(rows, "x/good", key),
            list_sample_scores(rows, "x/poor", key),
        )
        pair, expected = (
            find_pair(comparison, metric),
            compare_by_specification(first_scores, second_scores),
        )
        assert pair.n == 60
        assert pair.value_candidate == pytest.approx(expected["mean_a"])
        assert pair.value_baseline == pytest.approx(expected["mean_b"])
        assert pair.difference == pytest.approx(expected["mean_difference"])
        assert pair.t_statistic == pytest.approx(expected["t_statistic"])
        assert pair.t_p == pytest.approx(expected["p_value"])
        assert pair.cohens_d_pooled == pytest.approx(expected["cohens_d"])
        assert pair.effect == expected["interpretation"]
        differences = np.array(first_scores) - np.array(second_scores)
        assert pair.cohens_d == pytest.approx(differences.mean() / differences.std(ddof=1))
    validity_pair = find_pair(comparison, "schema_validity")
    first_scores, second_scores = (
        list_sample_scores(rows, "x/good", "valid"),
        list_sample_scores(rows, "x/poor", "valid"),
    )
    first_only = sum(a > b for a, b in zip(first_scores, second_scores, strict=True))
    second_only = sum(a < b for a, b in zip(first_scores, second_scores, strict=True))
    assert second_only + first_only > 0
    assert validity_pair.p == pytest.approx(
        stats.binomtest(first_only, first_only + second_only).pvalue
    )


@pytest.mark.parametrize(("count", "method"), [(25, "exact"), (210, "asymptotic")])
def test_wilcoxon_matches_scipy_without_ties_or_zeros(count: int, method: str) -> None:
    rng = random.Random(3)
    rows = [
        make_row(system, f"{index:03}", 4, seconds=base_seconds + rng.random())
        for system, base_seconds in (("a", 0.2), ("b", 0.25))
        for index in range(count)
    ]
    first_latencies, second_latencies = (
        [row.latency_s for row in rows if row.system == name] for name in "ab"
    )
    latency_pair = find_pair(compare_rows(rows), "latency_s")
    assert latency_pair.wilcoxon_exact == (method == "exact")
    assert latency_pair.wilcoxon_p == pytest.approx(
        stats.wilcoxon(first_latencies, second_latencies, method=method, correction=False).pvalue,
        rel=1e-9,
    )


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=30))
@settings(max_examples=40, deadline=None)
def test_effect_size_and_label_match_the_specification(replies: list[tuple[int, int]]) -> None:
    first_counts, second_counts = zip(*replies, strict=True)
    rows = make_rows(a=first_counts, b=second_counts)
    pair = find_pair(compare_rows(rows, MeasurementPlan(resamples=5)))
    scores = [list_sample_scores(rows, name, "eqs") for name in (pair.candidate, pair.baseline)]
    if np.std(scores[0]) < 1e-9 and np.std(scores[1]) < 1e-9:
        # Without any spread, the specification says 0 and "negligible" for any two constants.
        assert (pair.cohens_d_pooled, pair.effect) == (None, "")
        return
    pooled_std = float(np.sqrt((np.var(scores[0]) + np.var(scores[1])) / 2))
    expected = float(np.mean(scores[0]) - np.mean(scores[1])) / pooled_std
    assert pair.cohens_d_pooled == pytest.approx(expected, abs=1e-9)
    if min(abs(abs(expected) - limit) for limit in (0.2, 0.5, 0.8)) > 1e-9:
        assert pair.effect == interpret_cohens_d(expected)


# ---- properties ----------------------------------------------------------------------------------


REPLIES = st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=1, max_size=9)


@given(REPLIES)
@settings(max_examples=25, deadline=None)
def test_identical_systems_show_no_difference(replies: list[int | None]) -> None:
    comparison = compare_rows(make_rows(one=replies, two=replies), MeasurementPlan(resamples=20))
    scored_count = sum(right_count is not None for right_count in replies)
    for pair in comparison.pairs:
        if pair.metric in ("latency_s", "cost_usd"):
            continue
        assert pair.n == scored_count, pair.metric
        if scored_count:
            assert (pair.difference, pair.p, pair.wilcoxon_p, pair.n_differ) == (0, 1, 1, 0)
            assert (pair.better, pair.t_p) == (None, None)
    assert all(rate.ties == rate.n == scored_count for rate in comparison.win_rates)


@given(st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 4))] * 2), min_size=1, max_size=9))
@settings(max_examples=25, deadline=None)
def test_swapping_system_names_mirrors_the_comparison(
    replies: list[tuple[int | None, int | None]],
) -> None:
    first_counts, second_counts = zip(*replies, strict=True)
    plan = MeasurementPlan(resamples=40)
    comparison = compare_rows(make_rows(a=first_counts, b=second_counts), plan)
    mirrored_comparison = compare_rows(make_rows(b=first_counts, a=second_counts), plan)
    names = {"a": "b", "b": "a"}
    for pair, mirrored_pair in zip(comparison.pairs, mirrored_comparison.pairs, strict=True):
        assert mirrored_pair.p == pair.p
        assert mirrored_pair.wilcoxon_p == pair.wilcoxon_p
        assert mirrored_pair.t_p == pair.t_p
        assert mirrored_pair.effect == pair.effect
        assert mirrored_pair.better == (None if pair.better is None else names[pair.better])
        # If both systems score the same, their names decide the order of the pair; otherwise
        # swapping the names reverses the pair.
        if (mirrored_pair.candidate, mirrored_pair.baseline) == (
            names[pair.candidate],
            names[pair.baseline],
        ):
            assert mirrored_pair.difference == pair.difference
            assert (mirrored_pair.low, mirrored_pair.high) == (pair.low, pair.high)
        elif pair.difference is not None:
            assert mirrored_pair.difference == -pair.difference
    rates = {(rate.candidate, rate.baseline): rate for rate in mirrored_comparison.win_rates}
    for rate in comparison.win_rates:
        mirrored_rate = rates[names[rate.candidate], names[rate.baseline]]
        assert (mirrored_rate.wins, mirrored_rate.losses, mirrored_rate.ties) == (
            rate.wins,
            rate.losses,
            rate.ties,
        )
    for metric, best in comparison.best_by_metric.items():
        assert mirrored_comparison.best_by_metric[metric] == (None if best is None else names[best])


def test_row_order_does_not_matter() -> None:
    samples = load_shipped_samples(20)
    skill = Skill(slip=0.2)
    rows = [
        *simulate_rows(samples, "one", Skill(slip=0.05), repeats=3),
        *simulate_rows(samples, "two", skill, repeats=3),
        *simulate_rows(samples, "three", skill, repeats=3, seed=2),
    ]
    plan = MeasurementPlan(resamples=60, repeats=3)
    comparison = compare_rows(rows, plan)
    for seed in (1, 2):
        random.Random(seed).shuffle(rows)
        assert compare_rows(rows, plan) == comparison


def test_samples_with_a_failed_call_are_excluded() -> None:
    good_counts: list[int | None] = [4, 4, None, 2, 4, 3]
    poor_counts: list[int | None] = [1, None, 3, 1, None, 2]
    comparison = compare_rows(make_rows(good=good_counts, poor=poor_counts))
    complete_replies = [
        (a, b)
        for a, b in zip(good_counts, poor_counts, strict=True)
        if a is not None and b is not None
    ]
    first_counts, second_counts = zip(*complete_replies, strict=True)
    complete_comparison = compare_rows(make_rows(good=first_counts, poor=second_counts))
    pair, complete_pair = find_pair(comparison), find_pair(complete_comparison)
    assert pair.n == 3
    assert (pair.difference, pair.p, pair.wilcoxon_p, pair.t_p) == (
        *(complete_pair.difference, complete_pair.p, complete_pair.wilcoxon_p, complete_pair.t_p),
    )
    assert [rate.n for rate in comparison.win_rates] == [3, 3]


def test_systems_that_share_no_sample_are_not_compared() -> None:
    comparison = compare_rows(make_rows(a=[4, None], b=[None, 2]))
    pair = find_pair(comparison)
    assert (pair.n, pair.difference, pair.p, pair.p_holm, pair.better) == (
        0,
        None,
        None,
        None,
        None,
    )
    assert [rate.share for rate in comparison.win_rates] == [None, None]


def test_repeats_are_averaged_per_sample() -> None:
    rows = [
        make_row(system, index, right_count, repeat=repeat)
        for system, replies in (("a", [(4, 2), (4, 4), (2, 2)]), ("b", [(1, 3), (4, 0), (2, None)]))
        for index, repeat_counts in enumerate(replies)
        for repeat, right_count in enumerate(repeat_counts)
    ]
    plan = MeasurementPlan(resamples=50, repeats=2)
    comparison = compare_rows(rows, plan)
    eqs, exact = find_pair(comparison), find_pair(comparison, "exact_match")
    # Means of right fields: 3 4 2 against 2 2 2 (one of the last two replies failed).
    assert (eqs.n, eqs.n_differ) == (3, 2)
    assert eqs.difference == pytest.approx((1 + 2 + 0) / 8 / 3)
    assert (exact.test, exact.discordant) == ("sign-flip", None)
    assert exact.difference == pytest.approx((0.5 + 0.5) / 3)


# ---- ranking, frontiers, best by metric ----------------------------------------------------------


def test_system_without_score_is_ranked_last_with_a_note() -> None:
    comparison = compare_rows(make_rows(broken=[None, None], poor=[0, 1], good=[4, 4]))
    assert [ranked_system.system for ranked_system in comparison.ranking] == [
        "good",
        "poor",
        "broken",
    ]
    assert any("broken" in note and "Ranked last" in note for note in comparison.notes)


def test_failed_calls_neither_raise_a_rank_nor_make_a_system_the_best() -> None:
    rows = make_rows(few=[4, None, None, None], all=[4, 3, 3, 3], worse=[1, 1, 1, 1])
    comparison = compare_rows(rows)
    assert [entry.system for entry in comparison.ranking] == ["all", "worse", "few"]
    few = comparison.ranking[2]
    assert few.missing == 3
    assert few.score == pytest.approx(1.0)
    assert few.worst == pytest.approx(0.25)
    # The failed calls of ``few`` may have been right: nobody is known to be the best.
    assert comparison.best_by_metric["highest_eqs"] is None
    assert comparison.best_by_metric["highest_exact_match"] is None
    assert any("few (3 of 4)" in note for note in comparison.notes)
    (counted,) = (
        entry
        for entry in compare_rows(rows, MeasurementPlan(resamples=200, failed="zero")).ranking
        if entry.system == "few"
    )
    assert (counted.missing, counted.score) == (0, counted.worst)
    assert counted.score == pytest.approx(0.25)


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.one_of(st.none(), st.integers(1, 4))),
        min_size=2,
        max_size=6,
    )
)
@settings(max_examples=40, deadline=None)
def test_pareto_frontiers_match_brute_force(systems: list[tuple[int, int | None]]) -> None:
    rows = [
        make_row(
            f"m{index}",
            sample,
            right_count,
            seconds=price,
            cost=None if price is None else price / 1000,
        )
        for index, (right_count, price) in enumerate(systems)
        for sample in range(2)
    ]
    comparison = compare_rows(rows, MeasurementPlan(resamples=5))
    priced_systems = {
        f"m{index}": system for index, system in enumerate(systems) if system[1] is not None
    }

    def is_dominated(candidate: tuple[int, int | None], other: tuple[int, int | None]) -> bool:
        (right_count, price), (other_right, other_price) = candidate, other
        assert price is not None
        assert other_price is not None
        return (other_right > right_count and other_price <= price) or (
            other_right >= right_count and other_price < price
        )

    frontier = {
        name
        for name, candidate in priced_systems.items()
        if not any(is_dominated(candidate, other) for other in priced_systems.values())
    }
    for name in ("accuracy_vs_latency", "accuracy_vs_cost"):
        assert set(comparison.frontiers[name]) == frontier, name
        scores = [priced_systems[system][0] for system in comparison.frontiers[name]]
        assert scores == sorted(scores, reverse=True)
    unpriced_systems = sorted({f"m{index}" for index in range(len(systems))} - set(priced_systems))
    missing_price_notes = [
        note for note in comparison.notes if note.startswith("Not on the accuracy and")
    ]
    assert len(missing_price_notes) == (2 if unpriced_systems and priced_systems else 0)
    assert all(name in note for note in missing_price_notes for name in unpriced_systems)


def test_best_by_metric() -> None:
    rows = [
        *(make_row("good", index, 4, seconds=2.0, cost=0.02) for index in range(3)),
        *(make_row("fair", index, 3, seconds=0.5, cost=0.001) for index in range(3)),
        *(make_row("poor", index, 0, seconds=0.5, cost=0.01) for index in range(3)),
    ]
    comparison = compare_rows(rows, MeasurementPlan(resamples=20))
    assert comparison.best_by_metric == {
        "highest_eqs": "good",
        "highest_f1_partial": "good",
        "highest_exact_match": "good",
        "lowest_hallucination": None,
        "fastest_p95": None,
        "best_cost_performance": "fair",
    }
    hallucinating_rows = [
        make_row("good", index, 4, with_spurious_field=True) for index in range(3)
    ]
    mostly_correct_rows = [
        make_row("fair", index, 3, with_spurious_field=index == 0) for index in range(3)
    ]
    best_by_metric = compare_rows(
        [*hallucinating_rows, *mostly_correct_rows], MeasurementPlan(resamples=20)
    ).best_by_metric
    assert (best_by_metric["lowest_hallucination"], best_by_metric["highest_f1_partial"]) == (
        "fair",
        "good",
    )
    rows_with_free_system = [
        *rows,
        *(make_row("free", index, 1, seconds=3.0, cost=0.0) for index in range(3)),
    ]
    assert (
        compare_rows(rows_with_free_system, MeasurementPlan(resamples=20)).best_by_metric[
            "best_cost_performance"
        ]
        == "free"
    )


def test_single_system_is_ranked_without_comparisons() -> None:
    comparison = compare_rows(make_rows(alone=[4, 2, 3]))
    assert [ranked_system.system for ranked_system in comparison.ranking] == ["alone"]
    assert (comparison.pairs, comparison.win_rates) == ((), ())


def test_report_survives_a_json_round_trip() -> None:
    comparison = compare_rows(make_rows(a=[4, 2, 3], b=[1, None, 3], c=[0, 0, 4]))
    assert (
        msgspec.json.decode(msgspec.json.encode(comparison), type=ExtractionComparison)
        == comparison
    )
    names = {"a", "b", "c"}
    assert {entry.system for entry in comparison.ranking} == names
    assert {(entry.candidate, entry.baseline) for entry in comparison.win_rates} == set(
        itertools.permutations(names, 2)
    )
