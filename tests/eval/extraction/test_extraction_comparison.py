"""Comparison of systems, checked against manual values, SciPy and the specification's code."""

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
from eval.extraction.comparison_record import ExtractionComparison, PairComparison
from eval.extraction.metrics.measurement_plan import MeasurementPlan
from eval.extraction.metrics.quality_score import compute_sample_metrics
from eval.extraction.row import ExtractionRow, Outcome
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.result import Usage

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
    name: int | str,
    right: int | None,
    *,
    repeat: int = 0,
    seconds: float | None = None,
    cost: float | None = None,
    made_up: bool = False,
) -> ExtractionRow:
    """Returns a reply with ``right`` of the four fields right; ``None`` means a failed call.

    ``made_up`` adds a field that nobody asked for.

    Its quality score is .15 + .5 · right / 4 + .2 + .15.
    """
    sample = msgspec.structs.replace(SAMPLE, id=str(name))
    outcome: Outcome = "ERROR" if right is None else "OK"
    predicted = None
    if right is not None:
        predicted = {
            key: value if at < right else "wrong"
            for at, (key, value) in enumerate(SAMPLE.expected.items())
        }
        if made_up:
            predicted["remark"] = "five"
    return ExtractionRow(
        id=str(name),
        system=system,
        repeat=repeat,
        outcome=outcome,
        predicted=predicted,
        latency_s=None if right is None else seconds,
        at_s=None if right is None or seconds is None else 100.0 + seconds,
        usage=None if cost is None else Usage(100, 20, cost),
        score=score_sample(sample, predicted, parsed=right is not None).score,
    )


def make_rows(**systems: Sequence[int | None]) -> list[ExtractionRow]:
    return [
        make_row(system, f"{at:03}", right)
        for system, replies in systems.items()
        for at, right in enumerate(replies)
    ]


def compare_rows(
    rows: Sequence[ExtractionRow], plan: MeasurementPlan = PLAN
) -> ExtractionComparison:
    return compare_systems(rows, aggregate_rows(rows, plan), plan)


def find_pair(
    found: ExtractionComparison, metric: str = "extraction_quality_score"
) -> PairComparison:
    (one,) = [one for one in found.pairs if one.metric == metric]
    return one


def sample_scores(rows: Sequence[ExtractionRow], system: str, key: str) -> list[float]:
    return [
        float(getattr(compute_sample_metrics(one.score), key))
        for one in rows
        if one.system == system
    ]


