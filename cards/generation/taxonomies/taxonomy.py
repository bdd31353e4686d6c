"""Finds which terms of a taxonomy could be confused: those of one branch, neither above the other.

A *taxonomy* is a predicate that links classes or concepts with those above or below them, such as
"is a kind of", "broader concept" and "child". Whether it goes up or down is seen from its links.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias

from cards.generation.graph_lookup import GraphLookup
from cards.generation.pools import VaryingSide
from kg.profile.graph_changes.class_links import KIND_OF, links_classes
from kg.terms import OWL, RDFS, SKOS
from kg.triples.rows import Cell
from kg.words.label_grammar import split_name
from kg.words.name_forms import list_name_words

TERM_CLASSES = frozenset((OWL + "Class", RDFS + "Class", SKOS + "Concept"))
"""Classes of the terms that taxonomies consist of."""
MIN_TERMS = 0.8
"""Minimum share of the ends of a taxonomy's links that are classes or concepts."""
N_SAMPLED_LINKS = 300
"""Number of links by which this is judged."""
MAX_UP = 2
"""How many links above a term the branch starts that others are asked about with it."""
MAX_DOWN = 4
"""How many links below that term they are."""
MAX_RELATIVES = 400
"""Maximum number of terms of a branch that are looked at."""
MAX_BRANCH = 0.8
"""A term with more than this share of all terms below it is no start of a branch: everything is."""
MAX_WORDS = 4
"""Names with at least as many words count as equally long."""
MAX_COMPARED = 100
"""Maximum number of terms that are compared to find an alike one."""
Row: TypeAlias = Mapping[int, Cell]


def is_taxonomy(lookup: GraphLookup, p: int) -> bool:
    """Returns whether a predicate links classes or concepts with those above or below them.

    What restrictions of an ontology say of its classes is not a taxonomy.
    """
    pred = lookup.terms.get_text(p)
    if pred == KIND_OF:
        return True
    if links_classes(pred):
        return False
    classes = {c for c in map(lookup.terms.get, TERM_CLASSES) if c is not None}
    subjects = list(lookup.graph_index.get_subjects(p)) if classes else []
    if not subjects:
        return False
    step = len(subjects) // N_SAMPLED_LINKS + 1
    ends = [
        end
        for s in subjects[::step]
        for o in lookup.graph_index.find_objects(s, p)
        for end in (s, o)
    ]
    n_terms = sum(not classes.isdisjoint(lookup.get_types(end)) for end in ends)
    return n_terms >= MIN_TERMS * len(ends)


