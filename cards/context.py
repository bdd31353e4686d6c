"""Builds contexts: the facts that the cards of a triplet share, balanced between its roles.

All three cards of a triplet give the *same facts* (in another order), ask about the same predicate
and anchor in the same words, and differ only in the entity they ask about. So a count over the
facts cannot predict the label, and neither can the question, except by that entity's name. The
mentions of the entities could still differ, so they are balanced here: each entity occurs in the
same number of facts, if possible of the same predicates, for given and for denied facts.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import NamedTuple

from cards.facts import Fact, TermRole, get_term_role
from cards.graph_lookup import GraphLookup, Style
from cards.pools import Pool
from kg.claims import Label


class Role(NamedTuple):
    """One card of a triplet before it has a context."""

    label: Label
    x: int
    """The varying term."""
    core: tuple[Fact, ...]
    """The facts that the label needs."""
    no_other_value: bool = False
    """Whether no other value of ``x`` may be given: it would be a second reason for the label."""


def build_context(
    lookup: GraphLookup, pool: Pool, anchor: int, roles: list[Role], size: int, rng: Random
) -> list[Fact] | None:
    """Chooses the facts of a triplet, in no particular order.

    Args:
        lookup: the knowledge base.
        pool: the predicate and the varying side.
        anchor: the term all three ask about; no added fact mentions it.
        roles: the cards' terms and needed facts.
        size: target number of facts; balance may need more.
        rng: chooses among equally good facts.

    Returns:
        The facts, or None if they cannot be balanced.
    """
    entities = {role.x for role in roles}
    core = list(dict.fromkeys(fact for role in roles for fact in role.core))
    excluded = entities | {anchor} | {t for fact in core for t in (fact.s, fact.o)}
    chosen = {role.x: [f for f in core if f.mentions_term(role.x)] for role in roles}
    spare = {role.x: _list_spare_facts(lookup, pool, role, excluded, rng) for role in roles}
    positions = {x: [get_term_role(f, x) for f in facts] for x, facts in chosen.items()}

    # First give every role the kinds of facts that another role needs for its label.
    needed = list(dict.fromkeys(p for x in chosen for p in positions[x]))
    for x in chosen:
        for position in needed:
            if position not in positions[x]:
                _add_spare_fact(x, chosen, spare, positions, position)
    # Then make the numbers of mentions equal, preferring the kinds of facts most frequent for the
    # other entities.
    level = max(len(facts) for facts in chosen.values())
    for x in chosen:
        # The entities must have equal numbers of mentions, and also equal positions in the
        # sentences: a missing kind of fact is replaced by one with a similar sentence.
        if len(chosen[x]) == level:
            continue
        other_styles = Counter(
            [lookup.get_style(p) for y in chosen if y != x for p in positions[y]]
        )
        while len(chosen[x]) < level:
            own_styles = [lookup.get_style(p) for p in positions[x]]
            missing = {
                style: n / (len(chosen) - 1) - own_styles.count(style)
                for style, n in other_styles.items()
            }
            best = _choose_missing_kind(lookup, spare[x], missing)
            if best is None or not _add_spare_fact(x, chosen, spare, positions, best):
                return None
    # Finally add one more fact of the same kind to each role until the size is reached.
    total = len(set(core)) + sum(len(set(facts) - set(core)) for facts in chosen.values())
    while total + len(chosen) <= size:
        kinds = [dict(spare[x]) for x in chosen]
        common = [p for p in dict(spare[roles[0].x]) if all(p in kind for kind in kinds)]
        if not common:
            break
        position = common[rng.randrange(len(common))]
        for x in chosen:
            _add_spare_fact(x, chosen, spare, positions, position)
        total += len(chosen)
    return list(dict.fromkeys([*core, *(f for facts in chosen.values() for f in facts)]))


def has_balanced_mentions(facts: list[Fact], roles: list[Role]) -> bool:
    """Returns whether the entities of all roles occur in the same number of facts."""
    return len({sum(fact.mentions_term(role.x) for fact in facts) for role in roles}) == 1


def has_balanced_starts(lookup: GraphLookup, facts: list[Fact], roles: list[Role]) -> bool:
    """Returns whether the entities of all roles start the same number of facts."""
    starts = {
        sum(
            lookup.get_style(get_term_role(fact, role.x))[0]
            for fact in facts
            if fact.mentions_term(role.x)
        )
        for role in roles
    }
    return len(starts) == 1


def _list_spare_facts(
    lookup: GraphLookup, pool: Pool, role: Role, excluded: set[int], rng: Random
) -> list[tuple[TermRole, Fact]]:
    """Lists facts about a role's term that mention no other term of the triplet, with positions."""
    x = role.x
    if lookup.terms.is_literal(x):
        return []
    facts = [*lookup.list_facts_about(x), *lookup.list_incoming_facts(x, pool.p)]
    other_side = pool.varying == "subj"
    fit = [
        fact
        for fact in facts
        if (fact.o if fact.s == x else fact.s) not in excluded
        and not (
            role.no_other_value
            and fact.p == pool.p
            and not fact.denied
            and (fact.s == x) == other_side
        )
    ]
    rng.shuffle(fit)
    # The sort is stable: facts with x as subject precede the others, since they are about x.
    fit.sort(key=lambda fact: fact.s != x)
    return [(get_term_role(fact, x), fact) for fact in fit]


def _choose_missing_kind(
    lookup: GraphLookup, spare: list[tuple[TermRole, Fact]], missing: dict[Style, float]
) -> TermRole | None:
    """Chooses the kind of spare fact whose style is missing most, preferring given to denied."""
    return max(
        dict(spare),
        key=lambda p: (missing.get(lookup.get_style(p), -1.0), not p.is_denied, p.is_subject),
        default=None,
    )


def _add_spare_fact(
    x: int,
    chosen: dict[int, list[Fact]],
    spare: dict[int, list[tuple[TermRole, Fact]]],
    positions: dict[int, list[TermRole]],
    position: TermRole,
) -> bool:
    """Moves one spare fact of a kind to the chosen facts of ``x``; False if there is none."""
    for i, (kind, fact) in enumerate(spare[x]):
        if kind == position:
            del spare[x][i]
            chosen[x].append(fact)
            positions[x].append(kind)
            return True
    return False
