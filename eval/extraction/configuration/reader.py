"""Reads configuration files, reports all problems with their lines, and applies flags."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_args

import msgspec

from eval.extraction.configuration.config import METRIC_GROUPS, Config, list_allowed_values
from eval.extraction.configuration.yaml_reader import MAX_BYTES, KeyPath, LocatedValue, read_yaml
from eval.extraction.metrics.grades import Requirements
from eval.extraction.record import Metric
from eval.model.redaction import is_secret_name
from kg.base.errors import ConfigError, SettingError
from kg.base.files import require_file
from kg.base.plain_text import clean_text

METRIC_NAMES: Final[tuple[str, ...]] = (*METRIC_GROUPS, *get_args(Metric))
"""The names that ``metrics.enabled`` accepts."""

_API_KEY: Final[KeyPath] = ("model", "api_key")
_API_KEY_MESSAGE = "keys come from the environment only (docs/how-to/models.md)"


class ConfigProblem(msgspec.Struct, frozen=True):
    """One problem of a configuration file."""

    line: int
    key: str
    """Path of the key, as in ``model.timeout``; empty for the whole file."""
    what: str
    hint: str = ""

    def __str__(self) -> str:
        key = f"{self.key}: " if self.key else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"line {self.line}: {key}{self.what}{hint}"


def read_config(path: Path | str) -> Config:
    """Reads a configuration file.

    Raises:
        MissingFileError: the file does not exist.
        ConfigError: the file is not YAML or has a problem; the message names the first problem
            with its line.
    """
    config, problems = check_config(path)
    if config is None:
        first, n_more = problems[0], len(problems) - 1
        more = f"; and {n_more} more, which `epoche extract validate-config` lists"
        key = f"{first.key}: " if first.key else ""
        raise ConfigError(
            f"{key}{first.what}{more if n_more else ''}",
            where=f"{path}:{first.line}",
            hint=first.hint,
        )
    return config


def check_config(path: Path | str) -> tuple[Config | None, list[ConfigProblem]]:
    """Returns the configuration, or None and all problems of the file in the order of lines.

    Raises:
        MissingFileError: the file does not exist.
        ConfigError: the file is not YAML.
    """
    path = require_file(path, "configuration file")
    with path.open("rb") as handle:
        raw = handle.read(MAX_BYTES + 1)
    located = read_yaml(raw, str(path))
    problems = sorted(_find_problems(located), key=lambda problem: problem.line)
    if problems:
        return None, problems
    return msgspec.convert(_drop_blank_sections(located.value, Config), Config, strict=True), []


def apply_flags(config: Config | None, flags: Mapping[str, Any]) -> Config:
    """Returns a configuration in which command-line flags replace the values of their keys.

    Args:
        config: the configuration; None for the defaults.
        flags: values by key, as in ``model.timeout``; None for a flag that was not given.

    Raises:
        SettingError: the key does not allow the value of its flag.
    """
    values = msgspec.to_builtins(config or Config())
    for key, value in flags.items():
        if value is None:
            continue
        section, _, name = key.partition(".")
        values[section][name] = value
        try:
            msgspec.convert(values, Config)
        except msgspec.ValidationError as error:
            what = str(error).partition(" - at ")[0]
            fields = msgspec.structs.fields(getattr(Config(), section))
            (kind,) = (field.type for field in fields if field.encode_name == name)
            allowed = list_allowed_values(kind)
            hint = (
                f"One of: {', '.join(allowed)}." if allowed else "See docs/reference/extraction.md."
            )
            raise SettingError(
                f"{value!r} cannot be {key}: {what}", where=key, hint=hint
            ) from error
    return msgspec.convert(values, Config)


def _find_problems(located: LocatedValue) -> Iterator[ConfigProblem]:
    if located.value is None:
        return
    if not isinstance(located.value, dict):
        sections = ", ".join(_list_sections())
        yield ConfigProblem(1, "", "not a mapping of sections", f"such as {sections}")
        return
    yield from _check_section(located, located.value, Config, ())
    yield from _check_names(located)
    yield from _check_templates(located)


def _check_section(
    located: LocatedValue, values: dict[str, Any], kind: type[msgspec.Struct], path: KeyPath
) -> Iterator[ConfigProblem]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    n_problems = 0
    for key, value in values.items():
        key_path = (*path, key)
        if key not in fields:
            n_problems += 1
            yield _describe_unknown_key(located, key_path, tuple(fields))
            continue
        section = _get_struct_type(fields[key].type)
        if section is not None and (value is None or isinstance(value, dict)):
            problems = list(_check_section(located, value or {}, section, key_path))
        else:
            problems = list(_check_value(located, value, fields[key].type, key_path))
        n_problems += len(problems)
        yield from problems
    if not n_problems:
        # Conditions on several keys of a section, such as the order of thresholds.
        try:
            msgspec.convert(_drop_blank_sections(values, kind), kind, strict=True)
        except msgspec.ValidationError as error:
            yield _make_problem(located, path, _describe_error(error))


def _check_value(
    located: LocatedValue, value: Any, kind: Any, path: KeyPath
) -> Iterator[ConfigProblem]:
    if path == _API_KEY:
        if value is not None:
            # The value is never quoted: it may be a real key.
            hint = "write null; export it, e.g. VLLM_API_KEY=…"
            yield _make_problem(located, path, _API_KEY_MESSAGE, hint)
        return
    try:
        msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        allowed = list_allowed_values(kind)
        hint = f"one of: {', '.join(allowed)}" if allowed else ""
        yield _make_problem(located, path, _describe_error(error), hint)


def _check_names(located: LocatedValue) -> Iterator[ConfigProblem]:
    """Yields unknown names of metrics and of service-level limits."""
    metrics = _get_item(located.value, "metrics")
    enabled = _get_item(metrics, "enabled")
    for number, name in enumerate(enabled if isinstance(enabled, list) else ()):
        if isinstance(name, str) and name not in METRIC_NAMES:
            what = f"no metric {_quote_name(name)}"
            hint = _suggest_name(name, METRIC_NAMES)
            yield _make_problem(located, ("metrics", "enabled", number), what, hint)
    limit_names = tuple(field.name for field in msgspec.structs.fields(Requirements))
    sla = _get_item(metrics, "sla")
    for level, limits in (sla if isinstance(sla, dict) else {}).items():
        for name in limits if isinstance(limits, dict) else ():
            if name not in limit_names:
                yield _describe_unknown_key(located, ("metrics", "sla", level, name), limit_names)


def _check_templates(located: LocatedValue) -> Iterator[ConfigProblem]:
    user = _get_item(_get_item(located.value, "prompts"), "user")
    if isinstance(user, str) and "{text}" not in user:
        yield _make_problem(
            located,
            ("prompts", "user"),
            "does not contain {text}, so the model would never see the text",
            "put {text} where the text belongs",
        )


def _describe_unknown_key(
    located: LocatedValue, path: KeyPath, known_keys: tuple[str, ...]
) -> ConfigProblem:
    """Describes an unknown key; if it may be a secret, the message does not quote its value."""
    key = str(path[-1])
    hint = _suggest_name(key, known_keys)
    if "api_key" in hint or (is_secret_name(key) and not hint):
        return _make_problem(located, path, _API_KEY_MESSAGE, "leave the key out")
    elsewhere = [known_path for known_path in _iter_key_paths(Config) if known_path[-1] == key]
    if elsewhere:
        hint = f"it belongs under {_format_path(elsewhere[0][:-1])}"
    elif not hint:
        hint = f"known here: {', '.join(known_keys)}"
    return _make_problem(located, path, "unknown key", hint)


def _make_problem(located: LocatedValue, path: KeyPath, what: str, hint: str = "") -> ConfigProblem:
    return ConfigProblem(_find_line(located, path), _format_path(path), what, hint)


def _iter_key_paths(kind: type[msgspec.Struct], parent: KeyPath = ()) -> Iterator[KeyPath]:
    for field in msgspec.structs.fields(kind):
        section = _get_struct_type(field.type)
        if parent or section is None:
            yield (*parent, field.encode_name)
        if section is not None:
            yield from _iter_key_paths(section, (*parent, field.encode_name))


def _list_sections() -> tuple[str, ...]:
    return tuple(field.encode_name for field in msgspec.structs.fields(Config))


def _get_struct_type(kind: Any) -> type[msgspec.Struct] | None:
    kind = get_args(kind)[0] if hasattr(kind, "__metadata__") else kind
    return kind if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else None


def _drop_blank_sections(value: Any, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Replaces sections that are named but left blank (null) by empty mappings."""
    fields = msgspec.structs.fields(kind)
    section_types = {field.encode_name: _get_struct_type(field.type) for field in fields}
    filled: dict[str, Any] = {}
    for key, inner in (value or {}).items():
        section = section_types[key]
        filled[key] = inner if section is None else _drop_blank_sections(inner, section)
    return filled


def _get_item(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _suggest_name(name: str, known_names: tuple[str, ...]) -> str:
    matches = difflib.get_close_matches(name.lower(), known_names, n=1, cutoff=0.55)
    return f"did you mean {matches[0]}?" if matches else ""


def _quote_name(name: str) -> str:
    return repr(clean_text(name, 60))


def _describe_error(error: msgspec.ValidationError) -> str:
    """Returns msgspec's message; with its path only if that goes deeper than the key."""
    what, _, where = str(error).partition(" - at ")
    inner_path = where.strip("`").removeprefix("$")
    return clean_text(f"{what} (at {inner_path.lstrip('.')})" if inner_path else what, 300)


def _format_path(path: KeyPath) -> str:
    return clean_text(".".join(map(str, path)), 120)


def _find_line(located: LocatedValue, path: KeyPath) -> int:
    """Returns the line of a key; if it has none, that of the nearest key above it."""
    while path not in located.lines and path:
        path = path[:-1]
    return located.lines.get(path, 1)
