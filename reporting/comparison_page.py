"""Renders a comparison as one self-contained HTML file; equal inputs give equal bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from eval.abstention.comparison.report import ComparisonReport
from eval.abstention.comparison.text import describe_shared_cards
from eval.abstention.metrics.record import CardComparison
from eval.blocks.comparison_text import is_significant
from eval.blocks.glossary import (
    COMPARISON_TERMS,
    POLICY_DESCRIPTIONS,
    RANKING_NAMES,
    TEST_NAMES,
    describe_metric,
)
from eval.blocks.section import Section
from eval.blocks.text_format import format_name
from kg.base.files import to_json_bytes
from kg.base.plain_text import join_list
from reporting.card_report.summary_text import (
    compare_neighbours,
    describe_difference,
    spell_system_count,
)
from reporting.charts.draw import draw_chart
from reporting.comparison_view import ComparisonView
from reporting.page_templates import get_environment, render_style
from reporting.section_renderer import SectionView
from reporting.visible_text import make_visible

TITLE = "Which system is better, and is the difference significant?"

_MAX_NAMED_SYSTEMS = 6


def render_comparison(
    report: ComparisonReport, *, output_names: Sequence[str], sections: Sequence[Section] = ()
) -> str:
    """Renders the comparison as one HTML document.

    Args:
        report: the comparison.
        output_names: names of the files written next to the page.
        sections: further sections, placed after the metrics.
    """
    env = get_environment()
    view = ComparisonView(report)
    parts = [view.build_parts(name) for name in view.metrics]
    descriptions = {part[0].key: (part[0].description, part[0].direction) for part in parts}
    missing_by_system = {entry.system: entry for entry in report.shared.lacking}
    pairs = len(view.list_pairs(view.policies[0], view.metrics[0])) if view.policies else 0
    context: dict[str, Any] = {
        "report": report,
        "version": report.version,
        "script_hash": "",
        "title": TITLE,
        "subtitle": f"card set {make_visible(report.cards)}",
        "warnings": [make_visible(text) for text in report.warnings],
        "notices": [
            make_visible(x) for x in (*describe_shared_cards(report.shared)[1:], *report.notes)
        ],
        "lede": [make_visible(line) for line in _build_opening(view)],
        "stats": [
            (f"{report.n_cards:,}", "cards compared"),
            (f"{report.n_clusters:,}", "clusters (subjects of the cards)"),
            (f"{len(view.systems):,}", "systems"),
            (f"{pairs:,}", "pairs" if pairs != 1 else "pair"),
        ],
        "sections": [
            ("standings", "Standings"),
            *((f"m-{to_slug(name)}", describe_metric(name).short_name) for name in view.metrics),
            *((section.id, make_visible(section.name)) for section in sections),
            ("cards", "Which cards"),
            ("glossary", "How to read this"),
            ("provenance", "Provenance"),
        ],
        "policies": [
            (
                policy,
                POLICY_DESCRIPTIONS.get(policy, ""),
                [descriptions[name] for name in view.list_metrics(policy)],
                view.build_standings(policy),
            )
            for policy in view.policies
        ],
        "parts": parts,
        "more_sections": [SectionView(section) for section in sections],
        "ranking": view.ranking_name,
        "to_slug": to_slug,
        "baseline": format_name(report.baseline or ""),
        "confidence": f"{report.confidence * 100:g}",
        "test_names": TEST_NAMES,
        "shared_lines": [make_visible(line) for line in describe_shared_cards(report.shared)],
        "files": [
            (
                make_visible(source.path),
                join_list([format_name(name) for name in source.systems]),
                f"{source.rows:,}",
                join_list(
                    [
                        f"{format_name(name)} misses {missing_by_system[name].cards:,}: "
                        f"{missing_by_system[name].why}"
                        for name in source.systems
                        if name in missing_by_system
                    ]
                )
                or "complete",
            )
            for source in report.sources
        ],
        "terms": COMPARISON_TERMS,
        "signatures": view.list_signatures(),
        "manifests": [
            (
                make_visible(source.path),
                make_visible(to_json_bytes(source.manifest, indent=2).decode()),
            )
            for source in report.sources
            if source.manifest is not None
        ],
        "beside": join_list([make_visible(name) for name in output_names]) or "nothing",
        "css": render_style(),
    }
    return env.get_template("comparison.html.j2").render(context, draw_chart=draw_chart) + "\n"


def to_slug(metric: str) -> str:
    """Returns a metric's name as part of an identifier of the page."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", metric)


def _build_opening(view: ComparisonView) -> list[str]:
    """Writes the opening paragraph: what was compared, and the significant differences."""
    report = view.report
    sentences = [
        f"{spell_system_count(len(view.systems))} answered the same {report.n_cards:,} cards."
    ]
    if not view.policies or view.ranking not in view.metrics:
        return sentences
    pairs = view.list_pairs(view.policies[0], view.ranking)
    n_significant = sum(map(is_significant, pairs))
    if report.baseline is None:
        if len(view.systems) > _MAX_NAMED_SYSTEMS:
            sentences.append(_describe_leader(pairs, view.systems[0]))
        else:
            sentences += compare_neighbours(pairs, view.systems)
        if len(pairs) > 1:
            sentences.append(
                f"{view.ranking_name.capitalize()} differs significantly in "
                f"{n_significant or 'none'} of all {len(pairs)} "
                "pairs; the other metrics are tested below."
            )
        return sentences
    name = format_name(report.baseline)
    differences = [describe_difference(pair) for pair in pairs if pair.better is not None]
    if differences:
        listed_differences = differences[:_MAX_NAMED_SYSTEMS]
        n_omitted = len(differences) - len(listed_differences)
        suffix = f", and {n_omitted} more such differences" if n_omitted else ""
        sentences.append(f"Paired tests find {join_list(listed_differences)}{suffix}.")
    undecided_names = [
        format_name(pair.candidate) for pair in pairs if pair.better is None and pair.p is not None
    ]
    if undecided_names:
        listed_names = [*undecided_names[:_MAX_NAMED_SYSTEMS]]
        n_omitted = len(undecided_names) - len(listed_names)
        if n_omitted:
            listed_names.append(f"{n_omitted} more")
        sentences.append(
            f"They find no difference in {view.ranking_name} between {name} and "
            f"{join_list(listed_names)}."
        )
    return sentences


def _describe_leader(pairs: Sequence[CardComparison], leader: str) -> str:
    """Describes the system that ranks first, for comparisons of many systems."""
    leader_pairs = [pair for pair in pairs if leader in (pair.candidate, pair.baseline)]
    undecided_names = [
        format_name(pair.baseline if pair.candidate == leader else pair.candidate)
        for pair in leader_pairs
        if not pair.better and pair.p is not None
    ]
    n_better = sum(pair.better == leader for pair in leader_pairs)
    text = (
        f"{format_name(leader)} has the highest {RANKING_NAMES[pairs[0].metric]}: paired tests "
        f"show it to be better than {n_better} of the other "
        f"{len(leader_pairs)}"
    )
    if not undecided_names:
        return f"{text}."
    listed_names = undecided_names[:_MAX_NAMED_SYSTEMS]
    n_omitted = len(undecided_names) - len(listed_names)
    suffix = [f"{n_omitted} more"] if n_omitted else []
    return f"{text}, and find no difference from {join_list([*listed_names, *suffix])}."
