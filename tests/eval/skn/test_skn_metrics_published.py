"""Tests the metrics of the published benchmark, which ``mode="published"`` computes.

They are compared with manual values and with a reference implementation written here.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.skn.metrics import bootstrap_ci, calculate_metrics
from eval.skn.published.published_metrics import (
    compute_published_ece,
    compute_published_keys,
    convert_published_confidence,
)

METRIC_KEYS = [
    *("accuracy", "accuracy_ci", "ece", "avg_confidence", "confidence_when_correct"),
    *("confidence_when_wrong", "hallucination_rate", "hallucination_severity"),
    *("normalized_hallucination", "normalized_hallucination_ci", "groundedness"),
    *("groundedness_ci", "unsupported_fraction", "abstention_precision", "abstention_recall"),
    "abstention_f1",
]

ABSTENTION_PHRASES = (
    *("insufficient information", "not enough information", "cannot determine"),
    *("cannot be determined", "unable to determine", "not specified", "not provided"),
    *("not enough data", "insufficient data", "no information", "cannot answer"),
    *("impossible to determine", "not available", "lack of information"),
    *("missing information", "does not contain", "do not contain", "cannot provide"),
    *("unable to provide", "cannot identify", "unable to identify"),
    *("no relevant information", "no specific information"),
    *("not contain any information", "i cannot", "i'm unable", "i am unable"),
    *("no details about", "no mention of", "does not include", "does not reference"),
)


def compute_reference_interval(
    values: list[float], resamples: int = 1000, level: float = 0.95
) -> list[float]:
    """Resamples one at a time with ``choice``, like the published code."""
    rng = np.random.default_rng(42)
    array = np.array(values)
    means = [rng.choice(array, size=len(array), replace=True).mean() for _ in range(resamples)]
    tail = (1 - level) / 2
    limits = np.percentile(means, 100 * tail), np.percentile(means, 100 * (1 - tail))
    return [round(float(x), 4) for x in (array.mean(), *limits, np.std(means))]


def compute_reference_ece(confidences: list[float], correct: list[float]) -> float:
    """Computes the error bin by bin, reply by reply."""
    edges = np.linspace(0.0, 1.0, 11)
    error: float = 0.0
    for bin_index in range(10):
        bin_pairs = [
            (confidence, is_correct)
            for confidence, is_correct in zip(confidences, correct, strict=True)
            if edges[bin_index] <= confidence
            and (confidence < edges[bin_index + 1] or (bin_index == 9 and confidence <= edges[10]))
        ]
        if bin_pairs:
            gap = np.mean([is_correct for _, is_correct in bin_pairs]) - np.mean(
                [confidence for confidence, _ in bin_pairs]
            )
            error += float(len(bin_pairs) / len(confidences) * abs(gap))
    return error


@given(
    st.lists(st.floats(0, 1, width=32), min_size=1, max_size=60),
    st.integers(2, 60),
    st.sampled_from([0.8, 0.95, 0.99]),
)
@settings(deadline=None, max_examples=60)
def test_interval_matches_the_published_one(
    values: list[float], resamples: int, level: float
) -> None:
    interval = bootstrap_ci(values, resamples, level)
    assert list(interval.values()) == compute_reference_interval(values, resamples, level)
    assert list(interval) == ["mean", "ci_low", "ci_high", "std"]


def test_resamples_use_one_random_stream() -> None:
    rng = random.Random(3)
    # The random numbers for so many values are drawn in several batches.
    values = [rng.random() for _ in range(9001)]
    assert list(bootstrap_ci(values).values()) == compute_reference_interval(values)


def test_intervals_match_manual_values() -> None:
    assert bootstrap_ci([]) == {"mean": 0.0, "ci_low": 0.0, "ci_high": 0.0, "std": 0.0}
    assert bootstrap_ci([0.5]) == {"mean": 0.5, "ci_low": 0.5, "ci_high": 0.5, "std": 0.0}
    interval = bootstrap_ci([1.0] * 42)
    assert (interval["ci_low"], interval["ci_high"]) == (1.0, 1.0)


def test_three_edge_confidences_fall_one_bin_low() -> None:
    # ``np.linspace`` rounds the edges .3, .6 and .7 up, so these confidences are below them.
    confidences = np.array([0.7] * 10 + [0.65] * 10)
    correct = np.array([1.0] * 10 + [0.0] * 10)
    # All twenty fall into one bin: |10·(1 - .7) - 10·.65| / 20.
    assert compute_published_ece(confidences, correct) == pytest.approx(0.175)
    for edge in (0.3, 0.6, 0.7):
        same_bin = np.array([edge, edge - 0.05])
        assert compute_published_ece(same_bin, np.array([1.0, 0.0])) == pytest.approx(
            abs(1 - edge - (edge - 0.05)) / 2
        )
    for edge in (0.1, 0.2, 0.4, 0.5, 0.8, 0.9):
        separate_bins = np.array([edge, edge - 0.05])
        assert compute_published_ece(separate_bins, np.array([1.0, 0.0])) == pytest.approx(
            (1 - edge + edge - 0.05) / 2
        )


@given(
    st.lists(
        st.tuples(st.sampled_from([k / 20 for k in range(21)]) | st.floats(0, 1), st.booleans()),
        min_size=1,
        max_size=80,
    )
)
@settings(deadline=None, max_examples=100)
def test_calibration_error_matches_the_published_one(replies: list[tuple[float, bool]]) -> None:
    confidences, correct = (
        [confidence for confidence, _ in replies],
        [float(is_correct) for _, is_correct in replies],
    )
    assert compute_published_ece(np.array(confidences), np.array(correct)) == pytest.approx(
        compute_reference_ece(confidences, correct), abs=1e-12
    )


def test_confidences_are_parsed_like_the_published_agent() -> None:
    assert convert_published_confidence(None) == 0.0
    assert convert_published_confidence("eight") == 0.0
    assert convert_published_confidence("0.8") == 0.8
    assert convert_published_confidence(7) == 1.0
    assert convert_published_confidence(-1) == 0.0
    assert convert_published_confidence(math.nan) == 1.0


def make_wide_row(
    number: int,
    *,
    answerable: bool = True,
    answer: str = "A full disk.",
    confidence: object = 0.9,
    correct: bool | None = True,
    detected: bool | None = False,
    severity: float | None = 0.0,
    total: int | None = 4,
    fabricated: int = 0,
    score: float | None = 1.0,
    unsupported: float | None = 0.0,
) -> dict[str, Any]:
    """Returns a row in the published format: one row per sample, with the columns ``skn_…``."""
    return {
        "id": f"s{number}",
        "category": "diagnostic",
        "answerable": answerable,
        "ground_truth": "A full disk.",
        "raw_text": "The disk is full.",
        "skn_answer": answer,
        "skn_confidence": confidence,
        "skn_correct": correct if answerable else None,
        "skn_hallucination": {
            "hallucination_detected": detected,
            "hallucination_severity": severity,
            "total_claims": total,
            "fabricated_claims": [f"claim {k}" for k in range(fabricated)],
        },
        "skn_groundedness": {"groundedness_score": score, "unsupported_fraction": unsupported},
    }


def test_every_key_matches_manual_values() -> None:
    rows = [
        make_wide_row(
            1, confidence=0.9, detected=True, severity=0.5, total=4, fabricated=1, score=0.8
        ),
        make_wide_row(
            2, confidence=0.7, correct=False, total=2, fabricated=1, unsupported=0.5, score=0.5
        ),
        make_wide_row(3, confidence=0.8, answer="It is not available."),
        make_wide_row(4, answerable=False, answer="It cannot be determined.", confidence=0.1),
        make_wide_row(5, answerable=False, answer="I don't know.", confidence=0.2),
    ]
    metrics = calculate_metrics(rows, ["skn"], mode="published")["skn"]
    assert list(metrics) == METRIC_KEYS
    assert metrics["accuracy"] == 0.6667
    # The confidences fall into the bins [.6, .7), [.8, .9) and [.9, 1]: (.7 + .2 + .1) / 3.
    assert metrics["ece"] == 0.3333
    assert metrics["avg_confidence"] == 0.8
    assert metrics["confidence_when_correct"] == 0.85
    assert metrics["confidence_when_wrong"] == 0.7
    assert metrics["hallucination_rate"] == 0.2
    assert metrics["hallucination_severity"] == 0.1
    assert metrics["normalized_hallucination"] == 0.15
    assert metrics["groundedness"] == 0.86
    assert metrics["unsupported_fraction"] == 0.1
    # "I don't know." is not among the 31 substrings; "not available" is.
    assert metrics["abstention_precision"] == 0.5
    assert metrics["abstention_recall"] == 0.5
    assert metrics["abstention_f1"] == 0.5


def test_unreadable_rows_count_as_published() -> None:
    rows = [
        make_wide_row(1, correct=None, detected=None, severity=None, total=None, score=None),
        make_wide_row(2),
    ]
    rows[0]["skn_groundedness"] = None
    rows[0]["skn_hallucination"] = None
    published_metrics = compute_published_keys(rows, "skn")
    assert published_metrics["accuracy"] == 0.5  # counted as wrong
    assert published_metrics["hallucination_rate"] == 0.0  # counted as free of hallucinations
    assert published_metrics["normalized_hallucination"] == 0.0
    assert published_metrics["groundedness"] == 0.5  # counted as not grounded
    assert published_metrics["unsupported_fraction"] == 0.5
    default_metrics = calculate_metrics(rows, ["skn"])["skn"]
    assert default_metrics["accuracy"] == 1.0
    assert default_metrics["groundedness"] == 1.0
    assert default_metrics["unsupported_fraction"] == 0.0


def test_no_rows_give_zeros_as_published() -> None:
    metrics = compute_published_keys([], "skn")
    numbers = {key: value for key, value in metrics.items() if not key.endswith("_ci")}
    assert set(numbers.values()) == {0.0}


def compute_reference_metrics(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Computes the published numbers independently of the product code."""
    answerable_rows = [row for row in rows if row["answerable"]]
    correct = [1.0 if row["skn_correct"] else 0.0 for row in answerable_rows]
    confidences = [row["skn_confidence"] for row in answerable_rows]
    fabricated_shares = [
        len(row["skn_hallucination"]["fabricated_claims"])
        / max(row["skn_hallucination"]["total_claims"], 1)
        for row in rows
    ]
    scores = [row["skn_groundedness"]["groundedness_score"] for row in rows]
    has_phrase = [
        any(phrase in row["skn_answer"].lower() for phrase in ABSTENTION_PHRASES) for row in rows
    ]
    hits = sum(
        abstains and not row["answerable"] for abstains, row in zip(has_phrase, rows, strict=True)
    )
    unanswerable = len(rows) - len(answerable_rows)
    precision = hits / sum(has_phrase) if sum(has_phrase) else 0.0
    recall = hits / unanswerable if unanswerable else 0.0
    precision_plus_recall = precision + recall

    def mean_or_zero(values: list[float]) -> float:
        return round(float(np.mean(values)), 4) if values else 0.0

    def interval_or_zero(values: list[float]) -> dict[str, float]:
        if not values:
            return dict.fromkeys(("mean", "ci_low", "ci_high", "std"), 0.0)
        return dict(
            zip(
                ("mean", "ci_low", "ci_high", "std"),
                compute_reference_interval(values),
                strict=True,
            )
        )

    return {
        "accuracy": mean_or_zero(correct),
        "accuracy_ci": interval_or_zero(correct),
        "ece": round(compute_reference_ece(confidences, correct), 4) if confidences else 0.0,
        "avg_confidence": mean_or_zero(confidences),
        "confidence_when_correct": mean_or_zero(
            [
                confidence
                for confidence, is_correct in zip(confidences, correct, strict=True)
                if is_correct
            ]
        ),
        "confidence_when_wrong": mean_or_zero(
            [
                confidence
                for confidence, is_correct in zip(confidences, correct, strict=True)
                if not is_correct
            ]
        ),
        "hallucination_rate": mean_or_zero(
            [float(row["skn_hallucination"]["hallucination_detected"]) for row in rows]
        ),
        "hallucination_severity": mean_or_zero(
            [row["skn_hallucination"]["hallucination_severity"] for row in rows]
        ),
        "normalized_hallucination": mean_or_zero(fabricated_shares),
        "normalized_hallucination_ci": interval_or_zero(fabricated_shares),
        "groundedness": mean_or_zero(scores),
        "groundedness_ci": interval_or_zero(scores),
        "unsupported_fraction": mean_or_zero(
            [row["skn_groundedness"]["unsupported_fraction"] for row in rows]
        ),
        "abstention_precision": round(precision, 4),
        "abstention_recall": round(recall, 4),
        "abstention_f1": round(2 * precision * recall / precision_plus_recall, 4)
        if precision_plus_recall
        else 0.0,
    }


@pytest.mark.parametrize("seed", range(8))
def test_all_published_keys_match_a_reference_implementation(seed: int) -> None:
    rng = random.Random(seed)
    answers = ("A full disk.", "It cannot be determined.", "I don't know.", "Not available then.")
    rows = [
        make_wide_row(
            number,
            answerable=rng.random() < 0.8,
            answer=rng.choice(answers),
            confidence=rng.choice([0.3, 0.6, 0.65, 0.7, 0.95, 1.0]),
            correct=rng.random() < 0.7,
            detected=rng.random() < 0.4,
            severity=round(rng.random(), 1),
            total=rng.randint(0, 6),
            fabricated=rng.randint(0, 3),
            score=round(rng.random(), 2),
            unsupported=round(rng.random(), 2),
        )
        for number in range(rng.randint(1, 50))
    ]
    assert compute_published_keys(rows, "skn") == compute_reference_metrics(rows)
