"""Asks a system about one item and converts what it returns, or its error, to a reply.

A system is third-party code: it may raise or return anything. None of this ends a run, changes
another reply or counts as an abstention.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from eval.harness.reply import Reply
from eval.model.calls import current_calls
from eval.model.foreign_values import (
    check_confidence,
    check_usage,
    describe_error,
    describe_failure,
    is_stray_cancellation,
)
from eval.model.usage import round_cost
from kg.base.console import print_traceback
from kg.base.errors import EXIT_TERMINATED, ModelAccessError, WriteError

FATAL_ERRORS: Final = (ModelAccessError, WriteError)
"""Errors that end the run: the model cannot be used, or nothing can be written."""
MAX_REPLY_BYTES: Final = 8 * 1024 * 1024
"""Maximum size of a reply as JSON, so that a runaway system cannot fill the disk."""

ReplyReader = Callable[[object], Reply]
"""Converts what a system returned to a reply; it raises nothing."""


def call_system(system: Any, view: object, read_reply: ReplyReader) -> Reply:
    """Asks a system whose ``answer`` is a plain function.

    Args:
        system: the system.
        view: what it may see of the item.
        read_reply: converts what the system returns.

    Raises:
        ModelAccessError, WriteError: no further item can be answered.
    """
    try:
        return _finish_reply(system, system.answer(view), read_reply)
    except FATAL_ERRORS:
        raise
    except (Exception, SystemExit) as error:
        return _make_error_reply(error)


async def call_system_async(system: Any, view: object, read_reply: ReplyReader) -> Reply:
    """Does the same as ``call_system`` for a system whose ``answer`` may be awaited."""
    try:
        returned = system.answer(view)
        if inspect.isawaitable(returned):
            returned = await _await_any(returned)
        return _finish_reply(system, returned, read_reply)
    except FATAL_ERRORS:
        raise
    except (Exception, SystemExit) as error:
        return _make_error_reply(error)
    except BaseException as error:
        if not is_stray_cancellation(error):
            raise
        return _make_error_reply(error)


async def _await_any(awaitable: Awaitable[object]) -> object:
    return await awaitable


def _finish_reply(system: Any, returned: object, read_reply: ReplyReader) -> Reply:
    """Reads what a system returned; a system that returns no ``Reply`` gets its costs added."""
    if inspect.iscoroutine(returned):
        returned.close()  # else Python warns of a coroutine that was never awaited
    if not isinstance(returned, Reply):
        log = current_calls()
        reply = msgspec.structs.replace(
            read_reply(returned),
            latency_s=round(log.latency_s, 4) if log.calls else None,
            usage=round_cost(log.sum_usage()),
        )
    elif getattr(system, "returns_valid_replies", False):
        reply = returned
    else:
        reply = _check_reply(returned, read_reply)
    # Encoded and decoded, so that every field has its declared type.
    try:
        encoded = msgspec.json.encode(reply)
        decoded = msgspec.json.decode(encoded, type=Reply)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        return Reply(status="invalid", problem=f"not a reply: {describe_error(error)}")
    if len(encoded) > MAX_REPLY_BYTES:
        return Reply(status="invalid", problem=f"a reply of more than {MAX_REPLY_BYTES:,} bytes")
    return decoded


def _check_reply(reply: Reply, read_reply: ReplyReader) -> Reply:
    """Returns the reply of a foreign system with its value read like any other, and checked costs.

    Systems of this package, which have ``returns_valid_replies``, are not checked.
    """
    notes = [str(note) for note in reply.notes]
    checked = msgspec.structs.replace(
        reply,
        confidence=check_confidence(reply.confidence, notes),
        usage=check_usage(reply.usage, notes),
    )
    if reply.status == "ok":
        value = read_reply(reply.value)
        checked = msgspec.structs.replace(
            checked,
            status=value.status,
            value=value.value,
            problem=value.problem,
            parts={**reply.parts, **value.parts},
        )
        notes += value.notes
    return msgspec.structs.replace(checked, notes=tuple(notes))


def _make_error_reply(error: BaseException) -> Reply:
    if isinstance(error, SystemExit) and error.code == EXIT_TERMINATED:
        raise error  # SIGTERM stops the run; any other exit code comes from the system.
    print_traceback(error)
    log = current_calls()
    return Reply(
        status="error",
        problem=describe_failure(error),
        latency_s=round(log.latency_s, 4) if log.calls else None,
        usage=round_cost(log.sum_usage()),
    )
