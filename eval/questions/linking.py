"""Finds the things and numbers a question mentions: longest names first, spelt as people spell.

Matching ignores case, diacritics, punctuation and leading articles. A name that several things
bear yields all of them; choosing is left to whoever knows the rest of the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kg.words.labels import folded
from kg.words.phrasing import parse_label
from kg.words.plain_text import plain, words_of

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

MAX_QUESTION = 2_000
"""Characters of a question that are read; a longer one is not a yes-no question about one fact."""
MAX_NAME_TOKENS = 12

ARTICLES = frozenset(("the", "a", "an"))
POSSESSIVE = "'s"
_AUXILIARIES = frozenset(
    words_of(
        "is are was were be been do does did has have had can could will would may might must "
        "shall should what which where when who whom whose why how if in on at of to it that"
    )
)
# Vowel signs and the like, which `\w` leaves out: of Hebrew, Arabic, Indic scripts, Thai, Lao,
# Tibetan, Burmese and Khmer. Without them names that differ in a vowel alone would fall together.
_SIGNS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u0900-\u0963\u0966-\u096f\u0971-\u0df3\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u0f18-\u0f84\u102b-\u103e\u17b4-\u17d3"
)
_TOKEN = re.compile(
    r"(?P<number>(?<![\w.])[-−+]?(?:\d{1,3}(?:[,\u202f\u00a0 ]\d{3})+|\d+)(?:\.\d+)?"
    r"(?:[eE][+-]?\d+)?(?:(?!\w)|(?=(?:km|m|mi|ft)\b)))"
    r"|(?P<possessive>['’ʼ]s\b|(?<=s)['’ʼ](?=\s|$))"
    rf"|(?P<word>\w[\w{_SIGNS}]*)"
)

# Spellings of units as runs of tokens, by the unit as a domain writes it. A unit that is not here
# is known as the domain writes it.
_UNITS: dict[str, tuple[str, ...]] = {
    "km": ("km", "kms", "kilometre", "kilometres", "kilometer", "kilometers"),
    "m": ("m", "metre", "metres", "meter", "meters", "masl"),
    "m3 s": (
        "m3 s", "m3s", "cumec", "cumecs", "m3 per second",
        *(f"cubic {metre}{of} {per} second" for metre in ("metres", "meters", "metre", "meter")
          for of in ("", " of water") for per in ("per", "a", "every", "each")),
    ),
    "km2": ("km2", "square kilometres", "square kilometers", "sq km"),
    "mi": ("mi", "mile", "miles"),
    "ft": ("ft", "foot", "feet"),
    "kg": ("kg", "kilogram", "kilograms"),
    "years": ("years", "year"),
}  # fmt: skip


# How well a name is borne: a label beats an alias, and both beat a form we shortened ourselves.
_LABEL, _ALIAS, _SHORT = range(3)
# Nobody says "the North" for the North Sea.
_NEVER_SHORT = frozenset(
    words_of(
        "north south east west black white red yellow green blue great big little upper lower new "
        "old dead inner outer central northern southern eastern western saint san santa"
    )
)


_INDIVIDUAL_TYPES = ("#Thing", "#NamedIndividual", "#Resource")


class Token(NamedTuple):
    """A word, number or possessive of the question."""

    text: str
    """As written."""
    key: str
    """Folded: lower case, no diacritics."""
    number: bool = False


class Mention(NamedTuple):
    """Tokens ``start`` to ``end`` (exclusive) that name a thing or a number."""

    start: int
    end: int
    entities: tuple[str, ...] = ()
    """IRIs that bear the name, those that bear it as their label first; empty for numbers."""
    number: str = ""
    """The digits of a number without separators."""
    unit: str = ""
    """The unit behind the number, as spelt in ``_UNITS``; empty when none."""


def tokens_of(text: str) -> list[Token]:
    """Words, numbers and possessives of a text, at most ``MAX_QUESTION`` characters of it."""
    found = []
    for match in _TOKEN.finditer(plain(text, MAX_QUESTION)):
        word = match.group()
        if match.lastgroup == "number":
            digits = re.sub(r"[^\d.eE+-]", "", word.replace("−", "-"))
            found.append(Token(word, digits.lstrip("+"), number=True))
        elif match.lastgroup == "possessive":
            found.append(Token(word, POSSESSIVE))
        else:
            found.append(Token(word, folded(word)))
    return found


def name_key(name: str) -> tuple[str, ...]:
    """A name as it is looked up: folded tokens without a leading article."""
    keys = tuple(token.key for token in tokens_of(name))
    return keys[1:] if len(keys) > 1 and keys[0] in ARTICLES else keys


def unit_key(unit: str) -> str:
    """A unit as ``Mention.unit`` spells it: ``m³/s`` → ``m3 s``."""
    key = " ".join(token.key for token in tokens_of(unit))
    return next((name for name, spellings in _UNITS.items() if key in spellings), key)


class MentionIndex:
    """The names of everything in a knowledge base, ready to be looked for in questions."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._names: dict[tuple[str, ...], dict[str, int]] = {}
        self._longest: dict[str, int] = {}
        self.classes: dict[tuple[str, ...], str] = {}
        """Name of a class → its IRI."""
        schema = _schema_terms(kb)
        kinds: dict[str, tuple[str, ...]] = {}
        other_nouns = _other_nouns(kb)
        for iri in _things(kb):
            if iri in schema:
                continue
            names = kb.labels.names(iri)
            label = kb.labels.label(iri)
            # The name used in sentences tells homonyms apart, so it must be known here too.
            for name in dict.fromkeys((label, kb.words.name(iri), *names)):
                self._add(name_key(name), iri, _LABEL if name == label else _ALIAS)
            nouns = []
            for cls in sorted(kb.words.types(iri)):
                if cls not in kinds:
                    kinds[cls] = name_key(kb.words.class_noun(cls))
                nouns.append(kinds[cls])
            for short in _short_forms(name_key(label), nouns, other_nouns):
                self._add(short, iri, _SHORT)
        for iri in schema:
            if schema[iri] == "class":
                self.classes.setdefault(name_key(kb.words.class_noun(iri)), iri)
        written = (unit_key(words.unit) for words in kb.domain.predicates.values())
        spellings = {unit: (unit,) for unit in written if unit} | _UNITS
        units = [(tuple(s.split()), unit) for unit, all_ in spellings.items() for s in all_]
        self._units = sorted(units, key=lambda pair: -len(pair[0]))
        self._longest_unit = len(self._units[0][0])

    def _add(self, key: tuple[str, ...], iri: str, tier: int) -> None:
        if key and len(key) <= MAX_NAME_TOKENS:
            bearers = self._names.setdefault(key, {})
            bearers[iri] = min(bearers.get(iri, tier), tier)
            self._longest[key[0]] = max(self._longest.get(key[0], 0), len(key))

    def entities(self, key: tuple[str, ...]) -> tuple[str, ...]:
        """Who bears a name: as its label, or else as an alias, or else as a short form."""
        bearers = self._names.get(key)
        if not bearers:
            return ()
        best = min(bearers.values())
        return tuple(iri for iri, tier in bearers.items() if tier == best)

    def scan(self, tokens: Sequence[Token]) -> list[Mention]:
        """The mentions in order; none overlap.

        Where the question uses capitals, names written without any ("main", "lot") count only
        when the question would otherwise mention fewer than two things.
        """
        capitals = any(token.text[:1].isupper() for token in tokens[1:])
        strong: list[Mention] = []
        weak: list[Mention] = []
        at = 0
        while at < len(tokens):
            mention = self._number(tokens, at) if tokens[at].number else None
            mention = self._longest_name(tokens, at) or mention
            if mention is None:
                at += 1
                continue
            lower = capitals and not is_capitalised(tokens[mention.start : mention.end])
            (weak if lower and mention.entities else strong).append(mention)
            # A weak name must not hide a strong one that starts inside it.
            at = mention.start + 1 if lower and mention.entities else mention.end
        taken = {i for mention in strong for i in range(mention.start, mention.end)}
        for mention in weak if len(strong) < 2 else ():
            if taken.isdisjoint(range(mention.start, mention.end)):
                strong.append(mention)
                taken.update(range(mention.start, mention.end))
        return sorted(strong)

    def _longest_name(self, tokens: Sequence[Token], at: int) -> Mention | None:
        first = tokens[at].key
        for length in range(min(self._longest.get(first, 0), len(tokens) - at), 0, -1):
            if length == 1 and at == 0 and first in _AUXILIARIES:
                return None
            entities = self.entities(tuple(token.key for token in tokens[at : at + length]))
            if entities:
                return Mention(at, at + length, entities)
            # "the Danube's river system" is the Danube river system.
            window = [token.key for token in tokens[at : at + length + 1]]
            if length > 1 and window.count(POSSESSIVE) == 1 and window[-1] != POSSESSIVE:
                entities = self.entities(tuple(key for key in window if key != POSSESSIVE))
                if entities:
                    return Mention(at, at + length + 1, entities)
        return None

    def _number(self, tokens: Sequence[Token], at: int) -> Mention:
        start = at
        digits = tokens[at].key
        if at > 0 and tokens[at - 1].key == "minus" and not digits.startswith("-"):
            digits, start = f"-{digits}", at - 1
        following = tuple(token.key for token in tokens[at + 1 : at + 1 + self._longest_unit])
        for spelling, unit in self._units:
            if following[: len(spelling)] == spelling:
                return Mention(start, at + 1 + len(spelling), number=digits, unit=unit)
        return Mention(start, at + 1, number=digits)


