"""Whether a value is what a JSON Schema says: Draft-07, 2019-09 and 2020-12, checked by Rust.

``$schema`` names the draft; without it a schema is read as 2020-12. Schemas and values are other
people's, so everything is bounded before the validator sees it: sizes, depths, ways through the
schema (``schema_graph``), and regular expressions, which match in linear time or, where they need
backtracking, on short texts only and in a bounded number of steps. No reference is ever fetched.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from eval.extraction.schemas.schema_graph import SchemaGraph, pointer_of
from kg.base.errors import SchemaError
from kg.words.plain_text import plain

if TYPE_CHECKING:
    from jsonschema_rs import FancyRegexOptions, RegexOptions, ValidationError, Validator

DEFAULT_DRAFT = "2020-12"
DRAFTS = {
    "json-schema.org/draft-07/schema": "07",
    "json-schema.org/draft/2019-09/schema": "2019-09",
    "json-schema.org/draft/2020-12/schema": "2020-12",
}
"""Drafts by their ``$schema``, less its scheme and an empty fragment."""

MAX_SCHEMA_DEPTH = 100
"""Deepest nesting of a schema, in objects and arrays; the validator itself gives up at 255."""
MAX_SCHEMA_CHARACTERS = 1_000_000
MAX_VALUE_DEPTH = 256
"""Deepest nesting of a value; far above it the validator's stack would overflow."""
MAX_PATTERN = 1_000
"""Characters of a regular expression."""
MAX_PATTERNS = 200
"""Distinct regular expressions of a schema; each may take ``_REGEX_BYTES``."""
MAX_BACKTRACKING_PATTERNS = 20
"""Of those, how many may need backtracking, as lookaround and backreferences do."""
BACKTRACK_LIMIT = 20_000
"""Steps such an expression may take on one text before it counts as not matching."""
MAX_BACKTRACKED = 10_000
"""Characters all texts of a value may have together where a schema has such an expression: each
step may look through the whole text again."""

MAX_ERRORS_COST = 1_000_000.0
"""Bound on checks up to which the errors of a value are listed; beyond it only their being is."""
_LONGEST_MESSAGE = 300
_CACHED_CHARACTERS = 32_000_000
_REGEX_BYTES = 2**21


class Violation(msgspec.Struct, frozen=True):
    """One reason why a value is not valid."""

    path: str
    """JSON Pointer to the part of the value; empty for all of it."""
    message: str
    """On one line, at most 300 characters long."""
    keyword: str
    """The schema's keyword that is broken; ``json`` if the value is none, ``depth`` if nested too
    deep to be checked, ``schema`` where there are too many ways to be invalid to list them."""

    def __str__(self) -> str:
        return f"{self.path or 'the whole'}: {self.message}"


