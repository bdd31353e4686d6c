"""What the run behind the scores did: how far it got to the sources, and what that took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from reporting.benchmark_sections.blocks import Block, Cell, Figure, Figures, Grid, Head, Line
from reporting.charts import UNDEFINED, Estimate, number, percent
from reporting.plots.bars import BarRow, bar_groups
from reporting.plots.picture import drawing
from reporting.synthlink_section.measure_words import VERDICTS
from reporting.synthlink_section.reading import ScoredFolder
from reporting.synthlink_section.trails import Done, Run, done, reached

_OUTCOMES = {
    "ANSWERED": "answered",
    "ABSTAINED": "abstained",
    "INVALID": "no reply that can be read; counts as missing",
    "ERROR": "a call, a search or the system failed; counts as missing",
}


def run_blocks(folder: ScoredFolder, run: Run, id_: str) -> Iterator[Block]:
    """Everything about the run."""
    reach = reached(run, folder.answers)
    if reach.sources:
        stages = {"found": reach.found, "read": reach.read, "named": reach.named}
        told = ", ".join(f"{name} {count:,}" for name, count in stages.items())
        rows = [
            BarRow(
                name,
                Estimate(count / reach.sources),
                told=f"{name}: {count:,} of {reach.sources:,} sources",
            )
            for name, count in stages.items()
        ]
        title = "How far it gets to the sources"
        about = (
            "Share of the catalogue's sources that a search brought up, that it read, and that it "
            "says its answer rests on."
        )
        described = f"Of {reach.sources:,} sources: {told}."
        picture = drawing(bar_groups([("", rows)]), f"{id_}-sources", title, described)
        yield Figures((Figure(title, about, picture),))
        yield _sources(reach.sources, stages)
    yield _outcomes(run)
    yield _work(run)
    links = _links(run)
    if links.lines:
        yield links


def _sources(whole: int, stages: dict[str, int]) -> Grid:
    return Grid(
        "Sources",
        f"Of {whole:,} in the questions that were asked.",
        (Head("Stage", numeric=False), Head("Sources"), Head("Share")),
        tuple(
            Line(name, (Cell(f"{count:,}"), Cell(percent(count / whole))))
            for name, count in stages.items()
        ),
    )


def _outcomes(run: Run) -> Grid:
    counts = Counter[str](row.outcome for row in run.rows.values())
    return Grid(
        "Outcomes",
        "A reply that fails is never an abstention.",
        (Head("Outcome", numeric=False), Head("Questions")),
        tuple(Line(name, (Cell(f"{counts[name]:,}"),), words) for name, words in _OUTCOMES.items()),
    )


def _work(run: Run) -> Grid:
    """Rounds, searches, pages, tokens and seconds, in all and a question."""
    rows = [*run.rows.values()]
    n = len(rows)
    lines = []
    names = dict(
        zip(
            Done._fields,
            ("Rounds", "Searches", "Pages found", "Pages read", "Sentences linked"),
            strict=True,
        )
    )
    counted = [done(row) for row in rows]
    for field, name in names.items():
        lines.append(_line(name, [getattr(one, field) for one in counted]))
    for name, values in (
        ("Tokens read by the model", [row.usage.prompt_tokens for row in rows if row.usage]),
        ("Tokens written by it", [row.usage.completion_tokens for row in rows if row.usage]),
        ("Seconds waiting for it", [row.latency_s for row in rows if row.latency_s is not None]),
    ):
        if values:
            fewer = f"{len(values):,} of {n:,} rows tell it" if len(values) < n else ""
            lines.append(_line(name, values, fewer))
    return Grid(
        "What it took",
        "A page that is found in two rounds counts twice. Seconds are of waiting, without pauses.",
        (Head("", numeric=False), Head("in all"), Head("a question", "mean")),
        tuple(lines),
    )


def _line(name: str, values: Sequence[float], below: str = "") -> Line:
    total = sum(values)
    said = f"{total:,.0f}" if all(isinstance(value, int) for value in values) else f"{total:,.1f}"
    mean = number(total / len(values), 1) if values else UNDEFINED
    return Line(name, (Cell(said), Cell(mean)), below)


def _links(run: Run) -> Grid:
    """What the graph said to the sentences that the system linked on its way."""
    counts = Counter[str](
        link.verdict
        for row in run.rows.values()
        if row.trail is not None
        for turn in row.trail.rounds
        for link in turn.links
    )
    total = counts.total()
    words = {key: said for key, (_, said) in VERDICTS.items()} | {"": "nobody asked"}
    return Grid(
        "Sentences linked on the way",
        "Before the answer: what the system took from pages, and what it found out about it then.",
        (Head("Verdict", numeric=False), Head("Sentences"), Head("Share")),
        tuple(
            Line(said, (Cell(f"{counts[key]:,}"), Cell(percent(counts[key] / total))))
            for key, said in words.items()
            if counts[key]
        ),
    )
