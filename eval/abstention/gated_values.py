"""The metrics of cards that ``epoche gate`` checks."""

from __future__ import annotations

import msgspec

from eval.abstention.metrics.definitions import (
    ALL_THREE,
    GEOMEAN_RECALL,
    HEADLINE_METRICS,
    list_metric_names,
)
from eval.abstention.metrics.optional_metrics import (
    CONFIDENCE_METRICS,
    MEMORY,
    SELF_CONSISTENCY,
    collect_optional_metrics,
)
from eval.abstention.metrics.record import SystemReport
from eval.metrics.measurement import PolicyName
from eval.metrics.metric_value import MetricValue

_UNCERTAIN_SKILL = "skill@.9"

MIN_CARDS_PER_LABEL = 500
"""Minimum number of cards of each label for a condition on skill@.9: with 200, its 95 % interval is
.26 to either side."""


def list_gated_metrics(policy: PolicyName) -> tuple[str, ...]:
    """Lists the metrics of cards that a condition may be about."""
    headline = HEADLINE_METRICS if policy == "licensed" else ()
    names = (*headline, *list_metric_names(policy), *CONFIDENCE_METRICS, MEMORY, SELF_CONSISTENCY)
    return tuple(dict.fromkeys(names))


def collect_gated_values(system: SystemReport, policy: PolicyName) -> dict[str, MetricValue]:
    """Returns a system's metrics by name; one without a value says why."""
    values = dict.fromkeys(list_gated_metrics(policy), MetricValue(value=None))
    values |= system.metrics | collect_optional_metrics(system)
    n_cards = min((sum(row.values()) for row in system.table.values()), default=0) / system.repeats
    if policy == "licensed" and n_cards < MIN_CARDS_PER_LABEL:
        values[_UNCERTAIN_SKILL] = MetricValue(
            value=None,
            why=f"it needs {MIN_CARDS_PER_LABEL} cards of each label, and one label has "
            f"{n_cards:g}; use skill@.5 or skill@.75",
        )
    return {
        name: value
        if value.value is not None or value.why
        else msgspec.structs.replace(value, why=_explain_null(name))
        for name, value in values.items()
    }


def _explain_null(metric: str) -> str:
    """Explains why a metric of cards has no value."""
    if metric in CONFIDENCE_METRICS:
        return "the system gives no confidence"
    if metric == MEMORY:
        return "the cards do not say which claims were set aside"
    if metric == SELF_CONSISTENCY:
        return "the run has no repeats"
    if metric == ALL_THREE:
        return "the cards have no whole triplets; use geomean-recall"
    if metric == GEOMEAN_RECALL:
        return "the cards have triplets; use all-three"
    reasons = {
        "AP": "the system never abstained",
        "CVRR": "there is no usable reply to a contradictory card",
        "answer_accuracy": "the system never answered",
    }
    return f"its denominator is 0, {reasons.get(metric, 'there is no card it is about')}"
