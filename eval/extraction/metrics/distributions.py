"""Computes distributions and counts: scores, similarities, categories, errors, type confusion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from eval.extraction.metrics.columns import MODES
from eval.extraction.metrics.system_rows import OTHER_FIELDS, SystemRows
from eval.extraction.record import (
    BoxPlot,
    ErrorCount,
    Errors,
    Mode,
    ScoreBin,
    ScoreDistribution,
)
from eval.extraction.verdicts.sample_score import ERROR_PATTERNS, SIMILARITIES
from eval.stats.bootstrap import Floats, round_significant
from eval.stats.ratio_metrics import RatioMetric

MAX_TOP_ERRORS = 10
SIMILARITY_NAMES = ("token_overlap_f1", "levenshtein_similarity", "containment_score")
"""The specification's names, in the order of ``SIMILARITIES``."""

_SCORE_BINS = (
    ("excellent", 95, 100),
    ("good", 80, 95),
    ("fair", 60, 80),
    ("poor", 40, 60),
    ("very_poor", 0, 40),
)
"""The specification's bins (4.2.5), in hundredths."""
_BIN_WIDTH = 5
_MAX_HUNDREDTHS = 100


def score_distribution(system_rows: SystemRows) -> ScoreDistribution:
    """Bins the scores of fields that are both expected and extracted, as the specification does."""
    counts = system_rows.diagnostics["composite"]
    return _build_distribution(counts, system_rows.score_sum, _SCORE_BINS)


def similarity_distributions(system_rows: SystemRows) -> dict[str, ScoreDistribution]:
    """Bins the three similarities of texts, in twenty bins each."""
    bins = tuple(("", low, low + _BIN_WIDTH) for low in range(0, _MAX_HUNDREDTHS, _BIN_WIDTH))
    return {
        name: _build_distribution(system_rows.diagnostics[key], total, bins)
        for name, key, total in zip(
            SIMILARITY_NAMES, SIMILARITIES, system_rows.similarity_sums, strict=True
        )
    }


def _build_distribution(
    counts: Counter[int], total: float, bins: tuple[tuple[str, int, int], ...]
) -> ScoreDistribution:
    n = counts.total()

    def count_between(low: int, high: int) -> int:
        # The last bin includes its upper end: a score of 1.
        end = high + 1 if high == _MAX_HUNDREDTHS else high
        return sum(counts[hundredth] for hundredth in range(low, end))

    score_bins = []
    for name, low, high in bins:
        count = count_between(low, high)
        score_bins.append(
            ScoreBin(
                name=name,
                low=low / _MAX_HUNDREDTHS,
                high=high / _MAX_HUNDREDTHS,
                count=count,
                share=round_significant(count / n) if n else None,
            )
        )
    return ScoreDistribution(
        n=n,
        mean=round_significant(total / n) if n else None,
        median=_median_score(counts, n),
        bins=tuple(score_bins),
        histogram=tuple(
            count_between(low, low + _BIN_WIDTH) for low in range(0, _MAX_HUNDREDTHS, _BIN_WIDTH)
        ),
    )


def _median_score(counts: Counter[int], n: int) -> float | None:
    reached = 0
    for hundredth in sorted(counts):
        reached += counts[hundredth]
        if 2 * reached >= n > 0:
            return hundredth / _MAX_HUNDREDTHS
    return None


def category_metrics(mode: Mode) -> tuple[RatioMetric, ...]:
    """Defines the five categories as shares of all fields on either side; they add up to 1."""
    exact = {"strict": 1.0} if mode == "strict" else {"exact": 1.0}
    near: dict[Mode, dict[str, float]] = {
        "strict": {},
        "partial": {"partial": 1.0},
        "lenient": {"lenient": 1.0, "exact": -1.0},
    }
    matched = {"strict": {"strict": -1.0}, "partial": {"exact": -1.0, "partial": -1.0}}
    wrong = {"expected": 1.0, "missed": -1.0, **matched.get(mode, {"lenient": -1.0})}
    denominator = {"expected": 1.0, "spurious": 1.0}
    return tuple(
        RatioMetric(name, top, denominator, None, missing="")
        for name, top in (
            ("exact", exact),
            ("partial", near[mode]),
            ("incorrect", wrong),
            ("missed", {"missed": 1.0}),
            ("spurious", {"spurious": 1.0}),
        )
    )


CATEGORY_METRICS: Mapping[Mode, tuple[RatioMetric, ...]] = {
    mode: category_metrics(mode) for mode in MODES
}


def count_type_confusion(system_rows: SystemRows) -> dict[str, dict[str, int]]:
    """Returns expected type → extracted type → number of fields, sorted by name."""
    confusion: dict[str, dict[str, int]] = {}
    for pair, count in sorted(system_rows.diagnostics["confusion"].items()):
        expected, _, predicted = pair.partition(">")
        confusion.setdefault(expected, {})[predicted] = count
    return confusion


def count_errors(system_rows: SystemRows) -> Errors:
    """Counts errors by pattern, and lists the ten most frequent pairs of pattern and field."""
    counts = system_rows.diagnostics["errors"]
    groups = {
        group: {pattern: counts[pattern] for pattern in patterns}
        for group, patterns in ERROR_PATTERNS.items()
    }
    total = sum(sum(patterns.values()) for patterns in groups.values())
    group_of = {pattern: group for group, patterns in groups.items() for pattern in patterns}
    # Above a limit, rare errors are pooled under OTHER_FIELDS, which is not a single error.
    single = {
        key: count
        for key, count in system_rows.diagnostics["error_fields"].items()
        if key != OTHER_FIELDS
    }
    ordered = sorted(single.items(), key=lambda item: (-item[1], item[0]))[:MAX_TOP_ERRORS]
    top = []
    for key, count in ordered:
        pattern, _, path = key.partition(" ")
        top.append(
            ErrorCount(
                pattern=pattern,
                group=group_of[pattern],
                path=path,
                count=count,
                share=round_significant(count / total),
            )
        )
    return Errors(groups=groups, total=total, top=tuple(top))


def compute_box_plot(values: Floats) -> BoxPlot | None:
    """Computes the numbers of a box plot, ignoring nan; ``None`` if there are no values."""
    known = sorted(value for value in values.tolist() if value == value)
    if not known:
        return None

    def quantile_at(level: float) -> float:
        # The smallest value that a share of at least ``level`` does not exceed.
        return round_significant(known[max(0, -int(-level * len(known) // 1) - 1)])

    return BoxPlot(
        n=len(known),
        low=round_significant(known[0]),
        q1=quantile_at(0.25),
        median=quantile_at(0.5),
        q3=quantile_at(0.75),
        high=round_significant(known[-1]),
        mean=round_significant(sum(known) / len(known)),
    )
