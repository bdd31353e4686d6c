"""Validates values against a JSON Schema (Draft-04 to 2020-12) with ``jsonschema_rs``.

``$schema`` names the draft; without it, a schema is read as 2020-12 or, if it is malformed there,
as Draft-07 or Draft-04. Schemas and values are
untrusted, so everything is bounded before the validator sees it: sizes, depths, the number of
checks per value (``schema_graph``), and regular expressions. Those match in linear time or, if they
need backtracking, only on short texts and with a bounded number of steps. References are never
fetched.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections import OrderedDict
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from eval.extraction.schemas.null_schema import allow_nulls
from eval.extraction.schemas.schema_graph import SchemaGraph, json_pointer
from eval.extraction.schemas.schema_wrappers import require_schema
from eval.extraction.schemas.violations import Violation as Violation
from eval.extraction.schemas.violations import build_violation
from kg.base.errors import SchemaError
from kg.base.plain_text import clean_text

if TYPE_CHECKING:
    from jsonschema_rs import FancyRegexOptions, RegexOptions, Validator

DEFAULT_DRAFT = "2020-12"
OLDER_DRAFTS = ("07", "04")
"""Drafts that a schema without ``$schema`` is tried as, if it is malformed as 2020-12."""
DRAFTS = {
    "json-schema.org/schema": DEFAULT_DRAFT,
    "json-schema.org/draft-04/schema": "04",
    "json-schema.org/draft-06/schema": "06",
    "json-schema.org/draft-07/schema": "07",
    "json-schema.org/draft/2019-09/schema": "2019-09",
    "json-schema.org/draft/2020-12/schema": "2020-12",
}
"""Draft by ``$schema`` URI, without its scheme and an empty fragment."""

MAX_SCHEMA_DEPTH = 100
"""Maximum nesting of a schema, in objects and arrays; the validator itself stops at 255."""
MAX_SCHEMA_CHARACTERS = 1_000_000
MAX_VALUE_DEPTH = 256
"""Maximum nesting of a value; far above it the validator's stack would overflow."""
MAX_PATTERN_LENGTH = 1_000
"""Maximum length of a regular expression in characters."""
MAX_PATTERNS = 200
"""Maximum number of distinct regular expressions in a schema; each may take ``_MAX_REGEX_BYTES`` of
memory."""
MAX_BACKTRACKING_PATTERNS = 20
"""Maximum number of those that need backtracking (lookaround, backreferences)."""
MAX_BACKTRACK_STEPS = 20_000
"""Maximum number of steps of such an expression on one text; beyond it, the text does not match."""
MAX_BACKTRACKING_CHARACTERS = 10_000
"""Maximum total length of a value's texts if the schema has such an expression, because each step
may scan the whole text again."""

MAX_ERROR_LISTING_CHECKS = 1_000_000.0
"""The errors of a value are listed only if that takes at most this many checks; otherwise the value
is only reported as invalid."""
_MAX_CACHED_CHARACTERS = 32_000_000
_MAX_REGEX_BYTES = 2**21


