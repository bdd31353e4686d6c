"""The part that compares systems: ranking, tests, frontiers, win rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eval.extraction.comparison_record import ExtractionComparison, SampleComparison
from reporting.benchmark_sections.blocks import (
    Block,
    Cell,
    Figures,
    Fold,
    Grid,
    Head,
    Line,
    Part,
    Prose,
    Tone,
)
from reporting.charts import UNDEFINED_TEXT, format_number, format_percent
from reporting.comparison_text import describe_finding, format_p_value
from reporting.extraction_section.comparison_figures import (
    FRONTIERS,
    bars_figure,
    forest_figure,
    frontier_figure,
    wins_figure,
)
from reporting.extraction_section.comparison_words import (
    BEST,
    SCORE,
    best_of,
    guidance,
    metric_title,
    metrics_of,
    pairs_of,
    signed_value,
    wins_of,
)
from reporting.extraction_section.metric_words import span_text, value_text
from reporting.extraction_section.shown import Shown
from reporting.visible_text import format_name


def comparison_parts(shown: Shown, id_: str) -> Iterator[Part]:
    """What holds the systems against each other; nothing where there is only one."""
    if shown.comparison is not None:
        blocks = tuple(_blocks(shown, shown.comparison, id_))
        yield Part("comparison", "Comparison", "System against system", blocks)


def _blocks(shown: Shown, compared: ExtractionComparison, id_: str) -> Iterator[Block]:
    yield Prose(guidance(shown), "list")
    yield ranking(shown, compared)
    yield Figures((bars_figure(shown, compared, f"{id_}-bars"),), "wide")
    metrics = metrics_of(compared)
    if SCORE in metrics:
        pairs = pairs_of(compared, SCORE)
        yield Figures((forest_figure(SCORE, pairs, f"{id_}-forest-score"),), "wide")
        yield pair_grid(SCORE, pairs)
    drawn = [
        frontier_figure(shown, compared, key, f"{id_}-{key.replace('_', '-')}") for key in FRONTIERS
    ]
    found = tuple(one for one in drawn if one)
    if found:
        yield Figures(found, "wide")
    else:
        yield Prose(
            ("Fewer than two systems have both a score and a latency or cost: no frontier.",)
        )
    yield Figures((wins_figure(shown, compared, f"{id_}-wins"),), "wide")
    yield Fold("Win rates in numbers", (win_grid(shown, compared),))
    yield bests(shown, compared)
    rest = [metric for metric in metrics if metric != SCORE]
    if rest:
        figures = tuple(
            forest_figure(metric, pairs_of(compared, metric), f"{id_}-forest-{metric}")
            for metric in rest
            if metric not in ("latency_s", "cost_usd")
        )
        grids = tuple(pair_grid(metric, pairs_of(compared, metric)) for metric in rest)
        yield Fold("The tests of all other metrics", (Figures(figures, "wide"), *grids))
    if compared.notes:
        yield Prose(compared.notes, "list")


def ranking(shown: Shown, compared: ExtractionComparison) -> Grid:
    """The systems by score, with how far each lies behind the first."""
    first = compared.ranking[0]
    best = best_of(compared, SCORE, len(shown.systems))
    behind = {
        one.baseline: one for one in pairs_of(compared, SCORE) if one.candidate == first.system
    }
    scores = [one.score for one in compared.ranking]
    lines = []
    for one in compared.ranking:
        place = scores.index(one.score) + 1
        pair = behind.get(one.system)
        star = one.system == best
        cells = (
            Cell(f"{place}{' ★' if star else ''}"),
            Cell(
                value_text(SCORE, one.score),
                tuple(text for text in (span_text(SCORE, one.low, one.high),) if text),
                "best" if star else "",
            ),
            Cell(UNDEFINED_TEXT)
            if pair is None
            else Cell(signed_value(SCORE, None if pair.difference is None else -pair.difference)),
            Cell(
                "ranks first"
                if one is first
                else UNDEFINED_TEXT
                if pair is None
                else describe_finding(pair)
            ),
        )
        lines.append(Line(one.system, cells))
    heads = (
        Head("System", numeric=False),
        Head("Rank"),
        Head("EQS", "higher is better"),
        Head("To the first"),
        Head("Against the first, the data say", numeric=False),
    )
    return Grid(
        "Ranking by score",
        "★ better than every other by paired tests. An order is not a finding: neighbours may "
        "differ by chance.",
        heads,
        tuple(lines),
    )


def pair_grid(metric: str, pairs: Sequence[SampleComparison]) -> Grid:
    """Every pair by one metric: difference, tests, effect."""
    heads = (
        Head("Pair", numeric=False),
        Head("Values", "candidate, then baseline"),
        Head("Difference", "with interval"),
        Head("p, adjusted", "decides"),
        Head("Effect", "Cohen's d"),
        Head(
            "Beside it",
            "t test, Wilcoxon",
            "Unadjusted p values of other tests; they decide nothing",
        ),
        Head("Smallest detectable"),
        Head("The data say", numeric=False),
    )
    lines = []
    for one in pairs:
        span = ""
        if one.low is not None and one.high is not None:
            span = f"{signed_value(metric, one.low)} to {signed_value(metric, one.high)}"
        tone: Tone = "best" if one.better else "muted"
        sign = "★ " if one.better else "≈ " if one.difference is not None else ""
        lines.append(
            Line(
                f"{one.candidate} − {one.baseline}",
                (
                    Cell(
                        value_text(metric, one.value_candidate),
                        (value_text(metric, one.value_baseline),),
                    ),
                    Cell(signed_value(metric, one.difference), (span,) if span else ()),
                    Cell(
                        format_p_value(one.p if one.p_holm is None else one.p_holm), (_test(one),)
                    ),
                    Cell(
                        format_number(one.cohens_d_pooled, 2),
                        tuple(
                            text
                            for text in (one.effect, f"d_z {format_number(one.cohens_d, 2)}")
                            if text
                        ),
                    ),
                    Cell(format_p_value(one.t_p), (format_p_value(one.wilcoxon_p),)),
                    Cell(value_text(metric, one.minimum_detectable_effect)),
                    Cell(f"{sign}{describe_finding(one)}", (), tone),
                ),
            )
        )
    return Grid(
        f"{metric_title(metric)}: every pair",
        "On the samples that both have a value of. ★ the adjusted test and the interval agree that "
        "they differ; ≈ the data cannot tell.",
        heads,
        tuple(lines),
        "pairs",
    )


def _test(one: SampleComparison) -> str:
    names = {"mcnemar": "McNemar", "sign-flip": "sign flips", "none": "not tested"}
    exact = "exact " if one.exact else ""
    counts = ""
    if one.discordant is not None:
        counts = f", {one.discordant.only_candidate} : {one.discordant.only_baseline}"
    return f"{exact}{names[one.test]}{counts}; n = {one.n:,}"


def win_grid(shown: Shown, compared: ExtractionComparison) -> Grid:
    """Wins, losses and ties of every pair."""
    heads = (Head("wins against", numeric=False), *(Head(name) for name in shown.names))
    lines = []
    for first in shown.names:
        cells = []
        for second in shown.names:
            one = wins_of(compared, first, second)
            cells.append(
                Cell(UNDEFINED_TEXT)
                if one is None
                else Cell(
                    format_percent(one.share),
                    (f"{one.wins:,} : {one.losses:,}, {one.ties:,} ties",),
                )
            )
        lines.append(Line(first, tuple(cells)))
    return Grid(
        "Win rates",
        "Share of samples on which the row's system has the higher score.",
        heads,
        tuple(lines),
    )


def bests(shown: Shown, compared: ExtractionComparison) -> Grid:
    """Who is best by what."""
    value_of = {
        "highest_eqs": SCORE,
        "highest_f1_partial": "field_f1_partial",
        "highest_exact_match": "exact_match",
        "lowest_hallucination": "hallucination_rate",
        "fastest_p95": "latency_p95_s",
    }
    lines = []
    for key, name in compared.best_by_metric.items():
        metric = value_of.get(key)
        value = UNDEFINED_TEXT
        if name is not None and metric is not None:
            value = value_text(metric, shown.report.systems[name].metrics[metric].value)
        said = "nobody alone" if name is None else format_name(name)
        lines.append(Line(BEST.get(key, key.replace("_", " ")), (Cell(said), Cell(value))))
    heads = (Head("What", numeric=False), Head("System", numeric=False), Head("Value"))
    return Grid(
        "Best by metric",
        "By value alone; whether the others differ, the tests say.",
        heads,
        tuple(lines),
        "plain",
    )
