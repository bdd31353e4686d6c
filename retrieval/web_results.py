"""Reads and writes recorded web searches: one JSON line per query.

The content comes from untrusted web pages. Text is limited in length and stripped of terminal
control characters, URLs must be http or https, and nothing is ever fetched or executed. This
cleaning is repeated when a file is read, since the file may come from anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from kg.base.errors import DuplicateIdError, RecordError
from kg.base.files import convert_write_errors, iter_decoded_lines, to_json_bytes
from kg.base.plain_text import clean_text, to_one_line
from retrieval.protocol import Passage

MAX_TITLE_LENGTH = 300
MAX_BODY_LENGTH = 2_000
MAX_URL_LENGTH = 2_000
MAX_RESULTS = 100
"""Maximum number of results per query."""
MAX_QUERY_LENGTH = 500
"""Maximum number of characters of a query; search engines truncate longer ones themselves."""


class WebResult(msgspec.Struct, frozen=True):
    """One cleaned search result."""

    title: str
    href: str
    body: str

    @property
    def id(self) -> str:
        """The passage's id: a hash of the result, independent of the query."""
        return f"web#{hashlib.sha256(to_json_bytes(self)).hexdigest()[:16]}"

    @property
    def passage(self) -> Passage:
        """The result as a passage: the title, and on the next line the text."""
        return Passage(self.id, "\n".join(part for part in (self.title, self.body) if part))


class FrozenQuery(msgspec.Struct, frozen=True):
    """The recorded ("frozen") results of one query."""

    query: str
    query_sha256: str
    """Hash of the query as normalised by ``normalise_query``."""
    date: str
    """Time of the search, ISO 8601 in UTC."""
    backends: tuple[str, ...]
    """The search engines that were queried, in order."""
    results: tuple[WebResult, ...]
    """Best first; empty if the engines responded and found nothing."""


def normalise_query(query: str) -> str:
    """Returns a query as it is sent and recorded: one line of ``MAX_QUERY_LENGTH`` characters."""
    # Cut first, to bound the work on a huge query. Four times the limit, because collapsing
    # whitespace shortens the query.
    return to_one_line(query[: 4 * MAX_QUERY_LENGTH])[:MAX_QUERY_LENGTH].strip()


def hash_query(query: str) -> str:
    """Returns the hex SHA-256 of the normalised query, which identifies it in a file."""
    return hashlib.sha256(normalise_query(query).encode("utf-8", "surrogatepass")).hexdigest()


def clean_results(results: Iterable[tuple[str, str, str]]) -> tuple[WebResult, ...]:
    """Cleans search results and drops duplicates and results without an http or https URL.

    The order is kept.

    Args:
        results: (title, URL, text) as returned by a search engine; untrusted.
    """
    unique_results: dict[WebResult, None] = {}
    for title, href, body in results:
        address = to_one_line(href[: MAX_URL_LENGTH + 1])
        if len(address) > MAX_URL_LENGTH or not address.lower().startswith(("http://", "https://")):
            continue
        result = WebResult(
            clean_text(title, MAX_TITLE_LENGTH), address, clean_text(body, MAX_BODY_LENGTH)
        )
        if result.title or result.body:
            unique_results.setdefault(result)
    return tuple(unique_results)[:MAX_RESULTS]


def read_frozen_queries(path: Path | str) -> dict[str, FrozenQuery]:
    """Reads the queries of a file, by their hash, in the order of the file.

    Raises:
        MissingFileError: there is no such file.
        RecordError: a line is incomplete or not a valid record, or its hash is not the query's.
        DuplicateIdError: a query occurs twice.
    """
    queries: dict[str, FrozenQuery] = {}
    decode = msgspec.json.Decoder(FrozenQuery).decode
    for number, row in iter_decoded_lines(path, "frozen search", decode):
        where = f"{path}:{number}"
        if row.query_sha256 != hash_query(row.query):
            raise RecordError(
                "the hash does not match the query",
                where=where,
                hint="The line was edited; record the query again.",
            )
        if row.query_sha256 in queries:
            raise DuplicateIdError(
                f"the query {row.query!r} occurs twice", where=where, hint="Remove one of them."
            )
        results = clean_results((result.title, result.href, result.body) for result in row.results)
        queries[row.query_sha256] = msgspec.structs.replace(row, results=results)
    return queries


def append_frozen_query(path: Path, row: FrozenQuery) -> None:
    """Appends a query and its results to a file in one write; creates the file if needed.

    An incomplete last line, which a killed process may have left, is removed first.

    Raises:
        WriteError: the file cannot be written.
    """
    with convert_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        drop_incomplete_line(path)
        with path.open("ab") as handle:
            handle.write(to_json_bytes(row) + b"\n")


def drop_incomplete_line(path: Path) -> None:
    """Truncates a file after its last line break."""
    if not path.exists():
        return
    with path.open("r+b") as handle:
        size = handle.seek(0, 2)
        end = size
        # Read backwards in blocks, since the file may be large.
        while end:
            start = max(0, end - 65_536)
            handle.seek(start)
            newline = handle.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            handle.truncate(end)
