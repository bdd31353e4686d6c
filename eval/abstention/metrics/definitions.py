"""Abstention metrics, each a ratio of two sums of cells of the 3×5 outcome table.

Each metric is defined once, by the cells of its numerator and denominator under a policy. Its
value, interval, resamples, bounds and the values of the controls are all computed from these
cells. The formulas are explained in ``docs/reference/metrics.md``. They come from "How to Quantify
Abstention Precision" (Epistemic Confusion Experiment, 2025). Policy ``published`` computes them
as the published code does; policy ``licensed`` also accepts NO as an answer to a contradictory
claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import product

import numpy as np

from eval.abstention.metrics.outcomes import (
    CELLS,
    LABEL_CODE,
    PRED_CODE,
    UNUSABLE,
    Floats,
    as_number,
)
from eval.abstention.metrics.record import ControlWin
from eval.abstention.result import PREDS
from eval.metrics.measurement import PolicyName
from eval.metrics.metric_value import Number
from kg.claims import LABELS

POLICIES: tuple[PolicyName, ...] = ("licensed", "published")

HEADLINE_METRICS = ("AP", "CVRR", "FAR-NE", "LA")
COMPANION_METRICS = ("coverage", "accuracy", "false_denial_rate", "abstention_recall")
"""Metrics that are always shown next to the headline metrics, because on each headline metric some
control can reach the best value."""

# The shares of replies of each kind.
REPLY_RATES = ("yes_rate", "no_rate", "unknown_rate", "invalid_rate", "error_rate")

_OUTCOME_CELLS: dict[PolicyName, dict[str, str]] = {
    "licensed": {
        "A_E": "E.YES",
        "A_C": "C.YES",
        "A_U": "U.YES U.NO",
        "S_E": "E.UNKNOWN",
        "S_C": "C.NO C.UNKNOWN",
        "S_U": "U.UNKNOWN",
        "false_denials": "E.NO",
        "answers": "*.YES *.NO",
        "right_answers": "E.YES C.NO",
    },
    "published": {
        "A_E": "E.YES E.NO E.INVALID E.ERROR",
        "A_C": "C.YES C.NO C.INVALID C.ERROR",
        "A_U": "U.YES U.NO U.INVALID U.ERROR",
        "S_E": "E.UNKNOWN",
        "S_C": "C.UNKNOWN",
        "S_U": "U.UNKNOWN",
        "false_denials": "E.NO",
        "answers": "*.YES *.NO *.INVALID *.ERROR",
        "right_answers": "E.YES E.NO E.INVALID E.ERROR",
    },
}
"""The cells that count towards each outcome, by policy: A_L are answers to cards of label L, S_L
abstentions on them."""

_FORMULAS: dict[str, tuple[str, str, bool | None]] = {
    "AP": ("S_C S_U", "S_E S_C S_U", True),
    "CVRR": ("S_C", "S_C A_C", True),
    "FAR-NE": ("A_C A_U", "C.* U.*", False),
    "LA": ("A_E", "E.*", True),
    "coverage": ("answers", "*.*", None),
    "accuracy": ("E.YES C.NO U.UNKNOWN", "*.*", True),
    "false_denial_rate": ("false_denials", "E.*", False),
    "abstention_recall": ("S_C S_U", "C.* U.*", True),
    "AP_invalid": ("S_C", "S_C S_E", True),
    "AP_unknown": ("S_U", "S_U S_E", True),
    "AR_contradictory": ("S_C", "C.*", True),
    "AR_unknown": ("S_U", "U.*", True),
    "answer_accuracy": ("right_answers", "answers", True),
    "overall_accuracy": ("A_E S_C S_U", "*.*", True),
    "yes_rate": ("*.YES", "*.*", None),
    "no_rate": ("*.NO", "*.*", None),
    "unknown_rate": ("*.UNKNOWN", "*.*", None),
    "invalid_rate": ("*.INVALID", "*.*", False),
    "error_rate": ("*.ERROR", "*.*", False),
}
"""Numerator, denominator, and whether higher is better (``None`` for descriptive metrics)."""

METRICS = (
    *HEADLINE_METRICS,
    *COMPANION_METRICS,
    *(name for name in _FORMULAS if name not in HEADLINE_METRICS + COMPANION_METRICS + REPLY_RATES),
)
"""All metrics computed over the headline cards, in the order of the tables."""

SYSTEM_METRICS = (*METRICS, "invalid_rate", "error_rate")
"""``METRICS`` and the rates of unusable replies."""


@dataclass(frozen=True)
class Metric:
    """One metric under one policy.

    Attributes:
        name: name of the metric, a key of ``_FORMULAS``.
        policy: policy that decides which cells are answers and abstentions.
        numerator: 0/1 weights over cells, shape (``CELLS``,).
        denominator: the same; in no cell smaller than ``numerator``, so values lie in [0, 1].
        higher_is_better: ``None`` for a descriptive metric.
    """

    name: str
    policy: PolicyName
    numerator: Floats
    denominator: Floats
    higher_is_better: bool | None

    @cached_property
    def _excluded_weights(self) -> Floats | None:
        """Weights of the unusable cells that the denominator excludes.

        ``None`` if the denominator covers only some of the usable cells of a label.
        """
        weights = self.denominator.reshape(len(LABELS), len(PREDS))
        n_usable = len(PREDS) - len(UNUSABLE)
        if not np.all(weights[:, :n_usable] == weights[:, :1]):
            return None
        excluded: Floats = (weights[:, :1] - weights).reshape(CELLS)
        return excluded

    def count_missing(self, counts: Floats) -> float:
        """Counts the unusable replies to cards of the metric's labels that it leaves out."""
        weights = self.denominator.reshape(len(LABELS), len(PREDS))
        left_out = weights.any(axis=1, keepdims=True) & (weights == 0)
        left_out[:, : len(PREDS) - len(UNUSABLE)] = False
        return float(counts @ left_out.reshape(CELLS))

    def is_proportion(self, counts: Floats) -> bool:
        """Whether the denominator depends on the cards alone, so that Wilson's interval applies.

        True when the denominator covers all cards of its labels, with any answers, or when it
        excludes only unusable replies and there are none.
        """
        return self._excluded_weights is not None and not float(counts @ self._excluded_weights)

    @property
    def is_reply_rate(self) -> bool:
        """Whether the metric counts replies of one kind; then bounds must not reassign replies."""
        return self.name in REPLY_RATES

    def compute_parts(self, counts: Floats) -> tuple[float, float]:
        """Returns numerator and denominator for cell counts of shape (``CELLS``,)."""
        return float(counts @ self.numerator), float(counts @ self.denominator)

    def compute_value(self, counts: Floats) -> float | None:
        """Returns the value of the metric, or ``None`` when its denominator is zero."""
        numerator, denominator = self.compute_parts(counts)
        return numerator / denominator if denominator > 0 else None

    def compute_bounds(self, counts: Floats) -> tuple[float | None, float | None]:
        """Returns the worst and best value over all ways to read the INVALID and ERROR replies.

        Each unusable reply may have been YES, NO or UNKNOWN. A ratio of sums of cells is extreme
        where all unusable replies of a label have the same meaning, so at most 27 cases need to be
        tried. Cases without a value (zero denominator) are ignored.

        Returns:
            (worst, best); for a descriptive metric, (lowest, highest); ``None`` where no case has
            a value.
        """
        if self.is_reply_rate:
            value = self.compute_value(counts)
            return value, value
        cases = _enumerate_readings(counts.tobytes())
        numerators, denominators = cases @ self.numerator, cases @ self.denominator
        has_value = denominators > 0
        if not has_value.any():
            return None, None
        values = numerators[has_value] / denominators[has_value]
        low, high = float(values.min()), float(values.max())
        return (high, low) if self.higher_is_better is False else (low, high)


