"""Compares names, numbers and relation of a claim with those of one sentence of the evidence.

"In 1803 France sold the territory to the United States" has the names, the number and the verb of
"France sold Louisiana to the United States in 1803", in the same order. Words between them may
differ, but not the verb, not what is sold, and none that is the opposite of another.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from eval.synthlink.claims.comparison import (
    differs_in_direction,
    drop_given_names,
    order_roles,
)
from eval.synthlink.claims.lexicon import (
    GENERIC_NAMES,
    RELATION_BY_WORD,
    SCOPES,
)
from eval.synthlink.claims.words import Word, are_opposite, is_same, is_same_word, is_verb
from kg.base.plain_text import list_words

_MIN_ANCHORS: Final = 2
_OF: Final = frozenset(("of", "von", "des", "der", "to", "for", "against", "without", "by"))
_STOPS: Final = frozenset(
    list_words(
        "in on at of to from for with by as and into through after before during over under "
        "when which who that than im am auf zu von mit für bei aus als und nach vor"
    )
)
WHY: Final = frozenset(
    list_words(
        "because so therefore since thus why after before until although though despite weil "
        "deshalb daher darum sodass nachdem bevor obwohl trotz"
    )
)
"""Words that join two statements, so that a claim says more than each of them."""


class Evidence(NamedTuple):
    """All that is known of a question."""

    sentences: Sequence[Sequence[Word]]
    """Words of each sentence."""
    known: Collection[str]
    """Words of all evidence and the question; a claim may use one other word."""
    given_names: Collection[tuple[str, str]]
    """Pairs (given name, surname); the surname is enough."""


def has_same_frame(claim: Sequence[Word], sentence: Sequence[Word], evidence: Evidence) -> bool:
    """Returns whether a sentence states the names, numbers and relations of a claim.

    Args:
        claim: words of the claim, read as an assertion.
        sentence: words of one sentence of the evidence.
        evidence: all evidence.
    """
    if any(word.kind in ("negation", "hedge") or word.key in WHY for word in claim):
        return False
    if any(word.key == "which" for word in claim[1:]):
        return False
    if any(word.kind in ("negation", "hedge") or word.key in SCOPES for word in sentence):
        return False
    said = drop_given_names(order_roles(claim), evidence.given_names)
    told = drop_given_names(order_roles(sentence), evidence.given_names)
    names, numbers = (
        [word for word in said if word.kind == kind and word.key not in GENERIC_NAMES]
        for kind in ("name", "number")
    )
    verbs = [word for word in said if word.kind == "content" and is_verb(word)]
    return (
        bool(names)
        and len(names) + len(numbers) >= _MIN_ANCHORS
        and bool(verbs)
        and all(any(is_same(word, other) for other in told) for word in names)
        and all(_has_same_subject(verb, said, told) for verb in verbs)
        and all(_states_number(word, told, names, verbs, evidence) for word in numbers)
        and _has_known_subject(said, verbs[0], told)
        and _has_same_objects(said, verbs, told)
        and _has_no_opposite(said, told)
        and not differs_in_direction(
            claim,
            sentence,
            [(word, other) for word in said for other in told if is_same(word, other)],
        )
        and _has_few_other_words(said, told, evidence.known)
    )


def _has_same_subject(verb: Word, said: Sequence[Word], told: Sequence[Word]) -> bool:
    """Returns whether a sentence says the verb of a claim, and of the same names before it."""
    mine = [word for word in said[: said.index(verb)] if word.kind == "name"]
    for index, other in enumerate(told):
        if other.kind != "name" and is_same_word(verb.key, other.key):
            theirs = [word for word in told[:index] if word.kind == "name"]
            if (
                mine
                and theirs
                and is_same(mine[0], theirs[0])
                and all(any(is_same(word, name) for name in theirs) for word in mine)
                and not _belongs_to_another(told, told.index(theirs[0]))
            ):
                return True
    return False


def _has_known_subject(said: Sequence[Word], verb: Word, told: Sequence[Word]) -> bool:
    """Returns whether a sentence has all words of the claim's subject.

    "The rival of X" and "X's brother" are not X.
    """
    return all(
        any(is_same(word, other) for other in told)
        for word in said[: said.index(verb)]
        if word.kind in ("content", "name") and word.key not in GENERIC_NAMES
    )


def _states_number(
    number: Word,
    told: Sequence[Word],
    names: Sequence[Word],
    verbs: Sequence[Word],
    evidence: Evidence,
) -> bool:
    """Returns whether a sentence has a number, or another one that says the same of the name."""
    return any(
        all(any(is_same(word, other) for other in sentence) for word in (number, *verbs))
        and any(is_same(word, other) for other in sentence for word in names)
        for sentence in (told, *evidence.sentences)
    )


def _has_same_objects(
    claim: Sequence[Word], verbs: Sequence[Word], evidence: Sequence[Word]
) -> bool:
    """Returns whether what follows each verb, up to a preposition, ends with a word of both."""
    for verb in verbs:
        phrase: list[Word] = []
        for word in claim[claim.index(verb) + 1 :]:
            if word.key in _STOPS:
                break
            phrase.append(word)
        heads = [word for word in phrase if word.kind in ("content", "name", "number")]
        heads = [word for word in heads if word.key not in GENERIC_NAMES]
        if heads and not any(is_same(heads[-1], other) for other in evidence):
            return False
    return True


def _has_no_opposite(claim: Sequence[Word], evidence: Sequence[Word]) -> bool:
    return not any(
        are_opposite(word.key, other.key)
        for word in claim
        if not any(word.key == other.key for other in evidence)
        for other in evidence
    )


def _has_few_other_words(
    claim: Sequence[Word], evidence: Sequence[Word], known: Collection[str]
) -> bool:
    content = [word for word in claim if word.kind == "content"]
    others = [word for word in content if not any(is_same(word, other) for other in evidence)]
    strange = [word for word in others if not any(is_same_word(word.key, other) for other in known)]
    shared = len(claim) - sum(word.kind == "light" for word in claim) - len(others)
    return (
        len(strange) <= 1
        and 2 * len(others) <= shared
        and not any(word.key in RELATION_BY_WORD for word in others)
    )


def has_other_words(claim: Sequence[Word], sentence: Sequence[Word]) -> bool:
    """Returns whether a claim has a word with content that a sentence has not."""
    return any(
        word.kind == "content" and not any(is_same(word, other) for other in sentence)
        for word in claim
    )


def _belongs_to_another(evidence: Sequence[Word], first: int) -> bool:
    """Returns whether the first name only tells whose the subject is: "The rival of Whitney"."""
    return first > 1 and evidence[first - 1].key in _OF and evidence[first - 2].kind == "content"
