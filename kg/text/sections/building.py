"""From chunks to the section tree: which sections there are, and what hangs below what.

A section's parent is its nearest existing ancestor by number: ``3.2.1`` hangs below ``3.2``, or
below ``3`` where there is no ``3.2``. Without such an ancestor the path of headings decides, and
where chunks bring no path, the marks of Markdown. Each document is a world of its own. Whatever
the headings say, no section can come to lie inside itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kg.text.normaliser import mend
from kg.text.sections.heading import SectionLabel, parse_heading, section_key
from kg.text.sections.scoring import heading_keywords
from kg.text.sections.tree import SectionNode, SectionTree, bottom_up, with_children

MAX_DEPTH = 64
"""Headings of a path beyond so many are not looked at."""


class SectionedChunk(Protocol):
    """What the tree needs of a chunk."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def metadata(self) -> Mapping[str, Any]:
        """``document``, ``section``, ``section_path``, ``section_id``, as far as they are known."""
        ...


class ChunkConcepts(Protocol):
    """What the tree needs of a concept graph."""

    def nodes_of_chunk(self, chunk_id: str, /) -> Iterable[str]:
        """Graph nodes that occur in a chunk."""
        ...


@dataclass(eq=False)
class _Draft:
    """A section on its way into the tree."""

    id: str
    document: str
    path: tuple[str, ...]
    """Headings from the top, its own last; empty for the text before any heading."""
    label: SectionLabel | None
    level: int
    """How deep its heading is by Markdown's marks; 0 where there are none."""
    marked_above: _Draft | None
    """The last section before it, in its document, with fewer marks."""
    order: int
    """Place in the document; a section without text of its own has that of its first child."""
    chunk_ids: list[str] = field(default_factory=list)
    parent: _Draft | None = None
    children: list[_Draft] = field(default_factory=list)

    @property
    def heading(self) -> str:
        return self.path[-1] if self.path else ""

    def lies_in(self, other: _Draft) -> bool:
        """Whether ``other`` is this section or one that it lies in."""
        section: _Draft | None = self
        while section is not None and section is not other:
            section = section.parent
        return section is not None


def build_section_tree(
    chunks: Sequence[SectionedChunk], concepts: ChunkConcepts | None = None
) -> SectionTree:
    """The section tree of chunks.

    Args:
        chunks: in document order.
        concepts: tells the graph nodes of a chunk; without it sections have no keywords, and only
            their headings are matched.
    """
    drafts = _Drafts()
    for chunk in chunks:
        drafts.take(chunk)
    sections = drafts.linked()
    own: dict[str, list[str]] = {
        section.id: [
            node
            for chunk in (section.chunk_ids if concepts is not None else ())
            for node in (concepts.nodes_of_chunk(chunk) if concepts is not None else ())
        ]
        for section in sections
    }
    parents = {section.id: section.parent.id if section.parent else None for section in sections}
    keywords = bottom_up(parents, own)
    return SectionTree(
        with_children(
            [
                SectionNode(
                    id=section.id,
                    heading=section.heading,
                    parent=parents[section.id],
                    chunk_ids=tuple(section.chunk_ids),
                    keywords=keywords[section.id],
                    heading_keywords=heading_keywords(
                        section.heading if section.label is None else section.label.title
                    ),
                )
                for section in sections
            ]
        )
    )


