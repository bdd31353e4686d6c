"""The rule of gates for measures of confidences: few confidences show nothing of a system.

ECE, Brier score, AURC and AUGRC are about the answers that carry a confidence. A system that states
one only where it is sure would meet any condition on them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from eval.metrics.metric_value import ConfidenceCounts
from eval.stats.estimates import Estimate
from kg.base.plain_text import format_count


def require_confidences(
    estimates: Mapping[str, Estimate],
    measures: Collection[str],
    counts: ConfidenceCounts,
    max_failures: float,
) -> dict[str, Estimate]:
    """Returns the estimates, those of confidences without a value if too many answers lack one.

    Those that keep their value also have the number of answers that they are about, and of those
    left out.

    Args:
        estimates: the estimates of a system by name.
        measures: the names of those that are about confidences.
        counts: how many of the answers that the system gave have a confidence.
        max_failures: the largest share of these answers that may have none.
    """
    n_answers = counts.given + counts.missing
    why = ""
    if counts.missing > max_failures * n_answers:
        why = (
            f"{counts.missing:,} of {format_count(n_answers, 'answer')} given have no confidence, "
            f"more than --max-failures {max_failures:g}"
        )
    checked = dict(estimates)
    for name, estimate in estimates.items():
        if name not in measures or estimate.value is None:
            continue
        if why:
            checked[name] = Estimate(value=None, why=why)
        elif estimate.denominator is None:
            checked[name] = msgspec.structs.replace(
                estimate, denominator=counts.given, missing=counts.missing
            )
    return checked
