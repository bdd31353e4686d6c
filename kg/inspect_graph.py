"""``epoche kg inspect``: summarises a graph (counts, homonyms, coverage, violations) or a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_json, print_text, run_script
from kg.base.options import DomainName, EngineName, ShapesEngine, ShapesFiles

if TYPE_CHECKING:
    from kg.inspection import InspectionReport
    from kg.text.run.inspection import RunReport


def inspect_command(
    kg: Annotated[
        list[Path] | None,
        typer.Option("--kg", help="Graph file instead of a domain's; repeatable."),
    ] = None,
    shapes: ShapesFiles = None,
    domain: DomainName = None,
    run: Annotated[
        Path | None,
        typer.Option("--run", help="A run of `epoche kg build` instead of an RDF graph."),
    ] = None,
    engine: ShapesEngine = EngineName.incremental,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    out: Annotated[Path | None, typer.Option(help="File to write instead of printing.")] = None,
) -> None:
    """Summarises a graph or a run, and lists what to fix before evaluating with it."""
    # Loaded here, so that `epoche --help` stays quick.
    from kg.base.errors import SettingError
    from kg.base.files import check_output, to_json_bytes, write_text_atomic
    from kg.graph import Graph
    from kg.inspection import inspect_graph
    from kg.knowledge import KnowledgeBase

    if out is not None:
        check_output(out, [*(kg or ()), *(shapes or ())])
    report: InspectionReport | RunReport
    if run is not None:
        from kg.text.run.folder import open_run
        from kg.text.run.inspection import inspect_run

        if kg or shapes or domain:
            raise SettingError(
                "--run cannot be combined with --kg, --shapes or --domain",
                where="--run",
                hint="Give either a run or an RDF graph.",
            )
        loaded_run = open_run(run)
        if out is not None:
            check_output(out, loaded_run.files)
        report = inspect_run(loaded_run)
    elif kg and not shapes and domain is None:
        # Cards cannot be generated without shapes, but the graph can be inspected.
        report = inspect_graph(Graph.load(list(kg)))
    else:
        knowledge_base = KnowledgeBase.open(
            domain, graph=list(kg or ()), shapes=list(shapes or ()), engine=engine.value
        )
        report = inspect_graph(knowledge_base.graph, knowledge_base.shapes, knowledge_base.oracle)
    text = to_json_bytes(report, indent=2).decode() + "\n" if as_json else report.render_text()
    if out is None:
        (print_json if as_json else print_text)(text.rstrip("\n"))
    else:
        write_text_atomic(out, text)
        print_text(f"inspection written to {out}")


if __name__ == "__main__":
    run_script(inspect_command)
