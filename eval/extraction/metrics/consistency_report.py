"""Computes the consistency metrics of a run with repeats, with intervals over the samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eval.extraction.metrics.consistency import CONSISTENCY_COLUMNS
from eval.extraction.metrics.resampler import RunPart
from eval.extraction.metrics.system_rows import SystemRows
from eval.extraction.record import Consistency
from eval.stats.bootstrap import ResampledCounts
from eval.stats.ratio_metrics import RatioMetric, compute_estimates

_COLUMN_NAMES = tuple(f"{name}{side}" for side in (":sum", ":n") for name in CONSISTENCY_COLUMNS)
_NO_REPEATS = "no sample has two replies"
_UNDEFINED_REASONS = (
    _NO_REPEATS,
    _NO_REPEATS,
    "no number occurs in two replies",
    "no non-zero number occurs in two replies",
)
_HIGHER_IS_BETTER = (True, True, False, False)
_IN_UNIT_INTERVAL = (True, True, False, False)
_METRICS = tuple(
    RatioMetric(
        name,
        {f"{name}:sum": 1.0},
        {f"{name}:n": 1.0},
        better,
        in_unit_interval=unit,
        missing="",
        undefined_reason=why,
    )
    for name, why, better, unit in zip(
        CONSISTENCY_COLUMNS, _UNDEFINED_REASONS, _HIGHER_IS_BETTER, _IN_UNIT_INTERVAL, strict=True
    )
)


def build_consistency_part(
    system_rows: SystemRows, positions: NDArray[np.int64], n_samples: int
) -> RunPart:
    """Returns each sample's consistency metrics and whether they are defined, for resampling.

    Undefined metrics are 0; without repeats, all are undefined.

    Args:
        system_rows: a system's rows, with the hashes of the outputs from which the metrics are
            computed.
        positions: position in the run of each of the system's samples.
        n_samples: number of samples of the run.
    """
    table = np.zeros((n_samples, len(_COLUMN_NAMES)))
    if system_rows.output_hashes is not None:
        sample_metrics = system_rows.output_hashes.compute_per_sample(len(positions))
        is_defined = ~np.isnan(sample_metrics)
        table[positions] = np.concatenate(
            [np.where(is_defined, sample_metrics, 0.0), is_defined], axis=1
        )
    return RunPart(None, table)


def compute_consistency(data: ResampledCounts, confidence: float) -> Consistency:
    """Computes the four consistency metrics with intervals."""
    estimates = compute_estimates(
        _METRICS, _COLUMN_NAMES, data, confidence=confidence, repeated=True
    )
    exact, field, variance, variation = (estimates[name] for name in CONSISTENCY_COLUMNS)
    return Consistency(
        samples=exact.n,
        exact_match_consistency=exact,
        field_level_consistency=field,
        value_variance=variance,
        value_variation=variation,
    )
