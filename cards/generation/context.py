"""Builds contexts: the facts that the cards of a triplet share, balanced between its roles.

All three cards of a triplet give the *same facts* in different order. They ask about the same
predicate and anchor in the same words, and differ only in the entity they ask about. So a count
over the facts cannot predict the label, and the question can only by that entity's name. The facts
could still mention one entity more often than another, so the mentions are balanced here: each
entity occurs in the same number of facts, and if possible in facts of the same predicates, both
asserted and denied.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from cards.facts import Fact, TermRole, get_term_role
from cards.generation.graph_lookup import GraphLookup, Style
from cards.generation.pools import Pool
from kg.claims import Label
from kg.vocabulary import NAMED_NODE
from kg.words.qualifiers import is_named_after

MAX_TRIES_PER_FACT = 6
"""Maximum number of random facts looked at for each unrelated fact that is wanted."""


class Role(NamedTuple):
    """One card of a triplet before it has a context."""

    label: Label
    x: int
    """The varying term."""
    core: tuple[Fact, ...]
    """The facts that prove the label."""
    forbids_other_value: bool = False
    """Whether the card must not contain a fact with another value of ``x``: it would be a second
    reason for the label."""


class Proposal(NamedTuple):
    """A triplet that is not proved yet."""

    anchor: int
    roles: list[Role]
    with_types: bool = False
    """Whether the facts must include the classes of the entities asked about."""


def build_context(
    lookup: GraphLookup,
    pool: Pool,
    anchor: int,
    roles: list[Role],
    size: int,
    rng: Random,
    allows_incoming: bool = False,
    *,
    other_values: Sequence[Fact] = (),
    repeats_kinds: bool = True,
) -> list[Fact] | None:
    """Chooses the facts of a triplet, in no particular order.

    Args:
        lookup: the knowledge base.
        pool: the predicate and the varying side.
        anchor: the term that all three cards ask about; no other fact that is added mentions it.
        roles: the cards' terms and the facts that prove their labels.
        size: target number of facts; more are chosen if the balance needs them.
        rng: chooses among equally good facts.
        allows_incoming: whether facts of any predicate whose object is a role's term may be used
            if there are no others.
        other_values: further facts to state, which mention no role's term: other values of the
            subject that the cards ask about.
        repeats_kinds: whether each role gets the kinds of facts that another one needs.

    Returns:
        The facts, or None if they cannot be balanced.
    """
    entities = {role.x for role in roles}
    core_facts = list(dict.fromkeys([*(fact for r in roles for fact in r.core), *other_values]))
    excluded = entities | {anchor} | {t for fact in core_facts for t in (fact.s, fact.o)}
    chosen_facts = {role.x: [f for f in core_facts if f.mentions_term(role.x)] for role in roles}
    spare_facts = {
        role.x: _list_spare_facts(
            lookup, pool, role, anchor, excluded, core_facts, rng, allows_incoming=allows_incoming
        )
        for role in roles
    }
    positions = {x: [get_term_role(f, x) for f in facts] for x, facts in chosen_facts.items()}

    # First give every role the kinds of facts that another role needs for its label.
    needed = list(dict.fromkeys(p for x in chosen_facts for p in positions[x]))
    own_value = TermRole(pool.p, is_subject=True, is_denied=False)
    if pool.may_have_others and all(own_value in dict(spare_facts[x]) for x in chosen_facts):
        # Another value of the subject asked about, which decides nothing.
        for x in chosen_facts:
            _add_spare_fact(x, chosen_facts, spare_facts, positions, own_value)
    for x in chosen_facts if repeats_kinds else ():
        for position in needed:
            if position not in positions[x]:
                _add_spare_fact(x, chosen_facts, spare_facts, positions, position)
    # Then make the numbers of mentions equal. Prefer the kinds of facts that are most frequent for
    # the other entities.
    n_mentions = max(len(facts) for facts in chosen_facts.values())
    for x in chosen_facts:
        if len(chosen_facts[x]) == n_mentions:
            continue
        other_styles = Counter(
            [lookup.get_style(p) for y in chosen_facts if y != x for p in positions[y]]
        )
        while len(chosen_facts[x]) < n_mentions:
            # Entities must also occur at equal positions in the sentences, so a missing kind of
            # fact is replaced by one whose sentence has the same style.
            own_styles = [lookup.get_style(p) for p in positions[x]]
            missing_by_style = {
                style: n / (len(chosen_facts) - 1) - own_styles.count(style)
                for style, n in other_styles.items()
            }
            best_kind = _choose_missing_kind(lookup, spare_facts[x], missing_by_style)
            if best_kind is None or not _add_spare_fact(
                x, chosen_facts, spare_facts, positions, best_kind
            ):
                return None
    # Finally add one more fact of the same kind to each role until the size is reached.
    total = len(set(core_facts)) + sum(
        len(set(facts) - set(core_facts)) for facts in chosen_facts.values()
    )
    while total + len(chosen_facts) <= size:
        kinds_by_role = [dict(spare_facts[x]) for x in chosen_facts]
        common_kinds = [
            p for p in dict(spare_facts[roles[0].x]) if all(p in kind for kind in kinds_by_role)
        ]
        if not common_kinds:
            break
        position = common_kinds[rng.randrange(len(common_kinds))]
        for x in chosen_facts:
            _add_spare_fact(x, chosen_facts, spare_facts, positions, position)
        total += len(chosen_facts)
    all_facts = list(
        dict.fromkeys([*core_facts, *(f for facts in chosen_facts.values() for f in facts)])
    )
    return all_facts if len(drop_homonyms(lookup, all_facts)) == len(all_facts) else None


def drop_homonyms(
    lookup: GraphLookup, facts: Sequence[Fact], stated: Sequence[Fact] = ()
) -> list[Fact]:
    """Leaves out facts that a reader would take for those of another predicate with the same name.

    "The map has 1890 as its date" and "The map has 1892 as its date" contradict each other on a
    card, though one states when it was drawn and the other when it was printed.

    Args:
        lookup: the knowledge base.
        facts: of predicates with the same name, one is kept for each subject.
        stated: facts on the same card, which are preferred to those.
    """
    groups = lookup.name_groups
    if not groups:
        return list(facts)
    kept: dict[tuple[int, int], int] = {}
    # Sorted, so that the cards of a triplet have facts of the same predicates.
    for fact in [*stated, *sorted(facts, key=lambda fact: fact.p)]:
        kept.setdefault((fact.s, groups.get(fact.p, fact.p)), fact.p)
    return [fact for fact in facts if kept[fact.s, groups.get(fact.p, fact.p)] == fact.p]


def is_spare_fact(lookup: GraphLookup, pool: Pool, anchor: int, role: Role, fact: Fact) -> bool:
    """Returns whether a card can state a fact about a role's term that its label does not need.

    Not if it restates what is asked, settles it on a U card, makes it implausible, is another value
    although the role forbids that, links the term to one without a readable name, or to a part that
    is called after it.
    """
    x = role.x
    return (
        fact.p not in pool.telling.restating
        and not (role.label == "U" and fact.s == x and fact.p in pool.telling.settling)
        and lookup.is_readable(fact.o if fact.s == x else fact.s)
        and pool.is_plausible(x, anchor, fact)
        and not _leads_to_part(lookup, fact)
        and not (
            role.forbids_other_value
            and fact.p == pool.p
            and not fact.denied
            and (fact.s == x) == (pool.varying == "subj")
        )
    )


def _leads_to_part(lookup: GraphLookup, fact: Fact) -> bool:
    part = lookup.terms.get_text(fact.o)
    return part.startswith(NAMED_NODE) and is_named_after(
        lookup.get_label(fact.o), lookup.get_label(fact.s)
    )


def has_settling_fact(pool: Pool, anchor: int, roles: list[Role], facts: list[Fact]) -> bool:
    """Returns whether a fact settles, for a sensible reader, the question of a U card."""
    unknown = [role.x for role in roles if role.label == "U"]
    subjects = {pool.make_triple(x, anchor)[0] for x in unknown}
    return any(
        (fact.s in subjects and fact.p in pool.telling.settling)
        or not all(pool.is_plausible(x, anchor, fact) for x in unknown)
        for fact in facts
    )


def has_confusable_names(
    lookup: GraphLookup, anchor: int, roles: list[Role], facts: list[Fact]
) -> bool:
    """Returns whether a reader could take two different things on a card for one.

    That is so where their names differ only in case, accents, punctuation and spaces, and one of
    them is not told apart by more words: "Paris" and "Paris (city)". A fact that links the two
    shows that they differ: "text (training) has Text as its data type".
    """
    links = {(fact.s, fact.o) for fact in facts if fact.p != lookup.type_id}
    named = [anchor, *(role.x for role in roles), *(fact.s for fact in facts)]
    terms_by_name: dict[str, list[int]] = {}
    for term in dict.fromkeys([*named, *(o for _, o in links)]):
        if not lookup.terms.is_literal(term):
            terms_by_name.setdefault(lookup.get_squeezed_name(term), []).append(term)
    return any(
        any(map(lookup.is_bare_name, pair))
        and links.isdisjoint((pair, pair[::-1]))
        and len(lookup.kb.labels.merge_aliases(map(lookup.terms.get_text, pair))) > 1
        for terms in terms_by_name.values()
        for pair in itertools.combinations(terms, 2)
    )


def add_unrelated_facts(
    lookup: GraphLookup,
    pool: Pool,
    proposal: Proposal,
    facts: Sequence[Fact],
    size: int,
    rng: Random,
) -> list[Fact]:
    """Adds facts about other entities until there are ``size`` facts, or no more are found.

    A reader must find the facts that matter among them. They mention no entity that is asked about
    or that the given facts mention, so that the balance between the roles stays as it is. Every
    second one has the predicate asked about.
    """
    chosen = list(facts)
    mentioned = {term for fact in facts for term in (fact.s, fact.o)}
    mentioned |= {proposal.anchor, *(role.x for role in proposal.roles)}
    predicates = lookup.fact_predicates
    for number in range(MAX_TRIES_PER_FACT * max(0, size - len(facts)) if predicates else 0):
        if len(chosen) >= size:
            break
        q = pool.p if number % 2 else predicates[int(rng.random() * len(predicates))]
        subjects = lookup.list_subjects(q, asserted_only=True)
        if not subjects or q in pool.telling.restating:
            continue
        s = subjects[int(rng.random() * len(subjects))]
        new = [f for f in lookup.list_facts_about(s) if f.p == q and not f.denied]
        fact = new[int(rng.random() * len(new))] if new else None
        if fact is None or fact in chosen or not mentioned.isdisjoint((fact.s, fact.o)):
            continue
        if lookup.is_usable(fact):
            chosen += drop_homonyms(lookup, [fact], chosen)
    return chosen


def has_balanced_mentions(facts: list[Fact], roles: list[Role]) -> bool:
    """Returns whether the entities of all roles occur in the same number of facts."""
    return len({sum(fact.mentions_term(role.x) for fact in facts) for role in roles}) == 1


def has_alike_places(p: int, facts: list[Fact], roles: list[Role]) -> bool:
    """Returns whether the entities of all roles are equally often subject and object of ``p``."""
    counts = {
        (
            sum(f.p == p and f.s == role.x for f in facts),
            sum(f.p == p and f.o == role.x for f in facts),
        )
        for role in roles
    }
    return len(counts) == 1


def has_balanced_starts(lookup: GraphLookup, facts: list[Fact], roles: list[Role]) -> bool:
    """Returns whether the entities of all roles start the same number of fact sentences."""
    start_counts = {
        sum(
            lookup.get_style(get_term_role(fact, role.x))[0]
            for fact in facts
            if fact.mentions_term(role.x)
        )
        for role in roles
    }
    return len(start_counts) == 1


def _list_spare_facts(
    lookup: GraphLookup,
    pool: Pool,
    role: Role,
    anchor: int,
    excluded: set[int],
    stated: Sequence[Fact],
    rng: Random,
    *,
    allows_incoming: bool,
) -> list[tuple[TermRole, Fact]]:
    """Lists the facts about a role's term, with its position in each, in random order.

    Facts that mention an excluded term are left out, and those that are not spare (see
    ``is_spare_fact``), or would be taken for another fact (see ``drop_homonyms``).
    """
    x = role.x
    if lookup.terms.is_literal(x):
        return []
    suitable_facts = _filter_spare_facts(
        lookup,
        pool,
        role,
        anchor,
        excluded,
        lookup.list_facts_about(x),
        lookup.list_incoming_facts(x, pool.p),
    )
    if allows_incoming and not suitable_facts:
        incoming = (lookup.list_incoming_facts(x, p) for p in lookup.fact_predicates)
        suitable_facts = _filter_spare_facts(lookup, pool, role, anchor, excluded, *incoming)
    suitable_facts = drop_homonyms(lookup, suitable_facts, stated)
    rng.shuffle(suitable_facts)
    # The sort is stable: facts with x as subject precede the others, since they are about x.
    suitable_facts.sort(key=lambda fact: fact.s != x)
    return [(get_term_role(fact, x), fact) for fact in suitable_facts]


def _filter_spare_facts(
    lookup: GraphLookup,
    pool: Pool,
    role: Role,
    anchor: int,
    excluded: set[int],
    *facts: Iterable[Fact],
) -> list[Fact]:
    return [
        fact
        for fact in itertools.chain(*facts)
        if (fact.o if fact.s == role.x else fact.s) not in excluded
        and is_spare_fact(lookup, pool, anchor, role, fact)
    ]


def _choose_missing_kind(
    lookup: GraphLookup,
    spare_facts: list[tuple[TermRole, Fact]],
    missing_by_style: dict[Style, float],
) -> TermRole | None:
    """Chooses the kind of spare fact whose style is missing most; asserted before denied."""
    return max(
        dict(spare_facts),
        key=lambda p: (
            missing_by_style.get(lookup.get_style(p), -1.0),
            not p.is_denied,
            p.is_subject,
        ),
        default=None,
    )


def _add_spare_fact(
    x: int,
    chosen_facts: dict[int, list[Fact]],
    spare_facts: dict[int, list[tuple[TermRole, Fact]]],
    positions: dict[int, list[TermRole]],
    position: TermRole,
) -> bool:
    """Adds a spare fact of one kind to the chosen facts of ``x``; returns False if none is left."""
    for i, (kind, fact) in enumerate(spare_facts[x]):
        if kind == position:
            del spare_facts[x][i]
            chosen_facts[x].append(fact)
            positions[x].append(kind)
            return True
    return False
