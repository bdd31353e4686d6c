"""Removes phrases that only frame a question: "Can you confirm that …", "…, isn't it?".

A frame adds nothing to the claim, but it may invert the answer ("Is it false that …"). The patterns
are matched against folded tokens joined by spaces, so "isn't it" is written ``isn t it``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_TRUE = r"(?:true|correct|right|accurate|fair|so|the case|a fact)"
_FALSE = r"(?:false|untrue|wrong|incorrect|mistaken|a mistake|a myth)"
_THAT_OR_TO_SAY = r"(?:that|to (?:say|state|claim|think|believe|assume)(?: that)?)"
_CONFIRM = r"(?:confirm|tell me|say|agree|know|think|believe|verify|check)"
_CONJUNCTION = r"(?:that|if|whether)"
_CLAIM_LEAD = r"is (?:the|this) (?:claim|statement|idea) that"

_LEADS = (
    rf"(?:is|was|would|could) it (?:be )?(?:really |actually |indeed )?{_TRUE} {_THAT_OR_TO_SAY}",
    r"(?:can|could|would|will|do|does) (?:you|anyone|somebody|we) (?:please )?"
    rf"{_CONFIRM} {_CONJUNCTION}",
    # Without "that": "Would you say the Elbe is …?"
    r"(?:would you say|do you (?:think|believe))(?: that)?",
    r"am i (?:right|correct) (?:in (?:thinking|saying|believing|assuming)|to (?:think|say)) that",
    r"could it be that",
    r"(?:please )?(?:confirm|verify|check) (?:for me )?(?:that|whether)",
    r"i (?:(?:ve|have) )?(?:heard|read|think|thought|believe)(?: that)?",
    r"true or false",
    r"is this (?:true|right)",
    r"(?:please|so|well)",
)
_FALSE_LEADS = (rf"(?:is|was|would|could) it (?:be )?{_FALSE} {_THAT_OR_TO_SAY}",)
_TAILS = (
    r"(?:is|was) (?:that|this|it) (?:true|correct|right|so)",
    r"(?:true or false|yes or no|or not|right|correct|please)",
    r"(?:isn|doesn|don|aren|wasn|didn|hasn) t (?:it|they)",
    r"(?:is|does|do|are|was|did|has) (?:it|they)",
    r"am i (?:right|correct)",
)
_LEAD = re.compile(rf"(?:{'|'.join(_LEADS)})(?= |$)")
_FALSE_LEAD = re.compile(rf"(?:{'|'.join(_FALSE_LEADS)})(?= |$)")
_TAIL = re.compile(rf"(?<= )(?:{'|'.join(_TAILS)})$")
_CLAIM_FRAME = re.compile(rf"{_CLAIM_LEAD} (?P<claim>.+?) (?:(?P<false>{_FALSE})|{_TRUE})$")
_MAX_FRAMES = 4
"""Maximum number of nested frames: "Can you confirm that it is true that …" has two."""


class Frame(NamedTuple):
    """The framed part of a question: its words from ``start`` to ``end`` (exclusive).

    ``inverted`` is True if the frame asks whether that part is false.
    """

    start: int
    end: int
    inverted: bool


def find_frame(keys: Sequence[str]) -> Frame:
    """Finds the statement or question inside its frames.

    Args:
        keys: the folded tokens of the question.
    """
    start, end, inverted = 0, len(keys), False
    for _ in range(_MAX_FRAMES):
        text = " ".join(keys[start:end])
        match = _CLAIM_FRAME.match(text)
        if match:
            start += _count_words(text[: match.start("claim")])
            end = start + _count_words(match["claim"])
            inverted ^= match["false"] is not None
            continue
        false_lead = _FALSE_LEAD.match(text)
        lead = false_lead or _LEAD.match(text)
        tail = _TAIL.search(text)
        if lead is None and tail is None:
            break
        inverted ^= false_lead is not None
        start += _count_words(lead.group()) if lead else 0
        end -= _count_words(tail.group()) if tail else 0
        if end <= start:
            return Frame(start, start, inverted)
    return Frame(start, end, inverted)


def _count_words(text: str) -> int:
    return len(text.split())
