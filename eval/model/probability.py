"""How sure a model was of its answer, by the probabilities of the tokens it wrote it with."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from eval.model.completion import Completion


def answer_probability(
    completion: Completion,
    values: Sequence[str] = ("YES", "NO", "UNKNOWN"),
    *,
    key: str = "answer",
) -> float | None:
    """The probability the model gave to the answer it wrote, in [0, 1].

    That is the product of the probabilities of the tokens the answer is written with, each given
    what stands before it: exp of the sum of their log-probabilities. In JSON the answer is the
    value of ``key``; in a text that holds no such member it is the first of ``values`` that
    stands there as a word of its own, capitals not regarded.

    Args:
        completion: the reply.
        values: the answers there are.
        key: the JSON member that holds the answer.

    Returns:
        Null when the server gave no log-probabilities or no answer is found among the tokens.
    """
    if not completion.logprobs:
        return None
    tokens = completion.logprobs
    written = "".join(token for token, _ in tokens)
    either = "|".join(re.escape(value) for value in values)
    found = re.search(rf'"{re.escape(key)}"\s*:\s*"({either})"', written) or re.search(
        rf"(?<!\w)({either})(?!\w)", written, re.IGNORECASE
    )
    if found is None:
        return None
    start, end = found.span(1)
    total, position = 0.0, 0
    for token, logprob in tokens:
        if position < end and position + len(token) > start:
            total += logprob
        position += len(token)
    return math.exp(total)
