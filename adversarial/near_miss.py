"""Near-miss cards: false or undecided claims that sound right, each proved on graph and card.

A near-miss shares its context with a true claim about the same object, so that the object is
stated, of another subject, in every card. That true claim is itself a card with
``with_entailed``; without those, a near-miss set has no YES and a system that never says YES is
right on all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import msgspec

from adversarial.hardness import hardness
from adversarial.strategies import STRATEGIES, Candidate, Ground
from cards.card import Card
from cards.context import Role, build_context
from cards.facts import Fact
from cards.generator import DEFAULT_FACTS, DEFAULT_SEED, default_predicates
from cards.kinds import CYCLE, NEAR_MISS_PREFIX, kinds_of
from cards.proving import Prover
from cards.seeding import seeded
from cards.triplets import Triplet, cards_of
from cards.world import World
from kg.base.errors import DomainError
from kg.claims import Label, Verdict
from kg.knowledge import KnowledgeBase

DRAWS = 40
"""True pairs tried per card before a strategy counts as exhausted for a predicate."""


class NearMissPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to make."""

    predicates: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    """Names; empty for all."""
    num: int = 200
    seed: int = DEFAULT_SEED
    num_facts: int = DEFAULT_FACTS
    with_entailed: bool = False


class NearMisses(msgspec.Struct, frozen=True):
    """What was made."""

    cards: tuple[Card, ...]
    missing: int
    counts: dict[str, dict[str, int]]
    """Strategy → label → cards."""
    notes: tuple[str, ...]


