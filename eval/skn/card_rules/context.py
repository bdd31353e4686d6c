"""Parses the text of a context (SKN or JSON) into statements, gaps and risks."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from eval.skn.card_rules.extractor import CAUSES_RELATION
from eval.skn.formats.flat_json import FlatExtraction
from eval.skn.grammar.document import Document, Risk
from eval.skn.grammar.typed_json import from_json
from eval.skn.notation import parse
from kg.base.errors import NotationError


class ContextStatement(NamedTuple):
    """A statement of the context; ``confidence`` is None if the form has none."""

    text: str
    confidence: float | None


class Context(NamedTuple):
    """What a context states, without causal links; parts that its form lacks are empty or None."""

    statements: tuple[ContextStatement, ...]
    gaps: tuple[str, ...]
    risk: Risk | None


def read_context(context: str) -> Context:
    """Parses SKN, typed JSON or flat JSON.

    Raises:
        NotationError: the context is not valid in any of the three.
    """
    if not context.lstrip().startswith("{"):
        return _convert_document(parse(context))
    try:
        value = msgspec.json.decode(context)
        if not isinstance(value, dict) or "claims" not in value:
            return _convert_document(from_json(value))
        return _convert_flat(msgspec.convert(value, FlatExtraction))
    # DecodeError includes ValidationError; deeply nested JSON raises RecursionError.
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotationError(f"not an extraction: {error}") from error


def _convert_document(document: Document) -> Context:
    return Context(
        tuple(ContextStatement(fact.text, fact.confidence) for fact in document.facts),
        document.gaps or (),
        document.risk,
    )


def _convert_flat(extraction: FlatExtraction) -> Context:
    """Converts flat JSON.

    Claims become statements, and so do relationships that state no cause. Entities are dropped.
    """
    return Context(
        (
            *(ContextStatement(claim.statement, claim.confidence) for claim in extraction.claims),
            *(
                ContextStatement(
                    f"{relationship.source} {relationship.relation} {relationship.target}", None
                )
                for relationship in extraction.relationships
                if relationship.relation != CAUSES_RELATION
            ),
        ),
        (),
        None,
    )
