"""How far the judges of a run can be trusted, as a table and in words."""

from __future__ import annotations

import msgspec

from eval.judges.agreement import Kappa
from eval.judges.rates import Rate
from eval.skn.judges.agreement import Agreement
from kg.base.errors import RecordError
from kg.words.plain_text import join_list
from reporting.benchmark_sections.blocks import Block, Cell, Grid, Head, Line, Prose, estimate_cell
from reporting.charts import ChartEstimate, format_number, format_percent
from reporting.skn_section.reading import SknRun


def judging(run: SknRun) -> tuple[Block, ...]:
    """Who judged, how far the votes agree, and how often they err where the truth is known.

    Raises:
        RecordError: the report's record of the judges is of no form we know.
    """
    blocks: list[Block] = [Prose(tuple(_who(run)))]
    if run.report.judges is None:
        return (
            *blocks,
            Prose(("Nothing is known of how far these judges can be trusted.",), "note"),
        )
    try:
        found = msgspec.convert(run.report.judges, Agreement)
    except msgspec.ValidationError as error:
        raise RecordError(
            f"not a record of judges: {error}",
            where="metrics.json",
            hint="Compute the metrics again with this version.",
        ) from error
    lines = [
        _kappa("Right or wrong", found.accuracy),
        _kappa("Anything made up", found.hallucination),
        Line(
            "Groundedness",
            (Cell(format_number(found.groundedness_gap)), Cell("–"), Cell("–")),
            "largest gap between two votes, on average",
        ),
        _rate("Right anchors called right", found.sensitivity, "sensitivity"),
        _rate("Wrong anchors called wrong", found.specificity, "specificity"),
        Line(
            "Errors of two votes go together",
            (Cell(format_number(found.error_correlation)), Cell("–"), Cell("–")),
            "correlation φ over the anchors; at 1 a second vote adds nothing",
        ),
    ]
    heads = (
        Head("Matter", numeric=False),
        Head("Value"),
        Head("The same every time", "share of answers"),
        Head("Judged"),
    )
    grid = Grid(
        "Agreement and known errors",
        f"{found.votes} planned {'vote' if found.votes == 1 else 'votes'} on each matter. "
        "Agreement is beyond chance (κ): 1 is full, 0 is chance. Votes that agree may be wrong "
        "together, so the anchors stand beside them: they are easy, and only a judge that fails "
        "them is found out by them.",
        heads,
        tuple(lines),
    )
    blocks.append(grid)
    if found.failures:
        lost = join_list([f"{count:,} on {judge}" for judge, count in found.failures.items()])
        blocks.append(Prose((f"Votes that could not be had: {lost}.",), "note"))
    return tuple(blocks)


def _who(run: SknRun) -> list[str]:
    manifest = run.manifest
    if manifest.offline:
        return ["Rules judged, by words alone; no model was asked. Their verdicts are rough."]
    said = "The judges see question, answer and truth or search results, never the format."
    if manifest.mode == "as-published":
        said = "As published, the judges see answer and truth or search results, not the question."
    if manifest.same_judge:
        return [f"{manifest.judge_model or 'The same model'} judged its own answers. {said}"]
    return [f"{manifest.judge_model or 'A model'} judged the answers of {manifest.model}. {said}"]


def _kappa(name: str, found: Kappa) -> Line:
    below = f"{found.incomplete:,} lack a vote" if found.incomplete else ""
    why = "" if found.kappa is not None else "no κ: one vote, none, or all the same"
    return Line(
        name,
        (
            Cell(format_number(found.kappa), (why,) if why else ("κ",)),
            Cell(format_percent(found.agreed)),
            Cell(f"{found.n:,}", (below,) if below else ()),
        ),
    )


def _rate(name: str, found: Rate, below: str) -> Line:
    lost = (f"{found.unjudged:,} without a verdict",) if found.unjudged else ()
    return Line(
        name,
        (
            estimate_cell(ChartEstimate(found.value, found.low, found.high)),
            Cell("–"),
            Cell(f"{found.n:,}", lost),
        ),
        below,
    )
