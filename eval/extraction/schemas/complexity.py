"""Measures the complexity of a schema: ten features, a score and three bins.

"The specification" is section 4.4.4 of ``docs/reference/extraction-checklist.md``.

The score is the maximum of a score for the number of fields and one for their depth, both rising
from 0 towards 1. They are scaled so that the bins of the score (below .33, below .67, the rest)
match the specification's description: *simple* has fewer than 5 fields, none deeper than 1;
*complex* has more than 15 fields or one deeper than 2; *medium* is everything in between.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from eval.extraction.schemas.schema_fields import SchemaField, list_schema_fields
from eval.extraction.schemas.schema_validator import SchemaValidator

Bin = Literal["simple", "medium", "complex"]

SIMPLE_BELOW: Final = 0.33
COMPLEX_FROM: Final = 0.67
MEDIUM_FIELDS: Final = 5
"""Minimum number of fields of a schema that is at least medium."""
COMPLEX_FIELDS: Final = 16
"""Minimum number of fields of a complex schema."""
COMPLEX_DEPTH: Final = 3
"""Minimum depth of a complex schema."""
_DEPTH_SCORES = (0.0, 0.165, 0.5)
"""Scores of depths 0 to 2: 0, the middle of *simple*, the middle of *medium*."""

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
"""The specification's names of the features, in its order."""


class Complexity(msgspec.Struct, frozen=True):
    """The specification's ten features of a schema, with score and bin."""

    total_fields: int
    """Scored fields: leaves; an array of scalars is one field."""
    required_fields: int
    """Fields that their enclosing object must have."""
    optional_fields: int
    max_nesting_depth: int
    """Depth of the deepest field: enclosing objects, not counting the outermost."""
    has_arrays: bool
    has_nested_objects: bool
    """Whether an object is nested in another object or in an array."""
    total_possible_paths: int
    """Number of all paths: fields, and the objects and arrays of objects that hold them."""
    field_types_diversity: int
    """Number of distinct JSON types of all paths, without null."""
    enum_fields_count: int
    format_constrained_fields: int
    score: float
    """In [0, 1)."""
    bin: Bin


def compute_complexity(schema: dict[str, Any]) -> Complexity:
    """Computes the complexity of a schema.

    Raises:
        SchemaError: the schema cannot be used.
    """
    return compute_fields_complexity(list_schema_fields(SchemaValidator.from_schema(schema)))


def compute_fields_complexity(paths: tuple[SchemaField, ...]) -> Complexity:
    """Computes the complexity of the schema that declares ``paths``, fields and their holders."""
    fields = [path for path in paths if path.kind == "field"]
    depth = max((field.depth for field in fields), default=0)
    n_required = sum(field.required for field in fields)
    score = max(score_field_count(len(fields)), score_depth(depth))
    return Complexity(
        total_fields=len(fields),
        required_fields=n_required,
        optional_fields=len(fields) - n_required,
        max_nesting_depth=depth,
        has_arrays=any("array" in path.types for path in paths),
        has_nested_objects=any(path.kind == "holder" for path in paths),
        total_possible_paths=len(paths),
        field_types_diversity=len({name for path in paths for name in path.types}),
        enum_fields_count=sum(field.enumerated for field in fields),
        format_constrained_fields=sum(bool(field.formats) for field in fields),
        score=score,
        bin=complexity_bin(score),
    )


def score_field_count(fields: int) -> float:
    """Scores a number of fields.

    Rises linearly from 0 to .33 at 5 fields and from there to .67 at 16 fields; from 16 on it is
    ``1 - .33 * 16 / n``.
    """
    if fields < MEDIUM_FIELDS:
        return SIMPLE_BELOW * fields / MEDIUM_FIELDS
    if fields < COMPLEX_FIELDS:
        share = (fields - MEDIUM_FIELDS) / (COMPLEX_FIELDS - MEDIUM_FIELDS)
        return SIMPLE_BELOW + (COMPLEX_FROM - SIMPLE_BELOW) * share
    return 1 - (1 - COMPLEX_FROM) * COMPLEX_FIELDS / fields


def score_depth(depth: int) -> float:
    """Scores a depth: 0, .165, .5 for depths 0 to 2, then ``1 - .33 * 3 / d``."""
    if depth < COMPLEX_DEPTH:
        return _DEPTH_SCORES[depth]
    return 1 - (1 - COMPLEX_FROM) * COMPLEX_DEPTH / depth


def complexity_bin(score: float) -> Bin:
    """Returns the bin of a complexity score."""
    if score < SIMPLE_BELOW:
        return "simple"
    return "medium" if score < COMPLEX_FROM else "complex"
