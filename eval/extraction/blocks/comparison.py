"""The part that compares systems: ranking, tests, frontiers, win rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eval.blocks.blocks import (
    Block,
    Cell,
    Column,
    Figures,
    Fold,
    Paragraphs,
    Part,
    Table,
    TableRow,
    Tone,
)
from eval.blocks.comparison_text import describe_finding
from eval.blocks.text_format import (
    UNDEFINED_TEXT,
    format_name,
    format_number,
    format_p_value,
    format_percent,
)
from eval.extraction.blocks.comparison_charts import (
    FRONTIERS,
    build_forest,
    build_frontier,
    build_metric_bars,
    build_win_map,
)
from eval.extraction.blocks.comparison_texts import (
    BEST,
    find_best,
    find_win_rate,
    format_signed_value,
    get_metric_title,
    list_guidance,
    list_metrics,
    list_pairs,
)
from eval.extraction.blocks.metric_texts import describe_metric, format_interval, format_value
from eval.extraction.blocks.run_data import RunData
from eval.extraction.comparison_record import (
    ExtractionComparison,
    RankedSystem,
    SampleComparison,
)


def build_comparison_parts(run: RunData) -> Iterator[Part]:
    """Yields the part that compares the systems; nothing for one system."""
    if run.comparison is not None:
        blocks = tuple(_build_blocks(run, run.comparison))
        yield Part("comparison", "Comparison", "System against system", blocks)


def _build_blocks(run: RunData, comparison: ExtractionComparison) -> Iterator[Block]:
    yield Paragraphs(list_guidance(run), "list")
    yield _build_ranking_table(run, comparison)
    yield Figures((build_metric_bars(run, comparison),), "wide")
    metrics, headline = list_metrics(comparison), run.report.headline
    if headline in metrics:
        pairs = list_pairs(comparison, headline)
        yield Figures((build_forest(headline, pairs),), "wide")
        yield _build_pairs_table(headline, pairs)
    charts = [build_frontier(run, comparison, key) for key in FRONTIERS]
    frontiers = tuple(frontier for frontier in charts if frontier)
    if frontiers:
        yield Figures(frontiers, "wide")
    else:
        yield Paragraphs(
            ("Fewer than two systems have both a score and a latency or cost: no frontier.",)
        )
    yield Figures((build_win_map(run, comparison),), "wide")
    yield Fold("Win rates in numbers", (_build_wins_table(run, comparison),))
    yield _build_bests_table(run, comparison)
    others = [metric for metric in metrics if metric != headline]
    if others:
        figures = tuple(
            build_forest(metric, list_pairs(comparison, metric))
            for metric in others
            if metric not in ("latency_s", "cost_usd")
        )
        tables = tuple(
            _build_pairs_table(metric, list_pairs(comparison, metric)) for metric in others
        )
        yield Fold("The tests of all other metrics", (Figures(figures, "wide"), *tables))
    if comparison.notes:
        yield Paragraphs(comparison.notes, "list")


def _build_ranking_table(run: RunData, comparison: ExtractionComparison) -> Table:
    """Builds the table of systems by headline, with how far each is behind the first."""
    first, headline = comparison.ranking[0], run.report.headline
    best = find_best(comparison, headline, len(run.systems))
    behind = {
        entry.baseline: entry
        for entry in list_pairs(comparison, headline)
        if entry.candidate == first.system
    }
    scores = [entry.worst for entry in comparison.ranking]
    rows = []
    for entry in comparison.ranking:
        place = scores.index(entry.worst) + 1
        pair = behind.get(entry.system)
        star = entry.system == best
        cells = (
            Cell(f"{place}{' ★' if star else ''}"),
            Cell(
                format_value(headline, entry.score),
                tuple(_list_details(headline, entry)),
                "best" if star else "",
            ),
            Cell(UNDEFINED_TEXT)
            if pair is None
            else Cell(
                format_signed_value(headline, None if pair.difference is None else -pair.difference)
            ),
            Cell(
                "ranks first"
                if entry is first
                else UNDEFINED_TEXT
                if pair is None
                else describe_finding(pair)
            ),
        )
        rows.append(TableRow(entry.system, cells))
    columns = (
        Column("System", numeric=False),
        Column("Rank"),
        Column(describe_metric(headline).short_name, "higher is better"),
        Column("To the first"),
        Column("Against the first, the data say", numeric=False),
    )
    return Table(
        f"Ranking by {describe_metric(headline).full_name}",
        "★ better than every other by paired tests. An order is not a finding: neighbours may "
        "differ by chance.",
        columns,
        tuple(rows),
    )


def _list_details(headline: str, entry: RankedSystem) -> Iterator[str]:
    """Yields what is written under a score: its interval, and what failed calls could change."""
    interval = format_interval(headline, entry.low, entry.high)
    if interval:
        yield interval
    if entry.missing:
        worst = format_value(headline, entry.worst)
        yield f"{worst} if the {entry.missing:,} failed calls count as wrong"


def _build_pairs_table(metric: str, pairs: Sequence[SampleComparison]) -> Table:
    """Builds the table of every pair by one metric: difference, tests, effect."""
    columns = (
        Column("Pair", numeric=False),
        Column("Values", "candidate, then baseline"),
        Column("Difference", "with interval"),
        Column("p, adjusted", "decides"),
        Column("Effect", "Cohen's d"),
        Column(
            "Beside it",
            "t test, Wilcoxon",
            "Unadjusted p values of other tests; they decide nothing",
        ),
        Column("Smallest detectable"),
        Column("The data say", numeric=False),
    )
    rows = []
    for pair in pairs:
        interval = ""
        if pair.low is not None and pair.high is not None:
            low, high = (format_signed_value(metric, end) for end in (pair.low, pair.high))
            interval = f"{low} to {high}"
        tone: Tone = "best" if pair.better else "muted"
        sign = "★ " if pair.better else "≈ " if pair.difference is not None else ""
        rows.append(
            TableRow(
                f"{pair.candidate} − {pair.baseline}",
                (
                    Cell(
                        format_value(metric, pair.value_candidate),
                        (format_value(metric, pair.value_baseline),),
                    ),
                    Cell(
                        format_signed_value(metric, pair.difference),
                        (interval,) if interval else (),
                    ),
                    Cell(
                        format_p_value(pair.p if pair.p_holm is None else pair.p_holm),
                        (_describe_test(pair),),
                    ),
                    Cell(
                        format_number(pair.cohens_d_pooled, 2),
                        tuple(
                            text
                            for text in (pair.effect, f"d_z {format_number(pair.cohens_d, 2)}")
                            if text
                        ),
                    ),
                    Cell(format_p_value(pair.t_p), (format_p_value(pair.wilcoxon_p),)),
                    Cell(format_value(metric, pair.minimum_detectable_effect)),
                    Cell(f"{sign}{describe_finding(pair)}", (), tone),
                ),
            )
        )
    return Table(
        f"{get_metric_title(metric)}: every pair",
        "On the samples that both have a value of. ★ the adjusted test and the interval agree that "
        "they differ; ≈ the data cannot tell.",
        columns,
        tuple(rows),
        "pairs",
    )


def _describe_test(pair: SampleComparison) -> str:
    names = {"mcnemar": "McNemar", "sign-flip": "sign flips", "none": "not tested"}
    exact = "exact " if pair.exact else ""
    counts = ""
    if pair.discordant is not None:
        counts = f", {pair.discordant.only_candidate} : {pair.discordant.only_baseline}"
    return f"{exact}{names[pair.test]}{counts}; n = {pair.n:,}"


def _build_wins_table(run: RunData, comparison: ExtractionComparison) -> Table:
    """Builds the table of wins, losses and ties of every pair."""
    columns = (Column("wins against", numeric=False), *(Column(name) for name in run.names))
    rows = []
    for first in run.names:
        cells = []
        for second in run.names:
            rate = find_win_rate(comparison, first, second)
            cells.append(
                Cell(UNDEFINED_TEXT)
                if rate is None
                else Cell(
                    format_percent(rate.share),
                    (f"{rate.wins:,} : {rate.losses:,}, {rate.ties:,} ties",),
                )
            )
        rows.append(TableRow(first, tuple(cells)))
    return Table(
        "Win rates",
        "Share of samples on which the row's system has the higher value of the headline.",
        columns,
        tuple(rows),
    )


def _build_bests_table(run: RunData, comparison: ExtractionComparison) -> Table:
    """Builds the table of which system is best by which metric."""
    value_of = {
        "highest_eqs": "extraction_quality_score",
        "highest_f1_partial": "field_f1_partial",
        "highest_exact_match": "exact_match",
        "lowest_hallucination": "hallucination_rate",
        "fastest_p95": "latency_p95_s",
    }
    rows = []
    for key, name in comparison.best_by_metric.items():
        metric = value_of.get(key)
        value = UNDEFINED_TEXT
        if name is not None and metric is not None:
            value = format_value(metric, run.report.systems[name].metrics[metric].value)
        winner = "nobody alone" if name is None else format_name(name)
        rows.append(TableRow(BEST.get(key, key.replace("_", " ")), (Cell(winner), Cell(value))))
    columns = (Column("What", numeric=False), Column("System", numeric=False), Column("Value"))
    return Table(
        "Best by metric",
        "By value alone; whether the others differ, the tests say.",
        columns,
        tuple(rows),
        "plain",
    )
