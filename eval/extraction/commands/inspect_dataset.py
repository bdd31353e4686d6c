"""Summarises a set of samples or one schema, as ``epoche extract inspect`` or as a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_json, print_warning, run_script

if TYPE_CHECKING:
    from eval.extraction.samples.loader import LoadedSamples

_MAX_LISTED_ROWS = 10
"""Maximum number of malformed rows that are listed."""


def main(
    source: Annotated[
        str, typer.Argument(help="`shipped`, a file, a folder, or owner/name on the hub.")
    ] = "shipped",
    schema: Annotated[
        Path | None, typer.Option(help="One JSON Schema (a JSON file) instead of samples.")
    ] = None,
    split: Annotated[str, typer.Option(help="Split of a data set on the hub.")] = "test",
    cache_dir: Annotated[
        Path | None, typer.Option(help="Folder for downloads from the hub.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Use only the first N usable rows.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Sample N of these rows at random.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed for --sample.")] = 42,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail on a malformed row instead of leaving it out.")
    ] = False,
    formats: Annotated[
        bool,
        typer.Option(
            "--formats/--no-formats", help="Whether expected outputs must satisfy schema formats."
        ),
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Summarises a set of samples, without calling a model.

    Lists malformed rows with the reason, and the distribution of schema complexity, domains,
    languages, field types, formats and text lengths. With --schema, checks that schema and prints
    its complexity.
    """
    # Imported here, so that `epoche --help` stays fast.
    from eval.extraction.samples.loader import load_samples

    if schema is not None:
        _print_schema_summary(schema)
        return
    loaded_samples = load_samples(
        source,
        split=split,
        cache_dir=cache_dir,
        limit=limit,
        sample_size=sample,
        seed=seed,
        strict=strict,
        formats=formats,
    )
    _print_statistics(loaded_samples, as_json=as_json)


def _print_statistics(loaded_samples: LoadedSamples, *, as_json: bool) -> None:
    from eval.extraction.samples.dataset_statistics import compute_statistics, render_tables
    from kg.base.files import to_json_bytes
    from kg.base.table_printer import print_table

    for note in loaded_samples.notes:
        print_warning(note)
    if loaded_samples.rejected:
        print_warning(loaded_samples.describe_rejections(_MAX_LISTED_ROWS))
    statistics = compute_statistics(loaded_samples.samples, len(loaded_samples.rejected))
    if as_json:
        print_json(to_json_bytes(statistics, indent=2).decode())
        return
    for table in render_tables(statistics):
        print_table(table)


def _print_schema_summary(path: Path) -> None:
    """Prints the complexity of one schema as JSON.

    Raises:
        SchemaError: the file has no usable schema.
    """
    from eval.extraction.matchers.schema_nodes import check_matchers
    from eval.extraction.schemas.complexity import compute_complexity
    from eval.extraction.schemas.schema_validator import MAX_SCHEMA_CHARACTERS, SchemaValidator
    from kg.base.errors import SchemaError
    from kg.base.files import require_file, to_json_bytes
    from kg.base.strict_json import NotJsonError, parse_json

    with require_file(path, "schema file").open("rb") as handle:
        # A file that is longer than the limit is read one byte beyond it and then refused.
        content = handle.read(4 * MAX_SCHEMA_CHARACTERS + 1)  # a character has at most four bytes
    try:
        validator = SchemaValidator.from_schema(parse_json(content.removeprefix(b"\xef\xbb\xbf")))
        check_matchers(validator.schema)
        summary = {"draft": validator.draft, "complexity": compute_complexity(validator.schema)}
    except NotJsonError as error:
        raise SchemaError(f"the schema is not JSON: {error}", where=str(path)) from error
    except SchemaError as error:
        where = f"{path}: {error.where}" if error.where else str(path)
        raise SchemaError(error.what, where=where, hint=error.hint) from error
    print_json(to_json_bytes(summary, indent=2).decode())


if __name__ == "__main__":
    run_script(main)
