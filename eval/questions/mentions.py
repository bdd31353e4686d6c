"""Finds the entities and numbers that a question mentions, longest names first.

Matching ignores case, diacritics, punctuation and leading articles. A name of several entities
yields all of them; the parser chooses among them with the rest of the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kg.base.plain_text import clean_text, list_words
from kg.terms import OWL, RDF, RDF_TYPE, RDFS, is_literal
from kg.vocabulary import is_vocabulary
from kg.words.label_grammar import parse_label
from kg.words.name_forms import fold_text

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

MAX_QUESTION_LENGTH = 2_000
"""Maximum length in characters; the rest is ignored: no question about a single fact is so long."""
MAX_NAME_TOKENS = 30
"""Maximum number of tokens of a name; longer names are not indexed."""

ARTICLES = frozenset(("the", "a", "an"))
POSSESSIVE = "'s"
_AUXILIARIES = frozenset(
    list_words(
        "is are was were be been do does did has have had can could will would may might must "
        "shall should what which where when who whom whose why how if in on at of to it that"
    )
)
_TEMPLATE_WORDS = _AUXILIARIES | ARTICLES | {"as", "its", "their", "value", "among"}
# Vowel signs and the like that `\w` does not match: of Hebrew, Arabic, Indic scripts, Thai, Lao,
# Tibetan, Burmese and Khmer. Without them names that differ only in a vowel would be equal.
_COMBINING_SIGNS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u0900-\u0963\u0966-\u096f\u0971-\u0df3\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u0f18-\u0f84\u102b-\u103e\u17b4-\u17d3"
)
# A number may have thousands separators, decimals, an exponent and a unit without a space ("8km").
# A possessive is "'s", or an apostrophe after a final "s". A word is any other run of letters,
# digits and underscores.
_TOKEN = re.compile(
    r"(?P<number>(?<![\w.])[-−+]?(?:\d{1,3}(?:[,\u202f\u00a0 ]\d{3})+|\d+)(?:\.\d+)?"
    r"(?:[eE][+-]?\d+)?(?:(?!\w)|(?=(?:km|m|mi|ft)\b)))"
    r"|(?P<possessive>['’ʼ]s\b|(?<=s)['’ʼ](?=\s|$))"
    rf"|(?P<word>\w[\w{_COMBINING_SIGNS}]*)"
)

# Spellings of units, as tokens joined by spaces, by the unit as a domain writes it. Any other unit
# is recognised only as the domain writes it.
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


# Rank of a name: a label takes precedence over an alias, and both over a shortened label.
_LABEL_RANK, _ALIAS_RANK, _SHORT_RANK = range(3)
# Words that cannot be short names: "the North" does not mean the North Sea.
_NOT_SHORT_NAMES = frozenset(
    list_words(
        "north south east west black white red yellow green blue great big little upper lower new "
        "old dead inner outer central northern southern eastern western saint san santa"
    )
)


_INDIVIDUAL_TYPES = ("#Thing", "#NamedIndividual", "#Resource")
"""Ends of the OWL and RDFS classes whose instances are ordinary entities."""


class Token(NamedTuple):
    """A word, number or possessive of the question."""

    text: str
    """The text as written."""
    key: str
    """The folded text: lower case, no diacritics."""
    number: bool = False


class Mention(NamedTuple):
    """Tokens ``start`` to ``end`` (exclusive) that name an entity or a number."""

    start: int
    end: int
    entities: tuple[str, ...] = ()
    """IRIs of the entities with this name; empty for numbers."""
    number: str = ""
    """The digits of a number without separators."""
    unit: str = ""
    """The unit after the number, as spelt in ``_UNITS``; empty if there is none."""
    values: tuple[str, ...] = ()
    """Literals that are stated so, if they were looked for."""


def tokenise_text(text: str) -> list[Token]:
    """Splits a text into words, numbers and possessives, up to ``MAX_QUESTION_LENGTH``."""
    tokens = []
    for match in _TOKEN.finditer(clean_text(text, MAX_QUESTION_LENGTH)):
        word = match.group()
        if match.lastgroup == "number":
            digits = re.sub(r"[^\d.eE+-]", "", word.replace("−", "-"))
            tokens.append(Token(word, digits.lstrip("+"), number=True))
        elif match.lastgroup == "possessive":
            tokens.append(Token(word, POSSESSIVE))
        else:
            tokens.append(Token(word, fold_text(word)))
    return tokens


def build_name_key(name: str) -> tuple[str, ...]:
    """Returns the key that a name is looked up by: folded tokens without a leading article."""
    keys = tuple(token.key for token in tokenise_text(name))
    return keys[1:] if len(keys) > 1 and keys[0] in ARTICLES else keys


def build_unit_key(unit: str) -> str:
    """Returns a unit as ``Mention.unit`` spells it: ``m³/s`` → ``m3 s``."""
    key = " ".join(token.key for token in tokenise_text(unit))
    return next((name for name, spellings in _UNITS.items() if key in spellings), key)


class MentionIndex:
    """Index of the names of all entities of a knowledge base, to find them in questions."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb, self._labels = kb, kb.labels
        self._values: dict[str, dict[tuple[str, ...], tuple[str, ...]]] = {}
        self._names: dict[tuple[str, ...], dict[str, int]] = {}
        self._max_lengths: dict[str, int] = {}
        self.classes: dict[tuple[str, ...], str] = {}
        """Name of a class → its IRI."""
        schema = _collect_schema_terms(kb)
        class_nouns: dict[str, tuple[str, ...]] = {}
        other_nouns = _collect_other_nouns(kb)
        described = _collect_described_terms(kb, schema)
        for iri in _list_nodes(kb):
            if iri in schema and iri not in described:
                continue
            names = kb.labels.list_names(iri)
            label = kb.labels.get_label(iri)
            # Generated sentences may use a longer name that is unambiguous. It is indexed too.
            for name in dict.fromkeys((label, kb.verbaliser.render_term(iri), *names)):
                self._add_name(
                    build_name_key(name), iri, _LABEL_RANK if name == label else _ALIAS_RANK
                )
            nouns = []
            for cls in sorted(kb.verbaliser.collect_types(iri)):
                if cls not in class_nouns:
                    class_nouns[cls] = build_name_key(kb.verbaliser.get_class_noun(cls))
                nouns.append(class_nouns[cls])
            for short_name in _list_short_forms(build_name_key(label), nouns, other_nouns):
                self._add_name(short_name, iri, _SHORT_RANK)
        for iri in schema:
            if schema[iri] == "class":
                self.classes.setdefault(build_name_key(kb.verbaliser.get_class_noun(iri)), iri)
        domain_units = (build_unit_key(words.unit) for words in kb.domain.predicates.values())
        spellings = {unit: (unit,) for unit in domain_units if unit} | _UNITS
        units = [
            (tuple(s.split()), unit)
            for unit, unit_spellings in spellings.items()
            for s in unit_spellings
        ]
        self._units = sorted(units, key=lambda pair: -len(pair[0]))
        self._max_unit_length = len(self._units[0][0])

    def _add_name(self, key: tuple[str, ...], iri: str, rank: int) -> None:
        if key and len(key) <= MAX_NAME_TOKENS:
            ranks = self._names.setdefault(key, {})
            ranks[iri] = min(ranks.get(iri, rank), rank)
            self._max_lengths[key[0]] = max(self._max_lengths.get(key[0], 0), len(key))

    def find_entities(self, key: tuple[str, ...]) -> tuple[str, ...]:
        """Finds the entities with this label, or else with this alias, or else this short form."""
        ranks = self._names.get(key)
        if not ranks:
            return ()
        best_rank = min(ranks.values())
        return tuple(
            self._labels.merge_aliases(iri for iri, rank in ranks.items() if rank == best_rank)
        )

    def _list_values(self, pred: str) -> dict[tuple[str, ...], tuple[str, ...]]:
        """Lists the values of a predicate: their tokens → the literals, without lone numbers."""
        known = self._values.get(pred)
        if known is not None:
            return known
        index = self._kb.oracle.closure.index
        p = index.terms.get(pred)
        values: dict[tuple[str, ...], dict[str, None]] = {}
        for o in index.list_distinct_objects(p) if p is not None else ():
            text = index.terms.get_text(o)
            if not is_literal(text):
                continue
            tokens = tokenise_text(self._kb.verbaliser.render_term(text))
            keys = tuple(token.key for token in tokens)
            is_number = len(tokens) == 1 and tokens[0].number
            is_name = 0 < len(keys) <= MAX_NAME_TOKENS and not _TEMPLATE_WORDS.issuperset(keys)
            if is_name and not is_number:
                values.setdefault(keys, {})[text] = None
        known = self._values[pred] = {key: tuple(texts) for key, texts in values.items()}
        return known

    def find_mentions(self, tokens: Sequence[Token], value_of: str = "") -> list[Mention]:
        """Finds the mentions in order, without overlaps.

        If the question uses capitals, names written in lower case ("main", "lot") count only if
        the question would otherwise mention fewer than two entities or numbers.

        Args:
            tokens: the question.
            value_of: a predicate whose other literals than numbers are looked for, too.
        """
        uses_capitals = any(token.text[:1].isupper() for token in tokens[1:])
        mentions: list[Mention] = []
        lower_case_mentions: list[Mention] = []
        position = 0
        while position < len(tokens):
            mention = self._match_number(tokens, position) if tokens[position].number else None
            mention = self._match_longest_name(tokens, position) or mention
            value = self._match_longest_value(tokens, position, value_of) if value_of else None
            if value is not None and (mention is None or value.end > mention.end):
                mention = value
            elif value is not None and mention is not None and value.end == mention.end:
                mention = mention._replace(values=value.values)
            if mention is None:
                position += 1
                continue
            is_lower_case = uses_capitals and not is_capitalised(
                tokens[mention.start : mention.end]
            )
            (lower_case_mentions if is_lower_case and mention.entities else mentions).append(
                mention
            )
            # A name in lower case must not hide a capitalised name that starts inside it.
            position = mention.start + 1 if is_lower_case and mention.entities else mention.end
        used_positions = {i for mention in mentions for i in range(mention.start, mention.end)}
        for mention in lower_case_mentions if len(mentions) < 2 else ():
            if used_positions.isdisjoint(range(mention.start, mention.end)):
                mentions.append(mention)
                used_positions.update(range(mention.start, mention.end))
        return sorted(mentions)

    def _match_longest_name(self, tokens: Sequence[Token], position: int) -> Mention | None:
        first_key = tokens[position].key
        for length in range(
            min(self._max_lengths.get(first_key, 0), len(tokens) - position), 0, -1
        ):
            if length == 1 and position == 0 and first_key in _AUXILIARIES:
                return None
            entities = self.find_entities(
                tuple(token.key for token in tokens[position : position + length])
            )
            if entities:
                return Mention(position, position + length, entities)
            # "the Danube's river system" is the Danube river system.
            window = [token.key for token in tokens[position : position + length + 1]]
            if length > 1 and window.count(POSSESSIVE) == 1 and window[-1] != POSSESSIVE:
                entities = self.find_entities(tuple(key for key in window if key != POSSESSIVE))
                if entities:
                    return Mention(position, position + length + 1, entities)
        return None

    def _match_longest_value(
        self, tokens: Sequence[Token], position: int, pred: str
    ) -> Mention | None:
        known = self._list_values(pred)
        if not known:
            return None
        keys = tuple(token.key for token in tokens[position : position + MAX_NAME_TOKENS])
        for end in range(position + len(keys), position, -1):
            values = known.get(keys[: end - position])
            if values:
                return Mention(position, end, values=values)
        return None

    def _match_number(self, tokens: Sequence[Token], position: int) -> Mention:
        start = position
        digits = tokens[position].key
        if position > 0 and tokens[position - 1].key == "minus" and not digits.startswith("-"):
            digits, start = f"-{digits}", position - 1
        next_keys = tuple(
            token.key for token in tokens[position + 1 : position + 1 + self._max_unit_length]
        )
        for spelling, unit in self._units:
            if next_keys[: len(spelling)] == spelling:
                return Mention(start, position + 1 + len(spelling), number=digits, unit=unit)
        return Mention(start, position + 1, number=digits)


