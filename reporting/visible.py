"""Text from anywhere made safe to look at: nothing invisible, nothing that reorders its neighbours.

Escaping for HTML is Jinja2's task and escaping for JSON is ``embed``'s; this module deals with
what no escaping touches: characters that HTML cannot carry (NUL, lone surrogates) and those that
a reader cannot see or that change how the text around them reads (bidirectional overrides).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

_TROUBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
_CONTROL_PICTURES = 0x2400
_DELETE_PICTURE = "\u2421"


def visible(text: str) -> str:
    """``text`` with control, bidi-override and unencodable characters written out.

    C0 controls become their control pictures (NUL → ``␀``), the others ``⟨U+202E⟩``. Tabs, line
    breaks, joiners in emoji and everything printable stay as they are, so the result of clean
    text is that text.
    """
    return _TROUBLE.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == 0x7F:
        return _DELETE_PICTURE
    return f"⟨U+{code:04X}⟩"


def shorten(text: str, width: int) -> str:
    """``text`` cut to ``width`` characters, the last of them an ellipsis when it was longer."""
    return text if len(text) <= width else text[: max(width - 1, 0)].rstrip() + "…"


def cut(text: str, limit: int) -> str:
    """``text`` cut to ``limit`` characters; how many are missing is said."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]} … ({len(text) - limit} more characters)"


def short_names(names: Iterable[str], width: int) -> dict[str, str]:
    """Names cut to ``width`` characters such that different names stay different, if at all.

    Names of models are alike at their beginning (``raw:openai/gpt-…``) and often at their end; so
    where cutting the end makes two alike, the middle goes, then the beginning, and at last all
    but the part in which they differ.
    """
    whole = list(dict.fromkeys(names))
    short = {name: shorten(name, width) for name in whole}
    for head in (width // 2, width // 4, 0):
        for name in _alike(short):
            if len(name) > width:
                tail = width - head - 1
                short[name] = f"{name[:head].rstrip()}…{name[-tail:].lstrip()}"
    clash = _alike(short)
    if len(clash) > 1:
        start = max(_common_start(clash) - 3, 0)
        for name in clash:
            short[name] = shorten(f"…{name[start:]}" if start else name, width)
    return short


def _common_start(names: Sequence[str]) -> int:
    """How many characters all of them begin with."""
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    return next((at for at, (a, b) in pairs if a != b), len(first))


def _alike(short: dict[str, str]) -> list[str]:
    """The names whose short forms are not theirs alone."""
    count = Counter(short.values())
    return [name for name, cut in short.items() if count[cut] > 1]


NAME_LIMIT = 120
"""Characters shown of a system's name, which stands in every table."""


def shown_name(name: str) -> str:
    """A name fit for headings and table heads: visible, its middle left out when very long."""
    text = visible(name)
    if len(text) <= NAME_LIMIT:
        return text
    tail = NAME_LIMIT // 4
    return f"{text[: NAME_LIMIT - tail - 1]}…{text[-tail:]}"


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
    """Gives every distinct string a number, so that a page holds each but once."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of ``text``: its place among the ``numbers``."""
        return self.numbers.setdefault(text, len(self.numbers))


def embed(value: Any) -> str:
    r"""``value`` as JSON that can stand inside ``<script type="application/json">``.

    ``<``, ``>`` and ``&`` only ever occur inside JSON strings, where the ``\uXXXX`` form means
    the same; so no ``</script>`` or ``<!--`` can appear, whatever the data holds.
    """
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return plain.translate(_SCRIPT_ESCAPES)
