"""The published benchmark's own metrics, including their faults, to reproduce its numbers.

Everything here is a reimplementation of ``src/evaluator.py`` of the published repository (MIT):

* calibration error over ten bins whose edges are ``numpy.linspace(0, 1, 11)``. Three of the edges
  are not exact decimals (0.30000000000000004, 0.6000000000000001, 0.7000000000000001), so that
  confidences of .3, .6 and .7 fall into the bin below;
* percentile intervals of 1,000 resamples with seed 42, separately for each statistic. If all
  values are equal, the interval has zero width: 42 of 42 right give [1, 1];
* an answer that contains one of 31 substrings counts as an abstention;
* if the judge's verdict is unreadable, the answer counts as wrong (accuracy), as free of
  hallucination (favourable), or as having groundedness 0 (unfavourable);
* a denominator of zero gives 0, and everything is rounded to four decimals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from eval.skn.published.abstention_phrases import has_published_phrase
from eval.stats.bootstrap import Floats
from eval.stats.calibration import calibration_error

SEED = 42
RESAMPLES = 1000
BINS = 10

_MAX_DRAWS_PER_BATCH = 4_000_000
"""Limits memory: the random numbers of one batch take 32 MB."""


class PublishedInterval(TypedDict):
    """A mean with its percentile interval and the standard deviation of its resamples."""

    mean: float
    ci_low: float
    ci_high: float
    std: float


def bootstrap_ci(
    values: Sequence[float], n_bootstrap: int = 1000, ci: float = 0.95
) -> PublishedInterval:
    """Computes the published percentile interval of a mean, digit for digit.

    The published code draws one resample after another from ``default_rng(42)``. Drawing in
    batches gives the same random numbers.

    Args:
        values: one per sample; an empty sequence gives zeros, as published.
        n_bootstrap: number of resamples.
        ci: nominal coverage.

    Returns:
        The interval, rounded to four decimals.
    """
    if not len(values):
        return PublishedInterval(mean=0.0, ci_low=0.0, ci_high=0.0, std=0.0)
    array = np.asarray(values, dtype=np.float64)
    means = _resample_means(array, n_bootstrap)
    tail = (1 - ci) / 2
    low, high = np.percentile(means, [100 * tail, 100 * (1 - tail)])
    return PublishedInterval(
        mean=round(float(array.mean()), 4),
        ci_low=round(float(low), 4),
        ci_high=round(float(high), 4),
        std=round(float(means.std()), 4),
    )


def _resample_means(values: Floats, resamples: int) -> Floats:
    rng = np.random.default_rng(SEED)
    means = np.empty(resamples)
    batch_size = max(1, _MAX_DRAWS_PER_BATCH // len(values))
    for start in range(0, resamples, batch_size):
        batch = slice(start, min(start + batch_size, resamples))
        indexes = rng.integers(0, len(values), (batch.stop - start, len(values)))
        means[batch] = values[indexes].mean(axis=1)
    return means


def compute_published_ece(confidences: Floats, right: Floats) -> float:
    """Computes the published calibration error; 0 if there are no answers.

    Args:
        confidences: shape (n,); a value outside [0, 1] is in no bin, but still counts in n.
        right: 1 where the answer is correct, else 0; shape (n,).
    """
    if not len(confidences):
        return 0.0
    edges = np.linspace(0.0, 1.0, BINS + 1)
    in_unit_interval = (confidences >= 0.0) & (confidences <= 1.0)
    bins = np.searchsorted(edges[1:-1], confidences[in_unit_interval], side="right").astype(
        np.int64
    )
    if not len(bins):
        return 0.0
    error = calibration_error(confidences[in_unit_interval], right[in_unit_interval], bins)
    return error * len(bins) / len(confidences)


def convert_published_confidence(value: object) -> float:
    """Converts a stated confidence as the published agent does: 0 if not a number, 1 for NaN."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0
    # min(1.0, nan) is 1.0, because a comparison with NaN is false. That is the published result.
    return max(0.0, min(1.0, number))


