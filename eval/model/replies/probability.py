"""Computes a model's confidence in its answer from the probabilities of the answer's tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from eval.model.completion import Completion


def compute_answer_probability(
    completion: Completion,
    values: Sequence[str] = ("YES", "NO", "UNKNOWN"),
    *,
    key: str = "answer",
) -> float | None:
    """Computes the probability that the model gave to the answer it wrote, in [0, 1].

    This is the product of the conditional probabilities of the answer's tokens, that is, exp of the
    sum of their log-probabilities. In a text with JSON the answer is the last value of ``key``; in
    any other text it is the first of ``values`` that occurs as a whole word. Case is ignored.

    Args:
        completion: the reply.
        values: the possible answers.
        key: name of the JSON member with the answer.

    Returns:
        The probability; None if the server gave no log-probabilities or no answer is found.
    """
    if not completion.logprobs:
        return None
    tokens = completion.logprobs
    text = "".join(token for token, _ in tokens)
    alternatives = "|".join(re.escape(value) for value in values)
    pattern = (
        rf'"{re.escape(key)}"\s*:\s*"({alternatives})"'
        if "{" in text
        else rf"(?<!\w)({alternatives})(?!\w)"
    )
    spans = [match.span(1) for match in re.finditer(pattern, text, re.IGNORECASE)]
    if not spans:
        return None
    start, end = spans[-1] if "{" in text else spans[0]
    total, position = 0.0, 0
    for token, logprob in tokens:
        if position < end and position + len(token) > start:
            total += logprob
        position += len(token)
    return math.exp(total)
