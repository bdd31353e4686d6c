"""Tests the score of one extraction against manually computed values, and in hard cases."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest
from extraction_outputs import count_categories
from nervaluate import Evaluator

from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import (
    CATEGORIES,
    ERROR_PATTERNS,
    UNDECLARED_FIELDS_KEY,
    FieldMatch,
    SampleScore,
    ScoredSample,
    Tally,
)
from eval.extraction.scorer import score_sample as score_with_rules
from eval.extraction.settings import SPECIFICATION_MATCHING, Matching

SIMPLE_SAMPLE = Sample(
    id="appendix-a-1",
    text="John Smith is 35 years old and works as a software engineer at TechCorp.",
    schema={
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer"},
            "occupation": {"type": "string"},
            "company": {"type": "string"},
        },
        "required": ["name"],
    },
    expected={
        "name": "John Smith",
        "age": 35,
        "occupation": "software engineer",
        "company": "TechCorp",
    },
)
NESTED_SAMPLE = Sample(
    id="appendix-a-2",
    text="Dr. Sarah Johnson, contactable at sarah.j@hospital.org or +1-555-0123, specializes in"
    " cardiology at Metro General Hospital.",
    schema={
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "title": {"type": "string"},
            "contact": {
                "type": "object",
                "properties": {"email": {"type": "string"}, "phone": {"type": "string"}},
            },
            "specialization": {"type": "string"},
            "workplace": {"type": "string"},
        },
    },
    expected={
        "name": "Sarah Johnson",
        "title": "Dr.",
        "contact": {"email": "sarah.j@hospital.org", "phone": "+1-555-0123"},
        "specialization": "cardiology",
        "workplace": "Metro General Hospital",
    },
)


# Order of the counts in a Tally: expected, predicted, strict, exact, partial, lenient, missed,
# spurious, type_right, type_total.
# Order of the counts in ``hallucinations``: type 1, an unexpected field whose value is not in the
# text; type 2, a wrong value that is not in the text; type 3, an unexpected field whose value is in
# the text; type 4, an extra element of an array.


def score_sample(
    sample: Sample, predicted: Any, matching: Matching = SPECIFICATION_MATCHING, **options: Any
) -> ScoredSample:
    """Scores in the specification's reading; ``test_extraction_spellings.py`` tests the rules."""
    return score_with_rules(sample, predicted, matching, **options)


def vary_specification(**changes: Any) -> Matching:
    return msgspec.structs.replace(SPECIFICATION_MATCHING, **changes)


def drop_outcomes(tally: Tally) -> Tally:
    """Returns the tally without the counts that ``test_extraction_outcomes.py`` tests."""
    return msgspec.structs.replace(tally, literal=0, right=0, left_out=0, absent=0)


def make_sample(expected: Any, text: str = "", **schema: Any) -> Sample:
    return Sample(id="s", text=text, schema={"type": "object", **schema}, expected=expected)


def index_fields(scored_sample: ScoredSample) -> dict[str, FieldMatch]:
    return {field.path: field for field in scored_sample.fields}


# -- the specification's samples ------------------------------------------------------------------


@pytest.mark.parametrize("sample", [SIMPLE_SAMPLE, NESTED_SAMPLE])
def test_expected_output_scores_perfectly(sample: Sample) -> None:
    score = score_sample(sample, sample.expected).score
    # Every key is a field, except contact, which is an object.
    n_keys = len(json.dumps(sample.expected).split(": ")) - 1
    n_fields = n_keys - ("contact" in sample.expected)
    assert drop_outcomes(score.tally) == Tally(
        *(n_fields, n_fields, n_fields, n_fields), partial=0, lenient=n_fields, missed=0,
        spurious=0, type_right=n_fields, type_total=n_fields,
    )  # fmt: skip
    assert score.valid
    assert score.exact_match
    assert score.errors == {}
    assert score.hallucinations == (0, 0, 0, 0)


