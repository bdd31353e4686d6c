"""Searches the chunks of a run: ``epoche retrieval search``, or this file as a script."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kg.base.console import run_script
from kg.base.options import RunFolder


class RetrieverName(StrEnum):
    """What a run can be searched with."""

    bm25 = "bm25"
    dense = "dense"
    hybrid = "hybrid"
    kg = "kg"
    section_tree = "section_tree"
    ensemble = "ensemble"


class Walk(StrEnum):
    """How the concept graph is walked."""

    bfs = "bfs"
    ppr = "ppr"


def main(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    run: RunFolder,
    retriever: Annotated[
        RetrieverName, typer.Option("--retriever", help="What to search with.")
    ] = RetrieverName.ensemble,
    k: Annotated[int, typer.Option("-k", "--top-k", min=1, help="Passages to show.")] = 5,
    embedder: Annotated[
        str, typer.Option(help="Of dense: a folder or hub name, or lexical; by default MiniLM.")
    ] = "",
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=NUMBER", help="Of a fusion's component; 0 leaves it out."),
    ] = None,
    walk: Annotated[Walk, typer.Option(help="How kg walks the concept graph.")] = Walk.bfs,
    beta: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of the section tree in kg.")
    ] = 0.0,
    reranker: Annotated[
        str, typer.Option(help="Cross-encoder that orders what was found: folder or hub name.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Shows the chunks that a retriever finds for a question, best first."""
    from kg.base.errors import SettingError
    from kg.text.run.folder import open_run
    from retrieval.opening import Choices, open_retriever, passages_of_run, weights_of
    from retrieval.showing import show

    walks = retriever in (RetrieverName.kg, RetrieverName.ensemble)
    if (beta or walk is not Walk.bfs) and not walks:
        raise SettingError(
            f"{retriever.value} does not walk the concept graph",
            where="--beta" if beta else "--walk",
            hint="Only kg and ensemble do.",
        )
    weights = weights_of(weight or (), retriever.value)
    choices = Choices(weights=weights, walk=walk.value, beta=beta, reranker=reranker)
    opened = open_run(run)
    searched = open_retriever(retriever.value, opened, embedder=embedder, choices=choices)
    sections = {chunk.id: str(chunk.metadata.get("section", "")) for chunk in opened.chunks}
    found = searched.search(query, k)
    show(query, searched, found, passages_of_run(opened), sections, as_json=as_json)


if __name__ == "__main__":
    run_script(main)