def specification_comparison(first: Sequence[float], second: Sequence[float]) -> dict[str, Any]:
    """``compare_models`` of the specification (4.5.5); the computations are verbatim."""
    t_statistic, p_value = stats.ttest_rel(first, second)
    mean_diff = np.mean(first) - np.mean(second)
    pooled_std = np.sqrt((np.std(first) ** 2 + np.std(second) ** 2) / 2)
    cohens_d = mean_diff / pooled_std if pooled_std > 0 else 0
    return {
        "mean_a": np.mean(first),
        "mean_b": np.mean(second),
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


# ---- by hand -------------------------------------------------------------------------------------


def test_comparison_matches_manual_values() -> None:
    found = compare_rows(make_rows(good=[4, 4, 3, 2, 4, 4], poor=[4, 1, 2, 1, 3, 0]))
    assert [(one.system, one.score) for one in found.ranking] == [
        ("good", 0.9375),
        ("poor", 0.729166666667),
    ]
    eqs = find_pair(found)
    assert (eqs.first, eqs.second, eqs.n) == ("good", "poor", 6)
    # Fields right differ by 0 3 1 1 1 4, each worth an eighth of the score: 10 / 8 / 6.
    assert eqs.difference == pytest.approx(10 / 48)
    assert eqs.value_first == 0.9375
    assert eqs.value_second == pytest.approx(0.729166666667)
    assert (eqs.n_differ, eqs.test, eqs.exact, eqs.p) == (5, "sign-flip", True, 2 / 2**5)
    assert (eqs.wilcoxon_p, eqs.wilcoxon_exact) == (2 / 2**5, True)
    assert eqs.p_holm == eqs.p, "a single pair needs no Holm adjustment"
    assert eqs.better is None, "p is above .05"
    exact = find_pair(found, "exact_match")
    assert exact.discordant is not None
    assert msgspec.structs.astuple(exact.discordant) == (1, 3, 0, 2)
    assert (exact.test, exact.p) == ("mcnemar", 2 / 2**3)
    assert find_pair(found, "omission_rate").difference == 0
    assert find_pair(found, "latency_s").n == 0
    assert find_pair(found, "latency_s").p is None


def test_win_rates_with_ties_match_manual_values() -> None:
    found = compare_rows(make_rows(good=[4, 4, 3, 2], poor=[4, 1, 3, 3]))
    shown = {(one.first, one.second): one for one in found.win_rates}
    good, poor = shown["good", "poor"], shown["poor", "good"]
    assert (good.n, good.wins, good.losses, good.ties, good.share) == (4, 1, 1, 2, 0.25)
    assert (poor.n, poor.wins, poor.losses, poor.ties, poor.share) == (4, 1, 1, 2, 0.25)


def test_holm_adjusts_over_the_pairs_of_each_metric() -> None:
    found = compare_rows(
        make_rows(a=[4] * 8, b=[3, 2, 3, 2, 3, 2, 3, 2], c=[1, 2, 1, 0, 1, 0, 1, 0])
    )
    eqs = [one for one in found.pairs if one.metric == "extraction_quality_score"]
    assert [(one.first, one.second) for one in eqs] == [("a", "b"), ("a", "c"), ("b", "c")]
    # b beats c in seven samples and ties in one; a beats both in all eight.
    assert [one.p for one in eqs] == [2 / 2**8, 2 / 2**8, 2 / 2**7]
    assert [one.p_holm for one in eqs] == [6 / 2**8, 6 / 2**8, 6 / 2**8]
    assert [one.better for one in eqs] == ["a", "a", "b"]


def test_direction_of_each_metric_is_respected() -> None:
    rows = [
        make_row(system, at, 4, seconds=base + at / 100 + (at % 3) / 50)
        for system, base in (("slow", 1.0), ("quick", 0.4))
        for at in range(12)
    ]
    found = find_pair(compare_rows(rows), "latency_s")
    assert (found.first, found.second) == ("quick", "slow"), "ties are ordered by name"
    assert found.difference == pytest.approx(-0.6)
    # Every sample differs by the same amount, so no resample varies: no interval, no verdict.
    assert (found.low, found.better) == (None, None)
    rows[0] = make_row("slow", 0, 4, seconds=1.1)
    assert find_pair(compare_rows(rows), "latency_s").better == "quick"


# ---- oracles -------------------------------------------------------------------------------------


def test_comparison_agrees_with_scipy_and_specification() -> None:
    samples = load_shipped_samples(60)
    good, poor = Skill(slip=0.05, unparsable=0, error=0), Skill(slip=0.15, unparsable=0.05, error=0)
    rows = [*simulate_rows(samples, "x/good", good), *simulate_rows(samples, "x/poor", poor)]
    found = compare_rows(rows)
    for metric, key in (
        ("extraction_quality_score", "eqs"),
        ("field_f1_partial", "f1_partial"),
        ("field_f1_strict", "f1_strict"),
    ):
        first, second = sample_scores(rows, "x/good", key), sample_scores(rows, "x/poor", key)
        one, rival = find_pair(found, metric), specification_comparison(first, second)
        assert one.n == 60
        assert one.value_first == pytest.approx(rival["mean_a"])
        assert one.value_second == pytest.approx(rival["mean_b"])
        assert one.difference == pytest.approx(rival["mean_difference"])
        assert one.t_statistic == pytest.approx(rival["t_statistic"])
        assert one.t_p == pytest.approx(rival["p_value"])
        assert one.cohens_d_pooled == pytest.approx(rival["cohens_d"])
        assert one.effect == rival["interpretation"]
        apart = np.array(first) - np.array(second)
        assert one.cohens_d == pytest.approx(apart.mean() / apart.std(ddof=1))
    valid = find_pair(found, "schema_validity")
    first, second = sample_scores(rows, "x/good", "valid"), sample_scores(rows, "x/poor", "valid")
    only = sum(a > b for a, b in zip(first, second, strict=True))
    other = sum(a < b for a, b in zip(first, second, strict=True))
    assert other + only > 0
    assert valid.p == pytest.approx(stats.binomtest(only, only + other).pvalue)


@pytest.mark.parametrize(("count", "method"), [(25, "exact"), (210, "asymptotic")])
def test_wilcoxon_matches_scipy_without_ties_or_zeros(count: int, method: str) -> None:
    rng = random.Random(3)
    rows = [
        make_row(system, f"{at:03}", 4, seconds=base + rng.random())
        for system, base in (("a", 0.2), ("b", 0.25))
        for at in range(count)
    ]
    first, second = ([one.latency_s for one in rows if one.system == name] for name in "ab")
    found = find_pair(compare_rows(rows), "latency_s")
    assert found.wilcoxon_exact == (method == "exact")
    assert found.wilcoxon_p == pytest.approx(
        stats.wilcoxon(first, second, method=method, correction=False).pvalue, rel=1e-9
    )


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=30))
@settings(max_examples=40, deadline=None)
def test_effect_size_and_label_match_the_specification(replies: list[tuple[int, int]]) -> None:
    first, second = zip(*replies, strict=True)
    rows = make_rows(a=first, b=second)
    found = find_pair(compare_rows(rows, MeasurementPlan(resamples=5)))
    scores = [sample_scores(rows, name, "eqs") for name in (found.first, found.second)]
    if np.std(scores[0]) < 1e-9 and np.std(scores[1]) < 1e-9:
        # The specification says 0 and "negligible", however far apart the two constants are.
        assert (found.cohens_d_pooled, found.effect) == (None, "")
        return
    pooled = float(np.sqrt((np.var(scores[0]) + np.var(scores[1])) / 2))
    expected = float(np.mean(scores[0]) - np.mean(scores[1])) / pooled
    assert found.cohens_d_pooled == pytest.approx(expected, abs=1e-9)
    if min(abs(abs(expected) - limit) for limit in (0.2, 0.5, 0.8)) > 1e-9:
        assert found.effect == interpret_cohens_d(expected)


