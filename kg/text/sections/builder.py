"""Builds the section tree from chunks.

A section's parent is its nearest existing ancestor by number: the parent of ``3.2.1`` is ``3.2``,
or ``3`` if there is no ``3.2``. If there is no such ancestor, the path of headings decides; if
chunks have no path, the levels of Markdown headings do. Documents are independent of each other.
The result has no cycles, whatever the headings are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kg.text.sections.headings import SectionLabel, make_section_key, parse_heading
from kg.text.sections.scorer import extract_heading_keywords
from kg.text.sections.tree import SectionNode, SectionTree, collect_keywords, fill_children
from kg.words.normaliser import repair_text

MAX_DEPTH = 64
"""Maximum number of headings in a path; of a longer path the first ones and the last are kept."""


class SectionedChunk(Protocol):
    """The attributes of a chunk that the tree is built from."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def metadata(self) -> Mapping[str, Any]:
        """``document``, ``section``, ``section_path`` and ``section_id``, if known."""
        ...


class ChunkConcepts(Protocol):
    """The method of a concept graph that the tree is built from."""

    def get_chunk_nodes(self, chunk_id: str, /) -> Iterable[str]:
        """Returns the graph nodes that occur in a chunk."""
        ...


@dataclass(eq=False)
class _SectionDraft:
    """A section whose parent and children may not be known yet."""

    id: str
    document: str
    path: tuple[str, ...]
    """Headings from the outermost to its own; empty for the text before any heading."""
    label: SectionLabel | None
    level: int
    """Number of ``#`` marks of its Markdown heading; 0 if there are none."""
    markdown_parent: _SectionDraft | None
    """The last section before it, in its document, with fewer ``#`` marks."""
    order: int
    """Position in the document; for a section without text, the position of its first child."""
    chunk_ids: list[str] = field(default_factory=list)
    parent: _SectionDraft | None = None
    children: list[_SectionDraft] = field(default_factory=list)

    @property
    def heading(self) -> str:
        return self.path[-1] if self.path else ""

    def is_inside(self, other: _SectionDraft) -> bool:
        """Whether ``other`` is this section or one of its ancestors."""
        section: _SectionDraft | None = self
        while section is not None and section is not other:
            section = section.parent
        return section is not None


def build_section_tree(
    chunks: Sequence[SectionedChunk], concepts: ChunkConcepts | None = None
) -> SectionTree:
    """Builds the section tree of chunks.

    Args:
        chunks: in document order.
        concepts: gives the graph nodes of each chunk; without it sections have no keywords, and
            queries match headings only.
    """
    drafts = _SectionDrafts()
    for chunk in chunks:
        drafts.add_chunk(chunk)
    sections = drafts.link_sections()
    own_nodes: dict[str, list[str]] = {}
    if concepts is not None:
        for section in sections:
            own_nodes[section.id] = [
                node for chunk in section.chunk_ids for node in concepts.get_chunk_nodes(chunk)
            ]
    parents = {section.id: section.parent.id if section.parent else None for section in sections}
    keywords = collect_keywords(parents, own_nodes)
    return SectionTree(
        fill_children(
            [
                SectionNode(
                    id=section.id,
                    heading=section.heading,
                    parent=parents[section.id],
                    chunk_ids=tuple(section.chunk_ids),
                    keywords=keywords[section.id],
                    heading_keywords=extract_heading_keywords(
                        section.heading if section.label is None else section.label.title
                    ),
                )
                for section in sections
            ]
        )
    )


