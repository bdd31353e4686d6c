"""Compares systems that see evidence with the same model that sees only the question.

What a model answers from memory says how much of a score its evidence explains.
"""

from __future__ import annotations

from collections.abc import Collection

from eval.abstention.metrics.cluster_samples import Samples
from eval.abstention.metrics.definitions import SKILL
from eval.abstention.metrics.pairs import compare_pairs
from eval.abstention.metrics.record import CardComparison
from eval.abstention.result import RAW_CLOSED_BOOK
from eval.metrics.signature import Signature

RIGHT_ON_ENTAILED = "LA"
"""Share of the E cards that are answered YES, under policy ``licensed``."""


def compare_with_closed_book(
    samples: Samples, *, signature: Signature
) -> tuple[CardComparison, ...]:
    """Compares each system with its model's answers to the question alone, on the same cards.

    Args:
        samples: the systems on shared resamples.
        signature: signature of the values; metric and policy are added to it.

    Returns:
        Comparisons on skill@.5 and on the share of right answers to E cards under policy
        ``licensed``; difference = with evidence - closed book. Holm's correction covers the
        systems compared on one metric.
    """
    systems = samples.observations.systems_under_test
    pairs = [
        (name, closed)
        for name in systems
        if (closed := find_closed_book(name, systems)) is not None
    ]
    if not pairs or "licensed" not in samples.plan.policies:
        return ()
    comparisons = compare_pairs(
        samples, pairs, signature=signature, metric_names=(SKILL, RIGHT_ON_ENTAILED)
    )
    return tuple(comparison for comparison in comparisons if comparison.policy == "licensed")


def find_closed_book(system: str, systems: Collection[str]) -> str | None:
    """Finds the system that asks the same model, told the same penalty, without evidence.

    Args:
        system: a name such as ``raw:lab/model@t.5``.
        systems: names of all systems.

    Returns:
        Its name, here ``raw_closed_book:lab/model@t.5``; ``None`` if there is none, or if
        ``system`` sees no evidence itself.
    """
    base, colon, model = system.partition(":")
    closed = f"{RAW_CLOSED_BOOK}:{model}"
    if not colon or base.endswith("_closed_book") or closed not in systems:
        return None
    return closed
