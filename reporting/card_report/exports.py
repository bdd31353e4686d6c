"""Exports the report's numbers and cards as CSV, Markdown and JSON.

Texts come from untrusted files, so every one is escaped: see ``reporting/escaped_text.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eval.abstention.metrics.optional_metrics import collect_optional_metrics
from eval.blocks.escaped_text import escape_markdown, render_markdown_table
from eval.blocks.section import Section
from eval.blocks.text_format import ChartEstimate, format_name
from kg.base.csv_text import to_csv
from kg.base.files import to_json_bytes
from kg.base.plain_text import join_list
from reporting.card_report.buyer_answers import BuyerAnswer, BuyerAnswers
from reporting.card_report.card_data import CardRow
from reporting.card_report.closed_book_view import CLOSED_BOOK_HEADS, list_closed_book_rows
from reporting.card_report.confidence_view import ConfidenceView
from reporting.card_report.group_view import GroupView
from reporting.card_report.inputs import ReportInputs
from reporting.card_report.report_view import ReportView
from reporting.card_report.summary_text import list_caveats, summarise_results
from reporting.card_report.usage import build_usage_table
from reporting.card_report.view_records import Table
from reporting.section_renderer import REPORT_LEVEL, build_section_document, render_section_markdown
from reporting.visible_text import make_visible

JSON_SCHEMA = "epoche.report/1"

_METRIC_COLUMNS = (
    "policy", "system", "role", "metric", "value", "low", "high", "interval_method", "numerator",
    "denominator", "worst", "best", "higher_is_better", "signature",
)  # fmt: skip


def render_metrics_csv(view: ReportView) -> str:
    """Renders all metrics as CSV, one line per policy, system and metric."""
    rows: list[list[object]] = []
    for policy_name, policy in view.report.policies.items():
        entries = [(n, "system", policy.systems[n]) for n in view.systems if n in policy.systems]
        entries += [
            (n, "control", policy.controls[n]) for n in view.controls if n in policy.controls
        ]
        for name, role, system in entries:
            row_role = "oracle" if system.oracle else role
            for key, metric in (system.metrics | collect_optional_metrics(system)).items():
                rows.append(
                    [
                        policy_name, name, row_role, key, metric.value, metric.low, metric.high,
                        metric.method, metric.numerator, metric.denominator, metric.worst,
                        metric.best, metric.higher_is_better, metric.signature,
                    ]
                )  # fmt: skip
    return to_csv(_METRIC_COLUMNS, rows)


def render_cards_csv(cards: Sequence[CardRow], systems: Sequence[str]) -> str:
    """Renders the cards as CSV, one line per card, with each system's answer and outcome."""
    head = ["id", "label", "gold", "kind", "difficulty", "question", "facts", "rules"]
    head += ["proof", "card_proof"]
    for system in systems:
        head += [system, f"{system}: outcome"]
    return to_csv(head, (_build_card_line(card) for card in cards))


def _build_card_line(card: CardRow) -> list[object]:
    line: list[object] = [
        card.id, card.label, card.gold, card.kind, card.difficulty, card.question,
        "\n".join(card.facts), "\n".join(card.rules), card.proof, card.card_proof,
    ]  # fmt: skip
    for answer in card.answers:
        line += [answer.pred, answer.outcome]
    return line


def _format_estimate(estimate: ChartEstimate) -> str:
    interval = f" ({estimate.interval_text})" if estimate.interval_text else ""
    return f"{estimate.text}{interval}"


def _render_metrics(table: Table) -> str:
    head = ["system", *(escape_markdown(column.description.short_name) for column in table.columns)]
    rows = [
        [
            name,
            *(_format_estimate(c.estimate) + (" †" if c.beaten_by_control else "") for c in cells),
        ]
        for name, cells in [
            *((escape_markdown(row.name), row.cells) for row in table.rows),
            *((f"*{escape_markdown(row.name)}*", row.cells) for row in table.controls),
        ]
    ]
    text = render_markdown_table(head, rows)
    control_wins = [
        f"{escape_markdown(c.description.short_name)} "
        f"({escape_markdown(join_list(c.unbeaten_controls))})"
        for c in table.columns
        if c.unbeaten_controls
    ]
    if control_wins:
        text += f"\n\nA control matches or beats every system on: {', '.join(control_wins)}."
    return text


def render_markdown(
    inputs: ReportInputs, title: str, notices: Sequence[str], sections: Sequence[Section] = ()
) -> str:
    """Renders summary, headline tables, kinds, comparisons, costs and signatures as Markdown."""
    view = ReportView(inputs.metrics)
    parts = [
        f"# {escape_markdown(title)}",
        *(f"> **Warning:** {escape_markdown(text)}" for text in inputs.warnings),
        *(
            f"**{answer.question}** {escape_markdown(answer.text)}"
            for answer in _list_answers(inputs, view)
        ),
        escape_markdown(" ".join(_write_summary(inputs, view))),
    ]
    parts += [f"> {escape_markdown(notice)}" for notice in notices]
    for table in view.build_headline_tables():
        parts += [
            f"## Policy {escape_markdown(table.policy)}",
            table.policy_description,
            _render_metrics(table),
        ]
    parts.append(
        "In brackets: 95 % intervals. †: a control matches or beats the system on this metric. "
        "Controls are in italics."
    )
    group_view = GroupView(view)
    for heading, groups in (
        ("Right answers by kind", group_view.build_kinds()),
        ("Right answers on near-misses", group_view.build_near_misses()),
        ("Right answers on faithfulness cards", group_view.build_faithfulness()),
        ("Right answers by difficulty", group_view.build_difficulties()),
    ):
        if groups.sections:
            head = ["cards", "n", *map(escape_markdown, groups.systems)]
            rows = [
                [
                    escape_markdown(f"{group_title}: {line.name}" if group_title else line.name),
                    line.n,
                    *(_format_estimate(cell.estimate) for cell in line.cells),
                ]
                for group_title, lines in groups.sections
                for line in lines
            ]
            parts += [f"## {heading}", render_markdown_table(head, rows)]
    parts += _render_closed_book(view)
    parts += _render_comparisons(view)
    parts += _render_confidence(view)
    parts += _render_usage(inputs, view)
    parts += [
        "## Signatures",
        "\n".join(f"- `{s.replace('`', '')}`" for s in view.list_signatures()),
    ]
    parts += [render_section_markdown(section, REPORT_LEVEL).rstrip() for section in sections]
    return "\n\n".join(parts) + "\n"


