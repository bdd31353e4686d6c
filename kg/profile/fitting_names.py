"""Counts the claims of which names do not tell whether they are true.

The three questions of a triplet share a term, the *anchor*, and the names of the three others have
equally many words in common with the anchor's name: if only the true ones did ("Acme Limited" is a
"limited company"), names alone would give answers away. So a claim can be asked about only where a
true and a false one fit each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from kg.words.name_forms import may_name_one_thing

MAX_COMPARED = 2_000_000
"""At most this many pairs of a subject and a value are compared; with more, all are taken to fit:
so many values hardly depend on a few words of names."""
MAX_STEPS = 3
"""Maximum number of links of a chain whose reverse is asked about, as in cards."""

GetWords = Callable[[int], frozenset[str]]


class ChainEnds(NamedTuple):
    """What questions about the reverse of chains can be about: "Is the Rhine part of the Aare?"."""

    subjects: int
    """The most triplets whose questions have different subjects and the same object."""
    objects: int
    """The most whose questions have different objects and the same subject."""


def count_fitting_pairs(
    values: Mapping[int, Collection[int]], get_words: GetWords, limit: int
) -> int:
    """Counts pairs of a true and a false claim about one value that fit each other, up to a limit.

    Args:
        values: subject → its values.
        get_words: returns the words of a name.
        limit: the number above which it does not matter how many there are.
    """
    holders: dict[int, list[int]] = {}
    for s, every in values.items():
        for o in every:
            holders.setdefault(o, []).append(s)
    if len(holders) * len(values) > MAX_COMPARED:
        return limit
    n_pairs = 0
    for value, subjects in sorted(holders.items(), key=lambda item: -len(item[1])):
        words = get_words(value)
        alike = {o for o in holders if may_name_one_thing(get_words(o), words)}
        true = Counter(len(get_words(s) & words) for s in subjects)
        false = Counter(
            len(get_words(s) & words) for s, every in values.items() if alike.isdisjoint(every)
        )
        n_pairs += sum(min(n, false[n_shared]) for n_shared, n in true.items())
        if n_pairs >= limit:
            return limit
    return n_pairs


def find_chain_ends(links: Mapping[int, Collection[int]], get_words: GetWords) -> ChainEnds:
    """Finds what can be asked about the reverse of chains of up to ``MAX_STEPS`` links.

    A triplet about the reverse of a chain from ``low`` to ``high`` asks what ``low`` is a value of,
    beside another subject of which that is true, or what ``high`` has for a value, beside a true
    one. Each of the terms that are not shared is asked about once.

    Args:
        links: subject → its values.
        get_words: returns the words of a name.
    """
    sources: dict[int, list[int]] = {}
    for s, every in links.items():
        for o in every:
            sources.setdefault(o, []).append(s)

    def count_shared(term: int, other: int) -> int:
        return len(get_words(term) & get_words(other))

    def group(term: int, neighbours: Collection[int]) -> dict[int, list[int]]:
        groups: dict[int, list[int]] = {}
        for other in neighbours:
            groups.setdefault(count_shared(other, term), []).append(other)
        return groups

    below = {low: group(low, sources[low]) for low in links if low in sources}
    above = {high: group(high, every) for high, every in links.items() if high in sources}
    false_subjects, true_subjects = set(), set()
    false_objects, true_objects = set(), set()
    for low in links:
        for high in _find_ends(links, low):
            true = below.get(low, {}).get(count_shared(high, low), [])
            if any(other != high for other in true):
                false_subjects.add(high)
                true_subjects.update(true)
            true = above.get(high, {}).get(count_shared(low, high), [])
            if any(other != low for other in true):
                false_objects.add(low)
                true_objects.update(true)
    return ChainEnds(
        min(len(false_subjects), len(true_subjects)), min(len(false_objects), len(true_objects))
    )


def _find_ends(links: Mapping[int, Collection[int]], start: int) -> set[int]:
    """Finds what chains of links from a term lead to."""
    ends: set[int] = set()
    reached = {start}
    for _ in range(MAX_STEPS):
        reached = {o for s in reached for o in links.get(s, ())} - ends
        ends |= reached
    return ends - {start}
