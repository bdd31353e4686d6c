"""Candidates that no embedding proposes: acronyms with what they stand for, and other spellings.

"WAL" and "write-ahead logging" share no letters in a row and no context, so their vectors are far
apart; "optimisation" and "optimization" may be. Both are found by an index, and whole clusters are
joined by it, so that every keyword stays in one group and the verifier decides as for any other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from kg.text.canonical.rules import abbreviates, is_acronym, letters
from kg.text.normaliser import normalise, words

_MOST_WORDS = 9
"""An acronym has at most eight characters, each of them a word's; grammar words come on top."""


def joined_by_index(
    labels: Sequence[str], groups: Sequence[Sequence[int]], max_group_size: int
) -> list[list[int]]:
    """Groups, some of them joined because an index proposes a pair of their members.

    Args:
        labels: the keywords.
        groups: places in ``labels``, each in one group.
        max_group_size: a join that would make a larger group is left out.

    Returns:
        Groups that hold each place once, in the order of their first members.
    """
    group_of = {place: number for number, group in enumerate(groups) for place in group}
    members = [list(group) for group in groups]
    for one, other in proposed(labels):
        low, high = sorted((group_of[one], group_of[other]))
        if low != high and len(members[low]) + len(members[high]) <= max_group_size:
            for place in members[high]:
                group_of[place] = low
            members[low] += members[high]
            members[high] = []
    return sorted(sorted(group) for group in members if group)


def proposed(labels: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of places of keywords that may be synonyms by their letters alone, sorted."""
    return sorted({*_same_letters(labels), *_acronyms(labels)})


def _same_letters(labels: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Keywords that differ in spaces, hyphens and spelling alone; each with the first such one."""
    first: dict[str, int] = {}
    for place, label in enumerate(labels):
        for key in {normalise(label).replace(" ", ""), letters(label)}:
            start = first.setdefault(key, place)
            if start != place:
                yield start, place


def _acronyms(labels: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Acronyms with each keyword whose initials they can be."""
    short: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for place, label in enumerate(labels):
        if is_acronym(label):
            form = normalise(label)
            # A digit stands for a number word, and x for ex…: then any first letter may.
            key = form[0] if form[0].isalpha() and form[0] != "x" else ""
            short[key].append((place, form))
    for place, label in enumerate(labels if short else ()):
        parts = words(label)
        if 2 <= len(parts) <= _MOST_WORDS:
            available = set("".join(parts))
            keys = {part[0] for part in parts[:3]} | {""}
            for key in sorted(keys):
                for other, form in short.get(key, ()):
                    # Cheap first: most acronyms have a letter that the words do not have.
                    needed = {char for char in form if char.isalpha()}
                    if needed <= available and abbreviates(form, label):
                        yield min(place, other), max(place, other)
