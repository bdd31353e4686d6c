"""Makes a card file: ``epoche cards``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kg.base.console import progress, run_script, say, warn
from kg.base.options import (
    AllowViolations,
    CardSeed,
    CardsOut,
    DomainName,
    EngineName,
    FactsPerCard,
    GraphFiles,
    PredicateLabels,
    Predicates,
    ShapesEngine,
    ShapesFiles,
)


def main(
    out: CardsOut = Path("results/context_cards.jsonl"),
    kg: GraphFiles = None,
    shapes: ShapesFiles = None,
    domain: DomainName = None,
    pred: Predicates = None,
    pred_label: PredicateLabels = None,
    num_per_type: Annotated[int, typer.Option(min=1, help="Cards per label.")] = 200,
    seed: CardSeed = 12345,
    subj_hint: Annotated[
        str, typer.Option(help="Ask only about subjects whose name contains this.")
    ] = "",
    kinds: Annotated[
        str, typer.Option(help="Kinds of YES and NO cards to make, with commas; default all.")
    ] = "",
    num_facts: FactsPerCard = 6,
    regime: Annotated[
        str | None, typer.Option(help="none, rdfs or owl-rl instead of the domain's.")
    ] = None,
    faithfulness: Annotated[
        bool, typer.Option("--faithfulness", help="Add withheld and counterfactual cards.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="A quota that cannot be reached is an error.")
    ] = False,
    allow_violations: AllowViolations = False,
    engine: ShapesEngine = EngineName.incremental,
) -> None:
    """Makes cards whose answers are proved: entailed, contradictory and unknown ones alike."""
    from cards.card_manifest import card_manifest, source_files, write_card_set
    from cards.generator import CardPlan, make_cards
    from cards.kinds import check_kinds
    from cards.opening import open_for_cards
    from kg.base.errors import QuotaError
    from kg.base.files import check_output

    check_output(out, [*(kg or ()), *(shapes or ())])
    kb, predicates = open_for_cards(
        domain,
        kg or [],
        shapes or [],
        regime,
        pred or [],
        pred_label or [],
        allow_violations,
        engine.value,
    )
    plan = CardPlan(
        predicates=tuple(predicates),
        per_label=num_per_type,
        seed=seed,
        kinds=tuple(name.strip() for name in kinds.split(",") if name.strip()),
        num_facts=num_facts,
        faithfulness=faithfulness,
        subj_hint=subj_hint,
    )
    check_kinds(plan.kinds, kb.shapes.constraints())
    made = make_cards(kb, plan, watch=lambda steps: progress(steps, what="cards"))
    short = ", ".join(f"{n} {what}" for what, n in made.missing.items())
    if (made.missing and strict) or not made.cards:
        raise QuotaError(
            f"could not make {short} of {num_per_type} cards per label",
            where=kb.domain.name,
            hint="; ".join(made.notes[:4]) or "Ask for fewer, or allow more predicates.",
        )
    params: dict[str, Any] = {
        "predicates": list(predicates),
        "pred_label": list(pred_label or []),
        "num_per_type": num_per_type,
        "kinds": list(plan.kinds),
        "num_facts": num_facts,
        "subj_hint": subj_hint,
        "faithfulness": faithfulness,
        "engine": engine.value,
    }
    manifest = card_manifest(
        kb,
        made.cards,
        seed=seed,
        params=params,
        counts=made.counts(),
        missing=made.missing,
        notes=made.notes,
    )
    write_card_set(out, made.cards, manifest | source_files(kb, out))
    for predicate, of_label in made.counts().items():
        say(f"{kb.words.label(predicate)}:")
        for label, of_kind in of_label.items():
            shown = ", ".join(f"{kind} {n}" for kind, n in of_kind.items())
            say(f"  {label} {sum(of_kind.values()):5d}   {shown}")
    say(f"{len(made.cards)} cards → {out}   [cards:{manifest['cards_sha256'][:12]}]")
    if made.missing:
        warn(f"could not make {short}")
        for note in made.notes:
            warn(note)


if __name__ == "__main__":
    run_script(main)
