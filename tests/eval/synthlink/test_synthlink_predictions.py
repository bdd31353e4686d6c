"""Tests the reader of predictions: accepted rows, refused rows, and damaged files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.synthlink.predictions import Iteration, check_predictions, read_predictions
from kg.base.errors import MissingFileError, RecordError

IDS = ("HIA-01", "HIA-02", "SFT-03")

VALID_ROW: dict[str, Any] = {
    "question_id": "HIA-01",
    "predicted_answer": "The printing press made books cheaper, boosting literacy.",
    "retrieved_docs": ["https://en.wikipedia.org/wiki/Printing_press"],
    "iterations": [{"answers": ["Books cheaper"], "docs": []}],
    "sources_verified": ["Wikipedia text"],
}


def test_specification_example_is_read(tmp_path: Path) -> None:
    file = tmp_path / "predictions.json"
    file.write_text("\ufeff" + json.dumps([VALID_ROW]), encoding="utf-8")
    checked = read_predictions(file, IDS)
    assert not checked.refused
    (row,) = checked.rows
    assert row.predicted_answer == VALID_ROW["predicted_answer"]
    assert row.iterations == (Iteration(("Books cheaper",)),)
    assert row.sources_verified == ("Wikipedia text",)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"question_id": None}, "question_id is missing"),
        ({"question_id": 7}, "question_id is missing or not a string"),
        ({"question_id": "HIA-99"}, "no such question"),
        ({"question_id": "hia-02"}, "no such question"),
        ({"predicted_answer": None}, "predicted_answer is missing"),
        ({"predicted_answer": ["a"]}, "predicted_answer is not a string"),
        ({"predicted_answer": "x" * 20_001}, "more than 20,000 characters"),
        ({"predicted_answer": "\ud800"}, "lone surrogate"),
        ({"retrieved_docs": "x"}, "retrieved_docs is not a list"),
        ({"retrieved_docs": [1]}, "retrieved_docs has an item that is not a string"),
        ({"retrieved_docs": ["x"] * 501}, "501 items"),
        ({"sources_verified": ["x" * 20_000] * 11}, "more than 200,000 characters in all"),
        ({"iterations": [{"answers": ["x" * 20_000] * 6}] * 2}, "iterations has more than 200,000"),
        ({"iterations": [{"docs": ["x" * 20_000] * 6}] * 2}, "iterations has more than 200,000"),
        ({"iterations": [[]]}, "iteration 1 is not an object"),
        ({"iterations": [{}, {"answers": "x"}]}, "answers is not a list"),
        ({"sources_verified": {"a": 1}}, "sources_verified is not a list"),
    ],
)
def test_unusable_row_is_named_and_skipped(change: dict[str, Any], why: str) -> None:
    checked = check_predictions([{**VALID_ROW, "question_id": "HIA-02", **change}, VALID_ROW], IDS)
    assert [row.question_id for row in checked.rows] == ["HIA-01"]
    (refused,) = checked.refused
    assert refused.row == 1
    assert why in refused.why
    question_id = change.get("question_id", "HIA-02")
    assert refused.question_id == (question_id if isinstance(question_id, str) else "")
    assert str(refused).startswith("row 1")


def test_question_answered_twice_counts_as_unanswered() -> None:
    rows = [
        VALID_ROW,
        {**VALID_ROW, "question_id": "HIA-02"},
        {**VALID_ROW, "question_id": " HIA-01 "},
    ]
    checked = check_predictions(rows, IDS)
    assert [row.question_id for row in checked.rows] == ["HIA-02"]
    refused = [(refusal.row, refusal.question_id) for refusal in checked.refused]
    assert refused == [(1, "HIA-01"), (3, "HIA-01")]
    assert all("2 times" in refusal.why for refusal in checked.refused)


def test_duplicate_key_refuses_only_its_row(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    row_with_duplicate_key = (
        '{"question_id": "HIA-02", "predicted_answer": "a", "predicted_answer": "b"}'
    )
    file.write_text(
        f"[{row_with_duplicate_key}, {json.dumps(VALID_ROW)}, [NaN, 1e999], null]", encoding="utf-8"
    )
    checked = read_predictions(file, IDS)
    assert len(checked.rows) == 1
    assert [refusal.row for refusal in checked.refused] == [1, 3, 4]
    assert "twice" in checked.refused[0].why


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b'{"a": 1}', b"[", b"\xff", b"[" * 100_000, b"1" * 5_000, b'"text"'],
)
def test_file_without_a_list_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "p.json"
    file.write_bytes(content)
    with pytest.raises(RecordError) as error_info:
        read_predictions(file, IDS)
    assert str(file) in str(error_info.value)
    with pytest.raises(MissingFileError):
        read_predictions(tmp_path / "none.json", IDS)


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
_KEYS = ("question_id", "predicted_answer", "retrieved_docs", "iterations", "sources_verified")
_ROW = _ANYTHING | st.fixed_dictionaries(
    {}, optional={key: _ANYTHING | st.sampled_from(IDS) for key in _KEYS}
)


@settings(deadline=None, max_examples=200)
@given(st.lists(_ROW, max_size=6))
def test_every_row_is_accepted_or_refused(rows: list[Any]) -> None:
    checked = check_predictions([*rows, {**VALID_ROW, "question_id": "SFT-03"}], IDS)
    assert len(checked.rows) + len(checked.refused) == len(rows) + 1
    names = [row.question_id for row in checked.rows]
    assert len(set(names)) == len(names)
    assert set(names) <= set(IDS)
    assert "SFT-03" in names or any(refusal.question_id == "SFT-03" for refusal in checked.refused)


def test_very_long_number_is_handled(tmp_path: Path) -> None:
    digits = "9" * 6_000
    (tmp_path / "p.json").write_text(
        f'[{{"question_id": "HIA-01", "predicted_answer": "x", "tokens": {digits}}},'
        f' {{"question_id": {digits}, "predicted_answer": "x"}}]'
    )
    checked = read_predictions(tmp_path / "p.json", {"HIA-01"})
    assert [row.question_id for row in checked.rows] == ["HIA-01"]
    reasons = [refusal.why for refusal in checked.refused]
    assert reasons == ["question_id is missing or not a string"]


def test_lower_case_id_is_refused_with_a_suggestion() -> None:
    rows = [{"question_id": name, "predicted_answer": "x"} for name in ("hia-01", "hia-99")]
    assert [refusal.why for refusal in check_predictions(rows, {"HIA-01"}).refused] == [
        "the catalogue has no such question; did you mean HIA-01?",
        "the catalogue has no such question",
    ]
