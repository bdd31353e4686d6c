"""Joins card files into one set, as ``epoche join`` or as a script."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_text, print_warning, run_script
from kg.base.options import AllowChangedCards

if TYPE_CHECKING:
    from kg.graph import Graph


def main(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Card files, in the order to join them.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="The joined file (JSONL); its manifest is written next to it.")
    ] = Path("results/cards.jsonl"),
    triplets: Annotated[
        int | None,
        typer.Option(min=1, help="Keep only a sample of this many triplets, always the same."),
    ] = None,
    shipped: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Instead of files, a card set that Epoché ships, such as rivers-1: it stays the "
            "same when cards are drawn in another way.",
        ),
    ] = None,
    allow_changed: AllowChangedCards = False,
) -> None:
    """Joins card files of one graph, such as context cards and near-misses, into one set.

    Systems then answer one file, and metrics and report list the sets separately by their kinds.
    With --triplets, the set is a sample of E, C and U cards that share their facts. With --shipped,
    its graph is written next to it.
    """
    from cards.shipped_cards import unpack_shipped_set

    if (shipped is None) == (not files):
        raise typer.BadParameter("give either card files, or --shipped NAME")
    if shipped is None:
        write_joined_cards(files or [], out, triplets=triplets, allow_changed=allow_changed)
        return
    with TemporaryDirectory() as folder:
        unpacked = unpack_shipped_set(shipped, Path(folder))
        write_joined_cards([unpacked.cards], out, unpacked.graph, triplets=triplets)


def write_joined_cards(
    files: list[Path],
    out: Path,
    graph: Graph | None = None,
    *,
    triplets: int | None = None,
    allow_changed: bool = False,
) -> None:
    """Joins card files, and writes the set with its manifest.

    Args:
        files: the card files.
        out: the joined file.
        graph: the graph of the cards, if it is to be written beside them.
        triplets: how many triplets to keep; None for all cards.
        allow_changed: accept files that are not as their manifests describe them.
    """
    from cards.card import hash_card_set
    from cards.card_integrity import accept_changed_cards
    from cards.card_manifest import build_joined_manifest, get_graph_path, write_card_set
    from cards.consistency import find_card_problems
    from cards.joiner import join_cards, sample_triplets
    from kg.base.files import check_output

    for path in (out, *([get_graph_path(out)] if graph else [])):
        check_output(path, files)
    accepted = accept_changed_cards(files, allow_changed=allow_changed)
    cards = join_cards(files)
    if triplets is not None:
        cards = sample_triplets(cards, triplets)
    if problems := list(find_card_problems(files)):
        first = problems[0]
        others = f", and {len(problems) - 1:,} more" if len(problems) > 1 else ""
        print_warning(
            f"card {first.id!r} ({first.path}:{first.line}): {first.field} is {first.found}, "
            f"should be {first.expected}{others}. `epoche metrics` will refuse results of these "
            "cards."
        )
    manifest = build_joined_manifest(files, cards, out, accepted_changes=accepted)
    if graph is not None:
        manifest["graph_files"] = [get_graph_path(out).name]
    write_card_set(out, cards, manifest, graph)
    print_text(
        f"{len(cards)} cards of {len(files)} files → {out}   [cards:{hash_card_set(cards)[:12]}]"
    )


if __name__ == "__main__":
    run_script(main)
