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
"""Maximum number of entries in the list of the most frequent errors."""
SIMILARITY_NAMES = ("token_overlap_f1", "levenshtein_similarity", "containment_score")
"""The specification's names, in the order of ``SIMILARITIES``."""

_SCORE_BINS = (
    ("excellent", 95, 100),
    ("good", 80, 95),
    ("fair", 60, 80),
    ("poor", 40, 60),
    ("very_poor", 0, 40),
)
"""The specification's bins of scores (4.2.5): name, lower and upper end in hundredths."""
_BIN_WIDTH = 5
"""Width of a histogram bin, in hundredths."""
_MAX_HUNDREDTHS = 100
"""The maximum score, in hundredths."""


def score_distribution(system_rows: SystemRows) -> ScoreDistribution:
    """Counts the scores of fields that are both expected and extracted, by the specified bins."""
    counts = system_rows.diagnostics["composite"]
    return _build_distribution(counts, system_rows.score_sum, _SCORE_BINS)


def similarity_distributions(system_rows: SystemRows) -> dict[str, ScoreDistribution]:
    """Counts the values of each of the three similarities of texts, in twenty bins."""
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
        median=_compute_median(counts, n),
        bins=tuple(score_bins),
        histogram=tuple(
            count_between(low, low + _BIN_WIDTH) for low in range(0, _MAX_HUNDREDTHS, _BIN_WIDTH)
        ),
    )


def _compute_median(counts: Counter[int], n: int) -> float | None:
    cumulative = 0
    for hundredth in sorted(counts):
        cumulative += counts[hundredth]
        if 2 * cumulative >= n > 0:
            return hundredth / _MAX_HUNDREDTHS
    return None


def category_metrics(mode: Mode) -> tuple[RatioMetric, ...]:
    """Defines the shares of exact, partial, incorrect, missed and spurious fields.

    The denominator is the number of fields that are expected or extracted; the shares add up to 1.
    The mode decides which fields count as exact and as partial.
    """
    # Counts that the tally does not have are differences of its columns.
    exact = {"strict": 1.0} if mode == "strict" else {"exact": 1.0}
    partial: dict[Mode, dict[str, float]] = {
        "strict": {},
        "partial": {"partial": 1.0},
        "lenient": {"lenient": 1.0, "exact": -1.0},
    }
    matched_weights = {"strict": {"strict": -1.0}, "partial": {"exact": -1.0, "partial": -1.0}}
    incorrect = {"expected": 1.0, "missed": -1.0, **matched_weights.get(mode, {"lenient": -1.0})}
    denominator = {"expected": 1.0, "spurious": 1.0}
    return tuple(
        RatioMetric(name, numerator, denominator, None, missing="")
        for name, numerator in (
            ("exact", exact),
            ("partial", partial[mode]),
            ("incorrect", incorrect),
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
    """Counts errors by pattern, and lists the most frequent pairs of pattern and field."""
    counts = system_rows.diagnostics["errors"]
    groups = {
        group: {pattern: counts[pattern] for pattern in patterns}
        for group, patterns in ERROR_PATTERNS.items()
    }
    n_errors = sum(sum(patterns.values()) for patterns in groups.values())
    group_by_pattern = {
        pattern: group for group, patterns in groups.items() for pattern in patterns
    }
    # If there are very many keys, rare ones are pooled under OTHER_FIELDS, which is not one error.
    field_counts = {
        key: count
        for key, count in system_rows.diagnostics["error_fields"].items()
        if key != OTHER_FIELDS
    }
    most_frequent = sorted(field_counts.items(), key=lambda item: (-item[1], item[0]))[
        :MAX_TOP_ERRORS
    ]
    top_errors = []
    for key, count in most_frequent:
        pattern, _, path = key.partition(" ")
        top_errors.append(
            ErrorCount(
                pattern=pattern,
                group=group_by_pattern[pattern],
                path=path,
                count=count,
                share=round_significant(count / n_errors),
            )
        )
    return Errors(groups=groups, total=n_errors, top=tuple(top_errors))


def compute_box_plot(values: Floats) -> BoxPlot | None:
    """Computes the numbers of a box plot, ignoring nan; ``None`` if there are no values."""
    sorted_values = sorted(value for value in values.tolist() if value == value)
    if not sorted_values:
        return None

    def quantile_at(level: float) -> float:
        # The smallest value for which at least the share ``level`` of all values is not larger.
        # -int(-x // 1) rounds up.
        return round_significant(sorted_values[max(0, -int(-level * len(sorted_values) // 1) - 1)])

    return BoxPlot(
        n=len(sorted_values),
        low=round_significant(sorted_values[0]),
        q1=quantile_at(0.25),
        median=quantile_at(0.5),
        q3=quantile_at(0.75),
        high=round_significant(sorted_values[-1]),
        mean=round_significant(sum(sorted_values) / len(sorted_values)),
    )
