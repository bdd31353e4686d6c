"""Where a score comes from and where it is lost: by part and by claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from eval.synthlink.blocks.metric_texts import PARTS, VERDICTS
from eval.synthlink.blocks.score_data import ScoredFolder
from eval.synthlink.metrics import MetricName, Mode
from eval.synthlink.scoring.record import ModeScores


class PartOfScore(NamedTuple):
    """One weighted part of the score; ``gained`` and ``lost`` add up to ``weight``."""

    measure: MetricName
    weight: float
    """Mean over questions: a part that the catalogue lacks leaves its weight to the others."""
    gained: float
    lost: float

    @property
    def share(self) -> float:
        """Of the weight, what is gained."""
        return self.gained / self.weight


def parts_of_score(
    scores: ModeScores, weights: Mapping[MetricName, float]
) -> tuple[PartOfScore, ...]:
    """What each part adds to the score and what is lost on it, heaviest part first.

    All that is gained is the score, and all that is lost is what it lacks to 1. Empty where there
    is no score, because parts are unjudged.

    Args:
        scores: of one mode.
        weights: of the parts, as specified.
    """
    held = {key: [0.0, 0.0] for key in PARTS}
    mean = scores.overall.measures.get("aggregate")
    if mean is None or mean.value is None:
        return ()
    rows = [row for row in scores.questions if row.parts.aggregate is not None]
    n = len(rows)
    for row in rows:
        takes_part = [key for key in PARTS if key == "fcs" or getattr(row.parts, key) is not None]
        total = sum(weights[key] for key in takes_part)
        for key in takes_part:
            share = weights[key] / total / n
            held[key][0] += share
            # An answer that claims nothing has no share of claims, which is worth 0.
            held[key][1] += share * (getattr(row.parts, key) or 0.0)
    found = [
        PartOfScore(key, weight, gained, weight - gained)
        for key, (weight, gained) in held.items()
        if weight
    ]
    return tuple(sorted(found, key=lambda part: -weights[part.measure]))


def verdict_counts(scores: ModeScores, category: str | None = None) -> dict[str, int]:
    """How many claims got each verdict; only of a category, if one is given."""
    found = claims_by(scores, category)
    return {
        verdict: sum(count for (said, _), count in found.items() if said == verdict)
        for verdict in VERDICTS
    }


def claims_by(scores: ModeScores, category: str | None = None) -> Counter[tuple[str, str]]:
    """How many claims got each verdict, by what decided.

    Args:
        scores: of one mode.
        category: only of its questions.
    """
    return Counter(
        (claim.verdict, claim.by)
        for row in scores.questions
        if category in (None, row.category)
        for claim in row.parts.claims
    )


def first_correct(folder: ScoredFolder, mode: Mode) -> dict[str, int]:
    """Questions by the round whose answer is the first correct one, in words and in order.

    A round of which parts are unjudged counts if it is correct without them. If it may be the first
    correct one, the question is "unjudged".
    """
    bar = folder.correct_from(mode)
    counts = dict.fromkeys((*(f"in round {n}" for n in range(1, 5)), "in round 5 on", "never"), 0)
    if mode == "corrected":
        counts["unjudged"] = 0
    for row in folder.report.modes[mode].questions:
        ends = [f1 if isinstance(f1, tuple) else (f1, f1) for f1 in row.parts.iteration_f1]
        first, earliest = (
            next((n for n, f1 in enumerate(ends, start=1) if f1[end] >= bar), None)
            for end in (0, 1)
        )
        name = "never" if first is None else "in round 5 on" if first >= 5 else f"in round {first}"
        counts[name if first == earliest else "unjudged"] += 1
    return counts
