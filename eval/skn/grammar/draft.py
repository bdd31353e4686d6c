"""Collects the parts of a document while it is being parsed, line by line."""

from __future__ import annotations

from eval.skn.grammar.document import CausalLink, Document, Fact, Risk, Source


class Draft:
    """The parts parsed so far; a section that has not been opened is ``None``."""

    def __init__(self) -> None:
        self.source: Source | None = None
        self.facts: list[Fact] | None = None
        self.causal: list[CausalLink] | None = None
        self.gaps: list[str] | None = None
        self.risk: Risk | None = None

    def open_section(self, section: str) -> None:
        """Opens a section of items: ``facts``, ``causal`` or ``gaps``.

        A section that is already open keeps its items.
        """
        if getattr(self, section) is None:
            setattr(self, section, [])

    def add_item(self, item: Fact | CausalLink | str) -> None:
        """Adds a fact, a causal link or a gap to its section, opening the section if needed."""
        if isinstance(item, Fact):
            self.facts = self.facts or []
            self.facts.append(item)
        elif isinstance(item, CausalLink):
            self.causal = self.causal or []
            self.causal.append(item)
        else:
            self.gaps = self.gaps or []
            self.gaps.append(item)

    def build_document(self) -> Document | None:
        """Returns the document, or None if the source or the section of facts is missing."""
        if self.source is None or self.facts is None:
            return None
        return Document(
            self.source,
            tuple(self.facts),
            None if self.causal is None else tuple(self.causal),
            None if self.gaps is None else tuple(self.gaps),
            self.risk,
        )
