"""Scores of uninformed replies on the shipped samples; guessing must not pay."""

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
SCORE = "extraction_quality_score"


@dataclass(frozen=True)
class Reply:
    """A scripted reply; ``parsed`` and ``failed`` as in a row."""

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
        given = reply(sample)
        came = given.parsed and not given.failed
        found = score_sample(sample, given.value, parsed=came).score
        outcome: Any = "OK" if found.valid else "INVALID" if came else "UNPARSABLE"
        rows.append(
            ExtractionRow(
                id=sample.id,
                system="m",
                outcome="ERROR" if given.failed else outcome,
                predicted=given.value,
                score=found,
            )
        )
    return aggregate_rows(rows, MeasurementPlan(resamples=50)).systems["m"]


def metric_value(one: SystemReport, name: str) -> float:
    found = one.metrics[name].value
    assert found is not None
    return found


def change_scalars(given: Any, change: Callable[[Any], Any]) -> Any:
    """Returns the value with ``change`` applied to each scalar."""
    if isinstance(given, dict):
        return {key: change_scalars(inner, change) for key, inner in given.items()}
    if isinstance(given, list):
        return [change_scalars(inner, change) for inner in given]
    return change(given)


def triple_arrays(given: Any) -> Any:
    """Returns the value with the elements of every array repeated three times."""
    if isinstance(given, dict):
        return {key: triple_arrays(inner) for key, inner in given.items()}
    return [triple_arrays(inner) for inner in given] * 3 if isinstance(given, list) else given


def make_wrong(given: Any) -> Any:
    if isinstance(given, str):
        return "zq"
    if isinstance(given, bool):
        return not given
    return given * 7 + 13 if isinstance(given, int | float) else given


def drop_schema(sample: Sample) -> Sample:
    """Returns the sample with an empty schema, so that every reply is valid."""
    return Sample(id=sample.id, text=sample.text, schema={}, expected=sample.expected)


BARE = [drop_schema(sample) for sample in SAMPLES]


@pytest.mark.parametrize("reply", [Reply({}), Reply(None), NO_JSON], ids=["{}", "null", "no JSON"])
def test_empty_reply_scores_zero_where_fields_are_required(reply: Reply) -> None:
    one = measure_replies(lambda _: reply)
    assert metric_value(one, SCORE) == 0
    assert metric_value(one, "field_f1_lenient") == 0
    assert metric_value(one, "omission_rate") == 1
    assert one.metrics["hallucination_rate"].value is None
    # The micro score keeps its share for no hallucinations, as documented.
    assert metric_value(one, "extraction_quality_score_micro") == pytest.approx(0.15)


def test_score_of_an_empty_but_valid_reply() -> None:
    assert metric_value(measure_replies(lambda _: Reply({}), BARE), SCORE) == pytest.approx(0.30)
    names = {"a": {"type": "string"}, "b": {"type": "boolean"}}
    schema = {"type": "object", "properties": names}
    wholly = Sample(id="s", text="none", schema=schema, expected={"a": "word", "b": True})
    one = measure_replies(
        lambda sample: Reply(change_scalars(sample.expected, make_wrong)), [wholly]
    )
    assert metric_value(one, SCORE) == pytest.approx(0.50)
    assert metric_value(one, "hallucination_rate") == 0
    assert metric_value(one, "fabricated_value_rate") == 0.5
    bare_of_facts = Sample(id="s", text="none", schema=schema, expected={})
    one = measure_replies(lambda _: Reply({"a": "zq"}), [bare_of_facts])
    assert metric_value(one, SCORE) == pytest.approx(0.35)
    assert measure_replies(lambda _: Reply({}), [bare_of_facts]).metrics[SCORE].value is None


@pytest.mark.parametrize("samples", [SAMPLES, BARE], ids=["schemas", "no schemas"])
def test_adding_values_to_a_right_reply_lowers_the_score(samples: list[Sample]) -> None:
    truth = measure_replies(lambda sample: Reply(sample.expected), samples)
    assert metric_value(truth, SCORE) == metric_value(truth, "exact_match") == 1
    added = {f"made_up_{number}": "zq" for number in range(5)}
    for reply in (
        lambda sample: Reply(triple_arrays(sample.expected)),
        lambda sample: Reply({**sample.expected, **added}),
        lambda sample: Reply(
            change_scalars(sample.expected, lambda leaf: "zq" if leaf is None else leaf)
        ),
    ):
        one = measure_replies(reply, samples)
        assert metric_value(one, SCORE) < 1
        assert metric_value(one, "field_precision_partial") < 1
        assert metric_value(one, "field_f1_partial") < 1
        assert metric_value(one, "hallucination_rate") > 0
        assert metric_value(one, "exact_match") < 1


def test_copying_the_text_into_every_field_earns_no_credit() -> None:
    def copy_text(sample: Sample) -> Reply:
        return Reply(change_scalars(sample.expected, lambda one: sample.text))

    one = measure_replies(copy_text, BARE)
    assert metric_value(one, "field_f1_partial") < 0.01
    assert metric_value(one, "field_f1_lenient") < 0.01


def test_skipping_hard_samples_lowers_the_score_or_its_bound() -> None:
    hard = {sample.id for sample in SAMPLES[::2]}

    def reply_to_hard_samples(given: Reply) -> Callable[[Sample], Reply]:
        return lambda sample: given if sample.id in hard else Reply(sample.expected)

    share = 1 - len(hard) / len(SAMPLES)
    for given in (Reply({}), Reply(None), NO_JSON):
        assert metric_value(measure_replies(reply_to_hard_samples(given)), SCORE) == pytest.approx(
            share
        )
    failing = measure_replies(reply_to_hard_samples(FAILED))
    score_of = failing.metrics[SCORE]
    # Failed calls are not empty extractions, but the recommendation must mention them.
    assert score_of.value == 1
    assert score_of.worst == pytest.approx(share)
    assert score_of.n == len(SAMPLES) - len(hard)
    assert any("failed calls" in reason for reason in failing.recommendation.reasons)
    assert failing.sla["minimum"].passed is False
