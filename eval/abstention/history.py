"""Shows in a report how the same systems did at different times, from records of metrics."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from eval.abstention.metrics.definitions import choose_ranking_metric
from eval.abstention.metrics.record import MetricsReport, PolicyReport, Source, read_metrics
from eval.blocks.axis_charts import Axis, Curve, CurveChart, CurvePoint
from eval.blocks.blocks import (
    Cell,
    Column,
    Figure,
    Figures,
    Part,
    Table,
    TableRow,
    make_estimate_cell,
)
from eval.blocks.glossary import describe_metric
from eval.blocks.section import Section
from eval.blocks.text_format import UNDEFINED_TEXT, format_name, to_chart_estimate
from eval.metrics.metric_value import MetricValue
from eval.metrics.record_digest import is_about_metrics
from kg.base.csv_text import to_csv
from kg.base.errors import RecordError, SettingError
from kg.base.plain_text import format_count, join_list

METRICS_FILE = "metrics.json"
_COLUMNS = (
    "system", "started", "ended", "version", "model", "cards", "n_cards", "metric", "value", "low",
    "high",
)  # fmt: skip
_SET_LENGTH = 6
_MIN_TICK_GAP = 0.24
"""Minimum distance of two labelled dates, as a share of the axis, so that they do not touch."""


class PastRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one system, as its metrics describe it."""

    system: str
    started: str
    """UTC, ISO 8601, from the run manifest."""
    ended: str | None
    version: str
    """Version of Epoché that computed the metrics."""
    model: str | None
    cards: str
    n_cards: int
    metric: str
    value: MetricValue

    @property
    def seconds(self) -> float:
        """The start as a number, for the axis."""
        return _parse_time(self.started).timestamp()

    @property
    def date(self) -> str:
        """The start for readers, in UTC."""
        return _parse_time(self.started).strftime("%Y-%m-%d %H:%M")


def _parse_time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def find_metrics_file(path: Path) -> Path:
    """Returns the metrics file that a user named: the file itself, or the one in a folder."""
    return path / METRICS_FILE if path.is_dir() else path


def build_history_section(
    metrics: Path, previous: Sequence[Path], *, allow_changed: bool = False
) -> Section:
    """Builds the section that compares a report's systems with their earlier runs.

    Args:
        metrics: the metrics file of the report.
        previous: metrics files of earlier runs, or folders with one.
        allow_changed: accept metrics that were edited, with a notice.

    Raises:
        MissingFileError: a file does not exist.
        RecordError: a file is no metrics file, or a date in it cannot be read.
        ChangedRunError: metrics were edited, and this is not accepted.
        SettingError: a run has no date, or no system of the report was run before.
    """
    paths = [metrics, *map(find_metrics_file, previous)]
    reports = [read_metrics(path, allow_changed=allow_changed) for path in paths]
    policies = [_get_policy(report) for report in reports]
    now = set(policies[0].systems)
    metric = choose_ranking_metric(
        set.intersection(
            *(
                set(system.metrics)
                for policy in policies
                for name, system in policy.systems.items()
                if name in now
            )
        )
    )
    runs: dict[tuple[str, str, str], PastRun] = {}
    for path, report, policy in zip(paths, reports, policies, strict=True):
        for run in _iter_runs(path, report, policy, metric, now):
            runs.setdefault((run.system, run.started, run.cards), run)
    by_system = {name: [run for run in runs.values() if run.system == name] for name in sorted(now)}
    repeated = {
        name: sorted(found, key=lambda run: (run.seconds, run.cards))
        for name, found in by_system.items()
        if len(found) > 1
    }
    if not repeated:
        raise SettingError(
            "none of these runs is an earlier run of a system in the report",
            where=", ".join(map(str, paths[1:])),
            hint=f"The report has {', '.join(sorted(now))}. Give --previous the metrics.json of "
            "another run of one of them.",
        )
    # What must be said of the report's own metrics is said at its top.
    warnings = [
        f"{format_name(path.parent.name)}: {warning}"
        for path, report in zip(paths[1:], reports[1:], strict=True)
        for warning in report.warnings
        if warning not in reports[0].warnings or is_about_metrics(warning)
    ]
    section = _build_section(repeated, metric, reports[0], tuple(paths[1:]))
    return replace(section, notices=(*section.notices, *dict.fromkeys(warnings)))


