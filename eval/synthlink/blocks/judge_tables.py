"""Which models judged claims, and how far that judge can be trusted."""

from __future__ import annotations

from eval.blocks.blocks import Block, Cell, Column, Paragraphs, Table, TableRow, make_estimate_cell
from eval.blocks.text_format import (
    UNDEFINED_TEXT,
    ChartEstimate,
    format_name,
    format_percent,
)
from eval.judges.rates import Rate
from eval.synthlink.verdicts.record import JudgeReport
from kg.base.plain_text import join_list

_KINDS = {
    "own fact": "a question's own facts",
    "other fact": "another question's facts",
    "negated": "facts that are denied",
    "reversed": "facts with both sides exchanged",
    "swapped": "facts with another name or year",
    "stated step": "facts that an answer states",
    "absent step": "facts that an answer does not mention",
    "denied step": "facts that an answer denies",
    "reversed step": "facts whose sides an answer exchanges",
    "swapped step": "facts that an answer states with another name or year",
}


def judging(report: JudgeReport | None) -> tuple[Block, ...]:
    """Returns nothing if no judge was asked."""
    if report is None:
        return ()
    return Paragraphs(tuple(_who(report))), _trust(report)


def _who(report: JudgeReport) -> list[str]:
    who = join_list([format_name(name) for name in report.models]) or "A model"
    said = [
        f"{who} judged {report.decided:,} of the {report.open:,} claims that neither graph, facts "
        "nor pages decide. The judge sees question, claim and evidence, never the system's name."
    ]
    if not report.reliability.passed:
        said.append(
            "It failed its anchors, so none of its verdicts is used: the claims are unjudged."
        )
    if report.same:
        said.append("The model that answered also judged, which favours its own answers.")
    others = [
        (report.open - report.asked, "not asked about: too long, or too many"),
        (report.lost, "asked about, without a verdict"),
    ]
    left = [f"{count:,} {words}" for count, words in others if count]
    if left:
        said.append(f"The others are unjudged: {join_list(left)}.")
    if report.split:
        said.append(f"Votes on {report.split:,} had no majority; these are undecided.")
    return said


def _trust(report: JudgeReport) -> Table:
    votes = f"{report.planned} planned {'vote' if report.planned == 1 else 'votes'} on each claim."
    lost = ", ".join(f"{count:,} {kind}" for kind, count in report.lost_votes.items())
    return Table(
        "How far the judge can be trusted",
        f"{votes} Anchors are claims whose truth is known. They are easy: on other claims a judge "
        "errs more often.",
        (Column("Matter", numeric=False), Column("Share"), Column("Judged")),
        (
            TableRow(
                "Every vote is the same",
                (Cell(format_percent(report.unanimous)), Cell(UNDEFINED_TEXT)),
                f"lost votes: {lost}" if lost else "",
            ),
            _anchor("Wrong claims called supported", report.reliability.false_acceptance),
            _anchor("True claims not called supported", report.reliability.false_rejection),
            *(
                _anchor(f"Called supported: {_KINDS[kind]}", rate)
                for kind, rate in report.reliability.supported.items()
            ),
        ),
    )


def _anchor(name: str, rate: Rate) -> TableRow:
    lost = (f"{rate.unjudged:,} without a verdict",) if rate.unjudged else ()
    shown = ChartEstimate(rate.value, rate.low, rate.high)
    return TableRow(name, (make_estimate_cell(shown), Cell(f"{rate.n:,}", lost)))
