"""Prints an SKN file as typed JSON: ``epoche skn parse``, or this file as a script."""

from __future__ import annotations

from typing import Annotated

import typer

from eval.skn.commands.notation_options import NotationFile, ReadingName, ReadingOption
from kg.base.console import print_json, print_warning, run_script


def main(
    file: NotationFile,
    reading: ReadingOption = ReadingName.strict,
    compact: Annotated[
        bool, typer.Option("--compact", help="On one line, without spaces.")
    ] = False,
) -> None:
    """Prints the document as typed JSON; accepted deviations from the grammar become warnings."""
    from eval.skn.commands.notation_files import format_problems, read_notation_file
    from kg.base.files import to_json_bytes

    parsed_file = read_notation_file(file, reading)
    document = parsed_file.require_document()
    for line in format_problems(parsed_file):
        print_warning(line)
    print_json(to_json_bytes(document, indent=None if compact else 2).decode())


if __name__ == "__main__":
    run_script(main)
