"""Tests every accuracy metric against manually computed values for a few replies.

The replies in ``PEOPLE`` (fields: name, which is required, age, city and vip), with the numbers of
expected, predicted and strictly correct fields:

========  ==================================================  ========  =========  ======
sample    reply                                               expected  predicted  strict
========  ==================================================  ========  =========  ======
ann       all four right                                      4         4          4
bob       name right, city half right, age wrong              3         3          1
cid       name right, age and city missed, vip made up        3         2          1
========  ==================================================  ========  =========  ======

So of 10 expected and 9 predicted fields 6 are exact, 1 partial, 1 incorrect, 2 missed, 1 spurious.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import msgspec
import pytest

from eval.extraction.aggregate import MeasurementPlan, aggregate_rows
from eval.extraction.metrics.quality_score import ScoreWeights
from eval.extraction.record import Metric, SystemReport
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "city": {"type": "string"},
        "vip": {"type": "boolean"},
    },
    "required": ["name"],
}
FAST_PLAN = MeasurementPlan(resamples=200)
# Given to `make_row` instead of a reply that is not JSON, and of a call that failed.
NO_JSON = object()
FAILED = object()


def make_row(
    name: str,
    expected: Any,
    predicted: Any,
    *,
    schema: dict[str, Any] = PERSON,
    text: str | None = None,
    domain: str = "people",
    language: str = "en",
    repeat: int = 0,
) -> ExtractionRow:
    sample = Sample(
        id=name,
        text=name if text is None else text,
        schema=schema,
        expected=expected,
        domain=domain,
        language=language,
    )
    parsed = predicted is not NO_JSON and predicted is not FAILED
    score = score_sample(sample, predicted if parsed else None, parsed=parsed).score
    outcome = "OK" if score.valid else "INVALID" if parsed else "UNPARSABLE"
    return ExtractionRow(
        id=name,
        system="m",
        repeat=repeat,
        outcome="ERROR" if predicted is FAILED else outcome,
        predicted=predicted if parsed else None,
        score=score,
    )


ANN = {"name": "Ann Lee", "age": 30, "city": "Rome", "vip": True}
BOB = {"name": "Bob Ray", "age": 40, "city": "New York City"}
CID = {"name": "Cid Fox", "age": 50, "city": "Oslo"}
PEOPLE = [
    make_row("ann", ANN, ANN),
    make_row("bob", BOB, {"name": "Bob Ray", "age": 41, "city": "New York"}),
    make_row("cid", CID, {"name": "Cid Fox", "vip": False}),
]
INVALID = make_row("dan", {"name": "Dan Poe", "age": 60}, {"name": "Dan Poe", "age": "sixty"})
UNPARSABLE = make_row("eve", {"name": "Eve Orr", "age": 70}, NO_JSON)
ERROR = make_row("fay", {"name": "Fay Kim", "age": 80}, FAILED)


def measure_rows(rows: Sequence[ExtractionRow], plan: MeasurementPlan = FAST_PLAN) -> SystemReport:
    return aggregate_rows(rows, plan).systems["m"]


def test_precision_recall_and_f1_in_three_modes() -> None:
    report = measure_rows(PEOPLE)
    credit_by_mode = {"strict": 6.0, "partial": 6.5, "lenient": 7.0}
    for mode, correct in credit_by_mode.items():
        assert report.metrics[f"field_precision_{mode}"].value == pytest.approx(correct / 9)
        assert report.metrics[f"field_recall_{mode}"].value == pytest.approx(correct / 10)
        assert report.metrics[f"field_f1_{mode}"].value == pytest.approx(2 * correct / 19)
    f1 = report.metrics["field_f1_partial"]
    assert (f1.numerator, f1.denominator, f1.n) == (13.0, 19.0, 3)


def test_micro_macro_and_weighted() -> None:
    averages = measure_rows(PEOPLE).averages["field_f1_partial"]
    # ann 2·4/8 = 1, bob 2·1.5/6 = .5, cid 2·1/5 = .4; 4, 3 and 3 fields are expected.
    assert averages["micro"].value == pytest.approx(13 / 19)
    assert averages["macro"].value == pytest.approx((1 + 0.5 + 0.4) / 3)
    assert averages["weighted"].value == pytest.approx((4 * 1 + 3 * 0.5 + 3 * 0.4) / 10)
    for average in ("micro", "macro", "weighted"):
        f1 = measure_rows(PEOPLE, replace(FAST_PLAN, average=average)).metrics["field_f1_partial"]
        assert f1.value == averages[average].value


def test_field_breakdowns_follow_the_invalid_reply_policy() -> None:
    # In dan's reply the name is right, but the age is a string, so the reply is invalid.
    for invalid, expected in (("zero", 0.0), ("as_is", 1.0)):
        breakdowns = measure_rows([INVALID], replace(FAST_PLAN, invalid=invalid)).breakdowns
        for dimension, key in (("type", "string"), ("name", "name"), ("required", "required")):
            group = breakdowns[dimension].groups[key]
            assert (group.expected, group.predicted) == (1, 1)
            for mode in ("strict", "partial", "lenient"):
                assert group.metrics[f"field_f1_{mode}"].value == expected
            assert group.metrics["type_accuracy"].value == expected
            assert group.metrics["omission_rate"].value == 0
        assert breakdowns["depth"].groups["0"].metrics["field_f1_strict"].value == expected / 2


def test_bins_include_their_lower_limit_and_the_lower_median_is_used() -> None:
    schema = {"properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
    # Numbers have a score by their distance only where the schema asks for it.
    for field_schema in schema["properties"].values():
        field_schema["x-match"] = "numeric"
    row = make_row("two", {"a": 100, "b": 100}, {"a": 39, "b": 40}, schema=schema)
    composite = measure_rows([row]).composite
    assert {bin_.name: bin_.count for bin_ in composite.bins if bin_.count} == {
        "poor": 1,
        "very_poor": 1,
    }
    assert composite.median == 0.39


def test_unexpected_fields_are_not_counted_as_omitted() -> None:
    row = make_row("own", {"name": "Ann"}, {"name": "Ann", "city": "Rome", "made_up": "zq"})
    omissions = measure_rows([row]).omissions
    assert set(omissions["name"]) == {"name"}
    assert set(omissions["required"]) == {"required"}


def test_reply_without_value_is_left_out_of_the_average() -> None:
    # A valid but empty reply: precision is undefined, recall is 0.
    empty_reply = make_row("gil", {"age": 1, "city": "Bonn"}, {}, schema={"type": "object"})
    averages = measure_rows([*PEOPLE, empty_reply]).averages
    # ann 4/4, bob 1.5/3, cid 1/2; 4, 3 and 3 fields are expected.
    weighted_precision = (4 * 1 + 3 * 0.5 + 3 * 0.5) / 10
    assert averages["field_precision_partial"]["weighted"].value == pytest.approx(
        weighted_precision
    )
    assert averages["field_precision_partial"]["macro"].value == pytest.approx((1 + 0.5 + 0.5) / 3)
    weighted_recall = (4 * 1 + 3 * 0.5 + 3 * 1 / 3 + 2 * 0) / 12
    assert averages["field_recall_partial"]["weighted"].value == pytest.approx(weighted_recall)


def test_quality_score_is_the_weighted_sum_of_its_four_parts() -> None:
    report = measure_rows(PEOPLE)
    # ann 1; bob .15 + .5·.5 + .2·1 + .15·1 = .75; cid .15 + .5·.4 + .2·1 + .15·.5 = .625
    assert report.quality.score.value == pytest.approx((1 + 0.75 + 0.625) / 3)
    assert report.metrics["extraction_quality_score"] == report.quality.score
    micro = 0.15 * 1 + 0.5 * 13 / 19 + 0.2 * 1 + 0.15 * (1 - 1 / 9)
    assert report.quality.micro.value == pytest.approx(micro)
    # Three samples: the interval spans three grades, so no single word is a verdict.
    assert report.quality.interpretation == "Moderate to Excellent"
    assert report.quality.meaning.startswith("No verdict")
    parts = report.quality.components
    assert [part.weight for part in parts.values()] == [0.15, 0.5, 0.2, 0.15]
    assert sum(part.weight * (part.macro or 0) for part in parts.values()) == pytest.approx(
        report.quality.score.value
    )
    assert sum(part.weight * (part.value or 0) for part in parts.values()) == pytest.approx(micro)


def test_failed_call_widens_the_bounds_of_the_quality_score() -> None:
    micro = measure_rows([*PEOPLE, ERROR]).quality.micro
    # The failed call has two expected fields. The worst case assumes a reply with two spurious
    # fields of wrong types instead.
    worst = 0.15 * 3 / 4 + 0.5 * 13 / 23 + 0.2 * 9 / 11 + 0.15 * (1 - 3 / 11)
    best = 0.15 * 4 / 4 + 0.5 * 17 / 23 + 0.2 * 11 / 11 + 0.15 * (1 - 1 / 11)
    assert (micro.worst, micro.best, micro.missing) == pytest.approx((worst, best, 1))
    macro = measure_rows([*PEOPLE, ERROR]).quality.score
    assert (macro.worst, macro.best) == pytest.approx((2.375 / 4, 3.375 / 4))


def test_quality_score_weights_are_normalised() -> None:
    only_f1 = ScoreWeights(
        schema_validity=0, field_f1_partial=3, type_accuracy=0, no_hallucination=0
    )
    report = measure_rows(PEOPLE, replace(FAST_PLAN, weights=only_f1))
    assert report.quality.score.value == pytest.approx((1 + 0.5 + 0.4) / 3)
    for weight in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="weights"):
            ScoreWeights(schema_validity=weight)
    with pytest.raises(ValueError, match="weights"):
        ScoreWeights(schema_validity=0, field_f1_partial=0, type_accuracy=0, no_hallucination=0)


def test_validity_and_exact_match_count_replies() -> None:
    report = measure_rows([*PEOPLE, INVALID, UNPARSABLE, ERROR])
    assert report.outcomes.rows == 6
    assert (report.outcomes.ok, report.outcomes.invalid, report.outcomes.unparsable) == (3, 1, 1)
    assert (report.outcomes.error, report.outcomes.scored) == (1, 5)
    assert report.metrics["schema_validity"].value == pytest.approx(3 / 5)
    assert report.metrics["exact_match"].value == pytest.approx(1 / 5)
    assert report.metrics["exact_match_of_valid"].value == pytest.approx(1 / 3)
    validity = report.metrics["schema_validity"]
    assert (validity.worst, validity.best) == pytest.approx((3 / 6, 4 / 6))


def test_invalid_reply_scores_zero_or_as_is_by_policy() -> None:
    rows = [*PEOPLE, INVALID]
    zero = measure_rows(rows)
    as_is = measure_rows(rows, replace(FAST_PLAN, invalid="as_is"))
    # dan's reply has both expected fields: the name is right, the age has a wrong type.
    assert zero.metrics["field_f1_partial"].value == pytest.approx(13 / 23)
    assert as_is.metrics["field_f1_partial"].value == pytest.approx(15 / 23)
    assert zero.metrics["type_accuracy"].value == pytest.approx(9 / 11)
    assert as_is.metrics["type_accuracy"].value == pytest.approx(10 / 11)
    assert zero.quality.score.value == pytest.approx((1 + 0.75 + 0.625 + 0) / 4)
    # as it is: .15·0 + .5·.5 + .2·.5 + .15·1 = .5
    assert as_is.quality.score.value == pytest.approx((1 + 0.75 + 0.625 + 0.5) / 4)
    for report, other_report in ((zero, as_is), (as_is, zero)):
        for name, value in report.other_policy.items():
            assert value.value == other_report.metrics[name].value, name
    for name in ("hallucination_rate", "omission_rate"):
        assert zero.metrics[name].value == as_is.metrics[name].value


def test_reply_that_is_not_json_scores_zero_under_both_policies() -> None:
    for invalid in ("zero", "as_is"):
        report = measure_rows([*PEOPLE, UNPARSABLE], replace(FAST_PLAN, invalid=invalid))
        assert report.metrics["field_recall_strict"].value == pytest.approx(6 / 12)
        assert report.metrics["field_precision_strict"].value == pytest.approx(6 / 9)
        assert report.averages["field_precision_strict"]["macro"].value == pytest.approx(
            (1 + 1 / 3 + 1 / 2 + 0) / 4
        )
        assert report.metrics["omission_rate"].value == pytest.approx(4 / 12)
        assert report.quality.score.value == pytest.approx((1 + 0.75 + 0.625 + 0) / 4)


def test_types_are_counted_with_a_confusion_matrix() -> None:
    report = measure_rows([*PEOPLE, INVALID], replace(FAST_PLAN, invalid="as_is"))
    assert report.metrics["type_accuracy"].value == pytest.approx(10 / 11)
    assert report.type_confusion == {
        "boolean": {"boolean": 2},
        "integer": {"integer": 2, "string": 1},
        "string": {"string": 6},
    }
    types = {key: group.metrics for key, group in report.breakdowns["type"].groups.items()}
    assert types["string"]["type_accuracy"].value == 1
    assert types["number"]["type_accuracy"].value == pytest.approx(2 / 3)


def test_match_categories_add_up_in_every_mode() -> None:
    report = measure_rows(PEOPLE)
    counts = {
        mode: {name: share.count for name, share in shares.items()}
        for mode, shares in report.categories.items()
    }
    other_counts = {"missed": 2, "spurious": 1}
    assert counts["strict"] == {"exact": 6, "partial": 0, "incorrect": 2, **other_counts}
    assert counts["partial"] == {"exact": 6, "partial": 1, "incorrect": 1, **other_counts}
    assert counts["lenient"] == {"exact": 6, "partial": 1, "incorrect": 1, **other_counts}
    for shares in report.categories.values():
        assert sum(share.share or 0 for share in shares.values()) == pytest.approx(1)
        assert shares["missed"].share == pytest.approx(2 / 11)


def test_matched_field_scores_fall_into_five_bins() -> None:
    composite = measure_rows(PEOPLE).composite
    # Scores of the 8 matched fields: 1 for ann's four, bob's name and cid's name; 0 for bob's age.
    # Bob's city, "New York" for "New York City": token F1 .8, Levenshtein 1 - 5/13, containment
    # 8/13.
    city = 0.5 * 0.8 + 0.3 * (1 - 5 / 13) + 0.2 * 8 / 13
    assert composite.n == 8
    assert composite.mean == pytest.approx((6 + city + 0) / 8)
    assert composite.median == 1
    assert {part.name: part.count for part in composite.bins} == {
        "excellent": 6,
        "good": 0,
        "fair": 1,
        "poor": 0,
        "very_poor": 1,
    }
    assert (composite.bins[0].low, composite.bins[0].high) == (0.95, 1)
    assert sum(part.share or 0 for part in composite.bins) == pytest.approx(1)
    assert len(composite.histogram) == 20
    assert (composite.histogram[0], composite.histogram[14], composite.histogram[19]) == (1, 1, 6)


def test_string_similarities_are_summarised() -> None:
    similarities = measure_rows(PEOPLE).similarities
    # Five pairs of texts: name and city of ann and of bob, and cid's name.
    assert {summary.n for summary in similarities.values()} == {5}
    assert similarities["token_overlap_f1"].mean == pytest.approx((4 + 0.8) / 5)
    assert similarities["levenshtein_similarity"].mean == pytest.approx((4 + 8 / 13) / 5)
    assert similarities["containment_score"].mean == pytest.approx((4 + 8 / 13) / 5)
    assert similarities["token_overlap_f1"].median == 1
    assert similarities["containment_score"].histogram[12] == 1
    assert sum(similarities["containment_score"].histogram) == 5


MEETING: dict[str, Any] = {
    "type": "object",
    "properties": {
        "host": {"type": "string"},
        "room": {"type": "string"},
        "days": {"type": "integer"},
        "guests": {
            "type": "array",
            "items": {"type": "object", "properties": {"guest": {"type": "string"}}},
        },
    },
}


def test_hallucinations_by_type_and_severity() -> None:
    expected = {"host": "Ida", "days": 3, "guests": [{"guest": "Max"}]}
    predicted = {
        "host": "Zoe",  # type 2: an expected field, but a made-up value
        "room": "Berlin",  # type 3: the value is in the text, but not as the value of this field
        "days": 3,
        "guests": [{"guest": "Max"}, {"guest": "Leo"}],  # type 4: more elements than expected
        "fee": 900,  # type 1: name and value made up
    }
    text = "Ida meets Max in Berlin for 3 days."
    report = measure_rows([make_row("m", expected, predicted, schema=MEETING, text=text)])
    assert report.hallucinations.by_type == {"1": 1, "2": 1, "3": 1, "4": 1}
    # A wrong value that is not in the text is counted, but it is no hallucination.
    assert report.hallucinations.total == 3
    severity = {name: share.count for name, share in report.hallucinations.severity.items()}
    assert severity == {"critical": 1, "moderate": 1, "minor": 1}
    assert report.hallucinations.severity["critical"].share == pytest.approx(1 / 6)
    # This rate, by its specification, does not count type 2: such a field has an expected
    # counterpart. The other 3 of the 6 fields have none.
    assert report.metrics["hallucination_rate"].value == pytest.approx(3 / 6)
    assert report.metrics["fabricated_value_rate"].value == pytest.approx(2 / 6)
    # Of host, room, days, two guests and fee, "Zoe", "Leo" and 900 are not in the text.
    assert report.metrics["not_found_literally_rate"].value == pytest.approx(3 / 6)


def test_without_texts_what_depends_on_them_is_null_with_the_reason() -> None:
    expected = {"host": "Ida", "guests": [{"guest": "Max"}]}
    predicted = {"host": "Zoe", "fee": 9, "guests": [{"guest": "Max"}, {"guest": "Leo"}]}
    report = measure_rows([make_row("m", expected, predicted, schema=MEETING, text="")])
    assert report.hallucinations.by_type == {"1": 0, "2": 0, "3": 0, "4": 1}
    for severity, share in (("critical", None), ("moderate", None), ("minor", 1 / 4)):
        assert report.hallucinations.severity[severity].share == (
            share if share is None else pytest.approx(share)
        )
    assert report.metrics["hallucination_rate"].value == pytest.approx(2 / 4)
    for name in ("fabricated_value_rate", "not_found_literally_rate"):
        assert report.metrics[name].value is None
        assert "text" in report.metrics[name].why
    assert report.errors.groups["extraction_errors"]["hallucinated_value"] == 0


def test_a_value_that_is_right_but_not_in_the_text_is_no_hallucination() -> None:
    expected = {"host": "Ida Roth", "days": 3}
    row = make_row("m", expected, expected, schema=MEETING, text="Mrs Roth, Ida, came.")
    report = measure_rows([row])
    assert report.metrics["not_found_literally_rate"].value == 1.0
    assert report.hallucinations.total == 0
    assert report.metrics["fabricated_value_rate"].value == 0.0


def test_omissions_by_name_type_requirement_and_depth() -> None:
    report = measure_rows(PEOPLE)
    assert report.metrics["omission_rate"].value == pytest.approx(2 / 10)
    rates = {
        dimension: {key: value.value for key, value in estimates.items()}
        for dimension, estimates in report.omissions.items()
    }
    assert rates["name"] == pytest.approx({"name": 0, "age": 1 / 3, "city": 1 / 3, "vip": 0})
    assert rates["type"] == pytest.approx({"string": 1 / 6, "number": 1 / 3, "boolean": 0})
    assert rates["required"] == pytest.approx({"required": 0, "optional": 2 / 7})
    assert rates["depth"] == pytest.approx({"0": 2 / 10})


def test_errors_are_counted_by_pattern_with_the_most_frequent() -> None:
    extra_rows = [
        make_row(f"bob{n}", BOB, {"name": "Bob Ray", "age": 41, "city": "x"}) for n in range(2)
    ]
    errors = measure_rows([*PEOPLE, *extra_rows]).errors
    assert errors.total == sum(sum(group.values()) for group in errors.groups.values())
    assert errors.groups["extraction_errors"]["missing_value"] == 2
    assert errors.groups["boundary_errors"] == {"incomplete_extraction": 1, "over_extraction": 0}
    top_error = errors.top[0]
    assert (top_error.path, top_error.count) == ("age", 3)
    assert top_error.pattern in errors.groups[top_error.group]
    assert top_error.share == pytest.approx(3 / errors.total)
    assert [item.count for item in errors.top] == sorted(
        (i.count for i in errors.top), reverse=True
    )


NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "by": {
            "type": "object",
            "properties": {
                "who": {"type": "string"},
                "where": {"type": "object", "properties": {"zip": {"type": "string"}}},
            },
            "required": ["who"],
        },
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"type": "integer"}}},
        },
    },
    "required": ["title"],
}


def test_field_breakdowns_match_manual_values() -> None:
    expected = {
        "title": "Bill",
        "by": {"who": "Ann", "where": {"zip": "10115"}},
        "lines": [{"n": 1}, {"n": 2}],
    }
    predicted = {"title": "Bill", "by": {"who": "Ann"}, "lines": [{"n": 1}, {"n": 7}]}
    breakdowns = measure_rows([make_row("a", expected, predicted, schema=NESTED)]).breakdowns
    depth_groups = {key: group.metrics for key, group in breakdowns["depth"].groups.items()}
    assert list(depth_groups) == ["0", "1", "2+"]
    assert depth_groups["0"]["field_f1_partial"].value == 1
    # Depth 1 has "who" and the "n" of two lines, one of which is wrong.
    assert depth_groups["1"]["field_precision_partial"].value == pytest.approx(2 / 3)
    assert depth_groups["1"]["field_recall_partial"].value == pytest.approx(2 / 3)
    assert depth_groups["2+"]["field_recall_partial"].value == 0
    assert depth_groups["2+"]["field_precision_partial"].value is None
    assert depth_groups["2+"]["field_precision_partial"].why == "no field was extracted"
    name_groups = {key: group.metrics for key, group in breakdowns["name"].groups.items()}
    assert name_groups["lines[].n"]["field_f1_partial"].value == pytest.approx(1 / 2)
    assert breakdowns["type"].groups["number"].expected == 2
    required_groups = {key: group.metrics for key, group in breakdowns["required"].groups.items()}
    assert required_groups["required"]["field_f1_partial"].value == 1
    assert required_groups["optional"]["field_f1_partial"].value == pytest.approx(2 * 1 / (3 + 2))


def test_rare_field_names_are_counted_but_not_listed() -> None:
    breakdown = measure_rows(PEOPLE, replace(FAST_PLAN, max_names=2)).breakdowns["name"]
    # age, city and name occur three times each, vip twice (once unexpected).
    assert list(breakdown.groups) == ["age", "city"]
    assert breakdown.left_out == 2


def test_sample_breakdowns_match_manual_values() -> None:
    rows = [
        make_row("a", ANN, ANN, domain="x", language="de"),
        make_row("b", CID, {"name": "Cid Fox"}, domain="y", language="de"),
        make_row("c", {"title": "T"}, {"title": 3}, domain="y", language="en", schema=NESTED),
    ]
    breakdowns = measure_rows(rows).breakdowns
    assert {key: group.samples for key, group in breakdowns["domain"].groups.items()} == {
        "x": 1,
        "y": 2,
    }
    assert {key: group.samples for key, group in breakdowns["language"].groups.items()} == {
        "de": 2,
        "en": 1,
    }
    bins = breakdowns["complexity"].groups
    assert {key: group.samples for key, group in bins.items()} == {"simple": 2, "medium": 1}
    assert bins["simple"].metrics["schema_validity"].value == 1
    assert bins["medium"].metrics["schema_validity"].value == 0
    assert bins["medium"].metrics["extraction_quality_score"].value == 0
    # Sample a scores 1. Sample b has F1 2·1/4 = .5, so it scores .15 + .25 + .2 + .15 = .75.
    score_of_simple = bins["simple"].metrics["extraction_quality_score"]
    assert score_of_simple.value == pytest.approx((1 + 0.75) / 2)
    assert bins["simple"].metrics["type_accuracy"].value == 1
    box = bins["simple"].box
    assert box is not None
    assert (box.n, box.low, box.q1, box.median, box.q3, box.high) == (2, 0.5, 0.5, 0.5, 1, 1)
    assert box.mean == pytest.approx(0.75)


def test_every_recorded_metric_is_reported() -> None:
    report = measure_rows(PEOPLE)
    assert sorted(report.metrics) == sorted(get_args(Metric))
    for name, value in report.metrics.items():
        assert (value.value is None) == bool(value.why), name


def test_signature_names_the_settings() -> None:
    report = aggregate_rows(PEOPLE, FAST_PLAN)
    assert report.signature.startswith(f"EQS|samples:{report.samples}|n:3|repeats:1|match:default")
    assert "|invalid:zero|avg:micro|w:0.15,0.5,0.2,0.15|boot:200|seed:12345|" in report.signature
    assert report.n_expected == 10
    other_report = aggregate_rows([make_row("ann", {"name": "Ann Lee"}, ANN)], FAST_PLAN)
    assert other_report.samples != report.samples


def test_the_note_on_unreadable_replies_says_why() -> None:
    problems = ["not JSON: only words, “x”", "not JSON: only words, “y”", "a number is too large"]
    problems += ["not JSON: Expecting value at line 1, column 3", "the key 'a' occurs twice"]
    rows = [
        msgspec.structs.replace(UNPARSABLE, id=str(number), problem=problem)
        for number, problem in enumerate(problems)
    ]
    notes = " ".join(measure_rows([*PEOPLE, *rows]).notes)
    assert (
        "(5 of them not JSON: only words 2, Expecting value 1, a number is too large 1, the key "
        "occurs twice 1)" in notes
    )


def test_notes_report_failures_and_limits() -> None:
    report = aggregate_rows([*PEOPLE, INVALID, UNPARSABLE, ERROR], FAST_PLAN)
    assert any("only 6 samples" in note for note in report.notes)
    assert any("only 200 resamples" in note for note in report.notes)
    notes = " ".join(report.systems["m"].notes)
    assert "1 of 6 calls failed" in notes
    assert "2 replies are invalid under their schema (1 of them not JSON: " in notes
    assert "counts them as entirely wrong" in notes
    as_is = measure_rows([*PEOPLE, INVALID], replace(FAST_PLAN, invalid="as_is"))
    assert "counts them by the fields that are right" in " ".join(as_is.notes)
    made_elsewhere = replace(FAST_PLAN, headline="field_accuracy_macro")
    notes = " ".join(measure_rows([*PEOPLE, INVALID], made_elsewhere).notes)
    assert "The headline counts what is right in those that are JSON; the quality score" in notes
    bounded_score = msgspec.structs.replace(PEOPLE[0].score, bounded=True)
    bounded_report = measure_rows([msgspec.structs.replace(PEOPLE[0], score=bounded_score)])
    assert any("too large for an optimal alignment" in note for note in bounded_report.notes)


def test_hallucinated_fields_are_reported_as_one_weakness() -> None:
    rows = [make_row(f"s{n}", CID, {**CID, "x": "zzz", "y": "zz"}) for n in range(9)]
    weaknesses = measure_rows(rows).recommendation.weaknesses
    assert not any("the field" in weakness for weakness in weaknesses)
    assert "hallucinated value in fields that are not in the schema, 18 times" in weaknesses[-1]
