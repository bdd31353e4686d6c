"""Tests that any return value becomes one valid row and that systems never see hidden fields."""

from __future__ import annotations

import gc
import math
import signal
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from reachable_objects import find_reachable_objects

from cards.card import Card, CardView
from eval.abstention.answers import ask_system, read_answer
from eval.abstention.result import Answer, result_from_json, result_to_json
from eval.model.foreign_values import MAX_ERROR_CHARS, MAX_RAW_CHARS
from eval.model.usage import Usage
from kg.base.files import to_json_bytes
from kg.claims import Claim, Proof


def make_secret_card() -> Card:
    return Card(
        id="HIDDEN-id",
        facts=("The Aa flows into the Bb.", "The Aa is a river."),
        rules=("A river has one mouth.",),
        question="Does the Aa flow into the Cc?",
        gold="NO",
        label="C",
        claim=Claim("urn:HIDDEN:s", "urn:HIDDEN:p", "urn:HIDDEN:o"),
        kind="HIDDEN-kind",
        cluster="urn:HIDDEN:s",
        proof=Proof(kind="denied", engine="index", reason="HIDDEN-proof"),
        meta={"HIDDEN-meta": 1},
        extra={"HIDDEN-extra": 1},
    )


class FixedSystem:
    """Returns a given reply, or raises it if it is an exception."""

    name = "returns"

    def __init__(self, reply: Any) -> None:
        self.reply = reply

    def params(self) -> dict[str, Any]:
        return {}

    def answer(self, card: CardView) -> Any:
        if isinstance(self.reply, BaseException):
            raise self.reply
        return self.reply


def make_row(reply: Any) -> Any:
    """Returns the row of a system that returns or raises ``reply``."""
    row = ask_system(
        FixedSystem(reply), make_secret_card(), name="returns", card_set="0123456789abcdef"
    )
    # Any row survives a round trip through JSON.
    assert result_from_json(msgspec.json.decode(to_json_bytes(result_to_json(row)))) == row
    return row


class SpySystem(FixedSystem):
    """Records the card views that it receives."""

    def __init__(self) -> None:
        super().__init__("YES")
        self.seen: list[CardView] = []

    def answer(self, card: CardView) -> Any:
        self.seen.append(card)
        return "YES"


def test_hidden_fields_are_unreachable_for_systems() -> None:
    card, spy = make_secret_card(), SpySystem()
    ask_system(spy, card, name="spy", card_set="0" * 64)
    (view,) = spy.seen
    assert (view.facts, view.rules, view.question) == (card.facts, card.rules, card.question)
    assert set(CardView.__struct_fields__) == {"facts", "rules", "question"}
    assert not hasattr(view, "__dict__")
    objects = find_reachable_objects(view)
    assert len(objects) > 3
    for reachable_object in objects:
        assert not isinstance(reachable_object, Card | Claim | Proof)
        assert "HIDDEN" not in repr(reachable_object)
        assert reachable_object not in ("NO", "C", "denied")
    hidden_ids = {
        id(part) for part in find_reachable_objects(card) if isinstance(part, str | tuple) and part
    }
    visible_ids = {id(part) for part in objects if isinstance(part, str | tuple) and part}
    # A shared string would lead back to the card through gc.get_referrers.
    assert not hidden_ids & visible_ids
    owner_types = [
        type(owner).__name__ for part in (view.facts, view) for owner in gc.get_referrers(part)
    ]
    assert "Card" not in owner_types


@pytest.mark.parametrize(
    ("reply", "pred"),
    [
        ("YES", "YES"),
        (" no.\n", "NO"),
        ('"Unknown"', "UNKNOWN"),
        ("I do not know", "UNKNOWN"),
        ("Yes, it does.", "YES"),
        ("No, it does not flow there.", "NO"),
        ("I know of no such river.", "INVALID"),
        ("It is known.", "INVALID"),
        ('{"answer": "YES"}', "YES"),
        ('{"answer": "YES", "why', "INVALID"),
        ("I cannot determine that. No.", "INVALID"),
        ("The answer is not YES", "INVALID"),
        ("YES NO", "INVALID"),
        ("", "INVALID"),
        ("ERROR", "INVALID"),
        (None, "INVALID"),
        (["YES"], "INVALID"),
        (True, "INVALID"),
        (("YES", 0.5), "INVALID"),
        (Answer(pred="MAYBE"), "INVALID"),  # type: ignore[arg-type]  # a faulty system
        (Answer(pred=["YES"]), "INVALID"),  # type: ignore[arg-type]
        (Answer(pred="ERROR", error="timeout"), "ERROR"),
        (Answer(pred="UNKNOWN", raw="no link"), "UNKNOWN"),
        (ValueError("x"), "ERROR"),
        (RecursionError(), "ERROR"),
        (StopIteration(), "ERROR"),
    ],
)
def test_replies_are_normalised(reply: Any, pred: str) -> None:
    row = make_row(reply)
    assert row.pred == pred
    assert row.passed == (pred == "NO"), "the gold answer of the card is NO"
    assert (row.error is not None) == (pred == "ERROR")


