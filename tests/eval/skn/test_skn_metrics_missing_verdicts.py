"""``calculate_metrics`` judges rows without verdicts, like the published function."""

from __future__ import annotations

import json
from typing import Any

import pytest
from servers import behaviours
from servers.behaviours import ChatRequest
from servers.scripted_server import ScriptedServer

from eval.skn.metrics import MeasurementPlan, calculate_metrics
from kg.base.errors import SettingError

PLAN = MeasurementPlan(resamples=50)
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


def make_rows() -> list[dict[str, Any]]:
    base = {"question": "Why?", "ground_truth": "A full disk.", "raw_text": "The disk is full."}
    return [
        {**base, "id": "s1", "skn_answer": "A full disk.", "skn_confidence": 0.9},
        {**base, "id": "s2", "answerable": False, "skn_answer": "Unknown.", "skn_confidence": 0.1},
        {**base, "id": "s3", "skn_answer": "", "skn_confidence": None},
    ]


def script_verdicts(server: ScriptedServer, reply: dict[str, Any]) -> None:
    """Scripts one reply from which every judge reads its own fields."""
    server.behave(behaviours.normal_reply(lambda request: json.dumps(reply)))


def list_prompts(server: ScriptedServer) -> list[ChatRequest]:
    return list(server.requests)


def test_missing_verdicts_are_judged_once(
    scripted_server: ScriptedServer, scripted_model: str
) -> None:
    script_verdicts(scripted_server, OURS)
    asked = make_rows()
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
    # Two votes each: of three judges on the answer, of two on the abstention.
    assert len(list_prompts(scripted_server)) == 6 + 4
    calculate_metrics(asked, ["skn"], scripted_model, plan=PLAN)
    assert len(list_prompts(scripted_server)) == 6 + 4


def test_published_mode_uses_the_published_judges(
    scripted_server: ScriptedServer, scripted_model: str
) -> None:
    script_verdicts(scripted_server, PUBLISHED)
    found = calculate_metrics(make_rows(), ["skn"], scripted_model, mode="published")["skn"]
    assert found["accuracy"] == 0.5
    assert found["hallucination_rate"] == pytest.approx(0.6667)
    assert found["normalized_hallucination"] == pytest.approx(0.1667)
    assert found["groundedness"] == pytest.approx(0.5333)
    assert len(list_prompts(scripted_server)) == 3 + 2


def test_failed_judges_leave_null_and_bounds(
    scripted_server: ScriptedServer, scripted_model: str
) -> None:
    script_verdicts(
        scripted_server, {"correct": "false", "total_claims": None, "groundedness": "eight"}
    )
    asked = make_rows()
    found = calculate_metrics(asked, ["skn"], scripted_model, plan=PLAN)["skn"]
    assert asked[0]["skn_correct"] is None
    assert found["accuracy"] == 0.0  # of the empty answer alone
    assert found["groundedness"] is None
    assert found["hallucination_rate"] is None


def test_missing_judge_is_reported(scripted_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPOCHE_MODEL", scripted_model)
    with pytest.raises(SettingError, match="no judge model is named"):
        calculate_metrics(make_rows(), ["skn"])
