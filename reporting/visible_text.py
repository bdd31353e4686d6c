"""Makes untrusted text safe to read, and shortens it.

Jinja2 escapes text for HTML, and ``embed_json`` escapes JSON. Escaping does not remove characters
that HTML cannot contain (NUL, lone surrogates), characters that are invisible, and bidirectional
overrides, which reorder the text around them and so can make it read as another text.
``make_visible`` replaces these characters by visible ones.
"""

from __future__ import annotations

import json
from typing import Any

from kg.base.visible_text import make_visible as make_visible

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
