"""The section tree: what hangs below what, which chunks and keywords are in each section."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from kg.text.sections.scoring import DEFAULT_ALPHA, HEADING_WEIGHT, INHERITANCE_DECAY, SectionScorer

SCHEMA = 1
"""Version of the JSON form."""


class SectionNode(msgspec.Struct, frozen=True, kw_only=True):
    """One section."""

    id: str
    """``document#section_key``; the id of its first chunk, where it has one."""
    heading: str
    """As written; empty for the text before any heading."""
    parent: str | None = None
    children: tuple[str, ...] = ()
    """In document order."""
    chunk_ids: tuple[str, ...] = ()
    """Chunks of this very section, in order; those below it are in its children."""
    keywords: tuple[str, ...] = ()
    """Graph nodes of its chunks and of all sections below it, sorted."""
    heading_keywords: tuple[str, ...] = ()
    """1- to 3-grams of the heading, normalised; without the number."""


class SectionTree:
    """The sections of all documents.

    Attributes:
        nodes: sections by id, every parent before its children, else in document order.
    """

    def __init__(self, nodes: Mapping[str, SectionNode]) -> None:
        self.nodes = dict(nodes)

    @property
    def roots(self) -> tuple[str, ...]:
        """Sections without a parent."""
        return tuple(key for key, node in self.nodes.items() if node.parent is None)

    def ancestors(self, section: str) -> tuple[str, ...]:
        """The sections a section lies in, the innermost first."""
        found: list[str] = []
        parent = self.nodes[section].parent
        while parent is not None:
            found.append(parent)
            parent = self.nodes[parent].parent
        return tuple(found)

    @cached_property
    def _scorer(self) -> SectionScorer:
        return SectionScorer(tuple(self.nodes.values()))

    def chunk_scores(
        self,
        query: str,
        matched: Collection[str],
        alpha: float = DEFAULT_ALPHA,
        heading_weight: float = HEADING_WEIGHT,
        inheritance_decay: float = INHERITANCE_DECAY,
        ties: Mapping[str, float] | None = None,
    ) -> dict[str, float]:
        """Scores of the chunks whose sections have to do with a query; see ``SectionScorer``."""
        return self._scorer.chunk_scores(
            query,
            matched,
            alpha=alpha,
            heading_weight=heading_weight,
            inheritance_decay=inheritance_decay,
            ties=ties,
        )

    def to_json(self) -> dict[str, Any]:
        """The tree as JSON values; children are left out, since parents tell them."""
        rows = []
        for node in self.nodes.values():
            row = msgspec.to_builtins(node)
            del row["children"]
            rows.append(row)
        return {"schema": SCHEMA, "nodes": rows}

    @classmethod
    def from_json(cls, data: Any) -> SectionTree:
        """Reads what ``to_json`` made.

        Raises:
            ValueError: another version; a section twice; a parent that is missing, or comes after
                its child (as in every circle); a wrong type (``msgspec.ValidationError``).
        """
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ValueError(f"the section tree must be an object of schema {SCHEMA}")
        rows = msgspec.convert(data.get("nodes"), list[SectionNode])
        return cls(with_children(rows))


def with_children(rows: Sequence[SectionNode]) -> dict[str, SectionNode]:
    """Sections by id, their children filled in from their parents.

    Raises:
        ValueError: a section twice, or a parent that is missing or comes after its child.
    """
    children: dict[str, list[str]] = {}
    for row in rows:
        if row.id in children:
            raise ValueError(f"section {row.id!r} occurs twice")
        if row.parent is not None:
            if row.parent not in children:
                raise ValueError(f"section {row.id!r} stands before its parent {row.parent!r}")
            children[row.parent].append(row.id)
        children[row.id] = []
    return {row.id: msgspec.structs.replace(row, children=tuple(children[row.id])) for row in rows}


def bottom_up(
    parents: Mapping[str, str | None], own: Mapping[str, Iterable[str]]
) -> dict[str, tuple[str, ...]]:
    """Each section's keywords together with all those below it, sorted.

    Args:
        parents: section → its parent, every parent before its children.
        own: section → keywords of its own chunks.
    """
    found = {section: set(own.get(section, ())) for section in parents}
    for section in reversed(list(parents)):
        parent = parents[section]
        if parent is not None:
            found[parent] |= found[section]
    return {section: tuple(sorted(words)) for section, words in found.items()}
