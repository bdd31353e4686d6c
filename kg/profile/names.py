"""Finds what a graph's things and predicates are called, and whether a question can name them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from kg.base.plain_text import clean_text, list_words
from kg.domain import CodedNaming
from kg.fact_predicates import find_notes
from kg.graph import Graph
from kg.profile.known_labels import find_known_label
from kg.profile.namesakes import find_qualifiers
from kg.profile.record_nouns import names_participant
from kg.terms import OWL, RDF_TYPE, RDFS, SKOS, iri_tail, is_malformed_iri, parse_literal
from kg.triples.index import Index
from kg.vocabulary import NAMED_NODE, is_vocabulary
from kg.words.coded_names import CodePrefixes
from kg.words.label_grammar import is_english, split_name
from kg.words.label_words import spell_out_label
from kg.words.labels import LABEL_PREDICATES, Labels
from kg.words.name_forms import list_name_words, says_quantity
from kg.words.qualifiers import is_named_after
from kg.words.readable_names import (
    is_bare_number,
    is_code,
    is_code_of_thing,
    is_opaque,
    is_readable_value,
)

MAX_LABEL_WORDS = 8
"""Maximum number of words of a predicate's label."""
MAX_LANGUAGES = 4
"""Maximum number of languages of labels, the most frequent ones."""
MIN_LANGUAGE_SHARE = 0.05
"""Minimum share of the named things that have a name in a language."""
MIN_NAMED_SUBJECTS = 15
"""Minimum number of subjects of a naming predicate."""
MIN_DISTINCT_NAMES = 0.8
"""Minimum number of distinct values of a naming predicate, as a share of its subjects."""
MIN_DISTINCT_PLAIN_NAMES = 0.2
"""The same of a predicate that is called just "name", "title" or "label": several things may have
one name, but "Mr" and "Mrs" are no names."""
MIN_FORMAL_SHARE = 0.9
"""Minimum share of the things with a common name that must have a formal one, too, to be called by
that."""
MAX_MEAN_NAME_LENGTH = 60
"""Maximum mean length of the values of a naming predicate, in characters."""
MAX_TITLE_LENGTH = 100
"""Maximum length of a title that a question can quote, in characters."""
MIN_SHORT_TITLES = 0.25
"""Minimum share of such titles among the values of a predicate called just "name", "title" or
"label", if their mean length is above the maximum. What has a longer one is not asked about."""

MIN_PART = 3
"""Minimum length of a name that is a part of another one; with this length, it must be a word."""

_NAMING = re.compile(r"(name|label|title)$", re.IGNORECASE)
_PLAIN_NAMING = re.compile(r"(.*[#/:.])?(has_?)?(name|label|title)", re.IGNORECASE)
_FORM = re.compile(
    r"(?<=name|abel|itle)[_.-]?(short|long|full|official|preferred|main|alternative|alternate)$",
    re.IGNORECASE,
)
"""What may follow: ``eli:title_short``."""
_NAMING_IRIS = frozenset(
    [
        "http://schema.org/headline",
        "https://schema.org/headline",
        "http://www.w3.org/2006/vcard/ns#fn",
        "http://www.w3.org/ns/lemon/ontolex#writtenRep",
        "http://purl.obolibrary.org/obo/IAO_0000111",  # editor preferred term
        "http://www.ica.org/standards/RiC/ontology#textualValue",
    ]
)
"""Predicates of well-known vocabularies that give names, but are not called so."""
_INFORMAL = re.compile(
    r"(?:vernacular|common|popular|nick|screen|user|maiden|former)[_-]?(?:name|label|title)s?$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{2}")
_OTHERS = re.compile(
    r"(?:father|mother|parent|spouse|husband|wife|partner|child|son|daughter|brother|sister|friend|"
    r"country|city|town|village|region|state|province|county|district|street|place|location|"
    r"company|firm|organi[sz]ation|institution|school|university|publisher|type|category|class|"
    r"genre|group|team|club|series|collection|album|journal|job|position|role|profession|captain)"
)
"""What may come before "name" in a predicate for the name of another thing than its subject, beside
words for people such as "author"."""
_OWN = frozenset(
    list_words(
        "has is the its full legal scientific common short long preferred pref official display "
        "displayed alternative alternate alt given family first last sur middle maiden birth nick "
        "stage pen user screen known current main primary proper original native local english "
        "vernacular binomial canonical formal complete registered trade brand popular generic "
        "standard unique simple human readable pretty default systematic international iupac file "
        "host domain code fore vor nach kurz voll eigen name title label object "
        "item entity thing resource record self"
    )
)
"""What may come before "name" in a predicate for the name of its subject."""


