"""Terms and their integers: every term's text is held once, whatever number of indexes use it."""

from __future__ import annotations


class TermTable:
    """Term text ↔ id, ids dense from 0 in order of first use. Grows only."""

    __slots__ = ("attached", "blanks", "ids", "texts")

    def __init__(self) -> None:
        self.attached: dict[str, object] = {}
        """What others made once for this table (such as the ids of the OWL vocabulary)."""
        self.blanks: set[int] = set()
        """The blank nodes there are: few, so that a term is mostly told from them at a glance."""
        self.ids: dict[str, int] = {}
        self.texts: list[str] = []

    def intern(self, text: str) -> int:
        """The id of ``text``, given now if it has none."""
        term = self.ids.get(text)
        if term is None:
            term = self.ids[text] = len(self.texts)
            self.texts.append(text)
            if text[:2] == "_:":
                self.blanks.add(term)
        return term

    def get(self, text: str) -> int | None:
        """The id of ``text``, or None where no index has ever held it."""
        return self.ids.get(text)

    def text(self, term: int) -> str:
        """The text of an id."""
        return self.texts[term]

    def is_literal(self, term: int) -> bool:
        """Whether the term is a literal."""
        return self.texts[term][:1] == '"'

    def __len__(self) -> int:
        return len(self.texts)
