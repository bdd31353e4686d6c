"""YAML as plain data, with the line of every key, and nothing in it that could harm.

Only what JSON has too is taken: mappings with text keys, lists, texts, numbers, truth values, null.
Tags that make objects are refused, aliases are followed within a budget (so a few lines cannot
stand for a billion), and a key may stand once.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from kg.base.errors import ConfigError

MAX_BYTES: Final = 256 * 1024
MAX_VALUES: Final = 20_000
"""Values a file may hold, each alias counted with all it stands for."""
MAX_DEPTH: Final = 24

Place = tuple[str | int, ...]
"""Where a value stands: keys, and positions in lists."""

_TAG = "tag:yaml.org,2002:"
_EXPONENT = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]{1,4}")
"""``1e-3``, a number to every reader but YAML 1.1."""


class Lined(msgspec.Struct, frozen=True):
    """What a file says, and where it says it."""

    value: Any
    lines: dict[Place, int]
    """Line, from 1, of every key and of every element of a list."""


def read_yaml(raw: bytes, where: str) -> Lined:
    """Reads one document.

    Args:
        raw: the file's bytes.
        where: its name, for messages.

    Raises:
        ConfigError: it is too long, no UTF-8, no YAML, or holds what plain data has not; with the
            line.
    """
    import yaml

    if len(raw) > MAX_BYTES:
        raise ConfigError(f"longer than {MAX_BYTES:,} bytes", where=where, hint="Is it the file?")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ConfigError("not UTF-8 text", where=f"{where}:{line}") from error
    loader = yaml.SafeLoader
    try:
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError(f"not YAML: {what}", where=f"{where}:{line}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"not YAML: {error}", where=where) from error
    except RecursionError as error:
        raise ConfigError("nested too deeply", where=where) from error
    reading = _Reading(where)
    value = None if node is None else reading.value(node, (), 0)
    return Lined(value, reading.lines)


class _Reading:
    """Turns nodes into data, counting."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._left = MAX_VALUES
        self.lines: dict[Place, int] = {}

    def value(self, node: Any, place: Place, depth: int) -> Any:
        import yaml

        self._left -= 1
        if self._left < 0:
            raise self._wrong(node, f"more than {MAX_VALUES:,} values, aliases followed")
        if depth > MAX_DEPTH:
            raise self._wrong(node, f"nested more than {MAX_DEPTH} levels deep")
        self.lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place, depth)
        if isinstance(node, yaml.SequenceNode):
            self._plain_tag(node, "seq")
            return [
                self.value(item, (*place, number), depth + 1)
                for number, item in enumerate(node.value)
            ]
        return self._scalar(node)

    def _mapping(self, node: Any, place: Place, depth: int) -> dict[str, Any]:
        self._plain_tag(node, "map")
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == f"{_TAG}merge":
                merged = {**self._merged(value_node, place, depth), **merged}
                continue
            key = self._key(key_node)
            if key in found:
                raise self._wrong(key_node, f"the key {key!r} stands twice")
            self.lines[*place, key] = key_node.start_mark.line + 1
            found[key] = self.value(value_node, (*place, key), depth + 1)
        return {**merged, **found}

    def _merged(self, node: Any, place: Place, depth: int) -> dict[str, Any]:
        """What ``<<`` brings in; of several, the first goes before the later ones."""
        import yaml

        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        found: dict[str, Any] = {}
        for one in nodes:
            if not isinstance(one, yaml.MappingNode):
                raise self._wrong(one, "<< takes mappings only")
            found = {**self.value(one, place, depth + 1), **found}
        return found

    def _key(self, node: Any) -> str:
        import yaml

        if not isinstance(node, yaml.ScalarNode):
            raise self._wrong(node, "a key must be a text")
        return self._whole(node, str(node.value))

    def _whole(self, node: Any, text: str) -> str:
        """A text with the halves of characters that escapes wrote put together."""
        if text.isascii():
            return text
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError as error:
            raise self._wrong(node, "half a character (a lone surrogate)") from error

    def _scalar(self, node: Any) -> Any:
        tag, text = node.tag, node.value
        kind = tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() in {"yes", "true", "on"}
        if kind in {"int", "float"}:
            return self._number(node, kind)
        if kind == "str" and node.style is None and _EXPONENT.fullmatch(text):
            return self._number(node, "float")
        if kind in {"str", "timestamp", "value"}:
            # A date is the text that stands there: JSON has no other.
            return self._whole(node, text)
        raise self._wrong(node, f"the tag {tag!r} is not plain data")

    def _number(self, node: Any, kind: str) -> int | float:
        text = node.value.replace("_", "")
        try:
            number: int | float = int(text, 10) if kind == "int" else float(text)
        except ValueError as error:
            # Not quoted: it may be a key of digits, in the wrong place.
            raise self._wrong(node, "a number that is no decimal number") from error
        if abs(number) > 1e15 or number != number:
            raise self._wrong(node, "a number that is out of range")
        return number

    def _plain_tag(self, node: Any, kind: str) -> None:
        if node.tag != f"{_TAG}{kind}":
            raise self._wrong(node, f"the tag {node.tag!r} is not plain data")

    def _wrong(self, node: Any, what: str) -> ConfigError:
        return ConfigError(what, where=f"{self._where}:{node.start_mark.line + 1}")
