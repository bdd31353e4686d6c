"""Defines the command line options of the notation's commands.

This module imports no parser, so that the commands start quickly.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer


class ReadingName(StrEnum):
    """How far a text may deviate from the grammar; typed JSON must always match its schema."""

    strict = "strict"
    lossless = "lossless"
    tolerant = "tolerant"


class NotationName(StrEnum):
    """The two ways of writing one document."""

    skn = "skn"
    json = "json"


ReadingOption: TypeAlias = Annotated[
    ReadingName,
    typer.Option(
        "--reading",
        help="strict: exactly the grammar; lossless: also deviations for which nothing is dropped "
        "or guessed; tolerant: whatever can be read.",
    ),
]
NotationFile: TypeAlias = Annotated[
    str, typer.Argument(metavar="FILE", help="SKN or typed JSON; - for standard input.")
]
NotationFiles: TypeAlias = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="SKN or typed JSON; - for standard input."),
]
