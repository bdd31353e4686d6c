"""Opens the client of a model, and describes unusable replies and failed calls for rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eval.model.foreign_values import make_storable
from kg.base.plain_text import clean_text

if TYPE_CHECKING:
    from eval.model.client import ModelClient
    from eval.model.completion import Reply
    from eval.model.options import ClientOptions

MAX_TOKENS: Final = 1_500
"""Maximum number of tokens of a reply. A few sentences and eight links take about half as many."""


class RecordedReply(NamedTuple):
    """The text of a reply as it is recorded, and why the reply is unusable."""

    raw: str
    problem: str
    """Empty for a usable reply."""


def open_client(options: ClientOptions, max_tokens: int = MAX_TOKENS) -> ModelClient:
    """Opens a client that calls a model at temperature 0.

    Args:
        options: the model, and how it is called.
        max_tokens: maximum number of tokens of a reply.

    Raises:
        EpocheError: as ``ModelClient.open``.
    """
    from eval.model.client import ModelClient

    return ModelClient.open(options, max_tokens=max_tokens, logprobs=False)


def record_reply(reply: Reply[Any]) -> RecordedReply:
    """Returns the text of a reply and, for an unusable reply, the reason.

    Args:
        reply: result of ``ModelClient.ask``, which asks again once if a reply cannot be parsed.
    """
    completion = reply.completion
    raw = make_storable(completion.refusal or completion.text)
    if reply.value is not None:
        return RecordedReply(raw, "")
    if completion.is_refused:
        return RecordedReply(raw, "refused")
    cut_note = "cut off, because it is too long; " if completion.finish_reason == "length" else ""
    return RecordedReply(raw, clean_text(f"{cut_note}{reply.problem or 'unreadable'}", 300))
