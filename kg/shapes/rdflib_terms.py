"""Converts terms to rdflib values, and compares values as pySHACL does.

pySHACL compares literals with rdflib. The compiled shapes use rdflib too, so that both engines
agree on ill-typed numbers, time zones and the like. Converted terms are cached by term id.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kg.terms import parse_literal, to_rdflib
from kg.triples.term_table import TermTable

if TYPE_CHECKING:
    from rdflib.term import Identifier, Literal

MAX_CACHE_SIZE = 500_000
"""Maximum number of entries in a cache; a full cache is emptied, so that memory stays bounded."""


@contextlib.contextmanager
def silence_rdflib() -> Iterator[None]:
    """Keeps rdflib from logging a warning for each ill-typed literal and malformed IRI."""
    logger = logging.getLogger("rdflib.term")
    was_disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = was_disabled


class RdflibTerms:
    """The terms of one term table as rdflib terms, converted on first use and cached."""

    def __init__(self, terms: TermTable) -> None:
        self.terms = terms
        self._cache: dict[int, Identifier] = {}

    def get_rdflib_term(self, term: int) -> Identifier:
        """Returns the rdflib term of an id; a malformed literal becomes a string of its text."""
        rdflib_term = self._cache.get(term)
        if rdflib_term is None:
            text = self.terms.get_text(term)
            with silence_rdflib():
                try:
                    rdflib_term = to_rdflib(text)
                except ValueError:
                    from rdflib import Literal

                    rdflib_term = Literal(text)
            if len(self._cache) >= MAX_CACHE_SIZE:
                self._cache.clear()
            self._cache[term] = rdflib_term
        return rdflib_term

    def get_string(self, term: int) -> str | None:
        """Returns the term's string as SPARQL's ``STR`` does; None for blank nodes."""
        text = self.terms.get_text(term)
        if text[:1] == '"':
            return str(self.get_rdflib_term(term))
        return None if text[:2] == "_:" else text

    def get_language(self, term: int) -> str:
        """Returns the language tag in lower case, or an empty string."""
        text = self.terms.get_text(term)
        # A literal that ends in a quotation mark or a datatype IRI has no language tag.
        if text[:1] != '"' or text[-1:] in '">':
            return ""
        try:
            # RDF 1.2 adds the base direction to the tag: "ar--rtl".
            return parse_literal(text).language.split("--")[0]
        except ValueError:
            return ""

    def get_number_key(self, term: int) -> object:
        """Returns a key that is equal for literals of the same number; for other terms, the id."""
        text = self.terms.get_text(term)
        # Numbers are literals with a datatype, so their text ends in an IRI.
        if text[:1] != '"' or text[-1:] != ">":
            return term
        value = getattr(self.get_rdflib_term(term), "value", None)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            from decimal import Decimal

            if not isinstance(value, Decimal):
                return term
        return ("number", value)


def compare_literals(left: Literal, right: Literal) -> int:
    """Returns -1, 0 or 1, as pySHACL's ``compare_literal`` does.

    Raises:
        TypeError, NotImplementedError: the two cannot be compared.
    """
    import datetime

    if left.eq(right):
        return 0
    if left.value.__class__ in (datetime.datetime, datetime.time):
        return 1 if left.value > right.value else -1
    return 1 if left > right else -1


def is_less_than(left: Identifier, right: Identifier, *, or_equal: bool) -> bool:
    """Returns whether ``left < right`` (or ``<=``), as pySHACL evaluates ``sh:lessThan``.

    IRIs are compared as strings, as in pySHACL. For values that make pySHACL fail (blank nodes,
    ill-typed numbers) the result is False: the SHACL recommendation counts values that cannot be
    compared as a violation.
    """
    from rdflib import BNode

    if isinstance(left, BNode) or isinstance(right, BNode):
        return False
    a, b = _make_comparable(left), _make_comparable(right)
    if isinstance(a, _ComparableText) != isinstance(b, _ComparableText):
        return False
    if isinstance(a, _ComparableText) and isinstance(b, _ComparableText):
        return a <= b if or_equal else a < b
    try:
        with silence_rdflib():
            return bool(a <= b) if or_equal else bool(a < b)
    except (TypeError, ValueError, OverflowError):
        return False


class _ComparableText(str):
    """An IRI or the value of a string literal, which is compared as text."""

    __slots__ = ()


def _make_comparable(term: Identifier) -> Identifier | _ComparableText:
    from rdflib import Literal, URIRef

    if isinstance(term, URIRef):
        return _ComparableText(term)
    if isinstance(term, Literal) and isinstance(term.value, str):
        return _ComparableText(term.value)
    return term
