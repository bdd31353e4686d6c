"""Defines the reply of a system and the vote of a judge, the two records that runs journal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal, get_args

import msgspec

from eval.model.usage import Usage
from kg.base.files import iter_decoded_lines

REPLIES: Final = "replies.jsonl"
VOTES: Final = "votes.jsonl"

Status = Literal["ok", "invalid", "error"]
"""``invalid``: the reply cannot be read. ``error``: a call failed, or the system raised an error.
Neither is an abstention."""

STATUSES: Final[tuple[Status, ...]] = get_args(Status)


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of ``replies.jsonl``: what a system said about one item.

    It contains nothing of the item's answer key. Rows are computed from replies, votes and items.
    The harness fills in ``id``, ``system`` and ``repeat``.
    """

    id: str = ""
    """Id of the item."""
    system: str = ""
    repeat: int = 0
    status: Status = "ok"
    value: Any = None
    """The answer in the benchmark's own form, as JSON."""
    raw: str = ""
    """The reply as text, where ``value`` does not contain it."""
    problem: str = ""
    """Why there is no usable value."""
    notes: tuple[str, ...] = ()
    stage: str = ""
    """The stage in which the system stopped early; empty if it finished."""
    parts: dict[str, Any] = {}
    """Intermediate results, in the benchmark's own form."""
    confidence: float | None = None
    latency_s: float | None = None
    """Seconds of waiting for models; null without a model."""
    ttft_s: float | None = None
    """Seconds from the request to the first token; null if not measured."""
    at_s: float | None = None
    """When the reply was complete, in seconds since 1970."""
    usage: Usage | None = None
    retries: int = 0
    timed_out: bool = False
    input_chars: int = 0
    output_chars: int = 0


class Vote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of ``votes.jsonl``: what the judges said of one reply, or of one anchor.

    An anchor is a task whose verdict is known; it is asked among the others to measure the judges'
    errors. The harness fills in the first four fields.
    """

    id: str = ""
    """Id of the item."""
    system: str = ""
    """The system whose reply was judged; empty for an anchor."""
    repeat: int = 0
    anchor: bool = False
    verdict: Any = None
    """The verdict in the benchmark's own form, as JSON."""
    failed: bool = False
    """Whether a judge could not be called, so that it is worth asking again."""
    problem: str = ""
    usage: Usage | None = None


def read_replies(path: Path) -> Iterable[Reply]:
    """Yields the replies of a file.

    Raises:
        MissingFileError, RecordError: the file is missing or a line is damaged.
    """
    decode = msgspec.json.Decoder(Reply).decode
    return (reply for _, reply in iter_decoded_lines(path, "replies", decode))


def read_votes(path: Path) -> Iterable[Vote]:
    """Yields the votes of a file; none if there is no such file.

    Raises:
        RecordError: a line is damaged.
    """
    if not path.exists():
        return ()
    decode = msgspec.json.Decoder(Vote).decode
    return (vote for _, vote in iter_decoded_lines(path, "votes", decode))
