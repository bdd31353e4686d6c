"""Implements near-miss strategies, which propose plausible wrong claims based on a true pair.

A strategy is a function that is registered by name and yields candidates. The oracle decides
afterwards whether a candidate is false; true ones are discarded.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from operator import itemgetter
from random import Random
from typing import NamedTuple

from cards.generation.graph_lookup import GraphLookup
from cards.generation.literals import are_nearly_equal, are_whole_numbers, parse_number
from cards.generation.pools import Pool
from cards.generation.restated_values import find_synonyms, find_telling_predicates

MAX_SAMPLED_NAMES = 1500
"""Maximum number of objects whose names are compared; from more objects a sample is taken."""


class Candidate(NamedTuple):
    """A claim to test, with the wrong object, and the true object that it was derived from."""

    subject: int
    wrong_object: int
    true_object: int


class TruePairs:
    """The true pairs of one predicate and the data about them that strategies use."""

    def __init__(self, lookup: GraphLookup, p: int, rng: Random) -> None:
        self.lookup, self.p, self.rng = lookup, p, rng
        telling = find_telling_predicates(lookup, p)
        self.pool = Pool(lookup, p, "subj", telling=telling)

    def get_objects(self, s: int) -> list[int]:
        """Returns the objects of a subject in the closure."""
        return list(self.lookup.closure_index.find_objects(s, self.p))

    def list_values(self, s: int) -> list[int]:
        """Lists the objects of a subject, also those of predicates with the same name."""
        find_objects = self.lookup.graph_index.find_objects
        return [*self.get_objects(s), *(o for q in self._synonyms for o in find_objects(s, q))]

    @cached_property
    def _synonyms(self) -> set[int]:
        return find_synonyms(self.lookup, self.p)

    def is_nearly_one_of(self, term: int, others: Iterable[int], *, may_be_close: bool) -> bool:
        """Returns whether a value is nearly equal to another one.

        Args:
            term: the value.
            others: the other ones.
            may_be_close: whether whole numbers that differ are never nearly equal.
        """
        get_text = self.lookup.terms.get_text
        text = get_text(term)
        return any(
            are_nearly_equal(get_text(other), text)
            and not (may_be_close and are_whole_numbers(get_text(other), text))
            for other in others
        )

    def get_subjects(self, o: int) -> list[int]:
        """Returns the subjects of an object in the closure."""
        return list(self.lookup.closure_index.find_subjects(self.p, o))

    @cached_property
    def all_objects(self) -> list[int]:
        """Distinct objects of the predicate."""
        return list(dict.fromkeys(o for _, o in self.lookup.closure_index.iter_pairs(self.p)))

    @cached_property
    def objects_by_popularity(self) -> list[tuple[int, int]]:
        """Pairs of an object's number of subjects and the object, sorted by that number."""
        rows = [(len(self.get_subjects(o)), i, o) for i, o in enumerate(self.all_objects)]
        return [(count, o) for count, _, o in sorted(rows)]

    @cached_property
    def numeric_objects(self) -> list[tuple[float, int]]:
        """``(value, object)`` of the numeric objects, sorted by value."""
        rows: list[tuple[float, int, int]] = []
        for i, o in enumerate(self.all_objects):
            value = parse_number(self.lookup.terms.get_text(o))
            if value is not None:
                rows.append((value, i, o))
        return [(value, o) for value, _, o in sorted(rows)]

    @cached_property
    def named_objects(self) -> list[int]:
        """The objects whose names are compared: entities, at most ``MAX_SAMPLED_NAMES``."""
        texts = self.lookup.terms.texts
        entities = [o for o in self.all_objects if not texts[o].startswith('"')]
        return (
            entities
            if len(entities) <= MAX_SAMPLED_NAMES
            else self.rng.sample(entities, MAX_SAMPLED_NAMES)
        )

    @cached_property
    def object_labels(self) -> list[str]:
        """The names of ``named_objects``, in the same order."""
        return [self.lookup.get_label(o) for o in self.named_objects]

    @cached_property
    def homonyms(self) -> dict[int, list[int]]:
        """Term → other terms with the same name."""
        get_term_id = self.lookup.terms.get
        homonyms: dict[int, list[int]] = {}
        for group in self.lookup.kb.labels.find_homonyms().values():
            term_ids = [i for i in map(get_term_id, group) if i is not None]
            for i in term_ids:
                homonyms[i] = [j for j in term_ids if j != i]
        return homonyms


Strategy = Callable[[TruePairs, int, int], Iterator[Candidate]]

STRATEGIES: dict[str, Strategy] = {}


def register_strategy(name: str) -> Callable[[Strategy], Strategy]:
    """Registers a strategy under ``near-miss/<name>``."""

    def add_strategy(function: Strategy) -> Strategy:
        STRATEGIES[name] = function
        return function

    return add_strategy


