"""Tables of where scores are lost: parts, steps, chains, claims, single questions."""

from __future__ import annotations

from eval.blocks.blocks import Cell, Column, Table, TableRow, Tone, make_estimate_cell
from eval.blocks.text_format import UNDEFINED_TEXT, format_number, format_percent, shorten_text
from eval.synthlink.blocks.losses import (
    chains,
    claims_by,
    parts_of_score,
    steps_by_place,
    verdict_counts,
)
from eval.synthlink.blocks.metric_texts import DECIDED_BY, MEASURES, VERDICTS, category_name
from eval.synthlink.blocks.score_data import ScoredFolder
from eval.synthlink.metrics import Mode
from eval.synthlink.scoring.record import ModeScores
from kg.base.plain_text import to_one_line

_VERDICT_MEANS = {
    "licensed": "What the evaluator holds bears it out.",
    "contradicted": "What the evaluator holds speaks against it.",
    "unknown": "The evaluator holds nothing that decides it.",
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
        "What a part adds and what is lost on it make up its weight.",
        (
            Column("Part", numeric=False),
            Column("weight", "on average"),
            Column("adds"),
            Column("lost"),
        ),
        tuple(lines),
    )


def steps(folder: ScoredFolder, scores: ModeScores) -> Table | None:
    """How often first steps, second steps and so on are taken."""
    found = steps_by_place(scores, folder.answers)
    if not found:
        return None
    return Table(
        "Steps by their place in the chain",
        "Of the questions that have such a step, answered or not.",
        (Column("Step", numeric=False), Column("taken"), Column("of"), Column("share")),
        tuple(
            TableRow(
                str(one.number),
                (
                    Cell(f"{one.taken:,}"),
                    Cell(f"{one.asked:,}"),
                    make_estimate_cell(one.share(folder.report.confidence)),
                ),
            )
            for one in found
        ),
    )


def chain_lengths(folder: ScoredFolder, scores: ModeScores) -> Table | None:
    """How far chains of each length were followed."""
    found = chains(scores, folder.answers)
    if not found:
        return None
    lines = []
    for one in found:
        count = one.whole + one.broken + one.none
        silent = (f"{one.unanswered:,} of them without an answer",) if one.unanswered else ()
        lines.append(
            TableRow(
                f"{one.length} {'step' if one.length == 1 else 'steps'}",
                (
                    Cell(f"{count:,}"),
                    Cell(f"{one.whole:,}", (format_percent(one.whole / count),)),
                    Cell(f"{one.broken:,}", (format_percent(one.broken / count),)),
                    Cell(f"{one.none:,}", (format_percent(one.none / count), *silent)),
                ),
            )
        )
    return Table(
        "How far chains are followed",
        "A chain has as many steps as the catalogue states facts for the question.",
        (
            Column("Chain", numeric=False),
            Column("all", "questions", "Questions whose chain is that long."),
            Column("whole", "every step", "Questions of which the answer takes every step."),
            Column("broken", "some steps", "Questions of which the answer takes some steps."),
            Column(
                "none", "no step", "Questions of which the answer takes no step, or none is given."
            ),
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
        "The graph is asked first; words, and a judge if there is one, only where it is silent.",
        (Column("By", numeric=False), *_verdict_heads()),
        tuple(lines),
    )


def weakest(folder: ScoredFolder, scores: ModeScores, at_most: int) -> Table:
    """The questions with the lowest scores, those without an answer left out."""
    views = {view.question_id: view for view in folder.answers}
    rows = [row for row in scores.questions if row.status == "answered"]
    rows.sort(key=lambda row: row.parts.aggregate or 0.0)
    lines = []
    for row in rows[:at_most]:
        view = views[row.question_id]
        n_facts = sum(map(bool, view.facts))
        wrong = sum(claim.verdict == "contradicted" for claim in row.parts.claims)
        lines.append(
            TableRow(
                row.question_id,
                (
                    Cell(format_number(row.parts.aggregate, 2)),
                    Cell(f"{len(row.parts.steps)} of {n_facts}" if n_facts else UNDEFINED_TEXT),
                    Cell(
                        f"{wrong} of {len(row.parts.claims)}"
                        if row.parts.claims
                        else UNDEFINED_TEXT
                    ),
                ),
                shorten_text(to_one_line(view.question), _QUESTION),
            )
        )
    return Table(
        "Lowest scores among the answered",
        "The way to each stands under Questions.",
        (
            Column("Question", numeric=False),
            Column("Score", "", MEASURES["aggregate"].explanation),
            Column("Steps", "taken", MEASURES["rqs"].explanation),
            # In Markdown the first word stands alone: "Claims 0 of 2" would say that none holds.
            Column(
                "Contradicted", "claims", "Sentences that what the evaluator holds speaks against."
            ),
        ),
        tuple(lines),
    )
