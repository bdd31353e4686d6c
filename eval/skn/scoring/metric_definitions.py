"""Defines every metric that is a ratio of sums over rows, and its worst-case bounds.

Each row is a vector over ``COLUMNS``; a metric is the sum of some columns divided by the sum of
others. All metrics of all pipelines can therefore be resampled by one matrix product.
"""

from __future__ import annotations

from eval.skn.scoring.observation import Observation
from eval.stats.ratio_metrics import Bounds, Counts, RatioMetric

VALIDITIES = ("strict", "tolerant", "repaired", "unreadable")
RETAINED_KINDS = ("facts", "negations", "numbers", "names", "hedges")
"""What an extraction may keep of a text (``eval.skn.retention.retention.Retention``)."""
_CONTEXT_COLUMNS = ("context_chars", "context_tokens_est")
# Here and below the starred tuples only group the names on their lines.
MEAN_COLUMNS = (
    *(
        "context_chars",
        "context_tokens_est",
        "extraction_tokens",
        "agent_prompt_tokens",
        "agent_completion_tokens",
    ),
    *("tokens", "latency_s", "extraction_latency_s", "reasoning_latency_s"),
)
"""Numbers of a row that are reported as the mean over the rows that have one."""

# For most quantities x there are three columns: "x" is the sum, "x_known" the number of rows that
# have x, and "x_missing" the number of rows that should have it but do not. Others:
# "settled" and "unsettled": answerable rows of which it is known, or not, whether they are correct;
# "tp", "fp", "fn", "tn": a positive is an abstention, and it is true on an unanswerable sample;
# "facts" and so on: those in the texts; "facts_kept": those kept; "facts_texts": texts with any;
# "share": the fraction of an answer's claims that are made up; "sure": the stated confidence.
COLUMNS = (
    *("rows", "failed", "answerable", "unanswerable", "answered"),
    *("correct", "settled", "failed_answerable", "unsettled"),
    *("tp", "fp", "fn", "tn", "failed_unanswerable"),
    *("detected", "detected_known", "detected_missing"),
    *("severity", "severity_known", "severity_missing"),
    *("share", "share_known", "claims_missing", "fabricated", "claims", "claims_known"),
    *("groundedness", "groundedness_known", "groundedness_missing"),
    *("unsupported", "unsupported_known", "unsupported_missing"),
    *("sure", "sure_known", "sure_right", "sure_right_known", "sure_wrong", "sure_wrong_known"),
    *(column for name in MEAN_COLUMNS for column in (name, f"{name}_known", f"{name}_missing")),
    *("extractions", *VALIDITIES),
    *(column for kind in RETAINED_KINDS for column in (f"{kind}_kept", kind, f"{kind}_texts")),
)


def _compute_precision_bounds(counts: Counts) -> Bounds:
    """Computes the bounds of precision, given that each failed row may have abstained or not.

    The extremes are reached where all failed answerable rows do the same, and all failed
    unanswerable rows do the same. Only these four cases are computed.
    """
    tp, fp = counts["tp"], counts["fp"]
    values = [
        (tp + added_tp) / (tp + added_tp + fp + added_fp)
        for added_tp in (0.0, counts["failed_unanswerable"])
        for added_fp in (0.0, counts["failed_answerable"])
        if tp + added_tp + fp + added_fp
    ]
    return (min(values), max(values)) if values else (None, None)


def _compute_f1_bounds(counts: Counts) -> Bounds:
    tp, fp, n_unanswerable = counts["tp"], counts["fp"], counts["unanswerable"]
    values = [
        2 * (tp + added_tp) / (tp + added_tp + fp + added_fp + n_unanswerable)
        for added_tp in (0.0, counts["failed_unanswerable"])
        for added_fp in (0.0, counts["failed_answerable"])
        if tp + added_tp + fp + added_fp + n_unanswerable
    ]
    return (min(values), max(values)) if values else (None, None)


def _compute_micro_bounds(counts: Counts) -> Bounds:
    """Computes the bounds of the micro average.

    A missing answer may have made any number of claims, all made up or none, so a single one makes
    both bounds trivial.
    """
    if counts["claims_missing"]:
        return 0.0, 1.0
    if not counts["claims"]:
        return None, None
    value = counts["fabricated"] / counts["claims"]
    return value, value


_NO_VERDICT = "no answer was judged"
NO_REPLY = "no model was called, or the agent never replied"
"""Reason for a missing latency."""
_ABSTENTIONS = {"tp": 1.0, "fp": 1.0}

