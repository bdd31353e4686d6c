"""The generator: card sets whose every label is proved twice and cannot be read off the surface.

Cards come in triplets (see ``cards/context.py``); predicates take turns until the quota is full,
and one that has no more leaves its turns to the others.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from cards.card import Card
from cards.context import Role
from cards.faithfulness import counterfactual, withheld
from cards.kinds import COUNTERFACTUAL, WITHHELD
from cards.pools import Pool, Varying
from cards.proving import Prover
from cards.recipes import Proposal, Recipes
from cards.seeding import seeded
from cards.triplets import Triplet, TripletSource, cards_of
from cards.world import World
from kg.claims import LABELS, Label
from kg.knowledge import KnowledgeBase
from kg.vocabulary import is_vocabulary

DEFAULT_PER_LABEL = 200
DEFAULT_SEED = 12345
DEFAULT_FACTS = 6
MAX_ADHOC_PREDICATES = 6
COLLECTOR = (1_000_000, 20, 100)
"""Thresholds of the garbage collector while cards are made: a few thousand cards make less."""
SIDES: tuple[Varying, ...] = ("subj", "obj")


class CardPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to make."""

    predicates: tuple[str, ...] = ()
    """IRIs; empty for the domain's default ones."""
    per_label: int = DEFAULT_PER_LABEL
    seed: int = DEFAULT_SEED
    kinds: tuple[str, ...] = ()
    """Kinds allowed (of E and of C); empty for all."""
    num_facts: int = DEFAULT_FACTS
    """Facts per card aimed at; balance may need a few more, a bare graph may have fewer."""
    faithfulness: bool = False
    """Add as many ``withheld`` and ``counterfactual`` cards each."""
    subj_hint: str = ""
    """Ask only about subjects whose name contains this (case-insensitive)."""


class CardSet(msgspec.Struct, frozen=True):
    """What was made."""

    cards: tuple[Card, ...]
    missing: dict[str, int]
    """Label (or faithfulness kind) → cards that could not be made."""
    notes: tuple[str, ...]

    def counts(self) -> dict[str, dict[str, dict[str, int]]]:
        """Predicate → label → kind → cards, each in a fixed order."""
        found: Counter[tuple[str, str, str]] = Counter(
            (card.claim.pred, card.label, card.kind) for card in self.cards
        )
        table: dict[str, dict[str, dict[str, int]]] = {}
        for (pred, label, kind), n in sorted(found.items()):
            table.setdefault(pred, {}).setdefault(label, {})[kind] = n
        return table


def make_cards(
    kb: KnowledgeBase,
    plan: CardPlan,
    *,
    watch: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> CardSet:
    """Makes a card set.

    Args:
        kb: graph, shapes, oracle and words.
        plan: what to make.
        watch: wraps the range of triplets, to show progress.

    Returns:
        The cards in an order that says nothing, what is missing, and why.
    """
    # The graph outlives this function, so the collector need not walk its millions of cells again
    # and again while cards come and go; nor the cards, which hold no cycles, each time that some
    # more of them are there.
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*COLLECTOR)
    try:
        return _make(World(kb), plan, watch)
    finally:
        gc.set_threshold(*before)
        gc.freeze()  # The cards too are put with what is old, without a walk over them.
        gc.unfreeze()


def _make(
    world: World, plan: CardPlan, watch: Callable[[Iterable[int]], Iterable[int]] | None
) -> CardSet:
    notes: list[str] = []
    makers = [
        PredicateMaker(world, pred, plan)
        for pred in plan.predicates or default_predicates(world.kb)
    ]
    rng = seeded(plan.seed, "cards")
    cards: list[Card] = []
    faithful: dict[str, list[Card]] = {WITHHELD: [], COUNTERFACTUAL: []}
    asked: set[object] = set()
    active = [(maker, iter(maker)) for maker in makers]
    steps = range(plan.per_label)
    turn = 0
    for _ in watch(steps) if watch else steps:
        made: list[Card] = []
        while active and not made:
            maker, source = active[turn % len(active)]
            try:
                triplet = next(source)
            except StopIteration:
                active.remove((maker, source))
                continue
            turn += 1
            made = maker.cards(triplet)
            if any(_asked(card) & asked for card in made):
                made = []
            elif plan.faithfulness:
                _add_faithful(maker, triplet, faithful, plan)
        if not made:
            break
        asked.update(*map(_asked, made))
        cards += made
    if not cards:
        cards, pair_notes = _without_triplets(makers, plan)
        notes += pair_notes
    have = Counter(card.label for card in cards)
    missing: dict[str, int] = {
        label: plan.per_label - have[label] for label in LABELS if have[label] < plan.per_label
    }
    if missing:
        notes += [note for maker in makers for note in maker.why_no_more()]
    if plan.faithfulness:
        for kind, found in faithful.items():
            cards += found
            if len(found) < plan.per_label:
                missing[kind] = plan.per_label - len(found)
    rng.shuffle(cards)
    return CardSet(tuple(cards), missing, tuple(notes))


def default_predicates(kb: KnowledgeBase) -> tuple[str, ...]:
    """The domain's default predicates; without a domain file, the most frequent ones."""
    named = tuple(iri for iri, words in kb.domain.predicates.items() if words.default)
    present = set(kb.predicates)
    if named:
        return tuple(iri for iri in named if iri in present)
    index = kb.graph.index
    usual = [
        (-index.count(p), index.terms.text(p))
        for p in index.predicates()
        if not is_vocabulary(index.terms.text(p))
    ]
    return tuple(iri for _, iri in sorted(usual)[:MAX_ADHOC_PREDICATES])


