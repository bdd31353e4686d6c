"""The tables of the section, each made from the record's numbers as they stand there."""

from __future__ import annotations

from eval.blocks.blocks import Cell, Column, Table, TableRow, make_estimate_cell
from eval.blocks.text_format import (
    UNDEFINED_TEXT,
    ChartEstimate,
    format_number,
    format_percent,
    format_signed,
)
from eval.synthlink.blocks.losses import first_correct
from eval.synthlink.blocks.metric_texts import MEASURES, MODES, category_name
from eval.synthlink.blocks.score_data import ScoredFolder
from eval.synthlink.metrics import MetricName, Mode
from eval.synthlink.scoring.record import GroupScores, MeanScore, ModeScores


def shown_value(value: MeanScore | None) -> ChartEstimate:
    """A value with its interval, for drawing."""
    return (
        ChartEstimate(None) if value is None else ChartEstimate(value.value, value.low, value.high)
    )


def value_cell(value: MeanScore | None) -> Cell:
    """A mean with its interval; a dash says why it is one."""
    if value is None:
        return Cell(UNDEFINED_TEXT)
    if value.value is None:
        return Cell(UNDEFINED_TEXT, (value.why,) if value.why else ())
    fewer = (f"{value.n:,} questions",) if value.nulls else ()
    return make_estimate_cell(shown_value(value), *fewer)


def _measure_heads() -> list[Column]:
    return [
        Column(named.short_name, _weight(key), f"{named.full_name}. {named.explanation}")
        for key, named in MEASURES.items()
    ]


def _weight(key: MetricName) -> str:
    return "of 1" if key == "aggregate" else ""


def headline(folder: ScoredFolder) -> Table:
    """Every measure in every mode, and how far literal is from corrected."""
    lines = []
    for mode in folder.modes:
        found = folder.report.modes[mode].overall.measures
        lines.append(
            TableRow(mode, tuple(value_cell(found.get(key)) for key in MEASURES), MODES[mode])
        )
    if len(lines) == 2:
        corrected, literal = (
            folder.report.modes[mode].overall.measures for mode in ("corrected", "literal")
        )
        cells = [_gap(literal.get(key), corrected.get(key)) for key in MEASURES]
        lines.append(
            TableRow("literal − corrected", tuple(cells), "what the published formulas add")
        )
    return Table(
        "Scores",
        "Means over the whole catalogue, each with its interval. A dash means that there is "
        "nothing to measure, and says why.",
        (Column("Mode", numeric=False), *_measure_heads()),
        tuple(lines),
    )


def _gap(literal: MeanScore | None, corrected: MeanScore | None) -> Cell:
    if literal is None or corrected is None or None in (literal.value, corrected.value):
        return Cell(UNDEFINED_TEXT)
    return Cell(format_signed((literal.value or 0.0) - (corrected.value or 0.0)), (), "muted")


def answered_only(folder: ScoredFolder) -> Table:
    """The same means over the answered questions alone."""
    return Table(
        "Over answered questions alone",
        "The scores if the other questions were left out; never a headline. The denominator of "
        "every other number on this page is the whole catalogue.",
        (Column("Mode", numeric=False), *_measure_heads()),
        tuple(
            TableRow(
                mode,
                tuple(
                    Cell(format_number(folder.report.modes[mode].overall.answered_only.get(key)))
                    for key in MEASURES
                ),
            )
            for mode in folder.modes
        ),
    )


def coverage(folder: ScoredFolder) -> Table:
    """What became of the questions, by category."""
    questions = folder.headline.questions
    lines = []
    groups: list[tuple[str, str, GroupScores]] = [("all", "", folder.headline.overall)]
    groups += [(key, key, group) for key, group in folder.headline.categories.items()]
    for name, only, group in groups:
        count = {
            status: sum(row.status == status and only in ("", row.category) for row in questions)
            for status in ("answered", "abstained", "missing", "refused")
        }
        cells = [Cell(f"{group.n:,}"), Cell(format_percent(group.coverage))]
        cells += [Cell(f"{held:,}") for held in count.values()]
        lines.append(TableRow(name, tuple(cells), category_name(only) if only else ""))
    return Table(
        "Coverage",
        "Only an answer with content counts as answered; all other questions are worth 0.",
        (
            Column("Category", numeric=False),
            Column("all", "questions", "Questions of the catalogue."),
            Column("coverage", "answered", "Share of them that has an answer."),
            Column("answered", "", "The answer is not blank."),
            Column("abstained", "blank", "There is a row, and its answer is blank."),
            Column("missing", "no row", "There is no row for the question."),
            Column("refused", "unusable", "There is a row, and it cannot be used."),
        ),
        tuple(lines),
    )


def categories(folder: ScoredFolder, mode: Mode) -> Table:
    """Every measure by category, as a heat table."""
    scores = folder.report.modes[mode]
    lines = [
        TableRow(
            key,
            tuple(_heat(group.measures.get(measure)) for measure in MEASURES),
            f"{category_name(key)}, {group.n:,}",
        )
        for key, group in scores.categories.items()
    ]
    return Table(
        f"By category, {mode}",
        "The fuller the colour, the higher. Few questions stand behind each cell, and none is "
        "tested against another.",
        (Column("Category", numeric=False), *_measure_heads()),
        tuple(lines),
        "shares",
    )


def _heat(value: MeanScore | None) -> Cell:
    if value is None or value.value is None:
        return Cell(UNDEFINED_TEXT)
    shown = shown_value(value)
    below = (shown.interval_text,) if shown.interval_text else ()
    return Cell(format_number(value.value, 2), below, shade=min(max(value.value, 0.0), 1.0))


def sweep(folder: ScoredFolder, scores: ModeScores) -> Table:
    """Speed and score where another F1 counts as correct."""
    chosen = folder.report.thresholds.correct
    lines = [
        TableRow(
            f"F1 ≥ {one.correct:g}",
            (
                Cell(f"{one.n_correct:,}"),
                Cell(format_number(one.ie)),
                Cell(format_number(one.aggregate)),
            ),
            "taken for the score" if one.correct == chosen else "",
        )
        for one in scores.sweep
    ]
    return Table(
        "Speed by what counts as correct",
        "The score and its part for speed, where another F1 makes an answer correct.",
        (
            Column("Correct", numeric=False),
            Column("correct answers"),
            Column("IE"),
            Column("score"),
        ),
        tuple(lines),
    )


def rounds(folder: ScoredFolder, mode: Mode) -> Table:
    """The round in which answers are first correct."""
    return Table(
        "First correct",
        f"By the answers of each round, correct from F1 {folder.correct_from(mode):g} on. Never "
        "includes questions without recorded rounds.",
        (Column("Round", numeric=False), Column("questions")),
        tuple(
            TableRow(name, (Cell(f"{count:,}"),))
            for name, count in first_correct(folder, mode).items()
        ),
    )
