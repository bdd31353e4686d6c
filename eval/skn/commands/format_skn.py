"""Writes SKN in its canonical form: ``epoche skn format``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eval.skn.commands.notation_options import (
    NotationFiles,
    NotationName,
    ReadingName,
    ReadingOption,
)
from kg.base.console import run_script, say, say_json, warn

if TYPE_CHECKING:
    from eval.skn.commands.notation_files import Understood


def main(
    files: NotationFiles,
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing; exit 1 when a file is not canonical."),
    ] = False,
    in_place: Annotated[
        bool, typer.Option("--in-place", "-i", help="Rewrite the files that are not canonical.")
    ] = False,
    to: Annotated[
        NotationName | None,
        typer.Option("--to", help="Notation to print; by default the one the file has."),
    ] = None,
    reading: ReadingOption = ReadingName.lossless,
) -> None:
    """Prints one file in canonical form, or checks or rewrites several.

    By default a file is refused when reading it would drop or guess anything. With --in-place no
    file is touched unless all can be read.
    """
    from eval.skn.commands.notation_files import STANDARD_INPUT, understand
    from kg.base.files import write_text_atomic

    if check and in_place:
        raise typer.BadParameter("give --check or --in-place, not both")
    if to is not None and (check or in_place):
        raise typer.BadParameter("--to prints; it goes with neither --check nor --in-place")
    if len(files) > 1 and not (check or in_place):
        raise typer.BadParameter("several files need --check or --in-place")
    if files.count(STANDARD_INPUT) > 1 or (in_place and STANDARD_INPUT in files):
        raise typer.BadParameter("standard input can be read once and not be rewritten")
    read = [understand(file, reading) for file in files]
    canonical = [_canonical(one, to) for one in read]
    if not (check or in_place):
        say_json(canonical[0].removesuffix("\n"))
        return
    changed = [
        (one.name, text) for one, text in zip(read, canonical, strict=True) if text != one.text
    ]
    for name, text in changed:
        if in_place:
            write_text_atomic(Path(name), text)
        say(f"{'rewritten' if in_place else 'not canonical'}: {name}")
    if check and changed:
        from kg.base.errors import EpocheError

        raise EpocheError(
            f"{len(changed)} of {len(files)} files are not in canonical form",
            hint="`epoche skn format --in-place` rewrites them.",
        )


def _canonical(understood: Understood, to: NotationName | None) -> str:
    from eval.skn.commands.notation_files import lines_of, written

    document = understood.document()
    if not understood.parsed.lossless:
        for line in lines_of(understood):
            warn(line)
    return written(document, to or understood.notation)


if __name__ == "__main__":
    run_script(main)
