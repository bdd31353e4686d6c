"""Compares the small words of a claim with those of a sentence that has its other words.

"Davy isolated potassium from sodium" has the names and the verb of "Davy isolated potassium and
sodium", and "opium had Zexu destroyed" those of "Zexu had opium destroyed": prepositions, "and" and
"had" say which part a word has.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Final

from eval.synthlink.claims.verb_forms import IRREGULAR_PASTS, UNCHANGED_VERBS
from eval.synthlink.claims.words import Word, is_verb
from kg.base.plain_text import list_words

BE: Final = frozenset(
    list_words("is are was were be been being got wurde wurden wird werden worden")
)
BY: Final = frozenset(("by", "von", "durch"))
_AND: Final = "and"
_HAVE: Final = "have"
_THAT: Final = "that"
_FORMS_OF_HAVE: Final = frozenset(("has", "have", "had", "having"))
_ARTICLES: Final = frozenset(list_words("the a an its their his her"))
_PLACE: Final = "in"
_SAME: Final = {
    **dict.fromkeys(("in", "at"), _PLACE),
    **dict.fromkeys(("and", "und"), _AND),
    **dict.fromkeys(_FORMS_OF_HAVE, _HAVE),
    **dict.fromkeys(("through", "via"), "through"),
    **dict.fromkeys(("to", "into"), "to"),
    **dict.fromkeys(("that", "which", "who"), _THAT),
}
"""Small words that are taken for one: "in Oxford" is "at Oxford"."""
_JOINING: Final = frozenset(
    list_words("of on from for with as than by during within across along when where how what")
)
_FORMS_OF_DO: Final = frozenset(("do", "does", "did"))
_UNFINISHED: Final = _ARTICLES | _JOINING | _FORMS_OF_DO | {*_SAME, "was", "were", "been"}
_BETWEEN: Final = frozenset(list_words("is are was were be been being not also then soon"))
"""Words between "had" and its participle."""
_ANYWHERE: Final = frozenset((_PLACE, "on", "during", "within", "of", "from", "by"))
"""Words before a year: what they say of it is compared with its value."""

_DATE_LENGTH: Final = 2
"""Number of words of "in 1825"."""
_PARTICLES: Final = frozenset(("out", "up", "on", "off", "over", "away", "back"))
_MAX_GAP: Final = 3
"""Maximum number of words between "was" and its participle."""


def find_parts(words: Sequence[Word]) -> dict[int, tuple[str, ...]]:
    """Returns the small words before each other word, by the identity of the word.

    Articles, pronouns and forms of "be" are left out, and "had" of "had opened".
    """
    found: dict[int, tuple[str, ...]] = {}
    before: list[str] = []
    for place, word in enumerate(words):
        if word.kind != "light":
            found[id(word)] = tuple(before)
            before = []
        elif word.key in _FORMS_OF_HAVE:
            if not _is_perfect(words[place + 1 :]):
                before.append(_HAVE)
        elif word.key in _FORMS_OF_DO:
            following = words[place + 1] if place + 1 < len(words) else None
            if following is None or following.kind != "content" or is_past_form(following):
                before.append("do")
        elif word.key in _SAME or word.key in _JOINING:
            before.append(_SAME.get(word.key, word.key))
    return found


def differ_in_small_words(
    said: Sequence[Word], told: Sequence[Word], pairs: Iterable[tuple[Word, Word]]
) -> bool:
    """Returns whether small words give a word of a claim another part than in the sentence.

    Args:
        said: words of the claim, with who did it first.
        told: words of the sentence, likewise.
        pairs: words of both that are the same.
    """
    mine, theirs = find_parts(said), find_parts(told)
    paired = list(pairs)
    for place, (word, other) in enumerate(paired):
        parts = mine.get(id(word), ())
        other_parts = theirs.get(id(other), ())
        if place == 0:
            parts, other_parts = map(_drop_connective, (parts, other_parts))
        if _THAT not in parts:
            # "Found that crystals do it": in German, "dass" is another word.
            other_parts = tuple(part for part in other_parts if part != _THAT)
        if parts != other_parts:
            return True
    if said and told and _is_unfinished(said[-1]) and said[-1].key != told[-1].key:
        return True
    if has_bare_have(said) and any(is_past_form(a) != is_past_form(b) for a, b in paired):
        # "Had the engine build" is not "had the engine built".
        return True
    numbers = {theirs[id(word)] for word in told if word.kind == "number"}
    taken = {id(word) for word, _ in paired}
    for word in said:
        parts = mine.get(id(word), ())
        is_free = word.kind == "number" and id(word) not in taken
        if is_free and parts not in numbers and not {*parts} <= _ANYWHERE:
            return True
    return False


def _drop_connective(parts: tuple[str, ...]) -> tuple[str, ...]:
    return parts[1:] if parts[:1] in ((_AND,), (_THAT,)) else parts


def _is_unfinished(last: Word) -> bool:
    """Returns whether a claim breaks off after a word that another has to follow."""
    return last.kind == "light" and last.key in _UNFINISHED


def begins_with_preposition(words: Sequence[Word]) -> bool:
    """Returns whether a claim begins with a phrase such as "with A", and not "in 1842"."""
    if not words or words[0].kind != "light":
        return False
    if _SAME.get(words[0].key, words[0].key) not in _JOINING | {_PLACE, "through", "to"}:
        return False
    following = next((word for word in words[1:] if word.key not in _ARTICLES), None)
    return following is None or following.kind != "number"


def has_bare_have(words: Sequence[Word]) -> bool:
    """Returns whether a claim has a form of "have" that forms no tense: "had X do it"."""
    return any(
        word.key in _FORMS_OF_HAVE and not _is_perfect(words[place + 1 :])
        for place, word in enumerate(words)
    )


def _is_perfect(following: Sequence[Word]) -> bool:
    """Returns whether a participle follows, so that "had" forms a tense only."""
    between = itertools.takewhile(lambda word: word.key in _BETWEEN, following)
    if any(word.key == "been" for word in between):
        return True
    verb = next((word for word in following if word.key not in _BETWEEN), None)
    return verb is not None and is_past_form(verb)


def is_past_form(word: Word) -> bool:
    """Returns whether a word has the form of a past tense or participle."""
    return word.kind == "content" and (
        word.key in IRREGULAR_PASTS
        or word.key in UNCHANGED_VERBS
        or (len(word.key) > len("aged") and word.key.endswith("ed"))
    )


def order_roles(words: Sequence[Word]) -> list[Word]:
    """Returns the words with who did it first: "A was made in 1900 by B" is "B made A in 1900"."""
    for index, word in enumerate(words):
        if word.key not in BE or not word.text.islower():
            continue  # "Attention Is All You Need" is a name
        window = range(index + 1, min(len(words), index + 2 + _MAX_GAP))
        by = next((place for place in window if words[place].key in BY), None)
        if by is None:
            continue
        end = by + 1
        while end < len(words) and (
            words[end].kind == "name" or words[end].key in ("the", "a", "an", "and", "of", "und")
        ):
            end += 1
        if end == by + 1:
            end = len(words)
        has_tense = index > 0 and word.key == "been" and words[index - 1].key in _FORMS_OF_HAVE
        things = words[: index - 1 if has_tense else index]
        done = words[index + 1 : by]
        when = done[-_DATE_LENGTH:] if _ends_with_date(done) else []
        done = done[: len(done) - len(when)]
        return [*words[by + 1 : end], *done, *things, *when, *words[end:]]
    return list(words)


def _ends_with_date(words: Sequence[Word]) -> bool:
    """Returns whether a verb and "in" with a year are the last words."""
    return (
        len(words) > _DATE_LENGTH
        and words[-1].number.is_year
        and words[-2].key == "in"
        and any(map(is_verb, words[:-_DATE_LENGTH]))
    )


def lacks_noun(last: Word, told: Sequence[Word], told_left: Sequence[Word]) -> bool:
    """Returns whether a claim ends before the noun to which its last word belongs.

    "The 4004 was the first" does not say of what, nor does "Britain answered with the First".
    """
    following = next((after for word, after in itertools.pairwise(told) if word is last), None)
    return (
        following is not None
        and following.kind in ("content", "name")
        and following.key not in _PARTICLES
        and not is_past_form(last)
        and not is_past_form(following)
        and any(following is word for word in told_left)
    )
