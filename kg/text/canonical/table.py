"""The canonical table, which maps every keyword to its concept; validated on construction."""

from __future__ import annotations

from functools import cached_property

import msgspec

from kg.words.normaliser import normalise_phrase


class CanonicalTable(msgspec.Struct, frozen=True, dict=True):
    """Maps every keyword of a corpus to its concept; a keyword without synonyms to itself.

    Both are in normal form, so that lookups ignore case and plural.

    Raises:
        ValueError: a form is empty or not normalised, a concept is itself mapped to another
            (a chain), or a concept has no valid label.
    """

    forms: dict[str, str]
    """Normal form of each keyword → normal form of its concept, which is among the keys."""
    labels: dict[str, str]
    """Concept → its commonest spelling."""

    def __post_init__(self) -> None:
        for form, concept in self.forms.items():
            if not form or normalise_phrase(form) != form:
                raise ValueError(f"{form!r} is not the normal form of a keyword")
            if self.forms.get(concept) != concept:
                raise ValueError(
                    f"{form!r} is mapped to {concept!r}, which is not mapped to itself"
                )
        if self.labels.keys() != set(self.forms.values()):
            raise ValueError("the keys of the labels are not the concepts")
        for concept, label in self.labels.items():
            if normalise_phrase(label) != concept:
                raise ValueError(f"the label {label!r} is not a spelling of {concept!r}")

    def resolve_keyword(self, keyword: str) -> str | None:
        """Returns the concept of a keyword in normal form; None if the corpus has no such keyword.

        Idempotent for every keyword of the table.
        """
        return self.forms.get(normalise_phrase(keyword))

    @cached_property
    def concepts(self) -> tuple[str, ...]:
        """All concepts in normal form, sorted."""
        return tuple(sorted(self.labels))

    def list_canonical_keywords(self) -> list[str]:
        """Returns the labels in the order of ``concepts``: the keywords to embed."""
        return [self.labels[concept] for concept in self.concepts]
