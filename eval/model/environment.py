"""Reads addresses and keys from the environment and the ``.env`` file of the current folder.

The file is read as text: it is not executed or copied into ``os.environ``, so no child process
inherits it. Variables of the environment take precedence over those of the file.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path

from eval.model.redaction import hide_secrets
from kg.base.errors import SettingError

MAX_FILE_BYTES = 64 * 1024
"""A longer ``.env`` is refused, since it is probably some other file."""


class Variables:
    """Environment variables, with those of a ``.env`` file as defaults.

    A blank variable counts as not set, as in the shell's ``${NAME:-default}``.
    """

    def __init__(self, environment: Mapping[str, str], file: Mapping[str, str]) -> None:
        self._environment = environment
        self._file = file

    def get(self, name: str) -> str | None:
        """Returns the value of ``name``, or None if it is not set."""
        return self.get_exported(name) or self._file.get(name, "").strip() or None

    def get_exported(self, name: str) -> str | None:
        """Returns the value of ``name`` in the environment alone; ``.env`` does not count."""
        return self._environment.get(name, "").strip() or None

    def is_from_file(self, name: str) -> bool:
        """Returns whether the value of ``name`` comes from the ``.env`` file."""
        return self.get_exported(name) is None and self.get(name) is not None

    def redact_text(self, text: str) -> str:
        """Returns ``text`` with the secrets of the environment and of the file hidden."""
        return hide_secrets(text, {**self._file, **self._environment})


def read_variables(folder: Path | None = None) -> Variables:
    """Reads the environment and the ``.env`` of ``folder``, by default the current one.

    Raises:
        SettingError: the file is too long, cannot be read or is not UTF-8 text.
    """
    path = (folder or Path.cwd()) / ".env"
    if not path.exists():
        return Variables(os.environ, {})
    from dotenv import dotenv_values

    try:
        with path.open("rb") as handle:
            raw = handle.read(MAX_FILE_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise SettingError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise SettingError("is not UTF-8 text", where=str(path)) from error
    if len(raw) > MAX_FILE_BYTES:
        raise SettingError(
            f"is longer than {MAX_FILE_BYTES} bytes", where=str(path), hint="Is it another file?"
        )
    # No interpolation: a value such as ${HOME} is used literally.
    pairs = dotenv_values(stream=io.StringIO(text), interpolate=False)
    return Variables(os.environ, {name: value for name, value in pairs.items() if value})
