"""What a guarded stream held: counts by kind, and the first of what was withheld."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from eval.guard.licensing import KINDS, Event, Kind, Policy

if TYPE_CHECKING:
    from eval.guard.stream import Guard

MAX_LISTED = 200
"""Withheld clauses a report lists; the counts go on."""


class GuardReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a stream."""

    clauses: int
    passed: int
    withheld: int
    kinds: dict[Kind, int]
    policy: Policy
    graph_sha256: str
    shapes_sha256: str
    listed: tuple[Event, ...]
    """The first ``MAX_LISTED`` withheld clauses."""


class Tally:
    """Counts events as they come, in bounded memory."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._kinds: dict[Kind, int] = dict.fromkeys(KINDS, 0)
        self._listed: list[Event] = []
        self.clauses = 0
        self.withheld = 0

    def add(self, event: Event) -> None:
        """Counts a clause; blank stretches are none."""
        if not event.source.strip():
            return
        self.clauses += 1
        self._kinds[event.kind] += 1
        if not event.passed:
            self.withheld += 1
            if len(self._listed) < MAX_LISTED:
                self._listed.append(event)

    def report(self) -> GuardReport:
        """The counts so far."""
        knowledge = self._guard.knowledge
        return GuardReport(
            clauses=self.clauses,
            passed=self.clauses - self.withheld,
            withheld=self.withheld,
            kinds=dict(self._kinds),
            policy=self._guard.policy,
            graph_sha256=knowledge.graph.sha256,
            shapes_sha256=knowledge.shapes.sha256,
            listed=tuple(self._listed),
        )
