"""Caches look-ups in the knowledge base, for sampling cards."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from cards.facts import Fact, TermRole
from kg.claims import Claim
from kg.difficulty.fact_graph import FactGraph
from kg.fact_predicates import find_fact_predicates, find_notes
from kg.knowledge import KnowledgeBase
from kg.profile.graph_changes.disjoint_classes import KindChecker
from kg.terms import RDF_TYPE, RDFS, SKOS, get_lexical
from kg.triples.rows import Cell
from kg.validation.denials import iter_denials
from kg.words.name_forms import list_name_words
from kg.words.readable_names import is_missing_value, is_readable_label, is_readable_value

MAX_SAMPLED_SUBJECTS = 300
"""Maximum number of subjects, evenly spaced, by which a predicate's objects are sampled."""
MAX_INCOMING_FACTS = 20
"""Maximum number of incoming facts listed per term and predicate; a hub has thousands."""

Style: TypeAlias = tuple[bool, bool, bool]
"""Style of a sentence about a term: whether it starts with the term, whether its object is a
literal, and whether it is a denial."""

Appearance: TypeAlias = tuple[int, int, str, bool, tuple[int, ...], float]
"""What a reader or learner could see of a term, in this order: number of words of its name, number
of letters, last letter, whether the name is ASCII, the classes, and log1p of the number of facts of
the predicate with the term as object."""


