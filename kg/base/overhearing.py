"""What a library says to its log, for whoever must act on it; nothing of it on the terminal."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

MOST = 1_000
"""Messages that are kept."""
LONGEST = 200
"""Characters of a message that are kept."""


@contextlib.contextmanager
def overheard(logger: str) -> Iterator[list[str]]:
    """Collects the warnings and errors that a library logs inside the block, in order.

    Args:
        logger: the name of its logger; those below it are heard too.
    """
    heard: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if len(heard) < MOST:
                heard.append(record.getMessage()[:LONGEST])

    source, listener = logging.getLogger(logger), Listener(logging.WARNING)
    propagate = source.propagate
    source.addHandler(listener)
    source.propagate = False
    try:
        yield heard
    finally:
        source.removeHandler(listener)
        source.propagate = propagate
