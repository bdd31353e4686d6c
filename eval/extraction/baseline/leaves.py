"""What a text says of one field: the candidate of the right kind that its name points at best."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from eval.extraction.baseline.reading import WORD, Reading, is_denied
from eval.extraction.baseline.spans import Kind, Span
from eval.extraction.schemas.schema_check import SchemaCheck
from kg.base.errors import SchemaError
from kg.words.plain_text import words_of

_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_EMPTY_WORDS: Final = frozenset(
    words_of(
        """
        a an and are as at be by date each for from given has have if in is it its no not null
        number of on one or per text that the their there to was were which whether with without
        """
    )
)
_UNITS: Final[dict[str, tuple[str, ...]]] = {
    "eur": ("€", "eur", "euro", "euros"),
    "usd": ("$", "usd", "dollar", "dollars"),
    "gbp": ("£", "gbp", "pound", "pounds"),
    "chf": ("chf", "francs"),
    "km": ("km", "kilometres"),
    "kmh": ("km/h",),
    "m": ("m", "metres"),
    "cm": ("cm",),
    "mm": ("mm",),
    "m2": ("m²", "m2", "sqm"),
    "kg": ("kg",),
    "g": ("g",),
    "mg": ("mg",),
    "l": ("l", "litres"),
    "ml": ("ml",),
    "w": ("w",),
    "kw": ("kw",),
    "kwh": ("kwh",),
    "v": ("v",),
    "db": ("db",),
    "mb": ("mb",),
    "gb": ("gb",),
    "c": ("°c", "°", "degrees"),
    "percent": ("%", "percent", "per cent"),
    "pct": ("%", "percent"),
    "min": ("min", "minutes"),
    "minutes": ("min", "minutes", "minute"),
    "hours": ("h", "hours", "hour"),
    "days": ("days", "day"),
    "weeks": ("weeks", "week"),
    "months": ("months", "month"),
    "years": ("years", "year"),
}
_FORMATS: Final[dict[str, Kind]] = {
    "date": "date",
    "date-time": "date",
    "time": "time",
    "email": "email",
    "idn-email": "email",
    "uri": "url",
    "iri": "url",
    "uuid": "uuid",
}
_KIND_WORDS: Final[dict[str, Kind]] = {
    "phone": "phone",
    "telephone": "phone",
    "tel": "phone",
    "mobile": "phone",
    "fax": "phone",
    "email": "email",
    "mail": "email",
    "url": "url",
    "link": "url",
    "website": "url",
    "homepage": "url",
}
_LEAST = 0.25
"""Nearness below which a candidate is not taken."""
_MOST_CANDIDATES = 400
_LONGEST_TEXT = 200
_MOST_CHOICES = 20


class Leaf(msgspec.Struct, frozen=True):
    """What the schema says of a scalar."""

    name: str
    cues: dict[str, float]
    """Words that point at it, by weight."""
    types: tuple[str, ...]
    formats: tuple[str, ...] = ()
    choices: tuple[Any, ...] = ()
    rule: dict[str, Any] = {}
    """``pattern``, ``minimum``, … by which a candidate is checked."""
    required: bool = False
    """Whether its object must have it: then a weak candidate is better than none."""

    @property
    def least(self) -> float:
        """Nearness below which a candidate is not taken."""
        return 0.0 if self.required else _LEAST


def cues_of(name: str, description: str, around: tuple[str, ...] = ()) -> dict[str, float]:
    """Words that point at a field, by weight: of its name 2, its description 1, its holders 0.5."""
    cues: dict[str, float] = {}
    for text, weight in ((name, 2.0), (description[:300], 1.0), *((one, 0.5) for one in around)):
        for word in _words(text):
            if word not in _EMPTY_WORDS and word not in cues:
                cues[word] = weight
    return cues


def value_of(leaf: Leaf, reading: Reading) -> Any:
    """What the text says of a field; null where nothing points at anything."""
    if leaf.choices:
        return _choice(leaf, reading)
    if "boolean" in leaf.types:
        return _truth(leaf, reading)
    if "integer" in leaf.types or "number" in leaf.types:
        return _number(leaf, reading)
    kind = next((_FORMATS[name] for name in leaf.formats if name in _FORMATS), None)
    kind = kind or next(
        (_KIND_WORDS[word] for word in _words(leaf.name) if word in _KIND_WORDS), None
    )
    if kind is not None:
        return _of_kind(leaf, reading, (kind,))
    if "pattern" in leaf.rule:
        return _of_pattern(leaf, reading)
    return _text(leaf, reading)


def listed(leaf: Leaf, reading: Reading) -> list[Any]:
    """What the text lists of a field's elements."""
    if leaf.choices:
        return [choice for choice in leaf.choices if _is_said(choice, reading)]
    label = reading.labelled(leaf.cues) or reading.sentence(leaf.cues)
    if not label:
        return []
    inner = Reading(label)
    if "integer" in leaf.types or "number" in leaf.types:
        return [
            span.value for span in inner.spans if span.kind == "number" and _fits(leaf, span.value)
        ]
    kind = next((_FORMATS[name] for name in leaf.formats if name in _FORMATS), None)
    if kind is not None:
        return list(dict.fromkeys(span.value for span in inner.spans if span.kind == kind))
    tail = label.rpartition(":")[2]
    parts = [part.strip(" .") for part in re.split(r",|;|\band\b|\bund\b|\bet\b|\by\b", tail)]
    return [part for part in parts if part and len(part) <= 60 and _fits(leaf, part)]


