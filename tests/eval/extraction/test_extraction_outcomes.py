"""Tests the outcomes of fields: right, wrong, missed, left out, invented; nulls and confidences."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from eval.extraction.aggregate import MeasurementPlan, aggregate_rows
from eval.extraction.record import SystemReport
from eval.extraction.row import ExtractionRow
from eval.extraction.row_builder import build_row
from eval.extraction.samples.sample import RowError, Sample, sample_from_row
from eval.extraction.scorer import score_sample
from eval.extraction.settings import DEFAULT_MATCHING, SPECIFICATION_MATCHING, Matching
from eval.extraction.summary import render_metrics
from eval.harness.reply import Reply

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name", "born"],
    "properties": {
        "name": {"type": "string"},
        "born": {"type": "integer"},
        "city": {"type": "string"},
        "phone": {"type": "string"},
        "owner": {
            "type": "object",
            "properties": {"first": {"type": "string"}, "last": {"type": "string"}},
        },
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
EXPECTED = {"name": "Ada", "born": 1815, "city": "London"}


def build(
    value: Any,
    expected: Any = EXPECTED,
    matching: Matching = DEFAULT_MATCHING,
    id_: str = "a",
    **reply: Any,
) -> ExtractionRow:
    sample = Sample(id=id_, text="Ada, born 1815 in London", schema=SCHEMA, expected=expected)
    return build_row(sample, Reply(id=id_, system="m", value=value, **reply), matching)


def measure(*rows: ExtractionRow) -> SystemReport:
    return aggregate_rows(rows, MeasurementPlan(resamples=50)).systems["m"]


def get_values(report: SystemReport, *names: str) -> list[float | None]:
    return [report.metrics[name].value for name in names]


def test_five_outcomes_are_counted_with_intervals() -> None:
    # name right, born wrong, city missed; phone invented; owner.first, owner.last, tags left out.
    report = measure(build({"name": "ada", "born": 1851, "phone": "5550123"}))
    names = ("right_rate", "wrong_rate", "omission_rate", "left_out_rate", "invented_rate")
    assert get_values(report, *names) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 3 / 4, 1 / 4])
    assert report.metrics["field_accuracy"].value == pytest.approx(1 / 4)
    for name in names:
        estimate = report.metrics[name]
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low < (estimate.value or 0) < estimate.high
    groups = report.breakdowns["name"].groups
    assert groups["phone"].metrics["invented_rate"].value == 1
    assert groups["tags"].metrics["left_out_rate"].value == 1
    assert groups["born"].metrics["wrong_rate"].value == 1
    assert groups["name"].metrics["left_out_rate"].value is None


@pytest.mark.parametrize(
    "absent", [{}, {"phone": None, "owner": None, "tags": None}, {"owner": {}, "tags": []},
               {"phone": "", "owner": {"first": None, "last": " "}, "tags": [None]}]
)  # fmt: skip
def test_absent_null_and_empty_are_the_same(absent: dict[str, Any]) -> None:
    for expected, value in ((EXPECTED, {**EXPECTED, **absent}), ({**EXPECTED, **absent}, EXPECTED)):
        row = build(value, expected)
        assert row.score.valid
        assert row.score.exact_match
        assert (row.score.tally.left_out, row.score.tally.absent) == (4, 4)


def test_null_where_the_schema_has_none_is_an_outcome_of_its_own() -> None:
    row = build({**EXPECTED, "phone": None, "owner": {"first": None}})
    assert (row.outcome, row.score.nulls, row.problem) == ("NULLS", 2, "")
    assert (row.score.valid, row.score.valid_literal) == (True, False)
    assert len(row.score.tolerated) == 2
    report = measure(row, build(EXPECTED, id_="b"))
    assert (report.outcomes.ok, report.outcomes.nulls, report.outcomes.invalid) == (1, 1, 0)
    names = ("schema_validity", "schema_validity_literal", "forbidden_null_rate", "exact_match")
    assert get_values(report, *names) == [1, 0.5, 0.5, 1]
    assert any("nulls where the schema allows none" in note for note in report.notes)


def test_strict_nulls_make_a_reply_invalid() -> None:
    row = build({**EXPECTED, "phone": None}, matching=Matching(nulls="strict"))
    assert (row.outcome, row.score.nulls) == ("INVALID", 0)
    assert row.score.schema_errors


def test_null_in_a_required_field_is_missed_and_a_missing_one_invalid() -> None:
    row = build({"name": "Ada", "born": None, "city": "London"})
    assert (row.outcome, row.score.tally.missed) == ("NULLS", 1)
    assert build({"name": "Ada", "city": "London"}).outcome == "INVALID"
    # If the expected output does not have it either, leaving it out is right.
    unknown = {"name": "Ada", "born": None, "city": "London"}
    row = build({"name": "Ada", "city": "London"}, unknown)
    assert (row.outcome, row.score.exact_match) == ("OK", True)


@pytest.mark.parametrize("in_array", [False, True])
def test_a_missing_key_is_tolerated_only_if_the_expected_output_lacks_the_same(
    in_array: bool,
) -> None:
    part = {"type": "object", "required": ["a", "b", "c"]}
    part["properties"] = {key: {"type": "string"} for key in "abc"}
    schema = {"type": "object", "properties": {"part": part}}
    if in_array:
        schema["properties"] = {"part": {"type": "array", "items": part}}
    full = {"a": "x", "b": "y"}
    expected = {"part": [full, full] if in_array else full}
    sample = Sample(id="s", text="", schema=schema, expected=expected)
    for value, missing in (
        (full, ""),
        ({**full, "c": "z"}, ""),
        ({"a": "x"}, "b"),
        ({"b": "y"}, "a"),
        ({"b": "y", "c": "z"}, "a"),
    ):
        predicted = {"part": [full, value] if in_array else value}
        score = score_sample(sample, predicted).score
        assert score.valid == (not missing)
        path = "/part/1" if in_array else "/part"
        errors = (f'{path}: "{missing}" is a required property',) if missing else ()
        assert score.schema_errors == errors


def test_other_violations_stay_invalid_and_are_named() -> None:
    row = build({**EXPECTED, "born": "long ago", "phone": None})
    assert row.outcome == "INVALID"
    assert [error.partition(":")[0] for error in row.score.schema_errors] == ["/born"]
    assert [error.partition(":")[0] for error in row.score.tolerated] == ["/phone"]
    for value in (None, [], "text"):
        assert build(value).outcome == "INVALID"


def test_nulls_are_tolerated_inside_alternatives_and_elements() -> None:
    schema = {
        "type": "object",
        "properties": {
            "maybe": {"anyOf": [{"$ref": "#/$defs/part"}, {"type": "string"}]},
            "rows": {"type": "array", "items": {"$ref": "#/$defs/part"}},
        },
        "$defs": {"part": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        "additionalProperties": False,
    }
    value = {"maybe": {"n": None}, "rows": [{"n": 1}, {"n": None}], "more": None}
    sample = Sample(id="s", text="", schema=schema, expected={"rows": [{"n": 1}]})
    row = build_row(sample, Reply(id="s", system="m", value=value), DEFAULT_MATCHING)
    assert (row.score.valid, row.score.valid_literal, row.score.nulls) == (True, False, 2)


def test_fields_of_invalid_replies_keep_their_outcomes() -> None:
    report = measure(build({**EXPECTED, "born": "long ago"}))
    values = get_values(report, "field_f1_strict", "right_rate", "left_out_rate")
    assert values == pytest.approx([0, 2 / 3, 1])


def test_unreadable_reply_leaves_nothing_out() -> None:
    report = measure(build(None, status="invalid"))
    names = ("right_rate", "omission_rate", "left_out_rate", "invented_rate")
    assert get_values(report, *names) == [0, 1, 0, 0]


def test_failed_call_gives_bounds() -> None:
    report = measure(build(EXPECTED), build(None, status="error", id_="b"))
    left_out = report.metrics["left_out_rate"]
    assert (left_out.value, left_out.best) == (1, 1)
    # Four fields were to be left out in each; the lost reply could have invented three more.
    assert left_out.worst == pytest.approx(4 / 11)


def test_expected_output_may_have_nulls_and_several_right_values() -> None:
    row = {"text": "t", "schema": SCHEMA, "expected_output": {**EXPECTED, "phone": None}}
    assert sample_from_row(row, "1").expected["phone"] is None
    several = {**EXPECTED, "city": {"$any": ["London", "Londinium"]}}
    sample = sample_from_row({**row, "expected_output": several}, "1")
    reply = Reply(id="1", system="m", value={**EXPECTED, "city": "londinium"})
    assert build_row(sample, reply, DEFAULT_MATCHING).score.exact_match
    # An object that the schema forbids is refused as any other gold value.
    for alternatives in ([], "London", [None], ["London", ""], [{"a": 1}], ["London", {}]):
        with pytest.raises(RowError, match=r"any|valid"):
            sample_from_row(
                {**row, "expected_output": {**EXPECTED, "city": {"$any": alternatives}}}, "1"
            )


# -- confidences of fields ------------------------------------------------------------------------


def test_risk_and_coverage_of_each_field() -> None:
    rows = []
    for number, (value, confidence) in enumerate(
        [("London", 0.9), ("London", 0.8), ("Paris", 0.3), (None, 0.2)]
    ):
        confidences = {"city": confidence, "phone": 0.5, "born": "high"}
        rows.append(
            build(
                {"name": "Ada", "born": 1815, "city": value},
                id_=str(number),
                parts={"confidences": confidences},
            )
        )
    risks = measure(*rows).field_risks
    assert set(risks) == {"city", "phone"}
    city = risks["city"]
    assert (city.n, city.wrong) == (4, 2)
    assert city.curve == ((0.25, 0), (0.5, 0), (0.75, pytest.approx(1 / 3)), (1, 0.5))
    # The mean of the risks at each reply's confidence; the order is the best one.
    assert city.aurc.value == pytest.approx((0 + 0 + 1 / 3 + 1 / 2) / 4)
    assert city.aurc_best == pytest.approx(city.aurc.value)
    assert city.aurc.low is not None
    # The phone is rightly left out each time.
    assert (risks["phone"].n, risks["phone"].wrong) == (4, 0)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (2, 0, 1)])
def test_confidences_of_equal_values_stay_with_their_elements(order: tuple[int, ...]) -> None:
    item = {"type": "object", "properties": {key: {"type": "string"} for key in ("id", "a", "b")}}
    item["properties"]["in"] = {"type": "object", "properties": {"c": {"type": "string"}}}  # type: ignore[index]
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": item}}}
    expected = [
        {"id": "first", "a": "x", "in": {"c": "x"}},
        {"id": "second", "a": "y", "in": {"c": "y"}},
    ]
    # The second and the third, surplus row are wrong in "a" and "c"; the third has "b" as well.
    rows = [
        {"id": "first", "a": "x", "b": None, "in": {"c": "x"}},
        {"id": "second", "a": "x", "b": None, "in": {"c": "x"}},
        {"id": "third", "a": "x", "b": "x", "in": {"c": "x"}},
    ]
    sure = [
        {"a": 0.9, "b": 0.8, "in": {"c": 0.85}},
        {"a": 0.3, "b": 0.4, "in": {"c": 0.35}},
        {"a": 0.1, "b": 0.2, "in": {"c": 0.15}},
    ]
    sample = Sample(id="s", text="", schema=schema, expected={"rows": expected})
    score = score_sample(
        sample,
        {"rows": [rows[index] for index in order]},
        confidences={"rows": [sure[index] for index in order]},
    ).score
    found = {path: sorted(pairs) for path, pairs in score.field_confidences.items()}
    assert found == {
        "rows[].a": [(0.1, False), (0.3, False), (0.9, True)],
        "rows[].b": [(0.2, False), (0.4, True), (0.8, True)],
        "rows[].in.c": [(0.15, False), (0.35, False), (0.85, True)],
    }


def test_confidence_of_the_reply_stands_for_its_fields() -> None:
    rows = [
        build(EXPECTED, id_="a", confidence=0.9),
        build({**EXPECTED, "born": 1816}, id_="b", confidence=0.4),
    ]
    risks = measure(*rows).field_risks
    assert (risks["born"].n, risks["born"].wrong, risks["born"].aurc.value) == (2, 1, 0.25)
    assert (risks["tags"].n, risks["tags"].wrong) == (2, 0)


def test_right_fields_of_an_invalid_reply_are_no_errors() -> None:
    """What one field makes invalid is no fault of others that are right in another spelling."""
    schema = {
        "type": "object",
        "properties": {
            "day": {"type": "string", "format": "date"},
            "cabin": {"enum": ["economy", "premium economy"]},
            "total": {"type": "number", "x-tolerance": 0.01},
            "issued": {"type": "string", "format": "date"},
        },
    }
    gold = {"day": "2024-03-15", "cabin": "premium economy", "total": 100, "issued": "2024-01-02"}
    found = {"day": "15/03/2024", "cabin": "Premium Economy", "total": 100.5, "issued": "no idea"}
    sample = Sample(id="1", text="", schema=schema, expected=gold)
    score = score_sample(sample, found).score
    assert not score.valid
    assert (score.tally.right, score.tally.strict) == (3, 2)
    assert score.error_fields == {"wrong_type issued": 1}
    # In the specification's reading, what the schema forbids is a fault.
    literal = score_sample(sample, found, SPECIFICATION_MATCHING).score
    assert literal.error_fields.keys() >= {"wrong_type cabin", "wrong_type day"}


def test_words_for_a_system_follow_what_ranks_it() -> None:
    """Three of five values are wrong in every document, though valid and of the right types."""
    keys = "abcde"
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in keys}}
    gold = {key: f"value {key}" for key in keys}
    sample = Sample(id="", text="", schema=schema, expected=gold)
    wrong = gold | dict.fromkeys("abc", "something else")
    rows = [
        build_row(
            msgspec.structs.replace(sample, id=str(number)),
            Reply(id=str(number), system="s", value=wrong),
            DEFAULT_MATCHING,
        )
        for number in range(60)
    ]
    plan = MeasurementPlan(resamples=200, headline="field_accuracy_macro", failed="zero")
    system = aggregate_rows(rows, plan).systems["s"]
    assert system.metrics["field_accuracy_macro"].value == 0.4
    assert (system.quality.interpretation, system.quality.rated) == ("Poor", plan.headline)
    assert system.recommendation.verdict.startswith("Not recommended")


def test_two_readings_and_the_strict_one_are_said_where_they_are_seen() -> None:
    """An ambiguous notation is no small print: the terminal and the page say what settles it."""
    schema = {"type": "object", "properties": {"d": {"type": "string", "format": "date"}}}
    gold = {"d": "2024-03-05"}
    sample = Sample(id="s", text="", schema=schema, expected=gold)
    rows = [
        build_row(sample, Reply(id="s", system="m", value={"d": found}), DEFAULT_MATCHING)
        for found in ("05/03/2024", "5 March 2024", "2024-03-05")
    ]
    numbered = [msgspec.structs.replace(row, repeat=number) for number, row in enumerate(rows)]

    def render(*rows: ExtractionRow) -> str:
        report = aggregate_rows(rows, MeasurementPlan(resamples=50, repeats=len(rows)))
        return "\n".join(render_metrics(report))

    text = render(*numbered[:2])
    assert "1 wrong field would be right in another reading" in text
    assert "date_order" in text
    assert "strict reading, without rules: schema validity 0.000, field F1 0.000" in text
    assert "reading" not in render(rows[2])
