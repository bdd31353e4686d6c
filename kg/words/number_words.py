"""English words for small whole numbers."""

from __future__ import annotations

from typing import Final

NUMBER_WORDS: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen", "twenty"),
)
"""By the number they say, from 0 to 20."""
