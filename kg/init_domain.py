"""``epoche kg init``: profiles a graph and drafts a domain from which cards can be made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_json, print_text, print_warning, run_script
from kg.base.options import Overwrite, ShapesFiles


def main(
    graph: Annotated[list[Path], typer.Argument(help="Graph files, read as one graph.")],
    out: Annotated[Path, typer.Option(help="Folder of the domain.")],
    shapes: ShapesFiles = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the domain; by default that of the folder.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the readiness as JSON.")] = False,
) -> None:
    """Drafts a domain from a graph: shapes that its data confirm, and what can be asked.

    Running it again keeps the answers in confirm.toml.
    """
    from kg.base.errors import WriteError
    from kg.base.files import to_json_bytes, write_files_atomic
    from kg.graph import Graph
    from kg.profile.draft import find_languages, read_confirmations, write_draft
    from kg.profile.predicates import GraphProfiler, find_naming_predicates
    from kg.profile.readiness import assess_predicates
    from kg.words.labels import Labels

    domain_file = out / "domain.toml"
    is_own = domain_file.is_file() and "epoche kg init" in domain_file.read_text("utf-8")[:100]
    if domain_file.exists() and not (is_own or overwrite):
        raise WriteError(
            "the folder has a domain that `epoche kg init` did not write",
            where=str(domain_file),
            hint="Choose another --out, or give --overwrite.",
        )
    loaded_graph = Graph.load(graph)
    languages = find_languages(loaded_graph)
    confirmed = read_confirmations(out / "confirm.toml")
    naming_predicates = find_naming_predicates(loaded_graph)
    labels = Labels(loaded_graph, languages, naming_predicates)
    profiler = GraphProfiler(loaded_graph, labels, naming_predicates)
    rows = assess_predicates(profiler.iter_profiles(), confirmed)
    files = write_draft(
        out,
        rows,
        name=name or out.resolve().name,
        graph_files=graph,
        shapes_files=shapes or (),
        languages=languages,
        naming_predicates=naming_predicates,
        confirmed=confirmed,
    )
    out.mkdir(parents=True, exist_ok=True)
    write_files_atomic(files)
    if as_json:
        print_json(to_json_bytes(rows, indent=2).decode())
        return
    asked = [row for row in rows if row.is_asked]
    for row in asked:
        print_text(f"{row.profile.label}: up to {row.ceiling} cards per label ({row.support})")
    doubtful = sum(row.needs_confirmation for row in rows)
    if doubtful:
        print_text(
            f"{doubtful} more if you confirm in {out / 'confirm.toml'} that a subject has one value"
        )
    if not asked and not shapes:
        print_warning(
            "no predicate can be asked about: no rule of the data could contradict a claim, or "
            f"names cannot be told apart; see {out / 'readiness.md'}"
        )
    print_text(f"→ {', '.join(map(str, files))}")
    print_text(f"Next: make all DOMAIN={out}, or epoche cards --domain {out}")


if __name__ == "__main__":
    run_script(main)