@pytest.mark.parametrize(
    ("given_confidence", "expected"),
    [
        (0.25, 0.25),
        (1, 1.0),
        (np.float32(0.5), 0.5),
        (None, None),
        (math.nan, None),
        (math.inf, None),
        (-0.1, None),
        (1.0001, None),
        (True, None),
        ("0.9", None),
        (Decimal("0.5"), None),
        ([0.5], None),
    ],
)
def test_confidence_is_a_probability_or_null(given_confidence: Any, expected: float | None) -> None:
    row = make_row(Answer(pred="YES", confidence=given_confidence))
    assert (row.pred, row.confidence) == ("YES", expected)
    assert ("confidence" in row.extra.get("note", "")) == (
        expected is None and given_confidence is not None
    )


def test_other_fields_are_corrected_or_noted() -> None:
    assert make_row(Answer(pred="NO", raw=17)).raw == "17"  # type: ignore[arg-type]
    assert make_row(Answer(pred="NO", raw="\ud800x")).raw == "\\ud800x"
    assert make_row(Answer(pred="NO", usage=Usage(prompt_tokens=3))).usage.prompt_tokens == 3
    row = make_row(Answer(pred="NO", usage={"prompt_tokens": "many"}))  # type: ignore[arg-type]
    assert row.usage is None
    assert "usage" in row.extra["note"]
    long_row = make_row("x" * (MAX_RAW_CHARS + 5))
    assert len(long_row.raw) < MAX_RAW_CHARS + 60
    assert "cut" in long_row.raw


def test_exception_becomes_one_short_line() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert "cannot be shown" in make_row(MuteError()).error
    text = make_row(ValueError("a\nb" + "z" * 5_000)).error
    assert text.startswith("ValueError: a b")
    assert len(text) < MAX_ERROR_CHARS + 40


@pytest.mark.parametrize(
    "signal_exception", [KeyboardInterrupt(), SystemExit(128 + signal.SIGTERM)]
)
def test_interrupting_exception_is_not_an_answer(signal_exception: BaseException) -> None:
    with pytest.raises(type(signal_exception)):
        make_row(signal_exception)


@pytest.mark.parametrize("code", [None, 0, 1, "usage: my_adapter"])
def test_system_calling_exit_does_not_end_the_run(code: str | int | None) -> None:
    row = make_row(SystemExit(code))
    assert (row.pred, row.error) == ("ERROR", f"SystemExit: {code}")


any_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(reply=any_value, pred=any_value, confidence=any_value, raw=any_value, usage=any_value)
@settings(deadline=None, max_examples=150)
def test_any_reply_is_accepted_without_ending_the_run(
    reply: Any, pred: Any, confidence: Any, raw: Any, usage: Any
) -> None:
    make_row(reply)
    row = make_row(Answer(pred=pred, confidence=confidence, raw=raw, usage=usage, error=raw))
    assert row.confidence is None or 0 <= row.confidence <= 1


def test_plain_text_replies_are_kept() -> None:
    answer, note = read_answer("Yes!")
    assert (answer.pred, answer.raw, note) == ("YES", "Yes!", "")


def test_raw_contains_no_memory_address() -> None:
    for reply in (object(), (n for n in range(3)), example_function):
        answer, _ = read_answer(reply)
        assert answer.pred == "INVALID"
        assert answer.raw.startswith("<")
        assert "0x" not in answer.raw


def example_function() -> None:
    """A function for a system that returns it by mistake instead of calling it."""


def test_uncopyable_card_gives_an_error_row() -> None:
    broken_card = replace(make_secret_card(), question="\ud800")
    row = ask_system(FixedSystem("YES"), broken_card, name="returns", card_set="0" * 64)
    assert row.pred == "ERROR"


def test_own_note_of_an_answer_precedes_corrections() -> None:
    assert make_row(Answer(pred="NO", note="cut off")).extra == {"note": "cut off"}
    note = make_row(Answer(pred="NO", note="cut off", confidence=7.0)).extra["note"]
    assert note.startswith("cut off; confidence 7")
    assert "note" not in make_row(Answer(pred="NO")).extra
    assert len(make_row(Answer(pred="NO", note="x" * 9_000)).extra["note"]) < 600
    assert make_row(Answer(pred="NO", note=3)).extra == {"note": "3"}  # type: ignore[arg-type]  # a faulty system
