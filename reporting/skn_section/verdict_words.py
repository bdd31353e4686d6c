"""The opening words of the section: what the run can tell, and what it cannot.

A difference is only stated where the paired test on the same samples found one after Holm's
correction; where it found none, that is stated too, with what it would have found.
"""

from __future__ import annotations

from collections.abc import Sequence

from eval.skn.record import Difference
from kg.words.plain_text import listing
from reporting.charts import percent
from reporting.skn_section.metric_names import OFFLINE
from reporting.skn_section.reading import SknRun
from reporting.verdict import counted_word, points
from reporting.visible import shown_name

NAMED_AT_MOST = 6


def verdict(run: SknRun) -> tuple[str, ...]:
    """The sentences of the opening paragraph."""
    sentences = [_opening(run)]
    if run.manifest.offline:
        sentences.append(OFFLINE)
    sentences += _accuracy(run)
    decisive = [one for one in run.report.comparisons if one.metric == "accuracy"]
    sentences += _differences(decisive)
    others = [one for one in run.report.comparisons if one.metric in _OTHERS]
    sentences += _beyond(others)
    return tuple(sentences)


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
        shown_name(name): one.outcomes.invalid + one.outcomes.error
        for name, one in report.pipelines.items()
        if one.outcomes.invalid + one.outcomes.error
    }
    if failed:
        parts = [f"{count:,} of {name}" for name, count in list(failed.items())[:NAMED_AT_MOST]]
        rest = len(failed) - len(parts)
        more = f", and more of {rest} others" if rest > 0 else ""
        said.append(
            f"Without a usable reply ended {listing(parts)}{more}; they are not abstentions, and "
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
    forms = f"{counted_word(count)} {'way' if count == 1 else 'ways'} to write down"
    again = f", each {report.repeats} times" if report.repeats > 1 else ""
    return f"{forms} what a search found were put to one agent on {asked}{again}."


def _accuracy(run: SknRun) -> list[str]:
    known = [
        (name, value)
        for name, one in run.report.pipelines.items()
        if (value := one.metrics.get("accuracy")) is not None and value.value is not None
    ]
    if not known:
        return ["No answer could be judged right or wrong, so nothing is known of accuracy."]
    # Read downhill; an order of values is no finding.
    known.sort(key=lambda one: -(one[1].value or 0.0))
    parts = []
    for name, value in known[:NAMED_AT_MOST]:
        text = f"{shown_name(name)} on {percent(value.value)}"
        if value.low is not None and value.high is not None:
            text += f" ({percent(value.low).removesuffix(' %')} to {percent(value.high)})"
        parts.append(text)
    rest = len(known) - len(parts)
    more = f"; the other {'is' if rest == 1 else f'{rest} are'} in the table" if rest else ""
    return [f"Of the questions that have an answer, {listing(parts)} were answered rightly{more}."]


def _differences(pairs: Sequence[Difference]) -> list[str]:
    found = [one for one in pairs if one.better is not None]
    open_ = [one for one in pairs if one.better is None and one.difference is not None]
    sentences = []
    if found:
        parts = [_better(one, "more accurate than") for one in found[:NAMED_AT_MOST]]
        rest = len(found) - len(parts)
        more = f", and {rest} more such differences" if rest else ""
        sentences.append(f"Paired tests on the same questions find {listing(parts)}{more}.")
    if open_:
        parts = [
            f"{shown_name(one.first)} from {shown_name(one.second)}"
            for one in open_[:NAMED_AT_MOST]
        ]
        rest = len(open_) - len(parts)
        more = f", nor {rest} more pairs" if rest else ""
        start = "They" if found else "Paired tests on the same questions"
        text = f"{start} cannot tell {listing(parts)}{more} by accuracy"
        smallest = max((one.smallest_found for one in open_ if one.smallest_found), default=None)
        if smallest is not None:
            text += (
                f"; that is no proof that they are alike: with so few questions, a true difference "
                f"below {min(smallest, 1.0) * 100:.0f} points may well be missed"
            )
        sentences.append(f"{text}.")
    return sentences


def _better(one: Difference, words: str) -> str:
    worse = one.second if one.better == one.first else one.first
    size = points(one.difference, one.low, one.high)
    return f"{shown_name(one.better or '')} {words} {shown_name(worse)}{size}"


def _beyond(pairs: Sequence[Difference]) -> list[str]:
    found = [one for one in pairs if one.better is not None]
    parts = [
        f"{_better(one, 'better than')} in {_OTHERS[one.metric]}" for one in found[:NAMED_AT_MOST]
    ]
    return [f"Beside accuracy they find {listing(parts)}."] if parts else []
