"""Proposes synonym candidates that embeddings miss: acronyms and their expansions, and spellings.

The vectors of "WAL" and "write-ahead logging" are far apart, and those of "optimisation" and
"optimization" may be. Both kinds are found by an index, which joins whole groups, so that every
keyword stays in one group and the verifier decides as for all others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from kg.text.canonical.rules import abbreviates_phrase, is_acronym, join_lemmas
from kg.text.normaliser import normalise_phrase, split_words

_MAX_WORDS = 9
"""Maximum number of words of an expansion: one for each of the at most eight characters of an
acronym, and a function word."""


def join_groups(
    labels: Sequence[str], groups: Sequence[Sequence[int]], max_group_size: int
) -> list[list[int]]:
    """Joins groups if the index proposes a pair of their members.

    Args:
        labels: the keywords.
        groups: positions in ``labels``, each in one group.
        max_group_size: joins that would make a larger group are skipped.

    Returns:
        Groups with each position once, in the order of their first members.
    """
    group_of = {place: number for number, group in enumerate(groups) for place in group}
    members = [list(group) for group in groups]
    for first, second in propose_pairs(labels):
        low, high = sorted((group_of[first], group_of[second]))
        if low != high and len(members[low]) + len(members[high]) <= max_group_size:
            for place in members[high]:
                group_of[place] = low
            members[low] += members[high]
            members[high] = []
    return sorted(sorted(group) for group in members if group)


def propose_pairs(labels: Sequence[str]) -> list[tuple[int, int]]:
    """Returns pairs of positions of keywords that may be synonyms by their letters, sorted."""
    return sorted({*_pair_same_letters(labels), *_pair_acronyms(labels)})


def _pair_same_letters(labels: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields keywords that differ only in spaces, hyphens or spelling, each with the first one."""
    first: dict[str, int] = {}
    for place, label in enumerate(labels):
        for key in {normalise_phrase(label).replace(" ", ""), join_lemmas(label)}:
            start = first.setdefault(key, place)
            if start != place:
                yield start, place


def _pair_acronyms(labels: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields acronyms with each keyword that they may abbreviate."""
    short: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for place, label in enumerate(labels):
        if is_acronym(label):
            form = normalise_phrase(label)
            # Indexed by first letter. A digit can stand for a number word and x for "ex…", so
            # those acronyms are tried with every phrase (key "").
            key = form[0] if form[0].isalpha() and form[0] != "x" else ""
            short[key].append((place, form))
    for place, label in enumerate(labels if short else ()):
        parts = split_words(label)
        if 2 <= len(parts) <= _MAX_WORDS:
            available = set("".join(parts))
            keys = {part[0] for part in parts[:3]} | {""}
            for key in sorted(keys):
                for other, form in short.get(key, ()):
                    # A cheap test first: most acronyms have a letter that the words lack.
                    needed = {char for char in form if char.isalpha()}
                    if needed <= available and abbreviates_phrase(form, label):
                        yield min(place, other), max(place, other)