def test_the_simple_sample_with_one_error_of_each_kind() -> None:
    # name is exact, age is missed, and occupation is partial ("engineer" is one of two words and
    # has 8 of 17 characters). company is incorrect and city is spurious; neither value occurs in
    # the text.
    predicted = {"name": "john smith", "occupation": "engineer", "company": "Acme", "city": "Rome"}
    result = score_sample(SIMPLE_SAMPLE, predicted)
    fields, score = index_fields(result), result.score
    assert [field.category for field in result.fields] == [
        *("exact", "missed", "partial", "incorrect", "spurious")
    ]
    assert fields["occupation"].score == pytest.approx(0.5 * 2 / 3 + 0.3 * 8 / 17 + 0.2 * 8 / 17)
    assert fields["occupation"].similarity == pytest.approx((2 / 3, 8 / 17, 8 / 17))
    assert drop_outcomes(score.tally) == Tally(4, 4, 1, 1, 1, 2, 1, 1, 3, 3)
    # Of 4 expected and 4 predicted fields, 1 is right in strict mode, 1.5 in partial, 2 in lenient.
    assert score.tally.precision("strict") == score.tally.recall("strict") == 0.25
    assert score.tally.f1("partial") == pytest.approx(0.375)
    assert score.tally.f1("lenient") == pytest.approx(0.5)
    assert score.tally.hallucination_rate == score.tally.omission_rate == 0.25
    assert count_categories(score.tally, "partial") == dict(
        zip(CATEGORIES, (1, 1, 1, 1, 1), strict=True)
    )
    assert count_categories(score.tally, "strict") == dict(
        zip(CATEGORIES, (1, 0, 2, 1, 1), strict=True)
    )
    assert score.hallucinations == (1, 1, 0, 0)
    assert score.errors == {
        "missing_value": 1, "incomplete_extraction": 1, "hallucinated_value": 1,
        "wrong_value": 1,
    }  # fmt: skip
    assert score.valid
    assert not score.exact_match


def test_the_nested_sample_with_the_contact_flattened() -> None:
    # The e-mail address is at the top level instead of in contact, so contact.email is missed and
    # email is spurious. The phone number has no equal token, and 9 of 11 equal characters.
    predicted = {
        "name": "Dr. Sarah Johnson",
        "title": "Dr.",
        "contact": {"phone": "+1 555 0123"},
        "email": "sarah.j@hospital.org",
        "specialization": "cardiology",
        "workplace": "Metro General Hospital",
    }
    result = score_sample(NESTED_SAMPLE, predicted)
    fields, score = index_fields(result), result.score
    assert fields["name"].error == "over_extraction"
    assert fields["name"].category == "partial"
    assert (fields["contact.email"].category, fields["contact.email"].depth) == ("missed", 1)
    assert fields["contact.email"].error == fields["email"].error == "wrong_nesting"
    assert fields["email"].hallucination == 3
    assert fields["contact.phone"].score == pytest.approx(0.3 * 9 / 11)
    assert drop_outcomes(score.tally) == Tally(6, 6, 3, 3, 1, 4, 1, 1, 5, 5)
    assert score.hallucinations[2] == 1, "the e-mail address, type 3"
    assert score.by["depth"]["1"] == Tally(2, 1, 0, 0, 0, 0, 1, 0, 1, 1)
    assert score.by["depth"]["0"].expected == 4
    assert score.by["name"][UNDECLARED_FIELDS_KEY] == Tally(predicted=1, spurious=1, absent=1)


def test_breakdown_counts_add_up_to_the_total() -> None:
    predicted = {"name": 5, "age": "35", "company": "Tech", "x": {"y": [1], "z": [{"q": True}]}}
    score = score_sample(SIMPLE_SAMPLE, predicted).score
    for dimension, groups in score.by.items():
        assert sum(groups.values(), Tally()) == score.tally, dimension
    assert sum(score.errors.values()) == sum(score.error_fields.values())
    assert sum(score.composite.values()) == score.tally.n_paired
    assert sum(score.confusion.values()) == score.tally.type_total


def test_required_and_optional_fields_are_distinguished() -> None:
    score = score_sample(SIMPLE_SAMPLE, {"age": 35}).score
    assert score.by["required"]["required"] == Tally(expected=1, missed=1)
    assert score.by["required"]["optional"].expected == 3
    assert score.errors == {"missing_required_field": 1, "missing_value": 2}


# -- missing, null and empty values ---------------------------------------------------------------

OPTIONAL = {"properties": {"a": {"type": ["string", "null"]}, "l": {"type": "array"}, "o": {}}}
EMPTY_VALUES: tuple[Any, ...] = (
    {},
    {"a": None},
    {"l": []},
    {"o": {}},
    {"l": [None], "o": {"b": None}},
)


