"""Latency, throughput, tokens, cost and reliability by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from eval.extraction.aggregate import Plan, aggregate
from eval.extraction.record import SystemReport
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.scoring import score
from eval.result import Usage

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
FAST = Plan(resamples=200)


def row(number: int, **given: Any) -> ExtractionRow:
    """A reply with both fields right, unless ``predicted`` or ``failed`` says otherwise."""
    expected = {"a": f"word{number}", "b": number}
    failed = given.pop("failed", False)
    predicted = given.pop("predicted", None if failed else expected)
    name = f"s{number:03}"
    sample = Sample(id=name, text="some text", schema=SCHEMA, expected=expected)
    found = score(sample, predicted, parsed=predicted is not None).score
    outcome = "OK" if found.valid else "INVALID" if found.parsed else "UNPARSABLE"
    return ExtractionRow(
        id=name,
        system="m",
        outcome="ERROR" if failed else outcome,
        predicted=predicted,
        score=found,
        **given,
    )


def measured(rows: Sequence[ExtractionRow], plan: Plan = FAST) -> SystemReport:
    return aggregate(rows, plan).systems["m"]


def test_latency_by_hand() -> None:
    # Latencies .01, .02 … 1.00 s: a quantile is the smallest that so many do not exceed.
    one = measured([row(n, latency_s=n / 100) for n in range(1, 101)]).performance
    found = {name: value.value for name, value in one.latency_s.items()}
    assert found == {
        "mean": pytest.approx(0.505),
        "p50": 0.5,
        "p95": 0.95,
        "p99": 0.99,
        "min": 0.01,
        "max": 1.0,
    }
    p95 = one.latency_s["p95"]
    assert p95.low is not None
    assert p95.high is not None
    assert p95.low <= 0.95 <= p95.high
    assert p95.method == "bootstrap-percentile"
    assert one.compliance == {"p95_under_2s": True, "p99_under_5s": True}
    assert sum(one.histogram) == 100
    assert one.histogram_high == 1.0
    assert max(one.histogram) - min(one.histogram) <= 1


def test_limits_of_latency_must_be_stayed_below() -> None:
    one = measured([row(n, latency_s=2.0) for n in range(5)]).performance
    assert one.compliance == {"p95_under_2s": False, "p99_under_5s": True}
    nobody = measured([row(n) for n in range(5)])
    assert nobody.performance.compliance == {"p95_under_2s": None, "p99_under_5s": None}
    assert nobody.metrics["latency_p95_s"].why == "no call was timed"


def test_a_failed_call_has_no_latency() -> None:
    one = measured([row(1, latency_s=1.0), row(2, latency_s=60.0, failed=True)])
    assert one.metrics["latency_max_s"].value == 1.0
    assert one.metrics["latency_mean_s"].value == 1.0


def test_latency_is_parted_at_the_first_token() -> None:
    one = measured([row(n, latency_s=3.0, ttft_s=n / 10) for n in (1, 2, 3)]).performance
    assert one.time_to_first_token_s["mean"].value == pytest.approx(0.2)
    assert one.generation_s["mean"].value == pytest.approx(2.8)
    assert one.generation_s["max"].value == pytest.approx(2.9)
    assert measured([row(1, latency_s=3.0)]).performance.generation_s["mean"].value is None


def test_throughput_counts_only_seconds_with_a_request_under_way() -> None:
    rows = [
        row(1, latency_s=2.0, at_s=102.0),  # 100 to 102
        row(2, latency_s=2.0, at_s=103.0),  # 101 to 103, half of it beside the first
        row(3, latency_s=0.5, at_s=102.5),  # 102 to 102.5, within the second
        row(4, latency_s=1.0, at_s=901.0),  # 900 to 901, after a pause
    ]
    one = measured(rows).performance
    assert one.busy_s == pytest.approx(4.0)
    assert one.throughput_rps == pytest.approx(1.0)
    assert one.samples_per_minute == pytest.approx(60.0)
    assert one.fields_per_second == pytest.approx(8 / 4)
    assert one.tokens_per_second is None
    assert len(one.over_time) == 30
    width = one.over_time[0][0]
    assert sum(rate * width for _, rate in one.over_time) == pytest.approx(4)
    assert one.over_time[-1][0] == pytest.approx(901 - 102)
    untimed = measured([row(1), row(2)])
    assert untimed.performance.throughput_rps is None
    assert untimed.metrics["throughput_rps"].why


def test_tokens_and_their_efficiency() -> None:
    rows = [
        row(1, usage=Usage(100, 10), latency_s=1.0, at_s=1.0),
        row(2, usage=Usage(200, 30), latency_s=1.0, at_s=2.0),
        row(3, usage=Usage(600, 60), latency_s=1.0, at_s=4.0),
        row(4, latency_s=1.0, at_s=3.0),
    ]
    one = measured(rows).performance
    assert one.tokens == {
        "input_mean": 300.0,
        "input_median": 200.0,
        "input_total": 900.0,
        "output_mean": pytest.approx(100 / 3),
        "output_median": 30.0,
        "output_total": 100.0,
        "total": 1000.0,
    }
    assert one.tokens_known == 3
    # Six fields came with counted tokens; the fourth reply's two count for nothing.
    assert one.token_efficiency.value == pytest.approx(6 / 100)
    assert one.tokens_per_second == pytest.approx(1000 / 4)


def test_tokens_of_a_failed_call_are_no_reply_without_fields() -> None:
    rows = [row(1, usage=Usage(100, 10)), row(2, failed=True, usage=Usage(100, 90))]
    assert measured(rows).metrics["token_efficiency"].value == pytest.approx(2 / 10)


def test_costs_by_the_server_and_by_price() -> None:
    stated = [row(1, usage=Usage(1000, 100, 0.02)), row(2, usage=Usage(1000, 100, 0.04))]
    one = measured(stated).performance
    assert one.cost_usd == pytest.approx(0.06)
    assert one.cost_usd_per_sample.value == pytest.approx(0.03)
    assert one.cost_usd_per_right_field == pytest.approx(0.06 / 4)
    assert one.cost_basis == "stated"
    # .5 per thousand in, 2 per thousand out: .5 + .2
    priced = [row(3, usage=Usage(1000, 100)), row(4, usage=Usage(3000, 100))]
    assert measured(priced).performance.cost_usd is None
    assert measured(priced).performance.cost_basis == ""
    assert measured(priced).metrics["cost_usd_per_sample"].why
    with_prices = replace(FAST, prices=(0.5, 2.0))
    one = measured(priced, with_prices).performance
    assert one.cost_usd == pytest.approx(0.7 + 1.7)
    assert one.cost_basis == "prices"
    both = measured([*stated, *priced], with_prices).performance
    assert both.cost_usd == pytest.approx(0.06 + 2.4)
    assert both.cost_basis == "stated, and prices"


def test_only_what_was_paid_for_and_is_worth_something_is_a_right_field() -> None:
    paid = row(1, usage=Usage(1000, 100, 0.06))
    unpaid = row(2, usage=Usage(1000, 100))
    # "a" is right in it, but "b" is a text: no valid instance, and so worth nothing.
    void = row(3, predicted={"a": "word3", "b": "three"}, usage=Usage(1000, 100, 0.06))
    assert measured([paid, unpaid]).performance.cost_usd_per_right_field == pytest.approx(0.03)
    rows = [paid, unpaid, void]
    assert measured(rows).performance.cost_usd_per_right_field == pytest.approx(0.12 / 2)
    as_is = measured(rows, replace(FAST, invalid="as_is")).performance
    assert as_is.cost_usd_per_right_field == pytest.approx(0.12 / 3)
    assert measured([void]).performance.cost_usd_per_right_field is None


def test_reliability_by_hand() -> None:
    rows = [
        *(row(n) for n in range(4)),
        row(4, retries=2),
        row(5, retries=1, timed_out=True),
        row(6, predicted={"a": 7}),
        row(7, predicted=None),
        row(8, failed=True, retries=3, timed_out=True),
        row(9, failed=True),
    ]
    found = {name: value.value for name, value in measured(rows).reliability.items()}
    assert found == pytest.approx(
        {
            "success_rate": 8 / 10,
            "parse_failure_rate": 1 / 10,
            "schema_failure_rate": 1 / 10,
            "timeout_rate": 2 / 10,
            "retry_rate": 3 / 10,
            # Six came at once, two after retries.
            "reliability_score": (6 + 0.5 * 2) / 10,
        }
    )
    assert {value.n for value in measured(rows).reliability.values()} == {10}


def test_a_run_of_failures_alone_has_rates_and_no_accuracy() -> None:
    one = measured([row(n, failed=True) for n in range(3)])
    assert one.metrics["success_rate"].value == 0
    assert one.metrics["success_rate"].high == pytest.approx(0.5615, abs=1e-4)
    for name in ("extraction_quality_score", "field_f1_partial", "schema_validity"):
        value = one.metrics[name]
        assert value.value is None
        assert value.why
        assert (value.worst, value.best) == (0, 1), name
    assert one.metrics["extraction_quality_score_micro"].value is None
    assert one.performance.throughput_rps is None
    assert one.recommendation.verdict.startswith("No recommendation")


def test_a_row_is_read_back_from_json_and_measured_alike() -> None:
    rows = [row(n, latency_s=n / 7, usage=Usage(10, n, 0.1)) for n in range(1, 6)]
    again = msgspec.json.decode(msgspec.json.encode(rows), type=list[ExtractionRow])
    assert aggregate(again, FAST) == aggregate(rows, FAST)
