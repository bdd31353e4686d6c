"""Builds the tables and charts of the report page from its metrics, as records without markup.

Every number is copied from ``metrics.json``, except for sums and shares of the counts in its
outcome tables.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable

from eval.abstention.metrics.definitions import (
    EXPLANATORY_METRICS,
    HEADLINE_METRICS,
    PENALTIES,
    SHOWN_METRICS,
    choose_ranking_metric,
)
from eval.abstention.metrics.record import CardComparison, MetricsReport, PolicyReport, SystemReport
from eval.abstention.result import PENALTY_MARK, PREDS
from eval.blocks.charts import (
    CoverageChart,
    CoveragePoint,
    DotChart,
    NamedEstimate,
    OutcomeBars,
    OutcomeCount,
    OutcomeRow,
)
from eval.blocks.glossary import POLICY_DESCRIPTIONS, describe_metric
from eval.blocks.text_format import ChartEstimate, format_name, to_chart_estimate
from kg.claims import GOLD_OF_LABEL, LABELS
from reporting.card_report.memory_text import describe_finding
from reporting.card_report.view_records import (
    Cell,
    Column,
    ErrorRow,
    HeatCell,
    HeatMap,
    MemoryRow,
    PairRow,
    Panel,
    PenaltyChart,
    PenaltyPoint,
    Row,
    Table,
    build_pair_row,
)
from reporting.outcomes import OUTCOMES, Outcome, classify_answer
from reporting.visible_text import make_visible

LABEL_TITLES: dict[str, str] = {"E": "Entailed", "C": "Contradictory", "U": "Unknown"}
_PENALTY = re.compile(r"0|\.\d+")
_MAX_OTHER_COLUMNS = 7
"""Maximum number of metrics in one further table, so that it fits on paper."""
_LICENSED_SYSTEMS = ("graph_rag", "graph_rag_llm")
_PLOTTED_METRICS = (*HEADLINE_METRICS, *EXPLANATORY_METRICS)
_DIRECTION_TEXTS = {True: "higher is better", False: "lower is better", None: "descriptive only"}


def choose_main_policy(report: MetricsReport) -> str:
    """Returns the policy of charts and summary: ``licensed``, or else the first in the file."""
    return "licensed" if "licensed" in report.policies else next(iter(report.policies))


def is_licensed(name: str) -> bool:
    """Returns whether a system's YES and NO pass only where the graph proves them."""
    return name.partition(":")[0] in _LICENSED_SYSTEMS


def is_control(name: str, policy: PolicyReport) -> bool:
    """Whether a system is one of the controls; the case of its name does not matter."""
    return name.casefold() in {control.casefold() for control in policy.controls}