class _Drafts:
    """All sections met so far, and how to find them."""

    def __init__(self) -> None:
        self.by_id: dict[str, _Draft] = {}
        self.by_path: dict[tuple[str, tuple[str, ...]], list[_Draft]] = {}
        self.by_number: dict[tuple[str, tuple[str, ...]], list[_Draft]] = {}
        self.unnamed: dict[tuple[str, tuple[str, ...]], str] = {}
        """Ids made up for sections whose chunks name none."""
        self.bearers: Counter[str] = Counter()
        """How often each made-up id was taken already."""
        self.open: dict[str, list[_Draft]] = {}
        """Per document, the marked headings that the next one may lie under."""

    def take(self, chunk: SectionedChunk) -> None:
        """Files a chunk under its section."""
        document, path = _document(chunk), _path(chunk)
        named = chunk.metadata.get("section_id")
        if isinstance(named, str) and named:
            key = named
        else:
            key = self.unnamed.get((document, path), "")
            if not key:
                key = self.unnamed[document, path] = self._fresh_id(document, path)
        draft = self.by_id.get(key)
        if draft is None:
            draft = self._add(key, document, path, len(self.by_id), _level(chunk))
        draft.chunk_ids.append(chunk.id)

    def linked(self) -> list[_Draft]:
        """All sections with their parents, every parent before its children."""
        for draft in list(self.by_id.values()):
            for depth in range(1, len(draft.path)):
                if not self.by_path.get((draft.document, draft.path[:depth])):
                    self._add_bare(draft, draft.path[:depth])
        ordered = sorted(self.by_id.values(), key=lambda draft: (draft.order, len(draft.path)))
        for draft in ordered:
            draft.parent = next(
                (above for above in self._above(draft) if not above.lies_in(draft)), None
            )
        for draft in ordered:
            if draft.parent is not None:
                draft.parent.children.append(draft)
        found: list[_Draft] = []
        stack = [draft for draft in reversed(ordered) if draft.parent is None]
        while stack:
            found.append(stack.pop())
            stack.extend(reversed(found[-1].children))
        return found

    def _above(self, draft: _Draft) -> Iterable[_Draft]:
        """Who may be a section's parent, the best first."""
        parts = draft.label.parts if draft.label is not None else ()
        for length in range(len(parts) - 1, 0, -1):
            yield from _nearest(self.by_number.get((draft.document, parts[:length]), ()), draft)
        for depth in range(len(draft.path) - 1, 0, -1):
            yield from _nearest(self.by_path[draft.document, draft.path[:depth]], draft)
        if draft.marked_above is not None and len(draft.path) == 1:
            yield draft.marked_above

    def _add_bare(self, below: _Draft, path: tuple[str, ...]) -> None:
        """A section without any text of its own, known from the paths of those below it."""
        key = self._fresh_id(below.document, path)
        self._add(key, below.document, path, below.order, 0)

    def _add(
        self, key: str, document: str, path: tuple[str, ...], order: int, level: int
    ) -> _Draft:
        label = parse_heading(path[-1]) if path else None
        above = None
        if level:
            stack = self.open.setdefault(document, [])
            while stack and stack[-1].level >= level:
                stack.pop()
            above = stack[-1] if stack else None
        draft = self.by_id[key] = _Draft(key, document, path, label, level, above, order)
        if level:
            self.open[document].append(draft)
        self.by_path.setdefault((document, path), []).append(draft)
        if label is not None:
            self.by_number.setdefault((document, label.parts), []).append(draft)
        return draft

    def _fresh_id(self, document: str, path: tuple[str, ...]) -> str:
        plain = key = f"{document}#{section_key(path[-1] if path else '')}"
        while key in self.by_id:
            self.bearers[plain] += 1
            key = f"{plain}~{self.bearers[plain] + 1}"
        return key


def _nearest(found: Sequence[_Draft], draft: _Draft) -> Iterable[_Draft]:
    """Those before a section, the last first; then those after it."""
    yield from (other for other in reversed(found) if other.order <= draft.order)
    yield from (other for other in found if other.order > draft.order)


def _document(chunk: SectionedChunk) -> str:
    for key in ("document", "filename"):
        name = chunk.metadata.get(key)
        if isinstance(name, str) and name:
            return name
    return chunk.id.partition("#")[0] if "#" in chunk.id else ""


def _path(chunk: SectionedChunk) -> tuple[str, ...]:
    """The headings a chunk stands under, mended, the outermost first."""
    given = chunk.metadata.get("section_path")
    path = [str(heading) for heading in given] if isinstance(given, list | tuple) else []
    section = chunk.metadata.get("section")
    if isinstance(section, str) and section.strip() and path[-1:] != [section]:
        path.append(section)
    mended = [mend(re.sub(r"^\s*#+\s*", "", heading)).strip() for heading in path]
    found = [heading for heading in mended if heading]
    return tuple(found if len(found) <= MAX_DEPTH else [*found[: MAX_DEPTH - 1], found[-1]])


def _level(chunk: SectionedChunk) -> int:
    section = chunk.metadata.get("section")
    marks = re.match(r"\s*(#{1,6})\s", section) if isinstance(section, str) else None
    return len(marks[1]) if marks else 0
