"""The page itself: templates filled with the view, autoescaped, the same bytes every time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from kg.base.files import to_json_bytes
from kg.words.plain_text import listing
from reporting.benchmark_sections.section import Section
from reporting.card_data import (
    LABEL_WORDS,
    OUTCOMES,
    CardRow,
    card_data,
)
from reporting.charts import percent
from reporting.confidence_view import ConfidenceView
from reporting.glossary import TERMS, TEST_WORDS
from reporting.group_view import GroupView
from reporting.inputs import Inputs
from reporting.templating import content_hash, environment, script, style
from reporting.usage import usage_table
from reporting.verdict import caveats, verdict
from reporting.view import View
from reporting.visible import embed, visible

FIRST_ROWS = 25
"""Cards that stand in the page as HTML, for readers without scripts: the first page."""


def render(
    inputs: Inputs,
    rows: Sequence[CardRow],
    *,
    title: str,
    subtitle: str,
    notices: Sequence[str],
    beside: Sequence[str],
    benchmarks: Sequence[Section] = (),
) -> str:
    """The whole report as one HTML document.

    Args:
        inputs: the checked inputs.
        rows: every card with its answers, in card order; not empty.
        title: the page's heading.
        subtitle: what it is about, in a few words.
        notices: what a reader must know before reading, in plain sentences.
        beside: names of the files written beside the report.
        benchmarks: sections of other benchmarks' runs, shown after the report's own.
    """
    env = environment()
    view = View(inputs.metrics)
    groups = GroupView(view)
    scripts = ["table.js", "report.js"]
    if any(one.has_samples for one in benchmarks):
        scripts.append("samples.js")
    code = script(*scripts)
    scatter = view.scatter()
    near_misses, faithfulness = groups.near_misses(), groups.faithfulness()
    sections = [
        ("headline", "Headline"),
        ("charts", "Charts"),
        ("outcomes", "Outcomes"),
        ("kinds", "Kinds"),
        *([("near-misses", "Near-misses")] if near_misses.sections else []),
        *([("faithfulness", "Faithfulness")] if faithfulness.sections else []),
        ("pairs", "Pairs"),
        ("confidence", "Confidence"),
        ("usage", "Cost"),
        ("cards", "Cards"),
        ("glossary", "How to read this"),
        ("provenance", "Provenance"),
        *((one.id, visible(one.name)) for one in benchmarks),
    ]
    counts = inputs.metrics.label_counts
    total = sum(counts.values())
    answerable = (counts.get("E", 0) + counts.get("C", 0)) / total if total else None
    said = verdict(inputs.metrics, view.systems, proved=not inputs.unproved)
    context: dict[str, Any] = {
        "report": inputs.metrics,
        "version": inputs.metrics.version,
        "title": title,
        "subtitle": subtitle,
        "notices": [visible(text) for text in notices],
        "verdict": [visible(text) for text in said],
        "caveats": [visible(text) for text in caveats(inputs.metrics)],
        "stats": _stats(inputs, view),
        "sections": sections,
        "confidence": f"{inputs.metrics.confidence * 100:g}",
        "tables": view.headline_tables(),
        "further": view.further_tables(),
        "panels": view.panels(),
        "outcomes": OUTCOMES,
        "outcome_bars": view.outcome_bars(),
        "scatter": scatter,
        "answerable": percent(answerable),
        "heats": view.heat_maps(),
        "trouble_columns": view.trouble_columns,
        "troubles": view.troubles(),
        "kinds": groups.kinds(),
        "difficulties": groups.difficulties(),
        "near_misses": near_misses,
        "faithfulness": faithfulness,
        "near_misses_said": groups.said("near_misses"),
        "faithfulness_said": groups.said("faithfulness"),
        "comparisons": _comparisons(view),
        "sureness": ConfidenceView(view),
        "usage": usage_table(inputs.usage, view.systems, [run.manifest for run in inputs.runs]),
        "repeats": view.repeats(),
        "test_words": TEST_WORDS,
        "terms": TERMS,
        "signatures": view.signatures(),
        "manifests": _manifests(inputs),
        "beside": listing([visible(name) for name in beside]) or "nothing",
        "label_words": LABEL_WORDS,
        "predicates": sorted({row.predicate for row in rows}),
        "has_difficulty": any(row.difficulty for row in rows),
        "has_controls": any(answer.control for answer in rows[0].answers),
        "first_rows": rows[:FIRST_ROWS],
        "benchmarks": benchmarks,
        "card_count": f"{len(rows):,} cards",
        # The three that are not text: our own style and script, and JSON that `embed` made safe.
        "css": style(),
        "script": Markup(code),  # noqa: S704  our own file
        "card_json": Markup(embed(card_data(list(rows)))),  # noqa: S704  escaped by `embed`
        "script_hash": content_hash(code),
    }
    return env.get_template("report.html.j2").render(context) + "\n"


def _stats(inputs: Inputs, view: View) -> list[tuple[str, str]]:
    report = inputs.metrics
    stats = [
        (f"{report.n_cards:,}", "cards" if inputs.unproved else "proved cards"),
        (str(len(view.systems)), "system" if len(view.systems) == 1 else "systems"),
        (str(len(view.controls)), "controls"),
    ]
    if any(card.cluster for card in inputs.cards):
        stats.insert(1, (f"{report.n_clusters:,}", "subjects they are about"))
    if report.n_near_misses:
        stats.insert(1, (f"{report.n_near_misses:,}", "near-misses, apart"))
    if report.n_faithfulness:
        stats.insert(1, (f"{report.n_faithfulness:,}", "faithfulness cards, apart"))
    return stats


def _comparisons(view: View) -> list[tuple[str, Any]]:
    names = [view.main_policy, *(p for p in view.report.policies if p != view.main_policy)]
    found = [(name, view.comparisons(name)) for name in names]
    return [(name, groups) for name, groups in found if groups]


def _manifests(inputs: Inputs) -> list[tuple[str, str]]:
    return [
        (visible(run.name), visible(to_json_bytes(run.manifest, indent=2).decode("utf-8")))
        for run in inputs.runs
    ]
