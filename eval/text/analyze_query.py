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
    out: Annotated[Path | None, typer.Option(help="File to write instead of printing.")] = None,
) -> None:
    """Analyses a question: the nodes it names, their subgraph, its features and its difficulty.

    The difficulty has five dimensions, their score and a level. The result is printed as JSON.
    """
    # Loaded here, so that `epoche --help` stays quick.
    import msgspec

    from kg.base.errors import SettingError
    from kg.base.files import check_output, to_json_bytes, write_text_atomic
    from kg.base.plain_text import to_one_line
    from kg.difficulty.analysis import analyze_in_facts
    from kg.difficulty.fact_graph import FactGraph
    from kg.fact_predicates import find_fact_predicates

    if (run is None) == (domain is None and not kg):
        raise SettingError(
            "no graph given" if run is None else "two graphs given",
            where="--run, --domain, --kg",
            hint="Give either --run (concept graph of a text), or --domain or --kg.",
        )
    # Command-line arguments may contain bytes that are not valid text, which JSON cannot encode.
    question = to_one_line(question)
    if out is not None:
        check_output(out, [*(kg or ())])
    if run is not None:
        from eval.text.miss_probability import analyze_question
        from kg.text.run.folder import open_run

        loaded_run = open_run(run)
        if out is not None:
            check_output(out, loaded_run.files)
        analysis = analyze_question(loaded_run, question, loaded_run.open_lookup())
        source = {"run": loaded_run.sha256}
    else:
        from kg.domain import load_domain, make_adhoc_domain
        from kg.graph import Graph
        from kg.words.labels import Labels

        graph_domain = (
            load_domain(domain) if domain is not None else make_adhoc_domain(list(kg or ()), [])
        )
        graph = Graph.load(list(kg) if kg else graph_domain.graph_files)
        fact_graph = FactGraph(graph.index, find_fact_predicates(graph_domain, graph.index))
        labels = Labels(
            graph,
            graph_domain.languages,
            graph_domain.naming_predicates,
            graph_domain.qualifiers,
            graph_domain.coded_names,
        )
        analysis = analyze_in_facts(fact_graph, graph.index.terms, labels, question)
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
