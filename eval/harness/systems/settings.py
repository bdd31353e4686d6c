"""Parses ``--set key=value`` pairs, and checks them against the settings a system has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from eval.model.redaction import is_secret_name
from kg.base.errors import SettingError

_NOT_IN_NAMES = re.compile(r"[^\w.-]")


def parse_settings(pairs: Iterable[str]) -> dict[str, str]:
    """Parses ``key=value`` pairs: ``["top_k=5"]`` → ``{"top_k": "5"}``.

    Raises:
        SettingError: a pair has no ``=`` or no key, a key is given twice, or a key names a secret
            (settings are written into the manifest; secrets belong in the environment).
    """
    settings: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip()
        if is_secret_name(key):
            # Before any other check, so that no error message ever quotes the value. Someone who
            # forgot the "=" may have typed the value after a space or a colon.
            name = _NOT_IN_NAMES.split(key, maxsplit=1)[0]
            raise SettingError(
                "a secret cannot be a setting, because settings are stored with the results",
                where=f"--set {name}=…",
                hint=f"Put it in the environment, e.g. export {name.upper().replace('-', '_')}=…",
            )
        if not equals or not key:
            raise SettingError(
                "not a key=value pair", where=f"--set {pair}", hint="For example --set top_k=5."
            )
        if key in settings:
            raise SettingError("given twice", where=f"--set {key}", hint="Keep one of them.")
        settings[key] = value.strip()
    return settings


class Settings:
    """Reads a system's settings, each with its default, and refuses unknown ones.

    Call a ``get_…`` method for every setting the system has, then ``refuse_unknown``.
    """

    def __init__(self, values_by_key: Mapping[str, str], system: str) -> None:
        self._values_by_key = values_by_key
        self._system = system
        self._known_keys: list[str] = []

    def get_text(self, key: str, default: str) -> str:
        """Returns a setting that is free text."""
        self._known_keys.append(key)
        return self._values_by_key.get(key, default)

    def get_choice(self, key: str, options: tuple[str, ...]) -> str:
        """Returns a setting that is one of ``options``; the first is the default.

        Raises:
            SettingError: the value is not one of ``options``.
        """
        value = self.get_text(key, options[0])
        if value not in options:
            raise self._make_error(key, value, f"one of {', '.join(options)}")
        return value

    def get_int(self, key: str, default: int, *, minimum: int) -> int:
        """Returns a setting that is a whole number.

        Raises:
            SettingError: the value is not a whole number, or is less than ``minimum``.
        """
        value = self.get_text(key, str(default))
        try:
            number = int(value)
        except ValueError:
            number = minimum - 1  # fails the check below
        if number < minimum:
            raise self._make_error(key, value, f"a whole number of at least {minimum}")
        return number

    def get_optional_int(self, key: str) -> int | None:
        """Returns a setting that is a whole number of at least 0, or None if it is not given.

        Raises:
            SettingError: the value is not a whole number, or is negative.
        """
        return self.get_int(key, 0, minimum=0) if self.get_text(key, "") else None

    def get_flag(self, key: str) -> bool:
        """Returns whether a yes-no setting is ``yes``; the default is ``no``.

        Raises:
            SettingError: the value is neither ``yes`` nor ``no``.
        """
        return self.get_choice(key, ("no", "yes")) == "yes"

    def get_fraction(self, key: str, default: float) -> float:
        """Returns a setting that is a number in [0, 1].

        Raises:
            SettingError: the value is not a number in [0, 1].
        """
        return self.get_float(key, default, minimum=0.0, maximum=1.0)

    def get_float(self, key: str, default: float, *, minimum: float, maximum: float) -> float:
        """Returns a setting that is a number from ``minimum`` to ``maximum``.

        Raises:
            SettingError: the value is not a number, or is out of this range.
        """
        value = self.get_text(key, str(default))
        try:
            number = float(value)
        except ValueError:
            number = minimum - 1.0  # fails the check below
        if not minimum <= number <= maximum:
            raise self._make_error(key, value, f"a number from {minimum:g} to {maximum:g}")
        return number

    def refuse_unknown(self) -> None:
        """Refuses settings that were given but never read; call it after all ``get_…`` calls.

        Raises:
            SettingError: the system has no such setting; the hint lists those it has, the most
                similar name first.
        """
        for key in self._values_by_key:
            if key not in self._known_keys:
                from rapidfuzz.distance import OSA

                known_keys = sorted(
                    set(self._known_keys), key=lambda name: (OSA.distance(key, name), name)
                )
                raise SettingError(
                    f"system {self._system} has no setting {key!r}",
                    where=f"--set {key}",
                    hint=f"It has: {', '.join(known_keys)}." if known_keys else "It has none.",
                )

    def _make_error(self, key: str, value: str, requirement: str) -> SettingError:
        return SettingError(
            f"setting {key} of system {self._system} must be {requirement}, not {value!r}",
            where=f"--set {key}={value}",
        )
