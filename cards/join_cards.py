"""Joins card files into one set, as ``epoche join`` or as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_text, print_warning, run_script
from kg.base.options import AllowChangedCards


def main(
    files: Annotated[list[Path], typer.Argument(help="Card files, in the order to join them.")],
    out: Annotated[
        Path, typer.Option(help="The joined file (JSONL); its manifest is written next to it.")
    ] = Path("results/cards.jsonl"),
    triplets: Annotated[
        int | None,
        typer.Option(min=1, help="Keep only a sample of this many triplets, always the same."),
    ] = None,
    allow_changed: AllowChangedCards = False,
) -> None:
    """Joins card files of one graph, such as context cards and near-misses, into one set.

    Systems then answer one file, and metrics and report list the sets separately by their kinds.
    With --triplets, the set is a sample of E, C and U cards that share their facts.
    """
    from cards.card import hash_card_set
    from cards.card_integrity import accept_changed_cards
    from cards.card_manifest import build_joined_manifest, write_card_set
    from cards.consistency import find_card_problems
    from cards.joiner import join_cards, sample_triplets
    from kg.base.files import check_output

    check_output(out, files)
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
    write_card_set(out, cards, manifest)
    print_text(
        f"{len(cards)} cards of {len(files)} files → {out}   [cards:{hash_card_set(cards)[:12]}]"
    )


if __name__ == "__main__":
    run_script(main)
