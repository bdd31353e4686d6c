"""The measurement in words: a table for the console, sentences, and a Markdown page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from eval.comparing.words import show_p
from eval.metrics.console import show
from eval.ranking.answerability import STATISTICS
from eval.ranking.measures import ALL_GOLD, HEADLINE, MEASURES
from eval.ranking.record import ALL, Difference, Measured, RetrievalReport, Value
from kg.words.plain_text import plain

if TYPE_CHECKING:
    from rich.table import Table

_TOLD = (HEADLINE, ALL_GOLD)
"""Measures whose differences are told in sentences; the page and the JSON have the others."""
_ON_PAGE = ("R@5", "R@10", HEADLINE, "RR", ALL_GOLD, *STATISTICS)


def table(report: RetrievalReport) -> Table:
    """Every retriever and measure over all questions, with intervals."""
    from rich.table import Table as RichTable
    from rich.text import Text

    found = RichTable(title=Text(_title(report)), title_justify="left")
    found.add_column("retriever")
    for measure in (*MEASURES, *STATISTICS):
        found.add_column(measure, justify="right")
    for name, one in report.retrievers.items():
        values = one.measures[ALL]
        cells = (_stacked(values[measure]) for measure in (*MEASURES, *STATISTICS))
        found.add_row(Text(plain(name)), *map(Text, cells))
    return found


def spoken(report: RetrievalReport) -> Iterator[str]:
    """The differences that matter most, a sentence each."""
    for one in report.comparisons:
        if one.group == ALL and one.measure in _TOLD:
            yield verdict(one)
    for ablation in report.ablations:
        for one in report.ablation_comparisons:
            pair = (one.first, one.second)
            here = one.group == ALL and one.measure == HEADLINE
            if here and pair == (ablation.first, ablation.second):
                yield f"{ablation.question} {verdict(one)}"
    yield from tuned(report)
    yield from (f"note: {note}" for note in report.notes)


def verdict(one: Difference) -> str:
    """One difference as a sentence: who is better by what, or that the data cannot tell."""
    first, second = plain(one.first), plain(one.second)
    if one.difference is None:
        nobody = [
            name
            for name, value in ((first, one.value_first), (second, one.value_second))
            if value is None
        ]
        return f"{one.measure}: no value for {' and '.join(nobody)}, so nothing to compare."
    found = f"{first} less {second} is {_signed(one)}"
    if one.p_holm is not None:
        found += f", Holm-adjusted p {show_p(one.p_holm)}"
    if one.better is not None:
        return f"{one.measure}: {plain(one.better)} is better; {found}."
    if one.test != "bootstrap" and one.n_differ == 0:
        return (
            f"{one.measure}: {first} and {second} are the same on every one of {one.n} questions."
        )
    return f"{one.measure}: the data cannot tell; {found}."


def tuned(report: RetrievalReport) -> Iterator[str]:
    """What was chosen on dev, and what it is worth there."""
    for name, one in report.tuning.items():
        weights = ", ".join(
            f"{plain(part)} {weight:g}"
            for part, weight in zip(one.components, one.weights, strict=True)
        )
        yield (
            f"{plain(name)}, chosen on {one.n} dev questions among {one.tried} settings: "
            f"{weights}, fused by {one.fusion}; {one.measure} there {one.value:.3f}, untuned "
            f"{one.value_untuned:.3f}."
        )


def markdown(report: RetrievalReport) -> str:
    """The whole measurement as one Markdown page."""
    return "\n".join(_page(report)) + "\n"


def _page(report: RetrievalReport) -> Iterator[str]:
    yield "# Retrieval measured"
    asked = report.questions
    kinds = ", ".join(f"{count} {kind}" for kind, count in asked.kinds.items())
    yield from ("", f"{_title(report)}: {kinds}.")
    yield (
        f"{report.confidence:.0%} intervals by {report.resamples} resamples of whole questions, "
        f"seed {report.seed}. A difference is the first one's value less the second's; `better` "
        f"names one where the interval leaves out 0 *and* the Holm-adjusted p is below "
        f"{report.alpha:g}. A dash is a number that cannot be had, never a 0."
    )
    yield from ("", f"`{report.signature}`", "", "## All questions", "")
    yield from _values(report.retrievers, (ALL,), MEASURES)
    yield from ("", "## Can the best score tell what is not in the text?", "")
    yield from _answerability(report.retrievers)
    yield from ("", "## By kind", "")
    groups = [
        kind for kind in asked.kinds if kind in next(iter(report.retrievers.values())).measures
    ]
    yield from _values(report.retrievers, groups, ("R@5", HEADLINE, ALL_GOLD))
    shares = ", ".join(f"{kind} {share:.2f}" for kind, share in asked.overlap.items())
    yield from ("", f"Share of a question's content words that stand in its gold: {shares}.")
    yield from ("", "## Against the baselines", "")
    yield from _differences(one for one in report.comparisons if one.group == ALL)
    yield from ("", "## Against the baselines, by kind", "")
    of_kind = [one for one in report.comparisons if one.group != ALL]
    told = [one for one in of_kind if one.better is not None]
    yield f"{len(told)} of {len(of_kind)} differences by kind and measure are told from chance."
    if told:
        yield ""
        yield from _differences(told, kinds=True)
    if report.ablations:
        yield from ("", "## What each part adds", "")
        for ablation in report.ablations:
            yield from ("", f"### {plain(ablation.first)} less {plain(ablation.second)}", "")
            yield from (ablation.question, "")
            pair = (ablation.first, ablation.second)
            yield from _differences(
                one
                for one in report.ablation_comparisons
                if one.group == ALL and (one.first, one.second) == pair
            )
    if report.tuning:
        yield from ("", "## Tuning", "", *(f"- {line}" for line in tuned(report)))
    if report.notes:
        yield from ("", "## Notes", "", *(f"- {note}" for note in report.notes))


def _values(
    retrievers: Mapping[str, Measured], groups: Iterable[str], measures: Iterable[str]
) -> Iterator[str]:
    measures = list(measures)
    groups = list(groups)
    kinds = groups != [ALL]
    yield f"| {'kind | ' if kinds else ''}retriever | {' | '.join(measures)} |"
    yield "|" + "---|" * (len(measures) + 1 + kinds)
    for group in groups:
        for name, one in retrievers.items():
            values = " | ".join(_with_interval(one.measures[group][key]) for key in measures)
            yield f"| {f'{group} | ' if kinds else ''}{plain(name)} | {values} |"


def _answerability(retrievers: Mapping[str, Measured]) -> Iterator[str]:
    yield f"| retriever | {' | '.join(STATISTICS)} | found nothing: answerable | unanswerable |"
    yield "|---|---|---|---|---|"
    whys: dict[str, list[str]] = {}
    for name, one in retrievers.items():
        found = [one.measures[ALL][key] for key in STATISTICS]
        cells = " | ".join(map(_with_interval, found))
        nothing = one.found_nothing
        yield f"| {plain(name)} | {cells} | {nothing['answerable']} | {nothing['unanswerable']} |"
        for why in dict.fromkeys(value.why for value in found if value.why):
            whys.setdefault(why, []).append(plain(name))
    for why, names in whys.items():
        yield from ("", f"No value for {', '.join(names)}: {why}.")


def _differences(found: Iterable[Difference], *, kinds: bool = False) -> Iterator[str]:
    yield (
        f"| {'kind | ' if kinds else ''}measure | first | second | difference | test | p | "
        "p (Holm) | differ on | smallest found | better |"
    )
    yield "|" + "---|" * (10 + kinds)
    for one in found:
        if one.measure not in _ON_PAGE or one.difference is None:
            continue
        cells = (
            *((one.group,) if kinds else ()),
            one.measure,
            f"{plain(one.first)} ({show(one.value_first)})",
            f"{plain(one.second)} ({show(one.value_second)})",
            _signed(one),
            f"{one.test}{', exact' if one.exact else ''}",
            "–" if one.p is None else show_p(one.p),
            "–" if one.p_holm is None else show_p(one.p_holm),
            "–" if one.test == "bootstrap" else f"{one.n_differ} of {one.n}",
            show(one.smallest_found),
            "cannot tell" if one.better is None else plain(one.better),
        )
        yield f"| {' | '.join(cells)} |"


def _signed(one: Difference) -> str:
    text = f"{one.difference:+.3f}"
    if one.low is not None and one.high is not None:
        text += f" [{one.low:+.3f}, {one.high:+.3f}]"
    return text


def _with_interval(value: Value) -> str:
    if value.low is None or value.high is None:
        return show(value.value)
    return f"{show(value.value)} [{value.low:.3f}, {value.high:.3f}]"


def _stacked(value: Value) -> str:
    return _with_interval(value).replace(" ", "\n", 1)


def _title(report: RetrievalReport) -> str:
    asked = report.questions
    return (
        f"{asked.n} {asked.split} questions on {report.corpus.n_chunks:,} chunks, "
        f"the first {report.depth} of each ranking"
    )
