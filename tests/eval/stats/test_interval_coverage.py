"""Tests the coverage of each interval: exactly if there are few outcomes, else by simulation."""

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


def stack_right_and_wrong(correct: np.ndarray) -> np.ndarray:
    return np.stack([correct, 1.0 - correct], axis=1)


def compute_bootstrap_intervals(
    right_and_wrong: np.ndarray, resamples: int, seed: int
) -> dict[str, Interval]:
    """Returns percentile, BCa and reported interval (BCa, or Wilson if resamples do not vary).

    Args:
        right_and_wrong: for each cluster, its numbers of right and of wrong cards.
    """
    draws = ClusterResamples(len(right_and_wrong), resamples, seed)
    distribution = compute_ratio_distribution(
        ResampledCounts(right_and_wrong, compute_resampled_sums(right_and_wrong, draws)),
        np.eye(1, 2),
        np.ones((1, 2)),
    )
    intervals = distribution.compute_intervals()
    percentile, bca = (tuple(b[:, 0].tolist()) for b in (intervals.percentile, intervals.bca))
    if np.isnan(bca).any():
        bca = percentile
    reported = bca
    if intervals.degenerate[0]:
        support = float(intervals.support[0])
        reported = wilson_interval(float(distribution.values[0]) * support, support)
    return {"percentile": percentile, "bca": bca, "shown": reported}


def compute_exact_coverage(n: int, rate: float, interval: Callable[[int], Interval]) -> float:
    """Returns the probability that the interval for the number of right cards contains the rate."""
    contains_rate = [low <= rate <= high for low, high in map(interval, range(n + 1))]
    return float(binom.pmf(np.arange(n + 1), n, rate) @ np.array(contains_rate))


@pytest.mark.parametrize("n", [30, 42, 120, 500])
@pytest.mark.parametrize("rate", [0.5, 0.6, 0.8, 0.9, 0.95, 0.98])
def test_wilson_coverage_is_sufficient_everywhere(n: int, rate: float) -> None:
    assert 0.92 < compute_exact_coverage(n, rate, lambda k: wilson_interval(k, n)) < 0.985


def build_bootstrap_table(n: int, seed: int) -> Callable[[str], Callable[[int], Interval]]:
    """Returns a function that, for a method, returns its interval by the number of right cards."""
    table = [
        compute_bootstrap_intervals(
            stack_right_and_wrong((np.arange(n) < k).astype(float)), 1000, seed
        )
        for k in range(n + 1)
    ]
    return lambda method: lambda k: table[k][method]


