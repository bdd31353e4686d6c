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
from kg.base.console import print_json, print_text, print_warning, run_script

if TYPE_CHECKING:
    from eval.skn.commands.notation_files import ParsedFile


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
        typer.Option("--to", help="Notation to print; by default that of the file."),
    ] = None,
    reading: ReadingOption = ReadingName.lossless,
) -> None:
    """Prints one file in canonical form, or checks or rewrites several files.

    By default a file is rejected if reading it would drop or guess anything. With --in-place no
    file is changed unless all files can be read.
    """
    from eval.skn.commands.notation_files import STANDARD_INPUT, read_notation_file
    from kg.base.files import write_text_atomic

    if check and in_place:
        raise typer.BadParameter("give --check or --in-place, not both")
    if to is not None and (check or in_place):
        raise typer.BadParameter("--to cannot be combined with --check or --in-place")
    if len(files) > 1 and not (check or in_place):
        raise typer.BadParameter("several files need --check or --in-place")
    if files.count(STANDARD_INPUT) > 1 or (in_place and STANDARD_INPUT in files):
        raise typer.BadParameter("standard input (-) can be read only once, and not be rewritten")
    parsed_files = [read_notation_file(file, reading) for file in files]
    canonical_texts = [_render_canonical(file, to) for file in parsed_files]
    if not (check or in_place):
        # Also for SKN, which escapes unprintable characters in the same way as JSON.
        print_json(canonical_texts[0].removesuffix("\n"))
        return
    noncanonical_files = [
        (file.name, text)
        for file, text in zip(parsed_files, canonical_texts, strict=True)
        if text != file.text
    ]
    for name, text in noncanonical_files:
        if in_place:
            write_text_atomic(Path(name), text)
        print_text(f"{'rewritten' if in_place else 'not canonical'}: {name}")
    if check and noncanonical_files:
        from kg.base.errors import EpocheError

        raise EpocheError(
            f"{len(noncanonical_files)} of {len(files)} files are not in canonical form",
            hint="`epoche skn format --in-place` rewrites them.",
        )


def _render_canonical(file: ParsedFile, requested_notation: NotationName | None) -> str:
    from eval.skn.commands.notation_files import format_problems, render_document

    document = file.require_document()
    if not file.parse_result.lossless:
        for line in format_problems(file):
            print_warning(line)
    return render_document(document, requested_notation or file.notation)


if __name__ == "__main__":
    run_script(main)
