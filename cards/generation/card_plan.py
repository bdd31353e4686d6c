"""The settings of a card set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from kg.claims import Label

DEFAULT_PER_LABEL = 200
DEFAULT_SEED = 12345
DEFAULT_NUM_FACTS = 6


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
    """Whether to add cards of the kinds ``withheld`` and ``counterfactual``."""
    num_faithfulness: int | None = None
    """Largest number of cards of each of these kinds; ``None`` for exactly ``per_label``."""
    derived_share: float = 0.5
    """Share of the E and of the C cards that should need a derived fact, where the graph has such
    claims; else as many as it has. If 0, as many do as happen to be drawn."""
    is_strict: bool = False
    """Whether triplets whose entities differ in degree are not even made where there are no others.
    """
    matches_words: bool = True
    """Whether the names of a triplet must have the same frequent words ("Creek", "Lake"). Where
    this leaves too few, the set is drawn without it; see ``make_cards``."""
    balances_truth: bool = False
    """Whether predicates that cannot give as many U cards that ask for the truth as others leave
    the rest of their share to other predicates: else predicates could tell the two apart. Where
    shares as usual leave too many without a counterpart, the set is drawn so; see ``make_cards``.
    """
    redraw: int = 0
    """Number of the drawing; each draws other cards with the same seed."""
    subj_hint: str = ""
    """Only subjects whose name contains this text are asked about (case-insensitive)."""

    @property
    def per_faithfulness_kind(self) -> int:
        """Number of cards of each kind of context faithfulness to be made."""
        if not self.faithfulness:
            return 0
        return self.per_label if self.num_faithfulness is None else self.num_faithfulness

    @property
    def drawing_seed(self) -> int | str:
        """What random choices depend on."""
        return f"{self.seed}, drawing {self.redraw}" if self.redraw else self.seed


class Phase(NamedTuple):
    """A phase of drawing; later ones make triplets that the earlier ones cannot."""

    strict: bool
    """Whether entities must be alike in degree."""
    is_last: bool = True
    """Whether more claims of U cards may be false in G than true, because no further phase may find
    true ones."""
    any_anchor: bool = False
    """Whether false claims of U cards may be about any value, also one that no true one can be
    about, and cards may state facts of any predicate whose object is a thing that they ask about.
    """


class DerivedQuota:
    """Counts the E and C cards of a set whose labels need a derived fact.

    Args:
        limit: number of cards of each label that should need one.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._counts: Counter[Label] = Counter()

    def count_cards(self, derived: Iterable[Label]) -> None:
        """Counts the cards of a triplet that need a derived fact, by their labels."""
        self._counts.update(derived)

    @property
    def wanted(self) -> frozenset[Label]:
        """The labels of which too few cards need one yet."""
        labels: tuple[Label, Label] = ("E", "C")
        return frozenset(label for label in labels if self._counts[label] < self._limit)
