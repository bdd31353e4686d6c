"""A report as rows of tables, ready to be written as CSV under the specification's names."""

from __future__ import annotations

from typing import Final

from eval.synthlink.measures import MEASURES, Mode
from eval.synthlink.record import SynthLinkReport

Cell = str | int | float | None

SCORES: Final = "synthlink_scores.csv"
CATEGORY_SCORES: Final = "synthlink_category_scores.csv"
OVERALL: Final = "synthlink_overall_score.txt"
RECORD: Final = "synthlink_scores.json"
"""Everything, for programs."""

_NAMED: Final = 50
"""Refused rows that are told one by one."""


def question_rows(report: SynthLinkReport) -> list[dict[str, Cell]]:
    """A row for each mode and question: its status, measures, steps taken and claims judged."""
    rows: list[dict[str, Cell]] = []
    for mode, scores in report.modes.items():
        for one in scores.questions:
            verdicts = [claim.verdict for claim in one.parts.claims]
            rows.append(
                {"mode": mode, "question_id": one.question_id, "category": one.category,
                 "status": one.status}
                | {measure: getattr(one.parts, measure) for measure in MEASURES}
                | {"steps_taken": " ".join(map(str, one.parts.steps)),
                   "claims_licensed": verdicts.count("licensed"),
                   "claims_contradicted": verdicts.count("contradicted"),
                   "claims_unknown": verdicts.count("unknown"),
                   "claims_judged": sum(claim.by == "judge" for claim in one.parts.claims)}
            )  # fmt: skip
    return rows


def category_rows(report: SynthLinkReport) -> list[dict[str, Cell]]:
    """A row for each mode and category, then one for all questions: means and their intervals."""
    rows: list[dict[str, Cell]] = []
    for mode, scores in report.modes.items():
        for name, group in {**scores.categories, "all": scores.overall}.items():
            row: dict[str, Cell] = {
                "mode": mode,
                "category": name,
                "questions": group.n,
                "answered": group.answered,
                "abstained": group.abstained,
                "coverage": group.coverage,
            }
            for measure, value in group.measures.items():
                row |= {
                    measure: value.value,
                    f"{measure}_low": value.low,
                    f"{measure}_high": value.high,
                }
            rows.append(row)
    return rows


def overall_text(report: SynthLinkReport) -> str:
    """The overall scores in words, every mode with its coverage; refused rows and all notes."""
    lines = [*headlines(report)]
    lines += [f"refused: {row}" for row in report.refused[:_NAMED]]
    if (more := len(report.refused) - _NAMED) > 0:
        lines.append(f"refused: {more} more, see {RECORD}")
    lines += [f"note: {note}" for note in report.notes]
    return "\n".join(lines) + "\n"


def headlines(report: SynthLinkReport) -> list[str]:
    """How much was answered, and a line for each mode: the aggregate, then what it is made of."""
    blank = f", {report.n_abstained} abstained" if report.n_abstained else ""
    return [
        f"SynthLink, {report.n_answered} of {report.n_questions} questions answered "
        f"(coverage {report.coverage:.3f}){blank}; a question without an answer counts as 0",
        *(_line(report, mode) for mode in report.modes),
    ]


def _line(report: SynthLinkReport, mode: Mode) -> str:
    measures = report.modes[mode].overall.measures
    total = measures["aggregate"]
    parts = ", ".join(
        f"{name} {'none' if value.value is None else format(value.value, '.3f')}"
        for name, value in measures.items()
        if name != "aggregate"
    )
    if total.value is None or total.low is None or total.high is None:
        return f"{mode}: no aggregate ({parts})"
    return f"{mode}: {total.value:.3f} [{total.low:.3f}, {total.high:.3f}] ({parts})"
