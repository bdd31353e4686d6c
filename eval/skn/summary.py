"""The run in words, for ``summary.txt`` and the terminal.

The layout is the published summary's: what was run, a block a pipeline, and what came of JSON
against SKN. It does not say who "wins" a metric: a difference is told with its interval and its
test, and where the data cannot tell, that is what it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eval.skn.running.manifest import SknManifest
from eval.skn.running.row import SknRow
from eval.skn.scoring.record import Difference, SknReport
from eval.stats.shown import Value
from kg.words.plain_text import plain

_WIDE = 70
_RULE = "=" * _WIDE
_DOTS = "  " + "." * (_WIDE - 4)

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
"""Title, metric and width; a column of twenty has room for an interval."""
_NAMED = 14
_ENDS = 18


def summary(
    manifest: SknManifest,
    report: SknReport,
    published: Mapping[str, Mapping[str, Any]],
    rows: Sequence[SknRow],
) -> str:
    """The whole summary.

    Args:
        manifest: of the run.
        report: its numbers.
        published: by pipeline, the published keys of ``metrics.json``.
        rows: all of them.
    """
    lines = [
        _RULE,
        f"  SKN Benchmark ({'Ablation' if len(manifest.pipelines) > 2 else 'Default'} Mode)",
        _RULE,
        "",
        "  Pipeline: Question -> Search -> [Extraction] -> Agent -> Answer",
        *_setting(manifest),
        "",
        *_facts(manifest, report, rows),
        "",
    ]
    for name in manifest.pipelines:
        lines += _block(name, report, published[name])
    lines += [_RULE, "  JSON against SKN", _RULE, *_against(report), ""]
    lines += [f"  Note: {plain(note, 500)}" for note in report.notes]
    return "\n".join([*lines, _RULE]) + "\n"


def table(report: SknReport) -> Iterator[str]:
    """One line a pipeline, fit for a terminal: how its rows ended, and its headline metrics."""
    heads = "".join(f"{title:>{width}}" for title, _, width in _COLUMNS)
    yield f"{'pipeline':<{_NAMED}}{'ans/abst/inv/err':>{_ENDS}}{heads}"
    for name, one in report.pipelines.items():
        ends = one.outcomes
        counts = f"{ends.answered}/{ends.abstained}/{ends.invalid}/{ends.error}"
        cells = "".join(f"{_cell(one.metrics[key], width):>{width}}" for _, key, width in _COLUMNS)
        yield f"{name:<{_NAMED}}{counts:>{_ENDS}}{cells}"


def verdicts(report: SknReport) -> Iterator[str]:
    """What the data say of SKN against JSON, a sentence a headline metric."""
    for one in report.comparisons:
        if {one.first, one.second} == {"json", "skn"} and one.metric in _HEADLINES:
            yield f"{one.metric}: {_verdict(one)}"


def _setting(manifest: SknManifest) -> Iterator[str]:
    if manifest.offline:
        yield "  Offline: rules extract, answer and judge, and no model. This measures what"
        yield "  information a format keeps or drops, not how a model fares with it."
    elif manifest.mode == "as-published":
        yield "  As published: the formats differ in more than notation (length cap, order of"
        yield "  importance, inference, JSON mode), and the model judges its own answers."
    else:
        yield "  Fair: the same question, budget, rules, repair and order for every format."


def _facts(manifest: SknManifest, report: SknReport, rows: Sequence[SknRow]) -> Iterator[str]:
    judge = manifest.judge_model or "rules"
    told = " (answers and judges)" if manifest.same_judge else ""
    waited = [row.latency_s for row in rows if row.latency_s is not None]
    duration = f"{sum(waited):.1f}s of calls, without judging" if waited else "no calls"
    for name, value in (
        ("Model", plain(manifest.model or "rules")),
        ("Judge", plain(judge) + told),
        ("Total samples", report.n_samples),
        ("Answerable", report.n_answerable),
        ("Unanswerable", report.n_samples - report.n_answerable),
        ("Repeats", report.repeats),
        ("Pipelines", ", ".join(manifest.pipelines)),
        ("Duration", duration),
        ("Signature", report.signature),
    ):
        yield f"    {name:<18}{value}"


def _block(name: str, report: SknReport, published: Mapping[str, Any]) -> Iterator[str]:
    one = report.pipelines[name]
    ends = one.outcomes
    yield from (_DOTS, f"  {name.upper()}", _DOTS)
    yield (
        f"    {'Rows':<18}{ends.rows}: {ends.answered} answered, {ends.abstained} abstained, "
        f"{ends.invalid} invalid, {ends.error} error"
    )
    for title, key, percent in (
        ("Accuracy", "accuracy", True),
        ("ECE", "ece", False),
        ("Hallucination", "hallucination_rate", True),
        ("Norm. Halluc.", "normalized_hallucination", False),
        ("Groundedness", "groundedness", False),
        ("Abstention F1", "abstention_f1", False),
    ):
        yield f"    {title:<18}{_told(one.metrics[key], percent)}"
    yield f"    {'Avg Tokens':<18}{_tokens(published)}"
    latency = published.get("avg_total_latency_s")
    yield f"    {'Avg Latency':<18}{'n/a' if latency is None else f'{latency:.2f}s'}"
    yield ""


def _tokens(published: Mapping[str, Any]) -> str:
    """Of a context, by the published estimate; and of the agent's prompt, as counted."""
    estimate = published.get("avg_context_tokens_est", published.get("avg_context_tokens"))
    counted = published.get("avg_agent_prompt_tokens")
    told = "n/a" if estimate is None else f"{estimate:.0f} in the context (characters / 4)"
    return told if counted is None else f"{told}, {counted:.0f} in the agent's prompt (counted)"


def _told(value: Value, percent: bool) -> str:
    if value.value is None:
        return f"n/a  ({plain(value.why)})" if value.why else "n/a"
    form = ".2%" if percent else ".4f"
    text = f"{value.value:{form}}"
    if value.low is not None and value.high is not None:
        text += f"  (95% CI: [{value.low:{form}}, {value.high:{form}}])"
    if value.worst is not None and value.best is not None and value.worst != value.best:
        low, high = sorted((value.worst, value.best))
        text += f"  bounds over failed rows: [{low:{form}}, {high:{form}}]"
    return text


def _cell(value: Value, width: int) -> str:
    if value.value is None:
        return "n/a"
    number = f"{value.value:.3f}" if value.value < 10 else f"{value.value:,.0f}"
    if width < 20 or value.low is None or value.high is None:
        return number
    return f"{number} [{value.low:.2f}, {value.high:.2f}]"


def _against(report: SknReport) -> Iterable[str]:
    said = [f"    {line}" for line in verdicts(report)]
    return said or ["    not compared: JSON and SKN do not both stand here"]


def _verdict(one: Difference) -> str:
    if one.difference is None:
        return "nothing to compare"
    if one.low is None or one.high is None:
        return f"{one.first} less {one.second} is {one.difference:+.3f}, and nothing varies"
    p = "" if one.p_holm is None else f", Holm-adjusted p {one.p_holm:.3g}"
    interval = f"{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"
    # Where one of the two has no value on a sample, both are without it.
    on = "" if one.test not in ("mcnemar", "sign-flip") else f" on {one.n} samples"
    found = f"{one.first} less {one.second} is {interval}{on}{p}"
    return (
        f"{plain(one.better)} is better; {found}"
        if one.better
        else f"the data cannot tell; {found}"
    )
