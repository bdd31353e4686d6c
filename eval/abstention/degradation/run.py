"""Asks systems the same cards on a graph at several levels of degradation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from cards.card import read_cards
from cards.card_integrity import accept_changed_cards
from cards.card_origin import read_card_origin, require_same_graph, resolve_sources
from eval.abstention.degradation.curves import (
    DATA_NAME,
    Degradation,
    DegradationPoint,
    adjust_over_levels,
    measure_level,
)
from eval.abstention.degradation.degraded_graph import (
    GraphDegrader,
    Level,
    list_degraded_sentences,
)
from eval.abstention.degradation.degraded_system import show_degraded_cards
from eval.abstention.result import read_results
from eval.abstention.runner import run
from eval.abstention.system import AnySystem, SystemOptions
from eval.abstention.systems.registry import make_systems, refuse_unused_model
from eval.harness.failed_rows import format_counts, report_failed_rows
from eval.harness.session import RunLimits
from eval.metrics.measurement import ResamplingPlan
from eval.metrics.record_digest import add_digest
from kg.base.console import print_text
from kg.base.errors import SettingError
from kg.base.files import write_bytes_atomic, write_json_atomic
from kg.base.plain_text import clean_text
from kg.base.provenance import package_version
from kg.knowledge import KnowledgeBase

_GRAPH_NAME = "graph.nt"
_MAX_SHARE = 0.9
_UNSAFE = re.compile(r"[^\w.@-]+")


@dataclass(frozen=True, kw_only=True)
class DegradationPlan:
    """What is asked.

    Attributes:
        cards: the card file.
        out: folder of the graphs, the results and the curves.
        systems: names of systems, as ``epoche eval`` takes them.
        levels: how much of the graph is damaged.
        options: of the systems; domain, graph and shapes are those that the user named.
        resampling: how cards are resampled; its seed decides the damage, too.
        limits: as in ``eval.abstention.runner.run``.
        retry_errors: ask again the questions that ended in ``ERROR``.
        allow_changed: accept cards and rows that changed after they were made.
    """

    cards: Path
    out: Path
    systems: Sequence[str]
    levels: Sequence[Level]
    options: SystemOptions
    resampling: ResamplingPlan
    limits: RunLimits
    retry_errors: bool = False
    allow_changed: bool = False


def parse_levels(drop: str, replace: str) -> list[Level]:
    """Reads lists of shares such as ``.1,.2``; the graph without damage comes first.

    Raises:
        SettingError: a share is no number in (0, 0.9], or there is none.
    """
    levels = [
        *(Level(dropped=share) for share in _parse_shares(drop, "--drop")),
        *(Level(replaced=share) for share in _parse_shares(replace, "--replace")),
    ]
    if not levels:
        raise SettingError("no share of the facts is given", where="--drop and --replace")
    return [Level(), *levels]


def _parse_shares(text: str, option: str) -> list[float]:
    shares = set()
    for part in filter(None, map(str.strip, text.split(","))):
        try:
            share = float(part)
        except ValueError:
            share = -1.0
        if not 0 <= share <= _MAX_SHARE:
            raise SettingError(
                f"{clean_text(part)!r} is no share between 0 and {_MAX_SHARE}",
                where=option,
                hint=f"For example {option} .1,.2",
            )
        shares.add(share)
    return sorted(shares - {0.0})


def run_degradation(plan: DegradationPlan) -> Degradation:
    """Asks every system all cards at every level, and writes and returns the curves.

    What an interrupted run has answered is kept: the same call asks only what is missing.

    Raises:
        CardSetMismatchError: the cards were made from another graph.
        RecordError: a card does not say which triples its facts state.
        EpocheError: as in ``eval.abstention.runner.run``.
    """
    accept_changed_cards([plan.cards], allow_changed=plan.allow_changed)
    origin = read_card_origin(plan.cards)
    named = plan.options
    domain, graph, shapes = resolve_sources(
        origin, plan.cards, named.domain, named.graph, named.shapes
    )
    kb = KnowledgeBase.open(domain, graph, shapes)
    require_same_graph(origin, kb.graph.sha256, plan.cards)
    cards = read_cards(plan.cards)
    degrader = GraphDegrader(kb, plan.resampling.seed)
    points: list[DegradationPoint] = []
    files: list[Path] = []
    for level in plan.levels:
        degraded = degrader.degrade(level)
        graph_file = plan.out / level.name / _GRAPH_NAME
        write_bytes_atomic(graph_file, degraded.graph.to_ntriples())
        sentences = list_degraded_sentences(cards, degraded, kb, str(plan.cards))
        options = replace(named, domain=domain, graph=(graph_file,), shapes=shapes)
        systems = {name: make_systems(name, options) for name in plan.systems}
        refuse_unused_model(options, systems)
        level_files = [
            _ask_system(
                plan,
                name,
                [show_degraded_cards(system, level, sentences) for system in made],
                level,
                origin.domain or domain,
            )
            for name, made in systems.items()
        ]
        results = measure_level(
            level_files, plan.cards, plan.resampling, allow_changed=plan.allow_changed
        )
        files += level_files
        points.append(
            DegradationPoint(
                dropped=level.dropped,
                replaced=level.replaced,
                n_dropped=len(degraded.dropped),
                n_replaced=len(degraded.replaced),
                graph=f"{level.name}/{_GRAPH_NAME}",
                graph_sha256=degraded.graph.sha256,
                estimates=results.estimates,
                comparisons=results.comparisons,
            )
        )
    found = Degradation(
        version=package_version(),
        cards=results.items,
        n_cards=results.n_items,
        n_facts=degrader.n_facts,
        systems=tuple(points[0].estimates),
        seed=plan.resampling.seed,
        resamples=plan.resampling.resamples,
        confidence=plan.resampling.confidence,
        warnings=results.warnings,
        points=adjust_over_levels(points),
    )
    found = add_digest(found)
    write_json_atomic(plan.out / DATA_NAME, found)
    for file in files:
        outcomes = ((row.system, row.pred) for row in read_results(file))
        report_failed_rows(outcomes, field="error", where=file)
    return found


def _ask_system(
    plan: DegradationPlan,
    name: str,
    systems: Sequence[AnySystem],
    level: Level,
    domain: str | None,
) -> Path:
    """Asks a system all cards at one level, and returns the file of its answers."""
    file = plan.out / level.name / f"{_UNSAFE.sub('-', name)}_results.jsonl"
    finished = run(
        plan.cards,
        systems,
        file,
        system_name=name,
        seed=plan.options.seed,
        domain=domain,
        other_graph=True,
        set_aside=True,
        retry_errors=plan.retry_errors,
        allow_changed=plan.allow_changed,
        limits=plan.limits,
    )
    counts_text = format_counts(finished.manifest.counts)
    print_text(f"{level.name}: {clean_text(name)}: {finished.asked} answers   [{counts_text}]")
    return file
