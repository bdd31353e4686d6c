"""The sign-flip test: compares the sum of paired differences with all assignments of signs.

This is Fisher's randomisation test for paired samples, which assumes no shape of the distribution.
For its use on ranking metrics see Smucker, Allan & Carterette, CIKM 2007, p. 623. Where all
non-zero differences have the same size, it is the exact McNemar test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eval.stats.bootstrap import SEED, Floats
from eval.stats.paired_tests import mcnemar_exact

N_FLIPS = 20_000
"""Number of random sign patterns, where there are too many to try all."""

_MAX_EXHAUSTIVE = 14
"""Maximum number of non-zero differences for which all sign patterns are tried (2**13 of them)."""
_MAX_SIGNS_PER_BATCH = 2_000_000
"""Maximum number of random signs generated at once, which bounds the memory."""
_ROUNDING = 1e-9
"""Maximum difference that counts as rounding error, relative to the largest difference."""


@dataclass(frozen=True)
class SignFlipTest:
    """Result of a sign-flip test.

    Attributes:
        p_value: two-sided p-value.
        is_exact: whether all sign patterns were used, not a random sample of them.
        is_mcnemar: whether all non-zero differences have the same size (then it is McNemar's).
        n_differ: number of non-zero differences.
    """

    p_value: float
    is_exact: bool
    is_mcnemar: bool
    n_differ: int


def sign_flip_test(differences: Floats, *, flips: int = N_FLIPS, seed: int = SEED) -> SignFlipTest:
    """Tests that paired differences are symmetric about zero, by their sum.

    The test is exact where all sizes are equal (then it is McNemar's test) and for up to 14
    non-zero differences. With more differences it uses random signs, with one added to numerator
    and denominator so that no finite number of them gives p = 0 (Davison & Hinkley 1997, §4.4).

    Args:
        differences: one per item, finite, shape (n,).
        flips: number of random sign patterns.
        seed: seed of the random signs.

    Returns:
        p = 1 where all differences are zero.
    """
    sizes = np.abs(differences)
    largest = float(sizes.max(initial=0.0))
    # Rounding errors (1 - 2/3 and 1/3 differ in the last bit) must count neither as a difference
    # nor as different sizes.
    nonzero = differences[sizes > _ROUNDING * largest] if largest else differences[:0]
    count = nonzero.size
    if not count:
        return SignFlipTest(1.0, is_exact=True, is_mcnemar=True, n_differ=0)
    scaled = np.abs(nonzero) / largest
    if scaled.min() > 1 - _ROUNDING:
        n_positive = int((nonzero > 0).sum())
        return SignFlipTest(
            mcnemar_exact(n_positive, count - n_positive),
            is_exact=True,
            is_mcnemar=True,
            n_differ=count,
        )
    observed = abs(float((nonzero / largest).sum())) - _ROUNDING * count
    if count <= _MAX_EXHAUSTIVE:
        # A pattern and its opposite have sums of the same size, so half of them are enough.
        bits = (np.arange(2 ** (count - 1))[:, None] >> np.arange(count)) & 1
        n_reached = int((np.abs((1 - 2.0 * bits) @ scaled) >= observed).sum())
        return SignFlipTest(
            n_reached / 2 ** (count - 1), is_exact=True, is_mcnemar=False, n_differ=count
        )
    rng = np.random.default_rng(seed)
    batch_size = max(1, _MAX_SIGNS_PER_BATCH // count)
    n_reached = 0
    for start in range(0, flips, batch_size):
        signs = rng.integers(0, 2, (min(batch_size, flips - start), count), dtype=np.int8)
        n_reached += int((np.abs((1 - 2.0 * signs) @ scaled) >= observed).sum())
    return SignFlipTest(
        (n_reached + 1) / (flips + 1), is_exact=False, is_mcnemar=False, n_differ=count
    )