class Taxonomy:
    """The links of one predicate in the graph before facts were set aside.

    Args:
        lookup: that graph.
        p: the predicate.
        varying: the side of its claims that varies; see ``pools.py`` for *anchor* and *holder*.
    """

    def __init__(self, lookup: GraphLookup, p: int, varying: VaryingSide) -> None:
        self.lookup, self.p, self._varies_subject = lookup, p, varying == "subj"
        index = lookup.graph_index
        goes_up = len(index.get_objects(p)) <= len(index.get_subjects(p))
        rows = index.get_row(p), index.get_reverse_row(p)
        self._up, self._down = rows if goes_up else rows[::-1]
        self._n_terms = len({*self._up, *self._down})
        self._relatives_cache: dict[int, list[int]] = {}
        self._tops_cache: dict[int, bool] = {}
        self._words_cache: dict[int, frozenset[str]] = {}

    def list_relatives(self, term: int) -> list[int]:
        """Lists terms of a term's branch that are neither above nor below it, nearest ones first.

        They are below one of the terms up to ``MAX_UP`` links above it, and include those between.
        """
        relatives = self._relatives_cache.get(term)
        if relatives is None:
            own = {term, *self._iter_reached(self._up, [term]), *self._iter_below(term)}
            found: dict[int, None] = {}
            starts = [term]
            for _ in range(MAX_UP):
                starts = [x for start in starts for x in _list_cell(self._up, start)]
                for start in starts:
                    if not self._is_top(start):
                        found.update(dict.fromkeys(self._iter_branch(start)))
            relatives = self._relatives_cache[term] = [x for x in found if x not in own]
        return relatives

    def _iter_branch(self, start: int) -> Iterator[int]:
        """Yields the terms up to ``MAX_DOWN`` links below a term, but not too many."""
        seen = {start}
        level = [start]
        for _ in range(MAX_DOWN):
            below = dict.fromkeys(x for one in level for x in _list_cell(self._down, one))
            level = [x for x in below if x not in seen]
            seen.update(level)
            yield from level
            if len(seen) > MAX_RELATIVES:
                return

    def _iter_below(self, term: int) -> Iterator[int]:
        return self._iter_reached(self._down, [term])

    @staticmethod
    def _iter_reached(row: Row, queue: list[int]) -> Iterator[int]:
        """Yields what links lead to, directly or not."""
        seen = set(queue)
        for x in queue:
            for following in _list_cell(row, x):
                if following not in seen:
                    seen.add(following)
                    queue.append(following)
                    yield following

    def _is_top(self, term: int) -> bool:
        """Returns whether too much is below a term for it to be the start of a branch."""
        is_top = self._tops_cache.get(term)
        if is_top is None:
            n_below = 0
            for _ in self._iter_below(term):
                n_below += 1
                if n_below > MAX_BRANCH * self._n_terms:
                    break
            is_top = self._tops_cache[term] = n_below > MAX_BRANCH * self._n_terms
        return is_top

    def list_lost(self, rest: GraphLookup, anchor: int) -> list[int]:
        """Lists the holders that an anchor has lost, because facts were set aside.

        Args:
            rest: the graph without these facts.
            anchor: the anchor.
        """
        full, reduced = self._find_holders(self.lookup, anchor), self._find_holders(rest, anchor)
        if len(full) == len(reduced):
            return []
        kept = set(reduced)
        return [x for x in full if x not in kept]

    def _find_holders(self, lookup: GraphLookup, anchor: int) -> Sequence[int]:
        index, p = lookup.closure_index, self.p
        found = (
            index.find_subjects(p, anchor)
            if self._varies_subject
            else index.find_objects(anchor, p)
        )
        return found if isinstance(found, list | tuple) else list(found)

    def is_true(self, x: int, anchor: int) -> bool:
        """Returns whether the claim about ``x`` and an anchor is true in the graph."""
        s, o = (x, anchor) if self._varies_subject else (anchor, x)
        return self.lookup.closure_index.has_triple(s, self.p, o)

    def has_both_sides(self, rest: GraphLookup, term: int) -> bool:
        """Returns whether a card can state what is directly above a term and what is below it."""
        index = rest.graph_index
        return any(map(rest.is_readable, index.find_objects(term, self.p))) and any(
            map(rest.is_readable, index.find_subjects(self.p, term))
        )

    def find_place(self, x: int, levels: Sequence[int], *, is_strict: bool) -> Hashable:
        """Returns what must be equal of the terms asked about with an anchor.

        They also share as many words with it.

        Args:
            x: one of these terms.
            levels: the levels of the numbers of links to the term and from it.
            is_strict: whether links to it, such as those from what is below it, count.
        """
        # What is far above has a short name.
        n_words = min(MAX_WORDS, len(self.get_words(x)))
        return tuple(levels) if is_strict else levels[1], n_words

    def has_alike_terms(self, x: int, anchor: int) -> bool:
        """Returns whether a YES and a NO can be about terms like one that an anchor loses.

        The YES is about one that keeps the anchor, the NO about one that a chain leads to from it.
        """
        lookup, is_strict = self.lookup, self._varies_subject
        index, p, get_levels = lookup.closure_index, self.p, lookup.get_degree_levels
        forward, back = index.find_objects(anchor, p), index.find_subjects(p, anchor)
        holders, ends = (back, forward) if self._varies_subject else (forward, back)
        place = self.find_place(x, get_levels(x), is_strict=is_strict)
        n_shared = self.count_shared_words(x, anchor)
        return all(
            any(
                one != x
                and self.find_place(one, get_levels(one), is_strict=is_strict) == place
                and self.count_shared_words(one, anchor) == n_shared
                and lookup.is_nameable(one)
                and (not is_strict or self.has_both_sides(lookup, one))
                for one in itertools.islice(terms, MAX_COMPARED)
            )
            for terms in (holders, ends)
        )

    def get_words(self, term: int) -> frozenset[str]:
        """Returns the words of a name, also of one in camel case: "ReactAction"."""
        words = self._words_cache.get(term)
        if words is None:
            parts = split_name(self.lookup.get_label(term)).split()
            split = " ".join(split_name(part) for part in parts)
            words = self._words_cache[term] = frozenset(list_name_words(split))
        return words

    def count_shared_words(self, x: int, other: int) -> int:
        """Counts the words that two names share ("ReactAction", "AssessAction": 1)."""
        return len(self.get_words(x) & self.get_words(other))


def _list_cell(row: Row, term: int) -> Sequence[int]:
    cell = row.get(term, ())
    return (cell,) if isinstance(cell, int) else tuple(cell)
