"""Asking a model for a typed reply, and saying what is wrong with one, or why none came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eval.answers import describe_error, storable
from kg.base.errors import EpocheError
from kg.words.plain_text import plain

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.completion import Reply
    from eval.model.options import ClientOptions

MAX_TOKENS: Final = 1_500
"""Tokens of a reply: an answer of a few sentences and eight links take about half."""


class Said(NamedTuple):
    """A reply as it is recorded, and what is wrong with it."""

    raw: str
    problem: str
    """Empty where nothing is."""


def open_client(options: ClientOptions, max_tokens: int = MAX_TOKENS) -> ModelClient:
    """A client at temperature 0.

    Args:
        options: which model, and how it is called.
        max_tokens: most tokens of a reply.

    Raises:
        EpocheError: as ``ModelClient.open``.
    """
    from eval.llm import ModelClient

    return ModelClient.open(options, max_tokens=max_tokens, logprobs=False)


def said(reply: Reply[Any]) -> Said:
    """What a reply came to.

    Args:
        reply: of ``ModelClient.ask``, which asks a second time for one that cannot be read.
    """
    last = reply.completion
    raw = storable(last.refusal or last.text)
    if reply.value is not None:
        return Said(raw, "")
    if last.refused:
        return Said(raw, "refused")
    cut = "cut off, because it is too long; " if last.finish_reason == "length" else ""
    return Said(raw, plain(f"{cut}{reply.problem or 'unreadable'}", 300))


def described(error: BaseException) -> str:
    """A failure as a row states it: without its place, which may be a path of this machine."""
    bare = type(error)(error.what) if isinstance(error, EpocheError) else error
    return describe_error(bare)
