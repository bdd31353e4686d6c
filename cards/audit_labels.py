"""Audits a card file for leakage, as ``epoche audit`` or as a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from kg.base.console import print_json, print_text, run_script
from kg.base.options import DomainName, EngineName, ShapesEngine, ShapesFiles

if TYPE_CHECKING:
    from cards.label_check import LabelCheck
    from cards.leakage.audit import Audit, Baseline
    from kg.claims import Regime

MAX_PRINTED_DISAGREEMENTS = 10


def main(
    cards: Annotated[
        Path, typer.Argument(help="Card file (JSONL), made by Epoché or another program.")
    ],
    kg: Annotated[
        list[Path] | None,
        typer.Option(
            "--kg",
            help="Graph file to prove the labels on; repeatable. Default: the one that the cards' "
            "manifest names.",
        ),
    ] = None,
    shapes: ShapesFiles = None,
    domain: DomainName = None,
    engine: ShapesEngine = EngineName.incremental,
    seed: Annotated[int, typer.Option(help="Seed of the folds and learners.")] = 12345,
    max_leak: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Fail when a baseline LEAKS and its accuracy is more than this above chance.",
        ),
    ] = None,
    fail: Annotated[
        bool, typer.Option("--fail", help="Fail on any leak and any label not confirmed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tests whether labels can be predicted from the cards' surface, without graph or reasoning."""
    import msgspec

    from cards.card import read_cards
    from cards.card_origin import read_card_origin, resolve_sources
    from cards.generation.kinds import FAITHFULNESS_KINDS
    from cards.leakage.audit import audit_cards
    from cards.leakage.surface import get_readable_name
    from kg.base.errors import AuditFailedError

    all_cards = read_cards(cards)
    audited_cards = [card for card in all_cards if card.kind not in FAITHFULNESS_KINDS]
    get_popularity = label_check = get_name = None
    regime = None
    graph_files, shapes_files = tuple(kg or ()), tuple(shapes or ())
    origin = read_card_origin(cards)
    if domain is None and not graph_files:
        regime = cast("Regime | None", origin.regime)
    domain, graph_files, shapes_files = resolve_sources(
        origin, cards, domain, graph_files, shapes_files
    )
    if graph_files or shapes_files or domain:
        from cards.label_check import check_labels
        from kg.knowledge import KnowledgeBase

        kb = KnowledgeBase.open(domain, graph_files, shapes_files, regime, engine.value)
        label_check = check_labels(all_cards, kb.oracle)
        index = kb.graph.index
        get_name = kb.verbaliser.render_term

        def get_popularity(term: str) -> int:
            """Counts the facts of the graph that have the term as object."""
            node = index.terms.get(term)
            if node is None:
                return 0
            return sum(len(index.find_subjects(p, node)) for p in index.list_predicates())

    audit = audit_cards(
        audited_cards,
        seed=seed,
        get_popularity=get_popularity,
        get_name=get_name or get_readable_name,
    )
    if as_json:
        report = {
            "audit": msgspec.to_builtins(audit),
            "relabelling": msgspec.to_builtins(label_check),
        }
        print_json(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        _print_audit(audit, n_excluded=len(all_cards) - len(audited_cards))
        if label_check is not None:
            _print_label_check(label_check)
    # --fail alone allows no leak at all.
    max_excess = 0.0 if fail and max_leak is None else max_leak
    if max_excess is not None:
        leaks = [b for b in audit.leaks if b.excess > max_excess]
        if leaks:
            largest_leak = max(leaks, key=lambda b: b.excess)
            raise AuditFailedError(
                "labels can be predicted from the surface: the baseline "
                f"{largest_leak.name!r} is right on {largest_leak.accuracy:.1%} of cards, "
                f"chance is {largest_leak.chance:.1%}",
                where=str(cards),
                hint=f"{len(leaks)} of {audit.tests} baselines leak; see docs/how-to/audit.md.",
            )
        if fail and label_check is not None and label_check.disagreements:
            raise AuditFailedError(
                f"{len(label_check.disagreements)} of {label_check.checked} labels differ from "
                "what the oracle proves",
                where=str(cards),
                hint="The first ones are listed above; --json lists all.",
            )


def _print_audit(audit: Audit, *, n_excluded: int) -> None:
    labels = ", ".join(f"{label} {n}" for label, n in audit.labels.items())
    print_text(f"{audit.n} cards ({labels}) in {audit.groups} clusters")
    if n_excluded:
        print_text(f"{n_excluded} context-faithfulness cards are excluded: they are a separate set")
    for note in audit.notes:
        print_text(f"note: {note}")
    if audit.baselines:
        level = 1 - audit.alpha / audit.tests
        print_text("")
        print_text(
            f"Baselines without a graph, cross-validated by cluster and facts ({level:.2%} "
            f"intervals, jointly valid for all {audit.tests} at {1 - audit.alpha:.0%} confidence)"
        )
        for baseline in audit.baselines:
            _print_baseline(baseline)
    print_text("")
    print_text(
        f"String rules, not counted as leaks because comparing pairs is part of the task "
        f"({1 - audit.alpha:.0%} intervals)"
    )
    for rule in audit.rules:
        _print_baseline(rule)
    for state in audit.states:
        counts = ", ".join(f"{label} {n}" for label, n in state.counts.items())
        print_text(f"same state, several labels: {state.state}: {counts}")
        if {"C", "U"} <= set(state.counts) and state.state.startswith("another value"):
            print_text(
                "  If the predicate has only one value per subject, U cards in this state are "
                "wrong: they should be C. Give --kg and --shapes to check the labels."
            )
    if audit.baselines:
        leaks = len(audit.leaks)
        verdict = f"{leaks} LEAK" if leaks else "none leaks"
        print_text(f"result: of {audit.tests} baselines, {verdict}")


def _print_baseline(baseline: Baseline) -> None:
    auc = "" if baseline.auc is None else f"  AUC(E) {baseline.auc:.2f}"
    verdict = "" if baseline.verdict == "task" else f"  {baseline.verdict}"
    print_text(
        f"  {baseline.name:<64s} {baseline.accuracy:6.3f} [{baseline.low:.3f}, "
        f"{baseline.high:.3f}] chance {baseline.chance:.3f}{verdict}{auc}"
    )


def _print_label_check(check: LabelCheck) -> None:
    print_text("")
    print_text(
        f"Labels checked by the oracle: {check.checked} cards, {len(check.disagreements)} disagree"
    )
    for label, verdicts in check.table.items():
        counts = ", ".join(f"{verdict} {n}" for verdict, n in verdicts.items())
        print_text(f"  label in the file {label}: oracle proves {counts}")
    for disagreement in check.disagreements[:MAX_PRINTED_DISAGREEMENTS]:
        print_text(
            f"  {disagreement.id}: {disagreement.label} in the file, "
            f"{disagreement.verdict} by the oracle ({disagreement.reason})"
        )
    n_omitted = len(check.disagreements) - MAX_PRINTED_DISAGREEMENTS
    if n_omitted > 0:
        print_text(f"  … and {n_omitted} more (--json lists all)")


if __name__ == "__main__":
    run_script(main)
