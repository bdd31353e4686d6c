"""The flat JSON of the published benchmark: entities, relationships and claims, no metadata.

``json`` writes claims without a confidence, ``json_conf`` writes one with every claim. Other keys
are faults in both: what reaches the agent is what the form may hold, or a comparison of forms
would compare nothing.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from eval.skn.grammar.document import Unit, Words

Category: TypeAlias = Literal["fact", "statistic", "opinion", "prediction"]


class Entity(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A thing that a text names."""

    name: Words
    type: str = ""
    attributes: dict[str, str | bool | int | float | None] = {}


class Relationship(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How two things stand to each other."""

    source: Words
    relation: Words
    target: Words


class FlatClaim(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One thing that a text says; ``confidence`` is 0 to 1, null where the form has none."""

    statement: Words
    category: Category
    confidence: Unit | None = None


class FlatExtraction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of them, most important first. Only the claims must be there, if only as an empty list.

    ``@facts`` must be there in SKN, and its other sections need not: the two are held to as much.
    """

    entities: tuple[Entity, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    claims: tuple[FlatClaim, ...] = ()


class _Bare(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    statement: Words
    category: Category


class _Scored(_Bare, frozen=True, forbid_unknown_fields=True):
    confidence: Unit


class _Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    entities: tuple[Entity, ...] = ()
    relationships: tuple[Relationship, ...] = ()


class _BareForm(_Form, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claims: tuple[_Bare, ...]


class _ScoredForm(_Form, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claims: tuple[_Scored, ...]


def flat_from_json(value: Any, *, confidence: bool) -> FlatExtraction:
    """The extraction that plain values from JSON say.

    Args:
        value: as a JSON reader gives it.
        confidence: whether every claim must carry one; if not, none may.

    Raises:
        msgspec.ValidationError: they are no such extraction; with the path of what is wrong.
    """
    form = msgspec.convert(value, _ScoredForm if confidence else _BareForm)
    return msgspec.convert(msgspec.to_builtins(form), FlatExtraction)
