"""Schemas of JSON extractions, for servers that constrain replies to a schema.

They have no bounds and no patterns: servers that follow a schema token by token cannot keep a
number within bounds, and some reject a schema that has them. The reply is parsed and checked by
``eval.skn.formats.forms`` in any case.
"""

# The JSON Schema sent to servers contains the names and docstrings of these structs. They are part
# of the request: changing one changes the keys of cached replies.

from __future__ import annotations

import msgspec

from eval.skn.formats.flat_json import Category
from eval.skn.formats.pipelines import Pipeline
from eval.skn.grammar.document import Level, Priority


class _Entity(msgspec.Struct, frozen=True):
    name: str
    type: str
    attributes: dict[str, str]


class _Relationship(msgspec.Struct, frozen=True):
    source: str
    relation: str
    target: str


class _Claim(msgspec.Struct, frozen=True):
    statement: str
    category: Category


class _ScoredClaim(_Claim, frozen=True):
    confidence: float


class Flat(msgspec.Struct, frozen=True):
    """What ``json`` holds."""

    entities: tuple[_Entity, ...]
    relationships: tuple[_Relationship, ...]
    claims: tuple[_Claim, ...]


class ScoredFlat(msgspec.Struct, frozen=True):
    """What ``json_conf`` holds."""

    entities: tuple[_Entity, ...]
    relationships: tuple[_Relationship, ...]
    claims: tuple[_ScoredClaim, ...]


class _Source(msgspec.Struct, frozen=True):
    domain: str
    fresh: Level
    reliability: float


class _Fact(msgspec.Struct, frozen=True):
    priority: Priority
    text: str
    confidence: float


class _CausalLink(msgspec.Struct, frozen=True):
    cause: str
    effect: str
    strength: float


class _Risk(msgspec.Struct, frozen=True):
    misdirection: Level
    missing_context: Level


class Typed(msgspec.Struct, frozen=True):
    """What ``json_meta`` holds."""

    source: _Source
    facts: tuple[_Fact, ...]
    causal: tuple[_CausalLink, ...]
    gaps: tuple[str, ...]
    risk: _Risk


def get_reply_schema(pipeline: Pipeline) -> type[msgspec.Struct]:
    """Returns the schema to request for a pipeline whose notation is JSON."""
    if pipeline.typed:
        return Typed
    return ScoredFlat if pipeline.confidence else Flat
