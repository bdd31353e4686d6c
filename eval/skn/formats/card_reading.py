"""How a model answers a card's yes-no question from an extraction of the card's text.

The reply is ``eval.prompts.TypedAnswer``, as of every system that only answers, so that refusals,
replies cut off and unreadable ones become what they become everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from cards.card import CardView
from eval.prompts import DATA_ONLY
from eval.skn.formats.prompts import LaidOutPrompt

CARD_READING = LaidOutPrompt(
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
"""The same for every form, and as near to the prompt of ``raw`` as notes in place of the facts and
rules allow."""


def card_text(card: CardView) -> str:
    """The text that is extracted from: the card's facts, then its rules, one a line."""
    lines: Sequence[str] = (*card.facts, *card.rules)
    return "\n".join(lines)
