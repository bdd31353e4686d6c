"""Selective prediction: how well confidence ranks right replies above wrong ones.

Replies are accepted in order of falling confidence; replies of equal confidence are accepted
together, because no threshold separates them. Of n replies, let N(t) be those accepted at threshold
t, and E(t) the wrong ones among these:

* selective risk E(t)/N(t), generalised risk E(t)/n, coverage N(t)/n;
* AURC, the area under the risk–coverage curve: the mean, over all replies, of the selective risk at
  the reply's own confidence (Geifman, Uziel & El-Yaniv, ICLR 2019, arXiv:1805.08206);
* AUGRC, the area under the generalised risk–coverage curve (Traub et al., NeurIPS 2024,
  arXiv:2407.01032), by trapezoids. It equals (1 - AUROC) · acc · (1 - acc) + (1 - acc)² / 2 for
  accuracy acc, if ties count half in AUROC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eval.stats.bootstrap import Floats


@dataclass(frozen=True)
class RiskCoverageCurve:
    """The risk–coverage curve, one point per distinct confidence.

    Attributes:
        thresholds: the confidences, descending, shape (k,).
        accepted: number of replies of at least that confidence, shape (k,).
        wrong: number of wrong replies among the accepted ones, shape (k,).
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

    def select_points(self, n_points: int) -> NDArray[np.intp]:
        """Selects points for a picture: the first of each step of coverage, and the last."""
        # 1e-12 absorbs rounding.
        steps = np.arange(1, n_points + 1) / n_points - 1e-12
        return np.unique(np.minimum(np.searchsorted(self.coverage, steps), len(self.coverage) - 1))

    def compute_aurc(self) -> float:
        """Computes the area under the risk–coverage curve."""
        n_new = np.diff(self.accepted, prepend=0)
        return float((n_new * self.risk).sum() / self.accepted[-1])

    def compute_augrc(self) -> float:
        """Computes the area under the generalised risk–coverage curve."""
        n_new = np.diff(self.accepted, prepend=0)
        wrong_before = self.wrong - np.diff(self.wrong, prepend=0)
        return float((n_new * (wrong_before + self.wrong)).sum() / 2 / self.accepted[-1] ** 2)


def compute_risk_coverage(confidences: Floats, right: Floats) -> RiskCoverageCurve:
    """Computes the risk–coverage curve of some replies.

    Args:
        confidences: shape (n,), n at least 1.
        right: 1 where the reply is right, else 0; shape (n,).
    """
    levels, level = np.unique(-confidences, return_inverse=True)
    return RiskCoverageCurve(
        thresholds=-levels,
        accepted=np.cumsum(np.bincount(level)).astype(np.float64),
        wrong=np.cumsum(np.bincount(level, weights=1 - right)),
    )


@dataclass(frozen=True)
class ReferenceAreas:
    """The areas for perfect and for uninformative confidences.

    Attributes:
        aurc_best: AURC if every right reply has a higher confidence than every wrong one, no ties.
        aurc_random: expected AURC if confidence is independent of being right.
        augrc_best, augrc_random: the same for AUGRC.
    """

    aurc_best: float
    aurc_random: float
    augrc_best: float
    augrc_random: float


def compute_reference_areas(n: int, n_wrong: int) -> ReferenceAreas:
    """Computes the areas of the best and of a random order of ``n`` replies."""
    # In the best order, the wrong replies are accepted last: this is the rank of each among them.
    wrong_rank = np.arange(1, n_wrong + 1)
    error = n_wrong / n
    return ReferenceAreas(
        aurc_best=float((wrong_rank / (n - n_wrong + wrong_rank)).sum()) / n,
        aurc_random=error,
        augrc_best=error * error / 2,
        augrc_random=error / 2,
    )


def compute_area_influences(confidences: Floats, right: Floats) -> Floats:
    """Computes the influence of each reply on AURC and AUGRC.

    The influence is n times the derivative by the reply's weight: the empirical influence function
    (Efron, "The Jackknife, the Bootstrap and Other Resampling Plans", 1982, ch. 6). It is computed
    in one pass instead of leaving out one reply at a time.

    Args:
        confidences: shape (n,), n at least 1.
        right: 0/1, shape (n,).

    Returns:
        Shape (n, 2); each column sums to 0.
    """
    curve = compute_risk_coverage(confidences, right)
    group = len(curve.accepted) - 1 - np.unique(confidences, return_inverse=True)[1]
    error = 1 - right
    return np.stack(
        [
            (part.intercepts[group] + error * part.slopes[group]) / part.divisor - part.area
            for part in compute_influence_parts(curve)
        ],
        axis=1,
    )


class InfluenceParts(NamedTuple):
    """The influence of a reply: (its point's intercept + slope, if it is wrong) / divisor - area.

    Attributes:
        intercepts, slopes: by point of the curve, shape (k,).
        divisor, area: the same for all replies.
    """

    intercepts: Floats
    slopes: Floats
    divisor: float
    area: float


def compute_influence_parts(curve: RiskCoverageCurve) -> tuple[InfluenceParts, InfluenceParts]:
    """Computes what the influences on AURC and on AUGRC depend on."""
    n, accepted, wrong = curve.accepted[-1], curve.accepted, curve.wrong
    n_new = np.diff(accepted, prepend=0)

    def cumulate_from_end(values: Floats) -> Floats:
        return np.cumsum(values[::-1])[::-1]

    wrong_before = wrong - np.diff(wrong, prepend=0)
    weight = 2 * cumulate_from_end(n_new) - n_new
    return (
        InfluenceParts(
            curve.risk - cumulate_from_end(n_new * wrong / accepted**2),
            cumulate_from_end(n_new / accepted),
            1.0,
            curve.compute_aurc(),
        ),
        InfluenceParts(wrong_before + wrong, weight, 2 * float(n), 2 * curve.compute_augrc()),
    )
