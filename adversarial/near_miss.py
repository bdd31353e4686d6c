"""Makes near-miss cards: plausible claims, each proved false or unknown over graph and card.

Near-misses come in pairs of a false and an unknown one about the same thing, see
``adversarial/partners.py``. With ``with_entailed``, a true claim is added to each pair. Without it,
a near-miss set has no YES card, and a system that never answers YES makes no error on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from adversarial.near_miss_maker import NearMissMaker, Obstacle
from adversarial.strategies import STRATEGIES
from cards.card import Card
from cards.generation.card_plan import DEFAULT_NUM_FACTS, DEFAULT_SEED
from cards.generation.graph_lookup import GraphLookup
from cards.generation.rng import rng_for
from cards.knowledge_base import choose_default_predicates
from kg.base.errors import DomainError
from kg.claims import Claim, Label
from kg.knowledge import KnowledgeBase

ANSWERS: dict[str, str] = {"C": "false", "U": "unknown"}
MAX_REASONS = 3
"""Maximum number of reasons that a note gives for missing near-misses."""


class NearMissPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a near-miss set."""

    predicates: tuple[str, ...] = ()
    """IRIs; empty for the domain's default ones."""
    strategies: tuple[str, ...] = ()
    """Names; empty for all."""
    num: int = 200
    """Number of near-misses, half of them C (false) and half U (unknown)."""
    seed: int = DEFAULT_SEED
    num_facts: int = DEFAULT_NUM_FACTS
    """Target number of facts per card."""
    with_entailed: bool = False
    """Whether to add, for each pair of near-misses, a card with a true claim about the same."""


class NearMisses(msgspec.Struct, frozen=True):
    """The new near-misses, and the number that could not be made."""

    cards: tuple[Card, ...]
    missing: dict[str, int]
    """Label → number of near-misses that could not be made; empty if none is missing."""
    counts: dict[str, dict[str, int]]
    """Strategy → label → number of near-misses."""
    notes: tuple[str, ...]
    """Why near-misses are missing."""


