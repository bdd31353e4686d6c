"""Fixture for clients of the scripted server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eval.model.client import ClientOptions, ModelClient
from eval.skn.formats.settings import Setting, open_client


@pytest.fixture
def open_scripted_client(scripted_model: str) -> Callable[[Setting], ModelClient]:
    """Returns a function that opens a client of the scripted server, with short waits."""

    def build_client(setting: Setting) -> ModelClient:
        options = ClientOptions(model=scripted_model, backoff_s=0.005, max_retries=1, timeout_s=5.0)
        return open_client(options, setting)

    return build_client
