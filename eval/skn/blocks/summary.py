"""The summary and the caveats at the head of the section.

A difference is only stated if the paired test on the same samples is significant after Holm's
correction. Otherwise the summary says so, with the minimum detectable effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eval.blocks.text_format import format_name, format_percent, format_points, spell_count
from eval.metrics.comparison import Comparison
from eval.skn.blocks.run_data import SknRun
from eval.skn.blocks.tables import list_comparisons
from eval.skn.scoring.metric_definitions import NOT_JUDGED_NOTE
from eval.stats.estimates import Estimate
from kg.base.plain_text import format_count, join_list

_MAX_NAMES = 3
_MAIN_PIPELINES = ("skn", "json")
"""The pair that the benchmark is about."""
_OTHER_METRICS = {
    "normalized_hallucination": "share of claims made up",
    "groundedness": "groundedness",
    "abstention_accuracy": "deciding whether to answer",
}
"""Metrics besides accuracy whose significant differences are stated."""


def summarise_run(run: SknRun) -> tuple[str, ...]:
    """Returns the sentences of the summary."""
    about_texts = (_describe_inputs(run), *_describe_retention(run))
    if not run.manifest.is_judged:
        return (*about_texts, NOT_JUDGED_NOTE)
    return (
        *about_texts,
        _describe_accuracy(run),
        *_describe_accuracy_differences(list_comparisons(run, "accuracy")),
        *_describe_other_differences(run),
    )


def iter_caveats(run: SknRun) -> Iterator[str]:
    """Yields what limits the headline numbers."""
    report = run.report
    failures = {
        format_name(name): n
        for name, pipeline in report.pipelines.items()
        if (n := pipeline.outcomes.invalid + pipeline.outcomes.error)
    }
    if failures:
        parts = [f"{n:,} of {name}" for name, n in list(failures.items())[:_MAX_NAMES]]
        n_others = len(failures) - len(parts)
        others = f", and more of {n_others} others" if n_others > 0 else ""
        yield (
            f"Rows without a usable reply: {join_list(parts)}{others}; they are not abstentions, "
            "and the bounds show what they could change."
        )
    unjudged = sum(pipeline.outcomes.unjudged for pipeline in report.pipelines.values())
    if unjudged and run.manifest.is_judged:
        yield f"{unjudged:,} answers lack a verdict that is required."
    if report.same_judge:
        yield "The model that answered also judged, which favours its own answers."
    if run.manifest.mode == "as-published":
        yield (
            "This run repeats the published setting, in which the formats differ in more than "
            "notation: prompts, budgets and JSON mode are not alike. It shows what that setting "
            "shows, not what the notation does."
        )


def _describe_inputs(run: SknRun) -> str:
    report = run.report
    n_unanswerable = report.n_samples - report.n_answerable
    questions = format_count(report.n_samples, "question")
    if n_unanswerable:
        verb = "has" if n_unanswerable == 1 else "have"
        questions += f", {n_unanswerable:,} of which {verb} no answer"
    n = len(run.pipelines)
    repeats = f", each {report.repeats} times" if report.repeats > 1 else ""
    noun, verb = ("format", "was") if n == 1 else ("formats", "were")
    formats = f"{spell_count(n)} {noun} for extracted search results {verb}"
    return f"{formats} given to one agent on {questions}{repeats}."


def _describe_accuracy(run: SknRun) -> str:
    values = _list_values({n: p.metrics.get("accuracy") for n, p in run.report.pipelines.items()})
    if not values:
        return "No answer could be judged right or wrong, so accuracy is unknown."
    return f"Accuracy on questions with an answer: {_format_shares(values, has_intervals=True)}."


def _describe_retention(run: SknRun) -> list[str]:
    values = _list_values({n: p.retention.get("facts") for n, p in run.report.pipelines.items()})
    return (
        [f"Statements of the texts that are retained: {_format_shares(values)}."] if values else []
    )


def _list_values(values: Mapping[str, Estimate | None]) -> dict[str, Estimate]:
    return {name: value for name, value in values.items() if value and value.value is not None}


def _format_shares(values: Mapping[str, Estimate], *, has_intervals: bool = False) -> str:
    """Lists shares by pipeline; of many, only those of the main pipelines and the range."""
    shares = {format_percent(estimate.value) for estimate in values.values()}
    if len(values) > _MAX_NAMES and len(shares) == 1 and not has_intervals:
        return f"{shares.pop()} by each"
    is_short = len(values) <= _MAX_NAMES
    named = {name: v for name, v in values.items() if is_short or name in _MAIN_PIPELINES}
    others = [estimate.value or 0.0 for name, estimate in values.items() if name not in named]
    parts = []
    for name, estimate in named.items():
        text = f"{format_name(name)} {format_percent(estimate.value)}"
        if has_intervals and estimate.low is not None and estimate.high is not None:
            text += f" ({_format_range(estimate.low, estimate.high)})"
        parts.append(text)
    if not others:
        return join_list(parts)
    low, high = format_percent(min(others)), format_percent(max(others))
    span = low if low == high else _format_range(min(others), max(others))
    if not parts:
        return f"all at {span}"
    count = "" if len(others) == 1 else f" {spell_count(len(others)).lower()}"
    return f"{join_list(parts)}; the other{count} at {span}"


def _format_range(low: float, high: float) -> str:
    return f"{format_percent(low).removesuffix(' %')} to {format_percent(high)}"


def _describe_accuracy_differences(pairs: Sequence[Comparison]) -> Iterator[str]:
    better = [pair for pair in pairs if pair.better is not None]
    open_pairs = [pair for pair in pairs if pair.better is None and pair.difference is not None]
    if better:
        parts = [_describe_better(pair, "more accurate than") for pair in better[:_MAX_NAMES]]
        n_others = len(better) - len(parts)
        others = f", and {n_others} more such differences" if n_others else ""
        yield f"Paired tests on the same questions find {join_list(parts)}{others}."
    if open_pairs:
        yield _describe_open_pairs(open_pairs, has_others=bool(better))


def _describe_open_pairs(pairs: Sequence[Comparison], *, has_others: bool) -> str:
    """Describes pairs without a significant difference, and the difference to be detected."""
    subject = "They" if has_others else "Paired tests on the same questions"
    if len(pairs) <= _MAX_NAMES:
        names = [f"{format_name(p.candidate)} from {format_name(p.baseline)}" for p in pairs]
        text = f"{subject} cannot tell {join_list(names)}"
    else:
        text = f"{subject} tell none of {'the other ' * has_others}{len(pairs)} pairs apart"
    text += " by accuracy"
    effects = [pair.minimum_detectable_effect for pair in pairs if pair.minimum_detectable_effect]
    if not effects:
        return f"{text}."
    return (
        f"{text}. That does not show that they are equal: a true difference below "
        f"{min(max(effects), 1.0) * 100:.0f} points may well be missed with so few questions."
    )


def _describe_better(pair: Comparison, relation: str) -> str:
    worse = pair.baseline if pair.better == pair.candidate else pair.candidate
    size = format_points(pair.difference, pair.low, pair.high)
    return f"{format_name(pair.better or '')} {relation} {format_name(worse)}{size}"


def _describe_other_differences(run: SknRun) -> list[str]:
    pairs = [
        pair
        for pair in run.report.comparisons
        if pair.metric in _OTHER_METRICS and pair.better is not None
    ]
    parts = [
        f"{_describe_better(pair, 'better than')} in {_OTHER_METRICS[pair.metric]}"
        for pair in pairs[:_MAX_NAMES]
    ]
    return [f"Besides accuracy, they find {join_list(parts)}."] if parts else []
