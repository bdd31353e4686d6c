"""The thesaurus of a run: its concepts and what is stated of them, before it is written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.base.errors import ConceptExportError
from kg.text.normaliser import normalise
from kg.text.thesaurus.hierarchy import ancestors_of, broader_of, title_of, topics_of
from kg.text.thesaurus.selection import MIN_CHUNKS, worth_stating
from kg.words.plain_text import plain

if TYPE_CHECKING:
    from kg.text.run.folder import Run
    from kg.text.sections.tree import SectionTree

RELATED_NPMI = 0.5
"""NPMI from which two concepts are called related."""
WITHHELD_SHARE = 0.3
"""Unknown can be asked of a concept only if something true of it is not stated; and by lot, since
what is left out for a reason tells itself by that reason."""
RELATED_WEIGHT = 2
"""Chunks that must speak of both: what shares its only chunk has the highest NPMI of all."""


@dataclass(frozen=True)
class Thesaurus:
    """What is stated of the concepts of a run.

    Attributes:
        labels: concept → its preferred name; sorted by concept.
        aliases: concept → other names, none of them a name of another concept.
        chunk_ids: concept → the chunks that it was found in.
        broader: concept → the one it falls directly under; both are stated.
        withheld: concepts that fall under another, which is not stated; sorted.
        related: pairs of concepts that belong together, neither under the other; sorted.
        sections: section → its heading, for those that hold chunks of a concept, and all above.
        parents: section → the section that it lies in.
        section_of: chunk → its section.
    """

    labels: dict[str, str]
    aliases: dict[str, tuple[str, ...]]
    chunk_ids: dict[str, tuple[str, ...]]
    broader: dict[str, str]
    withheld: tuple[str, ...]
    related: tuple[tuple[str, str], ...]
    sections: dict[str, str]
    parents: dict[str, str]
    section_of: dict[str, str]


def thesaurus_of(
    run: Run,
    *,
    min_chunks: int = MIN_CHUNKS,
    related_npmi: float = RELATED_NPMI,
    withhold: float = WITHHELD_SHARE,
    everything: bool = False,
) -> Thesaurus:
    """Reads a thesaurus off a run.

    Args:
        run: a run with a section tree.
        min_chunks: chunks that must speak of a concept that is in no heading.
        related_npmi: NPMI from which two concepts are called related.
        withhold: share of concepts of which it is not stated what they fall under. The lot falls
            by their names, so a concept keeps its lot when others come or go.
        everything: states every concept of the run, whether it looks like a name or not.

    Raises:
        ConceptExportError: the run has no section tree, or nothing falls under anything.
    """
    tree, concepts = run.sections, run.concepts
    if tree is None:
        raise ConceptExportError(
            "the run has no section tree, so nothing says what falls under what",
            where=str(run.folder),
            hint="Build it without --no-sections.",
        )
    topics = topics_of(tree, concepts)
    stated = (
        concepts.nodes
        if everything
        else worth_stating(concepts, run.chunks, set(topics.values()), min_chunks)
    )
    known = set(stated)
    broader = {
        concept: above
        for concept, above in broader_of(tree, concepts, topics).items()
        if concept in known
    }
    if not broader:
        raise ConceptExportError(
            f"none of {len(stated)} concepts falls under another",
            where=str(run.folder),
            hint="The headings name no keyword of their sections; give longer documents, with "
            "headings, or --everything.",
        )
    withheld = tuple(concept for concept in broader if _lot(concept) < withhold)
    headings = {topic: title_of(tree.nodes[section].heading) for section, topic in topics.items()}
    labels = {node: plain(headings.get(node) or concepts.label(node)) for node in stated}
    chunk_ids = {node: tuple(concepts.chunk_ids(node)) for node in stated}
    sections = _sections(tree, chunk_ids.values())
    return Thesaurus(
        labels=labels,
        aliases=_aliases(run, labels),
        chunk_ids=chunk_ids,
        broader={c: above for c, above in broader.items() if c not in withheld},
        withheld=withheld,
        related=_related(run, known, broader, related_npmi),
        sections={s: plain(tree.nodes[s].heading or s) for s in sections},
        parents={s: p for s in sections if (p := tree.nodes[s].parent) is not None},
        section_of={c: s for s in sections for c in tree.nodes[s].chunk_ids},
    )


def _lot(concept: str) -> float:
    """A number from 0 up to 1 that only the concept's name decides."""
    return int.from_bytes(hashlib.sha256(concept.encode()).digest()[:8]) / 2**64


def _sections(tree: SectionTree, chunk_ids: Iterable[Iterable[str]]) -> list[str]:
    """The sections of some chunks and all that those lie in, in the order of the text."""
    wanted = {chunk_id for found in chunk_ids for chunk_id in found}
    holding = [s for s, node in tree.nodes.items() if not wanted.isdisjoint(node.chunk_ids)]
    kept = {*holding, *(above for s in holding for above in tree.ancestors(s))}
    return [section for section in tree.nodes if section in kept]


def _aliases(run: Run, labels: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Other names of each concept: no spelling that differs in case or plural only."""
    found = {}
    for node, label in labels.items():
        names = [run.concepts.label(node), *run.concepts.graph.nodes[node]["aliases"]]
        by_form = {normalise(name): plain(name) for name in reversed(names)}
        by_form.pop(normalise(label), None)
        found[node] = tuple(sorted(by_form.values()))
    return found


def _related(
    run: Run, known: set[str], broader: dict[str, str], least: float
) -> tuple[tuple[str, str], ...]:
    """Pairs that share enough chunks; SKOS relates no concept to one that it falls under (S27)."""
    under = {node: set(ancestors_of(node, broader)) for node in known}
    graph = run.concepts.graph
    pairs = (
        (one, other)
        for one, other, data in graph.subgraph(known).edges(data=True)
        if data["weight"] >= RELATED_WEIGHT and data["npmi"] >= least
    )
    return tuple(
        sorted(
            (min(pair), max(pair))
            for pair in pairs
            if pair[0] not in under[pair[1]] and pair[1] not in under[pair[0]]
        )
    )
