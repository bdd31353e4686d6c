"""Defines the table of terms and their integer ids, shared by any number of indexes."""

from __future__ import annotations


class TermTable:
    """Term text ↔ id; ids count from 0, and terms are never removed.

    New terms are numbered in order of first use; ``canonical_order`` numbers those of a graph anew.
    """

    __slots__ = ("attachments", "blanks", "ids", "texts")

    def __init__(self) -> None:
        self.attachments: dict[str, object] = {}
        """Objects that other modules cache per table, for example the ids of OWL's vocabulary."""
        self.blanks: set[int] = set()
        """Ids of the blank nodes, for a fast test; usually few."""
        self.ids: dict[str, int] = {}
        self.texts: list[str] = []

    def intern(self, text: str) -> int:
        """Returns the id of ``text``, which is added if it is new."""
        term = self.ids.get(text)
        if term is None:
            term = self.ids[text] = len(self.texts)
            self.texts.append(text)
            if text[:2] == "_:":
                self.blanks.add(term)
        return term

    def get(self, text: str) -> int | None:
        """Returns the id of ``text``, or None if it is not in the table."""
        return self.ids.get(text)

    def get_text(self, term: int) -> str:
        """Returns the text of an id."""
        return self.texts[term]

    def is_literal(self, term: int) -> bool:
        """Returns whether the term is a literal."""
        return self.texts[term][:1] == '"'

    def __len__(self) -> int:
        return len(self.texts)