METRICS: dict[str, RatioMetric] = {
    metric.name: metric
    for metric in (
        RatioMetric(
            "accuracy",
            {"correct": 1},
            {"settled": 1},
            higher_is_better=True,
            is_binary=True,
            missing="unsettled",
            worst_case={"unsettled": 1},
            failed="failed_answerable",
            undefined_reason="no answerable sample was judged",
        ),
        RatioMetric(
            "mean_confidence",
            {"sure": 1},
            {"sure_known": 1},
            undefined_reason="no confidence is stated",
        ),
        RatioMetric(
            "confidence_when_correct",
            {"sure_right": 1},
            {"sure_right_known": 1},
            undefined_reason="no correct answer states a confidence",
        ),
        RatioMetric(
            "confidence_when_wrong",
            {"sure_wrong": 1},
            {"sure_wrong_known": 1},
            undefined_reason="no wrong answer states a confidence",
        ),
        RatioMetric(
            "hallucination_rate",
            {"detected": 1},
            {"detected_known": 1},
            higher_is_better=False,
            is_binary=True,
            missing="detected_missing",
            worst_case={"detected_missing": 1},
            undefined_reason=_NO_VERDICT,
        ),
        RatioMetric(
            "hallucination_severity",
            {"severity": 1},
            {"severity_known": 1},
            higher_is_better=False,
            missing="severity_missing",
            worst_case={"severity_missing": 1},
            undefined_reason=_NO_VERDICT,
        ),
        RatioMetric(
            "normalized_hallucination",
            {"share": 1},
            {"share_known": 1},
            higher_is_better=False,
            missing="claims_missing",
            worst_case={"claims_missing": 1},
            undefined_reason="no judged answer claims anything",
        ),
        RatioMetric(
            "normalized_hallucination_micro",
            {"fabricated": 1},
            {"claims": 1},
            higher_is_better=False,
            missing="claims_missing",
            bounds=_compute_micro_bounds,
            rows="claims_known",
            undefined_reason="no judged answer claims anything",
        ),
        RatioMetric(
            "claims_per_answer",
            {"claims": 1},
            {"claims_known": 1},
            in_unit_interval=False,
            missing="claims_missing",
            undefined_reason=_NO_VERDICT,
        ),
        RatioMetric(
            "groundedness",
            {"groundedness": 1},
            {"groundedness_known": 1},
            higher_is_better=True,
            missing="groundedness_missing",
            worst_case={"groundedness_missing": 1},
            undefined_reason="no judged answer claims anything",
        ),
        RatioMetric(
            "unsupported_fraction",
            {"unsupported": 1},
            {"unsupported_known": 1},
            higher_is_better=False,
            missing="unsupported_missing",
            worst_case={"unsupported_missing": 1},
            undefined_reason="no judged answer claims anything",
        ),
        RatioMetric("answered", {"answered": 1}, {"rows": 1}, is_binary=True, failed="failed"),
        RatioMetric(
            "abstention_accuracy",
            {"tp": 1, "tn": 1},
            {"rows": 1},
            higher_is_better=True,
            is_binary=True,
            failed="failed",
        ),
        RatioMetric(
            "abstention_precision",
            {"tp": 1},
            _ABSTENTIONS,
            higher_is_better=True,
            is_binary=True,
            bounds=_compute_precision_bounds,
            undefined_reason="the pipeline never abstains",
        ),
        RatioMetric(
            "abstention_recall",
            {"tp": 1},
            {"unanswerable": 1},
            higher_is_better=True,
            is_binary=True,
            failed="failed_unanswerable",
            undefined_reason="no unanswerable sample",
        ),
        RatioMetric(
            "abstention_f1",
            {"tp": 2},
            {**_ABSTENTIONS, "unanswerable": 1},
            higher_is_better=True,
            bounds=_compute_f1_bounds,
            rows="rows",
            undefined_reason="no unanswerable sample, and the pipeline never abstains",
        ),
        *(
            RatioMetric(
                "latency_mean_s" if name == "latency_s" else name,
                {name: 1},
                {f"{name}_known": 1},
                higher_is_better=None if name in _CONTEXT_COLUMNS else False,
                in_unit_interval=False,
                missing=f"{name}_missing",
                undefined_reason="no context was passed on"
                if name in _CONTEXT_COLUMNS
                else "the server did not report token counts"
                if name.endswith("tokens")
                else NO_REPLY,
            )
            for name in MEAN_COLUMNS
        ),
    )
}
"""All metrics by name, in the order of the report."""

STATED_CONFIDENCES = frozenset(
    ("mean_confidence", "confidence_when_correct", "confidence_when_wrong")
)
"""Means over the answers that state a confidence."""
VERDICT_METRICS = frozenset(
    (
        *("accuracy", "ece", "ece_equal_mass", "brier"),
        *("confidence_when_correct", "confidence_when_wrong"),
        *("hallucination_rate", "hallucination_severity", "claims_per_answer"),
        *("normalized_hallucination", "normalized_hallucination_micro"),
        *("groundedness", "unsupported_fraction"),
    )
)
"""Metrics that need the verdicts of judges."""
NOT_JUDGED = "not judged"
"""Reason for a missing metric that needs verdicts."""
NOT_JUDGED_NOTE = (
    "The answers were not judged, so nothing that rests on verdicts is given or tested; to get it, "
    "have a model judge them with epoche skn judge."
)

