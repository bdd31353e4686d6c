"""Reads case and number of German phrases: which one is the subject.

"Das Penicillin entdeckte Fleming" has its object first, and nothing but the facts tells. Subject
and object are only sure if an article, an adjective or the form of the verb shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from eval.synthlink.claims.german_words import PREPOSITIONS
from eval.synthlink.claims.words import Word
from kg.base.plain_text import list_words

_ARTICLES: Final = frozenset(
    list_words(
        "der die das den dem des ein eine einen einem einer eines sein seine seinen seiner ihr "
        "ihre ihren ihrer"
    )
)
GENITIVE: Final = frozenset(("der", "des"))
OBJECT: Final = frozenset(("den", "dem", "einen", "einem", "ihn", "ihm"))
"""Words that begin no subject."""
_OBJECT_OWNERS: Final = frozenset(("seinen", "ihren"))
_SUBJECT: Final = frozenset(("er", "ich", "wir", "man"))
_PRONOUNS: Final = frozenset(("sie", "es", "dieser", "diese", "dieses"))
_SINGULAR: Final = frozenset(list_words("das ein eine er es man dieses dem des einen einem"))
_PLURAL_NAMES: Final = frozenset(("usa", "niederlande", "niederlanden", "staaten", "philippinen"))
_GIVING: Final = frozenset(
    list_words(
        "gab gaben bot boten brachte brachten schrieb schrieben verkaufte verkauften gewahrte "
        "gewahrten erteilte erteilten zeigte zeigten sagte sagten nahm nahmen folgte folgten half "
        "halfen diente dienten gehorte gehorten schickte schickten schenkte schenkten"
    )
)
"""Verbs that may have an object in the dative, which "der" begins, too."""
_PLURAL_ENDINGS: Final = ("oren", "ungen", "heiten", "keiten", "schaften", "ionen", "taten")
_SINGULAR_VERBS: Final = frozenset(("begann", "gewann", "kann"))
_PLURAL_VERBS: Final = frozenset(("haben", "hatten", "sind", "waren", "wurden"))


class Token(NamedTuple):
    """A word of a German claim."""

    word: Word
    key: str
    """The word without capitals and umlauts, or ``=`` and an English word that replaces it."""
    is_capital: bool

    @property
    def is_article(self) -> bool:
        """Whether it is an article, or says whose something is."""
        return self.key in _ARTICLES

    @property
    def is_preposition(self) -> bool:
        """Whether it is a preposition."""
        return self.key in PREPOSITIONS and self.word.kind != "name"

    @property
    def is_number(self) -> bool:
        """Whether it is a number."""
        return self.word.kind == "number"


def split_phrases(tokens: Sequence[Token]) -> list[list[Token]]:
    """Splits what follows a verb into phrases; one in the genitive belongs to the one before."""
    chunks: list[list[Token]] = []
    for token in tokens:
        before = chunks[-1][-1] if chunks else None
        is_genitive = token.key in GENITIVE and before is not None and before.is_capital
        is_inner = before is not None and (before.is_preposition or before.is_article)
        starts = token.is_number or token.is_preposition or (token.is_article and not is_genitive)
        if before is None or (starts and not is_inner) or before.is_number:
            chunks.append([token])
        else:
            chunks[-1].append(token)
    return chunks


def is_subject_first(subject: Sequence[Token], verb: str, others: Sequence[Token]) -> bool:
    """Returns whether a phrase is surely the subject, and none of the others can be it.

    Args:
        subject: the phrase.
        verb: the finite verb.
        others: the other words of the clause, without the verb.
    """
    is_plural_verb = _is_plural_verb(verb)
    if _is_plural(subject) is not None and _is_plural(subject) != is_plural_verb:
        return False
    first, *more = _join_pairs(split_phrases(subject))
    if _cannot_be_subject(first) or any(map(_is_thing, more)):
        return False
    phrases = [chunk for chunk in _join_pairs(split_phrases(others)) if _is_thing(chunk)]
    if not phrases:
        return True
    if any(chunk[0].key in (*_SUBJECT, "der") for chunk in phrases):
        return False
    if subject[0].key in ("er", "man"):
        return True
    if subject[0].key == "der" and len(phrases) == 1 and verb not in _GIVING:
        return True
    return all(
        _cannot_be_subject(chunk) or _is_plural(chunk) == (not is_plural_verb) for chunk in phrases
    )


def _join_pairs(chunks: Sequence[list[Token]]) -> list[list[Token]]:
    """Joins "das Natrium und" and "das Kalium"."""
    joined: list[list[Token]] = []
    for chunk in chunks:
        if joined and (joined[-1][-1].key == "und" or chunk[0].key == "und"):
            joined[-1] = [*joined[-1], *chunk]
        else:
            joined.append(chunk)
    return joined


def _is_thing(chunk: Sequence[Token]) -> bool:
    """Returns whether a phrase may be subject or object: it has a noun and no preposition."""
    if chunk[0].is_preposition:
        return False
    return any(
        token.is_capital or token.key in _PRONOUNS or token.key in (*_SUBJECT, *OBJECT)
        for token in chunk
    )


def _cannot_be_subject(chunk: Sequence[Token]) -> bool:
    """Returns whether article or adjective of a phrase are those of objects.

    "den Vertrag", "seinen Vertrag" and "synthetischen Indigo".
    """
    first = chunk[0]
    if first.key in OBJECT | _OBJECT_OWNERS:
        return True
    is_adjective = first.word.kind == "content" and not first.is_article
    is_first_word = first.is_capital and first.key.endswith("schen")
    has_noun = len(chunk) > 1 and chunk[1].is_capital
    return (
        is_adjective
        and has_noun
        and (is_first_word or (not first.is_capital and first.key.endswith("en")))
    )


def _is_plural(chunk: Sequence[Token]) -> bool | None:
    """Returns whether a phrase is plural; None if it is not known."""
    if any(token.key == "und" for token in chunk):
        return True
    first = chunk[0]
    if first.key in _SINGULAR or first.key == "der":
        return False
    if all(token.word.kind == "name" and token.key not in _PLURAL_NAMES for token in chunk):
        return False
    last = chunk[-1]
    return True if last.is_capital and last.key.endswith(_PLURAL_ENDINGS) else None


def _is_plural_verb(verb: str) -> bool:
    return verb in _PLURAL_VERBS or (verb.endswith("n") and verb not in _SINGULAR_VERBS)
