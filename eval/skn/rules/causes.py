"""Cause and effect where a sentence says so in plain words: "A leads to B", "B because of A"."""

from __future__ import annotations

import re
from typing import NamedTuple

from eval.reader import is_negated
from kg.text.normaliser import content_words, words

MOST_WORDS = 25
"""A side that is longer is no phrase that a link could hold."""

_MODAL = r"(?:\b(?:can|may|might|could|will|often|usually|typically|also|then)\s+){0,2}"
_BE = r"(?:\b(?:is|are|was|were|be|been)\s+)?(?:\b(?:often|usually|typically|mostly)\s+)?"
_BACKWARD = re.compile(
    rf"{_MODAL}{_BE}\b(?:caused by|triggered by|due to|because of|because|owing to"
    r"|results? from|resulted from|resulting from|stems? from)\b",
    re.IGNORECASE,
)
_FORWARD = re.compile(
    rf"{_MODAL}\b(?:causes?|caused|causing|leads? to|led to|leading to|results? in|resulted in"
    r"|resulting in|triggers?|triggered|triggering)\b",
    re.IGNORECASE,
)
_SIGNS = " \t,.;:!?\"'“”‘’()[]–—-"


class Cause(NamedTuple):
    """What a sentence says brings about what, in its own words."""

    cause: str
    effect: str


def cause_in(sentence: str) -> Cause | None:
    """The first cause and effect that ``sentence`` states; None if it states none.

    A negated sentence states none, since it may deny the very link. Both sides must have content,
    and neither may be longer than ``MOST_WORDS``.
    """
    if is_negated(sentence):
        return None
    found = _BACKWARD.search(sentence)
    if found:
        before, after = sentence[: found.start()], sentence[found.end() :]
        if not before.strip(_SIGNS):  # "Because of A, B."
            after, _, before = after.partition(", ")
        effect, cause = before, after
    else:
        found = _FORWARD.search(sentence)
        if not found:
            return None
        cause, effect = sentence[: found.start()], sentence[found.end() :]
    link = Cause(cause.strip(_SIGNS), effect.strip(_SIGNS))
    fits = all(content_words(side) and len(words(side)) <= MOST_WORDS for side in link)
    return link if fits else None
