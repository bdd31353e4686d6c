"""Reads a card file's manifest: the graph, shapes and domain that the cards were built from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from kg.base.provenance import read_card_manifest


class CardOrigin(msgspec.Struct, frozen=True):
    """The part of a card manifest that runs, audits and reports need.

    Unknown fields are null or empty. For card files made by other tools all fields are unknown,
    since these files have no manifest.
    """

    domain: str | None = None
    graph_sha256: str | None = None
    shapes_sha256: str | None = None
    regime: str | None = None
    domain_file: str | None = None
    """The user's domain file. This path and the next two are relative to the card file."""
    graph_files: tuple[str, ...] = ()
    shapes_files: tuple[str, ...] = ()


def read_card_origin(cards: Path | str) -> CardOrigin:
    """Reads the manifest next to a card file; if there is none, all fields are empty.

    Raises:
        RecordError: the manifest is damaged.
    """
    return read_card_manifest(cards, CardOrigin) or CardOrigin()


def find_card_sources(
    origin: CardOrigin, cards: Path
) -> tuple[str | None, tuple[Path, ...], tuple[Path, ...]]:
    """Returns the domain, graph files and shapes files that the cards were built from.

    A run uses them if the user names no graph. If the files are no longer at their recorded paths,
    the shipped domain of the same name is returned.
    """
    folder = cards.parent
    if origin.domain_file is not None and (folder / origin.domain_file).is_file():
        return str(folder / origin.domain_file), (), ()
    graph_paths = tuple(folder / name for name in origin.graph_files)
    shapes_paths = tuple(folder / name for name in origin.shapes_files)
    if (
        graph_paths
        and shapes_paths
        and all(path.is_file() for path in (*graph_paths, *shapes_paths))
    ):
        return None, graph_paths, shapes_paths
    return find_shipped_domain(origin), (), ()


def find_common_sources(
    card_files: Iterable[Path],
) -> tuple[str | None, tuple[Path, ...], tuple[Path, ...]]:
    """Returns what ``find_card_sources`` does for several card files; nothing if these differ."""
    sources = {find_card_sources(read_card_origin(file), file.resolve()) for file in card_files}
    return sources.pop() if len(sources) == 1 else (None, (), ())


def find_shipped_domain(origin: CardOrigin) -> str | None:
    """Returns the shipped domain the cards were built from, so that systems use the same graph."""
    if origin.domain is None:
        return None
    from kg.domain import list_shipped_domains

    return origin.domain if origin.domain in list_shipped_domains() else None


def describe_differences(
    origin: CardOrigin, graph_sha256: str | None, shapes_sha256: str | None
) -> list[str]:
    """Returns warnings if a run uses another graph or other shapes than its cards were made from.

    This can be intended (to test an older graph), but usually a flag was forgotten.
    """
    warnings = []
    for source, cards_hash, run_hash in (
        ("graph", origin.graph_sha256, graph_sha256),
        ("shapes", origin.shapes_sha256, shapes_sha256),
    ):
        if cards_hash and run_hash and cards_hash != run_hash:
            warnings.append(
                f"the cards were made from another {source} ({cards_hash[:12]}) than the system "
                f"used ({run_hash[:12]}); was --domain, --kg-path or --shapes forgotten?"
            )
    return warnings
