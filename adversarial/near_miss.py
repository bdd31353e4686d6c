"""Makes near-miss cards: plausible claims, each proved false or unknown over graph and card.

A near-miss shares its facts with a true claim about the same object, so that the object occurs in
every card, with another subject. With ``with_entailed`` that true claim becomes a card too. Without
it, a near-miss set has no YES card, and a system that never answers YES avoids all false YES
answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import msgspec

from adversarial.hardness import compute_hardness
from adversarial.strategies import STRATEGIES, Candidate, TruePairs
from cards.card import Card
from cards.context import Role, build_context
from cards.facts import Fact
from cards.generator import DEFAULT_NUM_FACTS, DEFAULT_SEED, choose_default_predicates
from cards.graph_lookup import GraphLookup
from cards.kinds import CYCLE, NEAR_MISS_PREFIX, list_supported_kinds
from cards.prover import Prover
from cards.rng import rng_for
from cards.triplets import Triplet, write_triplet_cards
from kg.base.errors import DomainError
from kg.claims import Label, Verdict
from kg.knowledge import KnowledgeBase

MAX_FAILED_PAIRS = 40
"""Maximum true pairs in a row without a card; a strategy is then exhausted for the predicate."""


class NearMissPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a near-miss set."""

    predicates: tuple[str, ...] = ()
    """IRIs; empty for the domain's default ones."""
    strategies: tuple[str, ...] = ()
    """Names; empty for all."""
    num: int = 200
    seed: int = DEFAULT_SEED
    num_facts: int = DEFAULT_NUM_FACTS
    with_entailed: bool = False


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
    """Makes near-misses; strategies and predicates take turns, and exhausted ones are skipped.

    Args:
        kb: graph, shapes, oracle and verbaliser.
        plan: the settings of the near-miss set.
        progress: wraps the range of near-misses to show progress.

    Raises:
        DomainError: an unknown strategy; the hint lists the known ones.
    """
    unknown = [name for name in plan.strategies if name not in STRATEGIES]
    if unknown:
        raise DomainError(
            f"unknown strategy {unknown[0]!r}",
            where="--strategy",
            hint=f"Known: {', '.join(STRATEGIES)}.",
        )
    world = GraphLookup(kb)
    rng = rng_for(plan.seed, "near-miss")
    names = plan.strategies or tuple(STRATEGIES)
    makers = [
        _NearMissMaker(world, pred, plan)
        for pred in plan.predicates or choose_default_predicates(kb)
    ]
    # One iterator per strategy over all predicates, so that strategies get equal shares.
    active = {name: _take_turns([maker.iter_cards(name) for maker in makers]) for name in names}
    cards: list[Card] = []
    claims: set[tuple[str, str, str]] = set()
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    order = list(active)
    turn = n_made = 0
    steps = range(plan.num)
    for _ in progress(steps) if progress else steps:
        while order:
            name = order[turn % len(order)]
            batch = next(active[name], None)
            if batch is None:
                order.remove(name)
                continue
            turn += 1
            miss = batch[0]
            key = (miss.claim.subj, miss.claim.pred, miss.claim.obj)
            if key in claims:
                continue
            claims.add(key)
            counts[name][miss.label] += 1
            n_made += 1
            cards.append(miss)
            for card in batch[1:]:
                key = (card.claim.subj, card.claim.pred, card.claim.obj)
                if plan.with_entailed and key not in claims:
                    claims.add(key)
                    cards.append(card)
            break
        else:
            break
    rng.shuffle(cards)
    table = {name: dict(sorted(by_label.items())) for name, by_label in counts.items()}
    empty = [name for name, by_label in table.items() if not by_label]
    notes = [f"this graph has no near-miss for: {', '.join(empty)}"] if empty else []
    return NearMisses(tuple(cards), plan.num - n_made, table, tuple(notes))


