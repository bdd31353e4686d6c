"""Names things without a label by their class and the code in their IRI: "order 10248".

The codes of classes and predicates themselves are dropped.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property

from kg.domain import CodedNaming
from kg.terms import RDF_TYPE, iri_tail, parse_literal
from kg.triples.index import Index
from kg.vocabulary import NAMED_NODE, is_vocabulary
from kg.words.label_grammar import split_name, to_common_noun
from kg.words.readable_names import (
    find_opaque_part,
    is_code,
    is_code_of_thing,
    split_joined_words,
)

CODE_LENGTH = 8
"""Number of characters of a UUID or hash that a name has."""
MIN_NUMBERED = 3
"""Minimum number of predicates, or of classes, with a code of the same letters in a namespace."""

_CODE = re.compile(r"([A-Z]{1,4})\d+[a-z]?[ _](?=.*[^\W\d_]{2})")


class CodePrefixes:
    """The codes before the names of predicates and classes: "P46 is composed of", "E54 Dimension".

    CIDOC-CRM and its relatives number their classes and properties. No sentence has room for the
    number; but "CO2 emission" is no emission, so that only codes of a numbered vocabulary are
    dropped.

    Args:
        index: the graph.
    """

    def __init__(self, index: Index) -> None:
        self._index = index

    def drop(self, iri: str, name: str) -> str:
        """Returns the name of a predicate or class without a code of its vocabulary.

        Args:
            iri: the predicate or class.
            name: its label or the last part of its IRI.
        """
        tail = iri_tail(iri)
        found = _CODE.match(tail)
        if found is None or (_find_namespace(iri), found[1]) not in self._numbered:
            return name
        # "P108i was produced by", and with a small first letter where the tail was split.
        return re.sub(rf"^{found[0][:-1]}[ _]", "", name, flags=re.IGNORECASE)

    @cached_property
    def _numbered(self) -> frozenset[tuple[str, str]]:
        """Returns namespaces and the letters of their codes, without which names differ, too."""
        terms = self._index.terms
        rdf_type = terms.get(RDF_TYPE)
        groups: dict[tuple[str, str, bool], list[str]] = defaultdict(list)
        for is_class, ids in (
            (False, self._index.list_predicates()),
            (True, () if rdf_type is None else self._index.get_objects(rdf_type)),
        ):
            for text in map(terms.get_text, ids):
                tail = iri_tail(text)
                if found := _CODE.match(tail):
                    rest = tail[found.end() :].casefold()
                    groups[_find_namespace(text), found[1], is_class].append(rest)
        return frozenset(
            (namespace, letters)
            for (namespace, letters, _), rests in groups.items()
            if len(rests) >= MIN_NUMBERED and len(set(rests)) == len(rests)
        )


def _find_namespace(iri: str) -> str:
    return re.split(r"[^#/:]*$", iri, maxsplit=1)[0]


class ClassNouns:
    """What the members of classes are called.

    Args:
        index: the graph.
        find_name: returns the name of a class; empty if no reader could understand it.
    """

    def __init__(self, index: Index, find_name: Callable[[int], str]) -> None:
        self._index = index
        self._find_name = find_name
        self._codes = CodePrefixes(index)
        self._rdf_type = index.terms.get(RDF_TYPE)
        self._nouns: dict[int, str] = {}

    def list_nouns(self, term: int) -> list[str]:
        """Lists what the classes of a term are called, the smallest class first."""
        if self._rdf_type is None:
            return []
        rdf_type = self._rdf_type
        classes = [
            (len(self._index.find_subjects(rdf_type, c)), noun)
            for c in self._index.find_objects(term, rdf_type)
            if (noun := self._find_noun(c))
        ]
        return [noun for _, noun in sorted(classes)]

    def is_schema_term(self, term: int) -> bool:
        """Returns whether a term is a predicate or class of the graph."""
        return bool(self._index.get_subjects(term)) or (
            self._rdf_type is not None and bool(self._index.find_subjects(self._rdf_type, term))
        )

    def _find_noun(self, c: int) -> str:
        noun = self._nouns.get(c)
        if noun is None:
            name = "" if is_vocabulary(self._index.terms.get_text(c)) else self._find_name(c)
            text = self._index.terms.get_text(c)
            if name == iri_tail(text) and " " not in name:
                name = name.rsplit(".", 1)[-1]  # "department" of "Employee.department"
            name = self._codes.drop(text, name)
            language = self._find_language(c, name)
            noun = self._nouns[c] = "" if is_code(name) else to_common_noun(name, language)
        return noun

    def _find_language(self, c: int, name: str) -> str:
        """Returns the language of a label of a class that is its name."""
        for _, o in self._index.iter_out_edges(c):
            if self._index.terms.is_literal(o):
                lexical, _, language = parse_literal(self._index.terms.get_text(o))
                if language and " ".join(lexical.split()) == name:
                    return language
        return ""


class CodedNames:
    """Names the things of a graph that have no label.

    Args:
        index: the graph.
        nouns: what the members of its classes are called.
        kind: which things are named.
    """

    def __init__(self, index: Index, nouns: ClassNouns, kind: CodedNaming) -> None:
        self._index = index
        self._nouns = nouns
        self._names_all = kind == "all"

    def find_name(self, term: str) -> str:
        """Returns the name of an unlabelled thing; empty if it needs none.

        It is called by the words before its UUID or hash ("DiskPartition4-5715fe11-…"), or else by
        its class; if it has none, by its code alone.
        """
        prefix, code = self._split_tail(term)
        s = self._index.terms.get(term)
        if not code or s is None or self._nouns.is_schema_term(s):
            return ""
        noun = split_name(prefix)
        if not noun or is_code(noun):
            noun = next(iter(self._nouns.list_nouns(s)), "")
        return f"{noun} {code}" if noun else code

    def tell_apart(self, name: str, terms: Iterable[int]) -> dict[int, str]:
        """Returns the code of each thing by which it differs from the others of its name."""
        get_text = self._index.terms.get_text
        codes = {
            s: code
            for s in terms
            if (code := self._split_tail(get_text(s))[1]) and not self._nouns.is_schema_term(s)
        }
        counts = Counter(codes.values())
        return {
            s: code
            for s, code in codes.items()
            if counts[code] == 1 and f" {code} " not in f" {name} "
        }

    def _split_tail(self, term: str) -> tuple[str, str]:
        if term.startswith(NAMED_NODE):
            return "", ""  # the code is our own
        tail = iri_tail(term)
        prefix, opaque, rest = find_opaque_part(tail)
        if opaque:
            return (prefix, self._shorten(opaque) + rest) if self._names_all else ("", "")
        # "Order 10248" says what it is.
        return "", tail if is_code_of_thing(tail) else ""

    def _shorten(self, opaque: str) -> str:
        return opaque[-CODE_LENGTH:] if self._have_equal_starts else opaque[:CODE_LENGTH]

    @cached_property
    def _have_equal_starts(self) -> bool:
        """Whether UUIDs begin alike, as those that begin with the time do."""
        opaque_parts = {
            part
            for text in self._index.terms.texts
            if (part := find_opaque_part(iri_tail(text))[1])
        }
        return 2 * len({part[:CODE_LENGTH] for part in opaque_parts}) < len(opaque_parts)


class VocabularyNames:
    """Names the values that a graph takes from a vocabulary: "Offline Event Attendance Mode".

    Their IRIs have joined words, and the graph describes none of them. They are in the namespace of
    one of its predicates, or of three words at least: "YouTube" may be a name.

    Args:
        index: the graph.
    """

    def __init__(self, index: Index) -> None:
        self._index = index

    def find_name(self, iri: str) -> str:
        """Returns the words of such a value; empty for other terms."""
        name = split_joined_words(iri_tail(iri))
        node = self._index.terms.get(iri) if name else None
        if node is None or next(self._index.iter_out_edges(node), None) is not None:
            return ""
        if any(self._index.find_subjects(p, node) for p in self._schema_predicates):
            return ""
        is_known = name.count(" ") > 1 or _find_namespace(iri) in self._namespaces
        return name if is_known else ""

    @cached_property
    def _schema_predicates(self) -> tuple[int, ...]:
        """Predicates whose objects are classes and the like."""
        get_text = self._index.terms.get_text
        return tuple(p for p in self._index.list_predicates() if is_vocabulary(get_text(p)))

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        get_text = self._index.terms.get_text
        return frozenset(_find_namespace(get_text(p)) for p in self._index.list_predicates())
