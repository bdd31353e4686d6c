"""One extraction against what was expected: every field's verdict, and the counts made of them.

Fields are aligned (``alignment``), compared (``matchers``), and judged (``judging``): the five
categories of SemEval 2013 task 9.1, types, hallucinations, error patterns. All counts that a report
needs are taken here, once.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final

import msgspec

from eval.extraction.matchers.compared import Similarity
from eval.extraction.matchers.fields import Plan, plan_of
from eval.extraction.record import Mode
from eval.extraction.samples.sample import Sample
from eval.extraction.settings import DEFAULT, Matching
from eval.extraction.verdicts.alignment import Alignment, align
from eval.extraction.verdicts.judging import Judge
from eval.extraction.verdicts.sample_score import (
    CATEGORIES,
    ERROR_PATTERNS,
    SIMILARITIES,
    UNDECLARED,
    Category,
    FieldMatch,
    SampleScore,
    Scored,
    Tally,
)

__all__ = [
    "CATEGORIES",
    "ERROR_PATTERNS",
    "SIMILARITIES",
    "UNDECLARED",
    "Category",
    "FieldMatch",
    "Mode",
    "SampleScore",
    "Scored",
    "Tally",
    "score",
]

MAX_ERRORS: Final = 20
"""Reasons of invalidity that are kept of a sample."""

_BITS: Final = 32
"""Of a column of a packed tally: sums of a sample's fields stay far below 2 ** 32."""


def score(
    sample: Sample, predicted: Any, matching: Matching = DEFAULT, *, parsed: bool = True
) -> Scored:
    """Scores one extraction.

    Args:
        sample: text, schema and what is right.
        predicted: what came, as a JSON parser gives it; ignored if ``parsed`` is false.
        matching: what counts as the same.
        parsed: whether the reply was JSON at all; if not, every expected field is missed.

    Raises:
        SchemaError: the sample's schema cannot be used.
        TypeError: a value is of no type of JSON.
    """
    plan = plan_of(sample.schema)
    if not parsed:
        predicted = None
    # Asked once for both, since finding the first error costs as much as finding none.
    broken = plan.check.errors(predicted, MAX_ERRORS) if parsed else ()
    valid = parsed and not broken
    aligned = align(plan.root, sample.expected, predicted, matching)
    fields = Judge(sample.text, matching, valid=valid).fields(aligned.entries)
    errors = tuple(sorted(map(str, broken)))
    counted = _counted(sample, plan, aligned, fields, matching, (parsed, valid), errors)
    return Scored(counted, fields)


