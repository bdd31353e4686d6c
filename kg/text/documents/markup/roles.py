"""Reads roles of reStructuredText and MyST: what stands for a role in the text."""

from __future__ import annotations

import re

SUPERSCRIPT_ROLES = frozenset({"sup", "superscript"})
SUBSCRIPT_ROLES = frozenset({"sub", "subscript"})
_STRUCK_OUT_ROLES = frozenset({"del", "strike", "strikethrough"})
_NUMBER_ROLES = {"rfc": "RFC ", "pep": "PEP ", "cve": "CVE-", "cwe": "CWE-"}
"""Roles whose text is a number, and what is read before it."""
_ROLE_TITLE = re.compile(r"(.*?)\s*<[^<>]*>\s*\Z", re.DOTALL)


def read_role(role: str, text: str) -> str:
    """Returns what is read of a role: the title of ``title <target>``, the last part of ``~a.b``.

    Other texts stay as they are, without a ``!``; text that is struck out is nothing. Superscripts
    must be written by the caller.
    """
    role = role.lower()
    if role in _STRUCK_OUT_ROLES:
        return ""
    if role in SUPERSCRIPT_ROLES or role in SUBSCRIPT_ROLES:
        return text
    title = _ROLE_TITLE.match(text)
    if title is not None and title[1]:
        text = title[1]
    elif text.startswith("~"):
        text = text[1:].rsplit(".", 1)[-1]
    elif role in _NUMBER_ROLES:
        text = _NUMBER_ROLES[role] + text.replace("#section-", " section ")
    return text.removeprefix("!")
