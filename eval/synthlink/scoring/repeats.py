"""Scores a run that asked every question several times: means over repeats, and their spread.

A question without a usable answer in a repeat counts as 0 in that repeat, as without repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from statistics import stdev
from typing import Any

import msgspec
import numpy as np

from eval.stats.bootstrap import ClusterResamples, round_significant
from eval.synthlink.metrics import METRICS, AnswerScores, MetricName, Mode, QuestionScore
from eval.synthlink.scoring.mean_scores import (
    collect_metric_values,
    count_unjudged,
    estimate_means,
)
from eval.synthlink.scoring.record import (
    UNUSABLE_STATUSES,
    MeanScore,
    ModeRepeats,
    QuestionRepeats,
    RepeatScores,
    SynthLinkReport,
)


def score_repeats(reports: Sequence[SynthLinkReport]) -> RepeatScores:
    """Combines the scores of the repeats.

    Args:
        reports: the scores of each repeat, with the same catalogue and settings.
    """
    return RepeatScores(
        n_repeats=len(reports),
        modes={mode: _combine_mode(reports, mode) for mode in reports[0].modes},
    )


def _combine_mode(reports: Sequence[SynthLinkReport], mode: Mode) -> ModeRepeats:
    first = reports[0]
    rows_by_repeat = [report.modes[mode].questions for report in reports]
    questions = tuple(_combine_question(rows) for rows in zip(*rows_by_repeat, strict=True))
    mean_rows = list_mean_rows(first.modes[mode].questions, questions)
    estimates = estimate_means(
        mean_rows,
        np.ones(len(questions), dtype=np.bool_),
        mode,
        ClusterResamples(len(questions), first.resamples, first.seed),
        first.confidence,
    )
    by_repeat = {
        metric: tuple(_compute_mean(rows, metric) for rows in rows_by_repeat) for metric in METRICS
    }
    return ModeRepeats(
        means={
            metric: MeanScore.from_estimate(item, count_unjudged(mean_rows, metric))
            for metric, item in estimates.items()
        },
        by_repeat=by_repeat,
        spread={metric: _compute_spread(values) for metric, values in by_repeat.items()},
        questions=questions,
    )


def _combine_question(rows: Sequence[QuestionScore]) -> QuestionRepeats:
    values = {metric: _list_values(rows, metric) for metric in METRICS}
    return QuestionRepeats(
        question_id=rows[0].question_id,
        category=rows[0].category,
        n_unusable=sum(row.status in UNUSABLE_STATUSES for row in rows),
        means={metric: _average(found) for metric, found in values.items()},
        spread={metric: _compute_spread(found) for metric, found in values.items()},
        unjudged=tuple(
            metric
            for metric, found in values.items()
            if count_unjudged(rows, metric) and all(value is None for value in found)
        ),
    )


def _list_values(rows: Sequence[QuestionScore], metric: MetricName) -> list[float | None]:
    """Returns the values of a metric; see ``collect_metric_values``."""
    values = collect_metric_values(rows, metric).tolist()
    return [None if isnan(value) else value for value in values]


def list_mean_rows(
    rows: Sequence[QuestionScore], questions: Sequence[QuestionRepeats]
) -> tuple[QuestionScore, ...]:
    """Returns rows whose metrics are the means over repeats; they have no claims or steps.

    Args:
        rows: the rows of one repeat.
        questions: the repeats of the same questions, in the same order.
    """
    return tuple(
        msgspec.structs.replace(row, parts=_make_mean_scores(question))
        for row, question in zip(rows, questions, strict=True)
    )


def _make_mean_scores(question: QuestionRepeats) -> AnswerScores:
    values: dict[str, Any] = {metric: question.means[metric] for metric in METRICS}
    return AnswerScores(**values, unjudged=question.unjudged)


def average_report(report: SynthLinkReport, repeats: RepeatScores | None) -> SynthLinkReport:
    """Returns the report that comparisons use: each question has its means over the repeats."""
    if repeats is None:
        return report
    modes = {
        mode: msgspec.structs.replace(
            scores, questions=list_mean_rows(scores.questions, repeats.modes[mode].questions)
        )
        for mode, scores in report.modes.items()
    }
    return msgspec.structs.replace(report, modes=modes)


def list_repeat_notes(repeats: RepeatScores) -> Iterator[str]:
    """Yields the notes that must accompany the scores of the first repeat."""
    yield (
        f"every question was asked {repeats.n_repeats} times: scores and answers are those of the "
        "first repeat, unless they are called means over repeats"
    )
    yield from render_repeats(repeats)


def render_repeats(repeats: RepeatScores) -> list[str]:
    """Renders a line per mode with the mean over repeats, its interval and the spread."""
    return [_render_mode(repeats, mode) for mode in repeats.modes]


def _render_mode(repeats: RepeatScores, mode: Mode) -> str:
    label = f"{mode}, mean over {repeats.n_repeats} repeats"
    scores = repeats.modes[mode]
    mean, spread = scores.means["aggregate"], scores.spread["aggregate"]
    if mean.value is None:
        return f"{label}: no aggregate"
    interval = ""
    if mean.low is not None and mean.high is not None:
        interval = f" [{mean.low:.3f}, {mean.high:.3f}]"
    between = "" if spread is None else f", standard deviation between repeats {spread:.3f}"
    return f"{label}: {mean.value:.3f}{interval}{between}"


def _compute_mean(rows: Sequence[QuestionScore], metric: MetricName) -> float | None:
    """Computes the mean of a metric over the questions where it is defined."""
    values = collect_metric_values(rows, metric)
    defined = values[~np.isnan(values)]
    return round_significant(float(defined.mean())) if defined.size else None


def _average(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return round_significant(sum(defined) / len(defined)) if defined else None


def _compute_spread(values: Sequence[float | None]) -> float | None:
    """Computes the standard deviation (n − 1); None for less than two values."""
    defined = [value for value in values if value is not None]
    return round_significant(stdev(defined)) if len(defined) > 1 else None
