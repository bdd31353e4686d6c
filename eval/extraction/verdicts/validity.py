"""Judges whether a reply is valid, in the strict reading and in the one that counts.

In the strict reading every violation of the schema makes a reply invalid. In the reading that
counts, three do not, because the fields already say what is right and wrong:

* a null (or empty text) where the schema allows none: the field is left out
* a value in another spelling or type that a rule accepts, such as "5 Jan 2024" for a date
* a required key that the expected output does not have either
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from eval.extraction.matchers.rules import is_absent
from eval.extraction.matchers.schema_nodes import MAX_LEVELS, SchemaNode, SchemaPlan, encode_json
from eval.extraction.schemas.schema_validator import Violation
from eval.extraction.settings import Matching
from eval.extraction.verdicts.alignment import Entry
from eval.extraction.verdicts.value_kinds import choose_first

MAX_SCHEMA_ERRORS: Final = 20
"""Maximum number of schema errors that are stored per sample."""

_MAX_LISTED: Final = 1_000


class Validity(msgspec.Struct, frozen=True):
    """Whether a reply is valid, and why not."""

    valid: bool
    literal: bool
    """Valid in the strict reading."""
    nulls: int = 0
    """Number of nulls where the schema allows none; 0 in the reading where they are errors."""
    errors: tuple[Violation, ...] = ()
    """Why it is invalid; empty if it is valid."""
    tolerated: tuple[Violation, ...] = ()
    """Violations of the strict reading that do not make it invalid."""


INVALID: Final = Validity(valid=False, literal=False)


def judge_validity(
    plan: SchemaPlan, expected: Any, predicted: Any, entries: Iterable[Entry], matching: Matching
) -> Validity:
    """Judges one reply.

    Args:
        plan: plan of the schema.
        expected: the expected output.
        predicted: the reply as parsed JSON.
        entries: its aligned fields.
        matching: whether nulls count as absent, and the rules.
    """
    violations = plan.validator.list_errors(predicted, MAX_SCHEMA_ERRORS)
    if not violations:
        return Validity(valid=True, literal=True)
    if matching.nulls == "strict" or not isinstance(predicted, dict | list):
        return Validity(valid=False, literal=False, errors=violations)
    accepted = {
        (entry.node.path, encode_json(entry.predicted)): entry.expected
        for entry in entries
        if entry.match is not None and entry.match[0] and entry.node.level < MAX_LEVELS
    }
    reader = _TolerantReader(accepted, matching)
    read_value = reader.read(plan.root, predicted)
    errors = [
        error
        for error in plan.validator.null_validator.list_errors(read_value, _MAX_LISTED)
        if not (error.missing_key and _lacks_key(expected, error.path, error.missing_key))
    ]
    if not errors:
        return Validity(valid=True, literal=False, nulls=reader.n_nulls, tolerated=violations)
    paths = {error.path for error in errors}
    # The strict reading names the violated keyword; the tolerant one often only "anyOf".
    remaining = tuple(violation for violation in violations if violation.path in paths)
    return Validity(
        valid=False,
        literal=False,
        nulls=reader.n_nulls,
        errors=remaining or tuple(errors[:MAX_SCHEMA_ERRORS]),
        tolerated=tuple(violation for violation in violations if violation.path not in paths),
    )


class _TolerantReader:
    """Reads a reply with accepted values as expected, and counts forbidden nulls."""

    def __init__(self, accepted: dict[tuple[str, str], Any], matching: Matching) -> None:
        self._accepted: Final = accepted
        self._matching: Final = matching
        self.n_nulls = 0

    def read(self, node: SchemaNode, value: Any) -> Any:
        if isinstance(value, dict) and value and node.level < MAX_LEVELS:
            return {key: self.read(node.get_child(key), child) for key, child in value.items()}
        if is_absent(value, self._matching):
            self.n_nulls += node.declared and not node.nullable and value is None
            return None
        if node.level >= MAX_LEVELS:
            return value
        has_nested = isinstance(value, list) and any(
            isinstance(element, dict | list) for element in value
        )
        key = node.path, "" if has_nested else encode_json(value)
        if key in self._accepted:
            return self._accepted[key]
        if isinstance(value, list):
            return [self.read(node.get_element(), element) for element in value]
        return value


def _lacks_key(expected: Any, path: str, key: str) -> bool:
    """Returns whether the expected output has no value for a key either.

    Elements of arrays are not the same on both sides: one that lacks the key is enough.
    """
    found = [expected]
    for step in path.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        found = [
            child
            for value in found
            for child in (
                value
                if isinstance(value, list)
                else [value[name]]
                if isinstance(value, dict) and name in value
                else []
            )
        ]
    return any(
        isinstance(value, dict) and choose_first(value.get(key)) in (None, {}, [])
        for value in found
    )
