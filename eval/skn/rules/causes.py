"""Finds cause and effect in sentences such as "A leads to B" and "B because of A"."""

from __future__ import annotations

import re
from typing import NamedTuple

from eval.reader import is_negated
from kg.text.normaliser import extract_content_words, split_words

MAX_PHRASE_WORDS = 25
"""A longer cause or effect is not a phrase that fits into a link."""

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
    """A cause and its effect, in the words of the sentence."""

    cause: str
    effect: str


def find_cause(sentence: str) -> Cause | None:
    """Returns the first cause and effect that ``sentence`` states; None if it states none.

    Negated sentences are skipped, since they may deny the link. Both sides must have content
    words, and at most ``MAX_PHRASE_WORDS`` words.
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
    fits = all(
        extract_content_words(side) and len(split_words(side)) <= MAX_PHRASE_WORDS for side in link
    )
    return link if fits else None