@pytest.mark.parametrize("expected", EMPTY_VALUES)
@pytest.mark.parametrize("predicted", EMPTY_VALUES)
def test_null_missing_and_empty_are_equal(expected: Any, predicted: Any) -> None:
    result = score_sample(make_sample(expected, **OPTIONAL), predicted)
    assert result.fields == ()
    assert drop_outcomes(result.score.tally) == Tally()
    assert result.score.exact_match
    assert result.score.tally.f1("strict") is None


def test_unexpected_value_is_spurious_and_absent_one_missed() -> None:
    sample = make_sample({"a": None}, **OPTIONAL)
    assert drop_outcomes(score_sample(sample, {"a": "x"}).score.tally) == Tally(
        predicted=1, spurious=1, type_right=1, type_total=1
    )
    missed_score = score_sample(make_sample({"l": ["x"]}, **OPTIONAL), {"l": []}).score
    assert drop_outcomes(missed_score.tally) == Tally(1, missed=1)


def test_required_empty_array_counts_as_absent() -> None:
    required = {"properties": {"l": {"type": "array"}}, "required": ["l"]}
    sample = make_sample({"l": []}, **required)
    assert score_sample(sample, {"l": []}).score.tally == Tally(left_out=1, absent=1)
    assert score_sample(sample, {"l": []}).score.exact_match
    # Its absence violates the schema, so the reply is invalid.
    score_without_array = score_sample(sample, {}).score
    assert (
        score_without_array.tally,
        score_without_array.valid,
        score_without_array.exact_match,
    ) == (Tally(left_out=1, absent=1), False, False)
    for extra_elements in ([{"x": 1}, {"x": 2}], ["a", "b"]):
        score_with_elements = score_sample(sample, {"l": extra_elements}).score
        # In an array of objects, each object has its fields; an array of scalars is one field.
        spurious = 2 if isinstance(extra_elements[0], dict) else 1
        assert (score_with_elements.tally.expected, score_with_elements.tally.spurious) == (
            0,
            spurious,
        )
        assert score_with_elements.hallucinations == (0, 0, 0, spurious)
    sample_with_elements = make_sample({"l": [{"x": 1}]}, **required)
    assert score_sample(sample_with_elements, {"l": []}).score.tally == Tally(1, missed=1)


def test_reply_that_is_not_json_misses_every_field() -> None:
    result = score_sample(SIMPLE_SAMPLE, {"name": "John Smith"}, parsed=False)
    assert drop_outcomes(result.score.tally) == Tally(expected=4, missed=4)
    assert (result.score.parsed, result.score.valid) == (False, False)
    assert result.score.schema_errors == ()


def test_invalid_reply_is_scored_but_counts_zero_in_totals() -> None:
    score = score_sample(SIMPLE_SAMPLE, {"name": "John Smith", "age": "35", "x": 1}).score
    assert not score.valid
    assert score.schema_errors == ('/age: "35" is not of type "integer"',)
    assert drop_outcomes(score.tally) == Tally(4, 3, 1, 1, 0, 1, 2, 1, 1, 2)
    assert drop_outcomes(score.tally.remove_credit()) == Tally(
        expected=4, predicted=3, missed=2, spurious=1, type_total=2
    )


@pytest.mark.parametrize("root", [None, [], {}, 5, "x", True, [SIMPLE_SAMPLE.expected], [1, 2]])
def test_roots_of_the_wrong_type(root: Any) -> None:
    score = score_sample(SIMPLE_SAMPLE, root).score
    assert score.tally.expected == score.tally.missed == 4
    assert score.tally.strict == 0
    assert not score.exact_match


def test_array_in_place_of_an_object() -> None:
    result = score_sample(SIMPLE_SAMPLE, [SIMPLE_SAMPLE.expected])
    assert {field.error for field in result.fields} == {"array_vs_object"}
    assert result.score.confusion == {"object>array": 4}
    assert result.score.tally.type_right == 0
    scalar_result = score_sample(
        NESTED_SAMPLE, {**NESTED_SAMPLE.expected, "contact": "sarah.j@hospital.org"}
    )
    assert scalar_result.score.errors == {"wrong_type": 3}
    assert scalar_result.score.confusion["object>string"] == 1


