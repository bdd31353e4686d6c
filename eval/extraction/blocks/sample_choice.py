"""Chooses the samples of the page: the best, the worst, and edge cases.

A small run is shown whole; of a large one up to ``MAX_SAMPLES`` samples, each with the reason for
which it was chosen. The files beside the page have all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from eval.extraction.blocks.row_summaries import RowSummary

_MAX_EXTREMES = 10
"""Maximum number of best samples, and of worst ones."""
MAX_SAMPLES = 60
"""Maximum number of samples in the page."""
_REST = "between"


@dataclass(frozen=True)
class SampleSummary:
    """What is known of one sample from all its rows.

    Attributes:
        id: of the sample.
        rows: of all systems.
        score: mean score of the rows that came back; ``None`` if none has one.
    """

    id: str
    rows: tuple[RowSummary, ...]
    score: float | None

    @property
    def expected(self) -> int:
        """Number of expected fields."""
        return max(sample.expected for sample in self.rows)


def summarise_samples(summaries: dict[str, list[RowSummary]]) -> list[SampleSummary]:
    """The samples of every sample, in the order of the first system's rows."""
    grouped: dict[str, list[RowSummary]] = {}
    for system_rows in summaries.values():
        for row in system_rows:
            grouped.setdefault(row.id, []).append(row)
    samples = []
    for id_, rows in grouped.items():
        scores = [row.metrics.eqs for row in rows if row.metrics and row.metrics.eqs is not None]
        samples.append(
            SampleSummary(id_, tuple(rows), sum(scores) / len(scores) if scores else None)
        )
    return samples


def choose_samples(samples: Sequence[SampleSummary]) -> dict[str, str]:
    """Returns sample → why it is shown: ``best``, ``worst``, a kind of edge case, or ``between``.

    Args:
        samples: all samples.
    """
    scored = [sample for sample in samples if sample.score is not None]
    # Of equal ones those with more fields say more; then the id decides, so that bytes repeat.
    best = sorted(scored, key=lambda sample: (-(sample.score or 0.0), -sample.expected, sample.id))
    worst = sorted(scored, key=lambda sample: (sample.score or 0.0, -sample.expected, sample.id))
    reasons: dict[str, str] = {}
    # No sample is called both: of few samples the upper half are the best.
    each = min(_MAX_EXTREMES, (len(scored) + 1) // 2)
    for sample in best[:each]:
        reasons[sample.id] = "best"
    for sample in worst[: min(_MAX_EXTREMES, len(scored) // 2)]:
        reasons.setdefault(sample.id, "worst")
    for reason, id_ in _list_edge_cases(samples):
        if len(reasons) >= MAX_SAMPLES:
            break
        if id_ not in reasons:
            reasons[id_] = reason
    for sample in samples:
        if len(reasons) >= MAX_SAMPLES:
            break
        reasons.setdefault(sample.id, _REST)
    return _interleave_kinds(reasons)


def _interleave_kinds(reasons: dict[str, str]) -> dict[str, str]:
    """Orders the first of each kind, then the second of each, so that the top has some of all."""
    kinds: dict[str, list[str]] = {}
    for id_, reason in reasons.items():
        kinds.setdefault(reason.split(":")[0], []).append(id_)
    most = max(map(len, kinds.values()), default=0)
    return {
        ids[at]: reasons[ids[at]] for at in range(most) for ids in kinds.values() if at < len(ids)
    }


def _list_edge_cases(samples: Sequence[SampleSummary]) -> Iterable[tuple[str, str]]:
    """Yields the reason and the id of edge cases, the first of each kind first."""
    measures: tuple[tuple[str, Callable[[SampleSummary], float]], ...] = (
        ("systems differ most", _compute_disagreement),
        ("a call failed", lambda sample: _count_outcome(sample, "ERROR")),
        ("no JSON came", lambda sample: _count_outcome(sample, "UNPARSABLE")),
        ("invalid output", lambda sample: _count_outcome(sample, "INVALID")),
        (
            "most wrong values not in the text",
            lambda sample: max(sum(row.hallucinations[:2]) for row in sample.rows),
        ),
        ("most missed", lambda sample: max(row.missed for row in sample.rows)),
        ("most too many", lambda sample: max(row.spurious for row in sample.rows)),
        ("slowest", lambda sample: max((row.latency_s or 0.0) for row in sample.rows)),
        ("sure and wrong", _get_wrong_confidence),
        ("largest schema", lambda sample: sample.rows[0].fields),
        ("deepest schema", lambda sample: sample.rows[0].depth),
        ("nothing expected", lambda sample: float(sample.expected == 0)),
    )
    ranked = [
        (
            reason,
            [
                sample
                for sample in sorted(samples, key=lambda f: (-get(f), f.id))[:2]
                if get(sample) > 0
            ],
        )
        for reason, get in measures
    ]
    for place in range(2):
        for reason, extremes in ranked:
            if place < len(extremes):
                yield f"edge: {reason}", extremes[place].id


def _count_outcome(sample: SampleSummary, outcome: str) -> int:
    return sum(point.outcome == outcome for point in sample.rows)


def _list_scores(sample: SampleSummary) -> list[float]:
    return [row.metrics.eqs for row in sample.rows if row.metrics and row.metrics.eqs is not None]


def _compute_disagreement(sample: SampleSummary) -> float:
    scores = _list_scores(sample)
    return (
        max(scores) - min(scores)
        if len({row.system for row in sample.rows}) > 1 and scores
        else 0.0
    )


def _get_wrong_confidence(sample: SampleSummary) -> float:
    return max(
        (
            row.confidence
            for row in sample.rows
            if row.confidence is not None and row.metrics and not row.metrics.exact_match
        ),
        default=0.0,
    )
