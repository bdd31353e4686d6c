"""Renders the report page from templates, with autoescaping; equal inputs give equal bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from eval.blocks.glossary import TEST_NAMES, list_report_terms
from eval.blocks.section import Section
from eval.blocks.text_format import format_percent
from kg.base.files import to_json_bytes
from kg.base.plain_text import join_list
from reporting.card_report.buyer_answers import BuyerAnswers
from reporting.card_report.card_data import (
    LABEL_NAMES,
    CardRow,
    build_card_data,
    choose_example,
)
from reporting.card_report.closed_book_view import CLOSED_BOOK_HEADS, list_closed_book_rows
from reporting.card_report.confidence_view import ConfidenceView
from reporting.card_report.failures import count_failures, list_failures
from reporting.card_report.group_view import GroupView
from reporting.card_report.inputs import ReportInputs
from reporting.card_report.report_view import ReportView
from reporting.card_report.summary_text import list_caveats, summarise_results
from reporting.card_report.usage import build_usage_table
from reporting.charts.draw import draw_bar, draw_chart
from reporting.outcomes import OUTCOMES
from reporting.page_templates import (
    compute_script_hash,
    get_environment,
    read_scripts,
    render_style,
)
from reporting.section_renderer import SectionView
from reporting.visible_text import embed_json, make_visible

MAX_STATIC_ROWS = 25
"""Number of cards rendered as static HTML, for readers without scripts: the first page of the
table."""

MAX_STATIC_FAILURES = 10
"""The same for the cards on which a system failed, which take more space."""


def render_report(
    inputs: ReportInputs,
    rows: Sequence[CardRow],
    *,
    title: str,
    subtitle: str,
    notices: Sequence[str],
    output_names: Sequence[str],
    benchmarks: Sequence[Section] = (),
) -> str:
    """Renders the report as one HTML document.

    Args:
        inputs: the checked inputs.
        rows: every card with its answers, in card order; not empty.
        title: the page's heading.
        subtitle: subject of the page, in a few words.
        notices: sentences shown in a box at the top.
        output_names: names of the files written next to the report.
        benchmarks: sections of other benchmarks' runs, placed after the report's own.
    """
    env = get_environment()
    view = ReportView(inputs.metrics)
    groups = GroupView(view)
    scripts = ["table.js", "report.js"]
    views = [SectionView(section) for section in benchmarks]
    if any(view.has_samples for view in views):
        scripts.append("samples.js")
    script = read_scripts(*scripts)
    coverage_chart = view.build_coverage_chart()
    near_misses, faithfulness = groups.build_near_misses(), groups.build_faithfulness()
    failures = list_failures(rows)
    kinds, difficulties = groups.build_kinds(), groups.build_difficulties()
    comparisons = _collect_comparisons(view)
    confidence = ConfidenceView(view)
    usage = build_usage_table(inputs.usage, view.systems, [run.manifest for run in inputs.runs])
    repeats = view.list_repeats()
    own_sections: list[tuple[str, str, object]] = [
        ("headline", "Headline", True),
        ("charts", "Charts", True),
        ("outcomes", "Outcomes", True),
        ("kinds", "Kinds", kinds.sections or difficulties.sections),
        ("near-misses", "Near-misses", near_misses.sections),
        ("faithfulness", "Faithfulness", faithfulness.sections),
        ("pairs", "Pairs", comparisons),
        ("confidence", "Confidence", confidence.has_confidence),
        ("usage", "Cost" if usage.lines else "Repeats", usage.lines or repeats),
        ("failures", "Failures", failures),
        ("cards", "Cards", True),
        ("glossary", "How to read this", True),
        ("provenance", "Provenance", True),
    ]
    sections = [(id_, name) for id_, name, content in own_sections if content]
    sections += [(section.id, make_visible(section.name)) for section in benchmarks]
    counts = inputs.metrics.label_counts
    total = sum(counts.values())
    answerable = (counts.get("E", 0) + counts.get("C", 0)) / total if total else None
    answers = BuyerAnswers(view, inputs.usage, [run.manifest for run in inputs.runs])
    summary = summarise_results(inputs.metrics, view.systems)
    context: dict[str, Any] = {
        "report": inputs.metrics,
        "version": inputs.metrics.version,
        "title": title,
        "subtitle": subtitle,
        "warnings": [make_visible(text) for text in inputs.warnings],
        "notices": [make_visible(text) for text in notices],
        "answers": answers.list_answers(),
        "answer_chart": answers.build_chart(),
        "answer_chart_title": answers.chart_title,
        "answer_scale": answers.scale,
        "summary": [
            make_visible(" ".join(texts))
            for texts in (summary.verdict, [*summary.details, *list_caveats(inputs.metrics)])
        ],
        "example": choose_example(rows, view.list_competitors()),
        "example_title": answers.example_title,
        "stats": _build_stats(inputs, view),
        "sections": sections,
        "confidence": f"{inputs.metrics.confidence * 100:g}",
        "tables": view.build_headline_tables(),
        "other_tables": view.build_other_tables(),
        "panels": view.build_panels(),
        "outcomes": OUTCOMES,
        "outcome_bars": view.build_outcome_bars(),
        "coverage_chart": coverage_chart,
        "memories": view.list_memories(),
        "closed_books": list_closed_book_rows(view),
        "closed_book_heads": CLOSED_BOOK_HEADS,
        "penalty_charts": view.build_penalty_charts(),
        "silent_systems": view.list_silent_systems(),
        "draw_chart": draw_chart,
        "draw_bar": draw_bar,
        "answerable": format_percent(answerable),
        "heat_maps": view.build_heat_maps(),
        "error_columns": view.error_columns,
        "error_rows": view.count_errors(),
        "kinds": kinds,
        "difficulties": difficulties,
        "near_misses": near_misses,
        "faithfulness": faithfulness,
        "near_miss_answers": groups.count_answers("near_misses"),
        "faithfulness_answers": groups.count_answers("faithfulness"),
        "comparisons": comparisons,
        "confidence_view": confidence,
        "usage": usage,
        "repeats": repeats,
        "test_names": TEST_NAMES,
        "terms": list_report_terms(are_labels_proved=inputs.are_labels_proved),
        "signatures": view.list_signatures(),
        "manifests": _collect_manifests(inputs),
        "beside": join_list([make_visible(name) for name in output_names]) or "nothing",
        "label_names": LABEL_NAMES,
        "predicates": sorted({row.predicate for row in rows}),
        "has_difficulty": any(row.difficulty for row in rows),
        "has_controls": any(answer.control for answer in rows[0].answers),
        "first_rows": rows[:MAX_STATIC_ROWS],
        "failure_rows": [rows[position] for position in failures[:MAX_STATIC_FAILURES]],
        "failure_count": len(failures),
        "failure_counts": count_failures(rows),
        "benchmarks": views,
        "card_count": f"{len(rows):,} cards",
        # Only these three values are not escaped by the template: the style and the script are
        # package files, and `embed_json` escapes the JSON for a script element.
        "css": render_style(),
        "script": Markup(script),  # noqa: S704  our own file
        "card_json": Markup(embed_json(build_card_data(rows, failures))),  # noqa: S704  escaped by `embed_json`
        "script_hash": compute_script_hash(script),
    }
    return env.get_template("report.html.j2").render(context) + "\n"


def _build_stats(inputs: ReportInputs, view: ReportView) -> list[tuple[str, str]]:
    report = inputs.metrics
    stats = [
        (f"{report.n_cards:,}", "cards"),
        (str(len(view.systems)), "system" if len(view.systems) == 1 else "systems"),
        (str(len(view.controls)), "controls"),
    ]
    if any(card.cluster for card in inputs.cards):
        stats.insert(1, (f"{report.n_clusters:,}", "subjects of the cards"))
    if report.n_near_misses:
        stats.insert(1, (f"{report.n_near_misses:,}", "near-misses, separate"))
    if report.n_faithfulness:
        stats.insert(1, (f"{report.n_faithfulness:,}", "faithfulness cards, separate"))
    return stats


def _collect_comparisons(view: ReportView) -> list[tuple[str, Any]]:
    names = [view.main_policy, *(p for p in view.report.policies if p != view.main_policy)]
    comparisons = [(name, view.group_comparisons(name)) for name in names]
    return [(name, groups) for name, groups in comparisons if groups]


def _collect_manifests(inputs: ReportInputs) -> list[tuple[str, str]]:
    return [
        (
            make_visible(run.name),
            make_visible(to_json_bytes(run.manifest, indent=2).decode("utf-8")),
        )
        for run in inputs.runs
    ]
