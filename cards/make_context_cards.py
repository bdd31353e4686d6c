"""Makes a card file, as ``epoche cards`` or as a script."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from kg.base.console import print_text, print_warning, run_script, track_progress
from kg.base.options import (
    AllowViolations,
    AuditCards,
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
    StrictCards,
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
        str, typer.Option(help="Kinds of YES and NO cards, comma-separated; default all.")
    ] = "",
    derived_share: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Prefer claims that need a derived fact (two or more steps), up to this share of "
            "the E and of the C cards.",
        ),
    ] = 0.5,
    num_facts: FactsPerCard = 6,
    regime: Annotated[
        str | None, typer.Option(help="none, rdfs or owl-rl; default is the domain's.")
    ] = None,
    faithfulness: Annotated[
        bool,
        typer.Option(
            "--faithfulness",
            help="Add withheld and counterfactual cards, of each as many as per label.",
        ),
    ] = False,
    num_faithfulness: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Add at most this many withheld and as many counterfactual cards; fewer are no "
            "shortage.",
        ),
    ] = None,
    audit: AuditCards = False,
    strict: StrictCards = False,
    allow_violations: AllowViolations = False,
    engine: ShapesEngine = EngineName.incremental,
) -> None:
    """Makes cards with proved answers: entailed, contradictory and unknown ones."""
    import msgspec

    from cards.card_manifest import (
        build_card_manifest,
        describe_derived_cards,
        describe_faithfulness,
        describe_missing_labels,
        describe_source_files,
        get_graph_path,
        get_passages_path,
        write_card_set,
    )
    from cards.card_set import CardSet
    from cards.generation.card_plan import CardPlan
    from cards.generation.kinds import check_kinds
    from cards.generator import make_cards
    from cards.knowledge_base import open_knowledge_base
    from kg.base.errors import AuditFailedError, QuotaError
    from kg.base.files import check_output

    for path in (out, get_graph_path(out)):
        check_output(path, [*(kg or ()), *(shapes or ())])
    kb, predicates = open_knowledge_base(
        domain,
        kg or [],
        shapes or [],
        regime,
        pred or [],
        pred_label or [],
        engine.value,
        allow_violations=allow_violations,
        strict=strict,
    )
    if kb.domain.passages_file is not None:
        check_output(get_passages_path(out), [kb.domain.passages_file])
    plan = CardPlan(
        predicates=tuple(predicates),
        per_label=num_per_type,
        seed=seed,
        kinds=tuple(name.strip() for name in kinds.split(",") if name.strip()),
        num_facts=num_facts,
        derived_share=derived_share,
        faithfulness=faithfulness or bool(num_faithfulness),
        num_faithfulness=num_faithfulness,
        subj_hint=subj_hint,
    )
    check_kinds(plan.kinds, kb.shapes.list_constraints())

    def track_cards(steps: Iterable[int]) -> Iterable[int]:
        return track_progress(steps, what="cards")

    def draw_cards(number: int, is_strict: bool = False) -> CardSet:
        changes = {"redraw": number, "is_strict": is_strict}
        return make_cards(kb, msgspec.structs.replace(plan, **changes), progress=track_cards)

    leaks: list[str] = []
    unaudited: list[str] = []
    if audit:
        from cards.leakage.redraw import (
            audit_new_cards,
            describe_leaks,
            describe_missing_audit,
            draw_without_leaks,
        )

        drawing = draw_without_leaks(
            draw_cards,
            lambda drawn: audit_new_cards(drawn.kb, drawn.cards, kb if drawn.set_aside else None),
        )
        card_set, card_audit = drawing.cards, drawing.audit
        leaks = describe_leaks(card_audit)
        unaudited = describe_missing_audit(card_audit)
    else:
        card_set = draw_cards(0)
    shortage = ", ".join(f"{n} {what}" for what, n in card_set.missing.items())
    if (card_set.missing and strict) or not card_set.cards:
        raise QuotaError(
            f"could not make {shortage} of {num_per_type} cards per label",
            where=kb.domain.name,
            hint="; ".join(card_set.notes[:4]) or "Ask for fewer, or allow more predicates.",
        )
    if leaks and strict:
        raise AuditFailedError(
            leaks[0],
            where=kb.domain.name,
            hint="Ask for other predicates, or for fewer cards with --num-per-type.",
        )
    params: dict[str, Any] = {
        "predicates": list(predicates),
        "pred_label": list(pred_label or []),
        "num_per_type": num_per_type,
        "kinds": list(plan.kinds),
        "num_facts": num_facts,
        "derived_share": derived_share,
        "subj_hint": subj_hint,
        "faithfulness": plan.faithfulness,
        "num_faithfulness": plan.per_faithfulness_kind,
        "audit": audit,
        "engine": engine.value,
    }
    manifest = build_card_manifest(
        card_set.kb,
        card_set.cards,
        seed=seed,
        params=params,
        counts=card_set.count_by_kind(),
        missing=card_set.missing,
        notes=card_set.notes,
        set_aside=card_set.set_aside,
        full_graph=kb.graph,
        warnings=[*leaks, *unaudited, *describe_missing_labels(card_set.cards)],
        drawings=drawing.describe() if audit else None,
    )
    # Systems must answer from what was left, so it is written beside the cards.
    own_graph = card_set.kb.graph if card_set.set_aside else None
    graph_file = get_graph_path(out) if own_graph else None
    manifest |= describe_source_files(kb.domain, out, graph_file)
    write_card_set(out, card_set.cards, manifest, own_graph, card_set.passages)
    for predicate, counts_by_label in card_set.count_by_kind().items():
        print_text(f"{kb.verbaliser.get_label(predicate)}:")
        for label, counts_by_kind in counts_by_label.items():
            counts = ", ".join(f"{kind} {n}" for kind, n in counts_by_kind.items())
            print_text(f"  {label} {sum(counts_by_kind.values()):5d}   {counts}")
    if derived := describe_derived_cards(card_set.cards):
        print_text(derived)
    if plan.faithfulness:
        print_text(describe_faithfulness(card_set.cards))
    if own_graph:
        print_text(
            f"{len(card_set.set_aside)} facts were set aside to ask about as unknown; systems "
            f"answer from the rest, {graph_file}"
        )
    if card_set.passages:
        print_text(
            f"{len(card_set.passages):,} passages without what states these facts → "
            f"{get_passages_path(out)}"
        )
    print_text(f"{len(card_set.cards)} cards → {out}   [cards:{manifest['cards_sha256'][:12]}]")
    if audit and not leaks and not unaudited:
        print_text(f"audit: none of {card_audit.tests} baselines predicts the labels")
    if audit and (note := drawing.describe_truth_leaks()):
        print_text(note)
    for warning in (*leaks, *unaudited):
        print_warning(warning)
    if card_set.missing:
        print_warning(f"could not make {shortage}")
        for note in card_set.notes:
            print_warning(note)


if __name__ == "__main__":
    run_script(main)
