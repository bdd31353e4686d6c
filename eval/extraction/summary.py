"""A run in a few lines of text: what is printed, and what ``summary.txt`` says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from eval.extraction.record import ExtractionReport, SystemReport, Value
from eval.extraction.running.config import FAMILIES
from eval.extraction.running.manifest import ExtractionManifest
from kg.words.plain_text import plain

HEADLINE: Final = (
    "extraction_quality_score",
    "schema_validity",
    "field_f1_partial",
    "exact_match",
    "hallucination_rate",
)
"""The metrics that are printed unless others are chosen: the specification's five (4.5.1)."""


def chosen(enabled: Sequence[str]) -> tuple[str, ...]:
    """The metrics that are printed: the score, and what ``metrics.enabled`` names."""
    if not enabled:
        return HEADLINE
    named = [metric for name in enabled for metric in FAMILIES.get(name, (name,))]
    return tuple(dict.fromkeys((HEADLINE[0], *named)))


def table(report: ExtractionReport, enabled: Sequence[str] = ()) -> Iterator[str]:
    """One line a metric and system, with its interval.

    Args:
        report: of the run.
        enabled: names of metrics or families; empty: the headline ones.
    """
    width = max(map(len, chosen(enabled)))
    for name, system in report.systems.items():
        outcomes = system.outcomes
        yield (
            f"{plain(name, 80)}: {outcomes.rows} rows, {outcomes.ok} valid, {outcomes.invalid} "
            f"invalid, {outcomes.unparsable} no JSON, {outcomes.error} failed calls"
        )
        for metric in chosen(enabled):
            yield f"  {metric:<{width}}  {_said(system.metrics.get(metric), report.confidence)}"
        if system.quality.interpretation:
            yield f"  {system.quality.interpretation}: {system.quality.meaning}"


def summary(manifest: ExtractionManifest, report: ExtractionReport) -> str:
    """All of ``summary.txt``: the printed lines, every metric, recommendation and notes."""
    return "\n".join(_lines(manifest, report)) + "\n"


def _lines(manifest: ExtractionManifest, report: ExtractionReport) -> Iterator[str]:
    drawn = f", {manifest.rejected} malformed rows left out" if manifest.rejected else ""
    yield f"Structured extraction: {report.n_samples} samples of {manifest.dataset}{drawn}"
    yield f"Signature: {report.signature}"
    yield ""
    yield from table(report, manifest.measuring.enabled)
    for name, system in report.systems.items():
        yield ""
        yield f"All metrics of {plain(name, 80)}"
        for metric, value in system.metrics.items():
            yield f"  {metric:<32}  {_said(value, report.confidence)}"
        yield from _advice(system)
    yield ""
    yield from (f"Note: {note}" for note in report.notes)


def _advice(system: SystemReport) -> Iterator[str]:
    advice = system.recommendation
    if advice.verdict:
        yield f"  Recommendation: {advice.verdict}"
        yield from (f"    - {reason}" for reason in advice.reasons)
    yield from (f"  Note: {note}" for note in system.notes)


def _said(value: Value | None, confidence: float) -> str:
    """``0.823 [95% CI: 0.812, 0.834]``, or why there is none."""
    if value is None or value.value is None:
        why = "" if value is None else value.why
        return f"null{f' ({why})' if why else ''}"
    said = f"{value.value:.3f}"
    if value.low is None or value.high is None:
        return said
    return f"{said} [{confidence:.0%} CI: {value.low:.3f}, {value.high:.3f}]"
