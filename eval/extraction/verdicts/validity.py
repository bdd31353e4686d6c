"""Judges whether a reply is valid, in the strict reading and in the one that counts.

In the strict reading every violation of the schema makes a reply invalid. In the reading that
counts, four do not, because the fields already say what is right and wrong:

* a null (or empty text) where the schema allows none: the field is left out
* a value in another spelling or type that a rule accepts, such as "5 Jan 2024" for a date
* a required key that the expected output does not have either
* a violation that the expected output has at the same place, of a required key the same key: the
  schema does not fit the task
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from eval.extraction.matchers.rules import is_absent
from eval.extraction.matchers.schema_nodes import MAX_LEVELS, SchemaNode, SchemaPlan, encode_json
from eval.extraction.schemas.schema_validator import Violation
from eval.extraction.schemas.violations import MAX_LISTED_VIOLATIONS
from eval.extraction.settings import Matching
from eval.extraction.verdicts.alternatives import choose_everywhere, choose_first
from eval.extraction.verdicts.entries import Entry

MAX_SCHEMA_ERRORS: Final = 20
"""Maximum number of schema errors that are stored per sample one by one."""

_KEYS_NOT_ALLOWED: Final = ("additionalProperties", "unevaluatedProperties")
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
        expected: the expected output; its alternatives are read (``read_alternatives``).
        predicted: the reply as parsed JSON.
        entries: its aligned fields.
        matching: whether nulls count as absent, and the rules.
    """
    violations = plan.validator.list_errors(predicted, MAX_LISTED_VIOLATIONS)
    if not violations:
        return Validity(valid=True, literal=True)
    if matching.nulls == "strict" or not isinstance(predicted, dict | list):
        return Validity(valid=False, literal=False, errors=violations)
    accepted = {
        (entry.node.path, encode_json(entry.predicted)): entry.expected
        for entry in entries
        if entry.match is not None
        and entry.match[0]
        and entry.node.level < MAX_LEVELS
        and (entry.expected != entry.predicted or type(entry.expected) is not type(entry.predicted))
    }
    reader = _TolerantReader(accepted, matching)
    read_value = reader.read(plan.root, predicted, [expected])
    errors = violations
    if reader.is_changed:
        errors = plan.validator.null_validator.list_errors(read_value, _MAX_LISTED)
    if errors:
        own_faults = _find_faults(plan, expected)
        errors = tuple(error for error in errors if _locate(error) not in own_faults)
    if not errors:
        return Validity(valid=True, literal=False, nulls=reader.n_nulls, tolerated=violations)
    paths = {error.path for error in errors}
    missing = {(error.path, error.missing_key) for error in errors if error.missing_key}
    other_paths = {error.path for error in errors if not error.missing_key}
    # A key that is not allowed is an error of its object in the strict reading.
    parents = {path.rpartition("/")[0] for path in paths}
    # The strict reading names the violated keyword; the tolerant one often only "anyOf".
    remaining = tuple(
        violation
        for violation in violations
        if violation.path in (paths if not violation.missing_key else other_paths)
        or (violation.path, violation.missing_key) in missing
        or (violation.keyword in _KEYS_NOT_ALLOWED and violation.path in parents)
    )
    return Validity(
        valid=False,
        literal=False,
        nulls=reader.n_nulls,
        errors=remaining or tuple(errors[:MAX_LISTED_VIOLATIONS]),
        tolerated=tuple(violation for violation in violations if violation not in remaining),
    )


class _TolerantReader:
    """Reads a reply with accepted values as expected, and counts forbidden nulls."""

    def __init__(self, accepted: dict[tuple[str, str], Any], matching: Matching) -> None:
        self._accepted: Final = accepted
        self._paths: Final = {path for path, _ in accepted}
        self._matching: Final = matching
        self.n_nulls = 0
        self.is_changed = False

    def read(self, node: SchemaNode, value: Any, expected: list[Any]) -> Any:
        """Reads a part of the reply.

        Args:
            node: schema node of the part.
            value: the part.
            expected: what is expected there; of an array, all elements, as they may be in any
                order.
        """
        if isinstance(value, dict) and value and node.level < MAX_LEVELS:
            objects = [part for part in map(choose_first, expected) if isinstance(part, dict)]
            read = {
                key: self.read(
                    node.get_child(key), child, [part[key] for part in objects if key in part]
                )
                for key, child in value.items()
            }
            for key, child_node in node.members:
                if child_node.required and key not in value and _any_lacks(objects, key):
                    read[key] = None
                    self.is_changed = True
            return read
        if is_absent(value, self._matching):
            self.n_nulls += node.declared and not node.nullable and value is None
            self.is_changed = True
            return None
        if node.level >= MAX_LEVELS:
            return value
        has_nested = isinstance(value, list) and any(
            isinstance(element, dict | list) for element in value
        )
        if node.path in self._paths and not has_nested:
            place = node.path, encode_json(value)
            if place in self._accepted:
                self.is_changed = True
                return self._accepted[place]
        if isinstance(value, list):
            parts = map(choose_first, expected)
            elements = [one for part in parts if isinstance(part, list) for one in part]
            return [self.read(node.get_element(), element, elements) for element in value]
        return value


def _any_lacks(objects: list[dict[str, Any]], key: str) -> bool:
    empty_values: tuple[Any, ...] = (None, {}, [])
    return any(choose_first(one.get(key)) in empty_values for one in objects)


def _find_faults(plan: SchemaPlan, expected: Any) -> frozenset[tuple[str, str, str]]:
    """Returns where the expected output violates the schema itself."""
    violations = plan.validator.null_validator.list_errors(choose_everywhere(expected), _MAX_LISTED)
    return frozenset(map(_locate, violations))


def _locate(violation: Violation) -> tuple[str, str, str]:
    """Returns the place of a violation, its keyword and the missing key, if it is one.

    The place is the same for all elements of an array.
    """
    return _INDEX.sub("/[]", violation.path), violation.keyword, violation.missing_key


_INDEX: Final = re.compile(r"/\d+(?=/|$)")
