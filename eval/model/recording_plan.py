"""Reads plans of recordings: text files with one command of ``epoche`` per line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from eval.model.providers import RECORDED
from eval.model.recorded_replies import SHIPPED, Recording
from kg.base.errors import MissingFileError, RecordError

# A command up to a comment: quotations, escaped characters and others, then "#" at a word's begin.
_BEFORE_COMMENT = re.compile(r"""((?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\\'"])*?)(?:^|(?<=\s))#.*""")


def read_plan(path: Path) -> list[str]:
    """Returns the commands of a plan; blank lines and those with only a comment are left out.

    Raises:
        MissingFileError: the file cannot be read.
        RecordError: it has no commands, or a quotation mark is not closed.
    """
    try:
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise MissingFileError(f"the plan cannot be read: {error}", where=str(path)) from error
    for number, line in enumerate(lines, start=1):
        try:
            _split_command(line)
        except ValueError as error:
            raise RecordError(
                f"the command cannot be read: {error}",
                where=f"{path}:{number}",
                hint="Close every quotation mark.",
            ) from error
    commands = [line for line in lines if _split_command(line)]
    if not commands:
        raise RecordError(
            "the plan has no commands",
            where=str(path),
            hint="Write one command per line, for example: eval --cards cards.jsonl --system raw "
            "--out {out}/raw.jsonl",
        )
    return commands


def fill_command(command: str, model: str, folder: Path) -> list[str]:
    """Returns the words of a plan's command, with its placeholders filled."""
    words = _split_command(command)
    return [word.replace("{model}", model).replace("{out}", str(folder)) for word in words]


def _split_command(line: str) -> list[str]:
    """Returns the words of a line as a shell does, without a comment.

    (``shlex`` itself takes every ``#`` as the begin of a comment, also inside a word.)
    """
    comment = _BEFORE_COMMENT.fullmatch(line)
    return shlex.split(comment[1] if comment else line)


def find_commands(recording: Recording) -> Sequence[str]:
    """Returns the commands that ask what was recorded.

    Those in the header draw the cards as the version did that made the recording. The plan beside a
    shipped recording has commands that ask the same of this version.
    """
    if recording.path.parent == SHIPPED:
        return read_plan(SHIPPED / f"{recording.plan_name}.txt")
    return recording.header.plan


def list_commands(recording: Recording, out: str) -> list[str]:
    """Returns the commands that ask what was recorded, after a comment, as lines of a shell script.

    They ask the model that ``EPOCHE_MODEL`` names.

    Args:
        recording: the recording.
        out: the folder that they write to.
    """
    model = f"{RECORDED}/{recording.header.model}"
    return [
        f"# {recording.describe()}",
        *(
            f"epoche {command.replace('{model}', model).replace('{out}', out)}"
            for command in find_commands(recording)
        ),
    ]
