"""Makes near-miss cards: ``epoche near-miss``, or this file as a script."""

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
    out: CardsOut = Path("results/near_miss_cards.jsonl"),
    kg: GraphFiles = None,
    shapes: ShapesFiles = None,
    domain: DomainName = None,
    pred: Predicates = None,
    pred_label: PredicateLabels = None,
    num: Annotated[int, typer.Option(min=1, help="Near-misses to make.")] = 200,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            help="Only sibling, downstream, similar-name, homonym, inverse, swapped-subjects, "
            "numeric or popularity; repeatable."
        ),
    ] = None,
    seed: CardSeed = 12345,
    num_facts: FactsPerCard = 6,
    with_entailed: Annotated[
        bool,
        typer.Option("--with-entailed", help="Add the true claim that shares each card's facts."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="A number that cannot be reached is an error.")
    ] = False,
    allow_violations: AllowViolations = False,
    engine: ShapesEngine = EngineName.incremental,
) -> None:
    """Makes claims that sound right and are proved false, or proved undecided."""
    from adversarial.near_miss import NearMissPlan, make_near_misses
    from cards.card_manifest import card_manifest, source_files, write_card_set
    from cards.opening import open_for_cards
    from kg.base.errors import QuotaError
    from kg.base.files import check_output

    check_output(out, [*(kg or ()), *(shapes or ())])
    kb, predicates = open_for_cards(
        domain,
        kg or [],
        shapes or [],
        None,
        pred or [],
        pred_label or [],
        allow_violations,
        engine.value,
    )
    plan = NearMissPlan(
        predicates=tuple(predicates),
        strategies=tuple(strategy or ()),
        num=num,
        seed=seed,
        num_facts=num_facts,
        with_entailed=with_entailed,
    )
    made = make_near_misses(kb, plan, watch=lambda steps: progress(steps, what="near-misses"))
    if (made.missing and strict) or not made.cards:
        raise QuotaError(
            f"could not make {made.missing} of {num} near-misses",
            where=kb.domain.name,
            hint="; ".join(made.notes) or "Ask for fewer, or allow more strategies or predicates.",
        )
    params: dict[str, Any] = {
        "predicates": list(predicates),
        "pred_label": list(pred_label or []),
        "num": num,
        "strategies": list(plan.strategies),
        "num_facts": num_facts,
        "with_entailed": with_entailed,
        "engine": engine.value,
    }
    manifest = card_manifest(
        kb,
        made.cards,
        seed=seed,
        params=params,
        counts=made.counts,
        missing={"near-miss": made.missing} if made.missing else {},
        notes=made.notes,
    )
    write_card_set(out, made.cards, manifest | source_files(kb, out))
    for name, labels in made.counts.items():
        shown = ", ".join(f"{label} {n}" for label, n in labels.items()) or "none"
        say(f"  {name:18s} {shown}")
    say(f"{len(made.cards)} near-misses → {out}   [cards:{manifest['cards_sha256'][:12]}]")
    if made.missing:
        warn(f"could not make {made.missing} of {num} near-misses")
    for note in made.notes:
        warn(note)


if __name__ == "__main__":
    run_script(main)