def _counted(
    sample: Sample,
    plan: Plan,
    aligned: Alignment,
    fields: tuple[FieldMatch, ...],
    matching: Matching,
    standing: tuple[bool, bool],
    schema_errors: tuple[str, ...],
) -> SampleScore:
    """The statistics of a sample's fields."""
    total = required = 0
    by_type: dict[str, int] = {}
    by_depth: dict[int, int] = {}
    by_name: dict[str, int] = {}
    confusion: dict[tuple[str, str], int] = {}
    errors: dict[str, int] = {}
    error_fields: dict[str, int] = {}
    hallucinations = [0, 0, 0, 0, 0]
    ones = same = 0
    scores: list[float] = []
    similarities: list[Similarity] = []
    all_strict = True
    for field, entry in zip(fields, aligned.entries, strict=True):
        weight = _weight(field, matching)
        total += weight
        kind = _FAMILIES.get(field.type_expected) or _family(field)
        by_type[kind] = by_type.get(kind, 0) + weight
        by_depth[field.depth] = by_depth.get(field.depth, 0) + weight
        known = entry.place.declared or field.category != "spurious"
        name = field.path if known else UNDECLARED
        by_name[name] = by_name.get(name, 0) + weight
        if field.required:
            required += weight
        if field.type_right is not None:
            pair = field.type_expected, field.type_predicted
            confusion[pair] = confusion.get(pair, 0) + 1
        if field.score == 1.0:
            ones += 1
            if field.similarity == _SAME:
                same += 1
            elif field.similarity is not None:
                similarities.append(field.similarity)
        elif field.score is not None:
            scores.append(field.score)
            if field.similarity is not None:
                similarities.append(field.similarity)
        if field.error:
            errors[field.error] = errors.get(field.error, 0) + 1
            at = f"{field.error} {name}"
            error_fields[at] = error_fields.get(at, 0) + 1
        hallucinations[field.hallucination] += 1
        all_strict = all_strict and field.strict
    parsed, valid = standing
    needs = {"required": required, "optional": total - required}
    by_required = {need: sums for need, sums in needs.items() if sums}
    first, second, third = zip(*similarities, strict=True) if similarities else ((), (), ())
    return SampleScore(
        id=sample.id,
        parsed=parsed,
        valid=valid,
        exact_match=valid and all_strict and aligned.in_order,
        tally=_unpacked(total),
        by={
            "type": _all_unpacked(by_type),
            "depth": {str(depth): _unpacked(sums) for depth, sums in by_depth.items()},
            "name": _all_unpacked(by_name),
            "required": _all_unpacked(by_required),
        },
        complexity=plan.complexity,
        domain=sample.domain,
        language=sample.language,
        schema_errors=schema_errors,
        hallucinations=(
            hallucinations[1],
            hallucinations[2],
            hallucinations[3],
            hallucinations[4],
        ),
        confusion={">".join(pair): count for pair, count in confusion.items()},
        errors=errors,
        error_fields=error_fields,
        composite=_histogram(scores, ones),
        token_f1=_histogram(first, same),
        levenshtein=_histogram(second, same),
        containment=_histogram(third, same),
        # Exactly rounded, so that the order of fields changes nothing.
        similarity_sums=(
            math.fsum((*first, same)),
            math.fsum((*second, same)),
            math.fsum((*third, same)),
        ),
        score_sum=math.fsum((*scores, ones)),
        text_characters=len(sample.text),
        bounded=aligned.bounded,
    )


_SAME: Final = (1.0, 1.0, 1.0)
_FAMILIES = {name: name for name in ("string", "number", "boolean", "object", "array", "null")}
_FAMILIES["integer"] = "number"


def _family(field: FieldMatch) -> str:
    """The type a field is counted under where its label is no plain type."""
    label = field.type_expected.split(" ")[0] or field.type_predicted
    return _FAMILIES.get(label, label)


def _histogram(values: Sequence[float], ones: int) -> dict[int, int]:
    """How many values there are in each hundredth, rounded down, and as many more that are 1."""
    histogram = {100: ones} if ones else {}
    for value in values:
        hundredth = int(value * 100 + 1e-9)  # 0.29 * 100 is 28.999999999999996
        histogram[hundredth] = histogram.get(hundredth, 0) + 1
    return histogram


# The tally of a field is one whole number with 32 bits for each count, so that adding it to the
# five sums that it belongs to takes five additions instead of fifty.


@cache
def _packed(category: Category, strict: bool, lenient: bool, type_right: bool | None) -> int:
    paired = category not in ("missed", "spurious")
    exact, partial = category == "exact", category == "partial"
    counts = Tally(
        expected=category != "spurious",
        predicted=category != "missed",
        strict=strict,
        exact=exact,
        partial=partial,
        lenient=paired and (exact or partial or lenient),
        missed=category == "missed",
        spurious=category == "spurious",
        type_right=type_right is True,
        type_total=type_right is not None,
    )
    columns = msgspec.structs.astuple(counts)
    return sum(int(count) << (_BITS * column) for column, count in enumerate(columns))


def _weight(field: FieldMatch, matching: Matching) -> int:
    lenient = field.score is not None and field.score >= matching.lenient
    return _packed(field.category, field.strict, lenient, field.type_right)


@lru_cache(maxsize=65_536)
def _unpacked(packed: int) -> Tally:
    """The tally; the same object for the same counts, so that thousands of samples share it."""
    size = len(Tally.__struct_fields__)
    return Tally(*struct.unpack(f"<{size}I", packed.to_bytes(size * _BITS // 8, "little")))


def _all_unpacked(packed: dict[str, int]) -> dict[str, Tally]:
    return {key: _unpacked(value) for key, value in packed.items()}
