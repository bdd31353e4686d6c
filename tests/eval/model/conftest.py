"""Fixtures for a client of the scripted server with short waits, its own folder and environment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers.scripted_server import ScriptedServer

from eval.llm import ClientOptions, ModelClient
from eval.model.providers import PROVIDERS

NAMES = sorted({name for p in PROVIDERS.values() for name in (p.url_variable, p.key_variable)})


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Isolates tests from the user's environment variables and the checkout's .env file."""
    proxies = [f"{kind}_proxy" for kind in ("http", "https", "all")]
    others = ("EPOCHE_MODEL", "OPENAI_ORG_ID", "OPENAI_CUSTOM_HEADERS")
    for name in (*NAMES, *others, *proxies, *map(str.upper, proxies)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def open_client(
    scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., ModelClient]:
    """Opens a client of the scripted server; accepts fields of the options and of ``open``."""
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)

    def build_client(**settings: Any) -> ModelClient:
        fields = ClientOptions.__struct_fields__
        given = {name: settings.pop(name) for name in fields if name in settings}
        quick: dict[str, Any] = {
            "model": f"custom/{scripted_server.model}",
            "backoff_s": 0.005,
            "max_retries": 3,
            "timeout_s": 5.0,
        }
        return ModelClient.open(ClientOptions(**{**quick, **given}), **settings)

    return build_client
