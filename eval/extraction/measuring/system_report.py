"""One system's numbers, from its gathered rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from eval.extraction.measuring.associations import associations
from eval.extraction.measuring.breakdowns import (
    SAMPLE_COLUMNS,
    breakdowns,
    field_parts,
    sample_parts,
)
from eval.extraction.measuring.calibration import confidences
from eval.extraction.measuring.columns import CREDIT, Columns, combined, outcome_columns
from eval.extraction.measuring.consistency_report import consistency, consistency_part
from eval.extraction.measuring.distributions import (
    CATEGORY_MEASURES,
    composite,
    confusion,
    errors,
    similarities,
)
from eval.extraction.measuring.gathering import OUTCOMES, WHOLE, Gathered
from eval.extraction.measuring.grades import grades, service_levels
from eval.extraction.measuring.measure_plan import Plan
from eval.extraction.measuring.measures import (
    AVERAGES,
    COST,
    FABRICATED,
    LATENCY,
    OF_FIELDS,
    OF_SAMPLES,
    RELIABILITY,
    SEVERITIES,
    TOKEN_EFFICIENCY,
)
from eval.extraction.measuring.notes import system_notes
from eval.extraction.measuring.performance import performance
from eval.extraction.measuring.quality_report import COLUMNS as OF_QUALITY
from eval.extraction.measuring.quality_report import quality
from eval.extraction.measuring.quality_score import PARTS
from eval.extraction.measuring.recommending import recommendation
from eval.extraction.measuring.resampling import resampled
from eval.extraction.measuring.sheet import Sheet, Sums
from eval.extraction.record import (
    Average,
    Breakdown,
    Consistency,
    Dimension,
    Hallucinations,
    Invalid,
    Outcomes,
    Performance,
    Severity,
    Share,
    SystemReport,
    Value,
)
from eval.stats.intervals import Draws
from eval.stats.measured import Measure

_SCORE = "extraction_quality_score"
_BESIDES = (FABRICATED, LATENCY, TOKEN_EFFICIENCY, COST, *RELIABILITY)
_OTHER: Mapping[Invalid, Invalid] = {"zero": "as_is", "as_is": "zero"}
_WITH_OMISSIONS: tuple[Dimension, ...] = ("name", "type", "required", "depth")


def system_report(
    gathered: Gathered, places: NDArray[np.int64], draws: Draws, plan: Plan
) -> SystemReport:
    """All of one system's numbers.

    Args:
        gathered: its rows, at least one.
        places: place in the run of each of its samples, shape (its samples,).
        draws: over all samples of the run.
        plan: how to measure.
    """
    samples = draws.clusters
    ended = outcome_columns(gathered, plan.prices)
    columns = Columns(gathered, places, invalid=plan.invalid, weights=plan.weights)
    sheet = _headline(columns, ended, samples)
    other = _other_policy(gathered, places, plan, ended, samples)
    fields, left_out = field_parts(gathered, columns, plan.names)
    groups = fields | sample_parts(gathered, sheet.table, sheet.names, columns.sample)
    repeats = consistency_part(gathered, places, samples)
    found = resampled([sheet.part, other.part, repeats, *groups.values()], draws)

    whole, others = (
        Sums(one, one.part.with_sums(sums), plan.confidence, repeated=plan.repeats > 1)
        for one, sums in zip((sheet, other), found, strict=False)
    )
    averages = {average: whole.values(OF_FIELDS[average]) for average in AVERAGES}
    metrics = {
        **whole.values(OF_SAMPLES),
        **averages[plan.average],
        **whole.values(_BESIDES),
    }
    scores = quality(
        metrics[_SCORE], whole.data, sheet.names, sheet.totals, plan.weights, plan.confidence
    )
    # An invalid reply earns no more here than in the headline, and what nobody priced nothing.
    right = float(combined(columns.tallies, CREDIT["partial"]) @ ended["cost_usd:n"])
    took = performance(gathered, columns.sample, draws, plan.confidence, metrics, right=right)
    sure = confidences(gathered, columns.sample, draws, plan.confidence)
    agreeing = (
        consistency(repeats.with_sums(found[2]), plan.confidence)
        if gathered.prints is not None
        else None
    )
    metrics |= _of_parts(scores.micro, took, sure.error, agreeing)
    parts = breakdowns(
        groups,
        found[3:],
        columns.means(samples)["field_f1_partial"],
        confidence=plan.confidence,
        repeated=plan.repeats > 1,
        left_out=left_out,
    )
    with_features, among_metrics = associations(gathered, columns, samples, plan.confidence)
    outcomes = _outcomes(gathered)
    graded, mistakes = grades(metrics), errors(gathered)
    return SystemReport(
        outcomes=outcomes,
        metrics=metrics,
        averages=_by_metric(averages),
        other_policy=others.values(_ACCURACY[plan.average]),
        quality=scores,
        categories={
            mode: {name: _as_share(one) for name, one in whole.values(measures).items()}
            for mode, measures in CATEGORY_MEASURES.items()
        },
        composite=composite(gathered),
        hallucinations=_hallucinations(gathered, whole),
        omissions=_omissions(parts),
        type_confusion=confusion(gathered),
        errors=mistakes,
        similarities=similarities(gathered),
        breakdowns=parts,
        correlations=with_features,
        metric_correlations=among_metrics,
        performance=took,
        reliability={one.name: metrics[one.name] for one in RELIABILITY},
        confidences=sure.counts,
        calibration=sure.report,
        consistency=agreeing,
        grades=graded,
        sla=service_levels(metrics, plan.requirements),
        recommendation=recommendation(metrics, parts, graded, mistakes),
        notes=tuple(system_notes(outcomes, metrics, gathered, plan)),
    )


_ACCURACY: Mapping[Average, tuple[Measure, ...]] = {
    average: (*OF_SAMPLES[:1], *OF_FIELDS[average]) for average in AVERAGES
}
"""What depends on the policy of invalid replies."""


def _headline(columns: Columns, ended: Mapping[str, np.ndarray], samples: int) -> Sheet:
    measures: Iterable[Measure] = (
        *OF_SAMPLES,
        *(one for average in AVERAGES for one in OF_FIELDS[average]),
        *(one for measures in CATEGORY_MEASURES.values() for one in measures),
        *SEVERITIES,
        *_BESIDES,
    )
    besides = (*OF_QUALITY, *SAMPLE_COLUMNS, *(f"part:{name}:sum" for name in PARTS))
    every = {**ended, **columns.additive()}
    return Sheet.of(columns, every, measures, samples, besides=besides)


def _other_policy(
    gathered: Gathered,
    places: NDArray[np.int64],
    plan: Plan,
    ended: Mapping[str, np.ndarray],
    samples: int,
) -> Sheet:
    columns = Columns(gathered, places, invalid=_OTHER[plan.invalid], weights=plan.weights)
    every = {**ended, **columns.additive()}
    return Sheet.of(columns, every, _ACCURACY[plan.average], samples)


def _of_parts(
    micro: Value, took: Performance, error: Value, agreeing: Consistency | None
) -> dict[str, Value]:
    """The metrics that other parts of the report work out."""
    once = Value(value=None, why="each sample was put once")
    rate = Value(
        value=took.throughput_rps,
        higher_is_better=True,
        why="" if took.throughput_rps is not None else "nobody took down when calls came back",
    )
    return {
        "extraction_quality_score_micro": micro,
        **{f"latency_{name}_s": one for name, one in took.latency_s.items() if name != "mean"},
        "throughput_rps": rate,
        "exact_match_consistency": agreeing.exact_match_consistency if agreeing else once,
        "field_level_consistency": agreeing.field_level_consistency if agreeing else once,
        "value_variance": agreeing.value_variance if agreeing else once,
        "expected_calibration_error": error,
    }


def _by_metric(
    averages: Mapping[Average, Mapping[str, Value]],
) -> dict[str, dict[Average, Value]]:
    return {
        name: {average: found[name] for average, found in averages.items()}
        for name in averages["micro"]
    }


def _hallucinations(gathered: Gathered, whole: Sums) -> Hallucinations:
    table = gathered.whole
    came = table[:, WHOLE.index("outcome")] != OUTCOMES.index("error")
    counts = {
        str(one): int(table[came, WHOLE.index(f"hallucination_{one}")].sum())
        for one in (1, 2, 3, 4)
    }
    severities = whole.values(SEVERITIES)
    named: tuple[Severity, ...] = ("critical", "moderate", "minor")
    return Hallucinations(
        by_type=counts,
        severity={name: _as_share(severities[name]) for name in named},
        total=sum(counts.values()),
    )


def _omissions(parts: Mapping[Dimension, Breakdown]) -> dict[Dimension, dict[str, Value]]:
    """The omission rates of fields, of those that are expected at all."""
    return {
        dimension: {
            key: group.metrics["omission_rate"]
            for key, group in parts[dimension].groups.items()
            if group.expected
        }
        for dimension in _WITH_OMISSIONS
    }


def _outcomes(gathered: Gathered) -> Outcomes:
    ended = gathered.whole[:, WHOLE.index("outcome")]
    counts = {name: int((ended == place).sum()) for place, name in enumerate(OUTCOMES)}
    return Outcomes(rows=len(ended), scored=len(ended) - counts["error"], **counts)


def _as_share(one: Value) -> Share:
    """A value that is a share of a whole, as a count with its share."""
    return Share(
        count=round(one.numerator or 0.0),
        share=one.value,
        low=one.low,
        high=one.high,
        method=one.method,
    )
