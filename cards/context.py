"""Contexts: the one set of facts that a triplet of cards shares, balanced between its roles.

All three cards of a triplet state the *same facts* (in another order), ask the same predicate of
the same anchor in the same words, and differ only in whom they ask about. So nothing that can be
counted on the facts, and nothing in the question but a name, can tell the label. What remains is
made equal here: every asked-about term is mentioned in the same number of facts, as far as the
graph allows in facts of the same predicates, stated and denied alike.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import NamedTuple

from cards.facts import Fact, Place, place
from cards.pools import Pool
from cards.world import Style, World
from kg.claims import Label


class Role(NamedTuple):
    """One card of a triplet before it has a context."""

    label: Label
    x: int
    """The varying term."""
    core: tuple[Fact, ...]
    """The facts that the label needs."""
    no_other_value: bool = False
    """Its label would have a second reason if another value of ``x`` were stated."""


def build_context(
    world: World, pool: Pool, anchor: int, roles: list[Role], size: int, rng: Random
) -> list[Fact] | None:
    """The facts of a triplet, in no particular order, or None when they cannot be balanced.

    Args:
        world: the knowledge base.
        pool: the predicate and the varying side.
        anchor: the term all three ask about; no added fact mentions it.
        roles: the cards' terms and needed facts.
        size: how many facts to aim at; never fewer than balance needs.
        rng: chooses among equally good facts.
    """
    asked = {role.x for role in roles}
    core = list(dict.fromkeys(fact for role in roles for fact in role.core))
    closed = asked | {anchor} | {t for fact in core for t in (fact.s, fact.o)}
    mine = {role.x: [f for f in core if f.mentions(role.x)] for role in roles}
    spare = {role.x: _spare(world, pool, role, closed, rng) for role in roles}
    places = {x: [place(f, x) for f in found] for x, found in mine.items()}

    # First give every role the kinds of facts that another role needs for its label.
    needed = list(dict.fromkeys(p for x in mine for p in places[x]))
    for x in mine:
        for wanted in needed:
            if wanted not in places[x]:
                _move(x, mine, spare, places, wanted)
    # Then level the number of mentions, in the kinds of facts that others have most.
    level = max(len(found) for found in mine.values())
    for x in mine:
        # Not only how many facts mention each must be alike, but also where in the sentence: a
        # stand-in for a fact that cannot be had is one that reads like it.
        if len(mine[x]) == level:
            continue
        others = Counter([world.style(p) for y in mine if y != x for p in places[y]])
        while len(mine[x]) < level:
            own = [world.style(p) for p in places[x]]
            lacking = {style: n / (len(mine) - 1) - own.count(style) for style, n in others.items()}
            best = _most_wanted(world, spare[x], lacking)
            if best is None or not _move(x, mine, spare, places, best):
                return None
    # At last, one more of a kind for all while there is room.
    total = len(set(core)) + sum(len(set(found) - set(core)) for found in mine.values())
    while total + len(mine) <= size:
        kinds = [dict(spare[x]) for x in mine]
        common = [p for p in dict(spare[roles[0].x]) if all(p in kind for kind in kinds)]
        if not common:
            break
        chosen = common[rng.randrange(len(common))]
        for x in mine:
            _move(x, mine, spare, places, chosen)
        total += len(mine)
    return list(dict.fromkeys([*core, *(f for found in mine.values() for f in found)]))


def mentions_balanced(facts: list[Fact], roles: list[Role]) -> bool:
    """Whether all asked-about terms occur in equally many facts."""
    return len({sum(fact.mentions(role.x) for fact in facts) for role in roles}) == 1


def reads_alike(world: World, facts: list[Fact], roles: list[Role]) -> bool:
    """Whether equally many facts start with each asked-about term."""
    starts = {
        sum(world.style(place(fact, role.x))[0] for fact in facts if fact.mentions(role.x))
        for role in roles
    }
    return len(starts) == 1


def _spare(
    world: World, pool: Pool, role: Role, closed: set[int], rng: Random
) -> list[tuple[Place, Fact]]:
    """Facts about a role's term that bring in no term of the triplet, each with its kind."""
    x = role.x
    if world.terms.is_literal(x):
        return []
    found = [*world.about(x), *world.pointing_at(x, pool.p)]
    other_side = pool.varying == "subj"
    fit = [
        fact
        for fact in found
        if (fact.o if fact.s == x else fact.s) not in closed
        and not (
            role.no_other_value
            and fact.p == pool.p
            and not fact.denied
            and (fact.s == x) == other_side
        )
    ]
    rng.shuffle(fit)
    # Stable: facts with x as subject first, since those read as facts about x.
    fit.sort(key=lambda fact: fact.s != x)
    return [(place(fact, x), fact) for fact in fit]


def _most_wanted(
    world: World, spare: list[tuple[Place, Fact]], lacking: dict[Style, float]
) -> Place | None:
    """The kind of spare fact whose style is lacking most; rather stated than denied."""
    return max(
        dict(spare),
        key=lambda p: (lacking.get(world.style(p), -1.0), not p.denied, p.head),
        default=None,
    )


def _move(
    x: int,
    mine: dict[int, list[Fact]],
    spare: dict[int, list[tuple[Place, Fact]]],
    places: dict[int, list[Place]],
    wanted: Place,
) -> bool:
    """Gives ``x`` one spare fact of the wanted kind."""
    for i, (kind, fact) in enumerate(spare[x]):
        if kind == wanted:
            del spare[x][i]
            mine[x].append(fact)
            places[x].append(kind)
            return True
    return False
