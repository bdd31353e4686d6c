"""The manifest beside a card file: what it was made from, without times, machines or their paths.

Key names are those of the result manifests, so that one look tells whether two files belong
together. Nothing in it changes between two runs of the same code on the same input.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cards.card import Card, card_set_hash, card_to_json
from kg.base.errors import CardSetMismatchError
from kg.base.files import to_json_bytes, write_files_atomic
from kg.base.provenance import (
    card_manifest_beside,
    manifest_path,
    package_version,
    relative_name,
)
from kg.domain import SHIPPED
from kg.knowledge import KnowledgeBase

PACKAGES = ("epoche", "pyoxigraph", "pyshacl", "rdflib")


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
        "versions": {
            "python": _minor_python(),
            **{name: package_version(name) for name in PACKAGES},
        },
        "counts": {"cards": len(cards), "by_predicate": counts, "missing": missing},
        "notes": list(notes),
    }


def source_files(kb: KnowledgeBase, out: Path | str) -> dict[str, Any]:
    """Where the user's own graph lies, as seen from the card file, for systems that ask the same.

    Relative, so that cards and graph can move together and no machine's folders are told. Nothing
    for a shipped domain: its name says it all.
    """
    domain, folder = kb.domain, Path(out).parent
    if domain.file is not None:
        shipped = SHIPPED.resolve() in domain.file.resolve().parents
        return {} if shipped else {"domain_file": relative_name(domain.file, folder)}
    return {
        "graph_files": [relative_name(path, folder) for path in domain.graph_files],
        "shapes_files": [relative_name(path, folder) for path in domain.shapes_files],
    }


def joined_manifest(
    files: Sequence[Path], cards: Sequence[Card], out: Path | None = None
) -> dict[str, Any]:
    """The manifest of a file joined from others; what all of them say alike holds for it too.

    Args:
        files: the card files, each with its manifest beside it if it has one.
        cards: all their cards.
        out: the joined file; relative names of sources hold for it if it lies beside the others.

    Raises:
        CardSetMismatchError: the files were made from different graphs, shapes or domains, so no
            one system could be asked both.
    """
    # Cards from elsewhere have no manifest.
    parts = [card_manifest_beside(path, dict[str, Any]) or {} for path in files]
    shared: dict[str, Any] = {}
    for key in ("graph_sha256", "shapes_sha256", "domain", "regime", "unique_names"):
        values = [part.get(key) for part in parts]
        if any(value != values[0] for value in values):
            raise CardSetMismatchError(
                f"the card files differ in {key}: {', '.join(map(str, values))}",
                where=", ".join(map(str, files)),
                hint="Join only cards of one graph, made with the same shapes.",
            )
        shared[key] = values[0]
    folders = {path.resolve().parent for path in (*files, *([out] if out else ()))}
    for key in ("domain_file", "graph_files", "shapes_files"):
        if (
            parts[0].get(key)
            and len(folders) == 1
            and all(p.get(key) == parts[0][key] for p in parts)
        ):
            shared[key] = parts[0][key]
    return {
        "kind": "cards",
        "cards_sha256": card_set_hash(cards),
        **shared,
        "joined_from": [
            {"file": path.name, **part} for path, part in zip(files, parts, strict=True)
        ],
    }


def write_card_set(path: Path | str, cards: Sequence[Card], manifest: dict[str, Any]) -> None:
    """Writes a card file and its manifest, both or neither.

    Raises:
        WriteError: one of them cannot be written; what stood there is intact.
    """
    write_files_atomic(
        {
            Path(path): b"".join(to_json_bytes(card_to_json(card)) + b"\n" for card in cards),
            manifest_path(path): to_json_bytes(manifest, indent=2) + b"\n",
        }
    )


def _minor_python() -> str:
    return ".".join(platform.python_version_tuple()[:2])
