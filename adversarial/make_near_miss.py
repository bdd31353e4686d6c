"""Makes near-miss cards, as ``epoche near-miss`` or as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kg.base.console import print_text, print_warning, run_script, track_progress
from kg.base.options import (
    AllowChangedCards,
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
    out: CardsOut = Path("results/near_miss_cards.jsonl"),
    cards: Annotated[
        Path | None,
        typer.Option(help="Card file whose graph, shapes and domain to use; needed to join both."),
    ] = None,
    kg: GraphFiles = None,
    shapes: ShapesFiles = None,
    domain: DomainName = None,
    pred: Predicates = None,
    pred_label: PredicateLabels = None,
    num: Annotated[int, typer.Option(min=1, help="Near-misses to make.")] = 200,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            help="Strategy: sibling, downstream, similar-name, homonym, inverse, swapped-subjects, "
            "numeric or popularity. Repeatable; default all."
        ),
    ] = None,
    seed: CardSeed = 12345,
    num_facts: FactsPerCard = 6,
    with_entailed: Annotated[
        bool,
        typer.Option("--with-entailed", help="Add a true claim with the same facts to each card."),
    ] = False,
    audit: AuditCards = False,
    strict: StrictCards = False,
    allow_violations: AllowViolations = False,
    allow_changed: AllowChangedCards = False,
    engine: ShapesEngine = EngineName.incremental,
) -> None:
    """Makes plausible claims that are proved false or proved unknown."""
    import msgspec

    from adversarial.near_miss import NearMisses, NearMissPlan, make_near_misses
    from cards.card import iter_cards
    from cards.card_integrity import accept_changed_cards, lacks_card_hashes
    from cards.card_manifest import build_card_manifest, describe_source_files, write_card_set
    from cards.card_origin import (
        CardOrigin,
        read_card_origin,
        require_same_graph,
        resolve_sources,
    )
    from cards.knowledge_base import open_knowledge_base
    from kg.base.errors import AuditFailedError, QuotaError
    from kg.base.files import check_output, require_file

    check_output(out, [*(kg or ()), *(shapes or ()), *([cards] if cards else ())])
    graph_files, shapes_files = tuple(kg or ()), tuple(shapes or ())
    origin = CardOrigin()
    accepted: tuple[str, ...] = ()
    if cards is not None:
        origin = read_card_origin(require_file(cards, "card file"))
        accepted = accept_changed_cards([cards], allow_changed=allow_changed)
        domain, graph_files, shapes_files = resolve_sources(
            origin, cards, domain, graph_files, shapes_files
        )
    kb, predicates = open_knowledge_base(
        domain,
        graph_files,
        shapes_files,
        None,
        pred or [],
        pred_label or [],
        engine.value,
        allow_violations=allow_violations,
        strict=strict,
    )
    if cards is not None:
        require_same_graph(origin, kb.graph.sha256, cards)
    plan = NearMissPlan(
        predicates=tuple(predicates),
        strategies=tuple(strategy or ()),
        num=num,
        seed=seed,
        num_facts=num_facts,
        with_entailed=with_entailed,
    )

    def draw_near_misses(number: int, _is_strict: bool = False) -> NearMisses:
        return make_near_misses(
            kb,
            msgspec.structs.replace(plan, seed=seed + number),
            existing=iter_cards(cards) if cards else (),
            progress=lambda steps: track_progress(steps, what="near-misses"),
        )

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
            draw_near_misses, lambda drawn: audit_new_cards(kb, drawn.cards)
        )
        near_misses, card_audit = drawing.cards, drawing.audit
        leaks = describe_leaks(card_audit)
        unaudited = describe_missing_audit(card_audit)
    else:
        near_misses = draw_near_misses(0)
    if (near_misses.missing and strict) or not near_misses.cards:
        raise QuotaError(
            f"could not make {sum(near_misses.missing.values())} of {num} near-misses",
            where=kb.domain.name,
            hint="; ".join(near_misses.notes)
            or "Ask for fewer, or allow more strategies or predicates.",
        )
    if leaks and strict:
        raise AuditFailedError(
            leaks[0],
            where=kb.domain.name,
            hint="Ask for other predicates or strategies, or for fewer near-misses.",
        )
    params: dict[str, Any] = {
        "predicates": list(predicates),
        "pred_label": list(pred_label or []),
        "num": num,
        "strategies": list(plan.strategies),
        "num_facts": num_facts,
        "with_entailed": with_entailed,
        "audit": audit,
        "engine": engine.value,
    }
    manifest = build_card_manifest(
        kb,
        near_misses.cards,
        seed=seed,
        params=params,
        counts=near_misses.counts,
        missing=near_misses.missing,
        notes=near_misses.notes,
        warnings=[*leaks, *unaudited],
        drawings=drawing.describe() if audit else None,
    )
    manifest |= describe_source_files(kb.domain, out)
    if origin.domain is not None:
        manifest["domain"] = origin.domain
    if accepted:
        manifest["accepted_changes"] = list(accepted)
    if cards is not None and lacks_card_hashes(cards):
        manifest["unverified"] = [cards.name]
    if origin.full_graph_sha256 is not None:
        manifest["full_graph_sha256"] = origin.full_graph_sha256
    write_card_set(out, near_misses.cards, manifest)
    for name, labels in near_misses.counts.items():
        counts = ", ".join(f"{label} {n}" for label, n in labels.items()) or "none"
        print_text(f"  {name:18s} {counts}")
    print_text(
        f"{len(near_misses.cards)} near-misses → {out}   [cards:{manifest['cards_sha256'][:12]}]"
    )
    if audit and not leaks and not unaudited:
        print_text(f"audit: none of {card_audit.tests} baselines predicts the labels")
    for note in (*leaks, *unaudited, *near_misses.notes):
        print_warning(note)


if __name__ == "__main__":
    run_script(main)
