"""What SynthLink's measures are called, and what they mean, in plain words."""

from __future__ import annotations

from typing import Final

from eval.blocks.glossary import MetricDescription
from eval.synthlink.items import CATEGORIES
from eval.synthlink.metrics import AGGREGATE_WEIGHTS, MetricName, Mode

MEASURES: Final[dict[MetricName, MetricDescription]] = {
    "aggregate": MetricDescription(
        "score",
        "Score",
        "The five weighted parts together; a question without an answer is worth 0.",
    ),
    "f1": MetricDescription(
        "F1",
        "Right and complete",
        "Corrected: share of supported claims and of stated facts, by words. Literal: of words "
        "against the expected answer.",
    ),
    "p_at_5": MetricDescription(
        "P@5", "Pages named", "Of the first five pages it names, the share that are sources."
    ),
    "recall_at_5": MetricDescription(
        "R@5", "Sources named", "Of the sources, the share among those five. Has no weight."
    ),
    "rqs": MetricDescription(
        "RQS", "Steps taken", "Of the steps that lead to the answer, the share it takes."
    ),
    "fcs": MetricDescription(
        "FCS", "Supported claims", "Of what it claims, the share that is verified."
    ),
    "ie": MetricDescription(
        "IE", "Speed", "1 for a correct answer in the first round, 1/2 in the second, and so on."
    ),
}
"""The score first, then its parts in the order of the specification."""

PARTS: Final[tuple[MetricName, ...]] = tuple(key for key in MEASURES if key in AGGREGATE_WEIGHTS)
"""Those that have a weight."""

MODES: Final[dict[Mode, str]] = {
    "corrected": "what the formulas are meant to measure",
    "literal": "the published formulas",
}

VERDICTS: Final[dict[str, tuple[str, str]]] = {
    "supported": ("✓", "supported"),
    "contradicted": ("✗", "contradicted"),
    "not_found": ("?", "not found"),
    "unjudged": ("!", "unjudged"),
}
"""Of claims: sign and words."""

DECIDED_BY: Final[dict[str, str]] = {
    "graph": "the graph",
    "facts": "the facts of the steps or the expected answer",
    "pages": "the words of a source's text",
    "form": "its form: a list of words that states nothing",
    "judge": "a model that judges",
    "nothing": "nothing",
}

TERMS: Final[tuple[tuple[str, str], ...]] = (
    (
        "corrected, literal",
        "Two ways to score the same answers. Literal takes the published formulas as they stand; "
        "a list of keywords does well in it. Corrected asks for what they are meant to measure, "
        "trusts nothing that the answer brings along to verify itself, and leaves unjudged what "
        "neither evidence nor a judge decides.",
    ),
    (
        "Score",
        "0.3 F1 + 0.2 P@5 + 0.3 RQS + 0.1 FCS + 0.1 IE. What the catalogue lacks for a question "
        "takes no part there, for any system alike. Where a part is unjudged there is no score, "
        "but its lowest and highest possible value.",
    ),
    (
        "F1",
        "Literal: precision and recall of the answer's words, in any order. Corrected: a word of "
        "the answer counts if its claim is supported, and a word of the expected facts if the "
        "answer states the fact.",
    ),
    (
        "P@5, R@5",
        "Pages it names against the sources of the catalogue: precision of the first five and "
        "recall among them. Corrected: only pages that the trail opened count.",
    ),
    (
        "RQS",
        "Share of steps taken. Literal looks for keywords anywhere. Corrected is the share of the "
        "steps' facts that the answer states, among those that rules or a judge decide.",
    ),
    (
        "FCS",
        "Share of claims verified. Literal looks them up in what the answer says verified it; "
        "corrected is the share of claims supported among those that graph, facts, pages or a "
        "judge decide.",
    ),
    (
        "Unjudged",
        "Neither true nor false: nothing decided it, so it is part of no denominator. The bounds "
        "take it as wrong, and as right. With `--judge-model` or `--nli`, a judge decides more.",
    ),
    (
        "IE",
        "1 divided by the number of the first round with a correct answer, 0 if none; corrected: "
        "also 0 if the final answer is not correct.",
    ),
    (
        "Missing, refused, abstained",
        "No row for the question; a row that cannot be used; a blank answer. Each is worth 0, and "
        "the denominator is always the whole catalogue.",
    ),
    (
        "Interval",
        "By resampling whole questions. Made anew with other questions of the kind, such an "
        "interval would hold the true number about as often as its confidence says. It knows "
        "nothing of other models or other days.",
    ),
    (
        "p, adjusted",
        "Of the sign-flip test on the same questions, after Holm's correction over the measures.",
    ),
    (
        "Smallest detectable",
        "The true difference that a comparison of this size finds 4 times in 5: the grey band. "
        "Files without a significant difference may still differ by as much.",
    ),
)


def category_name(letters: str) -> str:
    """A category in full where its letters are known."""
    return CATEGORIES.get(letters, letters)
