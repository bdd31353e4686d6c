"""Tests the output lines and exit codes of the command ``epoche test-connection``."""

from __future__ import annotations

import pytest
from servers import behaviours
from servers.behaviours import FAULTS, ChatRequest, normal_reply
from servers.llama_server import LlamaServer
from servers.scripted_server import ScriptedServer
from typer.testing import CliRunner, Result

from epoche.cli import app
from kg.base.errors import ModelAccessError, ModelCallError


def run_command(base_url: str, key: str, model: str = "custom/scripted-1") -> Result:
    environment = {"EPOCHE_BASE_URL": base_url, "EPOCHE_API_KEY": key}
    return CliRunner().invoke(
        app, ["test-connection", "--model", model, "--timeout", "5"], env=environment
    )


def parse_output(result: Result) -> dict[str, str]:
    """Returns the text of each line by its label, which fills the first twelve columns."""
    return {line[:12].strip(): line[13:] for line in result.stdout.splitlines()}


def test_real_server_is_described(llama_server: LlamaServer) -> None:
    result = run_command(
        llama_server.base_url, llama_server.api_key, f"custom/{llama_server.model}"
    )
    assert result.exit_code == 0, result.stderr
    output = parse_output(result)
    assert output["server"] == llama_server.base_url
    for feature in ("reachable", "authorised", "model known", "json_object", "logprobs", "usage"):
        assert output[feature] == "yes", feature
    assert output["models"] == llama_server.model
    assert output["answers"].startswith("yes, in ")
    assert output["json_schema"].startswith(("yes", "accepted"))
    assert output["streaming"].startswith("yes")
    assert output["price"].startswith("unknown")


def test_real_server_refuses_a_wrong_key(llama_server: LlamaServer) -> None:
    result = run_command(llama_server.base_url, "sk-wrong-123456", f"custom/{llama_server.model}")
    assert result.exit_code == ModelAccessError.exit_code
    assert parse_output(result)["reachable"] == "yes"
    assert parse_output(result)["authorised"] == "no (HTTP 401)"
    assert "sk-wrong" not in result.output


def test_missing_server_features_are_reported(scripted_server: ScriptedServer) -> None:
    async def answer_without_features(request: ChatRequest):
        if request.body.get("stream"):
            return await behaviours.http_error(400, "no streaming here")(request)
        if request.body.get("logprobs"):
            return await behaviours.http_error(400, "no logprobs here")(request)
        if request.response_format == "json_object":
            return await behaviours.reject_structured_output(rejected_formats=("json_object",))(
                request
            )
        return await behaviours.reply_without_usage(lambda request: "hello")(request)

    scripted_server.behave(answer_without_features)
    result = run_command(scripted_server.base_url, scripted_server.api_key)
    assert result.exit_code == 0, result.stderr
    output = parse_output(result)
    assert output["json_schema"].startswith("ignored")
    assert output["json_object"].startswith("no: the server refuses")
    assert "no streaming here" in output["streaming"]
    assert output["logprobs"].startswith("no")
    assert output["usage"].startswith("no")
    assert "price" not in output


@pytest.mark.parametrize(
    ("fault", "error", "reachable"),
    [
        ("404", ModelAccessError, "yes"),
        ("429 for good", ModelAccessError, "yes"),
        ("500", ModelCallError, "yes"),
        ("invalid JSON", ModelCallError, "yes"),
    ],
)
def test_failing_model_gives_the_exit_code_of_its_error(
    scripted_server: ScriptedServer, fault: str, error: type, reachable: str
) -> None:
    scripted_server.behave(FAULTS[fault]())
    result = run_command(scripted_server.base_url, scripted_server.api_key)
    assert result.exit_code == error.exit_code
    assert parse_output(result)["answers"] == "no"
    assert parse_output(result)["reachable"] == reachable


def test_unreachable_server_is_reported(scripted_server: ScriptedServer) -> None:
    result = run_command("http://127.0.0.1:9", "sk-12345678")
    assert result.exit_code == ModelAccessError.exit_code
    assert parse_output(result) == {"server": "http://127.0.0.1:9/v1", "reachable": "no"}


def test_unlisted_model_that_answers_is_accepted(scripted_server: ScriptedServer) -> None:
    scripted_server.behave(normal_reply())
    output = parse_output(
        run_command(scripted_server.base_url, scripted_server.api_key, "custom/other")
    )
    assert output["model known"] == "not listed, but it answers"


def test_missing_model_name_is_refused() -> None:
    result = CliRunner().invoke(app, ["test-connection"])
    assert result.exit_code == ModelAccessError.exit_code
    assert "EPOCHE_MODEL" in result.stderr
