"""Reads a card file's manifest: the graph, shapes and domain that the cards were built from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from kg.base.errors import CardSetMismatchError, MissingFileError
from kg.base.files import require_file
from kg.base.provenance import read_card_manifest


class CardOrigin(msgspec.Struct, frozen=True):
    """The part of a card manifest that runs, audits and reports need.

    Unknown fields are null or empty. For card files made by other tools all fields are unknown,
    since these files have no manifest.
    """

    cards_sha256: str | None = None
    cards_file_sha256: str | None = None
    """SHA-256 of the card file's bytes: also of kinds, clusters, claims and proofs. Null in
    manifests of earlier versions."""
    content_sha256: str = ""
    """Digest of the manifest; empty in those of other tools and of earlier versions."""
    unverified: tuple[str, ...] = ()
    """Names of the card files without hashes that these were joined from or worded after."""
    accepted_changes: tuple[str, ...] = ()
    """The changes of other card files that ``--allow-changed`` accepted when these were made."""
    domain: str | None = None
    graph_sha256: str | None = None
    full_graph_sha256: str | None = None
    """The graph before facts were set aside; null if none were. ``graph_files`` then has the rest,
    which was written beside the cards."""
    full_graph_files: tuple[str, ...] = ()
    """Its files, if they are not the domain's, relative to the card file."""
    shapes_sha256: str | None = None
    regime: str | None = None
    domain_file: str | None = None
    """The user's domain file. This path and the next two are relative to the card file."""
    graph_files: tuple[str, ...] = ()
    shapes_files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What must be said wherever scores on the cards are shown: by what labels can be predicted,
    and which labels no card has."""


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

    Raises:
        MissingFileError: facts were set aside for the cards, and the graph without them is not
            there. With the full graph, questions that should be unknown would be answered.
    """
    folder = cards.parent
    graph_paths = tuple(folder / name for name in origin.graph_files)
    domain: str | None = None
    if origin.domain_file is not None and (folder / origin.domain_file).is_file():
        domain = str(folder / origin.domain_file)
    if origin.full_graph_sha256 is not None:
        for path in graph_paths:
            require_file(path, "graph that the cards were made from")
        if domain or (domain := find_shipped_domain(origin)):
            return domain, graph_paths, ()
    if domain is not None:
        return domain, (), ()
    shapes_paths = tuple(folder / name for name in origin.shapes_files)
    if (
        graph_paths
        and shapes_paths
        and all(path.is_file() for path in (*graph_paths, *shapes_paths))
    ):
        return None, graph_paths, shapes_paths
    return find_shipped_domain(origin), (), ()


def resolve_sources(
    origin: CardOrigin,
    cards: Path,
    domain: str | None,
    graph: tuple[Path, ...],
    shapes: tuple[Path, ...],
) -> tuple[str | None, tuple[Path, ...], tuple[Path, ...]]:
    """Returns the domain, graph and shapes files that the user named, else those of the cards.

    If facts were set aside for the cards, naming their domain or their full graph means the graph
    without these facts.

    Raises:
        MissingFileError: see ``find_card_sources``.
    """
    if (graph or domain) and not _is_full_graph(origin, domain, graph):
        return domain, graph, shapes
    card_domain, card_graph, card_shapes = find_card_sources(origin, cards)
    if origin.full_graph_sha256 is not None and not card_graph:
        # The shapes or the domain are no longer there; the graph is.
        card_graph = tuple(cards.parent / name for name in origin.graph_files)
        card_domain = card_domain or domain
    return card_domain, card_graph, shapes or card_shapes


def _is_full_graph(origin: CardOrigin, domain: str | None, graph: tuple[Path, ...]) -> bool:
    if origin.full_graph_sha256 is None:
        return False
    from kg.domain import load_domain
    from kg.graph import Graph

    if graph:
        return Graph.load(graph).sha256 == origin.full_graph_sha256
    return domain is not None and load_domain(domain).name == origin.domain


def find_common_sources(
    card_files: Iterable[Path],
) -> tuple[str | None, tuple[Path, ...], tuple[Path, ...]]:
    """Returns what ``find_card_sources`` does for several card files.

    It is nothing if these differ, or if a graph is no longer there.
    """
    try:
        sources = {find_card_sources(read_card_origin(file), file.resolve()) for file in card_files}
    except MissingFileError:
        return None, (), ()
    return sources.pop() if len(sources) == 1 else (None, (), ())


def list_graph_hashes(card_files: Iterable[Path]) -> set[str]:
    """Returns the hashes of the graphs that cards were made from, with facts set aside or not."""
    origins = map(read_card_origin, card_files)
    hashes = (hash_ for one in origins for hash_ in (one.graph_sha256, one.full_graph_sha256))
    return {hash_ for hash_ in hashes if hash_ is not None}


def find_shipped_domain(origin: CardOrigin) -> str | None:
    """Returns the shipped domain the cards were built from, so that systems use the same graph."""
    if origin.domain is None:
        return None
    from kg.domain import list_shipped_domains

    return origin.domain if origin.domain in list_shipped_domains() else None


def require_same_graph(origin: CardOrigin, graph_sha256: str | None, cards: Path) -> None:
    """Checks that systems use the graph that the cards were made from.

    Raises:
        CardSetMismatchError: they use another one.
    """
    if origin.graph_sha256 and graph_sha256 and origin.graph_sha256 != graph_sha256:
        raise CardSetMismatchError(
            f"the cards were made from another graph ({origin.graph_sha256[:12]}) than the system "
            f"uses ({graph_sha256[:12]})",
            where=str(cards),
            hint="Name no graph (--domain, --kg-path) to use that of the cards. --other-graph asks "
            "on this one all the same; the results say so.",
        )
