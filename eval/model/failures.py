"""What a failed attempt means: wait and try again, give up this call, or give up the model."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from eval.model.wire import ReportedError, UnreadableBodyError

_QUOTED = 300
"""Characters quoted of what a server says."""


class Kind(Enum):
    """What to do about a failure."""

    again = "may pass: try again"
    call = "this call failed for good"
    access = "every call would fail"
    refused = "a filter refused the question"
    format = "the server does not take this response_format"
    logprobs = "the server does not give log-probabilities"
    unreached = "nobody listens at the address"
    unreadable = "the server could not read what its own model wrote"


class Failure(NamedTuple):
    """A failed attempt, judged.

    Attributes:
        kind: what to do about it.
        what: what happened, in words; may quote the server, so secrets must still be hidden.
        retry_after: the server's ``Retry-After`` as it stands in the header.
        timed_out: whether there was no complete reply in time, by our clock or the server's.
    """

    kind: Kind
    what: str
    retry_after: str | None = None
    timed_out: bool = False


class ReplyTooLargeError(Exception):
    """The server's reply is longer than any answer; it was not read to its end."""


_ABOUT_FORMAT = re.compile(
    r"response[_ ]?format|json[_ ](?:schema|object|mode)|structured[_ ]output|grammar|guided_", re.I
)
_ABOUT_LOGPROBS = re.compile(r"log[_ ]?probs?|log[_ ]probabilit", re.I)
_NO_MODEL = re.compile(
    r"model_not_found|invalid_model|(?:unknown|invalid|no such|unsupported|not a valid) model"
    r"|model[^.]{0,200}?(?:not found|not exist|not a valid|not available|not loaded|no such)",
    re.I,
)
_NO_QUOTA = re.compile(
    r"insufficient_quota|insufficient credits|billing|exceeded your current quota", re.I
)
_FILTERED = re.compile(r"content_filter|content management policy|flagged|moderation", re.I)
_UNREAD = re.compile(r"model produced output that does not match|failed to parse(?! grammar)", re.I)
"""llama.cpp says so, with status 500, of a reply that breaks off before its JSON is complete."""
_PASSING = frozenset({0, 408, 409, 425, 429})


def judge(error: Exception) -> Failure:
    """What a failed attempt means.

    Args:
        error: what the client library raised, or one of ours.
    """
    from openai import APIConnectionError, APIError, APIStatusError

    if isinstance(error, APIStatusError):
        header = error.response.headers.get("retry-after")
        return _judge_status(error.status_code, _body_text(error.response), header)
    if isinstance(error, APIError) and not isinstance(error, APIConnectionError):
        # In the middle of a stream, after the status 200.
        code = error.body.get("code") if isinstance(error.body, dict) else None
        status = code if isinstance(code, int) and 100 <= code < 600 else 0
        return _judge_status(status, error.message, None)
    if isinstance(error, ReportedError):
        return _judge_status(error.status, str(error), None)
    if isinstance(error, ReplyTooLargeError):
        return Failure(Kind.call, str(error))
    if isinstance(error, UnreadableBodyError):
        return Failure(Kind.again, str(error))
    causes = list(_causes(error))
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return Failure(Kind.unreached, "the connection is refused")
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            if cause.errno == socket.EAI_AGAIN:
                return Failure(Kind.unreached, "the server's name cannot be looked up now")
            return Failure(Kind.access, "no server of that name is known")
        if type(cause).__name__ in {"ClientConnectorCertificateError", "ClientConnectorSSLError"}:
            return Failure(Kind.access, f"no secure connection: {cause}")
        if type(cause).__name__ in {"InvalidURL", "InvalidUrlClientError", "UnsupportedProtocol"}:
            return Failure(Kind.access, f"the address cannot be used: {cause}")
    if any(isinstance(cause, TimeoutError) for cause in causes):
        return Failure(Kind.again, "no complete reply in time", timed_out=True)
    if isinstance(error, APIConnectionError):
        detail = next((text for cause in causes[1:] if (text := str(cause))), "")
        return Failure(Kind.again, f"the connection broke: {detail}"[:_QUOTED])
    return Failure(Kind.again, f"{type(error).__name__}: {error}"[:_QUOTED])


def _judge_status(status: int, body: str, retry_after: str | None) -> Failure:
    said = f"HTTP {status}: {_message(body)}" if status else _message(body)
    if 300 <= status < 400:
        return Failure(Kind.access, f"{said} (the server redirects; give the final address)")
    if status in {400, 403, 422} and _FILTERED.search(body):
        return Failure(Kind.refused, said)
    if status == 500 and _UNREAD.search(body):
        return Failure(Kind.unreadable, said)
    if status in {400, 404, 422, 500, 501}:
        # Before "no such model": servers word this as "not supported by this model".
        if _ABOUT_FORMAT.search(body):
            return Failure(Kind.format, said)
        if _ABOUT_LOGPROBS.search(body):
            return Failure(Kind.logprobs, said)
    if status in {401, 402, 403, 404} or (status == 429 and _NO_QUOTA.search(body)):
        return Failure(Kind.access, said)
    if status in {400, 422} and _NO_MODEL.search(body):
        return Failure(Kind.access, said)
    if status in _PASSING or status >= 500:
        return Failure(Kind.again, said, retry_after, timed_out=status in {408, 504})
    return Failure(Kind.call, said)


def _message(body: str) -> str:
    """What the server says in words, from the usual ``{"error": {"message": …}}`` or as it is."""
    import msgspec

    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        found = body
    for key in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(key):
            found = found[key]
    text = found if isinstance(found, str) else str(found)
    return " ".join(text.split())[:_QUOTED] or "no words"


def _body_text(response: object) -> str:
    content = getattr(response, "content", b"")
    return content[:4000].decode("utf-8", "replace") if isinstance(content, bytes) else ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from, outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        os_error = getattr(current, "os_error", None)  # aiohttp keeps the system's error here
        if isinstance(os_error, BaseException):
            yield os_error
        current = current.__cause__ or current.__context__
