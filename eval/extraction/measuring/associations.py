"""Which numbers of a sample are held against which: metrics and latency against its schema."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from eval.extraction.measuring.columns import Columns, cut, divided
from eval.extraction.measuring.correlations import correlation, correlations
from eval.extraction.measuring.gathering import MEASURED, WHOLE, Gathered
from eval.extraction.record import Correlation
from eval.extraction.schemas.complexity import FEATURES
from eval.stats.intervals import Floats

METRICS = (
    "extraction_quality_score",
    "field_f1_partial",
    "field_f1_strict",
    "field_precision_partial",
    "field_recall_partial",
    "type_accuracy",
    "hallucination_rate",
    "exact_match",
    "latency_s",
)
LENGTHS = ("text_characters", "input_chars", "output_chars", "output_tokens")
"""What a sample's length is measured by; of prompts and replies the mean over repeats."""
SCORE = "complexity_score"


def associations(
    gathered: Gathered, columns: Columns, samples: int, confidence: float
) -> tuple[tuple[Correlation, ...], tuple[Correlation, ...]]:
    """Every metric with every feature of schemas and every length; and every pair of metrics.

    Args:
        gathered: a system's rows.
        columns: what they are worth.
        samples: how many samples the run has.
        confidence: coverage that intervals aim at.
    """
    means = columns.means(samples)
    whole = gathered.whole
    measured = {name: gathered.measured[:, place] for place, name in enumerate(MEASURED)}
    measured["exact_match"] = cut(whole, WHOLE, ["match"])[:, 0]
    measured["text_characters"] = cut(whole, WHOLE, ["text_characters"])[:, 0]

    def mean(name: str) -> Floats:
        values = measured[name]
        known = columns.scored & ~np.isnan(values)
        sums = {"top": np.where(known, values, 0.0), "n": known.astype(np.float64)}
        table = columns.by_sample(samples, sums)
        return divided(table[:, 0], table[:, 1])

    metrics = {name: means[name] if name in means else mean(name) for name in METRICS}
    features = {**_of_schemas(gathered, columns, samples), **{name: mean(name) for name in LENGTHS}}
    return (
        correlations(metrics, features, confidence),
        tuple(
            correlation(one, metrics[one], two, metrics[two], confidence)
            for one, two in combinations(METRICS, 2)
        ),
    )


def _of_schemas(gathered: Gathered, columns: Columns, samples: int) -> Mapping[str, Floats]:
    schema = gathered.whole[:, WHOLE.index("schema")]
    known = list(gathered.complexities)
    found: dict[str, Floats] = {}
    for name in (*FEATURES, SCORE):
        of_schema = [float(one.score if name == SCORE else getattr(one, name)) for one in known]
        values = np.full(samples, np.nan)
        values[columns.sample] = np.array(of_schema, dtype=np.float64)[schema]
        found[name] = values
    return found
