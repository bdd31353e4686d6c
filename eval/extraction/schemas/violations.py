"""Defines why a value is invalid, and groups the reasons of a run's replies by keyword and field.

A class is, for example, ``type (null)`` at ``items[].price``. Mending it makes exactly those
replies valid that violate nothing else, so that is what it would gain.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from eval.extraction.schemas.schema_graph import json_pointer
from kg.base.plain_text import clean_text

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

NOT_ALLOWED = "(not allowed)"
"""Name of a field that the schema does not allow."""
_MAX_MESSAGE_LENGTH = 300
_MAX_FIELD_LENGTH = 200
_TYPE_KEYWORDS = ("type", "anyOf", "oneOf", "enum", "const")
_TYPE_NAMES = {
    type(None): "null",
    bool: "boolean",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
MAX_LISTED_VIOLATIONS = 200
"""Maximum number of violations of one reply that are grouped."""
MAX_CLASSES = 2_000
"""Maximum number of classes of a run; further ones are pooled, since fields come from replies."""
OTHER_CLASS = ("(other)", "(other fields)")
_MAX_EXAMPLE_CHARACTERS = 160
_FIXED_POINT_SCALE = 2**40

Parts = tuple[float, float, float, float]
"""The parts of the quality score, see ``eval.extraction.metrics.quality_score``."""


class Violation(msgspec.Struct, frozen=True):
    """One reason why a value is invalid."""

    path: str
    """JSON Pointer to the invalid part; empty for the whole value."""
    message: str
    """One line of at most 300 characters."""
    keyword: str
    """The violated keyword of the schema; ``json`` if the value is not JSON, ``depth`` if it is
    nested too deeply, ``schema`` if listing the errors would take too long."""
    field: str = ""
    """The field, with ``[]`` for any element of an array: ``items[].price``. A missing field is
    named; fields that are not allowed share one name."""
    missing_key: str = ""
    """The required key that is missing, for the keyword ``required``."""
    found: str = ""
    """JSON type of the value, if it has the wrong type or is none of the allowed values."""

    def __str__(self) -> str:
        return f"{self.path or 'whole value'}: {self.message}"


def build_violation(error: ValidationError) -> Violation:
    """Builds the violation of an error of ``jsonschema_rs``."""
    steps = error.instance_path
    path = json_pointer(tuple(map(str, steps)))
    message = error.message
    if len(message) > _MAX_MESSAGE_LENGTH:
        # jsonschema_rs prints the value first and the reason last: keep both ends.
        message = f"{message[:80]} … {message[83 - _MAX_MESSAGE_LENGTH :]}"
    keyword = error.kind.name
    missing_key = str(getattr(error.kind, "property", "")) if keyword == "required" else ""
    name = missing_key
    if keyword in ("additionalProperties", "unevaluatedProperties"):
        name = NOT_ALLOWED
    return Violation(
        path,
        clean_text(message, _MAX_MESSAGE_LENGTH),
        keyword,
        format_field([*steps, name] if name else steps),
        missing_key,
        _name_type(error.instance) if keyword in _TYPE_KEYWORDS else "",
    )


def format_field(steps: Sequence[str | int]) -> str:
    """Formats the path of a part of a value as a field, without the numbers of elements."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += "[]"
        elif step.replace("_", "").replace("-", "").isalnum() or step == NOT_ALLOWED:
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return clean_text(text, _MAX_FIELD_LENGTH)


def _name_type(value: Any) -> str:
    return "integer" if type(value) is int else _TYPE_NAMES.get(type(value), "")


class ViolationClass(msgspec.Struct, frozen=True, array_like=True):
    """The violations of one reply with the same keyword and field."""

    keyword: str
    """The violated keyword, with the type of a value that has the wrong type: ``type (null)``."""
    field: str
    """The field, with ``[]`` for any element of an array; empty for the whole value."""
    count: int
    example: str
    """The message of one of them."""


