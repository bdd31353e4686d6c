"""Recipes: for each kind of contradiction, who is asked about and which facts the label needs.

A recipe proposes a triplet around one anchor; whether the labels hold is decided afterwards, by
the oracle alone. A proposal that does not hold is thrown away.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from functools import cached_property
from random import Random
from typing import NamedTuple

from cards.balance import NAME_SAMPLE, by_likeness, overlap, telling_words
from cards.context import Role
from cards.facts import Fact
from cards.kinds import ASYMMETRIC, CYCLE, DENIED, FUNCTIONAL, IRREFLEXIVE, NUMERIC
from cards.literals import compared_with, number_of
from cards.pools import Pool
from cards.proving import Prover

ALIEN = "alien"
OTHER = "other"
MAX_HOPS = 3
DRAWS = 12
"""Random candidates looked at for one role."""
NUMBERS = 48
"""Random bounds looked at for one on the wrong side of a value: most are on the right one."""
RANKED = 4
"""So many of those that fit are compared for the most alike one."""


class Proposal(NamedTuple):
    """A triplet before proof."""

    anchor: int
    roles: list[Role]
    with_types: bool = False
    """The label needs the classes of those asked about among the facts."""


Drawer = Callable[[], Proposal | None]


class Recipes:
    """Draws proposals for one predicate and varying side.

    Args:
        pool: the candidates.
        prover: finds the premises of inferred triples.
        rng: the draw.
        single: whether the varying term can have only one anchor (``Pool.probe``).
        e_kinds: which of ``asserted`` and ``inferred`` to draw E cards from.
    """

    def __init__(
        self,
        pool: Pool,
        prover: Prover,
        rng: Random,
        *,
        single: bool,
        e_kinds: tuple[str, ...] = ("asserted", "inferred"),
    ) -> None:
        self.pool = pool
        self.world = pool.world
        self.prover = prover
        self.rng = rng
        self.single = single
        self.used: set[int] = set()
        self.strict = True
        self.e_kinds = tuple(kind for kind in pool.e_kinds if kind in e_kinds)
        drawn = [pool.draw_holder(rng) for _ in range(NAME_SAMPLE if self.e_kinds else 0)]
        others = pool.without if single else []
        others = rng.sample(others, min(NAME_SAMPLE, len(others)))
        names = [x for x in dict.fromkeys([*drawn, *others]) if x is not None]
        self._telling = telling_words(self.world, names)
        anchors = pool.anchors_of
        self._chained = any(anchors(a) for x in names for a in itertools.islice(anchors(x), 1))
        """Whether what holds leads on from an anchor to another, judged by a sample."""
        self._deniers = list(self.world.denials)
        self._popular: dict[int, int] = {}
        self._told: dict[int, frozenset[str]] = {}
        self._with_bound: dict[int, list[int]] = {}

    @property
    def families(self) -> dict[str, Drawer]:
        """Name → how to draw a proposal, of those the predicate has anything to draw from."""
        found: dict[str, Drawer] = {}
        if self.single and self.e_kinds and self.pool.without:
            found[FUNCTIONAL] = self.functional
        if self._denied:
            found[DENIED] = self.denied
        if self._chained:
            found[ASYMMETRIC] = lambda: self.downstream(1)
            found[CYCLE] = lambda: self.downstream(2 + self.rng.randrange(MAX_HOPS - 1))
        if self._bounds:
            found[NUMERIC] = self.numeric
        return {
            **found,
            ALIEN: self.alien,
            IRREFLEXIVE: self.irreflexive,
            OTHER: self.other,
        }

    # -- the parts of a triplet ------------------------------------------------------------------

    def unknown(self, like: int | None = None, anchor: int | None = None) -> int | None:
        """Someone whose anchor the graph does not tell (or not whether it is this one).

        Without ``like``, a random true holder is resembled: where the ones without a value are
        of another sort (lakes among rivers), only those that could pass for a holder are drawn.
        """
        if like is None:
            like = self.pool.draw_holder(self.rng)
        draw = self._member_without if self.single else self._holder
        return self._draw(draw, like, anchor)

    def holder(self, like: int, anchor: int) -> int | None:
        """Someone who has an anchor, but not this one, and resembles ``like``."""
        return self._draw(self._holder, like, anchor)

    def next_round(self, *, strict: bool) -> None:
        """Lets everyone be asked about once more; popularity need not match unless ``strict``."""
        self.used.clear()
        self.strict = strict

    def entailed(self, like: int | None) -> tuple[int, int] | None:
        """A true pair ``(x, a)`` whose ``x`` resembles ``like``."""
        if not self.e_kinds:
            return None
        kind = self.e_kinds[int(self.rng.random() * len(self.e_kinds))]
        if like is None:
            pair = self.pool.draw_pair(self.rng, kind)
            return pair if pair and self._fresh(*pair) else None
        seen: set[int] = set()
        wanted: dict[int, int] = {}
        for pair in self.pool.draw_pairs(self.rng, kind, DRAWS):
            if like in pair or pair[0] in self.used or pair[0] in seen:
                continue
            x, a = pair
            seen.add(x)
            if self.alike(x, like) and self._shares_as_many(like, x, a):
                wanted[x] = a
                if len(wanted) == RANKED:
                    break
        for x in by_likeness(self.world, self.pool.p, wanted, like):
            if self._fresh(x, wanted[x]):
                return x, wanted[x]
        return None

    def alike(self, x: int, other: int) -> bool:
        """Whether what must be equal within a triplet is: popularity, frequent words of names.

        Popularity counts by doubling: 0, 1, 2 to 3, 4 and more facts that point at a term.
        """
        # Popularity first: it tells more of those apart that are drawn, and costs no name.
        if self.strict and self._popularity(x) != self._popularity(other):
            return False
        return self._telling_words(x) == self._telling_words(other)

    def _telling_words(self, x: int) -> frozenset[str]:
        found = self._told.get(x)
        if found is None:
            found = self._told[x] = self.world.words(x) & self._telling
        return found

    def _popularity(self, x: int) -> int:
        found = self._popular.get(x)
        if found is None:
            found = self._popular[x] = min(3, self.world.pointed_at(x).bit_length())
        return found

    def stated(self, x: int, a: int) -> tuple[Fact, ...] | None:
        """The facts from which ``(x, a)`` follows."""
        facts = self.prover.premises(*self.pool.triple(x, a))
        return facts if facts and all(self._tellable(fact) for fact in facts) else None

    def _tellable(self, fact: Fact) -> bool:
        blanks = self.world.blanks
        return fact.s not in blanks and fact.o not in blanks

    def _fresh(self, x: int, a: int) -> bool:
        if x in self.used or not self._meant(x if self.pool.varying == "subj" else a):
            return False
        return self.world.nameable(x) and self.world.nameable(a)

    def _meant(self, subject: int) -> bool:
        """Whether the subject's name fits the hint."""
        hint = self.pool.hint
        return not hint or hint in self.world.label(subject).casefold()

    def _holder(self) -> int | None:
        return self.pool.draw_holder(self.rng)

    def _member(self) -> int | None:
        members = self.pool.members
        return members[int(self.rng.random() * len(members))] if members else None

    def _member_without(self) -> int | None:
        members = self.pool.without
        return members[int(self.rng.random() * len(members))] if members else None

    def _shares_as_many(self, like: int, x: int, anchor: int) -> bool:
        return overlap(self.world, x, anchor) == overlap(self.world, like, anchor)

    def _draw(
        self, draw: Callable[[], int | None], like: int | None, anchor: int | None
    ) -> int | None:
        """Someone fresh who does not hold with the anchor and resembles ``like``."""
        seen = {like, anchor}
        fit: list[int] = []
        for _ in range(DRAWS):
            x = draw()
            if x is None or x in seen or x in self.used:
                continue
            seen.add(x)
            if anchor is not None and self.pool.holds(x, anchor):
                continue
            if like is not None and (
                not self.alike(x, like)
                or (anchor is not None and not self._shares_as_many(like, x, anchor))
            ):
                continue
            fit.append(x)
            if len(fit) == RANKED:
                break
        if like is not None:
            fit = by_likeness(self.world, self.pool.p, fit, like)
        subjects = self.pool.varying == "subj"
        return next(
            (x for x in fit if self.world.nameable(x) and (not subjects or self._meant(x))), None
        )

    def _triplet(
        self, anchor: int, e: int, c: Role | None, u: int | None, *, with_types: bool = False
    ) -> Proposal | None:
        """The proposal, unless a term occurs twice or a core is missing."""
        core = self.stated(e, anchor)
        if core is None or c is None or u is None or len({e, c.x, u}) < 3:
            return None
        namesakes = self.world.namesakes(anchor)
        if any(self.pool.holds(x, other) for other in namesakes for x in (c.x, u)):
            return None
        return Proposal(anchor, [Role("E", e, core), c, Role("U", u, ())], with_types)

    # -- one method per kind ---------------------------------------------------------------------

    def functional(self) -> Proposal | None:
        """C: someone whose only possible anchor is another one."""
        u = self.unknown()
        pair = self.entailed(u)
        if u is None or pair is None:
            return None
        e, anchor = pair
        x = self.holder(u, anchor)
        if x is None or x == e:
            return None
        facts = self.stated(x, self.pool.anchors_of(x)[0])
        return self._triplet(anchor, e, Role("C", x, facts) if facts else None, u)

    def denied(self) -> Proposal | None:
        """C: someone for whom the graph explicitly denies the anchor."""
        fact = self._denied[self.rng.randrange(len(self._denied))]
        x, anchor = (fact.s, fact.o) if self.pool.varying == "subj" else (fact.o, fact.s)
        if not self._fresh(x, anchor):
            return None
        # Denials are rare, so that one about the asked subject would tell: take others who have
        # some as well, where there are any.
        e = self._true_like(x, anchor, self.world.denials) or self._true_like(x, anchor)
        if e is None:
            return None
        u = self._draw(self._denier, x, anchor) or self.unknown(x, anchor)
        return self._triplet(anchor, e, Role("C", x, (fact,)), u)

    def _denier(self) -> int | None:
        """Someone of whom something is denied, and who could be an unknown."""
        x = self._deniers[int(self.rng.random() * len(self._deniers))]
        return None if self.single and self.pool.anchors_of(x) else x

    def _true_like(self, x: int, anchor: int, among: Collection[int] | None = None) -> int | None:
        """Someone fresh who truly has the anchor and resembles ``x``."""
        drawn = self.pool.holders_of(anchor)
        if among is not None:
            drawn = [e for e in drawn if e in among]
        if len(drawn) > 2 * DRAWS:
            drawn = self.rng.sample(drawn, 2 * DRAWS)
        alike = (
            e
            for e in drawn
            if e != x
            and e not in self.used
            and self.alike(e, x)
            and self._shares_as_many(x, e, anchor)
        )
        holders = itertools.islice(alike, DRAWS)
        likest = by_likeness(self.world, self.pool.p, holders, x)
        return next((e for e in likest if self._fresh(e, anchor)), None)

    @cached_property
    def _denied(self) -> list[Fact]:
        p = self.pool.p
        return [f for found in self.world.denials.values() for f in found if f.p == p]

    def downstream(self, hops: int) -> Proposal | None:
        """C: the reverse of what holds, over one step or several."""
        kind = self.e_kinds[int(self.rng.random() * len(self.e_kinds))] if self.e_kinds else ""
        # Most draws end here: their anchor leads nowhere.
        onward = self.pool.onward
        for pair in self.pool.draw_pairs(self.rng, kind, DRAWS if kind else 0):
            way = self.pool.draw_way(self.rng, pair[1], hops) if pair[1] in onward else None
            if way is None:
                continue
            e, anchor = pair
            x = way[-1]
            # A sea would betray itself: seas flow nowhere.
            if e in way or x in self.used or self.world.types(x) != self.world.types(e):
                continue
            alike = self.alike(x, e) and self._shares_as_many(x, e, anchor)
            if alike and self._fresh(e, anchor) and self._fresh(x, anchor):
                break
        else:
            return None
        facts: list[Fact] = []
        for one, two in itertools.pairwise(way):
            step = self.stated(one, two)
            if step is None:
                return None
            facts += step
        role = Role("C", x, tuple(dict.fromkeys(facts)), no_other_value=True)
        return self._triplet(anchor, e, role, self.unknown(x, anchor))

    def numeric(self) -> Proposal | None:
        """C: a value on the wrong side of another stated value of the same subject."""
        bounds = self._bounds
        if not bounds or self.pool.varying != "subj":
            return None
        u = self.unknown()
        pair = self.entailed(u)
        if u is None or pair is None:
            return None
        e, anchor = pair
        value = number_of(self.world.terms.text(anchor))
        if value is None:
            return None
        q, below = bounds[self.rng.randrange(len(bounds))]
        subjects = self._bounded(q)
        for _ in range(NUMBERS):
            x = subjects[int(self.rng.random() * len(subjects))]
            limit = next(iter(self.world.graph.objects(x, q)))
            bound = number_of(self.world.terms.text(limit))
            if bound is None or (value < bound if below else value > bound) or x in (e, u):
                continue
            if self.alike(x, u) and self._fresh(x, anchor):
                role = Role("C", x, (Fact(x, q, limit),), no_other_value=True)
                return self._triplet(anchor, e, role, u)
        return None

    @cached_property
    def _bounds(self) -> list[tuple[int, bool]]:
        """``(q, True)`` where values of p must lie below those of q, ``(q, False)`` above."""
        pred, shapes = self.world.terms.text(self.pool.p), self.world.kb.shapes
        found = ((self.world.id(other), below) for other, below in compared_with(pred, shapes))
        return [(q, below) for q, below in found if self._bounded(q)]

    def _bounded(self, q: int) -> list[int]:
        found = self._with_bound.get(q)
        if found is None:
            found = self._with_bound[q] = list(self.world.graph.subjects_of(q))
        return found

    def alien(self) -> Proposal | None:
        """C: someone of a class that cannot stand there. The question itself betrays it."""
        u = self.unknown()
        pair = self.entailed(u)
        if u is None or pair is None or not self.pool.aliens:
            return None
        e, anchor = pair
        x = self.pool.aliens[self.rng.randrange(len(self.pool.aliens))]
        if x == anchor or not self._fresh(x, anchor):
            return None
        return self._triplet(anchor, e, Role("C", x, (), no_other_value=True), u, with_types=True)

    def irreflexive(self) -> Proposal | None:
        """C: the anchor itself. The question itself betrays it."""
        u = self.unknown()
        pair = self.entailed(u)
        if u is None or pair is None:
            return None
        e, anchor = pair
        if self.world.terms.is_literal(anchor) or self.pool.holds(anchor, anchor):
            return None
        return self._triplet(anchor, e, Role("C", anchor, (), no_other_value=True), u)

    def other(self) -> Proposal | None:
        """C by whatever else the shapes forbid, found by trying; all known facts are its core."""
        u = self.unknown()
        pair = self.entailed(u)
        if u is None or pair is None:
            return None
        e, anchor = pair
        x = self._draw(self._member, u, anchor)
        if x is None or x == e:
            return None
        if self.prover.on_graph(self.world.claim(*self.pool.triple(x, anchor))).label != "C":
            return None
        facts = tuple(
            f
            for f in self.world.about(x)[:4]
            if f.p != self.pool.p and f.o not in (anchor, e, u) and self._tellable(f)
        )
        return self._triplet(anchor, e, Role("C", x, facts, no_other_value=True), u)
