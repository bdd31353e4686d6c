"""``calculate_metrics`` has judged what was not, as the published function does with everything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from servers import behaviours
from servers.behaviours import Asked
from servers.scripted_server import ScriptedServer

from eval.skn.metrics import Plan, calculate_metrics
from kg.base.errors import SettingError

PLAN = Plan(resamples=50)
OURS = {
    "correct": True,
    "total_claims": 4,
    "fabricated_claims": ["one"],
    "severity": 0.25,
    "makes_claims": True,
    "groundedness": 0.75,
    "unsupported_fraction": 0.25,
}
PUBLISHED = {
    "correct": True,
    "hallucination_detected": True,
    "hallucination_severity": 0.5,
    "total_claims": 8,
    "fabricated_claims": ["one", "two"],
    "groundedness_score": 0.8,
    "unsupported_fraction": 0.2,
}


def rows() -> list[dict[str, Any]]:
    base = {"question": "Why?", "ground_truth": "A full disk.", "raw_text": "The disk is full."}
    return [
        {**base, "id": "s1", "skn_answer": "A full disk.", "skn_confidence": 0.9},
        {**base, "id": "s2", "answerable": False, "skn_answer": "Unknown.", "skn_confidence": 0.1},
        {**base, "id": "s3", "skn_answer": "", "skn_confidence": None},
    ]


def say(server: ScriptedServer, reply: dict[str, Any]) -> None:
    """Every judge reads its own fields of one reply."""
    server.behave(behaviours.reply(lambda asked: json.dumps(reply)))


def prompts(server: ScriptedServer) -> list[Asked]:
    return list(server.requests)


def test_what_was_not_judged_is_judged_once(
    scripted_server: ScriptedServer, scripted_model: str
) -> None:
    say(scripted_server, OURS)
    asked = rows()
    found = calculate_metrics(asked, ["skn"], scripted_model, plan=PLAN)["skn"]
    assert found["accuracy"] == 0.5  # the empty answer is a failure, and not correct
    assert found["hallucination_rate"] == 1.0
    assert found["normalized_hallucination"] == 0.25
    assert found["groundedness"] == 0.75
    assert found["abstention_recall"] == 1.0
    assert asked[0]["skn_correct"] is True
    assert asked[1]["skn_correct"] is None
    assert asked[1]["skn_groundedness"]["groundedness_score"] == 0.75
    assert "skn_correct" not in asked[2]
    # Two votes of three judges on the answer, of two on the abstention, none on nothing.
    assert len(prompts(scripted_server)) == 6 + 4
    calculate_metrics(asked, ["skn"], scripted_model, plan=PLAN)
    assert len(prompts(scripted_server)) == 6 + 4


def test_published_judges_are_asked_in_published_mode(
    scripted_server: ScriptedServer, scripted_model: str
) -> None:
    say(scripted_server, PUBLISHED)
    found = calculate_metrics(rows(), ["skn"], scripted_model, mode="published")["skn"]
    assert found["accuracy"] == 0.5
    assert found["hallucination_rate"] == pytest.approx(0.6667)
    assert found["normalized_hallucination"] == pytest.approx(0.1667)
    assert found["groundedness"] == pytest.approx(0.5333)
    assert len(prompts(scripted_server)) == 3 + 2


def test_judges_that_say_nothing_leave_null_and_bounds(
    scripted_server: ScriptedServer, scripted_model: str
) -> None:
    say(scripted_server, {"correct": "false", "total_claims": None, "groundedness": "eight"})
    asked = rows()
    found = calculate_metrics(asked, ["skn"], scripted_model, plan=PLAN)["skn"]
    assert asked[0]["skn_correct"] is None
    assert found["accuracy"] == 0.0  # of the empty answer alone
    assert found["groundedness"] is None
    assert found["hallucination_rate"] is None


def test_without_a_judge_it_says_so(scripted_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPOCHE_MODEL", scripted_model)
    with pytest.raises(SettingError, match="no model is named as judge"):
        calculate_metrics(rows(), ["skn"])
