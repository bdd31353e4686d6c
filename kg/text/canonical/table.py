"""The canonical table: which concept each keyword is. Checked whenever one is made or read."""

from __future__ import annotations

from functools import cached_property

import msgspec

from kg.text.normaliser import normalise


class CanonicalTable(msgspec.Struct, frozen=True, dict=True):
    """Every keyword of a corpus with its concept; the concept of a keyword alone is itself.

    Both are held in normal form, so that capitals and plurals find what they should.

    Raises:
        ValueError: it is no such table: an empty or foreign form, a concept that is itself mapped
            to another (a chain), a concept without a label.
    """

    forms: dict[str, str]
    """Normal form of each keyword → normal form of its concept, itself among the keys."""
    labels: dict[str, str]
    """Concept → how it is written, most often."""

    def __post_init__(self) -> None:
        for form, concept in self.forms.items():
            if not form or normalise(form) != form:
                raise ValueError(f"{form!r} is no normal form of a keyword")
            if self.forms.get(concept) != concept:
                raise ValueError(
                    f"{form!r} belongs to {concept!r}, which does not stand for itself"
                )
        if self.labels.keys() != set(self.forms.values()):
            raise ValueError("the labels are not those of the concepts")
        for concept, label in self.labels.items():
            if normalise(label) != concept:
                raise ValueError(f"the label {label!r} is not a spelling of {concept!r}")

    def resolve(self, keyword: str) -> str | None:
        """The concept of a keyword, in normal form; None for one that the corpus has not.

        ``resolve(resolve(x)) == resolve(x)`` for every keyword the table has.
        """
        return self.forms.get(normalise(keyword))

    @cached_property
    def concepts(self) -> tuple[str, ...]:
        """All concepts in normal form, sorted."""
        return tuple(sorted(self.labels))

    def canonical_keywords(self) -> list[str]:
        """How the concepts are written, in the order of ``concepts``: what is to be embedded."""
        return [self.labels[concept] for concept in self.concepts]
