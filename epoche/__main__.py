"""Runs the command ``epoche``, also as ``python -m epoche``.

Everything else is imported inside ``main``, once signals are handled: Ctrl-C in the first second
ends the process without the traceback of an import.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # as of `typing`, whose import takes longer than this whole module
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

GC_THRESHOLDS = (20_000, 20, 20)
"""Thresholds of the garbage collector. With the usual ones it takes 5 to 10 % of a command's time,
and frees next to nothing."""


def main() -> NoReturn:
    """Runs the command line; the entry point of the installed command."""
    # A script that ignores Ctrl-C, as a background job does, keeps ignoring it.
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _exit_at_once)  # until a command begins: ``wrap_command``
    _replace_closed_streams()
    import atexit
    import gc

    gc.set_threshold(*GC_THRESHOLDS)
    # At the end of a process, Python would search all objects once more for some to free.
    atexit.register(gc.freeze)
    from epoche.cli import main as run_command_line

    run_command_line()


def _exit_at_once(number: int, _frame: FrameType | None) -> NoReturn:
    try:
        if number == signal.SIGINT:
            os.write(2, b"interrupted\n")
    finally:
        os._exit(128 + number)  # Nothing is open yet that would need closing.


def _replace_closed_streams() -> None:
    """Opens the null device for output streams that the caller closed (``epoche … >&-``).

    Otherwise printing would fail, and the first file that is opened would take their place.
    A command that reads standard input says itself that it is closed.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115


if __name__ == "__main__":
    main()
