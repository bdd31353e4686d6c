"""Runs the command ``epoche``, also as ``python -m epoche``.

Everything else is imported inside ``main``, so that Ctrl-C in the first second ends the process
without the traceback of an import.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line; the entry point of the installed command."""
    # A script that ignores Ctrl-C, as a background job does, keeps ignoring it.
    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) != signal.SIG_IGN]
    handlers = {n: signal.signal(n, _exit_at_once) for n in numbers}
    _replace_closed_streams()
    from epoche.cli import main as run_command_line

    for n, handler in handlers.items():
        signal.signal(n, handler)
    run_command_line()


def _exit_at_once(number: int, _frame: FrameType | None) -> NoReturn:
    os._exit(128 + number)  # Nothing is open yet that would need closing.


def _replace_closed_streams() -> None:
    """Opens the null device for output streams that the caller closed (``epoche … >&-``).

    Otherwise printing would fail, and the first file that is opened would take their place.
    A command that reads standard input says itself that it is closed.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115


if __name__ == "__main__":
    main()
