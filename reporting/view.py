"""From metrics to what the page shows: tables and charts as plain records, no markup.

Every number comes from ``metrics.json`` as it stands there; nothing is computed again here, except
shares of the counts in its outcome tables.
"""

from __future__ import annotations

from collections.abc import Iterable

from eval.metrics.abstention import BESIDE, HEADLINE
from eval.metrics.record import (
    MetricsReport,
    PairedComparison,
    PolicyReport,
    SystemReport,
)
from eval.result import PREDS
from kg.claims import GOLD_OF_LABEL, LABELS
from reporting.card_data import OUTCOMES, Outcome, outcome
from reporting.charts import (
    Estimate,
    Scatter,
    Stack,
    dot_panel,
    estimate,
    scatter,
    stack,
)
from reporting.glossary import POLICY_WORDS, metric_words
from reporting.pair_words import pair_row
from reporting.view_records import (
    Cell,
    Column,
    HeatCell,
    HeatMap,
    PairRow,
    Panel,
    Row,
    Table,
    TroubleRow,
)
from reporting.visible import shown_name, visible

LABEL_TITLES: dict[str, str] = {"E": "Entailed", "C": "Contradictory", "U": "Unknown"}
_DIRECTIONS = {True: "higher is better", False: "lower is better", None: "describes only"}


def main_policy(report: MetricsReport) -> str:
    """The policy that charts and verdict go by: ``licensed`` where it was computed."""
    return "licensed" if "licensed" in report.policies else next(iter(report.policies))


def is_control(name: str, policy: PolicyReport) -> bool:
    """Whether a system that was run is one of the controls, however its name is capitalised."""
    return name.casefold() in {control.casefold() for control in policy.controls}


