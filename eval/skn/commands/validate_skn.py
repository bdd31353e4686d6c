"""Checks whether files are valid SKN: ``epoche skn validate``, or this file as a script."""

from __future__ import annotations

from typing import Annotated

import typer

from eval.skn.commands.notation_options import NotationFiles, ReadingName, ReadingOption
from kg.base.console import print_json, print_text, print_warning, run_script


def main(
    files: NotationFiles,
    reading: ReadingOption = ReadingName.strict,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per file and line.")
    ] = False,
) -> None:
    """Lists what is wrong with the files, as FILE:LINE:COLUMN: WHAT, or that they are valid.

    Exit code: 0 if all files are valid, 36 if one is not, 3 if one cannot be opened. All files
    are checked in each case; --json leaves out those that cannot be opened.
    """
    from eval.skn.commands.notation_files import STANDARD_INPUT, format_problems, read_notation_file
    from kg.base.errors import MissingFileError, NotationError
    from kg.base.files import to_json_bytes

    if files.count(STANDARD_INPUT) > 1:
        raise typer.BadParameter("standard input (-) can be read only once")
    n_invalid = 0
    first_missing: MissingFileError | None = None
    for file in files:
        try:
            notation_file = read_notation_file(file, reading)
        except MissingFileError as error:
            first_missing = first_missing or error  # raised after all files have been checked
            print_warning(f"{file}: {error.what}")
            continue
        is_valid = notation_file.parse_result.document is not None
        n_invalid += not is_valid
        if as_json:
            record = {
                "file": notation_file.name,
                "notation": notation_file.notation,
                "valid": is_valid,
                "lossless": notation_file.parse_result.lossless,
                "problems": [problem._asdict() for problem in notation_file.parse_result.problems],
            }
            print_json(to_json_bytes(record).decode())
            continue
        for line in format_problems(notation_file):
            print_text(line)
        if is_valid:
            remark = (
                ""
                if notation_file.parse_result.lossless
                else ", though reading it dropped or guessed something"
            )
            print_text(f"{notation_file.name}: valid{remark}")
    if first_missing is not None:
        raise first_missing
    if n_invalid:
        raise NotationError(
            f"{n_invalid} of {len(files)} files are not valid",
            hint="The grammar is in docs/reference/skn-notation.md.",
        )


if __name__ == "__main__":
    run_script(main)
