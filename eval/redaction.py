"""Keeps secrets out of manifests, result files and messages.

Two questions are answered here: does a setting's *name* say that its value is a secret, and does
a *text* (an exception's, mostly) quote one. Credentials belong into the environment, so their
values are known to this process and can be blotted out wherever they turn up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "[hidden]"
"""What stands in place of a secret."""

_SECRET_WORDS = frozenset(
    {"key", "apikey", "token", "secret", "password", "passwd", "passphrase", "pwd"}
    | {"credential", "credentials", "authorization", "bearer"}
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_QUOTED_SECRETS = (
    # Keys of the usual providers (sk-…, hf_…, ghp_…, AKIA…), wherever they stand.
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
_SHORTEST_SECRET = 6
"""Shorter values of secret-named variables ("1", "none") would blot out ordinary text."""


def is_secret_name(name: str) -> bool:
    """Whether a setting of this name holds a secret (``api_key``, ``HF_TOKEN``, ``clientSecret``).

    Whole words count, so ``max_tokens`` and ``tokenizer`` are ordinary settings.
    """
    return any(word.lower() in _SECRET_WORDS for word in _WORD.findall(name))


def hide_secrets(text: str, environment: Mapping[str, str] | None = None) -> str:
    """``text`` with every secret it quotes replaced by ``[hidden]``.

    Args:
        text: any text, typically of an exception.
        environment: where secrets are known from; by default this process's environment.
    """
    known = os.environ if environment is None else environment
    values = {
        value
        for name, value in known.items()
        if len(value) >= _SHORTEST_SECRET and is_secret_name(name)
    }
    # Longest first: a secret that contains another must not be left half visible.
    for value in sorted(values, key=lambda value: (-len(value), value)):
        text = text.replace(value, HIDDEN)
    for pattern in _QUOTED_SECRETS:
        text = pattern.sub(lambda m: (m.group(1) if m.re.groups else "") + HIDDEN, text)
    return text


def hide_secret_values(value: Any) -> Any:
    """A JSON value with the texts under secret names replaced, at any depth."""
    if isinstance(value, Mapping):
        return {
            str(key): HIDDEN
            if is_secret_name(str(key)) and isinstance(item, str)
            else hide_secret_values(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [hide_secret_values(item) for item in value]
    return value