def _get_policy(report: MetricsReport) -> PolicyReport:
    return report.policies.get("licensed") or next(iter(report.policies.values()))


def _iter_runs(
    path: Path, report: MetricsReport, policy: PolicyReport, metric: str, names: Container[str]
) -> Iterator[PastRun]:
    for name, system in policy.systems.items():
        value = system.metrics.get(metric)
        if name not in names or value is None or value.value is None:
            continue
        manifest = _find_manifest(report.sources, name)
        started = manifest.get("started")
        if not isinstance(started, str):
            raise SettingError(
                f"it is not known when {name!r} was run",
                where=str(path),
                hint="Compute these metrics again with the run manifests beside the results.",
            )
        try:
            _parse_time(started)
        except (ValueError, OverflowError) as error:
            raise RecordError(
                f"{name!r} was started at {started[:40]!r}, which is no date",
                where=str(path),
                hint="Compute these metrics again from the results and their manifests.",
            ) from error
        ended, model = manifest.get("ended"), manifest.get("model")
        yield PastRun(
            system=name,
            started=started,
            ended=ended if isinstance(ended, str) else None,
            version=report.version,
            model=model if isinstance(model, str) else None,
            cards=report.cards,
            n_cards=system.n_cards,
            metric=metric,
            value=value,
        )


def _find_manifest(sources: Iterable[Source], system: str) -> dict[str, Any]:
    """Returns the manifest of a system's results; of shards, that of the first one started."""
    manifests = [
        source.manifest for source in sources if system in source.systems and source.manifest
    ]
    return min(manifests, key=lambda manifest: str(manifest.get("started")), default={})


def _build_section(
    runs: dict[str, list[PastRun]], metric: str, report: MetricsReport, sources: tuple[Path, ...]
) -> Section:
    flat = [run for found in runs.values() for run in found]
    other_sets = sorted({run.cards for run in flat} - {report.cards})
    notices = []
    if other_sets:
        notices.append(
            f"Some runs are on other cards than the report ({report.cards}): "
            f"{join_list(other_sets)}. Lines join only runs on the same cards; values on different "
            "cards cannot be compared."
        )
    description = describe_metric(metric)
    figure = Figure(
        description.full_name,
        "By the start of the run; lines at the points are intervals.",
        _build_chart(runs, metric),
        f"{metric} of each system by the date of its runs; the table has the numbers.",
    )
    table = Table(
        "All runs",
        "Dates are in UTC. Whether a change is more than chance, `epoche compare` tests on the "
        "results of both runs.",
        (
            Column("Started", numeric=False),
            Column(metric, meaning=description.explanation),
            Column("Epoché"),
            Column("Model", numeric=False),
            Column("Card set", numeric=False),
            Column("Cards"),
        ),
        tuple(
            TableRow(
                run.date,
                (
                    make_estimate_cell(to_chart_estimate(run.value)),
                    Cell(run.version),
                    Cell(format_name(run.model) if run.model else UNDEFINED_TEXT),
                    Cell(run.cards),
                    Cell(f"{run.n_cards:,}"),
                ),
                group=format_name(name),
            )
            for name, found in runs.items()
            for run in found
        ),
    )
    rows = (
        (
            *(run.system, run.started, run.ended, run.version, run.model, run.cards, run.n_cards),
            *(run.metric, run.value.value, run.value.low, run.value.high),
        )
        for run in flat
    )
    return Section(
        id="history",
        name="Over time",
        title="The same systems over time",
        about=f"{format_count(len(flat), 'run')} of {format_count(len(runs), 'system')}",
        verdict=tuple(_describe_changes(runs, metric)),
        notices=tuple(notices),
        parts=(Part("runs", "Runs", "Runs", (Figures((figure,), size="wide"), table)),),
        tables={"runs": to_csv(_COLUMNS, rows)},
        sources=sources,
        data={"runs": flat},
        version=report.version,
    )


