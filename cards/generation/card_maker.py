"""Makes the triplets of one predicate, varying whichever side of its claims can vary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from cards.card import Card
from cards.generation.card_plan import CardPlan, DerivedQuota, Phase
from cards.generation.card_writer import Triplet, write_triplet_cards
from cards.generation.context import Proposal, Role
from cards.generation.graph_lookup import GraphLookup
from cards.generation.kinds import FUNCTIONAL
from cards.generation.pools import Pool, VaryingSide
from cards.generation.prover import Prover
from cards.generation.recipes import Recipes
from cards.generation.restated_values import find_telling_predicates
from cards.generation.rng import rng_for
from cards.generation.set_aside import (
    PoolNeed,
    SetAside,
    Unknowns,
    count_candidates,
    set_aside_facts,
    share_equally,
)
from cards.generation.shortage import (
    MIN_TERMS,
    Obstacle,
    count_obstacles,
    explain_obstacles,
    explain_pool,
)
from cards.generation.taxonomies.taxonomy import Taxonomy, is_taxonomy
from cards.generation.taxonomies.taxonomy_recipes import TaxonomyRecipes
from cards.generation.triplets import TripletSource
from kg.claims import Label
from kg.oracle import Oracle

VARYING_SIDES: tuple[VaryingSide, ...] = ("subj", "obj")
MAX_SPARE = 8
"""Maximum number of terms that are set aside in addition to those needed, at the first attempt."""
FACTORS = (1.0, 2.0, 0.5, 0.25)
"""How many terms are set aside for each triplet, one after the other until all cards are made: more
where names find no partners, fewer where what is left proves too little."""
TAXONOMY_FACTOR = 2
"""How many times as many terms of a taxonomy are set aside as of other predicates."""
N_SAMPLED_PAIRS = 200
"""Number of true pairs by which the share of derived ones is estimated."""
MAX_DERIVED_PART = 2 / 3
"""Largest part of a set that predicates get more than an equal share of, so that enough cards need
a derived fact."""


class Side(NamedTuple):
    """A side of a predicate's claims that its cards can vary."""

    pool: Pool
    """The terms in G."""
    is_single: bool
    max_triplets: int
    """At most this many, because each needs a term whose anchor is set aside and two others."""
    may_have_others: bool
    """Whether the subject of a claim may have several values."""
    max_chains: int | None = None
    """If false claims reverse chains, at most this many triplets; None if they do not, or if there
    are more than enough chains."""
    taxonomy: Taxonomy | None = None
    """If all false claims reverse chains of classes or concepts."""

    def count_terms(self, n_triplets: int, factor: float) -> int:
        """Returns how many terms to set aside; more than triplets, because some find no partners.

        Args:
            n_triplets: number of triplets to make.
            factor: how many terms for each.
        """
        if not n_triplets:
            return 0
        if self.taxonomy is not None:
            # For many claims that are set aside, no others fit.
            return min(self.max_triplets, int(TAXONOMY_FACTOR * factor * n_triplets) + MAX_SPARE)
        if self.max_chains and factor < 1:
            # More would only break the chains that false claims need. Of a share that is far too
            # large for these, the first attempt at fewer sets aside for as many as there are.
            n_triplets = int(min(factor * n_triplets, 2 * factor * self.max_chains))
            return min(self.max_triplets, n_triplets + min(MAX_SPARE, 2 + n_triplets // 4))
        spare = min(MAX_SPARE, 2 + n_triplets // 4)
        most = int(min(1.0, factor) * self.max_triplets)
        return min(most, int(factor * n_triplets) + spare)


def find_sides(lookup: GraphLookup, pred: str, plan: CardPlan) -> list[Side]:
    """Finds the sides of a predicate's claims that give cards of all three labels."""
    p = lookup.intern_term(pred)
    telling = find_telling_predicates(lookup, p)
    pools = [Pool(lookup, p, varying, plan.subj_hint, telling) for varying in VARYING_SIDES]
    single_valued = [
        pool.is_single_valued(rng_for(plan.seed, pred, pool.varying)) for pool in pools
    ]
    has_taxonomy = not any(single_valued) and is_taxonomy(lookup, p)
    limit = MIN_TERMS * (int(max(FACTORS)) * plan.per_label + MAX_SPARE)
    return [
        Side(
            pool,
            is_single,
            count_candidates(pool, limit) // MIN_TERMS,
            may_have_others=not single_valued[0],
            max_chains=None if any(single_valued) else _count_chain_ends(pool, plan.per_label),
            taxonomy=Taxonomy(lookup, p, pool.varying) if has_taxonomy else None,
        )
        for pool, is_single in zip(pools, single_valued, strict=True)
        # If a subject can have only one value, varying the object gives no UNKNOWN card, because
        # every other object is contradicted; likewise with the sides exchanged.
        if (is_single or not any(single_valued))
        and not (pool.varying == "obj" and (pool.has_literal_values or pool.is_settled_by_proofs))
    ]


def _count_chain_ends(pool: Pool, limit: int) -> int | None:
    """Counts the terms that chains of two links end in; None if there are ``limit`` or more."""
    index = pool.lookup.closure_index
    varies_subject = pool.varying == "subj"
    ends: set[int] = set()
    for anchor in index.get_objects(pool.p) if varies_subject else index.get_subjects(pool.p):
        ends.update(pool.get_anchors(anchor))
        if len(ends) >= limit:
            return None
    return len(ends)


def estimate_derived_share(group: Sequence[Side], plan: CardPlan) -> float:
    """Estimates which share of the triplets of a predicate has true claims that are only derived.

    Args:
        group: the sides of the predicate's claims.
        plan: the settings of the card set.
    """
    if plan.kinds and "inferred" not in plan.kinds:
        return 0.0
    shares = []
    for side in group:
        pool = side.pool
        if "inferred" not in pool.e_kinds:
            return 0.0
        rng = rng_for(plan.seed, "derived", pool.lookup.terms.get_text(pool.p), pool.varying)
        pairs = list(pool.sample_pairs(rng, "", N_SAMPLED_PAIRS))
        shares.append(sum(not pool.is_asserted(*pair) for pair in pairs) / max(1, len(pairs)))
    return min(shares, default=0.0)


def choose_shares(
    plan: CardPlan, limits: Sequence[int], derived_shares: Sequence[float]
) -> list[int]:
    """Chooses how many triplets each predicate should give.

    As many as the others, unless too few cards would then need a derived fact: in that case
    predicates most of whose true claims are derived give more.

    Args:
        plan: the settings of the card set.
        limits: the largest number of triplets of each predicate.
        derived_shares: for each predicate, see ``estimate_derived_share``.
    """
    total, target = plan.per_label, plan.derived_share
    shares = share_equally(total, limits)
    is_mostly_derived = [share >= target for share in derived_shares]
    # Of those, more are made than would be by chance, while too few cards need a derived fact.
    rates = [
        (1 + share) / 2 if mostly else share
        for share, mostly in zip(derived_shares, is_mostly_derived, strict=True)
    ]
    # With these weights they have more than the largest part, if the others reach their limits.
    for weight in range(2, 2 * len(limits) + 2):
        if sum(n * rate for n, rate in zip(shares, rates, strict=True)) >= target * sum(shares):
            break
        weights = [weight if mostly else 1 for mostly in is_mostly_derived]
        heavier = share_equally(total, limits, weights)
        n_mostly = sum(n for n, mostly in zip(heavier, is_mostly_derived, strict=True) if mostly)
        if n_mostly > MAX_DERIVED_PART * sum(heavier):
            break
        shares = heavier
    return shares


def list_needs(
    plan: CardPlan,
    sides: Sequence[Sequence[Side]],
    shares: Sequence[int],
    factors: Sequence[float],
) -> list[PoolNeed]:
    """Lists how many terms of each pool the shares of the predicates need.

    Each factor draws other terms: those that are set aside may be the ones that cards lack.
    """
    seed = plan.drawing_seed
    return [
        PoolNeed(
            side.pool,
            side.is_single,
            side.count_terms(share, factor),
            seed if factor == FACTORS[0] else f"{seed}, factor {factor:g}",
            side.taxonomy,
        )
        for group, group_share, factor in zip(sides, shares, factors, strict=True)
        for side, share in zip(
            group, share_equally(group_share, [s.max_triplets for s in group]), strict=True
        )
    ]


def make_makers(
    lookup: GraphLookup,
    plan: CardPlan,
    predicates: Sequence[str],
    sides: Sequence[Sequence[Side]],
    shares: Sequence[int],
    needs: Sequence[PoolNeed],
) -> tuple[list[PredicateCardMaker], SetAside]:
    """Sets aside what is needed; returns makers of cards from the rest."""
    aside = set_aside_facts(lookup, needs)
    reduced, unknowns = aside.lookup, iter(aside.unknowns)
    oracle = lookup.kb.oracle
    quota = DerivedQuota(round(plan.derived_share * plan.per_label))
    makers = [
        PredicateCardMaker(
            reduced,
            p,
            plan,
            [(side, next(unknowns)) for side in group],
            oracle,
            quota,
            share=share,
        )
        for p, group, share in zip(predicates, sides, shares, strict=True)
    ]
    return makers, aside


class PredicateCardMaker:
    """Makes the triplets of one predicate, varying whichever side of the claim can vary."""

    def __init__(
        self,
        lookup: GraphLookup,
        pred: str,
        plan: CardPlan,
        sides: Sequence[tuple[Side, Unknowns]],
        full_oracle: Oracle,
        quota: DerivedQuota,
        *,
        share: int,
    ) -> None:
        self.share = share
        """How many triplets the predicate should give."""
        self.lookup = lookup
        self.pred = pred
        self.plan = plan
        self.p = lookup.intern_term(pred)
        self.prover = Prover(lookup, self.p)
        self.rng = rng_for(plan.drawing_seed, pred)
        self.full_oracle = full_oracle
        self.n_triplets = 0
        e_kinds = tuple(k for k in ("asserted", "inferred") if k in plan.kinds)
        # "asserted" and "inferred" are kinds of E cards, and "absent" is one of U cards.
        self._allowed_c_kinds = frozenset(plan.kinds) - {"asserted", "inferred", "absent"}
        self.sources: list[TripletSource] = []
        for side, unknowns in sides:
            pool = Pool(
                lookup,
                self.p,
                side.pool.varying,
                plan.subj_hint,
                side.pool.telling,
                may_have_others=side.may_have_others,
                full=side.pool,
            )
            make_recipes = (
                partial(TaxonomyRecipes, side.taxonomy) if side.taxonomy is not None else Recipes
            )
            recipes = make_recipes(
                pool,
                unknowns,
                side.pool.lookup,
                self.prover,
                self.rng,
                is_single=side.is_single,
                e_kinds=e_kinds or ("asserted", "inferred"),
                matches_words=plan.matches_words,
                compares_rest=plan.is_strict,
            )
            self.sources.append(
                TripletSource(
                    lookup,
                    pool,
                    self.prover,
                    recipes,
                    allowed_kinds=self._allowed_c_kinds,
                    num_facts=plan.num_facts,
                    quota=quota,
                    rng=self.rng,
                )
            )

    def count_triplet(self, triplet: Triplet) -> None:
        """Counts a triplet whose cards are part of the set."""
        self.n_triplets += 1
        next(s for s in self.sources if s.pool is triplet.pool).count_triplet(triplet)

    def write_triplet(self, triplet: Triplet) -> list[Card]:
        """Writes the cards of a triplet; U cards also say what their label over G would be."""
        cards = write_triplet_cards(self.lookup, self.prover, triplet, self.plan.seed, self.rng)
        for number, card in enumerate(cards):
            if card.label == "U":
                # No proof is needed of what was set aside.
                is_true = self.full_oracle.closure.has_claim(card.claim)
                full_label = "E" if is_true else self.full_oracle.license(card.claim).label
                meta = {**card.meta, "full_label": full_label}
                cards[number] = msgspec.structs.replace(card, meta=meta)
        return cards

    def iter_triplets(self, phase: Phase) -> Iterator[Triplet]:
        """Yields proved triplets, alternating between the varying sides."""
        active_sources = [source.iter_triplets(phase) for source in self.sources]
        turn = 0
        while active_sources:
            triplets = active_sources[turn % len(active_sources)]
            try:
                triplet = next(triplets)
            except StopIteration:
                active_sources.remove(triplets)
                continue
            turn += 1
            yield triplet

    def iter_label_pairs(self, labels: tuple[Label, Label]) -> Iterator[list[Card]]:
        """Yields pairs of cards with two labels, for predicates without cards of the third."""
        for source in self.sources:
            recipes = source.recipes
            # Many proposals fail, so there are more tries than cards needed.
            for _ in range(20 * self.plan.per_label):
                proposal = _propose_pair(recipes, labels)
                # A C card made here contradicts a limit on the number of values.
                triplet = source.prove_triplet(FUNCTIONAL, proposal) if proposal else None
                if triplet is not None:
                    yield self.write_triplet(triplet)

    def explain_shortage(self) -> list[str]:
        """Explains why this predicate has no more cards, one sentence per reason."""
        label = self.lookup.kb.verbaliser.get_label(self.pred)
        for source in self.sources:
            pool, recipes = source.pool, source.recipes
            if not recipes.e_kinds:
                return [f"{label}: no true pair of the requested kinds"]
            has_unknowns = any(one.recipes.unknowns.anchors for one in self.sources)
            if not has_unknowns and not recipes.is_taxonomy:
                noun = "subject" if pool.varying == "subj" else "object"
                return [f"{label}: {explain_pool(count_obstacles(pool), noun)}"]
        failures = sum((source.failures for source in self.sources), Counter[Obstacle]())
        words = {word for source in self.sources for word in source.recipes.frequent_words}
        recipe_counts = ", ".join(
            f"{name} {n}" for source in self.sources for name, n in source.proved_counts.items()
        )
        proved = f" (triplets made: {recipe_counts})" if recipe_counts else ""
        reason = explain_obstacles(failures, words)
        return [f"{label}: {reason}{proved}"]


def _propose_pair(recipes: Recipes, labels: tuple[Label, Label]) -> Proposal | None:
    pair = recipes.sample_entailed(None)
    if pair is None:
        return None
    e_term, anchor = pair
    proof_facts = recipes.find_proof_facts(e_term, anchor)
    if proof_facts is None:
        return None
    if "U" in labels:
        x = recipes.sample_unknown(e_term, anchor)
        other_role = Role("U", x, ()) if x is not None else None
    else:
        x = recipes.sample_other_anchor_holder(e_term, anchor)
        if x is None or recipes.is_nearly_true(x, anchor):
            return None
        if recipes.pool.has_related_anchor(x, anchor):
            return None
        facts = recipes.find_proof_facts(x, recipes.pool.get_anchors(x)[0])
        other_role = Role("C", x, facts) if facts else None
    if other_role is None or other_role.x == e_term:
        return None
    if recipes.reads_like_true(other_role.x, anchor):
        return None
    if any(map(recipes.pool.is_told_by_name, (e_term, other_role.x))):
        return None
    return Proposal(anchor, [Role("E", e_term, proof_facts), other_role])
