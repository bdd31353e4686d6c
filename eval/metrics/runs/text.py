"""Renders metrics and comparisons of runs of any benchmark as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eval.metrics.comparison import Comparison
from eval.metrics.number_text import format_with_interval
from eval.metrics.runs.report import RunComparison, RunMetrics
from kg.base.plain_text import clean_text

DIRECTIONS = {True: "higher is better", False: "lower is better", None: "descriptive"}


def render_metrics(report: RunMetrics, metric_names: Sequence[str]) -> Iterator[str]:
    """Yields a heading for each metric, then the value of each system with its interval."""
    names = {name: clean_text(name) for name in report.systems}
    width = max(map(len, names.values()))
    for metric in metric_names:
        yield f"{metric} ({DIRECTIONS[report.higher_is_better[metric]]})"
        for system, shown_name in names.items():
            estimate = report.metrics[system][metric]
            reason = f"  {estimate.why}" if estimate.value is None and estimate.why else ""
            missing = f"  {estimate.missing:,} rows missing" if estimate.missing else ""
            yield f"  {shown_name:<{width}}  {format_with_interval(estimate)}{reason}{missing}"


def render_comparisons(report: RunComparison, metric_names: Sequence[str]) -> Iterator[str]:
    """Yields a heading for each metric, then a sentence for each pair."""
    for metric in metric_names:
        yield f"{metric} ({DIRECTIONS[report.higher_is_better[metric]]})"
        for comparison in report.comparisons:
            if comparison.metric == metric:
                yield f"  {describe_comparison(comparison)}"


def describe_comparison(comparison: Comparison) -> str:
    """Describes a difference with interval, p-values and finding, on one line."""
    sides = f"{clean_text(comparison.candidate)} − {clean_text(comparison.baseline)}"
    if comparison.difference is None:
        return f"{sides}: not comparable, one of the two has no value"
    text = f"{sides} = {comparison.difference:+.3f}"
    if comparison.low is not None and comparison.high is not None:
        text += f" [{comparison.low:+.3f}, {comparison.high:+.3f}]"
    text += f" on {comparison.n:,}"
    if comparison.p is not None and comparison.p_holm is not None:
        text += f", p {comparison.p:.3g}, adjusted {comparison.p_holm:.3g} ({comparison.test})"
    if comparison.better is not None:
        return f"{text}: {clean_text(comparison.better)} is better"
    if comparison.test == "none":
        return text
    effect = comparison.minimum_detectable_effect
    detectable = "" if effect is None else f"; {effect:.3f} would be detected with 80 % power"
    return f"{text}: no significant difference{detectable}"
