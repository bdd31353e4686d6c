"""The published benchmark's own definitions, faults included, so that its numbers can be checked.

Everything here follows ``src/evaluator.py`` of the published repository (MIT), written anew:

* calibration error over ten bins whose edges are ``numpy.linspace(0, 1, 11)``. Three of those are
  not the decimals they stand for (0.30000000000000004, 0.6000000000000001, 0.7000000000000001), so
  that confidences of .3, .6 and .7 fall into the bin below;
* percentile intervals of 1,000 resamples, seed 42, of each statistic for itself. They claim
  certainty where all values agree: 42 of 42 right give [1, 1];
* abstention by 31 substrings of the answer;
* an unreadable judgement of accuracy counts as wrong, of hallucination as none (favourable), of
  groundedness as none (unfavourable);
* a denominator of zero gives 0, and everything is rounded to four digits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from eval.skn.abstaining import published_abstained
from eval.stats.calibration import calibration_error
from eval.stats.intervals import Floats

SEED = 42
RESAMPLES = 1000
BINS = 10

_DRAWN_AT_ONCE = 4_000_000


class Spread(TypedDict):
    """A mean with its percentile interval and the standard deviation of its resamples."""

    mean: float
    ci_low: float
    ci_high: float
    std: float


def bootstrap_ci(values: Sequence[float], n_bootstrap: int = 1000, ci: float = 0.95) -> Spread:
    """The published percentile interval of a mean, digit for digit.

    ``default_rng(42)`` draws one resample after the other there; drawn in pieces, its stream is
    the same.

    Args:
        values: one per sample; none gives zeros, as published.
        n_bootstrap: resamples.
        ci: coverage aimed at.

    Returns:
        Rounded to four digits.
    """
    if not len(values):
        return Spread(mean=0.0, ci_low=0.0, ci_high=0.0, std=0.0)
    known = np.asarray(values, dtype=np.float64)
    means = _resampled_means(known, n_bootstrap)
    tail = (1 - ci) / 2
    low, high = np.percentile(means, [100 * tail, 100 * (1 - tail)])
    return Spread(
        mean=round(float(known.mean()), 4),
        ci_low=round(float(low), 4),
        ci_high=round(float(high), 4),
        std=round(float(means.std()), 4),
    )


def _resampled_means(values: Floats, resamples: int) -> Floats:
    rng = np.random.default_rng(SEED)
    means = np.empty(resamples)
    step = max(1, _DRAWN_AT_ONCE // len(values))
    for start in range(0, resamples, step):
        rows = slice(start, min(start + step, resamples))
        drawn = rng.integers(0, len(values), (rows.stop - start, len(values)))
        means[rows] = values[drawn].mean(axis=1)
    return means


def published_ece(confidences: Floats, right: Floats) -> float:
    """The published calibration error; 0 where there is nothing.

    Args:
        confidences: shape (n,); one that is not in [0, 1] falls into no bin, and counts only in n.
        right: 1 where the answer is correct, else 0; shape (n,).
    """
    if not len(confidences):
        return 0.0
    edges = np.linspace(0.0, 1.0, BINS + 1)
    inside = (confidences >= 0.0) & (confidences <= 1.0)
    places = np.searchsorted(edges[1:-1], confidences[inside], side="right").astype(np.int64)
    if not len(places):
        return 0.0
    error = calibration_error(confidences[inside], right[inside], places)
    return error * len(places) / len(confidences)


def published_confidence(stated: object) -> float:
    """A stated confidence as the published agent reads it: 0 where it is no number, NaN as 1."""
    try:
        number = float(stated)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0
    return max(0.0, min(1.0, number))


def published_keys(results: Sequence[Mapping[str, Any]], pipeline: str) -> dict[str, Any]:
    """The published numbers of one pipeline, from rows that hold its verdicts.

    Args:
        results: ``answerable``, and after the pipeline's name ``_answer``, ``_confidence``,
            ``_correct``, ``_hallucination``, ``_groundedness``; a verdict that is null or lacks
            counts as the published code counts a reply it cannot read.
        pipeline: whose.

    Returns:
        The published keys in their order, rounded to four digits.
    """
    answerable = [row for row in results if row.get("answerable", True)]
    right = [1.0 if row.get(f"{pipeline}_correct") else 0.0 for row in answerable]
    sure = [published_confidence(row.get(f"{pipeline}_confidence", 0.0)) for row in answerable]
    claims = [_claims(row.get(f"{pipeline}_hallucination")) for row in results]
    grounds = [_grounds(row.get(f"{pipeline}_groundedness")) for row in results]
    precision, recall, f1 = _abstention(results, pipeline)
    shares = [share for _, _, share in claims]
    scores = [score for score, _ in grounds]
    return {
        "accuracy": round(sum(right) / len(right) if right else 0.0, 4),
        "accuracy_ci": bootstrap_ci(right),
        "ece": round(published_ece(np.array(sure), np.array(right)), 4),
        "avg_confidence": _mean(sure),
        "confidence_when_correct": _mean([c for c, r in zip(sure, right, strict=True) if r]),
        "confidence_when_wrong": _mean([c for c, r in zip(sure, right, strict=True) if not r]),
        "hallucination_rate": _mean([detected for detected, _, _ in claims]),
        "hallucination_severity": _mean([severity for _, severity, _ in claims]),
        "normalized_hallucination": _mean(shares),
        "normalized_hallucination_ci": bootstrap_ci(shares),
        "groundedness": _mean(scores),
        "groundedness_ci": bootstrap_ci(scores),
        "unsupported_fraction": _mean([unsupported for _, unsupported in grounds]),
        "abstention_precision": round(precision, 4),
        "abstention_recall": round(recall, 4),
        "abstention_f1": round(f1, 4),
    }


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 4) if len(values) else 0.0


def _claims(verdict: Any) -> tuple[float, float, float]:
    """Whether anything is made up, how badly, and which share; nothing where it is unreadable."""
    if not isinstance(verdict, Mapping) or verdict.get("hallucination_detected") is None:
        return 0.0, 0.0, 0.0
    share = verdict.get("normalized_hallucination")
    if share is None:
        total = max(int(verdict.get("total_claims") or 1), 1)
        share = len(verdict.get("fabricated_claims") or ()) / total
    severity = verdict.get("hallucination_severity") or 0.0
    return float(bool(verdict["hallucination_detected"])), float(severity), float(share)


def _grounds(verdict: Any) -> tuple[float, float]:
    """Groundedness and the unsupported share; the worst of both where they are unreadable."""
    if not isinstance(verdict, Mapping) or verdict.get("groundedness_score") is None:
        return 0.0, 1.0
    unsupported = verdict.get("unsupported_fraction")
    return float(verdict["groundedness_score"]), float(unsupported or 0.0)


def _abstention(results: Sequence[Mapping[str, Any]], pipeline: str) -> tuple[float, float, float]:
    """Precision, recall and F1 by the substrings; every row that is no abstention is an answer."""
    cells = Counter(
        (
            bool(row.get("answerable", True)),
            published_abstained(str(row.get(f"{pipeline}_answer", ""))),
        )
        for row in results
    )
    hits, wrongly, missed = cells[False, True], cells[True, True], cells[False, False]
    precision = hits / (hits + wrongly) if hits + wrongly else 0.0
    recall = hits / (hits + missed) if hits + missed else 0.0
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0