@register_strategy("sibling")
def propose_siblings(true_pairs: TruePairs, s: int, o: int) -> Iterator[Candidate]:
    """Proposes objects of the same class that share a neighbour with the true one."""
    lookup = true_pairs.lookup
    for fact in lookup.list_facts_about(o):
        if fact.denied or lookup.terms.is_literal(fact.o):
            continue
        for sibling_fact in lookup.list_incoming_facts(fact.o, fact.p):
            if sibling_fact.s != o and lookup.get_types(sibling_fact.s) == lookup.get_types(o):
                yield Candidate(s, sibling_fact.s, o)


@register_strategy("downstream")
def propose_downstream(true_pairs: TruePairs, s: int, o: int) -> Iterator[Candidate]:
    """Proposes the objects of the true object, for example the mouth of a river's mouth."""
    for second_object in true_pairs.get_objects(o):
        yield Candidate(s, second_object, o)


@register_strategy("similar-name")
def propose_similar_names(true_pairs: TruePairs, s: int, o: int) -> Iterator[Candidate]:
    """Proposes the objects whose names are most similar to that of the true one."""
    from rapidfuzz import fuzz, process

    if true_pairs.lookup.terms.is_literal(o):
        return
    name = true_pairs.lookup.get_label(o)
    # Below a score of 50 (of 100), names are not similar to a reader.
    for _, score, i in process.extract(name, true_pairs.object_labels, scorer=fuzz.ratio, limit=4):
        if true_pairs.named_objects[i] != o and score >= 50:
            yield Candidate(s, true_pairs.named_objects[i], o)


@register_strategy("homonym")
def propose_homonyms(true_pairs: TruePairs, s: int, o: int) -> Iterator[Candidate]:
    """Proposes objects of a namesake of the subject, and namesakes of the object."""
    for namesake in true_pairs.homonyms.get(s, ()):
        for other in true_pairs.get_objects(namesake):
            yield Candidate(s, other, o)
    for other in true_pairs.homonyms.get(o, ()):
        yield Candidate(s, other, o)


@register_strategy("inverse")
def propose_inverse(true_pairs: TruePairs, s: int, o: int) -> Iterator[Candidate]:
    """Proposes the true pair with subject and object exchanged."""
    if not true_pairs.lookup.terms.is_literal(o):
        yield Candidate(o, s, next(iter(true_pairs.get_objects(o)), o))


@register_strategy("swapped-subjects")
def propose_swapped_subjects(true_pairs: TruePairs, s: int, o: int) -> Iterator[Candidate]:
    """Proposes the objects of another subject that shares an asserted fact with this one."""
    lookup = true_pairs.lookup
    for fact in lookup.list_facts_about(s):
        if fact.denied or fact.p == true_pairs.p:
            continue
        for other_fact in lookup.list_incoming_facts(fact.o, fact.p):
            if other_fact.s != s and lookup.get_types(other_fact.s) == lookup.get_types(s):
                for wrong_object in true_pairs.get_objects(other_fact.s):
                    if wrong_object != o:
                        yield Candidate(s, wrong_object, o)


@register_strategy("numeric")
def propose_numeric(true_pairs: TruePairs, s: int, o: int) -> Iterator[Candidate]:
    """Proposes the nearest smaller and larger numbers among the values of other subjects."""
    value = parse_number(true_pairs.lookup.terms.get_text(o))
    if value is None:
        return
    pairs = true_pairs.numeric_objects
    # The pairs with this value, in several spellings: 20.5 and 20.50.
    start = bisect.bisect_left(pairs, value, key=itemgetter(0))
    end = bisect.bisect_right(pairs, value, key=itemgetter(0))
    for j in (start - 1, end, start - 2, end + 1):
        if 0 <= j < len(pairs):
            yield Candidate(s, pairs[j][1], o)


@register_strategy("popularity")
def propose_popular(true_pairs: TruePairs, s: int, o: int) -> Iterator[Candidate]:
    """Proposes other objects that have as many subjects as the true object."""
    by_count = true_pairs.objects_by_popularity
    count = len(true_pairs.get_subjects(o))
    # The objects with this count; -1 is less than any term id.
    start = bisect.bisect_left(by_count, (count, -1))
    end = bisect.bisect_left(by_count, (count + 1, -1))
    if end - start < 2:
        # No other object is as popular: take the next two less and more popular ones.
        start, end = max(0, start - 2), min(len(by_count), end + 2)
    for _ in range(4):
        other = by_count[start + true_pairs.rng.randrange(end - start)][1]
        if other != o:
            yield Candidate(s, other, o)
