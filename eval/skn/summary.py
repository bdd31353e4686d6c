"""Renders a run as text, for ``summary.txt`` and the terminal.

The layout is that of the published summary: the settings of the run, a block for each pipeline, and
the comparison of JSON and SKN. It does not name the format that "wins" a metric: it gives each
difference with its interval and test, and says when the difference is not significant.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eval.metrics.comparison import Comparison
from eval.skn.manifest import SknManifest
from eval.skn.row import SknRow
from eval.skn.scoring.metric_definitions import NOT_JUDGED_NOTE, VERDICT_METRICS
from eval.skn.scoring.record import SknReport
from eval.stats.estimates import Estimate
from kg.base.plain_text import clean_text

_WIDTH = 70
_RULE = "=" * _WIDTH
_DOTS = "  " + "." * (_WIDTH - 4)

_HEADLINES = ("accuracy", "ece", "hallucination_rate", "groundedness", "abstention_f1")
"""The five metrics by which the published summary compares JSON and SKN."""

_COLUMNS: tuple[tuple[str, str, int], ...] = (
    ("accuracy", "accuracy", 20),
    ("made up", "normalized_hallucination", 10),
    ("grounded", "groundedness", 10),
    ("abst. F1", "abstention_f1", 10),
    ("ECE", "ece", 8),
    ("context", "context_chars", 10),
)
"""Title, metric and width of each column; only a width of 20 has room for an interval."""
_NAME_WIDTH = 14
_OUTCOME_WIDTH = 18


def render_summary(
    manifest: SknManifest,
    report: SknReport,
    published: Mapping[str, Mapping[str, Any]],
    rows: Sequence[SknRow],
) -> str:
    """Renders the complete text of ``summary.txt``.

    Args:
        manifest: manifest of the run.
        report: the numbers of the run.
        published: pipeline → published keys of ``metrics.json``.
        rows: all rows of the run.
    """
    lines = [
        _RULE,
        f"  SKN Benchmark ({'Ablation' if len(manifest.pipelines) > 2 else 'Default'} Mode)",
        _RULE,
        "",
        "  Pipeline: Question -> Search -> [Extraction] -> Agent -> Answer",
        *_describe_setting(manifest),
        "",
        *_describe_run(manifest, report, rows),
        "",
    ]
    for name in manifest.pipelines:
        lines += _render_pipeline(name, report, published[name], is_judged=manifest.is_judged)
    lines += [_RULE, "  JSON vs. SKN", _RULE, *_compare_json_with_skn(report), ""]
    lines += [f"  Note: {clean_text(note, 500)}" for note in report.notes]
    return "\n".join([*lines, _RULE]) + "\n"


def render_table(report: SknReport, *, is_judged: bool) -> Iterator[str]:
    """Yields a header, then one line per pipeline: the outcomes of its rows, and metrics.

    Without judges, metrics that need verdicts are left out.
    """
    columns = [column for column in _COLUMNS if is_judged or column[1] not in VERDICT_METRICS]
    header = "".join(f"{title:>{width}}" for title, _, width in columns)
    yield f"{'pipeline':<{_NAME_WIDTH}}{'ans/abst/inv/err':>{_OUTCOME_WIDTH}}{header}"
    for name, pipeline in report.pipelines.items():
        outcomes = pipeline.outcomes
        counts = f"{outcomes.answered}/{outcomes.abstained}/{outcomes.invalid}/{outcomes.error}"
        cells = "".join(
            f"{_format_cell(pipeline.metrics[key], width):>{width}}" for _, key, width in columns
        )
        yield f"{name:<{_NAME_WIDTH}}{counts:>{_OUTCOME_WIDTH}}{cells}"


def describe_comparisons(report: SknReport) -> Iterator[str]:
    """Yields a sentence for each headline metric: how SKN compares with JSON."""
    for comparison in report.comparisons:
        sides = {comparison.candidate, comparison.baseline}
        if sides == {"json", "skn"} and comparison.metric in _HEADLINES:
            yield f"{comparison.metric}: {_describe_difference(comparison)}"


def _describe_setting(manifest: SknManifest) -> Iterator[str]:
    if not manifest.is_judged:
        yield from textwrap.wrap(
            NOT_JUDGED_NOTE,
            _WIDTH,
            initial_indent="  ",
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
    if isinstance(manifest.results_of, str):
        yield f"  Replayed: answers and verdicts of {clean_text(manifest.results_of, 200)}."
    if manifest.mode == "as-published":
        yield "  As published: the formats differ in more than notation (length limit, order of"
        ending = ", and the model judges its own answers" if manifest.same_judge else ""
        yield f"  importance, inference, JSON mode){ending}."
    elif manifest.agent and "by" not in manifest.agent:
        yield "  Fair: the same question, budget, rules, repair and order for every format."


def _describe_run(
    manifest: SknManifest, report: SknReport, rows: Sequence[SknRow]
) -> Iterator[str]:
    judge = (manifest.judge_model or "unknown") if manifest.is_judged else "none"
    same_judge = " (answers and judges)" if manifest.same_judge else ""
    seconds = [row.latency_s for row in rows if row.latency_s is not None]
    duration = f"{sum(seconds):.1f}s of calls, without judging" if seconds else "no calls"
    for name, value in (
        ("Model", clean_text(manifest.model or "unknown")),
        ("Judge", clean_text(judge) + same_judge),
        ("Total samples", report.n_samples),
        ("Answerable", report.n_answerable),
        ("Unanswerable", report.n_samples - report.n_answerable),
        ("Repeats", report.repeats),
        ("Pipelines", ", ".join(manifest.pipelines)),
        ("Duration", duration),
        ("Signature", report.signature),
    ):
        yield f"    {name:<18}{value}"


def _render_pipeline(
    name: str, report: SknReport, published: Mapping[str, Any], *, is_judged: bool
) -> Iterator[str]:
    pipeline = report.pipelines[name]
    outcomes = pipeline.outcomes
    yield from (_DOTS, f"  {name.upper()}", _DOTS)
    yield (
        f"    {'Rows':<18}{outcomes.rows}: {outcomes.answered} answered, {outcomes.abstained} "
        f"abstained, {outcomes.invalid} invalid, {outcomes.error} error"
    )
    for title, key, as_percent in (
        ("Accuracy", "accuracy", True),
        ("ECE", "ece", False),
        ("Hallucination", "hallucination_rate", True),
        ("Norm. Halluc.", "normalized_hallucination", False),
        ("Groundedness", "groundedness", False),
        ("Abstention F1", "abstention_f1", False),
    ):
        if is_judged or key not in VERDICT_METRICS:
            yield f"    {title:<18}{_format_value(pipeline.metrics[key], as_percent)}"
    yield f"    {'Avg Tokens':<18}{_format_tokens(published)}"
    latency = published.get("avg_total_latency_s")
    yield f"    {'Avg Latency':<18}{'n/a' if latency is None else f'{latency:.2f}s'}"
    yield ""


def _format_tokens(published: Mapping[str, Any]) -> str:
    """Formats the estimated tokens of a context and the counted tokens of the agent's prompt."""
    estimate = published.get("avg_context_tokens_est", published.get("avg_context_tokens"))
    counted = published.get("avg_agent_prompt_tokens")
    text = "n/a" if estimate is None else f"{estimate:.0f} in the context (characters / 4)"
    return text if counted is None else f"{text}, {counted:.0f} in the agent's prompt (counted)"


