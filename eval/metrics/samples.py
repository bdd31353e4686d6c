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
from eval.metrics.signature import CONFIDENCE, Signature
from eval.stats.intervals import (
    RESAMPLES,
    SEED,
    Distribution,
    Draws,
    Floats,
    Resampled,
    joined,
    ratio_distribution,
    resample_blocks,
)
from kg.base.provenance import package_version

_NO_DIFFICULTY = "none"


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
        draws: the resamples that every statistic of every system shares.
    """

    observations: Observations
    plan: Plan
    difficulties: tuple[str, ...] = ()
    n_cards: int = 0
    n_clusters: int = 0
    draws: Draws = field(init=False, repr=False)
    _chosen: NDArray[np.int64] = field(init=False, repr=False)
    _clusters: NDArray[np.int64] = field(init=False, repr=False)
    _difficulty: NDArray[np.str_] = field(init=False, repr=False)
    _blocks: dict[tuple[PolicyName, str, str], Resampled] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        seen = self.observations
        self._chosen = np.flatnonzero(seen.headline)
        self.n_cards = int(self._chosen.size)
        # Clusters keep the order of their names; those of faithfulness cards alone drop out.
        names, self._clusters = np.unique(seen.clusters[self._chosen], return_inverse=True)
        self.n_clusters = int(names.size)
        self._difficulty = np.array(seen.difficulties, dtype=np.str_)[self._chosen]
        found = set(np.unique(self._difficulty).tolist())
        self.difficulties = tuple(name for name in ("easy", "medium", "hard") if name in found)
        self.draws = Draws(self.n_clusters, self.plan.resamples, self.plan.seed)
        self._blocks = self._resample()

    @property
    def clusters(self) -> NDArray[np.int64]:
        """Cluster numbers of the headline cards; shape (n_cards,)."""
        return self._clusters

    @property
    def signature(self) -> Signature:
        """What all numbers of these samples share; metric and policy are left to be named."""
        return Signature(
            metric="",
            cards=self.observations.cards,
            policy="",
            resamples=self.plan.resamples,
            seed=self.plan.seed,
            version=package_version(),
            confidence=self.plan.confidence,
        )

    def labels(self, policy: PolicyName) -> Codes:
        """Label codes of the headline cards, as the policy decides them; shape (n_cards,)."""
        seen = self.observations
        return (seen.golds if policy == "published" else seen.labels)[self._chosen]

    def preds(self, system: str) -> Codes:
        """A system's prediction codes on the headline cards.

        Shape (n_cards,), or (n_cards, repeats) where it answered each several times.
        """
        return self.observations.preds[system][self._chosen]

    def confidences(self, system: str) -> Floats | None:
        """A system's stated confidences on the headline cards, nan where there is none.

        In the shape of ``preds``; ``None`` if it states none at all.
        """
        stated = self.observations.confidences.get(system)
        return None if stated is None else stated[self._chosen]

    def of_difficulty(self, difficulty: str) -> NDArray[np.bool_]:
        """Which headline cards are of a difficulty; shape (n_cards,)."""
        mask: NDArray[np.bool_] = self._difficulty == difficulty
        return mask

    def resampled(self, policy: PolicyName, system: str, difficulty: str = "") -> Resampled:
        """Counts per cluster and cell with their resamples; of one difficulty if named."""
        return self._blocks[policy, system, difficulty]

    def counts(self, policy: PolicyName, system: str, difficulty: str = "") -> Floats:
        """Cell counts; of one difficulty if named."""
        return self.resampled(policy, system, difficulty).totals

    def distribution(
        self,
        metrics: Iterable[Metric],
        policy: PolicyName,
        system: str,
        difficulty: str = "",
        *,
        merge: bool = False,
    ) -> Distribution:
        """The bootstrap distribution of some metrics, one column each.

        Args:
            metrics: which.
            policy: under which reading.
            system: whose.
            difficulty: of the cards; empty for all headline cards.
            merge: faster, but of no use for paired differences (see ``ratio_distribution``).
        """
        wanted = list(metrics)
        return ratio_distribution(
            self.resampled(policy, system, difficulty),
            np.array([metric.numerator for metric in wanted]),
            np.array([metric.denominator for metric in wanted]),
            merge=merge,
        )

    def _resample(self) -> dict[tuple[PolicyName, str, str], Resampled]:
        seen, plan = self.observations, self.plan
        same = bool(np.array_equal(seen.labels, seen.golds))
        # Where labels and gold agree, as they should, both policies read the same cells.
        tables: tuple[PolicyName, ...] = ("licensed",) if same else plan.policies
        masks = {name: self.of_difficulty(name) for name in self.difficulties}
        # With the cards of no known difficulty, the parts make up the whole.
        rest = np.ones(self.n_cards, dtype=np.bool_)
        for mask in masks.values():
            rest &= ~mask
        if rest.any() or not masks:
            masks[_NO_DIFFICULTY] = rest
        keys = [(policy, system) for policy in tables for system in seen.preds]
        blocks = [
            cluster_cells(
                self.labels(policy)[mask],
                self.preds(system)[mask],
                self._clusters[mask],
                self.n_clusters,
            )
            for policy, system in keys
            for mask in masks.values()
        ]
        parts = iter(resample_blocks(blocks, self.draws))
        done: dict[tuple[PolicyName, str, str], Resampled] = {}
        for policy, system in keys:
            own = {name: next(parts) for name in masks}
            done[policy, system, ""] = joined(list(own.values()))
            own.pop(_NO_DIFFICULTY, None)
            done |= {(policy, system, name): part for name, part in own.items()}
        if same:
            for policy in plan.policies:
                done |= {(policy, *key[1:]): part for key, part in list(done.items())}
        return done
