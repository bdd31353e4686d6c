"""Clients of the scripted server, in an environment of their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from servers.scripted_server import ScriptedServer

from eval.llm import ClientOptions, ModelClient
from eval.model.providers import PROVIDERS
from eval.skn.setting import Setting, open_client

NAMES = sorted({name for p in PROVIDERS.values() for name in (p.url_variable, p.key_variable)})


@pytest.fixture
def scripted_model(scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of the scripted server's model; no variable of the machine's owner decides a test."""
    for name in (*NAMES, "EPOCHE_MODEL", "EPOCHE_JUDGE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)
    return f"custom/{scripted_server.model}"


@pytest.fixture
def open_scripted(scripted_model: str) -> Callable[[Setting], ModelClient]:
    """Opens a client of the scripted server for a setting, without patience to wait for."""

    def opened(setting: Setting) -> ModelClient:
        options = ClientOptions(model=scripted_model, backoff_s=0.005, max_retries=1, timeout_s=5.0)
        return open_client(options, setting)

    return opened
