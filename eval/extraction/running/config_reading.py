"""Reading a configuration: everything that is wrong with it at once, each with its line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_args

import msgspec

from eval.extraction.metrics.grades import Requirements
from eval.extraction.record import Metric
from eval.extraction.running.config import FAMILIES, Config, allowed_words
from eval.extraction.running.yaml_reading import MAX_BYTES, Lined, Place, read_yaml
from eval.redaction import is_secret_name
from kg.base.errors import ConfigError
from kg.base.files import require_file
from kg.words.plain_text import clean_text

METRICS: Final[tuple[str, ...]] = (*FAMILIES, *get_args(Metric))
"""What may stand under ``metrics.enabled``."""

_KEY: Final[Place] = ("model", "api_key")
_NO_KEYS = "keys come from the environment only (docs/models.md)"


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong with a configuration."""

    line: int
    key: str
    """As ``model.timeout``; empty for the file as a whole."""
    what: str
    hint: str = ""

    def __str__(self) -> str:
        key = f"{self.key}: " if self.key else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"line {self.line}: {key}{self.what}{hint}"


def read_config(path: Path | str) -> Config:
    """Reads a configuration file.

    Raises:
        MissingFileError: there is none.
        ConfigError: it is no YAML, or anything in it is wrong; the first fault with its line.
    """
    config, problems = check_config(path)
    if config is None:
        first, more = problems[0], len(problems) - 1
        others = f"; and {more} more, which `epoche extract validate-config` lists" if more else ""
        key = f"{first.key}: " if first.key else ""
        raise ConfigError(
            f"{key}{first.what}{others}", where=f"{path}:{first.line}", hint=first.hint
        )
    return config


def check_config(path: Path | str) -> tuple[Config | None, list[Problem]]:
    """A configuration, or null with all that is wrong with it, by line.

    Raises:
        MissingFileError: there is no such file.
        ConfigError: it is no YAML.
    """
    path = require_file(path, "configuration file")
    with path.open("rb") as handle:
        raw = handle.read(MAX_BYTES + 1)
    lined = read_yaml(raw, str(path))
    problems = sorted(_problems(lined), key=lambda problem: problem.line)
    if problems:
        return None, problems
    return msgspec.convert(_filled(lined.value, Config), Config, strict=True), []


def _problems(lined: Lined) -> Iterator[Problem]:
    if lined.value is None:
        return
    if not isinstance(lined.value, dict):
        yield Problem(1, "", "no mapping of sections", f"such as {', '.join(_sections())}")
        return
    yield from _of_section(lined, lined.value, Config, ())
    yield from _of_names(lined)
    yield from _of_templates(lined)


def _of_section(
    lined: Lined, given: dict[str, Any], kind: type[msgspec.Struct], place: Place
) -> Iterator[Problem]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    faults = 0
    for key, value in given.items():
        here = (*place, key)
        if key not in fields:
            faults += 1
            yield _unknown(lined, here, tuple(fields))
            continue
        inner = _struct_of(fields[key].type)
        if inner is not None and (value is None or isinstance(value, dict)):
            found = list(_of_section(lined, value or {}, inner, here))
        else:
            found = list(_of_value(lined, value, fields[key].type, here))
        faults += len(found)
        yield from found
    if not faults:
        # What concerns several keys of a section, such as thresholds out of order.
        try:
            msgspec.convert(_filled(given, kind), kind, strict=True)
        except msgspec.ValidationError as error:
            yield Problem(_line(lined, place), _dotted(place), _said(error))


def _of_value(lined: Lined, value: Any, kind: Any, place: Place) -> Iterator[Problem]:
    if place == _KEY:
        if value is not None:
            # The value is never quoted: it may be a real key.
            hint = "write null; export it, e.g. VLLM_API_KEY=…"
            yield Problem(_line(lined, place), _dotted(place), _NO_KEYS, hint)
        return
    try:
        msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        words = allowed_words(kind)
        hint = f"one of: {', '.join(words)}" if words else ""
        yield Problem(_line(lined, place), _dotted(place), _said(error), hint)


