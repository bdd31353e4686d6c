"""Tables of how the file differs from those it is compared with."""

from __future__ import annotations

from collections.abc import Sequence

from eval.synthlink.metrics import Mode
from eval.synthlink.outputs import ComparedScores
from eval.synthlink.record import QuestionComparison
from reporting.benchmark_sections.blocks import Cell, Grid, Head, Line, Tone
from reporting.charts import format_number
from reporting.comparison_text import describe_finding, format_p_value
from reporting.forest_plot import format_signed
from reporting.synthlink_section.grids import value_cell
from reporting.synthlink_section.measure_words import MEASURES, category_name
from reporting.synthlink_section.reading import ScoredFolder

_TESTS = {"sign-flip": "sign flips", "mcnemar": "McNemar", "none": "not tested"}


def side_by_side(folder: ScoredFolder) -> Grid:
    """The scores of all files in every mode."""
    files = [
        (folder.scored.name, "this file", {m: folder.report.modes[m].overall for m in folder.modes})
    ]
    files += [(one.name, "", one.modes) for one in folder.scored.comparisons]
    lines = []
    for name, below, groups in files:
        found = [groups[mode].measures if mode in groups else {} for mode in folder.modes]
        cells = [value_cell(measures.get("aggregate")) for measures in found]
        lines.append(Line(name, tuple(cells), below))
    return Grid(
        "Scores of all files",
        "Whether intervals overlap decides nothing; the paired tests below do.",
        (Head("File", numeric=False), *(Head(mode) for mode in folder.modes)),
        tuple(lines),
    )


def differences(folder: ScoredFolder, compared: ComparedScores, mode: Mode) -> Grid:
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


def by_category(folder: ScoredFolder, compared: ComparedScores, mode: Mode) -> Grid | None:
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


def _grid(title: str, rows: Sequence[tuple[str, str, QuestionComparison]], first: str) -> Grid:
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
            Line(
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
    return Grid(
        title,
        "On the same questions; a question that one file does not answer is worth 0 there. p is "
        f"adjusted by Holm over {'measures' if first == 'Measure' else 'categories'} and all files "
        "compared.",
        (
            Head(first, numeric=False),
            Head("Values", "first, then second"),
            Head("Difference"),
            Head("p, adjusted"),
            Head("Differ", "questions"),
            Head("Smallest detectable"),
            Head("The data say", numeric=False),
        ),
        tuple(lines),
        "pairs",
    )