def _take_turns(sources: list[Iterator[list[Card]]]) -> Iterator[list[Card]]:
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

    def iter_cards(self, name: str) -> Iterator[list[Card]]:
        """Yields the cards of one strategy: a near-miss, then its true claim if there is one."""
        idle = 0
        tried: set[Candidate] = set()
        while idle < MAX_FAILED_PAIRS:
            pair = self.true_pairs.pool.sample_pair(self.rng)
            if pair is None:
                return
            s, o = pair
            idle += 1
            for candidate in STRATEGIES[name](self.true_pairs, s, o):
                if candidate in tried:
                    continue
                tried.add(candidate)
                triplet = self._prove_candidate(candidate)
                if triplet is not None:
                    idle = 0
                    yield self._write_cards(name, candidate, triplet)
                    break

    def _prove_candidate(self, candidate: Candidate) -> Triplet | None:
        """Proves a candidate over graph and card; None if a proof fails.

        The card's facts give the wrong object to another subject where the graph has one.
        """
        lookup, pool = self.lookup, self.true_pairs.pool
        s, wrong = candidate.subject, candidate.wrong
        texts = lookup.terms.texts
        if s == wrong or texts[s].startswith(("_:", '"')) or texts[wrong].startswith("_:"):
            return None
        if lookup.closure_index.has_triple(s, self.p, wrong):
            return None
        true_objects = self.true_pairs.get_objects(s)
        namesakes = lookup.get_namesakes(wrong).intersection(true_objects)
        if namesakes and lookup.get_label(wrong) in map(lookup.get_label, true_objects):
            # An entity with the same label as the true object is a fair near-miss only if the
            # card's sentences distinguish the two.
            names = {lookup.kb.verbaliser.render_term(texts[t]) for t in true_objects}
            if lookup.kb.verbaliser.render_term(texts[wrong]) in names:
                return None
        graph = self.prover.license_on_graph(lookup.make_claim(s, self.p, wrong))
        if graph.label == "E":
            return None
        if graph.label == "U" and not true_objects and self._shares_no_class(s, wrong):
            # "Do the Alps have their source in the Inn?" is unknown by the proof, but absurd to a
            # reader.
            return None
        entailed = self._find_true_role(s, wrong)
        for core in self._iter_cores(s, wrong, graph):
            miss = Role(graph.label, s, core)
            roles = [miss, *entailed]
            facts = build_context(lookup, pool, wrong, roles, self.plan.num_facts, self.rng)
            if facts is None:
                roles, facts = [miss], list(dict.fromkeys([*core, *lookup.list_facts_about(s)[:3]]))
            proved = self._prove_roles(wrong, roles, facts)
            if proved is not None:
                return proved
        return None

    def _shares_no_class(self, term: int, other: int) -> bool:
        """Returns whether ``term`` has classes and shares none of them with ``other``."""
        classes = self.lookup.get_types(term)
        return bool(classes) and set(classes).isdisjoint(self.lookup.get_types(other))

    def _iter_cores(self, s: int, wrong: int, graph: Verdict) -> Iterator[tuple[Fact, ...]]:
        """Yields sets of facts that may suffice to prove the label, the simplest first."""
        denials = [
            fact for fact in self.lookup.denials.get(s, ()) if (fact.p, fact.o) == (self.p, wrong)
        ]
        if graph.label == "U":
            yield ()
            return
        if denials:
            yield (denials[0],)
        for true in self.true_pairs.get_objects(s)[:3]:
            facts = self.prover.find_premises(s, self.p, true)
            if facts:
                yield facts
        back = self.prover.find_premises(wrong, self.p, s)
        if back:
            yield back
        holders = [x for x in self.true_pairs.get_subjects(wrong) if x != s][:1]
        for x in holders:
            facts = self.prover.find_premises(x, self.p, wrong)
            if facts:
                yield facts
        about = tuple(f for f in self.lookup.list_facts_about(s) if f.p != self.p and not f.denied)[
            :4
        ]
        types = tuple(
            Fact(x, self.lookup.type_id, c)
            for x in (s, wrong)
            for c in self.lookup.get_types(x)[:1]
        )
        yield (*types, *about)

    def _find_true_role(self, s: int, wrong: int) -> list[Role]:
        """Finds a subject that has the wrong object, with the facts that prove it; may be empty."""
        holders = [
            x for x in self.true_pairs.get_subjects(wrong) if x != s and self.lookup.is_nameable(x)
        ]
        if not holders:
            return []
        x = holders[self.rng.randrange(len(holders))]
        facts = self.prover.find_premises(x, self.p, wrong)
        return [Role("E", x, facts)] if facts else []

    def _prove_roles(self, wrong: int, roles: list[Role], facts: list[Fact]) -> Triplet | None:
        local = self.prover.make_card_oracle(facts)
        graph: dict[str, Verdict] = {}
        card: dict[str, Verdict] = {}
        kinds: dict[str, str] = {}
        for role in roles:
            claim = self.lookup.make_claim(role.x, self.p, wrong)
            verdict = local.license(claim)
            if verdict.label != role.label:
                return None
            card[role.label] = verdict
            graph[role.label] = self.prover.license_on_graph(claim)
            kinds[role.label] = next(iter(list_supported_kinds(verdict)), CYCLE)
        return Triplet(self.true_pairs.pool, wrong, roles, facts, graph, card, kinds)

    def _write_cards(self, name: str, candidate: Candidate, triplet: Triplet) -> list[Card]:
        score, parts = compute_hardness(self.lookup, self.p, candidate.wrong, candidate.true)
        label: Label = triplet.roles[0].label
        written = write_triplet_cards(self.lookup, self.prover, triplet, self.plan.seed, self.rng)
        miss = next(card for card in written if card.label == label)
        extra = {
            "strategy": name,
            "contradiction": triplet.kinds[label] if label == "C" else "",
            "hardness": score,
            "hardness_parts": parts,
        }
        near_miss = msgspec.structs.replace(
            miss, kind=NEAR_MISS_PREFIX + name, meta={**miss.meta, **extra}
        )
        return [near_miss, *(card for card in written if card.label == "E")]
