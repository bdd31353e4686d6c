"""The console: one place where stages print, show progress, and turn errors into exit codes."""

from __future__ import annotations

import functools
import io
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from kg.base.errors import INTERRUPTED, TERMINATED, EpocheError, MissingFileError, WriteError
from kg.words.plain_text import for_terminal, json_for_terminal, one_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Item = TypeVar("Item")


def say(text: str, end: str = "\n") -> None:
    """Prints text for the user on standard output; nothing in it can drive the terminal.

    Args:
        text: what to print.
        end: what follows it; empty for a stream that goes on.
    """
    _print(for_terminal(text), end)


def say_json(text: str) -> None:
    """Prints a JSON document with exactly the data it has, and nothing that drives the terminal."""
    _print(json_for_terminal(text))


def _print(text: str, end: str = "\n") -> None:
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        raise  # The reader went away, which is no failure; ``guarded`` knows.
    except OSError as error:
        _forget_stdout()
        raise WriteError(
            f"cannot write: {error.strerror or error}",
            where="standard output",
            hint="Free space, or send the output elsewhere.",
        ) from error


def _forget_stdout() -> None:
    """Lets nothing more reach standard output: Python flushes it at exit and would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn(text: str) -> None:
    """Prints a line that deserves attention on standard error."""
    print(f"warning: {one_line(text)}", file=sys.stderr, flush=True)


def progress(items: Iterable[Item], *, what: str, total: int | None = None) -> Iterator[Item]:
    """Passes ``items`` through, showing rate and time left on a terminal after a moment.

    On anything that is not a terminal (a pipe, a log, CI) it stays silent, so that outputs of
    scripts do not depend on how fast they ran.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    with progress_bar() as bar:
        yield from bar.track(items, total=total, description=what)


def progress_bar(*fields: str) -> Progress:
    """A bar on standard error that is gone when it stops: done of total, rate, time left.

    Args:
        fields: names of text fields to show as well; each task must give them.
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

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "")

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        *(TextColumn("{task.fields[" + name + "]}", markup=False) for name in fields),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


Watch = Callable[[str, int, int], None]
"""Is told a stage's name, how much of it is done, and of how much; 0 where that is not known."""


@contextmanager
def shown_stages() -> Iterator[Watch]:
    """Shows the stages of a job, one after the other, as ``progress`` does its items."""
    if not sys.stderr.isatty():
        yield lambda _stage, _done, _total: None
        return
    with progress_bar() as bar:
        tasks: dict[str, TaskID] = {}

        def watch(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                for task in tasks.values():
                    bar.remove_task(task)
                tasks.clear()
                tasks[stage] = bar.add_task(stage, total=total or None)
            bar.update(tasks[stage], completed=done, total=total or None)

        yield watch


def guarded(action: Callable[..., Any]) -> Callable[..., NoReturn]:
    """Wraps a command so that it always ends in a trustworthy exit code.

    ``EpocheError`` → its one line on standard error and its own code; Ctrl-C or SIGTERM → 130 or
    143 after files have been closed; anything else keeps its traceback (it is a bug). The wrapper
    keeps the signature, so typer reads flags and help from ``action`` itself.
    """

    @functools.wraps(action)
    def entry(*args: Any, **kwargs: Any) -> NoReturn:
        def terminate(_signum: int, _frame: FrameType | None) -> NoReturn:
            raise SystemExit(TERMINATED)

        signal.signal(signal.SIGTERM, terminate)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # An old console that lacks a letter shows a substitute; that must not end a run.
            sys.stdout.reconfigure(errors="replace")
        try:
            action(*args, **kwargs)
            sys.stdout.flush()
        except EpocheError as error:
            print(f"error: {error.one_line()}", file=sys.stderr)
            raise SystemExit(error.exit_code) from None
        except KeyboardInterrupt:
            print("interrupted: what was finished is saved", file=sys.stderr)
            raise SystemExit(INTERRUPTED) from None
        except BrokenPipeError:
            # The reader went away (`epoche … | head`): not our failure.
            _forget_stdout()
            raise SystemExit(0) from None
        except OSError as error:
            if error.filename is None:
                raise
            # A file that was there a moment ago, a network disk: the machine's fault, not a bug.
            said = MissingFileError(
                f"a file cannot be opened: {error.strerror}",
                where=os.fsdecode(error.filename),
                hint="Check the path and its permissions.",
            )
            print(f"error: {said.one_line()}", file=sys.stderr)
            raise SystemExit(said.exit_code) from None
        raise SystemExit(0)

    return entry


def run_script(action: Callable[..., Any]) -> NoReturn:
    """Runs one stage as a script: the same flags, help and exit codes as ``epoche STAGE``."""
    import typer

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command()(guarded(action))
    app()
    raise SystemExit(0)
