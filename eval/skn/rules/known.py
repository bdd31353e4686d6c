"""What a context says: read from its text alone, by the notation's or JSON's own strict reader."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from eval.skn.formats.flat_json import FlatExtraction
from eval.skn.grammar.document import Document, Risk
from eval.skn.grammar.typed_json import from_json
from eval.skn.notation import parse
from eval.skn.rules.extractor import CAUSES
from kg.base.errors import NotationError


class Said(NamedTuple):
    """A statement of the context; ``confidence`` is null where the form has none."""

    text: str
    confidence: float | None


class Link(NamedTuple):
    """A cause and its effect; ``strength`` is null where the form has none."""

    cause: str
    effect: str
    strength: float | None


class Known(NamedTuple):
    """All that a context says. A part that its form has no place for is empty or null."""

    statements: tuple[Said, ...]
    links: tuple[Link, ...]
    gaps: tuple[str, ...]
    risk: Risk | None


def read_context(context: str) -> Known:
    """Reads SKN, typed JSON or flat JSON.

    Raises:
        NotationError: it is none of them.
    """
    if not context.lstrip().startswith("{"):
        return _of_document(parse(context))
    try:
        value = msgspec.json.decode(context)
        if not isinstance(value, dict) or "claims" not in value:
            return _of_document(from_json(value))
        return _of_flat(msgspec.convert(value, FlatExtraction))
    except (msgspec.DecodeError, RecursionError) as error:  # ValidationError is one of the first
        raise NotationError(f"not an extraction: {error}") from error


def _of_document(document: Document) -> Known:
    return Known(
        tuple(Said(fact.text, fact.confidence) for fact in document.facts),
        tuple(Link(link.cause, link.effect, link.strength) for link in document.causal or ()),
        document.gaps or (),
        document.risk,
    )


def _of_flat(extraction: FlatExtraction) -> Known:
    """A relationship that is no cause is a statement too; an entity states nothing."""
    others = (one for one in extraction.relationships if one.relation != CAUSES)
    return Known(
        (
            *(Said(claim.statement, claim.confidence) for claim in extraction.claims),
            *(Said(f"{one.source} {one.relation} {one.target}", None) for one in others),
        ),
        tuple(
            Link(relation.source, relation.target, None)
            for relation in extraction.relationships
            if relation.relation == CAUSES
        ),
        (),
        None,
    )