@cache
def get_metric(name: str, policy: PolicyName) -> Metric:
    """Returns the metric of that name under that policy.

    Raises:
        KeyError: no such metric or policy.
    """
    numerator, denominator, higher_is_better = _FORMULAS[name]
    outcomes = _OUTCOME_CELLS[policy]
    return Metric(
        name,
        policy,
        _parse_weights(numerator, outcomes),
        _parse_weights(denominator, outcomes),
        higher_is_better,
    )


def get_metrics(names: Iterable[str], policy: PolicyName) -> list[Metric]:
    """Returns several metrics under one policy, in the order of ``names``."""
    return [get_metric(name, policy) for name in names]


def count_outcomes(counts: Floats, policy: PolicyName) -> dict[str, Number]:
    """Counts the outcomes that the formulas use (``A_E … S_U``) and the INVALID and ERROR replies.

    Under ``licensed`` also the false denials, which are neither an answer nor an abstention.
    """
    names = ["A_E", "A_C", "A_U", "S_E", "S_C", "S_U"]
    if policy == "licensed":
        names.append("false_denials")
    outcomes = _OUTCOME_CELLS[policy]
    outcome_counts = {
        name: as_number(float(counts @ _parse_weights(name, outcomes))) for name in names
    }
    for pred in UNUSABLE:
        outcome_counts[pred] = as_number(float(counts @ _parse_weights(f"*.{pred}", outcomes)))
    return outcome_counts


