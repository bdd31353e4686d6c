"""The world cards are drawn from: one knowledge base, seen as sampling needs it."""

from __future__ import annotations

import itertools
import math
import re
from functools import cached_property
from typing import TypeAlias

from cards.facts import Fact, Place
from kg.claims import Claim
from kg.denials import stated_denials
from kg.difficulty.fact_graph import FactGraph
from kg.knowledge import KnowledgeBase
from kg.sayable import sayable_predicates
from kg.terms import RDF_TYPE, RDFS, SKOS

_WORD = re.compile(r"\w+")
SAMPLE = 300
"""Subjects of a predicate looked at, spread over all of them, to see what its objects are."""
IN_EDGE_LIMIT = 20
"""A term that more facts than this point at is a hub: its incoming facts make poor context."""


Style: TypeAlias = tuple[bool, bool, bool]
"""Starts with the term, has a literal, is denied."""

Look: TypeAlias = tuple[int, int, str, bool, tuple[int, ...], float]
"""Words and letters of the name, its last letter, whether it is ASCII; classes; log1p of how many
facts of the predicate point at it."""


class World:
    """Cached look-ups over a knowledge base, all in term ids.

    Nothing here scans the graph per card: rows are read by subject, and the few whole-row lists
    (members of a class, subjects of a predicate) are made once per predicate.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.graph = kb.graph.index
        self.closed = kb.oracle.closure.index
        self.terms = kb.graph.index.terms
        self.blanks = self.terms.blanks
        self._subjects: dict[tuple[int, bool], list[int]] = {}
        self._names: dict[int, str] = {}
        self._words: dict[int, frozenset[str]] = {}
        self._pointing: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._sampled: dict[int, list[int]] = {}
        self._styles: dict[Place, Style] = {}
        self._nameable: dict[int, bool] = {}
        self._outgoing: dict[int, list[Fact]] = {}
        self._types: dict[int, tuple[int, ...]] = {}
        self._namesakes: dict[int, frozenset[int]] = {}
        self._looks: dict[tuple[int, int], Look] = {}

    def subjects_of(self, p: int, *, stated: bool) -> list[int]:
        """Subjects of a predicate, in the graph or its closure, to draw from by number.

        Listed once and never changed, whoever asks.
        """
        same = self.closed.shares(p, self.graph)
        known = self._subjects.get((p, stated or same))
        if known is None:
            found = (self.graph if stated or same else self.closed).subjects_of(p)
            known = self._subjects[p, stated or same] = list(found)
        return known

    def id(self, text: str) -> int:
        """The id of a term, interned when no graph has it."""
        return self.terms.intern(text)

    @cached_property
    def type_id(self) -> int:
        """The id of ``rdf:type``."""
        return self.id(RDF_TYPE)

    @cached_property
    def members(self) -> dict[int, list[int]]:
        """Class → everything the graph states to be of it."""
        graph, kind = self.graph, self.type_id
        return {c: list(graph.subjects(kind, c)) for c in graph.objects_of(kind)}

    @property
    def stated_classes(self) -> list[int]:
        """All classes that the graph states something to be of, in order of first use."""
        return list(self.members)

    @cached_property
    def sayable(self) -> tuple[int, ...]:
        """Predicates whose facts read well: the domain's own, else all but schema vocabulary."""
        return sayable_predicates(self.kb.domain, self.graph)

    @cached_property
    def fact_graph(self) -> FactGraph:
        """The entities as the sayable facts link them."""
        return FactGraph(self.graph, self.sayable)

    @cached_property
    def denials(self) -> dict[int, list[Fact]]:
        """Subject → what the graph explicitly denies of it."""
        found: dict[int, list[Fact]] = {}
        for denial in stated_denials(self.graph):
            fact = Fact(denial.s, denial.p, denial.o, denied=True)
            found.setdefault(denial.s, []).append(fact)
        return found

    def nameable(self, term: int) -> bool:
        """Whether a term can be asked about: an IRI that no other entity shares its name with."""
        known = self._nameable.get(term)
        if known is None:
            text = self.terms.text(term)
            known = text.startswith('"') or (
                not text.startswith("_:") and self.kb.labels.find(self.label(term)) in ([text], [])
            )
            self._nameable[term] = known
        return known

    def label(self, term: int) -> str:
        """The bare label of a term, without article or disambiguation."""
        name = self._names.get(term)
        if name is None:
            name = self._names[term] = self._only_label(term) or self._best_label(term)
        return name

    @cached_property
    def _label_id(self) -> int | None:
        """``rdfs:label``, in a graph whose only naming predicate it is."""
        preferred = self.terms.get(SKOS + "prefLabel")
        if preferred is not None and self.graph.count(preferred):
            return None
        return self.terms.get(RDFS + "label")

    def _only_label(self, term: int) -> str:
        """The label of a term that has just one, in plain letters: the usual case, found fast."""
        if self._label_id is None:
            return ""
        found = self.graph.objects(term, self._label_id)
        if len(found) != 1:
            return ""
        text = self.terms.text(next(iter(found)))
        return "" if "\\" in text else text[1 : text.rfind('"')]

    def _best_label(self, term: int) -> str:
        text = self.terms.text(term)
        return self.kb.words.name(text) if text.startswith('"') else self.kb.labels.label(text)

    def words(self, term: int) -> frozenset[str]:
        """The words of a term's label, case-folded."""
        found = self._words.get(term)
        if found is None:
            name = self.label(term).casefold()
            # Mostly letters and spaces, where words need no pattern to be found.
            plain = name.replace(" ", "").isalnum()
            found = self._words[term] = frozenset(name.split() if plain else _WORD.findall(name))
        return found

    def types(self, term: int) -> tuple[int, ...]:
        """The classes the graph states for a term."""
        known = self._types.get(term)
        if known is None:
            known = self._types[term] = tuple(self.graph.objects(term, self.type_id))
        return known

    def look(self, term: int, p: int) -> Look:
        """What someone who only counts sees of a term, as a possible object of ``p``."""
        known = self._looks.get((term, p))
        if known is None:
            name = self.label(term)
            known = self._looks[term, p] = (
                len(name.split()),
                len(name),
                name[-1:],
                name.isascii(),
                self.types(term),
                math.log1p(len(self.graph.subjects(p, term))),
            )
        return known

    def style(self, place: Place) -> Style:
        """How sentences of a kind read: do they start with the term, do they name a number."""
        known = self._styles.get(place)
        if known is None:
            pair = next(self.closed.pairs(place.p), None)
            if pair is None:
                known = (place.head, False, place.denied)
            else:
                claim = self.claim(pair[0], place.p, pair[1])
                words = self.kb.words
                text = (words.denied if place.denied else words.fact)(claim)
                term = claim.subj if place.head else claim.obj
                name = words.name(term, claim.pred)
                starts = text.casefold().startswith(name.casefold())
                known = (starts, claim.obj.startswith('"'), place.denied)
            self._styles[place] = known
        return known

    def about(self, term: int) -> list[Fact]:
        """Sayable asserted facts with ``term`` as subject, denials last."""
        found = self._outgoing.get(term)
        if found is None:
            found = [
                Fact(term, p, o)
                for p in self.sayable
                for o in self.graph.objects(term, p)
                if o not in self.blanks
            ]
            found += self.denials.get(term, ())
            self._outgoing[term] = found
        return found

    def pointing_at(self, term: int, p: int) -> list[Fact]:
        """Up to ``IN_EDGE_LIMIT`` asserted facts of ``p`` with ``term`` as object."""
        facts: list[Fact] = []
        for s in self.graph.subjects(p, term):
            if len(facts) == IN_EDGE_LIMIT:
                break
            if s not in self.blanks:
                facts.append(Fact(s, p, term))
        return facts

    def pointed_at(self, term: int) -> int:
        """How many sayable facts have ``term`` as object."""
        subjects, count = self.graph.subjects, 0
        for p in self._between(self.types(term)):
            count += len(subjects(p, term))
        return count

    def _between(self, types: tuple[int, ...]) -> tuple[int, ...]:
        """Sayable predicates whose objects (a sample of them) have one of some classes."""
        known = self._pointing.get(types)
        if known is None:
            wanted = set(types)
            known = self._pointing[types] = tuple(
                p
                for p in self.sayable
                if any(
                    not self.terms.is_literal(o) and (not wanted or wanted & {*self.types(o)})
                    for o in self._objects_sampled(p)
                )
            )
        return known

    def _objects_sampled(self, p: int) -> list[int]:
        """Objects of subjects spread over the whole predicate.

        The first ones alone would not do: a file that lists the main rivers first begins with
        rivers that flow into the sea, as if none flowed into another.
        """
        known = self._sampled.get(p)
        if known is None:
            subjects = self.graph.subjects_of(p)
            spread = itertools.islice(subjects, 0, None, len(subjects) // SAMPLE + 1)
            found = dict.fromkeys(o for s in spread for o in self.graph.objects(s, p))
            known = self._sampled[p] = list(found)
        return known

    def claim(self, s: int, p: int, o: int) -> Claim:
        """A claim in term text."""
        return Claim(self.terms.text(s), self.terms.text(p), self.terms.text(o))

    def namesakes(self, term: int) -> frozenset[int]:
        """Everything else that bears one of a term's names (label, alias, alternative label)."""
        known = self._namesakes.get(term)
        if known is None:
            known = frozenset()
            text = self.terms.text(term)
            if not text.startswith('"'):
                labels = self.kb.labels
                bearers = (iri for name in labels.names(text) for iri in labels.find(name))
                known = frozenset(self.id(iri) for iri in bearers if iri != text)
            self._namesakes[term] = known
        return known
