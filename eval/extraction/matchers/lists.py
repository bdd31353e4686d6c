"""Arrays of scalars: in order, as sets, or as bags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from rapidfuzz.distance import LCSseq

from eval.extraction.matchers.compared import Compared

Keys = Sequence[Hashable]
"""Elements as ``matchers.choosing.canonical`` makes them: equal exactly where they are the same."""

LONGEST = 5_000
"""Elements of each array whose order is looked at. The longest common subsequence takes time as
the product of lengths."""


def in_order(expected: Keys, came: Keys) -> Compared:
    """Longest common subsequence over what both have: ``L / (n + m - L)``.

    Of arrays without duplicates and in the same order this is Jaccard's index, which the
    specification names for arrays. Beyond ``LONGEST`` elements a lower bound: equal heads and
    tails, and the longest subsequence of the first ``LONGEST`` between them.
    """
    if expected == came:
        return True, 1.0, None
    start = _shared(expected, came)
    expected, came = expected[start:], came[start:]
    end = _shared(expected[::-1], came[::-1])
    if end:
        expected, came = expected[:-end], came[:-end]
    # Numbers for elements, since the library compares by hash, and -1 and -2 have the same.
    names: dict[Hashable, int] = {}
    first, second = (
        [names.setdefault(key, len(names)) for key in keys[:LONGEST]] for keys in (expected, came)
    )
    shared = start + end + LCSseq.similarity(first, second)
    longest = start + end
    union = 2 * longest + len(expected) + len(came) - shared
    return False, round(shared / union, 12), None


def as_set(expected: Keys, came: Keys) -> Compared:
    """Jaccard's index: shared elements over all elements."""
    first, second = set(expected), set(came)
    if first == second:
        return True, 1.0, None
    return False, round(len(first & second) / len(first | second), 12), None


def as_bag(expected: Keys, came: Keys) -> Compared:
    """Jaccard's index with multiplicities: the sum of minima over the sum of maxima."""
    first, second = Counter(expected), Counter(came)
    if first == second:
        return True, 1.0, None
    shared = sum((first & second).values())
    return False, round(shared / (len(expected) + len(came) - shared), 12), None


def _shared(first: Keys, second: Keys) -> int:
    """How many elements both begin with."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


MATCHERS = {"list": in_order, "set": as_set, "bag": as_bag}