def is_usable_iri(iri: str) -> bool:
    """Returns whether an IRI is well-formed, so that it can be written in Turtle and TOML."""
    import pyoxigraph

    if is_malformed_iri(iri):
        return False
    try:
        pyoxigraph.NamedNode(iri)
    except ValueError:  # a surrogate is one, too
        return False
    return True


def find_naming_predicates(graph: Graph) -> tuple[str, ...]:
    """Finds the graph's own predicates whose values are names: short, and different ones.

    Those called just "name", "title" or "label" come first, those with many long titles last.
    Common names of what has a formal one are none: "wolves and dogs" is called Canidae.
    """
    index, terms = graph.index, graph.index.terms
    found = []
    named: dict[str, set[int]] = {}
    for p in index.list_predicates():
        iri = terms.get_text(p)
        is_known = iri in _NAMING_IRIS
        name = _FORM.sub("", iri)
        if is_vocabulary(iri) or not (is_known or _NAMING.search(name)) or not is_usable_iri(iri):
            continue
        pairs = list(index.iter_pairs(p))
        values = {o for _, o in pairs}
        n_subjects = len({s for s, _ in pairs})
        is_plain = _PLAIN_NAMING.fullmatch(name) is not None
        if (
            (is_plain or n_subjects >= MIN_NAMED_SUBJECTS)
            and (is_known or not _names_another(index, name, {s for s, _ in pairs}))
            and all(map(terms.is_literal, values))
            and len(values)
            >= (MIN_DISTINCT_PLAIN_NAMES if is_plain else MIN_DISTINCT_NAMES) * n_subjects
            and (length := _classify_lengths([len(terms.get_text(o)) for o in values], is_plain))
        ):
            found.append((length == "titles", not is_plain, name != iri, iri))
            named[iri] = {s for s, _ in pairs}
    formal = set().union(*(named[iri] for iri in named if not _INFORMAL.search(iri)))
    return tuple(
        iri
        for *_, iri in sorted(found)
        if not _INFORMAL.search(iri)
        or len(named[iri] & formal) < MIN_FORMAL_SHARE * len(named[iri])
    )


def _classify_lengths(lengths: list[int], is_plain: bool) -> str:
    """Says whether values are as short as "names", or at least as "titles"; empty if longer."""
    if sum(lengths) <= MAX_MEAN_NAME_LENGTH * len(lengths):
        return "names"
    n_short = sum(length <= MAX_TITLE_LENGTH for length in lengths)
    return "titles" if is_plain and n_short >= MIN_SHORT_TITLES * len(lengths) else ""


def _names_another(index: Index, iri: str, subjects: Collection[int]) -> bool:
    """Returns whether a predicate gives the name of something else: "author name" of a book.

    The word before "name" must say which name it is ("legal name"), or be that of a class of the
    subjects. If these have no class, it must be no word for others.
    """
    words = _NAMING.sub("", split_name(iri_tail(iri)).casefold()).split()
    owner = next((word for word in reversed(words) if word not in _OWN), "")
    is_other = names_participant(owner) or _OTHERS.fullmatch(owner) is not None
    if not owner or (_PLAIN_NAMING.fullmatch(iri) and not is_other):
        return False
    p = index.terms.get(RDF_TYPE)
    classes = {c for s in subjects for c in index.find_objects(s, p)} if p is not None else set()
    nouns = {text for c in classes if not (text := index.terms.get_text(c)).startswith(OWL)}
    class_words = {word for text in nouns for word in split_name(iri_tail(text)).casefold().split()}
    if owner in class_words or owner.removesuffix("s") in class_words:
        return False
    return is_other or bool(class_words)


def find_languages(graph: Graph, naming_predicates: Collection[str] = ()) -> tuple[str, ...]:
    """Finds the languages of the graph's labels: English first if it has it, then by number."""
    index, terms = graph.index, graph.index.terms
    named = {
        (s, parse_literal(terms.get_text(o)).language.split("-")[0])
        for iri in (*LABEL_PREDICATES, *naming_predicates)
        if (p := terms.get(iri)) is not None
        for s, o in index.iter_pairs(p)
        if terms.is_literal(o)
    }
    counts = Counter(language for _, language in named)
    total = len({s for s, _ in named})
    languages = sorted(
        (
            tag
            for tag, n in counts.items()
            if re.fullmatch("[a-z]{2,8}", tag) and n >= MIN_LANGUAGE_SHARE * total
        ),
        key=lambda tag: (tag != "en", -counts[tag], tag),
    )
    return tuple(languages[:MAX_LANGUAGES]) or ("en",)


