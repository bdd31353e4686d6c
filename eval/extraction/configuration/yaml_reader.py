"""Reads YAML as plain data with the line of every key, safely.

PyYAML's safe loader makes the values. Dates stay texts, because JSON has no dates. Aliases count
with all the values they stand for, so that a few lines cannot expand to billions of values. A key
may occur only once.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import msgspec
import yaml

from kg.base.errors import ConfigError

MAX_BYTES: Final = 256 * 1024
MAX_VALUES: Final = 20_000
"""Maximum number of values in a file, aliases expanded."""

KeyPath = tuple[str | int, ...]
"""Path of a value: keys, and positions in lists."""

# YAML 1.1 reads numbers without a dot, such as ``1e-3``, as texts.
_EXPONENT = re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]{1,3}\Z")


class LocatedValue(msgspec.Struct, frozen=True):
    """The content of a file, with line numbers."""

    value: Any
    lines: dict[KeyPath, int]
    """Line, from 1, of every key and of every element of a list."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, with dates as texts and numbers such as ``1e-3``."""


_Loader.yaml_implicit_resolvers = {
    start: [(tag, pattern) for tag, pattern in rules if not tag.endswith(":timestamp")]
    for start, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+0123456789"))


def read_yaml(raw: bytes, where: str) -> LocatedValue:
    """Reads one document.

    Args:
        raw: the file's bytes.
        where: its name, for messages.

    Raises:
        ConfigError: the file is too long, not UTF-8, not YAML, or not plain data; the message
            names the line.
    """
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"longer than {MAX_BYTES:,} bytes", where=where, hint="Is it the file?")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ConfigError("not UTF-8 text", where=f"{where}:{line}") from error
    lines: dict[KeyPath, int] = {}
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return LocatedValue(None, lines)
        _find_lines(node, (), lines, 0, where)
        # JSON has no sets, bytes, infinities or halves of characters. Its reader joins the two
        # halves in which YAML leaves an escaped character (``\\ud83d\\ude00``).
        value = json.loads(json.dumps(loader.construct_document(node), allow_nan=False))
        msgspec.json.encode(value)
        return LocatedValue(value, lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError(f"not YAML: {what}", where=f"{where}:{line}") from error
    except RecursionError as error:
        raise ConfigError("nested too deeply", where=where) from error
    except yaml.YAMLError as error:
        raise ConfigError(f"not YAML: {error}", where=where) from error
    except (ValueError, TypeError, OverflowError) as error:
        # The value is not quoted: it may be an API key.
        raise ConfigError("not plain data: it has a value that JSON lacks", where=where) from error


def _find_lines(
    node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int], n_values: int, where: str
) -> int:
    """Enters the lines of a node and of all below it; returns the number of values so far."""
    n_values += 1
    if n_values > MAX_VALUES:
        raise _make_error(node, f"more than {MAX_VALUES:,} values, aliases expanded", where)
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            n_values = _find_lines(item, (*path, number), lines, n_values, where)
    elif isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _make_error(key_node, "a key must be a text", where)
            key = key_node.value
            if key in keys and key != "<<":
                raise _make_error(key_node, f"the key {key!r} occurs twice", where)
            keys.add(key)
            lines[*path, key] = key_node.start_mark.line + 1
            n_values = _find_lines(value_node, (*path, key), lines, n_values, where)
    return n_values


def _make_error(node: yaml.Node, what: str, where: str) -> ConfigError:
    return ConfigError(what, where=f"{where}:{node.start_mark.line + 1}")
