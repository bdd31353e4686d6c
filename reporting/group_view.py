"""Groups of cards × systems: kinds, near-misses, difficulties, faithfulness, as plain records."""

from __future__ import annotations

from collections.abc import Sequence

from cards.kinds import NEAR_MISS_PREFIX
from eval.metrics.record import GroupReport, PolicyReport
from eval.result import PREDS
from kg.claims import GOLD_OF_LABEL, LABELS
from reporting.charts import UNDEFINED, Estimate, bar, estimate
from reporting.view import LABEL_TITLES, View, shown_count
from reporting.view_records import GroupCell, GroupLine, GroupTable
from reporting.visible import shown_name

_DIFFICULTIES = {"easy": 0, "medium": 1, "hard": 2}


class GroupView:
    """The group tables of a report, under its main policy."""

    def __init__(self, view: View) -> None:
        self.policy: PolicyReport = view.policy
        self.systems = view.systems

    def kinds(self) -> GroupTable:
        """Kinds of the ordinary cards, by label."""
        return self._kind_table(near_miss=False)

    def near_misses(self) -> GroupTable:
        """Near-miss strategies, by label."""
        return self._kind_table(near_miss=True)

    def difficulties(self) -> GroupTable:
        """Cards by difficulty."""
        names = self._group_names("per_difficulty")
        ranked = sorted(names, key=lambda name: _DIFFICULTIES.get(name, len(_DIFFICULTIES)))
        lines = [self._line("per_difficulty", name) for name in ranked]
        return self._groups([("", lines)])

    def faithfulness(self) -> GroupTable:
        """The context-faithfulness cards."""
        names = self._group_names("faithfulness")
        return self._groups([("", [self._line("faithfulness", name) for name in names])])

    def said(self, field: str) -> list[tuple[str, str, tuple[str, ...]]]:
        """Per group and gold answer, what each system said: ``YES 12, UNKNOWN 3``.

        Args:
            field: ``near_misses`` or ``faithfulness``.
        """
        lines: list[tuple[str, str, tuple[str, ...]]] = []
        for name in self._group_names(field):
            tables = [group.table if group else {} for group in self._members(field, name)]
            for label in LABELS:
                rows = [table.get(label, {}) for table in tables]
                if not any(sum(row.values()) for row in rows):
                    continue
                said = tuple(
                    ", ".join(f"{pred} {shown_count(row[pred])}" for pred in PREDS if row.get(pred))
                    or UNDEFINED
                    for row in rows
                )
                lines.append((shown_name(name), GOLD_OF_LABEL[label], said))
        return lines

    def _kind_table(self, *, near_miss: bool) -> GroupTable:
        names = self._group_names("per_kind")
        sections: dict[str, list[GroupLine]] = {label: [] for label in LABELS}
        sections["mixed"] = []
        for name in names:
            if name.startswith(NEAR_MISS_PREFIX) != near_miss:
                continue
            line = self._line("per_kind", name)
            sections[self._label_of("per_kind", name)].append(line)
        titles = {**LABEL_TITLES, "mixed": "Several labels"}
        whole = self._group_names("near_misses") if near_miss else []
        lines = [self._line("near_misses", name) for name in whole]
        return self._groups([("", lines), *((titles[key], at) for key, at in sections.items())])

    def _groups(self, sections: Sequence[tuple[str, list[GroupLine]]]) -> GroupTable:
        return GroupTable(
            systems=tuple(map(shown_name, self.systems)),
            sections=tuple((title, tuple(lines)) for title, lines in sections if lines),
        )

    def _group_names(self, field: str) -> list[str]:
        names: dict[str, None] = {}
        for name in self.systems:
            names.update(dict.fromkeys(getattr(self.policy.systems[name], field)))
        return list(names)

    def _members(self, field: str, name: str) -> list[GroupReport | None]:
        return [getattr(self.policy.systems[system], field).get(name) for system in self.systems]

    def _label_of(self, field: str, name: str) -> str:
        labels = {
            label
            for group in self._members(field, name)
            if group
            for label, row in group.table.items()
            if sum(row.values())
        }
        return labels.pop() if len(labels) == 1 else "mixed"

    def _line(self, field: str, name: str) -> GroupLine:
        members = self._members(field, name)
        sizes = [group.n_cards for group in members if group]
        values = [_share_right(group) for group in members]
        shown = name.removeprefix(NEAR_MISS_PREFIX)
        return GroupLine(
            shown_name(shown) or "unnamed",
            f"{max(sizes, default=0):,}",
            tuple(GroupCell(value, bar(value)) for value in values),
        )


def _share_right(group: GroupReport | None) -> Estimate:
    if group is None:
        return Estimate(None)
    if "accuracy" in group.metrics:
        return estimate(group.metrics["accuracy"])
    total = sum(sum(row.values()) for row in group.table.values())
    right = sum(group.table.get(label, {}).get(GOLD_OF_LABEL[label], 0) for label in LABELS)
    return Estimate(right / total if total else None)
