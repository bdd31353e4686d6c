"""Correlates a system's metrics and latency with schema features, lengths and each other."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from eval.extraction.metrics.columns import MetricColumns, divide_columns, select_columns
from eval.extraction.metrics.correlations import correlate_all, correlate_pair
from eval.extraction.metrics.system_rows import FLOAT_COLUMNS, INTEGER_COLUMNS, SystemRows
from eval.extraction.record import Correlation
from eval.extraction.schemas.complexity import FEATURES
from eval.stats.bootstrap import Floats

CORRELATED_METRICS = (
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
LENGTH_FEATURES = ("text_characters", "input_chars", "output_chars", "output_tokens")
"""Lengths of a sample's text, prompt and reply; means over the repeats."""
COMPLEXITY_SCORE = "complexity_score"


def correlate_metrics(
    system_rows: SystemRows, columns: MetricColumns, n_samples: int, confidence: float
) -> tuple[tuple[Correlation, ...], tuple[Correlation, ...]]:
    """Correlates every metric with every schema feature and length, and every pair of metrics.

    Args:
        system_rows: a system's rows.
        columns: the columns of these rows.
        n_samples: number of samples of the run.
        confidence: nominal coverage of intervals.

    Returns:
        The correlations with features and lengths, and those between metrics.
    """
    means = columns.compute_sample_means(n_samples)
    integers = system_rows.integers
    row_values = {name: system_rows.floats[:, column] for column, name in enumerate(FLOAT_COLUMNS)}
    row_values["exact_match"] = select_columns(integers, INTEGER_COLUMNS, ["match"])[:, 0]
    row_values["text_characters"] = select_columns(integers, INTEGER_COLUMNS, ["text_characters"])[
        :, 0
    ]

    def average_by_sample(name: str) -> Floats:
        """Returns the mean of a column over the scored rows of each sample."""
        values = row_values[name]
        has_value = columns.is_scored & ~np.isnan(values)
        sums = {"sum": np.where(has_value, values, 0.0), "n": has_value.astype(np.float64)}
        table = columns.sum_by_sample(n_samples, sums)
        return divide_columns(table[:, 0], table[:, 1])

    metrics = {
        name: means[name] if name in means else average_by_sample(name)
        for name in CORRELATED_METRICS
    }
    features = {
        **_collect_schema_features(system_rows, columns, n_samples),
        **{name: average_by_sample(name) for name in LENGTH_FEATURES},
    }
    return (
        correlate_all(metrics, features, confidence),
        tuple(
            correlate_pair(first, metrics[first], second, metrics[second], confidence)
            for first, second in combinations(CORRELATED_METRICS, 2)
        ),
    )


def _collect_schema_features(
    system_rows: SystemRows, columns: MetricColumns, n_samples: int
) -> Mapping[str, Floats]:
    row_schemas = system_rows.integers[:, INTEGER_COLUMNS.index("schema")]
    complexities = list(system_rows.complexities)
    vectors: dict[str, Floats] = {}
    for name in (*FEATURES, COMPLEXITY_SCORE):
        schema_values = [
            float(complexity.score if name == COMPLEXITY_SCORE else getattr(complexity, name))
            for complexity in complexities
        ]
        values = np.full(n_samples, np.nan)
        values[columns.sample] = np.array(schema_values, dtype=np.float64)[row_schemas]
        vectors[name] = values
    return vectors