def compute_published_keys(results: Sequence[Mapping[str, Any]], pipeline: str) -> dict[str, Any]:
    """Computes the published numbers of one pipeline, from rows with its verdicts.

    Args:
        results: rows with the keys ``answerable``, ``{pipeline}_answer``,
            ``{pipeline}_confidence``, ``{pipeline}_correct``, ``{pipeline}_hallucination`` and
            ``{pipeline}_groundedness``. A null or missing verdict counts as the published code
            counts an unreadable reply.
        pipeline: the pipeline's name.

    Returns:
        The published keys in their order, rounded to four decimals.
    """
    answerable = [row for row in results if row.get("answerable", True)]
    right = [1.0 if row.get(f"{pipeline}_correct") else 0.0 for row in answerable]
    confidences = [
        convert_published_confidence(row.get(f"{pipeline}_confidence", 0.0)) for row in answerable
    ]
    hallucinations = [_read_hallucination(row.get(f"{pipeline}_hallucination")) for row in results]
    groundedness = [_read_groundedness(row.get(f"{pipeline}_groundedness")) for row in results]
    precision, recall, f1 = _score_abstention(results, pipeline)
    shares = [share for _, _, share in hallucinations]
    scores = [score for score, _ in groundedness]
    return {
        "accuracy": round(sum(right) / len(right) if right else 0.0, 4),
        "accuracy_ci": bootstrap_ci(right),
        "ece": round(compute_published_ece(np.array(confidences), np.array(right)), 4),
        "avg_confidence": _compute_rounded_mean(confidences),
        "confidence_when_correct": _compute_rounded_mean(
            [
                confidence
                for confidence, is_right in zip(confidences, right, strict=True)
                if is_right
            ]
        ),
        "confidence_when_wrong": _compute_rounded_mean(
            [
                confidence
                for confidence, is_right in zip(confidences, right, strict=True)
                if not is_right
            ]
        ),
        "hallucination_rate": _compute_rounded_mean(
            [detected for detected, _, _ in hallucinations]
        ),
        "hallucination_severity": _compute_rounded_mean(
            [severity for _, severity, _ in hallucinations]
        ),
        "normalized_hallucination": _compute_rounded_mean(shares),
        "normalized_hallucination_ci": bootstrap_ci(shares),
        "groundedness": _compute_rounded_mean(scores),
        "groundedness_ci": bootstrap_ci(scores),
        "unsupported_fraction": _compute_rounded_mean(
            [unsupported for _, unsupported in groundedness]
        ),
        "abstention_precision": round(precision, 4),
        "abstention_recall": round(recall, 4),
        "abstention_f1": round(f1, 4),
    }


def _compute_rounded_mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 4) if len(values) else 0.0


def _read_hallucination(verdict: Any) -> tuple[float, float, float]:
    """Returns detection, severity and share of made-up claims; zeros for an unreadable verdict."""
    if not isinstance(verdict, Mapping) or verdict.get("hallucination_detected") is None:
        return 0.0, 0.0, 0.0
    share = verdict.get("normalized_hallucination")
    if share is None:
        total = max(int(verdict.get("total_claims") or 1), 1)
        share = len(verdict.get("fabricated_claims") or ()) / total
    severity = verdict.get("hallucination_severity") or 0.0
    return float(bool(verdict["hallucination_detected"])), float(severity), float(share)


def _read_groundedness(verdict: Any) -> tuple[float, float]:
    """Returns groundedness and unsupported share; the worst values for an unreadable verdict."""
    if not isinstance(verdict, Mapping) or verdict.get("groundedness_score") is None:
        return 0.0, 1.0
    unsupported = verdict.get("unsupported_fraction")
    return float(verdict["groundedness_score"]), float(unsupported or 0.0)


def _score_abstention(
    results: Sequence[Mapping[str, Any]], pipeline: str
) -> tuple[float, float, float]:
    """Computes precision, recall and F1 of abstaining on unanswerable questions.

    An answer is an abstention if it contains a published substring. All other rows count as
    answered, including those without an answer.
    """
    counts = Counter(
        (
            bool(row.get("answerable", True)),
            has_published_phrase(str(row.get(f"{pipeline}_answer", ""))),
        )
        for row in results
    )
    true_positives, false_positives, false_negatives = (
        counts[False, True],
        counts[True, True],
        counts[False, False],
    )
    precision = (
        true_positives / (true_positives + false_positives)
        if true_positives + false_positives
        else 0.0
    )
    recall = (
        true_positives / (true_positives + false_negatives)
        if true_positives + false_negatives
        else 0.0
    )
    denominator = precision + recall
    return precision, recall, 2 * precision * recall / denominator if denominator else 0.0
