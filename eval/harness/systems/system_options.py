"""Defines the options that the command line passes to the factory of a system."""

from __future__ import annotations

from pathlib import Path

import msgspec

from eval.model.options import ClientOptions


class SystemOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options that the command line passes to a system's factory."""

    domain: str | None = None
    graph: tuple[Path, ...] = ()
    shapes: tuple[Path, ...] = ()
    seed: int = 12345
    settings: dict[str, str] = {}
    """``--set key=value`` pairs: the documented settings that decide the system's answers."""
    client: ClientOptions = ClientOptions()
    """The options for calling models; systems with a model pass them to ``ModelClient.open``."""
