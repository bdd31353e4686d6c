"""Renders a run's numbers as text: the printed lines and ``summary.txt``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from eval.extraction.configuration.config import METRIC_GROUPS
from eval.extraction.manifest import ExtractionManifest
from eval.extraction.metrics.notes import describe_ambiguous_values
from eval.extraction.record import (
    Estimate,
    ExtractionReport,
    Headline,
    SystemReport,
)
from kg.base.plain_text import clean_text

HEADLINE_METRICS: Final = (
    "extraction_quality_score",
    "schema_validity",
    "field_f1_partial",
    "exact_match",
    "hallucination_rate",
)
"""The specification's five metrics (4.5.1), which are printed by default."""
OUTCOME_METRICS: Final = (
    *("right_rate", "wrong_rate", "omission_rate", "left_out_rate", "invented_rate"),
)
"""What became of the fields; printed beside the headline, which may hide it."""


_READINGS: Final = (
    ("schema validity", "schema_validity", "schema_validity"),
    ("field F1", "field_f1_strict", "field_f1"),
    ("exact match", "exact_match", "exact_match"),
)
"""Name, metric, and the metric that has its strict reading."""
_RATED_NAMES: Final[Mapping[Headline, str]] = {
    "extraction_quality_score": "extraction quality score",
    "field_accuracy_macro": "field accuracy",
}
MAX_PRINTED_REASONS: Final = 3
"""Maximum number of lines on why replies are invalid that are printed per system."""
_MAX_PRINTED_FIELDS = 3
_MAX_SUMMARY_REASONS = 20


def select_metrics(headline: Headline, enabled: Sequence[str] = ()) -> tuple[str, ...]:
    """Returns the metrics to print: headline, outcomes of fields, and those that are enabled."""
    outcomes = (headline, *OUTCOME_METRICS)
    if not enabled:
        return tuple(dict.fromkeys((*outcomes, *HEADLINE_METRICS)))
    enabled_metrics = [metric for name in enabled for metric in METRIC_GROUPS.get(name, (name,))]
    return tuple(dict.fromkeys((*outcomes, *enabled_metrics)))


def render_metrics(report: ExtractionReport, enabled: Sequence[str] = ()) -> Iterator[str]:
    """Renders one line per system and metric, with its interval.

    Args:
        report: the run's report.
        enabled: names of metrics or metric families; empty for the headline metrics.
    """
    printed = select_metrics(report.headline, enabled)
    width = max(map(len, printed))
    for name, system in report.systems.items():
        outcomes = system.outcomes
        yield (
            f"{clean_text(name, 80)}: {outcomes.rows} rows, {_describe_validity(system)}, "
            f"{outcomes.unparsable} not JSON, {outcomes.error} failed calls"
        )
        for metric in printed:
            yield (
                f"  {metric:<{width}}  "
                f"{_format_value(system.metrics.get(metric), report.confidence)}"
            )
        yield from _describe_strict_reading(system)
        if system.ambiguous_values:
            yield f"  {describe_ambiguous_values(system.ambiguous_values)}."
        yield from list_invalid_reasons(system, MAX_PRINTED_REASONS)
        if system.quality.interpretation:
            yield (
                f"  {system.quality.interpretation} by {_RATED_NAMES[system.quality.rated]}. "
                f"{system.quality.meaning}"
            )


def _describe_validity(system: SystemReport) -> str:
    """Says how many replies are valid, and how many are JSON of samples without a schema."""
    outcomes = system.outcomes
    checked = system.metrics.get("schema_validity")
    n_valid = outcomes.valid if checked is None else int(checked.numerator or 0)
    known = f"{n_valid} valid, {outcomes.invalid} invalid"
    if n_valid == outcomes.valid:
        return known
    unknown = f"{outcomes.valid - n_valid} JSON without a schema to check"
    return f"{known}, {unknown}" if n_valid + outcomes.invalid else unknown


def _describe_strict_reading(system: SystemReport) -> Iterator[str]:
    """Yields what no rule and no tolerance would leave, if that is less."""
    pairs = [
        (name, system.metrics.get(counted), system.metrics.get(f"{literal}_literal"))
        for name, counted, literal in _READINGS
    ]
    known = [
        (name, counted.value, strict.value)
        for name, counted, strict in pairs
        if counted is not None and strict is not None and strict.value is not None
    ]
    if any(counted != strict for _, counted, strict in known):
        shown = (f"{name} {strict:.3f}" for name, _, strict in known)
        yield f"  strict reading, without rules: {', '.join(shown)}"


