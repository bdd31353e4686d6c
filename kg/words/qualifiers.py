"""Tells apart the things that share a name, by their class or by what they belong to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from kg.base.plain_text import MAX_NAME_LENGTH, clean_text
from kg.terms import RDF_TYPE
from kg.triples.index import Index
from kg.words.coded_names import ClassNouns

INVERSE = "^"
"""Stands before a predicate whose links are read backwards, from object to subject."""
MAX_QUALIFIER_WORDS = 8
"""Maximum number of words in the brackets after a name."""


class Qualifiers:
    """Finds what tells apart things of one name.

    Args:
        index: the graph.
        predicates: the predicates that are tried, in this order: ``rdf:type``, or links to what a
            thing belongs to. With ``INVERSE`` the thing is the object of the link.
        find_name: returns the name of a term, whether or not it is unique; empty if no reader
            could understand it.
    """

    def __init__(
        self, index: Index, predicates: Sequence[str], find_name: Callable[[int], str]
    ) -> None:
        self._index = index
        self._find_name = find_name
        self._rdf_type = index.terms.get(RDF_TYPE)
        self._links = [
            (p, text.startswith(INVERSE))
            for text in predicates
            if (p := index.terms.get(text.removeprefix(INVERSE))) is not None
        ]
        self._nouns = ClassNouns(index, find_name)

    def qualify(self, name: str, terms: Collection[int]) -> dict[int, str]:
        """Returns what tells a term from all others, for each term for which there is something.

        Args:
            name: the name that they share.
            terms: the things, all that have this name.
        """
        found: dict[int, str] = {}
        for p, is_inverse in self._links:
            if p == self._rdf_type:
                options = {term: self._nouns.list_nouns(term) for term in terms}
            else:
                options = {term: self._list_owners(term, p, is_inverse) for term in terms}
            counts = Counter(text for texts in options.values() for text in set(texts))
            for term, texts in options.items():
                # Something that belongs to several things may be any of theirs.
                if term in found or (p != self._rdf_type and len(texts) != 1):
                    continue
                unique = [text for text in texts if counts[text] == 1 and _can_follow(name, text)]
                if unique and not self._nouns.is_schema_term(term):
                    found[term] = unique[0]
        return found

    def _list_owners(self, term: int, p: int, is_inverse: bool) -> list[str]:
        index = self._index
        owners = index.find_subjects(p, term) if is_inverse else index.find_objects(term, p)
        # A name that nobody understands is a name, too: there are two owners then.
        return [
            "" if index.terms.is_literal(owner) else clean_text(self._find_name(owner))
            for owner in owners
        ]


def _can_follow(name: str, text: str) -> bool:
    """Returns whether a text in brackets after the name says something new, and is short."""
    return (
        bool(text)
        and text.casefold() not in name.casefold()
        and len(text.split()) <= MAX_QUALIFIER_WORDS
        and len(add_qualifier(name, text)) <= MAX_NAME_LENGTH
    )


def add_qualifier(name: str, qualifier: str) -> str:
    """Returns a name with what tells it from others: "Paris (city)"."""
    return f"{name} ({qualifier})"


def is_named_after(name: str, owner_name: str) -> bool:
    """Returns whether a name was made from its owner's: "address of Acme" from "Acme".

    Args:
        name: the name of a blank node that ``kg init`` has named.
        owner_name: the name of what it belongs to, or of what that belongs to.
    """
    words = name.split(" of ")
    ends = (" of ".join(words[n:]) for n in range(1, len(words)))
    return any(owner_name == end or owner_name.endswith(f" of {end}") for end in ends)
