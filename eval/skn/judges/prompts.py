"""The prompts of our judges; ``eval.model.prompts`` explains their form and how data is delimited.

No prompt names a format, a pipeline or an extraction, and no block contains one, so that the
judges cannot tell which format an answer came from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from eval.model.prompts import DATA_ONLY, Prompt
from eval.skn.judges.record import GroundednessVote, HallucinationVote, JudgeName
from eval.skn.judges.replies import AccuracyReply, GroundednessReply, HallucinationReply

T = TypeVar("T")

_FAIR = """\
The blocks come in no particular order. How long, how sure of itself or how well written the \
answer is does not matter."""

_CLAIM = """\
A claim is one statement of fact or one recommendation. What only repeats the question is no \
claim, and neither is saying that something is unknown, not given or cannot be told."""

_SUPPORT = """\
A claim is supported if the search results state it, or if it follows from what they state. \
Whether it is true besides does not matter: the search results are all that counts."""


@dataclass(frozen=True)
class Criterion(Generic[T]):
    """One criterion by which answers are judged.

    Attributes:
        name: name of the criterion.
        prompt: prompt that requests a verdict.
        reply_type: the type of the model's reply.
        to_vote: converts a reply to the vote that is recorded.
    """

    name: JudgeName
    prompt: Prompt
    reply_type: type[T]
    to_vote: Callable[[T], bool | HallucinationVote | GroundednessVote]


ACCURACY = Criterion(
    "accuracy",
    Prompt(
        name="skn_accuracy",
        version=1,
        system=f"""\
You judge whether an answer to a question is right. <reference> holds an answer that is known to \
be right.

The answer is correct if it captures the core of the reference: the same cause, recommendation or \
insight. It need not use the same words or be as complete, and may say more, as long as it does \
not contradict the reference. It is not correct if it misses that core, names something else in \
its place, contradicts the reference, or does not answer. Judge by the reference, not by what you \
would have answered.

{_FAIR}

{DATA_ONLY}""",
        blocks=("question", "reference", "answer"),
    ),
    AccuracyReply,
    AccuracyReply.to_vote,
)

HALLUCINATION = Criterion(
    "hallucination",
    Prompt(
        name="skn_hallucination",
        version=1,
        system=f"""\
You look for claims in an answer that its sources do not support. The answer was given to the \
question in <question>; the sources are in <search_results>.

{_CLAIM} {_SUPPORT}

Count the distinct claims of the answer in total_claims; an answer may make none. List in \
fabricated_claims those that are not supported, each once and in a few words. Say in severity how \
bad it is: 0 if none is made up; up to 0.3 for plausible details that are not stated; up to 0.6 \
for specific facts that are invented; above that if the search results are contradicted or the \
answer is invented as a whole.

{_FAIR}

{DATA_ONLY}""",
        blocks=("question", "search_results", "answer"),
    ),
    HallucinationReply,
    HallucinationReply.to_vote,
)

GROUNDEDNESS = Criterion(
    "groundedness",
    Prompt(
        name="skn_groundedness",
        version=1,
        system=f"""\
You judge how well an answer is grounded in its sources. The answer was given to the question in \
<question>; the sources are in <search_results>.

{_CLAIM} {_SUPPORT}

groundedness is 1 if every claim of the answer can be traced to the search results, and 0 if none \
has anything to do with them. unsupported_fraction is the share of its claims that lack support. \
If the answer makes no claim at all, set makes_claims to false, groundedness to 1 and \
unsupported_fraction to 0.

{_FAIR}

{DATA_ONLY}""",
        blocks=("question", "search_results", "answer"),
    ),
    GroundednessReply,
    GroundednessReply.to_vote,
)
