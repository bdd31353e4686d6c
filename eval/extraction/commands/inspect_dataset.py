"""What a set of samples, or one schema, asks for: ``epoche extract inspect``, or as a script."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import run_script, say_json, warn

if TYPE_CHECKING:
    from eval.extraction.samples.loading import Loaded

_REASONS = 10
"""Malformed rows that are told one by one."""
_WIDE = 120
"""Columns of what goes to a file or a pipe."""


def main(
    source: Annotated[
        str, typer.Argument(help="`shipped`, a file, a folder, or owner/name on the hub.")
    ] = "shipped",
    schema: Annotated[
        Path | None, typer.Option(help="One JSON Schema (a JSON file) instead of samples.")
    ] = None,
    split: Annotated[str, typer.Option(help="Of a data set on the hub.")] = "test",
    cache_dir: Annotated[
        Path | None, typer.Option(help="Folder for what is fetched from a hub.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Take only the first so many usable rows.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Draw so many of those at random.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of that draw.")] = 42,
    strict: Annotated[
        bool, typer.Option("--strict", help="A malformed row is an error, not left out.")
    ] = False,
    formats: Annotated[
        bool, typer.Option("--formats/--no-formats", help="Expected outputs must keep formats.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Looks samples over before anything is measured with them; no model is called.

    Tells which rows are malformed and why, how complex the schemas are, which domains, languages,
    types and formats there are, and how long the texts. With --schema, whether that schema can be
    used, and its complexity.
    """
    # Loaded here, so that `epoche --help` stays quick.
    from eval.extraction.samples.loading import load

    if schema is not None:
        _inspect_schema(schema)
        return
    loaded = load(
        source,
        split=split,
        cache_dir=cache_dir,
        limit=limit,
        sample=sample,
        seed=seed,
        strict=strict,
        formats=formats,
    )
    _show(loaded, as_json=as_json)


def _show(loaded: Loaded, *, as_json: bool) -> None:
    from eval.extraction.samples.dataset_statistics import describe, statistics_of
    from kg.base.files import to_json_bytes

    for note in loaded.notes:
        warn(note)
    if loaded.rejected:
        warn(loaded.rejections_in_words(_REASONS))
    found = statistics_of(loaded.samples, len(loaded.rejected))
    if as_json:
        say_json(to_json_bytes(found, indent=2).decode())
        return
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else _WIDE)
    for table in describe(found):
        console.print(table, markup=False, highlight=False)


def _inspect_schema(path: Path) -> None:
    """Prints the complexity of one schema as JSON.

    Raises:
        SchemaError: the file holds no schema that can be used.
    """
    from eval.extraction.matchers.fields import check_matchers
    from eval.extraction.schemas.complexity import complexity_of
    from eval.extraction.schemas.schema_check import MAX_SCHEMA_CHARACTERS, SchemaCheck
    from kg.base.errors import SchemaError
    from kg.base.files import require_file, to_json_bytes
    from kg.base.strict_json import NotJsonError, parse_json

    with require_file(path, "schema file").open("rb") as handle:
        data = handle.read(4 * MAX_SCHEMA_CHARACTERS + 1)  # a character has at most four bytes
    try:
        check = SchemaCheck.of(parse_json(data.removeprefix(b"\xef\xbb\xbf")))
        check_matchers(check.schema)
        told = {"draft": check.draft, "complexity": complexity_of(check.schema)}
    except NotJsonError as error:
        raise SchemaError(f"the schema is no JSON: {error}", where=str(path)) from error
    except SchemaError as error:
        where = f"{path}: {error.where}" if error.where else str(path)
        raise SchemaError(error.what, where=where, hint=error.hint) from error
    say_json(to_json_bytes(told, indent=2).decode())


if __name__ == "__main__":
    run_script(main)