class View:
    """What the template reads. ``systems`` and ``controls`` are in the order of the tables."""

    def __init__(self, report: MetricsReport) -> None:
        self.report = report
        self.main_policy = main_policy(report)
        policy = report.policies[self.main_policy]
        self.controls = list(policy.controls)
        # The exempt oracle first, as the ceiling; then by accuracy, so that tables read downhill.
        # An order of values is no claim about differences: those are the paired tests' to make.
        named = [name for name in policy.systems if not is_control(name, policy)]
        self.systems = sorted(named, key=lambda name: _rank(policy.systems[name]))

    @property
    def policy(self) -> PolicyReport:
        """The policy the charts are drawn under."""
        return self.report.policies[self.main_policy]

    def _all(self, policy: PolicyReport) -> list[tuple[str, bool, SystemReport]]:
        rows = [(name, False, policy.systems[name]) for name in self.systems]
        return rows + [(name, True, policy.controls[name]) for name in self.controls]

    # -- headline -------------------------------------------------------------------------------

    def columns(self, keys: Iterable[str], policy: PolicyReport) -> tuple[Column, ...]:
        """Column heads for metrics that occur, in the order asked for."""
        won = {w.metric: w for w in policy.won_by_controls if w.won}
        found = []
        for key in keys:
            values = [s.metrics[key] for _, _, s in self._all(policy) if key in s.metrics]
            if not values:
                continue
            better = values[0].higher_is_better
            found.append(
                Column(
                    key=key,
                    words=metric_words(key),
                    direction=_DIRECTIONS[better],
                    won_by=won[key].controls if key in won else (),
                )
            )
        return tuple(found)

    def table(self, policy_name: str, keys: Iterable[str]) -> Table:
        """Metrics of every system and control under one policy."""
        policy = self.report.policies[policy_name]
        columns = self.columns(keys, policy)
        beaten = {(w.metric, name) for w in policy.won_by_controls for name in (*w.beaten, *w.tied)}

        def row(name: str, system: SystemReport, control: bool) -> Row:
            cells = tuple(
                Cell(
                    estimate(system.metrics.get(column.key)),
                    not control and (column.key, name) in beaten,
                )
                for column in columns
            )
            return Row(shown_name(name), "shown the claim itself" if system.oracle else "", cells)

        rows = [(control, row(name, s, control)) for name, control, s in self._all(policy)]
        return Table(
            policy=policy_name,
            policy_words=POLICY_WORDS.get(policy_name, ""),
            columns=columns,
            rows=tuple(r for control, r in rows if not control),
            controls=tuple(r for control, r in rows if control),
        )

    def headline_tables(self) -> list[Table]:
        """The headline table under each policy, the main one first."""
        names = [self.main_policy, *(p for p in self.report.policies if p != self.main_policy)]
        return [self.table(name, (*HEADLINE, *BESIDE)) for name in names]

    def further_tables(self) -> list[Table]:
        """Every metric that is not in the headline tables, under each policy."""
        further = []
        for table in self.headline_tables():
            policy = self.report.policies[table.policy]
            keys = dict.fromkeys(key for _, _, s in self._all(policy) for key in s.metrics)
            rest = [key for key in keys if key not in (*HEADLINE, *BESIDE)]
            if rest:
                further.append(self.table(table.policy, rest))
        return further

    # -- charts ---------------------------------------------------------------------------------

    def panels(self) -> list[Panel]:
        """One dot-and-interval chart a headline metric."""
        return [
            Panel(
                column,
                dot_panel(
                    [
                        (shown_name(name), control, estimate(system.metrics.get(column.key)))
                        for name, control, system in self._all(self.policy)
                    ]
                ),
            )
            for column in self.columns(HEADLINE, self.policy)
        ]

    def outcome_bars(self) -> Stack:
        """What all answers of each system amount to, whatever the policy."""
        entries = []
        for name, control, system in self._all(self.policy):
            counts: dict[Outcome, float] = {key: 0.0 for key, _, _ in OUTCOMES}
            for label in LABELS:
                for pred in PREDS:
                    key = outcome(GOLD_OF_LABEL[label], pred)
                    counts[key] += system.table.get(label, {}).get(pred, 0)
            parts = [(key, symbol, words, counts[key]) for key, symbol, words in OUTCOMES]
            entries.append((shown_name(name), control, parts))
        return stack(entries)

    def scatter(self) -> Scatter:
        """Coverage against the share of answers that are right."""
        entries = []
        for name, control, system in self._all(self.policy):
            coverage = estimate(system.metrics.get("coverage")).value
            accuracy = estimate(system.metrics.get("answer_accuracy")).value
            entries.append((shown_name(name), control, coverage, accuracy))
        counts = self.report.label_counts
        answerable = counts.get("E", 0) + counts.get("C", 0)
        total = sum(counts.values())
        return scatter(entries, answerable=answerable / total if total else None)

    def heat_maps(self) -> list[HeatMap]:
        """The 3×5 table of every system, then of every control."""
        return [
            HeatMap(
                shown_name(name),
                control,
                tuple(_heat_rows(system)),
                "replies" if system.repeats > 1 else "cards",
            )
            for name, control, system in self._all(self.policy)
        ]

    # -- what went wrong ------------------------------------------------------------------------

    trouble_columns = (
        ("NO on E", "false denial"),
        ("UNKNOWN on E", "missed answer"),
        ("YES on C", "contradiction let pass"),
        ("YES or NO on U", "answer without licence"),
        ("INVALID", "unreadable reply"),
        ("ERROR", "failed call"),
    )

    def troubles(self) -> list[TroubleRow]:
        """Counts behind everything that can go wrong, with their shares of the cards concerned."""
        cells = (
            (("E",), ("NO",)),
            (("E",), ("UNKNOWN",)),
            (("C",), ("YES",)),
            (("U",), ("YES", "NO")),
            (LABELS, ("INVALID",)),
            (LABELS, ("ERROR",)),
        )
        rows = []
        for name, control, system in self._all(self.policy):
            counts = []
            for labels, preds in cells:
                of = sum(sum(system.table.get(label, {}).values()) for label in labels)
                found = sum(
                    system.table.get(label, {}).get(pred, 0) for label in labels for pred in preds
                )
                share = f"{100 * found / of:.1f} %" if of else "–"
                counts.append((shown_count(found), share))
            rows.append(TroubleRow(shown_name(name), control, tuple(counts)))
        return rows

    # -- paired comparisons ---------------------------------------------------------------------

    def comparisons(self, policy: str) -> list[tuple[Column, list[PairRow]]]:
        """Paired comparisons under one policy, grouped by metric."""
        grouped: dict[str, list[PairedComparison]] = {}
        for pair in self.report.comparisons:
            if pair.policy == policy and {pair.a, pair.b} <= set(self.systems):
                grouped.setdefault(pair.metric, []).append(pair)
        report = self.report.policies[policy]
        return [
            (column, [pair_row(pair) for pair in grouped[column.key]])
            for column in self.columns(_accuracy_first(grouped), report)
        ]

    def repeats(self) -> list[tuple[str, int, Estimate]]:
        """Systems that were asked more than once: times, and how often all replies agreed."""
        systems = [(name, self.policy.systems[name]) for name in self.systems]
        return [
            (shown_name(name), system.repeats, estimate(system.self_consistency))
            for name, system in systems
            if system.repeats > 1
        ]

    def signatures(self) -> list[str]:
        """The signature of each headline number, once."""
        found: dict[str, None] = {}
        for policy in self.report.policies.values():
            for _, _, system in self._all(policy):
                for key in HEADLINE:
                    value = system.metrics.get(key)
                    if value and value.signature:
                        found[visible(value.signature)] = None
        return list(found)


def _rank(system: SystemReport) -> tuple[bool, float]:
    accuracy = estimate(system.metrics.get("accuracy")).value
    return not system.oracle, -1.0 if accuracy is None else -accuracy


def _accuracy_first(keys: Iterable[str]) -> list[str]:
    return sorted(keys, key=lambda key: key != "accuracy")


def shown_count(value: float) -> str:
    """A number of cards for reading; expectations of the random control have a decimal."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _heat_rows(
    system: SystemReport,
) -> Iterable[tuple[str, str, str, tuple[HeatCell, ...]]]:
    for label in LABELS:
        row = system.table.get(label, {})
        total = sum(row.values())
        cells = tuple(
            HeatCell(
                pred=pred,
                count=shown_count(row.get(pred, 0)),
                share=row.get(pred, 0) / total if total else None,
                outcome=outcome(GOLD_OF_LABEL[label], pred),
            )
            for pred in PREDS
        )
        yield label, LABEL_TITLES[label], shown_count(total), cells
