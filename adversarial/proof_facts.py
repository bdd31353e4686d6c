"""Chooses the facts that may prove the claim of a near-miss false."""

from __future__ import annotations

from collections.abc import Iterator

from adversarial.strategies import TruePairs
from cards.facts import Fact
from cards.generation.context import Role
from cards.generation.pools import Pool
from cards.generation.prover import Prover

MAX_VALUES = 3
"""Maximum number of true values of a subject that are tried as a proof."""
MAX_SUBJECT_FACTS = 4
"""Maximum number of further facts about a subject that are tried as a proof."""


def iter_proof_facts(
    prover: Prover, true_pairs: TruePairs, s: int, wrong_object: int
) -> Iterator[tuple[Fact, ...]]:
    """Yields sets of facts that may prove a claim false, the simplest first.

    Few facts of each sort are tried, because every set costs a proof over the card.

    Args:
        prover: proves claims with the predicate.
        true_pairs: the true claims with the predicate.
        s: the subject of the claim.
        wrong_object: its object.
    """
    lookup, pool = prover.lookup, true_pairs.pool
    for fact in lookup.denials.get(s, ()):
        if (fact.p, fact.o) == (pool.p, wrong_object):
            yield (fact,)
            break
    values = true_pairs.get_objects(s)[:MAX_VALUES]
    premises = [facts for o in values if (facts := prover.find_premises(s, pool.p, o))]
    yield from premises
    if not lookup.terms.is_literal(wrong_object):
        facts = prover.find_premises(wrong_object, pool.p, s)
        if facts:
            yield facts
    for x in [x for x in true_pairs.get_subjects(wrong_object) if x != s][:1]:
        facts = prover.find_premises(x, pool.p, wrong_object)
        if facts:
            yield facts
    kept_back = {pool.p, *pool.telling.restating}
    subject_facts = [
        fact
        for fact in lookup.list_facts_about(s)
        if fact.p not in kept_back and not fact.denied and pool.is_plausible(s, wrong_object, fact)
    ]
    type_facts = [
        Fact(x, lookup.type_id, c)
        for x in (s, wrong_object)
        if not lookup.terms.is_literal(x)
        for c in lookup.get_types(x)[:1]
    ]
    # Shapes that target a class apply only to what the card calls its member.
    yield from ((*type_facts, *facts) for facts in premises if type_facts)
    yield (*type_facts, *subject_facts[:MAX_SUBJECT_FACTS])


def share_class(prover: Prover, pool: Pool, anchor: int, roles: list[Role]) -> list[Role] | None:
    """Lets the facts say the same class of all that a pair asks about, if they say one of any.

    The class of one alone would tell its label. If possible, it is one that a shape targets which
    the false claim violates.

    Returns:
        The roles; None if they have no class in common.
    """
    lookup = prover.lookup
    if not any(f.p == lookup.type_id and f.s == role.x for role in roles for f in role.core):
        return roles
    others = [set(lookup.get_types(role.x)) for role in roles[1:]]
    shared = [c for c in lookup.get_types(roles[0].x) if all(c in types for types in others)]
    if not shared:
        return None
    claims = (lookup.make_claim(*pool.make_triple(r.x, anchor)) for r in roles if r.label == "C")
    violations = (v for claim in claims for v in prover.license_on_graph(claim).proof.violations)
    targets = prover.find_target_classes(violation.shape for violation in violations)
    chosen = next((c for c in shared if c in targets), shared[0])
    return [
        role._replace(
            core=(
                Fact(role.x, lookup.type_id, chosen),
                *(f for f in role.core if (f.s, f.p) != (role.x, lookup.type_id)),
            )
        )
        for role in roles
    ]
