"""Generates card sets: every label is proved twice and cannot be predicted from the surface.

Some facts of the graph are set aside first (``generation/set_aside.py``), so that something is
unknown; the cards are made from the rest.

Cards are made in triplets (see ``generation/context.py``; ``generation/pools.py`` defines *anchor*
and *holder*). Predicates take turns until the quota is reached; a predicate that has no more
triplets is skipped.
"""

from __future__ import annotations

import gc
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

import msgspec

from cards.card import Card
from cards.card_set import CardSet
from cards.generation.card_maker import (
    FACTORS,
    PredicateCardMaker,
    Side,
    choose_shares,
    estimate_derived_share,
    find_sides,
    list_needs,
    make_makers,
)
from cards.generation.card_plan import CardPlan, Phase
from cards.generation.card_writer import Triplet
from cards.generation.faithfulness import FaithfulnessCards
from cards.generation.graph_lookup import GraphLookup
from cards.generation.rng import rng_for
from cards.generation.set_aside import PoolNeed, SetAside, share_equally
from cards.generation.text_evidence import TextEvidence
from cards.knowledge_base import choose_default_predicates
from kg.base.errors import EmptyGraphError
from kg.base.plain_text import format_count
from kg.claims import LABELS, Label
from kg.knowledge import KnowledgeBase

GC_THRESHOLDS = (1_000_000, 20, 100)
"""Garbage collector thresholds while cards are made: so high that a few thousand cards trigger no
collection."""
MAX_ATTEMPTS = 6
"""Maximum number of times that facts are set aside anew because predicates gave too few cards."""
N_PROBE_TERMS = 24
"""Number of terms of each predicate that are set aside to find out whether it gives any card."""


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
        The cards in random order, with the number of missing ones, the reasons, and the graph that
        they are made from.

    Raises:
        EmptyGraphError: no predicate is named, and the graph has none that could be asked about.
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
    predicates = plan.predicates or choose_default_predicates(lookup.kb)
    if not predicates:
        raise EmptyGraphError(
            "the graph has no fact that cards could ask about, only names and classes, or facts of "
            "other predicates than the domain's",
            where=", ".join(map(str, lookup.kb.graph.sources)),
            hint="Check that the graph and the domain belong together.",
        )
    sides = [find_sides(lookup, pred, plan) for pred in predicates]
    limits = [sum(side.max_triplets for side in group) for group in sides]
    card_set = _try_shares(lookup, plan, predicates, sides, limits, progress)
    if card_set.missing or card_set.lacks_true_unknowns():
        # Names made of codes ("AHU 2 supply fan 1") may leave few with the same words, or none for
        # which the value that was set aside can be asked about.
        other_plan = msgspec.structs.replace(plan, matches_words=False)
        other = _try_shares(lookup, other_plan, predicates, sides, limits, progress)
        if other.rate() > card_set.rate():
            card_set, plan = other, other_plan
    is_full = card_set.count_triplets() == plan.per_label
    if is_full and card_set.lacks_balance() and not card_set.would_lose_derived_cards():
        # A capital is that of one country only: once set aside, no true claim states it any more,
        # so that no triplet can ask for it. Other predicates can give more instead.
        n_unbalanced = card_set.count_unbalanced_unknowns()
        n_balanced = card_set.count_balanced_unknowns()
        balanced_limits = [
            n_balanced[pred] if n_unbalanced[pred] else limit
            for pred, limit in zip(predicates, limits, strict=True)
        ]
        # What the others cannot give stays with the predicates that do not balance: a few cards,
        # or it is of no use to draw again.
        n_lacking = max(0, plan.per_label - sum(balanced_limits))
        if n_lacking <= card_set.max_unbalanced:
            plan = msgspec.structs.replace(plan, balances_truth=True)
            extra = share_equally(n_lacking, [n_unbalanced[pred] for pred in predicates])
            limits = [n + more for n, more in zip(balanced_limits, extra, strict=True)]
            other = _try_shares(lookup, plan, predicates, sides, limits, progress)
            if other.is_better_balanced_than(card_set):
                card_set = other
    return card_set


