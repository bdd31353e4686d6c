"""Compares a claim with one sentence of the evidence, word by word and in order.

A claim is only held to be supported if it is a sentence, or the beginning of one: the same words in
the same order and roles, in any form or with a listed synonym, and none besides. To add a word may
be wrong ("in September"), and so may be to leave one out ("less competitive"). All else is open.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Final, Literal, NamedTuple

from eval.synthlink.claims.lexicon import DIRECTIONS, RELATION_BY_WORD, SCOPES
from eval.synthlink.claims.mutual_verbs import SYMMETRIC
from eval.synthlink.claims.small_words import (
    BE,
    BY,
    differ_in_small_words,
    is_past_form,
    lacks_noun,
    order_roles,
)
from eval.synthlink.claims.words import (
    Word,
    are_opposite,
    get_content,
    get_relations,
    is_other,
    is_same,
    is_same_event,
    is_verb,
)
from kg.base.plain_text import list_words

_AND: Final = frozenset(("and", "und"))
_ARTICLES: Final = frozenset(list_words("the a an and its their his her"))
"""Words between a word of direction and a name."""
_KINDS_OF_PLACE: Final = frozenset(
    list_words("city town village territory region island country province")
)
"""Words that say nothing with "of" and a name: "the island of Guam" is Guam."""
_OF_ITSELF: Final = frozenset(("begin", "end", "increase", "decrease"))
"""Relations whose verbs say the same of a thing in active and passive voice."""
_LIKE_BE: Final = frozenset(list_words("become becomes became remain remained is are was were"))
_BEGUN: Final = "begun"
_OPENED: Final = "opened"
_MIN_PAIRS: Final = 2


Outcome = Literal["supported", "contradicted", "open"]


class Match(NamedTuple):
    """What a sentence of the evidence says of a claim, if the claim is asserted."""

    outcome: Outcome
    has_all: bool = False
    """Whether the claim has all words of the sentence, though it may have others too."""


_OPEN: Final = Match("open")


def compare_texts(
    claim: Sequence[Word],
    evidence: Sequence[Word],
    context: Sequence[Word] = (),
    given_names: Collection[tuple[str, str]] = (),
) -> Match:
    """Compares a claim, read as an assertion, with a sentence of the evidence.

    Args:
        claim: words of the claim, without what denies it.
        evidence: words of the sentence.
        context: words before the claim, which name the subject if the claim begins with a pronoun.
        given_names: pairs (given name, surname) of the evidence: the surname alone is enough.
    """
    if any(word.kind == "negation" for word in evidence):
        return _OPEN
    said_words, told_words = (
        _drop_kinds_of_place(drop_given_names(order_roles(words), given_names))
        for words in (claim, evidence)
    )
    said_words = _order_conjuncts(said_words, told_words)
    said, told = get_content(said_words), get_content(told_words)
    if len(said) < _MIN_PAIRS or len(told) < _MIN_PAIRS:
        return _OPEN
    said, told, free = _take_single_numbers(said, told)
    pairs = _align(said, told)
    if not pairs:
        return _OPEN
    said_left = [word for index, word in enumerate(said) if index not in {a for a, _ in pairs}]
    told_left = [word for index, word in enumerate(told) if index not in {b for _, b in pairs}]
    head = told[: pairs[0][1]]
    roles = _Roles(said_words, claim), _Roles(told_words, evidence)
    if _exchanges_subject(said, told, roles):
        return Match("contradicted")
    if head and not _is_named(head, context):
        # The sentence says it of something else than the claim, which may have reversed it.
        return _compare_swapped(said, told, roles)
    matched = [(said[first], told[second]) for first, second in pairs]
    is_last = pairs[-1] == (len(said) - 1, len(told) - 1)
    if is_last and get_relations(said[-1].key) & _OF_ITSELF:
        # "It was opened" is "it opened" where nothing follows that was opened.
        roles[0].passives.discard(id(said[-1]))
        roles[1].passives.discard(id(told[-1]))
    if _differ_in_role(matched, roles):
        return _OPEN
    if said_left and told_left:
        match = _compare_difference(said_left, told_left, free)
        return match if not _tells_other_event(matched, claim) else _OPEN
    if differ_in_small_words(said_words, told_words, matched):
        return _OPEN
    if not free.agrees:
        clashes = free.clashes and not said_left + told_left
        is_wrong = clashes and not _tells_other_event(matched, claim)
        return Match("contradicted") if is_wrong else _OPEN
    if said_left:
        return Match("open", has_all=free.is_told)
    # Words without a verb state nothing, even those of a fact.
    is_beginning = len(head) + len(pairs) == pairs[-1][1] + 1
    if (
        len(pairs) < _MIN_PAIRS
        or not is_beginning
        or any(word.key in SCOPES or word.kind == "hedge" for word in told_left)
        or (told_left and not any(map(is_verb, claim)))
        or (told_left and _ends_with_verb(claim, said[-1], roles[0]))
        or _is_of_later_verb(said_words, told_words, told_left)
        or _dates_opening(matched, claim)
        or lacks_noun(matched[-1][1], told_words, told_left)
    ):
        return _OPEN
    return Match("supported", has_all=not told_left and free.is_told)


def _tells_other_event(pairs: Sequence[tuple[Word, Word]], claim: Sequence[Word]) -> bool:
    """Returns whether a claim says of another event than the sentence in which year it was.

    "The canal was begun in 1817" does not contradict that it was opened in 1825.

    Args:
        pairs: words of both that are the same.
        claim: words of the claim.
    """
    return any(word.number.is_year for word in claim) and any(
        (is_verb(word) or is_verb(other)) and not is_same_event(word.key, other.key)
        for word, other in pairs
    )


def _dates_opening(pairs: Sequence[tuple[Word, Word]], claim: Sequence[Word]) -> bool:
    """Returns whether a claim says in which year something was begun that was opened in it."""
    return any(word.number.is_year for word in claim) and any(
        is_same_event(word.key, _BEGUN) and is_same_event(other.key, _OPENED)
        for pair in pairs
        for word, other in (pair, pair[::-1])
    )


def _is_of_later_verb(
    said: Sequence[Word], told: Sequence[Word], told_left: Sequence[Word]
) -> bool:
    """Returns whether the number of a claim follows a verb that the claim leaves out.

    "Promoted by Clinton, the canal opened in 1825" does not say when it was promoted.
    """
    left = {id(word) for word in told_left}
    before = itertools.takewhile(lambda word: word.kind != "number", told)
    return any(word.kind == "number" for word in said) and any(
        id(word) in left and is_past_form(word) for word in before
    )


def _ends_with_verb(claim: Sequence[Word], last: Word, roles: _Roles) -> bool:
    """Returns whether a claim ends with a verb without its object.

    "Synthetic indigo displaced" may be a headline of what was displaced.
    """
    ends = claim[-1] is last and is_verb(last) and not get_relations(last.key) & _OF_ITSELF
    return ends and not roles.get_roles(last)[1]


class _Numbers(NamedTuple):
    """The only number of a claim and of a sentence, which may stand anywhere."""

    agrees: bool
    """Whether no number of the claim differs."""
    clashes: bool
    """Whether both have a number, and only one of these can be right."""
    is_told: bool
    """Whether the claim has the number of the sentence, if it has one."""


def _take_single_numbers(
    said: list[Word], told: list[Word]
) -> tuple[list[Word], list[Word], _Numbers]:
    """Takes the only number of the sentence out of it and of the claim: a year may stand anywhere.

    With several numbers ("from 10 to 20") their order counts, and so does the place of a number
    that counts something ("five ports").
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
    if mine and theirs and agrees and theirs[0].value is not None and not theirs[0].number.is_year:
        return said, told, _Numbers(True, False, True)
    clashes = bool(mine and theirs) and is_other(mine[0], theirs[0])
    return (
        [word for word in said if word.kind != "number"],
        [word for word in told if word.kind != "number"],
        _Numbers(agrees, clashes, bool(mine) or not theirs),
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


def _drop_kinds_of_place(words: Sequence[Word]) -> list[Word]:
    dropped: set[int] = set()
    for word, after, name in zip(words, words[1:], words[2:], strict=False):
        if word.key in _KINDS_OF_PLACE and after.key == "of" and name.kind == "name":
            dropped |= {id(word), id(after)}
    return [word for word in words if id(word) not in dropped]


def _order_conjuncts(said: Sequence[Word], told: Sequence[Word]) -> list[Word]:
    """Returns the words of a claim with "B and A" in the order that they have in a sentence."""
    ordered = list(said)
    pairs = {(told[place].key, told[place + 2].key) for place in _find_conjuncts(told)}
    for place in _find_conjuncts(said):
        first, second = said[place], said[place + 2]
        if (second.key, first.key) in pairs:
            ordered[place], ordered[place + 2] = second, first
    return ordered


def _find_conjuncts(words: Sequence[Word]) -> list[int]:
    """Returns where two words are joined by "and" that no word beside them belongs to."""

    def stands_alone(place: int) -> bool:
        if not 0 <= place < len(words):
            return True
        word = words[place]
        return word.kind in ("light", "number") or is_verb(word)

    return [
        place
        for place in range(len(words) - 2)
        if words[place + 1].key in _AND
        and all(words[index].kind in ("content", "name") for index in (place, place + 2))
        and stands_alone(place - 1)
        and stands_alone(place + 3)
    ]


class _Roles:
    """The part that words have in a text: direction, passive voice, and owner of what follows.

    Args:
        words: the words, with who did it first.
        written: the words as they are written.
    """

    def __init__(self, words: Sequence[Word], written: Sequence[Word]) -> None:
        self.directions = _find_directions(written)
        self.passives: set[int] = set()
        is_passive = False
        for word in words:
            is_passive = is_passive or (word.key in BE and word.text.islower())
            if is_passive and is_verb(word) and word.key not in BE:
                self.passives.add(id(word))
                is_passive = False
        # "The canal, promoted by Clinton, opened": without "was" too, it did not promote.
        for word, by, after in zip(words, words[1:], words[2:], strict=False):
            if by.key in BY and after.kind != "number" and is_verb(word):
                self.passives.add(id(word))
        self.owners = {id(word) for word, after in itertools.pairwise(written) if after.key == "s"}

    def get_roles(self, word: Word) -> tuple[str, bool, bool]:
        """Returns direction, voice and whether the word is an owner."""
        return self.directions.get(id(word), ""), id(word) in self.passives, id(word) in self.owners


def _differ_in_role(pairs: Sequence[tuple[Word, Word]], roles: tuple[_Roles, _Roles]) -> bool:
    """Returns whether a word has another part in the claim than in the sentence.

    "To X" is not "from X", "X defeated" not "X was defeated", and "X" not "X's rival".
    """
    mine, theirs = roles
    return any(mine.get_roles(word) != theirs.get_roles(other) for word, other in pairs)


def _find_directions(words: Sequence[Word]) -> dict[int, str]:
    """Returns the word of direction before each name and number, by the identity of the word."""
    found: dict[int, str] = {}
    direction = ""
    for before, word in zip((None, *words), words, strict=False):
        if word.key in DIRECTIONS:
            # "It was done by X" is "X did it".
            direction = "" if word.key == "by" else word.key
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
        if is_other(mine, theirs) or are_opposite(mine.key, theirs.key):
            return Match("contradicted")
    return _OPEN


def _compare_swapped(
    said: Sequence[Word], told: Sequence[Word], roles: tuple[_Roles, _Roles]
) -> Match:
    """Returns whether a claim says of B and A what the sentence says of A and B."""
    mine, theirs = roles
    if len(said) != len(told) or [*mine.directions.values()] != [*theirs.directions.values()]:
        return _OPEN
    if "with" in theirs.directions.values():
        return _OPEN
    for index, word in enumerate(said):
        for place, other in enumerate(told):
            is_verb_of_both = word.key in RELATION_BY_WORD or (is_verb(word) and is_verb(other))
            if is_verb_of_both and word.key not in SYMMETRIC and is_same(word, other):
                swapped = [*told[place + 1 :], other, *told[:place]]
                if all(map(is_same, said, swapped)):
                    is_moved = 0 < index < len(said) - 1
                    has_same_voice = mine.get_roles(word)[1] == theirs.get_roles(other)[1]
                    return Match("contradicted") if is_moved and has_same_voice else _OPEN
    return _OPEN


def _exchanges_subject(
    said: Sequence[Word], told: Sequence[Word], roles: tuple[_Roles, _Roles]
) -> bool:
    """Returns whether a claim has subject and last thing of a sentence exchanged, and all else.

    "CRYSTALS-Kyber is derived from ML-KEM" says the opposite of "ML-KEM is derived from
    CRYSTALS-Kyber", and so does "B uses less than A" of "A uses less than B". What is joined by
    "with" says the same of both, and so may "became" and "is".
    """
    mine, theirs = roles
    if len(said) != len(told) or sorted(mine.directions.values()) != sorted(
        theirs.directions.values()
    ):
        return False
    if all(map(is_same, said, told)):
        return False
    if "with" in theirs.directions.values():
        return False
    for verb in range(1, len(told) - 1):
        word = told[verb]
        if not is_verb(word) or word.key in SYMMETRIC or word.key in _LIKE_BE:
            continue
        subject = told[:verb]
        for start in range(verb + 1, len(told)):
            exchanged = [*told[start:], *told[verb:start], *subject]
            if all(map(is_same, said, exchanged)):
                moved = said[len(told) - start]
                return mine.get_roles(moved)[1] == theirs.get_roles(word)[1]
        break
    return False
