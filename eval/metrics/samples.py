"""The headline cards as counts per cluster, resampled once for all systems and metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eval.metrics.abstention import Metric
from eval.metrics.observations import Observations
from eval.metrics.outcomes import Codes, cluster_cells
from eval.metrics.record import PolicyName
from eval.metrics.signature import CONFIDENCE
from eval.stats.intervals import (
    RESAMPLES,
    SEED,
    Distribution,
    Floats,
    Resampled,
    ratio_distribution,
    resample_blocks,
)


@dataclass(frozen=True)
class Plan:
    """How metrics are to be computed.

    Attributes:
        policies: which readings of the table.
        resamples: number of bootstrap resamples, at least 1.
        seed: of their draws.
        confidence: coverage that intervals aim at.
    """

    policies: tuple[PolicyName, ...] = ("licensed", "published")
    resamples: int = RESAMPLES
    seed: int = SEED
    confidence: float = CONFIDENCE


@dataclass
class Samples:
    """Counts and resamples of every system over the headline cards.

    Attributes:
        observations: what was read.
        plan: how to resample.
        difficulties: those that occur among the headline cards, easy to hard.
        n_cards: headline cards.
        n_clusters: clusters among them.
    """

    observations: Observations
    plan: Plan
    difficulties: tuple[str, ...] = ()
    n_cards: int = 0
    n_clusters: int = 0
    _chosen: NDArray[np.int64] = field(init=False, repr=False)
    _clusters: NDArray[np.int64] = field(init=False, repr=False)
    _blocks: dict[tuple[PolicyName, str, str], Resampled] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        seen = self.observations
        self._chosen = np.flatnonzero(seen.headline)
        self.n_cards = int(self._chosen.size)
        # Clusters keep the order of their names; those of faithfulness cards alone drop out.
        names, self._clusters = np.unique(seen.clusters[self._chosen], return_inverse=True)
        self.n_clusters = int(names.size)
        found = {seen.difficulties[card] for card in self._chosen}
        self.difficulties = tuple(name for name in ("easy", "medium", "hard") if name in found)
        self._blocks = self._resample()

    def labels(self, policy: PolicyName) -> Codes:
        """Label codes of the headline cards, as the policy decides them; shape (n_cards,)."""
        seen = self.observations
        return (seen.golds if policy == "published" else seen.labels)[self._chosen]

    def preds(self, system: str) -> Codes:
        """A system's prediction codes on the headline cards; shape (n_cards,)."""
        return self.observations.preds[system][self._chosen]

    def of_difficulty(self, difficulty: str) -> NDArray[np.bool_]:
        """Which headline cards are of a difficulty; shape (n_cards,)."""
        return np.array(
            [self.observations.difficulties[card] == difficulty for card in self._chosen],
            dtype=np.bool_,
        )

    def resampled(self, policy: PolicyName, system: str, difficulty: str = "") -> Resampled:
        """Counts per cluster and cell with their resamples; of one difficulty if named."""
        return self._blocks[policy, system, difficulty]

    def counts(self, policy: PolicyName, system: str, difficulty: str = "") -> Floats:
        """Cell counts; of one difficulty if named."""
        return self.resampled(policy, system, difficulty).totals

    def distribution(
        self, metrics: Iterable[Metric], policy: PolicyName, system: str, difficulty: str = ""
    ) -> Distribution:
        """The bootstrap distribution of some metrics, one column each."""
        wanted = list(metrics)
        return ratio_distribution(
            self.resampled(policy, system, difficulty),
            np.array([metric.numerator for metric in wanted]),
            np.array([metric.denominator for metric in wanted]),
        )

    def _resample(self) -> dict[tuple[PolicyName, str, str], Resampled]:
        seen, plan = self.observations, self.plan
        same = bool(np.array_equal(seen.labels, seen.golds))
        # Where labels and gold agree, as they should, both policies read the same cells.
        tables: tuple[PolicyName, ...] = ("licensed",) if same else plan.policies
        masks = {"": np.ones(self.n_cards, dtype=np.bool_)}
        masks |= {name: self.of_difficulty(name) for name in self.difficulties}
        keys: list[tuple[PolicyName, str, str]] = []
        blocks: list[Floats] = []
        for policy in tables:
            labels = self.labels(policy)
            for system in seen.preds:
                preds = self.preds(system)
                for name, mask in masks.items():
                    keys.append((policy, system, name))
                    clusters = self._clusters[mask]
                    blocks.append(
                        cluster_cells(labels[mask], preds[mask], clusters, self.n_clusters)
                    )
        done = dict(zip(keys, resample_blocks(blocks, plan.resamples, plan.seed), strict=True))
        if same:
            for policy in plan.policies:
                for _, system, name in keys:
                    done[policy, system, name] = done["licensed", system, name]
        return done