def _short_forms(
    name: tuple[str, ...],
    nouns: Iterable[tuple[str, ...]],
    others: Mapping[tuple[str, ...], Sequence[tuple[str, ...]]],
) -> Iterable[tuple[str, ...]]:
    """A name without the word for what it is, or with another: the Baltic, the Danube basin."""
    for noun in nouns:
        size = len(noun)
        if 0 < size < len(name) and name[-size:] == noun:
            stem = name[:-size]
            if len(stem) > 1 or stem[0] not in _NEVER_SHORT:
                yield stem
            if size > 1:
                yield (*stem, noun[-1])
            for other in others.get(noun, ()):
                yield (*stem, *other)


def _other_nouns(kb: KnowledgeBase) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """What else a kind of thing is called, by its name.

    A predicate whose label names its values ("river system") says so with its other nouns too
    ("basin").
    """
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for pred in kb.domain.predicates:
        phrases = kb.words.words_of(pred).synonyms
        nouns = [name_key(phrase) for phrase in phrases if parse_label(phrase).kind == "noun"]
        found.setdefault(name_key(kb.words.label(pred)), []).extend(nouns)
    return found


def is_capitalised(tokens: Iterable[Token]) -> bool:
    """Whether a name has a capital, a digit, or letters of a script without capitals."""
    return any(
        char.isupper() or char.isdigit() or (char.isalpha() and char.lower() == char.upper())
        for token in tokens
        for char in token.text[:1]
    )


