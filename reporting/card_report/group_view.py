"""Builds the tables by group of cards: kinds, near-misses, difficulties and faithfulness."""

from __future__ import annotations

from collections.abc import Sequence

from cards.generation.kinds import NEAR_MISS_PREFIX
from eval.abstention.metrics.record import GroupReport, PolicyReport
from eval.abstention.result import PREDS
from eval.blocks.text_format import UNDEFINED_TEXT, ChartEstimate, format_name, to_chart_estimate
from kg.claims import GOLD_OF_LABEL, LABELS
from reporting.card_report.report_view import LABEL_TITLES, ReportView, format_count
from reporting.card_report.view_records import GroupCell, GroupLine, GroupTable

_DIFFICULTY_ORDER = {"easy": 0, "medium": 1, "hard": 2}


class GroupView:
    """The group tables of a report, under its main policy."""

    def __init__(self, view: ReportView) -> None:
        self.policy: PolicyReport = view.policy
        self.systems = view.systems

    def build_kinds(self) -> GroupTable:
        """Builds the table of the ordinary cards' kinds, by label."""
        return self._build_kind_table(near_miss=False)

    def build_near_misses(self) -> GroupTable:
        """Builds the table of near-miss strategies, by label."""
        return self._build_kind_table(near_miss=True)

    def build_difficulties(self) -> GroupTable:
        """Builds the table of the cards' difficulties, the easiest first."""
        names = self._list_group_names("per_difficulty")
        sorted_names = sorted(
            names, key=lambda name: _DIFFICULTY_ORDER.get(name, len(_DIFFICULTY_ORDER))
        )
        lines = [self._build_line("per_difficulty", name) for name in sorted_names]
        return self._build_table([("", lines)])

    def build_faithfulness(self) -> GroupTable:
        """Builds the table of the context-faithfulness cards."""
        names = self._list_group_names("faithfulness")
        return self._build_table([("", [self._build_line("faithfulness", name) for name in names])])

    def count_answers(self, field: str) -> list[tuple[str, str, tuple[str, ...]]]:
        """Counts each system's answers by group and gold answer, as in ``YES 12, UNKNOWN 3``.

        Args:
            field: ``near_misses`` or ``faithfulness``.

        Returns:
            Group, gold answer and the counts of each system, for every group with such cards.
        """
        lines: list[tuple[str, str, tuple[str, ...]]] = []
        for name in self._list_group_names(field):
            tables = [
                group.table if group else {} for group in self._get_group_reports(field, name)
            ]
            for label in LABELS:
                rows = [table.get(label, {}) for table in tables]
                if not any(sum(row.values()) for row in rows):
                    continue
                counts = tuple(
                    ", ".join(
                        f"{pred} {format_count(row[pred])}" for pred in PREDS if row.get(pred)
                    )
                    or UNDEFINED_TEXT
                    for row in rows
                )
                lines.append((format_name(name), GOLD_OF_LABEL[label], counts))
        return lines

    def _build_kind_table(self, *, near_miss: bool) -> GroupTable:
        names = self._list_group_names("per_kind")
        sections: dict[str, list[GroupLine]] = {label: [] for label in LABELS}
        sections["mixed"] = []
        for name in names:
            if name.startswith(NEAR_MISS_PREFIX) != near_miss:
                continue
            line = self._build_line("per_kind", name)
            sections[self._find_label("per_kind", name)].append(line)
        titles = {**LABEL_TITLES, "mixed": "Several labels"}
        pair_groups = self._list_group_names("near_misses") if near_miss else []
        lines = [self._build_line("near_misses", name) for name in pair_groups]
        by_label = ((titles[label], kinds) for label, kinds in sections.items())
        return self._build_table([("", lines), *by_label])

    def _build_table(self, sections: Sequence[tuple[str, list[GroupLine]]]) -> GroupTable:
        return GroupTable(
            systems=tuple(map(format_name, self.systems)),
            sections=tuple((title, tuple(lines)) for title, lines in sections if lines),
        )

    def _list_group_names(self, field: str) -> list[str]:
        names: dict[str, None] = {}
        for name in self.systems:
            names.update(dict.fromkeys(getattr(self.policy.systems[name], field)))
        return list(names)

    def _get_group_reports(self, field: str, name: str) -> list[GroupReport | None]:
        return [getattr(self.policy.systems[system], field).get(name) for system in self.systems]

    def _find_label(self, field: str, name: str) -> str:
        """Returns the label that all cards of a group share, or else ``mixed``."""
        labels = {
            label
            for group in self._get_group_reports(field, name)
            if group
            for label, row in group.table.items()
            if sum(row.values())
        }
        return labels.pop() if len(labels) == 1 else "mixed"

    def _build_line(self, field: str, name: str) -> GroupLine:
        reports = self._get_group_reports(field, name)
        sizes = [group.n_cards for group in reports if group]
        values = [_compute_accuracy(group) for group in reports]
        short_name = name.removeprefix(NEAR_MISS_PREFIX)
        return GroupLine(
            format_name(short_name) or "unnamed",
            f"{max(sizes, default=0):,}",
            tuple(GroupCell(value) for value in values),
        )


def _compute_accuracy(group: GroupReport | None) -> ChartEstimate:
    """Returns a group's accuracy, computed from the counts if the report does not contain it."""
    if group is None:
        return ChartEstimate(None)
    if "accuracy" in group.metrics:
        return to_chart_estimate(group.metrics["accuracy"])
    total = sum(sum(row.values()) for row in group.table.values())
    right = sum(group.table.get(label, {}).get(GOLD_OF_LABEL[label], 0) for label in LABELS)
    return ChartEstimate(right / total if total else None)