def test_roots_that_are_arrays_and_scalars() -> None:
    array_sample = Sample(
        id="rows", text="", expected=[{"a": 1}, {"a": 2}],
        schema={"type": "array", "items": {"type": "object", "properties": {"a": {}}}},
    )  # fmt: skip
    result = score_sample(array_sample, [{"a": 1}, {"a": 2}])
    assert [(field.path, field.depth) for field in result.fields] == [("[].a", 0)] * 2
    assert result.score.exact_match
    scalar_sample = Sample(id="one", text="", schema={"type": "string"}, expected="x")
    assert score_sample(scalar_sample, "x").score.exact_match


# -- types ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "expected", "predicted", "pair", "error"),
    [
        ({"type": "integer"}, 35, "35", "integer>string", "wrong_type"),
        ({"type": "integer"}, 35, "thirty", "integer>string", "type_coercion_failed"),
        ({"type": "number"}, 1.5, "N/A", "number>string", "type_coercion_failed"),
        ({"type": "integer"}, 35, 35.5, "integer>number", "wrong_type"),
        ({"type": "boolean"}, True, 1, "boolean>number", "wrong_type"),
        ({"type": "string"}, "5", 5, "string>number", "wrong_type"),
        ({"type": "string"}, "x", ["x"], "string>array", "wrong_type"),
        ({"enum": ["a", "b"]}, "a", "c", "string (enum)>string", "wrong_type"),
        ({"type": "string", "format": "date"}, "2024-01-05", "5 January 2024",
         "string (date)>string", "wrong_type"),
    ],
)  # fmt: skip
def test_wrong_type_is_found_for_any_value(
    declared: dict[str, Any], expected: Any, predicted: Any, pair: str, error: str
) -> None:
    result = score_sample(
        make_sample({"f": expected}, properties={"f": declared}), {"f": predicted}
    )
    assert result.score.confusion == {pair: 1}
    assert result.score.errors == {error: 1}
    assert result.score.tally.type_accuracy == 0.0
    assert not result.fields[0].strict
    assert sum(result.score.by["type"].values(), Tally()) == result.score.tally


def test_date_in_another_format_has_the_wrong_type() -> None:
    sample = make_sample(
        {"f": "2024-01-05"}, properties={"f": {"type": "string", "format": "date"}}
    )
    (field,) = score_sample(sample, {"f": "5 January 2024"}).fields
    assert (field.category, field.score, field.strict, field.type_right) == (
        "exact",
        1,
        False,
        False,
    )


def test_integers_are_numbers_and_whole_floats_integers() -> None:
    number_sample = make_sample(
        {"i": 5, "n": 5}, properties={"i": {"type": "integer"}, "n": {"type": "number"}}
    )
    score = score_sample(number_sample, {"i": 5.0, "n": 5}).score
    assert score.confusion == {"integer>integer": 1, "number>number": 1}
    assert score.by["type"].keys() == {"number"}
    assert score.exact_match


def test_any_of_several_types_is_right() -> None:
    union_sample = make_sample({"f": 5}, properties={"f": {"type": ["string", "number", "null"]}})
    assert score_sample(union_sample, {"f": 5}).score.confusion == {"number>number": 1}
    score = score_sample(union_sample, {"f": "5"}).score
    assert (score.tally.type_right, score.tally.exact) == (1, 0)


def test_lenient_coercion_accepts_convertible_types() -> None:
    lenient_matching = vary_specification(coercion="lenient")
    score = score_sample(
        SIMPLE_SAMPLE, {**SIMPLE_SAMPLE.expected, "age": "35"}, lenient_matching
    ).score
    assert score.tally.strict == score.tally.type_right == 4
    assert not score.valid
    assert not score.exact_match
    unconvertible = score_sample(
        SIMPLE_SAMPLE, {**SIMPLE_SAMPLE.expected, "age": "n/a"}, lenient_matching
    ).score
    assert unconvertible.tally.type_right == 3


def test_undeclared_field_takes_the_expected_type() -> None:
    score = score_sample(make_sample({"a": 1, "b": "x"}), {"a": "1", "b": "y", "c": 2}).score
    assert score.confusion == {"number>string": 1, "string>string": 1}
    assert (score.tally.predicted, score.tally.type_total, score.tally.type_right) == (3, 2, 1)


# -- hallucinations and errors --------------------------------------------------------------------

EVIDENCE_TEXT = (
    "The Rhine is 1,233 km long. It was surveyed on 5 January 2024; 12.5%; 14\u202f000 or 2,4 Mio."
    " \u6771\u4eac"
)


