"""The prompts of agents that ask a model, and the schemas of their replies.

See ``eval.model.prompts`` for the form of a prompt. The text of pages is untrusted input, and so
are a model's notes on them from earlier rounds: both are escaped and put into data blocks, which
the system message declares to contain no instructions. Names and docstrings of reply types are
part of the schema sent to models: changing one changes the prompt.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from eval.model.prompts import DATA_ONLY, Prompt

PROMPT_VERSION: Final = 1
"""Increased with every change to the texts below."""
MAX_LINKS: Final = 8
"""Maximum number of links in one reply."""


class Learned(msgspec.Struct, frozen=True):
    """Something a passage says that the answer needs."""

    statement: Annotated[
        str, Meta(description="What is now known, in one sentence that names its things.")
    ]
    passage: Annotated[int, Meta(description="The number of the passage that says so.")]


class AgentReply(msgspec.Struct, frozen=True):
    """The reply of one round."""

    links: Annotated[
        tuple[Learned, ...],
        Meta(max_length=MAX_LINKS, description="What the passages add to the notes; may be []."),
    ]
    answer: Annotated[
        str, Meta(description="The answer as far as it is known, in a few sentences; may be empty.")
    ]
    done: Annotated[
        bool, Meta(description="True if nothing more has to be looked up, or nothing can be found.")
    ]
    abstained: Annotated[
        bool, Meta(description="True if done is true and what was found holds no answer.")
    ]
    query: Annotated[str, Meta(description="The words to search for next; empty if done is true.")]


class ClosedReply(msgspec.Struct, frozen=True):
    """The reply of a model that looks nothing up."""

    answer: Annotated[str, Meta(description="The answer, in a few sentences.")]
    abstained: Annotated[bool, Meta(description="True if you do not know the answer.")]


_ABSTENTION_RULE = """\
A wrong answer is worse than none: if what there is does not hold an answer, set abstained to \
true. That is the right reply then, not a failure. Do not abstain only because a detail is \
missing: leave the detail out."""

AGENT_PROMPT: Final = Prompt(
    name="synthlink_agent",
    version=PROMPT_VERSION,
    system=f"""\
You answer a question that no single page answers. In each round you are shown passages that a \
search found, and the notes you took in earlier rounds. Find the facts that the question links, \
one after the other, and put them together.

In each round:
1. Write down in links what the passages say that the answer needs, each with the number of its \
passage. Write down nothing that no passage says.
2. Write the answer as far as the notes and links carry it: a few plain sentences that tell each \
step from one fact to the next, with names and years.
3. If a fact is still missing and rounds are left, set done to false and write in query what to \
search for next: names and words that a page about the missing fact would hold. Do not search \
again for what was searched for. Else set done to true.

{_ABSTENTION_RULE}

{DATA_ONLY}""",
    blocks=("question", "notes", "searched", "passages", "rounds_left"),
)

CLOSED_BOOK_PROMPT: Final = Prompt(
    name="synthlink_closed_book",
    version=PROMPT_VERSION,
    system=f"""\
You answer a question that links several facts, from what you know. Answer in a few plain \
sentences that tell each step from one fact to the next, with names and years.

{_ABSTENTION_RULE}

{DATA_ONLY}""",
    blocks=("question",),
)