class Naming(NamedTuple):
    """What the things of a graph are called: the arguments of ``Labels``."""

    languages: tuple[str, ...]
    predicates: tuple[str, ...]
    qualifiers: tuple[str, ...] = ()
    coded_names: CodedNaming = ""

    def make_labels(self, graph: Graph) -> Labels:
        """Makes the labels of a graph."""
        return Labels(graph, *self)


def choose_naming(graph: Graph, *, with_opaque: bool = False) -> Naming:
    """Chooses what the things of a graph are called.

    Args:
        graph: the graph.
        with_opaque: whether things whose IRI ends in a UUID or hash get a name, too.
    """
    predicates = find_naming_predicates(graph)
    naming = Naming(find_languages(graph, predicates), predicates)
    if with_opaque or _has_coded_things(graph, naming.make_labels(graph)):
        naming = naming._replace(coded_names="all" if with_opaque else "numbers")
    return naming._replace(qualifiers=find_qualifiers(graph, naming.make_labels(graph)))


def _has_coded_things(graph: Graph, labels: Labels) -> bool:
    """Returns whether a thing with a class, or a value, has no other name than a code."""
    index, terms = graph.index, graph.index.terms
    p = terms.get(RDF_TYPE)
    nodes = set(() if p is None else index.get_subjects(p)) - terms.blanks
    if any(
        is_code_of_thing(iri_tail(text := terms.get_text(s))) and not labels.has_label(text)
        for s in nodes
    ):
        return True
    return any(
        is_bare_number(iri_tail(text := terms.get_text(o))) and not labels.has_label(text)
        for q in index.list_predicates()
        if not is_vocabulary(terms.get_text(q))
        for o in index.list_distinct_objects(q)
        if o not in terms.blanks and not terms.is_literal(o)
    )


