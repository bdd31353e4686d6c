"""What a web search found, kept as a file that is replayed: one JSON line a query.

Everything in it was written by strangers. Text is cut to a bearable length and stripped of what
could drive a terminal, addresses are http or https, and nothing is ever followed or executed. That
is done again when a file is read, since the file may come from anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from kg.base.errors import DuplicateIdError, RecordError
from kg.base.files import iter_decoded_lines, to_json_bytes, write_errors_named
from kg.words.plain_text import one_line, plain
from retrieval.protocol import Passage

MAX_TITLE = 300
MAX_BODY = 2_000
MAX_ADDRESS = 2_000
MAX_RESULTS = 100
"""Results of one query that are kept."""
MAX_QUERY = 500
"""Characters of a query; search engines cut longer ones on their own."""


class WebResult(msgspec.Struct, frozen=True):
    """One result, cleaned."""

    title: str
    href: str
    body: str

    @property
    def id(self) -> str:
        """The passage's id: the same for the same page with the same text, whatever the query."""
        return f"web#{hashlib.sha256(to_json_bytes(self)).hexdigest()[:16]}"

    @property
    def passage(self) -> Passage:
        """The result as a passage: the title, and on the next line what the page says."""
        return Passage(self.id, "\n".join(part for part in (self.title, self.body) if part))


class FrozenQuery(msgspec.Struct, frozen=True):
    """What one query found, and when."""

    query: str
    query_sha256: str
    """Of the query as ``asked_as`` writes it."""
    date: str
    """When it was asked, ISO 8601 in UTC."""
    backends: tuple[str, ...]
    """The search engines that were asked, in that order."""
    results: tuple[WebResult, ...]
    """Best first; empty where the engines answered and found nothing."""


def asked_as(query: str) -> str:
    """A query in the form that is sent and recorded: one line, at most ``MAX_QUERY`` characters."""
    return one_line(query[: 4 * MAX_QUERY])[:MAX_QUERY].strip()


def query_sha256(query: str) -> str:
    """Hex SHA-256 that a query is found by in a file."""
    return hashlib.sha256(asked_as(query).encode("utf-8", "surrogatepass")).hexdigest()


def cleaned(results: Iterable[tuple[str, str, str]]) -> tuple[WebResult, ...]:
    """Results without what is no web page, each once, in their order.

    Args:
        results: (title, address, text) as strangers wrote them.
    """
    found: dict[WebResult, None] = {}
    for title, href, body in results:
        address = one_line(href[: MAX_ADDRESS + 1])
        if len(address) > MAX_ADDRESS or not address.lower().startswith(("http://", "https://")):
            continue
        result = WebResult(plain(title, MAX_TITLE), address, plain(body, MAX_BODY))
        if result.title or result.body:
            found.setdefault(result)
    return tuple(found)[:MAX_RESULTS]


def read_frozen(path: Path | str) -> dict[str, FrozenQuery]:
    """The queries of a file by their hash, in its order.

    Raises:
        MissingFileError: it is not there.
        RecordError: a line is torn, or no such record, or bears another query's hash.
        DuplicateIdError: a query stands twice.
    """
    found: dict[str, FrozenQuery] = {}
    decode = msgspec.json.Decoder(FrozenQuery).decode
    for number, row in iter_decoded_lines(path, "frozen search", decode):
        where = f"{path}:{number}"
        if row.query_sha256 != query_sha256(row.query):
            raise RecordError(
                "the hash is not that of the query",
                where=where,
                hint="Record the query again; edited files prove nothing.",
            )
        if row.query_sha256 in found:
            raise DuplicateIdError(
                f"the query {row.query!r} stands twice", where=where, hint="Keep one of them."
            )
        results = cleaned((one.title, one.href, one.body) for one in row.results)
        found[row.query_sha256] = msgspec.structs.replace(row, results=results)
    return found


def append_frozen(path: Path, row: FrozenQuery) -> None:
    """Adds a query to a file, made if it is not there, by one write of a whole line.

    A torn last line, which a killed process may have left, is dropped first.

    Raises:
        WriteError: it cannot be written.
    """
    with write_errors_named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        drop_torn_line(path)
        with path.open("ab") as handle:
            handle.write(to_json_bytes(row) + b"\n")


def drop_torn_line(path: Path) -> None:
    """Cuts a file off after its last line break."""
    if not path.exists():
        return
    with path.open("r+b") as handle:
        size = handle.seek(0, 2)
        end = size
        while end:
            start = max(0, end - 65_536)
            handle.seek(start)
            cut = handle.read(end - start).rfind(b"\n")
            if cut >= 0:
                end = start + cut + 1
                break
            end = start
        if end < size:
            handle.truncate(end)
