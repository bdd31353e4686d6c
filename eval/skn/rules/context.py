"""Parses the text of a context (SKN or JSON) into statements, causal links, gaps and risks."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from eval.skn.formats.flat_json import FlatExtraction
from eval.skn.grammar.document import Document, Risk
from eval.skn.grammar.typed_json import from_json
from eval.skn.notation import parse
from eval.skn.rules.extractor import CAUSES_RELATION
from kg.base.errors import NotationError


class ContextStatement(NamedTuple):
    """A statement of the context; ``confidence`` is None if the form has none."""

    text: str
    confidence: float | None


class ContextLink(NamedTuple):
    """A cause and its effect; ``strength`` is None if the form has none."""

    cause: str
    effect: str
    strength: float | None


class Context(NamedTuple):
    """Everything that a context states; parts that its form does not have are empty or None."""

    statements: tuple[ContextStatement, ...]
    links: tuple[ContextLink, ...]
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
        tuple(
            ContextLink(link.cause, link.effect, link.strength) for link in document.causal or ()
        ),
        document.gaps or (),
        document.risk,
    )


def _convert_flat(extraction: FlatExtraction) -> Context:
    """Converts flat JSON.

    Claims become statements. Relationships become causal links if they state a cause, otherwise
    statements. Entities are dropped.
    """
    other_relationships = (
        relationship
        for relationship in extraction.relationships
        if relationship.relation != CAUSES_RELATION
    )
    return Context(
        (
            *(ContextStatement(claim.statement, claim.confidence) for claim in extraction.claims),
            *(
                ContextStatement(
                    f"{relationship.source} {relationship.relation} {relationship.target}", None
                )
                for relationship in other_relationships
            ),
        ),
        tuple(
            ContextLink(relation.source, relation.target, None)
            for relation in extraction.relationships
            if relation.relation == CAUSES_RELATION
        ),
        (),
        None,
    )
