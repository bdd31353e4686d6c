"""Defines the measures of graded answers: utility, skill, abstention precision and recall.

Each measure is a sum of ratios of counts, plus a constant. Counts are those of outcomes among
answerable and unanswerable questions.

Sources: the F-score is that of SimpleQA (Wei et al., "Measuring short-form factuality in large
language models", 2024); the skill score is that of the cards (docs/reference/metrics.md) for two
classes of questions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eval.outcomes.grades import OUTCOMES
from eval.stats.bootstrap import Floats

PENALTIES = (0.0, 0.5, 0.75, 0.9)
"""Penalties t: a wrong answer costs t / (1 − t) points."""
_HEADLINE_PENALTY = 0.5
_CELLS = len(OUTCOMES)
RIGHT, WRONG, ABSTAINED, _ = np.eye(_CELLS)
"""Weights of the outcomes, shape (outcomes,)."""


@dataclass(frozen=True)
class Measure:
    """A measure.

    Attributes:
        name: its name.
        ratios: numerator and denominator of each ratio, as weights of the cells: the outcomes of
            answerable questions, then those of unanswerable ones.
        offset: is added to the sum of the ratios.
        is_proportion: whether it is the share of some questions or answers, so that Wilson's
            interval applies.
    """

    name: str
    ratios: tuple[tuple[Floats, Floats], ...]
    offset: float = 0.0
    is_proportion: bool = True

    @property
    def minimum(self) -> float:
        """The lowest possible value; the highest is 1."""
        lowest = [(top[bottom > 0] / bottom[bottom > 0]).min() for top, bottom in self.ratios]
        return float(sum(lowest)) + self.offset

    @property
    def has_fixed_denominators(self) -> bool:
        """Whether the denominators depend on the questions alone, not on the answers."""
        return all(
            (bottom.reshape(2, _CELLS) == bottom.reshape(2, _CELLS)[:, :1]).all()
            for _, bottom in self.ratios
        )

    @property
    def higher_is_better(self) -> bool | None:
        """Its direction; ``None`` for the share of questions that were attempted."""
        return None if self.name == "attempted" else True


def list_measures(*, is_answerability_known: bool, has_skill: bool = True) -> list[Measure]:
    """Lists the measures, the headline first.

    Args:
        is_answerability_known: whether it is known of all questions; else there is no skill.
        has_skill: whether some questions are answerable and others not; else skill has no value,
            and utility is the headline.
    """

    def both(weights: Floats) -> Floats:
        return np.concatenate([weights, weights])

    every = np.ones(_CELLS)
    utilities = [
        Measure(
            f"utility@{_format_penalty(t)}",
            ((both(RIGHT - t / (1 - t) * WRONG), both(every)),),
            is_proportion=False,
        )
        for t in PENALTIES
    ]
    attempted = RIGHT + WRONG
    measures = [
        Measure("accuracy", ((both(RIGHT), both(every)),)),
        Measure("attempted", ((both(attempted), both(every)),)),
        Measure("right-if-attempted", ((both(RIGHT), both(attempted)),)),
        Measure(
            "F-score",
            ((both(2 * RIGHT), both(every + attempted)),),
            is_proportion=False,
        ),
    ]
    if not is_answerability_known:
        first = utilities[PENALTIES.index(_HEADLINE_PENALTY)]
        return [first, *(u for u in utilities if u is not first), *measures]
    answerable = np.concatenate([every, np.zeros(_CELLS)])
    unanswerable = np.concatenate([np.zeros(_CELLS), every])
    skills = [
        Measure(
            f"skill@{_format_penalty(t)}",
            (
                (answerable * both(RIGHT - t / (1 - t) * WRONG), answerable),
                (unanswerable * both(ABSTAINED - t / (1 - t) * attempted), unanswerable),
            ),
            offset=-1.0,
            is_proportion=False,
        )
        for t in PENALTIES
    ]
    scores = [*skills, *utilities] if has_skill else [*utilities, *skills]
    first = scores[PENALTIES.index(_HEADLINE_PENALTY)]
    return [
        first,
        *(score for score in scores if score is not first),
        *measures,
        Measure(
            "abstention-precision",
            ((unanswerable * both(ABSTAINED), both(ABSTAINED)),),
        ),
        Measure(
            "abstention-recall",
            ((unanswerable * both(ABSTAINED), unanswerable),),
        ),
    ]


def compute_value(totals: Floats, measure: Measure) -> float | None:
    """Computes a measure of counts by cell; ``None`` if a denominator is 0."""
    parts = [(float(totals @ top), float(totals @ bottom)) for top, bottom in measure.ratios]
    if not all(bottom for _, bottom in parts):
        return None
    return sum(top / bottom for top, bottom in parts) + measure.offset


def vote(counts: Floats) -> Floats:
    """Returns the outcome of each question by majority.

    A question without a majority counts as abstained; as unusable if half of the answers could
    agree had the unusable ones been usable, since a failed call is no abstention.

    Args:
        counts: number of answers to each question by outcome, shape (questions, outcomes).

    Returns:
        1 for the outcome of each question, else 0, in the same shape.
    """
    half = counts.sum(axis=1) / 2
    voted = np.where(counts > half[:, None], 1.0, 0.0)
    is_open = voted.sum(axis=1) == 0
    unusable = OUTCOMES.index("unusable")
    n_unusable = counts[:, unusable]
    n_most = np.delete(counts, unusable, axis=1).max(axis=1)
    has_failed = (n_unusable > 0) & (n_most + n_unusable >= half)
    voted[is_open & has_failed, unusable] = 1.0
    voted[is_open & ~has_failed, OUTCOMES.index("abstained")] = 1.0
    return voted


def _format_penalty(penalty: float) -> str:
    return f"{penalty:g}".removeprefix("0") or "0"
