"""Draws the graph of a run or of a card: ``epoche kg plot``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_text, run_script, show_stages
from kg.base.options import DomainName, GraphFiles, ShapesFiles

DEFAULT_RUN_NODES, DEFAULT_CARD_NODES = 200, 30
MAX_NODES = 400
"""Larger graphs take minutes to lay out, and their picture is unreadable."""


def main(
    run: Annotated[
        Path | None,
        typer.Option(
            help="Run folder of `epoche kg build`, or its parent folder (for the latest run)."
        ),
    ] = None,
    around: Annotated[
        list[str] | None,
        typer.Option(help="Show the concepts linked with this one; repeatable."),
    ] = None,
    query: Annotated[
        str | None, typer.Option(help="Show a question's concepts, paths and difficulty.")
    ] = None,
    hops: Annotated[
        int, typer.Option(min=0, max=3, help="Number of links to follow from --around or --query.")
    ] = 1,
    most: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=MAX_NODES,
            help=f"Maximum number of nodes: by default {DEFAULT_RUN_NODES} for a run, "
            f"{DEFAULT_CARD_NODES} for a card.",
        ),
    ] = None,
    cards: Annotated[
        Path | None, typer.Option(help="Card file; draws the claim of the card given by --card.")
    ] = None,
    card: Annotated[str | None, typer.Option(help="Id of the card.")] = None,
    domain: DomainName = None,
    kg: GraphFiles = None,
    shapes: ShapesFiles = None,
    out: Annotated[Path, typer.Option(help="The HTML file.")] = Path("results/graph.html"),
) -> None:
    """Writes one self-contained HTML page with an interactive picture, and its data as tables."""
    from kg.base.files import check_output, write_text_atomic
    from reporting.graph_page.renderer import render_graph

    if (run is None) == (cards is None):
        raise typer.BadParameter("give either --run, or --cards with --card")
    if run is not None and (card is not None or domain or kg or shapes):
        raise typer.BadParameter("--card, --domain, --kg and --shapes need --cards")
    if cards is not None and (around or query):
        raise typer.BadParameter("--around and --query need --run")
    if cards is not None and card is None:
        raise typer.BadParameter("--cards needs --card, the id of the card to draw")
    check_output(out, [*([cards] if cards else ()), *(kg or ()), *(shapes or ())])
    with show_stages() as watch:
        watch("reading", 0, 0)
        if run is not None:
            from kg.text.run.folder import open_run
            from reporting.graph_page.run_page import build_run_page

            opened_run = open_run(run)
            check_output(out, opened_run.files)
            page = build_run_page(
                opened_run,
                centre_texts=around or (),
                hops=hops,
                max_nodes=most or DEFAULT_RUN_NODES,
                query=query or "",
            )
        elif cards is not None and card is not None:
            from reporting.graph_page.card_page import build_card_page, find_card, open_graph

            selected_card = find_card(cards, card)
            base, notices = open_graph(cards, domain, kg or (), shapes or ())
            page = build_card_page(
                selected_card, base, max_nodes=most or DEFAULT_CARD_NODES, notices=notices
            )
        watch("drawing", 0, 0)
        write_text_atomic(out, render_graph(page))
    print_text(f"{len(page.nodes):,} {page.node_nouns}, {len(page.links):,} links → {out}")


if __name__ == "__main__":
    run_script(main)