def _things(kb: KnowledgeBase) -> Iterable[str]:
    """IRIs that stand as subject or object of any triple, in the graph's order."""
    seen: dict[int, None] = {}
    for s, _, o in kb.graph.index.triples():
        seen.setdefault(s)
        seen.setdefault(o)
    text = kb.graph.index.terms.text
    for term in seen:
        iri = text(term)
        if not iri.startswith(('"', "_:")):
            yield iri


def _schema_terms(kb: KnowledgeBase) -> dict[str, str]:
    """Predicates, classes and the terms of RDF, RDFS, OWL, SHACL and SKOS themselves."""
    from kg.terms import OWL, RDF, RDF_TYPE, RDFS
    from kg.vocabulary import is_vocabulary

    index = kb.oracle.closure.index
    terms = index.terms
    found: dict[str, str] = {}
    rdf_type, sub_class = terms.get(RDF_TYPE), terms.get(RDFS + "subClassOf")
    if rdf_type is not None:
        for _, cls in index.pairs(rdf_type):
            found.setdefault(terms.text(cls), "class")
    if sub_class is not None:
        for pair in index.pairs(sub_class):
            for cls in pair:
                found.setdefault(terms.text(cls), "class")
    for pred in kb.predicates:
        found[pred] = "predicate"
    for iri in list(found):
        if is_vocabulary(iri):
            found[iri] = "vocabulary"
    if rdf_type is not None:
        for s, o in index.pairs(rdf_type):
            kind = terms.text(o)
            # Nodes that only hold an axiom together (a negative property assertion) are no things.
            if kind.startswith((OWL, RDF, RDFS)) and not kind.endswith(_INDIVIDUAL_TYPES):
                found.setdefault(terms.text(s), "class" if kind.endswith("#Class") else "predicate")
    return found
