"""Defines the score of one extraction: its sufficient statistics, and a verdict per field.

All accuracy metrics are computed from these counts, so that a sample is scored once and resampled
as often as needed. The counts do not depend on whether the reply is valid; the policy for invalid
replies is applied when they are added up (``Tally.remove_credit``).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from eval.extraction.matchers.match_result import Similarity
from eval.extraction.record import Mode
from eval.extraction.schemas.complexity import Complexity
from eval.extraction.schemas.violations import ViolationClass

Category = Literal["exact", "partial", "incorrect", "missed", "spurious"]

CATEGORIES: tuple[Category, ...] = ("exact", "partial", "incorrect", "missed", "spurious")
SIMILARITIES = ("token_f1", "levenshtein", "containment")
ERROR_PATTERNS: dict[str, tuple[str, ...]] = {
    "extraction_errors": ("wrong_value", "missing_value", "hallucinated_value", "partial_value"),
    "type_errors": ("wrong_type", "type_coercion_failed"),
    "structure_errors": (
        "wrong_nesting",
        "array_vs_object",
        "missing_required_field",
        "extra_field",
    ),
    "boundary_errors": ("incomplete_extraction", "over_extraction"),
}
"""Error patterns by family. Every wrong field has exactly one of them."""

UNDECLARED_FIELDS_KEY = "(not in the schema)"
"""Key, in the breakdown by field name, of fields that are neither in the schema nor in the expected
output."""


class Tally(msgspec.Struct, frozen=True, array_like=True):
    """Counts of fields, for example of a sample, a type or a depth. Tallies can be added."""

    expected: int = 0
    predicted: int = 0
    strict: int = 0
    """The same value, in the strict reading or by a rule."""
    exact: int = 0
    """Right: strict matches, and values within a tolerance."""
    partial: int = 0
    """Not right, but with a score of at least the partial threshold."""
    lenient: int = 0
    """Score of at least the lenient threshold; includes exact and partial matches."""
    missed: int = 0
    spurious: int = 0
    type_right: int = 0
    """Predicted fields with the type that the schema (or else the expected output) gives."""
    type_total: int = 0
    """Predicted fields for which there is such a type."""
    literal: int = 0
    """Equal in value and type in the strict reading, without rules."""
    right: int = 0
    """As ``exact``, but kept when the credit of an invalid reply is removed."""
    left_out: int = 0
    """Declared fields that the reply rightly has no value for."""
    absent: int = 0
    """Fields without an expected value: those left out, and the spurious ones. If there is no
    readable reply, those that it should have left out."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(a + b for a, b in zip(_get_counts(self), _get_counts(other), strict=True)))

    @property
    def n_paired(self) -> int:
        """Fields that are both expected and predicted."""
        return self.expected - self.missed

    def remove_credit(self) -> Tally:
        """Returns the tally of an invalid reply under the policy ``zero``: no field has credit.

        All pairs count as incorrect. The outcomes of fields do not change.
        """
        return Tally(
            expected=self.expected,
            predicted=self.predicted,
            missed=self.missed,
            spurious=self.spurious,
            type_total=self.type_total,
            right=self.right,
            left_out=self.left_out,
            absent=self.absent,
        )

    def sum_credit(self, mode: Mode) -> float:
        """Sums the credit of all fields; partial matches count half in partial mode."""
        if mode == "strict":
            return self.strict
        return self.exact + 0.5 * self.partial if mode == "partial" else self.lenient

    def precision(self, mode: Mode) -> float | None:
        """Returns credit / predicted fields; ``None`` if no field was predicted."""
        return self.sum_credit(mode) / self.predicted if self.predicted else None

    def recall(self, mode: Mode) -> float | None:
        """Returns credit / expected fields; ``None`` if no field is expected."""
        return self.sum_credit(mode) / self.expected if self.expected else None

    def f1(self, mode: Mode) -> float | None:
        """Returns 2 · credit / (expected + predicted), the harmonic mean of precision and recall.

        It is 0, not ``None``, if only one side has fields; ``None`` if neither has.
        """
        n_fields = self.expected + self.predicted
        return 2 * self.sum_credit(mode) / n_fields if n_fields else None

    @property
    def type_accuracy(self) -> float | None:
        """Share of predicted fields with the right type; ``None`` if there are no typed fields."""
        return self.type_right / self.type_total if self.type_total else None

    @property
    def hallucination_rate(self) -> float | None:
        """Share of predicted fields that are spurious."""
        return self.spurious / self.predicted if self.predicted else None

    @property
    def omission_rate(self) -> float | None:
        """Share of expected fields that are missed."""
        return self.missed / self.expected if self.expected else None


def _get_counts(tally: Tally) -> tuple[int, ...]:
    return msgspec.structs.astuple(tally)


