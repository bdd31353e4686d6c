"""Classifies failed attempts: retry, fail this call, or fail because the model cannot be used."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from eval.model.wire import ReportedError, UnreadableBodyError

_MAX_QUOTED_CHARS = 300
"""Maximum number of characters quoted from a server's message."""


class FailureKind(Enum):
    """The kind of a failure, which decides how it is handled."""

    temporary = "may pass: try again"
    call = "this call failed for good"
    access = "every call would fail"
    filtered = "a filter refused the question"
    format = "the server does not take this response_format"
    logprobs = "the server does not give log-probabilities"
    unreached = "no server answers at the address"
    unreadable = "the server could not parse its own model's reply"


class Failure(NamedTuple):
    """A classified failure.

    Attributes:
        kind: decides how the failure is handled.
        what: description of the failure. It may quote the server, so secrets must be hidden before
            it is shown.
        retry_after: the server's ``Retry-After`` header, unparsed.
        timed_out: whether the attempt timed out, by our clock or the server's.
    """

    kind: FailureKind
    what: str
    retry_after: str | None = None
    timed_out: bool = False


class ReplyTooLargeError(Exception):
    """The server's response is over the size limit; it was not read to its end."""


# Servers word their errors freely, so these search the message for phrases of known servers.
_FORMAT_ERROR = re.compile(
    r"response[_ ]?format|json[_ ](?:schema|object|mode)|structured[_ ]output|grammar|guided_", re.I
)
_LOGPROBS_ERROR = re.compile(r"log[_ ]?probs?|log[_ ]probabilit", re.I)
_SAMPLING_ERROR = re.compile(
    r"\b(?:temperature|top_p)\b.{0,200}?(?:not support|unsupported|only the default|deprecated)"
    r"|(?:unsupported|not support|deprecated|invalid).{0,200}?\b(?:temperature|top_p)\b",
    re.I | re.DOTALL,
)
_MISSING_MODEL = re.compile(
    r"model_not_found|invalid_model|(?:unknown|invalid|no such|unsupported|not a valid) model"
    r"|model[^.]{0,200}?(?:not found|not exist|not a valid|not available|not loaded|no such)",
    re.I,
)
_QUOTA_EXCEEDED = re.compile(
    r"insufficient_quota|insufficient credits|billing|exceeded your current quota", re.I
)
_CONTENT_FILTERED = re.compile(r"content_filter|content management policy|flagged|moderation", re.I)
_NAMES_QUESTION = re.compile(
    r"prompt|input|content|response|request (?:was|is|has been) flagged", re.I
)
_ACCOUNT_BLOCKED = re.compile(
    r"\b(?:account|organi[sz]ation)\b[^.]{0,80}?\b(?:flagged|suspended|deactivated|disabled"
    r"|terminated|blocked|banned)\b",
    re.I,
)
_REPLY_UNPARSED = re.compile(
    r"model produced output that does not match|failed to parse(?! grammar)", re.I
)
"""Messages of llama.cpp, with status 500, for a reply that ends before its JSON is complete."""
_TEMPORARY_STATUSES = frozenset({0, 408, 409, 425, 429})
"""Statuses below 500 after which a retry may succeed; 0 means that no status was reported."""


