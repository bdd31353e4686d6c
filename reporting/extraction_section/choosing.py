"""Which samples stand in the page: the best, the worst, and those that are odd in some way.

All samples of a small run are shown; of a large one so many as a page can bear, each with the
reason for which it was chosen. The files beside the page hold them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from reporting.extraction_section.points import Point

EACH = 10
"""Best ones, and worst ones."""
AT_MOST = 60
"""Samples in the page."""
REST = "between"


@dataclass(frozen=True)
class Facts:
    """What is known of one sample from all its rows.

    Attributes:
        id: of the sample.
        points: one a row, of all systems.
        score: mean score of the rows that came back; ``None`` where none has one.
    """

    id: str
    points: tuple[Point, ...]
    score: float | None

    @property
    def expected(self) -> int:
        """Fields that were expected."""
        return max(one.expected for one in self.points)


def facts_of(points: dict[str, list[Point]]) -> list[Facts]:
    """The facts of every sample, in the order of the first system's rows."""
    grouped: dict[str, list[Point]] = {}
    for mine in points.values():
        for one in mine:
            grouped.setdefault(one.id, []).append(one)
    found = []
    for id_, rows in grouped.items():
        scores = [one.values.eqs for one in rows if one.values and one.values.eqs is not None]
        found.append(Facts(id_, tuple(rows), sum(scores) / len(scores) if scores else None))
    return found


def chosen(facts: Sequence[Facts]) -> dict[str, str]:
    """Sample → why it is shown: ``best``, ``worst``, a reason in words, or ``between``.

    Args:
        facts: of all samples.
    """
    scored = [one for one in facts if one.score is not None]
    # Of equal ones those with more fields say more; then the id decides, so that bytes repeat.
    best = sorted(scored, key=lambda one: (-(one.score or 0.0), -one.expected, one.id))
    worst = sorted(scored, key=lambda one: (one.score or 0.0, -one.expected, one.id))
    found: dict[str, str] = {}
    # No sample is called both: of few samples the upper half are the best.
    each = min(EACH, (len(scored) + 1) // 2)
    for one in best[:each]:
        found[one.id] = "best"
    for one in worst[: min(EACH, len(scored) // 2)]:
        found.setdefault(one.id, "worst")
    for reason, id_ in _odd(facts):
        if len(found) >= AT_MOST:
            break
        if id_ not in found:
            found[id_] = reason
    for one in facts:
        if len(found) >= AT_MOST:
            break
        found.setdefault(one.id, REST)
    return _mixed(found)


def _mixed(found: dict[str, str]) -> dict[str, str]:
    """The first of each kind, then the second of each: so the first page has some of all."""
    kinds: dict[str, list[str]] = {}
    for id_, reason in found.items():
        kinds.setdefault(reason.split(":")[0], []).append(id_)
    most = max(map(len, kinds.values()), default=0)
    return {
        ids[at]: found[ids[at]] for at in range(most) for ids in kinds.values() if at < len(ids)
    }


def _odd(facts: Sequence[Facts]) -> Iterable[tuple[str, str]]:
    """Samples that are odd, with the reason; the first of each kind first."""
    measures: tuple[tuple[str, Callable[[Facts], float]], ...] = (
        ("systems differ most", _disagreement),
        ("a call failed", lambda one: _count(one, "ERROR")),
        ("no JSON came", lambda one: _count(one, "UNPARSABLE")),
        ("invalid output", lambda one: _count(one, "INVALID")),
        ("most made up", lambda one: max(sum(p.hallucinations[:2]) for p in one.points)),
        ("most missed", lambda one: max(p.missed for p in one.points)),
        ("most too many", lambda one: max(p.spurious for p in one.points)),
        ("slowest", lambda one: max((p.latency_s or 0.0) for p in one.points)),
        ("sure and wrong", _sure_and_wrong),
        ("largest schema", lambda one: one.points[0].fields),
        ("deepest schema", lambda one: one.points[0].depth),
        ("nothing expected", lambda one: float(one.expected == 0)),
    )
    ranked = [
        (reason, [one for one in sorted(facts, key=lambda f: (-get(f), f.id))[:2] if get(one) > 0])
        for reason, get in measures
    ]
    for place in range(2):
        for reason, found in ranked:
            if place < len(found):
                yield f"edge: {reason}", found[place].id


def _count(one: Facts, outcome: str) -> int:
    return sum(point.outcome == outcome for point in one.points)


def _scores(one: Facts) -> list[float]:
    return [p.values.eqs for p in one.points if p.values and p.values.eqs is not None]


def _disagreement(one: Facts) -> float:
    scores = _scores(one)
    return max(scores) - min(scores) if len({p.system for p in one.points}) > 1 and scores else 0.0


def _sure_and_wrong(one: Facts) -> float:
    return max(
        (
            p.confidence
            for p in one.points
            if p.confidence is not None and p.values and not p.values.exact_match
        ),
        default=0.0,
    )
