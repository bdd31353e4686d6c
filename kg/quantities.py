"""Parses literals as quantities: numbers with units, ranges, durations and points in time.

One quantity has many notations: ``PT1H`` and ``P0DT1H``, ``500g`` and ``500 g``, ``18:00`` and
``18:00:00``. Units are not converted: what two different units say is not compared.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

# With spaces, which units in texts have not.
DURATION = "a duration"
CLOCK = "a time of day"
ZONED_CLOCK = "a time of day in UTC"
MOMENT = "a moment"
ZONED_MOMENT = "a moment in UTC"

_SECONDS = (31_556_952, 2_629_746, 604_800, 86_400, 3_600, 60, 1)
"""Seconds of a year, month (on average), week, day, hour, minute and second."""
MAX_LENGTH = 80
"""Longer texts are no quantities."""

_DURATION = re.compile(
    r"(-?)P(?=T?\d)(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?"
    r"(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?")
_THOUSANDS = r"[1-9]\d{0,2}(?:[,'’ \u00a0\u202f]\d{3})+"
_NUMBER = rf"(?:{_THOUSANDS}(?:\.\d+)?|(?:0|[1-9]\d*)(?:[.,]\d+)?|\.\d+)"
_QUANTITY = re.compile(
    rf"(?P<sign>[<>]=?|[≤≥~≈])?\s*(?P<currency>[€$£¥])?\s*(?P<low>[-−+]?{_NUMBER})"
    rf"(?:\s*[-–—]\s*(?P<high>{_NUMBER})|\s+to\s+(?P<upper>{_NUMBER})|(?P<plus>\+))?"
    r"\s*(?P<unit>[^\W\d_]\S*|[^\W\d_]\D*|[%°€$£¥″′\"']\D*)?"
)


class Quantity(NamedTuple):
    """What a text says in numbers: all values from ``low`` to ``high``, which may be infinite."""

    unit: str
    """Without spaces; empty for a plain number; ``DURATION``, ``MOMENT`` and so on for times."""
    low: float
    high: float

    @property
    def is_exact(self) -> bool:
        """Whether the quantity is a point in time."""
        return self.unit in (CLOCK, ZONED_CLOCK, MOMENT, ZONED_MOMENT)

    @property
    def has_measuring_unit(self) -> bool:
        """Whether the quantity is neither a plain number nor a point in time."""
        return bool(self.unit) and not self.is_exact


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Quantity | None:
    """Parses a text that says one quantity and nothing else; returns None for others.

    >>> parse_quantity("PT1H30M") == parse_quantity("PT90M"), parse_quantity("1,5kg")
    (True, Quantity(unit='kg', low=1.5, high=1.5))
    """
    text = text.strip()
    if not text or len(text) > MAX_LENGTH:
        return None
    try:
        value = float(text)
    except ValueError:
        return _parse_duration(text) or _parse_moment(text) or _parse_measure(text)
    return Quantity("", value, value) if math.isfinite(value) else None


def split_duration(text: str) -> tuple[str, ...] | None:
    """Splits a duration into years, months, weeks, days, hours, minutes and seconds.

    Returns:
        Their digits, empty for parts that are not given; None for what is no duration, or a
        negative one.
    """
    match = _DURATION.fullmatch(text)
    return match.groups(default="")[1:] if match and not match[1] else None


def _parse_duration(text: str) -> Quantity | None:
    parts = split_duration(text.removeprefix("-"))
    if parts is None:
        return None
    n_seconds = sum(float(part or 0) * size for part, size in zip(parts, _SECONDS, strict=True))
    n_seconds = -n_seconds if text.startswith("-") else n_seconds
    return Quantity(DURATION, n_seconds, n_seconds)


def _parse_moment(text: str) -> Quantity | None:
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    day, zone = match.groups()
    try:
        moment = datetime.fromisoformat(text if day else f"2000-01-02T{text}")
        if zone:
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    seconds = moment.replace(tzinfo=UTC).timestamp()
    if day:
        unit = ZONED_MOMENT if zone else MOMENT
    else:
        unit, seconds = ZONED_CLOCK if zone else CLOCK, seconds % _SECONDS[3]
    return Quantity(unit, seconds, seconds)


def _parse_measure(text: str) -> Quantity | None:
    match = _QUANTITY.fullmatch(text)
    if match is None or (match["currency"] and match["unit"]):
        return None
    low = _read_number(match["low"])
    high = low
    high_text = match["high"] or match["upper"]
    if high_text:
        # The end of "1982-84" is 1984.
        is_short = _read_number(high_text) < low and len(high_text) < len(match["low"])
        high = _read_number(match["low"][: -len(high_text)] + high_text if is_short else high_text)
    sign = match["sign"] or ""
    if sign[:1] in ("<", "≤"):
        low = -math.inf
    elif match["plus"] or sign[:1] in (">", "≥"):
        high = math.inf
    unit = "".join((match["currency"] or match["unit"] or "").split())
    return Quantity(unit, low, high) if low <= high else None


def _read_number(text: str) -> float:
    text = text.replace("−", "-")
    if re.fullmatch(rf"[-+]?{_THOUSANDS}(?:\.\d+)?", text):
        return float(re.sub(r"[^-+.\d]", "", text))
    return float(text.replace(",", "."))