# ---- properties ----------------------------------------------------------------------------------


REPLIES = st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=1, max_size=9)


@given(REPLIES)
@settings(max_examples=25, deadline=None)
def test_identical_systems_show_no_difference(replies: list[int | None]) -> None:
    found = compare_rows(make_rows(one=replies, two=replies), MeasurementPlan(resamples=20))
    called = sum(right is not None for right in replies)
    for one in found.pairs:
        if one.metric in ("latency_s", "cost_usd"):
            continue
        assert one.n == called, one.metric
        if called:
            assert (one.difference, one.p, one.wilcoxon_p, one.n_differ) == (0, 1, 1, 0)
            assert (one.better, one.t_p) == (None, None)
    assert all(rate.ties == rate.n == called for rate in found.win_rates)


@given(st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 4))] * 2), min_size=1, max_size=9))
@settings(max_examples=25, deadline=None)
def test_swapping_system_names_mirrors_the_comparison(
    replies: list[tuple[int | None, int | None]],
) -> None:
    first, second = zip(*replies, strict=True)
    plan = MeasurementPlan(resamples=40)
    found = compare_rows(make_rows(a=first, b=second), plan)
    mirrored = compare_rows(make_rows(b=first, a=second), plan)
    names = {"a": "b", "b": "a"}
    for one, other in zip(found.pairs, mirrored.pairs, strict=True):
        assert other.p == one.p
        assert other.wilcoxon_p == one.wilcoxon_p
        assert other.t_p == one.t_p
        assert other.effect == one.effect
        assert other.better == (None if one.better is None else names[one.better])
        # With equal scores the names decide who comes first; else the pair has turned round too.
        if (other.first, other.second) == (names[one.first], names[one.second]):
            assert other.difference == one.difference
            assert (other.low, other.high) == (one.low, one.high)
        elif one.difference is not None:
            assert other.difference == -one.difference
    rates = {(rate.first, rate.second): rate for rate in mirrored.win_rates}
    for rate in found.win_rates:
        turned = rates[names[rate.first], names[rate.second]]
        assert (turned.wins, turned.losses, turned.ties) == (rate.wins, rate.losses, rate.ties)
    for metric, best in found.best_by_metric.items():
        assert mirrored.best_by_metric[metric] == (None if best is None else names[best])


def test_row_order_does_not_matter() -> None:
    samples = load_shipped_samples(20)
    skill = Skill(slip=0.2)
    rows = [
        *simulate_rows(samples, "one", Skill(slip=0.05), repeats=3),
        *simulate_rows(samples, "two", skill, repeats=3),
        *simulate_rows(samples, "three", skill, repeats=3, seed=2),
    ]
    plan = MeasurementPlan(resamples=60, repeats=3)
    found = compare_rows(rows, plan)
    for seed in (1, 2):
        random.Random(seed).shuffle(rows)
        assert compare_rows(rows, plan) == found


def test_samples_with_a_failed_call_are_excluded() -> None:
    good: list[int | None] = [4, 4, None, 2, 4, 3]
    poor: list[int | None] = [1, None, 3, 1, None, 2]
    found = compare_rows(make_rows(good=good, poor=poor))
    kept = [(a, b) for a, b in zip(good, poor, strict=True) if a is not None and b is not None]
    first, second = zip(*kept, strict=True)
    alone = compare_rows(make_rows(good=first, poor=second))
    one, other = find_pair(found), find_pair(alone)
    assert one.n == 3
    assert (one.difference, one.p, one.wilcoxon_p, one.t_p) == (
        *(other.difference, other.p, other.wilcoxon_p, other.t_p),
    )
    assert [rate.n for rate in found.win_rates] == [3, 3]


def test_systems_that_share_no_sample_are_not_compared() -> None:
    found = compare_rows(make_rows(a=[4, None], b=[None, 2]))
    one = find_pair(found)
    assert (one.n, one.difference, one.p, one.p_holm, one.better) == (0, None, None, None, None)
    assert [rate.share for rate in found.win_rates] == [None, None]