class Names:
    """The names of one graph's things and predicates.

    Args:
        graph: the graph.
        labels: its labels.
        left_out: nodes that no question may mention, beside ontologies and obsolete terms.
    """

    def __init__(self, graph: Graph, labels: Labels, left_out: Collection[str] = ()) -> None:
        self._index = graph.index
        self._labels = labels
        self._codes = CodePrefixes(graph.index)
        self.notes = find_notes(graph.index)
        self._left_out = {*left_out, *map(graph.index.terms.get_text, self.notes.nodes)}
        self._nameable: dict[int, bool] = {}
        self._words: dict[int, frozenset[str]] = {}
        self._names_by_code: dict[str, str | None] | None = None

    def is_nameable(self, term: int) -> bool:
        """Returns whether a question can name a term: by a unique, readable name or a value."""
        nameable = self._nameable.get(term)
        if nameable is None:
            text = self._index.terms.get_text(term)
            if text.startswith('"'):
                nameable = is_readable_value(parse_literal(text).lexical)
            elif text.startswith("_:") or text in self._left_out:
                nameable = False
            else:
                name = self._labels.get_label(text)
                # The label must lead to this entity only, or to none.
                nameable = self._labels.is_readable(text) and (
                    self._labels.find_entities(name) in ([text], [])
                )
                # The start of a UUID alone says nothing of a thing without a class.
                if nameable and " " not in name and is_opaque(iri_tail(text)):
                    nameable = self._labels.has_label(text)
            self._nameable[term] = nameable
        return nameable

    def get_words(self, term: int) -> frozenset[str]:
        """Returns the words of a term's name, case-folded."""
        words = self._words.get(term)
        if words is None:
            words = self._words[term] = frozenset(list_name_words(self.get_name(term)))
        return words

    def get_name(self, term: int) -> str:
        """Returns what a term is called; of a literal its lexical form."""
        return self._labels.get_label(self._index.terms.get_text(term))

    def says(self, term: int, other: int) -> bool:
        """Returns whether a term is named after the other one, in brackets or as a part of it."""
        get_text = self._index.terms.get_text
        text = get_text(term)
        if self.is_part(term, other):
            return True
        qualifier = "" if self._index.terms.is_literal(term) else self._labels.get_qualifier(text)
        if not qualifier:
            return False
        name = self._labels.find_readable_name(other)
        to_form = self._labels.to_normal_form
        return bool(name) and f" {to_form(name)} " in f" {to_form(qualifier)} "

    def is_part(self, term: int, owner: int) -> bool:
        """Returns whether a term is a blank node that was named after its owner."""
        text = self._index.terms.get_text(term)
        return text.startswith(NAMED_NODE) and is_named_after(
            self.get_name(term), self.get_name(owner)
        )

    def contains(self, term: int, other: int) -> bool:
        """Returns whether the name of a term has that of another one in it: "Megavolt" has "Mega".

        One longer than ``MIN_PART`` may begin or end a word. Words joined by capitals count apart,
        and so do numbers: "277V" has 277, "AC-240V-60Hz" has "60 Hertz", and "T2" has 2.
        """
        if self._index.terms.is_literal(term):
            return False
        labels = self._labels
        names = [labels.find_readable_name(t) for t in (term, other)]
        if says_quantity(*names, min_digits=1):
            return True
        name, part = (labels.to_normal_form(split_name(text)) for text in names)
        padded = f" {name} "
        if len(part) <= MIN_PART:
            return bool(part) and f" {part} " in padded
        return f" {part}" in padded or f"{part} " in padded

    def find_predicate_label(self, iri: str) -> str:
        """Returns what a predicate is called in sentences; empty if it has no readable name.

        The name is its label, that of a well-known vocabulary, its local name, or the label of
        another term with the same code (of ``wd:P31`` for ``wdt:P31``).
        """
        if self._labels.has_label(iri):
            label, language = self._choose_label(iri)
            name = self._codes.drop(iri, " ".join(label.split()))
            # A longer one is a definition or somebody's notice.
            if not is_code(name) and len(name.split()) <= MAX_LABEL_WORDS:
                # The capital of "Gestein" belongs to the word.
                if not is_english(language):
                    return clean_text(name)
                return spell_out_label(clean_text(split_name(name)))
        if known_label := find_known_label(iri):
            return clean_text(known_label)
        tail = self._codes.drop(iri, iri_tail(iri))
        if " " not in tail:
            tail = tail.rsplit(".", 1)[-1]  # "department" of "Employee.department"
        name = split_name(tail)
        if not is_code(tail) and not is_code(name) and _WORD.search(name):
            return spell_out_label(clean_text(name))
        return clean_text(self._find_label_by_code(tail))

    def find_class_noun(self, iri: str) -> str:
        """Returns what the members of a class are called; may be a code."""
        return split_name(self._codes.drop(iri, self._labels.get_label(iri)))

    def find_local_name(self, iri: str) -> str:
        """Returns the words of the last part of an IRI."""
        return split_name(self._codes.drop(iri, iri_tail(iri)))

    def _choose_label(self, iri: str) -> tuple[str, str]:
        """Returns a label that does not depend on the order of the graph, and its language."""
        index, terms = self._index, self._index.terms
        s = terms.get(iri)
        candidates = []
        for rank, name in enumerate(LABEL_PREDICATES):
            p = terms.get(name)
            for o in index.find_objects(s, p) if s is not None and p is not None else ():
                text = terms.get_text(o)
                if terms.is_literal(o) and parse_literal(text).lexical.strip():
                    lexical, _, language = parse_literal(text)
                    is_alias = name == SKOS + "altLabel"
                    candidates.append((is_alias, self._rank(language), rank, lexical, language))
        # Without one of these it has a name of the graph's own naming predicates.
        if not candidates:
            return self._labels.get_label(iri), self._labels.get_language(iri)
        return min(candidates)[3:]

    def _rank(self, language: str) -> int:
        languages = self._labels.languages
        main = language.split("-")[0]
        if main in languages:
            return languages.index(main)
        return len(languages) + bool(language)

    def _find_label_by_code(self, tail: str) -> str:
        if self._names_by_code is None:
            names: dict[str, str | None] = {}
            terms = self._index.terms
            subjects = {
                s
                for name in (RDFS + "label", SKOS + "prefLabel")
                if (p := terms.get(name)) is not None
                for s in self._index.get_subjects(p)
            }
            for text in sorted(terms.get_text(s) for s in subjects if s not in terms.blanks):
                code, name = iri_tail(text), self._choose_label(text)[0]
                if is_code(code) and not is_code(name):
                    # Codes are compared only if one term has them: "12" may be anything.
                    is_new = code not in names or names[code] == name
                    names[code] = name if is_new else None
            self._names_by_code = names
        return self._names_by_code.get(tail) or ""
