"""Tests all-three and the intervals and comparisons of the headline metrics."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from eval.abstention.metrics.cluster_samples import Plan, Samples
from eval.abstention.metrics.definitions import PENALTIES, SKILL, get_metrics
from eval.abstention.metrics.observations import Observations, read_observations
from eval.abstention.metrics.pairs import compare_pairs
from eval.abstention.metrics.report import measure
from eval.abstention.metrics.triplets import find_triplets, score_triplets
from eval.abstention.result import PREDS
from kg.base.packed_strings import PackedStrings, StringColumn
from kg.base.proportions import wilson_interval
from kg.claims import GOLD_OF_LABEL, LABELS

PLAN = Plan(resamples=400)
RIGHT = {label: PREDS.index(gold) for label, gold in GOLD_OF_LABEL.items()}


def make_observations(
    n_triplets: int, *, seed: int = 0, repeats: int = 1, triplets: bool = True
) -> Observations:
    """Makes answers of two systems, ``a`` better than ``b``, to triplets in clusters of two."""
    rng = np.random.default_rng(seed)
    n = 3 * n_triplets
    labels = np.tile(np.arange(3, dtype=np.int8), n_triplets)
    right = np.array([RIGHT[LABELS[label]] for label in labels], dtype=np.int8)

    def answer(accuracy: float) -> NDArray[np.int8]:
        is_right = rng.random((n, repeats)) < accuracy
        preds = np.where(is_right, right[:, None], rng.integers(0, 5, (n, repeats)))
        return preds.astype(np.int8)[:, 0] if repeats == 1 else preds.astype(np.int8)

    return Observations(
        card_set="0123456789ab",
        ids=PackedStrings(f"{card:05}" for card in range(n)),
        labels=labels,
        golds=labels,
        kinds=StringColumn.from_strings([""] * n),
        difficulties=StringColumn.from_strings([""] * n),
        full_labels=StringColumn.from_strings([""] * n),
        clusters=(np.arange(n) // 2).astype(np.int32),
        triplets=(np.arange(n) // 3 if triplets else np.full(n, -1)).astype(np.int32),
        mined=np.zeros(n, dtype=np.bool_),
        preds={"a": answer(0.8), "b": answer(0.5)},
    )


def is_right(observations: Observations, system: str) -> NDArray[np.bool_]:
    right = np.array([RIGHT[LABELS[label]] for label in observations.labels])
    columns = observations.preds[system].reshape(len(observations.ids), -1)
    return columns == right[:, None]


@pytest.mark.parametrize("repeats", [1, 3])
def test_all_three_is_the_share_of_triplets_answered_right(repeats: int) -> None:
    observations = make_observations(50, repeats=repeats)
    for system, report in measure(observations, PLAN).policies["licensed"].systems.items():
        by_triplet = is_right(observations, system).reshape(50, 3, repeats).all(axis=1)
        value = report.metrics["all-three"]
        assert value.value == pytest.approx(by_triplet.mean())
        assert (value.n, value.denominator) == (50, 50)
        assert value.worst == value.value
        assert value.best is not None
        assert value.best > value.worst
        if repeats == 1:
            assert (value.low, value.high) == pytest.approx(
                wilson_interval(float(by_triplet.sum()), 50, 0.95)
            )
        assert "geomean-recall" not in report.metrics


def make_triplets_of_three_subjects(n_triplets: int, n_subjects: int) -> Observations:
    """Makes triplets whose cards have three subjects, which are those of other triplets, too."""
    observations = make_observations(n_triplets)
    rng = np.random.default_rng(3)
    subjects = np.concatenate([rng.permutation(n_subjects)[:3] for _ in range(n_triplets)])
    return replace(observations, clusters=subjects.astype(np.int32), preds={})


def test_systems_that_depend_on_shared_facts_are_rarely_told_apart() -> None:
    """Equal systems that answer whole triplets right or wrong: few have a difference by chance."""
    n_triplets, n_pairs = 150, 400
    observations = make_triplets_of_three_subjects(n_triplets, 300)
    rng = np.random.default_rng(8)
    right = np.array([RIGHT[LABELS[label]] for label in observations.labels], dtype=np.int8)
    wrong = np.where(right == PREDS.index("UNKNOWN"), PREDS.index("YES"), PREDS.index("UNKNOWN"))
    for number in range(2 * n_pairs):
        is_right = np.repeat(rng.random(n_triplets) < 0.5, 3)
        observations.preds[f"s{number}"] = np.where(is_right, right, wrong).astype(np.int8)
    samples = Samples(observations, Plan(("licensed",), resamples=500))
    comparisons = compare_pairs(
        samples,
        [(f"s{2 * number}", f"s{2 * number + 1}") for number in range(n_pairs)],
        signature=samples.signature,
        metric_names=("accuracy", SKILL, "AP"),
    )
    for metric in ("accuracy", SKILL, "AP"):
        found = [pair for pair in comparisons if pair.metric == metric]
        assert len(found) == n_pairs
        n_excluding_0 = sum(not (pair.low or 0) <= 0 <= (pair.high or 0) for pair in found)
        assert n_excluding_0 < 0.085 * n_pairs, metric
        if metric != "accuracy":  # which has McNemar's test
            assert sum((pair.p or 0) < 0.05 for pair in found) < 0.085 * n_pairs, metric


@pytest.mark.parametrize("order", [1, -1])
def test_the_wider_interval_and_the_larger_p_count(order: int) -> None:
    """By cluster or by triplet, whichever; neither depends on the numbers of the triplets."""
    observations = make_observations(60)
    triplets = observations.triplets[::order].copy() if order < 0 else observations.triplets
    by_both, by_cluster, by_triplet = (
        compare_pairs(samples, [("a", "b")], signature=samples.signature, metric_names=(SKILL,))[0]
        for numbers, clusters in (
            (triplets, observations.clusters),
            (np.full(180, -1, np.int32), observations.clusters),
            (np.full(180, -1, np.int32), observations.triplets),
        )
        for samples in (
            Samples(
                replace(observations, triplets=numbers, clusters=clusters),
                Plan(("licensed",), resamples=400),
            ),
        )
    )
    assert by_cluster.low is not None
    assert by_cluster.high is not None
    assert by_triplet.low is not None
    assert by_triplet.high is not None
    widest = max((by_cluster, by_triplet), key=lambda pair: (pair.high or 0) - (pair.low or 0))
    assert (by_both.low, by_both.high) == (widest.low, widest.high)
    assert by_both.p == max(by_cluster.p or 0, by_triplet.p or 0)


def test_incomplete_triplets_do_not_count() -> None:
    labels = np.array([0, 1, 2, 0, 1, 0, 1, 2, 2, 0, 1, 2], dtype=np.int8)
    numbers = np.array([4, 4, 4, 0, 0, -1, -1, -1, 2, 2, 2, 2], dtype=np.int32)
    assert find_triplets(numbers, labels).tolist() == [[0, 1, 2]]
    assert find_triplets(np.full(12, -1, dtype=np.int32), labels).shape == (0, 3)


def test_triplets_are_in_the_order_of_their_first_cards() -> None:
    numbers = np.array([5, 1, 5, 1, 5, 1], dtype=np.int32)
    labels = np.array([0, 0, 1, 1, 2, 2], dtype=np.int8)
    assert find_triplets(numbers, labels).tolist() == [[0, 2, 4], [1, 3, 5]]


def test_constant_and_two_label_systems_have_no_triplet_right() -> None:
    observations = make_observations(20)
    triplets = find_triplets(observations.triplets, observations.labels)
    labels = observations.labels
    for pred in range(len(PREDS)):
        constant = np.full(len(labels), pred, dtype=np.int8)
        assert not score_triplets(triplets, labels, constant).any()
    never_no = np.where(labels == 0, PREDS.index("YES"), PREDS.index("UNKNOWN")).astype(np.int8)
    assert not score_triplets(triplets, labels, never_no).any()
    controls = measure(observations, PLAN).policies["licensed"].controls
    values = [controls[name].metrics["all-three"].value for name in controls]
    assert values == pytest.approx([0, 0, 0, 1 / 27])


def test_without_triplets_the_mean_of_the_recalls_takes_its_place() -> None:
    observations = make_observations(50, triplets=False)
    report = measure(observations, PLAN)
    for system, metrics in (
        (name, entry.metrics) for name, entry in report.policies["licensed"].systems.items()
    ):
        recalls = is_right(observations, system)[:, 0].reshape(50, 3).mean(axis=0)
        assert "all-three" not in metrics
        assert metrics["geomean-recall"].value == pytest.approx(recalls.prod() ** (1 / 3))
        assert metrics["geomean-recall"].low is not None
    compared = {(c.policy, c.metric) for c in report.comparisons}
    assert {("licensed", SKILL), ("licensed", "geomean-recall"), ("published", "AP")} <= compared
    assert ("published", SKILL) not in compared
    assert not set(PENALTIES) & report.policies["published"].systems["a"].metrics.keys()


def test_resampled_skill_is_computed_from_the_resampled_cards() -> None:
    observations = make_observations(40, seed=1)
    samples = Samples(observations, PLAN)
    metrics = get_metrics(PENALTIES, "licensed")
    distribution = samples.compute_distribution(metrics, "licensed", "a")
    cards_of_cluster = [np.flatnonzero(observations.clusters == c) for c in range(60)]
    draws = np.random.default_rng(PLAN.seed).integers(0, 60, (PLAN.n_resamples, 60))
    right, preds = is_right(observations, "a")[:, 0], observations.preds["a"]
    for row in (0, 1, 399):
        cards = np.concatenate([cards_of_cluster[cluster] for cluster in draws[row]])
        for column, penalty in enumerate(PENALTIES.values()):
            means = []
            for label in range(3):
                chosen = cards[observations.labels[cards] == label]
                wrong = ~right[chosen] & (preds[chosen] < 3)
                if label < 2:
                    wrong &= preds[chosen] != PREDS.index("UNKNOWN")
                means.append((right[chosen] - wrong * penalty / (1 - penalty)).mean())
            expected = 1.5 * np.mean(means) - 0.5
            assert distribution.replicates[row, column] == pytest.approx(expected)


@pytest.mark.parametrize(("n_clusters", "test"), [(5, "sign-flip"), (10, "cluster-bootstrap")])
def test_few_clusters_do_not_show_which_system_has_more_skill(n_clusters: int, test: str) -> None:
    """Five clusters that all favour one system have p = 2 / 2**5, however much they do."""
    observations = make_observations(40, seed=2)
    right = np.array([RIGHT[LABELS[label]] for label in observations.labels], dtype=np.int8)
    observations = replace(
        observations,
        clusters=(np.arange(120) % n_clusters).astype(np.int32),
        preds={"a": right, "b": observations.preds["b"]},
    )
    samples = Samples(observations, PLAN)
    pairs = compare_pairs(samples, [("a", "b")], signature=samples.signature)
    (pair,) = [pair for pair in pairs if pair.metric == SKILL]
    assert pair.test == test
    assert pair.low is not None
    assert pair.low > 0
    if test == "sign-flip":
        assert (pair.exact, pair.p, pair.better) == (True, 2 / 2**5, None)
    else:
        assert pair.better == "a"


def test_pairs_are_compared_triplet_by_triplet() -> None:
    observations = make_observations(60, seed=2)
    samples = Samples(observations, PLAN)
    by_metric = {
        c.metric: c
        for c in compare_pairs(samples, [("a", "b")], signature=samples.signature)
        if c.policy == "licensed"
    }
    first, second = (is_right(observations, s).reshape(60, 3).all(axis=1) for s in "ab")
    only = int((first & ~second).sum()), int((second & ~first).sum())
    pair = by_metric["all-three"]
    assert pair.discordant is not None
    assert (pair.discordant.only_candidate, pair.discordant.only_baseline) == only
    assert pair.p == pytest.approx(binomtest(only[0], sum(only), 0.5).pvalue)
    assert (pair.test, pair.n, pair.better) == ("mcnemar-exact", 60, "a")
    skill = by_metric[SKILL]
    assert (skill.test, skill.better) == ("cluster-bootstrap", "a")
    assert skill.difference is not None
    assert skill.low is not None
    assert skill.low > 0
    (alone,) = compare_pairs(
        Samples(observations, Plan(("licensed",), resamples=400)),
        [("a", "b")],
        signature=samples.signature,
        metric_names=["all-three"],
    )
    assert (alone.p, alone.difference) == (pair.p, pair.difference)
    equal = {c.metric: c for c in compare_pairs(samples, [("a", "a")], signature=samples.signature)}
    assert equal["all-three"].p == 1
    assert equal[SKILL].better is None


def test_rows_name_their_triplet(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"{label}{number}",
            "system": "x",
            "label": label,
            "gold": gold,
            "pred": gold,
            "triplet": f"t{number}",
        }
        for number in range(4)
        for label, gold in GOLD_OF_LABEL.items()
    ]
    path = tmp_path / "x_results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    metrics = measure(read_observations([path]), PLAN).policies["licensed"].systems["x"].metrics
    assert list(metrics)[:2] == [SKILL, "all-three"]
    assert (metrics["all-three"].value, metrics["all-three"].n) == (1, 4)
    # A perfect system: the resamples do not vary, and the interval must not be empty.
    skill = metrics[SKILL]
    assert (skill.value, skill.high, skill.method) == (1, 1, "wilson-edge")
    assert skill.low is not None
    assert -2 < skill.low < 1


def test_memory_is_the_difference_of_yes_between_claims_set_aside_and_others() -> None:
    observations = make_observations(60, seed=3)
    is_unknown = observations.labels == 2
    full_labels = np.where(is_unknown & (np.arange(180) % 2 == 0), "E", "C")
    full_labels[~is_unknown] = ""
    observations = replace(
        observations, full_labels=StringColumn.from_strings(full_labels.tolist())
    )
    for system, report in measure(observations, PLAN).policies["licensed"].systems.items():
        says_yes = observations.preds[system] == PREDS.index("YES")
        counts = [
            (int(says_yes[chosen].sum()), int(chosen.sum()))
            for chosen in (full_labels == "E", is_unknown & (full_labels == "C"))
        ]
        (k, n), (k_other, n_other) = counts
        value = report.memory
        assert value is not None
        assert value.value == pytest.approx(k / n - k_other / n_other)
        # Newcombe (1998), method 10.
        p, q = k / n, k_other / n_other
        a = binomtest(k, n).proportion_ci(method="wilson")
        b = binomtest(k_other, n_other).proportion_ci(method="wilson")
        low = p - q - math.hypot(p - a.low, b.high - q)
        high = p - q + math.hypot(a.high - p, q - b.low)
        assert (value.low, value.high) == pytest.approx((low, high))
        assert [group.n_cards for group in report.set_aside.values()] == [n, n_other]
    assert measure(make_observations(5), PLAN).policies["licensed"].systems["a"].memory is None


# What each strategy says on E, C and U cards: shares of YES, NO and UNKNOWN. None reads the facts
# as the question needs it, however much the system knows.
WEAK_STRATEGIES = {
    "never NO": ((1, 0, 0), (0, 0, 1), (0, 0, 1)),
    "never YES": ((0, 0, 1), (0, 1, 0), (0, 0, 1)),
    "never UNKNOWN, perfect memory": ((1, 0, 0), (0, 1, 0), (0.5, 0.5, 0)),
    "YES unless it knows better": ((1, 0, 0), (0.3, 0.7, 0), (0.9, 0.1, 0)),
    "NO unless it knows better": ((0.7, 0.3, 0), (0, 1, 0), (0.1, 0.9, 0)),
    "half of all answers withheld at random": ((0.5, 0, 0.5), (0, 0.5, 0.5), (0.25, 0.25, 0.5)),
    "answers one card in ten, all right": ((0.1, 0, 0.9), (0, 0.1, 0.9), (0, 0, 1)),
    "popular objects": ((0.6, 0.2, 0.2), (0.5, 0.3, 0.2), (0.5, 0.3, 0.2)),
    "guesses by the length of the question": ((0.4, 0.3, 0.3), (0.3, 0.4, 0.3), (0.3, 0.3, 0.4)),
    "denial of all it has not seen": ((0.9, 0.1, 0), (0, 1, 0), (0, 1, 0)),
    "uniform": ((1 / 3, 1 / 3, 1 / 3),) * 3,
}


@pytest.mark.parametrize("strategy", WEAK_STRATEGIES)
def test_weak_strategies_are_below_a_mediocre_system(strategy: str) -> None:
    rng = np.random.default_rng(5)
    base = make_observations(2_000)
    shares = np.array(WEAK_STRATEGIES[strategy])
    preds = np.array([rng.choice(3, p=shares[label]) for label in base.labels], dtype=np.int8)
    metrics = (
        measure(replace(base, preds={"x": preds}), Plan(("licensed",), resamples=100))
        .policies["licensed"]
        .systems["x"]
        .metrics
    )
    skill, all_three = metrics[SKILL].value, metrics["all-three"].value
    assert skill is not None
    assert all_three is not None
    assert skill < 0.2 or all_three < 0.27
