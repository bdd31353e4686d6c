"""What a reader must know before quoting a number of an extraction run, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eval.extraction.measuring.gathering import WHOLE, Gathered
from eval.extraction.measuring.measure_plan import Plan
from eval.extraction.record import Outcomes, Value
from eval.stats.intervals import RESAMPLES

FEW_SAMPLES = 30
"""Fewer samples tell little apart, whatever the test."""


def system_notes(
    outcomes: Outcomes, metrics: Mapping[str, Value], gathered: Gathered, plan: Plan
) -> Iterator[str]:
    """The notes of one system."""
    if outcomes.error:
        yield (
            f"{outcomes.error} of {outcomes.rows} calls failed. They are no empty extractions: "
            "accuracy is over those that came back, with bounds over what the others could have "
            "been."
        )
    unusable = outcomes.invalid + outcomes.unparsable
    if unusable:
        worth = "nothing" if plan.invalid == "zero" else "what is right in them"
        yield (
            f"{unusable} replies are no valid instance of their schema ({outcomes.unparsable} no "
            f"JSON). In the headline they are worth {worth}; the other reading stands beside it."
        )
    without = outcomes.scored - metrics["extraction_quality_score"].n
    if without:
        yield (
            f"{without} replies have no quality score: nothing is expected of their samples, and "
            "nothing came."
        )
    edges = [name for name, one in metrics.items() if one.method == "wilson-edge"]
    if edges:
        yield (
            f"{', '.join(edges)}: the resamples do not vary, or too many have no value. A "
            "bootstrap interval would claim certainty; shown is Wilson's, over the samples that "
            "take part."
        )
    bounded = int(gathered.whole[:, WHOLE.index("bounded")].sum())
    if bounded:
        yield (
            f"{bounded} replies hold arrays too large for an optimal alignment: their scores may "
            "be below the best that could be had."
        )


def run_notes(samples: int, plan: Plan) -> Iterator[str]:
    """The notes of a whole run."""
    yield from plan.notes
    if samples < FEW_SAMPLES:
        yield f"{samples} samples are few: differences must be large to be told from chance."
    if plan.resamples < RESAMPLES:
        yield f"Only {plan.resamples} resamples: the ends of intervals are rough."