def classify_error(error: Exception) -> Failure:
    """Classifies a failed attempt.

    Args:
        error: the exception of the client library, or one of our own.
    """
    from openai import APIConnectionError, APIError, APIStatusError

    if isinstance(error, APIStatusError):
        header = error.response.headers.get("retry-after")
        return _classify_status(error.status_code, _get_body_text(error.response), header)
    if isinstance(error, APIError) and not isinstance(error, APIConnectionError):
        # An error in the middle of a stream, after the status 200.
        code = error.body.get("code") if isinstance(error.body, dict) else None
        status = code if isinstance(code, int) and 100 <= code < 600 else 0
        return _classify_status(status, error.message, None)
    if isinstance(error, ReportedError):
        return _classify_status(error.status, str(error), None)
    if isinstance(error, ReplyTooLargeError):
        return Failure(FailureKind.call, str(error))
    if isinstance(error, UnreadableBodyError):
        return Failure(FailureKind.temporary, str(error))
    causes = list(_iter_causes(error))
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return Failure(FailureKind.unreached, "the connection is refused")
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            if cause.errno == socket.EAI_AGAIN:
                return Failure(FailureKind.unreached, "the server's name cannot be looked up now")
            return Failure(FailureKind.access, "the server's name is unknown")
        if type(cause).__name__ in {"ClientConnectorCertificateError", "ClientConnectorSSLError"}:
            return Failure(FailureKind.access, f"no secure connection: {cause}")
        if type(cause).__name__ in {"InvalidURL", "InvalidUrlClientError", "UnsupportedProtocol"}:
            return Failure(FailureKind.access, f"the address cannot be used: {cause}")
    if any(isinstance(cause, TimeoutError) for cause in causes):
        return Failure(FailureKind.temporary, "no complete reply in time", timed_out=True)
    if isinstance(error, APIConnectionError):
        detail = next((text for cause in causes[1:] if (text := str(cause))), "")
        return Failure(
            FailureKind.temporary, f"the connection was lost: {detail}"[:_MAX_QUOTED_CHARS]
        )
    return Failure(FailureKind.temporary, f"{type(error).__name__}: {error}"[:_MAX_QUOTED_CHARS])


def _classify_status(status: int, body: str, retry_after: str | None) -> Failure:
    what = f"HTTP {status}: {_extract_message(body)}" if status else _extract_message(body)
    if 300 <= status < 400:
        return Failure(FailureKind.access, f"{what} (the server redirects; give the final address)")
    if status in {400, 403} and (_ACCOUNT_BLOCKED.search(what) or _QUOTA_EXCEEDED.search(what)):
        return Failure(FailureKind.access, what)
    if status in {400, 403, 422} and _CONTENT_FILTERED.search(body):
        # A status of 403 may also say that the account or the address is flagged.
        is_question = status != 403 or "content_filter" in body or _NAMES_QUESTION.search(what)
        return Failure(FailureKind.filtered if is_question else FailureKind.access, what)
    if status == 500 and _REPLY_UNPARSED.search(body):
        return Failure(FailureKind.unreadable, what)
    if status in {400, 404, 422, 500, 501}:
        # Before the test for a missing model: servers word this as "not supported by this model".
        if _FORMAT_ERROR.search(body):
            return Failure(FailureKind.format, what)
        if _LOGPROBS_ERROR.search(body):
            return Failure(FailureKind.logprobs, what)
    if status in {401, 402, 403, 404} or (status == 429 and _QUOTA_EXCEEDED.search(body)):
        return Failure(FailureKind.access, what)
    if status in {400, 422} and _SAMPLING_ERROR.search(body):
        return Failure(FailureKind.access, f"{what} (--set temperature=server sends none)")
    if status in {400, 422} and _MISSING_MODEL.search(body):
        return Failure(FailureKind.access, what)
    if status in _TEMPORARY_STATUSES or status >= 500:
        return Failure(FailureKind.temporary, what, retry_after, timed_out=status in {408, 504})
    return Failure(FailureKind.call, what)


def _extract_message(body: str) -> str:
    """Returns the server's message from the usual ``{"error": {"message": …}}`` or the body."""
    import msgspec

    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        value = body
    for key in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(key):
            value = value[key]
    text = value if isinstance(value, str) else str(value)
    return " ".join(text.split())[:_MAX_QUOTED_CHARS] or "no message"


def _get_body_text(response: object) -> str:
    content = getattr(response, "content", b"")
    return content[:4000].decode("utf-8", "replace") if isinstance(content, bytes) else ""


def _iter_causes(error: BaseException) -> Iterator[BaseException]:
    """Yields the error and the errors that caused it, outermost first."""
    visited: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in visited:
        visited.add(id(current))
        yield current
        os_error = getattr(current, "os_error", None)  # where aiohttp stores the system's error
        if isinstance(os_error, BaseException):
            yield os_error
        current = current.__cause__ or current.__context__
