"""Prepares the cards and their answers for the report page, as rows and as compact JSON.

The script of the page reads the embedded JSON; readers without scripts see static HTML rows. Both
are built from the same ``CardRow`` objects, so they agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from cards.card import Card
from cards.generation.kinds import FAITHFULNESS_KINDS, NEAR_MISS_PREFIX
from eval.abstention.result import PREDS, Pred
from eval.blocks.text_format import format_name, truncate_text
from kg.claims import Gold, Proof, Verdict
from reporting.card_report.inputs import CardReply, ReportInputs
from reporting.card_report.proofs import ProofRenderer, describe_term
from reporting.outcomes import OUTCOMES, Outcome, classify_answer
from reporting.visible_text import StringTable, make_visible

LABEL_NAMES = {"E": "E entailed", "C": "C contradictory", "U": "U unknown"}

_PRED_LETTERS: dict[Pred, str] = {
    "YES": "Y",
    "NO": "N",
    "UNKNOWN": "U",
    "INVALID": "I",
    "ERROR": "R",
}

SAME_PROOF_TEXT = "The same proof holds from the facts and rules on the card alone."

MAX_REPLY_LENGTH = 600
"""Maximum length of a reply on the page, in characters; the result file has the whole reply."""
MAX_TEXT_LENGTH = 20_000
"""Maximum length of any other text on the page, in characters. It protects against hostile files:
the cards that Epoché generates are far shorter."""


@dataclass(frozen=True)
class CardAnswer:
    """One system's answer to one card, as the page shows it."""

    system: str
    control: bool
    pred: Pred | None
    outcome: Outcome | None
    reason: str


@dataclass(frozen=True)
class CardRow:
    """One card, as the page shows it; all text went through ``make_visible``."""

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
    """The proof from the whole graph."""
    card_proof: str
    """The proof from the card's facts and rules alone; empty if the card has no such proof."""
    answers: tuple[CardAnswer, ...]


def build_card_rows(inputs: ReportInputs, render_proof: ProofRenderer) -> Iterator[CardRow]:
    """Yields every card with its answers, in card order."""
    for card in inputs.cards:
        yield CardRow(
            id=_clean_text(card.id),
            label=card.label,
            gold=card.gold,
            kind=_clean_text(card.kind) or "unnamed",
            difficulty=card.difficulty or "",
            predicate=_clean_text(describe_term(card.claim.pred)),
            question=_clean_text(card.question),
            facts=tuple(map(_clean_text, card.facts)),
            rules=tuple(map(_clean_text, card.rules)),
            proof=_clean_text(_render_proof(card, render_proof)),
            card_proof=_clean_text(_render_card_proof(card, render_proof)),
            answers=tuple(
                _build_answer(
                    system,
                    system in inputs.controls,
                    card.gold,
                    inputs.replies[system].get(card.id),
                )
                for system in inputs.systems
            ),
        )


def _render_proof(card: Card, render_proof: ProofRenderer) -> str:
    if card.proof is None:
        return "This card has no proof."
    return render_proof(Verdict(card.claim, card.label, card.proof))


def _render_card_proof(card: Card, render_proof: ProofRenderer) -> str:
    """Renders the proof from the card alone.

    The proof is read from ``meta``, which may contain anything in a third-party card file. A value
    that cannot be parsed as a proof is ignored.
    """
    try:
        proof = msgspec.convert(card.meta.get("card_proof"), Proof | None)
    except msgspec.ValidationError:
        return ""
    if proof is None:
        return ""
    text = render_proof(Verdict(card.claim, card.label, proof))
    return SAME_PROOF_TEXT if text == _render_proof(card, render_proof) else text


