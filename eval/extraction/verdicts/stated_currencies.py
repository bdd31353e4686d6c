"""Refuses amounts in another currency than gold states in a field of its own.

"€1,200" is 1200, but not beside a field ``currency`` with "USD". The currency of a field is that of
``<field>_currency`` beside it (``original_currency`` for ``original_amount``), else of ``currency``
beside it, else of the nearest object around it that has one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from eval.extraction.matchers.currencies import OPEN_SYMBOLS, list_currencies
from eval.extraction.matchers.json_types import read_amount
from eval.extraction.matchers.match_result import UNEQUAL
from eval.extraction.matchers.normalisation import simplify_name
from eval.extraction.settings import Matching
from eval.extraction.verdicts.entries import Entry
from kg.base.plain_text import list_words

_ENDINGS: Final = (
    *("currencyisocode", "currencycode", "currencysymbol", "currencyname", "currencyiso"),
    *("currencytype", "currencyunit", "currency", "ccycode", "ccy"),
)
"""Ends of names of fields with a currency, the longest first; before them is what it is of."""
_WHOLE_NAMES: Final = ("cur", "curr", "devise", "divisa", "moneda", "moeda", "valuta", "währung")
_AMOUNTS: Final = frozenset(
    list_words(
        "amount amt balance budget charge charges cost costs due fee fees gross high income low "
        "max maximum min minimum net paid payment price rate revenue salary subtotal sum tax total "
        "totalamount value"
    )
)
"""What a name may have after that of its currency: "salary_min" beside "salary_currency"."""
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PARTS: Final = ("code", "isocode", "symbol", "name")
"""Fields of an object that is a currency."""

_Stated = dict[str, frozenset[str]]
"""What a currency in an object is of (all of it, if empty) → the currencies that it may be:
none, if its text says nothing that is known."""


def refuse_currencies(entries: list[Entry], predicted: Any, matching: Matching) -> list[Entry]:
    """Returns the entries without matches of amounts in another currency than gold states.

    Args:
        entries: all fields of a sample.
        predicted: the extraction.
        matching: when two values count as the same.
    """
    if not any(entry.match is not None and entry.match[3] == "currencies" for entry in entries):
        return entries
    stated = _StatedCurrencies(entries, predicted)
    return [
        entry._replace(match=UNEQUAL) if _is_in_other_currency(entry, stated, matching) else entry
        for entry in entries
    ]


class _Objects:
    """The objects of an extraction, by identity, with the objects around them."""

    def __init__(self, predicted: Any) -> None:
        self.parents: Final[dict[int, int]] = {}
        self.names: Final[dict[int, str]] = {}
        """Names of the fields that they are, or are elements of."""
        self.depths: Final[dict[int, int]] = {}
        """Numbers of objects around their fields."""
        self.keys: Final[dict[int, Iterable[str]]] = {}
        waiting: list[tuple[Any, int, str, int]] = [(predicted, 0, "", 0)]
        while waiting:
            part, parent, name, depth = waiting.pop()
            if isinstance(part, list):
                waiting += ((inner, parent, name, depth) for inner in part)
            elif isinstance(part, dict) and id(part) not in self.depths:
                self.parents[id(part)] = parent
                self.names[id(part)], self.depths[id(part)] = simplify_name(name), depth + 1
                self.keys[id(part)] = part.keys()
                waiting += ((inner, id(part), key, depth + 1) for key, inner in part.items())


def _find_currency_field(name: str) -> str | None:
    """Returns what a field with a currency is of, by its name; ``None`` if it is no such field."""
    name = simplify_name(name)
    if name in _WHOLE_NAMES:
        return ""
    ending = next((ending for ending in _ENDINGS if name.endswith(ending)), None)
    return None if ending is None else name.removesuffix(ending).removesuffix("iso")


class _StatedCurrencies:
    """The currencies that gold states in the objects of an extraction."""

    def __init__(self, entries: list[Entry], predicted: Any) -> None:
        self._objects: Final = _Objects(predicted)
        self._found: Final[dict[int, _Stated]] = defaultdict(dict)
        for entry in entries:
            if isinstance(entry.expected, str):
                self._add(entry, entry.expected)
        self._parts: Final = {
            owner: sorted(filter(None, found), key=len, reverse=True)
            for owner, found in self._found.items()
        }
        self._free_parts: Final[dict[int, list[str]]] = {}

    def _add(self, entry: Entry, expected: str) -> None:
        objects, owner, name = self._objects, entry.owner, entry.node.name
        if objects.depths.get(owner) != entry.node.objects:
            return  # it is of an object that the extraction lacks
        field = _find_currency_field(name)
        if field is None and simplify_name(name) in _PARTS:
            field, owner = _find_currency_field(objects.names[owner]), objects.parents[owner]
        if field is not None:
            currencies, found = list_currencies(expected), self._found[owner]
            found[field] = found.get(field, currencies) | currencies

    def find_currencies(self, entry: Entry) -> frozenset[str]:
        """Returns the currencies that gold states for a field; empty if it states none.

        Currencies on the way to them that are of no other field are added, since they may be of
        this one, and so is that in its own name, as in "amount_usd".
        """
        named = list_currencies(" ".join(_WORD.findall(entry.node.name)).lower())
        others = [named] if named else []
        owner, around = entry.owner, [simplify_name(entry.node.name)]
        while owner:
            found, parts = self._found.get(owner, {}), self._parts.get(owner, [])
            own = next((part for name in around for part in parts if _belongs(name, part)), "")
            if own in found:
                others += (found[part] for part in (self._list_free_parts(owner) if own else ()))
                others.append(found[own])
                return frozenset().union(*others) if all(others) else frozenset()
            others += (found[part] for part in parts)
            around.append(self._objects.names.get(owner, ""))
            owner = self._objects.parents.get(owner, 0)
        return frozenset()

    def _list_free_parts(self, owner: int) -> list[str]:
        """Lists what the currencies in an object are of, if no field there belongs to it."""
        if owner not in self._free_parts:
            keys = [key for key in self._objects.keys[owner] if _find_currency_field(key) is None]
            names = [*map(simplify_name, keys)]
            self._free_parts[owner] = [
                part
                for part in self._parts[owner]
                if not any(_belongs(name, part) for name in names)
            ]
        return self._free_parts[owner]


def _belongs(name: str, part: str) -> bool:
    """Returns whether a field is of what a currency is of: "originalamount" of "original"."""
    return name.endswith(part) or (name.startswith(part) and name.removeprefix(part) in _AMOUNTS)


def _is_in_other_currency(entry: Entry, stated: _StatedCurrencies, matching: Matching) -> bool:
    if entry.match is None or entry.match[3] != "currencies":
        return False
    expected = read_amount(entry.expected, matching)
    predicted = read_amount(entry.predicted, matching)
    if expected is None or expected.currency or predicted is None or not predicted.currency:
        return False
    currencies = {predicted.currency, *OPEN_SYMBOLS.get(predicted.symbol, ())}
    found = stated.find_currencies(entry)
    return bool(found) and found.isdisjoint(currencies)