def make_near_misses(
    kb: KnowledgeBase,
    plan: NearMissPlan,
    *,
    watch: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> NearMisses:
    """Makes near-misses, strategies and predicates in turn; who has none left gives up its turns.

    Raises:
        DomainError: an unknown strategy; the hint lists them.
    """
    unknown = [name for name in plan.strategies if name not in STRATEGIES]
    if unknown:
        raise DomainError(
            f"no strategy {unknown[0]!r}",
            where="--strategy",
            hint=f"Known: {', '.join(STRATEGIES)}.",
        )
    world = World(kb)
    rng = seeded(plan.seed, "near-miss")
    names = plan.strategies or tuple(STRATEGIES)
    makers = [_Maker(world, pred, plan) for pred in plan.predicates or default_predicates(kb)]
    # Strategy by strategy one iterator over all predicates, so that strategies share evenly.
    active = {name: _in_turn([maker.of(name) for maker in makers]) for name in names}
    cards: list[Card] = []
    claims: set[tuple[str, str, str]] = set()
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    order = list(active)
    turn = made = 0
    steps = range(plan.num)
    for _ in watch(steps) if watch else steps:
        while order:
            name = order[turn % len(order)]
            found = next(active[name], None)
            if found is None:
                order.remove(name)
                continue
            turn += 1
            miss = found[0]
            key = (miss.claim.subj, miss.claim.pred, miss.claim.obj)
            if key in claims:
                continue
            claims.add(key)
            counts[name][miss.label] += 1
            made += 1
            cards.append(miss)
            for card in found[1:]:
                key = (card.claim.subj, card.claim.pred, card.claim.obj)
                if plan.with_entailed and key not in claims:
                    claims.add(key)
                    cards.append(card)
            break
        else:
            break
    rng.shuffle(cards)
    table = {name: dict(sorted(found.items())) for name, found in counts.items()}
    empty = [name for name, found in table.items() if not found]
    notes = [f"no near-miss by {', '.join(empty)} in this graph"] if empty else []
    return NearMisses(tuple(cards), plan.num - made, table, tuple(notes))


def _in_turn(sources: list[Iterator[list[Card]]]) -> Iterator[list[Card]]:
    turn = 0
    while sources:
        source = sources[turn % len(sources)]
        found = next(source, None)
        if found is None:
            sources.remove(source)
        else:
            turn += 1
            yield found


class _Maker:
    """Near-misses of one predicate."""

    def __init__(self, world: World, pred: str, plan: NearMissPlan) -> None:
        self.world, self.plan = world, plan
        self.p = world.id(pred)
        self.prover = Prover(world, self.p)
        self.rng = seeded(plan.seed, pred)
        self.ground = Ground(world, self.p, self.rng)

    def of(self, name: str) -> Iterator[list[Card]]:
        """Cards by one strategy: the near-miss first, then its true partner if there is one."""
        idle = 0
        tried: set[Candidate] = set()
        while idle < DRAWS:
            pair = self.ground.pool.draw_pair(self.rng)
            if pair is None:
                return
            s, o = pair
            idle += 1
            for candidate in STRATEGIES[name](self.ground, s, o):
                if candidate in tried:
                    continue
                tried.add(candidate)
                found = self._prove(candidate)
                if found is not None:
                    idle = 0
                    yield self._write(name, candidate, found)
                    break

    def _prove(self, candidate: Candidate) -> Triplet | None:
        """Both proofs, over a context in which the wrong object is stated of someone else."""
        world, pool = self.world, self.ground.pool
        s, wrong = candidate.subject, candidate.wrong
        texts = world.terms.texts
        if s == wrong or texts[s].startswith(("_:", '"')) or texts[wrong].startswith("_:"):
            return None
        if world.closed.has(s, self.p, wrong):
            return None
        truths = self.ground.objects(s)
        namesakes = world.namesakes(wrong).intersection(truths)
        if namesakes and world.label(wrong) in map(world.label, truths):
            # Same name, another thing: only fair where the words on the card tell them apart.
            names = {world.kb.words.name(texts[t]) for t in truths}
            if world.kb.words.name(texts[wrong]) in names:
                return None
        graph = self.prover.on_graph(world.claim(s, self.p, wrong))
        if graph.label == "E":
            return None
        if graph.label == "U" and not truths and self._another_kind(s, wrong):
            # "Do the Alps have their source in the Inn?": undecided on paper, absurd to a reader.
            return None
        entailed = self._partner(s, wrong)
        for core in self._cores(s, wrong, graph):
            miss = Role(graph.label, s, core)
            roles = [miss, *entailed]
            facts = build_context(world, pool, wrong, roles, self.plan.num_facts, self.rng)
            if facts is None:
                roles, facts = [miss], list(dict.fromkeys([*core, *world.about(s)[:3]]))
            proved = self._both(wrong, roles, facts)
            if proved is not None:
                return proved
        return None

    def _another_kind(self, turned: int, subject: int) -> bool:
        """Whether a claim turned round asks of a thing that no class makes like its subject."""
        kinds = self.world.types(turned)
        return bool(kinds) and set(kinds).isdisjoint(self.world.types(subject))

    def _cores(self, s: int, wrong: int, graph: Verdict) -> Iterator[tuple[Fact, ...]]:
        """What the card may have to state for its label, the plainest first."""
        denials = [
            fact for fact in self.world.denials.get(s, ()) if (fact.p, fact.o) == (self.p, wrong)
        ]
        if graph.label == "U":
            yield ()
            return
        if denials:
            yield (denials[0],)
        for true in self.ground.objects(s)[:3]:
            facts = self.prover.premises(s, self.p, true)
            if facts:
                yield facts
        back = self.prover.premises(wrong, self.p, s)
        if back:
            yield back
        holders = [x for x in self.ground.subjects(wrong) if x != s][:1]
        for x in holders:
            facts = self.prover.premises(x, self.p, wrong)
            if facts:
                yield facts
        about = tuple(f for f in self.world.about(s) if f.p != self.p and not f.denied)[:4]
        types = tuple(
            Fact(x, self.world.type_id, c) for x in (s, wrong) for c in self.world.types(x)[:1]
        )
        yield (*types, *about)

    def _partner(self, s: int, wrong: int) -> list[Role]:
        """A subject that truly has the wrong object, with the facts for it."""
        holders = [x for x in self.ground.subjects(wrong) if x != s and self.world.nameable(x)]
        if not holders:
            return []
        x = holders[self.rng.randrange(len(holders))]
        facts = self.prover.premises(x, self.p, wrong)
        return [Role("E", x, facts)] if facts else []

    def _both(self, wrong: int, roles: list[Role], facts: list[Fact]) -> Triplet | None:
        local = self.prover.on_card(facts)
        graph: dict[str, Verdict] = {}
        card: dict[str, Verdict] = {}
        kinds: dict[str, str] = {}
        for role in roles:
            claim = self.world.claim(role.x, self.p, wrong)
            verdict = local.license(claim)
            if verdict.label != role.label:
                return None
            card[role.label] = verdict
            graph[role.label] = self.prover.on_graph(claim)
            kinds[role.label] = next(iter(kinds_of(verdict)), CYCLE)
        return Triplet(self.ground.pool, wrong, roles, facts, graph, card, kinds)

    def _write(self, name: str, candidate: Candidate, found: Triplet) -> list[Card]:
        score, parts = hardness(self.world, self.p, candidate.wrong, candidate.true)
        label: Label = found.roles[0].label
        written = cards_of(self.world, self.prover, found, self.plan.seed, self.rng)
        miss = next(card for card in written if card.label == label)
        extra = {
            "strategy": name,
            "contradiction": found.kinds[label] if label == "C" else "",
            "hardness": score,
            "hardness_parts": parts,
        }
        near = msgspec.structs.replace(
            miss, kind=NEAR_MISS_PREFIX + name, meta={**miss.meta, **extra}
        )
        return [near, *(card for card in written if card.label == "E")]
