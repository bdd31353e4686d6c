"""``--set key=value``: what a system may be set to, and refusal of what it does not know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eval.redaction import is_secret_name
from kg.base.errors import SettingError


def parse_settings(pairs: Iterable[str]) -> dict[str, str]:
    """``["top_k=5"]`` → ``{"top_k": "5"}``.

    Raises:
        SettingError: a pair has no ``=`` or no key, a key comes twice, or a key names a secret
            (settings are written into the manifest; secrets belong into the environment).
    """
    settings: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip()
        if is_secret_name(key):
            # Before any other check, so that no message ever quotes the value.
            raise SettingError(
                "a secret cannot be a setting, because settings are stored beside the results",
                where=f"--set {key}=…",
                hint=f"Put it into the environment, e.g. export {key.upper().replace('-', '_')}=…",
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
    """Reads a system's settings, each with its default, and refuses the rest.

    Call the readers for all that the system knows, then ``refuse_others``.
    """

    def __init__(self, given: Mapping[str, str], system: str) -> None:
        self._given = given
        self._system = system
        self._known: list[str] = []

    def text(self, key: str, default: str) -> str:
        """A free text."""
        self._known.append(key)
        return self._given.get(key, default)

    def choice(self, key: str, options: tuple[str, ...]) -> str:
        """One of ``options``; the first is the default.

        Raises:
            SettingError: it is none of them.
        """
        value = self.text(key, options[0])
        if value not in options:
            raise self._wrong(key, value, f"one of {', '.join(options)}")
        return value

    def whole(self, key: str, default: int, *, least: int) -> int:
        """A whole number.

        Raises:
            SettingError: it is no number or is less than ``least``.
        """
        value = self.text(key, str(default))
        try:
            number = int(value)
        except ValueError:
            number = least - 1
        if number < least:
            raise self._wrong(key, value, f"a whole number of at least {least}")
        return number

    def optional_whole(self, key: str) -> int | None:
        """A whole number of at least 0; None when it is not given.

        Raises:
            SettingError: it is no number or is negative.
        """
        return self.whole(key, 0, least=0) if self.text(key, "") else None

    def flag(self, key: str) -> bool:
        """``yes`` or ``no``; no when it is not given.

        Raises:
            SettingError: it is neither.
        """
        return self.choice(key, ("no", "yes")) == "yes"

    def fraction(self, key: str, default: float) -> float:
        """A number in [0, 1].

        Raises:
            SettingError: it is not.
        """
        return self.number(key, default, least=0.0, most=1.0)

    def number(self, key: str, default: float, *, least: float, most: float) -> float:
        """A number from ``least`` to ``most``.

        Raises:
            SettingError: it is not.
        """
        value = self.text(key, str(default))
        try:
            number = float(value)
        except ValueError:
            number = least - 1.0
        if not least <= number <= most:
            raise self._wrong(key, value, f"a number from {least:g} to {most:g}")
        return number

    def refuse_others(self) -> None:
        """Ends the reading.

        Raises:
            SettingError: a key was given that the system does not know; the hint lists those it
                does, the nearest first.
        """
        for key in self._given:
            if key not in self._known:
                from rapidfuzz.distance import OSA

                known = sorted(set(self._known), key=lambda name: (OSA.distance(key, name), name))
                raise SettingError(
                    f"system {self._system} has no setting {key!r}",
                    where=f"--set {key}",
                    hint=f"It has: {', '.join(known)}." if known else "It has none.",
                )

    def _wrong(self, key: str, value: str, wanted: str) -> SettingError:
        return SettingError(
            f"setting {key} of system {self._system} must be {wanted}, not {value!r}",
            where=f"--set {key}={value}",
        )