class SchemaValidator:
    """A compiled schema. Create one with ``from_schema``.

    Attributes:
        schema: the schema; must not be modified.
        draft: ``04``, ``06``, ``07``, ``2019-09`` or ``2020-12``.
    """

    def __init__(self, schema: dict[str, Any], *, formats: bool = True) -> None:
        """Compiles ``schema``, bypassing the cache of ``from_schema``."""
        self.schema: Final = schema
        if (violation := _measure_value(schema, MAX_SCHEMA_DEPTH)[1]) is not None:
            raise SchemaError(
                f"the schema cannot be used: {violation.message}", where=violation.path, hint=_HINT
            )
        require_schema(schema)
        named_draft = _find_draft(schema)
        drafts = (DEFAULT_DRAFT, *OLDER_DRAFTS) if named_draft is None else (named_draft,)
        for position, draft in enumerate(drafts):
            try:
                # Draft-04 has another keyword for names, so its references may lead elsewhere.
                graph = SchemaGraph(schema, name_keyword="id" if draft == "04" else "$id")
                needs_backtracking = _has_backtracking_pattern(graph)
                compiled = _compile_schema(schema, draft, formats, needs_backtracking)
            except SchemaError as error:
                if position == 0:
                    first_error = error
                if position == len(drafts) - 1:
                    raise first_error from error
            else:
                break
        self.draft: Final = draft
        self.graph: Final = graph
        self._needs_backtracking: Final = needs_backtracking
        self._validator: Final = compiled
        self._formats: Final = formats

    @classmethod
    def from_schema(cls, schema: dict[str, Any], *, formats: bool = True) -> SchemaValidator:
        """Returns the validator of ``schema``; schemas with equal content share one.

        Args:
            schema: a JSON Schema that is an object.
            formats: whether ``format`` is enforced (dates, addresses …) or only an annotation.

        Raises:
            SchemaError: the schema is malformed, of an unknown draft, too large, nested too deeply,
                refers to anything outside itself, or cannot be checked in bounded time.
        """
        if not isinstance(schema, dict):
            raise SchemaError("a schema must be a JSON object", hint=_HINT)
        try:
            text = json.dumps(schema, allow_nan=False, ensure_ascii=False)
        except RecursionError as error:
            raise SchemaError("the schema is nested too deeply", hint=_HINT) from error
        except (TypeError, ValueError) as error:
            raise SchemaError(f"the schema is not JSON: {error}", hint=_HINT) from error
        if len(text) > MAX_SCHEMA_CHARACTERS:
            raise SchemaError(
                f"the schema is longer than {MAX_SCHEMA_CHARACTERS:,} characters", hint=_HINT
            )
        return _CACHE.get_validator(text, formats)

    def is_valid(self, value: Any) -> bool:
        """Returns whether ``value`` is a valid instance.

        A value that is not JSON (NaN, a key that is not a string) or is nested deeper than
        ``MAX_VALUE_DEPTH`` is invalid.
        """
        return self._measure_value(value)[1] is None and self._validator.is_valid(value)

    def list_errors(self, value: Any, max_errors: int = 20) -> tuple[Violation, ...]:
        """Lists why ``value`` is invalid, in the validator's order; empty if it is valid.

        Args:
            value: any parsed JSON value.
            max_errors: maximum number of violations to list, at least 1.
        """
        size, violation = self._measure_value(value)
        if violation is not None:
            return (violation,)
        if self._validator.is_valid(value):
            return ()
        if size.n_values * self.graph.bound_checks(size.depth) > MAX_ERROR_LISTING_CHECKS:
            return (Violation("", "not valid; too many possible errors to list", "schema"),)
        return tuple(map(build_violation, islice(self._validator.iter_errors(value), max_errors)))

    @cached_property
    def null_validator(self) -> SchemaValidator:
        """The validator of the same schema with every property and element also allowed null.

        It is this one if that schema would be beyond a limit.
        """
        try:
            return SchemaValidator(allow_nulls(self.schema), formats=self._formats)
        except SchemaError:
            return self

    def _measure_value(self, value: Any) -> tuple[_ValueSize, Violation | None]:
        size, violation = _measure_value(value, MAX_VALUE_DEPTH)
        if (
            violation is None
            and self._needs_backtracking
            and size.characters > MAX_BACKTRACKING_CHARACTERS
        ):
            problem = (
                f"more than {MAX_BACKTRACKING_CHARACTERS:,} characters, too long for a regular "
                "expression with lookaround or backreferences"
            )
            violation = Violation("", problem, "pattern")
        return size, violation


_HINT = "See docs/reference/extraction.md for the limits on schemas."


_Trail: TypeAlias = "tuple[_Trail, str] | None"
"""Path of a value as a linked list (parent trail, last step); children share their parent's."""


class _ValueSize(msgspec.Struct):
    n_values: int = 0
    depth: int = 0
    characters: int = 0


def _measure_value(value: Any, max_depth: int) -> tuple[_ValueSize, Violation | None]:
    """Returns a value's size, and the violation if the value cannot be validated.

    Walks level by level without recursion, so a deeply nested value cannot overflow the stack.
    """
    size = _ValueSize()
    level: list[tuple[_Trail, Any]] = [(None, value)]
    while level:
        next_level: list[tuple[_Trail, Any]] = []
        problems: list[tuple[tuple[str, ...], str]] = []
        size.n_values += len(level)
        for trail, item in level:
            problem = ""
            if isinstance(item, str):
                size.characters += len(item)
                if not item.isascii() and not _is_encodable(item):
                    problem = "a string with a lone surrogate"
            elif item is None or isinstance(item, bool | int):
                pass
            elif isinstance(item, float):
                if not math.isfinite(item):
                    problem = f"{item} is not a JSON number"
            elif isinstance(item, dict):
                for key, child in item.items():
                    if not isinstance(key, str) or not (key.isascii() or _is_encodable(key)):
                        problem = "a key that is not a string"
                        break
                    size.characters += len(key)
                    next_level.append(((trail, key), child))
            elif isinstance(item, list):
                next_level += [((trail, str(index)), child) for index, child in enumerate(item)]
            else:
                problem = f"{type(item).__name__} is not a JSON type"
            if problem:
                problems.append((_trail_path(trail), problem))
        if problems:
            # The smallest path, so that the result does not depend on the order of keys.
            path, problem = min(problems, key=_sort_problem)
            return size, Violation(json_pointer(path), problem, "json")
        if next_level:
            size.depth += 1
            if size.depth > max_depth:
                message = f"nested deeper than {max_depth} levels"
                return size, Violation("", message, "depth")
        level = next_level
    return size, None


def _sort_problem(problem: tuple[tuple[str, ...], str]) -> list[tuple[int, str]]:
    """Sorts array indices by number, and keys by length, then alphabetically."""
    path, _ = problem
    return [(len(step), step) for step in path]


