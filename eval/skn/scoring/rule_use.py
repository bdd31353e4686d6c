"""Decides what is stated about a run in which rules stood in for a model.

Rules that answer and judge by comparing words show nothing about answers: which format "wins" is a
result of the rules. Metrics of answers are therefore given only where a model, or a system of
somebody else, answered, and metrics of verdicts only where a model judged. What a format keeps of
a text, and how long it is, is given in any case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from eval.stats.estimates import Estimate

VERDICT_METRICS: Final = frozenset(
    (
        *("accuracy", "ece", "ece_equal_mass", "brier"),
        *("confidence_when_correct", "confidence_when_wrong"),
        *("hallucination_rate", "hallucination_severity", "claims_per_answer"),
        *("normalized_hallucination", "normalized_hallucination_micro"),
        *("groundedness", "unsupported_fraction"),
    )
)
"""Metrics that need the verdicts of judges."""
ANSWER_METRICS: Final = frozenset(
    (
        *("answered", "mean_confidence", "abstention_accuracy"),
        *("abstention_precision", "abstention_recall", "abstention_f1"),
    )
)
"""Metrics that need answers, but no judges."""


class RuleUse(NamedTuple):
    """Which parts of a run were left to rules.

    Attributes:
        answers: rules extracted and answered.
        verdicts: rules judged.
    """

    answers: bool = False
    verdicts: bool = False

    @property
    def withheld(self) -> frozenset[str]:
        """The metrics that are not given."""
        if self.answers:
            return VERDICT_METRICS | ANSWER_METRICS
        return VERDICT_METRICS if self.verdicts else frozenset()

    @property
    def reason(self) -> str:
        """Why they are not given, for a cell of a table; empty if all are."""
        if self.answers:
            return "rules answered, no model"
        return "rules judged, no model" if self.verdicts else ""

    def describe(self) -> str:
        """Returns a sentence that says what is not given, why, and how to get it; may be empty."""
        shown = "this shows only what each format keeps or drops of a text, and how long it is"
        if self.answers and self.verdicts:
            return (
                f"No model was called (rules extracted, answered and judged), so {shown}; to "
                "compare answers, name models with --model and --judge-model."
            )
        if self.answers:
            return (
                f"Rules extracted and answered, no model, so {shown}; to compare answers, name a "
                "model with --model."
            )
        if self.verdicts:
            return (
                "Rules judged the answers by comparing words, so nothing that rests on verdicts is "
                "given or tested; to get it, have a model judge with --judge-model."
            )
        return ""

    def withhold(self, estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
        """Replaces estimates that are not given by empty ones with the reason."""
        return {
            name: Estimate(value=None, higher_is_better=estimate.higher_is_better, why=self.reason)
            if name in self.withheld
            else estimate
            for name, estimate in estimates.items()
        }


NO_RULES: Final = RuleUse()