def _words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(_CASE.sub(" ", text.replace("_", " ")))]


def _choice(leaf: Leaf, reading: Reading) -> Any:
    """The allowed value that is said nearest to the cues."""
    best: tuple[float, int, Any] = (0.0, 0, None)
    for order, choice in enumerate(leaf.choices):
        for start, end in _said_at(choice, reading):
            worth = 1.0 + reading.nearness(start, end, leaf.cues)
            best = max(best, (worth, -order, choice), key=lambda one: one[:2])
    return best[2]


def _said_at(choice: Any, reading: Reading) -> Iterator[tuple[int, int]]:
    if not isinstance(choice, str) or not choice.strip():
        return
    wanted = re.escape(choice.replace("_", " ").replace("-", " ")).replace(r"\ ", r"[\s_-]+")
    for number, match in enumerate(
        re.finditer(rf"(?<!\w){wanted}(?!\w)", reading.text, re.IGNORECASE)
    ):
        if number >= 20:
            return
        yield match.span()


def _is_said(choice: Any, reading: Reading) -> bool:
    for start, _ in _said_at(choice, reading):
        return not is_denied(reading.text[max(start - 25, 0) : start])
    return False


def _truth(leaf: Leaf, reading: Reading) -> bool | None:
    sentence = reading.sentence(leaf.cues)
    if not sentence:
        return False if leaf.required else None
    return not is_denied(sentence)


def _number(leaf: Leaf, reading: Reading) -> Any:
    whole = "number" not in leaf.types
    units = [unit for word in _words(leaf.name) for unit in _UNITS.get(word, ())]
    best: tuple[float, int, Any] = (-1.0, 0, None)
    for span in _some(reading, "number"):
        value = span.value
        if (whole and isinstance(value, float)) or not _fits(leaf, value):
            continue
        worth = reading.nearness(span.start, span.end, leaf.cues)
        if units:
            worth += 1.0 if _has_unit(reading.text, span, units) else -0.5
        best = max(best, (worth, -span.start, value), key=lambda one: one[:2])
    return best[2] if best[0] >= leaf.least else None


def _has_unit(text: str, span: Span, units: list[str]) -> bool:
    before = text[max(span.start - 5, 0) : span.start].lower().split()
    after = re.split(r"[\s,.;)]+", text[span.end : span.end + 12].lower().lstrip(), maxsplit=1)[0]
    return after in units or (bool(before) and before[-1].strip("(") in units)


def _of_kind(leaf: Leaf, reading: Reading, kinds: tuple[Kind, ...]) -> Any:
    found: list[tuple[float, int, Any]] = []
    for kind in kinds:
        for span in _some(reading, kind):
            if _fits(leaf, span.value):
                worth = reading.nearness(span.start, span.end, leaf.cues)
                found.append((worth, -span.start, span.value))
    if not found:
        return None
    best = max(found, key=lambda one: one[:2])
    # The only date or address of a text needs nothing that points at it.
    return best[2] if best[0] >= leaf.least or len(found) == 1 else None


def _of_pattern(leaf: Leaf, reading: Reading) -> Any:
    return _of_kind(leaf, reading, ("time", "code", "number", "date", "phone"))


def _text(leaf: Leaf, reading: Reading) -> Any:
    label = reading.labelled(leaf.cues)
    if label:
        end = re.search(r"[.;](?:\s|$)|\n|,\s", label)
        said = (label[: end.start()] if end else label).strip()
        if said and len(said) <= _LONGEST_TEXT and _fits(leaf, said):
            return said
    return _of_kind(leaf, reading, ("name", "quoted", "code"))


def _some(reading: Reading, kind: Kind) -> list[Span]:
    return [span for span in reading.spans if span.kind == kind][:_MOST_CANDIDATES]


def _fits(leaf: Leaf, value: Any) -> bool:
    """Whether a candidate keeps the rules of the field: its pattern, its limits."""
    if not leaf.rule:
        return True
    said = str(value) if "pattern" in leaf.rule and not isinstance(value, str) else value
    try:
        return SchemaCheck.of(leaf.rule).valid(said)
    except SchemaError:
        return True
