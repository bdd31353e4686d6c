"""``epoche test-connection``: one line each, and the failure's own exit code."""

from __future__ import annotations

import pytest
from servers import behaviours
from servers.behaviours import FAULTS, Asked, reply
from servers.llama_server import LlamaServer
from servers.scripted_server import ScriptedServer
from typer.testing import CliRunner, Result

from epoche.cli import app
from kg.base.errors import ModelAccessError, ModelCallError


def run(base_url: str, key: str, model: str = "custom/scripted-1") -> Result:
    environment = {"EPOCHE_BASE_URL": base_url, "EPOCHE_API_KEY": key}
    return CliRunner().invoke(
        app, ["test-connection", "--model", model, "--timeout", "5"], env=environment
    )


def lines(result: Result) -> dict[str, str]:
    return {line[:12].strip(): line[13:] for line in result.stdout.splitlines()}


def test_a_real_server_is_told_as_it_is(llama_server: LlamaServer) -> None:
    result = run(llama_server.base_url, llama_server.api_key, f"custom/{llama_server.model}")
    assert result.exit_code == 0, result.stderr
    said = lines(result)
    assert said["server"] == llama_server.base_url
    for what in ("reachable", "authorised", "model known", "json_object", "logprobs", "usage"):
        assert said[what] == "yes", what
    assert said["models"] == llama_server.model
    assert said["answers"].startswith("yes, in ")
    assert said["json_schema"].startswith(("yes", "accepted"))
    assert said["streaming"].startswith("yes")
    assert said["price"].startswith("unknown")


def test_a_real_servers_refusal_of_the_key(llama_server: LlamaServer) -> None:
    result = run(llama_server.base_url, "sk-wrong-123456", f"custom/{llama_server.model}")
    assert result.exit_code == ModelAccessError.exit_code
    assert lines(result)["reachable"] == "yes"
    assert lines(result)["authorised"] == "no (HTTP 401)"
    assert "sk-wrong" not in result.output


def test_what_a_server_lacks_is_said(scripted_server: ScriptedServer) -> None:
    async def poor(asked: Asked):
        if asked.body.get("stream"):
            return await behaviours.status(400, "no streaming here")(asked)
        if asked.body.get("logprobs"):
            return await behaviours.status(400, "no logprobs here")(asked)
        if asked.response_format == "json_object":
            return await behaviours.without_structure(refuses=("json_object",))(asked)
        return await behaviours.without_usage(lambda asked: "hello")(asked)

    scripted_server.behave(poor)
    result = run(scripted_server.base_url, scripted_server.api_key)
    assert result.exit_code == 0, result.stderr
    said = lines(result)
    assert said["json_schema"].startswith("ignored")
    assert said["json_object"].startswith("no: the server refuses")
    assert "no streaming here" in said["streaming"]
    assert said["logprobs"].startswith("no")
    assert said["usage"].startswith("no")
    assert "price" not in said


@pytest.mark.parametrize(
    ("fault", "error", "reachable"),
    [
        ("404", ModelAccessError, "yes"),
        ("429 for good", ModelAccessError, "yes"),
        ("500", ModelCallError, "yes"),
        ("invalid JSON", ModelCallError, "yes"),
    ],
)
def test_a_model_that_does_not_answer_has_its_errors_code(
    scripted_server: ScriptedServer, fault: str, error: type, reachable: str
) -> None:
    scripted_server.behave(FAULTS[fault]())
    result = run(scripted_server.base_url, scripted_server.api_key)
    assert result.exit_code == error.exit_code
    assert lines(result)["answers"] == "no"
    assert lines(result)["reachable"] == reachable


def test_nobody_there(scripted_server: ScriptedServer) -> None:
    result = run("http://127.0.0.1:9", "sk-12345678")
    assert result.exit_code == ModelAccessError.exit_code
    assert lines(result) == {"server": "http://127.0.0.1:9/v1", "reachable": "no"}


def test_a_model_that_is_not_listed_but_answers(scripted_server: ScriptedServer) -> None:
    scripted_server.behave(reply())
    said = lines(run(scripted_server.base_url, scripted_server.api_key, "custom/other"))
    assert said["model known"] == "not listed, but it answers"


def test_no_model_named() -> None:
    result = CliRunner().invoke(app, ["test-connection"])
    assert result.exit_code == ModelAccessError.exit_code
    assert "EPOCHE_MODEL" in result.stderr