class FieldMatch(msgspec.Struct, frozen=True):
    """One field: expected value, predicted value, and verdict."""

    path: str
    """For example ``orders[].item``; a key with dots, brackets or quotes is written ``["a.b"]``."""
    name: str
    """The last key of the path."""
    depth: int
    """Number of enclosing objects, not counting the outermost."""
    required: bool
    """Whether the enclosing object must have it."""
    type_expected: str
    """JSON type of the schema, or else of the expected value; empty if neither is known."""
    type_predicted: str
    """JSON type of the predicted value; empty if there is none."""
    matcher: str
    category: Category
    """Category in partial mode."""
    strict: bool
    score: float | None
    """In [0, 1]; null if one side has no value."""
    similarity: Similarity | None
    """Similarities of two texts under the matchers ``partial`` and ``fuzzy``."""
    type_right: bool | None
    """Whether the predicted type is right; null if there is no predicted value or no known type."""
    error: str
    """One of ``ERROR_PATTERNS``, or empty if the match is exact."""
    hallucination: int
    """0 none (or unknown without a text), 1 invented field and value, 2 wrong value that is not in
    the text (no hallucination), 3 value of the text under a field without one, 4 surplus array
    elements."""
    expected: Any = None
    predicted: Any = None
    literal: bool = False
    """Whether the values are also equal in the strict reading."""
    rule: str = ""
    """The rule by which they are the same, if the strict reading does not say so."""
    is_ambiguous: bool = False
    """Whether they could be the same date if the order of day and month were known."""


class SampleScore(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Sufficient statistics of one extraction."""

    id: str
    parsed: bool
    """Whether the reply was JSON; if not, no field counts as predicted."""
    valid: bool
    """Whether it is valid under the schema, apart from what ``tolerated`` lists."""
    exact_match: bool
    """Valid, every field strict, none missed or spurious, ordered arrays in order."""
    valid_literal: bool = False
    """Whether it is valid under the schema in the strict reading."""
    exact_match_literal: bool = False
    """The same in the strict reading: every field literal, all arrays in order."""
    nulls: int = 0
    """Number of nulls where the schema allows none, which count as fields left out."""
    rules: dict[str, int] = {}
    """Number of fields that are right by a rule only, by rule."""
    ambiguous_values: int = 0
    """Number of wrong fields that could be right if the order of day and month were known."""
    field_confidences: dict[str, tuple[tuple[float, bool], ...]] = {}
    """Path of a field → the confidence of each decision on it, and whether the decision is right:
    the right value, or no value where none is expected."""
    tolerated: tuple[str, ...] = ()
    """Violations of the schema that do not make the reply invalid; as ``schema_errors``."""
    tally: Tally
    by: dict[str, dict[str, Tally]]
    """Dimension (``type``, ``depth``, ``name``, ``required``) → key → tally."""
    complexity: Complexity
    domain: str = ""
    # By a factory: msgspec leaves out a default that is the same object, but writes an equal one.
    # Rows would then depend on whether a sample's language was read from a file.
    language: str = msgspec.field(default_factory=lambda: "en")
    schema_errors: tuple[str, ...] = ()
    """Why it is invalid: ``PATH: MESSAGE``, at most twenty."""
    violations: tuple[ViolationClass, ...] = ()
    """The same by keyword and field."""
    searched: int = 0
    """Predicted fields whose value was searched in the text; 0 without a text."""
    not_found: int = 0
    """Those whose value is not in the text literally."""
    unchecked: bool = False
    """Whether the sample has no usable schema, so that validity is unknown."""
    hallucinations: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Number of fields by type of hallucination, 1 to 4. A spurious field has type 1, 3 or 4. A
    field that is both expected and predicted has type 2 or 4 (a list with surplus elements), or is
    not a hallucination."""
    confusion: dict[str, int] = {}
    """Predicted fields by ``EXPECTED>PREDICTED`` type, right ones included."""
    errors: dict[str, int] = {}
    """Fields by error pattern; a field in the wrong place counts twice, as missed and spurious."""
    error_fields: dict[str, int] = {}
    """Number of fields by ``PATTERN PATH``, the error pattern and the path."""
    composite: dict[int, int] = {}
    """Histogram of the scores of pairs: hundredths, rounded down → number of pairs."""
    token_f1: dict[int, int] = {}
    """Histogram of the token F1 of pairs of texts, as in ``composite``; so are the next two."""
    levenshtein: dict[int, int] = {}
    containment: dict[int, int] = {}
    similarity_sums: Similarity = (0.0, 0.0, 0.0)
    """Sums of the three similarities over all pairs of texts."""
    score_sum: float = 0.0
    """Sum of the scores of all pairs."""
    text_characters: int = 0
    bounded: bool = False
    """Whether arrays were too large for an optimal alignment, so that the score may be too low."""


class ScoredSample(msgspec.Struct, frozen=True):
    """The statistics of one extraction, and its fields in schema order."""

    score: SampleScore
    fields: tuple[FieldMatch, ...]
