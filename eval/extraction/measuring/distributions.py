"""Distributions and counts: scores of matched fields, similarities, categories, errors, types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from eval.extraction.measuring.columns import MODES
from eval.extraction.measuring.gathering import OTHERS, Gathered
from eval.extraction.record import (
    Box,
    ErrorCount,
    Errors,
    Mode,
    ScoreBin,
    ScoreDistribution,
)
from eval.extraction.verdicts.sample_score import ERROR_PATTERNS, SIMILARITIES
from eval.stats.intervals import Floats, tidy
from eval.stats.measured import Measure

TOP_ERRORS = 10
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
_WIDTH = 5
_TOP = 100


def composite(gathered: Gathered) -> ScoreDistribution:
    """Scores of the fields that both sides have, in the specification's five bins."""
    counts = gathered.diagnostics["composite"]
    return _distribution(counts, gathered.score_sum, _SCORE_BINS)


def similarities(gathered: Gathered) -> dict[str, ScoreDistribution]:
    """The three similarities of texts, in twenty bins each."""
    bins = tuple(("", low, low + _WIDTH) for low in range(0, _TOP, _WIDTH))
    return {
        name: _distribution(gathered.diagnostics[key], total, bins)
        for name, key, total in zip(
            SIMILARITY_NAMES, SIMILARITIES, gathered.similarity_sums, strict=True
        )
    }


def _distribution(
    counts: Counter[int], total: float, bins: tuple[tuple[str, int, int], ...]
) -> ScoreDistribution:
    n = counts.total()

    def inside(low: int, high: int) -> int:
        # The last bin holds its upper end too: a score of 1.
        end = high + 1 if high == _TOP else high
        return sum(counts[hundredth] for hundredth in range(low, end))

    found = []
    for name, low, high in bins:
        count = inside(low, high)
        found.append(
            ScoreBin(
                name=name,
                low=low / _TOP,
                high=high / _TOP,
                count=count,
                share=tidy(count / n) if n else None,
            )
        )
    return ScoreDistribution(
        n=n,
        mean=tidy(total / n) if n else None,
        median=_median(counts, n),
        bins=tuple(found),
        histogram=tuple(inside(low, low + _WIDTH) for low in range(0, _TOP, _WIDTH)),
    )


def _median(counts: Counter[int], n: int) -> float | None:
    reached = 0
    for hundredth in sorted(counts):
        reached += counts[hundredth]
        if 2 * reached >= n > 0:
            return hundredth / _TOP
    return None


def category_measures(mode: Mode) -> tuple[Measure, ...]:
    """The five categories as shares of all fields on either side, which add up to 1."""
    exact = {"strict": 1.0} if mode == "strict" else {"exact": 1.0}
    near: dict[Mode, dict[str, float]] = {
        "strict": {},
        "partial": {"partial": 1.0},
        "lenient": {"lenient": 1.0, "exact": -1.0},
    }
    matched = {"strict": {"strict": -1.0}, "partial": {"exact": -1.0, "partial": -1.0}}
    wrong = {"expected": 1.0, "missed": -1.0, **matched.get(mode, {"lenient": -1.0})}
    whole = {"expected": 1.0, "spurious": 1.0}
    return tuple(
        Measure(name, top, whole, None, missing="")
        for name, top in (
            ("exact", exact),
            ("partial", near[mode]),
            ("incorrect", wrong),
            ("missed", {"missed": 1.0}),
            ("spurious", {"spurious": 1.0}),
        )
    )


CATEGORY_MEASURES: Mapping[Mode, tuple[Measure, ...]] = {
    mode: category_measures(mode) for mode in MODES
}


def confusion(gathered: Gathered) -> dict[str, dict[str, int]]:
    """Expected type → type that came → how many fields, both in order of name."""
    found: dict[str, dict[str, int]] = {}
    for pair, count in sorted(gathered.diagnostics["confusion"].items()):
        expected, _, came = pair.partition(">")
        found.setdefault(expected, {})[came] = count
    return found


def errors(gathered: Gathered) -> Errors:
    """Errors by pattern, and the ten most frequent pairs of pattern and field."""
    counts = gathered.diagnostics["errors"]
    groups = {
        group: {pattern: counts[pattern] for pattern in patterns}
        for group, patterns in ERROR_PATTERNS.items()
    }
    total = sum(sum(patterns.values()) for patterns in groups.values())
    group_of = {pattern: group for group, patterns in groups.items() for pattern in patterns}
    # Where there were too many different ones, the rest stands together and is no single error.
    single = {
        key: count for key, count in gathered.diagnostics["error_fields"].items() if key != OTHERS
    }
    ordered = sorted(single.items(), key=lambda item: (-item[1], item[0]))[:TOP_ERRORS]
    top = []
    for key, count in ordered:
        pattern, _, path = key.partition(" ")
        top.append(
            ErrorCount(
                pattern=pattern,
                group=group_of[pattern],
                path=path,
                count=count,
                share=tidy(count / total),
            )
        )
    return Errors(groups=groups, total=total, top=tuple(top))


def box(values: Floats) -> Box | None:
    """What a box plot shows of some values; null where there is none."""
    known = sorted(value for value in values.tolist() if value == value)
    if not known:
        return None

    def quantile(level: float) -> float:
        # The smallest value that so many do not exceed.
        return tidy(known[max(0, -int(-level * len(known) // 1) - 1)])

    return Box(
        n=len(known),
        low=tidy(known[0]),
        q1=quantile(0.25),
        median=quantile(0.5),
        q3=quantile(0.75),
        high=tidy(known[-1]),
        mean=tidy(sum(known) / len(known)),
    )
