"""Takes the values of extractions out of objects that say where they stand and how sure they are.

For example ``{"name": {"value": "Ada", "confidence": 0.9, "page": 3}}``. The schema decides for
each object whether it is such a wrapper or a value of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, Final

import msgspec

from eval.extraction.matchers.schema_nodes import SchemaNode
from eval.extraction.samples.column_names import simplify_name
from eval.extraction.samples.envelopes import QUOTE_LISTS
from eval.harness.predictions.rows import MAX_DEPTH

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
_DENYING_WORDS: Final = frozenset(
    (
        *("absent", "negated", "negative", "notfound", "notpresent", "missing", "denied"),
        *("ruledout", "excluded", "hypothetical", "rejected", "notapplicable", "neg", "false"),
        *("deleted", "incorrect", "wrong"),
    )
)
_SCALES: Final = frozenset(
    (
        *("scale", "scalefactor", "scaling", "multiplier", "factor", "magnitude"),
        *("exponent", "power", "powerof10", "operator", "comparator"),
        "inequality",
    )
)
"""Keys that make another number of the one beside them."""
_NEUTRAL_SCALES: Final = ("", "1", "1.0", "one", "ones", "unit", "units", "none", "=", "==")
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
    word = str(said).lower().replace("_", "").replace(" ", "")
    if name in _DENIALS:
        return word in ("true", "yes")
    if name in _AFFIRMATIONS:
        return word in ("false", "no")
    if name in _STATES:
        return word in _DENYING_WORDS
    if name == "sign":
        is_minus = str(value).strip().startswith(("-", "−", "("))
        return word in ("-", "−", "minus", "negative", "-1") and not is_minus
    return name in _SCALES and word not in _NEUTRAL_SCALES


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
