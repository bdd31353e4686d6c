"""Draws a run, or a card's claim, as a page: ``epoche kg plot``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import run_script, say, shown_stages
from kg.base.options import DomainName, GraphFiles, ShapesFiles

OF_RUN, OF_CARD = 200, 30
MOST = 400
"""Nodes at most; more make a picture that shows nothing and a layout that takes minutes."""


def main(
    run: Annotated[
        Path | None,
        typer.Option(help="Run that `epoche kg build` made, or a folder with a latest one."),
    ] = None,
    around: Annotated[
        list[str] | None,
        typer.Option(help="Show what is linked with this concept; repeatable."),
    ] = None,
    query: Annotated[
        str | None, typer.Option(help="Show a question's concepts, paths and difficulty.")
    ] = None,
    hops: Annotated[int, typer.Option(min=0, max=3, help="How far from --around or --query.")] = 1,
    most: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=MOST,
            help=f"Nodes shown at most: by default {OF_RUN} of a run, {OF_CARD} of a card's graph.",
        ),
    ] = None,
    cards: Annotated[
        Path | None, typer.Option(help="Card file; draws the claim of the card named by --card.")
    ] = None,
    card: Annotated[str | None, typer.Option(help="Id of the card.")] = None,
    domain: DomainName = None,
    kg: GraphFiles = None,
    shapes: ShapesFiles = None,
    out: Annotated[Path, typer.Option(help="The HTML file.")] = Path("results/graph.html"),
) -> None:
    """Writes one self-contained HTML page with an interactive picture, and all of it as tables."""
    from kg.base.files import check_output, write_text_atomic
    from reporting.graph_page.rendering import render_graph

    if (run is None) == (cards is None):
        raise typer.BadParameter("give either --run, or --cards with --card")
    if run is not None and (card is not None or domain or kg or shapes):
        raise typer.BadParameter("--card, --domain, --kg and --shapes go with --cards")
    if cards is not None and (around or query):
        raise typer.BadParameter("--around and --query go with --run")
    if cards is not None and card is None:
        raise typer.BadParameter("--cards needs --card: which one?")
    check_output(out, [*([cards] if cards else ()), *(kg or ()), *(shapes or ())])
    with shown_stages() as watch:
        watch("reading", 0, 0)
        if run is not None:
            from kg.text.run.folder import open_run
            from reporting.graph_page.run_page import run_page

            opened = open_run(run)
            check_output(out, opened.files)
            page = run_page(
                opened,
                around_texts=around or (),
                hops=hops,
                most=most or OF_RUN,
                query=query or "",
            )
        elif cards is not None and card is not None:
            from reporting.graph_page.card_page import card_page, find_card, open_graph

            chosen = find_card(cards, card)
            base, notices = open_graph(cards, domain, kg or (), shapes or ())
            page = card_page(chosen, base, most=most or OF_CARD, notices=notices)
        watch("drawing", 0, 0)
        write_text_atomic(out, render_graph(page))
    say(f"{len(page.nodes):,} {page.node_nouns}, {len(page.links):,} links → {out}")


if __name__ == "__main__":
    run_script(main)
