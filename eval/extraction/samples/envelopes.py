"""Takes extractions out of the records in which benchmarks and services store them.

For example DocuBench's ``{"status": "ok", "time_sec": 5.9, "data": {…}}``, omni-extract-bench's
``{"output": {…}, "cost": …}`` and ExtractBench's ``{"output": {"extracted_data": {…},
"field_citations": […]}}``; also replies of model servers as they are (``server_replies``). Of other
records the schema decides: an object that has a key of its own schema is the extraction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from eval.extraction.matchers.rules import is_placeholder
from eval.extraction.matchers.schema_nodes import SchemaNode, get_schema_plan
from eval.extraction.matchers.value_comparison import compare_values, is_same_json
from eval.extraction.samples.column_names import drop_separators, find_names
from eval.extraction.samples.server_replies import read_server_reply
from eval.extraction.settings import DEFAULT_MATCHING
from eval.extraction.verdicts.quotes import QUOTE_TEXTS
from kg.base.plain_text import clean_text
from kg.base.strict_json import NotJsonError, parse_json

VALUE_KEYS: Final = (
    *("value", "prediction", "predicted", "predicted_output", "predicted_json", "extraction"),
    *("extracted", "extracted_data", "extracted_json"),
    *("output", "data", "result", "response", "model_output", "answer", "content"),
    *("parsed", "structured_output", "arguments", "fields", "tool_calls", "choices", "candidates"),
    *("message", "body"),
)
"""Keys under which records store an extraction, the most specific first. The last are those of the
replies of OpenAI, Anthropic, Gemini and servers like theirs."""
_INNER_KEYS: Final = (
    *VALUE_KEYS,
    *("function", "function_call", "functionCall", "args", "input", "parts", "json"),
    *("text", "output_text", "refusal"),
)
"""Keys within such a record; outside, "text" and "input" are what the extraction is from."""
_REPLY_LISTS: Final = ("choices", "candidates", "tool_calls", "parts", "content", "output")
"""Keys of lists whose elements are parts of one reply."""
_PART_KEYS: Final = (
    *("message", "content", "function", "functionCall", "arguments", "input", "json"),
)
"""Keys of those parts that may have the extraction, rather than words around it."""
QUOTE_LISTS: Final = ("field_citations", "citations", "evidence", "quotes")
"""Keys beside an extraction with a list of quotes."""
FIELD_KEYS: Final = ("field_path", "field", "path", "json_path")
"""Keys of a quote with the field that it supports."""
NAME_KEYS: Final = ("name", "key", "field", "field_name", "label")
"""Keys of an element of a list with the name of the field whose value it has."""
MAX_QUOTES: Final = 10_000
MAX_QUOTE_CHARACTERS: Final = 10_000

_ERROR_KEYS = ("error", "__error__", "error_message", "failure", "exception")
_FAILED_STATUSES = ("error", "failed", "failure", "timeout", "timed_out", "cancelled")
_MAX_LEVELS = 10
_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})
_ANY_SCHEMA: Final[dict[str, Any]] = {}


class Record(msgspec.Struct, frozen=True):
    """What a record of one prediction contains."""

    value: Any
    """The extraction."""
    keys: str = ""
    """The keys that led to it, joined by dots; empty if there is no record around it."""
    form: str = "its record"
    """What the keys are of, in words."""
    reason: str = ""
    """Why the extraction may be unreadable, as a model server says; otherwise empty."""
    error: str = ""
    """Why there is no extraction; otherwise empty."""
    quotes: tuple[tuple[str, str], ...] = ()
    """Field (or an empty text) and quoted words, from beside the extraction."""
    disputed: frozenset[str] = frozenset()
    """Keys of which pages have several values."""


def open_record(
    value: Any,
    declared: Collection[str],
    *,
    root: SchemaNode | None = None,
    joins_pages: bool = True,
) -> Record:
    """Takes an extraction out of its record, if there is one.

    Args:
        value: a prediction as JSON.
        declared: the keys that the schema (or, without one, the expected output) has at the top.
        root: schema node of the extraction, which says when pages agree; ``None`` for any values.
        joins_pages: whether a list of extractions is one extraction, page by page.
    """
    keys: list[str] = []
    quotes: list[tuple[str, str]] = []
    current = value
    form, reason = "its record", ""
    disputed: frozenset[str] = frozenset()
    while isinstance(current, dict | list) and len(keys) < _MAX_LEVELS:
        reply = read_server_reply(current, declared, lambda one: count_declared_keys(one, declared))
        if reply is not None:
            keys += reply.keys
            if reply.error:
                return Record(None, ".".join(keys), error=reply.error)
            current, form, reason = reply.value, reply.form, reply.reason
        elif isinstance(current, dict) and _is_foreign(current, declared):
            key = _find_value_key(current, declared, _INNER_KEYS if keys else VALUE_KEYS)
            error = find_error(current)
            if error and (key is None or not current[key]):
                return Record(None, ".".join(keys), error=error)
            if key is None:
                break
            quotes += list_quotes(current)
            keys.append(key)
            current = current[key]
            if (
                isinstance(current, list)
                and key in _REPLY_LISTS
                and not _are_pages(current, declared)
            ):
                current = _choose_part(current)
        else:
            break
        if isinstance(current, str):
            try:
                current = parse_json(current)
            except NotJsonError:
                break
    named = _read_named_values(current, declared)
    if named is not None:
        keys = [*keys[:-1], f"{keys[-1] if keys else ''}[{named[0]}]"]
        current = named[1]
    elif joins_pages and isinstance(current, list) and _are_pages(current, declared):
        is_extract_bench = drop_separators(keys[-1] if keys else "") == "extracteddata"
        keys = [*keys[:-1], f"{keys[-1] if keys else ''}[]"]
        node = root or get_schema_plan(_ANY_SCHEMA).root
        current, disputed = _join_pages(current, node, keeps_first=is_extract_bench)
    quoted = tuple(quotes[:MAX_QUOTES])
    return Record(current, ".".join(keys), form, reason, quotes=quoted, disputed=disputed)


def _choose_part(parts: list[Any]) -> Any:
    """Returns the part of a model's reply with the extraction, else the texts of all parts."""
    known = [part for part in parts if isinstance(part, dict) and not part.get("thought")]
    for part in known:
        if any(part.get(key) for key in _PART_KEYS):
            return part
    texts = [part["text"] for part in known if isinstance(part.get("text"), str)]
    return "".join(texts) if texts else parts


