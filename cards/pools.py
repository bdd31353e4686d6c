"""Pools: for one predicate, read in one direction, who could be asked about.

A *triplet* of cards (E, C, U) asks the same predicate of the same *anchor* and varies the other
term. Varying the subject suits predicates with one value per subject (a river's mouth); varying
the object suits those where an object has one subject (a river's only parent).
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from random import Random
from typing import Literal

from cards.world import World

Varying = Literal["subj", "obj"]

CLASS_SAMPLE = 200
MIN_CLASS_SHARE = 0.1
"""A class belongs to the pool when at least this share of sampled members has it."""


class Pool:
    """Candidates for the varying term ``x`` of ``p``, around anchors ``a``.

    Args:
        world: the knowledge base.
        p: the predicate's id.
        varying: which side varies.
        regime_pairs: take pairs from the closure (else only asserted ones).
    """

    def __init__(self, world: World, p: int, varying: Varying) -> None:
        self.world = world
        self.p = p
        self.varying = varying

    def triple(self, x: int, a: int) -> tuple[int, int, int]:
        """The triple that has ``x`` on the varying side."""
        return (x, self.p, a) if self.varying == "subj" else (a, self.p, x)

    def holds(self, x: int, a: int) -> bool:
        """Whether the closure has it."""
        return bool(self.world.closed.has(*self.triple(x, a)))

    def asserted(self, x: int, a: int) -> bool:
        """Whether the graph states it."""
        return self.world.graph.has(*self.triple(x, a))

    def anchors_of(self, x: int) -> list[int]:
        """All anchors of ``x`` in the closure: its true values, seen from the varying side."""
        index = self.world.closed
        found = index.objects(x, self.p) if self.varying == "subj" else index.subjects(self.p, x)
        return list(found)

    def holders_of(self, a: int) -> list[int]:
        """All ``x`` that hold with the anchor in the closure."""
        index = self.world.closed
        found = index.subjects(self.p, a) if self.varying == "subj" else index.objects(a, self.p)
        return list(found)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """All ``(x, a)`` of the closure whose ``x`` is an IRI or a literal and ``a`` is too."""
        texts = self.world.terms.texts
        found = [
            (s, o)
            for s, o in self.world.closed.pairs(self.p)
            if not texts[s].startswith("_:") and not texts[o].startswith("_:") and s != o
        ]
        return found if self.varying == "subj" else [(o, s) for s, o in found]

    @cached_property
    def asserted_pairs(self) -> list[tuple[int, int]]:
        """The pairs that the graph states."""
        return [pair for pair in self.pairs if self.asserted(*pair)]

    @cached_property
    def inferred_pairs(self) -> list[tuple[int, int]]:
        """The pairs that only the closure holds."""
        if len(self.asserted_pairs) == len(self.pairs):
            return []
        return [pair for pair in self.pairs if not self.asserted(*pair)]

    @cached_property
    def holders(self) -> list[int]:
        """All ``x`` with at least one anchor."""
        return list(dict.fromkeys(x for x, _ in self.pairs))

    @cached_property
    def classes(self) -> tuple[int, ...]:
        """The classes that holders usually have."""
        step = max(1, len(self.holders) // CLASS_SAMPLE)
        sample = self.holders[::step]
        seen = Counter(c for x in sample for c in self.world.types(x))
        return tuple(c for c, n in seen.items() if n >= MIN_CLASS_SHARE * len(sample))

    @cached_property
    def members(self) -> list[int]:
        """Everything of the holders' classes; without types, every node the predicate touches."""
        world = self.world
        if self.classes:
            found = dict.fromkeys(
                x for c in self.classes for x in world.graph.subjects(world.type_id, c)
            )
        else:
            found = dict.fromkeys(t for pair in self.pairs for t in pair)
        texts = world.terms.texts
        literal = bool(self.holders) and texts[self.holders[0]].startswith('"')
        return [
            x
            for x in found
            if not texts[x].startswith("_:") and texts[x].startswith('"') == literal
        ]

    @cached_property
    def without(self) -> list[int]:
        """Members for which the closure holds no anchor at all."""
        return [x for x in self.members if not self.anchors_of(x)]

    @cached_property
    def aliens(self) -> list[int]:
        """One list of entities of other classes than the holders', spread over those classes."""
        world = self.world
        mine = set(self.classes)
        if not mine:
            return []
        others: list[list[int]] = []
        for c in dict.fromkeys(c for _, c in world.graph.pairs(world.type_id)):
            text = world.terms.text(c)
            if c in mine or text.startswith("http://www.w3.org/"):
                continue
            some = [
                x for x in world.graph.subjects(world.type_id, c) if not mine & {*world.types(x)}
            ]
            others.append(some[:500])
        longest = max(map(len, others), default=0)
        return [row[i % len(row)] for i in range(min(longest, 500)) for row in others if row]

    def probe(self, rng: Random, tries: int = 8) -> bool:
        """Whether an ``x`` that has an anchor can have no other: asked of the oracle, not guessed.

        True when more than half of some random crossings are refused for a count at ``x``.
        """
        world, refused, asked = self.world, 0, 0
        if len(self.pairs) < 2:
            return False
        for _ in range(tries):
            x, _held = self.pairs[rng.randrange(len(self.pairs))]
            _other, a = self.pairs[rng.randrange(len(self.pairs))]
            if self.holds(x, a) or x == a:
                continue
            asked += 1
            verdict = world.kb.oracle.license(world.claim(*self.triple(x, a)))
            refused += any(
                "MaxCount" in violation.component and violation.focus_node == world.terms.text(x)
                for violation in verdict.proof.violations
                if verdict.label == "C"
            )
        return refused * 2 > asked
