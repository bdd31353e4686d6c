"""Audits a card file for leakage, as ``epoche audit`` or as a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from kg.base.console import print_json, print_text, print_warning, run_script
from kg.base.options import DomainName, EngineName, ShapesEngine, ShapesFiles

if TYPE_CHECKING:
    from cards.label_check import LabelCheck
    from cards.leakage.audit import Audit, Baseline
    from kg.claims import Regime
    from kg.graph import Graph
    from kg.knowledge import KnowledgeBase

MAX_PRINTED_DISAGREEMENTS = 10


def main(
    cards: Annotated[
        Path, typer.Argument(help="Card file (JSONL), made by Epoché or another program.")
    ],
    kg: Annotated[
        list[Path] | None,
        typer.Option(
            "--kg",
            help="Graph file to prove the labels on and to count links in; repeatable. Default: "
            "the one that the cards' manifest names.",
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
            help="Fail when a baseline LEAKS and one of its measures is more than this above "
            "chance.",
        ),
    ] = None,
    fail: Annotated[
        bool, typer.Option("--fail", help="Fail on any leak and any label not confirmed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tests whether labels can be predicted without reading the cards and without reasoning.

    Works on cards and near-misses. The attack by the entities' degrees needs a graph.
    """
    import msgspec

    from cards.card import read_cards
    from cards.generation.graph_lookup import GraphLookup
    from cards.generation.kinds import FAITHFULNESS_KINDS
    from cards.label_check import check_labels
    from cards.leakage.audit import audit_cards
    from cards.leakage.degrees import DegreeCounter
    from cards.leakage.surface import get_readable_name
    from kg.base.errors import AuditFailedError
    from kg.entailment import Closure

    all_cards = read_cards(cards)
    audited_cards = [card for card in all_cards if card.kind not in FAITHFULNESS_KINDS]
    count_degrees = count_full_degrees = label_check = None
    get_name: Callable[[str], str] = get_readable_name
    kb = _open_sources(cards, domain, tuple(kg or ()), tuple(shapes or ()), engine)
    if kb is not None:
        label_check = check_labels(all_cards, kb.oracle)
        get_name = kb.verbaliser.render_term
        count_degrees = DegreeCounter(
            kb.graph.index, kb.oracle.closure.index, GraphLookup(kb)
        ).count
        full_graph = _load_full_graph(cards, kb, tuple(kg or ()))
        if full_graph is not None:
            closure = Closure(full_graph, kb.domain.regime)
            count_full_degrees = DegreeCounter(full_graph.index, closure.index).count
    audit = audit_cards(
        audited_cards,
        seed=seed,
        count_degrees=count_degrees,
        get_name=get_name,
        count_full_degrees=count_full_degrees,
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
            measure_name, measure = max(
                largest_leak.measures.items(), key=lambda named: named[1].excess
            )
            raise AuditFailedError(
                f"labels can be predicted from the surface: the baseline {largest_leak.name!r} "
                f"reaches {measure_name} {measure.value:.3f}, chance is {measure.chance:.3f}",
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


def _open_sources(
    cards: Path,
    domain: str | None,
    graph_files: tuple[Path, ...],
    shapes_files: tuple[Path, ...],
    engine: EngineName,
) -> KnowledgeBase | None:
    """Opens what the user named, else the graph and shapes that the cards' manifest names.

    Returns None, with a warning, if the latter cannot be opened.
    """
    from cards.card_origin import read_card_origin, resolve_sources
    from kg.base.errors import EpocheError
    from kg.knowledge import KnowledgeBase

    origin = read_card_origin(cards)
    is_named = bool(domain or graph_files or shapes_files)
    regime = None if domain or graph_files else cast("Regime | None", origin.regime)
    try:
        domain, graph_files, shapes_files = resolve_sources(
            origin, cards, domain, graph_files, shapes_files
        )
        if not (domain or graph_files):
            return None
        return KnowledgeBase.open(domain, graph_files, shapes_files, regime, engine.value)
    except EpocheError as error:
        if is_named:
            raise
        print_warning(f"the graph that the cards' manifest names cannot be opened: {error}")
        return None


def _load_full_graph(cards: Path, kb: KnowledgeBase, graph_files: tuple[Path, ...]) -> Graph | None:
    """Loads the graph before facts were set aside; None if none were, or if it is gone."""
    from cards.card_origin import read_card_origin
    from kg.domain import load_domain
    from kg.graph import Graph

    origin = read_card_origin(cards)
    domain_file = kb.domain.file
    for files in (
        graph_files,
        tuple(cards.parent / name for name in origin.full_graph_files),
        load_domain(domain_file).graph_files if domain_file else (),
    ):
        if origin.full_graph_sha256 and files and all(path.is_file() for path in files):
            graph = Graph.load(files)
            if graph.sha256 == origin.full_graph_sha256:
                return graph
    return None


def _print_audit(audit: Audit, *, n_excluded: int) -> None:
    from cards.leakage.audit import N_MEASURES

    labels = ", ".join(f"{label} {n}" for label, n in audit.labels.items())
    print_text(f"{audit.n} cards ({labels}) in {audit.groups} clusters")
    if n_excluded:
        print_text(f"{n_excluded} context-faithfulness cards are excluded: they are a separate set")
    for note in audit.notes:
        print_text(f"note: {note}")
    if audit.baselines:
        print_text("")
        print_text(
            f"Baselines, cross-validated by cluster and facts ({1 - audit.level:.2%} intervals, "
            f"jointly valid for {N_MEASURES} measures of all {audit.tests} at "
            f"{1 - audit.alpha:.0%} confidence)"
        )
        _print_baselines(audit.baselines)
        for name in audit.not_tried:
            print_text(f"  {name}: not tried, because that graph is not known (--kg or --domain)")
    if audit.truth_baselines:
        print_text("")
        print_text(
            f"Which of {audit.n_truth} unknown claims, half of them true, are true in the graph "
            "before facts were set aside; tells no label"
        )
        _print_baselines(audit.truth_baselines)
    print_text("")
    print_text(
        f"String rules, not counted as leaks because comparing pairs is part of the task "
        f"({1 - audit.alpha:.0%} intervals)"
    )
    _print_baselines(audit.rules)
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


def _print_baselines(baselines: Sequence[Baseline]) -> None:
    """Prints a table of baselines; its first line names the measures and what guessing gives."""
    width = max(len(baseline.name) for baseline in baselines)
    header = [
        f"{name} (chance {measure.chance:.3f})" for name, measure in baselines[0].measures.items()
    ]
    print_text(" ".join([f"  {'':<{width}s}", *(f" {text:<32s}" for text in header)]).rstrip())
    for baseline in baselines:
        cells = [
            f" {f'{m.value:.3f} [{m.low:.3f}, {m.high:.3f}]':<32s}"
            for m in baseline.measures.values()
        ]
        verdict = "" if baseline.verdict == "task" else f" {baseline.verdict}"
        print_text(" ".join([f"  {baseline.name:<{width}s}", *cells]).rstrip() + verdict)


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
