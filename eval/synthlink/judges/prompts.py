"""The prompt for a judge of claims, and the schema of its reply.

See ``eval.model.prompts`` for the form of a prompt, and for how data are kept inside their blocks.
The prompt does not reveal which system made the claim, what that system read, or how it was scored.

Names and docstrings of reply types are part of the schema sent to models: changing one changes
the prompt.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from eval.model.prompts import DATA_ONLY, Prompt
from eval.synthlink.verdicts.record import Finding

MAX_TOKENS: Final = 200
"""Maximum number of tokens of a reply: enough for a verdict and for reasoning before it."""


class ClaimReply(msgspec.Struct, frozen=True):
    """The reply of one vote."""

    verdict: Annotated[Finding, Meta(description="supported, contradicted or not_told.")]


CLAIM_PROMPT: Final = Prompt(
    name="synthlink_claim",
    version=3,
    system=f"""\
You judge whether evidence supports a claim. The claim is a sentence of an answer to the question \
in <question>; in it, "it", "they" and the like stand for what the question asks about. The \
evidence is in <evidence>, several texts in no particular order. It is true, but incomplete. Text \
in square brackets before the claim does not belong to it: it only names what "it" or "which" \
stands for.

supported: the evidence states the claim, or the claim follows from several texts together. Other \
words for the same thing count, and so do numbers that are rounded sensibly.
contradicted: according to the evidence the claim is wrong: it names another person, place, \
number, date, order or cause, it exchanges cause and effect, or it says the opposite; or it denies \
what the evidence states.
not_told: the evidence leaves it open. Choose this also if you know from elsewhere that the claim \
is true or false, if the evidence states only a part of it, and if the claim is no statement but a \
list of names or keywords.

Judge by the evidence alone. The length, style and confidence of the claim do not matter, nor does \
the order of the blocks.

{DATA_ONLY}""",
    blocks=("evidence", "question", "claim"),
)
