"""Reads YAML as plain data with the line of every key, safely.

Only what JSON can express is accepted: mappings with text keys, lists, texts, numbers, truth
values and null. Tags that create objects are refused. Aliases count with all the values they stand
for, so that a few lines cannot expand to billions of values. A key may occur only once.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from kg.base.errors import ConfigError

MAX_BYTES: Final = 256 * 1024
MAX_VALUES: Final = 20_000
"""Maximum number of values in a file, aliases expanded."""
MAX_DEPTH: Final = 24
_MAX_NUMBER: Final = 1e15

KeyPath = tuple[str | int, ...]
"""Path of a value: keys, and positions in lists."""

_TAG = "tag:yaml.org,2002:"
_EXPONENT = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]{1,4}")
"""Matches ``1e-3``, which YAML 1.1 reads as a text because it has no dot."""


class LocatedValue(msgspec.Struct, frozen=True):
    """The content of a file, with line numbers."""

    value: Any
    lines: dict[KeyPath, int]
    """Line, from 1, of every key and of every element of a list."""


def read_yaml(raw: bytes, where: str) -> LocatedValue:
    """Reads one document.

    Args:
        raw: the file's bytes.
        where: its name, for messages.

    Raises:
        ConfigError: the file is too long, not UTF-8, not YAML, or not plain data; the message
            names the line.
    """
    import yaml

    if len(raw) > MAX_BYTES:
        raise ConfigError(f"longer than {MAX_BYTES:,} bytes", where=where, hint="Is it the file?")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ConfigError("not UTF-8 text", where=f"{where}:{line}") from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError(f"not YAML: {what}", where=f"{where}:{line}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"not YAML: {error}", where=where) from error
    except RecursionError as error:
        raise ConfigError("nested too deeply", where=where) from error
    converter = _NodeConverter(where)
    value = None if node is None else converter.convert_node(node, (), 0)
    return LocatedValue(value, converter.lines)


class _NodeConverter:
    """Converts YAML nodes to plain data, up to ``MAX_VALUES`` of them."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._n_values_left = MAX_VALUES
        self.lines: dict[KeyPath, int] = {}

    def convert_node(self, node: Any, path: KeyPath, depth: int) -> Any:
        import yaml

        self._n_values_left -= 1
        if self._n_values_left < 0:
            raise self._make_error(node, f"more than {MAX_VALUES:,} values, aliases expanded")
        if depth > MAX_DEPTH:
            raise self._make_error(node, f"nested more than {MAX_DEPTH} levels deep")
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._convert_mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            self._require_tag(node, "seq")
            return [
                self.convert_node(item, (*path, number), depth + 1)
                for number, item in enumerate(node.value)
            ]
        return self._convert_scalar(node)

    def _convert_mapping(self, node: Any, path: KeyPath, depth: int) -> dict[str, Any]:
        self._require_tag(node, "map")
        values: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == f"{_TAG}merge":
                merged = {**self._convert_merge(value_node, path, depth), **merged}
                continue
            key = self._convert_key(key_node)
            if key in values:
                raise self._make_error(key_node, f"the key {key!r} occurs twice")
            self.lines[*path, key] = key_node.start_mark.line + 1
            values[key] = self.convert_node(value_node, (*path, key), depth + 1)
        return {**merged, **values}

    def _convert_merge(self, node: Any, path: KeyPath, depth: int) -> dict[str, Any]:
        """Converts the value of ``<<``; of several mappings, earlier ones take precedence."""
        import yaml

        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        values: dict[str, Any] = {}
        for mapping in nodes:
            if not isinstance(mapping, yaml.MappingNode):
                raise self._make_error(mapping, "<< accepts mappings only")
            values = {**self.convert_node(mapping, path, depth + 1), **values}
        return values

    def _convert_key(self, node: Any) -> str:
        import yaml

        if not isinstance(node, yaml.ScalarNode):
            raise self._make_error(node, "a key must be a text")
        return self._join_surrogates(node, str(node.value))

    def _join_surrogates(self, node: Any, text: str) -> str:
        r"""Joins surrogate pairs, which YAML escapes (``\ud83d\ude00``) leave as two characters."""
        if text.isascii():
            return text
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError as error:
            raise self._make_error(node, "half a character (a lone surrogate)") from error

    def _convert_scalar(self, node: Any) -> Any:
        tag, text = node.tag, node.value
        kind = tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() in {"yes", "true", "on"}
        if kind in {"int", "float"}:
            return self._convert_number(node, kind)
        if kind == "str" and node.style is None and _EXPONENT.fullmatch(text):
            return self._convert_number(node, "float")
        if kind in {"str", "timestamp", "value"}:
            # A date stays a text, because JSON has no dates.
            return self._join_surrogates(node, text)
        raise self._make_error(node, f"the tag {tag!r} is not plain data")

    def _convert_number(self, node: Any, kind: str) -> int | float:
        text = node.value.replace("_", "")
        try:
            number: int | float = int(text, 10) if kind == "int" else float(text)
        except ValueError as error:
            # The message does not quote the number: it may be an API key of digits.
            raise self._make_error(node, "not a decimal number") from error
        if abs(number) > _MAX_NUMBER or number != number:
            raise self._make_error(node, "the number is out of range")
        return number

    def _require_tag(self, node: Any, kind: str) -> None:
        if node.tag != f"{_TAG}{kind}":
            raise self._make_error(node, f"the tag {node.tag!r} is not plain data")

    def _make_error(self, node: Any, what: str) -> ConfigError:
        return ConfigError(what, where=f"{self._where}:{node.start_mark.line + 1}")
