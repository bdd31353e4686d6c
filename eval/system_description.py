"""Collects the parameters, hashes and model that systems report, for the manifest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import msgspec

from eval.answers import describe_error
from eval.redaction import hide_secret_values
from eval.registry import AnySystem
from kg.base.errors import SystemNotFoundError


def collect_params(systems: Sequence[AnySystem], names: list[str]) -> dict[str, Any]:
    """Returns the systems' ``params()`` as JSON values, with secrets hidden.

    One system's parameters are returned as they are, those of several keyed by name.

    Raises:
        SystemNotFoundError: ``params()`` is not a dict, or not JSON.
    """
    every: dict[str, Any] = {}
    for system, name in zip(systems, names, strict=True):
        try:
            # Encoded and decoded, so that it equals what a manifest is read as (tuples → lists).
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


def find_hash(systems: Sequence[AnySystem], part: str) -> str | None:
    """Returns the SHA-256 of the graph or shapes that the first system with one declares.

    Args:
        systems: the systems of the run.
        part: ``graph`` or ``shapes``.
    """
    for system in systems:
        found = getattr(system, f"{part}_sha256", None)
        if found is None:
            found = getattr(getattr(getattr(system, "knowledge", None), part, None), "sha256", None)
        if isinstance(found, str):
            return found
    return None


def find_model(systems: Sequence[AnySystem]) -> str | None:
    """Returns the model that the first system with one declares."""
    for system in systems:
        for holder in (system, getattr(system, "client", None)):
            if isinstance(model := getattr(holder, "model", None), str):
                return model
    return None


def collect_observed(systems: Sequence[AnySystem], names: Sequence[str]) -> dict[str, Any]:
    """Returns what the systems or their model clients observed during the run, by system name."""
    every: dict[str, Any] = {}
    for system, name in zip(systems, names, strict=True):
        for holder in (system, getattr(system, "client", None)):
            observed = getattr(holder, "observed", None)
            if callable(observed):
                try:
                    every[name] = hide_secret_values(msgspec.to_builtins(observed()))
                except Exception as error:  # third-party code must not end the run
                    every[name] = {"problem": describe_error(error)}
                break
    return every


def merge_observed(earlier: Any, later: Any) -> Any:
    """Merges the observations of two sessions or shards: counts are added, lists united.

    If other values differ, the later one is used; null counts as missing. Keys and lists are
    sorted, so that the result does not depend on the order of observation.
    """
    known = earlier if later is None else later
    if isinstance(known, dict):
        parts = [part for part in (earlier, later) if isinstance(part, dict)]
        return {
            key: reduce(merge_observed, (part[key] for part in parts if key in part), None)
            for key in sorted({key for part in parts for key in part})
        }
    if isinstance(known, list):
        united = [*(earlier if isinstance(earlier, list) else []), *known]
        by_text = {msgspec.json.encode(item): item for item in united}
        return [by_text[text] for text in sorted(by_text)]
    if type(earlier) is int and type(later) is int:
        return earlier + later
    return known
