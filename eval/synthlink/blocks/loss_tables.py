"""Tables of where scores are lost: parts, claims, single questions."""

from __future__ import annotations

from eval.blocks.blocks import Cell, Column, Table, TableRow, Tone
from eval.blocks.text_format import UNDEFINED_TEXT, format_number, format_percent, shorten_text
from eval.synthlink.blocks.losses import (
    claims_by,
    parts_of_score,
    verdict_counts,
)
from eval.synthlink.blocks.metric_texts import DECIDED_BY, MEASURES, VERDICTS, category_name
from eval.synthlink.blocks.score_data import ScoredFolder
from eval.synthlink.metrics import Mode
from eval.synthlink.scoring.record import ModeScores
from kg.base.plain_text import to_one_line

_VERDICT_MEANS = {
    "supported": "Graph, facts, pages or a judge support it.",
    "contradicted": "Graph, facts, pages or a judge contradict it.",
    "not_found": "The evidence says nothing of it, or it states nothing.",
    "unjudged": "Nothing could judge it; it is part of no denominator.",
}
_QUESTION = 160
"""Characters shown of a question in a table."""


def made_of(folder: ScoredFolder, mode: Mode) -> Table:
    """What each part adds to the score, and what is lost on it."""
    parts = parts_of_score(folder.report.modes[mode], folder.report.weights)
    lost = sum(part.lost for part in parts)
    most = max((part.lost for part in parts), default=0.0)
    lines = []
    for part in parts:
        named = MEASURES[part.measure]
        tone: Tone = "down" if part.lost == most > 0 else ""
        share = (f"{format_percent(part.lost / lost)} of all",) if lost else ()
        lines.append(
            TableRow(
                named.full_name,
                (
                    Cell(format_number(part.weight)),
                    Cell(format_number(part.gained)),
                    Cell(format_number(part.lost), share, tone),
                ),
                named.short_name,
            )
        )
    total = (
        Cell(format_number(sum(part.weight for part in parts))),
        Cell(format_number(sum(part.gained for part in parts))),
        Cell(format_number(lost)),
    )
    lines.append(TableRow("together", total, "the score, and what it lacks to 1"))
    return Table(
        f"What the {mode} score is made of",
        "What a part adds, plus what is lost on it, is its weight.",
        (
            Column("Part", numeric=False),
            Column("weight", "on average"),
            Column("adds"),
            Column("lost"),
        ),
        tuple(lines),
    )


def claims(scores: ModeScores) -> Table:
    """Claims by category and verdict."""
    groups = [("all", None), *((key, key) for key in scores.categories)]
    lines = []
    for name, only in groups:
        found = verdict_counts(scores, only)
        total = sum(found.values())
        cells = [Cell(f"{total:,}")]
        cells += [
            Cell(f"{count:,}", (format_percent(count / total),) if total else ())
            for count in found.values()
        ]
        lines.append(TableRow(name, tuple(cells), category_name(only) if only else ""))
    return Table(
        "Claims by verdict",
        "A claim is a sentence that says something beyond the question.",
        (
            Column("Category", numeric=False),
            Column("claims", "", "Sentences that say something beyond the question."),
            *_verdict_heads(),
        ),
        tuple(lines),
    )


def _verdict_heads() -> list[Column]:
    return [Column(words, sign, _VERDICT_MEANS[key]) for key, (sign, words) in VERDICTS.items()]


def deciders(scores: ModeScores) -> Table:
    """What decided about the claims."""
    found = claims_by(scores)
    lines = []
    for by in dict.fromkeys((*DECIDED_BY, *(by for _, by in found))):
        cells = [Cell(f"{found[verdict, by]:,}") for verdict in VERDICTS]
        if any(found[verdict, by] for verdict in VERDICTS):
            lines.append(TableRow(DECIDED_BY.get(by, by), tuple(cells)))
    return Table(
        "What decided",
        "The graph is asked first; then, whether the evidence has the same sentence; then a judge, "
        "if there is one.",
        (Column("By", numeric=False), *_verdict_heads()),
        tuple(lines),
    )


def weakest(folder: ScoredFolder, scores: ModeScores, at_most: int) -> Table:
    """The questions with the lowest F1, those without an answer left out."""
    views = {view.question_id: view for view in folder.answers}
    rows = [row for row in scores.questions if row.status == "answered"]
    rows.sort(key=lambda row: row.parts.f1 or 0.0)
    lines = []
    for row in rows[:at_most]:
        judged = [claim for claim in row.parts.claims if claim.verdict != "unjudged"]
        wrong = sum(claim.verdict == "contradicted" for claim in judged)
        lines.append(
            TableRow(
                row.question_id,
                (
                    Cell(format_number(row.parts.f1, 2)),
                    Cell(f"{wrong} of {len(judged)}" if judged else UNDEFINED_TEXT),
                ),
                shorten_text(to_one_line(views[row.question_id].question), _QUESTION),
            )
        )
    return Table(
        "Lowest F1 among the answered",
        "Each is listed under Questions.",
        (
            Column("Question", numeric=False),
            Column("F1", "", MEASURES["f1"].explanation),
            # In Markdown the first word stands alone: "Claims 0 of 2" would say that none holds.
            Column(
                "Contradicted",
                "claims",
                "Of the claims with a verdict, those that are contradicted.",
            ),
        ),
        tuple(lines),
    )
