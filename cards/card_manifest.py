"""Builds the manifest next to a card file, which records what the cards were made from.

It has the same keys as the manifest of a result file, so that the two are easy to compare. It
contains no times, machine names or absolute paths: the same code and input give the same manifest.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cards.card import Card, card_to_json, hash_card_set
from kg.base.errors import CardSetMismatchError
from kg.base.files import to_json_bytes, write_files_atomic
from kg.base.provenance import (
    make_relative_name,
    manifest_path,
    package_version,
    read_card_manifest,
)
from kg.domain import SHIPPED_FOLDER
from kg.knowledge import KnowledgeBase

PACKAGES = ("epoche", "pyoxigraph", "pyshacl", "rdflib")


def build_card_manifest(
    kb: KnowledgeBase,
    cards: tuple[Card, ...],
    *,
    seed: int,
    params: dict[str, Any],
    counts: Any,
    missing: dict[str, int],
    notes: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Builds the manifest of a card set, with everything that determines the cards.

    Args:
        kb: the graph, shapes and domain.
        cards: the card set.
        seed: the random seed.
        params: the settings.
        counts: cards made, by predicate.
        missing: label → number of cards that could not be made.
        notes: why cards are missing.
    """
    return {
        "kind": "cards",
        "cards_sha256": hash_card_set(cards),
        "graph_sha256": kb.graph.sha256,
        "shapes_sha256": kb.shapes.sha256,
        "domain": kb.domain.name,
        "regime": kb.domain.regime,
        "unique_names": kb.domain.unique_names,
        "seed": seed,
        "params": params,
        "versions": {
            "python": _get_python_version(),
            **{name: package_version(name) for name in PACKAGES},
        },
        "counts": {"cards": len(cards), "by_predicate": counts, "missing": missing},
        "notes": list(notes),
    }


def describe_source_files(kb: KnowledgeBase, out: Path | str) -> dict[str, Any]:
    """Returns the manifest keys that locate the user's own graph, relative to the card file.

    Systems that need the graph open these files. Paths are relative so that cards and graph can be
    moved together and no absolute path is published. Empty for a shipped domain, which is found
    by its name.
    """
    domain, folder = kb.domain, Path(out).parent
    if domain.file is not None:
        shipped = SHIPPED_FOLDER.resolve() in domain.file.resolve().parents
        return {} if shipped else {"domain_file": make_relative_name(domain.file, folder)}
    return {
        "graph_files": [make_relative_name(path, folder) for path in domain.graph_files],
        "shapes_files": [make_relative_name(path, folder) for path in domain.shapes_files],
    }


def build_joined_manifest(
    files: Sequence[Path], cards: Sequence[Card], out: Path | None = None
) -> dict[str, Any]:
    """Builds the manifest of a joined card file from the values its parts have in common.

    Args:
        files: the card files, each with its manifest next to it if it has one.
        cards: all their cards.
        out: the joined file. The manifests' relative paths are copied only if this file and all
            card files are in one folder, because they would be wrong elsewhere.

    Raises:
        CardSetMismatchError: the files were made from different graphs, shapes or domains.
    """
    # Card files from other tools have no manifest.
    manifests = [read_card_manifest(path, dict[str, Any]) or {} for path in files]
    common_values: dict[str, Any] = {}
    for key in ("graph_sha256", "shapes_sha256", "domain", "regime", "unique_names"):
        values = [manifest.get(key) for manifest in manifests]
        if any(value != values[0] for value in values):
            raise CardSetMismatchError(
                f"the card files differ in {key}: {', '.join(map(str, values))}",
                where=", ".join(map(str, files)),
                hint="Join only cards with the same graph and shapes.",
            )
        common_values[key] = values[0]
    folders = {path.resolve().parent for path in (*files, *([out] if out else ()))}
    for key in ("domain_file", "graph_files", "shapes_files"):
        if (
            manifests[0].get(key)
            and len(folders) == 1
            and all(part_manifest.get(key) == manifests[0][key] for part_manifest in manifests)
        ):
            common_values[key] = manifests[0][key]
    return {
        "kind": "cards",
        "cards_sha256": hash_card_set(cards),
        **common_values,
        "joined_from": [
            {"file": path.name, **manifest} for path, manifest in zip(files, manifests, strict=True)
        ],
    }


def write_card_set(path: Path | str, cards: Sequence[Card], manifest: dict[str, Any]) -> None:
    """Writes a card file and its manifest, both or neither.

    Raises:
        WriteError: one of them cannot be written; existing files are unchanged.
    """
    write_files_atomic(
        {
            Path(path): b"".join(to_json_bytes(card_to_json(card)) + b"\n" for card in cards),
            manifest_path(path): to_json_bytes(manifest, indent=2) + b"\n",
        }
    )


def _get_python_version() -> str:
    return ".".join(platform.python_version_tuple()[:2])
