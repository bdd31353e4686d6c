"""Which elements of a page are open: many end tags may be left out (HTML standard, 13.1.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from kg.base.plain_text import list_words

if TYPE_CHECKING:
    from bs4 import Tag

_TABLE_PARTS = "caption colgroup thead tbody tfoot"
_BLOCKS = """address article aside blockquote center details dialog dir div dl fieldset figcaption
figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr listing main menu nav ol p plaintext pre
search section summary table ul xmp"""
# What is inside these is a part of its own: nothing in it ends an element around it.
_SEALED = "template svg math iframe noscript object button select marquee applet"
_BORDERS = {
    "cell": frozenset(list_words(f"{_SEALED} table td th caption")),
    "item": frozenset(list_words(f"{_SEALED} {_BLOCKS} {_TABLE_PARTS} body li dd dt tr td th"))
    - {"address", "div", "p"},
    "table": frozenset(list_words(f"{_SEALED} table")),
}
"""Tags that an end tag does not reach across when it is implied, of three kinds."""


class _Rule(NamedTuple):
    """Start tags end open elements with these names, up to a border."""

    starts: Iterable[str]
    ended: Iterable[str]
    border: str


_RULES = (
    _Rule(["li"], ["li"], "item"),
    _Rule(["dt", "dd"], ["dt", "dd"], "item"),
    _Rule(["td", "th"], list_words("td th caption colgroup"), "table"),
    _Rule(["tr"], list_words("tr td th caption colgroup"), "table"),
    _Rule(list_words("thead tbody tfoot"), list_words(f"{_TABLE_PARTS} tr td th"), "table"),
    _Rule(list_words(f"{_BLOCKS} li dt dd"), ["p"], "cell"),
)
_RULES_OF_TAGS = {
    name: [rule for rule in _RULES if name in rule.starts]
    for rule in _RULES
    for name in rule.starts
}
_TRACKED = frozenset(name for rule in _RULES for name in rule.ended)


class OpenElement(NamedTuple):
    """An element whose end has not come yet."""

    tag: Tag
    is_skipped: bool
    """Whether it is no part of the page's text, or in such an element."""


class OpenElements:
    """The elements that are open at a place of a page, the outermost first.

    Each element is added and removed once, so that any nesting takes linear time.
    """

    def __init__(self) -> None:
        self._elements: list[OpenElement] = []
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        """Places of the elements with a name, and of those that are a border of a kind."""
        self._place_of: dict[int, int] = {}  # id of a tag → its place

    @property
    def is_skipped(self) -> bool:
        """Whether text at this place is no part of the page's text."""
        return bool(self._elements) and self._elements[-1].is_skipped

    def add(self, tag: Tag, *, is_skipped: bool) -> None:
        """Adds an element in the innermost one."""
        place = len(self._elements)
        self._elements.append(OpenElement(tag, is_skipped or self.is_skipped))
        self._place_of[id(tag)] = place
        for key in _list_keys(tag.name):
            self._places[key].append(place)

    def end_before(self, name: str) -> list[OpenElement]:
        """Removes and returns the elements that a start tag ends, the innermost first."""
        ended: list[OpenElement] = []
        for rule in _RULES_OF_TAGS.get(name, ()):
            borders = self._places[f"border {rule.border}"]
            border = borders[-1] if borders else -1
            places = [self._places[name][-1] for name in rule.ended if self._places[name]]
            place = min((place for place in places if place >= border), default=None)
            if place is not None:
                ended += self._end_from(place)
        return ended

    def end(self, tag: Tag) -> list[OpenElement]:
        """Removes and returns an element and what is in it; nothing if it has already ended."""
        place = self._place_of.get(id(tag))
        return [] if place is None else self._end_from(place)

    def _end_from(self, place: int) -> list[OpenElement]:
        ended = self._elements[: place - 1 if place else None : -1]
        del self._elements[place:]
        for element in ended:
            del self._place_of[id(element.tag)]
            for key in _list_keys(element.tag.name):
                self._places[key].pop()
        return ended


def _list_keys(name: str) -> list[str]:
    keys = [f"border {kind}" for kind, names in _BORDERS.items() if name in names]
    return [name, *keys] if name in _TRACKED else keys
