"""Generates card sets: every label is proved twice and cannot be predicted from the surface.

Cards are made in triplets (see ``generation/context.py``; ``generation/pools.py`` defines *anchor*
and *holder*). Predicates take turns until the quota is reached; a predicate that has no more
triplets is skipped.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from cards.card import Card
from cards.generation.context import Proposal, Role
from cards.generation.faithfulness import make_counterfactual_cards, make_withheld_card
from cards.generation.graph_lookup import GraphLookup
from cards.generation.kinds import COUNTERFACTUAL, FUNCTIONAL, WITHHELD
from cards.generation.pools import Pool, VaryingSide
from cards.generation.prover import Prover
from cards.generation.recipes import Recipes
from cards.generation.rng import rng_for
from cards.generation.shortage import Obstacle, explain_obstacles
from cards.generation.triplets import Triplet, TripletSource, write_triplet_cards
from kg.claims import LABELS, Label
from kg.knowledge import KnowledgeBase
from kg.vocabulary import is_vocabulary

DEFAULT_PER_LABEL = 200
DEFAULT_SEED = 12345
DEFAULT_NUM_FACTS = 6
MAX_ADHOC_PREDICATES = 6
"""Maximum number of predicates chosen for a graph without a domain file."""
GC_THRESHOLDS = (1_000_000, 20, 100)
"""Garbage collector thresholds while cards are made: so high that a few thousand cards trigger no
collection."""
SIDES: tuple[VaryingSide, ...] = ("subj", "obj")


class CardPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a card set."""

    predicates: tuple[str, ...] = ()
    """IRIs; empty for the domain's default ones."""
    per_label: int = DEFAULT_PER_LABEL
    """Number of cards with each label."""
    seed: int = DEFAULT_SEED
    kinds: tuple[str, ...] = ()
    """Allowed kinds of E and C cards; empty for all."""
    num_facts: int = DEFAULT_NUM_FACTS
    """Target number of facts per card. There may be a few more, so that each entity asked about
    occurs in the same number of facts; in a sparse graph there may be fewer."""
    faithfulness: bool = False
    """Whether to add ``per_label`` cards of each of the kinds ``withheld`` and ``counterfactual``.
    """
    subj_hint: str = ""
    """Only subjects whose name contains this text are asked about (case-insensitive)."""


class CardSet(msgspec.Struct, frozen=True):
    """The new cards, and the number of cards that could not be made."""

    cards: tuple[Card, ...]
    missing: dict[str, int]
    """Label (or faithfulness kind) → number of cards that could not be made."""
    notes: tuple[str, ...]
    """Why cards are missing."""

    def count_by_kind(self) -> dict[str, dict[str, dict[str, int]]]:
        """Counts cards: predicate → label → kind → number of cards, in a fixed order."""
        totals: Counter[tuple[str, str, str]] = Counter(
            (card.claim.pred, card.label, card.kind) for card in self.cards
        )
        table: dict[str, dict[str, dict[str, int]]] = {}
        for (pred, label, kind), n in sorted(totals.items()):
            table.setdefault(pred, {}).setdefault(label, {})[kind] = n
        return table