def _try_shares(
    lookup: GraphLookup,
    plan: CardPlan,
    predicates: Sequence[str],
    sides: Sequence[Sequence[Side]],
    max_shares: Sequence[int],
    progress: Callable[[Iterable[int]], Iterable[int]] | None,
) -> CardSet:
    """Draws cards, several times if predicates give less than their share; returns the best."""
    derived_shares = [estimate_derived_share(group, plan) for group in sides]
    shares = choose_shares(plan, max_shares, derived_shares)
    # Others give no more derived ones than they do, whatever their share.
    can_give_derived = max(derived_shares) >= plan.derived_share > 0 and not plan.balances_truth
    phases = _list_phases(plan)
    # The largest number of triplets of each predicate, and the factor that gave it.
    best = [(0, FACTORS[0])] * len(predicates)
    turns = _iter_factors(best)
    factors = next(turns)
    trial_notes: dict[str, list[str]] = {}
    if len(predicates) > 1 and max(shares) > N_PROBE_TERMS:
        # Finds the predicates that give no card before as much is set aside as the others need.
        probe = [min(n, N_PROBE_TERMS) for n in shares]
        needs = list_needs(plan, sides, probe, factors)
        makers, _ = make_makers(lookup, plan, predicates, sides, probe, needs)
        useful = [
            next((t for phase in phases for t in maker.iter_triplets(phase)), None) is not None
            for maker in makers
        ]
        trial_notes = {
            maker.pred: maker.explain_shortage()
            for maker, is_useful in zip(makers, useful, strict=True)
            if not is_useful
        }
        if any(useful):
            max_shares = [
                n if is_useful else 0 for n, is_useful in zip(max_shares, useful, strict=True)
            ]
            shares = choose_shares(plan, max_shares, derived_shares)
    card_sets: list[CardSet] = []
    tried: list[list[PoolNeed]] = []
    while factors and len(card_sets) < MAX_ATTEMPTS:
        needs = list_needs(plan, sides, shares, factors)
        if needs in tried:
            factors = next(turns, [])
            continue
        tried.append(needs)
        makers, aside = make_makers(lookup, plan, predicates, sides, shares, needs)
        evidence = None
        if lookup.kb.evidence is not None:
            claims = (makers[0].lookup.make_claim(*fact) for fact in sorted(aside.triples))
            evidence = TextEvidence(lookup.kb, lookup.kb.evidence, claims)
        card_sets.append(_draw_cards(makers, plan, aside, evidence, progress, trial_notes))
        trial_notes |= {
            m.pred: m.explain_shortage() for m in makers if m.share and not m.n_triplets
        }
        lacks_balance = plan.balances_truth and card_sets[-1].lacks_balance()
        lacks_derived = can_give_derived and card_sets[-1].lacks_derived_cards(plan)
        if not (card_sets[-1].missing or lacks_derived or lacks_balance):
            break
        only_lacks_derived = not (card_sets[-1].missing or lacks_balance)
        if only_lacks_derived and any(
            not earlier.missing
            and earlier.count_derived_cards() >= card_sets[-1].count_derived_cards()
            for earlier in card_sets[:-1]
        ):
            break  # other shares no longer help
        numbers = [maker.n_triplets for maker in makers]
        if plan.balances_truth:
            n_balanced = card_sets[-1].count_balanced_unknowns()
            numbers = [n_balanced[maker.pred] for maker in makers]
        best[:] = [
            max(old, (number, factor), key=itemgetter(0))
            for old, number, factor in zip(best, numbers, factors, strict=True)
        ]
        # Predicates that gave less than their share leave the rest of it to the others, or try
        # again with more or less set aside if the others can give no more.
        given = [
            number if number < share else most
            for number, share, most in zip(numbers, shares, max_shares, strict=True)
        ]
        new_shares = choose_shares(plan, given, derived_shares)
        if any(n > old for n, old in zip(new_shares, shares, strict=True)):
            max_shares, shares = given, new_shares
        elif plan.balances_truth or not card_sets[-1].missing:
            break  # another number of facts set aside does not make a capital shared
        else:
            factors = next(turns, [])
    return max(
        card_sets,
        key=lambda cards: (
            cards.count_triplets(),
            plan.balances_truth and -cards.count_unbalanced_unknowns().total(),
            cards.count_derived_cards(),
        ),
    )


def _iter_factors(best: Sequence[tuple[int, float]]) -> Iterator[list[float]]:
    """Yields a factor for each predicate: first the same for all, at last the best of each.

    Args:
        best: the largest number of triplets of each predicate and its factor; read at the end.
    """
    for factor in FACTORS:
        yield [factor] * len(best)
    yield [factor for _, factor in best]


def _list_phases(plan: CardPlan) -> tuple[Phase, ...]:
    degrees = (True,) if plan.is_strict else (True, False)
    steps = ((False, False), (True, False), (True, True))
    return tuple(
        Phase(strict=strict, is_last=is_last, any_anchor=any_anchor)
        for is_last, any_anchor in steps
        for strict in degrees
    )


