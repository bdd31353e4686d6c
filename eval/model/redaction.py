"""Keeps secrets out of manifests, result files and messages.

Hides the values of settings whose name marks a secret (``api_key``). Also removes secrets from
texts, mostly error messages. There a secret is the value of an environment variable with such a
name, or anything that looks like a key, token or password.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

SECRET_PLACEHOLDER = "[hidden]"  # noqa: S105 - a placeholder, not a password
"""The text that replaces a secret."""

_SECRET_WORDS = frozenset(
    {"key", "apikey", "token", "secret", "password", "passwd", "passphrase", "pwd"}
    | {"credential", "credentials", "authorization", "bearer"}
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""A word of a name in snake_case, camelCase or capitals."""

_SECRET_PATTERNS = (
    # Keys of the usual providers (sk-…, hf_…, ghp_…, AKIA…), anywhere in the text.
    re.compile(
        r"\b(?:sk|pk|rk)-[A-Za-z0-9_\-]{8,}|\b(?:hf|ghp|gho|ghs|glpat)[_-]\w{8,}|\bAKIA\w{12,}"
    ),
    # `Authorization: Bearer x`, `api_key=x`, `"password": "x"`, and user:password@ in an address.
    re.compile(r"(?<=[Bb]earer )\S{4,}"),
    re.compile(
        r"""(?i)(?<![a-z])((?:api[_-]?key|token|secret|password|passwd)["']?\s*[=:]\s*["']?)"""
        r"""[^\s"',;&)}]{4,}"""
    ),
    re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"),
)
_FOLDER_NAMES = frozenset({"PWD", "OLDPWD"})
"""Variables in which a shell keeps its current and its last folder, not passwords."""
_MIN_SECRET_LENGTH = 6
"""Shorter values of variables with secret names ("1", "none") occur in ordinary text."""


def is_secret_name(name: str) -> bool:
    """Returns whether a setting's name marks a secret (``api_key``, ``HF_TOKEN``, ``userSecret``).

    Only whole words count, so ``max_tokens`` and ``tokenizer`` are ordinary settings.
    """
    return any(word.lower() in _SECRET_WORDS for word in _WORD.findall(name))


def hide_secrets(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Returns ``text`` with every secret in it replaced by ``[hidden]``.

    Args:
        text: any text, typically of an exception.
        environment: variables whose values may be secrets; by default this process's environment.
    """
    variables = os.environ if environment is None else environment
    values = {
        value
        for name, value in variables.items()
        if len(value) >= _MIN_SECRET_LENGTH and is_secret_name(name) and name not in _FOLDER_NAMES
    }
    # Longest first: if one secret contains another, the rest of the longer must not stay visible.
    for value in sorted(values, key=lambda value: (-len(value), value)):
        text = text.replace(value, SECRET_PLACEHOLDER)
    for pattern in _SECRET_PATTERNS:
        text = pattern.sub(
            lambda match: (match.group(1) if match.re.groups else "") + SECRET_PLACEHOLDER, text
        )
    return text


async def hide_key(pieces: AsyncGenerator[str, None], key: str) -> AsyncGenerator[str, None]:
    """Yields a text that arrives in pieces without a key, also if several pieces spell it.

    The end of a piece that may be the beginning of the key is held back until more is known.

    Args:
        pieces: the text; if it breaks off with an error, what was held back is yielded before it.
        key: the key; one that is empty or as short as an ordinary word is not hidden.
    """
    held_back = ""
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                text = held_back + piece
                if len(key) >= _MIN_SECRET_LENGTH:
                    text = text.replace(key, SECRET_PLACEHOLDER)
                    lengths = range(min(len(key) - 1, len(text)), 0, -1)
                    n_held = next((n for n in lengths if text.endswith(key[:n])), 0)
                    held_back = text[len(text) - n_held :]
                    text = text.removesuffix(held_back)
                if text:
                    yield text
    except Exception:
        if held_back:
            yield held_back
        raise
    if held_back:
        yield held_back


def hide_secret_values(value: Any) -> Any:
    """Returns a JSON value with all strings under secret keys replaced by ``[hidden]``."""
    if isinstance(value, Mapping):
        return {
            str(key): SECRET_PLACEHOLDER
            if is_secret_name(str(key)) and isinstance(item, str)
            else hide_secret_values(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [hide_secret_values(item) for item in value]
    return value
