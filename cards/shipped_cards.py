"""Reads the card sets that Epoché ships: fixed questions, whatever today's drawing would ask.

A set is a card file, its manifest, and the graph from which facts were set aside for it. Card file
and graph are compressed. Recorded models (``eval/model/recordings``) answered such a set.
"""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any, NamedTuple

from cards.card_origin import CardOrigin, read_card_origin
from kg.base.errors import MissingFileError, RecordError
from kg.base.files import write_bytes_atomic
from kg.base.provenance import manifest_path, read_card_manifest
from kg.graph import Graph

SHIPPED_FOLDER = Path(__file__).with_name("shipped")
_SUFFIX = ".xz"
_MAX_BYTES = 64 * 1024 * 1024
"""A longer file, after decompression, is refused."""


class ShippedSet(NamedTuple):
    """A card set, unpacked.

    Attributes:
        cards: the card file; its manifest is beside it.
        graph: the graph that the cards were made from.
    """

    cards: Path
    graph: Graph


def list_shipped_sets() -> dict[str, CardOrigin]:
    """Returns the manifests of the shipped card sets by the names of the sets, in order."""
    paths = sorted(SHIPPED_FOLDER.glob(f"*.jsonl{_SUFFIX}"))
    files = {path.name.removesuffix(f".jsonl{_SUFFIX}"): path.with_suffix("") for path in paths}
    return {name: read_card_origin(file) for name, file in files.items()}


def find_shipped_set(cards_sha256: str) -> str | None:
    """Returns the name of the shipped set with these cards, by their hash; None if it is none."""
    names = (name for name, one in list_shipped_sets().items() if one.cards_sha256 == cards_sha256)
    return next(names, None)


def unpack_shipped_set(name: str, folder: Path) -> ShippedSet:
    """Writes the card file of a shipped set, and its manifest, to a folder.

    Whoever reads the cards finds out by their manifest whether they are as they were made.

    Raises:
        MissingFileError: there is no such set.
        RecordError, ChangedRunError: it is damaged.
    """
    names = list_shipped_sets()
    if name not in names:
        raise MissingFileError(
            f"there is no shipped card set {name!r}", hint=f"There are: {', '.join(names)}."
        )
    cards = folder / f"{name}.jsonl"
    packed_cards = SHIPPED_FOLDER / f"{cards.name}{_SUFFIX}"
    write_bytes_atomic(cards, _unpack(packed_cards))
    manifest = manifest_path(cards)
    write_bytes_atomic(manifest, (SHIPPED_FOLDER / manifest.name).read_bytes())
    described = read_card_manifest(cards, dict[str, Any]) or {}
    (graph_name,) = described["graph_files"]
    packed_graph = SHIPPED_FOLDER / f"{graph_name}{_SUFFIX}"
    write_bytes_atomic(folder / graph_name, _unpack(packed_graph))
    graph = Graph.load(folder / graph_name)
    if graph.sha256 != described["graph_sha256"]:
        raise RecordError("the graph is not that of the cards", where=str(packed_graph))
    return ShippedSet(cards, graph)


def _unpack(path: Path) -> bytes:
    try:
        with lzma.open(path) as handle:
            content = handle.read(_MAX_BYTES + 1)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise RecordError(f"the file cannot be unpacked: {error}", where=str(path)) from error
    if len(content) > _MAX_BYTES:
        raise RecordError(f"it unpacks to more than {_MAX_BYTES:,} bytes", where=str(path))
    return content