def list_askable_predicates(kb: KnowledgeBase) -> list[str]:
    """Lists the predicates that questions may be about: the domain's, or else all with data."""
    if kb.domain.predicates:
        return list(kb.domain.predicates)
    return [pred for pred in kb.predicates if not is_vocabulary(pred)]


def _list_short_forms(
    name: tuple[str, ...],
    nouns: Iterable[tuple[str, ...]],
    other_nouns: Mapping[tuple[str, ...], Sequence[tuple[str, ...]]],
) -> Iterable[tuple[str, ...]]:
    """Yields a name without its type word, or with another one.

    For example "the Baltic" for the Baltic Sea, or "the Danube basin" for the Danube river system.
    """
    for noun in nouns:
        size = len(noun)
        if 0 < size < len(name) and name[-size:] == noun:
            stem = name[:-size]
            if len(stem) > 1 or stem[0] not in _NOT_SHORT_NAMES:
                yield stem
            if size > 1:
                yield (*stem, noun[-1])
            for other in other_nouns.get(noun, ()):
                yield (*stem, *other)


def _collect_other_nouns(kb: KnowledgeBase) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """Collects other nouns for a type, by its name.

    If a predicate's label names the type of its values ("river system"), then so do its synonyms
    that are nouns ("basin").
    """
    nouns_by_type: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for pred in kb.domain.predicates:
        phrases = kb.verbaliser.get_wording(pred).synonyms
        nouns = [build_name_key(phrase) for phrase in phrases if parse_label(phrase).kind == "noun"]
        nouns_by_type.setdefault(build_name_key(kb.verbaliser.get_label(pred)), []).extend(nouns)
    return nouns_by_type


