"""Writes a German claim with English words in English order, so that it can be compared.

Each word is translated by a short list, or replaced by the only word of the evidence that rules of
spelling make the same ("Kongress", "congress"). A word that is neither stays German, so that the
claim is left open. Word order is that of main clauses; a claim whose object may stand first is not
read at all, since its roles would be exchanged (see ``german_order``).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Final

from eval.synthlink.claims.german_order import (
    GENITIVE,
    OBJECT,
    Token,
    is_subject_first,
    split_phrases,
)
from eval.synthlink.claims.german_words import (
    IDIOMS,
    NAMES,
    OTHERS,
    PARTICLES,
    PREPOSITIONS,
    SEPARABLE,
    VERBS,
    fold_german,
)
from eval.synthlink.claims.words import Word

_MAX_READINGS: Final = 24
"""Maximum number of readings of a claim."""
_KINDS_OF_PLACE: Final = frozenset(("staat", "stadt", "insel", "fluss"))
"""Words that say nothing before the name of a place."""
_PRONOUNS: Final = frozenset(("er", "sie", "es", "dieser", "diese", "dieses"))
_PASSIVE: Final = frozenset(("wurde", "wurden", "ist", "sind", "war", "waren", "wird", "werden"))
_PERFECT: Final = frozenset(("hat", "haben", "hatte", "hatten"))
_ENDINGS: Final = ("", "e", "en", "er", "es", "em", "n", "s", "ern", "nen", "ne", "se", "sen")
_LINKING: Final = ("", "s", "n", "en", "es", "er", "e")
_MIN_PART: Final = 3
_MIN_COGNATE: Final = 6
"""Minimum number of letters of a word of which an ending may be left out."""
_RESPELT: Final = (
    (re.compile(r"isch(?:e[nmrs]?)?$|ical$"), "ic"),
    (re.compile(r"(?:ell|al)(?:e[nmrs]?)?$"), "al"),
    (re.compile(r"iv(?:e[nmrs]?)?$"), "iv"),
    (re.compile(r"itat$"), "ity"),
    (re.compile(r"(?:enz|ence)$"), "enc"),
    (re.compile(r"ier(?:t|te|ten|ter|tes|en)$|ated$"), "at"),
    (re.compile(r"mus$"), "m"),
    (re.compile(r"k"), "c"),
    (re.compile(r"z"), "c"),
    (re.compile(r"ph"), "f"),
    (re.compile(r"th"), "t"),
    (re.compile(r"ie$"), "y"),
    (re.compile(r"([b-df-hj-np-tv-z])\1"), r"\1"),
    (re.compile(r"(?<=[^aeiou])e$"), ""),
)
_PLURALS: Final = ("s", "es", "e", "en", "n")


_SMALL: Final = frozenset(("was", "s", "it", "on", "the", "into"))
_FINITE: Final = (
    frozenset(VERBS)
    | frozenset(f"={verb}" for _, _, verb, _ in IDIOMS)
    | frozenset(entry.partition("_")[0] for entry in SEPARABLE)
    | _PASSIVE
    | _PERFECT
)


def read_german(words: Sequence[Word], known: Collection[str]) -> list[list[Word]]:
    """Returns the readings of a German claim in English words and order; none if it is not sure.

    Args:
        words: words of the claim, without what denies it.
        known: words of the evidence, which is English, in lower case.
    """
    tokens = [
        Token(word, fold_german(word.text), word.text[:1].isupper())
        for word in words
        if word.key not in ("dann", "auch", "daraufhin", "spater", "schliesslich", "jahr")
    ]
    if not tokens or tokens[0].key in OBJECT:
        return []
    tokens = [
        token
        for token, after in itertools.zip_longest(tokens, tokens[1:])
        if token.key not in _KINDS_OF_PLACE or after is None or after.word.kind != "name"
    ]
    readings: list[list[Word]] = []
    place = next((index for index, token in enumerate(tokens) if token.key == "dass"), 0)
    if place:
        return _read_report(tokens[:place], tokens[place + 1 :], frozenset(known))
    for variant in _iter_idioms(tokens):
        parts = _find_verb(variant)
        if parts is None:
            continue
        head, verbs, rest = parts
        finite = tokens[len(head)].key
        is_acting = finite not in _PASSIVE
        for subject, others in _iter_subjects(head, rest):
            if is_acting and not is_subject_first(subject, finite, others):
                continue
            if subject[0].key in _PRONOUNS:
                subject = [_name(subject[0], "it"), *subject[1:]]
            for verb in verbs:
                phrases = _order_phrases(others)
                readings += _translate([*subject, *verb, *phrases], frozenset(known))
                if len(readings) >= _MAX_READINGS:
                    return readings[:_MAX_READINGS]
    return readings


def _read_report(
    main: Sequence[Token], clause: Sequence[Token], known: frozenset[str]
) -> list[list[Word]]:
    """Returns the readings of "X found that Y did Z", whose clause has its verb at the end."""
    parts = _find_verb(main)
    if parts is None or not clause or clause[-1].is_capital or not _is_verb(clause[-1]):
        return []
    head, verbs, rest = parts
    readings: list[list[Word]] = []
    for verb, end in itertools.product(verbs, range(1, len(clause))):
        if clause[end - 1].is_capital:
            after = _order_phrases(clause[end:-1])
            report = [*head, *verb, *rest, *clause[:end], clause[-1], *after]
            readings += _translate(report, known)
    return readings[:_MAX_READINGS]


def translate_words(words: Sequence[Word], known: Collection[str]) -> list[Word]:
    """Returns a German text with English words in its own order, with all that a word can mean."""
    found: list[Word] = []
    for word in words:
        token = Token(word, fold_german(word.text), word.text[:1].isupper())
        meanings = _find_meanings(token, frozenset(known))
        found += [part for meaning in meanings for part in _write(word, meaning)] or [word]
    return found


def _iter_idioms(tokens: Sequence[Token]) -> Iterable[list[Token]]:
    """Yields the claim with a verb and what goes with it in English, as "brought to market"."""
    keys = [token.key for token in tokens]
    for forms, words, verb, endings in IDIOMS:
        place = next((index for index, key in enumerate(keys) if key in forms), None)
        start = len(keys) - len(words)
        if place is None or start <= place or tuple(keys[start:]) != words:
            continue
        for ending in endings:
            last = [_name(tokens[start], part) for part in ending.split("_") if part]
            yield [
                *tokens[:place],
                _name(tokens[place], verb)._replace(key=f"={verb}"),
                *tokens[place + 1 : start],
                *last,
            ]
        return
    yield list(tokens)


def _find_verb(
    tokens: Sequence[Token],
) -> tuple[list[Token], list[list[Token]], list[Token]] | None:
    """Returns what is before the verb, the verb in its English readings, and what is after it."""
    for place, token in enumerate(tokens):
        if place == 0 or token.is_capital or not _is_verb(token):
            continue
        before = tokens[place - 1]
        if before.is_article or (before.is_preposition and not before.is_number):
            continue
        head, rest = list(tokens[:place]), list(tokens[place + 1 :])
        last = rest[-1] if rest else None
        is_last_verb = last is not None and not last.is_capital and last.key in VERBS
        if token.key in _PASSIVE and last is not None and is_last_verb:
            return head, [[_name(token, "was"), last]], rest[:-1]
        if token.key in _PERFECT and last is not None and is_last_verb:
            return head, [[last]], rest[:-1]
        if last is not None and last.key in PARTICLES and not last.is_capital:
            joined = f"{token.key}_{last.key}"
            if joined not in SEPARABLE:
                return None
            meanings = [
                [_name(token, part) for part in meaning.split("_")] for meaning in SEPARABLE[joined]
            ]
            return head, meanings, rest[:-1]
        if token.key in _PASSIVE:
            return head, [[_name(token, "became")], [_name(token, "was")]], rest
        return head, [[token]], rest
    return None


def _is_verb(token: Token) -> bool:
    return token.key in _FINITE


def _name(token: Token, english: str) -> Token:
    kind = "light" if english in _SMALL else token.word.kind
    word = token.word._replace(text=english, key=english.casefold(), kind=kind)
    return token._replace(word=word, key=f"={english}")


def _iter_subjects(
    head: list[Token], rest: list[Token]
) -> Iterable[tuple[list[Token], list[Token]]]:
    """Yields the subject, before or after the verb, and the other words after the verb."""
    is_adverbial = head[0].is_preposition or all(
        token.is_number or (token.word.kind == "light" and token.key not in _PRONOUNS)
        for token in head
    )
    if not is_adverbial:
        yield head, rest
        return
    # "1803 verkaufte Frankreich Louisiana": where the subject ends is not sure.
    if rest and rest[0].key in OBJECT:
        return
    for end in range(1, len(rest) + 1):
        if rest[end - 1].is_preposition and end > 1:
            break
        following = rest[end] if end < len(rest) else None
        if rest[end - 1].is_capital or following is None:
            yield rest[:end], [*rest[end:], *head]


def _order_phrases(tokens: Sequence[Token]) -> list[Token]:
    """Returns objects before phrases of place: "at Bell Labs the transistor" in English order."""
    chunks = [
        [
            _name(token, "of") if place and token.key in GENITIVE else token
            for place, token in enumerate(chunk)
        ]
        for chunk in split_phrases(tokens)
    ]
    objects = [chunk for chunk in chunks if not chunk[0].is_preposition]
    places = [chunk for chunk in chunks if chunk[0].is_preposition]
    return [token for chunk in (*objects, *places) for token in chunk]


def _translate(tokens: Sequence[Token], known: frozenset[str]) -> list[list[Word]]:
    """Returns the readings of words in English; a word can have some."""
    choices: list[list[list[Word]]] = []
    for place, token in enumerate(tokens):
        around = [*tokens[max(0, place - 1) : place], *tokens[place + 1 : place + 2]]
        is_in_name = len(around) == 2 and all(
            one.is_capital and one.word.key in known for one in around
        )
        if token.key == "von" and is_in_name:
            meanings_of_von = (_write(token.word, part) for part in ("of", "from"))
            choices.append([[token.word], *meanings_of_von])
            continue
        before = tokens[place - 1].key if place else ""
        if before == "=of" and token.key.endswith("s") and token.key[:-1] in known:
            choices.append([_write(token.word, f"~{token.key[:-1]}")])
            continue
        meanings = [token.word.key] if token.key.startswith("=") else _find_meanings(token, known)
        if token.key.startswith("=") or not meanings:
            choices.append([[token.word]])
            continue
        choices.append([_write(token.word, meaning) for meaning in meanings])
    readings = itertools.islice(itertools.product(*choices), _MAX_READINGS)
    return [[word for part in reading for word in part] for reading in readings]


def _write(word: Word, meaning: str) -> list[Word]:
    if meaning.startswith("~"):
        return [word._replace(text=meaning[1:], key=meaning[1:], kind="content")]
    written = []
    for part in meaning.split("_"):
        kind = "name" if part[:1].isupper() else word.kind if word.kind == "light" else "content"
        written.append(word._replace(text=part, key=part.casefold(), kind=kind))
    return written


def _find_meanings(token: Token, known: frozenset[str]) -> list[str]:
    """Returns the English words for a German one; none if it is to be kept."""
    word = token.word
    if word.kind == "number":
        return []
    if token.is_preposition:
        return list(PREPOSITIONS[token.key])
    if token.key in NAMES:
        return list(NAMES[token.key])
    if word.kind == "name":
        return []
    if not token.is_capital and token.key in VERBS:
        return list(VERBS[token.key])
    if word.kind == "light":
        return []
    if word.key in known:
        return []
    found = _find_noun(token.key)
    if found:
        return list(found)
    if token.is_capital and token.key.endswith("s") and token.key[:-1] in known:
        return [f"{word.text[:-1]}_s"]
    cognate = _find_cognate(token.key, known)
    return [f"~{cognate}"] if cognate else list(_split_compound(token.key, known))


@lru_cache(maxsize=10_000)
def _find_noun(key: str) -> tuple[str, ...]:
    """Returns the English words for a noun or adjective in any form."""
    for ending in _ENDINGS:
        base = key.removesuffix(ending)
        if len(base) >= _MIN_PART and key == base + ending and base in OTHERS:
            return OTHERS[base]
    return ()


@lru_cache(maxsize=10_000)
def _split_compound(key: str, known: frozenset[str]) -> tuple[str, ...]:
    """Returns the English words for a compound: "Kautschuksamen" is "rubber_seed"."""
    for place in range(_MIN_PART, len(key) - _MIN_PART + 1):
        right = _find_noun(key[place:])
        if not right:
            continue
        for linking in _LINKING:
            left = key[:place]
            if linking and not left.endswith(linking):
                continue
            base = left.removesuffix(linking)
            found = _find_noun(base)
            if not found and base in known and len(base) >= len("erie"):
                found = (base.capitalize(),)
            if found:
                return tuple(f"{first}_{second}" for first in found for second in right)
    return ()


@lru_cache(maxsize=10_000)
def _find_cognate(key: str, known: frozenset[str]) -> str:
    """Returns the only word of the evidence that rules of spelling make a German word.

    "Kongress" is "congress", and "Kolonien" are "colonies". Empty if there is none, or several.
    """
    words = [word for word in known if word[:1].isalpha()]
    mine = _respell(key)
    found = [word for word in words if _respell(word) == mine]
    if not found and len(key) >= _MIN_COGNATE:
        bases = _list_bases(key)
        found = [word for word in words if bases & _list_bases(word)]
    return found[0] if len(found) == 1 else ""


@lru_cache(maxsize=50_000)
def _list_bases(word: str) -> frozenset[str]:
    """Returns a word in common spelling, as it is and without endings of plurals."""
    stems = (word.removesuffix(ending) for ending in _PLURALS)
    return frozenset(map(_respell, (word, *stems)))


@lru_cache(maxsize=50_000)
def _respell(word: str) -> str:
    for pattern, instead in _RESPELT:
        word = pattern.sub(instead, word)
    return word
