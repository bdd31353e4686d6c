"""Proposes synonym candidates that embeddings miss: acronyms and their expansions, and spellings.

The vectors of "WAL" and "write-ahead logging" are far apart, and those of "optimisation" and
"optimization" may be. ``propose_pairs`` finds both kinds by an index of letters. ``join_groups``
then joins the groups of such a pair completely, so that every keyword stays in exactly one group.
The verifier decides about the joined groups as about all others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from kg.text.canonical.rules import abbreviates_phrase, is_acronym, join_lemmas
from kg.words.normaliser import normalise_phrase, split_words

_MAX_WORDS = 9
"""Maximum number of words of an expansion: an acronym has up to eight characters, each of which
gives one word, and the expansion may contain a function word."""


def join_groups(
    labels: Sequence[str], groups: Sequence[Sequence[int]], max_group_size: int
) -> list[list[int]]:
    """Joins two groups if ``propose_pairs`` pairs a keyword of one with a keyword of the other.

    Args:
        labels: the keywords.
        groups: positions in ``labels``, each in one group.
        max_group_size: joins that would make a larger group are skipped.

    Returns:
        Groups with each position once, in the order of their first members.
    """
    group_of = {position: number for number, group in enumerate(groups) for position in group}
    members = [list(group) for group in groups]
    for first, second in propose_pairs(labels):
        low, high = sorted((group_of[first], group_of[second]))
        if low != high and len(members[low]) + len(members[high]) <= max_group_size:
            for position in members[high]:
                group_of[position] = low
            members[low] += members[high]
            members[high] = []
    return sorted(sorted(group) for group in members if group)


def propose_pairs(labels: Sequence[str]) -> list[tuple[int, int]]:
    """Returns pairs of positions of keywords that may be synonyms by their letters, sorted."""
    return sorted({*_pair_same_letters(labels), *_pair_acronyms(labels)})


def _pair_same_letters(labels: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields pairs that differ only in spaces, hyphens or spelling.

    Each keyword is paired with the first one of its kind.
    """
    first_positions: dict[str, int] = {}
    for position, label in enumerate(labels):
        for key in {normalise_phrase(label).replace(" ", ""), join_lemmas(label)}:
            first_position = first_positions.setdefault(key, position)
            if first_position != position:
                yield first_position, position


def _pair_acronyms(labels: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields acronyms with each keyword that they may abbreviate."""
    acronyms_by_letter: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for position, label in enumerate(labels):
        if is_acronym(label):
            form = normalise_phrase(label)
            # Acronyms are indexed by first letter. A digit can stand for a number word and x for
            # "ex…", so acronyms that begin with those are tried with every phrase (key "").
            key = form[0] if form[0].isalpha() and form[0] != "x" else ""
            acronyms_by_letter[key].append((position, form))
    for position, label in enumerate(labels if acronyms_by_letter else ()):
        words = split_words(label)
        if 2 <= len(words) <= _MAX_WORDS:
            letters = set("".join(words))
            # The acronym begins with the first word that is not left out as a function word.
            keys = {word[0] for word in words[:3]} | {""}
            for key in sorted(keys):
                for acronym_position, form in acronyms_by_letter.get(key, ()):
                    # A cheap test first: most acronyms have a letter that the words lack.
                    required_letters = {char for char in form if char.isalpha()}
                    if required_letters <= letters and abbreviates_phrase(form, label):
                        yield min(position, acronym_position), max(position, acronym_position)