def is_capitalised(tokens: Iterable[Token]) -> bool:
    """Whether a word begins with a capital, a digit, or a letter of a script without capitals."""
    return any(
        char.isupper() or char.isdigit() or (char.isalpha() and char.lower() == char.upper())
        for token in tokens
        for char in token.text[:1]
    )


def _collect_described_terms(kb: KnowledgeBase, schema: Mapping[str, str]) -> set[str]:
    """Collects the classes and predicates that facts are stated about, as in a vocabulary."""
    index = kb.oracle.closure.index
    terms = index.terms
    subjects = {
        terms.get_text(s)
        for pred in list_askable_predicates(kb)
        if (p := terms.get(pred)) is not None
        for s in index.get_subjects(p)
    }
    return subjects.intersection(schema)


def _list_nodes(kb: KnowledgeBase) -> Iterable[str]:
    """Yields the IRIs that are subject or object of any triple, in the graph's order."""
    nodes: dict[int, None] = {}
    for s, _, o in kb.graph.index.iter_triples():
        nodes.setdefault(s)
        nodes.setdefault(o)
    get_text = kb.graph.index.terms.get_text
    for term in nodes:
        iri = get_text(term)
        if not iri.startswith(('"', "_:")):
            yield iri


def _collect_schema_terms(kb: KnowledgeBase) -> dict[str, str]:
    """Collects the terms that are not entities.

    Returns:
        IRI → ``class``, ``predicate``, or ``vocabulary`` for terms of RDF, RDFS, OWL, SHACL and
        SKOS.
    """
    index = kb.oracle.closure.index
    terms = index.terms
    kinds: dict[str, str] = {}
    rdf_type, sub_class = terms.get(RDF_TYPE), terms.get(RDFS + "subClassOf")
    if rdf_type is not None:
        for _, cls in index.iter_pairs(rdf_type):
            kinds.setdefault(terms.get_text(cls), "class")
    if sub_class is not None:
        for pair in index.iter_pairs(sub_class):
            for cls in pair:
                kinds.setdefault(terms.get_text(cls), "class")
    for pred in kb.predicates:
        kinds[pred] = "predicate"
    for iri in list(kinds):
        if is_vocabulary(iri):
            kinds[iri] = "vocabulary"
    if rdf_type is not None:
        for s, o in index.iter_pairs(rdf_type):
            kind = terms.get_text(o)
            # Nodes that only represent an axiom (a negative property assertion) are not entities.
            if kind.startswith((OWL, RDF, RDFS)) and not kind.endswith(_INDIVIDUAL_TYPES):
                kinds.setdefault(
                    terms.get_text(s), "class" if kind.endswith("#Class") else "predicate"
                )
    return kinds