def make_near_misses(
    kb: KnowledgeBase,
    plan: NearMissPlan,
    *,
    existing: Iterable[Card] = (),
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> NearMisses:
    """Makes near-misses.

    Strategies and predicates take turns; a strategy that finds no more claims is skipped. Only if
    the graph has no pair of a false and an unknown near-miss are they made one by one.

    Args:
        kb: graph, shapes, oracle and verbaliser.
        plan: the settings of the near-miss set.
        existing: cards that none may repeat.
        progress: wraps the range of pairs to show progress.

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
    makers = [
        NearMissMaker(
            lookup,
            pred,
            seed=plan.seed,
            num_facts=plan.num_facts,
            with_entailed=plan.with_entailed,
        )
        for pred in plan.predicates or choose_default_predicates(kb)
    ]
    collector = _Collector(plan, existing)
    steps = range((plan.num + 1) // 2)
    collector.collect(
        lambda maker, strategy: maker.iter_pairs(strategy),
        makers,
        progress(steps) if progress else steps,
    )
    notes = []
    if not collector.cards:
        collector.collect(
            lambda maker, strategy: maker.iter_single(strategy, collector.wanted),
            makers,
            range(plan.num),
        )
        labels = {card.label for card in collector.cards} - {"E"}
        if len(labels) == 1:
            notes.append(
                f"every near-miss is {ANSWERS[labels.pop()]}, so that one answer to all is right; "
                "the graph of a card set, which lacks some facts, gives others too (--cards FILE)"
            )
        elif labels:
            notes.append(
                "no false near-miss has a similar unknown one about the same thing, so that what "
                "is asked predicts the label"
            )
    rng.shuffle(collector.cards)
    missing: dict[str, int] = dict(collector.wanted.items())
    counts = {
        strategy: dict(sorted(by_label.items())) for strategy, by_label in collector.counts.items()
    }
    if missing:
        notes.append(_explain_missing(missing, plan.num, makers))
    empty_strategies = [strategy for strategy, by_label in counts.items() if not by_label]
    if empty_strategies:
        notes.append(f"this graph has no near-miss for: {', '.join(empty_strategies)}")
    return NearMisses(tuple(collector.cards), missing, counts, tuple(notes))


class _Collector:
    """Collects near-misses until there are enough of each label."""

    def __init__(self, plan: NearMissPlan, existing: Iterable[Card]) -> None:
        self.plan = plan
        self._existing = {key for card in existing for key in _list_content_keys(card)}
        strategies = plan.strategies or tuple(STRATEGIES)
        self.cards: list[Card] = []
        self.counts: dict[str, Counter[str]] = {strategy: Counter() for strategy in strategies}
        # Of an odd number, one more is false than unknown.
        self.wanted: dict[Label, int] = {"C": (plan.num + 1) // 2, "U": plan.num // 2}
        """Label → number of near-misses still to be made; labels with enough of them are absent."""
        self._drop_enough()
        self._used_claims: set[Claim] = set()

    def collect(
        self,
        iter_batches: Callable[[NearMissMaker, str], Iterator[list[Card]]],
        makers: Sequence[NearMissMaker],
        steps: Iterable[int],
    ) -> None:
        """Adds one batch of cards per step, while labels are wanted and there are batches."""
        # One iterator per strategy over all predicates, so that strategies get equal shares.
        batches_by_strategy = {
            strategy: _take_turns([iter_batches(maker, strategy) for maker in makers])
            for strategy in self.counts
        }
        remaining = list(batches_by_strategy)
        turn = 0
        for _ in steps:
            while remaining and self.wanted:
                strategy = remaining[turn % len(remaining)]
                batch = next(batches_by_strategy[strategy], None)
                if batch is None:
                    remaining.remove(strategy)
                    continue
                turn += 1
                if self._add_batch(strategy, batch):
                    break
            else:
                break  # All strategies are exhausted, or no label is wanted any more.

    def _add_batch(self, strategy: str, batch: list[Card]) -> bool:
        """Adds cards of which none asks again about a claim or repeats an existing card.

        Returns:
            Whether it added them.
        """
        near_misses = [card for card in batch if card.label != "E"]
        true_cards = [card for card in batch if card.label == "E"]
        asked = [*near_misses, *(true_cards if self.plan.with_entailed else [])]
        if any(
            card.claim in self._used_claims
            or not self._existing.isdisjoint(_list_content_keys(card))
            for card in asked
        ):
            return False
        # Of the last pair of an odd number, only the card that is still wanted is kept.
        kept = [card for card in near_misses if card.label in self.wanted]
        if self.plan.with_entailed:
            kept += true_cards
        self.cards += kept
        self._used_claims.update(card.claim for card in kept)
        for card in near_misses:
            if card.label in self.wanted:
                self.counts[strategy][card.label] += 1
                self.wanted[card.label] -= 1
        self._drop_enough()
        return True

    def _drop_enough(self) -> None:
        for label in [label for label, n in self.wanted.items() if n <= 0]:
            del self.wanted[label]


def _list_content_keys(card: Card) -> tuple[tuple[object, frozenset[str]], ...]:
    """Returns what no other card may have in common with a card: its facts and what it asks."""
    facts = frozenset(card.facts)
    return (card.question, facts), (card.claim, facts)


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


def _explain_missing(missing: dict[str, int], num: int, makers: Sequence[NearMissMaker]) -> str:
    """Says how many near-misses are missing by label, and the most frequent reasons."""
    numbers = " and ".join(f"{n} {ANSWERS[label]}" for label, n in missing.items())
    obstacles: Counter[Obstacle] = sum((maker.obstacles for maker in makers), Counter())
    reasons = "; ".join(
        f"{n} {obstacle.value}" for obstacle, n in obstacles.most_common(MAX_REASONS)
    )
    tried = f"of the wrong claims tried, {reasons}" if reasons else "no strategy proposes a claim"
    total = sum(missing.values())
    return f"could not make {total} of {num} near-misses, {numbers}: {tried}"
