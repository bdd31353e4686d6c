"""Collects what systems report about themselves (parameters, hashes, model) for the manifest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import msgspec

from eval.model.foreign_values import describe_error
from eval.model.redaction import hide_secret_values
from kg.base.errors import EpocheError, SystemNotFoundError


def collect_params(systems: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Returns the systems' ``params()`` as JSON values, with secrets hidden.

    For one system, its parameters are returned; for several systems, name → parameters.

    Raises:
        SystemNotFoundError: as ``read_params``.
    """
    params_by_name = {
        name: read_params(system, name) for system, name in zip(systems, names, strict=True)
    }
    return params_by_name if len(names) > 1 else params_by_name[names[0]]


def read_params(system: Any, name: str) -> dict[str, Any]:
    """Returns ``params()`` of one system as JSON values, with secrets hidden.

    Raises:
        SystemNotFoundError: ``params()`` fails, or returns no dict, or no JSON. The error also
            stands for systems that exist and cannot be used.
    """
    where = type(system).__name__
    try:
        given = system.params()
    except EpocheError:
        raise
    except Exception as error:  # third-party code
        raise SystemNotFoundError(
            f"params() of system {name} failed: {describe_error(error)}", where=where
        ) from error
    try:
        # Encoding and decoding gives the same values as reading them from a manifest, for
        # instance lists instead of tuples.
        params = msgspec.json.decode(msgspec.json.encode(given))
    except (TypeError, ValueError, RecursionError) as error:
        raise SystemNotFoundError(
            f"params() of system {name} is not JSON: {error}",
            where=where,
            hint="Return texts, numbers, lists and dicts.",
        ) from error
    if not isinstance(params, dict):
        raise SystemNotFoundError(f"params() of system {name} is not a dict", where=where)
    hidden: dict[str, Any] = hide_secret_values(params)
    return hidden


def find_hash(systems: Sequence[Any], part: str) -> str | None:
    """Returns the first SHA-256 of a graph, or of shapes, that a system declares.

    Args:
        systems: the systems of the run.
        part: ``graph`` or ``shapes``.
    """
    for system in systems:
        sha256 = getattr(system, f"{part}_sha256", None)
        if sha256 is None:
            sha256 = getattr(
                getattr(getattr(system, "knowledge", None), part, None), "sha256", None
            )
        if isinstance(sha256, str):
            return sha256
    return None


def find_model(systems: Sequence[Any]) -> str | None:
    """Returns the first model that a system or its client declares."""
    for system in systems:
        for holder in (system, getattr(system, "client", None)):
            if isinstance(model := getattr(holder, "model", None), str):
                return model
    return None


def collect_observed(systems: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Returns what the systems or their model clients observed during the run, by system name."""
    observed_by_name: dict[str, Any] = {}
    for system, name in zip(systems, names, strict=True):
        for holder in (system, getattr(system, "client", None)):
            observed = getattr(holder, "observed", None)
            if callable(observed):
                try:
                    observed_by_name[name] = hide_secret_values(msgspec.to_builtins(observed()))
                except Exception as error:  # third-party code must not end the run
                    observed_by_name[name] = {"problem": describe_error(error)}
                break
    return observed_by_name


def merge_observed(earlier: Any, later: Any) -> Any:
    """Merges the observations of two sessions or shards.

    Counts are added, and lists are united. Of other values that differ, the later one is used; null
    counts as missing. Keys and lists are sorted, so that their order does not depend on which
    session came first.
    """
    latest = earlier if later is None else later
    if isinstance(latest, dict):
        parts = [part for part in (earlier, later) if isinstance(part, dict)]
        return {
            key: reduce(merge_observed, (part[key] for part in parts if key in part), None)
            for key in sorted({key for part in parts for key in part})
        }
    if isinstance(latest, list):
        all_items = [*(earlier if isinstance(earlier, list) else []), *latest]
        items_by_text = {msgspec.json.encode(item): item for item in all_items}
        return [items_by_text[text] for text in sorted(items_by_text)]
    if type(earlier) is int and type(later) is int:
        return earlier + later
    return latest
