"""How much a schema asks for: the seed's ten features, one score, and three bins.

The score is the greater of two, one of the number of fields and one of their depth, each rising
from 0 towards 1 and placed so that the bins of the score (below .33, below .67, the rest) are the
bins the seed describes in words: *simple* has fewer than 5 fields, none deeper than 1; *complex*
has more than 15 fields or one deeper than 2; *medium* is everything between.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from eval.extraction.schemas.schema_check import SchemaCheck
from eval.extraction.schemas.schema_fields import SchemaField, fields_of

Bin = Literal["simple", "medium", "complex"]

SIMPLE_BELOW: Final = 0.33
COMPLEX_FROM: Final = 0.67
MEDIUM_FIELDS: Final = 5
"""Fewest fields of a schema that is not simple."""
COMPLEX_FIELDS: Final = 16
"""Fewest fields of a schema that is complex."""
COMPLEX_DEPTH: Final = 3
"""Least depth of a schema that is complex."""
_DEPTH_SCORES = (0.0, 0.165, 0.5)
"""Scores of depths 0 to 2: half of what is simple, then the middle of what is medium."""

FEATURES: Final = (
    "total_fields",
    "required_fields",
    "optional_fields",
    "max_nesting_depth",
    "has_arrays",
    "has_nested_objects",
    "total_possible_paths",
    "field_types_diversity",
    "enum_fields_count",
    "format_constrained_fields",
)
"""The seed's names of what is counted, in its order."""


class Complexity(msgspec.Struct, frozen=True):
    """The seed's ten features of a schema, its score and its bin."""

    total_fields: int
    """Fields as they are scored: leaves, an array of scalars being one."""
    required_fields: int
    """Those that the object which has them must have."""
    optional_fields: int
    max_nesting_depth: int
    """Of the deepest field: objects above it, less the outermost."""
    has_arrays: bool
    has_nested_objects: bool
    """Whether an object stands inside another, or in an array."""
    total_possible_paths: int
    """Fields and what holds them: every path of a flattened value."""
    field_types_diversity: int
    """Distinct JSON types of all paths, null left out."""
    enum_fields_count: int
    format_constrained_fields: int
    score: float
    """From 0 up to, never quite, 1."""
    bin: Bin


def complexity_of(schema: dict[str, Any]) -> Complexity:
    """The complexity of a schema.

    Raises:
        SchemaError: the schema cannot be used.
    """
    return complexity_of_fields(fields_of(SchemaCheck.of(schema)))


def complexity_of_fields(paths: tuple[SchemaField, ...]) -> Complexity:
    """The complexity of the schema that declares ``paths``."""
    fields = [path for path in paths if path.kind == "field"]
    depth = max((field.depth for field in fields), default=0)
    required = sum(field.required for field in fields)
    score = max(fields_score(len(fields)), depth_score(depth))
    return Complexity(
        total_fields=len(fields),
        required_fields=required,
        optional_fields=len(fields) - required,
        max_nesting_depth=depth,
        has_arrays=any("array" in path.types for path in paths),
        has_nested_objects=any(path.kind == "holder" for path in paths),
        total_possible_paths=len(paths),
        field_types_diversity=len({name for path in paths for name in path.types}),
        enum_fields_count=sum(field.enumerated for field in fields),
        format_constrained_fields=sum(bool(field.formats) for field in fields),
        score=score,
        bin=bin_of(score),
    )


def fields_score(fields: int) -> float:
    """Score of a number of fields: straight up to 5 and to 16, then ``1 - .33 * 16 / n``."""
    if fields < MEDIUM_FIELDS:
        return SIMPLE_BELOW * fields / MEDIUM_FIELDS
    if fields < COMPLEX_FIELDS:
        share = (fields - MEDIUM_FIELDS) / (COMPLEX_FIELDS - MEDIUM_FIELDS)
        return SIMPLE_BELOW + (COMPLEX_FROM - SIMPLE_BELOW) * share
    return 1 - (1 - COMPLEX_FROM) * COMPLEX_FIELDS / fields


def depth_score(depth: int) -> float:
    """Score of a depth: 0, .165 and .5, then ``1 - .33 * 3 / d``."""
    if depth < COMPLEX_DEPTH:
        return _DEPTH_SCORES[depth]
    return 1 - (1 - COMPLEX_FROM) * COMPLEX_DEPTH / depth


def bin_of(score: float) -> Bin:
    """The bin of a score, as the seed cuts them."""
    if score < SIMPLE_BELOW:
        return "simple"
    return "medium" if score < COMPLEX_FROM else "complex"
