"""``epoche kg init``: profiles a graph and drafts a domain from which cards can be made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_json, print_text, print_warning, run_script, show_stages
from kg.base.options import Overwrite, ShapesFiles


def main(
    graph: Annotated[list[Path], typer.Argument(help="Graph files, read as one graph.")],
    out: Annotated[Path, typer.Option(help="Folder of the domain; new, or a draft.")],
    shapes: ShapesFiles = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the domain; by default that of the folder.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the readiness as JSON.")] = False,
) -> None:
    """Drafts a domain from a graph: rules that its data confirm, words, and what can be asked.

    Running it again keeps the answers in confirm.toml.
    """
    # Loaded here, so that `epoche --help` stays quick.
    from kg.base.files import to_json_bytes, write_files_atomic
    from kg.base.plain_text import clean_text, format_count
    from kg.graph import Graph
    from kg.profile.answers import read_answers
    from kg.profile.draft import draft_domain
    from kg.profile.folder import add_checksum, check_folder

    check_folder(out, [*graph, *(shapes or ())], overwrite=overwrite)
    answers = read_answers(out / "confirm.toml")
    with show_stages() as show_stage:
        show_stage("reading", 0, 0)
        draft = draft_domain(
            Graph.load(graph),
            out,
            answers,
            name=clean_text(name or "") or clean_text(out.resolve().name) or "draft",
            shapes_files=shapes or (),
            show_stage=show_stage,
        )
    report = draft.report
    write_files_atomic({out / file: add_checksum(file, text) for file, text in draft.files.items()})
    if as_json:
        print_json(to_json_bytes(report, indent=2).decode())
        return
    (print_text if report.asked else print_warning)(report.summary)
    for row in report.predicates[: report.asked]:
        print_text(f"  {row.label}: up to {row.ceiling:,} cards per label ({row.support})")
    if report.doubtful:
        print_text(
            f"{format_count(report.doubtful, 'more predicate')} could be asked about if the data's "
            f"rule is true in the world: say so in {out / 'confirm.toml'} and run this again"
        )
    print_text(f"→ {', '.join(str(out / file) for file in draft.files)}")
    print_text(
        f"Next: make all DOMAIN={out}, or epoche cards --domain {out}"
        if report.asked
        else f"Next: read {out / 'readiness.md'}, which says why of each predicate"
    )


if __name__ == "__main__":
    run_script(main)
