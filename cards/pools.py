"""Pools: for one predicate, read in one direction, who could be asked about.

A *triplet* of cards (E, C, U) asks the same predicate of the same *anchor* and varies the other
term. Varying the subject suits predicates with one value per subject (a river's mouth); varying
the object suits those where an object has one subject (a river's only parent).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Literal

from cards.seeding import seeded
from cards.world import World

Varying = Literal["subj", "obj"]

CLASS_SAMPLE = 200
PAIR_TRIES = 16
MIN_CLASS_SHARE = 0.1
"""A class belongs to the pool when at least this share of sampled members has it."""


class Pool:
    """Candidates for the varying term ``x`` of ``p``, around anchors ``a``.

    Args:
        world: the knowledge base.
        p: the predicate's id.
        varying: which side varies.
        hint: keep only subjects whose name contains this.
    """

    def __init__(self, world: World, p: int, varying: Varying, hint: str = "") -> None:
        self.world = world
        self.p = p
        self.varying = varying
        self.hint = hint.casefold()
        self._lists: dict[tuple[bool, int], list[int]] = {}

    def triple(self, x: int, a: int) -> tuple[int, int, int]:
        """The triple that has ``x`` on the varying side."""
        return (x, self.p, a) if self.varying == "subj" else (a, self.p, x)

    def holds(self, x: int, a: int) -> bool:
        """Whether the closure has it."""
        return bool(self.world.closed.has(*self.triple(x, a)))

    def asserted(self, x: int, a: int) -> bool:
        """Whether the graph states it."""
        return self.world.graph.has(*self.triple(x, a))

    def anchors_of(self, x: int) -> Sequence[int]:
        """All anchors of ``x`` in the closure: its true values, seen from the varying side."""
        index, forward = self.world.closed, self.varying == "subj"
        found = index.objects(x, self.p) if forward else index.subjects(self.p, x)
        return self._listed(found, x, forward) if isinstance(found, dict) else found  # type: ignore[return-value]  # a tuple or a list

    def holders_of(self, a: int) -> Sequence[int]:
        """All ``x`` that hold with the anchor in the closure."""
        index, forward = self.world.closed, self.varying == "subj"
        found = index.subjects(self.p, a) if forward else index.objects(a, self.p)
        return self._listed(found, a, not forward) if isinstance(found, dict) else found  # type: ignore[return-value]  # as above

    @property
    def onward(self) -> Mapping[int, object]:
        """``x`` → what ``anchors_of`` gives, for those that have an anchor; as of now."""
        index = self.world.closed
        return index.row(self.p) if self.varying == "subj" else index.reverse_row(self.p)

    def _listed(self, found: dict[int, None], term: int, objects: bool) -> list[int]:
        """The values of a hub, to draw from by number: listed once, not at every draw."""
        listed = self._lists.get((objects, term))
        if listed is None:
            listed = self._lists[objects, term] = list(found)
        return listed

    @cached_property
    def heads(self) -> list[int]:
        """Subjects of the predicate in the closure."""
        return self._hinted(self.world.subjects_of(self.p, stated=False))

    @cached_property
    def stated_heads(self) -> list[int]:
        """Subjects of the predicate in the graph itself."""
        return self._hinted(self.world.subjects_of(self.p, stated=True))

    @cached_property
    def e_kinds(self) -> tuple[str, ...]:
        """Which of ``asserted`` and ``inferred`` the predicate has."""
        stated = bool(self.world.graph.subjects_of(self.p))
        more = self.p in self.world.kb.oracle.closure.inferred_predicates
        kinds = (("asserted", stated), ("inferred", more))
        return tuple(kind for kind, there in kinds if there)

    @property
    def literal_values(self) -> bool:
        """Whether the predicate's values are literals, judged by the first."""
        first = next(self.world.closed.pairs(self.p), None)
        return first is not None and self.world.terms.is_literal(first[1])

    def draw_pair(self, rng: Random, kind: str = "") -> tuple[int, int] | None:
        """A random true ``(x, a)``; None when a few draws find none without blank nodes.

        Args:
            rng: the draw.
            kind: ``asserted``, ``inferred`` or empty for either.
        """
        return next(self.draw_pairs(rng, kind, 1), None)

    def draw_pairs(self, rng: Random, kind: str, times: int) -> Iterator[tuple[int, int]]:
        """Random true pairs ``(x, a)``: each a random subject and one of its objects.

        Args:
            rng: drawn from as pairs are asked for.
            kind: ``asserted``, ``inferred`` or empty for either.
            times: how often to draw; fewer come where a few tries find none without blank nodes.
        """
        world, p = self.world, self.p
        heads = self.stated_heads if kind == "asserted" else self.heads
        graph, blanks, forward = world.graph, world.blanks, self.varying == "subj"
        draw, stated_too = rng.random, kind != "inferred"
        row = (graph if kind == "asserted" else world.closed).row(self.p)
        count = len(heads)
        for _ in range(times):
            for _ in range(PAIR_TRIES if heads else 0):
                s = heads[int(draw() * count)]
                cell = row[s]
                if isinstance(cell, int):
                    o = cell
                else:
                    o = (cell if isinstance(cell, list) else list(cell))[int(draw() * len(cell))]
                if (stated_too or not graph.has(s, p, o)) and (
                    s != o and s not in blanks and o not in blanks
                ):
                    yield (s, o) if forward else (o, s)
                    break

    def draw_way(self, rng: Random, anchor: int, hops: int) -> list[int] | None:
        """A random way on from an anchor, itself first, over so many other terms."""
        way = [anchor]
        for _ in range(hops):
            further = self.anchors_of(way[-1])
            if not further:
                return None
            y = further[int(rng.random() * len(further))]
            if y in way:
                return None
            way.append(y)
        return way

    def draw_holder(self, rng: Random) -> int | None:
        """A random ``x`` that has an anchor."""
        pair = self.draw_pair(rng)
        return None if pair is None else pair[0]

    def _hinted(self, terms: list[int]) -> list[int]:
        if not self.hint:
            return terms
        return [term for term in terms if self.hint in self.world.label(term).casefold()]

    @cached_property
    def classes(self) -> tuple[int, ...]:
        """The classes that holders usually have."""
        rng = seeded(self.world.terms.text(self.p), self.varying)
        drawn = [self.draw_holder(rng) for _ in range(CLASS_SAMPLE)]
        sample = list(dict.fromkeys(x for x in drawn if x is not None))
        seen = Counter(c for x in sample for c in self.world.types(x))
        return tuple(c for c, n in seen.items() if n >= MIN_CLASS_SHARE * len(sample))

    @cached_property
    def members(self) -> list[int]:
        """Everything of the holders' classes; without types, every node the predicate touches."""
        world = self.world
        if self.classes:
            found = world.members[self.classes[0]]
            if len(self.classes) > 1:
                found = list(dict.fromkeys(x for c in self.classes for x in world.members[c]))
        else:
            found = list(dict.fromkeys(t for pair in world.closed.pairs(self.p) for t in pair))
        return self._hinted(found) if self.varying == "subj" else found

    @cached_property
    def without(self) -> list[int]:
        """Members for which the closure holds no anchor at all."""
        if self.varying == "subj":
            held = self.world.closed.subjects_of(self.p)
        else:
            held = self.world.closed.objects_of(self.p)
        return list(itertools.filterfalse(held.__contains__, self.members))

    @cached_property
    def aliens(self) -> list[int]:
        """One list of entities of other classes than the holders', spread over those classes."""
        world = self.world
        mine = set(self.classes)
        if not mine:
            return []
        others: list[list[int]] = []
        for c in world.stated_classes:
            text = world.terms.text(c)
            if c in mine or text.startswith("http://www.w3.org/"):
                continue
            fit = (x for x in world.members[c] if not mine & {*world.types(x)})
            others.append(list(itertools.islice(fit, 500)))
        longest = max(map(len, others), default=0)
        return [row[i % len(row)] for i in range(min(longest, 500)) for row in others if row]

    def probe(self, rng: Random, tries: int = 8) -> bool:
        """Whether an ``x`` that has an anchor can have no other: asked of the oracle, not guessed.

        True when more than half of some random crossings are refused for a count at ``x``.
        """
        world, refused, asked = self.world, 0, 0
        for _ in range(tries):
            one, two = self.draw_pair(rng), self.draw_pair(rng)
            if one is None or two is None:
                continue
            x, a = one[0], two[1]
            if x == a or self.holds(x, a):
                continue
            asked += 1
            verdict = world.kb.oracle.license(world.claim(*self.triple(x, a)))
            refused += any(
                "MaxCount" in violation.component and violation.focus_node == world.terms.text(x)
                for violation in verdict.proof.violations
                if verdict.label == "C"
            )
        return refused * 2 > asked