@pytest.mark.parametrize(
    ("value", "type_", "hallucination"),
    [
        ("rhine", "string", 3),
        ("The  RHINE is", "string", 3),
        ("Rhin", "string", 1),  # not a whole word
        ("Danube", "string", 1),
        (1233, "number", 3),
        (1.233, "number", 3),  # the comma of 1,233 may separate decimals or thousands
        (123, "number", 1),
        (0.125, "number", 3),
        (True, "boolean", 1),
        ("2024-01-05", "string", 3),
        ("2024-03-05", "string", 1),
        (["Rhine", 1233], "array", 3),
        (["Rhine", "Danube"], "array", 1),
        ("\u6771", "string", 3),  # this script has no blanks between words
        ("expected elsewhere", "string", 3),
        (77, "number", 3),
        (14000, "number", 3),
        (2_400_000, "number", 3),
        (10**400, "number", 1),
        ("", "string", 1),
        (math.nan, "number", 1),
    ],
)
def test_unexpected_field_is_classified_as_hallucination(
    value: Any, type_: str, hallucination: int
) -> None:
    expected = {"other": "Expected  elsewhere", "tags": ["x", 77]}
    result = score_sample(make_sample(expected, EVIDENCE_TEXT), {**expected, "extra": value})
    assert index_fields(result)["extra"].hallucination == hallucination
    assert index_fields(result)["extra"].type_expected == ""
    # Index 1 (type 2) counts wrong values of expected fields; the other types are spurious fields.
    unexpected = sum(result.score.hallucinations[kind] for kind in (0, 2, 3))
    assert unexpected == result.score.tally.spurious == 1


def test_wrong_value_that_is_not_in_the_text_is_counted_apart() -> None:
    schema = {"properties": {"river": {"type": "string"}, "wet": {"type": "boolean"}}}
    sample = make_sample({"river": "Rhine", "wet": True}, "The Rhine meets the Main.", **schema)
    other_value = score_sample(sample, {"river": "Main", "wet": False})
    assert other_value.score.hallucinations == (0, 0, 0, 0)
    assert other_value.score.errors == {"wrong_value": 2}
    absent_value = score_sample(sample, {"river": "Danube", "wet": True})
    assert absent_value.score.hallucinations == (0, 1, 0, 0)
    assert absent_value.score.errors == {"wrong_value": 1}
    assert (absent_value.score.searched, absent_value.score.not_found) == (1, 1)
    assert absent_value.score.tally.hallucination_rate == 0


def test_wrong_enum_value_is_not_a_hallucination() -> None:
    schema = {"properties": {"state": {"enum": ["open", "shut"]}}}
    sample = make_sample({"state": "open"}, "No word of it.", **schema)
    assert score_sample(sample, {"state": "shut"}).score.hallucinations == (0, 0, 0, 0)
    assert score_sample(sample, {"state": "ajar"}).score.hallucinations == (0, 1, 0, 0)
    assert score_sample(
        make_sample({}, "No", **schema), {"state": "shut"}
    ).score.hallucinations == (
        1,
        0,
        0,
        0,
    )


def test_extra_array_elements() -> None:
    sample = make_sample({"rows": [{"a": "x"}], "list": ["x", "y"]}, "x y")
    result = score_sample(sample, {"rows": [{"a": "x"}, {"a": "q"}], "list": ["x", "y", "z"]})
    assert result.score.hallucinations == (0, 0, 0, 2)
    # Only the second row is spurious: the list is one field, paired with the expected list.
    assert result.score.tally.spurious == 1
    assert result.score.errors == {"extra_field": 1, "partial_value": 1}


@pytest.mark.parametrize(
    ("expected", "predicted", "error"),
    [
        ("San Francisco, CA", "San Francisco", "incomplete_extraction"),
        ("San Francisco, CA", "San Francisco, CA, USA", "over_extraction"),
        ("party", "art", "wrong_value"),
        ("red green blue", "red green pink", "partial_value"),
        (10.0, 8.0, "partial_value"),
        ("", "x", "wrong_value"),
        ("aaa", "a" * 5_000 + "b", "wrong_value"),
    ],
)
def test_error_patterns_of_wrong_values(expected: Any, predicted: Any, error: str) -> None:
    result = score_sample(make_sample({"f": expected}), {"f": predicted})
    assert result.score.errors == {error: 1}
    assert result.score.error_fields == {f"{error} f": 1}


