"""Finds the value of one field: the candidate of the right kind nearest to the field's cues."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from eval.extraction.baseline.spans import Kind, Span
from eval.extraction.baseline.text_index import WORD_PATTERN, TextIndex, is_denied
from eval.extraction.schemas.schema_validator import SchemaValidator
from kg.base.errors import SchemaError
from kg.base.plain_text import list_words

# Matches the empty string between the words of a name such as "unitPrice".
_CAMEL_CASE_BREAK: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STOP_WORDS: Final = frozenset(
    list_words(
        """
        a an and are as at be by date each for from given has have if in is it its no not null
        number of on one or per text that the their there to was were which whether with without
        """
    )
)
_UNIT_SPELLINGS: Final[dict[str, tuple[str, ...]]] = {
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
_KIND_BY_FORMAT: Final[dict[str, Kind]] = {
    "date": "date",
    "date-time": "date",
    "time": "time",
    "email": "email",
    "idn-email": "email",
    "uri": "url",
    "iri": "url",
    "uuid": "uuid",
}
_KIND_BY_NAME_WORD: Final[dict[str, Kind]] = {
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
_MIN_NEARNESS = 0.25
"""Minimum nearness of a candidate to the cues (``TextIndex.score_nearness``)."""
_MAX_CANDIDATES = 400
"""Maximum number of candidates of one kind that are scored."""
_MAX_TEXT_LENGTH = 200
"""Maximum length of a text value, in characters."""


class Leaf(msgspec.Struct, frozen=True):
    """Description of a scalar field, copied from the schema."""

    name: str
    cues: dict[str, float]
    """Words that indicate the field in a text → weight."""
    types: tuple[str, ...]
    formats: tuple[str, ...] = ()
    choices: tuple[Any, ...] = ()
    """The allowed values (``enum``, ``const``); empty if unrestricted."""
    rules: dict[str, Any] = {}
    """Keywords such as ``pattern`` and ``minimum`` that a candidate must satisfy."""
    required: bool = False
    """Whether the enclosing object must have the field. Then a weak candidate is better than none.
    """

    @property
    def min_nearness(self) -> float:
        """Minimum nearness of a candidate to the cues."""
        return 0.0 if self.required else _MIN_NEARNESS


def build_cues(name: str, description: str, ancestors: tuple[str, ...] = ()) -> dict[str, float]:
    """Returns the words that indicate a field, with their weights.

    Words of its name weigh 2, of its description 1, and of the names of enclosing objects 0.5.
    """
    cues: dict[str, float] = {}
    for text, weight in (
        (name, 2.0),
        (description[:300], 1.0),
        *((ancestor, 0.5) for ancestor in ancestors),
    ):
        for word in _split_words(text):
            if word not in _STOP_WORDS and word not in cues:
                cues[word] = weight
    return cues


def find_value(leaf: Leaf, index: TextIndex) -> Any:
    """Finds a field's value in the text; returns ``None`` if there is no candidate."""
    if leaf.choices:
        return _find_choice(leaf, index)
    if "boolean" in leaf.types:
        return _find_boolean(leaf, index)
    if "integer" in leaf.types or "number" in leaf.types:
        return _find_number(leaf, index)
    kind = next((_KIND_BY_FORMAT[name] for name in leaf.formats if name in _KIND_BY_FORMAT), None)
    kind = kind or next(
        (
            _KIND_BY_NAME_WORD[word]
            for word in _split_words(leaf.name)
            if word in _KIND_BY_NAME_WORD
        ),
        None,
    )
    if kind is not None:
        return _find_span_value(leaf, index, (kind,))
    if "pattern" in leaf.rules:
        return _find_pattern_value(leaf, index)
    return _find_text(leaf, index)


def find_listed_values(leaf: Leaf, index: TextIndex) -> list[Any]:
    """Finds the elements of an array field that the text lists."""
    if leaf.choices:
        return [choice for choice in leaf.choices if _is_affirmed(choice, index)]
    listing = index.find_labelled_value(leaf.cues) or index.find_sentence(leaf.cues)
    if not listing:
        return []
    listing_index = TextIndex(listing)
    if "integer" in leaf.types or "number" in leaf.types:
        return [
            span.value
            for span in listing_index.spans
            if span.kind == "number" and _satisfies_rules(leaf, span.value)
        ]
    kind = next((_KIND_BY_FORMAT[name] for name in leaf.formats if name in _KIND_BY_FORMAT), None)
    if kind is not None:
        return list(dict.fromkeys(span.value for span in listing_index.spans if span.kind == kind))
    elements_text = listing.rpartition(":")[2]
    parts = [
        part.strip(" .") for part in re.split(r",|;|\band\b|\bund\b|\bet\b|\by\b", elements_text)
    ]
    return [part for part in parts if part and len(part) <= 60 and _satisfies_rules(leaf, part)]