class SchemaCheck:
    """A schema that is ready to check values. Make one with ``of``.

    Attributes:
        schema: the schema; never to be changed.
        draft: ``07``, ``2019-09`` or ``2020-12``.
    """

    def __init__(self, schema: dict[str, Any], *, formats: bool = True) -> None:
        """Compiles ``schema``, as ``of`` does without its cache."""
        self.schema: Final = schema
        self.draft: Final = _draft_of(schema)
        if (found := _unfit(schema, MAX_SCHEMA_DEPTH)[1]) is not None:
            raise SchemaError(
                f"the schema cannot be used: {found.message}", where=found.path, hint=_HINT
            )
        self.graph: Final = SchemaGraph(schema)
        self._backtracks: Final = _backtracking(self.graph)
        self._validator: Final = _compiled(schema, self.draft, formats, self._backtracks)

    @classmethod
    def of(cls, schema: dict[str, Any], *, formats: bool = True) -> SchemaCheck:
        """The check of ``schema``, made once for all schemas of the same content.

        Args:
            schema: a JSON Schema that is an object.
            formats: whether ``format`` is asserted (dates, addresses …) or only a remark.

        Raises:
            SchemaError: it is ill-formed, of an unknown draft, too large, too deep, refers to
                anything outside itself, or could not be checked in bounded time.
        """
        if not isinstance(schema, dict):
            raise SchemaError("a schema must be a JSON object", hint=_HINT)
        try:
            text = json.dumps(schema, allow_nan=False, ensure_ascii=False)
        except RecursionError as error:
            raise SchemaError("the schema is nested too deeply", hint=_HINT) from error
        except (TypeError, ValueError) as error:
            raise SchemaError(f"the schema is no JSON: {error}", hint=_HINT) from error
        if len(text) > MAX_SCHEMA_CHARACTERS:
            raise SchemaError(
                f"the schema is longer than {MAX_SCHEMA_CHARACTERS:,} characters", hint=_HINT
            )
        return _CACHE.get(text, formats)

    def valid(self, value: Any) -> bool:
        """Whether ``value`` is a valid instance.

        What is not JSON (NaN, a key that is no text) or nested deeper than ``MAX_VALUE_DEPTH`` is
        none.
        """
        return self._unfit(value)[1] is None and self._validator.is_valid(value)

    def errors(self, value: Any, most: int = 20) -> tuple[Violation, ...]:
        """Why ``value`` is not valid, in the validator's order; nothing if it is.

        Args:
            value: any value as a JSON parser gives it.
            most: at most so many, at least 1.
        """
        size, unfit = self._unfit(value)
        if unfit is not None:
            return (unfit,)
        if self._validator.is_valid(value):
            return ()
        if size.spots * self.graph.checks(size.depth) > MAX_ERRORS_COST:
            return (Violation("", "not valid, in too many ways to list them", "schema"),)
        return tuple(map(_violation, islice(self._validator.iter_errors(value), most)))

    def _unfit(self, value: Any) -> tuple[_Size, Violation | None]:
        size, unfit = _unfit(value, MAX_VALUE_DEPTH)
        if unfit is None and self._backtracks and size.characters > MAX_BACKTRACKED:
            problem = (
                f"more than {MAX_BACKTRACKED:,} characters, too many for a regular expression with "
                "lookaround or backreferences"
            )
            unfit = Violation("", problem, "pattern")
        return size, unfit


_HINT = "See docs/extraction.md for what a schema may be."


_Trail: TypeAlias = "tuple[_Trail, str] | None"
"""Where a value stands: the way to what holds it, and the last step; shared by all it holds."""


class _Size(msgspec.Struct):
    spots: int = 0
    depth: int = 0
    characters: int = 0


def _unfit(value: Any, deepest: int) -> tuple[_Size, Violation | None]:
    """A value's size, and why it cannot be checked at all; the walk needs no stack of calls."""
    size = _Size()
    level: list[tuple[_Trail, Any]] = [(None, value)]
    while level:
        below: list[tuple[_Trail, Any]] = []
        size.spots += len(level)
        for trail, at in level:
            problem = ""
            if isinstance(at, str):
                size.characters += len(at)
                if not at.isascii() and not _encodes(at):
                    problem = "a text with half a character (a lone surrogate)"
            elif at is None or isinstance(at, bool | int):
                pass
            elif isinstance(at, float):
                if not math.isfinite(at):
                    problem = f"{at} is no number in JSON"
            elif isinstance(at, dict):
                for key, child in at.items():
                    if not isinstance(key, str) or not (key.isascii() or _encodes(key)):
                        problem = "a key that is no text"
                        break
                    size.characters += len(key)
                    below.append(((trail, key), child))
            elif isinstance(at, list):
                below += [((trail, str(index)), child) for index, child in enumerate(at)]
            else:
                problem = f"{type(at).__name__} is no type of JSON"
            if problem:
                return size, Violation(pointer_of(_path_of(trail)), problem, "json")
        if below:
            size.depth += 1
            if size.depth > deepest:
                message = f"nested deeper than {deepest} levels"
                return size, Violation("", message, "depth")
        level = below
    return size, None


def _path_of(trail: _Trail) -> tuple[str, ...]:
    steps: list[str] = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    return tuple(reversed(steps))


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _draft_of(schema: dict[str, Any]) -> str:
    named = schema.get("$schema")
    if named is None:
        return DEFAULT_DRAFT
    if isinstance(named, str):
        bare = named.strip().removesuffix("#").removeprefix("https://").removeprefix("http://")
        if (draft := DRAFTS.get(bare)) is not None:
            return draft
    raise SchemaError(
        f"$schema {plain(str(named))!r} names no draft that is known here",
        hint="Known are Draft-07, 2019-09 and 2020-12; without $schema it is read as 2020-12.",
    )


