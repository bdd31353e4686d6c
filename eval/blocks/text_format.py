"""Formats numbers, p-values and names for tables, sentences and charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from eval.model.providers import find_recorded_model
from kg.base.plain_text import join_list
from kg.base.visible_text import make_visible

UNDEFINED_TEXT = "–"
_NUMBER_WORDS = (
    "No",
    "One",
    "Two",
    "Three",
    "Four",
    "Five",
    "Six",
    "Seven",
    "Eight",
    "Nine",
    "Ten",
)
MAX_NAME_LENGTH = 120
"""Maximum length of a system's name on a page, in characters; every table repeats the name."""


@dataclass(frozen=True)
class ChartEstimate:
    """A proportion in [0, 1] with its interval; unknown values are ``None``.

    ``worst_low`` and ``worst_high`` are the values with every unusable reply (INVALID or ERROR)
    counted against and for the system, the lower one first.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    worst_low: float | None = None
    worst_high: float | None = None

    @property
    def has_interval(self) -> bool:
        """Whether both ends of the interval are known."""
        return self.low is not None and self.high is not None

    @property
    def has_worst(self) -> bool:
        """Whether the worst-case bounds differ from each other by more than rounding."""
        low, high = self.worst_low, self.worst_high
        return low is not None and high is not None and high - low > 5e-5

    @property
    def text(self) -> str:
        """The value to three decimals, or an en dash when it is undefined."""
        return format_number(self.value)

    @property
    def interval_text(self) -> str:
        """``0.812–0.874``, or empty without an interval."""
        if self.low is None or self.high is None:
            return ""
        return _format_range(self.low, self.high)

    @property
    def worst_text(self) -> str:
        """The worst-case bounds in the same form, or empty if they do not differ."""
        if not self.has_worst:
            return ""
        assert self.worst_low is not None
        assert self.worst_high is not None
        return _format_range(self.worst_low, self.worst_high)


class EstimateLike(Protocol):
    """A metric's value with its interval and its worst-case bounds, as records have it."""

    @property
    def value(self) -> float | None:
        """The value; ``None`` if undefined."""

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""

    @property
    def worst(self) -> float | None:
        """The value if every unusable reply had been wrong."""

    @property
    def best(self) -> float | None:
        """The value if every unusable reply had been right."""


def to_chart_estimate(estimate: EstimateLike | None) -> ChartEstimate:
    """Converts a metric's value, interval and worst-case bounds for a chart.

    For a metric whose lower values are better, ``worst`` is above ``best``. So the bounds are
    sorted.
    """
    if estimate is None:
        return ChartEstimate(None)
    ends = [end for end in (estimate.worst, estimate.best) if end is not None]
    low, high = (min(ends), max(ends)) if len(ends) == 2 else (None, None)
    return ChartEstimate(estimate.value, estimate.low, estimate.high, low, high)


def _format_range(low: float, high: float) -> str:
    # A dash before a minus sign would be misread.
    return f"{format_number(low)}{' to ' if low < 0 else '–'}{format_number(high)}"


def format_number(value: float | None, digits: int = 3) -> str:
    """Formats a number with fixed digits and a true minus sign (U+2212); ``None`` as an en dash."""
    if value is None:
        return UNDEFINED_TEXT
    text = f"{value:.{digits}f}"
    if float(text) == 0:  # "-0.000" would suggest a sign that rounding has removed
        text = text.lstrip("-")
    return text.replace("-", "−")


def format_signed(value: float | None, digits: int = 3) -> str:
    """Formats a difference with a plus or a true minus sign (U+2212); zero has no sign."""
    text = format_number(value, digits)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text


def format_percent(share: float | None) -> str:
    """Formats a share in whole per cent; only exactly 0 and 1 become "0 %" and "100 %"."""
    if share is None:
        return UNDEFINED_TEXT
    if 0 < share < 0.01:
        return "<1 %"
    if 0.99 < share < 1:
        return ">99 %"
    return f"{share * 100:.0f} %"


def format_p_value(value: float | None) -> str:
    """Formats a p-value; a value below 0.001 is written as ``<0.001``, never as 0."""
    if value is None:
        return UNDEFINED_TEXT
    return "<0.001" if value < 0.001 else format_number(value)


def format_points(difference: float | None, low: float | None, high: float | None) -> str:
    """Describes the size of a difference, as in `` by 3.1 points (1.0 to 5.2)``."""
    if difference is None:
        return ""
    text = f" by {format_number(abs(difference) * 100, 1)} points"
    if low is not None and high is not None:
        low, high = sorted((abs(low), abs(high)))
        text += f" ({format_number(low * 100, 1)} to {format_number(high * 100, 1)})"
    return text


def spell_count(count: int) -> str:
    """Writes a number for the start of a sentence: up to ten in letters, then in digits."""
    return _NUMBER_WORDS[count] if count < len(_NUMBER_WORDS) else str(count)


def format_name(name: str) -> str:
    """Formats a name for headings and tables; the middle of a very long name is cut out."""
    text = make_visible(name)
    if len(text) <= MAX_NAME_LENGTH:
        return text
    tail = MAX_NAME_LENGTH // 4
    return f"{text[: MAX_NAME_LENGTH - tail - 1]}…{text[-tail:]}"


def describe_recordings(names: Iterable[str]) -> tuple[str, ...]:
    """Says which models only replayed recorded replies.

    Args:
        names: names of models or systems.

    Returns:
        One sentence; none if no model was recorded.
    """
    models = sorted({model for name in names if (model := find_recorded_model(name))})
    if not models:
        return ()
    return (f"Replies of {join_list(models)} were recorded earlier: no model ran here.",)


def shorten_text(text: str, width: int) -> str:
    """Cuts text to ``width`` characters; the last one is an ellipsis if the text was longer."""
    return text if len(text) <= width else text[: max(width - 1, 0)].rstrip() + "…"


def truncate_text(text: str, max_length: int) -> str:
    """Cuts text to ``max_length`` characters and appends how many are missing."""
    if len(text) <= max_length:
        return text
    return f"{text[:max_length]} … ({len(text) - max_length} more characters)"


def shorten_names(names: Iterable[str], width: int) -> dict[str, str]:
    """Cuts names to ``width`` characters, so that different names stay different if possible.

    Names of models often have the same beginning (``raw:openai/gpt-…``), or the same end. If
    cutting the end makes two names equal, their middle is cut instead, then their beginning, and
    finally everything but the part in which they differ.
    """
    distinct = list(dict.fromkeys(names))
    short_names = {name: shorten_text(name, width) for name in distinct}
    for head in (width // 2, width // 4, 0):
        for name in _find_duplicates(short_names):
            if len(name) > width:
                tail = width - head - 1
                short_names[name] = f"{name[:head].rstrip()}…{name[-tail:].lstrip()}"
    duplicates = _find_duplicates(short_names)
    if len(duplicates) > 1:
        start = max(_common_prefix_length(duplicates) - 3, 0)
        for name in duplicates:
            short_names[name] = shorten_text(f"…{name[start:]}" if start else name, width)
    return short_names


def _common_prefix_length(names: Sequence[str]) -> int:
    """Returns the length of the names' common prefix."""
    # The first and the last name in sorted order differ earliest.
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    return next((position for position, (a, b) in pairs if a != b), len(first))


def _find_duplicates(short_names: dict[str, str]) -> list[str]:
    """Returns the names that share their short form with another name."""
    count = Counter(short_names.values())
    return [name for name, shortened in short_names.items() if count[shortened] > 1]
