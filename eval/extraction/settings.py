"""How an extraction is compared with what was expected: thresholds, weights, normalisation."""

from __future__ import annotations

from typing import Literal

import msgspec


class Matching(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What counts as the same. The defaults are those of the benchmark's specification.

    Raises:
        ValueError: thresholds out of order or range, or weights that add up to nothing.
    """

    exact: float = 0.95
    """Least score of an exact match."""
    partial: float = 0.5
    """Least score of a partial match, which earns half a field."""
    lenient: float = 0.3
    """Least score that earns a whole field in lenient mode."""
    token_weight: float = 0.5
    """Weights of the three similarities in the score of two texts, divided by their sum."""
    levenshtein_weight: float = 0.3
    containment_weight: float = 0.2
    case_sensitive: bool = False
    """Whether strict mode tells capitals from small letters. Similarities never do."""
    normalize_whitespace: bool = True
    """Whether a run of white space equals one blank, and none at the ends."""
    epsilon: float = 1e-6
    """Two numbers this close are equal in strict mode."""
    numeric_tolerance: float = 0.001
    """Share of the expected number that another may differ by and still score 1."""
    string_fuzzy_threshold: float = 0.85
    """Least Levenshtein similarity at which texts of ``x-match: fuzzy`` are the same."""
    ordered_arrays: bool = True
    """Whether order matters in arrays of whose order the schema says nothing."""
    coercion: Literal["strict", "lenient"] = "strict"
    """``lenient``: "123" is as good as 123 where a number is wanted, and so on."""
    invalid: Literal["zero", "as_is"] = "zero"
    """What a reply that is no valid instance of its schema is worth in the headline."""

    def __post_init__(self) -> None:
        if not 0 < self.lenient <= self.partial <= self.exact <= 1:
            raise ValueError("thresholds must be 0 < lenient <= partial <= exact <= 1")
        weights = (self.token_weight, self.levenshtein_weight, self.containment_weight)
        # Written so that NaN fails too.
        if not all(0 <= weight < float("inf") for weight in weights) or sum(weights) <= 0:
            raise ValueError("weights of similarities must be 0 or more, and not all 0")
        small = (self.epsilon, self.numeric_tolerance)
        if not all(0 <= number < float("inf") for number in small):
            raise ValueError("epsilon and numeric_tolerance must be 0 or more")
        if not 0 < self.string_fuzzy_threshold <= 1:
            raise ValueError("string_fuzzy_threshold must be above 0 and at most 1")


DEFAULT = Matching()
