"""Makes near-miss cards: plausible claims, each proved false or unknown over graph and card.

If possible, the facts of a near-miss also prove a true claim: the same object with another
subject. Then the object alone does not reveal that the claim of the near-miss is wrong. With
``with_entailed`` the true claim becomes a card too. Without it, a near-miss set has no YES card,
and a system that never answers YES makes no error on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import msgspec

from adversarial.hardness import compute_hardness
from adversarial.strategies import STRATEGIES, Candidate, TruePairs
from cards.card import Card
from cards.facts import Fact
from cards.generation.card_plan import DEFAULT_NUM_FACTS, DEFAULT_SEED
from cards.generation.context import Role, build_context
from cards.generation.graph_lookup import GraphLookup
from cards.generation.kinds import CYCLE, NEAR_MISS_PREFIX, list_supported_kinds
from cards.generation.prover import Prover
from cards.generation.rng import rng_for
from cards.generation.triplets import Triplet, write_triplet_cards
from cards.generator import choose_default_predicates
from kg.base.errors import DomainError
from kg.claims import Label, Verdict
from kg.knowledge import KnowledgeBase

MAX_FAILED_PAIRS = 40
"""A strategy is exhausted for a predicate after this many true pairs in a row without a card."""


class NearMissPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a near-miss set."""

    predicates: tuple[str, ...] = ()
    """IRIs; empty for the domain's default ones."""
    strategies: tuple[str, ...] = ()
    """Names; empty for all."""
    num: int = 200
    """Number of near-misses."""
    seed: int = DEFAULT_SEED
    num_facts: int = DEFAULT_NUM_FACTS
    """Target number of facts per card."""
    with_entailed: bool = False
    """Whether to add, for each near-miss, a card with the true claim about the same object."""


class NearMisses(msgspec.Struct, frozen=True):
    """The new near-misses, and the number that could not be made."""

    cards: tuple[Card, ...]
    missing: int
    """Number of near-misses that could not be made."""
    counts: dict[str, dict[str, int]]
    """Strategy → label → number of near-misses."""
    notes: tuple[str, ...]
    """Why near-misses are missing."""


