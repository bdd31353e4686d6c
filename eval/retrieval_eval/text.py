"""Renders a retrieval report as a console table, as sentences and as a Markdown page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from eval.metrics.number_text import format_p_value, format_value
from eval.retrieval_eval.answerability import ANSWERABILITY_MEASURES
from eval.retrieval_eval.metrics import ALL_GOLD, HEADLINE_METRIC, METRIC_NAMES
from eval.retrieval_eval.record import (
    ALL_QUESTIONS,
    MetricEstimate,
    RetrievalReport,
    RetrieverComparison,
    RetrieverMetrics,
)
from kg.base.plain_text import clean_text

if TYPE_CHECKING:
    from rich.table import Table

_SUMMARY_METRICS = (HEADLINE_METRIC, ALL_GOLD)
"""Metrics whose differences are described in sentences; page and JSON have all of them."""
_PAGE_METRICS = ("R@5", "R@10", HEADLINE_METRIC, "RR", ALL_GOLD, *ANSWERABILITY_MEASURES)


def build_table(report: RetrievalReport) -> Table:
    """Builds a table of every retriever and metric over all questions, with intervals."""
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(title=Text(_describe_questions(report)), title_justify="left")
    table.add_column("retriever")
    for measure in (*METRIC_NAMES, *ANSWERABILITY_MEASURES):
        table.add_column(measure, justify="right")
    for name, record in report.retrievers.items():
        values = record.measures[ALL_QUESTIONS]
        cells = (
            _format_on_two_lines(values[measure])
            for measure in (*METRIC_NAMES, *ANSWERABILITY_MEASURES)
        )
        table.add_row(Text(clean_text(name)), *map(Text, cells))
    return table


def describe_report(report: RetrievalReport) -> Iterator[str]:
    """Yields the main differences, the tuning and the notes, one sentence each."""
    for difference in report.comparisons:
        if difference.group == ALL_QUESTIONS and difference.metric in _SUMMARY_METRICS:
            yield describe_difference(difference)
    for ablation in report.ablations:
        for difference in report.ablation_comparisons:
            pair = (difference.candidate, difference.baseline)
            is_headline = difference.group == ALL_QUESTIONS and difference.metric == HEADLINE_METRIC
            if is_headline and pair == (ablation.candidate, ablation.baseline):
                yield f"{ablation.question} {describe_difference(difference)}"
    yield from describe_tuning(report)
    yield from (f"note: {note}" for note in report.notes)


def describe_difference(difference: RetrieverComparison) -> str:
    """Describes one difference in a sentence, such as ``RR: a is better; a − b = +0.128.``."""
    first, second = clean_text(difference.candidate), clean_text(difference.baseline)
    if difference.difference is None:
        names_without_value = [
            name
            for name, value in (
                (first, difference.value_candidate),
                (second, difference.value_baseline),
            )
            if value is None
        ]
        return (
            f"{difference.metric}: no value for {' and '.join(names_without_value)}, "
            "so there is nothing to compare."
        )
    equation = f"{first} − {second} = {_format_difference(difference)}"
    if difference.p_holm is not None:
        equation += f", Holm-adjusted p {format_p_value(difference.p_holm)}"
    if difference.better is not None:
        return f"{difference.metric}: {clean_text(difference.better)} is better; {equation}."
    if difference.test != "bootstrap" and difference.n_differ == 0:
        return (
            f"{difference.metric}: {first} and {second} have equal values on all {difference.n} "
            "questions."
        )
    return f"{difference.metric}: no significant difference; {equation}."


def describe_tuning(report: RetrievalReport) -> Iterator[str]:
    """Describes what tuning chose, one sentence for each tuned retriever."""
    for name, tuning in report.tuning.items():
        weights = ", ".join(
            f"{clean_text(part)} {weight:g}"
            for part, weight in zip(tuning.components, tuning.weights, strict=True)
        )
        yield (
            f"{clean_text(name)}, chosen on {tuning.n} dev questions from {tuning.tried} settings: "
            f"weights {weights}, fusion {tuning.fusion}; {tuning.measure} on dev "
            f"{tuning.value:.3f}, untuned {tuning.value_untuned:.3f}."
        )


def render_markdown(report: RetrievalReport) -> str:
    """Renders the whole report as one Markdown page."""
    return "\n".join(_render_page(report)) + "\n"


def _render_page(report: RetrievalReport) -> Iterator[str]:
    yield "# Retrieval evaluation"
    questions = report.questions
    kinds = ", ".join(f"{count} {kind}" for kind, count in questions.kinds.items())
    yield from ("", f"{_describe_questions(report)}: {kinds}.")
    yield (
        f"{report.confidence:.0%} intervals by {report.resamples} resamples of whole questions, "
        f"seed {report.seed}. Difference = candidate − baseline; `better` names a retriever only "
        f"if the interval excludes 0 *and* the Holm-adjusted p is below {report.alpha:g}. A dash "
        "means that the value is undefined; it is never a 0."
    )
    yield from ("", f"`{report.signature}`", "", "## All questions", "")
    yield from _render_values(report.retrievers, (ALL_QUESTIONS,), METRIC_NAMES)
    yield from ("", "## Does the best score show whether the text has the answer?", "")
    yield from _render_answerability(report.retrievers)
    yield from ("", "## By kind", "")
    groups = [
        kind for kind in questions.kinds if kind in next(iter(report.retrievers.values())).measures
    ]
    yield from _render_values(report.retrievers, groups, ("R@5", HEADLINE_METRIC, ALL_GOLD))
    shares = ", ".join(f"{kind} {share:.2f}" for kind, share in questions.overlap.items())
    yield from ("", f"Share of a question's content words that occur in its gold: {shares}.")
    yield from ("", "## Comparison with the baselines", "")
    yield from _render_differences(d for d in report.comparisons if d.group == ALL_QUESTIONS)
    yield from ("", "## Comparison with the baselines, by kind", "")
    kind_differences = [d for d in report.comparisons if d.group != ALL_QUESTIONS]
    significant = [d for d in kind_differences if d.better is not None]
    counts = f"{len(significant)} of {len(kind_differences)}"
    yield f"{counts} differences by kind and metric are significant."
    if significant:
        yield ""
        yield from _render_differences(significant, shows_kind=True)
    if report.ablations:
        yield from ("", "## What each part adds", "")
        for ablation in report.ablations:
            yield from (
                "",
                f"### {clean_text(ablation.candidate)} − {clean_text(ablation.baseline)}",
                "",
            )
            yield from (ablation.question, "")
            pair = (ablation.candidate, ablation.baseline)
            yield from _render_differences(
                d
                for d in report.ablation_comparisons
                if d.group == ALL_QUESTIONS and (d.candidate, d.baseline) == pair
            )
    if report.tuning:
        yield from ("", "## Tuning", "", *(f"- {line}" for line in describe_tuning(report)))
    if report.notes:
        yield from ("", "## Notes", "", *(f"- {note}" for note in report.notes))


def _render_values(
    retrievers: Mapping[str, RetrieverMetrics], groups: Iterable[str], metrics: Iterable[str]
) -> Iterator[str]:
    metrics = list(metrics)
    groups = list(groups)
    shows_kind = groups != [ALL_QUESTIONS]
    yield f"| {'kind | ' if shows_kind else ''}retriever | {' | '.join(metrics)} |"
    yield "|" + "---|" * (len(metrics) + 1 + shows_kind)
    for group in groups:
        for name, record in retrievers.items():
            values = " | ".join(
                _format_with_interval(record.measures[group][key]) for key in metrics
            )
            yield f"| {f'{group} | ' if shows_kind else ''}{clean_text(name)} | {values} |"


def _render_answerability(retrievers: Mapping[str, RetrieverMetrics]) -> Iterator[str]:
    measures = " | ".join(ANSWERABILITY_MEASURES)
    yield f"| retriever | {measures} | found nothing: answerable | unanswerable |"
    yield "|---|---|---|---|---|"
    names_by_reason: dict[str, list[str]] = {}
    for name, record in retrievers.items():
        values = [record.measures[ALL_QUESTIONS][key] for key in ANSWERABILITY_MEASURES]
        cells = " | ".join(map(_format_with_interval, values))
        n_empty = record.found_nothing
        yield (
            f"| {clean_text(name)} | {cells} | {n_empty['answerable']} | "
            f"{n_empty['unanswerable']} |"
        )
        for reason in dict.fromkeys(value.why for value in values if value.why):
            names_by_reason.setdefault(reason, []).append(clean_text(name))
    for reason, names in names_by_reason.items():
        yield from ("", f"No value for {', '.join(names)}: {reason}.")


def _render_differences(
    differences: Iterable[RetrieverComparison], *, shows_kind: bool = False
) -> Iterator[str]:
    yield (
        f"| {'kind | ' if shows_kind else ''}metric | candidate | baseline | difference | test | "
        "p | p (Holm) | differ on | min. detectable effect | better |"
    )
    yield "|" + "---|" * (10 + shows_kind)
    for d in differences:
        if d.metric not in _PAGE_METRICS or d.difference is None:
            continue
        cells = (
            *((d.group,) if shows_kind else ()),
            d.metric,
            f"{clean_text(d.candidate)} ({format_value(d.value_candidate)})",
            f"{clean_text(d.baseline)} ({format_value(d.value_baseline)})",
            _format_difference(d),
            f"{d.test}{', exact' if d.exact else ''}",
            "–" if d.p is None else format_p_value(d.p),
            "–" if d.p_holm is None else format_p_value(d.p_holm),
            "–" if d.test == "bootstrap" else f"{d.n_differ} of {d.n}",
            format_value(d.minimum_detectable_effect),
            "not significant" if d.better is None else clean_text(d.better),
        )
        yield f"| {' | '.join(cells)} |"


def _format_difference(difference: RetrieverComparison) -> str:
    text = f"{difference.difference:+.3f}"
    if difference.low is not None and difference.high is not None:
        text += f" [{difference.low:+.3f}, {difference.high:+.3f}]"
    return text


def _format_with_interval(value: MetricEstimate) -> str:
    if value.low is None or value.high is None:
        return format_value(value.value)
    return f"{format_value(value.value)} [{value.low:.3f}, {value.high:.3f}]"


def _format_on_two_lines(value: MetricEstimate) -> str:
    return _format_with_interval(value).replace(" ", "\n", 1)


def _describe_questions(report: RetrievalReport) -> str:
    questions = report.questions
    return (
        f"{questions.n} {questions.split} questions on {report.corpus.n_chunks:,} chunks, "
        f"the first {report.depth} of each ranking"
    )
