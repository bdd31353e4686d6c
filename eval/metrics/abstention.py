"""The metrics of abstention, each a ratio of two sums of cells of the 3×5 table.

A metric is written down once, as the cells of its numerator and denominator under a policy.
Value, interval, resamples, bounds and controls all follow from that by sums. Formulas and their
reading are in ``docs/metrics.md``; they are those of "How to Quantify Abstention Precision"
(Epistemic Confusion Experiment, 2025), of which policy ``published`` is the code's own reading
and policy ``licensed`` the one that lets a system deny what is contradictory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import product

import numpy as np

from eval.metrics.outcomes import CELLS, LABEL_CODE, PRED_CODE, UNREADABLE, Floats, as_number
from eval.metrics.record import Number, PolicyName, WonByControl
from eval.result import PREDS
from kg.claims import LABELS

POLICIES: tuple[PolicyName, ...] = ("licensed", "published")

HEADLINE = ("AP", "CVRR", "FAR-NE", "LA")
BESIDE = ("coverage", "accuracy", "false_denial_rate", "abstention_recall")
"""What must never be missing beside the headline: a control wins some headline metric always."""

REPLY_RATES = ("yes_rate", "no_rate", "unknown_rate", "invalid_rate", "error_rate")

_OUTCOMES: dict[PolicyName, dict[str, str]] = {
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
"""The cells behind each outcome. A is an answer, S an abstention, by label."""

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
"""Numerator, denominator, and whether higher is better (null: it only describes)."""

METRICS = (*HEADLINE, *BESIDE, *(n for n in _FORMULAS if n not in HEADLINE + BESIDE + REPLY_RATES))
"""All that is computed over the headline cards, in the order of the tables."""

SYSTEM_METRICS = (*METRICS, "invalid_rate", "error_rate")


@dataclass(frozen=True)
class Metric:
    """One metric under one policy.

    Attributes:
        numerator: 0/1 weights over cells, shape (``CELLS``,).
        denominator: the same; never lighter than ``numerator``, so values lie in [0, 1].
        higher_is_better: ``None`` for a metric that only describes.
    """

    name: str
    policy: PolicyName
    numerator: Floats
    denominator: Floats
    higher_is_better: bool | None

    @cached_property
    def _left_out(self) -> Floats | None:
        """Weights of the unreadable cells it leaves out; ``None`` if it leaves out more."""
        weights = self.denominator.reshape(len(LABELS), len(PREDS))
        first = len(PREDS) - len(UNREADABLE)
        if not np.all(weights[:, :first] == weights[:, :1]):
            return None
        missing: Floats = (weights[:, :1] - weights).reshape(CELLS)
        return missing

    def is_proportion(self, counts: Floats) -> bool:
        """Whether the cards alone decide the denominator here, so that Wilson applies.

        True when the denominator holds all cards of its labels, whatever was answered, and also
        when it leaves out only unreadable replies and there are none.
        """
        return self._left_out is not None and not float(counts @ self._left_out)

    @property
    def about_replies(self) -> bool:
        """Whether it counts the unreadable themselves, which bounds must not reassign."""
        return self.name in REPLY_RATES

    def parts(self, counts: Floats) -> tuple[float, float]:
        """Numerator and denominator on cell counts of shape (``CELLS``,)."""
        return float(counts @ self.numerator), float(counts @ self.denominator)

    def value(self, counts: Floats) -> float | None:
        """The metric, or ``None`` when its denominator is zero."""
        top, bottom = self.parts(counts)
        return top / bottom if bottom > 0 else None

    def bounds(self, counts: Floats) -> tuple[float | None, float | None]:
        """Worst and best value over all ways to read the INVALID and ERROR replies.

        Each unreadable reply may have been YES, NO or UNKNOWN. For a ratio of sums of cells the
        extremes lie where all of a label's unreadable replies mean the same, so 27 cases are
        enough. Cases without a value (zero denominator) bound nothing.

        Returns:
            (worst, best); for a metric that only describes, (lowest, highest); ``None`` where no
            case has a value.
        """
        if self.about_replies:
            value = self.value(counts)
            return value, value
        cases = _readings(counts.tobytes())
        tops, bottoms = cases @ self.numerator, cases @ self.denominator
        known = bottoms > 0
        if not known.any():
            return None, None
        values = tops[known] / bottoms[known]
        low, high = float(values.min()), float(values.max())
        return (high, low) if self.higher_is_better is False else (low, high)


@cache
def metric(name: str, policy: PolicyName) -> Metric:
    """The metric of that name under that policy.

    Raises:
        KeyError: no such metric or policy.
    """
    top, bottom, better = _FORMULAS[name]
    outcomes = _OUTCOMES[policy]
    return Metric(name, policy, _weights(top, outcomes), _weights(bottom, outcomes), better)


def metrics(names: Iterable[str], policy: PolicyName) -> list[Metric]:
    """Several metrics under one policy, in the order of ``names``."""
    return [metric(name, policy) for name in names]


def outcome_counts(counts: Floats, policy: PolicyName) -> dict[str, Number]:
    """The counts the formulas are written in: ``A_E … S_U``, and what stands outside them."""
    names = ["A_E", "A_C", "A_U", "S_E", "S_C", "S_U"]
    if policy == "licensed":
        names.append("false_denials")
    outcomes = _OUTCOMES[policy]
    out = {name: as_number(float(counts @ _weights(name, outcomes))) for name in names}
    for pred in UNREADABLE:
        out[pred] = as_number(float(counts @ _weights(f"*.{pred}", outcomes)))
    return out


def published_block(counts: Floats) -> dict[str, dict[str, Number | None]]:
    """A system's part of ``metrics.json`` as the published experiment writes it.

    Its ``counts`` holds only outcomes that occurred; a ratio over nothing is null.
    """
    matrix = outcome_counts(counts, "published")
    del matrix["INVALID"], matrix["ERROR"]

    def value(name: str) -> float | None:
        return metric(name, "published").value(counts)

    totals = {
        "entailed": matrix["A_E"] + matrix["S_E"],
        "contradictory": matrix["A_C"] + matrix["S_C"],
        "unknown": matrix["A_U"] + matrix["S_U"],
        "non_entailed": matrix["A_C"] + matrix["S_C"] + matrix["A_U"] + matrix["S_U"],
        "abstentions": matrix["S_E"] + matrix["S_C"] + matrix["S_U"],
        "answers": matrix["A_E"] + matrix["A_C"] + matrix["A_U"],
    }
    ratios = {
        "AP": value("AP"),
        "AP_invalid": value("AP_invalid"),
        "AP_unknown": value("AP_unknown"),
        "AR": value("abstention_recall"),
        "AR_contradictory": value("AR_contradictory"),
        "AR_unknown": value("AR_unknown"),
        "CVRR": value("CVRR"),
        "FAR_NE": value("FAR-NE"),
        "LA": value("LA"),
        "coverage": value("coverage"),
        "answer_accuracy": value("answer_accuracy"),
        "overall_accuracy": value("overall_accuracy"),
    }
    return {
        "counts": {name: number for name, number in matrix.items() if number},
        "confusion_matrix": dict(matrix),
        "totals": dict(totals),
        "metrics": dict(ratios),
    }


def won_by_controls(
    systems: Mapping[str, Floats], controls: Mapping[str, Floats], policy: PolicyName
) -> tuple[WonByControl, ...]:
    """Every metric on which the best control does at least as well as some system.

    A system without a value on a metric is neither beaten nor tied there.
    """
    found = []
    for one in metrics(SYSTEM_METRICS, policy):
        if one.higher_is_better is None or one.about_replies:
            continue
        sign = 1.0 if one.higher_is_better else -1.0
        ranked = {n: v for n, c in controls.items() if (v := one.value(c)) is not None}
        scored = {n: v for n, c in systems.items() if (v := one.value(c)) is not None}
        if not ranked:
            continue
        best = max(ranked.values(), key=lambda value: sign * value)
        beaten = tuple(n for n, v in scored.items() if sign * v < sign * best)
        tied = tuple(n for n, v in scored.items() if v == best)
        if beaten or tied:
            found.append(
                WonByControl(
                    metric=one.name,
                    value=best,
                    controls=tuple(name for name, value in ranked.items() if value == best),
                    won=len(beaten) + len(tied) == len(scored),
                    beaten=beaten,
                    tied=tied,
                )
            )
    return tuple(found)


def _weights(terms: str, outcomes: Mapping[str, str]) -> Floats:
    """0/1 weights of a sum such as ``S_C S_U`` or ``C.* U.NO``."""
    weights = np.zeros((len(LABELS), len(PREDS)))
    for term in terms.split():
        if "." not in term:
            weights += _weights(outcomes[term], outcomes).reshape(weights.shape)
            continue
        label, pred = term.split(".")
        rows = slice(None) if label == "*" else LABEL_CODE[label]
        columns = slice(None) if pred == "*" else PRED_CODE[pred]
        weights[rows, columns] += 1
    return weights.reshape(CELLS)


@lru_cache(maxsize=64)
def _readings(counts: bytes) -> Floats:
    """The extreme ways to read a table's unreadable replies; the table itself if it has none.

    Args:
        counts: the bytes of cell counts; all metrics of one table ask for the same.

    Returns:
        Cell counts, shape (cases, ``CELLS``).
    """
    table = np.frombuffer(counts).reshape(len(LABELS), len(PREDS))
    first = len(PREDS) - len(UNREADABLE)
    unread = table[:, first:].sum(axis=1)
    choices = [range(first) if unread[code] else (0,) for code in range(len(LABELS))]
    cases = []
    for means in product(*choices):
        case = table.copy()
        case[:, first:] = 0
        case[np.arange(len(LABELS)), means] += unread
        cases.append(case.reshape(CELLS))
    return np.array(cases)
