"""Builds the thesaurus of a run: the selected concepts and the relations between them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.base.errors import ConceptExportError
from kg.base.plain_text import clean_text
from kg.text.thesaurus.hierarchy import (
    extract_title,
    find_broader_concepts,
    find_section_topics,
    iter_broader_concepts,
)
from kg.text.thesaurus.selection import MIN_CHUNKS, select_concepts
from kg.words.normaliser import normalise_phrase

if TYPE_CHECKING:
    from kg.text.run.folder import Run
    from kg.text.sections.tree import SectionTree

MIN_RELATED_NPMI = 0.5
"""Minimum NPMI of two related concepts."""
WITHHELD_SHARE = 0.3
"""Share of broader relations left out, so that cards with gold UNKNOWN have true claims too. They
are chosen at random: any systematic choice could be guessed from the graph."""
MIN_RELATED_WEIGHT = 2
"""Minimum number of shared chunks of two related concepts. Without it, two concepts that occur only
once, in the same chunk, would be related: their NPMI is 1."""


@dataclass(frozen=True)
class Thesaurus:
    """The concepts of a run and their relations, as written to RDF.

    Attributes:
        labels: concept → its preferred name; sorted by concept.
        aliases: concept → other names, none of them a name of another concept.
        chunk_ids: concept → the chunks it occurs in.
        broader: concept → its direct broader concept, without the withheld ones.
        withheld: concepts whose broader concept is left out; sorted.
        related: pairs of related concepts, neither an ancestor of the other; sorted.
        sections: section → its heading, for sections with chunks of a concept and their ancestors.
        parents: section → its parent section.
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


def build_thesaurus(
    run: Run,
    *,
    min_chunks: int = MIN_CHUNKS,
    related_npmi: float = MIN_RELATED_NPMI,
    withheld_share: float = WITHHELD_SHARE,
    include_all: bool = False,
) -> Thesaurus:
    """Builds the thesaurus of a run.

    Args:
        run: a run with a section tree.
        min_chunks: minimum number of chunks of a concept that no heading names.
        related_npmi: minimum NPMI of two related concepts.
        withheld_share: share of concepts whose broader concept is left out. The choice depends on a
            hash of the concept's name only, so adding or removing concepts does not change it.
        include_all: includes every concept of the run, not only those used as names.

    Raises:
        ConceptExportError: the run has no section tree, or no concept has a broader concept.
    """
    tree, concepts = run.sections, run.concepts
    if tree is None:
        raise ConceptExportError(
            "the run has no section tree, from which the concept hierarchy is derived",
            where=str(run.folder),
            hint="Build it without --no-sections.",
        )
    topics = find_section_topics(tree, concepts)
    selected_concepts = (
        concepts.nodes
        if include_all
        else select_concepts(concepts, run.chunks, set(topics.values()), min_chunks)
    )
    selected_set = set(selected_concepts)
    broader = {
        concept: broader_concept
        for concept, broader_concept in find_broader_concepts(tree, concepts, topics).items()
        if concept in selected_set
    }
    if not broader:
        raise ConceptExportError(
            f"none of {len(selected_concepts)} concepts has a broader concept",
            where=str(run.folder),
            hint="No heading names a keyword of its section. Use longer documents with headings, "
            "or --everything.",
        )
    withheld = tuple(concept for concept in broader if _hash_to_unit(concept) < withheld_share)
    headings = {
        topic: extract_title(tree.nodes[section].heading) for section, topic in topics.items()
    }
    labels = {
        node: clean_text(headings.get(node) or concepts.get_label(node))
        for node in selected_concepts
    }
    chunk_ids = {node: tuple(concepts.get_chunk_ids(node)) for node in selected_concepts}
    sections = _list_sections(tree, chunk_ids.values())
    return Thesaurus(
        labels=labels,
        aliases=_list_aliases(run, labels),
        chunk_ids=chunk_ids,
        broader={c: broader_concept for c, broader_concept in broader.items() if c not in withheld},
        withheld=withheld,
        related=_find_related(run, selected_set, broader, related_npmi),
        sections={s: clean_text(tree.nodes[s].heading or s) for s in sections},
        parents={s: p for s in sections if (p := tree.nodes[s].parent) is not None},
        section_of={c: s for s in sections for c in tree.nodes[s].chunk_ids},
    )


def _hash_to_unit(concept: str) -> float:
    """Hashes a concept's name to a number in [0, 1)."""
    return int.from_bytes(hashlib.sha256(concept.encode()).digest()[:8]) / 2**64


def _list_sections(tree: SectionTree, chunk_ids: Iterable[Iterable[str]]) -> list[str]:
    """Returns the sections of some chunks and all their ancestors, in the order of the text."""
    selected_chunks = {chunk_id for ids in chunk_ids for chunk_id in ids}
    sections_with_chunks = [
        s for s, node in tree.nodes.items() if not selected_chunks.isdisjoint(node.chunk_ids)
    ]
    selected = {
        *sections_with_chunks,
        *(ancestor for s in sections_with_chunks for ancestor in tree.list_ancestors(s)),
    }
    return [section for section in tree.nodes if section in selected]


def _list_aliases(run: Run, labels: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Returns other names of each concept, without spellings that differ in case or plural only."""
    aliases = {}
    for node, label in labels.items():
        names = [run.concepts.get_label(node), *run.concepts.graph.nodes[node]["aliases"]]
        by_form = {normalise_phrase(name): clean_text(name) for name in reversed(names)}
        by_form.pop(normalise_phrase(label), None)
        aliases[node] = tuple(sorted(by_form.values()))
    return aliases


def _find_related(
    run: Run, concepts: set[str], broader: dict[str, str], min_npmi: float
) -> tuple[tuple[str, str], ...]:
    """Returns the pairs of related concepts.

    SKOS forbids ``skos:related`` between a concept and its ancestors (integrity condition S27).
    """
    ancestors = {node: set(iter_broader_concepts(node, broader)) for node in concepts}
    graph = run.concepts.graph
    pairs = (
        (first, second)
        for first, second, data in graph.subgraph(concepts).edges(data=True)
        if data["weight"] >= MIN_RELATED_WEIGHT and data["npmi"] >= min_npmi
    )
    return tuple(
        sorted(
            (min(pair), max(pair))
            for pair in pairs
            if pair[0] not in ancestors[pair[1]] and pair[1] not in ancestors[pair[0]]
        )
    )
