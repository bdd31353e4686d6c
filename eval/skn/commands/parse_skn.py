"""Shows what an SKN file says as typed JSON: ``epoche skn parse``, or this file as a script."""

from __future__ import annotations

from typing import Annotated

import typer

from eval.skn.commands.notation_options import NotationFile, ReadingName, ReadingOption
from kg.base.console import run_script, say_json, warn


def main(
    file: NotationFile,
    reading: ReadingOption = ReadingName.strict,
    compact: Annotated[
        bool, typer.Option("--compact", help="On one line, without spaces.")
    ] = False,
) -> None:
    """Prints the document as typed JSON; what a lenient reading let pass is said as warnings."""
    from eval.skn.commands.notation_files import lines_of, understand
    from kg.base.files import to_json_bytes

    understood = understand(file, reading)
    document = understood.document()
    for line in lines_of(understood):
        warn(line)
    say_json(to_json_bytes(document, indent=None if compact else 2).decode())


if __name__ == "__main__":
    run_script(main)
