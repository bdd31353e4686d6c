"""Counts graded answers by question, and computes, tests and compares their measures.

Of a question that was asked several times, each answer counts. A question that a system has no
answer to counts as unusable.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import numpy as np

from eval.harness.predictions.reader import show_text
from eval.metrics.calibration import build_bootstrap_value, build_calibration_report
from eval.metrics.measurement import ResamplingPlan
from eval.metrics.record_digest import add_digest
from eval.outcomes.grades import OUTCOMES
from eval.outcomes.measures import (
    ABSTAINED,
    RIGHT,
    WRONG,
    Measure,
    compute_value,
    list_measures,
    vote,
)
from eval.outcomes.official_scores import measure_official
from eval.outcomes.pairs import ACCURACY, compare_pairs, resample_measures
from eval.outcomes.reader import GradedAnswers
from eval.outcomes.record import MAX_RISK_POINTS, OutcomesReport, SystemOutcomes
from eval.outcomes.table import OutcomeTable
from eval.stats.bootstrap import (
    ClusterResamples,
    Distribution,
    Floats,
    round_significant,
)
from eval.stats.estimates import (
    Estimate,
    Interval,
    add_interval,
    choose_interval,
    compute_edge_interval,
)
from eval.stats.selective_prediction import compute_risk_coverage
from kg.base.errors import RecordError
from kg.base.plain_text import format_count, join_list
from kg.base.proportions import wilson_interval
from kg.base.provenance import package_version


def measure_outcomes(graded: GradedAnswers, plan: ResamplingPlan) -> OutcomesReport:
    """Measures and compares all systems.

    Args:
        graded: the answers.
        plan: how questions (or clusters of them) are resampled.

    Raises:
        RecordError: rows contradict each other, or two systems have no question in common.
    """
    table = OutcomeTable(graded)
    _check_overlap(table)
    measures = list_measures(
        is_answerability_known=table.is_answerability_known, has_skill=table.has_skill
    )
    resamples = ClusterResamples(table.n_clusters, plan.resamples, plan.seed)
    distributions = {
        system: resample_measures(table, table.counts[system], measures, resamples)
        for system in table.systems
    }
    systems = {}
    for system, distribution in distributions.items():
        counts = table.counts[system]
        majority = {}
        if table.repeats[system] > 1:
            voted = vote(counts)
            majority = _estimate(
                table,
                voted,
                measures,
                resample_measures(table, voted, measures, resamples),
                plan,
                1,
            )
        systems[system] = SystemOutcomes(
            counts=dict(zip(OUTCOMES, map(int, counts.sum(axis=0)), strict=True)),
            missing=table.missing[system],
            repeats=table.repeats[system],
            measures=_estimate(table, counts, measures, distribution, plan, table.repeats[system]),
            n_confidences=len(table.questions.get(system, ())),
            confidences=_measure_confidences(table, system, resamples, plan),
            risk_coverage=_list_risk_points(table, system),
            official=measure_official(table, system, resamples, plan),
            majority=majority,
        )
    notes = list(graded.notes)
    for system, missing in table.missing.items():
        if missing and system not in graded.expected:
            notes.append(
                f"{system} lacks {format_count(missing, 'answer')} that other systems or repeats "
                "have; they count as unusable"
            )
    for name, found in systems.items():
        if 0 < found.n_confidences < found.n_given:
            notes.append(
                f"{name}: {found.n_given - found.n_confidences:,} of "
                f"{format_count(found.n_given, 'answer')} given have no confidence; "
                f"{join_list(list(found.confidences))} leave them out"
            )
    report = OutcomesReport(
        version=package_version(),
        n_questions=len(table.ids),
        n_answerable=int(table.is_answerable.sum()) if table.is_answerability_known else None,
        n_clusters=table.n_clusters,
        headline=measures[0].name,
        systems=systems,
        controls=_compute_controls(table, measures),
        comparisons=compare_pairs(
            table,
            list(itertools.combinations(table.systems, 2)),
            measures,
            [measures[0].name, ACCURACY],
            distributions,
            resamples,
            plan,
        ),
        questions=table.describe_questions(),
        confidence=plan.confidence,
        resamples=plan.resamples,
        seed=plan.seed,
        notes=tuple(notes),
    )
    return add_digest(report)


def _check_overlap(table: OutcomeTable) -> None:
    """Raises a ``RecordError`` if two systems have no question in common."""
    answered = np.stack([table.is_answered[system] for system in table.systems]).astype(np.float32)
    # Exact: a sum of ones is 0 only if there is none.
    for first, second in np.argwhere(answered @ answered.T == 0).tolist():
        names = [table.systems[number] for number in (first, second)]
        ids = [next(i for i, n in table.ids.items() if answered[row, n]) for row in (first, second)]
        raise RecordError(
            f"{show_text(names[0])} and {show_text(names[1])} have no question in common: the "
            f"first has {show_text(ids[0])}, the second {show_text(ids[1])}",
            hint="Systems are compared on the same questions, with the same ids; --map id=… names "
            "another field. To measure them apart, give each a call of its own, with --system NAME "
            "if they are in one file.",
        )


def _estimate(
    table: OutcomeTable,
    counts: Floats,
    measures: Sequence[Measure],
    distribution: Distribution,
    plan: ResamplingPlan,
    repeats: int,
) -> dict[str, Estimate]:
    """Estimates the measures: Wilson's interval for plain shares, else the bootstrap's."""
    totals = table.to_cells(counts).sum(axis=0)
    intervals = distribution.compute_intervals(plan.confidence)
    errors = distribution.compute_standard_errors()
    estimates = {}
    for column, measure in enumerate(measures):
        numerator, denominator = measure.ratios[0]
        n = float(totals @ denominator)
        is_single = len(measure.ratios) == 1
        estimate = Estimate(
            value=None,
            n=round(n) if measure.is_proportion else round(totals.sum()),
            numerator=float(totals @ numerator) if is_single else None,
            denominator=n if is_single else None,
            higher_is_better=measure.higher_is_better,
        )
        value = float(distribution.values[column])
        if np.isnan(value):
            why = "there is no such question or answer"
            estimates[measure.name] = msgspec.structs.replace(estimate, why=why)
            continue
        if measure.is_proportion and repeats == 1 and table.has_single_questions:
            bounds = wilson_interval(float(totals @ numerator), n, plan.confidence)
            interval = Interval(*bounds, "wilson")
        else:
            interval = choose_interval(intervals, column) or compute_edge_interval(
                value, float(distribution.support[column]), plan.confidence, measure.minimum
            )
        estimates[measure.name] = add_interval(estimate, value, interval, float(errors[column]))
    return estimates


def _measure_confidences(
    table: OutcomeTable, system: str, resamples: ClusterResamples, plan: ResamplingPlan
) -> dict[str, Estimate]:
    replies = table.replies.get(system)
    if replies is None:
        return {}
    distribution = replies.compute_distribution(resamples)
    n = len(replies.right)
    calibration = build_calibration_report(
        replies,
        table.questions[system],
        distribution,
        confidence=plan.confidence,
        seed=plan.seed,
    )
    return {
        "ECE": calibration.ece,
        "Brier": calibration.brier,
        "AURC": build_bootstrap_value(distribution, "aurc", plan.confidence, n),
        "AUGRC": build_bootstrap_value(distribution, "augrc", plan.confidence, n),
    }


def _list_risk_points(table: OutcomeTable, system: str) -> tuple[tuple[float, float, float], ...]:
    replies = table.replies.get(system)
    if replies is None:
        return ()
    curve = compute_risk_coverage(replies.confidences, replies.right)
    indexes = curve.select_points(MAX_RISK_POINTS)
    columns = (curve.thresholds, curve.coverage, curve.risk)
    points = zip(*(column[indexes].tolist() for column in columns), strict=True)
    return tuple((t, round_significant(c), round_significant(r)) for t, c, r in points)


def _compute_controls(
    table: OutcomeTable, measures: Sequence[Measure]
) -> dict[str, dict[str, float | None]]:
    """Computes the measures of two policies that need no system."""
    n_answerable = float(table.is_answerable.sum())
    n_unanswerable = float(len(table.ids)) - n_answerable
    policies = {"always abstains": (ABSTAINED, ABSTAINED)}
    if table.is_answerability_known:
        policies["answers everything, right where possible"] = (RIGHT, WRONG)
    return {
        name: {
            measure.name: compute_value(
                np.concatenate([n_answerable * first, n_unanswerable * second]), measure
            )
            for measure in measures
        }
        for name, (first, second) in policies.items()
    }
