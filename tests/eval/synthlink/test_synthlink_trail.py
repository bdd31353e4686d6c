"""Any return value of an agent gives a storable, scorable trail or a row with the reason."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthlink_run_parts import make_question

from eval.model.calls import record_calls
from eval.synthlink.agents.trail import MAX_ROUNDS, CitedPage, Link, Round, Trail
from eval.synthlink.predictions import MAX_ITEMS, MAX_TEXT_LENGTH, check_predictions
from eval.synthlink.question import Question
from eval.synthlink.running.asking import MOST_BYTES, checked, row_of
from eval.synthlink.running.predicting import predictions
from eval.synthlink.running.row import OUTCOMES, SynthLinkRow
from kg.base.errors import ModelAccessError, SearchError, WriteError
from kg.base.files import to_json_bytes

ASKED = msgspec.convert(make_question(0), Question)
FOUND = (CitedPage("https://example.org/1", "One"), CitedPage("", "Two"))
GOOD = Trail(
    answer="Tarn.",
    rounds=(Round(query="q", found=FOUND, read=FOUND[:1], links=(Link("l", "u"),), answer="T"),),
    docs=FOUND,
    verified=("A text.",),
)


class ScriptedAgent:
    """An agent that returns or raises a given value."""

    name = "says"

    def __init__(self, said: Any) -> None:
        self._said = said
        self.heard: tuple[Any, ...] = ()

    def params(self) -> dict[str, Any]:
        return {}

    async def answer(self, *heard: Any) -> Any:
        self.heard = heard
        if isinstance(self._said, BaseException):
            raise self._said
        return self._said


def answer_row(said: Any) -> SynthLinkRow:
    with record_calls():
        return asyncio.run(row_of(ScriptedAgent(said), ASKED, "says"))


def test_valid_trail_is_stored_exactly() -> None:
    assert checked(GOOD) == (GOOD, "")
    told = answer_row(GOOD)
    assert (told.outcome, told.trail, told.error, told.note) == ("ANSWERED", GOOD, None, "")
    assert (told.latency_s, told.usage) == (None, None)
    assert (told.id, told.category, told.system) == (ASKED.id, ASKED.category, "says")


def test_agent_gets_only_the_question_text() -> None:
    agent = ScriptedAgent(GOOD)
    with record_calls():
        asyncio.run(row_of(agent, ASKED, "says"))
    assert agent.heard == (ASKED.question,)
    assert agent.heard[0] is not ASKED.question, "not even the object leads back"
    assert type(agent.heard[0]) is str


@pytest.mark.parametrize(
    ("said", "outcome", "note"),
    [
        ("Tarn.", "ANSWERED", ""),
        (Trail(abstained=True, answer="I cannot say.", why="nothing found"), "ABSTAINED", ""),
        (Trail(), "INVALID", "neither an answer nor an abstention"),
        (Trail(answer=" … \n"), "INVALID", "neither an answer nor an abstention"),
        ("", "INVALID", "neither an answer nor an abstention"),
        (Trail(readable=False, answer="x", why="half a reply"), "INVALID", "half a reply"),
        (None, "INVALID", "returned a NoneType"),
        (["Tarn."], "INVALID", "returned a list"),
        ({"answer": "Tarn."}, "INVALID", "returned a dict"),
        (Trail(answer=["Tarn."]), "INVALID", "a trail that is none"),  # type: ignore[arg-type]
        (Trail(answer="x", docs=("u",)), "INVALID", "a trail that is none"),  # type: ignore[arg-type]
        (Trail(answer="\ud800"), "INVALID", "a trail that is none"),
        (Trail(answer="x", verified=(object(),)), "INVALID", "none"),  # type: ignore[arg-type]
        (Trail(answer="x" * (MAX_TEXT_LENGTH + 1)), "INVALID", "longer than 20,000"),
        (Trail(answer="x", rounds=(Round(answer="y" * 30_000),)), "INVALID", "longer than 20,000"),
        (Trail(answer="x", rounds=(Round(),) * (MAX_ROUNDS + 1)), "INVALID", "6 iterations"),
        (Trail(answer="x", rounds=(Round(raw="y" * MOST_BYTES),)), "INVALID", "8,388,608 bytes"),
        (Trail(failed=True, answer="half", why="it broke"), "ERROR", ""),
        (Trail(failed=True, abstained=True), "ERROR", ""),
        (ValueError("no luck"), "ERROR", ""),
        (SearchError("it failed", where="/somewhere/private/search.jsonl"), "ERROR", ""),
        (SystemExit(3), "ERROR", ""),
        (asyncio.CancelledError("its own"), "ERROR", ""),
        (GeneratorExit("its own"), "ERROR", ""),
        (RecursionError("too deep"), "ERROR", ""),
    ],
)  # fmt: skip
def test_every_reply_gets_its_outcome(said: Any, outcome: str, note: str) -> None:
    told = answer_row(said)
    assert told.outcome == outcome
    assert note in told.note
    assert bool(told.error) is (outcome == "ERROR")
    assert "/somewhere" not in to_json_bytes(told).decode()
    (made,) = predictions([told]) if outcome in ("ANSWERED", "ABSTAINED") else (None,)
    assert list(predictions([told])) == ([] if made is None else [made])
    if outcome == "ABSTAINED":
        assert made is not None
        assert made.predicted_answer == ""


@pytest.mark.parametrize("error", [ModelAccessError("no key"), WriteError("disk full")])
def test_permanent_faults_end_the_run(error: Exception) -> None:
    with pytest.raises(type(error), match=re.escape(str(error))):
        answer_row(error)


def test_unsupported_parts_are_left_out_with_a_note() -> None:
    many = tuple(CitedPage(f"https://example.org/{n}", "t") for n in range(MAX_ITEMS + 3))
    texts = ("x" * 30_000, *("y" * MAX_TEXT_LENGTH,) * 12)
    told = answer_row(Trail(answer="Tarn.", docs=many, verified=texts, rounds=(Round(found=many),)))
    assert told.trail is not None
    assert told.trail.docs == many[:MAX_ITEMS]
    assert told.trail.rounds[0].found == many[:MAX_ITEMS]
    assert told.trail.verified == texts[1:11]
    assert told.note == "9 pages or texts left out: too long, or too many"
    (made,) = predictions([told])
    read = check_predictions(msgspec.json.decode(to_json_bytes([made])), {ASKED.id})
    assert read.rows == (made,)


def test_all_rounds_together_are_limited_to_scorer_size() -> None:
    long = tuple(CitedPage(f"https://example.org/{n}/{'x' * 370}", "t") for n in range(MAX_ITEMS))
    rounds = (Round(found=long, answer="y" * MAX_TEXT_LENGTH),) * MAX_ROUNDS
    told = answer_row(Trail(answer="Tarn.", docs=long, rounds=rounds))
    assert told.trail is not None
    assert [len(one.found) > 0 for one in told.trail.rounds] == [True, False, False, False, False]
    assert "left out" in told.note
    (made,) = predictions([told])
    read = check_predictions(msgspec.json.decode(to_json_bytes([made])), {ASKED.id})
    assert read.rows == (made,)


_texts = st.text(max_size=30)
_cited = st.builds(CitedPage, url=_texts, title=_texts)
_junk = st.one_of(st.none(), st.integers(), _texts, st.lists(_texts, max_size=2), st.binary())
_rounds = st.builds(
    Round,
    query=_texts | _junk,
    found=st.lists(_cited, max_size=3).map(tuple) | _junk,
    answer=_texts,
    done=st.booleans() | _junk,
)
_trails = st.builds(
    Trail,
    answer=_texts | st.just("z" * 25_000) | _junk,
    abstained=st.booleans() | _junk,
    readable=st.booleans() | _junk,
    failed=st.booleans(),
    rounds=st.lists(_rounds, max_size=7).map(tuple) | _junk,
    docs=st.lists(_cited, max_size=4).map(tuple) | _junk,
    verified=st.lists(_texts, max_size=4).map(tuple) | _junk,
    why=_texts | _junk,
)


@given(said=_trails | _junk)
def test_any_reply_becomes_a_scorable_row(said: Any) -> None:
    told = answer_row(said)
    assert told.outcome in OUTCOMES
    again = msgspec.json.decode(to_json_bytes(told), type=SynthLinkRow)
    assert again == told
    made = msgspec.json.decode(to_json_bytes(list(predictions([told]))))
    assert len(made) == (told.outcome in ("ANSWERED", "ABSTAINED"))
    read = check_predictions(made, {ASKED.id})
    assert not read.refused
