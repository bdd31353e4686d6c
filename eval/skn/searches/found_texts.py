"""Reads what searches found from result files, to replay them instead of searching.

The published benchmark writes ``search_results.json``, an array of ``{"id", "question",
"raw_text"}``, and repeats the text in ``detailed_results.json``, where it does not repeat the
question. Ours add ``results`` and ``error``. A row may also have the results of the search engine
as an array of objects. The published code writes an empty text for a failed search as well as for
one that found nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from eval.harness.predictions.rows import iter_rows, list_names
from eval.skn.items import read_id
from kg.base.errors import DuplicateIdError, RecordError
from kg.base.plain_text import clean_text, to_one_line
from retrieval.web_results import WebResult, clean_results, hash_query

MAX_RESULTS: Final = 5
"""Number of search results that are read, as in the published benchmark."""

_MAX_TEXT_CHARS: Final = 1_000_000
_RESULT_FIELDS: Final = (
    ("title",),
    ("href", "url", "link"),
    ("body", "content", "snippet", "description"),
)
"""Names of title, address and text of a search result, ours first."""
_HINT: Final = (
    "Each needs question (or id) and what was found: raw_text, a text, or results, an array of "
    '{"title", "href", "body"}.'
)


class FoundText(msgspec.Struct, frozen=True, kw_only=True):
    """What one search found; all empty if it found nothing.

    Attributes:
        results: the results one by one.
        raw_text: the text as it was recorded, if there are no results.
        error: why the search failed; null if it did not.
    """

    results: tuple[WebResult, ...] = ()
    raw_text: str = ""
    error: str | None = None


class FoundTexts:
    """The searches of a result file.

    Args:
        path: a JSON array or JSON lines, gzipped or not.

    Raises:
        MissingFileError: there is no such file.
        RecordError: the file is damaged, or a row has no search.
        DuplicateIdError: two rows on one question differ.
    """

    def __init__(self, path: Path) -> None:
        self._by_question: dict[str, FoundText] = {}
        self._by_id: dict[str, FoundText] = {}
        places: dict[tuple[bool, str], str] = {}
        for where, row in iter_rows(path, "search result"):
            is_id, key = _read_key(row, where)
            found = _read_found(row, where)
            known = self._by_id if is_id else self._by_question
            # Repeats of a sample have the same text.
            if known.setdefault(key, found) != found:
                raise DuplicateIdError(
                    f"what was found for {_show(row.get('question', key))} differs from "
                    f"{places[is_id, key]}",
                    where=where,
                    hint="Keep one of them.",
                )
            places.setdefault((is_id, key), where)

    def params(self) -> dict[str, object]:
        """Returns the number of searches, and of those with an empty text, for the manifest."""
        found = [*self._by_question.values(), *self._by_id.values()]
        return {
            "name": "web",
            "frozen": True,
            "queries": len(found),
            "empty": sum(text == FoundText() for text in found),
        }

    def find_text(self, id_: str, question: str) -> FoundText | None:
        """Returns what the search for a question found; None if it is not in the file.

        Rows without a question are looked up by the id of the sample.
        """
        return self._by_question.get(hash_query(question)) or self._by_id.get(id_)


def _read_key(row: Mapping[str, Any], where: str) -> tuple[bool, str]:
    """Returns whether a row is looked up by its id, and the id or the hash of its question."""
    question = next((row[key] for key in ("question", "query") if row.get(key) is not None), None)
    if isinstance(question, str) and question.strip():
        return False, hash_query(question)
    if question is not None:
        raise _make_error(f"its question is {_show(question)}, not a text", row, where)
    if row.get("id") is None:
        raise _make_error("it has neither a question nor an id", row, where)
    try:
        return True, read_id(row["id"])
    except msgspec.ValidationError as error:
        raise _make_error(str(error), row, where) from error


def _read_found(row: Mapping[str, Any], where: str) -> FoundText:
    error = row.get("error")
    if isinstance(error, str) and error.strip():
        return FoundText(error=clean_text(error, 300))
    if row.get("results") is None and row.get("raw_text") is None:
        raise _make_error("it has neither raw_text nor results", row, where)
    # Our own files have an empty array of results where a text was recorded instead.
    key = "results" if row.get("results") else "raw_text"
    value = row.get(key) or ""
    if isinstance(value, list):
        return _read_results(value, key, row, where)
    if not isinstance(value, str):
        raise _make_error(f"its {key} is {_show(value)}, not a text", row, where)
    if len(value) > _MAX_TEXT_CHARS:
        raise _make_error(f"its {key} is longer than {_MAX_TEXT_CHARS:,} characters", row, where)
    return FoundText(raw_text=value if value.strip() else "")


def _read_results(values: list[Any], key: str, row: Mapping[str, Any], where: str) -> FoundText:
    parts = []
    for number, value in enumerate(values, start=1):
        fields = [
            next((value[name] for name in names if value.get(name) is not None), "")
            for names in (_RESULT_FIELDS if isinstance(value, Mapping) else ())
        ]
        if not any(fields) or not all(isinstance(field, str) for field in fields):
            problem = f"number {number} of its {key} has no title, href and body that are texts"
            raise _make_error(problem, row, where)
        title, href, body = fields
        parts.append((title, href, body))
    if all(href.lower().startswith(("http://", "https://")) for _, href, _ in parts):
        return FoundText(results=clean_results(parts))
    # Results without addresses are kept as a text, since a ``WebResult`` has one.
    lines = (tuple(map(to_one_line, part)) for part in parts[:MAX_RESULTS])
    return FoundText(raw_text=format_results(lines))


def format_results(results: Iterable[Sequence[str]]) -> str:
    """Returns results as one text, in the form of the published benchmark.

    Args:
        results: title, address and text of each, on one line, so that none can look like the head
            of another.
    """
    return "\n\n".join(
        f"[Result {rank}]\nTitle: {title}\nURL: {href}\nContent: {body}"
        for rank, (title, href, body) in enumerate(results, start=1)
    )


def _make_error(problem: str, row: Mapping[str, Any], where: str) -> RecordError:
    hint = f"{_HINT} This one has {list_names(row)}."
    return RecordError(f"not a valid search result: {problem}", where=where, hint=hint)


def _show(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return clean_text(text, 60)
