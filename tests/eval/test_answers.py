"""Any return value of a system becomes one valid row, and systems never see hidden fields."""

from __future__ import annotations

import gc
import math
import signal
from decimal import Decimal
from types import FunctionType, ModuleType
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cards.card import Card, CardView
from eval.answers import MAX_ERROR_CHARS, MAX_RAW_CHARS, ask_system, read_answer
from eval.result import Answer, Usage, result_from_json, result_to_json
from kg.base.files import to_json_bytes
from kg.claims import Claim, Proof


def secret_card() -> Card:
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
    name = "returns"

    def __init__(self, reply: Any) -> None:
        self.reply = reply

    def params(self) -> dict[str, Any]:
        return {}

    def answer(self, card: CardView) -> Any:
        if isinstance(self.reply, BaseException):
            raise self.reply
        return self.reply


def row_for(reply: Any) -> Any:
    row = ask_system(FixedSystem(reply), secret_card(), name="returns", card_set="0123456789abcdef")
    # Any row survives a round trip through JSON.
    assert result_from_json(msgspec.json.decode(to_json_bytes(result_to_json(row)))) == row
    return row


class SpySystem(FixedSystem):
    def __init__(self) -> None:
        super().__init__("YES")
        self.seen: list[CardView] = []

    def answer(self, card: CardView) -> Any:
        self.seen.append(card)
        return "YES"


def reachable_objects(start: object) -> list[object]:
    """Returns every object reachable from ``start`` as data, in both directions of reference.

    Types, modules and functions are not followed: through them all of the process is reachable
    from anywhere, for any object of any library.
    """
    found: dict[int, object] = {id(start): start}
    queue = [start]
    while queue:
        here = queue.pop()
        names = [name for name in dir(here) if not name.startswith("__")]
        beyond = [getattr(here, name, None) for name in names]
        for other in [*gc.get_referents(here), *beyond]:
            if isinstance(other, type | ModuleType | FunctionType) or callable(other):
                continue
            if id(other) not in found:
                found[id(other)] = other
                queue.append(other)
    return list(found.values())


def test_hidden_fields_are_unreachable_for_systems() -> None:
    card, spy = secret_card(), SpySystem()
    ask_system(spy, card, name="spy", card_set="0" * 64)
    (view,) = spy.seen
    assert (view.facts, view.rules, view.question) == (card.facts, card.rules, card.question)
    assert set(CardView.__struct_fields__) == {"facts", "rules", "question"}
    assert not hasattr(view, "__dict__")
    objects = reachable_objects(view)
    assert len(objects) > 3
    for found in objects:
        assert not isinstance(found, Card | Claim | Proof)
        assert "HIDDEN" not in repr(found)
        assert found not in ("NO", "C", "denied")
    hidden = {
        id(part) for part in reachable_objects(card) if isinstance(part, str | tuple) and part
    }
    ours = {id(part) for part in objects if isinstance(part, str | tuple) and part}
    assert not hidden & ours, "not even the strings are the card's own objects"
    owners = [
        type(owner).__name__ for part in (view.facts, view) for owner in gc.get_referrers(part)
    ]
    assert "Card" not in owners


@pytest.mark.parametrize(
    ("reply", "pred"),
    [
        ("YES", "YES"),
        (" no.\n", "NO"),
        ('"Unknown"', "UNKNOWN"),
        ("I do not know", "INVALID"),
        ("I cannot determine that. No.", "INVALID"),
        ("The answer is not YES", "INVALID"),
        ("YES NO", "INVALID"),
        ("", "INVALID"),
        ("ERROR", "INVALID"),
        (None, "INVALID"),
        (["YES"], "INVALID"),
        (True, "INVALID"),
        (("YES", 0.5), "INVALID"),
        (Answer(pred="MAYBE"), "INVALID"),  # type: ignore[arg-type]  # what a system might do
        (Answer(pred=["YES"]), "INVALID"),  # type: ignore[arg-type]
        (Answer(pred="ERROR", error="timeout"), "ERROR"),
        (Answer(pred="UNKNOWN", raw="no link"), "UNKNOWN"),
        (ValueError("x"), "ERROR"),
        (RecursionError(), "ERROR"),
        (StopIteration(), "ERROR"),
    ],
)
def test_replies_are_normalised(reply: Any, pred: str) -> None:
    row = row_for(reply)
    assert row.pred == pred
    assert row.passed == (pred == "NO")
    assert (row.error is not None) == (pred == "ERROR")


