"""Terms as values: what a literal means, with rdflib's own rules, each looked at once.

pySHACL compares literals as rdflib does. The compiled shapes ask rdflib too, so that the two
agree on ill-typed numbers, time zones and the like, and remember the answers by term id.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kg.term_table import TermTable
from kg.terms import parse_literal, to_rdflib

if TYPE_CHECKING:
    from rdflib.term import Identifier, Literal

MEMO_LIMIT = 500_000
"""Answers a memo keeps before it starts afresh, so that memory stays bounded."""


@contextlib.contextmanager
def quiet_rdflib() -> Iterator[None]:
    """Keeps rdflib from logging every ill-typed literal and malformed IRI it meets."""
    logger = logging.getLogger("rdflib.term")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


class Lexicon:
    """rdflib's view of the terms of one table."""

    def __init__(self, terms: TermTable) -> None:
        self.terms = terms
        self._terms: dict[int, Identifier] = {}

    def rdf(self, term: int) -> Identifier:
        """The rdflib term of an id; a malformed literal counts as its own text."""
        found = self._terms.get(term)
        if found is None:
            text = self.terms.text(term)
            with quiet_rdflib():
                try:
                    found = to_rdflib(text)
                except ValueError:
                    from rdflib import Literal

                    found = Literal(text)
            if len(self._terms) >= MEMO_LIMIT:
                self._terms.clear()
            self._terms[term] = found
        return found

    def string(self, term: int) -> str | None:
        """``str(term)`` as SPARQL has it; None for blank nodes."""
        text = self.terms.text(term)
        if text[:1] == '"':
            return str(self.rdf(term))
        return None if text[:2] == "_:" else text

    def language(self, term: int) -> str:
        """Lower-case language tag, or empty."""
        text = self.terms.text(term)
        if text[:1] != '"' or text[-1:] in '">':
            return ""
        try:
            return parse_literal(text).language.split("--")[0]
        except ValueError:
            return ""

    def number_key(self, term: int) -> object:
        """A key that is equal for literals of equal numeric value, else the id itself."""
        text = self.terms.text(term)
        if text[:1] != '"' or text[-1:] != ">":
            return term
        value = getattr(self.rdf(term), "value", None)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            from decimal import Decimal

            if not isinstance(value, Decimal):
                return term
        return ("number", value)


def compare_literals(left: Literal, right: Literal) -> int:
    """-1, 0 or 1 as pySHACL's ``compare_literal`` has it.

    Raises:
        TypeError, NotImplementedError: the two cannot be compared.
    """
    import datetime

    if left.eq(right):
        return 0
    if left.value.__class__ in (datetime.datetime, datetime.time):
        return 1 if left.value > right.value else -1
    return 1 if left > right else -1


def in_order(left: Identifier, right: Identifier, *, or_equal: bool) -> bool:
    """Whether ``left < right`` (or ``<=``) as ``sh:lessThan`` is evaluated by pySHACL.

    IRIs compare as strings, as there. Where pySHACL breaks off with an error (blank nodes,
    ill-typed numbers) the values cannot be compared, which the recommendation calls a violation.
    """
    from rdflib import BNode

    if isinstance(left, BNode) or isinstance(right, BNode):
        return False
    a, b = _comparable(left), _comparable(right)
    if isinstance(a, _Text) != isinstance(b, _Text):
        return False
    if isinstance(a, _Text) and isinstance(b, _Text):
        return a <= b if or_equal else a < b
    try:
        with quiet_rdflib():
            return bool(a <= b) if or_equal else bool(a < b)
    except (TypeError, ValueError, OverflowError):
        return False


class _Text(str):
    __slots__ = ()


def _comparable(term: Identifier) -> Identifier | _Text:
    from rdflib import Literal, URIRef

    if isinstance(term, URIRef):
        return _Text(term)
    if isinstance(term, Literal) and isinstance(term.value, str):
        return _Text(term.value)
    return term
