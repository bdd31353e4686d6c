"""Counts replies per cluster over the headline cards, and resamples the clusters.

All systems share the same resamples, so that differences between systems are paired. The cards of a
cluster are about one subject; those of a triplet share facts, but may have three subjects. So
comparisons also resample triplets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cards.card import DIFFICULTIES
from eval.abstention.metrics.definitions import Metric
from eval.abstention.metrics.observations import Observations
from eval.abstention.metrics.outcomes import Codes, count_cluster_cells
from eval.abstention.metrics.triplets import find_triplets
from eval.metrics.measurement import PolicyName
from eval.metrics.signature import DEFAULT_CONFIDENCE, Signature
from eval.stats.bootstrap import (
    RESAMPLES,
    SEED,
    ClusterResamples,
    Distribution,
    Floats,
    ResampledCounts,
    compute_ratio_distribution,
    merge_resampled,
    resample_blocks,
)
from eval.stats.paired_tests import choose_resamples
from kg.base.packed_strings import StringColumn
from kg.base.provenance import package_version

_NO_DIFFICULTY = "none"
"""Block of the cards whose difficulty is not recorded."""


@dataclass(frozen=True)
class Plan:
    """The parameters for computing metrics.

    Attributes:
        policies: the policies to compute.
        resamples: number of bootstrap resamples, at least 1; ``None`` for 2,000, and for as many as
            the number of tests needs where systems are compared.
        seed: seed of the resampling.
        confidence: nominal coverage of the intervals.
    """

    policies: tuple[PolicyName, ...] = ("licensed", "published")
    resamples: int | None = None
    seed: int = SEED
    confidence: float = DEFAULT_CONFIDENCE

    @property
    def n_resamples(self) -> int:
        """Number of resamples for the values of single systems."""
        return self.resamples or RESAMPLES

    def count_resamples(self, n_tests: int) -> int:
        """Returns the number of resamples for a family of so many tests."""
        return self.resamples or choose_resamples(n_tests)


@dataclass
class Samples:
    """Counts and resamples of every system over the headline cards.

    Attributes:
        observations: the answers that were read.
        plan: the parameters of resampling.
        difficulties: the difficulties of the headline cards, from easy to hard.
        n_cards: number of headline cards.
        n_clusters: number of their clusters.
        triplets: indices of the headline cards of each triplet, shape (triplets, 3).
        resamples: the resamples shared by every statistic of every system.
    """

    observations: Observations
    plan: Plan
    difficulties: tuple[str, ...] = ()
    n_cards: int = 0
    n_clusters: int = 0
    triplets: NDArray[np.int32] = field(init=False, repr=False)
    resamples: ClusterResamples = field(init=False, repr=False)
    _headline: NDArray[np.bool_] | slice = field(init=False, repr=False)
    _clusters: NDArray[np.integer[Any]] = field(init=False, repr=False)
    _difficulty: StringColumn = field(init=False, repr=False)

    def __post_init__(self) -> None:
        observations = self.observations
        mask = observations.headline_mask
        self.n_cards = int(mask.sum())
        # A slice selects all cards without copying them.
        self._headline = slice(None) if mask.all() else mask
        # Clusters keep the order of their names; clusters without headline cards are dropped.
        clusters = observations.clusters[self._headline]
        occurs = np.zeros(observations.n_clusters, dtype=np.bool_)
        occurs[clusters] = True
        self.n_clusters = int(occurs.sum())
        ranks = np.cumsum(occurs, dtype=np.int32) - 1
        self._clusters = clusters if occurs.all() else ranks[clusters]
        self.triplets = find_triplets(
            observations.triplets[self._headline], self.get_labels("licensed")
        )
        self._difficulty = observations.difficulties.take(self._headline)
        self.difficulties = tuple(name for name in DIFFICULTIES if self.difficulty_mask(name).any())
        self.resamples = ClusterResamples(self.n_clusters, self.plan.n_resamples, self.plan.seed)

    @property
    def clusters(self) -> NDArray[np.integer[Any]]:
        """Cluster numbers of the headline cards; shape (n_cards,)."""
        return self._clusters

    @property
    def signature(self) -> Signature:
        """The signature shared by all values of these samples, without metric and policy."""
        return Signature(
            metric="",
            cards=self.observations.card_set,
            policy="",
            resamples=self.plan.n_resamples,
            seed=self.plan.seed,
            version=package_version(),
            confidence=self.plan.confidence,
            details=self.observations.signature_details,
        )

    def get_labels(self, policy: PolicyName) -> Codes:
        """Returns the label codes of the headline cards under the policy; shape (n_cards,)."""
        observations = self.observations
        return (observations.golds if policy == "published" else observations.labels)[
            self._headline
        ]

    def get_preds(self, system: str) -> Codes:
        """Returns a system's prediction codes on the headline cards.

        Shape (n_cards,), or (n_cards, repeats) where it answered each card several times.
        """
        return self.observations.preds[system][self._headline]

    def get_confidences(self, system: str) -> Floats | None:
        """Returns a system's stated confidences on the headline cards, nan where there is none.

        The shape is that of ``get_preds``; ``None`` if the system states no confidences.
        """
        confidences = self.observations.confidences.get(system)
        return None if confidences is None else confidences[self._headline]

    def difficulty_mask(self, difficulty: str) -> NDArray[np.bool_]:
        """Returns which headline cards have this difficulty; shape (n_cards,)."""
        return self._difficulty.select(lambda name: name == difficulty)

    def get_resampled_counts(
        self, policy: PolicyName, system: str, difficulty: str = ""
    ) -> ResampledCounts:
        """Returns counts per cluster and cell with their resamples, for one difficulty if named."""
        return self._blocks[policy, system, difficulty]

    def get_counts(self, policy: PolicyName, system: str, difficulty: str = "") -> Floats:
        """Returns cell counts, for one difficulty if named."""
        return self.get_resampled_counts(policy, system, difficulty).totals

    def compute_distribution(
        self,
        metrics: Iterable[Metric],
        policy: PolicyName,
        system: str,
        difficulty: str = "",
        *,
        merge: bool = False,
    ) -> Distribution:
        """Computes the bootstrap distribution of some metrics, one column each.

        Args:
            metrics: the metrics.
            policy: the policy whose table is resampled.
            system: name of the system.
            difficulty: difficulty of the cards; empty for all headline cards.
            merge: faster, but cannot be used for paired differences (see
                ``compute_ratio_distribution``).
        """
        data = self.get_resampled_counts(policy, system, difficulty)
        return compute_metric_distribution(data, metrics, merge=merge)

    def resample_units(
        self, policy: PolicyName, systems: Sequence[str], n_resamples: int
    ) -> list[dict[str, ResampledCounts]]:
        """Resamples the counts of some systems by cluster and, where there are any, by triplet.

        Args:
            policy: the policy whose table is resampled.
            systems: names of the systems.
            n_resamples: number of resamples.

        Returns:
            System → its counts, for clusters and, if these are other units, for triplets.
        """
        labels = self.get_labels(policy)
        resampled = []
        for units in self._iter_units():
            n_units = int(units.max()) + 1 if units.size else 0
            blocks = [
                count_cluster_cells(labels, self.get_preds(name), units, n_units)
                for name in systems
            ]
            draws = ClusterResamples(n_units, n_resamples, self.plan.seed, cached=False)
            resampled.append(dict(zip(systems, resample_blocks(blocks, draws), strict=True)))
        return resampled

    def _iter_units(self) -> Iterator[NDArray[np.integer[Any]]]:
        """Yields what is drawn as a whole, as a number for each card: clusters, then triplets.

        A card without a triplet belongs to its cluster. Triplets have the order of their first
        cards, so that results do not depend on the order of the rows.
        """
        yield self._clusters
        triplets = self.observations.triplets[self._headline]
        if not len(self.triplets):
            return
        names = np.where(triplets >= 0, triplets, -1 - self._clusters.astype(np.int64))
        _, first_cards, units = np.unique(names, return_index=True, return_inverse=True)
        units = np.argsort(np.argsort(first_cards))[units]
        n_units = len(first_cards)
        n_cuts = len(np.unique(units * self.n_clusters + self._clusters))
        if not n_cuts == n_units == self.n_clusters:
            yield units

    @cached_property
    def _blocks(self) -> Mapping[tuple[PolicyName, str, str], ResampledCounts]:
        observations, plan = self.observations, self.plan
        same_codes = bool(np.array_equal(observations.labels, observations.golds))
        # Where labels and golds agree, as they should, both policies use the same cell counts.
        # These are then computed for one policy only, and copied to the others below.
        distinct_policies: tuple[PolicyName, ...] = ("licensed",) if same_codes else plan.policies
        masks = {name: self.difficulty_mask(name) for name in self.difficulties}
        # Cards without a known difficulty form a block too, so that the blocks sum to the whole.
        no_difficulty = np.ones(self.n_cards, dtype=np.bool_)
        for mask in masks.values():
            no_difficulty &= ~mask
        if no_difficulty.any() or not masks:
            masks[_NO_DIFFICULTY] = no_difficulty
        keys = [(policy, system) for policy in distinct_policies for system in observations.preds]
        blocks = [
            count_cluster_cells(
                self.get_labels(policy)[mask],
                self.get_preds(system)[mask],
                self._clusters[mask],
                self.n_clusters,
            )
            for policy, system in keys
            for mask in masks.values()
        ]
        resampled_blocks = iter(resample_blocks(blocks, self.resamples))
        counts_by_key: dict[tuple[PolicyName, str, str], ResampledCounts] = {}
        for policy, system in keys:
            by_difficulty = {name: next(resampled_blocks) for name in masks}
            counts_by_key[policy, system, ""] = merge_resampled(list(by_difficulty.values()))
            by_difficulty.pop(_NO_DIFFICULTY, None)
            counts_by_key |= {(policy, system, name): part for name, part in by_difficulty.items()}
        if same_codes:
            for policy in plan.policies:
                counts_by_key |= {
                    (policy, *key[1:]): part for key, part in list(counts_by_key.items())
                }
        return counts_by_key


def compute_metric_distribution(
    data: ResampledCounts, metrics: Iterable[Metric], *, merge: bool = False
) -> Distribution:
    """Computes the bootstrap distribution of some metrics, one column each.

    Args:
        data: counts per unit and cell with their resamples.
        metrics: the metrics.
        merge: faster, but cannot be used for paired differences (see
            ``compute_ratio_distribution``).
    """
    columns = list(metrics)
    ratios = [metric.ratios for metric in columns]
    distribution = compute_ratio_distribution(
        data,
        np.array([numerator for parts in ratios for numerator, _ in parts]),
        np.array([denominator for parts in ratios for _, denominator in parts]),
        merge=merge,
    )
    ends = np.cumsum([len(parts) for parts in ratios]).tolist()
    slices = [slice(start, end) for start, end in pairwise([0, *ends])]

    def combine(values: Floats) -> Floats:
        parts = (m.combine(values[..., s]) for m, s in zip(columns, slices, strict=True))
        return np.stack(list(parts), axis=-1)

    return replace(
        distribution,
        values=combine(distribution.values),
        replicates=combine(distribution.replicates),
        jackknife=combine(distribution.jackknife),
        support=np.array([distribution.support[part].min() for part in slices]),
    )
