"""Reports on a guarded stream: counts of clauses by kind, and the first withheld clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from eval.guard.licenser import KINDS, Event, Kind, Policy

if TYPE_CHECKING:
    from eval.guard.stream import Guard

MAX_LISTED_CLAUSES = 200
"""Maximum number of withheld clauses listed in a report; further ones are only counted."""


class GuardReport(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of a stream's clauses, with the policy and the graph that decided them."""

    clauses: int
    passed: int
    withheld: int
    kinds: dict[Kind, int]
    policy: Policy
    graph_sha256: str
    shapes_sha256: str
    listed: tuple[Event, ...]
    """The first withheld clauses, at most ``MAX_LISTED_CLAUSES``."""
    error: str = ""
    """Why the text broke off; empty if it is whole."""


class Tally:
    """Counts events of a stream in bounded memory."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._kinds: dict[Kind, int] = dict.fromkeys(KINDS, 0)
        self._listed: list[Event] = []
        self.clauses = 0
        self.withheld = 0

    def add_event(self, event: Event) -> None:
        """Counts a clause; blank text does not count."""
        if not event.source.strip():
            return
        self.clauses += 1
        self._kinds[event.kind] += 1
        if not event.passed:
            self.withheld += 1
            if len(self._listed) < MAX_LISTED_CLAUSES:
                self._listed.append(event)

    def build_report(self, error: str = "") -> GuardReport:
        """Builds the report of the counts so far.

        Args:
            error: why the text broke off.
        """
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
            error=error,
        )
