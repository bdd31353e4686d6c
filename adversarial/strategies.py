"""Near-miss strategies: each proposes false claims that sound right, starting from a true pair.

A strategy is a function registered by name; it yields candidates and never decides whether they
are false: the oracle does that, and a candidate that turns out true is dropped.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator
from functools import cached_property
from random import Random
from typing import NamedTuple

from cards.literals import number_of
from cards.pools import Pool
from cards.world import World

NAME_SAMPLE = 1500
"""How many objects a similar name is looked for among; all, in a smaller graph."""


class Candidate(NamedTuple):
    """A claim to test: ``subject p wrong``, where ``true`` would have been right or near."""

    subject: int
    wrong: int
    true: int


class Ground:
    """What strategies draw from: the true pairs of one predicate and their neighbourhood."""

    def __init__(self, world: World, p: int, rng: Random) -> None:
        self.world, self.p, self.rng = world, p, rng
        self.pool = Pool(world, p, "subj")

    def objects(self, s: int) -> list[int]:
        """True objects of a subject, in the closure."""
        return list(self.world.closed.objects(s, self.p))

    def subjects(self, o: int) -> list[int]:
        """True subjects of an object, in the closure."""
        return list(self.world.closed.subjects(self.p, o))

    @cached_property
    def all_objects(self) -> list[int]:
        """Distinct objects of the predicate."""
        return list(dict.fromkeys(o for _, o in self.world.closed.pairs(self.p)))

    @cached_property
    def by_popularity(self) -> list[tuple[int, int]]:
        """``(how often it is an object, object)``, sorted by that count."""
        rows = [(len(self.subjects(o)), i, o) for i, o in enumerate(self.all_objects)]
        return [(count, o) for count, _, o in sorted(rows)]

    @cached_property
    def numbers(self) -> list[tuple[float, int]]:
        """Numeric objects with their values, sorted."""
        rows: list[tuple[float, int, int]] = []
        for i, o in enumerate(self.all_objects):
            value = number_of(self.world.terms.text(o))
            if value is not None:
                rows.append((value, i, o))
        return [(value, o) for value, _, o in sorted(rows)]

    @cached_property
    def named(self) -> list[int]:
        """Objects that similar names are looked for among."""
        texts = self.world.terms.texts
        found = [o for o in self.all_objects if not texts[o].startswith('"')]
        return found if len(found) <= NAME_SAMPLE else self.rng.sample(found, NAME_SAMPLE)

    @cached_property
    def labels(self) -> list[str]:
        """The names of ``named``, in its order."""
        return [self.world.label(o) for o in self.named]

    @cached_property
    def homonyms(self) -> dict[int, list[int]]:
        """Term → others of the same name."""
        get = self.world.terms.get
        found: dict[int, list[int]] = {}
        for group in self.world.kb.labels.homonyms().values():
            ids = [i for i in map(get, group) if i is not None]
            for i in ids:
                found[i] = [j for j in ids if j != i]
        return found


Strategy = Callable[[Ground, int, int], Iterator[Candidate]]

STRATEGIES: dict[str, Strategy] = {}


def strategy(name: str) -> Callable[[Strategy], Strategy]:
    """Registers a strategy under ``near-miss/<name>``."""

    def register(function: Strategy) -> Strategy:
        STRATEGIES[name] = function
        return function

    return register


@strategy("sibling")
def sibling(ground: Ground, s: int, o: int) -> Iterator[Candidate]:
    """An object of the same class that shares a neighbour with the true one."""
    world = ground.world
    for fact in world.about(o):
        if fact.denied or world.terms.is_literal(fact.o):
            continue
        for other in world.pointing_at(fact.o, fact.p):
            if other.s != o and world.types(other.s) == world.types(o):
                yield Candidate(s, other.s, o)


@strategy("downstream")
def downstream(ground: Ground, s: int, o: int) -> Iterator[Candidate]:
    """The object of the object: the mouth of the mouth."""
    for further in ground.objects(o):
        yield Candidate(s, further, o)


@strategy("similar-name")
def similar_name(ground: Ground, s: int, o: int) -> Iterator[Candidate]:
    """The objects whose names are most alike to the true one's."""
    from rapidfuzz import fuzz, process

    if ground.world.terms.is_literal(o):
        return
    name = ground.world.label(o)
    for _, score, i in process.extract(name, ground.labels, scorer=fuzz.ratio, limit=4):
        if ground.named[i] != o and score >= 50:
            yield Candidate(s, ground.named[i], o)


@strategy("homonym")
def homonym(ground: Ground, s: int, o: int) -> Iterator[Candidate]:
    """A namesake's object, or a namesake of the object."""
    for namesake in ground.homonyms.get(s, ()):
        for other in ground.objects(namesake):
            yield Candidate(s, other, o)
    for other in ground.homonyms.get(o, ()):
        yield Candidate(s, other, o)


@strategy("inverse")
def inverse(ground: Ground, s: int, o: int) -> Iterator[Candidate]:
    """The true pair the other way round."""
    if not ground.world.terms.is_literal(o):
        yield Candidate(o, s, next(iter(ground.objects(o)), o))


@strategy("swapped-subjects")
def swapped_subjects(ground: Ground, s: int, o: int) -> Iterator[Candidate]:
    """The object of another subject with which this one shares a stated fact."""
    world = ground.world
    for fact in world.about(s):
        if fact.denied or fact.p == ground.p:
            continue
        for other in world.pointing_at(fact.o, fact.p):
            if other.s != s and world.types(other.s) == world.types(s):
                for wrong in ground.objects(other.s):
                    if wrong != o:
                        yield Candidate(s, wrong, o)


@strategy("numeric")
def numeric(ground: Ground, s: int, o: int) -> Iterator[Candidate]:
    """The next values below and above the true number that other subjects have."""
    value = number_of(ground.world.terms.text(o))
    if value is None:
        return
    row = ground.numbers
    i = bisect.bisect_left(row, (value, -1))
    for j in (i - 1, i + 1, i - 2, i + 2, i):
        if 0 <= j < len(row) and row[j][1] != o:
            yield Candidate(s, row[j][1], o)


@strategy("popularity")
def popularity(ground: Ground, s: int, o: int) -> Iterator[Candidate]:
    """Objects of other subjects that are stated as often as the true one."""
    row = ground.by_popularity
    count = len(ground.subjects(o))
    low = bisect.bisect_left(row, (count, -1))
    high = bisect.bisect_left(row, (count + 1, -1))
    if high - low < 2:
        low, high = max(0, low - 2), min(len(row), high + 2)
    for _ in range(4):
        other = row[low + ground.rng.randrange(high - low)][1]
        if other != o:
            yield Candidate(s, other, o)
