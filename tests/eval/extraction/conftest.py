"""The scripted model by its name, and nothing of the user's own."""

from __future__ import annotations

import pytest
from servers.scripted_server import ScriptedServer


@pytest.fixture
def scripted_model(scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name under which the scripted server's model is reached."""
    monkeypatch.delenv("EPOCHE_MODEL", raising=False)
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)
    return f"custom/{scripted_server.model}"
