"""Coverage of each interval: exact where outcomes are few, otherwise simulated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from eval.stats.bootstrap import (
    ClusterResamples,
    ResampledCounts,
    compute_ratio_distribution,
    compute_resampled_sums,
)
from eval.stats.calibration import equal_width_bins, simulate_chance_error
from eval.stats.confidences import ConfidentReplies
from eval.stats.effects import wilcoxon_test
from eval.stats.paired_tests import Discordant, newcombe_paired_interval
from kg.base.proportions import wilson_interval

Interval = tuple[float, float]


def right_and_wrong(right: np.ndarray) -> np.ndarray:
    return np.stack([right, 1.0 - right], axis=1)


def bootstrap_intervals(data: np.ndarray, resamples: int, seed: int) -> dict[str, Interval]:
    """Returns percentile, BCa and reported interval (BCa, or Wilson if resamples do not vary)."""
    draws = ClusterResamples(len(data), resamples, seed)
    one = compute_ratio_distribution(
        ResampledCounts(data, compute_resampled_sums(data, draws)), np.eye(1, 2), np.ones((1, 2))
    )
    found = one.compute_intervals()
    percentile, bca = (tuple(b[:, 0].tolist()) for b in (found.percentile, found.bca))
    if np.isnan(bca).any():
        bca = percentile
    shown = bca
    if found.degenerate[0]:
        support = float(found.support[0])
        shown = wilson_interval(float(one.values[0]) * support, support)
    return {"percentile": percentile, "bca": bca, "shown": shown}


def exact_coverage(n: int, rate: float, interval: Callable[[int], Interval]) -> float:
    """Sums the probabilities of all numbers of right cards whose interval contains the rate."""
    held = [low <= rate <= high for low, high in map(interval, range(n + 1))]
    return float(binom.pmf(np.arange(n + 1), n, rate) @ np.array(held))


@pytest.mark.parametrize("n", [30, 42, 120, 500])
@pytest.mark.parametrize("rate", [0.5, 0.6, 0.8, 0.9, 0.95, 0.98])
def test_wilson_coverage_is_sufficient_everywhere(n: int, rate: float) -> None:
    assert 0.92 < exact_coverage(n, rate, lambda k: wilson_interval(k, n)) < 0.985


def bootstrap_table(n: int, seed: int) -> Callable[[str], Callable[[int], Interval]]:
    table = [
        bootstrap_intervals(right_and_wrong((np.arange(n) < k).astype(float)), 1000, seed)
        for k in range(n + 1)
    ]
    return lambda method: lambda k: table[k][method]


@pytest.mark.parametrize(
    ("n", "rate", "method", "low", "high"),
    [
        # Near rate 1 the plain bootstrap is far below its nominal coverage …
        (30, 0.98, "percentile", 0.43, 0.47),
        (30, 0.98, "bca", 0.40, 0.50),
        (42, 0.95, "percentile", 0.86, 0.89),
        # … so the reported interval is Wilson over clusters if all resamples are equal.
        (30, 0.98, "shown", 0.95, 1.0),
        (42, 0.95, "shown", 0.93, 1.0),
        (42, 0.8, "percentile", 0.92, 0.96),
        (42, 0.8, "shown", 0.92, 0.97),
        (42, 0.5, "bca", 0.92, 0.985),
    ],
)
def test_bootstrap_coverage_for_independent_cards(
    n: int, rate: float, method: str, low: float, high: float
) -> None:
    assert low <= exact_coverage(n, rate, bootstrap_table(n, 42)(method)) <= high


def test_published_bootstrap_coverage_is_as_documented() -> None:
    # n = 42, p = .95, seed 42, 1,000 percentile resamples: .879 where Wilson has .947.
    assert exact_coverage(42, 0.95, bootstrap_table(42, 42)("percentile")) == pytest.approx(
        0.879, abs=0.01
    )
    assert exact_coverage(42, 0.95, lambda k: wilson_interval(k, 42)) == pytest.approx(
        0.947, abs=0.005
    )
    assert bootstrap_table(42, 42)("percentile")(42) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("shares", "low"),
    [
        ((0.97, 0.01, 0.01, 0.01), 0.95),
        ((0.85, 0.09, 0.03, 0.03), 0.94),
        ((0.4, 0.2, 0.1, 0.3), 0.93),
    ],
)
def test_newcombe_difference_has_nominal_coverage(shares: tuple[float, ...], low: float) -> None:
    n, truth, covered = 30, shares[1] - shares[2], 0.0
    tables = np.array(
        [
            (a, b, c, n - a - b - c)
            for a in range(n + 1)
            for b in range(n + 1 - a)
            for c in range(n + 1 - a - b)
        ]
    )
    for table, chance in zip(tables, multinomial(n, shares).pmf(tables), strict=True):
        if chance > 1e-7:
            bottom, top = newcombe_paired_interval(Discordant(*table.tolist()))
            covered += chance * (bottom <= truth <= top)
    assert low < covered <= 1


def simulate_clusters(
    rng: np.random.Generator, clusters: int, size: int, rate: float, icc: float
) -> np.ndarray:
    """Probability of being right per card: equal within a cluster, beta-distributed between."""
    spread = 1 / icc - 1
    return np.repeat(rng.beta(rate * spread, (1 - rate) * spread, clusters), size)


@pytest.mark.parametrize(
    ("clusters", "size", "rate", "icc", "low"),
    [(100, 3, 0.9, 0.3, 0.91), (40, 3, 0.98, 0.3, 0.95), (30, 1, 0.98, 0.01, 0.95)],
)
def test_coverage_for_ratios_of_clustered_cards(
    clusters: int, size: int, rate: float, icc: float, low: float
) -> None:
    # Like AP: the share of right cards among those abstained on (six in ten).
    rng = np.random.default_rng(5)
    of = np.repeat(np.arange(clusters), size)
    held, runs = 0, 400
    for run in range(runs):
        right = rng.random(clusters * size) < simulate_clusters(rng, clusters, size, rate, icc)
        counted = rng.random(clusters * size) < 0.6
        data = np.stack([np.bincount(of, counted & w, clusters) for w in (right, ~right)], axis=1)
        bottom, top = bootstrap_intervals(data, 300, run)["shown"]
        held += bottom <= rate <= top
    assert low <= held / runs


def test_clustered_cards_need_the_cluster_bootstrap() -> None:
    # Ten cards per cluster, all right or all wrong: only the clusters are independent.
    rng = np.random.default_rng(4)
    by_wilson = by_clusters = 0
    for run in range(300):
        right = 10.0 * (rng.random(60) < 0.5)
        low, high = wilson_interval(float(right.sum()), 600)
        by_wilson += low <= 0.5 <= high
        low, high = bootstrap_intervals(np.stack([right, 10 - right], axis=1), 300, run)["bca"]
        by_clusters += low <= 0.5 <= high
    assert by_wilson / 300 < 0.6
    assert by_clusters / 300 > 0.9


@pytest.mark.parametrize(("n", "rates"), [(30, (0.98, 0.9)), (100, (0.95, 0.9)), (100, (0.8, 0.7))])
def test_coverage_for_paired_differences(n: int, rates: tuple[float, float]) -> None:
    rng = np.random.default_rng(6)
    held, runs = 0, 400
    for run in range(runs):
        shared = rng.random(n)
        right = [np.where(rng.random(n) < 0.5, shared, rng.random(n)) < rate for rate in rates]
        both, a, b = (int(x.sum()) for x in (right[0] & right[1], *right))
        draws = ClusterResamples(n, 300, run)
        first, second = (
            compute_ratio_distribution(
                ResampledCounts(data, compute_resampled_sums(data, draws)),
                np.eye(1, 2),
                np.ones((1, 2)),
            )
            for data in map(right_and_wrong, right)
        )
        found = (first - second).compute_intervals()
        low, high = found.bca[:, 0]
        if np.isnan(low):
            low, high = found.percentile[:, 0]
        if found.degenerate[0]:
            low, high = newcombe_paired_interval(
                Discordant(both, a - both, b - both, n - a - b + both)
            )
        held += low <= rates[0] - rates[1] <= high
    assert held / runs > 0.89


CHANCE_OF_RIGHT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "calibrated": lambda sure: sure,
    "slightly overconfident": lambda sure: 0.9 * sure,
    "overconfident": lambda sure: 0.7 * sure,
}


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("case", list(CHANCE_OF_RIGHT))
def test_coverage_for_calibration_and_selective_prediction(n: int, case: str) -> None:
    chance_of_right = CHANCE_OF_RIGHT[case]
    rng = np.random.default_rng(7)
    many = rng.beta(4, 2, 400_000)
    true_right = chance_of_right(many)
    gaps = np.bincount(equal_width_bins(many), weights=true_right - many)
    wrong_so_far = np.cumsum(1 - true_right[np.argsort(-many)])
    truth = {
        "ece": float(np.abs(gaps).sum()) / many.size,
        "brier": float(((many - true_right) ** 2 + true_right * (1 - true_right)).mean()),
        "aurc": float((wrong_so_far / np.arange(1, many.size + 1)).mean()),
    }
    held = dict.fromkeys((*truth, "percentile ece", "basic ece"), 0)
    runs = 150
    for run in range(runs):
        sure = rng.beta(4, 2, n)
        right = (rng.random(n) < chance_of_right(sure)).astype(float)
        data = ConfidentReplies(sure, right, np.arange(n))
        found = data.compute_distribution(ClusterResamples(n, 250, run))
        low, high = found.compute_intervals().percentile[:, 0]
        ece = float(found.values[0])
        basic = max(0.0, 2 * ece - high), 2 * ece - low
        p = simulate_chance_error(sure, data.equal_width, ece, simulations=300).p_value
        union = 0.0 if p >= 0.025 else min(low, basic[0]), max(high, basic[1])
        held["ece"] += union[0] <= truth["ece"] <= union[1]
        held["percentile ece"] += low <= truth["ece"] <= high
        held["basic ece"] += basic[0] <= truth["ece"] <= basic[1]
        for name, column in (("brier", 2), ("aurc", 3)):
            low, high = found.compute_intervals().bca[:, column]
            held[name] += low <= truth[name] <= high
    shares = {name: count / runs for name, count in held.items()}
    assert shares["ece"] > 0.88
    assert shares["brier"] > 0.87
    assert shares["aurc"] > 0.84
    if case == "calibrated":
        # Why neither half of the union is shown alone.
        assert shares["percentile ece"] < 0.1
        assert shares["basic ece"] < 0.8


def test_wilcoxon_keeps_its_level_on_means_of_repeats() -> None:
    rng = np.random.default_rng(8)
    called = 0
    for _ in range(600):
        means = [(rng.random((40, 5)) < 0.8).mean(axis=1) for _ in range(2)]
        called += wilcoxon_test(means[0] - means[1]).p_value < 0.05
    assert called / 600 <= 0.07
