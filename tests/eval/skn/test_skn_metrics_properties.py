"""Properties of the metrics of any run: bounds, order, self-comparison, failures."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.skn.metrics import MeasurementPlan, measure_observations
from eval.skn.running.row import OUTCOMES, Outcome
from eval.skn.scoring.observation import Observation
from eval.stats.estimates import Estimate

PLAN = MeasurementPlan(resamples=20)
SLACK = 1e-9
PIPELINES = ("json", "skn")
ENDED: tuple[Outcome, ...] = ("ANSWERED", "ANSWERED", "ANSWERED", *OUTCOMES)
CATEGORIES = ("diagnostic", "misleading")


@st.composite
def generate_answers(draw: st.DrawFn, sample: int, pipeline: str, answerable: bool) -> Observation:
    """Generates any possible row, including partly judged ones."""
    outcome = draw(st.sampled_from(ENDED))
    about = Observation(
        sample=f"s{sample}",
        category=CATEGORIES[sample % 2],
        pipeline=pipeline,
        answerable=answerable,
        outcome=outcome,
        to_judge=False,
        tokens=draw(st.none() | st.integers(1, 900)),
        latency_s=draw(st.none() | st.sampled_from([0.5, 1.0, 2.0])),
    )
    if about.failed:
        return about
    share = st.none() | st.sampled_from([0.0, 0.25, 0.7, 1.0])
    claims = draw(st.none() | st.integers(0, 5))
    return msgspec.structs.replace(
        about,
        to_judge=draw(st.sampled_from([True, True, True, False])),
        read_by=draw(st.sampled_from(["field", "text"])),
        correct=draw(st.none() | st.booleans()),
        confidence=draw(st.none() | st.sampled_from([0.0, 0.3, 0.65, 0.7, 1.0])),
        detected=draw(st.none() | st.booleans()),
        claims=claims,
        fabricated=None if claims is None else draw(st.integers(0, claims)),
        severity=draw(share),
        groundedness=None if claims == 0 else draw(share),
        unsupported=None if claims == 0 else draw(share),
        claims_nothing=claims == 0,
    )


@st.composite
def generate_runs(draw: st.DrawFn) -> list[Observation]:
    """Generates rows of two pipelines on some samples."""
    rows: list[Observation] = []
    for sample in range(draw(st.integers(1, 9))):
        answerable = draw(st.sampled_from([True, True, False]))
        rows += [draw(generate_answers(sample, pipeline, answerable)) for pipeline in PIPELINES]
    return rows


def bounds_of(value: Estimate) -> tuple[float, float] | None:
    """The lower and the upper bound."""
    if value.worst is None or value.best is None:
        return None
    return min(value.worst, value.best), max(value.worst, value.best)


@given(generate_runs())
@settings(deadline=None, max_examples=50)
def test_bounds_contain_the_value_and_intervals_are_in_order(rows: list[Observation]) -> None:
    report = measure_observations(rows, PLAN)
    for one in report.pipelines.values():
        everywhere = [one.metrics, *one.per_category.values(), one.validity]
        for name, value in ((n, v) for values in everywhere for n, v in values.items()):
            bounds = bounds_of(value)
            if value.value is not None and bounds is not None:
                assert bounds[0] - SLACK <= value.value <= bounds[1] + SLACK, name
            if bounds is not None and value.higher_is_better is not None:
                worst_first = value.worst <= value.best  # type: ignore[operator]
                assert worst_first is value.higher_is_better or bounds[0] == bounds[1], name
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
    mine = [row for row in rows if row.pipeline == "skn"]
    twin = [msgspec.structs.replace(row, pipeline="json") for row in mine]
    for one in measure_observations([*mine, *twin], PLAN).comparisons:
        assert one.value_first == one.value_second
        assert one.better is None
        if one.difference is None:
            assert one.p is None
        else:
            assert one.difference == 0.0
            assert one.p == one.p_holm == 1.0
            assert one.n_differ == 0


@given(generate_runs(), st.data())
@settings(deadline=None, max_examples=60)
def test_more_failures_never_narrow_the_bounds(
    rows: list[Observation], data: st.DataObject
) -> None:
    before = measure_observations(rows, PLAN).pipelines
    place = data.draw(st.integers(0, len(rows) - 1))
    row = rows[place]
    lost = Observation(
        sample=row.sample,
        category=row.category,
        pipeline=row.pipeline,
        answerable=row.answerable,
        outcome=data.draw(st.sampled_from(["INVALID", "ERROR"])),
        to_judge=False,
    )
    unjudged = msgspec.structs.replace(
        row,
        correct=None,
        detected=None,
        claims=None,
        fabricated=None,
        severity=None,
        groundedness=None,
        unsupported=None,
        claims_nothing=False,
    )
    rows[place] = data.draw(st.sampled_from([lost, unjudged]))
    after = measure_observations(rows, PLAN).pipelines
    for pipeline, one in after.items():
        for name, value in one.metrics.items():
            old, new = bounds_of(before[pipeline].metrics[name]), bounds_of(value)
            if old is None:
                continue
            assert new is not None, name
            assert new[0] <= old[0] + SLACK, name
            assert new[1] >= old[1] - SLACK, name