def _trail_path(trail: _Trail) -> tuple[str, ...]:
    steps: list[str] = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    return tuple(reversed(steps))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _find_draft(schema: dict[str, Any]) -> str | None:
    """Returns the draft that ``$schema`` names; ``None`` without ``$schema``."""
    uri = schema.get("$schema")
    if uri is None:
        return None
    if isinstance(uri, str):
        stripped_uri = (
            uri.strip().removesuffix("#").removeprefix("https://").removeprefix("http://")
        )
        if (draft := DRAFTS.get(stripped_uri)) is not None:
            return draft
    raise SchemaError(
        f"$schema {clean_text(str(uri))!r} names an unsupported draft",
        hint="Use Draft-04, 06, 07, 2019-09 or 2020-12; without $schema the draft is 2020-12.",
    )


def _has_backtracking_pattern(graph: SchemaGraph) -> bool:
    """Returns whether any regular expression of the schema needs backtracking.

    Raises:
        SchemaError: there are too many regular expressions, or one is too long.
    """
    import jsonschema_rs

    patterns: dict[str, str] = {}
    for path, subschema in graph.subschemas.items():
        property_patterns = subschema.node.get("patternProperties")
        for pattern in (
            subschema.node.get("pattern"),
            *(property_patterns if isinstance(property_patterns, dict) else ()),
        ):
            if isinstance(pattern, str):
                patterns.setdefault(pattern, json_pointer(path))
    n_backtracking = 0
    for pattern, where in patterns.items():
        if len(pattern) > MAX_PATTERN_LENGTH:
            raise SchemaError(
                f"a regular expression is longer than {MAX_PATTERN_LENGTH:,} characters",
                where=where,
            )
        try:
            jsonschema_rs.Draft7Validator(
                {"pattern": pattern}, pattern_options=_linear_regex_options()
            )
        except (jsonschema_rs.ValidationError, ValueError):
            # Needs backtracking, or is malformed; compiling the schema reports the latter.
            n_backtracking += 1
    if len(patterns) > MAX_PATTERNS or n_backtracking > MAX_BACKTRACKING_PATTERNS:
        raise SchemaError(
            f"{len(patterns):,} regular expressions, {n_backtracking:,} of them with lookaround or "
            f"backreferences; at most {MAX_PATTERNS} and {MAX_BACKTRACKING_PATTERNS} are allowed",
            hint=_HINT,
        )
    return n_backtracking > 0


def _linear_regex_options() -> RegexOptions:
    import jsonschema_rs

    return jsonschema_rs.RegexOptions(size_limit=_MAX_REGEX_BYTES, dfa_size_limit=_MAX_REGEX_BYTES)


def _compile_schema(
    schema: dict[str, Any], draft: str, formats: bool, needs_backtracking: bool
) -> Validator:
    import jsonschema_rs

    validators = {
        "04": jsonschema_rs.Draft4Validator,
        "06": jsonschema_rs.Draft6Validator,
        "07": jsonschema_rs.Draft7Validator,
        "2019-09": jsonschema_rs.Draft201909Validator,
        "2020-12": jsonschema_rs.Draft202012Validator,
    }
    options: FancyRegexOptions | RegexOptions = _linear_regex_options()
    if needs_backtracking:
        options = jsonschema_rs.FancyRegexOptions(
            backtrack_limit=MAX_BACKTRACK_STEPS,
            size_limit=_MAX_REGEX_BYTES,
            dfa_size_limit=_MAX_REGEX_BYTES,
        )
    try:
        return validators[draft](
            schema, validate_formats=formats, pattern_options=options, offline=True
        )
    except jsonschema_rs.ValidationError as error:
        violation = build_violation(error)
        raise SchemaError(
            f"the schema is malformed: {violation.message}", where=violation.path, hint=_HINT
        ) from error
    except ValueError as error:
        raise SchemaError(f"the schema cannot be used: {error}", hint=_HINT) from error


class _ValidatorCache:
    """Compiled schemas by content; least recently used ones are dropped above a total size."""

    def __init__(self) -> None:
        self._validators: OrderedDict[bytes, tuple[int, SchemaValidator]] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def get_validator(self, text: str, formats: bool) -> SchemaValidator:
        key = hashlib.sha256(f"{formats:d}{text}".encode(errors="surrogatepass")).digest()
        with self._lock:
            if (cached := self._validators.get(key)) is not None:
                self._validators.move_to_end(key)
                return cached[1]
        # Compile a private copy, so that a caller who modifies the schema does not affect it.
        compiled = SchemaValidator(json.loads(text), formats=formats)
        with self._lock:
            if key in self._validators:  # compiled by another thread in the meantime
                return self._validators[key][1]
            self._validators[key] = (len(text), compiled)
            self._characters += len(text)
            while self._characters > _MAX_CACHED_CHARACTERS and len(self._validators) > 1:
                _, (length, _) = self._validators.popitem(last=False)
                self._characters -= length
        return compiled


_CACHE = _ValidatorCache()
