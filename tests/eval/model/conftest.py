"""Fixtures: a clean environment, and a client of the scripted server with short waits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers.scripted_server import ScriptedServer

from eval.model.client import ClientOptions, ModelClient
from eval.model.providers import PROVIDERS

PROVIDER_VARIABLES = sorted(
    {name for p in PROVIDERS.values() for name in (p.url_variable, p.key_variable)}
)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Removes the user's settings and proxies, and enters a folder without an .env file."""
    proxies = [f"{kind}_proxy" for kind in ("http", "https", "all")]
    other_variables = ("EPOCHE_MODEL", "OPENAI_ORG_ID", "OPENAI_CUSTOM_HEADERS")
    for name in (*PROVIDER_VARIABLES, *other_variables, *proxies, *map(str.upper, proxies)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def open_client(
    scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., ModelClient]:
    """Returns a function that opens a client of the scripted server.

    It accepts the fields of ``ClientOptions`` and the arguments of ``ModelClient.open``.
    """
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)

    def build_client(**settings: Any) -> ModelClient:
        fields = ClientOptions.__struct_fields__
        options = {name: settings.pop(name) for name in fields if name in settings}
        defaults: dict[str, Any] = {
            "model": f"custom/{scripted_server.model}",
            "backoff_s": 0.005,
            "max_retries": 3,
            "timeout_s": 5.0,
        }
        return ModelClient.open(ClientOptions(**{**defaults, **options}), **settings)

    return build_client