class InvalidReason(msgspec.Struct, frozen=True, kw_only=True):
    """Why replies of a system are invalid, by keyword or by keyword and field."""

    keyword: str
    field: str | None
    """Null: all fields together."""
    replies: int
    """Invalid replies with such a violation."""
    violations: int
    example: str
    mended: int
    """Replies that violate nothing else, and would be valid without it."""
    validity_gain: float | None
    """By how much schema validity would rise if these were valid; null without scored replies."""
    score_gain: float | None
    """By how much the quality score would rise if these were valid, with the values they have."""


def group_violations(violations: Sequence[Violation]) -> tuple[ViolationClass, ...]:
    """Groups the violations of one reply by keyword and field, in the order of these.

    The order of the reply's keys does not matter.
    """
    groups: dict[tuple[str, str], list[Violation]] = {}
    for violation in violations:
        keyword = f"{violation.keyword} ({violation.found})" if violation.found else ""
        groups.setdefault((keyword or violation.keyword, violation.field), []).append(violation)
    return tuple(
        ViolationClass(
            keyword, field, len(group), min(one.message for one in group)[:_MAX_EXAMPLE_CHARACTERS]
        )
        for (keyword, field), group in sorted(groups.items())
    )


class _ClassSums:
    """What is added up for one class: numbers, and the parts of the score of mended replies."""

    def __init__(self) -> None:
        self.replies = 0
        self.violations = 0
        self.example = ""
        self.mended = 0
        self.with_score = 0
        # Fixed point: float sums depend on the order of replies, but a report must not.
        self.parts = [0, 0, 0, 0]


class ViolationSums:
    """Adds up the violation classes of a system's replies."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str | None], _ClassSums] = {}

    def add_reply(self, classes: Iterable[ViolationClass], parts: Parts | None) -> None:
        """Adds one invalid reply.

        Args:
            classes: its violation classes.
            parts: the parts of its score if it were valid; ``None`` if it has no score.
        """
        groups: dict[tuple[str, str | None], list[ViolationClass]] = {}
        for one in classes:
            groups.setdefault((one.keyword, None), []).append(one)
            groups.setdefault((one.keyword, one.field), []).append(one)
        total = sum(len(group) for (_, field), group in groups.items() if field is None)
        for key, group in groups.items():
            if key not in self._sums and len(self._sums) >= MAX_CLASSES:
                key = OTHER_CLASS
            sums = self._sums.setdefault(key, _ClassSums())
            sums.replies += 1
            sums.violations += sum(one.count for one in group)
            # The smallest, so that the example does not depend on the order of replies.
            example = (
                f"{group[0].field}: {group[0].example}" if group[0].field else group[0].example
            )
            sums.example = min(sums.example or example, example)
            if len(group) == total:
                sums.mended += 1
                if parts is not None:
                    sums.with_score += 1
                    for index, part in enumerate(parts):
                        sums.parts[index] += round(part * _FIXED_POINT_SCALE)

    def list_reasons(
        self, shares: Parts, n_scored: int, n_with_score: int, *, as_is: bool
    ) -> tuple[InvalidReason, ...]:
        """Lists the reasons, those that would gain most first.

        Args:
            shares: the weights of the parts of the score, divided by their sum.
            n_scored: number of replies that validity is measured on.
            n_with_score: number of replies with a quality score.
            as_is: whether invalid replies are credited for their fields already, so that only their
                validity would be gained.
        """
        reasons = []
        for (keyword, field), sums in self._sums.items():
            gain = (
                shares[0] * sums.with_score
                if as_is
                else sum(
                    share * part / _FIXED_POINT_SCALE
                    for share, part in zip(shares, sums.parts, strict=True)
                )
            )
            reasons.append(
                InvalidReason(
                    keyword=keyword,
                    field=field,
                    replies=sums.replies,
                    violations=sums.violations,
                    example=sums.example,
                    mended=sums.mended,
                    validity_gain=round(sums.mended / n_scored, 12) if n_scored else None,
                    score_gain=round(gain / n_with_score, 12) if n_with_score else None,
                )
            )
        reasons.sort(
            key=lambda reason: (
                reason.field is not None,
                -reason.mended,
                -reason.replies,
                reason.keyword,
                reason.field or "",
            )
        )
        return tuple(reasons)
