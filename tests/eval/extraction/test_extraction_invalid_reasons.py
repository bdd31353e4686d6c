"""Tests what reports say about invalid replies: the keyword, the field, and the gain of mending."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from eval.extraction.aggregate import MeasurementPlan, aggregate_rows
from eval.extraction.record import SystemReport
from eval.extraction.row import ExtractionRow
from eval.extraction.row_builder import build_row
from eval.extraction.samples.sample import MARKS, Sample
from eval.extraction.schemas.violations import MAX_CLASSES, InvalidReason
from eval.extraction.settings import Matching
from eval.extraction.summary import list_invalid_reasons
from eval.harness.reply import Reply

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "state": {"enum": ["open", "shut"]},
        "rows": {"type": "array", "items": {"properties": {"n": {"type": "integer"}}}},
    },
    "required": ["name"],
    "additionalProperties": False,
}
EXPECTED = {"name": "Ada", "state": "open", "rows": [{"n": 1}, {"n": 2}]}
REPLIES: list[Any] = [
    EXPECTED,
    {**EXPECTED, "state": "ajar"},
    {**EXPECTED, "state": "half", "rows": [{"n": "one"}, {"n": "two"}]},
    {**EXPECTED, "rows": [{"n": "one"}, {"n": 2}]},
    {"state": "open", "rows": [{"n": 1}, {"n": 2}]},
    {**EXPECTED, "more": 1, "other": 2},
]
PLAN = MeasurementPlan(resamples=100)


def make_rows(matching: Matching = Matching()) -> list[ExtractionRow]:  # noqa: B008  # frozen
    return [
        build_row(
            Sample(id=str(number), text="Ada", schema=SCHEMA, expected=EXPECTED),
            Reply(id=str(number), system="s", value=value),
            matching,
        )
        for number, value in enumerate(REPLIES)
    ]


def measure(rows: list[ExtractionRow], plan: MeasurementPlan = PLAN) -> SystemReport:
    return aggregate_rows(rows, plan).systems["s"]


def index_reasons(report: SystemReport) -> dict[tuple[str, str | None], InvalidReason]:
    return {(reason.keyword, reason.field): reason for reason in report.invalid_reasons}


def test_reasons_name_keyword_and_field_with_counts_and_an_example() -> None:
    reasons = index_reasons(measure(make_rows()))
    counts = {
        key: (reason.replies, reason.violations, reason.mended) for key, reason in reasons.items()
    }
    assert counts == {
        ("enum (string)", None): (2, 2, 1),
        ("enum (string)", "state"): (2, 2, 1),
        ("type (string)", None): (2, 3, 1),
        ("type (string)", "rows[].n"): (2, 3, 1),
        ("required", None): (1, 1, 1),
        ("required", "name"): (1, 1, 1),
        ("additionalProperties", None): (1, 1, 1),
        ("additionalProperties", "(not allowed)"): (1, 1, 1),
    }
    assert "is not of type" in reasons["type (string)", "rows[].n"].example
    assert reasons["required", "name"].validity_gain == pytest.approx(1 / 6)


@pytest.mark.parametrize("invalid", ["zero", "as_is"])
def test_the_gain_is_what_the_score_gains_if_these_replies_were_valid(invalid: Any) -> None:
    rows, plan = make_rows(), replace(PLAN, invalid=invalid)
    report = measure(rows, plan)
    before = report.metrics["extraction_quality_score"].value
    for reason in report.invalid_reasons:
        mended = [
            _mend(row)
            if row.score.violations
            and all(
                one.keyword == reason.keyword and reason.field in (None, one.field)
                for one in row.score.violations
            )
            else row
            for row in rows
        ]
        after = measure(mended, plan).metrics["extraction_quality_score"].value
        assert before is not None
        assert after is not None
        assert reason.score_gain == pytest.approx(after - before, abs=1e-9), reason


def _mend(row: ExtractionRow) -> ExtractionRow:
    """Returns the same row as a valid one."""
    from msgspec.structs import replace as replace_fields

    score = replace_fields(row.score, valid=True, violations=())
    return replace_fields(row, outcome="OK", score=score)


def test_reasons_do_not_depend_on_the_order_of_rows() -> None:
    rows = make_rows()
    expected = measure(list(rows)).invalid_reasons
    random.Random(3).shuffle(rows)
    assert measure(rows).invalid_reasons == expected


def test_lines_show_what_costs_most_first() -> None:
    lines = list(list_invalid_reasons(measure(make_rows()), 2))
    assert len(lines) == 2
    assert lines[0].startswith("  invalid for enum (string) in 2 replies, alone in 1: mended,")
    assert "state 2" in lines[0]


def test_fields_that_replies_make_up_are_pooled() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    sample = Sample(id="1", text="x", schema=schema, expected={"a": 1})
    rows = [
        build_row(
            sample,
            Reply(
                id="1",
                system="s",
                repeat=repeat,
                value={f"key {repeat} {number}": "x" for number in range(150)},
            ),
            Matching(),
        )
        for repeat in range(20)
    ]
    reasons = measure(rows, replace(PLAN, repeats=20)).invalid_reasons
    assert len(reasons) <= MAX_CLASSES + 1
    assert any(reason.keyword == "(other)" for reason in reasons)


def test_samples_without_a_usable_schema_are_neither_valid_nor_invalid() -> None:
    rows = [
        build_row(
            Sample(id=str(number), text="x", schema={}, expected={"a": 1}, meta={MARKS: marks}),
            Reply(id=str(number), system="s", value={"a": 1}),
            Matching(),
        )
        for number, marks in enumerate([{"schema": "why"}, {"gold": "why"}])
    ]
    validity = measure(rows).metrics["schema_validity"]
    assert (validity.numerator, validity.denominator) == (1, 1)
    assert measure(rows[:1]).metrics["schema_validity"].value is None
    assert measure(rows[:1]).metrics["field_f1_strict"].value == 1
