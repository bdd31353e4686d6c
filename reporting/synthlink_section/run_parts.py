"""What the run behind the scores did: how far it got to the sources, and what that took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from reporting.benchmark_sections.blocks import (
    Block,
    Cell,
    Figure,
    Figures,
    Fold,
    Grid,
    Head,
    Line,
)
from reporting.benchmark_sections.drawings import stack_drawing
from reporting.charts import (
    UNDEFINED_TEXT,
    ChartEstimate,
    build_stack,
    format_number,
    format_percent,
)
from reporting.plots.bars import BarRow, bar_groups
from reporting.plots.picture import drawing
from reporting.synthlink_section.measure_words import VERDICTS
from reporting.synthlink_section.reading import ScoredFolder
from reporting.synthlink_section.trails import Done, Reached, Run, done, reached

_OUTCOMES = {
    "ANSWERED": "answered",
    "ABSTAINED": "abstained",
    "INVALID": "no reply that can be read; counts as missing",
    "ERROR": "a call, a search or the system failed; counts as missing",
}

_LINKS = {key: words for key, (_, words) in VERDICTS.items()} | {"": "nobody asked"}
_SIGNS = {key: sign for key, (sign, _) in VERDICTS.items()} | {"": "–"}
_LOOKS = {"licensed": "right", "contradicted": "wrong", "unknown": "none", "": "held"}


def run_blocks(folder: ScoredFolder, run: Run, id_: str) -> Iterator[Block]:
    """Everything about the run."""
    reach = reached(run, folder.answers)
    links = _links(run)
    drawn = [_reach_figure(reach, id_)] if reach.sources else []
    drawn += [_links_figure(links, id_)] if links else []
    if drawn:
        yield Figures(tuple(drawn))
    yield _work(run)
    numbers = [_outcomes(run)]
    numbers += [_sources(reach)] if reach.sources else []
    numbers += [_links_grid(links)] if links else []
    yield Fold("Outcomes, sources and sentences in numbers", tuple(numbers))


def _stages(reach: Reached) -> dict[str, int]:
    return {"found": reach.found, "read": reach.read, "named": reach.named}


def _reach_figure(reach: Reached, id_: str) -> Figure:
    """How many of the sources were found, read and named."""
    stages = _stages(reach)
    rows = [
        BarRow(
            name,
            ChartEstimate(count / reach.sources),
            told=f"{name}: {count:,} of {reach.sources:,} sources",
        )
        for name, count in stages.items()
    ]
    title = "How far it gets to the sources"
    told = ", ".join(f"{name} {count:,}" for name, count in stages.items())
    return Figure(
        title,
        "Share of the catalogue's sources that a search brought up, that it read, and that it "
        "says its answer rests on.",
        drawing(
            bar_groups([("", rows)]), f"{id_}-sources", title, f"Of {reach.sources:,}: {told}."
        ),
    )


def _links_figure(links: Counter[str], id_: str) -> Figure:
    """What became of the sentences that were linked."""
    parts = [(_LOOKS[key], _SIGNS[key], words, float(links[key])) for key, words in _LINKS.items()]
    title = "Sentences linked on the way"
    return Figure(
        title,
        "What it took from pages before it answered: ✓ borne out, ✗ contradicted, ? cannot be "
        "told, as it found out itself; – nobody asked.",
        stack_drawing(
            build_stack([("all", False, [part for part in parts if part[3]])]),
            f"{id_}-links",
            title,
            "Shares of the sentences. The counts stand in a table below.",
        ),
    )


def _sources(reach: Reached) -> Grid:
    return Grid(
        "Sources",
        f"Of {reach.sources:,} in the questions that were asked.",
        (Head("Stage", numeric=False), Head("Sources"), Head("Share")),
        tuple(
            Line(name, (Cell(f"{count:,}"), Cell(format_percent(count / reach.sources))))
            for name, count in _stages(reach).items()
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
    mean = format_number(total / len(values), 1) if values else UNDEFINED_TEXT
    return Line(name, (Cell(said), Cell(mean)), below)


def _links(run: Run) -> Counter[str]:
    """Sentences by what the graph said to the system, which asked it or did not."""
    return Counter[str](
        link.verdict
        for row in run.rows.values()
        if row.trail is not None
        for turn in row.trail.rounds
        for link in turn.links
    )


def _links_grid(links: Counter[str]) -> Grid:
    total = links.total()
    return Grid(
        "Sentences linked on the way",
        "What the system took from pages before it answered, and what it found out about it then.",
        (Head("Verdict", numeric=False), Head("Sentences"), Head("Share")),
        tuple(
            Line(words, (Cell(f"{links[key]:,}"), Cell(format_percent(links[key] / total))))
            for key, words in _LINKS.items()
            if links[key]
        ),
    )
