"""The opening words of the section: what the run can tell, and what it cannot.

A difference is only stated where the paired test on the same samples found one after Holm's
correction; where it found none, that is stated too, with what it would have found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.metrics.comparison import Comparison
from eval.stats.estimates import Estimate
from kg.words.plain_text import join_list
from reporting.charts import format_percent
from reporting.skn_section.reading import SknRun
from reporting.summary_text import format_points, spell_count
from reporting.visible_text import format_name

NAMED_AT_MOST = 3
_MAIN = ("skn", "json")
"""The pair that the benchmark is about."""


def verdict(run: SknRun) -> tuple[str, ...]:
    """The sentences of the opening paragraph."""
    decisive = [one for one in run.report.comparisons if one.metric == "accuracy"]
    others = [one for one in run.report.comparisons if one.metric in _OTHERS]
    return (
        _opening(run),
        *_kept(run),
        *_accuracy(run),
        *_differences(decisive),
        *_beyond(others),
    )


_OTHERS = {
    "normalized_hallucination": "share of claims made up",
    "groundedness": "groundedness",
    "abstention_accuracy": "deciding whether to answer",
}
"""Metrics beside accuracy of which the opening names the differences found."""


def caveats(run: SknRun) -> tuple[str, ...]:
    """What must be held against the headline numbers."""
    said = []
    report = run.report
    failed = {
        format_name(name): one.outcomes.invalid + one.outcomes.error
        for name, one in report.pipelines.items()
        if one.outcomes.invalid + one.outcomes.error
    }
    if failed:
        parts = [f"{count:,} of {name}" for name, count in list(failed.items())[:NAMED_AT_MOST]]
        rest = len(failed) - len(parts)
        more = f", and more of {rest} others" if rest > 0 else ""
        said.append(
            f"Without a usable reply ended {join_list(parts)}{more}; they are not abstentions, and "
            "the bounds say what they could change."
        )
    unjudged = sum(one.outcomes.unjudged for one in report.pipelines.values())
    if unjudged:
        said.append(f"{unjudged:,} answers lack a verdict that is due.")
    if report.same_judge:
        said.append("The model that answered also judged, which favours its own answers.")
    if run.manifest.mode == "as-published":
        said.append(
            "This run repeats the published setting, in which the formats differ in more than "
            "notation: prompts, budgets and JSON mode are not alike. It shows what that setting "
            "shows, not what the notation does."
        )
    return tuple(said)


def _opening(run: SknRun) -> str:
    report = run.report
    unanswerable = report.n_samples - report.n_answerable
    asked = f"{report.n_samples:,} {'question' if report.n_samples == 1 else 'questions'}"
    if unanswerable:
        asked += f", {unanswerable:,} of which {'has' if unanswerable == 1 else 'have'} no answer"
    count = len(run.pipelines)
    forms = f"{spell_count(count)} {'way' if count == 1 else 'ways'} to write down"
    again = f", each {report.repeats} times" if report.repeats > 1 else ""
    agent = "one set of rules, no model," if run.manifest.offline else "one agent"
    return f"{forms} what a search found were put to {agent} on {asked}{again}."


def _accuracy(run: SknRun) -> list[str]:
    known = {
        name: value
        for name, one in run.report.pipelines.items()
        if (value := one.metrics.get("accuracy")) is not None and value.value is not None
    }
    if not known:
        return ["No answer could be judged right or wrong, so nothing is known of accuracy."]
    return [f"Right answers, where there is one: {_named(known, intervals=True)}."]


def _kept(run: SknRun) -> list[str]:
    known = {
        name: value
        for name, one in run.report.pipelines.items()
        if (value := one.retention.get("facts")) is not None and value.value is not None
    }
    return [f"Statements of the texts that are kept: {_named(known)}."] if known else []


def _named(values: Mapping[str, Estimate], *, intervals: bool = False) -> str:
    """The shares of the pair the benchmark is about by name; of many others only the span."""
    shares = {format_percent(one.value) for one in values.values()}
    if len(values) > NAMED_AT_MOST and len(shares) == 1 and not intervals:
        return f"{shares.pop()} by each"
    few = len(values) <= NAMED_AT_MOST
    named = {name: one for name, one in values.items() if few or name in _MAIN}
    rest = [one.value or 0.0 for name, one in values.items() if name not in named]
    parts = []
    for name, one in named.items():
        text = f"{format_name(name)} {format_percent(one.value)}"
        if intervals and one.low is not None and one.high is not None:
            text += f" ({format_percent(one.low).removesuffix(' %')} to {format_percent(one.high)})"
        parts.append(text)
    if not rest:
        return join_list(parts)
    low, high = format_percent(min(rest)), format_percent(max(rest))
    span = low if low == high else f"{low.removesuffix(' %')} to {high}"
    if not parts:
        return f"all at {span}"
    others = "" if len(rest) == 1 else f" {spell_count(len(rest)).lower()}"
    return f"{join_list(parts)}; the other{others} at {span}"


def _differences(pairs: Sequence[Comparison]) -> list[str]:
    found = [one for one in pairs if one.better is not None]
    open_ = [one for one in pairs if one.better is None and one.difference is not None]
    sentences = []
    if found:
        parts = [_better(one, "more accurate than") for one in found[:NAMED_AT_MOST]]
        rest = len(found) - len(parts)
        more = f", and {rest} more such differences" if rest else ""
        sentences.append(f"Paired tests on the same questions find {join_list(parts)}{more}.")
    if open_:
        sentences.append(_cannot_tell(open_, some=bool(found)))
    return sentences


def _cannot_tell(pairs: Sequence[Comparison], *, some: bool) -> str:
    """What the tests leave open, and how much they could have missed."""
    if len(pairs) <= NAMED_AT_MOST:
        which = join_list(
            [f"{format_name(one.candidate)} from {format_name(one.baseline)}" for one in pairs]
        )
        text = f"{'They' if some else 'Paired tests on the same questions'} cannot tell {which}"
    elif some:
        text = f"They tell none of the other {len(pairs)} pairs apart"
    else:
        text = f"Paired tests on the same questions tell none of {len(pairs)} pairs apart"
    text += " by accuracy"
    smallest = max(
        (one.minimum_detectable_effect for one in pairs if one.minimum_detectable_effect),
        default=None,
    )
    if smallest is None:
        return f"{text}."
    return (
        f"{text}. That is no proof that they are alike: a true difference below "
        f"{min(smallest, 1.0) * 100:.0f} points may well be missed with so few questions."
    )


def _better(one: Comparison, words: str) -> str:
    worse = one.baseline if one.better == one.candidate else one.candidate
    size = format_points(one.difference, one.low, one.high)
    return f"{format_name(one.better or '')} {words} {format_name(worse)}{size}"


def _beyond(pairs: Sequence[Comparison]) -> list[str]:
    found = [one for one in pairs if one.better is not None]
    parts = [
        f"{_better(one, 'better than')} in {_OTHERS[one.metric]}" for one in found[:NAMED_AT_MOST]
    ]
    return [f"Beside accuracy they find {join_list(parts)}."] if parts else []