class ReportView:
    """The data of the report page; ``systems`` and ``controls`` are in the order of the tables."""

    def __init__(self, report: MetricsReport) -> None:
        self.report = report
        self.main_policy = choose_main_policy(report)
        policy = report.policies[self.main_policy]
        self.controls = list(policy.controls)
        # The oracle is first, since it is the ceiling; then the others by skill. The order does
        # not imply significance, which is decided by the paired tests.
        names = [name for name in policy.systems if not is_control(name, policy)]
        self.systems = sorted(names, key=lambda name: _sort_key(policy.systems[name]))

    @property
    def policy(self) -> PolicyReport:
        """The report of the main policy, which the charts show."""
        return self.report.policies[self.main_policy]

    def list_competitors(self) -> list[str]:
        """Lists the systems by skill, without the oracle if two others remain."""
        others = [name for name in self.systems if not self.policy.systems[name].oracle]
        return others if len(others) > 1 else self.systems

    def _list_systems(self, policy: PolicyReport) -> list[tuple[str, bool, SystemReport]]:
        rows = [(name, False, policy.systems[name]) for name in self.systems]
        return rows + [(name, True, policy.controls[name]) for name in self.controls]

    # -- headline -------------------------------------------------------------------------------

    def build_columns(self, keys: Iterable[str], policy: PolicyReport) -> tuple[Column, ...]:
        """Builds the column heads of the metrics that have values, in the given order."""
        win_by_metric = {win.metric: win for win in policy.won_by_controls if win.won}
        columns = []
        for key in keys:
            values = [s.metrics[key] for _, _, s in self._list_systems(policy) if key in s.metrics]
            if not values:
                continue
            higher_is_better = values[0].higher_is_better
            columns.append(
                Column(
                    key=key,
                    description=describe_metric(key),
                    direction=_DIRECTION_TEXTS[higher_is_better],
                    unbeaten_controls=win_by_metric[key].controls if key in win_by_metric else (),
                )
            )
        return tuple(columns)

    def build_table(self, policy_name: str, keys: Iterable[str]) -> Table:
        """Builds the table of all systems and controls under one policy."""
        policy = self.report.policies[policy_name]
        columns = self.build_columns(keys, policy)
        beaten_cells = {
            (w.metric, name) for w in policy.won_by_controls for name in (*w.beaten, *w.tied)
        }

        def build_row(name: str, system: SystemReport, control: bool) -> Row:
            cells = tuple(
                Cell(
                    to_chart_estimate(system.metrics.get(column.key)),
                    not control and (column.key, name) in beaten_cells,
                )
                for column in columns
            )
            return Row(format_name(name), "shown the claim itself" if system.oracle else "", cells)

        rows = [
            (control, build_row(name, s, control))
            for name, control, s in self._list_systems(policy)
        ]
        return Table(
            policy=policy_name,
            policy_description=POLICY_DESCRIPTIONS.get(policy_name, ""),
            columns=columns,
            rows=tuple(r for control, r in rows if not control),
            controls=tuple(r for control, r in rows if control),
        )

    def build_headline_tables(self) -> list[Table]:
        """Builds the headline table under each policy, the main policy first."""
        names = [self.main_policy, *(p for p in self.report.policies if p != self.main_policy)]
        return [self.build_table(name, SHOWN_METRICS) for name in names]

    def build_other_tables(self) -> list[Table]:
        """Builds the tables of all metrics outside the headline tables, under each policy."""
        tables = []
        for table in self.build_headline_tables():
            policy = self.report.policies[table.policy]
            keys = dict.fromkeys(key for _, _, s in self._list_systems(policy) for key in s.metrics)
            other_keys = [key for key in keys if key not in SHOWN_METRICS]
            for start in range(0, len(other_keys), _MAX_OTHER_COLUMNS):
                part = other_keys[start : start + _MAX_OTHER_COLUMNS]
                tables.append(self.build_table(table.policy, part))
        return tables

    # -- charts ---------------------------------------------------------------------------------

    def build_panels(self) -> list[Panel]:
        """Builds one dot-and-interval chart per headline metric."""
        return [
            Panel(
                column,
                DotChart(
                    tuple(
                        NamedEstimate(
                            format_name(name),
                            control,
                            to_chart_estimate(system.metrics.get(column.key)),
                        )
                        for name, control, system in self._list_systems(self.policy)
                    ),
                    low=-1.0 if column.key in PENALTIES else 0.0,
                ),
            )
            for column in self.build_columns(_PLOTTED_METRICS, self.policy)
        ]

    def build_outcome_bars(self) -> OutcomeBars:
        """Builds the stacked bars of outcomes; they are the same under every policy."""
        entries = []
        for name, control, system in self._list_systems(self.policy):
            counts: dict[Outcome, float] = {key: 0.0 for key, _, _ in OUTCOMES}
            for label in LABELS:
                for pred in PREDS:
                    key = classify_answer(GOLD_OF_LABEL[label], pred)
                    counts[key] += system.table.get(label, {}).get(pred, 0)
            parts = tuple(
                OutcomeCount(key, symbol, text, counts[key]) for key, symbol, text in OUTCOMES
            )
            entries.append(OutcomeRow(format_name(name), control, parts))
        return OutcomeBars(tuple(entries))

    def build_coverage_chart(self) -> CoverageChart:
        """Builds the chart of coverage against the accuracy of the answers given."""
        points = [
            CoveragePoint(format_name(name), control, coverage, accuracy)
            for name, control, coverage, accuracy in self._list_coverages()
            if coverage is not None and accuracy is not None
        ]
        counts = self.report.label_counts
        answerable = counts.get("E", 0) + counts.get("C", 0)
        total = sum(counts.values())
        return CoverageChart(tuple(points), answerable / total if total else None)

    def build_penalty_charts(self) -> list[PenaltyChart]:
        """Builds a chart per system that was told several penalties: share answered against t."""
        points: dict[str, list[PenaltyPoint]] = {}
        for name in self.systems:
            base, mark, text = name.rpartition(PENALTY_MARK)
            metrics = self.policy.systems[name].metrics
            if not mark or not _PENALTY.fullmatch(text) or "coverage" not in metrics:
                continue
            answered, right = (
                to_chart_estimate(metrics.get(key)) for key in ("coverage", "answer_accuracy")
            )
            skill = to_chart_estimate(metrics.get(f"skill@{text}"))
            points.setdefault(base, []).append(PenaltyPoint(float(text), answered, right, skill))
        return [
            PenaltyChart(
                format_name(base),
                tuple(sorted(group, key=lambda point: point.penalty)),
            )
            for base, group in points.items()
            if len(group) > 1
        ]

    def list_memories(self) -> list[MemoryRow]:
        """Lists how often each system says YES to claims that were set aside, and to others."""
        rows = []
        for name in self.systems:
            system = self.policy.systems[name]
            if system.memory is not None:
                true, others = (
                    (group.n_cards, to_chart_estimate(group.metrics.get("yes_rate")))
                    for group in system.set_aside.values()
                )
                memory = to_chart_estimate(system.memory)
                finding = describe_finding(system.memory_tests)
                rows.append(MemoryRow(format_name(name), true, others, memory, finding))
        return rows

    def list_silent_systems(self) -> tuple[str, ...]:
        """Returns the systems that never answer, so that their accuracy is undefined."""
        return tuple(
            format_name(name)
            for name, _, coverage, accuracy in self._list_coverages()
            if coverage is None or accuracy is None
        )

    def _list_coverages(self) -> list[tuple[str, bool, float | None, float | None]]:
        return [
            (
                name,
                control,
                to_chart_estimate(system.metrics.get("coverage")).value,
                to_chart_estimate(system.metrics.get("answer_accuracy")).value,
            )
            for name, control, system in self._list_systems(self.policy)
        ]

    def build_heat_maps(self) -> list[HeatMap]:
        """Builds the 3×5 outcome table of every system, then of every control."""
        return [
            HeatMap(
                format_name(name),
                control,
                tuple(_build_heat_rows(system)),
                "replies" if system.repeats > 1 else "cards",
            )
            for name, control, system in self._list_systems(self.policy)
        ]

    # -- what went wrong ------------------------------------------------------------------------

    error_columns = (
        ("NO on E", "false denial"),
        ("UNKNOWN on E", "missed answer"),
        ("YES on C", "contradiction let pass"),
        ("YES or NO on U", "answer without licence"),
        ("INVALID", "invalid reply"),
        ("ERROR", "failed call"),
    )
    """Head and explanation of each column of ``count_errors``."""

    def count_errors(self) -> list[ErrorRow]:
        """Counts each type of error, with its share of the cards on which it can occur."""
        # (labels, answers) of each error, in the order of ``error_columns``.
        cells = (
            (("E",), ("NO",)),
            (("E",), ("UNKNOWN",)),
            (("C",), ("YES",)),
            (("U",), ("YES", "NO")),
            (LABELS, ("INVALID",)),
            (LABELS, ("ERROR",)),
        )
        rows = []
        for name, control, system in self._list_systems(self.policy):
            counts = []
            for labels, preds in cells:
                total = sum(sum(system.table.get(label, {}).values()) for label in labels)
                count = sum(
                    system.table.get(label, {}).get(pred, 0) for label in labels for pred in preds
                )
                share = f"{100 * count / total:.1f} %" if total else "–"
                counts.append((format_count(count), share))
            rows.append(ErrorRow(format_name(name), control, tuple(counts)))
        return rows

    # -- paired comparisons ---------------------------------------------------------------------

    def group_comparisons(self, policy: str) -> list[tuple[Column, list[PairRow]]]:
        """Groups the paired comparisons under one policy by metric, that of the ranking first."""
        pairs_by_metric: dict[str, list[CardComparison]] = {}
        for pair in self.report.comparisons:
            if pair.policy == policy and {pair.candidate, pair.baseline} <= set(self.systems):
                pairs_by_metric.setdefault(pair.metric, []).append(pair)
        report = self.report.policies[policy]
        return [
            (column, [build_pair_row(pair) for pair in pairs_by_metric[column.key]])
            for column in self.build_columns(_sort_ranking_first(pairs_by_metric), report)
        ]

    def list_repeats(self) -> list[tuple[str, int, ChartEstimate]]:
        """Lists the systems with repeats: name, number of repeats and self-consistency."""
        systems = [(name, self.policy.systems[name]) for name in self.systems]
        return [
            (format_name(name), system.repeats, to_chart_estimate(system.self_consistency))
            for name, system in systems
            if system.repeats > 1
        ]

    def list_signatures(self) -> list[str]:
        """Lists the signatures of the headline metrics, without duplicates."""
        signatures: dict[str, None] = {}
        for policy in self.report.policies.values():
            for _, _, system in self._list_systems(policy):
                for key in _PLOTTED_METRICS:
                    value = system.metrics.get(key)
                    if value and value.signature:
                        signatures[make_visible(value.signature)] = None
        return list(signatures)


def _sort_key(system: SystemReport) -> tuple[bool, float]:
    ranking = choose_ranking_metric(system.metrics)
    value = to_chart_estimate(system.metrics.get(ranking)).value
    return not system.oracle, math.inf if value is None else -value


def _sort_ranking_first(keys: Collection[str]) -> list[str]:
    ranking = choose_ranking_metric(keys)
    return sorted(keys, key=lambda key: (key != ranking, key != "accuracy"))


def format_count(value: float) -> str:
    """Formats a number of cards; expected counts of the random control have one decimal."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _build_heat_rows(
    system: SystemReport,
) -> Iterable[tuple[str, str, str, tuple[HeatCell, ...]]]:
    """Yields (label, its name, number of cards, cells) of each row of the outcome table."""
    for label in LABELS:
        row = system.table.get(label, {})
        total = sum(row.values())
        cells = tuple(
            HeatCell(
                pred=pred,
                count=format_count(row.get(pred, 0)),
                share=row.get(pred, 0) / total if total else None,
                outcome=classify_answer(GOLD_OF_LABEL[label], pred),
            )
            for pred in PREDS
        )
        yield label, LABEL_TITLES[label], format_count(total), cells