@pytest.mark.parametrize(
    ("n", "rate", "method", "low", "high"),
    [
        # Near rate 1 the plain bootstrap is far below its nominal coverage of .95.
        (30, 0.98, "percentile", 0.43, 0.47),
        (30, 0.98, "bca", 0.40, 0.50),
        (42, 0.95, "percentile", 0.86, 0.89),
        # The reported interval ("shown") is therefore Wilson's if all resamples are equal.
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
    assert low <= compute_exact_coverage(n, rate, build_bootstrap_table(n, 42)(method)) <= high


def test_published_bootstrap_coverage_is_as_documented() -> None:
    # The documentation states .879 for the bootstrap (42 cards, rate .95, seed 42, 1,000 resamples)
    # and .947 for Wilson.
    assert compute_exact_coverage(
        42, 0.95, build_bootstrap_table(42, 42)("percentile")
    ) == pytest.approx(0.879, abs=0.01)
    assert compute_exact_coverage(42, 0.95, lambda k: wilson_interval(k, 42)) == pytest.approx(
        0.947, abs=0.005
    )
    assert build_bootstrap_table(42, 42)("percentile")(42) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("cell_probabilities", "low"),
    [
        ((0.97, 0.01, 0.01, 0.01), 0.95),
        ((0.85, 0.09, 0.03, 0.03), 0.94),
        ((0.4, 0.2, 0.1, 0.3), 0.93),
    ],
)
def test_newcombe_difference_has_nominal_coverage(
    cell_probabilities: tuple[float, ...], low: float
) -> None:
    n, true_difference, covered = 30, cell_probabilities[1] - cell_probabilities[2], 0.0
    tables = np.array(
        [
            (a, b, c, n - a - b - c)
            for a in range(n + 1)
            for b in range(n + 1 - a)
            for c in range(n + 1 - a - b)
        ]
    )
    for table, chance in zip(tables, multinomial(n, cell_probabilities).pmf(tables), strict=True):
        if chance > 1e-7:
            bottom, top = newcombe_paired_interval(Discordant(*table.tolist()))
            covered += chance * (bottom <= true_difference <= top)
    assert low < covered <= 1


def draw_card_probabilities(
    rng: np.random.Generator, clusters: int, size: int, rate: float, icc: float
) -> np.ndarray:
    """Draws each card's probability of being right: equal within a cluster, else beta-distributed.

    ``icc`` is the intraclass correlation of the cards of a cluster.
    """
    spread = 1 / icc - 1
    return np.repeat(rng.beta(rate * spread, (1 - rate) * spread, clusters), size)


@pytest.mark.parametrize(
    ("clusters", "size", "rate", "icc", "low"),
    [(100, 3, 0.9, 0.3, 0.91), (40, 3, 0.98, 0.3, 0.95), (30, 1, 0.98, 0.01, 0.95)],
)
def test_coverage_for_ratios_of_clustered_cards(
    clusters: int, size: int, rate: float, icc: float, low: float
) -> None:
    # The denominator is random, as in abstention precision: about six in ten cards are counted.
    rng = np.random.default_rng(5)
    card_clusters = np.repeat(np.arange(clusters), size)
    covered, runs = 0, 400
    for run in range(runs):
        correct = rng.random(clusters * size) < draw_card_probabilities(
            rng, clusters, size, rate, icc
        )
        counted = rng.random(clusters * size) < 0.6
        data = np.stack(
            [
                np.bincount(card_clusters, counted & outcome, clusters)
                for outcome in (correct, ~correct)
            ],
            axis=1,
        )
        bottom, top = compute_bootstrap_intervals(data, 300, run)["shown"]
        covered += bottom <= rate <= top
    assert low <= covered / runs


def test_clustered_cards_need_the_cluster_bootstrap() -> None:
    # Ten cards per cluster, all right or all wrong: only the clusters are independent.
    rng = np.random.default_rng(4)
    by_wilson = by_clusters = 0
    for run in range(300):
        correct = 10.0 * (rng.random(60) < 0.5)
        low, high = wilson_interval(float(correct.sum()), 600)
        by_wilson += low <= 0.5 <= high
        low, high = compute_bootstrap_intervals(
            np.stack([correct, 10 - correct], axis=1), 300, run
        )["bca"]
        by_clusters += low <= 0.5 <= high
    assert by_wilson / 300 < 0.6
    assert by_clusters / 300 > 0.9


@pytest.mark.parametrize(("n", "rates"), [(30, (0.98, 0.9)), (100, (0.95, 0.9)), (100, (0.8, 0.7))])
def test_coverage_for_paired_differences(n: int, rates: tuple[float, float]) -> None:
    rng = np.random.default_rng(6)
    covered, runs = 0, 400
    for run in range(runs):
        shared = rng.random(n)
        correct = [np.where(rng.random(n) < 0.5, shared, rng.random(n)) < rate for rate in rates]
        both_right, first_right, second_right = (
            int(x.sum()) for x in (correct[0] & correct[1], *correct)
        )
        draws = ClusterResamples(n, 300, run)
        first, second = (
            compute_ratio_distribution(
                ResampledCounts(data, compute_resampled_sums(data, draws)),
                np.eye(1, 2),
                np.ones((1, 2)),
            )
            for data in map(stack_right_and_wrong, correct)
        )
        intervals = (first - second).compute_intervals()
        low, high = intervals.bca[:, 0]
        if np.isnan(low):
            low, high = intervals.percentile[:, 0]
        if intervals.degenerate[0]:
            low, high = newcombe_paired_interval(
                Discordant(
                    both_right,
                    first_right - both_right,
                    second_right - both_right,
                    n - first_right - second_right + both_right,
                )
            )
        covered += low <= rates[0] - rates[1] <= high
    assert covered / runs > 0.89


CHANCE_OF_RIGHT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "calibrated": lambda confidence: confidence,
    "slightly overconfident": lambda confidence: 0.9 * confidence,
    "overconfident": lambda confidence: 0.7 * confidence,
}


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("case", list(CHANCE_OF_RIGHT))
def test_coverage_for_calibration_and_selective_prediction(n: int, case: str) -> None:
    chance_of_right = CHANCE_OF_RIGHT[case]
    rng = np.random.default_rng(7)
    population = rng.beta(4, 2, 400_000)
    true_right = chance_of_right(population)
    gaps = np.bincount(equal_width_bins(population), weights=true_right - population)
    wrong_so_far = np.cumsum(1 - true_right[np.argsort(-population)])
    truth = {
        "ece": float(np.abs(gaps).sum()) / population.size,
        "brier": float(((population - true_right) ** 2 + true_right * (1 - true_right)).mean()),
        "aurc": float((wrong_so_far / np.arange(1, population.size + 1)).mean()),
    }
    covered = dict.fromkeys((*truth, "percentile ece", "basic ece"), 0)
    runs = 150
    for run in range(runs):
        confidences = rng.beta(4, 2, n)
        correct = (rng.random(n) < chance_of_right(confidences)).astype(float)
        replies = ConfidentReplies(confidences, correct, np.arange(n))
        distribution = replies.compute_distribution(ClusterResamples(n, 250, run))
        low, high = distribution.compute_intervals().percentile[:, 0]
        ece = float(distribution.values[0])
        basic = max(0.0, 2 * ece - high), 2 * ece - low
        p_value = simulate_chance_error(
            confidences, replies.equal_width, ece, simulations=300
        ).p_value
        reported = 0.0 if p_value >= 0.025 else min(low, basic[0]), max(high, basic[1])
        covered["ece"] += reported[0] <= truth["ece"] <= reported[1]
        covered["percentile ece"] += low <= truth["ece"] <= high
        covered["basic ece"] += basic[0] <= truth["ece"] <= basic[1]
        for name, column in (("brier", 2), ("aurc", 3)):
            low, high = distribution.compute_intervals().bca[:, column]
            covered[name] += low <= truth[name] <= high
    coverage = {name: count / runs for name, count in covered.items()}
    assert coverage["ece"] > 0.88
    assert coverage["brier"] > 0.87
    assert coverage["aurc"] > 0.84
    if case == "calibrated":
        # Neither interval covers enough alone, so the union of both is reported.
        assert coverage["percentile ece"] < 0.1
        assert coverage["basic ece"] < 0.8


def test_wilcoxon_false_positive_rate_on_means_of_repeats() -> None:
    rng = np.random.default_rng(8)
    rejections = 0
    for _ in range(600):
        means = [(rng.random((40, 5)) < 0.8).mean(axis=1) for _ in range(2)]
        rejections += wilcoxon_test(means[0] - means[1]).p_value < 0.05
    assert rejections / 600 <= 0.07
