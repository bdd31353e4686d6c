"""Tests what becomes of the replies and exceptions of somebody else's system."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import epoche
from eval.harness.folder_run import close_clients
from eval.harness.reply import Reply
from eval.harness.systems.system import close_once
from eval.harness.systems.system_call import call_system
from eval.model.foreign_values import describe_failure
from eval.model.usage import Usage
from eval.retrieval_eval.systems.view import read_ranking
from eval.synthlink.systems.trail_reader import read_trail
from kg.base.errors import EpocheError


class ReplyingSystem:
    """Returns the same reply to every item."""

    name = "replying"

    def __init__(self, reply: object) -> None:
        self.reply = reply

    def params(self) -> dict[str, Any]:
        return {}

    def answer(self, view: object) -> object:
        return self.reply


@pytest.mark.parametrize(
    ("reply", "read_reply"),
    [
        (Reply(value=42), read_trail),
        (Reply(raw="The steam engine."), read_trail),
        (Reply(value={"no": "trail"}), read_trail),
        (Reply(value="not a ranking"), read_ranking),
        (Reply(value=[["a", 1.0], ["a", 0.5]]), read_ranking),
    ],
)
def test_the_value_of_a_foreign_reply_is_read_like_any_other(reply: Reply, read_reply: Any) -> None:
    read = call_system(ReplyingSystem(reply), "view", read_reply)
    assert read.status == "invalid"
    assert read.problem


def test_costs_and_confidences_of_a_foreign_reply_are_checked() -> None:
    reply = Reply(value="Tarn.", usage=Usage(-5, -5, -9.0), confidence=7.5)
    read = call_system(ReplyingSystem(reply), "view", read_trail)
    assert (read.status, read.usage, read.confidence) == ("ok", None, None)
    assert len(read.notes) == 2


def test_a_reply_that_json_cannot_represent_is_invalid() -> None:
    class Unknown:
        pass

    for reply in (Reply(status="invalid", value=Unknown()), Reply(status="error", raw=3)):  # type: ignore[arg-type]
        assert call_system(ReplyingSystem(reply), "view", read_trail).status == "invalid"


def test_errors_are_described_whatever_their_constructor() -> None:
    class OwnError(EpocheError):
        def __init__(self) -> None:
            super().__init__("it broke", where="folder/private.json")

    text = describe_failure(OwnError())
    assert text == "OwnError: it broke"


def test_a_system_is_closed_once_and_its_errors_are_warnings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    closed = []

    async def close() -> None:
        closed.append(1)
        raise RuntimeError("closed badly")

    once = close_once(close)
    close_clients([once, once])
    assert closed == [1]
    assert "closed badly" in capsys.readouterr().err
    asyncio.run(once())
    assert closed == [1]


def test_a_changed_function_does_not_resume_a_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    schema = {"type": "object"}
    samples = [{"id": "1", "text": "x", "schema": schema, "expected_output": {}}]
    epoche.evaluate(samples, lambda view: {}, benchmark="extraction", out=out)
    with pytest.raises(EpocheError, match="another extractors"):
        epoche.evaluate(samples, lambda view: {"a": 1}, benchmark="extraction", out=out)


def test_a_refused_evaluation_leaves_the_run_and_no_folder(tmp_path: Path) -> None:
    out = tmp_path / "run"
    schema = {"type": "object"}
    one = [{"id": "1", "text": "x", "schema": schema, "expected_output": {}}]
    other = [{"id": "2", "text": "y", "schema": schema, "expected_output": {}}]

    def extract(view: object) -> dict[str, Any]:
        return {}

    epoche.evaluate(one, extract, benchmark="extraction", out=out)
    before = (tmp_path / "run.items.jsonl").read_bytes()
    with pytest.raises(EpocheError, match="items differ"):
        epoche.evaluate(other, extract, benchmark="extraction", out=out)
    assert (tmp_path / "run.items.jsonl").read_bytes() == before


def test_a_failing_evaluation_leaves_no_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(EpocheError):
        epoche.evaluate("shipped", object(), benchmark="synthlink")
    assert not list(tmp_path.iterdir())
