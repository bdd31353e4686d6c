"""Finds the labels and aliases of entities, and entities by name.

Labels are read from the graph on demand. The index by name is built on the first call of
``find_entities``, because writing cards for a graph of a million triples never needs it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kg.terms import OWL, RDF, RDFS, SKOS, iri_tail, is_blank, is_iri, is_literal, parse_literal
from kg.vocabulary import is_vocabulary
from kg.words.aliases import Aliases
from kg.words.coded_names import ClassNouns, CodedNames, VocabularyNames
from kg.words.name_forms import ARTICLES, SimpleLiterals, drop_surname_marks, normalise_name
from kg.words.qualifiers import Qualifiers, add_qualifier
from kg.words.readable_names import (
    fits_sentence,
    is_bare_number,
    is_missing_value,
    is_opaque,
    is_readable_label,
    is_uuid_or_hash,
    may_be_real_name,
)

if TYPE_CHECKING:
    from kg.domain import CodedNaming
    from kg.graph import Graph

LABEL_PREDICATES = (RDFS + "label", SKOS + "prefLabel", SKOS + "altLabel")
"""Predicates that give names, in order of preference among labels of one language. The values of
``skos:altLabel`` are aliases; an alias is used as the label only if there is no other."""

ALIAS_RANK = LABEL_PREDICATES.index(SKOS + "altLabel")

_VOCABULARIES = (RDF, RDFS, OWL, SKOS, "http://www.w3.org/2001/XMLSchema#")


class Labels:
    """The labels and aliases in one graph.

    Args:
        graph: the graph with the labels.
        languages: preferred languages, best first; these precede labels without a language, which
            precede the others in the order of the graph.
        naming_predicates: IRIs of further predicates that give names, after ``LABEL_PREDICATES``.
        qualifiers: what tells apart things that share a label (see ``Qualifiers``). It is put
            after the label, in brackets; without qualifiers labels are as the graph has them.
        coded_names: which things without a label are named by their class and code.
    """

    def __init__(
        self,
        graph: Graph,
        languages: Sequence[str] = ("en",),
        naming_predicates: Sequence[str] = (),
        qualifiers: Sequence[str] = (),
        coded_names: CodedNaming = "",
    ) -> None:
        self._index = graph.index
        self._terms = graph.index.terms
        self.languages = tuple(language.lower() for language in languages)
        self._articles = frozenset(
            article
            for language in self.languages
            for article in ARTICLES.get(language.split("-")[0], ())
        )
        self._predicates = [
            (rank, term)
            for rank, text in enumerate([*LABEL_PREDICATES, *naming_predicates])
            if (term := self._terms.get(text)) is not None
        ]
        self._name_index: dict[str, int | list[int]] | None = None
        self._aliases: Aliases | None = None
        self._qualifier_by_term: dict[int, str] = {}
        nouns = ClassNouns(graph.index, self.find_readable_name)
        self._coded_names = CodedNames(graph.index, nouns, coded_names) if coded_names else None
        self._vocabulary_names = VocabularyNames(graph.index)
        self._qualifiers = (
            Qualifiers(graph.index, qualifiers, self.find_readable_name) if qualifiers else None
        )
        # Without what may be a hash.
        self._ascii_literal = re.compile(r'"(?![0-9A-Fa-f]{32})([A-Za-z0-9]+(?: [A-Za-z0-9]+)*+)"')
        self._simple_literals = SimpleLiterals(self._articles)

    def get_label(self, term: str) -> str:
        """Returns the preferred label of a term, or the last part of its IRI if it has none.

        A literal's label is its lexical form; that of an unlabelled blank node is its term text.
        """
        return self._qualify(term, self.get_plain_label(term))

    def _qualify(self, term: str, name: str) -> str:
        qualifier = self.get_qualifier(term)
        return add_qualifier(name, qualifier) if qualifier else name

    def get_qualifier(self, term: str) -> str:
        """Returns what the label of a term says in brackets, or an empty string."""
        if self._qualifiers is None and self._coded_names is None:
            return ""
        self._get_name_index()
        s = self._terms.get(term)
        return "" if s is None else self._qualifier_by_term.get(s, "")

    def is_readable(self, term: str) -> bool:
        """Returns whether a sentence can name an IRI by its label: it is short and no UUID or hash.

        What the graph itself gives as a label counts, unless it is only a UUID or hash, or has an
        IRI in it. If codes get names, a number alone is none, nor is one of several things. What
        is called "unknown" stands for a value that is not known.
        """
        only_label = self._find_only_label(term)
        name = self._qualify(term, only_label) if only_label else self.get_label(term)
        if not fits_sentence(name) or self._is_missing_value(term, name):
            return False
        if only_label or self.has_label(term):
            return True
        if self._coded_names and (is_bare_number(name) or len(self.find_entities(name)) > 1):
            return False
        return not is_opaque(name)

    def _is_missing_value(self, iri: str, name: str) -> bool:
        if not is_missing_value(name) or (s := self._terms.get(iri)) is None:
            return False
        edges = self._index.iter_out_edges(s) if may_be_real_name(name) else ()
        return all(is_vocabulary(self._terms.get_text(p)) for p, _ in edges)

    def find_readable_name(self, term: int) -> str:
        """Returns the label of a term, without a qualifier; empty if no reader understands it."""
        text = self._terms.get_text(term)
        name = self.get_plain_label(text)
        is_named = not is_opaque(name) or self.has_label(text)
        return name if not is_blank(text) and is_named and is_readable_label(name) else ""

    def get_plain_label(self, term: str) -> str:
        """Returns the label of a term without what tells it from others of this name."""
        if is_literal(term):
            return parse_literal(term).lexical
        single_label = self._find_only_label(term)
        if single_label:
            return single_label
        best_name = min(self._iter_graph_names(term), default=None)
        if best_name is not None:
            return best_name[1]
        return term if is_blank(term) else self._name_unlabelled(term)

    def _name_unlabelled(self, iri: str) -> str:
        coded_name = "" if self._coded_names is None else self._coded_names.find_name(iri)
        return coded_name or self._vocabulary_names.find_name(iri) or iri_tail(iri)

    def get_language(self, term: str) -> str:
        """Returns the language tag of the label that ``get_label`` gives; empty if it has none."""
        names = [(key, language) for key, _, language in self._iter_graph_names(term)]
        return min(names)[1] if names else ""

    def _find_only_label(self, term: str) -> str:
        """Returns the label of a term that has only one, of ASCII letters and digits; else empty.

        This is the usual case, and faster than comparing all labels.
        """
        s = self._terms.get(term)
        if s is None:
            return ""
        cells = [
            cell
            for _, predicate in self._predicates
            if (cell := self._index.get_row(predicate).get(s)) is not None
        ]
        if len(cells) != 1 or not isinstance(cells[0], int):
            return ""
        match = self._ascii_literal.match(self._terms.get_text(cells[0]))
        return "" if match is None else match[1]

    def list_names(self, term: str) -> list[str]:
        """Returns all names of a term, best first: labels and aliases of every language."""
        names = self._list_plain_names(term)
        return names if not self.get_qualifier(term) else [self.get_label(term), *names]

    def list_names_in_one_language(self, term: str) -> list[str]:
        """Returns the names in the label's language or without one, best first."""
        own = self.get_language(term).split("-")[0]
        return self._list_plain_names(term, {own, ""} if own else {"", *self.languages})

    def _list_plain_names(self, term: str, languages: Collection[str] = ()) -> list[str]:
        names = sorted(self._iter_graph_names(term))
        texts = [text for _, text, tag in names if not languages or tag.split("-")[0] in languages]
        return list(dict.fromkeys(texts)) or [self.get_plain_label(term)]

    def has_label(self, term: str) -> bool:
        """Returns whether the graph gives any name for the term."""
        return next(self._iter_graph_names(term), None) is not None

    def to_normal_form(self, name: str) -> str:
        """Normalises a name (see ``normalise_name``) with the articles of these languages."""
        return normalise_name(name, self._articles)

    def find_entities(self, name: str) -> list[str]:
        """Returns the IRIs with that name, ignoring case, accents, punctuation and article.

        Entities with the name as *label* precede those with the name as alias; each group is in
        the order of the graph. Of entities that are aliases of each other (``owl:sameAs``,
        ``skos:exactMatch``, ``skos:closeMatch``), only one is returned. The first call
        builds the index by name.
        """
        entry = self._get_name_index().get(self.to_normal_form(name), [])
        return [*map(self._terms.get_text, entry if isinstance(entry, list) else [entry])]

    def find_homonyms(self) -> dict[str, list[str]]:
        """Returns the names (labels and aliases) that several entities share, with their IRIs.

        The names are in the graph's order. Predicates do not count as entities here: a property
        and a class may share a word. Aliases of each other count as one entity.
        """
        terms_by_key: dict[str, dict[str, None]] = {}
        spelling_by_key: dict[str, str] = {}
        for term in self._iter_labelled_iris():
            s = self._terms.get(term)
            if s is not None and self._index.get_subjects(s):
                continue
            for name in self.list_names(term):
                key = self.to_normal_form(name)
                spelling_by_key.setdefault(key, name)
                terms_by_key.setdefault(key, {})[term] = None
        return {
            spelling_by_key[key]: merged
            for key, terms in terms_by_key.items()
            if len(terms) > 1 and len(merged := self.merge_aliases(terms)) > 1
        }

    def merge_aliases(self, iris: Iterable[str]) -> list[str]:
        """Returns one of each group of aliases among some IRIs of the graph."""
        ids = [term for term in map(self._terms.get, iris) if term is not None]
        return list(map(self._terms.get_text, self._get_aliases().merge(ids)))

    def list_aliases(self, iri: str) -> list[str]:
        """Returns the other IRIs of the same thing, and those that they are aligned with."""
        term = self._terms.get(iri)
        if term is None or not self._get_aliases().has_any():
            return []
        return [
            self._terms.get_text(o) for o in self._get_aliases().find_aliases(term) if o != term
        ]

    def _get_aliases(self) -> Aliases:
        if self._aliases is None:
            self._aliases = Aliases(self._index, [term for _, term in self._predicates])
        return self._aliases

    def _iter_graph_names(self, term: str) -> Iterator[tuple[tuple[int, int, int], str, str]]:
        """Yields (sort key, text, language) of each name of a term; smaller keys are better.

        A label that is only a UUID or hash is no name. No two names of a term have the same key.
        """
        s = self._terms.get(term)
        if s is None:
            return
        position = 0
        for rank, predicate in self._predicates:
            for o in self._index.find_objects(s, predicate):
                text = self._terms.get_text(o)
                if not is_literal(text):
                    continue
                lexical, _, language = parse_literal(text)
                name = drop_surname_marks(" ".join(lexical.split()))
                if name and not is_uuid_or_hash(name):
                    alias = int(rank == ALIAS_RANK)
                    yield (alias, self._language_rank(language), position), name, language
                    position += 1

    def _language_rank(self, language: str) -> int:
        for rank, preferred in enumerate(self.languages):
            if language == preferred:
                return 2 * rank
            if language.startswith(preferred + "-"):
                return 2 * rank + 1
        return 2 * len(self.languages) + bool(language)

    def _iter_labelled_iris(self) -> Iterator[str]:
        subjects: dict[int, None] = {}
        for _, predicate in self._predicates:
            subjects.update(dict.fromkeys(self._index.get_subjects(predicate)))
        yield from filter(is_iri, map(self._terms.get_text, subjects))

    def _collect_named_iris(self) -> tuple[list[int], list[int]]:
        """Returns the ids of the IRIs that have a name, and the id of the name of each.

        The id of the name is -1 for an IRI with several names.

        Works on whole rows of the index, because it runs over every entity of the graph.
        """
        index, blanks = self._index, self._terms.blanks
        rows = [index.get_row(predicate) for _, predicate in self._predicates]
        with_several_names = {
            s for row, other in itertools.combinations(rows, 2) for s in row if s in other
        }
        subjects: list[int] = []
        names: list[int] = []
        visited: set[int] = set()
        for row in rows:
            new_subjects = [s for s in row if s not in blanks and s not in visited]
            cells = map(row.__getitem__, new_subjects)
            subjects += new_subjects
            names += [
                cell if cell.__class__ is int and s not in with_several_names else -1
                for s, cell in zip(new_subjects, cells, strict=True)
            ]
            if with_several_names:
                visited.update(row)
        return subjects, names

    def _iter_unnamed_iris(self) -> Iterator[int]:
        """Yields the nodes without a name, in the graph's order.

        ``find_entities`` finds these by the last part of their IRI.
        """
        texts = self._terms.texts
        unnamed_nodes: Iterable[int] = range(len(texts))
        for _, predicate in self._predicates:
            unnamed_nodes = itertools.filterfalse(
                self._index.get_row(predicate).__contains__, unnamed_nodes
            )
        # Only few nodes remain, so their text is tested before the walk over the whole graph.
        yield from self._index.iter_used_nodes(
            {
                node
                for node in unnamed_nodes
                if texts[node][:1] != '"'
                and is_iri(texts[node])
                and not texts[node].startswith(_VOCABULARIES)
            }
        )

    def _get_name_index(self) -> dict[str, int | list[int]]:
        """Returns the index: normalised name → the term with that name, or a list of several.

        Labels precede aliases. A graph of a million triples has some 200,000 names, so the work
        per name is small, and a list is made only for names of several terms.
        """
        if self._name_index is None:
            aliases: list[tuple[str, int]] = []
            texts = self._terms.texts
            subjects, literals = self._collect_named_iris()
            names = self._simple_literals.normalise([texts[o] if o >= 0 else "" for o in literals])
            name_index: dict[str, int | list[int]] = dict(zip(names, subjects, strict=True))
            if len(name_index) < len(subjects) or "" in name_index:
                # Some names are shared or not simple, so they are added one by one.
                name_index = {}
                for s, name in zip(subjects, names, strict=True):
                    if name:
                        _add_name(name_index, name, s)
                        continue
                    name, *alias_names = dict.fromkeys(
                        map(self.to_normal_form, self._list_plain_names(texts[s]))
                    )
                    _add_name(name_index, name, s)
                    aliases += [(other, s) for other in alias_names]
            for s in self._iter_unnamed_iris():
                _add_name(name_index, self.to_normal_form(self._name_unlabelled(texts[s])), s)
            for name, s in aliases:
                _add_name(name_index, name, s)
            known_aliases = self._get_aliases()
            for name, entry in name_index.items():
                if isinstance(entry, list):
                    terms = known_aliases.merge(entry)
                    name_index[name] = terms if len(terms) > 1 else terms[0]
                elif known_aliases.has_any():
                    name_index[name] = known_aliases.get_main(entry)
            self._name_index = name_index
            if self._qualifiers is not None or self._coded_names is not None:
                self._add_qualified_names(name_index)
        return self._name_index

    def iter_shared_labels(self) -> Iterator[tuple[str, list[int], list[int]]]:
        """Yields each label of several entities: its normal form, and ids of two kinds.

        These are the entities with this label or alias, and those of them with this label.
        """
        get_text = self._terms.get_text
        for name, entry in self._get_name_index().items():
            if isinstance(entry, list):
                yield (
                    name,
                    entry,
                    [
                        term
                        for term in entry
                        if self.to_normal_form(self.get_plain_label(get_text(term))) == name
                    ],
                )

    def _add_qualified_names(self, name_index: dict[str, int | list[int]]) -> None:
        for name, namesakes, holders in self.iter_shared_labels():
            found = self._qualifiers.qualify(name, namesakes) if self._qualifiers else {}
            if self._coded_names is not None:
                rest = [s for s in holders if s not in found]
                found |= self._coded_names.tell_apart(name, rest)
            self._qualifier_by_term.update((s, found[s]) for s in holders if s in found)
            others = [s for s in namesakes if s not in found or s not in holders]
            if found and len(others) == 1 and self._is_spelt_otherwise(others[0], found):
                name_index[name] = others[0]
        for s, qualifier in self._qualifier_by_term.items():
            name = add_qualifier(self.get_plain_label(self._terms.get_text(s)), qualifier)
            _add_name(name_index, self.to_normal_form(name), s)

    def _is_spelt_otherwise(self, term: int, others: Iterable[int]) -> bool:
        """Returns whether a label differs from the others in case, accents or punctuation."""
        labels = [self.get_plain_label(self._terms.get_text(s)) for s in (term, *others)]
        return labels[0] not in labels[1:]


def _add_name(names: dict[str, int | list[int]], name: str, term: int) -> None:
    entry = names.get(name)
    if isinstance(entry, list):
        entry.append(term)
    else:
        names[name] = term if entry is None else [entry, term]
