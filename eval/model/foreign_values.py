"""Makes values and errors of third-party code fit for rows: readable, bounded, without secrets."""

from __future__ import annotations

import math
import re
from numbers import Real
from typing import Any

import msgspec

from eval.model.redaction import hide_secrets
from eval.model.usage import Usage
from kg.base.errors import EpocheError

MAX_ERROR_CHARS = 500

MAX_RAW_CHARS = 100_000
"""Longer replies are cut in the row: a runaway generation must not fill the disk."""

_MEMORY_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")


def is_stray_cancellation(error: BaseException) -> bool:
    """Returns whether the system raised a cancellation although the run was not cancelled.

    Such an error is a ``GeneratorExit``, or a ``CancelledError`` while this task is not being
    cancelled. If it were not caught, asyncio would end the worker silently: the remaining questions
    would not be asked and the run would look complete.
    """
    import asyncio

    if isinstance(error, GeneratorExit):
        return True
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and not task.cancelling()


def describe_error(error: BaseException) -> str:
    """Returns an exception as one line of bounded length, with secrets hidden."""
    return _describe(error, to_safe_text(error))


def describe_failure(error: BaseException) -> str:
    """Does the same as ``describe_error``, without the location of an error of this package.

    The location of an error may be a path of this machine.
    """
    return _describe(error, error.what if isinstance(error, EpocheError) else to_safe_text(error))


def _describe(error: BaseException, text: str) -> str:
    text, name = " ".join(make_storable(text).split()), type(error).__name__
    return truncate_text(hide_secrets(f"{name}: {text}" if text else name), MAX_ERROR_CHARS)


def check_confidence(value: object, notes: list[str]) -> float | None:
    """Returns a probability, or None with a note that says why it is none.

    Args:
        value: what a system or a file gives as its confidence.
        notes: the note is appended here.
    """
    if value is None:
        return None
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number) and 0.0 <= number <= 1.0:
            return number
    notes.append(f"confidence {to_safe_text(value)[:40]} is no number in [0, 1]")
    return None


def check_usage(value: object, notes: list[str]) -> Usage | None:
    """Returns tokens and cost, or None with a note that says why they cannot be used."""
    if value is None:
        return None
    try:
        usage = msgspec.convert(msgspec.to_builtins(value), Usage)
    except (msgspec.ValidationError, TypeError, ValueError):
        notes.append("usage is not a Usage")
        return None
    numbers = (usage.prompt_tokens, usage.completion_tokens, usage.cost_usd or 0.0)
    if all(math.isfinite(number) and number >= 0 for number in numbers):
        return usage
    notes.append("usage has a negative or infinite number")
    return None


def to_safe_text(value: Any) -> str:
    """Returns ``str(value)``, also for objects whose ``__str__`` raises.

    Memory addresses are removed, because they differ from run to run and results must not.
    """
    try:
        return _MEMORY_ADDRESS.sub(">", str(value))
    except Exception:  # hostile or broken __str__
        return f"<{type(value).__name__} that cannot be shown>"


def make_storable(text: str) -> str:
    """Escapes lone surrogates, which JSON cannot represent, and cuts to ``MAX_RAW_CHARS``."""
    text = truncate_text(text, MAX_RAW_CHARS)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def truncate_text(text: str, limit: int) -> str:
    """Cuts a text to a number of characters, and says at its end that it was cut."""
    return text if len(text) <= limit else f"{text[:limit]}… [cut, {len(text)} characters]"
