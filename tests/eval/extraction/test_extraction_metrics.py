"""Every metric of accuracy by hand: a few replies whose numbers can be reckoned on paper.

The run of ``PEOPLE``, of four fields at most (name required, age, city, vip):

========  ==================================================  ========  =========  ======
sample    what came                                           expected  predicted  strict
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

from eval.extraction.aggregate import Plan, aggregate
from eval.extraction.measuring.quality_score import Weights
from eval.extraction.record import Metric, SystemReport
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.scoring import score

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
FAST = Plan(resamples=200)
NO_JSON = object()
FAILED = object()


def row(
    name: str,
    expected: Any,
    predicted: Any,
    *,
    schema: dict[str, Any] = PERSON,
    text: str = "",
    domain: str = "people",
    language: str = "en",
    repeat: int = 0,
) -> ExtractionRow:
    sample = Sample(
        id=name,
        text=text or name,
        schema=schema,
        expected=expected,
        domain=domain,
        language=language,
    )
    parsed = predicted is not NO_JSON and predicted is not FAILED
    found = score(sample, predicted if parsed else None, parsed=parsed).score
    outcome = "OK" if found.valid else "INVALID" if parsed else "UNPARSABLE"
    return ExtractionRow(
        id=name,
        system="m",
        repeat=repeat,
        outcome="ERROR" if predicted is FAILED else outcome,
        predicted=predicted if parsed else None,
        score=found,
    )


ANN = {"name": "Ann Lee", "age": 30, "city": "Rome", "vip": True}
BOB = {"name": "Bob Ray", "age": 40, "city": "New York City"}
CID = {"name": "Cid Fox", "age": 50, "city": "Oslo"}
PEOPLE = [
    row("ann", ANN, ANN),
    row("bob", BOB, {"name": "Bob Ray", "age": 41, "city": "New York"}),
    row("cid", CID, {"name": "Cid Fox", "vip": False}),
]
INVALID = row("dan", {"name": "Dan Poe", "age": 60}, {"name": "Dan Poe", "age": "sixty"})
UNPARSABLE = row("eve", {"name": "Eve Orr", "age": 70}, NO_JSON)
ERROR = row("fay", {"name": "Fay Kim", "age": 80}, FAILED)


def measured(rows: Sequence[ExtractionRow], plan: Plan = FAST) -> SystemReport:
    return aggregate(rows, plan).systems["m"]


def test_precision_recall_and_f1_in_three_modes() -> None:
    one = measured(PEOPLE)
    credit = {"strict": 6.0, "partial": 6.5, "lenient": 7.0}
    for mode, right in credit.items():
        assert one.metrics[f"field_precision_{mode}"].value == pytest.approx(right / 9)
        assert one.metrics[f"field_recall_{mode}"].value == pytest.approx(right / 10)
        assert one.metrics[f"field_f1_{mode}"].value == pytest.approx(2 * right / 19)
    found = one.metrics["field_f1_partial"]
    assert (found.numerator, found.denominator, found.n) == (13.0, 19.0, 3)


def test_micro_macro_and_weighted() -> None:
    one = measured(PEOPLE).averages["field_f1_partial"]
    # ann 2·4/8 = 1, bob 2·1.5/6 = .5, cid 2·1/5 = .4; 4, 3 and 3 fields are expected.
    assert one["micro"].value == pytest.approx(13 / 19)
    assert one["macro"].value == pytest.approx((1 + 0.5 + 0.4) / 3)
    assert one["weighted"].value == pytest.approx((4 * 1 + 3 * 0.5 + 3 * 0.4) / 10)
    for average in ("micro", "macro", "weighted"):
        by = measured(PEOPLE, replace(FAST, average=average)).metrics["field_f1_partial"]
        assert by.value == one[average].value


def test_breakdowns_of_fields_follow_the_policy_of_invalid_replies() -> None:
    # Of dan's reply the name is right and the age a text, which makes it invalid.
    for invalid, right in (("zero", 0.0), ("as_is", 1.0)):
        one = measured([INVALID], replace(FAST, invalid=invalid)).breakdowns
        for dimension, key in (("type", "string"), ("name", "name"), ("required", "required")):
            found = one[dimension].groups[key]
            assert (found.expected, found.predicted) == (1, 1)
            for mode in ("strict", "partial", "lenient"):
                assert found.metrics[f"field_f1_{mode}"].value == right
            assert found.metrics["type_accuracy"].value == right
            assert found.metrics["omission_rate"].value == 0
        assert one["depth"].groups["0"].metrics["field_f1_strict"].value == right / 2


def test_bins_of_scores_begin_at_their_lower_limit_and_the_median_is_the_lower_one() -> None:
    numbers = {"properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
    given = row("two", {"a": 100, "b": 100}, {"a": 39, "b": 40}, schema=numbers)
    found = measured([given]).composite
    assert {bin_.name: bin_.count for bin_ in found.bins if bin_.count} == {
        "poor": 1,
        "very_poor": 1,
    }
    assert found.median == 0.39


def test_what_nothing_is_expected_of_is_not_omitted() -> None:
    given = row("own", {"name": "Ann"}, {"name": "Ann", "city": "Rome", "made_up": "zq"})
    omitted = measured([given]).omissions
    assert set(omitted["name"]) == {"name"}
    assert set(omitted["required"]) == {"required"}


def test_a_reply_without_a_value_has_no_weight_in_its_average() -> None:
    # Valid and silent: no precision, but a recall of 0.
    silent = row("gil", {"age": 1, "city": "Bonn"}, {}, schema={"type": "object"})
    one = measured([*PEOPLE, silent]).averages
    # ann 4/4, bob 1.5/3, cid 1/2; 4, 3 and 3 fields are expected.
    weighted = (4 * 1 + 3 * 0.5 + 3 * 0.5) / 10
    assert one["field_precision_partial"]["weighted"].value == pytest.approx(weighted)
    assert one["field_precision_partial"]["macro"].value == pytest.approx((1 + 0.5 + 0.5) / 3)
    recall = (4 * 1 + 3 * 0.5 + 3 * 1 / 3 + 2 * 0) / 12
    assert one["field_recall_partial"]["weighted"].value == pytest.approx(recall)


def test_the_quality_score_is_the_weighted_sum_of_its_four_parts() -> None:
    one = measured(PEOPLE)
    # ann 1; bob .15 + .5·.5 + .2·1 + .15·1 = .75; cid .15 + .5·.4 + .2·1 + .15·.5 = .625
    assert one.quality.score.value == pytest.approx((1 + 0.75 + 0.625) / 3)
    assert one.metrics["extraction_quality_score"] == one.quality.score
    micro = 0.15 * 1 + 0.5 * 13 / 19 + 0.2 * 1 + 0.15 * (1 - 1 / 9)
    assert one.quality.micro.value == pytest.approx(micro)
    assert one.quality.interpretation == "Good"
    parts = one.quality.components
    assert [part.weight for part in parts.values()] == [0.15, 0.5, 0.2, 0.15]
    assert sum(part.weight * (part.macro or 0) for part in parts.values()) == pytest.approx(
        one.quality.score.value
    )
    assert sum(part.weight * (part.value or 0) for part in parts.values()) == pytest.approx(micro)


def test_a_failed_call_bounds_the_quality_score() -> None:
    micro = measured([*PEOPLE, ERROR]).quality.micro
    # Two fields were expected of fay: at worst two others came, both spurious and of wrong types.
    worst = 0.15 * 3 / 4 + 0.5 * 13 / 23 + 0.2 * 9 / 11 + 0.15 * (1 - 3 / 11)
    best = 0.15 * 4 / 4 + 0.5 * 17 / 23 + 0.2 * 11 / 11 + 0.15 * (1 - 1 / 11)
    assert (micro.worst, micro.best, micro.missing) == pytest.approx((worst, best, 1))
    macro = measured([*PEOPLE, ERROR]).quality.score
    assert (macro.worst, macro.best) == pytest.approx((2.375 / 4, 3.375 / 4))


def test_weights_of_the_quality_score_are_divided_by_their_sum() -> None:
    only_f1 = Weights(schema_validity=0, field_f1_partial=3, type_accuracy=0, no_hallucination=0)
    one = measured(PEOPLE, replace(FAST, weights=only_f1))
    assert one.quality.score.value == pytest.approx((1 + 0.5 + 0.4) / 3)
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="weights"):
            Weights(schema_validity=wrong)
    with pytest.raises(ValueError, match="weights"):
        Weights(schema_validity=0, field_f1_partial=0, type_accuracy=0, no_hallucination=0)


def test_validity_and_exact_match_count_replies() -> None:
    one = measured([*PEOPLE, INVALID, UNPARSABLE, ERROR])
    assert one.outcomes.rows == 6
    assert (one.outcomes.ok, one.outcomes.invalid, one.outcomes.unparsable) == (3, 1, 1)
    assert (one.outcomes.error, one.outcomes.scored) == (1, 5)
    assert one.metrics["schema_validity"].value == pytest.approx(3 / 5)
    assert one.metrics["exact_match"].value == pytest.approx(1 / 5)
    assert one.metrics["exact_match_of_valid"].value == pytest.approx(1 / 3)
    validity = one.metrics["schema_validity"]
    assert (validity.worst, validity.best) == pytest.approx((3 / 6, 4 / 6))


def test_an_invalid_reply_is_worth_nothing_or_what_is_right_in_it() -> None:
    rows = [*PEOPLE, INVALID]
    zero = measured(rows)
    as_is = measured(rows, replace(FAST, invalid="as_is"))
    # Of dan 2 fields are expected and came; the name is right, the age of a wrong type.
    assert zero.metrics["field_f1_partial"].value == pytest.approx(13 / 23)
    assert as_is.metrics["field_f1_partial"].value == pytest.approx(15 / 23)
    assert zero.metrics["type_accuracy"].value == pytest.approx(9 / 11)
    assert as_is.metrics["type_accuracy"].value == pytest.approx(10 / 11)
    assert zero.quality.score.value == pytest.approx((1 + 0.75 + 0.625 + 0) / 4)
    # as it is: .15·0 + .5·.5 + .2·.5 + .15·1 = .5
    assert as_is.quality.score.value == pytest.approx((1 + 0.75 + 0.625 + 0.5) / 4)
    for one, other in ((zero, as_is), (as_is, zero)):
        for name, value in one.other_policy.items():
            assert value.value == other.metrics[name].value, name
    for name in ("hallucination_rate", "omission_rate"):
        assert zero.metrics[name].value == as_is.metrics[name].value


def test_a_reply_that_is_no_json_is_worth_nothing_either_way() -> None:
    for invalid in ("zero", "as_is"):
        one = measured([*PEOPLE, UNPARSABLE], replace(FAST, invalid=invalid))
        assert one.metrics["field_recall_strict"].value == pytest.approx(6 / 12)
        assert one.metrics["field_precision_strict"].value == pytest.approx(6 / 9)
        assert one.averages["field_precision_strict"]["macro"].value == pytest.approx(
            (1 + 1 / 3 + 1 / 2 + 0) / 4
        )
        assert one.metrics["omission_rate"].value == pytest.approx(4 / 12)
        assert one.quality.score.value == pytest.approx((1 + 0.75 + 0.625 + 0) / 4)


def test_types_are_counted_with_a_confusion_matrix() -> None:
    one = measured([*PEOPLE, INVALID], replace(FAST, invalid="as_is"))
    assert one.metrics["type_accuracy"].value == pytest.approx(10 / 11)
    assert one.type_confusion == {
        "boolean": {"boolean": 2},
        "integer": {"integer": 2, "string": 1},
        "string": {"string": 6},
    }
    types = {key: group.metrics for key, group in one.breakdowns["type"].groups.items()}
    assert types["string"]["type_accuracy"].value == 1
    assert types["number"]["type_accuracy"].value == pytest.approx(2 / 3)


def test_categories_add_up_in_every_mode() -> None:
    one = measured(PEOPLE)
    counts = {
        mode: {name: share.count for name, share in found.items()}
        for mode, found in one.categories.items()
    }
    rest = {"missed": 2, "spurious": 1}
    assert counts["strict"] == {"exact": 6, "partial": 0, "incorrect": 2, **rest}
    assert counts["partial"] == {"exact": 6, "partial": 1, "incorrect": 1, **rest}
    assert counts["lenient"] == {"exact": 6, "partial": 1, "incorrect": 1, **rest}
    for found in one.categories.values():
        assert sum(share.share or 0 for share in found.values()) == pytest.approx(1)
        assert found["missed"].share == pytest.approx(2 / 11)


def test_scores_of_matched_fields_fall_into_the_five_bins() -> None:
    one = measured(PEOPLE).composite
    # ann four 1, bob 1, 0 and the city, cid 1. "New York" for "New York City": token F1 .8,
    # Levenshtein 1 - 5/13, containment 8/13.
    city = 0.5 * 0.8 + 0.3 * (1 - 5 / 13) + 0.2 * 8 / 13
    assert one.n == 8
    assert one.mean == pytest.approx((6 + city + 0) / 8)
    assert one.median == 1
    assert {part.name: part.count for part in one.bins} == {
        "excellent": 6,
        "good": 0,
        "fair": 1,
        "poor": 0,
        "very_poor": 1,
    }
    assert (one.bins[0].low, one.bins[0].high) == (0.95, 1)
    assert sum(part.share or 0 for part in one.bins) == pytest.approx(1)
    assert len(one.histogram) == 20
    assert (one.histogram[0], one.histogram[14], one.histogram[19]) == (1, 1, 6)


def test_similarities_of_texts() -> None:
    found = measured(PEOPLE).similarities
    # Five pairs of texts: name and city of ann and of bob, and cid's name.
    assert {one.n for one in found.values()} == {5}
    assert found["token_overlap_f1"].mean == pytest.approx((4 + 0.8) / 5)
    assert found["levenshtein_similarity"].mean == pytest.approx((4 + 8 / 13) / 5)
    assert found["containment_score"].mean == pytest.approx((4 + 8 / 13) / 5)
    assert found["token_overlap_f1"].median == 1
    assert found["containment_score"].histogram[12] == 1
    assert sum(found["containment_score"].histogram) == 5


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
    came = {
        "host": "Zoe",  # type 2: a known name, a value from nowhere
        "room": "Berlin",  # type 3: stands in the text, but nowhere as a room
        "days": 3,
        "guests": [{"guest": "Max"}, {"guest": "Leo"}],  # type 4: one too many
        "fee": 900,  # type 1: name and value made up
    }
    text = "Ida meets Max in Berlin for 3 days."
    one = measured([row("m", expected, came, schema=MEETING, text=text)])
    assert one.hallucinations.by_type == {"1": 1, "2": 1, "3": 1, "4": 1}
    assert one.hallucinations.total == 4
    severity = {name: share.count for name, share in one.hallucinations.severity.items()}
    assert severity == {"critical": 2, "moderate": 1, "minor": 1}
    assert one.hallucinations.severity["critical"].share == pytest.approx(2 / 6)
    # The specification's rate leaves type 2 out: 3 of 6 fields have nobody to belong to.
    assert one.metrics["hallucination_rate"].value == pytest.approx(3 / 6)
    assert one.metrics["fabricated_value_rate"].value == pytest.approx(2 / 6)


def test_omissions_by_name_type_required_and_depth() -> None:
    one = measured(PEOPLE)
    assert one.metrics["omission_rate"].value == pytest.approx(2 / 10)
    rates = {
        dimension: {key: value.value for key, value in found.items()}
        for dimension, found in one.omissions.items()
    }
    assert rates["name"] == pytest.approx({"name": 0, "age": 1 / 3, "city": 1 / 3, "vip": 0})
    assert rates["type"] == pytest.approx({"string": 1 / 6, "number": 1 / 3, "boolean": 0})
    assert rates["required"] == pytest.approx({"required": 0, "optional": 2 / 7})
    assert rates["depth"] == pytest.approx({"0": 2 / 10})


def test_errors_by_pattern_and_the_most_frequent() -> None:
    again = [row(f"bob{n}", BOB, {"name": "Bob Ray", "age": 41, "city": "x"}) for n in range(2)]
    one = measured([*PEOPLE, *again]).errors
    assert one.total == sum(sum(group.values()) for group in one.groups.values())
    assert one.groups["extraction_errors"]["missing_value"] == 2
    assert one.groups["boundary_errors"] == {"incomplete_extraction": 1, "over_extraction": 0}
    first = one.top[0]
    assert (first.path, first.count) == ("age", 3)
    assert first.pattern in one.groups[first.group]
    assert first.share == pytest.approx(3 / one.total)
    assert [item.count for item in one.top] == sorted((i.count for i in one.top), reverse=True)


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


def test_breakdowns_of_fields() -> None:
    expected = {
        "title": "Bill",
        "by": {"who": "Ann", "where": {"zip": "10115"}},
        "lines": [{"n": 1}, {"n": 2}],
    }
    came = {"title": "Bill", "by": {"who": "Ann"}, "lines": [{"n": 1}, {"n": 7}]}
    one = measured([row("a", expected, came, schema=NESTED)]).breakdowns
    depth = {key: group.metrics for key, group in one["depth"].groups.items()}
    assert list(depth) == ["0", "1", "2+"]
    assert depth["0"]["field_f1_partial"].value == 1
    # who, and two lines of which one is wrong
    assert depth["1"]["field_precision_partial"].value == pytest.approx(2 / 3)
    assert depth["1"]["field_recall_partial"].value == pytest.approx(2 / 3)
    assert depth["2+"]["field_recall_partial"].value == 0
    assert depth["2+"]["field_precision_partial"].value is None
    assert depth["2+"]["field_precision_partial"].why == "no field was extracted"
    names = {key: group.metrics for key, group in one["name"].groups.items()}
    assert names["lines[].n"]["field_f1_partial"].value == pytest.approx(1 / 2)
    assert one["type"].groups["number"].expected == 2
    required = {key: group.metrics for key, group in one["required"].groups.items()}
    assert required["required"]["field_f1_partial"].value == 1
    assert required["optional"]["field_f1_partial"].value == pytest.approx(2 * 1 / (3 + 2))


def test_rare_names_are_counted_and_not_shown() -> None:
    one = measured(PEOPLE, replace(FAST, names=2)).breakdowns["name"]
    # age, city and name occur three times each, vip twice (once where nobody expected it).
    assert list(one.groups) == ["age", "city"]
    assert one.left_out == 2


def test_breakdowns_of_samples() -> None:
    rows = [
        row("a", ANN, ANN, domain="x", language="de"),
        row("b", CID, {"name": "Cid Fox"}, domain="y", language="de"),
        row("c", {"title": "T"}, {"title": 3}, domain="y", language="en", schema=NESTED),
    ]
    one = measured(rows).breakdowns
    assert {key: group.samples for key, group in one["domain"].groups.items()} == {"x": 1, "y": 2}
    assert {key: group.samples for key, group in one["language"].groups.items()} == {
        "de": 2,
        "en": 1,
    }
    bins = one["complexity"].groups
    assert {key: group.samples for key, group in bins.items()} == {"simple": 2, "medium": 1}
    assert bins["simple"].metrics["schema_validity"].value == 1
    assert bins["medium"].metrics["schema_validity"].value == 0
    assert bins["medium"].metrics["extraction_quality_score"].value == 0
    # a 1; b: F1 2·1/4 = .5, so .15 + .25 + .2 + .15
    score_of_simple = bins["simple"].metrics["extraction_quality_score"]
    assert score_of_simple.value == pytest.approx((1 + 0.75) / 2)
    assert bins["simple"].metrics["type_accuracy"].value == 1
    box = bins["simple"].box
    assert box is not None
    assert (box.n, box.low, box.q1, box.median, box.q3, box.high) == (2, 0.5, 0.5, 0.5, 1, 1)
    assert box.mean == pytest.approx(0.75)


def test_every_metric_of_the_record_is_there() -> None:
    one = measured(PEOPLE)
    assert sorted(one.metrics) == sorted(get_args(Metric))
    for name, value in one.metrics.items():
        assert (value.value is None) == bool(value.why), name


def test_a_signature_says_what_decided_the_numbers() -> None:
    one = aggregate(PEOPLE, FAST)
    assert one.signature.startswith(f"EQS|samples:{one.samples}|n:3|repeats:1|match:default")
    assert "|invalid:zero|avg:micro|w:0.15,0.5,0.2,0.15|boot:200|seed:12345|" in one.signature
    assert one.n_expected == 10
    other = aggregate([row("ann", {"name": "Ann Lee"}, ANN)], FAST)
    assert other.samples != one.samples


def test_what_a_reader_must_know_is_told() -> None:
    run = aggregate([*PEOPLE, INVALID, UNPARSABLE, ERROR], FAST)
    assert any("6 samples are few" in note for note in run.notes)
    assert any("Only 200 resamples" in note for note in run.notes)
    told = " ".join(run.systems["m"].notes)
    assert "1 of 6 calls failed" in told
    assert "2 replies are no valid instance of their schema (1 no JSON)" in told
    assert "they are worth nothing" in told
    as_is = measured([*PEOPLE, INVALID], replace(FAST, invalid="as_is"))
    assert "they are worth what is right in them" in " ".join(as_is.notes)
    bounded = msgspec.structs.replace(PEOPLE[0].score, bounded=True)
    large = measured([msgspec.structs.replace(PEOPLE[0], score=bounded)])
    assert any("too large for an optimal alignment" in note for note in large.notes)


def test_made_up_fields_are_no_weak_part_and_have_words() -> None:
    rows = [row(f"s{n}", CID, {**CID, "x": "zzz", "y": "zz"}) for n in range(9)]
    found = measured(rows).recommendation.weaknesses
    assert not any("the field" in weakness for weakness in found)
    assert "hallucinated value in fields that the schema does not know, 18 times" in found[-1]
