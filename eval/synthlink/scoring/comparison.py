"""Compares files of predictions on the same questions: differences, intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from eval.metrics.comparison import adjust_families, compare_item_values
from eval.stats.bootstrap import ClusterResamples
from eval.synthlink.metrics import METRICS, Mode
from eval.synthlink.scoring.mean_scores import collect_metric_values
from eval.synthlink.scoring.record import QuestionComparison, SynthLinkReport
from kg.base.errors import CardSetMismatchError

ALL_GROUP: Final = "all"
"""Name of the group of all questions; the other groups are the categories."""


def compare_reports(reports: Mapping[str, SynthLinkReport]) -> tuple[QuestionComparison, ...]:
    """Compares the first report with each of the others, question by question.

    A question that a file does not answer counts as 0 for that file. A question whose metric is
    null or unjudged in either report is left out of the comparison on that metric.

    Args:
        reports: report of each file, by the file's name; all with the same catalogue, thresholds,
            graph and corpus.

    Returns:
        Differences sorted by mode, then by the file compared with the first, then by group (all
        questions, then each category), then by metric. Only modes that all reports have are
        compared.

        p-values are adjusted with Holm's method. Within a mode, all tests over the whole catalogue
        form one family; tests over categories form one family per metric, because a category has
        only ten questions, too few to reach significance in a larger family.

    Raises:
        CardSetMismatchError: the reports differ in questions, thresholds, graph or corpus, or have
            no mode in common.
    """
    first, *others = reports
    return tuple(
        difference
        for mode in list_shared_modes(reports)
        for difference in compare_pairs(mode, reports, [(first, other) for other in others])
    )


def list_shared_modes(reports: Mapping[str, SynthLinkReport]) -> list[Mode]:
    """Returns the modes that all reports have.

    Raises:
        CardSetMismatchError: as for ``compare_reports``.
    """
    first, *others = reports.values()
    for other in others:
        _check_comparable(first, other)
    modes: list[Mode] = [
        mode for mode in first.modes if all(mode in report.modes for report in others)
    ]
    if not modes:
        raise CardSetMismatchError("the reports have no mode in common")
    return modes


def _check_comparable(first: SynthLinkReport, second: SynthLinkReport) -> None:
    question_ids = [
        [row.question_id for row in next(iter(report.modes.values())).questions]
        for report in (first, second)
    ]
    if question_ids[0] != question_ids[1]:
        raise CardSetMismatchError(
            "the two reports are on different questions",
            hint="Score both files with the same catalogue.",
        )
    settings = [(report.thresholds, report.graph, report.pages) for report in (first, second)]
    if settings[0] != settings[1]:
        raise CardSetMismatchError(
            "the two reports were scored with different thresholds, graphs or corpora",
            hint="Score both files with the same settings.",
        )


def compare_pairs(
    mode: Mode,
    reports: Mapping[str, SynthLinkReport],
    pairs: Sequence[tuple[str, str]],
    groups: Sequence[str] | None = None,
) -> list[QuestionComparison]:
    """Compares pairs of reports in one mode, by pair, then group, then metric.

    Args:
        mode: a mode of all reports.
        reports: name → report; see ``compare_reports``.
        pairs: names of two reports each.
        groups: ``ALL_GROUP`` and categories; by default all.
    """
    first = next(iter(reports.values()))
    scores = first.modes[mode]
    resamples = ClusterResamples(len(scores.questions), first.resamples, first.seed)
    differences = [
        difference
        for pair in pairs
        for group in groups or (ALL_GROUP, *scores.categories)
        for difference in _compare_in_group(mode, group, pair, reports, resamples)
    ]
    return adjust_families(differences, _test_family, lambda _: True)


def _test_family(difference: QuestionComparison) -> str:
    """Returns the name of the family of tests that this one is adjusted with."""
    return ALL_GROUP if difference.group == ALL_GROUP else f"categories by {difference.metric}"


def _compare_in_group(
    mode: Mode,
    group: str,
    pair: tuple[str, str],
    reports: Mapping[str, SynthLinkReport],
    resamples: ClusterResamples,
) -> list[QuestionComparison]:
    settings = reports[pair[0]]
    pair_of_rows = [reports[name].modes[mode].questions for name in pair]
    in_group = np.array([group in (ALL_GROUP, row.category) for row in pair_of_rows[0]])
    # Every column has a row per question, whatever the group: resamples are of all questions, and
    # those outside the group are nan, which counts as not measured.
    value_pairs = []
    for metric in METRICS:
        candidate, baseline = (
            collect_metric_values(rows, metric, in_group) for rows in pair_of_rows
        )
        value_pairs.append((candidate, baseline))
    return compare_item_values(
        [
            QuestionComparison(
                metric=metric, candidate=pair[0], baseline=pair[1], mode=mode, group=group
            )
            for metric in METRICS
        ],
        value_pairs,
        resamples,
        confidence=settings.confidence,
        is_binary=False,
        is_share=True,
    )
