"""Tests that replies made without reading the text score low on the shipped samples.

The quality score weights validity by .15, field F1 by .5, types by .2 and no hallucination by .15;
the expected scores below are sums of these weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from eval.extraction.aggregate import MeasurementPlan, aggregate_rows
from eval.extraction.record import SystemReport
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.loader import load_samples
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample

SAMPLES = load_samples("shipped").samples[::4]
SCORE_METRIC = "extraction_quality_score"


@dataclass(frozen=True)
class Reply:
    """A scripted reply: its value, whether it is JSON, and whether the call failed."""

    value: Any = None
    parsed: bool = True
    failed: bool = False


NO_JSON = Reply(parsed=False)
FAILED = Reply(failed=True)


def measure_replies(
    reply: Callable[[Sample], Reply], samples: list[Sample] = SAMPLES
) -> SystemReport:
    rows = []
    for sample in samples:
        scripted_reply = reply(sample)
        is_parsed = scripted_reply.parsed and not scripted_reply.failed
        score = score_sample(sample, scripted_reply.value, parsed=is_parsed).score
        outcome: Any = "OK" if score.valid else "INVALID" if is_parsed else "UNPARSABLE"
        rows.append(
            ExtractionRow(
                id=sample.id,
                system="m",
                outcome="ERROR" if scripted_reply.failed else outcome,
                predicted=scripted_reply.value,
                score=score,
            )
        )
    return aggregate_rows(rows, MeasurementPlan(resamples=50)).systems["m"]


def get_metric_value(report: SystemReport, name: str) -> float:
    value = report.metrics[name].value
    assert value is not None
    return value


def change_scalars(value: Any, change: Callable[[Any], Any]) -> Any:
    """Returns the value with ``change`` applied to each scalar."""
    if isinstance(value, dict):
        return {key: change_scalars(child, change) for key, child in value.items()}
    if isinstance(value, list):
        return [change_scalars(child, change) for child in value]
    return change(value)


def triple_arrays(value: Any) -> Any:
    """Returns the value with the elements of every array repeated three times."""
    if isinstance(value, dict):
        return {key: triple_arrays(child) for key, child in value.items()}
    return [triple_arrays(child) for child in value] * 3 if isinstance(value, list) else value


def make_wrong_value(value: Any) -> Any:
    if isinstance(value, str):
        return "zq"
    if isinstance(value, bool):
        return not value
    return value * 7 + 13 if isinstance(value, int | float) else value


def drop_schema(sample: Sample) -> Sample:
    """Returns the sample with an empty schema, so that every reply is valid."""
    return Sample(id=sample.id, text=sample.text, schema={}, expected=sample.expected)


SAMPLES_WITHOUT_SCHEMA = [drop_schema(sample) for sample in SAMPLES]


@pytest.mark.parametrize("reply", [Reply({}), Reply(None), NO_JSON], ids=["{}", "null", "no JSON"])
def test_empty_reply_scores_zero_where_fields_are_required(reply: Reply) -> None:
    report = measure_replies(lambda _: reply)
    assert get_metric_value(report, SCORE_METRIC) == 0
    assert get_metric_value(report, "field_f1_lenient") == 0
    assert get_metric_value(report, "omission_rate") == 1
    assert report.metrics["hallucination_rate"].value is None
    # The micro score keeps its share for no hallucinations, as documented.
    assert get_metric_value(report, "extraction_quality_score_micro") == pytest.approx(0.15)


def test_score_of_an_empty_but_valid_reply() -> None:
    assert get_metric_value(
        measure_replies(lambda _: Reply({}), SAMPLES_WITHOUT_SCHEMA), SCORE_METRIC
    ) == pytest.approx(0.30)
    properties = {"a": {"type": "string"}, "b": {"type": "boolean"}}
    schema = {"type": "object", "properties": properties}
    wrong_sample = Sample(id="s", text="none", schema=schema, expected={"a": "word", "b": True})
    report = measure_replies(
        lambda sample: Reply(change_scalars(sample.expected, make_wrong_value)), [wrong_sample]
    )
    assert get_metric_value(report, SCORE_METRIC) == pytest.approx(0.50)
    assert get_metric_value(report, "hallucination_rate") == 0
    assert get_metric_value(report, "fabricated_value_rate") == 0.5
    empty_sample = Sample(id="s", text="none", schema=schema, expected={})
    report = measure_replies(lambda _: Reply({"a": "zq"}), [empty_sample])
    assert get_metric_value(report, SCORE_METRIC) == pytest.approx(0.35)
    assert measure_replies(lambda _: Reply({}), [empty_sample]).metrics[SCORE_METRIC].value is None


@pytest.mark.parametrize(
    "samples", [SAMPLES, SAMPLES_WITHOUT_SCHEMA], ids=["schemas", "no schemas"]
)
def test_adding_values_to_a_right_reply_lowers_the_score(samples: list[Sample]) -> None:
    correct_report = measure_replies(lambda sample: Reply(sample.expected), samples)
    assert (
        get_metric_value(correct_report, SCORE_METRIC)
        == get_metric_value(correct_report, "exact_match")
        == 1
    )
    spurious_fields = {f"made_up_{number}": "zq" for number in range(5)}
    for reply in (
        lambda sample: Reply(triple_arrays(sample.expected)),
        lambda sample: Reply({**sample.expected, **spurious_fields}),
        lambda sample: Reply(
            change_scalars(sample.expected, lambda leaf: "zq" if leaf is None else leaf)
        ),
    ):
        report = measure_replies(reply, samples)
        assert get_metric_value(report, SCORE_METRIC) < 1
        assert get_metric_value(report, "field_precision_partial") < 1
        assert get_metric_value(report, "field_f1_partial") < 1
        assert get_metric_value(report, "hallucination_rate") > 0
        assert get_metric_value(report, "exact_match") < 1


def test_copying_the_text_into_every_field_earns_no_credit() -> None:
    def copy_text(sample: Sample) -> Reply:
        return Reply(change_scalars(sample.expected, lambda _: sample.text))

    report = measure_replies(copy_text, SAMPLES_WITHOUT_SCHEMA)
    assert get_metric_value(report, "field_f1_partial") < 0.01
    assert get_metric_value(report, "field_f1_lenient") < 0.01


def test_skipping_hard_samples_lowers_the_score_or_its_bound() -> None:
    hard_ids = {sample.id for sample in SAMPLES[::2]}

    def reply_to_hard_samples(scripted_reply: Reply) -> Callable[[Sample], Reply]:
        return lambda sample: scripted_reply if sample.id in hard_ids else Reply(sample.expected)

    easy_share = 1 - len(hard_ids) / len(SAMPLES)
    for scripted_reply in (Reply({}), Reply(None), NO_JSON):
        assert get_metric_value(
            measure_replies(reply_to_hard_samples(scripted_reply)), SCORE_METRIC
        ) == pytest.approx(easy_share)
    failed_report = measure_replies(reply_to_hard_samples(FAILED))
    quality_score = failed_report.metrics[SCORE_METRIC]
    # Failed calls are not empty extractions, but the recommendation must mention them.
    assert quality_score.value == 1
    assert quality_score.worst == pytest.approx(easy_share)
    assert quality_score.n == len(SAMPLES) - len(hard_ids)
    assert any("failed calls" in reason for reason in failed_report.recommendation.reasons)
    assert failed_report.sla["minimum"].passed is False