def _are_pages(values: list[Any], declared: Collection[str]) -> bool:
    """Returns whether a list has an extraction of each page where the schema asks for one."""
    return bool(values) and all(
        isinstance(page, dict) and any(key in declared for key in page) for page in values
    )


def _read_named_values(parts: Any, declared: Collection[str]) -> tuple[str, dict[str, Any]] | None:
    """Reads a list of ``{"name": "total", "value": 80}`` as an object, and names the key of names.

    ``None`` for anything else: all must have a name of their own and a value, most names must be
    declared, and not both keys.
    """
    if not isinstance(parts, list) or not parts or not all(isinstance(one, dict) for one in parts):
        return None
    for key in find_names(parts[0], NAME_KEYS):
        if key in declared and "value" in declared:
            continue
        names = [part.get(key) for part in parts if "value" in part]
        known = {name for name in names if isinstance(name, str)}
        if len(known) == len(parts) and len(known & frozenset(declared)) > len(parts) / 2:
            rests = [{k: v for k, v in part.items() if k != key} for part in parts]
            return key, {
                part[key]: rest["value"] if len(rest) == 1 else rest
                for part, rest in zip(parts, rests, strict=True)
            }
    return None


def _join_pages(
    pages: list[dict[str, Any]], node: SchemaNode, *, keeps_first: bool
) -> tuple[dict[str, Any], frozenset[str]]:
    """Joins the extractions of pages; also returns the keys of which they have several values.

    Lists and objects are joined. Several values of a field are kept as a list, and so are not right
    where one is asked for; ExtractBench takes the first. One value in two notations is the same,
    and what says that there is no value disagrees with none.
    """
    joined: dict[str, Any] = {}
    others: dict[str, list[Any]] = {}
    disputed: set[str] = set()
    for page in pages:
        for key, value in page.items():
            known, child = joined.get(key), node.get_child(key)
            if known in _EMPTY or (_is_blank(known, child) and value not in _EMPTY):
                joined[key] = value
            elif isinstance(known, list) and isinstance(value, list):
                joined[key] = [*known, *value]
            elif _is_blank(value, child) or _is_same(known, value, child):
                continue
            elif isinstance(known, dict) and isinstance(value, dict) and not keeps_first:
                joined[key], inner = _join_pages([known, value], child, keeps_first=False)
                disputed |= inner
            elif not any(_is_same(other, value, child) for other in others.get(key, ())):
                disputed.add(key)
                others.setdefault(key, []).append(value)
    if not keeps_first:
        joined |= {key: [joined[key], *values] for key, values in others.items()}
    return joined, frozenset(disputed)