def _build_answer(system: str, is_control: bool, gold: Gold, reply: CardReply | None) -> CardAnswer:
    if reply is None:
        return CardAnswer(format_name(system), is_control, None, None, "")
    reason = reply.error if reply.pred == "ERROR" and reply.error else reply.raw
    if reply.repeat_preds:
        reason = f"{_describe_repeats(reply)} First reply: {reason}"
    # The reply of a control only repeats the control's name, so it is not shown.
    return CardAnswer(
        system=format_name(system),
        control=is_control,
        pred=reply.pred,
        outcome=classify_answer(gold, reply.pred),
        reason="" if is_control else truncate_text(make_visible(reason.strip()), MAX_REPLY_LENGTH),
    )


def _describe_repeats(reply: CardReply) -> str:
    """Formats the counts of the answers of all repeats: ``Asked 5 times: YES 3, UNKNOWN 2``."""
    answers = Counter((reply.pred, *reply.repeat_preds))
    counts = ", ".join(f"{pred} {answers[pred]}" for pred in PREDS if answers[pred])
    return f"Asked {answers.total()} times: {counts}."


def _clean_text(text: str) -> str:
    return truncate_text(make_visible(text), MAX_TEXT_LENGTH)


@dataclass(frozen=True)
class ExampleCard:
    """A card that two systems answer differently, for the first screen."""

    row: CardRow
    answers: tuple[CardAnswer, CardAnswer]
    """Those of the better system and of the other one."""


def choose_example(rows: Sequence[CardRow], systems: Sequence[str]) -> ExampleCard | None:
    """Chooses a card that shows what the difference between two systems means.

    On it the first system is right and the second is wrong, or else is not right. Cards of the
    separate sets (near-misses, context-faithfulness) are chosen only if there are no others.

    Args:
        rows: the cards.
        systems: names of the systems to compare, the better one first.

    Returns:
        The first such card; None if there are not two systems, or no such card.
    """
    if len(systems) < 2:
        return None
    names = [format_name(name) for name in systems[:2]]
    best: tuple[tuple[bool, bool], ExampleCard] | None = None
    for row in rows:
        by_name = {answer.system: answer for answer in row.answers}
        if any(name not in by_name for name in names):
            return None
        first, second = (by_name[name] for name in names)
        if first.outcome != "right" or second.outcome in (None, "right"):
            continue
        is_separate = row.kind in FAITHFULNESS_KINDS or row.kind.startswith(NEAR_MISS_PREFIX)
        rank = is_separate, second.outcome != "wrong"
        if best is None or rank < best[0]:
            best = rank, ExampleCard(row, (first, second))
    return None if best is None else best[1]


def build_card_data(rows: Sequence[CardRow], failures: Sequence[int]) -> dict[str, Any]:
    """Returns the structure that ``templates/report.js`` reads.

    A card is ``[id, label, kind, difficulty, predicate, question, [facts], [rules], proof,
    card proof, answers, [reasons]]``. Kinds and predicates are indices into their lists, texts are
    indices into ``strings`` (−1: none), and answers are one letter per system (``-``: not asked).
    Indices instead of repeated strings keep the page small. ``failures`` are positions of cards.
    """
    strings, kinds, predicates = StringTable(), StringTable(), StringTable()
    card_lists = [
        [
            row.id,
            row.label,
            kinds.get_index(row.kind),
            row.difficulty,
            predicates.get_index(row.predicate),
            strings.get_index(row.question),
            [strings.get_index(fact) for fact in row.facts],
            [strings.get_index(rule) for rule in row.rules],
            strings.get_index(row.proof),
            strings.get_index(row.card_proof) if row.card_proof else -1,
            "".join(_PRED_LETTERS[a.pred] if a.pred else "-" for a in row.answers),
            [strings.get_index(a.reason) if a.reason else -1 for a in row.answers],
        ]
        for row in rows
    ]
    systems = rows[0].answers if rows else ()
    return {
        "systems": [{"name": a.system, "control": a.control} for a in systems],
        "labels": LABEL_NAMES,
        "outcomes": [list(entry) for entry in OUTCOMES],
        "kinds": list(kinds.indices),
        "preds": list(predicates.indices),
        "strings": list(strings.indices),
        "cards": card_lists,
        "failures": list(failures),
    }
