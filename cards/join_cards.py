"""Joins card files into one set: ``epoche join``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import run_script, say


def main(
    files: Annotated[list[Path], typer.Argument(help="Card files, in the order they shall stand.")],
    out: Annotated[
        Path, typer.Option(help="The joined file (JSONL); its manifest goes beside it.")
    ] = Path("results/cards.jsonl"),
) -> None:
    """Joins card files of one graph, such as context cards and near-misses, into one set.

    Systems then answer one file, and metrics and report keep the sets apart by their kinds.
    """
    from cards.card import card_set_hash
    from cards.card_manifest import joined_manifest, write_card_set
    from cards.joining import join_cards
    from kg.base.files import check_output

    check_output(out, files)
    cards = join_cards(files)
    manifest = joined_manifest(files, cards, out)
    write_card_set(out, cards, manifest)
    say(f"{len(cards)} cards of {len(files)} files → {out}   [cards:{card_set_hash(cards)[:12]}]")


if __name__ == "__main__":
    run_script(main)
