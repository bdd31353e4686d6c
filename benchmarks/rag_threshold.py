"""Helps to choose the threshold of ``rag``, by its accuracy on cards that are not reported.

    python -m benchmarks.rag_threshold

It makes card sets on the shipped rivers with seeds that no reported set uses, runs ``rag`` on them
at each threshold, and prints the share of correct answers (YES on E, NO on C, UNKNOWN on U).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from cards.card import Card, read_cards
from cards.make_context_cards import main as make_cards
from eval.abstention.system import SystemOptions
from eval.abstention.systems.rag import CardReader, Rag
from eval.abstention.systems.registry import make_systems
from eval.questions.lexical_answerer import DEFAULT_THRESHOLD, Reader

SEEDS = (1, 2, 3)
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
VARIANTS = {
    "one fact a passage": {},
    "one subject a passage": {"passages": "subject"},
    "the card's own facts": {"context": "card"},
}


def make_development_cards() -> list[Card]:
    """Makes the cards of all development seeds."""
    cards: list[Card] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in SEEDS:
            out = Path(folder) / f"{seed}.jsonl"
            make_cards(out=out, domain="rivers", seed=seed)
            cards += read_cards(out)
    return cards


def compute_accuracy(system: Rag | CardReader, cards: list[Card]) -> float:
    """Computes the share of cards answered correctly."""
    return sum(system.answer(card.view).pred == card.gold for card in cards) / len(cards)


def main() -> None:
    """Prints the table; the default threshold is marked."""
    cards = make_development_cards()
    print(f"{len(cards)} cards of seeds {SEEDS}", file=sys.stderr)
    cells = (f"{value}{'*' if value == DEFAULT_THRESHOLD else ''}" for value in THRESHOLDS)
    print(f"{'threshold':<24}" + "".join(f"{text:>7}" for text in cells))
    for variant, settings in VARIANTS.items():
        (system,) = make_systems("rag", SystemOptions(domain="rivers", settings=settings))
        assert isinstance(system, Rag | CardReader)
        row = []
        for threshold in THRESHOLDS:
            system.reader = Reader(threshold)
            row.append(compute_accuracy(system, cards))
        print(f"{variant:<24}" + "".join(f"{value:>7.3f}" for value in row))


if __name__ == "__main__":
    main()
