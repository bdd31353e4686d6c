"""Finds cause and effect in sentences such as "A leads to B" and "B because of A"."""

from __future__ import annotations

import re
from typing import NamedTuple

from eval.questions.lexical_answerer import is_negated
from kg.words.normaliser import extract_content_words, split_words

MAX_PHRASE_WORDS = 25
"""A longer cause or effect is not a phrase that fits into a link."""

# Words before a verb of causation that belong to neither side: "can often lead to", "is caused by".
_MODAL = r"(?:\b(?:can|may|might|could|will|often|usually|typically|also|then)\s+){0,2}"
_BE = r"(?:\b(?:is|are|was|were|be|been)\s+)?(?:\b(?:often|usually|typically|mostly)\s+)?"
_EFFECT_FIRST = re.compile(
    rf"{_MODAL}{_BE}\b(?:caused by|triggered by|due to|because of|because|owing to"
    r"|results? from|resulted from|resulting from|stems? from)\b",
    re.IGNORECASE,
)
_CAUSE_FIRST = re.compile(
    rf"{_MODAL}\b(?:causes?|caused|causing|leads? to|led to|leading to|results? in|resulted in"
    r"|resulting in|triggers?|triggered|triggering)\b",
    re.IGNORECASE,
)
_PUNCTUATION = " \t,.;:!?\"'“”‘’()[]–—-"


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
    found = _EFFECT_FIRST.search(sentence)
    if found:
        text_before, text_after = sentence[: found.start()], sentence[found.end() :]
        if not text_before.strip(_PUNCTUATION):  # "Because of A, B."
            text_after, _, text_before = text_after.partition(", ")
        effect, cause = text_before, text_after
    else:
        found = _CAUSE_FIRST.search(sentence)
        if not found:
            return None
        cause, effect = sentence[: found.start()], sentence[found.end() :]
    link = Cause(cause.strip(_PUNCTUATION), effect.strip(_PUNCTUATION))
    is_valid = all(
        extract_content_words(side) and len(split_words(side)) <= MAX_PHRASE_WORDS for side in link
    )
    return link if is_valid else None
