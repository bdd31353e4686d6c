"""What one extraction is worth: its sufficient statistics, and every field with its verdict.

All that a report says of accuracy is made of these counts, so that a sample is scored once and
resampled as often as needed. Counts are on their merits, whether or not the reply is valid: what
an invalid reply is worth is decided where they are added up (``Tally.voided``).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from eval.extraction.matchers.compared import Similarity
from eval.extraction.record import Mode
from eval.extraction.schemas.complexity import Complexity

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
"""The patterns by family. A field that is wrong has one of them, so they divide the errors."""

UNDECLARED = "(not in the schema)"
"""Key of the breakdown by name for fields that neither schema nor expectation knows."""


class Tally(msgspec.Struct, frozen=True, array_like=True):
    """Counts of fields. Of a sample, a type, a depth, a name; they add up."""

    expected: int = 0
    predicted: int = 0
    strict: int = 0
    """Equal, in value and type."""
    exact: int = 0
    """Score at least the exact threshold; every strict one is."""
    partial: int = 0
    """Score at least the partial threshold and below the exact one."""
    lenient: int = 0
    """Score at least the lenient threshold, the exact and partial ones included."""
    missed: int = 0
    spurious: int = 0
    type_right: int = 0
    """Predicted fields of the type that the schema (or else the expectation) has for them."""
    type_total: int = 0
    """Predicted fields for which there is such a type."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(a + b for a, b in zip(_values(self), _values(other), strict=True)))

    @property
    def paired(self) -> int:
        """Fields that are both expected and predicted."""
        return self.expected - self.missed

    def voided(self) -> Tally:
        """The same fields with nothing right: what an invalid reply is worth under ``zero``.

        Nothing becomes missed or spurious by it: pairs become incorrect.
        """
        return Tally(
            expected=self.expected,
            predicted=self.predicted,
            missed=self.missed,
            spurious=self.spurious,
            type_total=self.type_total,
        )

    def categories(self, mode: Mode) -> dict[Category, int]:
        """The five counts of SemEval 2013 task 9.1 in a mode. Strict mode has no partial ones."""
        exact = self.strict if mode == "strict" else self.exact
        near = {"strict": 0, "partial": self.partial, "lenient": self.lenient - self.exact}[mode]
        return {
            "exact": exact,
            "partial": near,
            "incorrect": self.paired - exact - near,
            "missed": self.missed,
            "spurious": self.spurious,
        }

    def credit(self, mode: Mode) -> float:
        """Fields earned: whole ones, and in partial mode halves."""
        if mode == "strict":
            return self.strict
        return self.exact + 0.5 * self.partial if mode == "partial" else self.lenient

    def precision(self, mode: Mode) -> float | None:
        """Credit per predicted field; null where none was predicted."""
        return self.credit(mode) / self.predicted if self.predicted else None

    def recall(self, mode: Mode) -> float | None:
        """Credit per expected field; null where none was expected."""
        return self.credit(mode) / self.expected if self.expected else None

    def f1(self, mode: Mode) -> float | None:
        """Twice the credit per field on either side, which is the harmonic mean where both are.

        So it is 0, not null, where only one side has fields; null where neither has.
        """
        fields = self.expected + self.predicted
        return 2 * self.credit(mode) / fields if fields else None

    @property
    def type_accuracy(self) -> float | None:
        """Share of predicted fields of the right type."""
        return self.type_right / self.type_total if self.type_total else None

    @property
    def hallucination_rate(self) -> float | None:
        """Share of predicted fields that are spurious."""
        return self.spurious / self.predicted if self.predicted else None

    @property
    def omission_rate(self) -> float | None:
        """Share of expected fields that are missed."""
        return self.missed / self.expected if self.expected else None


def _values(tally: Tally) -> tuple[int, ...]:
    return msgspec.structs.astuple(tally)


class FieldMatch(msgspec.Struct, frozen=True):
    """One field: what was expected of it, what came, and the verdict."""

    path: str
    """``orders[].item``; a key that holds dots, brackets or quotes is written ``["a.b"]``."""
    name: str
    """The last key of the path."""
    depth: int
    """Objects around it, the outermost not counted."""
    required: bool
    """Whether the object it stands in must have it."""
    type_expected: str
    """JSON type that the schema has for it, else that of the expected value; empty if neither."""
    type_predicted: str
    """JSON type of what came; empty if nothing did."""
    matcher: str
    category: Category
    """In partial mode."""
    strict: bool
    score: float | None
    """Within 0 and 1; null where one side has nothing."""
    similarity: Similarity | None
    """Of two texts under matcher ``partial`` or ``fuzzy``."""
    type_right: bool | None
    """Null where nothing came or no type is known."""
    error: str
    """One of ``ERROR_PATTERNS``, or empty if the match is exact."""
    hallucination: int
    """1 name and value made up, 2 value made up, 3 value under a wrong name, 4 elements beyond
    those expected; 0 none."""
    expected: Any = None
    predicted: Any = None


class SampleScore(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Sufficient statistics of one extraction."""

    id: str
    parsed: bool
    """Whether the reply was JSON at all; if not, nothing counts as predicted."""
    valid: bool
    """Whether it is a valid instance of the schema."""
    exact_match: bool
    """Valid, every field strictly equal, none missed or spurious, ordered arrays in order."""
    tally: Tally
    by: dict[str, dict[str, Tally]]
    """Of dimension (``type``, ``depth``, ``name``, ``required``) and key."""
    complexity: Complexity
    domain: str = ""
    language: str = "en"
    schema_errors: tuple[str, ...] = ()
    """``PATH: KEYWORD``, at most twenty."""
    hallucinations: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Fields by type of hallucination, 1 to 4. All spurious ones are of type 1, 3 or 4; pairs can
    be of type 2, and lists with elements too many of type 4."""
    confusion: dict[str, int] = {}
    """Predicted fields by ``EXPECTED>PREDICTED`` type, right ones included."""
    errors: dict[str, int] = {}
    """Fields by error pattern; a field moved elsewhere is two, one missed and one spurious."""
    error_fields: dict[str, int] = {}
    """The same by ``PATTERN PATH``."""
    composite: dict[int, int] = {}
    """Pairs by score, in hundredths rounded down."""
    token_f1: dict[int, int] = {}
    """Pairs of texts by similarity, in hundredths rounded down; so the next two."""
    levenshtein: dict[int, int] = {}
    containment: dict[int, int] = {}
    similarity_sums: Similarity = (0.0, 0.0, 0.0)
    """Sums of the three over those pairs."""
    score_sum: float = 0.0
    """Sum of the scores of all pairs."""
    text_characters: int = 0
    bounded: bool = False
    """Whether arrays were too large for an optimal alignment, so that it may be below optimal."""

    @property
    def merit(self) -> Tally:
        """Counts of the headline under ``invalid: zero``."""
        return self.tally if self.valid else self.tally.voided()


class Scored(msgspec.Struct, frozen=True):
    """The statistics of one extraction, and its fields in the order of the schema's path."""

    score: SampleScore
    fields: tuple[FieldMatch, ...]
