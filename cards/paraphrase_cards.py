"""Asks the questions of a card file in other words, as ``epoche paraphrase`` or as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from kg.base.console import print_text, print_warning, run_script
from kg.base.options import (
    AllowChangedCards,
    CardSeed,
    CardsOut,
    DomainName,
    GraphFiles,
    ShapesFiles,
)


def main(
    cards: Annotated[Path, typer.Argument(help="Card file (JSONL), made by Epoché.")],
    out: CardsOut = Path("results/paraphrased_cards.jsonl"),
    kg: GraphFiles = None,
    shapes: ShapesFiles = None,
    domain: DomainName = None,
    seed: CardSeed = 12345,
    allow_changed: AllowChangedCards = False,
) -> None:
    """Asks the questions of cards in other words: the `paraphrases` of their domain.

    If the domain has none, general wordings are used that fit every predicate. Facts, rules, claim,
    proofs, label and triplet stay as they are. Run the same system on both files; `epoche compare
    --paraphrases` then says how much worse it is on the paraphrases.
    """
    from cards.card import hash_card_set, read_cards
    from cards.card_integrity import accept_changed_cards
    from cards.card_manifest import build_paraphrase_manifest, write_card_set
    from cards.card_origin import read_card_origin, require_same_graph, resolve_sources
    from cards.paraphraser import paraphrase_cards
    from kg.base.errors import DomainError
    from kg.base.files import check_output
    from kg.claims import Regime
    from kg.knowledge import KnowledgeBase

    check_output(out, [cards, *(kg or ()), *(shapes or ())])
    originals = read_cards(cards)
    accepted = accept_changed_cards([cards], allow_changed=allow_changed)
    origin = read_card_origin(cards)
    name, graph_files, shapes_files = resolve_sources(
        origin, cards, domain, tuple(kg or ()), tuple(shapes or ())
    )
    if not (name or graph_files):
        raise DomainError(
            "the domain of the cards is not known",
            where=str(cards),
            hint="Name it with --domain: their manifest does not, or there is none.",
        )
    regime = None if domain or kg else cast("Regime | None", origin.regime)
    kb = KnowledgeBase.open(name, graph_files, shapes_files, regime)
    require_same_graph(origin, kb.graph.sha256, cards)
    paraphrased = paraphrase_cards(originals, kb.verbaliser, seed=seed)
    if not paraphrased.cards:
        raise DomainError(
            "the domain has paraphrases, but none for the predicates of these cards",
            where=str(kb.domain.file or kb.domain.name),
            hint="Add the key paraphrases to these predicates in domain.toml "
            "(docs/reference/domain-toml.md), or remove it from all for general wordings.",
        )
    manifest = build_paraphrase_manifest(
        cards,
        paraphrased.cards,
        out,
        seed=seed,
        left_out=paraphrased.left_out,
        wordings=paraphrased.wordings,
        accepted_changes=accepted,
    )
    write_card_set(out, paraphrased.cards, manifest)
    kind = "the domain's" if paraphrased.wordings == "domain" else "general, for any predicate"
    print_text(
        f"{len(paraphrased.cards)} cards with paraphrased questions → {out}   "
        f"[cards:{hash_card_set(paraphrased.cards)[:12]}]"
    )
    print_text(f"wordings: {kind}")
    for pred, count in paraphrased.left_out.items():
        print_warning(
            f"{count} cards left out: no paraphrases for {kb.verbaliser.get_label(pred)!r}"
        )


if __name__ == "__main__":
    run_script(main)