def _split_words(text: str) -> list[str]:
    """Splits a name or text into lower-case words, also at underscores and in camel case."""
    return [
        word.lower()
        for word in WORD_PATTERN.findall(_CAMEL_CASE_BREAK.sub(" ", text.replace("_", " ")))
    ]


def _find_choice(leaf: Leaf, index: TextIndex) -> Any:
    """Returns the allowed value that occurs nearest to the cues; ``None`` if none occurs."""
    best: tuple[float, int, Any] = (0.0, 0, None)
    for position, choice in enumerate(leaf.choices):
        for start, end in _iter_choice_spans(choice, index):
            score = 1.0 + index.score_nearness(start, end, leaf.cues)
            best = max(best, (score, -position, choice), key=lambda candidate: candidate[:2])
    return best[2]


def _iter_choice_spans(choice: Any, index: TextIndex) -> Iterator[tuple[int, int]]:
    """Yields where a value occurs as whole words in the text, at most twenty times."""
    if not isinstance(choice, str) or not choice.strip():
        return
    pattern = re.escape(choice.replace("_", " ").replace("-", " ")).replace(r"\ ", r"[\s_-]+")
    for n_spans, match in enumerate(
        re.finditer(rf"(?<!\w){pattern}(?!\w)", index.text, re.IGNORECASE)
    ):
        if n_spans >= 20:
            return
        yield match.span()


def _is_affirmed(choice: Any, index: TextIndex) -> bool:
    """Returns whether a value occurs without a negation in the 25 characters before it."""
    for start, _ in _iter_choice_spans(choice, index):
        return not is_denied(index.text[max(start - 25, 0) : start])
    return False


def _find_boolean(leaf: Leaf, index: TextIndex) -> bool | None:
    sentence = index.find_sentence(leaf.cues)
    if not sentence:
        return False if leaf.required else None
    return not is_denied(sentence)


def _find_number(leaf: Leaf, index: TextIndex) -> Any:
    needs_integer = "number" not in leaf.types
    units = [unit for word in _split_words(leaf.name) for unit in _UNIT_SPELLINGS.get(word, ())]
    best: tuple[float, int, Any] = (-1.0, 0, None)
    for span in _list_candidate_spans(index, "number"):
        value = span.value
        if (needs_integer and isinstance(value, float)) or not _satisfies_rules(leaf, value):
            continue
        score = index.score_nearness(span.start, span.end, leaf.cues)
        if units:
            score += 1.0 if _has_unit(index.text, span, units) else -0.5
        best = max(best, (score, -span.start, value), key=lambda candidate: candidate[:2])
    return best[2] if best[0] >= leaf.min_nearness else None


def _has_unit(text: str, span: Span, units: list[str]) -> bool:
    """Returns whether one of the units stands directly before or after a number."""
    words_before = text[max(span.start - 5, 0) : span.start].lower().split()
    word_after = re.split(
        r"[\s,.;)]+", text[span.end : span.end + 12].lower().lstrip(), maxsplit=1
    )[0]
    return word_after in units or (bool(words_before) and words_before[-1].strip("(") in units)


def _find_span_value(leaf: Leaf, index: TextIndex, kinds: tuple[Kind, ...]) -> Any:
    candidates: list[tuple[float, int, Any]] = []
    for kind in kinds:
        for span in _list_candidate_spans(index, kind):
            if _satisfies_rules(leaf, span.value):
                nearness = index.score_nearness(span.start, span.end, leaf.cues)
                candidates.append((nearness, -span.start, span.value))
    if not candidates:
        return None
    best = max(candidates, key=lambda candidate: candidate[:2])
    # The only candidate in the text is taken even if no cue is near.
    return best[2] if best[0] >= leaf.min_nearness or len(candidates) == 1 else None


def _find_pattern_value(leaf: Leaf, index: TextIndex) -> Any:
    return _find_span_value(leaf, index, ("time", "code", "number", "date", "phone"))


def _find_text(leaf: Leaf, index: TextIndex) -> Any:
    labelled_text = index.find_labelled_value(leaf.cues)
    if labelled_text:
        value_end = re.search(r"[.;](?:\s|$)|\n|,\s", labelled_text)
        value = (labelled_text[: value_end.start()] if value_end else labelled_text).strip()
        if value and len(value) <= _MAX_TEXT_LENGTH and _satisfies_rules(leaf, value):
            return value
    return _find_span_value(leaf, index, ("name", "quoted", "code"))


def _list_candidate_spans(index: TextIndex, kind: Kind) -> list[Span]:
    return [span for span in index.spans if span.kind == kind][:_MAX_CANDIDATES]


def _satisfies_rules(leaf: Leaf, value: Any) -> bool:
    """Returns whether a candidate satisfies the field's pattern and limits.

    A rule that cannot be checked, such as an invalid pattern, counts as satisfied.
    """
    if not leaf.rules:
        return True
    candidate = str(value) if "pattern" in leaf.rules and not isinstance(value, str) else value
    try:
        return SchemaValidator.from_schema(leaf.rules).is_valid(candidate)
    except SchemaError:
        return True
