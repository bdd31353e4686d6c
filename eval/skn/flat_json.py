"""The flat JSON of the published benchmark: entities, relationships and claims, no metadata.

``json`` writes claims without a confidence, ``json_conf`` writes one with every claim. Keys of
their own and keys of the other form are faults in both: what reaches the agent is what the form
may hold, or the comparison of forms would compare nothing.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

Category: TypeAlias = Literal["fact", "statistic", "opinion", "prediction"]
Unit: TypeAlias = Annotated[float, Meta(ge=0.0, le=1.0)]


class Entity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A thing that a text names."""

    name: str
    type: str = ""
    attributes: dict[str, str | bool | int | float | None] = {}


class Relationship(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How two things stand to each other."""

    source: str
    relation: str
    target: str


class FlatClaim(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One thing that a text says; ``confidence`` is 0 to 1, null where the form has none."""

    statement: str
    category: Category
    confidence: Unit | None = None


class FlatExtraction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of them, most important first."""

    entities: tuple[Entity, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    claims: tuple[FlatClaim, ...] = ()
