"""Checks the types that a statement mentions in passing: "the Rhine, a lake, flows into …".

In a question such words ("the river Rhine") add nothing to what is asked. In a statement they are
asserted too, and a claim must not be licensed together with a wrong type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from eval.questions.coverage import CONJUNCTIONS
from eval.questions.cues import stem_word
from eval.questions.mentions import ARTICLES, Mention, Token
from kg.claims import Claim
from kg.terms import RDF_TYPE

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

# Between a name and a type after it: "the Rhine, which is also a river".
_WORDS_AFTER_NAME = ARTICLES | {
    "which",
    "that",
    "who",
    "is",
    "was",
    "are",
    "were",
    "being",
    "also",
    "as",
}
# Between a type and a name after it: "the river called the Rhine".
_WORDS_BEFORE_NAME = ARTICLES | {"called", "named", "known", "as"}


class TypeMentions:
    """Checks whether entities have the types that a statement mentions.

    Args:
        kb: the graph with the types of entities.
        classes: name of a class, as folded words → its IRI.
        predicate_stems: predicate → stems of the predicate's own wording. Words with these stems
            are not checked as types.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        classes: Mapping[tuple[str, ...], str],
        predicate_stems: Mapping[str, set[str]],
    ) -> None:
        self._collect_types = kb.verbaliser.collect_types
        self._predicate_stems = predicate_stems
        self._classes_by_stem: dict[str, set[str]] = {}
        for name, iri in classes.items():
            for word in set(name) - CONJUNCTIONS:
                self._classes_by_stem.setdefault(stem_word(word), set()).add(iri)

    def has_type_word(self, tokens: Sequence[Token]) -> bool:
        """Whether any token is a word of a class name."""
        return any(stem_word(token.key) in self._classes_by_stem for token in tokens)

    def find_wrong_type(
        self, tokens: Sequence[Token], mentions: Sequence[Mention], claims: Sequence[Claim]
    ) -> str:
        """Finds the first mentioned type that the entity next to it does not have in the graph.

        If there is no name next to a type ("the river flows …"), some entity that the statement
        names must have it.

        Args:
            tokens: the tokens of the statement.
            mentions: the entities and numbers that it names.
            claims: the claims that it was read as. A type that one of them asserts is not checked
                here.

        Returns:
            The word of the type; empty if every type is right.
        """
        names = [mention for mention in mentions if mention.entities]
        name_positions = {
            position for mention in names for position in range(mention.start, mention.end)
        }
        predicate_words = set().union(
            *(self._predicate_stems.get(claim.pred, ()) for claim in claims)
        )
        claimed_types = {claim.obj for claim in claims if claim.pred == RDF_TYPE}
        for position, token in enumerate(tokens):
            word = stem_word(token.key)
            types = self._classes_by_stem.get(word)
            if (
                types is None
                or position in name_positions
                or word in predicate_words
                or types & claimed_types
            ):
                continue
            adjacent_names = _find_adjacent_names(tokens, names, position) or names
            if not any(
                types & self._collect_types(iri) for name in adjacent_names for iri in name.entities
            ):
                return token.text
        return ""


def _find_adjacent_names(
    tokens: Sequence[Token], names: Sequence[Mention], position: int
) -> list[Mention]:
    """Returns the names directly before and after a type at a position."""

    def contains_only(start: int, end: int, words: frozenset[str] | set[str]) -> bool:
        return all(token.key in words for token in tokens[start:end])

    names_before = [
        name
        for name in names
        if name.end <= position and contains_only(name.end, position, _WORDS_AFTER_NAME)
    ]
    names_after = [
        name
        for name in names
        if name.start > position and contains_only(position + 1, name.start, _WORDS_BEFORE_NAME)
    ]
    return [*names_before[-1:], *names_after[:1]]
