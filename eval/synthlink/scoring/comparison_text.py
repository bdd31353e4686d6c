"""Renders comparisons of SynthLink predictions, as sentences and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from eval.blocks.comparison_text import describe_finding, is_significant
from eval.blocks.escaped_text import escape_markdown, escape_markdown_cell, render_markdown_table
from eval.blocks.text_format import (
    UNDEFINED_TEXT,
    format_name,
    format_number,
    format_p_value,
    format_signed,
)
from eval.synthlink.metrics import MetricName, Mode
from eval.synthlink.scoring.comparison import ALL_GROUP
from eval.synthlink.scoring.outputs import ComparedScores, ScoredPredictions
from eval.synthlink.scoring.record import QuestionComparison
from kg.base.plain_text import join_list

METRIC_NAMES: Final[dict[MetricName, str]] = {
    "f1": "F1",
    "p_at_5": "P@5",
    "recall_at_5": "recall@5",
    "rqs": "RQS",
    "fcs": "FCS",
    "ie": "IE",
    "aggregate": "aggregate",
}
_HEADLINE_METRIC: Final = "aggregate"


def describe_comparisons(scored: ScoredPredictions) -> Iterator[str]:
    """Yields a sentence per compared file and mode, for the terminal."""
    for other in scored.comparisons:
        for mode, headline in select_headlines(other).items():
            yield f"{mode}, {_describe_difference(headline)}"


def select_headlines(other: ComparedScores) -> dict[Mode, QuestionComparison]:
    """Returns each mode's main result: the difference in the aggregate over all questions."""
    return {
        difference.mode: difference
        for difference in other.differences
        if difference.group == ALL_GROUP and difference.metric == _HEADLINE_METRIC
    }


def _describe_difference(difference: QuestionComparison) -> str:
    """Describes one difference in words: its size, interval, p value and finding."""
    pair = f"{format_name(difference.candidate)} − {format_name(difference.baseline)}"
    if difference.difference is None:
        return f"{pair}: no value to compare"
    interval = (
        f" [{format_signed(difference.low)}, {format_signed(difference.high)}]"
        if difference.low is not None
        else ""
    )
    p_text = (
        f", Holm-adjusted p {format_p_value(difference.p_holm)}"
        if difference.p_holm is not None
        else ""
    )
    return (
        f"{pair} = {format_signed(difference.difference)}{interval}{p_text}: "
        f"{describe_finding(difference)}"
    )


def render_comparison_markdown(scored: ScoredPredictions) -> str:
    """Renders all comparisons as Markdown: a sentence and a table per mode, then the categories.

    Every difference is the mean of the scored file − the mean of the other file, on the same
    questions. A file is called better only if the Holm-adjusted test and the interval both show it.
    """
    report = scored.report
    parts = [
        f"# SynthLink: {escape_markdown(format_name(scored.name))} compared",
        f"Paired on the same {report.n_questions} questions; a question that a file does not "
        f"answer scores 0 there. Differences are {escape_markdown(format_name(scored.name))} − "
        f"the other file, with {report.confidence:.0%} bootstrap intervals ({report.resamples:,} "
        f"resamples, seed {report.seed}). p is from the sign-flip test; p (Holm) is adjusted "
        "within a mode, over metrics and files; for categories, per metric over categories and "
        "files.",
    ]
    for other in scored.comparisons:
        parts.append(f"## Against {escape_markdown(format_name(other.name))}")
        for mode, headline in select_headlines(other).items():
            parts += [
                f"### {mode.capitalize()}",
                f"{escape_markdown(_describe_difference(headline))}.",
                _describe_coverage(scored, other, mode),
            ]
            mode_differences = [
                difference for difference in other.differences if difference.mode == mode
            ]
            category_differences = [
                difference for difference in mode_differences if difference.group != ALL_GROUP
            ]
            headline_differences = [
                difference
                for difference in category_differences
                if difference.metric == _HEADLINE_METRIC
            ]
            parts += [
                _render_table(
                    "metric",
                    [
                        difference
                        for difference in mode_differences
                        if difference.group == ALL_GROUP
                    ],
                ),
                "The aggregate by category:",
                _render_table("category", headline_differences),
                _describe_categories(
                    [
                        difference
                        for difference in category_differences
                        if difference not in headline_differences
                    ]
                ),
            ]
    return "\n\n".join(parts) + "\n"


def _describe_coverage(scored: ScoredPredictions, other: ComparedScores, mode: Mode) -> str:
    first, second = scored.report.modes[mode].overall, other.modes[mode]
    return (
        f"Questions answered: {first.answered} of {first.n} against {second.answered}; "
        f"abstained: {first.abstained} against {second.abstained}."
    )


def _describe_categories(differences: list[QuestionComparison]) -> str:
    """Lists the significant differences of the other metrics by category, one line per metric."""
    significant: dict[str, list[str]] = {}
    for difference in differences:
        if is_significant(difference):
            text = f"{difference.group} ({format_signed(difference.difference)})"
            significant.setdefault(METRIC_NAMES[difference.metric], []).append(text)
    if not significant:
        return "No other metric differs significantly within a category."
    lines = (
        f"* {escape_markdown(name)}: {escape_markdown(join_list(groups))}"
        for name, groups in significant.items()
    )
    return "\n".join(["Other metrics that differ significantly within a category:", "", *lines])


def _render_table(
    first_column: Literal["metric", "category"], differences: list[QuestionComparison]
) -> str:
    names = [
        escape_markdown_cell(format_name(name))
        for name in (differences[0].candidate, differences[0].baseline)
    ]
    head = [first_column, "questions", *names, "difference", "p", "p (Holm)", "finding"]
    rows = [
        [
            METRIC_NAMES[difference.metric] if first_column == "metric" else difference.group,
            str(difference.n),
            format_number(difference.value_candidate),
            format_number(difference.value_baseline),
            _format_difference(difference),
            escape_markdown_cell(format_p_value(difference.p)),
            escape_markdown_cell(format_p_value(difference.p_holm)),
            escape_markdown_cell(describe_finding(difference)),
        ]
        for difference in differences
    ]
    return render_markdown_table(head, rows)


def _format_difference(difference: QuestionComparison) -> str:
    if difference.difference is None:
        return UNDEFINED_TEXT
    if difference.low is None or difference.high is None:
        return format_signed(difference.difference)
    return (
        f"{format_signed(difference.difference)} ({format_signed(difference.low)} to "
        f"{format_signed(difference.high)})"
    )