def _format_value(value: Estimate, as_percent: bool) -> str:
    if value.value is None:
        return f"n/a  ({clean_text(value.why)})" if value.why else "n/a"
    number_format = ".2%" if as_percent else ".4f"
    text = f"{value.value:{number_format}}"
    if value.low is not None and value.high is not None:
        text += f"  (95% CI: [{value.low:{number_format}}, {value.high:{number_format}}])"
    if value.worst is not None and value.best is not None and value.worst != value.best:
        low, high = sorted((value.worst, value.best))
        text += f"  bounds over failed rows: [{low:{number_format}}, {high:{number_format}}]"
    return text


def _format_cell(value: Estimate, width: int) -> str:
    if value.value is None:
        return "n/a"
    number = f"{value.value:.3f}" if value.value < 10 else f"{value.value:,.0f}"
    if width < 20 or value.low is None or value.high is None:
        return number
    return f"{number} [{value.low:.2f}, {value.high:.2f}]"


def _compare_json_with_skn(report: SknReport) -> Iterable[str]:
    lines = [f"    {line}" for line in describe_comparisons(report)]
    return lines or ["    not compared: the run does not have both JSON and SKN"]


def _describe_difference(difference: Comparison) -> str:
    if difference.difference is None:
        return "not comparable: one of the two has no value"
    sides = f"{difference.candidate} − {difference.baseline}"
    if difference.low is None or difference.high is None:
        return (
            f"{sides} = {difference.difference:+.3f}, without an interval: the samples do not vary"
        )
    p = "" if difference.p_holm is None else f", Holm-adjusted p {difference.p_holm:.3g}"
    interval = f"{difference.difference:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"
    # Paired tests use only the samples on which both pipelines have a value, so n is stated.
    sample_note = (
        "" if difference.test not in ("mcnemar", "sign-flip") else f" on {difference.n} samples"
    )
    statement = f"{sides} = {interval}{sample_note}{p}"
    return (
        f"{clean_text(difference.better)} is better; {statement}"
        if difference.better
        else f"no significant difference; {statement}"
    )
