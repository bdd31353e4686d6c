"""Scores one extraction against the expected output: a verdict per field, and their counts.

Fields are aligned (``alignment``), compared (``matchers``) and judged (``field_judge``): the five
categories of SemEval 2013 task 9.1, types, hallucinations, error patterns. Everything that a report
counts is counted here, once per row.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Final

import msgspec

from eval.extraction.matchers.match_result import Similarity
from eval.extraction.matchers.schema_nodes import SchemaPlan, get_schema_plan
from eval.extraction.record import Mode
from eval.extraction.samples.sample import MARKS, Sample
from eval.extraction.schemas.schema_validator import Violation
from eval.extraction.schemas.violations import group_violations
from eval.extraction.settings import DEFAULT_MATCHING, Matching
from eval.extraction.verdicts.alignment import Alignment, align_values
from eval.extraction.verdicts.alternatives import read_alternatives
from eval.extraction.verdicts.field_confidence import assign_confidences
from eval.extraction.verdicts.field_judge import FieldJudge
from eval.extraction.verdicts.hallucination import count_found_values
from eval.extraction.verdicts.sample_score import (
    CATEGORIES,
    ERROR_PATTERNS,
    SIMILARITIES,
    UNDECLARED_FIELDS_KEY,
    Category,
    FieldMatch,
    SampleScore,
    ScoredSample,
    Tally,
)
from eval.extraction.verdicts.validity import (
    INVALID,
    MAX_SCHEMA_ERRORS,
    Validity,
    judge_validity,
)

__all__ = [
    "CATEGORIES",
    "ERROR_PATTERNS",
    "SIMILARITIES",
    "UNDECLARED_FIELDS_KEY",
    "Category",
    "FieldMatch",
    "Mode",
    "SampleScore",
    "ScoredSample",
    "Tally",
    "score_sample",
]

_COLUMN_BITS: Final = 32
"""Bits per column of a packed tally; a sample has far fewer than 2 ** 32 fields."""


def score_sample(
    sample: Sample,
    predicted: Any,
    matching: Matching = DEFAULT_MATCHING,
    *,
    parsed: bool = True,
    confidences: Any = None,
) -> ScoredSample:
    """Scores one extraction.

    Args:
        sample: text, schema and expected output.
        predicted: the extraction as parsed JSON; ignored if ``parsed`` is false.
        matching: when two values count as the same.
        parsed: whether the reply was JSON; if not, every expected field is missed.
        confidences: the confidences of the fields, in the shape of the extraction, if known.

    Raises:
        SchemaError: the sample's schema cannot be used.
        TypeError: a value has a type that JSON does not have.
    """
    plan = get_schema_plan(sample.schema)
    if not parsed:
        predicted = None
    expected = read_alternatives(sample.expected)
    alignment = align_values(plan.root, expected, predicted, matching)
    validity = INVALID
    if parsed:
        entries = alignment.entries
        validity = judge_validity(plan, expected, predicted, entries, matching)
    judge = FieldJudge(sample.text, matching, valid=validity.valid, literal=validity.literal)
    fields = judge.judge_fields(alignment.entries)
    score = _count_fields(sample, plan, alignment, fields, matching, validity, parsed=parsed)
    if parsed and confidences is not None:
        by_field = assign_confidences(plan.root, predicted, confidences, alignment, fields)
        score = msgspec.structs.replace(score, field_confidences=by_field)
    return ScoredSample(score, fields)


def _count_fields(
    sample: Sample,
    plan: SchemaPlan,
    alignment: Alignment,
    fields: tuple[FieldMatch, ...],
    matching: Matching,
    validity: Validity,
    *,
    parsed: bool,
) -> SampleScore:
    """Counts a sample's fields in every breakdown.

    Args:
        sample: the sample.
        plan: the plan of its schema.
        alignment: its aligned fields.
        fields: the verdicts on these fields, in the same order.
        matching: when two values count as the same.
        validity: whether the reply is valid under the schema.
        parsed: whether the reply was JSON.

    Returns:
        The sufficient statistics that every metric of the sample is computed from.
    """
    packed_total = packed_required = 0
    by_type: dict[str, int] = {}
    by_depth: dict[int, int] = {}
    by_name: dict[str, int] = {}
    confusion: dict[tuple[str, str], int] = {}
    errors: dict[str, int] = {}
    error_fields: dict[str, int] = {}
    hallucinations = [0, 0, 0, 0, 0]
    rules: dict[str, int] = {}
    n_full_scores = n_identical = n_ambiguous = 0
    scores: list[float] = []
    similarities: list[Similarity] = []
    all_strict = all_literal = True
    for field, entry in zip(fields, alignment.entries, strict=True):
        # Tallies are packed into one integer each, which makes adding them fast.
        packed_tally = _pack_field(field, matching)
        packed_total += packed_tally
        type_name = _TYPE_FAMILIES.get(field.type_expected) or _type_family(field)
        by_type[type_name] = by_type.get(type_name, 0) + packed_tally
        by_depth[field.depth] = by_depth.get(field.depth, 0) + packed_tally
        is_declared = entry.node.declared or field.category != "spurious"
        name = field.path if is_declared else UNDECLARED_FIELDS_KEY
        by_name[name] = by_name.get(name, 0) + packed_tally
        if field.required:
            packed_required += packed_tally
        if field.type_right is not None:
            type_pair = field.type_expected, field.type_predicted
            confusion[type_pair] = confusion.get(type_pair, 0) + 1
        if field.score == 1.0:
            n_full_scores += 1
            if field.similarity == _IDENTICAL:
                n_identical += 1
            elif field.similarity is not None:
                similarities.append(field.similarity)
        elif field.score is not None:
            scores.append(field.score)
            if field.similarity is not None:
                similarities.append(field.similarity)
        if field.error:
            errors[field.error] = errors.get(field.error, 0) + 1
            key = f"{field.error} {name}"
            error_fields[key] = error_fields.get(key, 0) + 1
        hallucinations[field.hallucination] += 1
        all_strict = all_strict and field.strict
        all_literal = all_literal and field.literal
        n_ambiguous += field.is_ambiguous
        if field.rule:
            rules[field.rule] = rules.get(field.rule, 0) + 1
    packed_absence = _PACKED_LEFT_OUT if parsed else _PACKED_ABSENT
    for node, count in Counter(node for node, _ in alignment.left_out).items():
        packed_tally = count * packed_absence
        packed_total += packed_tally
        type_name = _TYPE_FAMILIES[node.types[0] if node.types else "null"]
        by_type[type_name] = by_type.get(type_name, 0) + packed_tally
        by_depth[node.depth] = by_depth.get(node.depth, 0) + packed_tally
        by_name[node.path] = by_name.get(node.path, 0) + packed_tally
        if node.required:
            packed_required += packed_tally
    packed_by_requirement = {
        "required": packed_required,
        "optional": packed_total - packed_required,
    }
    by_required = {
        requirement: packed for requirement, packed in packed_by_requirement.items() if packed
    }
    searched, not_found = count_found_values(sample.text, alignment.entries)
    token_f1s, levenshteins, containments = (
        zip(*similarities, strict=True) if similarities else ((), (), ())
    )
    return SampleScore(
        id=sample.id,
        parsed=parsed,
        valid=validity.valid,
        exact_match=validity.valid and all_strict and alignment.in_order,
        valid_literal=validity.literal,
        exact_match_literal=validity.literal and all_literal and alignment.literal,
        nulls=validity.nulls,
        rules=dict(sorted(rules.items())),
        ambiguous_values=n_ambiguous,
        tally=_unpack_tally(packed_total),
        by={
            "type": _unpack_tallies(by_type),
            "depth": {str(depth): _unpack_tally(packed) for depth, packed in by_depth.items()},
            "name": _unpack_tallies(by_name),
            "required": _unpack_tallies(by_required),
        },
        complexity=plan.complexity,
        domain=sample.domain,
        language=sample.language,
        schema_errors=_describe_violations(validity.errors),
        tolerated=_describe_violations(validity.tolerated),
        violations=group_violations(validity.errors),
        searched=searched,
        not_found=not_found,
        unchecked="schema" in sample.meta.get(MARKS, ()),
        hallucinations=(
            hallucinations[1],
            hallucinations[2],
            hallucinations[3],
            hallucinations[4],
        ),
        confusion={">".join(type_pair): count for type_pair, count in confusion.items()},
        errors=errors,
        error_fields=error_fields,
        composite=_count_hundredths(scores, n_full_scores),
        token_f1=_count_hundredths(token_f1s, n_identical),
        levenshtein=_count_hundredths(levenshteins, n_identical),
        containment=_count_hundredths(containments, n_identical),
        # fsum is exactly rounded, so the sums do not depend on the order of the fields.
        similarity_sums=(
            math.fsum((*token_f1s, n_identical)),
            math.fsum((*levenshteins, n_identical)),
            math.fsum((*containments, n_identical)),
        ),
        score_sum=math.fsum((*scores, n_full_scores)),
        text_characters=len(sample.text),
        bounded=alignment.bounded,
    )


def _describe_violations(violations: Iterable[Violation]) -> tuple[str, ...]:
    return tuple(sorted(map(str, islice(violations, MAX_SCHEMA_ERRORS))))


_IDENTICAL: Final = (1.0, 1.0, 1.0)
_TYPE_FAMILIES = {name: name for name in ("string", "number", "boolean", "object", "array", "null")}
_TYPE_FAMILIES["integer"] = "number"


def _type_family(field: FieldMatch) -> str:
    """Returns the type that a field is counted under if its label is not a plain JSON type."""
    label = field.type_expected.split(" ")[0] or field.type_predicted
    return _TYPE_FAMILIES.get(label, label)


def _count_hundredths(values: Sequence[float], n_ones: int) -> dict[int, int]:
    """Counts values by hundredth, rounded down.

    Args:
        values: numbers in [0, 1).
        n_ones: number of further values that are exactly 1.
    """
    histogram = {100: n_ones} if n_ones else {}
    for value in values:
        hundredth = int(value * 100 + 1e-9)  # 0.29 * 100 is 28.999999999999996
        histogram[hundredth] = histogram.get(hundredth, 0) + 1
    return histogram


# A field's tally is packed into one integer with 32 bits per count: adding it to the five sums it
# belongs to then takes five additions instead of fifty.


@cache
def _pack_tally(
    category: Category, strict: bool, lenient: bool, type_right: bool | None, literal: bool
) -> int:
    is_paired = category not in ("missed", "spurious")
    exact, partial = category == "exact", category == "partial"
    counts = Tally(
        expected=category != "spurious",
        predicted=category != "missed",
        strict=strict,
        exact=exact,
        partial=partial,
        lenient=is_paired and (exact or partial or lenient),
        missed=category == "missed",
        spurious=category == "spurious",
        type_right=type_right is True,
        type_total=type_right is not None,
        literal=literal,
        right=exact,
        absent=category == "spurious",
    )
    return _pack_counts(counts)


def _pack_counts(counts: Tally) -> int:
    columns = msgspec.structs.astuple(counts)
    return sum(int(count) << (_COLUMN_BITS * column) for column, count in enumerate(columns))


_PACKED_LEFT_OUT: Final = _pack_counts(Tally(left_out=1, absent=1))
_PACKED_ABSENT: Final = _pack_counts(Tally(absent=1))


def _pack_field(field: FieldMatch, matching: Matching) -> int:
    """Returns the packed tally of one field."""
    is_lenient = field.score is not None and field.score >= matching.lenient
    return _pack_tally(field.category, field.strict, is_lenient, field.type_right, field.literal)


@lru_cache(maxsize=65_536)
def _unpack_tally(packed: int) -> Tally:
    """Unpacks a tally. Cached: thousands of samples with the same counts share one object."""
    size = len(Tally.__struct_fields__)
    return Tally(*struct.unpack(f"<{size}I", packed.to_bytes(size * _COLUMN_BITS // 8, "little")))


def _unpack_tallies(packed: dict[str, int]) -> dict[str, Tally]:
    return {key: _unpack_tally(value) for key, value in packed.items()}
