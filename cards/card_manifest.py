"""Builds the manifest next to a card file, which records what the cards were made from.

It has the same keys as the manifest of a result file, so that the two are easy to compare. It
contains no times, machine names or absolute paths: the same code and input give the same manifest.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cards.card import Card, card_to_json, hash_card_set
from cards.card_integrity import lacks_card_hashes
from cards.generation.kinds import FAITHFULNESS_KINDS
from kg.base.errors import CardSetMismatchError
from kg.base.files import sha256_bytes, to_json_bytes, write_files_atomic
from kg.base.plain_text import join_list
from kg.base.provenance import (
    CONTENT_DIGEST,
    compute_content_digest,
    make_relative_name,
    manifest_path,
    package_version,
    read_card_manifest,
)
from kg.claims import GOLD_OF_LABEL, Claim
from kg.domain import SHIPPED_FOLDER, Domain, load_domain
from kg.graph import Graph
from kg.knowledge import KnowledgeBase
from kg.text.facts.evidence import SourcePassage

_COMMON_KEYS = ("graph_sha256", "shapes_sha256", "domain", "regime", "unique_names")
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
    set_aside: Sequence[Claim] = (),
    full_graph: Graph | None = None,
    warnings: Sequence[str] = (),
    drawings: dict[str, int] | None = None,
) -> dict[str, Any]:
    """Builds the manifest of a card set, with everything that determines the cards.

    Args:
        kb: the graph that the cards were made from, its shapes and its domain.
        cards: the card set.
        seed: the random seed.
        params: the settings.
        counts: cards made, by predicate.
        missing: label → number of cards that could not be made.
        notes: why cards are missing.
        set_aside: facts of ``full_graph`` that ``kb`` lacks.
        full_graph: the user's graph.
        warnings: what whoever reads scores on these cards must know.
        drawings: how often the set was drawn until its audit found no leak; None if it was not
            audited.
    """
    unknown = Counter(
        (card.claim.pred, card.meta["full_label"]) for card in cards if "full_label" in card.meta
    )
    aside_keys: dict[str, Any] = {}
    if set_aside and full_graph is not None:
        aside_keys = {
            "full_graph_sha256": full_graph.sha256,
            "set_aside": {
                "facts": len(set_aside),
                "by_predicate": dict(sorted(Counter(fact.pred for fact in set_aside).items())),
                # Of the U cards, how many claims the full graph entails, contradicts or does
                # not decide.
                "labels_over_full_graph": {
                    pred: {label: n for (p, label), n in sorted(unknown.items()) if p == pred}
                    for pred in sorted({pred for pred, _ in unknown})
                },
            },
        }
    return {
        "kind": "cards",
        "cards_sha256": hash_card_set(cards),
        "graph_sha256": kb.graph.sha256,
        **aside_keys,
        "shapes_sha256": kb.shapes.sha256,
        "domain": kb.domain.name,
        "regime": kb.domain.regime,
        "unique_names": kb.domain.unique_names,
        "seed": seed,
        "params": params,
        **({"drawings": drawings} if drawings else {}),
        "versions": {
            "python": _get_python_version(),
            **{name: package_version(name) for name in PACKAGES},
        },
        "counts": {"cards": len(cards), "by_predicate": counts, "missing": missing},
        "notes": list(notes),
        "warnings": list(warnings),
    }


def describe_missing_labels(cards: Sequence[Card]) -> list[str]:
    """Says which labels a card set lacks, a sentence each."""
    present = {card.label for card in cards}
    return [
        f"No card has the answer {answer}, so this set cannot show whether a system answers "
        f"{answer} where it should."
        for label, answer in GOLD_OF_LABEL.items()
        if label not in present
    ]


def describe_derived_cards(cards: Sequence[Card]) -> str:
    """Says how many E and C cards need a derived fact: two or more steps; empty if none does."""
    cards = [card for card in cards if card.kind not in FAITHFULNESS_KINDS]
    totals = Counter(card.label for card in cards)
    derived = Counter(card.label for card in cards if card.meta.get("derived") is True)
    parts = [f"{n} of {totals[label]} {label} cards" for label, n in sorted(derived.items())]
    return f"{join_list(parts)} need a derived fact, the others one step" if parts else ""


def describe_faithfulness(cards: Sequence[Card]) -> str:
    """Says how many cards there are of each kind of context faithfulness."""
    counts = Counter(card.kind for card in cards)
    parts = [f"{counts[kind]} {kind}" for kind in sorted(FAITHFULNESS_KINDS)]
    return f"context faithfulness, a set of its own: {join_list(parts)} cards"


def get_graph_path(cards: Path | str) -> Path:
    """Returns the path of the graph that is written beside a card file, ``cards.graph.nt``."""
    return _get_companion_path(cards, ".graph.nt")


def get_passages_path(cards: Path | str) -> Path:
    """Returns the path of the passages that are written beside a card file."""
    return _get_companion_path(cards, ".passages.jsonl")


def _get_companion_path(cards: Path | str, ending: str) -> Path:
    cards = Path(cards)
    return cards.parent / f"{cards.name.removesuffix('.jsonl') or cards.name}{ending}"


def describe_source_files(
    domain: Domain, out: Path | str, graph_file: Path | None = None
) -> dict[str, Any]:
    """Returns the manifest keys that locate the graph, relative to the card file.

    Systems that need the graph open these files. Paths are relative so that cards and graph can be
    moved together and no absolute path is published. A shipped domain is found by its name.

    Args:
        domain: the domain.
        out: the card file.
        graph_file: the graph that the cards were made from, if it is not the domain's.
    """
    folder = Path(out).parent
    files: dict[str, Any] = {}
    own_files: tuple[Path, ...] = ()
    if domain.file is not None:
        if SHIPPED_FOLDER.resolve() not in domain.file.resolve().parents:
            files["domain_file"] = make_relative_name(domain.file, folder)
        own_files = load_domain(domain.file).graph_files
        graph_files = (graph_file,) if graph_file is not None else domain.graph_files
        if graph_files == own_files:
            return files
    else:
        graph_files = (graph_file,) if graph_file is not None else domain.graph_files
        files["shapes_files"] = [make_relative_name(p, folder) for p in domain.shapes_files]
    if graph_file is not None and domain.graph_files != own_files:
        full_graph_files = [make_relative_name(path, folder) for path in domain.graph_files]
        files["full_graph_files"] = full_graph_files
    return {"graph_files": [make_relative_name(path, folder) for path in graph_files], **files}


def build_joined_manifest(
    files: Sequence[Path],
    cards: Sequence[Card],
    out: Path | None = None,
    *,
    accepted_changes: Sequence[str] = (),
) -> dict[str, Any]:
    """Builds the manifest of a joined card file from the values its parts have in common.

    Args:
        files: the card files, each with its manifest next to it if it has one.
        cards: all their cards.
        out: the joined file, to which paths are relative; without it they are left out.
        accepted_changes: the changes of the files that the user accepted.

    Raises:
        CardSetMismatchError: the files were made from different graphs, shapes or domains.
    """
    # Card files from other tools have no manifest.
    manifests = [read_card_manifest(path, dict[str, Any]) or {} for path in files]
    common_values: dict[str, Any] = {}
    for key in (*_COMMON_KEYS, "full_graph_sha256"):
        values = [manifest.get(key) for manifest in manifests]
        if any(value != values[0] for value in values):
            raise CardSetMismatchError(
                f"the card files differ in {key}: {', '.join(map(str, values))}",
                where=", ".join(map(str, files)),
                hint="Join only cards with the same graph and shapes. Near-misses have the graph "
                "of a card file if they are made with --cards FILE.",
            )
        if key in _COMMON_KEYS or values[0]:
            common_values[key] = values[0]
    for key in ("domain_file", "graph_files", "full_graph_files", "shapes_files"):
        resolved = [
            _resolve_names(path, part.get(key)) for path, part in zip(files, manifests, strict=True)
        ]
        if out is not None and resolved[0] and all(part == resolved[0] for part in resolved):
            names = [make_relative_name(path, out.parent) for path in resolved[0]]
            common_values[key] = names[0] if key == "domain_file" else names
    unverified = [path.name for path in files if lacks_card_hashes(path)]
    return {
        "kind": "cards",
        "cards_sha256": hash_card_set(cards),
        **common_values,
        **({"accepted_changes": list(accepted_changes)} if accepted_changes else {}),
        **({"unverified": unverified} if unverified else {}),
        "warnings": [
            f"{path.name}: {warning}"
            for path, manifest in zip(files, manifests, strict=True)
            for warning in manifest.get("warnings", ())
        ],
        "joined_from": [
            {"file": path.name, **manifest} for path, manifest in zip(files, manifests, strict=True)
        ],
    }


def build_paraphrase_manifest(
    original: Path,
    cards: Sequence[Card],
    out: Path,
    *,
    seed: int,
    left_out: dict[str, int],
    wordings: str,
    accepted_changes: Sequence[str] = (),
) -> dict[str, Any]:
    """Builds the manifest of cards that ask the questions of another card file in other words.

    Args:
        original: that card file.
        cards: the cards with other questions.
        out: their file, to which paths are relative.
        seed: the seed that the wording was drawn with.
        left_out: predicate → number of cards without a paraphrase.
        wordings: whose words the questions are, "domain" or "general".
        accepted_changes: the changes of that card file that the user accepted.
    """
    manifest = build_joined_manifest([original], cards, out, accepted_changes=accepted_changes)
    [source] = manifest.pop("joined_from")
    missing_labels = describe_missing_labels(cards)
    return {
        **manifest,
        "seed": seed,
        "wordings": wordings,
        "counts": {"cards": len(cards), "left_out": left_out},
        "warnings": [*manifest["warnings"], *missing_labels],
        "paraphrased_from": source,
    }


def write_card_set(
    path: Path | str,
    cards: Sequence[Card],
    manifest: dict[str, Any],
    graph: Graph | None = None,
    passages: Sequence[SourcePassage] = (),
) -> None:
    """Writes a card file, its manifest, and graph and passages if there are any: all or none.

    Raises:
        WriteError: one of them cannot be written; existing files are unchanged.
    """
    content = b"".join(to_json_bytes(card_to_json(card)) + b"\n" for card in cards)
    described = {**manifest, "cards_file_sha256": sha256_bytes(content)}
    signed = {**described, CONTENT_DIGEST: compute_content_digest(described)}
    files = {
        Path(path): content,
        manifest_path(path): to_json_bytes(signed, indent=2) + b"\n",
    }
    if graph is not None:
        files[get_graph_path(path)] = graph.to_ntriples()
    if passages:
        rows = (to_json_bytes(passage) + b"\n" for passage in passages)
        files[get_passages_path(path)] = b"".join(rows)
    write_files_atomic(files)


def _get_python_version() -> str:
    return ".".join(platform.python_version_tuple()[:2])


def _resolve_names(cards: Path, names: str | list[str] | None) -> list[Path]:
    """Returns the paths that a card file's manifest names relative to it."""
    folder = cards.resolve().parent
    return [
        (folder / name).resolve() for name in ([names] if isinstance(names, str) else names or [])
    ]
