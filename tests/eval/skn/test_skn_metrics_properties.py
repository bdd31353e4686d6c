"""Tests properties that the metrics of any run must have, for example that bounds are in order."""

from __future__ import annotations

from itertools import chain

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.skn.metrics import MeasurementPlan, measure_observations
from eval.skn.row import OUTCOMES, Outcome
from eval.skn.scoring.observation import Observation
from eval.stats.estimates import Estimate

PLAN = MeasurementPlan(resamples=20)
TOLERANCE = 1e-9
PIPELINES = ("json", "skn")
OUTCOME_CHOICES: tuple[Outcome, ...] = ("ANSWERED", "ANSWERED", "ANSWERED", *OUTCOMES)
CATEGORIES = ("diagnostic", "misleading")


@st.composite
def generate_observation(
    draw: st.DrawFn, sample: int, pipeline: str, answerable: bool
) -> Observation:
    """Generates any possible row, including partly judged ones."""
    outcome = draw(st.sampled_from(OUTCOME_CHOICES))
    base = Observation(
        sample=f"s{sample}",
        category=CATEGORIES[sample % 2],
        pipeline=pipeline,
        answerable=answerable,
        outcome=outcome,
        has_answer_text=False,
        tokens=draw(st.none() | st.integers(1, 900)),
        latency_s=draw(st.none() | st.sampled_from([0.5, 1.0, 2.0])),
    )
    if base.failed:
        return base
    shares = st.none() | st.sampled_from([0.0, 0.25, 0.7, 1.0])
    claims = draw(st.none() | st.integers(0, 5))
    return msgspec.structs.replace(
        base,
        has_answer_text=draw(st.sampled_from([True, True, True, False])),
        abstention_source=draw(st.sampled_from(["field", "text"])),
        correct=draw(st.none() | st.booleans()),
        confidence=draw(st.none() | st.sampled_from([0.0, 0.3, 0.65, 0.7, 1.0])),
        detected=draw(st.none() | st.booleans()),
        claims=claims,
        fabricated=None if claims is None else draw(st.integers(0, claims)),
        severity=draw(shares),
        groundedness=None if claims == 0 else draw(shares),
        unsupported=None if claims == 0 else draw(shares),
        makes_no_claims=claims == 0,
    )


@st.composite
def generate_runs(draw: st.DrawFn) -> list[Observation]:
    """Generates rows of two pipelines on some samples."""
    rows: list[Observation] = []
    for sample in range(draw(st.integers(1, 9))):
        answerable = draw(st.sampled_from([True, True, False]))
        rows += [draw(generate_observation(sample, pipeline, answerable)) for pipeline in PIPELINES]
    return rows


def get_bounds(value: Estimate) -> tuple[float, float] | None:
    """Returns the lower and the upper bound, or None if the metric has no bounds."""
    if value.worst is None or value.best is None:
        return None
    return min(value.worst, value.best), max(value.worst, value.best)


@given(generate_runs())
@settings(deadline=None, max_examples=50)
def test_bounds_contain_the_value_and_intervals_are_in_order(rows: list[Observation]) -> None:
    report = measure_observations(rows, PLAN)
    for pipeline_report in report.pipelines.values():
        estimates = [
            *pipeline_report.metrics.items(),
            *chain.from_iterable(
                metrics.items() for metrics in pipeline_report.per_category.values()
            ),
            *pipeline_report.validity.items(),
        ]
        for name, value in estimates:
            bounds = get_bounds(value)
            if value.value is not None and bounds is not None:
                assert bounds[0] - TOLERANCE <= value.value <= bounds[1] + TOLERANCE, name
            if bounds is not None and value.higher_is_better is not None:
                worst_is_lower = value.worst <= value.best  # type: ignore[operator]
                assert worst_is_lower is value.higher_is_better or bounds[0] == bounds[1], name
            assert (value.low is None) is (value.high is None)
            if value.low is not None and value.high is not None:
                assert value.low <= value.high, name
            assert (value.value is None) is bool(value.why), name


@given(generate_runs(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=30)
def test_row_order_does_not_matter(rows: list[Observation], rng: object) -> None:
    report = msgspec.json.encode(measure_observations(rows, PLAN))
    rng.shuffle(rows)  # type: ignore[attr-defined]
    assert msgspec.json.encode(measure_observations(rows, PLAN)) == report


@given(generate_runs())
@settings(deadline=None, max_examples=40)
def test_identical_pipelines_show_no_difference(rows: list[Observation]) -> None:
    skn_rows = [row for row in rows if row.pipeline == "skn"]
    json_rows = [msgspec.structs.replace(row, pipeline="json") for row in skn_rows]
    for comparison in measure_observations([*skn_rows, *json_rows], PLAN).comparisons:
        assert comparison.value_candidate == comparison.value_baseline
        assert comparison.better is None
        if comparison.difference is None:
            assert comparison.p is None
        else:
            assert comparison.difference == 0.0
            assert comparison.p == comparison.p_holm
            # No test where more than one resample in twenty has no value.
            assert comparison.p == 1.0 or (comparison.p is None and comparison.low is None)
            assert comparison.n_differ == 0


@given(generate_runs(), st.data())
@settings(deadline=None, max_examples=60)
def test_more_failures_never_narrow_the_bounds(
    rows: list[Observation], data: st.DataObject
) -> None:
    before = measure_observations(rows, PLAN).pipelines
    index = data.draw(st.integers(0, len(rows) - 1))
    row = rows[index]
    failed_row = Observation(
        sample=row.sample,
        category=row.category,
        pipeline=row.pipeline,
        answerable=row.answerable,
        outcome=data.draw(st.sampled_from(["INVALID", "ERROR"])),
        has_answer_text=False,
    )
    unjudged_row = msgspec.structs.replace(
        row,
        correct=None,
        detected=None,
        claims=None,
        fabricated=None,
        severity=None,
        groundedness=None,
        unsupported=None,
        makes_no_claims=False,
    )
    rows[index] = data.draw(st.sampled_from([failed_row, unjudged_row]))
    after = measure_observations(rows, PLAN).pipelines
    for pipeline, pipeline_report in after.items():
        for name, value in pipeline_report.metrics.items():
            old_bounds, new_bounds = get_bounds(before[pipeline].metrics[name]), get_bounds(value)
            if old_bounds is None:
                continue
            assert new_bounds is not None, name
            assert new_bounds[0] <= old_bounds[0] + TOLERANCE, name
            assert new_bounds[1] >= old_bounds[1] - TOLERANCE, name
