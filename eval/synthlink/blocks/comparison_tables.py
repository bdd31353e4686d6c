"""Tables of how the file differs from those it is compared with."""

from __future__ import annotations

from collections.abc import Sequence

from eval.blocks.blocks import Cell, Column, Table, TableRow, Tone
from eval.blocks.comparison_text import describe_finding
from eval.blocks.text_format import format_number, format_p_value, format_signed
from eval.synthlink.blocks.metric_texts import MEASURES, category_name
from eval.synthlink.blocks.score_data import ScoredFolder
from eval.synthlink.blocks.tables import value_cell
from eval.synthlink.metrics import Mode
from eval.synthlink.scoring.outputs import ComparedScores
from eval.synthlink.scoring.record import QuestionComparison

_TESTS = {"sign-flip": "sign flips", "mcnemar": "McNemar", "none": "not tested"}


def side_by_side(folder: ScoredFolder) -> Table:
    """The scores of all files in every mode."""
    files = [
        (folder.scored.name, "this file", {m: folder.report.modes[m].overall for m in folder.modes})
    ]
    files += [(one.name, "", one.modes) for one in folder.scored.comparisons]
    lines = []
    for name, below, groups in files:
        found = [groups[mode].measures if mode in groups else {} for mode in folder.modes]
        cells = [value_cell(measures.get("aggregate")) for measures in found]
        lines.append(TableRow(name, tuple(cells), below))
    return Table(
        "Scores of all files",
        "Whether intervals overlap decides nothing; the paired tests below do.",
        (Column("File", numeric=False), *(Column(mode) for mode in folder.modes)),
        tuple(lines),
    )


def differences(folder: ScoredFolder, compared: ComparedScores, mode: Mode) -> Table:
    """Every measure over the whole catalogue."""
    found = {
        one.metric: one for one in compared.differences if (one.mode, one.group) == (mode, "all")
    }
    keys = [key for key in MEASURES if key in found]
    return _grid(
        f"{folder.scored.name} less {compared.name}, {mode}",
        [
            (
                MEASURES[key].full_name,
                "" if key == "aggregate" else MEASURES[key].short_name,
                found[key],
            )
            for key in keys
        ],
        "Measure",
    )


def by_category(folder: ScoredFolder, compared: ComparedScores, mode: Mode) -> Table | None:
    """The score's difference in each category."""
    found = [
        one
        for one in compared.differences
        if one.mode == mode and one.group != "all" and one.metric == "aggregate"
    ]
    if not found:
        return None
    return _grid(
        f"{folder.scored.name} less {compared.name} by category, {mode}",
        [(one.group, category_name(one.group), one) for one in found],
        "Category",
    )


def _grid(title: str, rows: Sequence[tuple[str, str, QuestionComparison]], first: str) -> Table:
    lines = []
    for name, below, one in rows:
        interval: tuple[str, ...] = ()
        if one.low is not None and one.high is not None:
            interval = (f"{format_signed(one.low)} to {format_signed(one.high)}",)
        test = _TESTS[one.test]
        if one.exact:
            test = f"exact {test}"
        tone: Tone = "best" if one.better else "muted"
        lines.append(
            TableRow(
                name,
                (
                    Cell(format_number(one.value_candidate), (format_number(one.value_baseline),)),
                    Cell(format_signed(one.difference), interval),
                    Cell(format_p_value(one.p if one.p_holm is None else one.p_holm), (test,)),
                    Cell(f"{one.n_differ:,} of {one.n:,}"),
                    Cell(format_number(one.minimum_detectable_effect)),
                    Cell(describe_finding(one), (), tone),
                ),
                below,
            )
        )
    return Table(
        title,
        "On the same questions; a question that one file does not answer is worth 0 there. p is "
        f"adjusted by Holm over {'measures' if first == 'Measure' else 'categories'} and all files "
        "compared.",
        (
            Column(first, numeric=False),
            Column("Values", "first, then second"),
            Column("Difference"),
            Column("p, adjusted"),
            Column("Differ", "questions"),
            Column("Smallest detectable"),
            Column("The data say", numeric=False),
        ),
        tuple(lines),
        "pairs",
    )