class _SectionDrafts:
    """All sections found so far, indexed by id, path and number."""

    def __init__(self) -> None:
        self.by_id: dict[str, _SectionDraft] = {}
        self.by_path: dict[tuple[str, tuple[str, ...]], list[_SectionDraft]] = {}
        self.by_number: dict[tuple[str, tuple[str, ...]], list[_SectionDraft]] = {}
        self.generated_ids: dict[tuple[str, tuple[str, ...]], str] = {}
        """(document, path) → id generated for a section whose chunks give no id."""
        self.id_counts: Counter[str] = Counter()
        """Base of generated ids → number of ids generated from it after the first."""
        self.open_headings: dict[str, list[_SectionDraft]] = {}
        """Per document, the stack of Markdown headings that the next one may belong to."""

    def add_chunk(self, chunk: SectionedChunk) -> None:
        """Adds a chunk to its section, which is created if needed."""
        document, path = _get_document(chunk), _get_heading_path(chunk)
        declared_id = chunk.metadata.get("section_id")
        if isinstance(declared_id, str) and declared_id:
            key = declared_id
        else:
            key = self.generated_ids.get((document, path), "")
            if not key:
                key = self.generated_ids[document, path] = self._make_unique_id(document, path)
        draft = self.by_id.get(key)
        if draft is None:
            draft = self._add_draft(
                key, document, path, len(self.by_id), _get_markdown_level(chunk)
            )
        draft.chunk_ids.append(chunk.id)

    def link_sections(self) -> list[_SectionDraft]:
        """Sets the parents and returns all sections, every parent before its children."""
        for draft in list(self.by_id.values()):
            for depth in range(1, len(draft.path)):
                if not self.by_path.get((draft.document, draft.path[:depth])):
                    self._add_empty_section(draft, draft.path[:depth])
        ordered = sorted(self.by_id.values(), key=lambda draft: (draft.order, len(draft.path)))
        for draft in ordered:
            draft.parent = next(
                (
                    candidate
                    for candidate in self._iter_parent_candidates(draft)
                    if not candidate.is_inside(draft)
                ),
                None,
            )
        for draft in ordered:
            if draft.parent is not None:
                draft.parent.children.append(draft)
        # Depth-first without recursion, because the input can be nested to any depth.
        parents_first: list[_SectionDraft] = []
        stack = [draft for draft in reversed(ordered) if draft.parent is None]
        while stack:
            parents_first.append(stack.pop())
            stack.extend(reversed(parents_first[-1].children))
        return parents_first

    def _iter_parent_candidates(self, draft: _SectionDraft) -> Iterable[_SectionDraft]:
        """Yields the sections that may be a section's parent, the best first."""
        parts = draft.label.parts if draft.label is not None else ()
        for length in range(len(parts) - 1, 0, -1):
            yield from _sort_by_distance(
                self.by_number.get((draft.document, parts[:length]), ()), draft
            )
        for depth in range(len(draft.path) - 1, 0, -1):
            yield from _sort_by_distance(self.by_path[draft.document, draft.path[:depth]], draft)
        if draft.markdown_parent is not None and len(draft.path) == 1:
            yield draft.markdown_parent

    def _add_empty_section(self, subsection: _SectionDraft, path: tuple[str, ...]) -> None:
        """Adds a section without text of its own, known only from the paths of its subsections."""
        key = self._make_unique_id(subsection.document, path)
        self._add_draft(key, subsection.document, path, subsection.order, 0)

    def _add_draft(
        self, key: str, document: str, path: tuple[str, ...], order: int, level: int
    ) -> _SectionDraft:
        label = parse_heading(path[-1]) if path else None
        markdown_parent = None
        if level:
            stack = self.open_headings.setdefault(document, [])
            while stack and stack[-1].level >= level:
                stack.pop()
            markdown_parent = stack[-1] if stack else None
        draft = self.by_id[key] = _SectionDraft(
            key, document, path, label, level, markdown_parent, order
        )
        if level:
            self.open_headings[document].append(draft)
        self.by_path.setdefault((document, path), []).append(draft)
        if label is not None:
            self.by_number.setdefault((document, label.parts), []).append(draft)
        return draft

    def _make_unique_id(self, document: str, path: tuple[str, ...]) -> str:
        base_id = key = f"{document}#{make_section_key(path[-1] if path else '')}"
        while key in self.by_id:
            self.id_counts[base_id] += 1
            key = f"{base_id}~{self.id_counts[base_id] + 1}"
        return key


def _sort_by_distance(
    sections: Sequence[_SectionDraft], draft: _SectionDraft
) -> Iterable[_SectionDraft]:
    """Yields the sections before a section, the last first; then those after it."""
    yield from (other for other in reversed(sections) if other.order <= draft.order)
    yield from (other for other in sections if other.order > draft.order)


def _get_document(chunk: SectionedChunk) -> str:
    for key in ("document", "filename"):
        name = chunk.metadata.get(key)
        if isinstance(name, str) and name:
            return name
    return chunk.id.partition("#")[0] if "#" in chunk.id else ""


def _get_heading_path(chunk: SectionedChunk) -> tuple[str, ...]:
    """Returns the cleaned headings above a chunk, the outermost first."""
    raw_path = chunk.metadata.get("section_path")
    path = [str(heading) for heading in raw_path] if isinstance(raw_path, list | tuple) else []
    section = chunk.metadata.get("section")
    if isinstance(section, str) and section.strip() and path[-1:] != [section]:
        path.append(section)
    cleaned = [repair_text(re.sub(r"^\s*#+\s*", "", heading)).strip() for heading in path]
    headings = [heading for heading in cleaned if heading]
    return tuple(
        headings if len(headings) <= MAX_DEPTH else [*headings[: MAX_DEPTH - 1], headings[-1]]
    )


def _get_markdown_level(chunk: SectionedChunk) -> int:
    section = chunk.metadata.get("section")
    marks = re.match(r"\s*(#{1,6})\s", section) if isinstance(section, str) else None
    return len(marks[1]) if marks else 0
