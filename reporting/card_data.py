"""The cards as the page needs them: one compact structure, every repeated string held once.

The same structure feeds the script in the page (as embedded JSON) and the first rows that stand
in the HTML for readers without scripts, so the two can never tell different stories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from cards.card import Card
from eval.result import PREDS, Pred
from kg.claims import Gold, Proof, Verdict
from reporting.inputs import Inputs, Reply
from reporting.proofs import ProofWords, term_words
from reporting.visible import StringTable, cut, shown_name, visible

Outcome = Literal["right", "held", "wrong", "none"]

OUTCOMES: tuple[tuple[Outcome, str, str], ...] = (
    ("right", "✓", "right"),
    ("held", "○", "held back: UNKNOWN although the answer can be proved"),
    ("wrong", "✗", "wrong"),
    ("none", "!", "no usable reply: INVALID or ERROR"),
)
"""Key, symbol and words of what an answer amounts to."""

LABEL_WORDS = {"E": "E entailed", "C": "C contradictory", "U": "U unknown"}

_PRED_LETTER: dict[Pred, str] = {
    "YES": "Y",
    "NO": "N",
    "UNKNOWN": "U",
    "INVALID": "I",
    "ERROR": "R",
}

SAME_PROOF = "The same proof holds from the facts and rules on the card alone."

RAW_LIMIT = 600
"""Characters of a system's reply shown; the rest stays in the result file."""
TEXT_LIMIT = 20_000
"""Characters of any other text shown: enough for every honest card."""


def outcome(gold: Gold, pred: Pred) -> Outcome:
    """What an answer amounts to, independent of any policy."""
    if pred in ("INVALID", "ERROR"):
        return "none"
    if pred == gold:
        return "right"
    return "held" if pred == "UNKNOWN" else "wrong"


def outcome_symbol(key: Outcome) -> str:
    """The symbol that goes with an outcome's colour."""
    return next(symbol for name, symbol, _ in OUTCOMES if name == key)


def outcome_words(key: Outcome) -> str:
    """An outcome in words."""
    return next(words for name, _, words in OUTCOMES if name == key)


@dataclass(frozen=True)
class CardAnswer:
    """One system's answer to one card, ready to be shown."""

    system: str
    control: bool
    pred: Pred | None
    outcome: Outcome | None
    reason: str


@dataclass(frozen=True)
class CardRow:
    """One card, ready to be shown; all text is ``visible``."""

    id: str
    label: str
    gold: Gold
    kind: str
    difficulty: str
    predicate: str
    question: str
    facts: tuple[str, ...]
    rules: tuple[str, ...]
    proof: str
    """Over the graph."""
    card_proof: str
    """Over the card's facts and rules alone; empty where the card carries none."""
    answers: tuple[CardAnswer, ...]


def card_rows(inputs: Inputs, words: ProofWords) -> Iterator[CardRow]:
    """Yields every card with its answers, in card order."""
    for card in inputs.cards:
        yield CardRow(
            id=_shown(card.id),
            label=card.label,
            gold=card.gold,
            kind=_shown(card.kind) or "unnamed",
            difficulty=card.difficulty or "",
            predicate=_shown(term_words(card.claim.pred)),
            question=_shown(card.question),
            facts=tuple(map(_shown, card.facts)),
            rules=tuple(map(_shown, card.rules)),
            proof=_shown(_proof(card, words)),
            card_proof=_shown(_card_proof(card, words)),
            answers=tuple(
                _answer(
                    system,
                    system in inputs.controls,
                    card.gold,
                    inputs.answers[system].get(card.id),
                )
                for system in inputs.systems
            ),
        )


def _proof(card: Card, words: ProofWords) -> str:
    if card.proof is None:
        return "This card came without a proof."
    return words(Verdict(card.claim, card.label, card.proof))


def _card_proof(card: Card, words: ProofWords) -> str:
    """The second proof that ``meta`` of our own cards holds; cards from elsewhere hold anything."""
    try:
        proof = msgspec.convert(card.meta.get("card_proof"), Proof | None)
    except msgspec.ValidationError:
        return ""
    if proof is None:
        return ""
    text = words(Verdict(card.claim, card.label, proof))
    return SAME_PROOF if text == _proof(card, words) else text


def _answer(system: str, control: bool, gold: Gold, reply: Reply | None) -> CardAnswer:
    if reply is None:
        return CardAnswer(shown_name(system), control, None, None, "")
    reason = reply.error if reply.pred == "ERROR" and reply.error else reply.raw
    if reply.also:
        reason = f"{_all_said(reply)} The first: {reason}"
    # A control's reply only repeats its name.
    return CardAnswer(
        system=shown_name(system),
        control=control,
        pred=reply.pred,
        outcome=outcome(gold, reply.pred),
        reason="" if control else cut(visible(reason.strip()), RAW_LIMIT),
    )


def _all_said(reply: Reply) -> str:
    """What was said by all repeats, as in ``Asked 5 times: YES 3, UNKNOWN 2``."""
    said = Counter((reply.pred, *reply.also))
    counts = ", ".join(f"{pred} {said[pred]}" for pred in PREDS if said[pred])
    return f"Asked {said.total()} times: {counts}."


def _shown(text: str) -> str:
    return cut(visible(text), TEXT_LIMIT)


def card_data(rows: list[CardRow]) -> dict[str, Any]:
    """The structure that ``templates/report.js`` reads.

    A card is ``[id, label, kind, difficulty, predicate, question, [facts], [rules], proof,
    card proof, answers, [reasons]]``: kinds and predicates are positions in their lists, texts
    positions in ``strings`` (−1: none), answers one letter a system (``-``: not asked).
    """
    strings, kinds, predicates = StringTable(), StringTable(), StringTable()
    packed = [
        [
            row.id,
            row.label,
            kinds.number(row.kind),
            row.difficulty,
            predicates.number(row.predicate),
            strings.number(row.question),
            [strings.number(fact) for fact in row.facts],
            [strings.number(rule) for rule in row.rules],
            strings.number(row.proof),
            strings.number(row.card_proof) if row.card_proof else -1,
            "".join(_PRED_LETTER[a.pred] if a.pred else "-" for a in row.answers),
            [strings.number(a.reason) if a.reason else -1 for a in row.answers],
        ]
        for row in rows
    ]
    systems = rows[0].answers if rows else ()
    return {
        "systems": [{"name": a.system, "control": a.control} for a in systems],
        "labels": LABEL_WORDS,
        "outcomes": [list(entry) for entry in OUTCOMES],
        "kinds": list(kinds.numbers),
        "preds": list(predicates.numbers),
        "strings": list(strings.numbers),
        "cards": packed,
    }