def _list_answers(inputs: ReportInputs, view: ReportView) -> list[BuyerAnswer]:
    manifests = [run.manifest for run in inputs.runs]
    return BuyerAnswers(view, inputs.usage, manifests).list_answers()


def _write_summary(inputs: ReportInputs, view: ReportView) -> list[str]:
    """Returns the sentences of the summary and the caveats."""
    sentences = summarise_results(inputs.metrics, view.systems).sentences
    return [*sentences, *list_caveats(inputs.metrics)]


def _render_closed_book(view: ReportView) -> list[str]:
    rows = [
        [
            escape_markdown(row.name),
            *(f"{text} ({interval})" if interval else text for text, interval in row.cells),
        ]
        for row in list_closed_book_rows(view)
    ]
    if not rows:
        return []
    return [
        "## Closed book: the same models without evidence",
        render_markdown_table(["system", *CLOSED_BOOK_HEADS], rows),
    ]


def _render_comparisons(view: ReportView) -> list[str]:
    parts: list[str] = []
    for column, pairs in view.group_comparisons(view.main_policy):
        rows = [
            [
                f"{escape_markdown(row.pair.candidate)} − {escape_markdown(row.pair.baseline)}",
                f"{row.difference} ({row.interval})" if row.interval else row.difference,
                row.p,
                row.discordant or "–",
                escape_markdown(row.finding),
            ]
            for row in pairs
        ]
        head = ["pair", "difference", "p, adjusted", "discordant cards", "finding"]
        parts += [
            f"### Pairs: {escape_markdown(column.description.full_name)}",
            render_markdown_table(head, rows),
        ]
    return ["## Pairwise comparisons", *parts] if parts else []


def _render_confidence(view: ReportView) -> list[str]:
    confidence = ConfidenceView(view)
    if not confidence.has_confidence:
        return []
    head = ["system", "mean confidence", "accuracy", "ECE", "ECE by chance", "p", "Brier", "AURC"]
    head.append("finding")
    rows = [
        [
            escape_markdown(line.name),
            line.confidence,
            line.accuracy,
            _format_estimate(line.ece),
            f"{line.expected} (up to {line.expected_high})",
            line.p,
            _format_estimate(line.brier),
            _format_estimate(line.aurc),
            line.finding,
        ]
        for line in confidence.lines
    ]
    parts = ["## Confidence", render_markdown_table(head, rows)]
    if confidence.without_confidence:
        parts.append(f"Without confidences: {escape_markdown(confidence.without_confidence)}.")
    return parts


def _render_usage(inputs: ReportInputs, view: ReportView) -> list[str]:
    usage = build_usage_table(inputs.usage, view.systems, [run.manifest for run in inputs.runs])
    if not usage.lines:
        return []
    head = ["system", "tokens", "cost", "median", "95 %", "repairs", "retries", "fallbacks"]
    rows = [
        [
            *(escape_markdown(line.name), line.tokens, line.cost, line.median, line.percentile_95),
            *(line.repairs, line.retries, escape_markdown(line.fallbacks)),
        ]
        for line in usage.lines
    ]
    return ["## Cost of the answers", render_markdown_table(head, rows)]


def render_json(
    inputs: ReportInputs,
    cards: Sequence[CardRow],
    title: str,
    notices: Sequence[str],
    sections: Sequence[Section] = (),
) -> bytes:
    """Renders everything that the page shows as one JSON document."""
    view = ReportView(inputs.metrics)
    document: dict[str, Any] = {
        "schema": JSON_SCHEMA,
        "title": make_visible(title),
        "warnings": [make_visible(text) for text in inputs.warnings],
        "answers": {
            answer.key: {"question": answer.question, "answer": make_visible(answer.text)}
            for answer in _list_answers(inputs, view)
        },
        "verdict": [make_visible(text) for text in _write_summary(inputs, view)],
        "notices": [make_visible(text) for text in notices],
        "metrics": inputs.metrics,
        "usage": {format_name(name): inputs.usage[name].to_record() for name in inputs.usage},
        "manifests": {run.name: run.manifest for run in inputs.runs},
        "cards": [_card_to_dict(card) for card in cards],
    }
    if sections:
        document["sections"] = {section.id: build_section_document(section) for section in sections}
    return to_json_bytes(document, indent=2) + b"\n"


def _card_to_dict(card: CardRow) -> dict[str, Any]:
    return {
        "id": card.id,
        "label": card.label,
        "gold": card.gold,
        "kind": card.kind,
        "difficulty": card.difficulty or None,
        "question": card.question,
        "facts": card.facts,
        "rules": card.rules,
        "proof": card.proof,
        "card_proof": card.card_proof or None,
        "answers": {
            answer.system: {
                "pred": answer.pred,
                "outcome": answer.outcome,
                "reason": answer.reason or None,
            }
            for answer in card.answers
        },
    }