def _of_names(lined: Lined) -> Iterator[Problem]:
    """Metrics and limits that nobody knows."""
    metrics = _at(lined.value, "metrics")
    enabled = _at(metrics, "enabled")
    for number, name in enumerate(enabled if isinstance(enabled, list) else ()):
        if isinstance(name, str) and name not in METRICS:
            place: Place = ("metrics", "enabled", number)
            near = _nearest(name, METRICS)
            yield Problem(_line(lined, place), _dotted(place), f"no metric {_quoted(name)}", near)
    limits = msgspec.structs.fields(Requirements)
    known = tuple(field.name for field in limits)
    sla = _at(metrics, "sla")
    for level, given in (sla if isinstance(sla, dict) else {}).items():
        for name in given if isinstance(given, dict) else ():
            if name not in known:
                yield _unknown(lined, ("metrics", "sla", level, name), known)


def _of_templates(lined: Lined) -> Iterator[Problem]:
    prompts = _at(lined.value, "prompts")
    user = _at(prompts, "user")
    if isinstance(user, str) and "{text}" not in user:
        place: Place = ("prompts", "user")
        yield Problem(
            _line(lined, place),
            _dotted(place),
            "holds no {text}, so the model would never see the text",
            "put {text} where the text belongs",
        )


def _unknown(lined: Lined, place: Place, known: tuple[str, ...]) -> Problem:
    """A key that nobody knows; of a secret, nothing but its name is said."""
    key = str(place[-1])
    hint = _nearest(key, known)
    if "api_key" in hint or (is_secret_name(key) and not hint):
        return Problem(_line(lined, place), _dotted(place), _NO_KEYS, "leave the key out")
    elsewhere = [path for path in _paths(Config) if path[-1] == key]
    if elsewhere:
        hint = f"it belongs under {_dotted(elsewhere[0][:-1])}"
    elif not hint:
        hint = f"known here: {', '.join(known)}"
    return Problem(_line(lined, place), _dotted(place), "unknown key", hint)


def _paths(kind: type[msgspec.Struct], above: Place = ()) -> Iterator[Place]:
    for field in msgspec.structs.fields(kind):
        inner = _struct_of(field.type)
        if above or inner is None:
            yield (*above, field.encode_name)
        if inner is not None:
            yield from _paths(inner, (*above, field.encode_name))


def _sections() -> tuple[str, ...]:
    return tuple(field.encode_name for field in msgspec.structs.fields(Config))


def _struct_of(kind: Any) -> type[msgspec.Struct] | None:
    kind = get_args(kind)[0] if hasattr(kind, "__metadata__") else kind
    return kind if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else None


def _filled(value: Any, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """``value`` without sections that are named and left blank."""
    inner = {field.encode_name: _struct_of(field.type) for field in msgspec.structs.fields(kind)}
    found: dict[str, Any] = {}
    for key, held in (value or {}).items():
        section = inner[key]
        found[key] = held if section is None else _filled(held, section)
    return found


def _at(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _nearest(name: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.55)
    return f"did you mean {near[0]}?" if near else ""


def _quoted(name: str) -> str:
    return repr(clean_text(name, 60))


def _said(error: msgspec.ValidationError) -> str:
    """What is wrong, without msgspec's own name for the place unless it says more than ours."""
    what, _, where = str(error).partition(" - at ")
    inner = where.strip("`").removeprefix("$")
    return clean_text(f"{what} (at {inner.lstrip('.')})" if inner else what, 300)


def _dotted(place: Place) -> str:
    return clean_text(".".join(map(str, place)), 120)


def _line(lined: Lined, place: Place) -> int:
    """Line of a place, or of the nearest thing around it that has one."""
    while place not in lined.lines and place:
        place = place[:-1]
    return lined.lines.get(place, 1)
