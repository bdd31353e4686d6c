"""Takes extractions out of replies of model servers, which are recognised by their structure.

Known are OpenAI's chat and responses, Anthropic's messages, Gemini's candidates, Bedrock's
converse, Ollama's messages, servers like theirs, and the records of their batches. Such a reply may
have keys of the schema ("name" of a tool call, "id", "content"): its structure decides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, TypeGuard

import msgspec

from eval.model.replies.strict_reply import read_embedded_json
from kg.base.plain_text import clean_text

_SERVER_KEYS: Final = frozenset(
    (
        *("object", "model", "usage", "stop_reason", "system_fingerprint", "created"),
        *("modelVersion", "usageMetadata", "status_code", "done", "done_reason", "stopReason"),
    )
)
"""Keys that servers write beside a reply."""
_CARRIERS: Final = ("body", "message", "response", "result", "modelOutput", "output")
"""Keys of an object around a reply, such as a record of a batch."""
_LISTS: Final = ("choices", "candidates", "output", "content", "tool_calls")
"""Keys of the lists of a reply."""
_MAX_CARRIERS: Final = 4
_SPEAKERS: Final = ("assistant", "model")
_CUT_OFF: Final = ("length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "incomplete")
_REFUSED: Final = (
    *("refusal", "content_filter", "content_filtered", "guardrail_intervened"),
    *("SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST", "SPII"),
)
_TEXT_TYPES: Final = ("text", "output_text", "thinking", "redacted_thinking")
"""Types of the parts of a message without a call."""
_MESSAGE_KEYS: Final = frozenset(("content", "tool_calls", "function_call", "refusal", "parsed"))
_REASON_KEYS: Final = ("finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason")
_FAILED_TYPES: Final = ("errored", "expired", "canceled", "cancelled")
"""Types of the results of a batch that have no reply."""


class ServerReply(msgspec.Struct, frozen=True):
    """What a reply of a model server has."""

    value: Any
    """The extraction as JSON or as text; an empty text if the reply has no content, and ``None`` if
    the call failed."""
    keys: tuple[str, ...]
    """The keys that led to it."""
    form: str
    """What kind of reply it is, in words."""
    reason: str = ""
    """Why the value may be unreadable: cut off, or refused; otherwise empty."""
    error: str = ""
    """Why the call failed; otherwise empty."""
    marked: bool = False
    """Whether a key or role beside the value is one that servers write."""


def read_server_reply(
    record: Any, declared: Collection[str], count_declared: Callable[[Any], int]
) -> ServerReply | None:
    """Reads a reply of a model server; ``None`` if an object is not one.

    Where nothing but its structure tells it from an extraction, or the schema has all its keys, it
    is only a reply if the value in it has more of the declared keys.

    Args:
        record: the object, or a list of parts of a reply.
        declared: the keys that an extraction may have at the top.
        count_declared: counts the declared keys of a value, which may be a text of JSON.
    """
    if isinstance(record, list):
        return _read_list(record, declared, count_declared)
    reply = _find_reply(record, declared, count_declared)
    if reply is not None and reply.value == "":
        beside = (part for key, part in record.items() if key != reply.keys[0])
        if any(map(count_declared, beside)):
            return None  # the extraction is beside a reply without content
    if reply is None or _is_marked(reply, [record], declared):
        return reply
    n_record, n_value = count_declared(record), count_declared(reply.value)
    is_own = n_value < n_record or (n_value == n_record and reply.keys[0] in declared)
    return None if is_own else reply


def _is_marked(
    reply: ServerReply, records: list[dict[str, Any]], declared: Collection[str]
) -> bool:
    """Returns whether a reply has a mark of a server beside keys that the schema has not."""
    has_other_key = any(not record.keys() <= set(declared) for record in records)
    return has_other_key and (reply.marked or reply.value is None)


def _read_list(
    parts: list[Any], declared: Collection[str], count_declared: Callable[[Any], int]
) -> ServerReply | None:
    """Reads the list of a reply alone, as where a row is a reply with the id of a sample."""
    if not _are_objects(parts):
        return None
    for key in _LISTS:
        reply = _find_reply({key: parts}, declared, count_declared)
        if reply is not None and reply.keys:
            n_parts, n_value = max(map(count_declared, parts)), count_declared(reply.value)
            if not _is_marked(reply, parts, declared) and n_parts and n_value <= n_parts:
                return None
            return msgspec.structs.replace(reply, keys=reply.keys[1:] or reply.keys)
    return None


def _find_reply(
    record: Any, declared: Collection[str], count: Callable[[Any], int], level: int = 0
) -> ServerReply | None:
    if not isinstance(record, dict):
        return None
    marked = any(key in record and key not in declared for key in _SERVER_KEYS)
    failed = _find_failure(record)
    if failed:
        return ServerReply(None, (), "a failed request", error=failed)
    for read in (_read_chat, _read_candidates, _read_responses, _read_message, _read_call):
        found = read(record, count)
        if found is not None:
            return _complete_reply(record, found, marked=found.marked or marked)
    for key in _CARRIERS if level < _MAX_CARRIERS else ():
        inner = record.get(key)
        found = _find_reply(inner, declared, count, level + 1)
        if found is not None and isinstance(inner, dict):
            # A role below the top is that of the one who speaks, not a field.
            is_marked = found.marked or marked or inner.get("role") in _SPEAKERS
            is_marked = is_marked or record.get("type") == "succeeded"
            found = msgspec.structs.replace(found, keys=(key, *found.keys))
            return _complete_reply(record, found, marked=is_marked)
    return None


def _complete_reply(record: dict[str, Any], found: ServerReply, *, marked: bool) -> ServerReply:
    """Adds what stands around a reply: how it ended, and an error if it has no content."""
    reason, error = _find_reason(record, found), found.error
    if found.value == "" and not reason and record.get("error"):
        error = _describe_error(record["error"])
    return msgspec.structs.replace(found, marked=marked, reason=reason, error=error)


def _find_failure(record: dict[str, Any]) -> str:
    """Returns why a request of a batch failed; an empty text if it did not."""
    status, body, error = record.get("status_code"), record.get("body"), record.get("error")
    if isinstance(status, int) and status >= 400 and isinstance(body, dict):
        return f"status {status}: {_describe_error(body.get('error', body))}"
    if record.get("type") in _FAILED_TYPES and record.keys() <= {"type", "error"}:
        return _describe_error(error) if error else f"the request is {record['type']}"
    if record.get("object") == "response" and record.get("status") == "failed" and error:
        return _describe_error(error)
    return ""


def _describe_error(error: Any) -> str:
    while isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        error = error["message"]
    return clean_text(str(error), 300)


def _find_reason(record: dict[str, Any], found: ServerReply) -> str:
    """Returns why a reply may be unreadable, from where servers say how it ended."""
    if found.reason:
        return found.reason
    places = [record, *(_get_first(record.get(key)) for key in ("choices", "candidates"))]
    details, feedback = record.get("incomplete_details"), record.get("promptFeedback")
    if isinstance(feedback, dict) and isinstance(feedback.get("blockReason"), str):
        return f"the model refused ({clean_text(feedback['blockReason'], 60)})"
    ends = [place.get(key) for place in places for key in _REASON_KEYS]
    ends += [details.get("reason") if isinstance(details, dict) else None]
    for end in ends:
        if end in _CUT_OFF:
            return f"the reply was cut off ({end})"
        if end in _REFUSED:
            return f"the model refused ({end})"
    return ""


def _get_first(value: Any) -> dict[str, Any]:
    """Returns the first element of a list if it is an object, otherwise an empty one."""
    return value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else {}


def _read_chat(record: dict[str, Any], count: Callable[[Any], int]) -> ServerReply | None:
    choice = _get_first(record.get("choices"))
    message = choice.get("message")
    if isinstance(message, dict) and not message.keys().isdisjoint(
        ("role", "content", "tool_calls")
    ):
        found = _read_parts_of_message(message, count)
        if found is not None:
            keys = ("choices", "message", *found.keys)
            is_marked = message.get("role") in _SPEAKERS or "finish_reason" in choice
            return msgspec.structs.replace(found, keys=keys, form="a chat reply", marked=is_marked)
    if isinstance(choice.get("text"), str) and "finish_reason" in choice:
        return ServerReply(choice["text"], ("choices", "text"), "a completion", marked=True)
    is_empty = record.get("choices") == [] and not _SERVER_KEYS.isdisjoint(record)
    if is_empty or ("finish_reason" in choice and message is None):
        return ServerReply("", ("choices",), "a chat reply", marked=bool(choice))
    return None


def _read_candidates(record: dict[str, Any], count: Callable[[Any], int]) -> ServerReply | None:
    candidate, feedback = _get_first(record.get("candidates")), record.get("promptFeedback")
    content = candidate.get("content")
    if not isinstance(content, dict) or not _are_objects(content.get("parts")):
        if "finishReason" in candidate:
            return ServerReply("", ("candidates",), "a reply of Gemini", marked=True)
        if isinstance(feedback, dict) and "blockReason" in feedback:
            return ServerReply("", ("promptFeedback",), "a reply of Gemini")
        return None
    found = _read_parts(content["parts"], "parts", count)
    keys = ("candidates", "content", *found.keys)
    return msgspec.structs.replace(found, keys=keys, form="a reply of Gemini", marked=True)


def _read_responses(record: dict[str, Any], count: Callable[[Any], int]) -> ServerReply | None:
    items = record.get("output")
    is_response = record.get("object") == "response"
    if items == [] and is_response:
        return ServerReply("", ("output",), "a response", marked=True)
    if not _are_objects(items) or not all(
        isinstance(kind := item.get("type"), str)
        and (kind in ("message", "reasoning") or kind.endswith("_call"))
        for item in items
    ):
        return None
    parts: list[dict[str, Any]] = []
    for item in items:
        content = item.get("content")
        if item["type"] == "message" and isinstance(content, str):
            parts.append({"text": content})
        elif item["type"] == "message" and _are_objects(content):
            parts += content
        elif item["type"] == "function_call" and "arguments" in item:
            parts.append(item)
    if not parts:
        is_empty = all(
            item["type"] == "reasoning" or not item.get("content", "?") for item in items
        )
        return ServerReply("", ("output",), "a response", marked=is_response) if is_empty else None
    found = _read_parts(parts, "content", count)
    keys = ("output", *found.keys)
    return msgspec.structs.replace(found, keys=keys, form="a response", marked=True)


def _read_message(record: dict[str, Any], count: Callable[[Any], int]) -> ServerReply | None:
    """Reads a message of Anthropic, Bedrock or Ollama."""
    has_role = record.get("role") in _SPEAKERS
    content = record.get("content")
    parts = content if _are_objects(content) else []
    calls = record.get("tool_calls")
    has_call = any(
        _find_call(part)[0] for part in (*parts, *(calls if _are_objects(calls) else ()))
    )
    is_text = bool(parts) and all(part.get("type") in _TEXT_TYPES for part in parts)
    if not (has_call or is_text or (has_role and not _MESSAGE_KEYS.isdisjoint(record))):
        return None
    found = _read_parts_of_message(record, count)
    if found is None:
        return None
    is_text = is_text or not found.value
    is_marked = has_call or (has_role and is_text and record.get("type") == "message")
    return msgspec.structs.replace(found, form="a message", marked=is_marked)


def _read_call(record: dict[str, Any], count: Callable[[Any], int]) -> ServerReply | None:  # noqa: ARG001
    """Reads a call of a tool that stands alone."""
    keys, value = _find_call(record)
    return ServerReply(value, keys, "a tool call", marked=_is_typed_call(record)) if keys else None


def _is_typed_call(part: dict[str, Any]) -> bool:
    return part.get("type") in ("tool_use", "function", "function_call")


def _read_parts_of_message(
    message: dict[str, Any], count: Callable[[Any], int]
) -> ServerReply | None:
    """Reads a message: what a server parsed, else the call or text with most declared keys.

    ``None`` if its content is nothing that servers write.
    """
    if isinstance(message.get("parsed"), dict):
        return ServerReply(message["parsed"], ("parsed",), "")
    found: list[ServerReply] = []
    calls, content = message.get("tool_calls"), message.get("content")
    if _are_objects(calls):
        found.append(_read_parts(calls, "tool_calls", count))
    keys, value = _find_call(message)
    if keys:
        found.append(ServerReply(value, keys, ""))
    if _are_objects(content):
        found.append(_read_parts(content, "content", count))
    elif isinstance(content, str):
        found.append(ServerReply(content, ("content",), ""))
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        found.append(ServerReply(refusal, ("refusal",), "", reason="the model refused"))
    is_empty = bool(found) or content is None or content == []
    return _choose_reply(found, count) or (ServerReply("", ("content",), "") if is_empty else None)


def _read_parts(parts: list[dict[str, Any]], name: str, count: Callable[[Any], int]) -> ServerReply:
    """Reads the parts of a message: the call, JSON or text with most declared keys."""
    calls = [(keys, value) for keys, value in map(_find_call, parts) if keys]
    calls += [(("json",), part["json"]) for part in parts if isinstance(part.get("json"), dict)]
    found = [ServerReply(value, (name, *keys), "") for keys, value in calls]
    texts = [
        part["text"]
        for part in parts
        if isinstance(part.get("text"), str) and not part.get("thought")
    ]
    refusals = [part["refusal"] for part in parts if isinstance(part.get("refusal"), str)]
    found += [
        ServerReply(refusal, (name, "refusal"), "", reason="the model refused")
        for refusal in refusals
    ]
    found.append(ServerReply("".join(texts), (name, "text"), ""))
    return _choose_reply(found, count) or found[-1]


def _choose_reply(found: list[ServerReply], count: Callable[[Any], int]) -> ServerReply | None:
    """Returns what has most declared keys, the first of several; ``None`` if all are empty."""
    found = [reply for reply in found if reply.value != ""]
    if len(found) < 2:
        return found[0] if found else None
    return max(found, key=lambda reply: count(_parse_text(reply.value)))


def _parse_text(value: Any) -> Any:
    """Parses a text with JSON, which may be in a fence or amid prose; others stay as they are."""
    try:
        return read_embedded_json(value) if isinstance(value, str) else value
    except ValueError:
        return value


_CALLS: Final = (
    *(("function", "arguments"), ("functionCall", "args"), ("function_call", "arguments")),
    *(("toolUse", "input"),),
)
"""Keys that lead to the arguments of a call of a tool within another object."""


def _find_call(part: dict[str, Any]) -> tuple[tuple[str, ...], Any]:
    """Returns the keys that lead to the arguments of a call, and these; no keys if it is none."""
    for outer, inner in _CALLS:
        call = part.get(outer)
        if isinstance(call, dict) and isinstance(call.get(inner), dict | str):
            return (outer, inner), call[inner]
    if part.get("type") == "tool_use" and isinstance(part.get("input"), dict):
        return ("input",), part["input"]
    if part.get("type") == "function_call" and isinstance(part.get("arguments"), dict | str):
        return ("arguments",), part["arguments"]
    for key in ("arguments", "args"):
        if isinstance(part.get("name"), str) and isinstance(part.get(key), dict):
            return (key,), part[key]
    return (), None


def _are_objects(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)
