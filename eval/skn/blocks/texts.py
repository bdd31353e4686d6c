"""Names and explanations of metrics, pipelines and terms, for readers of the section."""

from __future__ import annotations

from eval.blocks.glossary import MetricDescription
from eval.blocks.text_format import format_number

HEADLINE_METRICS = (
    *("accuracy", "hallucination_rate", "normalized_hallucination", "groundedness"),
    *("abstention_f1", "ece"),
)
"""Shown first, as charts, and compared in pairs."""
ABSTENTION_METRICS = (
    *("abstention_f1", "abstention_precision", "abstention_recall", "abstention_accuracy"),
    "answered",
)
CONTEXT_METRICS = ("context_chars", "context_tokens_est")
EFFORT_METRICS = (
    *CONTEXT_METRICS,
    *("extraction_tokens", "agent_prompt_tokens", "agent_completion_tokens"),
    *("tokens", "latency_mean_s", "latency_p50_s", "latency_p95_s"),
    *("extraction_latency_s", "reasoning_latency_s"),
)
"""Counts of characters and tokens, and seconds; all other metrics are shares."""
CATEGORY_METRICS = (
    *("accuracy", "abstention_accuracy", "normalized_hallucination", "hallucination_rate"),
    "groundedness",
)

METRIC_DESCRIPTIONS: dict[str, MetricDescription] = {
    "accuracy": MetricDescription(
        "accuracy",
        "Accuracy",
        "Of the samples that have an answer, the share answered rightly; abstentions and "
        "failures are not right.",
    ),
    "ece": MetricDescription(
        "ECE",
        "Calibration error",
        "Gap between stated confidence and share of right answers, over ten equal-width bins. "
        "Chance alone makes it positive.",
    ),
    "ece_equal_mass": MetricDescription(
        "ECE, equal mass",
        "Calibration error, equal mass",
        "The same over bins of equally many answers.",
    ),
    "brier": MetricDescription(
        "Brier", "Brier score", "Mean squared gap between confidence and correctness."
    ),
    "mean_confidence": MetricDescription(
        "confidence", "Mean confidence", "Mean confidence that the answers state."
    ),
    "confidence_when_correct": MetricDescription(
        "when right", "Confidence when right", "Mean confidence of the right answers."
    ),
    "confidence_when_wrong": MetricDescription(
        "when wrong", "Confidence when wrong", "Mean confidence of the wrong answers."
    ),
    "hallucination_rate": MetricDescription(
        "hallucinating",
        "Answers with a hallucination",
        "Of the judged answers, the share with at least one claim that the sources do not "
        "support. Longer answers have more claims that can be wrong.",
    ),
    "hallucination_severity": MetricDescription(
        "severity", "Severity", "How severe the judges rate hallucinations, from 0 to 1."
    ),
    "normalized_hallucination": MetricDescription(
        "made up",
        "Claims made up",
        "Of an answer's claims, the share made up, averaged over answers; answers without "
        "claims are left out.",
    ),
    "normalized_hallucination_micro": MetricDescription(
        "made up, all", "Claims made up, of all claims", "All claims made up over all claims."
    ),
    "claims_per_answer": MetricDescription(
        "claims", "Claims per answer", "How many claims the judges count in an answer."
    ),
    "groundedness": MetricDescription(
        "grounded",
        "Groundedness",
        "How well the search results support the answers, as judged, from 0 to 1.",
    ),
    "unsupported_fraction": MetricDescription(
        "unsupported", "Unsupported share", "Share of the claims that lack support."
    ),
    "answered": MetricDescription(
        "answered", "Answered", "Share of all samples that got an answer."
    ),
    "abstention_accuracy": MetricDescription(
        "decided rightly",
        "Right decisions whether to answer",
        "Share of all samples: answered where there is an answer, abstained where there is none.",
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
        "abstention F1", "Abstention F1", "Harmonic mean of abstention precision and recall."
    ),
    "context_chars": MetricDescription(
        "characters", "Characters given to the agent", "Length of the extraction."
    ),
    "context_tokens_est": MetricDescription(
        "tokens, estimated",
        "Tokens given to the agent, estimated",
        "A quarter of the characters of the extraction.",
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
        "total", "Tokens, total", "Prompts and replies of extraction and answer."
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

PIPELINE_DESCRIPTIONS = {
    "json": "plain JSON: entities, relations, claims",
    "json_conf": "JSON, each claim with a confidence",
    "json_meta": "JSON with all that SKN has",
    "skn_min": "SKN with source and facts only",
    "skn_no_gaps": "SKN without gaps",
    "skn_no_causal": "SKN without causal links",
    "skn_no_risk": "SKN without risks",
    "skn": "SKN, whole",
}
"""What the format of each pipeline has."""

VALIDITY_TEXTS = {
    "strict": "without changes",
    "tolerant": "without the text around it",
    "repaired": "after one further turn",
    "unreadable": "not at all",
}
"""How an extraction could be parsed."""

RETENTION_NOTICE = (
    "What the extractions retain of the texts that they were made from, compared by words: what a "
    "model paraphrases counts as dropped."
)

DEFINITIONS: tuple[tuple[str, str], ...] = (
    (
        "Pipeline",
        "One format in which the search results are extracted for the agent. Search, agent and "
        "judges are the same for all.",
    ),
    (
        "INVALID, ERROR",
        "A reply that cannot be parsed even after repair, or a call or search that failed. Never "
        "counted as an abstention; the bounds show how such rows could change a value.",
    ),
    (
        "Unjudged",
        "An answer without a verdict of the judges. Left out of the shares that need a verdict, "
        "counted beside them, and included in the bounds.",
    ),
    (
        "Bounds",
        "The lowest and the highest value that INVALID, ERROR and unjudged rows could lead to.",
    ),
    (
        "Interval",
        "With other questions of the same kind, such intervals contain the true value about as "
        "often as their confidence states, mostly 95 times in 100. They do not cover other "
        "models, searches or days.",
    ),
    (
        "Difference",
        "Value of the candidate − value of the baseline, on the same samples. Only the test "
        "decides whether it is significant, not whether two intervals overlap.",
    ),
    (
        "p, adjusted",
        "By Holm's correction over all pairs of a metric: among many pairs, some would seem "
        "different by chance.",
    ),
    (
        "Minimum detectable effect",
        "The true difference that a comparison of this size finds with a power of 80 %: the grey "
        "band. Pairs without a significant difference may still differ by as much.",
    ),
    (
        "ECE by chance",
        "The calibration error expected of a perfectly calibrated system with these confidences. "
        "With few answers it is far from 0.",
    ),
    (
        "Anchor",
        "An answer known to be right or wrong, given to the judges: the right answer of the "
        "sample, and that of another sample. Verdicts on them show how often the judges err.",
    ),
)


def describe_metric(key: str) -> MetricDescription:
    """Returns the name and explanation of a metric; an unknown one has its key as its name."""
    return METRIC_DESCRIPTIONS.get(key) or MetricDescription(key, key.replace("_", " "), "")


def format_value(key: str, value: float | None) -> str:
    """Formats a metric: shares with three digits, seconds with two, counts with none."""
    if key not in EFFORT_METRICS or value is None:
        return format_number(value)
    if key.endswith("_s"):
        return f"{format_number(value, 2)} s"
    return f"{value:,.0f}"
