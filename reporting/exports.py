"""The report's numbers and cards for other tools: CSV, Markdown and JSON.

Every text is as hostile here as in the page: see ``reporting/guarded_text.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eval.metrics.further import further_metrics
from kg.base.files import to_json_bytes
from kg.words.plain_text import listing
from reporting.benchmark_sections.section import Section
from reporting.card_data import CardRow
from reporting.charts import Estimate
from reporting.confidence_view import ConfidenceView
from reporting.group_view import GroupView
from reporting.guarded_text import md, md_table, to_csv
from reporting.inputs import Inputs
from reporting.usage import usage_table
from reporting.verdict import caveats, verdict
from reporting.view import View
from reporting.view_records import Table
from reporting.visible import shown_name, visible

JSON_SCHEMA = "epoche.report/1"

_METRIC_HEAD = (
    "policy", "system", "role", "metric", "value", "low", "high", "interval_method", "numerator",
    "denominator", "worst", "best", "higher_is_better", "signature",
)  # fmt: skip


def metrics_csv(view: View) -> str:
    """One line a policy, system and metric."""
    rows: list[list[object]] = []
    for policy_name, policy in view.report.policies.items():
        named = [(n, "system", policy.systems[n]) for n in view.systems if n in policy.systems]
        named += [(n, "control", policy.controls[n]) for n in view.controls if n in policy.controls]
        for name, role, system in named:
            shown = "oracle" if system.oracle else role
            for key, m in (system.metrics | further_metrics(system)).items():
                rows.append(
                    [
                        policy_name, name, shown, key, m.value, m.low, m.high, m.method,
                        m.numerator, m.denominator, m.worst, m.best, m.higher_is_better,
                        m.signature,
                    ]
                )  # fmt: skip
    return to_csv(_METRIC_HEAD, rows)


def cards_csv(cards: Sequence[CardRow], systems: Sequence[str]) -> str:
    """One line a card, with a column for each system's answer and outcome."""
    head = ["id", "label", "gold", "kind", "difficulty", "question", "facts", "rules"]
    head += ["proof", "card_proof"]
    for system in systems:
        head += [system, f"{system}: outcome"]
    return to_csv(head, (_card_line(card) for card in cards))


def _card_line(card: CardRow) -> list[object]:
    line: list[object] = [
        card.id, card.label, card.gold, card.kind, card.difficulty, card.question,
        "\n".join(card.facts), "\n".join(card.rules), card.proof, card.card_proof,
    ]  # fmt: skip
    for answer in card.answers:
        line += [answer.pred, answer.outcome]
    return line


def _md_estimate(estimate: Estimate) -> str:
    interval = f" ({estimate.interval_text})" if estimate.interval_text else ""
    return f"{estimate.text}{interval}"


def _md_metrics(table: Table) -> str:
    head = ["system", *(md(column.words.short) for column in table.columns)]
    rows = [
        [name, *(_md_estimate(c.estimate) + (" †" if c.beaten_by_control else "") for c in cells)]
        for name, cells in [
            *((md(row.name), row.cells) for row in table.rows),
            *((f"*{md(row.name)}*", row.cells) for row in table.controls),
        ]
    ]
    text = md_table(head, rows)
    won = [f"{md(c.words.short)} ({md(listing(c.won_by))})" for c in table.columns if c.won_by]
    if won:
        text += f"\n\nUnbeaten controls: {', '.join(won)}."
    return text