def test_repeats_are_averaged_per_sample() -> None:
    rows = [
        make_row(system, at, right, repeat=repeat)
        for system, replies in (("a", [(4, 2), (4, 4), (2, 2)]), ("b", [(1, 3), (4, 0), (2, None)]))
        for at, repeated in enumerate(replies)
        for repeat, right in enumerate(repeated)
    ]
    plan = MeasurementPlan(resamples=50, repeats=2)
    found = compare_rows(rows, plan)
    eqs, exact = find_pair(found), find_pair(found, "exact_match")
    # Means of fields right: 3 4 2 against 2 2 2 (of the last one reply failed).
    assert (eqs.n, eqs.n_differ) == (3, 2)
    assert eqs.difference == pytest.approx((1 + 2 + 0) / 8 / 3)
    assert (exact.test, exact.discordant) == ("sign-flip", None)
    assert exact.difference == pytest.approx((0.5 + 0.5) / 3)


# ---- ranking, frontiers, best by metric ----------------------------------------------------------


def test_system_without_score_is_ranked_last_with_a_note() -> None:
    found = compare_rows(make_rows(broken=[None, None], poor=[0, 1], good=[4, 4]))
    assert [one.system for one in found.ranking] == ["good", "poor", "broken"]
    assert any("broken" in note and "Ranked last" in note for note in found.notes)


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
            f"m{at}", sample, right, seconds=price, cost=None if price is None else price / 1000
        )
        for at, (right, price) in enumerate(systems)
        for sample in range(2)
    ]
    found = compare_rows(rows, MeasurementPlan(resamples=5))
    placed = {f"m{at}": one for at, one in enumerate(systems) if one[1] is not None}

    def is_dominated(mine: tuple[int, int | None], other: tuple[int, int | None]) -> bool:
        (right, price), (theirs, paid) = mine, other
        assert price is not None
        assert paid is not None
        return (theirs > right and paid <= price) or (theirs >= right and paid < price)

    front = {
        name
        for name, mine in placed.items()
        if not any(is_dominated(mine, other) for other in placed.values())
    }
    for name in ("accuracy_vs_latency", "accuracy_vs_cost"):
        assert set(found.frontiers[name]) == front, name
        scores = [placed[one][0] for one in found.frontiers[name]]
        assert scores == sorted(scores, reverse=True)
    unplaced = sorted({f"m{at}" for at in range(len(systems))} - set(placed))
    told = [note for note in found.notes if note.startswith("Not on the accuracy and")]
    assert len(told) == (2 if unplaced and placed else 0)
    assert all(name in note for note in told for name in unplaced)


def test_best_by_metric() -> None:
    rows = [
        *(make_row("good", at, 4, seconds=2.0, cost=0.02) for at in range(3)),
        *(make_row("fair", at, 3, seconds=0.5, cost=0.001) for at in range(3)),
        *(make_row("poor", at, 0, seconds=0.5, cost=0.01) for at in range(3)),
    ]
    found = compare_rows(rows, MeasurementPlan(resamples=20))
    assert found.best_by_metric == {
        "highest_eqs": "good",
        "highest_f1_partial": "good",
        "highest_exact_match": "good",
        "lowest_hallucination": None,
        "fastest_p95": None,
        "best_cost_performance": "fair",
    }
    inventing = [make_row("good", at, 4, made_up=True) for at in range(3)]
    honest = [make_row("fair", at, 3, made_up=at == 0) for at in range(3)]
    told = compare_rows([*inventing, *honest], MeasurementPlan(resamples=20)).best_by_metric
    assert (told["lowest_hallucination"], told["highest_f1_partial"]) == ("fair", "good")
    free = [*rows, *(make_row("free", at, 1, seconds=3.0, cost=0.0) for at in range(3))]
    assert (
        compare_rows(free, MeasurementPlan(resamples=20)).best_by_metric["best_cost_performance"]
        == "free"
    )


def test_single_system_is_ranked_without_comparisons() -> None:
    found = compare_rows(make_rows(alone=[4, 2, 3]))
    assert [one.system for one in found.ranking] == ["alone"]
    assert (found.pairs, found.win_rates) == ((), ())


def test_report_survives_a_json_round_trip() -> None:
    found = compare_rows(make_rows(a=[4, 2, 3], b=[1, None, 3], c=[0, 0, 4]))
    assert msgspec.json.decode(msgspec.json.encode(found), type=ExtractionComparison) == found
    names = {"a", "b", "c"}
    assert {one.system for one in found.ranking} == names
    assert {(one.first, one.second) for one in found.win_rates} == set(
        itertools.permutations(names, 2)
    )