@pytest.mark.parametrize("text", ["N/A", "none", "Not specified", " - ", ""])
def test_placeholder_words_in_place_of_null(text: str) -> None:
    result = score_sample(make_sample({"a": None}, **OPTIONAL), {"a": text})
    assert result.score.errors == {"type_coercion_failed": 1}


def test_every_error_pattern_is_in_the_specification() -> None:
    specified_patterns = {name for family in ERROR_PATTERNS.values() for name in family}
    assert len(specified_patterns) == 12
    predicted = {"name": ["a"], "age": "old", "occupation": {"company": "TechCorp"}, "y": 3}
    assert set(score_sample(SIMPLE_SAMPLE, predicted).score.errors) <= specified_patterns


def test_ignored_fields_are_not_counted() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {"x-match": "ignore"}}}
    result = score_sample(make_sample({"a": "x", "b": "y"}, **schema), {"a": "x", "b": {"c": "z"}})
    assert [field.path for field in result.fields] == ["a"]
    assert result.score.exact_match
    assert score_sample(make_sample({"a": "x"}, **schema), {"a": "x", "b": 1}).score.exact_match


# -- cross-check with nervaluate ------------------------------------------------------------------

SPANS = [
    # One list per sample: (expected span, predicted span) of each field, as word positions; None
    # where the field is absent.
    [((0, 3), (0, 3)), ((4, 6), (4, 7)), ((8, 10), None), (None, (12, 13))],
    [((0, 2), (0, 2)), ((3, 6), (3, 6)), ((7, 9), (7, 9))],
    [(None, (0, 1)), (None, (2, 3)), ((5, 8), (6, 8))],
    [((0, 1), None), ((2, 4), (2, 5)), ((6, 9), (6, 8)), ((10, 12), (10, 12))],
]


@pytest.mark.parametrize(("mode", "reference_mode"), [("strict", "strict"), ("partial", "partial")])
def test_counts_and_rates_match_nervaluate(mode: Any, reference_mode: str) -> None:
    """Compares both tools on fields whose values are text spans, which both can score."""
    words = [chr(97 + number) * 2 for number in range(20)]
    total, expected_spans, predicted_spans = Tally(), [], []
    for fields in SPANS:
        values: list[dict[str, str]] = [{}, {}]
        spans: list[list[dict[str, Any]]] = [[], []]
        for number, span_pair in enumerate(fields):
            for side, span in enumerate(span_pair):
                if span is not None:
                    values[side][f"f{number}"] = " ".join(words[slice(*span)])
                    start, end = span
                    spans[side].append({"label": f"f{number}", "start": start, "end": end - 1})
        total += score_sample(make_sample(values[0], " ".join(words)), values[1]).score.tally
        expected_spans.append(spans[0])
        predicted_spans.append(spans[1])
    tags = [f"f{number}" for number in range(4)]
    reference = Evaluator(expected_spans, predicted_spans, tags=tags, loader="dict").evaluate()[
        "overall"
    ][reference_mode]
    categories = count_categories(total, mode)
    assert categories == {
        "exact": reference.correct,
        "partial": reference.partial,
        "incorrect": reference.incorrect,
        "missed": reference.missed,
        "spurious": reference.spurious,
    }
    assert total.precision(mode) == pytest.approx(reference.precision)
    assert total.recall(mode) == pytest.approx(reference.recall)
    assert total.f1(mode) == pytest.approx(reference.f1)


# -- hard cases -----------------------------------------------------------------------------------


def test_hundred_thousand_fields_are_scored() -> None:
    expected = {f"key {number}": number for number in range(100_000)}
    predicted = {**expected, "key 5": -5, "more": 1}
    del predicted["key 6"]
    score = score_sample(make_sample(expected), predicted).score
    assert score.tally.expected == score.tally.predicted == 100_000
    assert (score.tally.strict, score.tally.missed, score.tally.spurious) == (99_998, 1, 1)


def test_undeclared_fields_are_grouped_under_one_name() -> None:
    score = score_sample(
        SIMPLE_SAMPLE, {f"k{number}": f"v{number}" for number in range(100_000)}
    ).score
    assert score.tally.spurious == 100_000
    assert set(score.by["name"]) == {*SIMPLE_SAMPLE.expected, UNDECLARED_FIELDS_KEY}
    # Four missing fields, and one name for all undeclared fields.
    assert len(score.error_fields) == 5