def list_invalid_reasons(system: SystemReport, max_reasons: int) -> Iterator[str]:
    """Yields a line for each keyword that makes replies invalid, with the fields it costs most."""
    keywords = [reason for reason in system.invalid_reasons if reason.field is None]
    for reason in keywords[:max_reasons]:
        fields = [
            f"{one.field or 'the whole reply'} {one.replies}"
            for one in system.invalid_reasons
            if one.field is not None and one.keyword == reason.keyword
        ]
        more = ", …" if len(fields) > _MAX_PRINTED_FIELDS else ""
        replies = "1 reply" if reason.replies == 1 else f"{reason.replies:,} replies"
        gain = (
            f"alone in {reason.mended}: mended, validity {format_gain(reason.validity_gain)}, "
            f"score {format_gain(reason.score_gain)}"
            if reason.mended
            else "never alone"
        )
        yield (
            f"  invalid for {clean_text(reason.keyword, 60)} in {replies}, {gain}; "
            f"{', '.join(fields[:_MAX_PRINTED_FIELDS])}{more}"
        )


def format_gain(gain: float | None) -> str:
    """Formats what mending a reason would gain."""
    return "unknown" if gain is None else f"+{gain:.3f}"


def render_summary(manifest: ExtractionManifest, report: ExtractionReport) -> str:
    """Renders ``summary.txt``: the printed lines, every metric, recommendation and notes."""
    return "\n".join(_summary_lines(manifest, report)) + "\n"


def _summary_lines(manifest: ExtractionManifest, report: ExtractionReport) -> Iterator[str]:
    left_out = f", {manifest.rejected} malformed rows left out" if manifest.rejected else ""
    yield f"Structured extraction: {report.n_samples} samples of {manifest.dataset}{left_out}"
    yield f"Signature: {report.signature}"
    yield ""
    yield from render_metrics(report, manifest.measuring.enabled)
    for name, system in report.systems.items():
        yield ""
        yield f"All metrics of {clean_text(name, 80)}"
        for metric, value in system.metrics.items():
            yield f"  {metric:<32}  {_format_value(value, report.confidence)}"
        if system.invalid_reasons:
            yield "  Why replies are invalid"
            for reason in system.invalid_reasons[:_MAX_SUMMARY_REASONS]:
                where = "any field" if reason.field is None else reason.field or "the whole reply"
                yield (
                    f"    {clean_text(reason.keyword, 60)} at {clean_text(where, 120)}: "
                    f"{reason.replies} replies, {reason.violations} times; alone in "
                    f"{reason.mended}: validity {format_gain(reason.validity_gain)}, score "
                    f"{format_gain(reason.score_gain)}; e.g. {clean_text(reason.example, 200)}"
                )
        yield from _recommendation_lines(system)
    yield ""
    yield from (f"Note: {note}" for note in report.notes)


def _recommendation_lines(system: SystemReport) -> Iterator[str]:
    recommendation = system.recommendation
    if recommendation.verdict:
        yield f"  Recommendation: {recommendation.verdict}"
        yield from (f"    - {reason}" for reason in recommendation.reasons)
    yield from (f"  Note: {note}" for note in system.notes)


def _format_value(value: Estimate | None, confidence: float) -> str:
    """Formats a value as ``0.823 [95% CI: 0.812, 0.834]``, or as null with the reason.

    If calls failed, the worst and best value that they could have led to follow.
    """
    if value is None or value.value is None:
        why = "" if value is None else value.why
        return f"null{f' ({why})' if why else ''}"
    text = f"{value.value:.3f}"
    if value.low is not None and value.high is not None:
        text += f" [{confidence:.0%} CI: {value.low:.3f}, {value.high:.3f}]"
    if value.missing and value.worst is not None and value.best is not None:
        worst, best = f"{value.worst:.3f}", f"{value.best:.3f}"
        text += f"; from {worst} to {best} with the failed calls"
    return text
