"""The section tree: parents and children, and the chunks and keywords of each section."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from kg.text.sections.scorer import DEFAULT_ALPHA, HEADING_WEIGHT, INHERITANCE_DECAY, SectionScorer

SCHEMA_VERSION = 1
"""Version of the JSON format."""


class SectionNode(msgspec.Struct, frozen=True, kw_only=True):
    """One section."""

    id: str
    """``document#section_key``; also the id of its first chunk, if it has one."""
    heading: str
    """As written; empty for the text before any heading."""
    parent: str | None = None
    children: tuple[str, ...] = ()
    """In document order."""
    chunk_ids: tuple[str, ...] = ()
    """Its own chunks, in order, without those of its subsections."""
    keywords: tuple[str, ...] = ()
    """Graph nodes of its chunks and of all its subsections, sorted."""
    heading_keywords: tuple[str, ...] = ()
    """Normalised 1- to 3-grams of the heading, without the number."""


class SectionTree:
    """The sections of all documents.

    Attributes:
        nodes: sections by id, in document order, every parent before its children.
    """

    def __init__(self, nodes: Mapping[str, SectionNode]) -> None:
        self.nodes = dict(nodes)

    @property
    def roots(self) -> tuple[str, ...]:
        """Sections without a parent."""
        return tuple(key for key, node in self.nodes.items() if node.parent is None)

    def list_ancestors(self, section: str) -> tuple[str, ...]:
        """Returns the ancestors of a section, the nearest first."""
        ancestors: list[str] = []
        parent = self.nodes[section].parent
        while parent is not None:
            ancestors.append(parent)
            parent = self.nodes[parent].parent
        return tuple(ancestors)

    @cached_property
    def _scorer(self) -> SectionScorer:
        return SectionScorer(tuple(self.nodes.values()))

    def score_chunks(
        self,
        query: str,
        query_nodes: Collection[str],
        alpha: float = DEFAULT_ALPHA,
        heading_weight: float = HEADING_WEIGHT,
        inheritance_decay: float = INHERITANCE_DECAY,
        tie_scores: Mapping[str, float] | None = None,
    ) -> dict[str, float]:
        """Scores the chunks whose sections match a query; see ``SectionScorer.score_chunks``."""
        return self._scorer.score_chunks(
            query,
            query_nodes,
            alpha=alpha,
            heading_weight=heading_weight,
            inheritance_decay=inheritance_decay,
            tie_scores=tie_scores,
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the tree as JSON values; children are left out, as they follow from parents."""
        rows = []
        for node in self.nodes.values():
            row = msgspec.to_builtins(node)
            del row["children"]
            rows.append(row)
        return {"schema": SCHEMA_VERSION, "nodes": rows}

    @classmethod
    def from_json(cls, data: Any) -> SectionTree:
        """Reads the output of ``to_json``.

        Raises:
            ValueError: the version or a type is wrong, a section occurs twice, or a parent is
                missing or comes after its child (as in every cycle).
        """
        if not isinstance(data, dict) or data.get("schema") != SCHEMA_VERSION:
            raise ValueError(f"the section tree must be an object of schema {SCHEMA_VERSION}")
        rows = msgspec.convert(data.get("nodes"), list[SectionNode])
        return cls(fill_children(rows))


def fill_children(rows: Sequence[SectionNode]) -> dict[str, SectionNode]:
    """Returns sections by id, with the children filled in from the parents.

    Raises:
        ValueError: a section occurs twice, or a parent is missing or comes after its child.
    """
    children: dict[str, list[str]] = {}
    for row in rows:
        if row.id in children:
            raise ValueError(f"duplicate section {row.id!r}")
        if row.parent is not None:
            if row.parent not in children:
                raise ValueError(
                    f"the parent {row.parent!r} of section {row.id!r} is missing or comes later"
                )
            children[row.parent].append(row.id)
        children[row.id] = []
    return {row.id: msgspec.structs.replace(row, children=tuple(children[row.id])) for row in rows}


def collect_keywords(
    parents: Mapping[str, str | None], own_keywords: Mapping[str, Iterable[str]]
) -> dict[str, tuple[str, ...]]:
    """Returns each section's keywords together with those of its subsections, sorted.

    Args:
        parents: section → its parent, every parent before its children.
        own_keywords: section → keywords of its own chunks.
    """
    keywords = {section: set(own_keywords.get(section, ())) for section in parents}
    for section in reversed(list(parents)):
        parent = parents[section]
        if parent is not None:
            keywords[parent] |= keywords[section]
    return {section: tuple(sorted(words)) for section, words in keywords.items()}