CATEGORY_METRICS = tuple(
    METRICS[name]
    for name in (
        *("accuracy", "hallucination_rate", "hallucination_severity", "normalized_hallucination"),
        *("groundedness", "unsupported_fraction", "answered", "abstention_accuracy"),
        *("abstention_recall", "context_chars", "tokens", "latency_mean_s"),
    )
)
"""The metrics that are reported by category. They are few, because a category may have only five
samples."""

VALIDITY_METRICS: dict[str, RatioMetric] = {
    name: RatioMetric(
        name,
        {name: 1},
        {"extractions": 1},
        higher_is_better={"strict": True, "unreadable": False}.get(name),
        is_binary=True,
        undefined_reason="there is no extraction",
    )
    for name in VALIDITIES
}
"""The share of extractions of each validity."""

RETENTION_METRICS: dict[str, RatioMetric] = {
    kind: RatioMetric(
        f"retained_{kind}",
        {f"{kind}_kept": 1},
        {kind: 1},
        rows=f"{kind}_texts",
        undefined_reason="no text has any",
    )
    for kind in RETAINED_KINDS
}
"""Kind of content → the share of it in all texts that the extractions keep."""


def count_row(row: Observation) -> dict[str, float]:
    """Returns what a row adds to each column, without the columns to which it adds nothing."""
    amounts: dict[str, float] = {
        "rows": 1.0,
        ("answerable" if row.answerable else "unanswerable"): 1,
    }
    if row.failed:
        amounts["failed"] = 1.0
        amounts["failed_answerable" if row.answerable else "failed_unanswerable"] = 1.0
        amounts |= dict.fromkeys(_JUDGED_MISSING, 1.0)
    elif row.outcome == "ABSTAINED":
        amounts["fp" if row.answerable else "tp"] = 1.0
    else:
        amounts["answered"] = 1.0
        amounts["tn" if row.answerable else "fn"] = 1.0
    if row.answerable:
        _add_accuracy(row, amounts)
    if not row.failed and row.has_answer_text:
        _add_verdicts(row, amounts)
    _add_means(row, amounts)
    if row.validity:
        amounts["extractions"] = 1.0
        amounts[row.validity] = 1.0
    for kind, (kept, total) in row.retained.items():
        amounts |= {f"{kind}_kept": kept, kind: total, f"{kind}_texts": float(total > 0)}
    return amounts


_JUDGED_MISSING = (
    *("detected_missing", "severity_missing", "claims_missing"),
    *("groundedness_missing", "unsupported_missing"),
)


def _add_accuracy(row: Observation, amounts: dict[str, float]) -> None:
    """Adds the accuracy columns; abstentions and failures count as not correct."""
    if row.outcome != "ANSWERED":
        amounts["settled"] = 1.0
    elif row.correct is None:
        amounts["unsettled"] = 1.0
    else:
        amounts["settled"] = 1.0
        amounts["correct"] = float(row.correct)
        if row.confidence is not None:
            confidence_column = "sure_right" if row.correct else "sure_wrong"
            amounts[confidence_column], amounts[f"{confidence_column}_known"] = row.confidence, 1.0


def _add_verdicts(row: Observation, amounts: dict[str, float]) -> None:
    for name, value in (
        ("detected", row.detected),
        ("severity", row.severity),
        ("groundedness", row.groundedness),
        ("unsupported", row.unsupported),
    ):
        if value is not None:
            amounts[name], amounts[f"{name}_known"] = float(value), 1.0
        elif not (row.makes_no_claims and name in ("groundedness", "unsupported")):
            amounts[f"{name}_missing"] = 1.0
    if row.claims is None or row.fabricated is None:
        amounts["claims_missing"] = 1.0
        return
    amounts["claims"], amounts["claims_known"] = row.claims, 1.0
    amounts["fabricated"] = row.fabricated
    if row.claims:
        amounts["share"], amounts["share_known"] = row.fabricated / row.claims, 1.0


def _add_means(row: Observation, amounts: dict[str, float]) -> None:
    if row.confidence is not None and row.answerable and row.outcome == "ANSWERED":
        amounts["sure"], amounts["sure_known"] = row.confidence, 1.0
    for name in MEAN_COLUMNS:
        value: float | None = getattr(row, name)
        if value is None:
            amounts[f"{name}_missing"] = 1.0
        else:
            amounts[name], amounts[f"{name}_known"] = float(value), 1.0
