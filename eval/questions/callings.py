"""What a statement calls things besides what it claims: "the Rhine, a lake, flows into …".

A question may name kinds freely ("the river Rhine"); the words add nothing to what is asked. In a
statement they are said too, and a claim must not be licensed together with a kind that is false.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from eval.questions.coverage import JOINING
from eval.questions.cues import stem
from eval.questions.linking import ARTICLES, Mention, Token
from kg.claims import Claim
from kg.terms import RDF_TYPE

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

# Between a name and a kind behind it: "the Rhine, which is also a river".
_BEHIND = ARTICLES | {"which", "that", "who", "is", "was", "are", "were", "being", "also", "as"}
# Between a kind and a name behind it: "the river called the Rhine".
_BEFORE = ARTICLES | {"called", "named", "known", "as"}


class Callings:
    """Tells whether things are what a statement calls them.

    Args:
        kb: says what they are.
        classes: name of a class, as folded words → its IRI.
        own: predicate → stems that belong to its own wording, which call nobody anything.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        classes: Mapping[tuple[str, ...], str],
        own: Mapping[str, set[str]],
    ) -> None:
        self._types = kb.words.types
        self._own = own
        self._kinds: dict[str, set[str]] = {}
        for name, iri in classes.items():
            for word in set(name) - JOINING:
                self._kinds.setdefault(stem(word), set()).add(iri)

    def names_a_kind(self, tokens: Sequence[Token]) -> bool:
        """Whether any word is of the name of a class."""
        return any(stem(token.key) in self._kinds for token in tokens)

    def wrong(
        self, tokens: Sequence[Token], mentions: Sequence[Mention], claims: Sequence[Claim]
    ) -> str:
        """The first kind that the thing beside it is not known to be of; empty if there is none.

        A kind with no name beside it ("the river flows …") must be that of some thing named.

        Args:
            tokens: of the statement.
            mentions: what it names.
            claims: what it was read as; the class it claims of a thing is no calling.
        """
        named = [mention for mention in mentions if mention.entities]
        inside = {at for mention in named for at in range(mention.start, mention.end)}
        own = set().union(*(self._own.get(claim.pred, ()) for claim in claims))
        claimed = {claim.obj for claim in claims if claim.pred == RDF_TYPE}
        for at, token in enumerate(tokens):
            word = stem(token.key)
            kinds = self._kinds.get(word)
            if kinds is None or at in inside or word in own or kinds & claimed:
                continue
            beside = _beside(tokens, named, at) or named
            if not any(kinds & self._types(iri) for one in beside for iri in one.entities):
                return token.text
        return ""


def _beside(tokens: Sequence[Token], named: Sequence[Mention], at: int) -> list[Mention]:
    """The names that a kind at a position stands beside."""

    def only(start: int, end: int, words: frozenset[str] | set[str]) -> bool:
        return all(token.key in words for token in tokens[start:end])

    before = [one for one in named if one.end <= at and only(one.end, at, _BEHIND)]
    behind = [one for one in named if one.start > at and only(at + 1, one.start, _BEFORE)]
    return [*before[-1:], *behind[:1]]
