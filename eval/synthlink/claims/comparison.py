"""Compares a claim with one sentence of the evidence, word by word and in order.

A claim is only held to be supported where nothing is left that could make it wrong: its names and
numbers are those of the sentence, in the same roles; what it says besides are words of the same
evidence; and nothing denies, limits or reverses it. All else is left open.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Final, Literal, NamedTuple

from eval.synthlink.claims.lexicon import (
    DIRECTIONS,
    GENERIC_NAMES,
    RELATION_BY_WORD,
    SCOPES,
    SYMMETRIC,
)
from eval.synthlink.claims.words import (
    Word,
    are_opposite,
    get_content,
    is_same,
    is_same_word,
    is_verb,
)
from kg.base.plain_text import list_words

_BE: Final = frozenset(
    list_words("is are was were be been being got wurde wurden wird werden worden")
)
_BY: Final = frozenset(("by", "von", "durch"))
_ARTICLES: Final = frozenset(list_words("the a an and its their his her"))
"""Words between a word of direction and a name."""
_MIN_PAIRS: Final = 2
_MAX_GAP: Final = 3
"""Maximum number of words between "was" and its participle."""

Outcome = Literal["supported", "contradicted", "open"]


class Match(NamedTuple):
    """What a sentence of the evidence says of a claim, if the claim is asserted."""

    outcome: Outcome
    states_all: bool = False
    """Whether the claim also says all that the sentence says."""
    additions: tuple[Word, ...] = ()
    """Names, numbers and other words that a claim adds to all that the sentence says."""
    shared: tuple[Word, ...] = ()
    """The words that an open claim with additions has in common with the sentence."""


_OPEN: Final = Match("open")


def compare_texts(
    claim: Sequence[Word],
    evidence: Sequence[Word],
    known: Collection[str],
    context: Sequence[Word] = (),
    given_names: Collection[tuple[str, str]] = (),
) -> Match:
    """Compares a claim, read as an assertion, with a sentence of the evidence.

    Args:
        claim: words of the claim, without what denies it.
        evidence: words of the sentence.
        known: all words of the evidence and the question; other words leave a claim open.
        context: words before the claim, which name the subject if the claim begins with a pronoun.
        given_names: pairs (given name, surname) of the evidence: the surname alone is enough.
    """
    if any(word.kind == "negation" for word in evidence):
        return _OPEN
    said = drop_given_names(get_content(order_roles(claim)), given_names)
    told = drop_given_names(get_content(order_roles(evidence)), given_names)
    if len(said) < _MIN_PAIRS or len(told) < _MIN_PAIRS:
        return _OPEN
    said, told, free = _take_single_numbers(said, told)
    pairs = _align(said, told)
    said_left = [word for index, word in enumerate(said) if index not in {a for a, _ in pairs}]
    told_left = [word for index, word in enumerate(told) if index not in {b for _, b in pairs}]
    said_left, told_left = _drop_same_relations(said_left, told_left)
    if not pairs:
        return _OPEN
    head = told[: pairs[0][1]]
    if head and not _is_named(head, context):
        # The sentence says it of something else than the claim, which may only lack its subject.
        return (
            _compare_swapped(said, told)
            if not said_left and not told_left
            else _find_reversal(said, told)
        )
    if said_left and told_left:
        return _compare_difference(said_left, told_left, free)
    if not free.agrees:
        is_rest_equal = not said_left and all(word.kind == "content" for word in told_left)
        return Match("contradicted") if free.clashes and is_rest_equal else _OPEN
    if _has_scope_or_owner(told, pairs) or differs_in_direction(
        claim, evidence, [(said[first], told[second]) for first, second in pairs]
    ):
        return _OPEN
    if not said_left:
        # Words without a verb state nothing, even those of a fact.
        if len(pairs) < _MIN_PAIRS or (told_left and not any(map(is_verb, claim))):
            return _OPEN
        return Match("supported", states_all=not told_left and free.is_told)
    # The claim says all of the sentence, and something else.
    adds_little = (
        pairs[0][0] == 0
        and not _is_owned(said_left, claim)
        and 2 * len(said_left) <= len(pairs)
        and free.is_told
        and all(word.kind != "hedge" and _is_known(word, known) for word in said_left)
        and not any(word.key in RELATION_BY_WORD for word in said_left)
    )
    if not adds_little:
        return _OPEN
    if all(word.kind == "content" or word.key in GENERIC_NAMES for word in said_left):
        return Match("supported", True, tuple(said_left))
    return Match("open", True, tuple(said_left), tuple(said[index] for index, _ in pairs))


class _Numbers(NamedTuple):
    """The only number of a claim and of a sentence, which may stand anywhere."""

    agrees: bool
    """Whether no number of the claim differs."""
    clashes: bool
    """Whether both have a number, and these differ."""
    is_told: bool
    """Whether the claim has the number of the sentence, if it has one."""


def _take_single_numbers(
    said: list[Word], told: list[Word]
) -> tuple[list[Word], list[Word], _Numbers]:
    """Takes the only number of the sentence out of it and of the claim: it may stand anywhere.

    With several numbers ("from 10 to 20") their order counts.
    """
    mine, theirs = ([word for word in words if word.kind == "number"] for words in (said, told))
    if len(theirs) > 1:
        return said, told, _Numbers(True, False, True)
    if len(mine) > 1:
        same = [word for word in mine if theirs and is_same(word, theirs[0])]
        if not same:
            return said, told, _Numbers(True, False, not theirs)
        return (
            [word for word in said if word is not same[0]],
            [word for word in told if word is not theirs[0]],
            _Numbers(True, False, True),
        )
    agrees = not mine or bool(theirs and is_same(mine[0], theirs[0]))
    return (
        [word for word in said if word.kind != "number"],
        [word for word in told if word.kind != "number"],
        _Numbers(agrees, bool(mine and theirs) and not agrees, bool(mine) or not theirs),
    )


def _align(said: Sequence[Word], told: Sequence[Word]) -> list[tuple[int, int]]:
    """Returns the longest sequence of equal words, as pairs of positions in both texts."""
    rows, columns = len(said), len(told)
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            best[i][j] = (
                best[i + 1][j + 1] + 1
                if is_same(said[i], told[j])
                else max(best[i + 1][j], best[i][j + 1])
            )
    pairs, i, j = [], 0, 0
    while i < rows and j < columns:
        if is_same(said[i], told[j]):
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _drop_same_relations(said: list[Word], told: list[Word]) -> tuple[list[Word], list[Word]]:
    """Takes out verbs that say the same at different places: "made X possible", "enabled X"."""
    kept = []
    rest = list(told)
    for word in said:
        same = next(
            (
                o
                for o in rest
                if word.kind == "content"
                and word.key in RELATION_BY_WORD
                and o.key in RELATION_BY_WORD
                and is_same(word, o)
            ),
            None,
        )
        if same is None:
            kept.append(word)
        else:
            rest.remove(same)
    return kept, rest


def order_roles(words: Sequence[Word]) -> list[Word]:
    """Returns the words with who did it first: "A was made by B" becomes "B made A"."""
    for index, word in enumerate(words):
        if word.key not in _BE:
            continue
        window = range(index + 1, min(len(words), index + 2 + _MAX_GAP))
        by = next((place for place in window if words[place].key in _BY), None)
        if by is None:
            continue
        end = by + 1
        while end < len(words) and (
            words[end].kind == "name" or words[end].key in ("the", "a", "an", "and", "of", "und")
        ):
            end += 1
        if end == by + 1:
            end = len(words)
        return [*words[by + 1 : end], *words[index + 1 : by], *words[:index], *words[end:]]
    return list(words)


def drop_given_names(words: Sequence[Word], pairs: Collection[tuple[str, str]]) -> list[Word]:
    """Leaves out given names before their surname."""
    return [
        word
        for index, word in enumerate(words)
        if index + 1 == len(words) or (word.key, words[index + 1].key) not in pairs
    ]


def _is_named(head: Sequence[Word], context: Sequence[Word]) -> bool:
    """Returns whether the subject of a sentence is named before a claim that has a pronoun."""
    names = [word for word in head if word.kind == "name"] or list(head)
    return bool(context) and all(any(is_same(name, word) for word in context) for name in names)


def _is_known(word: Word, known: Collection[str]) -> bool:
    return any(is_same_word(word.key, other) for other in known)


def _is_owned(additions: Sequence[Word], claim: Sequence[Word]) -> bool:
    """Returns whether a claim is about something of what the sentence is about: "X's brother"."""
    return any(
        word in additions and before.key == "s" for before, word in itertools.pairwise(claim)
    )


def _has_scope_or_owner(told: Sequence[Word], pairs: Sequence[tuple[int, int]]) -> bool:
    """Returns whether the claim leaves out a word that changes what the sentence says.

    "The friend of X found Y" does not say that X found Y, and "tried to find" is not "found".
    """
    used = {index for _, index in pairs}
    first, last = min(used), max(used)
    return any(
        word.key in SCOPES or word.kind == "hedge"
        for index, word in enumerate(told)
        if index not in used
    ) or any(
        index not in used and told[index].kind in ("name", "number") for index in range(first, last)
    )


def differs_in_direction(
    claim: Sequence[Word], evidence: Sequence[Word], pairs: Sequence[tuple[Word, Word]]
) -> bool:
    """Returns whether a name or number has another part in the claim: "to X" is not "from X".

    A name without a word of direction may have the same part: "X did it", "it was done by X".
    """
    mine, theirs = _find_directions(claim), _find_directions(evidence)
    numbers = [
        (number, other)
        for number, other in itertools.product(claim, evidence)
        if number.kind == other.kind == "number" and is_same(number, other)
    ]
    return any(
        id(word) in mine and id(other) in theirs and mine[id(word)] != theirs[id(other)]
        for word, other in (*pairs, *numbers)
    )


def _find_directions(words: Sequence[Word]) -> dict[int, str]:
    """Returns the word of direction before each name and number, by the identity of the word."""
    found: dict[int, str] = {}
    direction = ""
    for before, word in zip((None, *words), words, strict=False):
        if word.key in DIRECTIONS:
            direction = word.key
        elif word.key == "of":
            direction = "out of" if before is not None and before.key == "out" else ""
        elif word.kind in ("name", "number"):
            if direction:
                found[id(word)] = direction
        elif word.key not in _ARTICLES:
            direction = ""
    return found


def _compare_difference(
    said_left: Sequence[Word], told_left: Sequence[Word], free: _Numbers
) -> Match:
    """Compares a claim with a sentence that differs from it in one word only."""
    if len(said_left) == len(told_left) == 1 and free.agrees:
        mine, theirs = said_left[0], told_left[0]
        is_number_clash = mine.kind == theirs.kind == "number"
        if is_number_clash or are_opposite(mine.key, theirs.key):
            return Match("contradicted")
    return _OPEN


def _find_reversal(said: Sequence[Word], told: Sequence[Word]) -> Match:
    """Returns whether a claim says of B and A what the sentence says of A and B."""
    return _compare_swapped(said, told) if len(said) == len(told) else _OPEN


def _compare_swapped(said: Sequence[Word], told: Sequence[Word]) -> Match:
    """Compares a claim with a sentence of which it may have exchanged both sides."""
    for index, word in enumerate(said):
        for place, other in enumerate(told):
            is_verb_of_both = word.key in RELATION_BY_WORD or (is_verb(word) and is_verb(other))
            if is_verb_of_both and word.key not in SYMMETRIC and is_same(word, other):
                swapped = [*told[place + 1 :], other, *told[:place]]
                if len(swapped) == len(said) and all(map(is_same, said, swapped)):
                    is_moved = 0 < index < len(said) - 1
                    return Match("contradicted") if is_moved else _OPEN
    return _OPEN
