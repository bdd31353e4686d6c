"""What is measured: every metric that is a ratio of sums over rows, and its worst-case bounds.

Each row is a vector of ``COLUMNS``; a metric is the sum of some of them over the sum of others. So
every metric of every pipeline can be resampled by one product of matrices.
"""

from __future__ import annotations

from eval.skn.scoring.observing import Observed
from eval.stats.measured import Bounds, Counts, Measure

VALIDITIES = ("strict", "tolerant", "repaired", "unreadable")
MEANS = (
    *("context_chars", "extraction_tokens", "agent_prompt_tokens", "agent_completion_tokens"),
    *("tokens", "latency_s", "extraction_latency_s", "reasoning_latency_s"),
)
"""Numbers of a row whose mean is shown over the rows that have one."""

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
    *(column for name in MEANS for column in (name, f"{name}_known", f"{name}_missing")),
    *("extractions", *VALIDITIES),
)


def _precision_bounds(counts: Counts) -> Bounds:
    """Each failed row may have abstained or not; the extremes are where each sort does as one."""
    tp, fp = counts["tp"], counts["fp"]
    found = [
        (tp + rightly) / (tp + rightly + fp + wrongly)
        for rightly in (0.0, counts["failed_unanswerable"])
        for wrongly in (0.0, counts["failed_answerable"])
        if tp + rightly + fp + wrongly
    ]
    return (min(found), max(found)) if found else (None, None)


def _f1_bounds(counts: Counts) -> Bounds:
    tp, fp, whole = counts["tp"], counts["fp"], counts["unanswerable"]
    found = [
        2 * (tp + rightly) / (tp + rightly + fp + wrongly + whole)
        for rightly in (0.0, counts["failed_unanswerable"])
        for wrongly in (0.0, counts["failed_answerable"])
        if tp + rightly + fp + wrongly + whole
    ]
    return (min(found), max(found)) if found else (None, None)


def _micro_bounds(counts: Counts) -> Bounds:
    """A missing answer may have made any number of claims, all of them up or none."""
    if counts["claims_missing"]:
        return 0.0, 1.0
    if not counts["claims"]:
        return None, None
    value = counts["fabricated"] / counts["claims"]
    return value, value


_NO_JUDGE = "no answer was judged"
NO_REPLY = "no model was called, or none replied in the end"
"""Why there is no latency."""
_ABSTENTION = {"tp": 1.0, "fp": 1.0}

MEASURES: dict[str, Measure] = {
    one.name: one
    for one in (
        Measure(
            "accuracy",
            {"correct": 1},
            {"settled": 1},
            higher_is_better=True,
            binary=True,
            missing="unsettled",
            lost={"unsettled": 1},
            failed="failed_answerable",
            nothing="no answerable sample was judged",
        ),
        Measure("mean_confidence", {"sure": 1}, {"sure_known": 1}, nothing="none is stated"),
        Measure(
            "confidence_when_correct",
            {"sure_right": 1},
            {"sure_right_known": 1},
            nothing="no correct answer states one",
        ),
        Measure(
            "confidence_when_wrong",
            {"sure_wrong": 1},
            {"sure_wrong_known": 1},
            nothing="no wrong answer states one",
        ),
        Measure(
            "hallucination_rate",
            {"detected": 1},
            {"detected_known": 1},
            higher_is_better=False,
            binary=True,
            missing="detected_missing",
            lost={"detected_missing": 1},
            nothing=_NO_JUDGE,
        ),
        Measure(
            "hallucination_severity",
            {"severity": 1},
            {"severity_known": 1},
            higher_is_better=False,
            missing="severity_missing",
            lost={"severity_missing": 1},
            nothing=_NO_JUDGE,
        ),
        Measure(
            "normalized_hallucination",
            {"share": 1},
            {"share_known": 1},
            higher_is_better=False,
            missing="claims_missing",
            lost={"claims_missing": 1},
            nothing="no judged answer claims anything",
        ),
        Measure(
            "normalized_hallucination_micro",
            {"fabricated": 1},
            {"claims": 1},
            higher_is_better=False,
            missing="claims_missing",
            bounds=_micro_bounds,
            rows="claims_known",
            nothing="no judged answer claims anything",
        ),
        Measure(
            "claims_per_answer",
            {"claims": 1},
            {"claims_known": 1},
            unit=False,
            missing="claims_missing",
            nothing=_NO_JUDGE,
        ),
        Measure(
            "groundedness",
            {"groundedness": 1},
            {"groundedness_known": 1},
            higher_is_better=True,
            missing="groundedness_missing",
            lost={"groundedness_missing": 1},
            nothing="no judged answer claims anything",
        ),
        Measure(
            "unsupported_fraction",
            {"unsupported": 1},
            {"unsupported_known": 1},
            higher_is_better=False,
            missing="unsupported_missing",
            lost={"unsupported_missing": 1},
            nothing="no judged answer claims anything",
        ),
        Measure("answered", {"answered": 1}, {"rows": 1}, binary=True, failed="failed"),
        Measure(
            "abstention_accuracy",
            {"tp": 1, "tn": 1},
            {"rows": 1},
            higher_is_better=True,
            binary=True,
            failed="failed",
        ),
        Measure(
            "abstention_precision",
            {"tp": 1},
            _ABSTENTION,
            higher_is_better=True,
            binary=True,
            bounds=_precision_bounds,
            nothing="it never abstains",
        ),
        Measure(
            "abstention_recall",
            {"tp": 1},
            {"unanswerable": 1},
            higher_is_better=True,
            binary=True,
            failed="failed_unanswerable",
            nothing="no unanswerable sample",
        ),
        Measure(
            "abstention_f1",
            {"tp": 2},
            {**_ABSTENTION, "unanswerable": 1},
            higher_is_better=True,
            bounds=_f1_bounds,
            rows="rows",
            nothing="no unanswerable sample, and it never abstains",
        ),
        *(
            Measure(
                "latency_mean_s" if name == "latency_s" else name,
                {name: 1},
                {f"{name}_known": 1},
                higher_is_better=None if name == "context_chars" else False,
                unit=False,
                missing=f"{name}_missing",
                nothing="no context was handed on"
                if name == "context_chars"
                else "no server said"
                if name.endswith("tokens")
                else NO_REPLY,
            )
            for name in MEANS
        ),
    )
}
"""By name, in the order in which they are shown."""

