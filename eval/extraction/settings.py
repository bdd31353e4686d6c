"""Settings for comparing an extraction with the expected output: thresholds, weights, etc."""

from __future__ import annotations

from typing import Literal

import msgspec


class Matching(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When two values count as the same. The defaults are those of the specification.

    Raises:
        ValueError: thresholds are out of order or range, or all weights are 0.
    """

    exact: float = 0.95
    """Minimum score of an exact match."""
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
    epsilon: float = 1e-6
    """Largest difference at which two numbers are equal in strict mode."""
    numeric_tolerance: float = 0.001
    """Largest relative difference at which a number still scores 1."""
    string_fuzzy_threshold: float = 0.85
    """Minimum Levenshtein similarity at which texts with ``x-match: fuzzy`` score 1."""
    ordered_arrays: bool = True
    """Whether order matters in arrays for which the schema does not decide it."""
    coercion: Literal["strict", "lenient"] = "strict"
    """``lenient``: accepts "123" where the number 123 is expected, "true" for true, and so on."""
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
        if not 0 < self.string_fuzzy_threshold <= 1:
            raise ValueError("string_fuzzy_threshold must be above 0 and at most 1")


DEFAULT_MATCHING = Matching()
