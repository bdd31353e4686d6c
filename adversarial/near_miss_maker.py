"""Proves the near-misses of one predicate: pairs of a false and an unknown claim, or single ones.

If possible, the facts of a near-miss also prove a true claim: the same anchor with another entity.
Then the anchor alone does not reveal that the claim of the near-miss is wrong.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from enum import StrEnum
from functools import cached_property, partial

import msgspec

from adversarial.hardness import compute_hardness
from adversarial.partners import Partners
from adversarial.proof_facts import iter_proof_facts, share_class
from adversarial.strategies import STRATEGIES, Candidate, TruePairs
from cards.card import Card
from cards.facts import Fact
from cards.generation.card_writer import Triplet, write_triplet_cards
from cards.generation.context import (
    Proposal,
    Role,
    add_unrelated_facts,
    build_context,
    drop_homonyms,
    has_balanced_mentions,
    has_balanced_starts,
    has_confusable_names,
    has_settling_fact,
    is_spare_fact,
)
from cards.generation.graph_lookup import GraphLookup
from cards.generation.kinds import CYCLE, NEAR_MISS_PREFIX, list_supported_kinds
from cards.generation.literals import read_alike
from cards.generation.pools import Pool, VaryingSide
from cards.generation.prover import Prover
from cards.generation.rng import rng_for
from kg.claims import Label, Verdict

MAX_FAILED_PAIRS = 40
"""A strategy is exhausted for a predicate after this many true pairs in a row without a card."""
MAX_CANDIDATES_PER_PAIR = 5
"""Maximum number of wrong claims tried for each true pair."""
SIDES: tuple[VaryingSide, ...] = ("subj", "obj")


class Obstacle(StrEnum):
    """Why a wrong claim gives no near-miss; the value continues "of the claims tried, 3 …"."""

    NAMES = "name something by no readable name, or by one that something else has"
    LEFT_OUT = "are about what cards leave out: nodes that break the shapes, and the ontology"
    SENSE = "make no sense to a reader, because nothing of that class is a subject"
    TRUE = "are true, or nearly so"
    BOUNDS = "break an order of two numbers such as birth and death, or are about disjoint classes"
    LABEL = "have a label of which there are enough"
    PARTNER = "have no similar partner with the other label"
    FACTS = "have too few facts to mention all entities equally often"
    CARD = "cannot be proved from the facts and rules on a card, or it would name two things alike"


class NearMissMaker:
    """Makes the near-misses of one predicate.

    Args:
        lookup: the knowledge base.
        pred: the predicate's IRI.
        seed: the seed of the whole set.
        num_facts: target number of facts per card.
        with_entailed: whether each card must, if possible, have a true claim beside it.
    """

    def __init__(
        self, lookup: GraphLookup, pred: str, *, seed: int, num_facts: int, with_entailed: bool
    ) -> None:
        self.lookup, self.seed, self.num_facts = lookup, seed, num_facts
        self.with_entailed = with_entailed
        self.p = lookup.intern_term(pred)
        self.prover = Prover(lookup, self.p)
        self.rng = rng_for(seed, pred)
        self.true_pairs = TruePairs(lookup, self.p, self.rng)
        pools = {
            "subj": self.true_pairs.pool,
            "obj": Pool(lookup, self.p, "obj", telling=self.true_pairs.pool.telling),
        }
        self.partners = {side: Partners(pools[side], self.rng) for side in SIDES}
        self.obstacles: Counter[Obstacle] = Counter()
        """Obstacle → number of wrong claims that met it."""

    def iter_pairs(self, strategy: str) -> Iterator[list[Card]]:
        """Yields pairs of near-misses, C and U in random order, then a true claim if there is one.

        Pairs of entities that are alike in all that is compared come first.
        """
        passes = [(True, self.with_entailed), (False, self.with_entailed), (False, False)]
        for strict, needs_true in dict.fromkeys(passes):
            make_cards = partial(self._make_pair, strategy, strict=strict, needs_true=needs_true)
            yield from self._iter_batches(strategy, make_cards)

    def iter_single(self, strategy: str, wanted: Collection[Label]) -> Iterator[list[Card]]:
        """Yields single near-misses of labels still wanted, with a true claim if there is one."""
        return self._iter_batches(strategy, partial(self._make_single, strategy, wanted=wanted))

    def _iter_batches(
        self, strategy: str, make_cards: Callable[[Candidate], list[Card]]
    ) -> Iterator[list[Card]]:
        """Yields the cards of a strategy's wrong claims, at most one batch for each true pair."""
        failed_pairs = 0
        tried: set[Candidate] = set()
        while failed_pairs < MAX_FAILED_PAIRS:
            pair = self.true_pairs.pool.sample_pair(self.rng)
            if pair is None:
                return
            failed_pairs += 1
            new = (c for c in STRATEGIES[strategy](self.true_pairs, *pair) if c not in tried)
            for candidate in itertools.islice(new, MAX_CANDIDATES_PER_PAIR):
                tried.add(candidate)
                if not self._can_ask(candidate, strategy):
                    continue
                cards = make_cards(candidate)
                if cards:
                    failed_pairs = 0
                    yield cards
                    break

    def _can_ask(self, candidate: Candidate, strategy: str) -> bool:
        """Returns whether a question about a claim can be worded, makes sense and is not true."""
        obstacle = self._find_obstacle(candidate.subject, candidate.wrong_object, strategy)
        if obstacle is not None:
            self.obstacles[obstacle] += 1
        return obstacle is None

    def _find_obstacle(self, s: int, wrong_object: int, strategy: str) -> Obstacle | None:
        lookup = self.lookup
        if s == wrong_object or lookup.terms.is_literal(s):
            return Obstacle.SENSE
        if {s, wrong_object} & lookup.unusable_nodes:
            return Obstacle.LEFT_OUT
        # What a homonym is called is not unique on purpose.
        can_name = lookup.is_readable if strategy == "homonym" else lookup.is_nameable
        if not (can_name(s) and can_name(wrong_object)):
            return Obstacle.NAMES
        if lookup.closure_index.has_triple(s, self.p, wrong_object):
            return Obstacle.TRUE
        if not self._is_like_a_subject(s):
            return Obstacle.SENSE
        is_excluded = not lookup.kind_checker.may_hold(s, self.p, wrong_object)
        if is_excluded and self._license(s, wrong_object).label == "U":
            return Obstacle.BOUNDS
        # The claim must not read like a true one: of a namesake, or with another spelling of the
        # same value.
        objects = self.true_pairs.get_objects(s)
        values = self.true_pairs.list_values(s)
        if self._reads_like_one_of(wrong_object, values):
            return Obstacle.NAMES
        if self.true_pairs.is_nearly_one_of(
            wrong_object, values, may_be_close=strategy == "numeric"
        ):
            return Obstacle.TRUE
        if not self.true_pairs.pool.keeps_bounds(s, wrong_object) and (
            # That it is false may be what a rule says, too.
            strategy != "numeric" or self._license(s, wrong_object).label == "U"
        ):
            return Obstacle.BOUNDS
        if (
            any(wrong_object in lookup.get_namesakes(o) for o in objects)
            and self._license(s, wrong_object).proof.rests_on_mined_rules
        ):
            return Obstacle.NAMES  # Found data often have one thing under two IRIs.
        namesakes = [
            x
            for x in lookup.get_namesakes(s)
            if lookup.closure_index.has_triple(x, self.p, wrong_object)
        ]
        return Obstacle.NAMES if self._reads_like_one_of(s, namesakes) else None

    def _reads_like_one_of(self, term: int, others: Collection[int]) -> bool:
        render, texts = self.lookup.kb.verbaliser.render_term, self.lookup.terms.texts
        if not others:
            return False
        pred = texts[self.p]
        text = render(texts[term], pred).casefold()
        return any(
            render(texts[other], pred).casefold() == text or read_alike(texts[other], texts[term])
            for other in others
        )

    def _is_like_a_subject(self, x: int) -> bool:
        """Returns whether ``x`` is a subject of the predicate or like one.

        All its classes must be classes of subjects; "Do the Alps have their source in the Inn?" is
        absurd to a reader. Where subjects have no classes, it must be the subject of some fact.
        """
        lookup = self.lookup
        if lookup.closure_index.find_objects(x, self.p):
            return True
        types = lookup.get_types(x)
        if self._subject_classes:
            return bool(types) and self._subject_classes.issuperset(types)
        return not types and bool(lookup.list_facts_about(x))

    @cached_property
    def _subject_classes(self) -> frozenset[int]:
        subjects = self.lookup.list_subjects(self.p, asserted_only=False)
        return frozenset(c for s in subjects for c in self.lookup.get_types(s))

    def _license(self, s: int, o: int) -> Verdict:
        return self.prover.license_on_graph(self.lookup.make_claim(s, self.p, o))

    # Pairs

    def _make_pair(
        self, strategy: str, candidate: Candidate, *, strict: bool, needs_true: bool
    ) -> list[Card]:
        s, wrong_object = candidate.subject, candidate.wrong_object
        label = self._license(s, wrong_object).label
        if label == "E":
            self.obstacles[Obstacle.TRUE] += 1
            return []
        other: Label = "U" if label == "C" else "C"
        obstacle = Obstacle.PARTNER
        for side, partners in self.partners.items():
            x, anchor = (s, wrong_object) if side == "subj" else (wrong_object, s)
            for y in partners.propose(x, anchor, other, strict=strict):
                triple = partners.pool.make_triple(y, anchor)
                claim = (triple[0], triple[2])
                if self._find_obstacle(*claim, strategy) or self._license(*claim).label != other:
                    continue
                terms: dict[Label, int] = {label: x, other: y}
                triplet, failure = self._prove_pair(
                    partners, anchor, terms, strict=strict, needs_true=needs_true
                )
                if triplet is not None:
                    partners.uses.update((x, y))
                    return self._write_cards(strategy, candidate, triplet)
                obstacle = failure
        self.obstacles[obstacle] += 1
        return []

    def _prove_pair(
        self,
        partners: Partners,
        anchor: int,
        terms: dict[Label, int],
        *,
        strict: bool,
        needs_true: bool,
    ) -> tuple[Triplet | None, Obstacle]:
        """Proves a C and a U claim over shared facts, if possible with a true claim (E).

        Returns:
            The proved claims, or None and the reason.
        """
        pool, obstacle = partners.pool, Obstacle.FACTS
        true_role = self._find_true_role(partners, terms["C"], anchor, strict=strict)
        false_subject, _, false_object = pool.make_triple(terms["C"], anchor)
        for core in iter_proof_facts(self.prover, self.true_pairs, false_subject, false_object):
            pair = [Role("C", terms["C"], core), Role("U", terms["U"], ())]
            for true_roles in ([true_role], []):
                if None in true_roles or (not true_roles and needs_true):
                    continue
                roles = [*pair, *(role for role in true_roles if role is not None)]
                if len({role.x for role in roles}) < len(roles):
                    continue
                typed_roles = share_class(self.prover, pool, anchor, roles)
                if typed_roles is None:
                    continue
                roles = typed_roles
                facts = build_context(self.lookup, pool, anchor, roles, self.num_facts, self.rng)
                if (
                    not facts
                    or not has_balanced_mentions(facts, roles)
                    or (strict and not has_balanced_starts(self.lookup, facts, roles))
                ):
                    continue
                triplet = self._prove_roles(pool, anchor, roles, facts)
                if triplet is not None:
                    return triplet, obstacle
                obstacle = Obstacle.CARD
        return None, obstacle

    def _find_true_role(
        self, partners: Partners, x: int, anchor: int, *, strict: bool
    ) -> Role | None:
        """Finds an entity for which the anchor is true, with the facts that prove it."""
        e = partners.choose_true(x, anchor, strict=strict)
        if e is None:
            return None
        facts = self.prover.find_premises(*partners.pool.make_triple(e, anchor))
        return Role("E", e, facts) if facts else None

    # Single near-misses

    def _make_single(
        self, strategy: str, candidate: Candidate, wanted: Collection[Label]
    ) -> list[Card]:
        s, wrong_object = candidate.subject, candidate.wrong_object
        label = self._license(s, wrong_object).label
        if label not in wanted:
            self.obstacles[Obstacle.TRUE if label == "E" else Obstacle.LABEL] += 1
            return []
        partners, obstacle = self.partners["subj"], Obstacle.FACTS
        true_role = self._find_true_role(partners, s, wrong_object, strict=False)
        cores = iter_proof_facts(self.prover, self.true_pairs, s, wrong_object)
        for core in cores if label == "C" else [()]:
            roles = [Role(label, s, core), *([true_role] if true_role else [])]
            facts = build_context(
                self.lookup, partners.pool, wrong_object, roles, self.num_facts, self.rng
            )
            if not facts:
                roles = roles[:1]
                about = [
                    fact
                    for fact in self.lookup.list_facts_about(s)
                    if is_spare_fact(self.lookup, partners.pool, wrong_object, roles[0], fact)
                ]
                facts = drop_homonyms(self.lookup, list(dict.fromkeys([*core, *about[:3]])), core)
            if not facts:
                continue
            triplet = self._prove_roles(partners.pool, wrong_object, roles, facts)
            if triplet is not None:
                return self._write_cards(strategy, candidate, triplet)
            obstacle = Obstacle.CARD
        self.obstacles[obstacle] += 1
        return []

    # Proofs

    def _prove_roles(
        self, pool: Pool, anchor: int, roles: list[Role], facts: list[Fact]
    ) -> Triplet | None:
        asked = [Fact(*pool.make_triple(role.x, anchor)) for role in roles]
        if not all(map(self.lookup.is_usable, [*asked, *facts])):
            return None
        if has_settling_fact(pool, anchor, roles, facts):
            return None
        facts = add_unrelated_facts(
            self.lookup, pool, Proposal(anchor, roles), facts, self.num_facts, self.rng
        )
        card_oracle = self.prover.make_card_oracle(facts)
        graph_verdicts: dict[str, Verdict] = {}
        card_verdicts: dict[str, Verdict] = {}
        kinds: dict[str, str] = {}
        for role, fact in zip(roles, asked, strict=True):
            claim = self.lookup.make_claim(fact.s, fact.p, fact.o)
            verdict = card_oracle.license(claim)
            if verdict.label != role.label:
                return None
            card_verdicts[role.label] = verdict
            graph_verdicts[role.label] = self.prover.license_on_graph(claim)
            if graph_verdicts[role.label].label != role.label:
                return None
            kinds[role.label] = next(iter(list_supported_kinds(verdict)), CYCLE)
        if has_confusable_names(self.lookup, anchor, roles, facts):
            return None
        return Triplet(
            pool, anchor, roles, facts, graph_verdicts, card_verdicts, kinds, frozenset()
        )

    def _write_cards(self, strategy: str, candidate: Candidate, triplet: Triplet) -> list[Card]:
        """Writes the near-misses in random order, then the true claim if there is one."""
        score, parts = compute_hardness(
            self.lookup, self.p, candidate.wrong_object, candidate.true_object
        )
        cards = write_triplet_cards(self.lookup, self.prover, triplet, self.seed, self.rng)
        texts = self.lookup.terms.texts
        proposed = (texts[candidate.subject], texts[candidate.wrong_object])
        # The kind keeps true claims out of the headline, too, when other cards are joined to them.
        cards = [msgspec.structs.replace(c, kind=NEAR_MISS_PREFIX + strategy) for c in cards]
        near_misses = []
        for card in cards:
            if card.label == "E":
                continue
            meta = {
                "strategy": strategy,
                "proposed": (card.claim.subj, card.claim.obj) == proposed,
                "contradiction": triplet.kinds["C"] if card.label == "C" else "",
                "hardness": score,
                "hardness_parts": parts,
            }
            near_misses.append(msgspec.structs.replace(card, meta={**card.meta, **meta}))
        self.rng.shuffle(near_misses)
        return [*near_misses, *(card for card in cards if card.label == "E")]
