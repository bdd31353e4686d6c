"""What the numbers of SKN against JSON are called, and what they mean, in plain words."""

from __future__ import annotations

from reporting.charts import format_number
from reporting.glossary import MetricDescription

HEADLINE = (
    *("accuracy", "hallucination_rate", "normalized_hallucination", "groundedness"),
    *("abstention_f1", "ece"),
)
"""Drawn as panels, compared in pairs, shown first."""
ABSTENTION = (
    *("abstention_f1", "abstention_precision", "abstention_recall", "abstention_accuracy"),
    "answered",
)
EFFORT = (
    *("context_chars", "extraction_tokens", "agent_prompt_tokens", "agent_completion_tokens"),
    *("tokens", "latency_mean_s", "latency_p50_s", "latency_p95_s"),
    *("extraction_latency_s", "reasoning_latency_s"),
)
"""Not shares: counts of characters and tokens, and seconds."""
BY_CATEGORY = (
    *("accuracy", "abstention_accuracy", "normalized_hallucination", "hallucination_rate"),
    "groundedness",
)

METRICS: dict[str, MetricDescription] = {
    "accuracy": MetricDescription(
        "accuracy",
        "Accuracy",
        "Of the samples that have an answer, the share answered rightly; abstaining and failing "
        "are not right.",
    ),
    "ece": MetricDescription(
        "ECE",
        "Calibration error",
        "How far stated confidence and share of right answers lie apart, over ten equal bins. "
        "Chance alone makes it positive.",
    ),
    "ece_equal_mass": MetricDescription(
        "ECE, equal mass", "Calibration error, equal mass", "The same over bins of equally many."
    ),
    "brier": MetricDescription("Brier", "Brier score", "Mean squared gap of confidence and truth."),
    "mean_confidence": MetricDescription(
        "confidence", "Mean confidence", "What the answers state, on average."
    ),
    "confidence_when_correct": MetricDescription(
        "when right", "Confidence when right", "Mean confidence of the right answers."
    ),
    "confidence_when_wrong": MetricDescription(
        "when wrong", "Confidence when wrong", "Mean confidence of the wrong answers."
    ),
    "hallucination_rate": MetricDescription(
        "hallucinating",
        "Answers with something made up",
        "Of the judged answers, the share with at least one claim that the sources do not bear. "
        "Longer answers have more to be wrong about.",
    ),
    "hallucination_severity": MetricDescription(
        "severity", "Severity", "How grave the judges find what is made up, from 0 to 1."
    ),
    "normalized_hallucination": MetricDescription(
        "made up",
        "Claims made up",
        "Of an answer's claims, the share made up, averaged over answers; answers that claim "
        "nothing are left out.",
    ),
    "normalized_hallucination_micro": MetricDescription(
        "made up, all", "Claims made up, of all claims", "All claims made up over all claims."
    ),
    "claims_per_answer": MetricDescription(
        "claims", "Claims an answer", "How many claims the judges count in an answer."
    ),
    "groundedness": MetricDescription(
        "grounded",
        "Groundedness",
        "How well the judges find the answers borne by the search results, from 0 to 1.",
    ),
    "unsupported_fraction": MetricDescription(
        "unsupported", "Unsupported share", "Share of the claims that lack support."
    ),
    "answered": MetricDescription(
        "answered", "Answered", "Share of all samples that got an answer."
    ),
    "abstention_accuracy": MetricDescription(
        "decided rightly",
        "Decided rightly whether to answer",
        "Share of all samples answered where there is an answer, and abstained from where not.",
    ),
    "abstention_precision": MetricDescription(
        "precision",
        "Abstention precision",
        "Of the abstentions, the share on samples that have no answer.",
    ),
    "abstention_recall": MetricDescription(
        "recall",
        "Abstention recall",
        "Of the samples that have no answer, the share abstained from.",
    ),
    "abstention_f1": MetricDescription(
        "abstention F1", "Abstention F1", "Precision and recall of abstaining, in one number."
    ),
    "context_chars": MetricDescription(
        "characters", "Characters handed on", "Length of what the agent was given."
    ),
    "extraction_tokens": MetricDescription(
        "extraction", "Tokens the extractor wrote", "As the server counts them."
    ),
    "agent_prompt_tokens": MetricDescription(
        "agent read", "Tokens the agent read", "As the server counts them: context and question."
    ),
    "agent_completion_tokens": MetricDescription(
        "agent wrote", "Tokens the agent wrote", "As the server counts them."
    ),
    "tokens": MetricDescription(
        "together", "Tokens in all", "Of extraction and answer, asking and replying; no judging."
    ),
    "latency_mean_s": MetricDescription(
        "mean",
        "Seconds, mean",
        "Waiting for extraction and answer, without pauses, where the agent replied.",
    ),
    "latency_p50_s": MetricDescription("median", "Seconds, median", "Half took no longer."),
    "latency_p95_s": MetricDescription("95 %", "Seconds, 95 %", "19 of 20 took no longer."),
    "extraction_latency_s": MetricDescription(
        "extracting", "Seconds of extraction", "Waiting for the extractor."
    ),
    "reasoning_latency_s": MetricDescription(
        "answering", "Seconds of answering", "Waiting for the agent."
    ),
}

