"""Implements near-miss strategies, which propose plausible wrong claims based on a true pair.

A strategy is a function registered by name that yields candidates. It does not decide whether they
are false: the oracle does, and a candidate that is true is discarded.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator
from functools import cached_property
from random import Random
from typing import NamedTuple

from cards.graph_lookup import GraphLookup
from cards.literals import parse_number
from cards.pools import Pool

MAX_SAMPLED_NAMES = 1500
"""Maximum objects among which similar names are searched; a larger number is sampled."""


class Candidate(NamedTuple):
    """A claim to test: ``subject p wrong``; ``true`` is the object that it was derived from."""

    subject: int
    wrong: int
    true: int


class TruePairs:
    """The true pairs of one predicate and the data about them that strategies use."""

    def __init__(self, lookup: GraphLookup, p: int, rng: Random) -> None:
        self.lookup, self.p, self.rng = lookup, p, rng
        self.pool = Pool(lookup, p, "subj")

    def get_objects(self, s: int) -> list[int]:
        """Returns the objects of a subject in the closure."""
        return list(self.lookup.closure_index.find_objects(s, self.p))

    def get_subjects(self, o: int) -> list[int]:
        """Returns the subjects of an object in the closure."""
        return list(self.lookup.closure_index.find_subjects(self.p, o))

    @cached_property
    def all_objects(self) -> list[int]:
        """Distinct objects of the predicate."""
        return list(dict.fromkeys(o for _, o in self.lookup.closure_index.iter_pairs(self.p)))

    @cached_property
    def objects_by_popularity(self) -> list[tuple[int, int]]:
        """``(number of its subjects, object)``, sorted by that number."""
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
        """Entities among which similar names are searched."""
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
        get = self.lookup.terms.get
        homonyms: dict[int, list[int]] = {}
        for group in self.lookup.kb.labels.find_homonyms().values():
            ids = [i for i in map(get, group) if i is not None]
            for i in ids:
                homonyms[i] = [j for j in ids if j != i]
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
    world = true_pairs.lookup
    for fact in world.list_facts_about(o):
        if fact.denied or world.terms.is_literal(fact.o):
            continue
        for other in world.list_incoming_facts(fact.o, fact.p):
            if other.s != o and world.get_types(other.s) == world.get_types(o):
                yield Candidate(s, other.s, o)


@register_strategy("downstream")
def propose_downstream(true_pairs: TruePairs, s: int, o: int) -> Iterator[Candidate]:
    """Proposes the objects of the object: the mouth of the mouth."""
    for second_object in true_pairs.get_objects(o):
        yield Candidate(s, second_object, o)


@register_strategy("similar-name")
def propose_similar_names(true_pairs: TruePairs, s: int, o: int) -> Iterator[Candidate]:
    """Proposes the objects whose names are most similar to that of the true one."""
    from rapidfuzz import fuzz, process

    if true_pairs.lookup.terms.is_literal(o):
        return
    name = true_pairs.lookup.get_label(o)
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
    world = true_pairs.lookup
    for fact in world.list_facts_about(s):
        if fact.denied or fact.p == true_pairs.p:
            continue
        for other in world.list_incoming_facts(fact.o, fact.p):
            if other.s != s and world.get_types(other.s) == world.get_types(s):
                for wrong in true_pairs.get_objects(other.s):
                    if wrong != o:
                        yield Candidate(s, wrong, o)


@register_strategy("numeric")
def propose_numeric(true_pairs: TruePairs, s: int, o: int) -> Iterator[Candidate]:
    """Proposes the next values below and above the true number that other subjects have."""
    value = parse_number(true_pairs.lookup.terms.get_text(o))
    if value is None:
        return
    pairs = true_pairs.numeric_objects
    i = bisect.bisect_left(pairs, (value, -1))
    for j in (i - 1, i + 1, i - 2, i + 2, i):
        if 0 <= j < len(pairs) and pairs[j][1] != o:
            yield Candidate(s, pairs[j][1], o)


@register_strategy("popularity")
def propose_popular(true_pairs: TruePairs, s: int, o: int) -> Iterator[Candidate]:
    """Proposes objects of other subjects that have as many subjects as the true one."""
    by_count = true_pairs.objects_by_popularity
    count = len(true_pairs.get_subjects(o))
    low = bisect.bisect_left(by_count, (count, -1))
    high = bisect.bisect_left(by_count, (count + 1, -1))
    if high - low < 2:
        # No other object is as popular: take the next two less and more popular ones.
        low, high = max(0, low - 2), min(len(by_count), high + 2)
    for _ in range(4):
        other = by_count[low + true_pairs.rng.randrange(high - low)][1]
        if other != o:
            yield Candidate(s, other, o)
