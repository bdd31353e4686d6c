"""How far the judges of a run can be trusted."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from eval.blocks.blocks import Block, Cell, Column, Paragraphs, Table, TableRow, make_estimate_cell
from eval.blocks.text_format import ChartEstimate, format_number, format_percent
from eval.judges.agreement import Kappa
from eval.judges.rates import Rate
from eval.skn.blocks.run_data import SknRun
from eval.skn.judges.agreement import Agreement
from eval.skn.manifest import SknManifest
from kg.base.errors import RecordError
from kg.base.plain_text import format_count, join_list

_NO_CELL = Cell("–")


def build_judge_blocks(run: SknRun) -> Iterator[Block]:
    """Yields who judged, how far the votes agree, and how often they are wrong on anchors.

    Raises:
        RecordError: the report's record of the judges is damaged or of another version.
    """
    yield Paragraphs((_describe_judges(run.manifest),))
    if run.report.judges is None:
        yield Paragraphs(("Nothing is known about how reliable these judges are.",), "note")
        return
    try:
        agreement = msgspec.convert(run.report.judges, Agreement)
    except msgspec.ValidationError as error:
        raise RecordError(
            f"not a record of judges: {error}",
            where="metrics.json",
            hint="Compute the metrics again with this version.",
        ) from error
    yield _build_agreement_table(agreement)
    if agreement.failures:
        counts = join_list([f"{n:,} on {judge}" for judge, n in agreement.failures.items()])
        yield Paragraphs((f"Missing votes: {counts}.",), "note")


def _describe_judges(manifest: SknManifest) -> str:
    if isinstance(manifest.results_of, str) and manifest.judge_model is None:
        return "The results do not say who judged, nor what the judges were shown."
    inputs = "The judges see question, answer and truth or search results, never the format."
    if manifest.mode == "as-published":
        inputs = (
            "As published, the judges see answer and truth or search results, not the question."
        )
    if manifest.same_judge:
        return f"{manifest.judge_model or 'The same model'} judged its own answers. {inputs}"
    of_model = f" of {manifest.model}" if manifest.model else ""
    return f"{manifest.judge_model or 'A model'} judged the answers{of_model}. {inputs}"


def _build_agreement_table(agreement: Agreement) -> Table:
    return Table(
        "Agreement and known errors",
        f"{format_count(agreement.votes, 'planned vote')} on each question. Agreement is beyond "
        "chance (κ): 1 is full agreement, 0 is chance. Votes that agree may all be wrong, so the "
        "table also has the anchors. These are easy, so they only detect poor judges.",
        (
            Column("Question", numeric=False),
            Column("Value"),
            Column("All votes equal", "share of answers"),
            Column("Judged"),
        ),
        (
            _build_kappa_row("Right or wrong", agreement.accuracy),
            _build_kappa_row("Any hallucination", agreement.hallucination),
            TableRow(
                "Groundedness",
                (Cell(format_number(agreement.groundedness_gap)), _NO_CELL, _NO_CELL),
                "largest gap between two votes, mean",
            ),
            _build_rate_row("Right anchors judged right", agreement.sensitivity, "sensitivity"),
            _build_rate_row("Wrong anchors judged wrong", agreement.specificity, "specificity"),
            TableRow(
                "Correlation of the errors of two votes",
                (Cell(format_number(agreement.error_correlation)), _NO_CELL, _NO_CELL),
                "φ over the anchors; at 1 a second vote adds nothing",
            ),
        ),
    )


def _build_kappa_row(name: str, kappa: Kappa) -> TableRow:
    incomplete = (f"{kappa.incomplete:,} lack a vote",) if kappa.incomplete else ()
    return TableRow(
        name,
        (
            Cell(
                format_number(kappa.kappa),
                ("no κ: fewer than two votes, or all the same" if kappa.kappa is None else "κ",),
            ),
            Cell(format_percent(kappa.agreed)),
            Cell(f"{kappa.n:,}", incomplete),
        ),
    )


def _build_rate_row(name: str, rate: Rate, below: str) -> TableRow:
    unjudged = (f"{rate.unjudged:,} without a verdict",) if rate.unjudged else ()
    return TableRow(
        name,
        (
            make_estimate_cell(ChartEstimate(rate.value, rate.low, rate.high)),
            _NO_CELL,
            Cell(f"{rate.n:,}", unjudged),
        ),
        below,
    )
