"""Selective prediction: does confidence sort the right replies from the wrong ones?

Replies are accepted from the surest down; replies of one confidence are accepted together, because
no threshold parts them. With N(t) replies accepted at threshold t and E(t) wrong ones among them,
of n in all:

* selective risk E(t)/N(t), generalised risk E(t)/n, coverage N(t)/n;
* AURC, the area under the risk–coverage curve: the mean, over all replies, of the selective risk at
  the reply's own confidence (Geifman, Uziel & El-Yaniv, ICLR 2019, arXiv:1805.08206);
* AUGRC, the area under the generalised one (Traub et al., NeurIPS 2024, arXiv:2407.01032), by
  trapezoids, which is (1 - AUROC) · acc · (1 - acc) + (1 - acc)² / 2 exactly, ties counting half.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eval.stats.intervals import Floats


@dataclass(frozen=True)
class RiskCoverage:
    """The curve, one point per distinct confidence, from the surest down.

    Attributes:
        thresholds: the confidences, descending, shape (k,).
        accepted: replies of that confidence or more, shape (k,).
        wrong: wrong ones among them, shape (k,).
    """

    thresholds: Floats
    accepted: Floats
    wrong: Floats

    @property
    def coverage(self) -> Floats:
        """Share of replies accepted, shape (k,)."""
        share: Floats = self.accepted / self.accepted[-1]
        return share

    @property
    def risk(self) -> Floats:
        """Selective risk, shape (k,)."""
        risk: Floats = self.wrong / self.accepted
        return risk

    @property
    def generalised_risk(self) -> Floats:
        """Share of all replies that are accepted and wrong, shape (k,)."""
        risk: Floats = self.wrong / self.accepted[-1]
        return risk

    def aurc(self) -> float:
        """Area under the risk–coverage curve."""
        new = np.diff(self.accepted, prepend=0)
        return float((new * self.risk).sum() / self.accepted[-1])

    def augrc(self) -> float:
        """Area under the generalised risk–coverage curve."""
        new = np.diff(self.accepted, prepend=0)
        before = self.wrong - np.diff(self.wrong, prepend=0)
        return float((new * (before + self.wrong)).sum() / 2 / self.accepted[-1] ** 2)


def risk_coverage(confidences: Floats, right: Floats) -> RiskCoverage:
    """The risk–coverage curve of some replies.

    Args:
        confidences: shape (n,), n at least 1.
        right: 1 where the reply is right, else 0; shape (n,).
    """
    levels, level = np.unique(-confidences, return_inverse=True)
    return RiskCoverage(
        thresholds=-levels,
        accepted=np.cumsum(np.bincount(level)).astype(np.float64),
        wrong=np.cumsum(np.bincount(level, weights=1 - right)),
    )


@dataclass(frozen=True)
class ReferenceAreas:
    """What the areas are for confidences that know all, or nothing.

    Attributes:
        aurc_best: every right reply surer than every wrong one, no ties.
        aurc_random: the expectation when confidence is independent of being right.
        augrc_best, augrc_random: likewise.
    """

    aurc_best: float
    aurc_random: float
    augrc_best: float
    augrc_random: float


def reference_areas(n: int, n_wrong: int) -> ReferenceAreas:
    """Areas of the best and of a random order of ``n`` replies."""
    last = np.arange(1, n_wrong + 1)
    error = n_wrong / n
    return ReferenceAreas(
        aurc_best=float((last / (n - n_wrong + last)).sum()) / n,
        aurc_random=error,
        augrc_best=error * error / 2,
        augrc_random=error / 2,
    )


def area_influences(confidences: Floats, right: Floats) -> Floats:
    """How much each reply moves AURC and AUGRC: their derivatives by its weight, times n.

    The empirical influence function (Efron, "The Jackknife, the Bootstrap and Other Resampling
    Plans", 1982, ch. 6), in one pass instead of one curve per reply left out.

    Args:
        confidences: shape (n,), n at least 1.
        right: 0/1, shape (n,).

    Returns:
        Shape (n, 2); each column sums to 0.
    """
    curve = risk_coverage(confidences, right)
    n, accepted, wrong = curve.accepted[-1], curve.accepted, curve.wrong
    group = len(accepted) - 1 - np.unique(confidences, return_inverse=True)[1]
    new = np.diff(accepted, prepend=0)
    error = 1 - right

    def from_here_on(values: Floats) -> Floats:
        return np.cumsum(values[::-1])[::-1]

    aurc = (
        (curve.risk - from_here_on(new * wrong / accepted**2))[group]
        + error * from_here_on(new / accepted)[group]
        - curve.aurc()
    )
    before = wrong - np.diff(wrong, prepend=0)
    weight = 2 * from_here_on(new) - new
    augrc = ((before + wrong)[group] + error * weight[group]) / (2 * n) - 2 * curve.augrc()
    return np.stack([aurc, augrc], axis=1)
