"""Tests that any return value of an agent gives a scorable trail or a row with the reason."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthlink_run_parts import make_question

from eval.harness.systems.system_call import call_system_async
from eval.model.calls import record_calls
from eval.synthlink.agents.trail import MAX_ROUNDS, CitedPage, Link, Round, Trail
from eval.synthlink.items import Question
from eval.synthlink.prediction_scorer import read_prediction
from eval.synthlink.prediction_writer import iter_predictions
from eval.synthlink.predictions import MAX_ITEMS, MAX_TEXT_LENGTH, check_predictions
from eval.synthlink.row import OUTCOMES, SynthLinkRow
from eval.synthlink.systems.trail_reader import (
    MAX_TRAIL_BYTES,
    check_reply,
    copy_question_text,
    read_trail,
    score_reply,
)
from kg.base.errors import ModelAccessError, SearchError, WriteError
from kg.base.files import to_json_bytes

QUESTION = msgspec.convert(make_question(0), Question)
PAGES = (CitedPage("https://example.org/1", "One"), CitedPage("", "Two"))
GOOD_TRAIL = Trail(
    answer="Tarn.",
    rounds=(Round(query="q", found=PAGES, read=PAGES[:1], links=(Link("l", "u"),), answer="T"),),
    docs=PAGES,
    verified=("A text.",),
)


class ScriptedAgent:
    """An agent that returns or raises a given value."""

    name = "says"

    def __init__(self, reply: Any) -> None:
        self._reply = reply

    def params(self) -> dict[str, Any]:
        return {}

    async def answer(self, _question: str) -> Any:
        if isinstance(self._reply, BaseException):
            raise self._reply
        return self._reply


def answer_row(reply: Any) -> SynthLinkRow:
    """Returns the row of an agent that returns or raises ``reply``."""
    agent = ScriptedAgent(reply)
    with record_calls():
        answered = asyncio.run(call_system_async(agent, QUESTION.question, read_trail))
    answered = msgspec.structs.replace(answered, id=QUESTION.id, system=agent.name)
    return score_reply(QUESTION, answered)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("I don't know.", "ABSTAINED"),
        ("The sources do not say who built it.", "ABSTAINED"),
        ("It cannot be determined.", "ABSTAINED"),
        ("The steam engine.", "ANSWERED"),
        ("It is unknown who built it, but the mill was powered by steam.", "ANSWERED"),
    ],
)
def test_texts_that_decline_to_answer_are_abstentions(text: str, outcome: str) -> None:
    rows = (
        answer_row(text),
        score_reply(QUESTION, read_prediction({"predicted_answer": text})),
    )
    for row in rows:
        assert row.outcome == outcome
        (prediction,) = iter_predictions([row])
        assert prediction.predicted_answer == (text if outcome == "ANSWERED" else "")


def test_trails_say_themselves_whether_they_abstain() -> None:
    trail = Trail(answer="I don't know.", rounds=GOOD_TRAIL.rounds)
    assert answer_row(trail).outcome == "ANSWERED"


def test_valid_trail_is_stored_exactly() -> None:
    assert check_reply(GOOD_TRAIL) == (GOOD_TRAIL, "")
    row = answer_row(GOOD_TRAIL)
    assert (row.outcome, row.trail, row.error, row.note) == ("ANSWERED", GOOD_TRAIL, None, "")
    assert (row.latency_s, row.usage) == (None, None)
    assert (row.id, row.category, row.system) == (QUESTION.id, QUESTION.category, "says")


def test_agent_gets_only_the_question_text() -> None:
    text = copy_question_text(QUESTION)
    assert text == QUESTION.question
    # From the very string object, an agent could reach the question with its gold answer by
    # ``gc.get_referrers``, so it gets a copy.
    assert text is not QUESTION.question
    assert type(text) is str


# "A trail that is none" is the note on a ``Trail`` with a value of a wrong type or invalid text.
@pytest.mark.parametrize(
    ("reply", "outcome", "note"),
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
        (
            Trail(answer="x", rounds=(Round(raw="y" * MAX_TRAIL_BYTES),)),
            "INVALID",
            "8,388,608 bytes",
        ),
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
def test_every_reply_gets_its_outcome(reply: Any, outcome: str, note: str) -> None:
    row = answer_row(reply)
    assert row.outcome == outcome
    assert note in row.note
    assert bool(row.error) is (outcome == "ERROR")
    assert "/somewhere" not in to_json_bytes(row).decode()
    scored_predictions = list(iter_predictions([row]))
    assert len(scored_predictions) == (outcome in ("ANSWERED", "ABSTAINED"))
    if outcome == "ABSTAINED":
        assert scored_predictions[0].predicted_answer == ""


@pytest.mark.parametrize("error", [ModelAccessError("no key"), WriteError("disk full")])
def test_permanent_faults_end_the_run(error: Exception) -> None:
    with pytest.raises(type(error), match=re.escape(str(error))):
        answer_row(error)


def test_excess_parts_are_left_out_with_a_note() -> None:
    pages = tuple(CitedPage(f"https://example.org/{n}", "t") for n in range(MAX_ITEMS + 3))
    texts = ("x" * 30_000, *("y" * MAX_TEXT_LENGTH,) * 12)
    trail = Trail(answer="Tarn.", docs=pages, verified=texts, rounds=(Round(found=pages),))
    row = answer_row(trail)
    assert row.trail is not None
    assert row.trail.docs == pages[:MAX_ITEMS]
    assert row.trail.rounds[0].found == pages[:MAX_ITEMS]
    assert row.trail.verified == texts[1:11]
    # Left out are 3 pages of each list, the too long text and the last 2 texts.
    assert row.note == "9 pages or texts left out: too long, or too many"
    (prediction,) = iter_predictions([row])
    checked_file = check_predictions(
        msgspec.json.decode(to_json_bytes([prediction])), {QUESTION.id}
    )
    assert checked_file.rows == (prediction,)


def test_all_rounds_together_fit_into_what_the_scorer_reads() -> None:
    pages = tuple(CitedPage(f"https://example.org/{n}/{'x' * 370}", "t") for n in range(MAX_ITEMS))
    rounds = (Round(found=pages, answer="y" * MAX_TEXT_LENGTH),) * MAX_ROUNDS
    row = answer_row(Trail(answer="Tarn.", docs=pages, rounds=rounds))
    assert row.trail is not None
    has_pages = [len(search_round.found) > 0 for search_round in row.trail.rounds]
    assert has_pages == [True, False, False, False, False]
    assert "left out" in row.note
    (prediction,) = iter_predictions([row])
    checked_file = check_predictions(
        msgspec.json.decode(to_json_bytes([prediction])), {QUESTION.id}
    )
    assert checked_file.rows == (prediction,)


_texts = st.text(max_size=30)
_cited_pages = st.builds(CitedPage, url=_texts, title=_texts)
_other_values = st.one_of(
    st.none(), st.integers(), _texts, st.lists(_texts, max_size=2), st.binary()
)
_rounds = st.builds(
    Round,
    query=_texts | _other_values,
    found=st.lists(_cited_pages, max_size=3).map(tuple) | _other_values,
    answer=_texts,
    done=st.booleans() | _other_values,
)
_trails = st.builds(
    Trail,
    answer=_texts | st.just("z" * 25_000) | _other_values,
    abstained=st.booleans() | _other_values,
    readable=st.booleans() | _other_values,
    failed=st.booleans(),
    rounds=st.lists(_rounds, max_size=7).map(tuple) | _other_values,
    docs=st.lists(_cited_pages, max_size=4).map(tuple) | _other_values,
    verified=st.lists(_texts, max_size=4).map(tuple) | _other_values,
    why=_texts | _other_values,
)


@given(reply=_trails | _other_values)
def test_any_reply_becomes_a_scorable_row(reply: Any) -> None:
    row = answer_row(reply)
    assert row.outcome in OUTCOMES
    decoded = msgspec.json.decode(to_json_bytes(row), type=SynthLinkRow)
    assert decoded == row
    predictions_json = msgspec.json.decode(to_json_bytes(list(iter_predictions([row]))))
    assert len(predictions_json) == (row.outcome in ("ANSWERED", "ABSTAINED"))
    checked_file = check_predictions(predictions_json, {QUESTION.id})
    assert not checked_file.refused
