"""Makes card sets whose labels cannot be predicted from the surface; if they can, draws again.

Nor should anything tell which claims of U cards are true in the full graph: a model that knows the
world would be compared with one that only sees what is asked about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, Protocol, TypeVar

from cards.card import Card
from cards.generation.graph_lookup import GraphLookup
from cards.generation.kinds import FAITHFULNESS_KINDS
from cards.leakage.audit import Audit, Baseline, audit_cards
from cards.leakage.degrees import DegreeCounter
from cards.leakage.measures import Measure
from kg.base.console import print_text
from kg.base.plain_text import join_list
from kg.knowledge import KnowledgeBase

MAX_DRAWINGS = 5
"""Maximum number of times that a set is drawn."""
MAX_LENIENT_LEAKS = 1
"""After more sets whose labels can be predicted, sets are drawn more strictly. The second one is
drawn like the first: labels of one set in a few can be predicted by chance, and a strict set is
smaller."""
MAX_TRUTH_DISTANCE = 0.1
"""A set is drawn again if the AUC of telling the true claims of U cards is farther from .5. A
method below .5 would tell them, too, if its answers were reversed."""
MIN_TRUTH_CLAIMS = 100
"""Of fewer claims, only AUCs that are significantly above chance count: others are chance."""
MIN_SHARE = 0.4
"""A set without leaks is preferred to one with leaks if it has at least this share of its cards."""


class DrawnCards(Protocol):
    """A set of cards, as a drawing returns it."""

    @property
    def cards(self) -> tuple[Card, ...]:
        """The cards."""


Drawn = TypeVar("Drawn", bound=DrawnCards)


class Drawing(NamedTuple, Generic[Drawn]):
    """The set that was kept of all that were drawn."""

    cards: Drawn
    audit: Audit
    number: int
    """The number of its drawing, from 1."""
    n_drawings: int

    def describe(self) -> dict[str, int]:
        """Returns what the manifest records of the search for a set without leaks."""
        return {"drawn": self.n_drawings, "kept": self.number, "leaks": len(self.audit.leaks)}

    def describe_truth_leaks(self) -> str:
        """Says by what the true claims among those of U cards can be told; empty if by nothing."""
        found = [
            f"{baseline.name} ({_describe_measure('AUC', baseline.measures['AUC'])})"
            for baseline in _list_truth_leaks(self.audit)
        ]
        if not found:
            return ""
        return (
            "which unknown claims are true in the full graph can be told by "
            f"{join_list(found)}; that tells no label"
        )


def audit_new_cards(
    kb: KnowledgeBase, cards: Iterable[Card], full_kb: KnowledgeBase | None = None
) -> Audit:
    """Audits cards that were made from ``kb``, but for those of context faithfulness.

    Args:
        kb: what they were made from.
        cards: the cards.
        full_kb: the same before facts were set aside, if any were.
    """
    lookup = GraphLookup(kb)
    count_degrees = DegreeCounter(lookup.graph_index, lookup.closure_index, lookup).count
    count_full_degrees = None
    if full_kb is not None:
        closure_index = full_kb.oracle.closure.index
        count_full_degrees = DegreeCounter(full_kb.graph.index, closure_index).count
    return audit_cards(
        [card for card in cards if card.kind not in FAITHFULNESS_KINDS],
        count_degrees=count_degrees,
        count_full_degrees=count_full_degrees,
        get_name=kb.verbaliser.render_term,
    )


def draw_without_leaks(
    draw: Callable[[int, bool], Drawn], audit: Callable[[Drawn], Audit]
) -> Drawing[Drawn]:
    """Draws cards and audits them; if labels can be predicted, draws again.

    Args:
        draw: draws the set with the given number, from 0, more strictly if the second value says
            so.
        audit: audits a set.

    Returns:
        The first set of which neither labels nor the truth of U cards can be predicted, with its
        audit; if there is none, or a strict one would have too few cards, the one that leaks
        least.
    """
    drawn: list[tuple[Drawn, Audit]] = []
    n_drawings = 0
    while n_drawings < MAX_DRAWINGS:
        if drawn:
            print_text(f"drawing again, because {_describe_reason(drawn[-1][1])}")
        n_leaky = sum(bool(audit.leaks) for _, audit in drawn)
        cards = draw(n_drawings, n_leaky > MAX_LENIENT_LEAKS)
        n_drawings += 1
        if drawn and not _is_large(cards, drawn[0][0]):
            break
        drawn.append((cards, audit(cards)))
        if not drawn[-1][1].leaks and not _list_truth_leaks(drawn[-1][1]):
            break
    best = min(range(len(drawn)), key=lambda number: _rate_leaks(drawn[number][1]))
    return Drawing(*drawn[best], best + 1, n_drawings)


def describe_leaks(audit: Audit) -> list[str]:
    """Describes by what labels can be predicted, a sentence per baseline."""
    return [
        f"Labels can be predicted without reading the evidence, by {baseline.name}: "
        f"{_describe_largest(baseline)}."
        for baseline in audit.leaks
    ]


def _list_truth_leaks(audit: Audit) -> list[Baseline]:
    """Lists the methods that tell which claims of U cards are true."""
    is_large = audit.n_truth >= MIN_TRUTH_CLAIMS
    return [
        baseline
        for baseline in audit.truth_baselines
        if baseline.verdict == "LEAKS"
        or (is_large and _measure_distance(baseline) > MAX_TRUTH_DISTANCE)
    ]


def _measure_distance(baseline: Baseline) -> float:
    """Returns the distance of the AUC from .5, that of guessing."""
    return abs(baseline.auc.value - 0.5) if baseline.auc else 0.0


def _describe_reason(audit: Audit) -> str:
    """Says why a set is drawn again."""
    what = "labels can be predicted" if audit.leaks else "true claims of U cards can be told"
    found = audit.leaks or _list_truth_leaks(audit)
    return f"{what} by: {', '.join(baseline.name for baseline in found)}"


def _describe_largest(baseline: Baseline) -> str:
    return _describe_measure(*max(baseline.measures.items(), key=lambda item: item[1].excess))


def _describe_measure(name: str, measure: Measure) -> str:
    return (
        f"{name} {measure.value:.3f} [{measure.low:.3f}, {measure.high:.3f}], chance "
        f"{measure.chance:.3f}"
    )


def describe_missing_audit(audit: Audit) -> list[str]:
    """Says why no baseline could be tried, if none could."""
    return [] if audit.baselines else [f"The set was not audited: {note}." for note in audit.notes]


def _is_large(cards: DrawnCards, first: DrawnCards) -> bool:
    """Returns whether a set has enough cards of each label that the first one has."""
    counts, first_counts = (Counter(card.label for card in s.cards) for s in (cards, first))
    return all(counts[label] >= MIN_SHARE * n for label, n in first_counts.items())


def _rate_leaks(audit: Audit) -> tuple[int, float, int, float]:
    """Returns by how many methods labels and truths can be told, and how well; labels first."""
    truth_leaks = _list_truth_leaks(audit)
    return (
        len(audit.leaks),
        max((baseline.excess for baseline in audit.leaks), default=0.0),
        len(truth_leaks),
        max(map(_measure_distance, truth_leaks), default=0.0),
    )
