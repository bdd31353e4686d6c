"""Tests that model names are resolved to addresses and keys, or refused with advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.model.environment import MAX_FILE_BYTES, Variables, read_variables
from eval.model.options import ClientOptions
from eval.model.providers import (
    PROVIDERS,
    RECORD_URL_VARIABLE,
    RECORDED_ADDRESS,
    find_endpoint,
)
from eval.model.recorded_replies import (
    RECORD_FILE_VARIABLE,
    RECORDINGS_VARIABLE,
    RecordingCache,
    open_cache,
)
from kg.base.errors import ModelAccessError, SettingError


def resolve_endpoint(name: str | None, **variables: str):
    return find_endpoint(name, Variables(variables, {}))


@pytest.mark.parametrize("name", ["gpt-4o", "", "  ", "openai/", "nobody/gpt", "/gpt", "OpenAI/x"])
def test_unknown_provider_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(ModelAccessError) as error_info:
        resolve_endpoint(name, OPENAI_API_KEY="sk-12345678")
    if name.strip():
        assert all(provider in error_info.value.hint for provider in PROVIDERS)
    else:
        assert "EPOCHE_MODEL" in error_info.value.hint


def test_first_slash_separates_provider_and_model() -> None:
    endpoint = resolve_endpoint("openrouter/meta-llama/llama-3", OPENROUTER_API_KEY="sk-or-123456")
    assert (endpoint.provider, endpoint.model) == ("openrouter", "meta-llama/llama-3")
    assert endpoint.base_url == "https://openrouter.ai/api/v1"


def test_only_the_model_being_recorded_is_asked_meanwhile(tmp_path: Path) -> None:
    recording = {
        "EPOCHE_MODEL": "recorded/big",
        RECORD_URL_VARIABLE: "http://127.0.0.1:9/v1",
        RECORD_FILE_VARIABLE: str(tmp_path / "cache.sqlite"),
        RECORDINGS_VARIABLE: str(tmp_path),
    }
    variables = Variables(recording, {})
    for name in (None, "recorded/big"):
        endpoint = find_endpoint(name, variables)
        assert endpoint.request_url == "http://127.0.0.1:9/v1"
        cache = open_cache(None, endpoint, variables)
        assert isinstance(cache, RecordingCache)
        cache.close()
    other = find_endpoint("recorded/judge", variables)
    assert other.request_url == RECORDED_ADDRESS
    with pytest.raises(ModelAccessError, match="no recording of the model 'judge'"):
        open_cache(None, other, variables)


@pytest.mark.parametrize(
    ("name", "variables", "expected"),
    [
        ("ollama/x", {}, "http://127.0.0.1:11434/v1"),
        ("ollama/x", {"OLLAMA_HOST": "0.0.0.0:11500"}, "http://127.0.0.1:11500/v1"),
        ("ollama/x", {"OLLAMA_HOST": "box"}, "http://box:11434/v1"),
        ("ollama/x", {"OLLAMA_HOST": "https://box/api/v1/"}, "https://box/api/v1"),
        ("vllm/x", {}, "http://127.0.0.1:8000/v1"),
        ("vllm/x", {"VLLM_BASE_URL": "  "}, "http://127.0.0.1:8000/v1"),
        ("llamacpp/x", {"LLAMACPP_BASE_URL": "http://[::1]:81"}, "http://[::1]:81/v1"),
        ("custom/x", {"EPOCHE_BASE_URL": "http://a.b/c"}, "http://a.b/c"),
    ],
)
def test_addresses_are_completed(name: str, variables: dict[str, str], expected: str) -> None:
    assert resolve_endpoint(name, **variables).base_url == expected


@pytest.mark.parametrize(
    "address",
    [
        "http://me:hunter2secret@host/v1",
        "http://hunter2secret@host/v1",
        "ftp://host/hunter2secret",
        "http://host/v1?key=hunter2secret",
        "http://host/v1#hunter2secret",
        "http://host:hunter2secret/v1",
        "http:///hunter2secret",
        "http://ho st/hunter2secret",
        "http://[hunter2secret",
    ],
)
def test_odd_address_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(ModelAccessError) as error_info:
        resolve_endpoint("custom/x", EPOCHE_BASE_URL=address)
    assert "EPOCHE_BASE_URL" in error_info.value.format_line()
    assert "hunter2secret" not in error_info.value.format_line()


@pytest.mark.parametrize("provider", ["openai", "openrouter"])
def test_missing_provider_key_is_named(provider: str) -> None:
    with pytest.raises(ModelAccessError, match=PROVIDERS[provider].key_variable):
        resolve_endpoint(f"{provider}/x")


def test_a_custom_server_needs_an_address() -> None:
    with pytest.raises(ModelAccessError, match="EPOCHE_BASE_URL"):
        resolve_endpoint("custom/x", OPENAI_API_KEY="sk-12345678")


def test_provider_key_is_never_sent_to_another_provider() -> None:
    keys = {provider.key_variable: f"sk-{name}-123456" for name, provider in PROVIDERS.items()}
    for name in PROVIDERS:
        endpoint = resolve_endpoint(f"{name}/x", EPOCHE_BASE_URL="http://h/v1", **keys)
        assert endpoint.key == f"sk-{name}-123456"
        assert endpoint.key not in repr(endpoint)


@pytest.mark.parametrize("key", ["sk-\x00abc", "sk-abc\nX-Other: 1", "schlüssel"])
def test_key_invalid_in_a_header_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ModelAccessError) as error_info:
        resolve_endpoint("openai/x", OPENAI_API_KEY=key)
    assert key not in str(error_info.value)


@pytest.mark.parametrize("model", ["a\nb", "a\x1b[31m", "x" * 301])
def test_model_name_must_be_a_short_printable_line(model: str) -> None:
    with pytest.raises(ModelAccessError):
        resolve_endpoint(f"ollama/{model}")


def test_environment_overrides_dotenv_which_is_never_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    (tmp_path / ".env").write_text(
        "export OPENAI_API_KEY='sk-from-file-1'\n"
        f"OPENROUTER_API_KEY=$(touch {trap})\n"
        f"VLLM_API_KEY=`touch {trap}`\n"
        "OLLAMA_API_KEY=${HOME}\n"
        "EPOCHE_MODEL=openai/from-file # a remark\n"
        "EMPTY=\nBARE\n"
    )
    variables = read_variables()
    assert variables.get("OPENAI_API_KEY") == "sk-from-file-1"
    assert variables.get("EPOCHE_MODEL") == "openai/from-file"
    assert variables.get("OLLAMA_API_KEY") == "${HOME}"
    assert variables.get("EMPTY") is None
    assert not trap.exists()
    monkeypatch.setenv("EPOCHE_MODEL", "openai/from-environment")
    assert read_variables().get("EPOCHE_MODEL") == "openai/from-environment"
    monkeypatch.setenv("EPOCHE_MODEL", "")
    assert read_variables().get("EPOCHE_MODEL") == "openai/from-file"
    import os

    assert "OPENAI_API_KEY" not in os.environ
    assert find_endpoint(None, variables).key == "sk-from-file-1"


def test_dotenv_secret_is_redacted_like_an_environment_secret(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("EPOCHE_API_KEY=tricky-value-77\n")
    assert "tricky" not in read_variables().redact_text("they said: tricky-value-77!")


@pytest.mark.parametrize("content", [b"A=1\n" * MAX_FILE_BYTES, b"A=\xff\xfe\n"])
def test_malformed_dotenv_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".env").write_bytes(content)
    with pytest.raises(SettingError, match=r"\.env"):
        read_variables()


def test_a_dotenv_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    with pytest.raises(SettingError, match="cannot be read: Is a directory"):
        read_variables()


def test_local_dotenv_cannot_redirect_the_user_key() -> None:
    user_key = {"OPENAI_API_KEY": "sk-mine-123456"}
    remote_address = {"OPENAI_BASE_URL": "https://collector.example/v1"}
    with pytest.raises(ModelAccessError, match=r"\.env"):
        find_endpoint("openai/x", Variables(user_key, remote_address))
    assert (
        find_endpoint("openai/x", Variables({}, {**user_key, **remote_address})).key
        == "sk-mine-123456"
    )
    assert (
        find_endpoint("openai/x", Variables({**user_key, **remote_address}, {})).key
        == "sk-mine-123456"
    )
    local_address = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    assert find_endpoint("openai/x", Variables(user_key, local_address)).key == "sk-mine-123456"


@pytest.mark.parametrize("model", ["x" * 301, "a\nb", "a\x1b[31m"])
def test_invalid_model_name_is_refused_with_advice(model: str) -> None:
    with pytest.raises(ModelAccessError, match=r"at most 300.*EPOCHE_MODEL") as error_info:
        resolve_endpoint(f"custom/{model}", EPOCHE_BASE_URL="http://a.b")
    assert model not in error_info.value.format_line()


@pytest.mark.parametrize("limit", ["timeout_s", "requests_per_minute", "tokens_per_minute"])
def test_non_numeric_limit_is_refused_at_the_start(limit: str) -> None:
    with pytest.raises(SettingError, match="finite"):
        ClientOptions(**{limit: float("inf")})
