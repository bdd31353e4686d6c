"""Settings for comparing an extraction with the expected output: thresholds, weights, etc."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

Rule = Literal[
    "typography",
    "punctuation",
    "names",
    "notation",
    "dates",
    "numbers",
    "currencies",
    "units",
    "ranges",
    "identifiers",
    "phones",
    "booleans",
    "types",
    "empty_text",
    "accents",
    "placeholders",
    "near",
]
"""A named rule by which two different spellings count as the same value; each is described in
``docs/reference/extraction.md``."""

ALL_RULES: tuple[Rule, ...] = get_args(Rule)

OPTIONAL_RULES: tuple[Rule, ...] = ("accents", "placeholders", "near")
"""Rules that are off by default, because they can accept a wrong value."""

DEFAULT_RULES: tuple[Rule, ...] = tuple(rule for rule in ALL_RULES if rule not in OPTIONAL_RULES)


class Matching(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When two values count as the same.

    The thresholds and weights are those of the specification. Its reading of values is
    ``rules=("near",)`` with ``ordered_arrays=True``, ``nulls="strict"`` and ``negation=False``.

    Raises:
        ValueError: thresholds are out of order or range, all weights are 0, or a rule is unknown.
    """

    rules: tuple[Rule, ...] = DEFAULT_RULES
    """Rules by which different spellings are the same value; none: only the strict reading."""
    date_order: Literal["", "day_first", "month_first"] = ""
    """How dates such as 01/02/2024 are read; empty: as ambiguous, so that they match no other
    date."""
    decimal_mark: Literal["", "point", "comma"] = ""
    """How numbers such as 1.234 and 1,234 are read. Empty: as English does, but beside a currency a
    point before three digits is ambiguous, so that the amount matches only the same notation."""
    nulls: Literal["absent", "strict"] = "absent"
    """``absent``: a null where the schema allows none counts as a field left out. ``strict``: it
    makes the reply invalid."""
    negation: bool = True
    """Whether a text that is negated on one side only scores 0, however similar it is."""
    judge: str = ""
    """``module:function`` of your own that is asked about two texts that no rule accepts."""
    exact: float = 0.95
    """Minimum score of an exact match of unequal values, under the rule ``near``."""
    partial: float = 0.5
    """Minimum score of a partial match, which counts half a field."""
    lenient: float = 0.3
    """Minimum score that counts as a whole field in lenient mode."""
    token_weight: float = 0.5
    """Weights of the three similarities in the score of two texts, divided by their sum."""
    levenshtein_weight: float = 0.3
    containment_weight: float = 0.2
    case_sensitive: bool = False
    """Whether strict mode is case-sensitive. Similarities never are."""
    normalize_whitespace: bool = True
    """Whether to collapse white space to single blanks and to strip both ends."""
    epsilon: float = 1e-13
    """Largest relative difference at which two fractions are equal: the noise of computing with
    floats. Whole numbers must be equal."""
    numeric_tolerance: float = 0.001
    """Largest relative difference at which a fraction still counts, under the rule ``near`` or
    with ``x-match: numeric``."""
    string_fuzzy_threshold: float = 0.85
    """Minimum Levenshtein similarity of near-equal texts: elements of a list that reach it are
    aligned, and texts with ``x-match: fuzzy`` count as the same."""
    ordered_arrays: bool = False
    """Whether order matters in all arrays for which the schema does not decide it; otherwise only
    in those of numbers and in those within arrays."""
    coercion: Literal["strict", "lenient"] = "strict"
    """``lenient``: converts between types before comparing, in the strict reading too; the rule
    ``types`` only adds a reading."""
    invalid: Literal["zero", "as_is"] = "zero"
    """How a reply that is invalid under its schema counts in the headline: as 0, or as it is."""

    def __post_init__(self) -> None:
        if not 0 < self.lenient <= self.partial <= self.exact <= 1:
            raise ValueError("thresholds must be 0 < lenient <= partial <= exact <= 1")
        weights = (self.token_weight, self.levenshtein_weight, self.containment_weight)
        # Written as "not all(...)" so that NaN fails too.
        if not all(0 <= weight < float("inf") for weight in weights) or sum(weights) <= 0:
            raise ValueError("weights of similarities must be 0 or more, and not all 0")
        tolerances = (self.epsilon, self.numeric_tolerance)
        if not all(0 <= number < float("inf") for number in tolerances):
            raise ValueError("epsilon and numeric_tolerance must be 0 or more")
        if len(set(self.rules)) < len(self.rules):
            raise ValueError("rules must be different")
        if self.judge and not all(map(str.strip, self.judge.partition(":"))):
            raise ValueError("judge must be module:function")
        if not 0 < self.string_fuzzy_threshold <= 1:
            raise ValueError("string_fuzzy_threshold must be above 0 and at most 1")


DEFAULT_MATCHING = Matching()

SPECIFICATION_MATCHING = Matching(
    rules=("near",), ordered_arrays=True, nulls="strict", negation=False
)
"""The reading of the benchmark's specification: similar is near enough, other spellings are not."""