def find_control_wins(
    systems: Mapping[str, Floats], controls: Mapping[str, Floats], policy: PolicyName
) -> tuple[ControlWin, ...]:
    """Finds the metrics on which the best control does at least as well as some system.

    A system without a value on a metric is neither beaten nor tied there.
    """
    wins = []
    for metric in get_metrics(SYSTEM_METRICS, policy):
        if metric.higher_is_better is None or metric.is_reply_rate:
            continue
        sign = 1.0 if metric.higher_is_better else -1.0
        control_values = _compute_values(metric, controls)
        system_values = _compute_values(metric, systems)
        if not control_values:
            continue
        best = max(control_values.values(), key=lambda value: sign * value)
        beaten = tuple(name for name, value in system_values.items() if sign * value < sign * best)
        tied = tuple(name for name, value in system_values.items() if value == best)
        if beaten or tied:
            wins.append(
                ControlWin(
                    metric=metric.name,
                    value=best,
                    controls=tuple(name for name, value in control_values.items() if value == best),
                    won=len(beaten) + len(tied) == len(system_values),
                    beaten=beaten,
                    tied=tied,
                )
            )
    return tuple(wins)


def _compute_values(metric: Metric, counts_by_system: Mapping[str, Floats]) -> dict[str, float]:
    """Returns the values of a metric by system, without the systems that have none."""
    values = {name: metric.compute_value(counts) for name, counts in counts_by_system.items()}
    return {name: value for name, value in values.items() if value is not None}


def _parse_weights(terms: str, outcomes: Mapping[str, str]) -> Floats:
    """Parses a sum such as ``S_C S_U`` or ``C.* U.NO`` into 0/1 weights over the cells."""
    weights = np.zeros((len(LABELS), len(PREDS)))
    for term in terms.split():
        if "." not in term:
            weights += _parse_weights(outcomes[term], outcomes).reshape(weights.shape)
            continue
        label, pred = term.split(".")
        rows = slice(None) if label == "*" else LABEL_CODE[label]
        columns = slice(None) if pred == "*" else PRED_CODE[pred]
        weights[rows, columns] += 1
    return weights.reshape(CELLS)


@lru_cache(maxsize=64)
def _enumerate_readings(counts: bytes) -> Floats:
    """Enumerates the extreme ways to read the unusable replies of a table.

    Args:
        counts: cell counts as bytes, which unlike an array can be a cache key; all metrics of one
            table need the same cases.

    Returns:
        Cell counts, shape (cases, ``CELLS``); the table itself if it has no unusable replies.
    """
    table = np.frombuffer(counts).reshape(len(LABELS), len(PREDS))
    n_usable = len(PREDS) - len(UNUSABLE)
    n_unusable = table[:, n_usable:].sum(axis=1)
    choices = [range(n_usable) if n_unusable[code] else (0,) for code in range(len(LABELS))]
    cases = []
    for reading in product(*choices):
        case = table.copy()
        case[:, n_usable:] = 0
        case[np.arange(len(LABELS)), reading] += n_unusable
        cases.append(case.reshape(CELLS))
    return np.array(cases)