BY_CATEGORY = tuple(
    MEASURES[name]
    for name in (
        *("accuracy", "hallucination_rate", "hallucination_severity", "normalized_hallucination"),
        *("groundedness", "unsupported_fraction", "answered", "abstention_accuracy"),
        *("abstention_recall", "context_chars", "tokens", "latency_mean_s"),
    )
)
"""Those that are shown by category, of which some have five samples."""

VALIDITY: dict[str, Measure] = {
    name: Measure(
        name,
        {name: 1},
        {"extractions": 1},
        higher_is_better={"strict": True, "unreadable": False}.get(name),
        binary=True,
        nothing="no extraction came",
    )
    for name in VALIDITIES
}
"""Share of the extractions that could be read in each way."""


def counted(row: Observed) -> dict[str, float]:
    """What a row adds to each column; columns it adds nothing to are left out."""
    found: dict[str, float] = {"rows": 1.0, ("answerable" if row.answerable else "unanswerable"): 1}
    if row.failed:
        found["failed"] = 1.0
        found["failed_answerable" if row.answerable else "failed_unanswerable"] = 1.0
        found |= dict.fromkeys(_JUDGED_MISSING, 1.0)
    elif row.outcome == "ABSTAINED":
        found["fp" if row.answerable else "tp"] = 1.0
    else:
        found["answered"] = 1.0
        found["tn" if row.answerable else "fn"] = 1.0
    if row.answerable:
        _settle(row, found)
    if not row.failed and row.to_judge:
        _judge(row, found)
    _means(row, found)
    if row.validity:
        found["extractions"] = 1.0
        found[row.validity] = 1.0
    return found


_JUDGED_MISSING = (
    *("detected_missing", "severity_missing", "claims_missing"),
    *("groundedness_missing", "unsupported_missing"),
)


def _settle(row: Observed, found: dict[str, float]) -> None:
    """Accuracy: an abstention and a failure are not correct; an answer is as it was judged."""
    if row.outcome != "ANSWERED":
        found["settled"] = 1.0
    elif row.correct is None:
        found["unsettled"] = 1.0
    else:
        found["settled"] = 1.0
        found["correct"] = float(row.correct)
        if row.confidence is not None:
            side = "sure_right" if row.correct else "sure_wrong"
            found[side], found[f"{side}_known"] = row.confidence, 1.0


def _judge(row: Observed, found: dict[str, float]) -> None:
    for name, value in (
        ("detected", row.detected),
        ("severity", row.severity),
        ("groundedness", row.groundedness),
        ("unsupported", row.unsupported),
    ):
        if value is not None:
            found[name], found[f"{name}_known"] = float(value), 1.0
        elif not (row.claims_nothing and name in ("groundedness", "unsupported")):
            found[f"{name}_missing"] = 1.0
    if row.claims is None or row.fabricated is None:
        found["claims_missing"] = 1.0
        return
    found["claims"], found["claims_known"] = row.claims, 1.0
    found["fabricated"] = row.fabricated
    if row.claims:
        found["share"], found["share_known"] = row.fabricated / row.claims, 1.0


def _means(row: Observed, found: dict[str, float]) -> None:
    if row.confidence is not None and row.answerable and row.outcome == "ANSWERED":
        found["sure"], found["sure_known"] = row.confidence, 1.0
    for name in MEANS:
        value: float | None = getattr(row, name)
        if value is None:
            found[f"{name}_missing"] = 1.0
        else:
            found[name], found[f"{name}_known"] = float(value), 1.0
