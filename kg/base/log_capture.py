"""Captures the log messages of a library, so that callers can act on them and none is printed."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

MAX_MESSAGES = 1_000
"""Maximum number of messages that are recorded."""
MAX_MESSAGE_LENGTH = 200
"""Maximum characters of a message that are recorded."""


@contextlib.contextmanager
def capture_logs(logger: str) -> Iterator[list[str]]:
    """Collects the warnings and errors that a library logs inside the block, in order.

    The messages are not passed on to other handlers (such as the one that prints them).

    Args:
        logger: the name of the library's logger; loggers below it are captured too.
    """
    messages: list[str] = []

    class CaptureHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if len(messages) < MAX_MESSAGES:
                messages.append(record.getMessage()[:MAX_MESSAGE_LENGTH])

    source, handler = logging.getLogger(logger), CaptureHandler(logging.WARNING)
    propagate = source.propagate
    source.addHandler(handler)
    source.propagate = False
    try:
        yield messages
    finally:
        source.removeHandler(handler)
        source.propagate = propagate
