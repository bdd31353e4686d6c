"""Handles the console output of all commands: text, progress bars, and errors with exit codes."""

from __future__ import annotations

import functools
import io
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from kg.base.errors import (
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    EpocheError,
    MissingFileError,
    WriteError,
)
from kg.base.plain_text import clean_for_terminal, escape_json_for_terminal, to_one_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Item = TypeVar("Item")


def print_text(text: str, end: str = "\n") -> None:
    """Prints text on standard output, with terminal control characters removed.

    Args:
        text: what to print.
        end: printed after the text; empty if more text follows on the same line.
    """
    _write_stdout(clean_for_terminal(text), end)


def print_json(text: str) -> None:
    """Prints a JSON document with its data unchanged and terminal control characters escaped."""
    _write_stdout(escape_json_for_terminal(text))


def _write_stdout(text: str, end: str = "\n") -> None:
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        raise  # The reader closed the pipe, which is not a failure; ``wrap_command`` handles it.
    except OSError as error:
        _silence_stdout()
        raise WriteError(
            f"cannot write: {error.strerror or error}",
            where="standard output",
            hint="Free space, or send the output elsewhere.",
        ) from error


def _silence_stdout() -> None:
    """Redirects standard output to the null device: Python's flush at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_warning(text: str) -> None:
    """Prints a one-line warning on standard error."""
    print(f"warning: {to_one_line(text)}", file=sys.stderr, flush=True)


_warned: set[str] = set()
"""The warnings that this command has printed by ``print_warning_once``."""


def print_warning_once(text: str) -> None:
    """Prints a warning unless this command has printed it before: it may read a file twice."""
    if text not in _warned:
        _warned.add(text)
        print_warning(text)


_hide_secrets: Callable[[str], str] | None = None
"""Removes secrets from tracebacks; None if tracebacks are not printed."""


def enable_tracebacks(hide_secrets: Callable[[str], str] | None) -> None:
    """Lets errors print their tracebacks too; ``epoche --debug`` calls this.

    Args:
        hide_secrets: removes secrets from a traceback; None to print no tracebacks.
    """
    global _hide_secrets
    _hide_secrets = hide_secrets


def print_traceback(error: BaseException) -> None:
    """Prints the traceback of an error on standard error, if ``enable_tracebacks`` was called."""
    if _hide_secrets is not None:
        text = _hide_secrets("".join(traceback.format_exception(error)))
        print(clean_for_terminal(text), end="", file=sys.stderr, flush=True)


def track_progress(items: Iterable[Item], *, what: str, total: int | None = None) -> Iterator[Item]:
    """Yields ``items`` unchanged and shows a progress bar with rate and time left.

    Shows nothing if standard error is not a terminal (a pipe, a log, CI), so that the output of
    scripts does not depend on their speed.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    with make_progress_bar() as bar:
        yield from bar.track(items, total=total, description=what)


def format_rate(per_second: float) -> str:
    """Formats a rate: ``128.0/s``, or ``22 s each`` for a slow one; empty for none."""
    if per_second <= 0:
        return ""
    return f"{per_second:.1f}/s" if per_second >= 1 else f"{1 / per_second:.0f} s each"


def make_progress_bar(*fields: str) -> Progress:
    """Returns a progress bar on standard error: done of total, rate, time left.

    The bar is removed from the terminal when it stops.

    Args:
        fields: names of further text fields to show; every task of the bar must set them.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(format_rate(task.speed or 0.0))

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        *(TextColumn("{task.fields[" + name + "]}", markup=False) for name in fields),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


StageCallback = Callable[[str, int, int], None]
"""Called with a stage's name, the amount done and the total amount (0 if it is unknown)."""


@contextmanager
def show_stages() -> Iterator[StageCallback]:
    """Yields a callback that shows the stages of a job, one after the other, as progress bars."""
    if not sys.stderr.isatty():
        yield lambda _stage, _done, _total: None
        return
    with make_progress_bar() as bar:
        tasks: dict[str, TaskID] = {}

        def show_stage(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                for task in tasks.values():
                    bar.remove_task(task)
                tasks.clear()
                tasks[stage] = bar.add_task(stage, total=total or None)
            bar.update(tasks[stage], completed=done, total=total or None)

        yield show_stage


def wrap_command(action: Callable[..., Any]) -> Callable[..., NoReturn]:
    """Wraps a command so that it always ends with a documented exit code.

    An ``EpocheError`` is printed as one line on standard error, and the command exits with the
    error's code. Ctrl-C exits with 130 and SIGTERM with 143, after files have been closed. Any
    other exception is a bug and keeps its traceback. The wrapper keeps the signature, so that typer
    reads flags and help from ``action`` itself.
    """

    @functools.wraps(action)
    def run_wrapped(*args: Any, **kwargs: Any) -> NoReturn:
        def handle_sigterm(_signum: int, _frame: FrameType | None) -> NoReturn:
            raise SystemExit(EXIT_TERMINATED)

        try:
            signal.signal(signal.SIGTERM, handle_sigterm)
            # The command ``epoche`` handles it in another way until here.
            if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            _warned.clear()
            if isinstance(sys.stdout, io.TextIOWrapper):
                # A console whose encoding lacks a letter prints a substitute instead of failing.
                sys.stdout.reconfigure(errors="replace")
            action(*args, **kwargs)
            sys.stdout.flush()
        except EpocheError as error:
            print_traceback(error)
            print(f"error: {error.format_line()}", file=sys.stderr)
            raise SystemExit(error.exit_code) from None
        except KeyboardInterrupt:
            print("interrupted: what was finished is saved", file=sys.stderr)
            raise SystemExit(EXIT_INTERRUPTED) from None
        except BrokenPipeError:
            # The reader closed the pipe (`epoche … | head`): not a failure of the command.
            _silence_stdout()
            raise SystemExit(0) from None
        except OSError as error:
            if error.filename is None:
                raise
            # A file that disappeared, a network disk: a fault of the machine, not a bug.
            file_error = MissingFileError(
                f"a file cannot be opened: {error.strerror}",
                where=os.fsdecode(error.filename),
                hint="Check the path and its permissions.",
            )
            print(f"error: {file_error.format_line()}", file=sys.stderr)
            raise SystemExit(file_error.exit_code) from None
        raise SystemExit(0)

    return run_wrapped


def run_script(action: Callable[..., Any]) -> NoReturn:
    """Runs one command as a script, with the same flags, help and exit codes as ``epoche``."""
    import typer

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command()(wrap_command(action))
    app()
    raise SystemExit(0)
