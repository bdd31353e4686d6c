"""What replies that know nothing earn on the shipped samples, and that guessing does not pay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from eval.extraction.aggregate import Plan, aggregate
from eval.extraction.record import SystemReport
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.loading import load
from eval.extraction.samples.sample import Sample
from eval.extraction.scoring import score

SAMPLES = load("shipped").samples[::4]
SCORE = "extraction_quality_score"


@dataclass(frozen=True)
class Reply:
    """``parsed`` and ``failed`` as of a row."""

    value: Any = None
    parsed: bool = True
    failed: bool = False


NO_JSON = Reply(parsed=False)
FAILED = Reply(failed=True)


def measured(reply: Callable[[Sample], Reply], samples: list[Sample] = SAMPLES) -> SystemReport:
    rows = []
    for sample in samples:
        given = reply(sample)
        came = given.parsed and not given.failed
        found = score(sample, given.value, parsed=came).score
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
    return aggregate(rows, Plan(resamples=50)).systems["m"]


def value(one: SystemReport, name: str) -> float:
    found = one.metrics[name].value
    assert found is not None
    return found


def changed(given: Any, change: Callable[[Any], Any]) -> Any:
    """The value with each of its scalars changed."""
    if isinstance(given, dict):
        return {key: changed(inner, change) for key, inner in given.items()}
    if isinstance(given, list):
        return [changed(inner, change) for inner in given]
    return change(given)


def thrice(given: Any) -> Any:
    """The value with every array three times over."""
    if isinstance(given, dict):
        return {key: thrice(inner) for key, inner in given.items()}
    return [thrice(inner) for inner in given] * 3 if isinstance(given, list) else given


def wrong(given: Any) -> Any:
    if isinstance(given, str):
        return "zq"
    if isinstance(given, bool):
        return not given
    return given * 7 + 13 if isinstance(given, int | float) else given


def bare(sample: Sample) -> Sample:
    """The sample under a schema that says nothing, so that every reply is valid."""
    return Sample(id=sample.id, text=sample.text, schema={}, expected=sample.expected)


BARE = [bare(sample) for sample in SAMPLES]


@pytest.mark.parametrize("reply", [Reply({}), Reply(None), NO_JSON], ids=["{}", "null", "no JSON"])
def test_saying_nothing_earns_nothing_where_something_is_required(reply: Reply) -> None:
    one = measured(lambda _: reply)
    assert value(one, SCORE) == 0
    assert value(one, "field_f1_lenient") == 0
    assert value(one, "omission_rate") == 1
    assert one.metrics["hallucination_rate"].value is None
    # The score of the micro parts keeps its share for inventing nothing, as the docs say.
    assert value(one, "extraction_quality_score_micro") == pytest.approx(0.15)


def test_what_a_valid_reply_has_for_nothing() -> None:
    assert value(measured(lambda _: Reply({}), BARE), SCORE) == pytest.approx(0.30)
    names = {"a": {"type": "string"}, "b": {"type": "boolean"}}
    schema = {"type": "object", "properties": names}
    wholly = Sample(id="s", text="none", schema=schema, expected={"a": "word", "b": True})
    one = measured(lambda sample: Reply(changed(sample.expected, wrong)), [wholly])
    assert value(one, SCORE) == pytest.approx(0.50)
    assert value(one, "hallucination_rate") == 0
    assert value(one, "fabricated_value_rate") == 0.5
    bare_of_facts = Sample(id="s", text="none", schema=schema, expected={})
    one = measured(lambda _: Reply({"a": "zq"}), [bare_of_facts])
    assert value(one, SCORE) == pytest.approx(0.35)
    assert measured(lambda _: Reply({}), [bare_of_facts]).metrics[SCORE].value is None


@pytest.mark.parametrize("samples", [SAMPLES, BARE], ids=["schemas", "no schemas"])
def test_adding_to_what_is_right_never_pays(samples: list[Sample]) -> None:
    truth = measured(lambda sample: Reply(sample.expected), samples)
    assert value(truth, SCORE) == value(truth, "exact_match") == 1
    added = {f"made_up_{number}": "zq" for number in range(5)}
    for reply in (
        lambda sample: Reply(thrice(sample.expected)),
        lambda sample: Reply({**sample.expected, **added}),
        lambda sample: Reply(changed(sample.expected, lambda leaf: "zq" if leaf is None else leaf)),
    ):
        one = measured(reply, samples)
        assert value(one, SCORE) < 1
        assert value(one, "field_precision_partial") < 1
        assert value(one, "field_f1_partial") < 1
        assert value(one, "hallucination_rate") > 0
        assert value(one, "exact_match") < 1


def test_copying_the_text_into_every_field_earns_no_credit() -> None:
    def reply(sample: Sample) -> Reply:
        return Reply(changed(sample.expected, lambda one: sample.text))

    one = measured(reply, BARE)
    assert value(one, "field_f1_partial") < 0.01
    assert value(one, "field_f1_lenient") < 0.01


def test_leaving_out_hard_samples_costs_the_score_and_failing_bounds_it() -> None:
    hard = {sample.id for sample in SAMPLES[::2]}

    def otherwise(given: Reply) -> Callable[[Sample], Reply]:
        return lambda sample: given if sample.id in hard else Reply(sample.expected)

    share = 1 - len(hard) / len(SAMPLES)
    for given in (Reply({}), Reply(None), NO_JSON):
        assert value(measured(otherwise(given)), SCORE) == pytest.approx(share)
    failing = measured(otherwise(FAILED))
    score_of = failing.metrics[SCORE]
    # A failed call is no empty extraction, but nobody is told to rely on the others alone.
    assert score_of.value == 1
    assert score_of.worst == pytest.approx(share)
    assert score_of.n == len(SAMPLES) - len(hard)
    assert any("failed calls" in reason for reason in failing.recommendation.reasons)
    assert failing.sla["minimum"].passed is False
