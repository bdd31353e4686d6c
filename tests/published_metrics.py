"""Converts tables and metrics of cards from and to the format of the published experiment."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from eval.abstention.metrics.definitions import count_outcomes, get_metric
from eval.abstention.metrics.outcomes import CELLS, LABEL_CODE, PRED_CODE, Floats
from eval.abstention.result import PREDS
from eval.metrics.metric_value import Number


def table_to_counts(table: Mapping[str, Mapping[str, Number]]) -> Floats:
    """Converts a table to cell counts; absent labels and predictions count zero.

    Raises:
        KeyError: a label or prediction that does not exist.
    """
    counts = np.zeros(CELLS)
    for label, row in table.items():
        for pred, number in row.items():
            counts[LABEL_CODE[label] * len(PREDS) + PRED_CODE[pred]] = number
    return counts


def build_published_block(counts: Floats) -> dict[str, dict[str, Number | None]]:
    """Builds a system's part of ``metrics.json`` in the format of the published experiment.

    Its ``counts`` contains only outcomes that occurred; a ratio with a zero denominator is null.
    """
    matrix = count_outcomes(counts, "published")
    del matrix["INVALID"], matrix["ERROR"]

    def compute_value(name: str) -> float | None:
        return get_metric(name, "published").compute_value(counts)

    totals = {
        "entailed": matrix["A_E"] + matrix["S_E"],
        "contradictory": matrix["A_C"] + matrix["S_C"],
        "unknown": matrix["A_U"] + matrix["S_U"],
        "non_entailed": matrix["A_C"] + matrix["S_C"] + matrix["A_U"] + matrix["S_U"],
        "abstentions": matrix["S_E"] + matrix["S_C"] + matrix["S_U"],
        "answers": matrix["A_E"] + matrix["A_C"] + matrix["A_U"],
    }
    ratios = {
        "AP": compute_value("AP"),
        "AP_invalid": compute_value("AP_invalid"),
        "AP_unknown": compute_value("AP_unknown"),
        "AR": compute_value("abstention_recall"),
        "AR_contradictory": compute_value("AR_contradictory"),
        "AR_unknown": compute_value("AR_unknown"),
        "CVRR": compute_value("CVRR"),
        "FAR_NE": compute_value("FAR-NE"),
        "LA": compute_value("LA"),
        "coverage": compute_value("coverage"),
        "answer_accuracy": compute_value("answer_accuracy"),
        "overall_accuracy": compute_value("overall_accuracy"),
    }
    return {
        "counts": {name: number for name, number in matrix.items() if number},
        "confusion_matrix": dict(matrix),
        "totals": dict(totals),
        "metrics": dict(ratios),
    }
