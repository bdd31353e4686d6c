"""Estimates the scores of a data set's own script: of SQuAD 2.0 exact match and F1."""

from __future__ import annotations

import numpy as np

from eval.metrics.measurement import ResamplingPlan
from eval.outcomes.reader import SQUAD_SCORES
from eval.outcomes.table import OutcomeTable
from eval.stats.bootstrap import ClusterResamples, resample_blocks
from eval.stats.estimates import Estimate
from eval.stats.ratio_metrics import RatioMetric, compute_estimates

_GROUPS = {"": ("HasAns", "NoAns"), "HasAns-": ("HasAns",), "NoAns-": ("NoAns",)}
"""Prefix of the scores of some questions → the groups that these are of."""


def measure_official(
    table: OutcomeTable, system: str, resamples: ClusterResamples, plan: ResamplingPlan
) -> dict[str, Estimate]:
    """Estimates the means of the official scores, over all questions and by answerability."""
    scores = table.scores.get(system)
    if scores is None:
        return {}
    columns = {}
    for group, members in (("HasAns", table.is_answerable), ("NoAns", ~table.is_answerable)):
        columns[group] = members.astype(np.float64)
        columns |= {f"{group} {s}": members * scores[:, n] for n, s in enumerate(SQUAD_SCORES)}
    per_cluster = table.sum_clusters(np.stack(list(columns.values()), axis=1))
    (data,) = resample_blocks([per_cluster], resamples)
    metrics = [
        RatioMetric(
            name=f"{prefix}{score}",
            numerator={f"{group} {score}": 1.0 for group in groups},
            denominator=dict.fromkeys(groups, 1.0),
            higher_is_better=True,
        )
        for prefix, groups in _GROUPS.items()
        for score in SQUAD_SCORES
    ]
    estimates = compute_estimates(
        metrics, list(columns), data, confidence=plan.confidence, repeated=False
    )
    return {name: found for name, found in estimates.items() if found.value is not None}
