"""Flags of the command line, which go before what a configuration says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from eval.extraction.running.config import Config, allowed_words
from kg.base.errors import SettingError


def with_flags(config: Config | None, flags: Mapping[str, Any]) -> Config:
    """A configuration with flags entered.

    Args:
        config: as read; null for the defaults.
        flags: by key, as ``model.timeout``; null where a flag was not given.

    Raises:
        SettingError: a flag's value is none the key may have.
    """
    given = msgspec.to_builtins(config or Config())
    for key, value in flags.items():
        if value is None:
            continue
        section, _, name = key.partition(".")
        given[section][name] = value
        try:
            msgspec.convert(given, Config)
        except msgspec.ValidationError as error:
            what = str(error).partition(" - at ")[0]
            fields = msgspec.structs.fields(getattr(Config(), section))
            (kind,) = (field.type for field in fields if field.encode_name == name)
            words = allowed_words(kind)
            hint = f"One of: {', '.join(words)}." if words else "See docs/extraction.md."
            raise SettingError(
                f"{value!r} cannot be {key}: {what}", where=key, hint=hint
            ) from error
    return msgspec.convert(given, Config)
