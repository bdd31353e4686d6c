"""What the run behind the scores did: how far it got to the sources, and what that took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from eval.blocks.blocks import Block, Cell, Column, Figure, Figures, Fold, Table, TableRow
from eval.blocks.charts import Bar, BarChart, BarGroup, OutcomeBars, OutcomeCount, OutcomeRow
from eval.blocks.text_format import UNDEFINED_TEXT, ChartEstimate, format_number, format_percent
from eval.synthlink.blocks.score_data import ScoredFolder
from eval.synthlink.blocks.trails import Done, Reached, Run, done, reached

_OUTCOMES = {
    "ANSWERED": "answered",
    "ABSTAINED": "abstained",
    "INVALID": "no reply that can be read; counts as missing",
    "ERROR": "a call, a search or the system failed; counts as missing",
}

_LINKS = {
    "licensed": "supported",
    "contradicted": "contradicted",
    "unknown": "undecided",
    "": "not asked",
}
_SIGNS = {"licensed": "✓", "contradicted": "✗", "unknown": "?", "": "–"}
_LOOKS = {"licensed": "right", "contradicted": "wrong", "unknown": "none", "": "held"}


def build_run_blocks(folder: ScoredFolder, run: Run) -> Iterator[Block]:
    """Builds everything about the run."""
    reach = reached(run, folder.answers)
    links = _links(run)
    figures = [_build_reach_figure(reach)] if reach.sources else []
    figures += [_build_link_figure(links)] if links else []
    if figures:
        yield Figures(tuple(figures))
    yield _work(run)
    tables = [_outcomes(run)]
    tables += [_sources(reach)] if reach.sources else []
    tables += [_links_grid(links)] if links else []
    yield Fold("Outcomes, sources and sentences in numbers", tuple(tables))


def _stages(reach: Reached) -> dict[str, int]:
    return {"found": reach.found, "read": reach.read, "named": reach.named}


def _build_reach_figure(reach: Reached) -> Figure:
    """Builds the shares of the sources that were found, read and named."""
    stages = _stages(reach)
    bars = tuple(
        Bar(
            name,
            ChartEstimate(count / reach.sources),
            text=f"{name}: {count:,} of {reach.sources:,} sources",
        )
        for name, count in stages.items()
    )
    counts = ", ".join(f"{name} {count:,}" for name, count in stages.items())
    return Figure(
        "How many sources it reaches",
        "Share of the catalogue's sources that a search found, that it read, and that it names as "
        "the basis of its answer.",
        BarChart((BarGroup("", bars),)),
        f"Of {reach.sources:,}: {counts}.",
    )


def _build_link_figure(links: Counter[str]) -> Figure:
    """Builds the verdicts on the sentences that were linked."""
    counts = tuple(
        OutcomeCount(_LOOKS[key], _SIGNS[key], words, float(links[key]))
        for key, words in _LINKS.items()
        if links[key]
    )
    return Figure(
        "Sentences noted during the run",
        "What it took from pages before it answered, with the verdict it got itself: ✓ supported, "
        "✗ contradicted, ? undecided; – not asked.",
        OutcomeBars((OutcomeRow("all", False, counts),)),
        "Shares of the sentences. A table below has the counts.",
    )


def _sources(reach: Reached) -> Table:
    return Table(
        "Sources",
        f"Of {reach.sources:,} in the questions that were asked.",
        (Column("Stage", numeric=False), Column("Sources"), Column("Share")),
        tuple(
            TableRow(name, (Cell(f"{count:,}"), Cell(format_percent(count / reach.sources))))
            for name, count in _stages(reach).items()
        ),
    )


def _outcomes(run: Run) -> Table:
    counts = Counter[str](row.outcome for row in run.rows.values())
    return Table(
        "Outcomes",
        "A reply that fails is never an abstention.",
        (Column("Outcome", numeric=False), Column("Questions")),
        tuple(
            TableRow(name, (Cell(f"{counts[name]:,}"),), words) for name, words in _OUTCOMES.items()
        ),
    )


def _work(run: Run) -> Table:
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
    return Table(
        "What it took",
        "A page that is found in two rounds counts twice. Seconds are of waiting, without pauses.",
        (Column("", numeric=False), Column("in all"), Column("a question", "mean")),
        tuple(lines),
    )


def _line(name: str, values: Sequence[float], below: str = "") -> TableRow:
    total = sum(values)
    said = f"{total:,.0f}" if all(isinstance(value, int) for value in values) else f"{total:,.1f}"
    mean = format_number(total / len(values), 1) if values else UNDEFINED_TEXT
    return TableRow(name, (Cell(said), Cell(mean)), below)


def _links(run: Run) -> Counter[str]:
    """Sentences by what the graph said to the system, which asked it or did not."""
    return Counter[str](
        link.verdict
        for row in run.rows.values()
        if row.trail is not None
        for turn in row.trail.rounds
        for link in turn.links
    )


def _links_grid(links: Counter[str]) -> Table:
    total = links.total()
    return Table(
        "Sentences noted during the run",
        "What the system took from pages before it answered, and what it found out about it then.",
        (Column("Verdict", numeric=False), Column("Sentences"), Column("Share")),
        tuple(
            TableRow(words, (Cell(f"{links[key]:,}"), Cell(format_percent(links[key] / total))))
            for key, words in _LINKS.items()
            if links[key]
        ),
    )
