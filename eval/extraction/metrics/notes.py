"""Writes the notes that a reader needs before quoting a number of an extraction run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eval.extraction.metrics.measurement_plan import MeasurementPlan
from eval.extraction.metrics.system_rows import INTEGER_COLUMNS, SystemRows
from eval.extraction.record import Estimate, Outcomes
from eval.stats.bootstrap import RESAMPLES
from kg.base.plain_text import clean_text

_MAX_SHOWN = 8
FEW_SAMPLES = 30
"""Below this number of samples, a note warns that only large differences can be detected."""


def system_notes(
    outcomes: Outcomes,
    metrics: Mapping[str, Estimate],
    system_rows: SystemRows,
    plan: MeasurementPlan,
) -> Iterator[str]:
    """Yields the notes of one system."""
    if outcomes.error and plan.failed == "zero":
        yield (
            f"{outcomes.error} of {outcomes.rows} samples have no extraction: the prediction is "
            "missing, or says that it failed. They count as samples of which nothing is right."
        )
    elif outcomes.error:
        yield (
            f"{outcomes.error} of {outcomes.rows} calls failed. They are not counted as empty "
            "extractions: accuracy is measured over the other calls, with bounds for all possible "
            "replies to the failed ones."
        )
    n_unusable = outcomes.invalid + outcomes.unparsable
    if n_unusable:
        treatment = (
            "as entirely wrong" if plan.invalid == "zero" else "by the fields that are right"
        )
        said = (
            f"The headline counts them {treatment}; the other policy is given next to it."
            if plan.headline != "field_accuracy_macro"
            else "The headline counts what is right in those that are JSON; the quality score "
            f"counts them {treatment}, and the other policy is given next to it."
        )
        yield (
            f"{n_unusable} replies are invalid under their schema ({outcomes.unparsable} of them "
            f"not JSON{_list_problems(system_rows)}). {said}"
        )
    if outcomes.nulls:
        yield (
            f"{outcomes.nulls} replies have nulls where the schema allows none. Each counts as a "
            "field left out; in the strict reading (schema_validity_literal) they are invalid."
        )
    n_ambiguous = count_ambiguous_values(system_rows)
    if n_ambiguous:
        yield f"{describe_ambiguous_values(n_ambiguous)}."
    n_without_score = outcomes.scored - metrics["extraction_quality_score"].n
    if n_without_score:
        yield (
            f"{n_without_score} replies have no quality score: no field is expected and none was "
            "extracted."
        )
    wilson_metrics = [
        name for name, estimate in metrics.items() if estimate.method == "wilson-edge"
    ]
    if wilson_metrics:
        yield (
            f"{', '.join(wilson_metrics)}: the resamples do not vary, or too many have no value, "
            "so that a bootstrap interval would be too narrow. Wilson's interval over the samples "
            "with a value is shown instead."
        )
    n_bounded = int(system_rows.integers[:, INTEGER_COLUMNS.index("bounded")].sum())
    if n_bounded:
        yield (
            f"{n_bounded} replies have arrays that are too large for an optimal alignment: their "
            "scores may be too low."
        )


def _list_problems(system_rows: SystemRows) -> str:
    """Lists why replies are not JSON, the most frequent reason first."""
    found = sorted(system_rows.unreadable.items(), key=lambda one: (-one[1], one[0]))
    shown = ", ".join(
        f"{clean_text(problem, 80)} {count:,}" for problem, count in found[:_MAX_SHOWN]
    )
    more = ", …" if len(found) > _MAX_SHOWN else ""
    return f": {shown}{more}" if shown else ""


def count_ambiguous_values(system_rows: SystemRows) -> int:
    """Counts the wrong fields that would be right in another reading."""
    return int(system_rows.integers[:, INTEGER_COLUMNS.index("ambiguous_values")].sum())


def describe_ambiguous_values(count: int) -> str:
    """Says that values have two readings, and what settles them."""
    fields = "1 wrong field" if count == 1 else f"{count:,} wrong fields"
    return (
        f"{fields} would be right in another reading: a date such as 01/02/2024, or an amount such "
        "as 1.234, 5 mil or kr 50. Nothing is guessed; metrics.field_matching sets the order of "
        "day and month (date_order) and the decimal_mark"
    )


def run_notes(n_samples: int, plan: MeasurementPlan) -> Iterator[str]:
    """Yields the notes of a whole run."""
    yield from plan.notes
    if n_samples < FEW_SAMPLES:
        yield f"With only {n_samples} samples, only large differences can be told from chance."
    if plan.resamples < RESAMPLES:
        yield f"With only {plan.resamples} resamples, the ends of intervals are imprecise."
