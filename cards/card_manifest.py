"""The manifest beside a card file: what it was made from, without paths, times or machines.

Key names are those of the result manifests, so that one look tells whether two files belong
together. Nothing in it changes between two runs of the same code on the same input.
"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from cards.card import Card, card_set_hash
from kg.base.files import write_json_atomic
from kg.knowledge import KnowledgeBase

PACKAGES = ("epoche", "pyoxigraph", "pyshacl", "rdflib")


def manifest_path(cards: Path | str) -> Path:
    """``X.manifest.json`` for ``X.jsonl``."""
    return Path(cards).with_suffix(".manifest.json")


def card_manifest(
    kb: KnowledgeBase,
    cards: tuple[Card, ...],
    *,
    seed: int,
    params: dict[str, Any],
    counts: Any,
    missing: dict[str, int],
    notes: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Everything that decides a card file's content."""
    return {
        "kind": "cards",
        "cards_sha256": card_set_hash(cards),
        "graph_sha256": kb.graph.sha256,
        "shapes_sha256": kb.shapes.sha256,
        "domain": kb.domain.name,
        "regime": kb.domain.regime,
        "unique_names": kb.domain.unique_names,
        "seed": seed,
        "params": params,
        "versions": {"python": _minor_python(), **{name: _version(name) for name in PACKAGES}},
        "counts": {"cards": len(cards), "by_predicate": counts, "missing": missing},
        "notes": list(notes),
    }


def write_card_manifest(cards: Path | str, manifest: dict[str, Any]) -> Path:
    """Writes a manifest beside its card file; returns where."""
    path = manifest_path(cards)
    write_json_atomic(path, manifest)
    return path


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # pragma: no cover - run from a bare checkout
        return "unknown"


def _minor_python() -> str:
    return ".".join(platform.python_version_tuple()[:2])
