"""Takes the values of extractions out of objects that say where they stand and how sure they are.

For example ``{"name": {"value": "Ada", "confidence": 0.9, "page": 3}}``. The schema decides for
each object whether it is such a wrapper or a value of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import Any, Final

import msgspec

from eval.extraction.matchers.amounts import parse_amount, parse_decimal
from eval.extraction.matchers.normalisation import simplify_name
from eval.extraction.matchers.rules import is_placeholder
from eval.extraction.matchers.schema_nodes import SchemaNode
from eval.extraction.samples.envelopes import QUOTE_LISTS
from eval.harness.predictions.rows import MAX_DEPTH
from kg.words.number_words import SCALE_LETTERS, SCALE_READINGS

CONFIDENCE_KEYS: Final = ("confidence", "confidence_score", "score", "probability")
"""Keys beside "value" in an object that stands for one value."""
_ANNOTATIONS: Final = frozenset(
    (
        *(key.replace("_", "") for key in (*CONFIDENCE_KEYS, *QUOTE_LISTS)),
        *("page", "pages", "pagenumber", "pagenumbers", "pageindex", "pageno", "pagenum"),
        *("bbox", "bboxes", "boundingbox", "boundingboxes", "boundingregions", "boundingpoly"),
        *("polygon", "polygons", "location", "locations", "span", "spans", "offsets", "lines"),
        *("citation", "quote", "source", "sources", "sourcetext", "rawtext", "rawvalue"),
        *("reference", "references", "snippet", "reasoning", "explanation", "justification"),
    )
)
"""Keys that say where a value was found, or how sure it is, in lower case without separators."""
_UNIT_KEYS: Final = frozenset(("unit", "units", "unitofmeasure", "uom", "currency", "currencycode"))
"""Keys with a part of the value itself, in lower case without separators."""
_DENIALS: Final = frozenset(
    (
        *("negated", "isnegated", "negation", "isnegation", "negative", "isnegative", "denied"),
        *("absent", "isabsent", "missing", "ismissing", "notfound", "notpresent", "ruledout"),
        *("hypothetical", "ishypothetical", "rejected", "excluded", "deleted", "crossedout"),
        *("isnull", "isempty", "incorrect", "iswrong"),
    )
)
"""Keys that deny the value beside them if they are true, in lower case without separators."""
_AFFIRMATIONS: Final = frozenset(
    (
        *("found", "isfound", "wasfound", "present", "ispresent", "exists", "applicable"),
        *("isapplicable", "asserted", "detected", "correct", "iscorrect"),
    )
)
"""Keys that deny it if they are false."""
_STATES: Final = frozenset(
    ("status", "state", "polarity", "assertion", "presence", "modality", "assertionstatus")
)
"""Keys that deny it in words."""
_REVIEWS: Final = frozenset(
    (
        *("correct", "iscorrect", "incorrect", "iswrong", "rejected", "excluded", "deleted"),
        *("crossedout", "hypothetical", "ishypothetical"),
    )
)
"""Those of the keys before that are about any value; the others say no more than "no" does."""
_DENYING_WORDS: Final = frozenset(
    (
        *("absent", "negated", "negative", "notfound", "notpresent", "notdetected", "missing"),
        *("ruledout", "excluded", "hypothetical", "rejected", "notapplicable", "neg", "denied"),
        *("deleted", "incorrect", "wrong"),
    )
)
_TRUE: Final = ("true", "yes", "y", "t")
_FALSE: Final = ("false", "no", "n", "f")
_SCALES: Final = frozenset(
    (
        *("scale", "scalefactor", "scaling", "multiplier", "factor", "magnitude"),
        *("power", "exponent", "powerof10"),
    )
)
"""Keys that multiply the number beside them."""
_POWERS: Final = {"exponent": (0,), "powerof10": (0,), "power": (0, 1)}
"""Those of them with a power, and the numbers that say nothing there; elsewhere it is 1."""
_SCALE_WORDS: Final = frozenset(("hundreds", "millions", "dozen", "percent", "percentage", "bps"))
_SCALE_NUMBER: Final = re.compile(
    r"10(?:\^|\*\*)(?P<power>-?\d{1,2})|(?P<number>\d[\d,]*(?:\.\d+)?(?:e-?\d{1,2})?)"
)
_COMPARATORS: Final = frozenset(("comparator", "inequality", "operator"))
"""Keys that make a limit of the number beside them."""
_LIMIT_SIGNS: Final = frozenset(("<", ">", "<=", ">=", "=<", "=>", "≤", "≥", "≠", "!=", "<>"))
_LIMITS: Final = frozenset(
    (
        *("lt", "gt", "lte", "gte", "lessthan", "greaterthan", "morethan", "fewerthan", "neq"),
        *("lessthanorequal", "lessthanorequalto", "greaterthanorequal", "greaterthanorequalto"),
        *("atleast", "atmost", "notequal", "notequals"),
    )
)
_SHORT_LIMITS: Final = frozenset(
    ("le", "ge", "ne", "max", "min", "over", "under", "above", "below")
)
"""Limits that may be names, of an operator."""
_MINUS: Final = ("-", "−", "–", "minus", "negative", "neg")
_BARE_NUMBER: Final = re.compile(r"[+-]?\d[\d.,' ]*")


class PlainValues(msgspec.Struct, frozen=True):
    """An extraction without the annotations that its values had."""

    value: Any
    confidences: Any = None
    """The confidences in the same shape, null where there is none; ``None`` if there are none."""
    left_out: frozenset[str] = frozenset()
    """Keys beside values that were left out, without the confidences."""
    joined: frozenset[str] = frozenset()
    """Keys whose unit or currency became a part of the text."""
    changed: frozenset[str] = frozenset()
    """Keys that deny or change the value beside them, so that it was not taken out."""
    is_annotated: bool = True
    """Whether any value was taken out."""


def list_value_places(expected: Any) -> frozenset[tuple[str, ...]]:
    """Lists where an expected output has objects with a key "value", which are no wrappers.

    A place is the keys that lead to it; an element of a list has the step "[]".
    """
    return frozenset(
        place for place, part in _iter_parts(expected) if isinstance(part, dict) and "value" in part
    )


def list_number_places(expected: Any) -> frozenset[tuple[str, ...]]:
    """Lists where an expected output has a number alone, without a unit."""
    return frozenset(
        place
        for place, part in _iter_parts(expected)
        if isinstance(part, str | int | float) and _BARE_NUMBER.fullmatch(str(part).strip())
    )


def _iter_parts(value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    pending: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while pending:
        place, part = pending.pop()
        yield place, part
        if isinstance(part, dict):
            pending += (((*place, key), inner) for key, inner in part.items())
        elif isinstance(part, list):
            pending += (((*place, "[]"), inner) for inner in part)


def split_annotations(
    value: Any,
    root: SchemaNode,
    own_places: Collection[tuple[str, ...]] = (),
    number_places: Collection[tuple[str, ...]] = (),
) -> PlainValues | None:
    """Takes values out of objects that annotate them: ``{"value": "A", "confidence": 0.9}``.

    Where the schema has an object with a property "value", or gold has such an object, it is the
    value itself. Elsewhere, an object with "value" is a wrapper if it has a confidence, if all its
    other keys are known annotations (``{"value": "A", "page": 3}``), or if the schema asks for
    something else than an object. One with nothing but "value" is one beside others. Where the
    schema asks for a text, a number and the unit or currency beside it are one, unless the schema
    has a field for the unit beside that text, lists or describes its values, or gold has no unit.
    An object with a key that denies the value or makes another one of it (``{"value": "A",
    "negated": true}``) is not read as that value.

    Args:
        value: an extraction.
        root: schema node of it.
        own_places: where gold has objects with a key "value" (``list_value_places``).
        number_places: where gold has numbers without a unit (``list_number_places``).

    Returns:
        The values without annotations; ``None`` if there are none.
    """
    found = has_confidences = False
    changed: set[str] = set()
    left_out: set[str] = set()
    joined: set[str] = set()

    def split(
        part: Any, node: SchemaNode, around: SchemaNode, place: tuple[str, ...], level: int = 0
    ) -> tuple[Any, Any]:
        nonlocal found, has_confidences
        if level >= MAX_DEPTH or not isinstance(part, dict | list):
            return part, None
        if isinstance(part, list):
            element, inside = node.get_element(), (*place, "[]")
            pairs = [split(inner, element, around, inside, level + 1) for inner in part]
            return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        is_wrapper = place not in own_places and _is_annotated(part, node)
        if is_wrapper and (keys := _list_changing_keys(part)):
            changed.update(keys)
            part = {key: part[key] for key in ("value", *keys)}
        elif is_wrapper:
            found |= len(part) > 1 or _asks_for_other(node)
            plain, confidences = split(part["value"], node, around, place, level + 1)
            key = next((key for key in CONFIDENCE_KEYS if key in part), None)
            has_confidences |= key is not None
            text, unit_key = _join_unit(plain, part, node)
            if place in number_places or _has_unit_field(around, place, unit_key):
                unit_key = ""
            if unit_key:
                plain = text
                joined.add(unit_key)
            left_out.update(part.keys() - {"value", unit_key, *CONFIDENCE_KEYS})
            return plain, confidences if key is None else part[key]
        values, confidences = {}, {}
        for key, inner in part.items():
            values[key], confidences[key] = (
                split(inner, node.get_child(key), node, (*place, key), level + 1)
                if isinstance(inner, dict | list)
                else (inner, None)
            )
        return values, confidences

    plain, confidences = split(value, root, root, ())
    if not found:
        only_changed = PlainValues(plain, changed=frozenset(changed), is_annotated=False)
        return only_changed if changed else None
    confidences = confidences if has_confidences else None
    return PlainValues(
        plain, confidences, frozenset(left_out), frozenset(joined), frozenset(changed)
    )


def _list_changing_keys(part: dict[str, Any]) -> list[str]:
    """Lists the keys beside a value that deny it or make another one of it."""
    if part["value"] in (None, "", [], {}):
        return []
    return [key for key in part if _changes_value(part["value"], simplify_name(key), part[key])]


def _changes_value(value: Any, name: str, said: Any) -> bool:
    """Returns whether what is said under a name, in any form, denies or changes a value."""
    word = simplify_name(said) if isinstance(said, str) else ""
    if name in _DENIALS or name in _AFFIRMATIONS or name in _STATES:
        if name in ("negative", "isnegative") and _is_minus(value):
            return False
        if name in _STATES:
            is_denial = said is False or word in _DENYING_WORDS or word == "false"
        else:
            is_denial = _read_truth(said) is (name in _DENIALS) or word in _DENYING_WORDS
        return is_denial and (name in _REVIEWS or not _says_nothing(value))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number and not (isinstance(value, str) and parse_amount(value)):
        return False
    if name == "sign":
        is_minus = said == -1 or str(said).strip().lower() in (*_MINUS, "-1")
        return is_minus and not _is_minus(value)
    if name in _COMPARATORS:
        is_limit = word in _LIMITS or (name != "operator" and word in _SHORT_LIMITS)
        return is_limit or (isinstance(said, str) and said.strip() in _LIMIT_SIGNS)
    return name in _SCALES and _multiplies(said, _POWERS.get(name, (1,)))


def _read_truth(said: Any) -> bool | None:
    """Reads "yes", "N", 1 or 0.0, also as a text; ``None`` for anything else."""
    if isinstance(said, str):
        word = simplify_name(said)
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        said = parse_decimal(said.strip())
    is_number = isinstance(said, bool | int | float | Decimal)
    return bool(said) if is_number and said in (0, 1) else None


def _is_minus(value: Any) -> bool:
    return str(value).strip().startswith(("-", "−", "("))


def _says_nothing(value: Any) -> bool:
    """Returns whether a value itself says that there is none: "N/A", "absent", false."""
    if not isinstance(value, str):
        return value is False
    word = simplify_name(value)
    return word in _DENYING_WORDS or word in _FALSE or is_placeholder(value)


def _multiplies(said: Any, neutral: tuple[int, ...]) -> bool:
    """Returns whether a scale is another number than those that say nothing."""
    if isinstance(said, bool):
        return False
    if isinstance(said, int | float):
        return said not in neutral
    if not isinstance(said, str):
        return False
    text = said.strip().lower()
    number = _SCALE_NUMBER.fullmatch(text.lstrip("x×* ").removesuffix("x").rstrip())
    if number is not None and number["power"]:
        return int(number["power"]) != 0
    if number is not None:
        return Decimal(number["number"].replace(",", "")) not in neutral
    words = text.replace("-", " ").split()
    if text in ("%", "bp") or text in SCALE_LETTERS:
        return True
    return any(word in SCALE_READINGS or word in _SCALE_WORDS for word in words)


def _join_unit(plain: Any, part: dict[str, Any], node: SchemaNode) -> tuple[str, str]:
    """Returns a number with its unit as one text, and the key of the unit.

    Both are empty unless the schema asks for any text and there is one unit.
    """
    keys = [key for key in part if simplify_name(key) in _UNIT_KEYS and part[key]]
    is_restricted = node.allowed is not None or node.has_pattern or bool(node.formats)
    if node.types != ("string",) or is_restricted or len(keys) != 1 or isinstance(plain, bool):
        return "", ""
    number = plain if isinstance(plain, str) else json.dumps(plain)
    unit = part[keys[0]]
    if not isinstance(unit, str) or not _BARE_NUMBER.fullmatch(number.strip()):
        return "", ""
    return f"{number.strip()} {unit}", keys[0]


def _has_unit_field(around: SchemaNode, place: tuple[str, ...], unit_key: str) -> bool:
    """Returns whether the schema has a field for a unit beside that of its number.

    For "weight" and "unit", it is "unit", "uom" or "weight_unit".
    """
    field = next((step for step in reversed(place) if step != "[]"), "")
    is_currency = simplify_name(unit_key).startswith("currency")
    units = {unit for unit in _UNIT_KEYS if unit.startswith("currency") == is_currency}
    names = units | {f"{simplify_name(field)}{unit}" for unit in units}
    return any(simplify_name(key) in names for key in around.keys if key != field)


def _is_annotated(part: dict[str, Any], node: SchemaNode) -> bool:
    """Returns whether an object is a value with annotations, by its keys and the schema."""
    if "value" not in part or not node.keys.keys().isdisjoint(part):
        return False
    others = (simplify_name(key) for key in part if key != "value")
    return (
        _asks_for_other(node)
        or any(key in part for key in CONFIDENCE_KEYS)
        or _ANNOTATIONS.issuperset(others)
    )


def _asks_for_other(node: SchemaNode) -> bool:
    """Returns whether the schema asks for something else than an object."""
    return bool(node.types) and "object" not in node.types
