"""A new card set, and measures by which sets are compared: how many cards, how hard, how balanced.

A U card asks for the truth if its claim was set aside, so that it is true in the full graph.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from cards.card import Card
from cards.generation.card_plan import CardPlan
from kg.claims import LABELS, Claim
from kg.knowledge import KnowledgeBase
from kg.text.facts.evidence import SourcePassage

MIN_TRUE_SHARE = 0.25
"""Minimum share of U cards that ask for the truth; with fewer, names need not match."""
MAX_UNBALANCED = 0.05
"""Maximum share of U cards without a counterpart, see ``count_unbalanced_unknowns``; with more,
predicates that have such cards give less."""
MAX_FEW_UNBALANCED = 2
"""Maximum number of U cards without a counterpart in sets too small for that share."""
MAX_DERIVED_MISSING = 0.05
"""If more of the cards that should need a derived fact are missing, predicates that have such facts
give more."""


class CardSet(msgspec.Struct, frozen=True):
    """The new cards, and the number of cards that could not be made."""

    cards: tuple[Card, ...]
    missing: dict[str, int]
    """Label (or faithfulness kind) → number of cards that could not be made."""
    notes: tuple[str, ...]
    """Why cards are missing."""
    kb: KnowledgeBase
    """What the labels are true of: the graph without the facts that were set aside."""
    set_aside: tuple[Claim, ...]
    """The facts that were set aside, sorted. U cards are about their subjects."""
    passages: tuple[SourcePassage, ...] = ()
    """What systems may read, without what states those facts; empty if the graph is not from
    documents."""

    def count_by_kind(self) -> dict[str, dict[str, dict[str, int]]]:
        """Counts cards: predicate → label → kind → number of cards, in a fixed order."""
        totals: Counter[tuple[str, str, str]] = Counter(
            (card.claim.pred, card.label, card.kind) for card in self.cards
        )
        table: dict[str, dict[str, dict[str, int]]] = {}
        for (pred, label, kind), n in sorted(totals.items()):
            table.setdefault(pred, {}).setdefault(label, {})[kind] = n
        return table

    def count_triplets(self) -> int:
        """Counts the cards of the label that has the fewest."""
        counts = Counter(card.label for card in self.cards)
        return min(counts[label] for label in LABELS)

    def count_derived_cards(self) -> int:
        """Counts the cards that need a derived fact, of E or C cards, whichever are fewer."""
        counts = Counter(card.label for card in self.cards if card.meta.get("derived"))
        return min(counts["E"], counts["C"])

    def count_true_unknowns(self) -> int:
        """Counts the U cards that ask for the truth."""
        return sum(_asks_for_truth(card) for card in self.cards if card.label == "U")

    def count_unbalanced_unknowns(self) -> Counter[str]:
        """Counts the U cards without a counterpart: predicate → number.

        A counterpart is of the same predicate, and asks for the truth if the other does not. Of an
        odd number of cards, one has none anyway, and is not counted: 6 to 4 counts 2, as 6 to 3.
        """
        surplus = Counter[str]()
        for card in self.cards:
            if card.label == "U":
                surplus[card.claim.pred] += 1 if _asks_for_truth(card) else -1
        return Counter({pred: abs(n) - n % 2 for pred, n in surplus.items()})

    def count_balanced_unknowns(self) -> Counter[str]:
        """Counts the U cards that balance: predicate → number.

        One at least, so that a predicate of which no two balance is asked about once.
        """
        counts = Counter(card.claim.pred for card in self.cards if card.label == "U")
        unbalanced = self.count_unbalanced_unknowns()
        return Counter({pred: max(1, n - unbalanced[pred]) for pred, n in counts.items()})

    def lacks_derived_cards(self, plan: CardPlan) -> bool:
        """Returns whether fewer E or C cards need a derived fact than should."""
        min_derived = (1 - MAX_DERIVED_MISSING) * plan.derived_share * plan.per_label
        return self.count_derived_cards() < int(min_derived)

    def lacks_true_unknowns(self) -> bool:
        """Returns whether too few U cards ask for the truth."""
        return self.count_true_unknowns() < MIN_TRUE_SHARE * self.count_triplets()

    def lacks_balance(self) -> bool:
        """Returns whether too many U cards have no counterpart, unless all have one predicate."""
        counts = self.count_unbalanced_unknowns()
        return len(counts) > 1 and counts.total() > self.max_unbalanced

    @property
    def max_unbalanced(self) -> float:
        """Number of U cards without a counterpart that are no reason to draw again."""
        return max(MAX_FEW_UNBALANCED, MAX_UNBALANCED * self.count_triplets())

    def would_lose_derived_cards(self) -> bool:
        """Estimates whether balance would cost too many of the cards that need a derived fact.

        Balance replaces the triplets of predicates that do not balance, down to one each, by those
        of others, which need a derived fact as often as the triplets that stay. Say that capital
        gave 20 triplets, none of which balances, and currency 20 that do. If 10 E cards about
        capitals and 2 about currencies need a derived fact, 19/20 of the 10 are lost, and 19
        triplets are gained with (12 - 9.5) / 21 each: 2.3. Of 12 such cards, 7.2 would be lost.
        """
        derived = {
            label: Counter(
                card.claim.pred
                for card in self.cards
                if card.label == label and card.meta.get("derived")
            )
            for label in ("E", "C")
        }
        rarest = min(derived.values(), key=Counter.total)
        counts = Counter(card.claim.pred for card in self.cards if card.label == "U")
        kept = self.count_balanced_unknowns()
        n_lost = sum(rarest[pred] * (1 - kept[pred] / n) for pred, n in counts.items())
        share_kept = (rarest.total() - n_lost) / max(1, kept.total())
        n_gained = (counts.total() - kept.total()) * share_kept
        return n_lost - n_gained > MAX_DERIVED_MISSING * rarest.total()

    def is_better_balanced_than(self, other: CardSet) -> bool:
        """Returns whether more U cards have a counterpart than in another set, at no other cost."""
        return (
            self.count_unbalanced_unknowns().total() < other.count_unbalanced_unknowns().total()
            and self.count_triplets() >= other.count_triplets()
            and sum(self.missing.values()) <= sum(other.missing.values())
            and self.count_derived_cards()
            >= (1 - MAX_DERIVED_MISSING) * other.count_derived_cards()
        )

    def rate(self) -> tuple[float, int]:
        """Rates the set by its number of triplets, then by how many U cards ask for the truth.

        Balance is worth at most one triplet in twenty.
        """
        n_triplets = self.count_triplets()
        n_true = min(n_triplets, self.count_true_unknowns())
        return n_triplets + min(n_true, n_triplets - n_true) / 10, len(self.cards)


def _asks_for_truth(card: Card) -> bool:
    return bool(card.meta.get("full_label") == "E")
