"""Two files of SynthLink predictions held against each other, in words and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from eval.synthlink.comparing import ALL
from eval.synthlink.measures import Measure, Mode
from eval.synthlink.outputs import Compared, Scored
from eval.synthlink.record import Difference
from kg.words.plain_text import listing
from reporting.charts import UNDEFINED, number
from reporting.forest import signed
from reporting.guarded_text import md, md_cell, md_table
from reporting.pair_words import finding, shown_p, tells_apart
from reporting.visible import shown_name

MEASURE_NAMES: Final[dict[Measure, str]] = {
    "f1": "F1",
    "p_at_5": "P@5",
    "recall_at_5": "recall@5",
    "rqs": "RQS",
    "fcs": "FCS",
    "ie": "IE",
    "aggregate": "aggregate",
}
_HEADLINE: Final = "aggregate"


def verdicts(scored: Scored) -> Iterator[str]:
    """What the data say of each compared file, a sentence a mode, for the terminal."""
    for other in scored.comparisons:
        for mode, one in headlines(other).items():
            yield f"{mode}, {_told(one)}"


def headlines(other: Compared) -> dict[Mode, Difference]:
    """The difference in the aggregate over the whole catalogue, by mode."""
    return {
        one.mode: one for one in other.differences if one.group == ALL and one.measure == _HEADLINE
    }


def _told(one: Difference) -> str:
    """One difference in words: how large, how sure, and what follows."""
    first, second = shown_name(one.first), shown_name(one.second)
    if one.difference is None:
        return f"{first} less {second}: no value to compare"
    spread = f" [{signed(one.low)}, {signed(one.high)}]" if one.low is not None else ""
    tested = f", p {shown_p(one.p_holm)} by Holm" if one.p_holm is not None else ""
    return f"{first} less {second}: {signed(one.difference)}{spread}{tested}: {finding(one)}"


def comparison_markdown(scored: Scored) -> str:
    """All comparisons as Markdown: a sentence and a table a mode, categories below.

    Every difference is the first file's mean less the other's, on the same questions; who is better
    is said only where the test, adjusted by Holm, and the interval both say so.
    """
    report = scored.report
    parts = [
        f"# SynthLink: {md(shown_name(scored.name))} compared",
        f"Paired on the same {report.n_questions} questions; one that a file does not answer is "
        f"worth 0 there. Differences are {md(shown_name(scored.name))} less the other file, with "
        f"{report.confidence:.0%} intervals of the bootstrap ({report.resamples:,} resamples, "
        f"seed {report.seed}). p is of the sign-flip test; p (Holm) is adjusted within a mode, "
        "over measures and files; of categories, for each measure over categories and files.",
    ]
    for other in scored.comparisons:
        parts.append(f"## Against {md(shown_name(other.name))}")
        for mode, headline in headlines(other).items():
            parts += [
                f"### {mode.capitalize()}",
                f"{md(_told(headline))}.",
                _coverage(scored, other, mode),
            ]
            here = [one for one in other.differences if one.mode == mode]
            by_category = [one for one in here if one.group != ALL]
            totals = [one for one in by_category if one.measure == _HEADLINE]
            parts += [
                _table("measure", [one for one in here if one.group == ALL]),
                "The aggregate by category:",
                _table("category", totals),
                _further([one for one in by_category if one not in totals]),
            ]
    return "\n\n".join(parts) + "\n"


def _coverage(scored: Scored, other: Compared, mode: Mode) -> str:
    first, second = scored.report.modes[mode].overall, other.modes[mode]
    return (
        f"Questions answered: {first.answered} of {first.n} against {second.answered}; "
        f"abstained: {first.abstained} against {second.abstained}."
    )


def _further(found: list[Difference]) -> str:
    """What single measures tell of single categories, a line a measure; signs say who is ahead."""
    told: dict[str, list[str]] = {}
    for one in found:
        if tells_apart(one):
            said = f"{one.group} ({signed(one.difference)})"
            told.setdefault(MEASURE_NAMES[one.measure], []).append(said)
    if not told:
        return "No other measure tells the two apart within a category."
    lines = (f"* {md(name)}: {md(listing(groups))}" for name, groups in told.items())
    return "\n".join(["Other measures that tell the two apart within a category:", "", *lines])


def _table(by: Literal["measure", "category"], found: list[Difference]) -> str:
    names = [md_cell(shown_name(name)) for name in (found[0].first, found[0].second)]
    head = [by, "questions", *names, "difference", "p", "p (Holm)", "finding"]
    rows = [
        [
            MEASURE_NAMES[one.measure] if by == "measure" else one.group,
            str(one.n),
            number(one.value_first),
            number(one.value_second),
            _interval(one),
            md_cell(shown_p(one.p)),
            md_cell(shown_p(one.p_holm)),
            md_cell(finding(one)),
        ]
        for one in found
    ]
    return md_table(head, rows)


def _interval(one: Difference) -> str:
    if one.difference is None:
        return UNDEFINED
    if one.low is None or one.high is None:
        return signed(one.difference)
    return f"{signed(one.difference)} ({signed(one.low)} to {signed(one.high)})"
