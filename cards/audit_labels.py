"""Audits a card file: ``epoche audit``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import run_script, say, say_json
from kg.base.options import DomainName, EngineName, ShapesEngine, ShapesFiles

if TYPE_CHECKING:
    from cards.audit import Audit, Baseline
    from cards.relabel import Relabelling

SHOWN_DISAGREEMENTS = 10


def main(
    cards: Annotated[Path, typer.Argument(help="Card file (JSONL), ours or another's.")],
    kg: Annotated[
        list[Path] | None,
        typer.Option("--kg", help="Graph file to prove the labels on; repeatable."),
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
            help="Fail when a baseline LEAKS and is more than this above chance.",
        ),
    ] = None,
    fail: Annotated[
        bool, typer.Option("--fail", help="Fail on any leak, and on any label not proved.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tells whether a card's label can be read off its surface, without graph or reasoning."""
    import msgspec

    from cards.audit import audit_cards
    from cards.card import read_cards
    from cards.kinds import FAITHFULNESS_KINDS
    from cards.surface import tail
    from kg.base.errors import AuditFailedError

    read = read_cards(cards)
    main_set = [card for card in read if card.kind not in FAITHFULNESS_KINDS]
    popularity = relabelling = name = None
    if kg or shapes or domain:
        from cards.relabel import relabel
        from kg.knowledge import KnowledgeBase

        kb = KnowledgeBase.open(domain, kg or [], shapes or [], engine=engine.value)
        relabelling = relabel(read, kb.oracle)
        index = kb.graph.index
        name = kb.words.name

        def popularity(term: str) -> int:
            """How many facts of the graph have the term as object."""
            node = index.terms.get(term)
            if node is None:
                return 0
            return sum(len(index.subjects(p, node)) for p in index.predicates())

    found = audit_cards(main_set, seed=seed, popularity=popularity, name=name or tail)
    if as_json:
        report = {
            "audit": msgspec.to_builtins(found),
            "relabelling": msgspec.to_builtins(relabelling),
        }
        say_json(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        _show(found, left_out=len(read) - len(main_set))
        if relabelling is not None:
            _show_relabelling(relabelling)
    limit = max_leak if max_leak is not None else 0.0 if fail else None
    if limit is not None:
        leaks = [b for b in found.leaks if b.excess > limit]
        if leaks:
            worst = max(leaks, key=lambda b: b.excess)
            raise AuditFailedError(
                f"labels can be read off the surface: {worst.name} is right on "
                f"{worst.accuracy:.1%} of cards, chance {worst.chance:.1%}",
                where=str(cards),
                hint=f"{len(leaks)} of {found.tests} baselines leak; see docs/audit.md.",
            )
        if fail and relabelling is not None and relabelling.disagreements:
            raise AuditFailedError(
                f"{len(relabelling.disagreements)} of {relabelling.checked} labels are not "
                "what the oracle proves",
                where=str(cards),
                hint="Run without --fail to see them, or with --json for all.",
            )


def _show(found: Audit, *, left_out: int) -> None:
    labels = ", ".join(f"{label} {n}" for label, n in found.labels.items())
    say(f"{found.n} cards ({labels}) about {found.groups} clusters")
    if left_out:
        say(f"{left_out} context-faithfulness cards are left out: they are a set of their own")
    for note in found.notes:
        say(f"note: {note}")
    if found.baselines:
        level = 1 - found.alpha / found.tests
        say("")
        say(
            f"Baselines without a graph, cross-validated by cluster and facts ({level:.2%} "
            f"intervals: {found.tests} are tested together at {1 - found.alpha:.0%})"
        )
        for baseline in found.baselines:
            _line(baseline)
    say("")
    say(
        f"String rules, reported apart: comparing pairs is the task in part "
        f"({1 - found.alpha:.0%} intervals)"
    )
    for rule in found.rules:
        _line(rule)
    for state in found.states:
        shown = ", ".join(f"{label} {n}" for label, n in state.counts.items())
        say(f"one state, several labels: {state.state}: {shown}")
        if {"C", "U"} <= set(state.counts) and state.state.startswith("another value"):
            say(
                "  Where the predicate takes one value only, U cards in this state are "
                "contradictory; --kg and --shapes have them proved."
            )
    if found.baselines:
        leaks = len(found.leaks)
        verdict = f"{leaks} LEAK" if leaks else "none leaks"
        say(f"verdict: of {found.tests} baselines, {verdict}")


def _line(row: Baseline) -> None:
    area = "" if row.auc is None else f"  AUC(E) {row.auc:.2f}"
    verdict = "" if row.verdict == "task" else f"  {row.verdict}"
    say(
        f"  {row.name:<64s} {row.accuracy:6.3f} [{row.low:.3f}, {row.high:.3f}] "
        f"chance {row.chance:.3f}{verdict}{area}"
    )


def _show_relabelling(found: Relabelling) -> None:
    say("")
    say(f"Labels proved again: {found.checked} cards, {len(found.disagreements)} disagree")
    for label, verdicts in found.table.items():
        shown = ", ".join(f"{verdict} {n}" for verdict, n in verdicts.items())
        say(f"  file says {label}: oracle says {shown}")
    for wrong in found.disagreements[:SHOWN_DISAGREEMENTS]:
        say(f"  {wrong.id}: {wrong.label} in the file, proved {wrong.verdict} ({wrong.reason})")
    more = len(found.disagreements) - SHOWN_DISAGREEMENTS
    if more > 0:
        say(f"  … and {more} more (--json lists all)")


if __name__ == "__main__":
    run_script(main)