def markdown(
    inputs: Inputs, title: str, notices: Sequence[str], sections: Sequence[Section] = ()
) -> str:
    """Verdict, headline tables, kinds, comparisons and signatures as Markdown."""
    view = View(inputs.metrics)
    parts = [f"# {md(title)}", md(" ".join(_said(inputs, view)))]
    parts += [f"> {md(notice)}" for notice in notices]
    for table in view.headline_tables():
        parts += [f"## Policy {md(table.policy)}", table.policy_words, _md_metrics(table)]
    parts.append(
        "In brackets: 95 % intervals. † a control equals or beats the system on this metric. "
        "Controls are in italics."
    )
    grouped = GroupView(view)
    for heading, groups in (
        ("Right answers by kind", grouped.kinds()),
        ("Right answers on near-misses", grouped.near_misses()),
        ("Right answers on faithfulness cards", grouped.faithfulness()),
        ("Right answers by difficulty", grouped.difficulties()),
    ):
        if groups.sections:
            head = ["cards", "n", *map(md, groups.systems)]
            rows = [
                [
                    md(f"{title}: {line.name}" if title else line.name),
                    line.n,
                    *(_md_estimate(cell.estimate) for cell in line.cells),
                ]
                for title, lines in groups.sections
                for line in lines
            ]
            parts += [f"## {heading}", md_table(head, rows)]
    parts += _md_comparisons(view)
    parts += _md_confidence(view)
    parts += _md_usage(inputs, view)
    parts += ["## Signatures", "\n".join(f"- `{s.replace('`', '')}`" for s in view.signatures())]
    parts += [one.markdown.rstrip() for one in sections]
    return "\n\n".join(parts) + "\n"


def _said(inputs: Inputs, view: View) -> list[str]:
    said = verdict(inputs.metrics, view.systems, proved=not inputs.unproved)
    return [*said, *caveats(inputs.metrics)]


def _md_comparisons(view: View) -> list[str]:
    parts: list[str] = []
    for column, pairs in view.comparisons(view.main_policy):
        rows = [
            [
                f"{md(row.pair.a)} − {md(row.pair.b)}",
                f"{row.difference} ({row.interval})" if row.interval else row.difference,
                row.p,
                row.discordant or "–",
                md(row.finding),
            ]
            for row in pairs
        ]
        head = ["pair", "difference", "p, adjusted", "alone right", "the data say"]
        parts += [f"### Pairs: {md(column.words.name)}", md_table(head, rows)]
    return ["## System against system", *parts] if parts else []


def _md_confidence(view: View) -> list[str]:
    sure = ConfidenceView(view)
    if not sure.known:
        return ["## Confidence", f"No system says how sure it is: {md(sure.silent)}."]
    head = ["system", "sure", "right", "ECE", "ECE by chance", "p", "Brier", "AURC", "finding"]
    rows = [
        [
            md(line.name),
            line.confidence,
            line.accuracy,
            _md_estimate(line.ece),
            f"{line.expected} (up to {line.expected_high})",
            line.p,
            _md_estimate(line.brier),
            _md_estimate(line.aurc),
            line.finding,
        ]
        for line in sure.lines
    ]
    parts = ["## Confidence", md_table(head, rows)]
    return [*parts, f"No confidence is given by {md(sure.silent)}."] if sure.silent else parts


def _md_usage(inputs: Inputs, view: View) -> list[str]:
    usage = usage_table(inputs.usage, view.systems, [run.manifest for run in inputs.runs])
    if not usage.lines:
        return []
    head = ["system", "tokens", "cost", "median", "95 %", "repairs", "retries", "fallbacks"]
    rows = [
        [
            *(md(line.name), line.tokens, line.cost, line.median, line.slow),
            *(line.repairs, line.retries, md(line.fallbacks)),
        ]
        for line in usage.lines
    ]
    return ["## What the answers cost", md_table(head, rows)]


def to_json(
    inputs: Inputs,
    cards: Sequence[CardRow],
    title: str,
    notices: Sequence[str],
    sections: Sequence[Section] = (),
) -> bytes:
    """Everything the page shows, as one JSON document."""
    view = View(inputs.metrics)
    document: dict[str, Any] = {
        "schema": JSON_SCHEMA,
        "title": visible(title),
        "verdict": [visible(text) for text in _said(inputs, view)],
        "notices": [visible(text) for text in notices],
        "metrics": inputs.metrics,
        "usage": {shown_name(name): inputs.usage[name].record() for name in inputs.usage},
        "manifests": {run.name: run.manifest for run in inputs.runs},
        "cards": [_json_card(card) for card in cards],
    }
    if sections:
        document["sections"] = {one.id: one.document() for one in sections}
    return to_json_bytes(document, indent=2) + b"\n"


def _json_card(card: CardRow) -> dict[str, Any]:
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
