"""Says whether files are SKN: ``epoche skn validate``, or this file as a script."""

from __future__ import annotations

from typing import Annotated

import typer

from eval.skn.commands.notation_options import NotationFiles, ReadingName, ReadingOption
from kg.base.console import run_script, say, say_json, warn


def main(
    files: NotationFiles,
    reading: ReadingOption = ReadingName.strict,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print an object a file, as JSON lines.")
    ] = False,
) -> None:
    """Lists what is wrong with the files, as FILE:LINE:COLUMN: WHAT, or that they are valid.

    Exit code: 0 when all files are valid, 36 when one is not, 3 when one cannot be opened. All
    files are looked at in each case; --json says nothing of those that cannot be opened.
    """
    from eval.skn.commands.notation_files import STANDARD_INPUT, lines_of, understand
    from kg.base.errors import MissingFileError, NotationError
    from kg.base.files import to_json_bytes

    if files.count(STANDARD_INPUT) > 1:
        raise typer.BadParameter("standard input can be read once")
    invalid = 0
    missing: MissingFileError | None = None
    for file in files:
        try:
            one = understand(file, reading)
        except MissingFileError as error:
            missing = missing or error
            warn(f"{file}: {error.what}")
            continue
        valid = one.parsed.document is not None
        invalid += not valid
        if as_json:
            found = {
                "file": one.name,
                "notation": one.notation,
                "valid": valid,
                "lossless": one.parsed.lossless,
                "problems": [problem._asdict() for problem in one.parsed.problems],
            }
            say_json(to_json_bytes(found).decode())
            continue
        for line in lines_of(one):
            say(line)
        if valid:
            how = "" if one.parsed.lossless else ", though reading it dropped or guessed something"
            say(f"{one.name}: valid{how}")
    if missing is not None:
        raise missing
    if invalid:
        raise NotationError(
            f"{invalid} of {len(files)} files are not valid",
            hint="The grammar stands in docs/skn.md.",
        )


if __name__ == "__main__":
    run_script(main)