def _is_blank(value: Any, node: SchemaNode) -> bool:
    """Returns whether a value says that there is none, as "N/A" does unless the schema has it."""
    return value in _EMPTY or (is_placeholder(value) and not node.has_choice(value))


def _is_same(first: Any, second: Any, node: SchemaNode) -> bool:
    """Returns whether two values of a field are one, in two notations or as they are."""
    if isinstance(first, list | dict) or isinstance(second, list | dict):
        return is_same_json(first, second)
    return compare_values(node, first, second, DEFAULT_MATCHING)[0]


def _is_foreign(record: dict[str, Any], declared: Collection[str]) -> bool:
    """Returns whether an object is no extraction: it has none of the keys that one may have.

    An object around another one that has more of these keys is none either.
    """
    n_own = count_declared_keys(record, declared)
    if not n_own:
        return bool(record)
    return any(
        count_declared_keys(record[key], declared) > n_own
        for key in find_names(record, VALUE_KEYS)
        if key not in declared
    )


def count_declared_keys(value: Any, declared: Collection[str]) -> int:
    """Counts the declared keys of an object, which may be given as a text of JSON."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = parse_json(value)
        except NotJsonError:
            return 0
    return sum(key in declared for key in value) if isinstance(value, dict) else 0


def _find_value_key(
    record: dict[str, Any], declared: Collection[str], keys: Sequence[str]
) -> str | None:
    """Returns the key of the extraction, or of a record around it."""
    known = find_names(record, keys)
    found = [
        key
        for key in known
        if isinstance(record[key], dict | list) and (record[key] or key not in _REPLY_LISTS)
    ]
    for key in found:
        if count_declared_keys(record[key], declared):
            return key
    if found:
        return found[0]
    texts = [key for key in known if isinstance(record[key], str)]
    return texts[0] if texts else None


def find_error(record: Mapping[str, Any]) -> str:
    """Finds why a record has no extraction; empty if it does not say."""
    for key in find_names(record, _ERROR_KEYS):
        if record[key]:
            return clean_text(str(record[key]), 300)
    status = record.get("status")
    if isinstance(status, str) and status.lower() in _FAILED_STATUSES:
        return f"its status is {clean_text(status, 60)!r}"
    if record.get("success") is False:
        return "it was not successful"
    return ""


def list_quotes(record: dict[str, Any]) -> list[tuple[str, str]]:
    """Lists the quotes that are stored beside an extraction, with the fields they support."""
    quotes: list[tuple[str, str]] = []
    for key in QUOTE_LISTS:
        quotes += _iter_quotes(record.get(key), "")
    return quotes[:MAX_QUOTES]


def _iter_quotes(value: Any, field: str) -> Iterator[tuple[str, str]]:
    """Yields quotes of a list of quotes, or of an object of field → quote or quotes."""
    if isinstance(value, str):
        if value.strip():
            yield field, value[:MAX_QUOTE_CHARACTERS]
    elif isinstance(value, list):
        for item in value[:MAX_QUOTES]:
            if isinstance(item, str):
                yield from _iter_quotes(item, field)
            elif isinstance(item, dict):
                text = next(
                    (item[key] for key in QUOTE_TEXTS if isinstance(item.get(key), str)), ""
                )
                name = next((item[key] for key in FIELD_KEYS if isinstance(item.get(key), str)), "")
                yield from _iter_quotes(text, name or field)
    elif isinstance(value, dict) and not field:
        for name, item in list(value.items())[:MAX_QUOTES]:
            yield from _iter_quotes([item] if isinstance(item, dict) else item, str(name))


def list_gold_quotes(rules: Any) -> list[tuple[str, str]]:
    """Lists the quotes of rules as ExtractBench stores them: field → evidence with quotes.

    Args:
        rules: an object of field path → rule, or a list of rules with ``field_path``; a rule has a
            list ``evidence`` of objects with ``quote``. Also its JSON text.
    """
    if isinstance(rules, str):
        try:
            rules = parse_json(rules)
        except NotJsonError:
            return []
    pairs: list[tuple[Any, Any]] = []
    if isinstance(rules, dict):
        pairs = list(rules.items())
    elif isinstance(rules, list):
        pairs = [(rule.get("field_path"), rule) for rule in rules if isinstance(rule, dict)]
    quotes: list[tuple[str, str]] = []
    for path, rule in pairs[:MAX_QUOTES]:
        if isinstance(rule, dict):
            quotes += _iter_quotes(rule.get("evidence"), str(path or ""))
    return quotes[:MAX_QUOTES]