def _backtracking(graph: SchemaGraph) -> bool:
    """Whether a regular expression of the schema needs backtracking.

    Raises:
        SchemaError: there are too many, or one is too long.
    """
    import jsonschema_rs

    patterns: dict[str, str] = {}
    for path, at in graph.subschemas.items():
        named = at.node.get("patternProperties")
        for pattern in (at.node.get("pattern"), *(named if isinstance(named, dict) else ())):
            if isinstance(pattern, str):
                patterns.setdefault(pattern, pointer_of(path))
    backtracking = 0
    for pattern, where in patterns.items():
        if len(pattern) > MAX_PATTERN:
            raise SchemaError(
                f"a regular expression is longer than {MAX_PATTERN:,} characters", where=where
            )
        try:
            jsonschema_rs.Draft7Validator({"pattern": pattern}, pattern_options=_linear())
        except (jsonschema_rs.ValidationError, ValueError):
            backtracking += 1  # or none at all, which compiling the schema will say
    if len(patterns) > MAX_PATTERNS or backtracking > MAX_BACKTRACKING_PATTERNS:
        raise SchemaError(
            f"{len(patterns):,} regular expressions, {backtracking:,} of them with lookaround or "
            f"backreferences; at most {MAX_PATTERNS} and {MAX_BACKTRACKING_PATTERNS} are checked",
            hint=_HINT,
        )
    return backtracking > 0


def _linear() -> RegexOptions:
    import jsonschema_rs

    return jsonschema_rs.RegexOptions(size_limit=_REGEX_BYTES, dfa_size_limit=_REGEX_BYTES)


def _compiled(schema: dict[str, Any], draft: str, formats: bool, backtracks: bool) -> Validator:
    import jsonschema_rs

    made = {
        "07": jsonschema_rs.Draft7Validator,
        "2019-09": jsonschema_rs.Draft201909Validator,
        "2020-12": jsonschema_rs.Draft202012Validator,
    }
    options: FancyRegexOptions | RegexOptions = _linear()
    if backtracks:
        options = jsonschema_rs.FancyRegexOptions(
            backtrack_limit=BACKTRACK_LIMIT, size_limit=_REGEX_BYTES, dfa_size_limit=_REGEX_BYTES
        )
    try:
        return made[draft](schema, validate_formats=formats, pattern_options=options, offline=True)
    except jsonschema_rs.ValidationError as error:
        found = _violation(error)
        raise SchemaError(
            f"the schema is ill-formed: {found.message}", where=found.path, hint=_HINT
        ) from error
    except ValueError as error:
        raise SchemaError(f"the schema cannot be used: {error}", hint=_HINT) from error


def _violation(error: ValidationError) -> Violation:
    path = pointer_of(tuple(map(str, error.instance_path)))
    message = error.message
    if len(message) > _LONGEST_MESSAGE:  # the value stands first, the reason after it
        message = f"{message[:80]} … {message[83 - _LONGEST_MESSAGE :]}"
    return Violation(path, plain(message, _LONGEST_MESSAGE), error.kind.name)


class _Cache:
    """Checks by the content of their schemas; the longest unused go when the texts grow many."""

    def __init__(self) -> None:
        self._checks: OrderedDict[bytes, tuple[int, SchemaCheck]] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def get(self, text: str, formats: bool) -> SchemaCheck:
        key = hashlib.sha256(f"{formats:d}{text}".encode(errors="surrogatepass")).digest()
        with self._lock:
            if (held := self._checks.get(key)) is not None:
                self._checks.move_to_end(key)
                return held[1]
        # Of its own copy, so that a caller who changes his schema does not change the check's.
        check = SchemaCheck(json.loads(text), formats=formats)
        with self._lock:
            if key in self._checks:  # made by another thread meanwhile
                return self._checks[key][1]
            self._checks[key] = (len(text), check)
            self._characters += len(text)
            while self._characters > _CACHED_CHARACTERS and len(self._checks) > 1:
                _, (length, _) = self._checks.popitem(last=False)
                self._characters -= length
        return check


_CACHE = _Cache()
