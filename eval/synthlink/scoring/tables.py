"""Converts a report into rows of CSV tables and text; file names are the specification's."""

from __future__ import annotations

from typing import Final

from eval.synthlink.metrics import METRICS, STEP_VERDICTS, VERDICTS, Mode
from eval.synthlink.scoring.record import MeanScore, SynthLinkReport
from eval.synthlink.verdicts.judge_report import describe_reliability

Cell = str | int | float | None

SCORES_CSV: Final = "synthlink_scores.csv"
CATEGORY_SCORES_CSV: Final = "synthlink_category_scores.csv"
OVERALL_TEXT: Final = "synthlink_overall_score.txt"
SCORES_JSON: Final = "synthlink_scores.json"
"""The full record, for programs."""

_MAX_NAMED_ROWS: Final = 50
"""Maximum number of refused rows listed in the text."""


def build_question_rows(report: SynthLinkReport) -> list[dict[str, Cell]]:
    """Builds a row per mode and question: status, metrics, and claims by verdict."""
    rows: list[dict[str, Cell]] = []
    for mode, scores in report.modes.items():
        for question in scores.questions:
            verdicts = [claim.verdict for claim in question.parts.claims]
            rows.append(
                {"mode": mode, "question_id": question.question_id, "category": question.category,
                 "status": question.status}
                | {metric: getattr(question.parts, metric) for metric in METRICS}
                | {f"claims_{verdict}": verdicts.count(verdict) for verdict in VERDICTS}
                | {
                    f"{metric}_{end}": question.parts.bounds.get(metric, (None, None))[place]
                    for metric in METRICS
                    for place, end in enumerate(("lowest", "highest"))
                }
                | {
                    f"steps_{verdict}": sum(
                        step.verdict == verdict for step in question.parts.steps
                    )
                    for verdict in STEP_VERDICTS
                }
                | {"claims_judged": sum(claim.by == "judge" for claim in question.parts.claims)}
            )  # fmt: skip
    return rows


def build_category_rows(report: SynthLinkReport) -> list[dict[str, Cell]]:
    """Builds a row of means and intervals per mode and category, and one per mode for all."""
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
            for metric, mean in group.measures.items():
                row |= {
                    metric: mean.value,
                    f"{metric}_low": mean.low,
                    f"{metric}_high": mean.high,
                    f"{metric}_lowest": mean.lowest,
                    f"{metric}_highest": mean.highest,
                }
            rows.append(row)
    return rows


def render_overall_text(report: SynthLinkReport) -> str:
    """Renders coverage, the overall scores of each mode, refused rows and notes as text."""
    lines = [*render_headlines(report)]
    lines += [f"refused: {row}" for row in report.refused[:_MAX_NAMED_ROWS]]
    if (n_unnamed := len(report.refused) - _MAX_NAMED_ROWS) > 0:
        lines.append(f"refused: {n_unnamed} more, see {SCORES_JSON}")
    lines += [f"note: {note}" for note in report.notes]
    return "\n".join(lines) + "\n"


def render_headlines(report: SynthLinkReport) -> list[str]:
    """Renders a line on coverage, and a line per mode with the aggregate and the other metrics."""
    abstentions = f", {report.n_abstained} abstained" if report.n_abstained else ""
    return [
        f"SynthLink, {report.n_answered} of {report.n_questions} questions answered "
        f"(coverage {report.coverage:.3f}){abstentions}; a question without an answer counts as 0",
        *(_render_mode_line(report, mode) for mode in report.modes),
        *([describe_reliability(report.judge.reliability)] if report.judge is not None else []),
    ]


def _render_mode_line(report: SynthLinkReport, mode: Mode) -> str:
    means = report.modes[mode].overall.measures
    aggregate = means["aggregate"]
    parts = ", ".join(
        f"{name} {'none' if mean.value is None else format(mean.value, '.3f')}{_bounds(mean)}"
        for name, mean in means.items()
        if name != "aggregate"
    )
    if aggregate.value is None or aggregate.low is None or aggregate.high is None:
        return f"{mode}: no aggregate{_bounds(aggregate)} ({parts})"
    return (
        f"{mode}: {aggregate.value:.3f} [{aggregate.low:.3f}, {aggregate.high:.3f}]"
        f"{_bounds(aggregate)} ({parts})"
    )


def _bounds(mean: MeanScore) -> str:
    """Renders the bounds of a mean of which a part is unjudged."""
    if mean.lowest is None or mean.highest is None:
        return ""
    return f" (possible: {mean.lowest:.3f} to {mean.highest:.3f})"
