"""Makes untrusted text safe to read, and shortens it.

Jinja2 escapes text for HTML, and ``embed_json`` escapes JSON. Escaping does not remove characters
that HTML cannot contain (NUL, lone surrogates), characters that are invisible, and bidirectional
overrides, which reorder the text around them and so can make it read as another text.
``make_visible`` replaces these characters by visible ones.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from kg.base.visible_text import make_visible as make_visible


def shorten_text(text: str, width: int) -> str:
    """Cuts text to ``width`` characters; the last one is an ellipsis if the text was longer."""
    return text if len(text) <= width else text[: max(width - 1, 0)].rstrip() + "…"


def truncate_text(text: str, max_length: int) -> str:
    """Cuts text to ``max_length`` characters and appends how many are missing."""
    if len(text) <= max_length:
        return text
    return f"{text[:max_length]} … ({len(text) - max_length} more characters)"


def shorten_names(names: Iterable[str], width: int) -> dict[str, str]:
    """Cuts names to ``width`` characters, so that different names stay different if possible.

    Names of models often have the same beginning (``raw:openai/gpt-…``), or the same end. If
    cutting the end makes two names equal, their middle is cut instead, then their beginning, and
    finally everything but the part in which they differ.
    """
    distinct = list(dict.fromkeys(names))
    short_names = {name: shorten_text(name, width) for name in distinct}
    for head in (width // 2, width // 4, 0):
        for name in _find_duplicates(short_names):
            if len(name) > width:
                tail = width - head - 1
                short_names[name] = f"{name[:head].rstrip()}…{name[-tail:].lstrip()}"
    duplicates = _find_duplicates(short_names)
    if len(duplicates) > 1:
        start = max(_common_prefix_length(duplicates) - 3, 0)
        for name in duplicates:
            short_names[name] = shorten_text(f"…{name[start:]}" if start else name, width)
    return short_names


def _common_prefix_length(names: Sequence[str]) -> int:
    """Returns the length of the names' common prefix."""
    # The first and the last name in sorted order differ earliest.
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    return next((position for position, (a, b) in pairs if a != b), len(first))


def _find_duplicates(short_names: dict[str, str]) -> list[str]:
    """Returns the names that share their short form with another name."""
    count = Counter(short_names.values())
    return [name for name, shortened in short_names.items() if count[shortened] > 1]


MAX_NAME_LENGTH = 120
"""Maximum length of a system's name on a page, in characters; every table repeats the name."""


def format_name(name: str) -> str:
    """Formats a name for headings and tables; the middle of a very long name is cut out."""
    text = make_visible(name)
    if len(text) <= MAX_NAME_LENGTH:
        return text
    tail = MAX_NAME_LENGTH // 4
    return f"{text[: MAX_NAME_LENGTH - tail - 1]}…{text[-tail:]}"


_SCRIPT_ESCAPES = str.maketrans(
    {
        "<": "\\u003c",
        ">": "\\u003e",
        "&": "\\u0026",
        "\u2028": "\\u2028",
        "\u2029": "\\u2029",
    }
)


class StringTable:
    """Numbers distinct strings, so that a page contains each of them only once."""

    def __init__(self) -> None:
        self.indices: dict[str, int] = {}

    def get_index(self, text: str) -> int:
        """Returns the index of ``text``, adding it if it is new."""
        return self.indices.setdefault(text, len(self.indices))


def embed_json(value: Any) -> str:
    r"""Renders ``value`` as JSON for a ``<script type="application/json">`` element.

    ``<``, ``>`` and ``&`` occur only inside JSON strings, where the ``\uXXXX`` form means the same.
    With that form, no ``</script>`` or ``<!--`` in the data can end the element.
    """
    json_text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return json_text.translate(_SCRIPT_ESCAPES)
