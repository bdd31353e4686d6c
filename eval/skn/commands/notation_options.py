"""What the commands of the notation let one choose, importable without its machinery."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer


class ReadingName(StrEnum):
    """How far a text may be from the grammar; typed JSON is always held to its schema."""

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
        help="strict: the grammar; lossless: deviations too that drop and guess nothing; "
        "tolerant: whatever can be read.",
    ),
]
NotationFile: TypeAlias = Annotated[
    str, typer.Argument(metavar="FILE", help="SKN or typed JSON; - for standard input.")
]
NotationFiles: TypeAlias = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="SKN or typed JSON; - for standard input."),
]