PIPELINES = {
    "json": "plain JSON: entities, relations, claims",
    "json_conf": "JSON, each claim with a confidence",
    "json_meta": "JSON with all that SKN holds",
    "skn_min": "SKN with source and facts only",
    "skn_no_gaps": "SKN without gaps",
    "skn_no_causal": "SKN without causal links",
    "skn_no_risk": "SKN without risks",
    "skn": "SKN, whole",
}
"""What a pipeline's format holds, by name; one that is not known stands for itself."""

TESTS = {
    "mcnemar": "exact McNemar",
    "sign-flip": "sign flips",
    "bootstrap": "bootstrap",
    "none": "not tested",
}

KINDS_KEPT = {
    "facts": "Facts",
    "negations": "Negations",
    "numbers": "Numbers",
    "names": "Names",
    "hedges": "Hedges",
}

OFFLINE = (
    "No model was called: rules extracted, answered and judged. So this run measures what each "
    "format keeps of a text and what it drops, and says nothing about models."
)
RETENTION = (
    "What each format keeps of the text it was made from. This measures what formats keep and "
    "drop, and nothing about models."
)

TERMS: tuple[tuple[str, str], ...] = (
    (
        "Pipeline",
        "One form in which what was found on the web is written down before the agent sees it. "
        "Search, agent and judges are the same for all.",
    ),
    (
        "INVALID, ERROR",
        "A reply that cannot be read even after repair, or a call or search that failed. Never "
        "counted as abstention, never as a wrong answer alone: bounds show what they could change.",
    ),
    (
        "Unjudged",
        "An answer on which the judges came to no verdict. Left out of the shares that need one, "
        "counted beside them, and within the bounds.",
    ),
    (
        "Bounds",
        "The least and the most a number could be, whatever INVALID, ERROR and unjudged rows "
        "would have been.",
    ),
    (
        "Interval",
        "Made anew with other questions of the kind, such an interval would hold the true number "
        "about as often as its confidence says, mostly 95 times in 100. It knows nothing of other "
        "models, other searches or other days.",
    ),
    (
        "Difference",
        "The first pipeline's value less the second's on the same samples. Only its test decides; "
        "whether two intervals overlap is never used.",
    ),
    (
        "p, adjusted",
        "After Holm's correction over all pairs of a metric: with many pairs, some would look "
        "different by chance.",
    ),
    (
        "Smallest detectable",
        "The true difference that a comparison of this size finds 4 times in 5: the grey band. A "
        "pair that cannot be told apart may still differ by as much.",
    ),
    (
        "ECE by chance",
        "The calibration error that a perfectly calibrated system with these confidences would "
        "show. With few answers it is far from 0.",
    ),
    (
        "Anchor",
        "An answer whose truth is known, put to the judges: a sample's own right answer, and "
        "another sample's. A judge that fails these is no judge.",
    ),
)


def words(key: str) -> MetricDescription:
    """The words for a metric; one we do not know is called by its own name."""
    return METRICS.get(key) or MetricDescription(key, key.replace("_", " "), "")


def value_text(key: str, value: float | None) -> str:
    """A value of a metric: three digits for a share, fewer for seconds, none for counts."""
    if key not in EFFORT or value is None:
        return format_number(value)
    if key.endswith("_s"):
        return f"{format_number(value, 2)} s"
    return f"{value:,.0f}"
