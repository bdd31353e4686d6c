"""Properties of every run's metrics: order, merging, bounds, perfect replies, nearly empty runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nervaluate.entities import EvaluationResult
from scipy import stats

from eval.extraction.aggregate import MeasurementPlan, aggregate_rows, build_report
from eval.extraction.metrics.columns import FIELD_RATIOS
from eval.extraction.metrics.quality_score import compute_sample_metrics
from eval.extraction.metrics.system_rows import OTHER_FIELDS, collect_rows
from eval.extraction.record import Estimate, ExtractionReport, SystemReport
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.result import Usage
from kg.base.errors import DuplicateIdError, RecordError
from kg.base.proportions import wilson_interval

FAST = MeasurementPlan(resamples=60)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "n": {"type": "integer"},
        "o": {"type": "object", "properties": {"b": {"type": "boolean"}, "s": {"type": "string"}}},
        "l": {
            "type": "array",
            "items": {"type": "object", "properties": {"k": {"type": "string"}}},
        },
    },
    "required": ["a"],
}
TRUTHS = [
    {"a": "red fox", "n": 3, "o": {"b": True}, "l": [{"k": "x"}, {"k": "y"}]},
    {"a": "blue whale", "n": 7, "o": {"b": False, "s": "sea"}},
    {"a": "grey owl", "l": [{"k": "z"}]},
    {"a": "old oak"},
]
REPLIES = [
    {"a": "red fox", "n": 3, "o": {"b": True}, "l": [{"k": "x"}, {"k": "y"}]},
    {"a": "the red fox", "n": 4, "o": {"s": "wood"}, "l": [{"k": "y"}]},
    {"a": "blue whale", "n": "7"},
    {"a": "blue whale", "n": 7, "o": {"b": False, "s": "sea"}, "x": 1},
    {"a": "old oak", "l": [{"k": "z"}, {"k": "w"}]},
    {},
    [1, 2],
    "no JSON",
    "failed",
]


@cache
def score_reply(truth: int, reply: int) -> ExtractionRow:
    came = REPLIES[reply]
    parsed = not isinstance(came, str)
    sample = Sample(id="", text="the red fox by the sea", schema=SCHEMA, expected=TRUTHS[truth])
    found = score_sample(sample, came if parsed else None, parsed=parsed).score
    found = msgspec.structs.replace(found, domain=f"d{truth % 2}", language="de" if truth else "en")
    outcome = "OK" if found.valid else "INVALID" if parsed else "UNPARSABLE"
    return ExtractionRow(
        id="",
        system="m",
        outcome="ERROR" if came == "failed" else outcome,
        predicted=came if parsed else None,
        score=found,
    )


def rows_of(
    drawn: Sequence[tuple[int, int]], repeats: int = 1, system: str = "m"
) -> list[ExtractionRow]:
    """Returns one row per pair; ``repeats`` consecutive rows belong to one sample."""
    rows = []
    for place, (_, reply) in enumerate(drawn):
        sample, repeat = divmod(place, repeats)
        first = drawn[sample * repeats][0]
        rows.append(
            msgspec.structs.replace(
                score_reply(first, reply),
                id=f"s{sample:03}",
                repeat=repeat,
                system=system,
                latency_s=0.1 + (place * 7 % 11) / 10,
                at_s=1000.0 + place,
                confidence=(place % 5) / 4,
                usage=Usage(100 + place, 10, 0.001),
            )
        )
    return rows


RUNS = st.lists(
    st.tuples(st.integers(0, len(TRUTHS) - 1), st.integers(0, len(REPLIES) - 1)),
    min_size=1,
    max_size=14,
)


def measure_rows(rows: Sequence[ExtractionRow], plan: MeasurementPlan = FAST) -> SystemReport:
    return aggregate_rows(rows, plan).systems["m"]


def list_values(one: SystemReport) -> dict[str, Estimate]:
    found = dict(one.metrics)
    for name, averages in one.averages.items():
        found |= {f"{name} {average}": value for average, value in averages.items()}
    for dimension, breakdown in one.breakdowns.items():
        for key, group in breakdown.groups.items():
            found |= {f"{dimension} {key} {name}": v for name, v in group.metrics.items()}
    return found


def report_bytes(report: ExtractionReport) -> bytes:
    return msgspec.json.encode(report)


@given(RUNS, st.randoms(use_true_random=False), st.sampled_from([1, 2]))
@settings(deadline=None, max_examples=12)
def test_row_order_does_not_matter(drawn: Any, random: Any, repeats: int) -> None:
    plan = replace(FAST, repeats=repeats)
    rows = rows_of(drawn, repeats)
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert report_bytes(aggregate_rows(shuffled, plan)) == report_bytes(aggregate_rows(rows, plan))


@given(RUNS, st.integers(0, 14), st.sampled_from([1, 2]))
@settings(deadline=None, max_examples=12)
def test_two_halves_merged_equal_the_whole(drawn: Any, cut: int, repeats: int) -> None:
    plan = replace(FAST, repeats=repeats)
    rows = rows_of(drawn, repeats)
    halves = [collect_rows(part, repeated=repeats > 1) for part in (rows[:cut], rows[cut:]) if part]
    whole = halves[0]
    for other in halves[1:]:
        whole["m"].merge_rows(other["m"])
    assert report_bytes(build_report(whole, plan)) == report_bytes(aggregate_rows(rows, plan))


@given(RUNS, st.sampled_from(["zero", "as_is"]))
@settings(deadline=None, max_examples=15)
def test_values_stay_in_their_ranges(drawn: Any, invalid: Any) -> None:
    one = measure_rows(rows_of(drawn), replace(FAST, invalid=invalid))
    unbounded = ("latency", "throughput", "token", "cost", "value_variance")
    for name, value in list_values(one).items():
        assert (value.value is None) == bool(value.why), name
        if value.value is None:
            assert value.low is None, name
            continue
        for number in (value.value, value.low, value.high, value.worst, value.best):
            assert number is None or number >= 0, name
            assert number is None or number <= 1 or name.startswith(unbounded), name
        if value.low is not None and value.high is not None and value.method != "bootstrap-bca":
            assert value.low <= value.high
        if value.worst is not None and value.best is not None:
            low, high = sorted((value.worst, value.best))
            assert low - 1e-9 <= value.value <= high + 1e-9, name
    for mode in one.categories.values():
        assert all(share.count >= 0 for share in mode.values())


@given(RUNS)
@settings(deadline=None, max_examples=15)
def test_strict_is_at_most_partial_is_at_most_lenient(drawn: Any) -> None:
    one = measure_rows(rows_of(drawn))
    for kind in ("precision", "recall", "f1"):
        for average in ("micro", "macro", "weighted"):
            found = [
                one.averages[f"field_{kind}_{mode}"][average].value
                for mode in ("strict", "partial", "lenient")
            ]
            if None not in found:
                assert found == sorted(found, key=lambda value: value or 0)


@given(RUNS, st.sampled_from(["zero", "as_is"]))
@settings(deadline=None, max_examples=12)
def test_precision_recall_and_f1_match_nervaluate(drawn: Any, invalid: Any) -> None:
    one = measure_rows(rows_of(drawn), replace(FAST, invalid=invalid))
    for mode in ("strict", "partial"):
        counts = {name: share.count for name, share in one.categories[mode].items()}
        theirs = EvaluationResult(
            correct=counts["exact"],
            **{name: counts[name] for name in ("incorrect", "partial", "missed", "spurious")},
        )
        theirs.compute_metrics(partial_or_type=mode == "partial")
        for kind in ("precision", "recall", "f1"):
            ours = one.metrics[f"field_{kind}_{mode}"].value
            # nervaluate gives 0 where this code gives null.
            assert (ours or 0.0) == pytest.approx(getattr(theirs, kind))


@given(st.lists(st.integers(0, len(TRUTHS) - 1), min_size=1, max_size=10))
@settings(deadline=None, max_examples=12)
def test_expected_output_is_perfect(truths: list[int]) -> None:
    rows = []
    for place, truth in enumerate(truths):
        sample = Sample(id=f"s{place}", text="t", schema=SCHEMA, expected=TRUTHS[truth])
        found = score_sample(sample, TRUTHS[truth]).score
        rows.append(
            ExtractionRow(
                id=sample.id, system="m", outcome="OK", predicted=TRUTHS[truth], score=found
            )
        )
    one = measure_rows(rows)
    for name in ("schema_validity", "exact_match", "extraction_quality_score"):
        assert one.metrics[name].value == 1
    assert one.metrics["extraction_quality_score_micro"].value == 1
    for name in FIELD_RATIOS:
        expected = 0 if name in ("hallucination_rate", "omission_rate") else 1
        assert {value.value for value in one.averages[name].values()} == {expected}, name
    assert one.errors.total == 0
    # A perfect result still has an interval.
    assert (one.metrics["field_f1_partial"].low or 1) < 1


@given(RUNS, st.sampled_from(["zero", "as_is"]))
@settings(deadline=None, max_examples=12)
def test_single_sample_metrics_match_per_sample_scores(drawn: Any, invalid: Any) -> None:
    rows = [row for row in rows_of(drawn[:3]) if row.outcome != "ERROR"]
    short = {f"field_{k}_{m}": f"{k}_{m}" for k in ("precision", "recall", "f1") for m in MODES}
    for row in rows:
        one = measure_rows([row], replace(FAST, invalid=invalid))
        alone = compute_sample_metrics(row.score, invalid=invalid)
        assert one.quality.score.value == pytest.approx(alone.eqs)
        assert one.metrics["exact_match"].value == float(alone.exact_match)
        for name in FIELD_RATIOS:
            value = getattr(alone, short.get(name, name))
            assert one.averages[name]["macro"].value == pytest.approx(value), name


MODES = ("strict", "partial", "lenient")


@given(RUNS)
@settings(deadline=None, max_examples=15)
def test_bounds_contain_every_possible_outcome_of_failed_calls(drawn: Any) -> None:
    rows = rows_of(drawn)
    one = measure_rows(rows)
    # The extremes: the expected output, or equally many wrong fields.
    for better in (True, False):
        others = [
            row if row.outcome != "ERROR" else _replace_failed_call(row, better=better)
            for row in rows
        ]
        found = measure_rows(others)
        score_names = ("extraction_quality_score", "extraction_quality_score_micro")
        for name in (*FIELD_RATIOS, *score_names, "schema_validity", "exact_match"):
            bounds, value = one.metrics[name], found.metrics[name].value
            if value is None or bounds.worst is None or bounds.best is None:
                continue
            low, high = sorted((bounds.worst, bounds.best))
            assert low - 1e-9 <= value <= high + 1e-9, name


def _replace_failed_call(row: ExtractionRow, *, better: bool) -> ExtractionRow:
    truth = next(
        truth
        for place, truth in enumerate(TRUTHS)
        if score_reply(place, len(REPLIES) - 1).score == row.score
    )
    came: Any = truth if better else {f"made up {n}": n for n in range(row.score.tally.expected)}
    sample = Sample(id=row.id, text="t", schema=SCHEMA, expected=truth)
    found = score_sample(sample, came).score
    return msgspec.structs.replace(row, outcome="OK", predicted=came, score=found)


@given(RUNS)
@settings(deadline=None, max_examples=12)
def test_one_more_failure_never_narrows_the_bounds(drawn: Any) -> None:
    rows = rows_of(drawn)
    failed = rows_of([*drawn, (0, len(REPLIES) - 1)])
    one, more = measure_rows(rows), measure_rows(failed)
    for name in ("field_f1_partial", "extraction_quality_score", "hallucination_rate"):
        before, after = one.metrics[name], more.metrics[name]
        if before.worst is None or before.best is None:
            continue
        assert after.worst is not None
        assert after.best is not None
        assert min(after.worst, after.best) <= min(before.worst, before.best) + 1e-12
        assert max(after.worst, after.best) >= max(before.worst, before.best) - 1e-12


def test_bootstrap_matches_scipy() -> None:
    rng = np.random.default_rng(3)
    drawn = list(map(tuple, rng.integers(0, (4, 6), (60, 2)).tolist()))
    rows = rows_of(drawn)
    one = measure_rows(rows, MeasurementPlan(resamples=2000))
    macro = [compute_sample_metrics(row.score).f1_partial for row in rows]
    known = np.array([value for value in macro if value is not None])
    theirs = stats.bootstrap(
        (known,), np.mean, n_resamples=2000, method="BCa", rng=np.random.default_rng(12345)
    ).confidence_interval
    ours = one.averages["field_f1_partial"]["macro"]
    assert ours.method == "bootstrap-bca"
    # Not to the last digit: many resamples equal the value, which we count half, and of which
    # scipy takes some for greater and some for less, as the rounding of its sums has it.
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=5e-4)


def test_micro_average_is_resampled_by_sample() -> None:
    rng = np.random.default_rng(4)
    drawn = list(map(tuple, rng.integers(0, (4, 6), (40, 2)).tolist()))
    rows = rows_of(drawn)
    ours = measure_rows(rows, MeasurementPlan(resamples=300)).metrics["field_f1_partial"]
    tallies = [row.score.headline_tally for row in sorted(rows, key=lambda row: row.id)]
    sums = np.array([[2 * t.sum_credit("partial"), t.expected + t.predicted] for t in tallies])
    draws = np.random.default_rng(12345).integers(0, 40, (300, 40))
    again = [sums[chosen].sum(axis=0) for chosen in draws]
    assert ours.std == pytest.approx(np.std([top / bottom for top, bottom in again], ddof=1))


def test_group_is_resampled_by_its_own_samples() -> None:
    drawn = [(place % 4, place * 5 % 7) for place in range(40)]
    rows = rows_of(drawn)
    ours = measure_rows(rows, MeasurementPlan(resamples=300)).breakdowns["domain"].groups["d1"]
    inside = np.array([row.score.domain == "d1" for row in rows])
    sums = np.array(
        [
            [2 * t.sum_credit("partial"), t.expected + t.predicted]
            for t in (row.score.headline_tally for row in rows)
        ]
    )
    sums[~inside] = 0
    again = [
        sums[chosen].sum(axis=0)
        for chosen in np.random.default_rng(12345).integers(0, 40, (300, 40))
    ]
    value = ours.metrics["field_f1_partial"]
    assert value.std == pytest.approx(np.std([top / bottom for top, bottom in again], ddof=1))


def test_failed_call_only_affects_breakdown_bounds() -> None:
    whole = measure_rows(rows_of([(0, 0), (1, 1)])).breakdowns
    more = measure_rows(rows_of([(0, 0), (1, 1), (0, REPLIES.index("failed"))])).breakdowns
    for dimension in ("type", "depth", "name", "required", "complexity"):
        for key, group in whole[dimension].groups.items():
            also = more[dimension].groups[key]
            assert (also.expected, also.predicted) == (group.expected, group.predicted)
            for name, value in group.metrics.items():
                assert also.metrics[name].value == value.value, (dimension, key, name)
    recall = more["type"].groups["string"].metrics["field_recall_partial"]
    # red fox, x and y are the expected texts of the third sample.
    credit, expected = recall.numerator or 0, recall.denominator or 0
    assert (recall.worst, recall.best) == pytest.approx(
        (credit / (expected + 3), (credit + 3) / (expected + 3))
    )


def test_proportions_have_wilson_intervals() -> None:
    one = measure_rows(rows_of([(0, 0)] * 7 + [(1, 2)] * 3)).metrics["schema_validity"]
    assert one.method == "wilson"
    assert (one.low, one.high) == pytest.approx(wilson_interval(7, 10))


@pytest.mark.parametrize("reply", range(len(REPLIES)))
def test_nearly_empty_runs_are_measured(reply: int) -> None:
    # A one-sample run: all calls failed, or no valid reply, depending on the reply.
    one = measure_rows(rows_of([(0, reply)]))
    assert one.outcomes.rows == 1
    for name, value in list_values(one).items():
        assert (value.value is None) == bool(value.why), name
    assert all(c.pearson is None and c.why for c in one.correlations)
    assert one.recommendation.verdict


def test_a_sample_without_any_field_has_no_score() -> None:
    empty = Sample(id="e", text="t", schema=SCHEMA | {"required": []}, expected={})
    found = score_sample(empty, {}).score
    rows = [ExtractionRow(id="e", system="m", outcome="OK", predicted={}, score=found)]
    one = measure_rows(rows)
    assert one.metrics["schema_validity"].value == 1
    assert one.metrics["exact_match"].value == 1
    assert one.quality.score.value is None
    assert one.quality.score.why
    assert any("no quality score" in note for note in one.notes)
    # Among other samples it is left out, not counted as 0.
    both = measure_rows([*rows, *rows_of([(0, 0)])])
    assert (both.quality.score.value, both.quality.score.n) == (1, 1)


def test_empty_replies_never_raise_the_score() -> None:
    full = measure_rows(rows_of([(0, 0), (1, 1)])).quality.score
    empty = measure_rows(rows_of([(0, 0), (1, 5)])).quality.score
    assert full.n == empty.n == 2
    assert (empty.value or 0) < (full.value or 0)


def test_inconsistent_rows_are_refused() -> None:
    with pytest.raises(RecordError, match="no rows"):
        aggregate_rows([], FAST)
    rows = rows_of([(0, 0), (1, 1)])
    with pytest.raises(DuplicateIdError, match="two rows of sample 's000', repeat 0"):
        aggregate_rows([*rows, rows[0]], FAST)
    with pytest.raises(RecordError, match="the rows have 2 repeats, but 1 were planned"):
        aggregate_rows(rows_of([(0, 0), (0, 1)], repeats=2), FAST)
    other = msgspec.structs.replace(rows_of([(2, 0)])[0], system="n")
    with pytest.raises(RecordError, match="expect"):
        aggregate_rows([*rows, other], FAST)


def test_equal_systems_get_equal_resamples() -> None:
    drawn = [(n % 4, n % 6) for n in range(12)]
    both = aggregate_rows([*rows_of(drawn, system="b"), *rows_of(drawn, system="a")], FAST)
    assert list(both.systems) == ["a", "b"]
    assert both.systems["a"] == both.systems["b"]
    assert both.n_samples == 12


def test_number_of_kept_field_names_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eval.extraction.metrics.system_rows._MAX_KEYS", 6)
    gathered = collect_rows(rows_of([(0, 1), (1, 3)]))["m"]
    assert ("name", OTHER_FIELDS) in gathered.keys
    one = build_report({"m": gathered}, FAST).systems["m"]
    assert (
        one.metrics["field_f1_partial"]
        == measure_rows(rows_of([(0, 1), (1, 3)])).metrics["field_f1_partial"]
    )


def test_hash_seed_does_not_matter() -> None:
    code = (
        "import msgspec, sys; from hashlib import sha256;"
        "from eval.extraction.aggregate import aggregate_rows, MeasurementPlan;"
        "from eval.extraction.row import ExtractionRow;"
        "rows = msgspec.json.decode(sys.stdin.buffer.read(), type=list[ExtractionRow]);"
        "report = aggregate_rows(rows, MeasurementPlan(resamples=40, repeats=2));"
        "print(sha256(msgspec.json.encode(report)).hexdigest())"
    )
    given_rows = msgspec.json.encode(rows_of([(n % 4, n % 8) for n in range(20)], repeats=2))
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=given_rows,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