def _describe_changes(runs: dict[str, list[PastRun]], metric: str) -> Iterator[str]:
    """Yields a sentence per system on the same cards: its first value and its last one."""
    for name, found in runs.items():
        last = found[-1]
        same_cards = [run for run in found if run.cards == last.cards]
        if len(same_cards) < 2:
            yield f"{format_name(name)} was run once on these cards and before on others only."
            continue
        first = same_cards[0]
        yield (
            f"{metric} of {format_name(name)} went from {to_chart_estimate(first.value).text} on "
            f"{first.date[:10]} to {to_chart_estimate(last.value).text} on {last.date[:10]} "
            f"({len(same_cards)} runs on the same cards; {_compare_intervals(first, last)})."
        )


def _compare_intervals(first: PastRun, last: PastRun) -> str:
    ends = (first.value.low, first.value.high, last.value.low, last.value.high)
    low, high, other_low, other_high = ends
    if low is None or high is None or other_low is None or other_high is None:
        return "without intervals"
    overlap = low <= other_high and other_low <= high
    return f"their intervals {'overlap' if overlap else 'do not overlap'}"


def _build_chart(runs: dict[str, list[PastRun]], metric: str) -> CurveChart:
    curves = []
    for name, found in runs.items():
        sets = list(dict.fromkeys(run.cards for run in found))
        for cards in sets:
            label = format_name(name) if len(sets) == 1 else f"{name}, {cards[:_SET_LENGTH]}"
            points = tuple(_build_point(run) for run in found if run.cards == cards)
            curves.append(Curve(format_name(label), points))
    flat = [run for found in runs.values() for run in found]
    ends = [end for run in flat for end in (run.value.value, run.value.low) if end is not None]
    low = -1.0 if min(ends) < 0 else 0.0
    ticks = ((-1.0, "−1"), (-0.5, "−0.5"), (0.0, "0"), (0.5, "0.5"), (1.0, "1"))
    y = Axis(low, 1.0, tuple(tick for tick in ticks if tick[0] >= low), metric)
    return CurveChart(tuple(curves), _make_time_axis(flat), y)


def _build_point(run: PastRun) -> CurvePoint:
    shown = to_chart_estimate(run.value)
    interval = None
    if run.value.low is not None and run.value.high is not None:
        interval = (run.value.low, run.value.high)
    numbers = f"{shown.text} {shown.interval_text}".strip()
    assert run.value.value is not None
    return CurvePoint(
        run.seconds, run.value.value, interval, f"{run.date}, version {run.version}: {numbers}"
    )


def _make_time_axis(runs: Sequence[PastRun]) -> Axis:
    """Makes an axis of time, with a date at each run that is far enough from the one before."""
    times = sorted({(run.seconds, run.date) for run in runs})
    first, last = times[0][0], times[-1][0]
    # Runs of one day are told apart by the hour.
    is_one_day = len({date[:10] for _, date in times}) == 1
    room = (last - first) / 12 or 1.0
    axis = Axis(first - room, last + room, (), "start of the run, UTC")
    ticks: list[tuple[float, str]] = []
    for seconds, date in times:
        gap = axis.to_share(seconds) - axis.to_share(ticks[-1][0]) if ticks else 1.0
        if gap >= _MIN_TICK_GAP:
            ticks.append((seconds, date[11:] if is_one_day else date[:10]))
    return Axis(axis.low, axis.high, tuple(ticks), axis.label)