def make_cards(
    kb: KnowledgeBase,
    plan: CardPlan,
    *,
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> CardSet:
    """Makes a card set.

    Args:
        kb: graph, shapes, oracle and verbaliser.
        plan: the settings of the card set.
        progress: wraps the range of triplets to show progress.

    Returns:
        The cards in random order, with the number of missing ones and the reasons.
    """
    # Making cards creates many objects and no cycles. With the usual thresholds the garbage
    # collector would traverse the graph's millions of objects again and again and free none.
    old_thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        return _make_card_set(GraphLookup(kb), plan, progress)
    finally:
        gc.set_threshold(*old_thresholds)
        # Freezing and unfreezing moves the new cards to the oldest generation without a traversal.
        gc.freeze()
        gc.unfreeze()


def _make_card_set(
    lookup: GraphLookup, plan: CardPlan, progress: Callable[[Iterable[int]], Iterable[int]] | None
) -> CardSet:
    notes: list[str] = []
    makers = [
        PredicateCardMaker(lookup, pred, plan)
        for pred in plan.predicates or choose_default_predicates(lookup.kb)
    ]
    rng = rng_for(plan.seed, "cards")
    cards: list[Card] = []
    faithfulness_cards: dict[str, list[Card]] = {WITHHELD: [], COUNTERFACTUAL: []}
    used_keys: set[object] = set()
    active_makers = [(maker, iter(maker)) for maker in makers]
    steps = range(plan.per_label)
    turn = 0
    for _ in progress(steps) if progress else steps:
        new_cards: list[Card] = []
        while active_makers and not new_cards:
            maker, triplets = active_makers[turn % len(active_makers)]
            try:
                triplet = next(triplets)
            except StopIteration:
                active_makers.remove((maker, triplets))
                continue
            turn += 1
            new_cards = maker.write_triplet(triplet)
            if any(_collect_unique_keys(card) & used_keys for card in new_cards):
                new_cards = []
            elif plan.faithfulness:
                _add_faithfulness_cards(maker, triplet, faithfulness_cards, plan)
        if not new_cards:
            break
        used_keys.update(*map(_collect_unique_keys, new_cards))
        cards += new_cards
    # Explained before pairs are tried, because these would count as failed triplets.
    reasons: list[str] = []
    if len(cards) < len(LABELS) * plan.per_label:
        reasons = [note for maker in makers for note in maker.explain_shortage()]
    if not cards:
        cards, notes = _make_two_label_cards(makers, plan)
    label_counts = Counter(card.label for card in cards)
    missing: dict[str, int] = {
        label: plan.per_label - label_counts[label]
        for label in LABELS
        if label_counts[label] < plan.per_label
    }
    notes += reasons
    if plan.faithfulness:
        for kind, kind_cards in faithfulness_cards.items():
            cards += kind_cards
            if len(kind_cards) < plan.per_label:
                missing[kind] = plan.per_label - len(kind_cards)
    rng.shuffle(cards)
    return CardSet(tuple(cards), missing, tuple(notes))


def choose_default_predicates(kb: KnowledgeBase) -> tuple[str, ...]:
    """Returns the domain's default predicates; without a domain file, the most frequent ones."""
    default_iris = tuple(iri for iri, wording in kb.domain.predicates.items() if wording.default)
    graph_iris = set(kb.predicates)
    if default_iris:
        return tuple(iri for iri in default_iris if iri in graph_iris)
    index = kb.graph.index
    by_frequency = [
        (-index.count_triples(p), index.terms.get_text(p))
        for p in index.list_predicates()
        if not is_vocabulary(index.terms.get_text(p))
    ]
    return tuple(iri for _, iri in sorted(by_frequency)[:MAX_ADHOC_PREDICATES])


class PredicateCardMaker:
    """Makes the triplets of one predicate, varying whichever side of the claim can vary."""

    def __init__(self, lookup: GraphLookup, pred: str, plan: CardPlan) -> None:
        self.lookup = lookup
        self.pred = pred
        self.plan = plan
        self.p = lookup.intern_term(pred)
        self.prover = Prover(lookup, self.p)
        self.rng = rng_for(plan.seed, pred)
        e_kinds = tuple(k for k in ("asserted", "inferred") if k in plan.kinds)
        self.sources: list[TripletSource] = []
        # "asserted" and "inferred" are kinds of E cards, and "absent" is one of U cards.
        self._allowed_c_kinds = frozenset(plan.kinds) - {"asserted", "inferred", "absent"}
        pools = [Pool(lookup, self.p, side, plan.subj_hint) for side in SIDES]
        single_valued = [
            pool.is_single_valued(rng_for(plan.seed, pred, pool.varying)) for pool in pools
        ]
        for pool, is_single in zip(pools, single_valued, strict=True):
            # If a subject can have only one value, varying the object gives no UNKNOWN card,
            # because every other object is contradicted; likewise with the sides exchanged.
            if not is_single and any(single_valued):
                continue
            if pool.varying == "obj" and pool.has_literal_values:
                continue
            recipes = Recipes(
                pool,
                self.prover,
                self.rng,
                is_single=is_single,
                e_kinds=e_kinds or ("asserted", "inferred"),
            )
            self.sources.append(
                TripletSource(
                    lookup,
                    pool,
                    self.prover,
                    recipes,
                    allowed_kinds=self._allowed_c_kinds,
                    num_facts=plan.num_facts,
                    rng=self.rng,
                )
            )

    def write_triplet(self, triplet: Triplet) -> list[Card]:
        """Writes the cards of a triplet."""
        return write_triplet_cards(self.lookup, self.prover, triplet, self.plan.seed, self.rng)

    def __iter__(self) -> Iterator[Triplet]:
        """Yields proved triplets, alternating between the varying sides."""
        active_sources = [iter(triplets) for triplets in self.sources]
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
            if recipes.is_single and not pool.members_without_anchor:
                return [
                    f"{label}: the graph has a value for every member of the class, "
                    "so nothing is unknown"
                ]
        failures = sum((source.failures for source in self.sources), Counter[Obstacle]())
        words = {word for source in self.sources for word in source.recipes.frequent_words}
        recipe_counts = ", ".join(
            f"{name} {n}" for source in self.sources for name, n in source.proved_counts.items()
        )
        proved = f" (triplets made: {recipe_counts})" if recipe_counts else ""
        reason = explain_obstacles(failures, words, is_first=not recipe_counts)
        return [f"{label}: {reason}{proved}"]


def _collect_unique_keys(card: Card) -> set[object]:
    """Returns the question and the claim of a card, which must be unique in a set."""
    return {card.question, card.claim}


def _add_faithfulness_cards(
    maker: PredicateCardMaker,
    triplet: Triplet,
    faithfulness_cards: dict[str, list[Card]],
    plan: CardPlan,
) -> None:
    for kind, make_kind_cards in (
        (WITHHELD, make_withheld_card),
        (COUNTERFACTUAL, make_counterfactual_cards),
    ):
        needed = plan.per_label - len(faithfulness_cards[kind])
        if needed > 0:
            new_cards = make_kind_cards(maker.lookup, maker.prover, triplet, plan.seed, maker.rng)
            faithfulness_cards[kind] += new_cards[:needed]


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
        facts = (
            recipes.find_proof_facts(x, recipes.pool.get_anchors(x)[0]) if x is not None else None
        )
        other_role = Role("C", x, facts) if x is not None and facts else None
    if other_role is None or other_role.x == e_term:
        return None
    return Proposal(anchor, [Role("E", e_term, proof_facts), other_role])


def _make_two_label_cards(
    makers: Sequence[PredicateCardMaker], plan: CardPlan
) -> tuple[list[Card], list[str]]:
    """Makes cards with two labels when no predicate has all three.

    Returns:
        The cards, and a note that names the missing label.
    """
    labels: tuple[Label, Label]
    for labels, missing_answer in ((("E", "C"), "UNKNOWN"), (("E", "U"), "NO")):
        cards: list[Card] = []
        used_keys: set[object] = set()
        for maker in makers:
            for new_cards in maker.iter_label_pairs(labels):
                if any(_collect_unique_keys(card) & used_keys for card in new_cards):
                    continue
                used_keys.update(*map(_collect_unique_keys, new_cards))
                cards += new_cards
                if len(cards) >= 2 * plan.per_label:
                    break
            if len(cards) >= 2 * plan.per_label:
                break
        if cards:
            return cards, [
                f"this set has no {missing_answer} card, so it cannot show whether a system "
                f"answers {missing_answer} where it should (--strict makes this an error)"
            ]
    return [], ["no card could be proved"]
