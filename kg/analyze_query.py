"""``epoche kg analyze``: finds the subgraph of a question and rates the question's difficulty."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_json, print_text, run_script
from kg.base.options import DomainName


def analyze_command(
    question: Annotated[str, typer.Argument(help="The question, in words.")],
    run: Annotated[
        Path | None,
        typer.Option("--run", help="Run that `epoche kg build` made, or a folder of runs."),
    ] = None,
    domain: DomainName = None,
    kg: Annotated[
        list[Path] | None,
        typer.Option("--kg", help="Graph file instead of a domain's; repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write there instead of printing.")] = None,
) -> None:
    """Prints as JSON: matched nodes, features, five dimensions, score, level, subgraph."""
    # Loaded here, so that `epoche --help` stays quick.
    import msgspec

    from kg.base.errors import SettingError
    from kg.base.files import check_output, to_json_bytes, write_text_atomic
    from kg.difficulty.analysis import analyze_in_facts, analyze_in_run
    from kg.difficulty.fact_graph import FactGraph
    from kg.fact_predicates import find_fact_predicates
    from kg.words.plain_text import to_one_line

    if (run is None) == (domain is None and not kg):
        raise SettingError(
            "no graph given" if run is None else "two graphs given",
            where="--run, --domain, --kg",
            hint="Give --run for a text's concept graph, else --domain or --kg.",
        )
    # Command-line arguments may contain bytes that are not valid text, which JSON cannot encode.
    question = to_one_line(question)
    if out is not None:
        check_output(out, [*(kg or ())])
    if run is not None:
        from kg.text.run.folder import open_run

        opened = open_run(run)
        if out is not None:
            check_output(out, opened.files)
        analysis = analyze_in_run(opened, question, opened.open_lookup())
        source = {"run": opened.sha256}
    else:
        from kg.domain import load_domain, make_adhoc_domain
        from kg.graph import Graph
        from kg.words.labels import Labels

        chosen = (
            load_domain(domain) if domain is not None else make_adhoc_domain(list(kg or ()), [])
        )
        graph = Graph.load(list(kg) if kg else chosen.graph_files)
        facts = FactGraph(graph.index, find_fact_predicates(chosen, graph.index))
        labels = Labels(graph, chosen.languages)
        analysis = analyze_in_facts(facts, graph.index.terms, labels, question)
        source = {"graph_sha256": graph.sha256}
    row = {**msgspec.to_builtins(analysis), "source": source}
    text = to_json_bytes(row, indent=2).decode()
    if out is None:
        print_json(text)
    else:
        write_text_atomic(out, text + "\n")
        print_text(f"analysis written to {out}")


if __name__ == "__main__":
    run_script(analyze_command)