@pytest.mark.parametrize(
    ("given_confidence", "kept"),
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
def test_confidence_is_a_probability_or_null(given_confidence: Any, kept: float | None) -> None:
    row = row_for(Answer(pred="YES", confidence=given_confidence))
    assert (row.pred, row.confidence) == ("YES", kept)
    assert ("confidence" in row.extra.get("note", "")) == (
        kept is None and given_confidence is not None
    )


def test_other_fields_are_corrected_or_noted() -> None:
    assert row_for(Answer(pred="NO", raw=17)).raw == "17"  # type: ignore[arg-type]
    assert row_for(Answer(pred="NO", raw="\ud800x")).raw == "\\ud800x"
    assert row_for(Answer(pred="NO", usage=Usage(prompt_tokens=3))).usage.prompt_tokens == 3
    noted = row_for(Answer(pred="NO", usage={"prompt_tokens": "many"}))  # type: ignore[arg-type]
    assert noted.usage is None
    assert "usage" in noted.extra["note"]
    long = row_for("x" * (MAX_RAW_CHARS + 5))
    assert len(long.raw) < MAX_RAW_CHARS + 60
    assert "cut" in long.raw


def test_exception_becomes_one_short_line() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert "cannot be shown" in row_for(MuteError()).error
    text = row_for(ValueError("a\nb" + "z" * 5_000)).error
    assert text.startswith("ValueError: a b")
    assert len(text) < MAX_ERROR_CHARS + 40


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(128 + signal.SIGTERM)])
def test_keyboard_interrupt_is_not_an_answer(stop: BaseException) -> None:
    with pytest.raises(type(stop)):
        row_for(stop)


@pytest.mark.parametrize("code", [None, 0, 1, "usage: my_adapter"])
def test_system_calling_exit_does_not_end_the_run(code: str | int | None) -> None:
    row = row_for(SystemExit(code))
    assert (row.pred, row.error) == ("ERROR", f"SystemExit: {code}")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(reply=anything, pred=anything, confidence=anything, raw=anything, usage=anything)
@settings(deadline=None, max_examples=150)
def test_any_reply_is_accepted_without_ending_the_run(
    reply: Any, pred: Any, confidence: Any, raw: Any, usage: Any
) -> None:
    row_for(reply)
    row = row_for(Answer(pred=pred, confidence=confidence, raw=raw, usage=usage, error=raw))
    assert row.confidence is None or 0 <= row.confidence <= 1


def test_plain_text_replies_are_kept() -> None:
    answer, note = read_answer("Yes!")
    assert (answer.pred, answer.raw, note) == ("YES", "Yes!", "")


def test_raw_contains_no_memory_address() -> None:
    for reply in (object(), (n for n in range(3)), print_nothing):
        answer, _ = read_answer(reply)
        assert answer.pred == "INVALID"
        assert answer.raw.startswith("<")
        assert "0x" not in answer.raw


def print_nothing() -> None:
    """A function that a system returns by mistake instead of calling it."""


def test_uncopyable_card_gives_an_error_row() -> None:
    broken = replace(secret_card(), question="\ud800")
    row = ask_system(FixedSystem("YES"), broken, name="returns", card_set="0" * 64)
    assert row.pred == "ERROR"


def test_own_note_of_an_answer_precedes_corrections() -> None:
    assert row_for(Answer(pred="NO", note="cut off")).extra == {"note": "cut off"}
    both = row_for(Answer(pred="NO", note="cut off", confidence=7.0)).extra["note"]
    assert both.startswith("cut off; confidence 7")
    assert "note" not in row_for(Answer(pred="NO")).extra
    assert len(row_for(Answer(pred="NO", note="x" * 9_000)).extra["note"]) < 600
    assert row_for(Answer(pred="NO", note=3)).extra == {"note": "3"}  # type: ignore[arg-type]  # wrong on purpose
