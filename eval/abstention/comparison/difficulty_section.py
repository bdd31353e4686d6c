"""Shows the measured difficulty of cards: a section of a report, and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from eval.abstention.comparison.difficulty import (
    DifficultyReport,
    GroupDifficulty,
    LevelStep,
)
from eval.blocks.blocks import (
    Cell,
    Column,
    Paragraphs,
    Part,
    Table,
    TableRow,
    Tone,
    make_estimate_cell,
)
from eval.blocks.section import Section
from eval.blocks.text_format import (
    format_name,
    format_number,
    format_percent,
    format_signed,
    to_chart_estimate,
)
from kg.base.plain_text import format_count, join_list
from kg.base.provenance import package_version
from kg.terms import iri_tail

MAX_SHOWN_GROUPS = 8
"""Maximum number of kinds and of predicates in the table; the data have all."""

_TONES: dict[str, Tone] = {"in order": "up", "not shown": "muted", "reversed": "down"}
_FINDINGS = {
    "in order": "harder, as stated",
    "not shown": "no significant difference",
    "reversed": "easier, against what is stated",
}
_GROUP_COLUMNS = (
    Column("Group", numeric=False),
    Column("Cards"),
    Column("Failures", meaning="Share of the answers, one per system and card, that are not right"),
    Column("Without a reply", meaning="Share of the answers that are failed calls or missing rows"),
)


def build_difficulty_section(report: DifficultyReport, card_set: str) -> Section:
    """Builds the section.

    Args:
        report: the measured difficulty.
        card_set: start of the hash of the cards.
    """
    names = join_list([format_name(name) for name in report.systems])
    parts = []
    if report.levels:
        parts.append(Part("levels", "Levels", "Stated and measured", (_build_level_table(report),)))
    shown = [
        *_list_rows("By kind", [(g.name, g) for g in report.kinds]),
        *_list_rows("By predicate", _name_predicates(report.predicates)),
    ]
    note = Paragraphs((f"Measured by {names}. Intervals are about cards, for these systems.",))
    about = "The hardest first, by the lower ends of the intervals."
    groups = Table("Hardest kinds and predicates", about, _GROUP_COLUMNS, tuple(shown))
    parts.append(Part("groups", "Groups", "The hardest kinds and predicates", (note, groups)))
    return Section(
        id="difficulty",
        name="Difficulty",
        title="How hard are the cards?",
        about=f"The share of {len(report.systems)} systems that fail on the same cards",
        verdict=tuple(describe_difficulty(report)),
        parts=tuple(parts),
        version=package_version(),
        data={"difficulty": report},
        card_set=card_set,
    )


def describe_difficulty(report: DifficultyReport) -> Iterator[str]:
    """Yields sentences: how hard the cards are, whether levels are in order, what is hardest."""
    yield (
        f"Of {format_count(report.n_cards, 'card')}, {report.n_all_right:,} are answered right by "
        f"all {len(report.systems)} systems and {report.n_all_failed:,} by none; "
        f"{_describe_share(report.cards)} of the answers are failures."
    )
    if report.steps:
        yield _describe_levels(report)
    hardest = [
        f"the {what} {format_name(name)} ({_describe_share(group)})"
        for what, groups in (
            ("kind", [(g.name, g) for g in report.kinds]),
            ("predicate", _name_predicates(report.predicates)),
        )
        for name, group in groups[:1]
        if len(groups) > 1
    ]
    if hardest:
        yield f"Failures are most frequent on {join_list(hardest)}."


def _describe_levels(report: DifficultyReport) -> str:
    wrong = [step for step in report.steps if step.finding != "in order"]
    if not wrong:
        shares = [f"{g.name} {format_number(g.failures.value)}" for g in report.levels]
        return f"The stated levels are in the order of measured difficulty: {join_list(shares)}."
    steps = "; ".join(
        f"{step.harder} − {step.easier} = {_describe_step(step)}, {_FINDINGS[step.finding]}"
        for step in wrong
    )
    is_reversed = any(step.finding == "reversed" for step in wrong)
    verdict = "not in" if is_reversed else "not shown to be in"
    return f"The stated levels are {verdict} the order of measured difficulty: {steps}."


def _describe_step(step: LevelStep) -> str:
    return (
        f"{format_signed(step.difference)} [{format_signed(step.low)}, {format_signed(step.high)}]"
    )


def _describe_share(group: GroupDifficulty) -> str:
    found = to_chart_estimate(group.failures)
    return f"{found.text} [{found.interval_text}]" if found.interval_text else found.text


def _name_predicates(groups: Sequence[GroupDifficulty]) -> list[tuple[str, GroupDifficulty]]:
    """Names predicates by the last part of their IRI, or by the whole where two have the same."""
    tails = Counter(iri_tail(group.name) for group in groups)
    return [
        (tail if tails[tail := iri_tail(group.name)] == 1 else group.name, group)
        for group in groups
    ]


def _build_level_table(report: DifficultyReport) -> Table:
    steps = {step.harder: step for step in report.steps}
    columns = (
        *_GROUP_COLUMNS,
        Column("Against the level before", meaning="Difference of failures, over shared clusters"),
        Column("Finding", numeric=False),
    )
    rows = []
    for group in report.levels:
        step = steps.get(group.name)
        cells = (
            Cell("–"),
            Cell(""),
        )
        if step is not None:
            interval = f"{format_signed(step.low)} to {format_signed(step.high)}"
            cells = (
                Cell(format_signed(step.difference), (interval,)),
                Cell(_FINDINGS[step.finding], (), _TONES[step.finding]),
            )
        rows.append(TableRow(group.name, (*_build_cells(group), *cells)))
    about = "Whether systems fail more often on cards that are stated to be harder."
    return Table("Stated difficulty", about, columns, tuple(rows))


def _list_rows(title: str, groups: Sequence[tuple[str, GroupDifficulty]]) -> Iterator[TableRow]:
    if len(groups) > MAX_SHOWN_GROUPS:
        title = f"{title}: {MAX_SHOWN_GROUPS} of {len(groups)}"
    for name, group in groups[:MAX_SHOWN_GROUPS]:
        yield TableRow(name, _build_cells(group), group=title)


def _build_cells(group: GroupDifficulty) -> tuple[Cell, ...]:
    return (
        Cell(f"{group.n_cards:,}"),
        make_estimate_cell(to_chart_estimate(group.failures)),
        Cell(format_percent(group.error_share)),
    )
