"""Tests that ``calculate_metrics`` judges rows without verdicts, like the published function."""

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
VERDICT_REPLY = {
    "correct": True,
    "total_claims": 4,
    "fabricated_claims": ["one"],
    "severity": 0.25,
    "makes_claims": True,
    "groundedness": 0.75,
    "unsupported_fraction": 0.25,
}
PUBLISHED_REPLY = {
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
    """Makes the server send one reply to all judges, each of which reads only its fields."""
    server.behave(behaviours.normal_reply(lambda request: json.dumps(reply)))


def list_requests(server: ScriptedServer) -> list[ChatRequest]:
    return list(server.requests)


def test_missing_verdicts_are_judged_once(
    scripted_server: ScriptedServer, scripted_model: str
) -> None:
    script_verdicts(scripted_server, VERDICT_REPLY)
    rows = make_rows()
    metrics = calculate_metrics(rows, ["skn"], scripted_model, plan=PLAN)["skn"]
    assert metrics["accuracy"] == 0.5  # the empty answer is a failure, and not correct
    assert metrics["hallucination_rate"] == 1.0
    assert metrics["normalized_hallucination"] == 0.25
    assert metrics["groundedness"] == 0.75
    assert metrics["abstention_recall"] == 1.0
    assert rows[0]["skn_correct"] is True
    assert rows[1]["skn_correct"] is None
    assert rows[1]["skn_groundedness"]["groundedness_score"] == 0.75
    assert "skn_correct" not in rows[2]
    # Three judges vote twice on the answer, and two vote twice on the abstention.
    assert len(list_requests(scripted_server)) == 6 + 4
    calculate_metrics(rows, ["skn"], scripted_model, plan=PLAN)
    assert len(list_requests(scripted_server)) == 6 + 4


def test_published_mode_uses_the_published_judges(
    scripted_server: ScriptedServer, scripted_model: str
) -> None:
    script_verdicts(scripted_server, PUBLISHED_REPLY)
    metrics = calculate_metrics(make_rows(), ["skn"], scripted_model, mode="published")["skn"]
    assert metrics["accuracy"] == 0.5
    assert metrics["hallucination_rate"] == pytest.approx(0.6667)
    assert metrics["normalized_hallucination"] == pytest.approx(0.1667)
    assert metrics["groundedness"] == pytest.approx(0.5333)
    # Each judge votes once: three judges on the answer, and two on the abstention.
    assert len(list_requests(scripted_server)) == 3 + 2


def test_metrics_are_null_if_judges_fail(
    scripted_server: ScriptedServer, scripted_model: str
) -> None:
    script_verdicts(
        scripted_server, {"correct": "false", "total_claims": None, "groundedness": "eight"}
    )
    rows = make_rows()
    metrics = calculate_metrics(rows, ["skn"], scripted_model, plan=PLAN)["skn"]
    assert rows[0]["skn_correct"] is None
    assert metrics["accuracy"] == 0.0  # only the empty answer counts, and it is not correct
    assert metrics["groundedness"] is None
    assert metrics["hallucination_rate"] is None


def test_missing_judge_is_reported(scripted_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPOCHE_MODEL", scripted_model)
    with pytest.raises(SettingError, match="no judge model is named"):
        calculate_metrics(make_rows(), ["skn"])
