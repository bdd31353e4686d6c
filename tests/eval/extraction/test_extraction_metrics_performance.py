"""Tests latency, throughput, tokens, cost and reliability against manually computed values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from eval.extraction.aggregate import MeasurementPlan, aggregate_rows
from eval.extraction.record import SystemReport
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.model.usage import Usage

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
FAST_PLAN = MeasurementPlan(resamples=200)


def make_row(number: int, **row_fields: Any) -> ExtractionRow:
    """Returns a row with both fields right, unless ``predicted`` or ``failed`` is given."""
    expected = {"a": f"word{number}", "b": number}
    failed = row_fields.pop("failed", False)
    predicted = row_fields.pop("predicted", None if failed else expected)
    name = f"s{number:03}"
    sample = Sample(id=name, text="some text", schema=SCHEMA, expected=expected)
    score = score_sample(sample, predicted, parsed=predicted is not None).score
    invalid_outcome = "INVALID" if score.parsed else "UNPARSABLE"
    outcome = "OK" if score.valid else invalid_outcome
    return ExtractionRow(
        id=name,
        system="m",
        outcome="ERROR" if failed else outcome,
        predicted=predicted,
        score=score,
        **row_fields,
    )


def measure_rows(rows: Sequence[ExtractionRow], plan: MeasurementPlan = FAST_PLAN) -> SystemReport:
    return aggregate_rows(rows, plan).systems["m"]


def test_latency_matches_manual_values() -> None:
    # The latencies are .01, .02 … 1.00 s, so 50 % of them are at most .50 s, and so on.
    performance = measure_rows([make_row(n, latency_s=n / 100) for n in range(1, 101)]).performance
    latencies = {name: value.value for name, value in performance.latency_s.items()}
    assert latencies == {
        "mean": pytest.approx(0.505),
        "p50": 0.5,
        "p95": 0.95,
        "p99": 0.99,
        "min": 0.01,
        "max": 1.0,
    }
    p95 = performance.latency_s["p95"]
    assert p95.low is not None
    assert p95.high is not None
    assert p95.low <= 0.95 <= p95.high
    assert p95.method == "bootstrap-percentile"
    assert performance.compliance == {"p95_under_2s": True, "p99_under_5s": True}
    assert sum(performance.histogram) == 100
    assert performance.histogram_high == 1.0
    assert max(performance.histogram) - min(performance.histogram) <= 1


def test_latency_limits_are_exclusive() -> None:
    performance = measure_rows([make_row(n, latency_s=2.0) for n in range(5)]).performance
    assert performance.compliance == {"p95_under_2s": False, "p99_under_5s": True}
    untimed_report = measure_rows([make_row(n) for n in range(5)])
    assert untimed_report.performance.compliance == {"p95_under_2s": None, "p99_under_5s": None}
    assert untimed_report.metrics["latency_p95_s"].why == "no call was timed"


def test_a_failed_call_has_no_latency() -> None:
    report = measure_rows([make_row(1, latency_s=1.0), make_row(2, latency_s=60.0, failed=True)])
    assert report.metrics["latency_max_s"].value == 1.0
    assert report.metrics["latency_mean_s"].value == 1.0


def test_latency_is_split_at_the_first_token() -> None:
    performance = measure_rows(
        [make_row(n, latency_s=3.0, ttft_s=n / 10) for n in (1, 2, 3)]
    ).performance
    assert performance.time_to_first_token_s["mean"].value == pytest.approx(0.2)
    assert performance.generation_s["mean"].value == pytest.approx(2.8)
    assert performance.generation_s["max"].value == pytest.approx(2.9)
    assert measure_rows([make_row(1, latency_s=3.0)]).performance.generation_s["mean"].value is None


def test_throughput_ignores_idle_seconds() -> None:
    rows = [
        make_row(1, latency_s=2.0, at_s=102.0),  # runs from 100 to 102 s
        make_row(2, latency_s=2.0, at_s=103.0),  # from 101 to 103 s, overlaps the first
        make_row(3, latency_s=0.5, at_s=102.5),  # from 102 to 102.5 s, during the second
        make_row(4, latency_s=1.0, at_s=901.0),  # from 900 to 901 s, after a pause
    ]
    performance = measure_rows(rows).performance
    # Calls run from 100 to 103 s and from 900 to 901 s. Each of the four replies has two fields.
    assert performance.busy_s == pytest.approx(4.0)
    assert performance.throughput_rps == pytest.approx(1.0)
    assert performance.samples_per_minute == pytest.approx(60.0)
    assert performance.fields_per_second == pytest.approx(8 / 4)
    assert performance.tokens_per_second is None
    assert len(performance.over_time) == 30
    width = performance.over_time[0][0]
    assert sum(rate * width for _, rate in performance.over_time) == pytest.approx(4)
    assert performance.over_time[-1][0] == pytest.approx(901 - 102)
    untimed_report = measure_rows([make_row(1), make_row(2)])
    assert untimed_report.performance.throughput_rps is None
    assert untimed_report.metrics["throughput_rps"].why


def test_token_counts_and_efficiency() -> None:
    rows = [
        make_row(1, usage=Usage(100, 10), latency_s=1.0, at_s=1.0),
        make_row(2, usage=Usage(200, 30), latency_s=1.0, at_s=2.0),
        make_row(3, usage=Usage(600, 60), latency_s=1.0, at_s=4.0),
        make_row(4, latency_s=1.0, at_s=3.0),
    ]
    performance = measure_rows(rows).performance
    assert performance.tokens == {
        "input_mean": 300.0,
        "input_median": 200.0,
        "input_total": 900.0,
        "output_mean": pytest.approx(100 / 3),
        "output_median": 30.0,
        "output_total": 100.0,
        "total": 1000.0,
    }
    assert performance.tokens_known == 3
    # Three replies state their tokens and have six fields; the fourth states none.
    assert performance.token_efficiency.value == pytest.approx(6 / 100)
    assert performance.tokens_per_second == pytest.approx(1000 / 4)


def test_tokens_of_failed_calls_do_not_lower_efficiency() -> None:
    rows = [make_row(1, usage=Usage(100, 10)), make_row(2, failed=True, usage=Usage(100, 90))]
    assert measure_rows(rows).metrics["token_efficiency"].value == pytest.approx(2 / 10)


def test_costs_from_server_and_from_prices() -> None:
    rows_with_costs = [
        make_row(1, usage=Usage(1000, 100, 0.02)),
        make_row(2, usage=Usage(1000, 100, 0.04)),
    ]
    performance = measure_rows(rows_with_costs).performance
    assert performance.cost_usd == pytest.approx(0.06)
    assert performance.cost_usd_per_sample.value == pytest.approx(0.03)
    assert performance.cost_usd_per_right_field == pytest.approx(0.06 / 4)
    assert performance.cost_basis == "stated"
    # At $0.5 per 1,000 input tokens and $2 per 1,000 output tokens, the third reply costs .5 + .2
    # and the fourth 1.5 + .2.
    rows_without_costs = [make_row(3, usage=Usage(1000, 100)), make_row(4, usage=Usage(3000, 100))]
    assert measure_rows(rows_without_costs).performance.cost_usd is None
    assert measure_rows(rows_without_costs).performance.cost_basis == ""
    assert measure_rows(rows_without_costs).metrics["cost_usd_per_sample"].why
    plan_with_prices = replace(FAST_PLAN, prices=(0.5, 2.0))
    performance = measure_rows(rows_without_costs, plan_with_prices).performance
    assert performance.cost_usd == pytest.approx(0.7 + 1.7)
    assert performance.cost_basis == "prices"
    combined = measure_rows([*rows_with_costs, *rows_without_costs], plan_with_prices).performance
    assert combined.cost_usd == pytest.approx(0.06 + 2.4)
    assert combined.cost_basis == "stated, and prices"


def test_cost_per_right_field_counts_only_paid_valid_replies() -> None:
    paid = make_row(1, usage=Usage(1000, 100, 0.06))
    unpaid = make_row(2, usage=Usage(1000, 100))
    # "a" is right, but "b" is a text, so the reply is invalid and counts zero.
    invalid = make_row(3, predicted={"a": "word3", "b": "three"}, usage=Usage(1000, 100, 0.06))
    assert measure_rows([paid, unpaid]).performance.cost_usd_per_right_field == pytest.approx(0.03)
    rows = [paid, unpaid, invalid]
    assert measure_rows(rows).performance.cost_usd_per_right_field == pytest.approx(0.12 / 2)
    performance = measure_rows(rows, replace(FAST_PLAN, invalid="as_is")).performance
    assert performance.cost_usd_per_right_field == pytest.approx(0.12 / 3)
    assert measure_rows([invalid]).performance.cost_usd_per_right_field is None


def test_reliability_matches_manual_values() -> None:
    rows = [
        *(make_row(n) for n in range(4)),
        make_row(4, retries=2),
        make_row(5, retries=1, timed_out=True),
        make_row(6, predicted={"a": 7}),
        make_row(7, predicted=None),
        make_row(8, failed=True, retries=3, timed_out=True),
        make_row(9, failed=True),
    ]
    rates = {name: value.value for name, value in measure_rows(rows).reliability.items()}
    assert rates == pytest.approx(
        {
            "success_rate": 8 / 10,
            "parse_failure_rate": 1 / 10,
            "schema_failure_rate": 1 / 10,
            "timeout_rate": 2 / 10,
            "retry_rate": 3 / 10,
            # Six replies succeeded at the first attempt; two after retries count one half.
            "reliability_score": (6 + 0.5 * 2) / 10,
        }
    )
    assert {value.n for value in measure_rows(rows).reliability.values()} == {10}


def test_run_of_failures_only_has_rates_but_no_accuracy() -> None:
    report = measure_rows([make_row(n, failed=True) for n in range(3)])
    assert report.metrics["success_rate"].value == 0
    # The upper Wilson limit for 0 of 3.
    assert report.metrics["success_rate"].high == pytest.approx(0.5615, abs=1e-4)
    for name in ("extraction_quality_score", "field_f1_partial", "schema_validity"):
        value = report.metrics[name]
        assert value.value is None
        assert value.why
        assert (value.worst, value.best) == (0, 1), name
    assert report.metrics["extraction_quality_score_micro"].value is None
    assert report.performance.throughput_rps is None
    assert report.recommendation.verdict.startswith("No recommendation")


def test_row_read_back_from_json_gives_the_same_metrics() -> None:
    rows = [make_row(n, latency_s=n / 7, usage=Usage(10, n, 0.1)) for n in range(1, 6)]
    decoded_rows = msgspec.json.decode(msgspec.json.encode(rows), type=list[ExtractionRow])
    assert aggregate_rows(decoded_rows, FAST_PLAN) == aggregate_rows(rows, FAST_PLAN)
