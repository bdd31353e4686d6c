"""The flat JSON of the published benchmark: entities, relationships and claims, no metadata.

In the pipeline ``json`` claims have no confidence; in ``json_conf`` each claim has one. Unknown
keys are errors in both, because a comparison of forms is meaningful only if the agent gets no
content that the form does not have.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from eval.skn.grammar.document import NonBlankText, UnitFloat

Category: TypeAlias = Literal["fact", "statistic", "opinion", "prediction"]


class Entity(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A thing that a text names."""

    name: NonBlankText
    type: str = ""
    attributes: dict[str, str | bool | int | float | None] = {}


class Relationship(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How two things are related."""

    source: NonBlankText
    relation: NonBlankText
    target: NonBlankText


class FlatClaim(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One claim of a text; ``confidence`` is 0 to 1, null if the form has none."""

    statement: NonBlankText
    category: Category
    confidence: UnitFloat | None = None


class FlatExtraction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole extraction, with the most important things first.

    In JSON only ``claims`` is required, and it may be empty. This matches SKN, where ``@facts`` is
    the only required section of extracted content.
    """

    entities: tuple[Entity, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    claims: tuple[FlatClaim, ...] = ()


# Two forms of the same JSON, with claims that must or must not have a confidence. They are used
# only to check a value, which is then converted to ``FlatExtraction``.
class _UnscoredClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    statement: NonBlankText
    category: Category


class _ScoredClaim(_UnscoredClaim, frozen=True, forbid_unknown_fields=True):
    confidence: UnitFloat


class _Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    entities: tuple[Entity, ...] = ()
    relationships: tuple[Relationship, ...] = ()


class _UnscoredForm(_Form, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claims: tuple[_UnscoredClaim, ...]


class _ScoredForm(_Form, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claims: tuple[_ScoredClaim, ...]


def flat_from_json(value: Any, *, confidence: bool) -> FlatExtraction:
    """Converts a JSON value to an extraction.

    Args:
        value: a parsed JSON value.
        confidence: whether every claim must have a confidence; if false, none may have one.

    Raises:
        msgspec.ValidationError: it is not a valid extraction; the message has the path.
    """
    form = msgspec.convert(value, _ScoredForm if confidence else _UnscoredForm)
    return msgspec.convert(msgspec.to_builtins(form), FlatExtraction)
