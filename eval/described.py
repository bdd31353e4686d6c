"""What systems say of themselves, as a manifest states it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import msgspec

from eval.answers import describe_error
from eval.redaction import hide_secret_values
from eval.registry import AnySystem
from kg.base.errors import SystemNotFoundError


def params_of(systems: Sequence[AnySystem], names: list[str]) -> dict[str, Any]:
    """What the systems say of themselves, as JSON and without secrets."""
    every: dict[str, Any] = {}
    for system, name in zip(systems, names, strict=True):
        try:
            # There and back, so that it compares equal to what a manifest gives (tuples → lists).
            params = msgspec.json.decode(msgspec.json.encode(system.params()))
        except (TypeError, ValueError) as error:
            raise SystemNotFoundError(
                f"params() of system {name} is not JSON: {error}",
                where=type(system).__name__,
                hint="Return texts, numbers, lists and dicts.",
            ) from error
        if not isinstance(params, dict):
            raise SystemNotFoundError(
                f"params() of system {name} is not a dict", where=type(system).__name__
            )
        every[name] = hide_secret_values(params)
    return every if len(names) > 1 else every[names[0]]


def hash_of(systems: Sequence[AnySystem], part: str) -> str | None:
    """SHA-256 of the graph or shapes that the systems say they use."""
    for system in systems:
        found = getattr(system, f"{part}_sha256", None)
        if found is None:
            found = getattr(getattr(getattr(system, "knowledge", None), part, None), "sha256", None)
        if isinstance(found, str):
            return found
    return None


def model_of(systems: Sequence[AnySystem]) -> str | None:
    """The model that the systems say they call."""
    for system in systems:
        for holder in (system, getattr(system, "client", None)):
            if isinstance(model := getattr(holder, "model", None), str):
                return model
    return None


def observed_of(systems: Sequence[AnySystem], names: Sequence[str]) -> dict[str, Any]:
    """What systems, or the clients they call their models by, learned while they were asked."""
    every: dict[str, Any] = {}
    for system, name in zip(systems, names, strict=True):
        for holder in (system, getattr(system, "client", None)):
            observed = getattr(holder, "observed", None)
            if callable(observed):
                try:
                    every[name] = hide_secret_values(msgspec.to_builtins(observed()))
                except Exception as error:  # other people's code; a run must not end by it
                    every[name] = {"problem": describe_error(error)}
                break
    return every


def combined(earlier: Any, later: Any) -> Any:
    """What two sessions or shards observed, as one would have: counts add up, lists unite.

    Of two other values that differ the later one stands; null is no value. Keys and lists come out
    sorted, so that it does not matter who observed what first.
    """
    known = earlier if later is None else later
    if isinstance(known, dict):
        parts = [part for part in (earlier, later) if isinstance(part, dict)]
        return {
            key: reduce(combined, (part[key] for part in parts if key in part), None)
            for key in sorted({key for part in parts for key in part})
        }
    if isinstance(known, list):
        united = [*(earlier if isinstance(earlier, list) else []), *known]
        by_text = {msgspec.json.encode(item): item for item in united}
        return [by_text[text] for text in sorted(by_text)]
    if type(earlier) is int and type(later) is int:
        return earlier + later
    return known
