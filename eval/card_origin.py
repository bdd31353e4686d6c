"""What a card file was made from, as the manifest beside it says; foreign files have none."""

from __future__ import annotations

from pathlib import Path

import msgspec

from eval.manifest import RunManifest
from kg.base.provenance import card_manifest_beside


class CardOrigin(msgspec.Struct, frozen=True):
    """The part of a card manifest that a run needs; null where unknown."""

    domain: str | None = None
    graph_sha256: str | None = None
    shapes_sha256: str | None = None
    domain_file: str | None = None
    """Relative to the card file, as the next two: the user's own domain or graph."""
    graph_files: tuple[str, ...] = ()
    shapes_files: tuple[str, ...] = ()


def card_origin(cards: Path | str) -> CardOrigin:
    """Reads the manifest beside a card file; empty where there is none.

    Raises:
        RecordError: there is one, but it is damaged.
    """
    return card_manifest_beside(cards, CardOrigin) or CardOrigin()


def own_source(
    origin: CardOrigin, cards: Path
) -> tuple[str | None, tuple[Path, ...], tuple[Path, ...]]:
    """Domain, graph files and shapes files to ask when the user names none: the cards' own.

    Falls back to the shipped domain of that name when the files are no longer where they were.
    """
    folder = cards.parent
    if origin.domain_file is not None and (folder / origin.domain_file).is_file():
        return str(folder / origin.domain_file), (), ()
    graph = tuple(folder / name for name in origin.graph_files)
    shapes = tuple(folder / name for name in origin.shapes_files)
    if graph and shapes and all(path.is_file() for path in (*graph, *shapes)):
        return None, graph, shapes
    return default_domain(origin), (), ()


def default_domain(origin: CardOrigin) -> str | None:
    """The shipped domain the cards were made from, so that systems ask the same graph."""
    if origin.domain is None:
        return None
    from kg.domain import shipped_domains

    return origin.domain if origin.domain in shipped_domains() else None


def differences(origin: CardOrigin, manifest: RunManifest) -> list[str]:
    """Where a run used another graph or other shapes than its cards were made from.

    That can be meant (does an older graph still answer?), but mostly a flag was forgotten.
    """
    said = []
    for part in ("graph", "shapes"):
        cards, used = getattr(origin, f"{part}_sha256"), getattr(manifest, f"{part}_sha256")
        if cards and used and cards != used:
            said.append(
                f"the cards were made from another {part} ({cards[:12]}) than the system used "
                f"({used[:12]}); was --domain, --kg-path or --shapes forgotten?"
            )
    return said
