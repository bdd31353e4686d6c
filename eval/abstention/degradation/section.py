"""Shows the curves of degradation in reports."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from eval.abstention.degradation.curves import (
    DATA_NAME,
    Degradation,
    DegradationPoint,
    find_crossings,
    iter_point_values,
    read_degradation,
)
from eval.abstention.metrics.definitions import SKILL
from eval.blocks.axis_charts import Axis, Curve, CurveChart, CurvePoint, round_up_step
from eval.blocks.blocks import (
    Cell,
    Column,
    Figure,
    Figures,
    Paragraphs,
    Part,
    Table,
    TableRow,
    make_estimate_cell,
)
from eval.blocks.glossary import describe_metric
from eval.blocks.section import Section
from eval.blocks.text_format import (
    format_name,
    format_number,
    format_percent,
    format_signed,
    to_chart_estimate,
)
from eval.metrics.comparison import Comparison
from eval.stats.estimates import Estimate
from kg.base.csv_text import to_csv
from kg.base.plain_text import format_count, join_list

_KINDS = {"dropped": "dropped", "replaced": "replaced by other facts"}
_COLUMNS = ("dropped", "replaced", "system", "metric", "value", "low", "high", "method", "n")
_MAX_TICKS = 5


def has_curves(folder: Path) -> bool:
    """Returns whether ``epoche degrade`` wrote curves to a folder."""
    return (folder / DATA_NAME).is_file()


def build_degradation_sections(
    folders: Sequence[Path], *, allow_changed: bool = False
) -> list[Section]:
    """Builds the sections of several folders, each with ids of its own."""
    ids = ("degradation", *(f"degradation-{n}" for n in range(2, len(folders) + 1)))
    return [
        build_degradation_section(folder, id_, allow_changed=allow_changed)
        for folder, id_ in zip(folders, ids, strict=False)
    ]


def build_degradation_section(
    folder: Path, id_: str = "degradation", *, allow_changed: bool = False
) -> Section:
    """Builds the section of the curves that ``epoche degrade`` wrote to a folder.

    Raises:
        MissingFileError, RecordError, ChangedRunError: as ``read_degradation``.
    """
    degradation = read_degradation(folder / DATA_NAME, allow_changed=allow_changed)
    kinds = [kind for kind in _KINDS if len(degradation.select_curve(kind)) > 1]
    rows = (
        (
            *(point.dropped, point.replaced, system, metric),
            *(estimate.value, estimate.low, estimate.high, estimate.method, estimate.n),
        )
        for point in degradation.points
        for system, estimates in point.estimates.items()
        for metric, estimate in estimates.items()
    )
    return Section(
        id=id_,
        name="Degradation",
        title="When the evidence gets worse",
        about="The same questions and gold answers on graphs that lack facts or have wrong ones",
        verdict=tuple(describe_degradation(degradation)),
        notices=degradation.warnings,
        stats=(
            (f"{degradation.n_cards:,}", "cards"),
            (f"{len(degradation.systems)}", "systems"),
            (f"{degradation.n_facts:,}", "facts that can be lost"),
        ),
        parts=(
            *(_build_part(degradation, kind) for kind in kinds),
            *([_build_pairs_part(degradation)] if len(degradation.systems) > 1 else []),
        ),
        tables={"curves": to_csv(_COLUMNS, rows)},
        sources=(folder / DATA_NAME,),
        data={"degradation": degradation},
        version=degradation.version,
        card_set=degradation.cards,
    )


def describe_degradation(degradation: Degradation) -> Iterator[str]:
    """Yields a sentence per curve: the skill at both ends, and whose lines cross."""
    for kind, words in _KINDS.items():
        points = degradation.select_curve(kind)
        if len(points) < 2:
            continue
        share = format_percent(getattr(points[-1], kind))
        changes = join_list(
            [_describe_change(points[0], points[-1], system) for system in degradation.systems]
        )
        yield f"With {share} of the facts {words}, {SKILL} goes {changes}."
        crossings = list(_describe_crossings(points, kind))
        yield from crossings
        if not crossings and len(degradation.systems) > 1:
            yield f"The lines of no two systems cross with up to {share} of the facts {words}."


def _describe_change(first: DegradationPoint, last: DegradationPoint, system: str) -> str:
    before, after = (to_chart_estimate(point.estimates[system][SKILL]) for point in (first, last))
    interval = f" [{after.interval_text}]" if after.interval_text else ""
    return f"from {before.text} to {after.text}{interval} for {format_name(system)}"


def _describe_crossings(points: Sequence[DegradationPoint], kind: str) -> Iterator[str]:
    """Yields for each two systems whose lines cross at which shares the tests find one better."""
    crossings = list(find_crossings(points))
    for names in dict.fromkeys((found.candidate, found.baseline) for found in crossings):
        levels: dict[str, list[str]] = {}
        for point in points:
            for pair in point.comparisons:
                if (pair.candidate, pair.baseline) == names and pair.better is not None:
                    share = format_percent(getattr(point, kind))
                    levels.setdefault(pair.better, []).append(share)
        if len(levels) > 1:
            (first, second), (at_first, at_second) = levels, map(join_list, levels.values())
            yield (
                f"{format_name(first)} is better at {at_first}, {format_name(second)} at "
                f"{at_second} (paired tests)."
            )
            continue
        places = [
            f"between {format_percent(found.low)} and {format_percent(found.high)}"
            for found in crossings
            if (found.candidate, found.baseline) == names
        ]
        yield (
            f"The lines of {join_list(list(map(format_name, names)))} cross {join_list(places)}, "
            "which the tests cannot show."
        )


def _build_part(degradation: Degradation, kind: str) -> Part:
    points = degradation.select_curve(kind)
    words = _KINDS[kind]
    figures = tuple(
        _build_figure(degradation, points, kind, metric) for metric in degradation.metrics
    )
    rows = tuple(
        TableRow(
            format_name(system),
            tuple(
                make_estimate_cell(to_chart_estimate(point.estimates[system][metric]))
                for metric in degradation.metrics
            ),
            group=f"{format_percent(getattr(point, kind))} {words}",
        )
        for point in points
        for system in degradation.systems
    )
    table = Table(
        f"Facts {words}",
        "The same as numbers.",
        (
            Column("System", numeric=False),
            *(
                Column(name, meaning=describe_metric(name).explanation)
                for name in degradation.metrics
            ),
        ),
        rows,
    )
    intro = Paragraphs(
        (
            f"Shares of the {degradation.n_facts:,} facts are {words}, chosen by seed "
            f"{degradation.seed}: those of a smaller share are among those of a larger one. Gold "
            "is what the cards' graph says before any change.",
        )
    )
    title = f"Facts {words}"
    return Part(kind, title, title, (intro, Figures(figures, size="half"), table))


def _build_figure(
    degradation: Degradation, points: Sequence[DegradationPoint], kind: str, metric: str
) -> Figure:
    found = {
        system: list(iter_point_values(points, system, metric, kind))
        for system in degradation.systems
    }
    curves = tuple(
        Curve(
            format_name(system),
            tuple(_build_point(share, estimate, kind) for share, estimate in values),
        )
        for system, values in found.items()
    )
    ends = [
        end
        for values in found.values()
        for _, estimate in values
        for end in (estimate.value, estimate.low, estimate.high)
        if end is not None
    ]
    x = _make_share_ticks([getattr(point, kind) for point in points], f"share of facts {kind}")
    chart = CurveChart(curves, x, _make_value_axis(ends, metric))
    description = describe_metric(metric)
    about = f"{description.explanation} Lines at the points are intervals."
    alt = f"{metric} of each system against the share of facts {kind}; the table has the numbers."
    return Figure(description.full_name, about, chart, alt)


def _build_point(share: float, estimate: Estimate, kind: str) -> CurvePoint:
    shown = to_chart_estimate(estimate)
    interval = None
    if estimate.low is not None and estimate.high is not None:
        interval = (estimate.low, estimate.high)
    numbers = f"{shown.text} {shown.interval_text}".strip()
    text = f"{format_percent(share)} {kind}: {numbers}"
    assert estimate.value is not None
    return CurvePoint(share, estimate.value, interval, text)


def _make_share_ticks(shares: Sequence[float], label: str) -> Axis:
    # A little room, so that points at the ends do not stand on the axes.
    room = max(shares) / 20
    ticks = tuple((share, format_percent(share)) for share in shares)
    return Axis(-room, max(shares) + room, ticks, label)


def _make_value_axis(values: Sequence[float], label: str) -> Axis:
    low, high = min([0.0, *values]), max([0.0, *values])
    step = round_up_step((high - low) / _MAX_TICKS or 0.2)
    first, last = int(low // step), -int(-high // step)
    ticks = tuple((n * step, format_number(n * step, 2)) for n in range(first, last + 1))
    return Axis(first * step, last * step, ticks, label)


def _build_pairs_part(degradation: Degradation) -> Part:
    rows = tuple(
        _build_pair_row(pair, point) for point in degradation.points for pair in point.comparisons
    )
    about = (
        f"Difference of {SKILL} on the same cards: candidate − baseline. p-values are adjusted by "
        f"Holm's method over all {format_count(len(rows), 'row')}."
    )
    table = Table(
        "Paired differences at each level",
        about,
        (
            Column("Candidate and baseline", numeric=False),
            Column("Difference"),
            Column("p, adjusted"),
            Column("Finding", numeric=False),
        ),
        rows,
        look="pairs",
    )
    return Part("pairs", "Differences", "Which system is better at which level?", (table,))


def _build_pair_row(pair: Comparison, point: DegradationPoint) -> TableRow:
    has_interval = pair.low is not None and pair.high is not None
    interval = f"{format_signed(pair.low)} to {format_signed(pair.high)}" if has_interval else ""
    losses = [
        f"{format_percent(getattr(point, kind))} {words}"
        for kind, words in _KINDS.items()
        if getattr(point, kind)
    ]
    finding = (
        f"{format_name(pair.better)} is better" if pair.better else "no significant difference"
    )
    return TableRow(
        f"{format_name(pair.candidate)} − {format_name(pair.baseline)}",
        (
            Cell(format_signed(pair.difference), (interval,) if interval else ()),
            Cell("–" if pair.p_holm is None else f"{pair.p_holm:.3g}"),
            Cell(finding, (), "best" if pair.better else "muted"),
        ),
        group=" and ".join(losses) or "the whole graph",
    )


def render_curves(degradation: Degradation) -> Iterator[str]:
    """Renders the curves for the terminal: one line per level, system by system."""
    for kind, words in _KINDS.items():
        points = degradation.select_curve(kind)
        if len(points) < 2:
            continue
        yield f"facts {words}:"
        for system, metric in itertools.product(degradation.systems, degradation.metrics):
            values = "  ".join(
                f"{format_percent(getattr(point, kind))} "
                f"{_format_estimate(point.estimates[system][metric])}"
                for point in points
            )
            yield f"  {format_name(system)}  {metric}  {values}"


def _format_estimate(estimate: Estimate) -> str:
    shown = to_chart_estimate(estimate)
    return f"{shown.text} [{shown.interval_text}]" if shown.interval_text else shown.text
