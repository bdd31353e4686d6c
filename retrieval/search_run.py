"""Searches the chunks of a run: ``epoche retrieval search``, or this file as a script."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kg.base.console import run_script
from kg.base.options import RunFolder


class RetrieverName(StrEnum):
    """The retrievers over a run."""

    bm25 = "bm25"
    dense = "dense"
    hybrid = "hybrid"
    facts = "facts"
    kg = "kg"
    section_tree = "section_tree"
    ensemble = "ensemble"


class Walk(StrEnum):
    """How strengths are spread over the concept graph; see ``retrieval/concepts.py``."""

    bfs = "bfs"
    ppr = "ppr"


def main(
    query: Annotated[str, typer.Argument(help="The question or search terms.")],
    run: RunFolder,
    retriever: Annotated[
        RetrieverName, typer.Option("--retriever", help="The retriever to use.")
    ] = RetrieverName.ensemble,
    k: Annotated[int, typer.Option("-k", "--top-k", min=1, help="Passages to show.")] = 5,
    embedder: Annotated[
        str,
        typer.Option(
            help="Model of dense and facts: a folder, a hub name or lexical; default MiniLM."
        ),
    ] = "",
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NUMBER", help="Weight of a fusion's component; 0 omits it. Repeatable."
        ),
    ] = None,
    facts: Annotated[
        str, typer.Option(help="Facts about the run's chunks (JSONL); default: found by rules.")
    ] = "",
    walk: Annotated[Walk, typer.Option(help="How kg walks the concept graph.")] = Walk.bfs,
    beta: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of the section tree in kg.")
    ] = 0.0,
    reranker: Annotated[
        str, typer.Option(help="Cross-encoder that reranks the results: a folder or hub name.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Shows the chunks that a retriever finds for a question, best first."""
    from kg.base.errors import SettingError
    from kg.text.run.folder import open_run
    from retrieval.display import print_results
    from retrieval.factory import RetrieverOptions, list_run_passages, open_retriever, parse_weights

    uses_walk = retriever in (RetrieverName.kg, RetrieverName.ensemble)
    if (beta or walk is not Walk.bfs) and not uses_walk:
        raise SettingError(
            f"{'--beta' if beta else '--walk'} has no effect on {retriever.value}",
            where="--beta" if beta else "--walk",
            hint="It needs --retriever kg or ensemble.",
        )
    if facts and retriever not in (RetrieverName.facts, RetrieverName.ensemble):
        raise SettingError(
            f"--facts has no effect on {retriever.value}",
            where="--facts",
            hint="It needs --retriever facts or ensemble.",
        )
    weights = parse_weights(weight or (), retriever.value)
    options = RetrieverOptions(
        weights=weights, walk=walk.value, beta=beta, facts=facts, reranker=reranker
    )
    opened_run = open_run(run)
    searcher = open_retriever(retriever.value, opened_run, embedder=embedder, options=options)
    sections = {chunk.id: str(chunk.metadata.get("section", "")) for chunk in opened_run.chunks}
    results = searcher.search(query, k)
    print_results(
        query, searcher, results, list_run_passages(opened_run), sections, as_json=as_json
    )


if __name__ == "__main__":
    run_script(main)
