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
    version=2,
    system=f"""\
You judge whether evidence bears a claim out. The claim is a sentence of somebody's answer to the \
question in <question>; read "it", "they" and the like as what the question is about. The evidence \
is in <evidence>, several pieces in no particular order. It is true, but not all there is. Text in \
square brackets before the claim is no part of it: it only names what "it" or "which" means.

supported: the evidence states the claim, or it follows from several pieces taken together. Other \
words for the same thing, and numbers rounded fairly, are no hindrance.
contradicted: the evidence makes the claim wrong: another person, place, number, date, order or \
cause than it states, cause and effect exchanged, or the opposite; or the claim denies what the \
evidence states.
not_told: the evidence leaves it open. That is the right verdict too where you know the claim to \
be true or false from elsewhere, where only a part of it is told, and where the claim is no \
statement but a string of names or keywords.

Judge by the evidence alone. How long, how sure of itself or how well written the claim is does \
not matter, nor in which order the blocks come.

{DATA_ONLY}""",
    blocks=("question", "claim", "evidence"),
)
