"""A document while it is being read, line by line."""

from __future__ import annotations

from eval.skn.grammar.document import CausalLink, Document, Fact, Risk, Source


class Draft:
    """What has been read so far; a section that was not opened is ``None``."""

    def __init__(self) -> None:
        self.source: Source | None = None
        self.facts: list[Fact] | None = None
        self.causal: list[CausalLink] | None = None
        self.gaps: list[str] | None = None
        self.risk: Risk | None = None

    def open(self, section: str) -> None:
        """Says that a section of items (``facts``, ``causal``, ``gaps``) is there."""
        if getattr(self, section) is None:
            setattr(self, section, [])

    def add(self, item: Fact | CausalLink | str) -> None:
        """Adds a fact, a causal link or a gap to its section, opening it if need be."""
        if isinstance(item, Fact):
            self.facts = self.facts or []
            self.facts.append(item)
        elif isinstance(item, CausalLink):
            self.causal = self.causal or []
            self.causal.append(item)
        else:
            self.gaps = self.gaps or []
            self.gaps.append(item)

    def document(self) -> Document | None:
        """The document, if its source and its facts have been seen."""
        if self.source is None or self.facts is None:
            return None
        return Document(
            self.source,
            tuple(self.facts),
            None if self.causal is None else tuple(self.causal),
            None if self.gaps is None else tuple(self.gaps),
            self.risk,
        )