def _draw_cards(
    makers: Sequence[PredicateCardMaker],
    plan: CardPlan,
    aside: SetAside,
    evidence: TextEvidence | None,
    progress: Callable[[Iterable[int]], Iterable[int]] | None,
    trial_notes: Mapping[str, list[str]],
) -> CardSet:
    """Draws cards.

    Args:
        makers: make the triplets of each predicate.
        plan: the settings of the card set.
        aside: what was set aside.
        evidence: the passages that state the facts, if the graph is from documents.
        progress: wraps the range of triplets to show progress.
        trial_notes: predicate of which a trial gave no card → why not.
    """
    notes: list[str] = []
    rng = rng_for(plan.seed, "cards")
    cards: list[Card] = []
    faithfulness = FaithfulnessCards(plan)
    used_keys: set[object] = set()
    # No predicate gives triplets of unlike entities while another one has alike ones, except that
    # each gives half of an equal share: some kinds of questions have no others.
    min_triplets = 0 if plan.is_strict else plan.per_label // (2 * len(makers))
    filled: set[str] = set()
    phases = iter(_list_phases(plan))
    active_makers: list[tuple[PredicateCardMaker, Iterator[Triplet]]] = []
    steps = range(plan.per_label)
    turns: Counter[str] = Counter()
    n_unquoted = 0
    for _ in progress(steps) if progress else steps:
        new_cards: list[Card] = []
        while not new_cards:
            if not active_makers:
                phase = next(phases, None)
                if phase is None:
                    break
                active_makers = [(maker, maker.iter_triplets(phase)) for maker in makers]
                turns.clear()
            # Those that should give more have more turns, spread evenly.
            entry = min(active_makers, key=lambda m: (turns[m[0].pred] + 1) / max(1, m[0].share))
            maker, triplets = entry
            try:
                triplet = next(triplets)
            except StopIteration:
                active_makers.remove(entry)
                if maker.n_triplets < min_triplets and maker.pred not in filled:
                    filled.add(maker.pred)
                    more = maker.iter_triplets(Phase(strict=False))
                    # One, so that every predicate is asked about that can be.
                    n_more = 1 if plan.balances_truth else min_triplets - maker.n_triplets
                    active_makers.append((maker, itertools.islice(more, n_more)))
                continue
            turns[maker.pred] += 1
            new_cards = maker.write_triplet(triplet)
            if any(_collect_unique_keys(card) & used_keys for card in new_cards):
                new_cards = []
            elif evidence is not None:
                new_cards = evidence.add_quotes(new_cards)
                n_unquoted += not new_cards
            if new_cards:
                maker.count_triplet(triplet)
                faithfulness.make_cards(maker.lookup, maker.prover, triplet)
        if not new_cards:
            break
        used_keys.update(*map(_collect_unique_keys, new_cards))
        cards += new_cards
    # Explained before pairs are tried, because these would count as failed triplets.
    reasons: list[str] = []
    if len(cards) < len(LABELS) * plan.per_label:
        reasons = [
            note
            for maker in makers
            for note in (() if maker.share else trial_notes.get(maker.pred, ()))
            or maker.explain_shortage()
        ]
    if not cards:
        cards, notes = _make_two_label_cards(makers, plan, evidence)
    label_counts = Counter(card.label for card in cards)
    missing: dict[str, int] = {
        label: plan.per_label - label_counts[label]
        for label in LABELS
        if label_counts[label] < plan.per_label
    }
    notes += reasons
    if n_unquoted and missing:
        notes.append(
            f"{format_count(n_unquoted, 'candidate triplet')} left out, because the passages do "
            "not state what its answers rest on, or state what would be unknown"
        )
    rng.shuffle(cards)
    cards += faithfulness.shuffle()
    missing |= faithfulness.count_missing()
    return CardSet(
        tuple(cards),
        missing,
        tuple(notes),
        aside.lookup.kb,
        tuple(sorted(aside.lookup.make_claim(*fact) for fact in aside.triples)),
        tuple(evidence.evidence.passages.values()) if evidence else (),
    )


def _collect_unique_keys(card: Card) -> set[object]:
    """Returns the question and the claim of a card, which must be unique in a set."""
    return {card.question, card.claim}


def _make_two_label_cards(
    makers: Sequence[PredicateCardMaker], plan: CardPlan, evidence: TextEvidence | None
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
                if evidence is not None:
                    new_cards = evidence.add_quotes(new_cards)
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