class PredicateMaker:
    """All triplets of one predicate, over whichever sides can vary."""

    def __init__(self, world: World, pred: str, plan: CardPlan) -> None:
        self.world = world
        self.pred = pred
        self.plan = plan
        self.p = world.id(pred)
        self.prover = Prover(world, self.p)
        self.rng = seeded(plan.seed, pred)
        e_kinds = tuple(k for k in ("asserted", "inferred") if k in plan.kinds)
        self.sources: list[TripletSource] = []
        self._wanted = frozenset(plan.kinds) - {"asserted", "inferred", "absent"}
        pools = [Pool(world, self.p, side, plan.subj_hint) for side in SIDES]
        single = [pool.probe(seeded(plan.seed, pred, pool.varying)) for pool in pools]
        for pool, one in zip(pools, single, strict=True):
            # Where a subject has one value only, varying the object leaves no unknown card: every
            # other object is contradicted. The same the other way round.
            if not one and any(single):
                continue
            if pool.varying == "obj" and pool.literal_values:
                continue
            recipes = Recipes(
                pool,
                self.prover,
                self.rng,
                single=one,
                e_kinds=e_kinds or ("asserted", "inferred"),
            )
            self.sources.append(
                TripletSource(
                    world,
                    pool,
                    self.prover,
                    recipes,
                    wanted=self._wanted,
                    size=plan.num_facts,
                    rng=self.rng,
                )
            )

    def cards(self, triplet: Triplet) -> list[Card]:
        """The cards of a triplet."""
        return cards_of(self.world, self.prover, triplet, self.plan.seed, self.rng)

    def __iter__(self) -> Iterator[Triplet]:
        """One proved triplet after the other, the sides in turn."""
        active = [iter(source) for source in self.sources]
        turn = 0
        while active:
            source = active[turn % len(active)]
            try:
                triplet = next(source)
            except StopIteration:
                active.remove(source)
                continue
            turn += 1
            yield triplet

    def pairs(self, labels: tuple[Label, Label]) -> Iterator[list[Card]]:
        """Cards for two labels only, where the third cannot exist."""
        for source in self.sources:
            recipes = source.recipes
            for _ in range(20 * self.plan.per_label):
                proposal = _pair(recipes, labels)
                found = source.prove("functional", proposal) if proposal else None
                if found is not None and proposal is not None:
                    recipes.used.update(role.x for role in proposal.roles)
                    yield self.cards(found)

    def why_no_more(self) -> list[str]:
        """What limited this predicate, in words."""
        label = self.world.kb.words.label(self.pred)
        for source in self.sources:
            pool, recipes = source.pool, source.recipes
            if not recipes.e_kinds:
                return [f"{label}: no true pair of the kinds asked for"]
            if recipes.single and not pool.without:
                return [
                    f"{label}: the graph tells the value for every member of the class, "
                    "so nothing is unknown"
                ]
        if not any(source.proved for source in self.sources):
            return [f"{label}: no claim could be proved false on graph and card alike"]
        made = ", ".join(
            f"{name} {n}" for source in self.sources for name, n in source.proved.items()
        )
        return [f"{label}: nobody new who fits is left ({made})"]


def _asked(card: Card) -> set[object]:
    """What no other card of a set may share: its question and its claim."""
    return {card.question, card.claim}


def _add_faithful(
    maker: PredicateMaker, triplet: Triplet, faithful: dict[str, list[Card]], plan: CardPlan
) -> None:
    for kind, write in ((WITHHELD, withheld), (COUNTERFACTUAL, counterfactual)):
        room = plan.per_label - len(faithful[kind])
        if room > 0:
            made = write(maker.world, maker.prover, triplet, plan.seed, maker.rng)
            faithful[kind] += made[:room]


def _pair(recipes: Recipes, labels: tuple[Label, Label]) -> Proposal | None:
    pair = recipes.entailed(None)
    if pair is None:
        return None
    e, anchor = pair
    core = recipes.stated(e, anchor)
    if core is None:
        return None
    if "U" in labels:
        x = recipes.unknown(e, anchor)
        other = Role("U", x, ()) if x is not None else None
    else:
        x = recipes.holder(e, anchor)
        facts = recipes.stated(x, recipes.pool.anchors_of(x)[0]) if x is not None else None
        other = Role("C", x, facts) if x is not None and facts else None
    if other is None or other.x == e:
        return None
    return Proposal(anchor, [Role("E", e, core), other])


def _without_triplets(
    makers: Sequence[PredicateMaker], plan: CardPlan
) -> tuple[list[Card], list[str]]:
    """Cards for two labels where no predicate has all three; says which label is lacking."""
    labels: tuple[Label, Label]
    for labels, lacking in ((("E", "C"), "UNKNOWN"), (("E", "U"), "NO")):
        cards: list[Card] = []
        asked: set[object] = set()
        for maker in makers:
            for made in maker.pairs(labels):
                if any(_asked(card) & asked for card in made):
                    continue
                asked.update(*map(_asked, made))
                cards += made
                if len(cards) >= 2 * plan.per_label:
                    break
            if len(cards) >= 2 * plan.per_label:
                break
        if cards:
            return cards, [f"no {lacking} card could be proved, so this set has two labels only"]
    return [], ["no card could be proved"]