@pytest.mark.parametrize("ordered", [True, False])
def test_very_deep_elements_are_aligned_by_field(ordered: bool) -> None:
    deep: Any = 1
    for _ in range(950):
        deep = [deep]
    rows = [{"n": number, "deep": deep} for number in range(3)]
    matching = vary_specification(ordered_arrays=ordered)
    score = score_sample(make_sample({"rows": rows}), {"rows": rows[::-1]}, matching).score
    assert (score.tally.strict, score.tally.expected) == (6, 6)
    assert not score.valid  # too deep for the schema check


def test_many_equal_elements_are_scored_without_comparing_all_pairs() -> None:
    # A comparison of every expected with every predicted element would take hours.
    rows = [{"a": "x"}] * 40_000
    score = score_sample(make_sample({"here": rows}), {"there": rows}).score
    assert (score.tally.strict, score.tally.missed, score.tally.spurious) == (0, 40_000, 40_000)
    assert score.errors == {"wrong_nesting": 80_000}
    letter_sample = make_sample({"f": "b"}, "a" * 1_000_000)
    score = score_sample(letter_sample, {f"k{number}": "a" for number in range(5_000)}).score
    assert score.hallucinations == (5_000, 0, 0, 0)


@pytest.mark.parametrize("wrap", ["object", "array", "both"])
@pytest.mark.parametrize("depth", [200, 600])
def test_deeply_nested_values_are_scored(wrap: str, depth: int) -> None:
    value: Any = "leaf"
    for level in range(depth):
        in_object = wrap == "object" or (wrap == "both" and level % 2)
        value = {"a": value} if in_object else [value]
    sample = make_sample({"f": value})
    result = score_sample(sample, {"f": value})
    assert (result.score.tally.expected, result.score.tally.strict) == (1, 1)
    assert score_sample(sample, {"f": "leaf"}).score.tally.missed == 1
    assert score_sample(sample, None).score.tally.missed == 1


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, 10**4000, -(10**4000), 1e308, 5e-324, "\ud800", "\0"]
)
def test_non_json_values_are_handled(value: Any) -> None:
    sample = make_sample({"f": value, "l": [value, "x"], "r": [{"q": value}, {"q": 1}]}, "\ud800")
    score = score_sample(sample, sample.expected).score
    # The fields are f, l, and q of two rows.
    assert score.tally.strict == score.tally.expected == 4
    for other_value in ("y", 1.5, True, {"a": value}, [value]):
        assert score_sample(sample, {"f": other_value}).score.tally.expected == 4
    json.loads(msgspec.json.encode(score))


@pytest.mark.parametrize(
    "key", ["a.b", "a[]", 'q"', "", "\ud800", "\n", "k" * 100_000, "orders[].item"]
)
def test_keys_that_look_like_paths(key: str) -> None:
    sample = make_sample({key: "x", "a": {"b": "y"}, "orders": [{"item": "z"}]})
    result = score_sample(sample, sample.expected)
    paths = [field.path for field in result.fields]
    assert len(set(paths)) == 3
    assert {"a.b", "orders[].item"} < set(paths)
    assert result.score.exact_match == (key != "\ud800")  # a lone surrogate is not valid JSON
    assert max(map(len, paths)) < 2_000
    json.loads(msgspec.json.encode(result.score))


def test_score_survives_a_json_round_trip() -> None:
    score = score_sample(NESTED_SAMPLE, {"name": "Sarah", "contact": {"email": 5}, "x": [1]}).score
    assert msgspec.json.decode(msgspec.json.encode(score), type=SampleScore) == score


def test_value_of_a_non_json_type_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="not a JSON value: object"):
        score_sample(SIMPLE_SAMPLE, {"name": object(), "age": object()})


@pytest.mark.parametrize("value", ["x", 1, True, ["x"], {"a": "x"}, [{"a": "x"}]])
def test_ignored_value_is_not_a_field(value: Any) -> None:
    properties = {"kept": {"type": "string"}, "free": {"x-match": "ignore"}}
    for expected, predicted in ((value, value), (value, "other"), (value, None), (None, value)):
        sample = Sample(
            id="s",
            text="",
            schema={"properties": properties},
            expected={"kept": "a", "free": expected},
        )
        score = score_sample(sample, {"kept": "a", "free": predicted}).score
        assert drop_outcomes(score.tally) == Tally(1, 1, 1, 1, 0, 1, 0, 0, 1, 1)
        assert score.exact_match