class GraphLookup:
    """Cached look-ups in a knowledge base, all in term ids.

    Look-ups never scan the whole graph for each card: facts are read by subject or object, and the
    few complete lists (members of a class, subjects of a predicate) are made once per predicate.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.graph_index = kb.graph.index
        self.closure_index = kb.oracle.closure.index
        self.terms = kb.graph.index.terms
        self.kind_checker = KindChecker(self.graph_index)
        # Nodes without a name, those that break the shapes, ontologies and obsolete terms.
        self.unusable_nodes = self.terms.blanks.union(
            map(self.terms.intern, kb.left_out), find_notes(self.graph_index).nodes
        )
        self._subjects_cache: dict[tuple[int, bool], list[int]] = {}
        self._label_cache: dict[int, str] = {}
        self._words_cache: dict[int, frozenset[str]] = {}
        self._linking_cache: dict[tuple[int, ...], list[Mapping[int, Cell]]] = {}
        self._objects_cache: dict[int, list[int]] = {}
        self._style_cache: dict[TermRole, Style] = {}
        self._nameable_cache: dict[int, bool] = {}
        self._readable_cache: dict[int, bool] = {}
        self._facts_cache: dict[int, list[Fact]] = {}
        self._types_cache: dict[int, tuple[int, ...]] = {}
        self._namesakes_cache: dict[int, frozenset[int]] = {}
        self._appearance_cache: dict[tuple[int, int], Appearance] = {}
        self._squeezed_cache: dict[int, str] = {}
        self._level_cache: dict[int, tuple[int, int]] = {}

    def for_part(self, kb: KnowledgeBase) -> GraphLookup:
        """Returns look-ups in a part of the graph in which all terms have the same names.

        Args:
            kb: the knowledge base of the part (see ``KnowledgeBase.with_graph``).
        """
        part = GraphLookup(kb)
        part._label_cache, part._words_cache = self._label_cache, self._words_cache
        part._nameable_cache, part._readable_cache = self._nameable_cache, self._readable_cache
        part._namesakes_cache, part._squeezed_cache = self._namesakes_cache, self._squeezed_cache
        part.kind_checker = self.kind_checker
        return part

    def list_subjects(self, p: int, *, asserted_only: bool) -> list[int]:
        """Lists the subjects of a predicate in the graph or its closure, for random indexing.

        The list is cached and shared: do not modify it.
        """
        # Where the closure adds nothing to a predicate, both indexes have the same subjects.
        use_graph = asserted_only or self.closure_index.shares_row(p, self.graph_index)
        cached = self._subjects_cache.get((p, use_graph))
        if cached is None:
            index = self.graph_index if use_graph else self.closure_index
            cached = self._subjects_cache[p, use_graph] = list(index.get_subjects(p))
        return cached

    def intern_term(self, text: str) -> int:
        """Returns the id of a term, which is added to the term table if it is new."""
        return self.terms.intern(text)

    @cached_property
    def type_id(self) -> int:
        """The id of ``rdf:type``."""
        return self.intern_term(RDF_TYPE)

    @cached_property
    def members_by_class(self) -> dict[int, list[int]]:
        """Class → its asserted members."""
        graph, type_id = self.graph_index, self.type_id
        return {c: list(graph.find_subjects(type_id, c)) for c in graph.get_objects(type_id)}

    @cached_property
    def fact_predicates(self) -> tuple[int, ...]:
        """Predicates whose facts can be worded.

        These are the domain's predicates; without a domain file, all predicates except those of
        the schema vocabularies.
        """
        return find_fact_predicates(self.kb.domain, self.graph_index)

    @cached_property
    def name_groups(self) -> dict[int, int]:
        """Predicate → the first one with the same name, for predicates that share their names."""
        groups: dict[str, list[int]] = {}
        for p in self.fact_predicates:
            name = self.kb.verbaliser.get_label(self.terms.get_text(p)).casefold()
            groups.setdefault(name.removeprefix("has "), []).append(p)
        return {p: group[0] for group in groups.values() if len(group) > 1 for p in group}

    @cached_property
    def fact_graph(self) -> FactGraph:
        """The graph of entities linked by facts of ``fact_predicates``."""
        return FactGraph(self.graph_index, self.fact_predicates)

    @cached_property
    def denials(self) -> dict[int, list[Fact]]:
        """Subject → the facts that the graph explicitly denies of it."""
        denied_facts: dict[int, list[Fact]] = {}
        for denial in iter_denials(self.graph_index):
            fact = Fact(denial.s, denial.p, denial.o, denied=True)
            denied_facts.setdefault(denial.s, []).append(fact)
        return denied_facts

    def is_nameable(self, term: int) -> bool:
        """Returns whether a question can name a term: a readable value, or a unique name.

        Blank nodes have no name, and nodes that break the shapes may not be mentioned.
        """
        nameable = self._nameable_cache.get(term)
        if nameable is None:
            text = self.terms.get_text(term)
            # The label must lead to this entity only, or to none.
            nameable = (
                is_readable_value(get_lexical(text))
                if text.startswith('"')
                else term not in self.unusable_nodes
                and self.is_readable(term)
                and self.kb.labels.find_entities(self.get_label(term)) in ([text], [])
            )
            self._nameable_cache[term] = nameable
        return nameable

    def is_readable(self, term: int) -> bool:
        """Returns whether a reader understands what a sentence calls a term."""
        readable = self._readable_cache.get(term)
        if readable is None:
            text = self.terms.get_text(term)
            readable = self._readable_cache[term] = (
                is_readable_label(value := get_lexical(text)) and not is_missing_value(value)
                if text.startswith('"')
                else self.kb.labels.is_readable(text)
            )
        return readable

    def is_usable(self, fact: Fact) -> bool:
        """Returns whether a card can state a fact: all that it mentions has a readable name."""
        ends = (fact.s, fact.o)
        # Classes are nouns, whatever else is called so.
        named = ends[:1] if fact.p == self.type_id else ends
        return self.unusable_nodes.isdisjoint(ends) and all(map(self.is_readable, named))

    def get_label(self, term: int) -> str:
        """Returns the label of a term, without article or disambiguation."""
        name = self._label_cache.get(term)
        if name is None:
            name = self._label_cache[term] = self._find_only_label(term) or self._choose_label(term)
        return name

    @cached_property
    def _label_id(self) -> int | None:
        """The id of ``rdfs:label`` if it alone gives labels, else None."""
        if self.kb.domain.qualifiers:
            return None
        pref_label_id = self.terms.get(SKOS + "prefLabel")
        if pref_label_id is not None and self.graph_index.count_triples(pref_label_id):
            return None
        return self.terms.get(RDFS + "label")

    def _find_only_label(self, term: int) -> str:
        """Returns the label of a term that has exactly one and without escapes, else "".

        This is faster than the general case, and most terms have one plain label.
        """
        if self._label_id is None:
            return ""
        labels = self.graph_index.find_objects(term, self._label_id)
        if len(labels) != 1:
            return ""
        text = self.terms.get_text(next(iter(labels)))
        return "" if "\\" in text else text[1 : text.rfind('"')]

    def _choose_label(self, term: int) -> str:
        text = self.terms.get_text(term)
        return (
            self.kb.verbaliser.render_term(text)
            if text.startswith('"')
            else self.kb.labels.get_label(text)
        )

    def get_squeezed_name(self, term: int) -> str:
        """Returns an entity's label without case, accents, punctuation, spaces and qualifier."""
        name = self._squeezed_cache.get(term)
        if name is None:
            label = self.kb.labels.get_plain_label(self.terms.get_text(term))
            name = self._squeezed_cache[term] = self._squeeze(label)
        return name

    def _squeeze(self, name: str) -> str:
        return self.kb.labels.to_normal_form(name).replace(" ", "")

    def is_bare_name(self, term: int) -> bool:
        """Returns whether sentences call an entity by no more than its label."""
        sentence_name = self.kb.verbaliser.render_term(self.terms.get_text(term))
        return self._squeeze(sentence_name) == self.get_squeezed_name(term)

    def get_label_words(self, term: int) -> frozenset[str]:
        """Returns the words of a term's label, case-folded."""
        words = self._words_cache.get(term)
        if words is None:
            name = self.get_label(term).casefold()
            # Most names are letters and spaces; split() is faster than the pattern for those.
            is_simple = name.replace(" ", "").isalpha()
            word_list = name.split() if is_simple else list_name_words(name)
            words = self._words_cache[term] = frozenset(word_list)
        return words

    def get_types(self, term: int) -> tuple[int, ...]:
        """Returns the asserted classes of a term."""
        types = self._types_cache.get(term)
        if types is None:
            types = self._types_cache[term] = tuple(
                self.graph_index.find_objects(term, self.type_id)
            )
        return types

    def get_appearance(self, term: int, p: int) -> Appearance:
        """Returns the countable properties of a term that could be an object of ``p``."""
        appearance = self._appearance_cache.get((term, p))
        if appearance is None:
            name = self.get_label(term)
            appearance = self._appearance_cache[term, p] = (
                len(name.split()),
                len(name),
                name[-1:],
                name.isascii(),
                self.get_types(term),
                math.log1p(len(self.graph_index.find_subjects(p, term))),
            )
        return appearance

    def get_style(self, position: TermRole) -> Style:
        """Returns the style of the sentences for a position, judged by one example."""
        style = self._style_cache.get(position)
        if style is None:
            pair = next(self.closure_index.iter_pairs(position.p), None)
            if pair is None:
                style = (position.is_subject, False, position.is_denied)
            else:
                claim = self.make_claim(pair[0], position.p, pair[1])
                verbaliser = self.kb.verbaliser
                text = (verbaliser.render_denial if position.is_denied else verbaliser.render_fact)(
                    claim
                )
                term = claim.subj if position.is_subject else claim.obj
                name = verbaliser.render_term(term, claim.pred)
                starts_with_name = text.casefold().startswith(name.casefold())
                style = (starts_with_name, claim.obj.startswith('"'), position.is_denied)
            self._style_cache[position] = style
        return style

    def list_facts_about(self, term: int) -> list[Fact]:
        """Lists facts of ``fact_predicates`` with ``term`` as subject, denials last."""
        facts = self._facts_cache.get(term)
        if facts is None:
            facts = self._facts_cache[term] = list(self.iter_facts_about(term))
        return facts

    def iter_facts_about(self, term: int) -> Iterator[Fact]:
        """Yields the facts of ``list_facts_about``, without finding all if few are needed."""
        for p, row in zip(self.fact_predicates, self._fact_rows, strict=True):
            if term in row:
                for o in self.graph_index.find_objects(term, p):
                    if o not in self.unusable_nodes:
                        yield Fact(term, p, o)
        yield from self.denials.get(term, ())

    def list_incoming_facts(self, term: int, p: int) -> list[Fact]:
        """Lists up to ``MAX_INCOMING_FACTS`` asserted facts of ``p`` with ``term`` as object."""
        facts: list[Fact] = []
        for s in self.graph_index.find_subjects(p, term):
            if len(facts) == MAX_INCOMING_FACTS:
                break
            if s not in self.unusable_nodes:
                facts.append(Fact(s, p, term))
        return facts

    def get_degree_levels(self, term: int) -> tuple[int, int]:
        """Returns the levels of a term's numbers of incoming and of outgoing facts."""
        levels = self._level_cache.get(term)
        if levels is None:
            levels = self._level_cache[term] = to_degree_levels(
                self.count_incoming_facts(term), self.count_outgoing_facts(term)
            )
        return levels

    def count_outgoing_facts(self, term: int) -> int:
        """Counts the facts of ``fact_predicates`` with ``term`` as subject."""
        return self._outgoing_counts[term]

    @cached_property
    def _outgoing_counts(self) -> Counter[int]:
        """Term → number of facts with it as subject; counted at C speed, since most are needed."""
        counts = Counter(itertools.chain.from_iterable(self._fact_rows))
        for row in self._fact_rows:
            counts.update({s: len(c) - 1 for s, c in row.items() if not isinstance(c, int)})
        return counts

    @cached_property
    def _fact_rows(self) -> list[Mapping[int, Cell]]:
        return list(map(self.graph_index.get_row, self.fact_predicates))

    def count_incoming_facts(self, term: int) -> int:
        """Counts the facts of ``fact_predicates`` with ``term`` as object."""
        rows = self._find_linking_rows(self.get_types(term))
        cells = [cell for row in rows if (cell := row.get(term)) is not None]
        return sum(1 if isinstance(cell, int) else len(cell) for cell in cells)

    def _find_linking_rows(self, types: tuple[int, ...]) -> list[Mapping[int, Cell]]:
        """Finds the ``fact_predicates`` that can have an object of the classes ``types``.

        This is judged by a sample of their objects. Without classes, all predicates with entities
        as objects are returned. Skipping the other predicates makes counting much faster.

        Returns:
            Of each predicate, object → subjects.
        """
        rows = self._linking_cache.get(types)
        if rows is None:
            classes = set(types)
            rows = self._linking_cache[types] = [
                self.graph_index.get_reverse_row(p)
                for p in self.fact_predicates
                if any(
                    not self.terms.is_literal(o) and (not classes or classes & {*self.get_types(o)})
                    for o in self._sample_objects(p)
                )
            ]
        return rows

    def _sample_objects(self, p: int) -> list[int]:
        """Samples objects of a predicate, by evenly spaced subjects.

        The first subjects alone would be biased: if a file lists the main rivers first, all of them
        flow into the sea and none into another river.
        """
        objects = self._objects_cache.get(p)
        if objects is None:
            subjects = self.graph_index.get_subjects(p)
            spaced_subjects = itertools.islice(
                subjects, 0, None, len(subjects) // MAX_SAMPLED_SUBJECTS + 1
            )
            found = (o for s in spaced_subjects for o in self.graph_index.find_objects(s, p))
            objects = self._objects_cache[p] = list(dict.fromkeys(found))
        return objects

    def make_claim(self, s: int, p: int, o: int) -> Claim:
        """Returns a claim in term text."""
        return Claim(self.terms.get_text(s), self.terms.get_text(p), self.terms.get_text(o))

    def get_namesakes(self, term: int) -> frozenset[int]:
        """Returns the other entities with one of a term's names, and the term's other IRIs."""
        namesakes = self._namesakes_cache.get(term)
        if namesakes is None:
            namesakes = frozenset()
            text = self.terms.get_text(term)
            if not text.startswith('"'):
                labels = self.kb.labels
                same_name_iris = (
                    iri for name in labels.list_names(text) for iri in labels.find_entities(name)
                )
                namesakes = frozenset(
                    self.intern_term(iri)
                    for iri in itertools.chain(same_name_iris, labels.list_aliases(text))
                    if iri != text
                )
            self._namesakes_cache[term] = namesakes
        return namesakes


def to_degree_levels(n_incoming: int, n_outgoing: int) -> tuple[int, int]:
    """Returns the levels of numbers of facts with an entity as object, and as subject.

    The levels are 0, 1, 2 to 3, and 4 or more facts with it as object; 0, 1, 2 to 3, 4 to 7, and 8
    or more with it as subject.
    """
    return min(3, n_incoming.bit_length()), min(4, n_outgoing.bit_length())
