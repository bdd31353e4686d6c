"""The prompt with which a model answers a card's yes-no question from an extraction of the card.

The reply is ``eval.model.prompts.TypedAnswer``, as for every system that only answers, so that
refusals, truncated and unreadable replies are treated as they are elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from cards.card import CardView
from eval.model.prompts import DATA_ONLY
from eval.skn.formats.prompts import MultilinePrompt

CARD_PROMPT = MultilinePrompt(
    name="skn_card",
    version=1,
    system=f"""\
You answer a yes-no question from notes that someone took of a text of facts and rules. The notes \
are all there is of it. Take what they say as true and the rules in them as holding without \
exception, even where you know otherwise, and use no other knowledge. The notes may leave things \
out. Numbers from 0 to 1 in them say how well the text supports what they stand beside.

Answer YES if the notes, read together, make it certain that what the question asks about is the \
case. Answer NO if they make it certain that it is not the case. Answer UNKNOWN if they leave it \
open: that is the right answer then, not a failure. That something is not mentioned does not make \
it false. A fact may also contradict the question by a rule: where something can have only one \
value and a fact states it, every other value is wrong.

{DATA_ONLY}""",
    blocks=("notes", "question"),
)
"""The prompt is the same for every form. Its wording is as close as possible to that of the system
``raw``, with notes in place of facts and rules."""


def build_card_text(card: CardView) -> str:
    """Returns the text to extract from: the card's facts, then its rules, one per line."""
    lines: Sequence[str] = (*card.facts, *card.rules)
    return "\n".join(lines)
