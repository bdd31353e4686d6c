"""Estimates the scores of a data set's own script: of SQuAD 2.0 exact match and F1."""

from __future__ import annotations

import numpy as np

from eval.metrics.measurement import ResamplingPlan
from eval.outcomes.reader import SQUAD_SCORES
from eval.outcomes.table import OutcomeTable
from eval.stats.bootstrap import ClusterResamples, resample_blocks
from eval.stats.estimates import (
    Estimate,
    add_interval,
    choose_interval,
    compute_edge_interval,
    compute_ratios,
)


def measure_official(
    table: OutcomeTable, system: str, resamples: ClusterResamples, plan: ResamplingPlan
) -> dict[str, Estimate]:
    """Estimates the means of the official scores, over all questions and by answerability."""
    scores = table.scores.get(system)
    if scores is None:
        return {}
    groups = np.stack([table.is_answerable, ~table.is_answerable], axis=1).astype(float)
    # Columns: each score in each of the two groups, then the sizes of the groups.
    cells = np.concatenate([scores[:, [n]] * groups for n in range(len(SQUAD_SCORES))], axis=1)
    per_cluster = np.zeros((table.n_clusters, cells.shape[1] + 2))
    np.add.at(per_cluster, table.clusters, np.concatenate([cells, groups], axis=1))
    (data,) = resample_blocks([per_cluster], resamples)
    width = per_cluster.shape[1]
    names, tops, bottoms = [], [], []
    for prefix, members in (("", (0, 1)), ("HasAns-", (0,)), ("NoAns-", (1,))):
        for number, score in enumerate(SQUAD_SCORES):
            names.append(prefix + score)
            tops.append(np.isin(np.arange(width), [2 * number + member for member in members]))
            bottoms.append(np.isin(np.arange(width), [width - 2 + member for member in members]))
    distribution = compute_ratios(data, np.array(tops, float), np.array(bottoms, float))
    intervals = distribution.compute_intervals(plan.confidence)
    errors = distribution.compute_standard_errors()
    totals = per_cluster.sum(axis=0)
    estimates = {}
    for column, (name, bottom) in enumerate(zip(names, bottoms, strict=True)):
        value = float(distribution.values[column])
        if not np.isnan(value):
            support = float(distribution.support[column])
            estimates[name] = add_interval(
                Estimate(value=None, n=round(float(totals @ bottom)), higher_is_better=True),
                value,
                choose_interval(intervals, column)
                or compute_edge_interval(value, support, plan.confidence),
                float(errors[column]),
            )
    return estimates