def make_near_misses(
    kb: KnowledgeBase,
    plan: NearMissPlan,
    *,
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> NearMisses:
    """Makes near-misses.

    Strategies and predicates take turns; a strategy that finds no more claims is skipped.

    Args:
        kb: graph, shapes, oracle and verbaliser.
        plan: the settings of the near-miss set.
        progress: wraps the range of near-misses to show progress.

    Raises:
        DomainError: an unknown strategy; the hint lists the known ones.
    """
    unknown_names = [strategy for strategy in plan.strategies if strategy not in STRATEGIES]
    if unknown_names:
        raise DomainError(
            f"unknown strategy {unknown_names[0]!r}",
            where="--strategy",
            hint=f"Known: {', '.join(STRATEGIES)}.",
        )
    lookup = GraphLookup(kb)
    rng = rng_for(plan.seed, "near-miss")
    strategy_names = plan.strategies or tuple(STRATEGIES)
    makers = [
        _NearMissMaker(lookup, pred, plan)
        for pred in plan.predicates or choose_default_predicates(kb)
    ]
    # One iterator per strategy over all predicates, so that strategies get equal shares.
    cards_by_strategy = {
        strategy: _take_turns([maker.iter_cards(strategy) for maker in makers])
        for strategy in strategy_names
    }
    cards: list[Card] = []
    used_claims: set[tuple[str, str, str]] = set()
    counts: dict[str, Counter[str]] = {strategy: Counter() for strategy in strategy_names}
    remaining = list(cards_by_strategy)
    turn = n_near_misses = 0
    steps = range(plan.num)
    for _ in progress(steps) if progress else steps:
        while remaining:
            strategy = remaining[turn % len(remaining)]
            batch = next(cards_by_strategy[strategy], None)
            if batch is None:
                remaining.remove(strategy)
                continue
            turn += 1
            near_miss = batch[0]
            claim_key = (near_miss.claim.subj, near_miss.claim.pred, near_miss.claim.obj)
            if claim_key in used_claims:
                continue
            used_claims.add(claim_key)
            counts[strategy][near_miss.label] += 1
            n_near_misses += 1
            cards.append(near_miss)
            for card in batch[1:]:
                claim_key = (card.claim.subj, card.claim.pred, card.claim.obj)
                if plan.with_entailed and claim_key not in used_claims:
                    used_claims.add(claim_key)
                    cards.append(card)
            break
        else:
            break  # All strategies are exhausted.
    rng.shuffle(cards)
    counts_by_strategy = {
        strategy: dict(sorted(by_label.items())) for strategy, by_label in counts.items()
    }
    empty_strategies = [
        strategy for strategy, by_label in counts_by_strategy.items() if not by_label
    ]
    notes = (
        [f"this graph has no near-miss for: {', '.join(empty_strategies)}"]
        if empty_strategies
        else []
    )
    return NearMisses(tuple(cards), plan.num - n_near_misses, counts_by_strategy, tuple(notes))


def _take_turns(sources: list[Iterator[list[Card]]]) -> Iterator[list[Card]]:
    """Yields one batch of each source in turn until all sources are exhausted."""
    turn = 0
    while sources:
        source = sources[turn % len(sources)]
        batch = next(source, None)
        if batch is None:
            sources.remove(source)
        else:
            turn += 1
            yield batch


class _NearMissMaker:
    """Makes the near-misses of one predicate."""

    def __init__(self, lookup: GraphLookup, pred: str, plan: NearMissPlan) -> None:
        self.lookup, self.plan = lookup, plan
        self.p = lookup.intern_term(pred)
        self.prover = Prover(lookup, self.p)
        self.rng = rng_for(plan.seed, pred)
        self.true_pairs = TruePairs(lookup, self.p, self.rng)

    def iter_cards(self, strategy: str) -> Iterator[list[Card]]:
        """Yields the cards of one strategy: a near-miss, then its true claim if there is one."""
        failed_pairs = 0
        tried_candidates: set[Candidate] = set()
        while failed_pairs < MAX_FAILED_PAIRS:
            pair = self.true_pairs.pool.sample_pair(self.rng)
            if pair is None:
                return
            s, o = pair
            failed_pairs += 1
            for candidate in STRATEGIES[strategy](self.true_pairs, s, o):
                if candidate in tried_candidates:
                    continue
                tried_candidates.add(candidate)
                triplet = self._prove_candidate(candidate)
                if triplet is not None:
                    failed_pairs = 0
                    yield self._write_cards(strategy, candidate, triplet)
                    break

    def _prove_candidate(self, candidate: Candidate) -> Triplet | None:
        """Proves a candidate over graph and card; returns None if a proof fails.

        If the graph has another subject with the wrong object, the card's facts mention it too.
        """
        lookup, pool = self.lookup, self.true_pairs.pool
        s, wrong_object = candidate.subject, candidate.wrong_object
        texts = lookup.terms.texts
        is_named = not texts[s].startswith(("_:", '"')) and not texts[wrong_object].startswith("_:")
        if s == wrong_object or not is_named:
            return None
        if lookup.closure_index.has_triple(s, self.p, wrong_object):
            return None
        true_objects = self.true_pairs.get_objects(s)
        namesakes = lookup.get_namesakes(wrong_object).intersection(true_objects)
        if namesakes and lookup.get_label(wrong_object) in map(lookup.get_label, true_objects):
            # If the wrong object has the same label as the true one, the near-miss is fair only
            # if the card's sentences distinguish the two.
            true_names = {lookup.kb.verbaliser.render_term(texts[t]) for t in true_objects}
            if lookup.kb.verbaliser.render_term(texts[wrong_object]) in true_names:
                return None
        graph_verdict = self.prover.license_on_graph(lookup.make_claim(s, self.p, wrong_object))
        if graph_verdict.label == "E":
            return None
        if (
            graph_verdict.label == "U"
            and not true_objects
            and self._shares_no_class(s, wrong_object)
        ):
            # "Do the Alps have their source in the Inn?" is proved unknown, but the question is
            # absurd to a reader.
            return None
        entailed_roles = self._find_true_role(s, wrong_object)
        for core in self._iter_cores(s, wrong_object, graph_verdict):
            miss_role = Role(graph_verdict.label, s, core)
            roles = [miss_role, *entailed_roles]
            facts = build_context(lookup, pool, wrong_object, roles, self.plan.num_facts, self.rng)
            if facts is None:
                roles, facts = (
                    [miss_role],
                    list(dict.fromkeys([*core, *lookup.list_facts_about(s)[:3]])),
                )
            triplet = self._prove_roles(wrong_object, roles, facts)
            if triplet is not None:
                return triplet
        return None

    def _shares_no_class(self, term: int, other: int) -> bool:
        """Returns whether ``term`` has classes and shares none of them with ``other``."""
        classes = self.lookup.get_types(term)
        return bool(classes) and set(classes).isdisjoint(self.lookup.get_types(other))

    def _iter_cores(
        self, s: int, wrong_object: int, graph_verdict: Verdict
    ) -> Iterator[tuple[Fact, ...]]:
        """Yields sets of facts that may suffice to prove the label, the simplest first.

        Few facts of each sort are tried, because every set costs a proof over the card.
        """
        denials = [
            fact
            for fact in self.lookup.denials.get(s, ())
            if (fact.p, fact.o) == (self.p, wrong_object)
        ]
        if graph_verdict.label == "U":
            yield ()
            return
        if denials:
            yield (denials[0],)
        for true_object in self.true_pairs.get_objects(s)[:3]:
            facts = self.prover.find_premises(s, self.p, true_object)
            if facts:
                yield facts
        reverse_premises = self.prover.find_premises(wrong_object, self.p, s)
        if reverse_premises:
            yield reverse_premises
        other_subjects = [x for x in self.true_pairs.get_subjects(wrong_object) if x != s][:1]
        for x in other_subjects:
            facts = self.prover.find_premises(x, self.p, wrong_object)
            if facts:
                yield facts
        subject_facts = tuple(
            f for f in self.lookup.list_facts_about(s) if f.p != self.p and not f.denied
        )[:4]
        type_facts = tuple(
            Fact(x, self.lookup.type_id, c)
            for x in (s, wrong_object)
            for c in self.lookup.get_types(x)[:1]
        )
        yield (*type_facts, *subject_facts)

    def _find_true_role(self, s: int, wrong_object: int) -> list[Role]:
        """Finds another subject for which the object is true, with the facts that prove it.

        Returns:
            The role of that subject's E card, or an empty list.
        """
        other_subjects = [
            x
            for x in self.true_pairs.get_subjects(wrong_object)
            if x != s and self.lookup.is_nameable(x)
        ]
        if not other_subjects:
            return []
        x = other_subjects[self.rng.randrange(len(other_subjects))]
        facts = self.prover.find_premises(x, self.p, wrong_object)
        return [Role("E", x, facts)] if facts else []

    def _prove_roles(
        self, wrong_object: int, roles: list[Role], facts: list[Fact]
    ) -> Triplet | None:
        asked = [Fact(role.x, self.p, wrong_object) for role in roles]
        if not all(map(self.lookup.is_usable, [*asked, *facts])):
            return None
        card_oracle = self.prover.make_card_oracle(facts)
        graph_verdicts: dict[str, Verdict] = {}
        card_verdicts: dict[str, Verdict] = {}
        kinds: dict[str, str] = {}
        for role in roles:
            claim = self.lookup.make_claim(role.x, self.p, wrong_object)
            verdict = card_oracle.license(claim)
            if verdict.label != role.label:
                return None
            card_verdicts[role.label] = verdict
            graph_verdicts[role.label] = self.prover.license_on_graph(claim)
            kinds[role.label] = next(iter(list_supported_kinds(verdict)), CYCLE)
        return Triplet(
            self.true_pairs.pool, wrong_object, roles, facts, graph_verdicts, card_verdicts, kinds
        )

    def _write_cards(self, strategy: str, candidate: Candidate, triplet: Triplet) -> list[Card]:
        score, parts = compute_hardness(
            self.lookup, self.p, candidate.wrong_object, candidate.true_object
        )
        label: Label = triplet.roles[0].label
        cards = write_triplet_cards(self.lookup, self.prover, triplet, self.plan.seed, self.rng)
        miss_card = next(card for card in cards if card.label == label)
        near_miss_meta = {
            "strategy": strategy,
            "contradiction": triplet.kinds[label] if label == "C" else "",
            "hardness": score,
            "hardness_parts": parts,
        }
        near_miss = msgspec.structs.replace(
            miss_card, kind=NEAR_MISS_PREFIX + strategy, meta={**miss_card.meta, **near_miss_meta}
        )
        return [near_miss, *(card for card in cards if card.label == "E")]
