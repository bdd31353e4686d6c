"""Replaces characters that are invisible, reorder text, or cannot be encoded."""

from __future__ import annotations

import re

# In this order: control characters except tab and line feed, line separators and bidirectional
# controls, noncharacters, the byte order mark, annotation marks, surrogates, and tag characters.
_UNSAFE_CHARS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
_CONTROL_PICTURES = 0x2400
"""Code point of ``␀``; the pictures of the other C0 controls follow in their order."""
_DELETE_PICTURE = "\u2421"


def make_visible(text: str) -> str:
    """Replaces control, bidirectional-override and unencodable characters by visible ones.

    C0 controls become their control pictures (NUL → ``␀``), the others their code points
    (``⟨U+202E⟩``). Tabs, line breaks, joiners in emoji and all printable characters stay, so clean
    text is returned unchanged.
    """
    return _UNSAFE_CHARS.sub(_escape_char, text)


def _escape_char(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == 0x7F:
        return _DELETE_PICTURE
    return f"⟨U+{code:04X}⟩"
