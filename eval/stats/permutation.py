"""The sign-flip test: were one difference per item as likely to have the other sign?

Fisher's randomisation test for paired samples, which needs no assumption of shape; for measures of
rankings see Smucker, Allan & Carterette, CIKM 2007, p. 623. Where all differences other than zero
are of one size it is the exact McNemar test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eval.stats.intervals import SEED, Floats
from eval.stats.paired import mcnemar_exact

FLIPS = 20_000
"""Random patterns of signs, where there are too many to try all."""

_ALL_UP_TO = 14
_AT_ONCE = 2_000_000
_ROUNDING = 1e-9


@dataclass(frozen=True)
class SignFlips:
    """A sign-flip test.

    Attributes:
        p: two-sided.
        exact: whether every pattern of signs counted, or a random choice of them.
        mcnemar: whether all differences other than zero are of one size.
        n_differ: differences other than zero.
    """

    p: float
    exact: bool
    mcnemar: bool
    n_differ: int


def sign_flips(differences: Floats, *, flips: int = FLIPS, seed: int = SEED) -> SignFlips:
    """Tests that paired differences are symmetric about zero, by their sum.

    Exact where all sizes are equal (then it is McNemar's test) and up to 14 differences other than
    zero; beyond, by random signs, with one added to both parts so that no finite number of them
    claims p = 0 (Davison & Hinkley 1997, §4.4).

    Args:
        differences: one per item, finite, shape (n,).
        flips: random patterns of signs.
        seed: of the random signs.

    Returns:
        p = 1 where no difference is other than zero.
    """
    sizes = np.abs(differences)
    largest = float(sizes.max(initial=0.0))
    # 1 - 2/3 and 1/3 differ in the last bit, which must make neither a size nor a difference.
    differ = differences[sizes > _ROUNDING * largest] if largest else differences[:0]
    count = differ.size
    if not count:
        return SignFlips(1.0, exact=True, mcnemar=True, n_differ=0)
    scaled = np.abs(differ) / largest
    if scaled.min() > 1 - _ROUNDING:
        up = int((differ > 0).sum())
        return SignFlips(mcnemar_exact(up, count - up), exact=True, mcnemar=True, n_differ=count)
    observed = abs(float((differ / largest).sum())) - _ROUNDING * count
    if count <= _ALL_UP_TO:
        # Each pattern and its opposite have sums of one size: half of them are enough.
        bits = (np.arange(2 ** (count - 1))[:, None] >> np.arange(count)) & 1
        reached = int((np.abs((1 - 2.0 * bits) @ scaled) >= observed).sum())
        return SignFlips(reached / 2 ** (count - 1), exact=True, mcnemar=False, n_differ=count)
    rng = np.random.default_rng(seed)
    step = max(1, _AT_ONCE // count)
    reached = 0
    for start in range(0, flips, step):
        signs = rng.integers(0, 2, (min(step, flips - start), count), dtype=np.int8)
        reached += int((np.abs((1 - 2.0 * signs) @ scaled) >= observed).sum())
    return SignFlips((reached + 1) / (flips + 1), exact=False, mcnemar=False, n_differ=count)