def test_scores_are_binned_by_hundredths_rounded_down() -> None:
    properties = {name: {"type": "number"} for name in "abcd"}
    expected = dict.fromkeys("abcd", 100)
    sample = Sample(id="s", text="", schema={"properties": properties}, expected=expected)
    # The scores are .9499 (unequal numbers score at least 1e-4 below the exact threshold, .95),
    # .71, .29 and .006. The score .29 belongs to bin 29, although 100 * .29 is 28.999999999999996.
    score = score_sample(sample, {"a": 95, "b": 71, "c": 29, "d": 0.6}).score
    assert score.composite == {94: 1, 71: 1, 29: 1, 0: 1}


def test_only_a_longer_list_has_extra_elements() -> None:
    def count_hallucinations(
        expected: list[str], predicted: list[str]
    ) -> tuple[int, int, int, int]:
        schema = {"properties": {"s": {"type": "array", "x-match": "set"}}}
        sample = Sample(id="s", text="a b c", schema=schema, expected={"s": expected})
        return score_sample(sample, {"s": predicted}).score.hallucinations

    assert count_hallucinations(["a", "b"], ["a", "b", "zq"]) == (0, 0, 0, 1)
    # In a list that is not longer, a wrong value is hallucinated only if it is not in the text.
    assert count_hallucinations(["a", "b"], ["zq", "zz"]) == (0, 1, 0, 0)
    assert count_hallucinations(["a", "b"], ["zq"]) == (0, 1, 0, 0)
    assert count_hallucinations(["a"], ["c"]) == (0, 0, 0, 0)
    # One extra element among twenty leaves the list an exact match, so nothing is hallucinated.
    nineteen_values = [f"a{number}" for number in range(19)]
    assert count_hallucinations(nineteen_values, [*nineteen_values, "zq"]) == (0, 0, 0, 0)


def test_thresholds_are_inclusive() -> None:
    def tally_values(expected: Any, predicted: Any) -> Tally:
        properties = {"n": {"type": "number"}, "s": {"type": "array", "x-match": "set"}}
        sample = Sample(id="s", text="", schema={"properties": properties}, expected=expected)
        return score_sample(sample, predicted).score.tally

    at_partial_threshold = tally_values({"n": 100}, {"n": 50})
    assert (
        at_partial_threshold.exact,
        at_partial_threshold.partial,
        at_partial_threshold.lenient,
    ) == (0, 1, 1)
    below_partial_threshold = tally_values({"n": 100}, {"n": 49.9})
    assert (
        below_partial_threshold.exact,
        below_partial_threshold.partial,
        below_partial_threshold.lenient,
    ) == (0, 0, 1)
    at_lenient_threshold = tally_values({"n": 100}, {"n": 30})
    assert (at_lenient_threshold.partial, at_lenient_threshold.lenient) == (0, 1)
    assert tally_values({"n": 100}, {"n": 29.9}).lenient == 0
    # 19 of 20 equal elements score .95, the threshold for exact; 18 of 19 score less.
    at_exact_threshold = tally_values({"s": list(range(20))}, {"s": list(range(19))})
    assert (at_exact_threshold.strict, at_exact_threshold.exact) == (0, 1)
    assert tally_values({"s": list(range(19))}, {"s": list(range(18))}).exact == 0


def test_thresholds_can_be_set() -> None:
    strict_thresholds = vary_specification(exact=1.0, partial=0.9, lenient=0.8)
    score = score_sample(
        SIMPLE_SAMPLE, {**SIMPLE_SAMPLE.expected, "occupation": "engineer"}, strict_thresholds
    ).score
    assert (score.tally.partial, score.tally.lenient) == (0, 3)
    low_thresholds = vary_specification(exact=0.5, partial=0.5, lenient=0.5)
    score = score_sample(
        SIMPLE_SAMPLE, {**SIMPLE_SAMPLE.expected, "occupation": "engineer"}, low_thresholds
    ).score
    assert (score.tally.exact, score.tally.strict) == (4, 3)
    thresholds = {"exact": 0.95, "partial": 0.5, "lenient": 0.3, "numeric_tolerance": 0.001}
    assert thresholds.items() <= msgspec.structs.asdict(Matching()).items()
