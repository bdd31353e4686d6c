"""Search on the web behind the protocol of all retrievers, and its replay from a file.

``WebSearch`` asks search engines through ``ddgs`` (extra ``web``) and is the only thing here that
touches the network. ``FrozenSearch`` replays what was recorded; it needs neither network nor
extra, and gives the same results for ever. ``Recording`` is a ``WebSearch`` that records.

A failure is never taken for "nothing found". The face of ``ddgs`` says "No results found" for a
refusal, a time-out and an empty page alike; so its engines are asked one by one, and only a page
that was answered with status 200 and read to its end counts as an answer. What cannot be told
apart is an engine that answers 200 with a page about robots instead of results: therefore several
engines can be named, and nothing counts as found nowhere unless all of them say so.
"""

from __future__ import annotations

import importlib
import os
from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kg.base.errors import MissingExtraError, SearchError
from retrieval.protocol import Passage
from retrieval.ranking import Searching
from retrieval.web_results import (
    FrozenQuery,
    WebResult,
    append_frozen,
    asked_as,
    cleaned,
    drop_torn_line,
    query_sha256,
    read_frozen,
)

BACKENDS = ("duckduckgo", "mojeek")
REGION = "us-en"
TIMEOUT_S = 10
PROXY_VARIABLE = "DDGS_PROXY"
"""A proxy for searches, as ``ddgs`` itself reads it."""
AUTHORITIES_VARIABLE = "SSL_CERT_FILE"
"""A PEM file of the authorities that certificates are checked against."""


class Searches(Searching):
    """A retriever whose passages are what searches on the web find. The n-th result scores 1/n."""

    name = "web"

    @abstractmethod
    def ask(self, query: str) -> FrozenQuery:
        """What a search finds.

        Raises:
            SearchError: it failed, which is not the same as having found nothing.
        """

    @property
    @abstractmethod
    def _rows(self) -> Iterable[FrozenQuery]:
        """All searches whose results are at hand."""

    @property
    def passages(self) -> list[Passage]:
        """All that was found by any of the searches, each once."""
        results = (result for row in self._rows for result in row.results)
        return list({result.id: result.passage for result in results}.values())

    @property
    def addresses(self) -> dict[str, str]:
        """Where each of the passages is."""
        return {result.id: result.href for row in self._rows for result in row.results}

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """As the protocol says; a filter changes no score.

        Raises:
            EpocheError: as ``ask``.
        """
        row = self.ask(query)
        scores = {result.id: 1.0 / rank for rank, result in enumerate(row.results, start=1)}
        chosen = [one for one in scores if chunks is None or one in chunks]
        return {one: scores[one] for one in chosen[: max(pool_size, 0)]}


class WebSearch(Searches):
    """Asks search engines; every call with a new query goes over the network.

    Args:
        backends: engines that ``ddgs`` knows, asked in turn until one has found something.
        region: country and language, as ``us-en``.
        timeout_s: seconds an engine has for its answer.

    Raises:
        MissingExtraError: ``ddgs`` is not installed.
        SearchError: it does not know an engine.
    """

    def __init__(
        self,
        backends: Sequence[str] = BACKENDS,
        *,
        region: str = REGION,
        timeout_s: int = TIMEOUT_S,
    ) -> None:
        known = _engines()
        unknown = [backend for backend in backends if backend not in known]
        if unknown or not backends:
            raise SearchError(
                f"no search engine {unknown[0]!r}" if unknown else "no search engine is named",
                where="--backend",
                hint=f"ddgs has: {', '.join(sorted(known))}.",
            )
        self._backends, self._region = tuple(backends), region
        connection = {
            "proxy": os.environ.get(PROXY_VARIABLE) or None,
            "timeout": timeout_s,
            "verify": os.environ.get(AUTHORITIES_VARIABLE) or True,
        }
        self._engines = {backend: known[backend](**connection) for backend in self._backends}
        self._found: list[FrozenQuery] = []

    @property
    def _rows(self) -> Iterable[FrozenQuery]:
        return self._found

    def params(self) -> dict[str, object]:
        """What is asked; what is found changes with the web."""
        return {"name": self.name, "backends": list(self._backends), "region": self._region}

    def ask(self, query: str) -> FrozenQuery:
        """Asks the engines.

        Raises:
            SearchError: none found anything, and not all of them answered.
        """
        text = asked_as(query)
        if not text:
            raise SearchError("there is nothing to search for", where=repr(query))
        asked: list[str] = []
        failures: list[str] = []
        results: tuple[WebResult, ...] = ()
        for backend in self._backends:
            asked.append(backend)
            try:
                results = self._answer(backend, text)
            except SearchError as error:
                failures.append(error.what)
                continue
            if results:
                break
        if not results and failures:
            raise SearchError(
                f"the search failed: {'; '.join(failures)}",
                where=text,
                hint="Try again later, name another --backend, or replay a recorded search.",
            )
        date = datetime.now(UTC).isoformat(timespec="seconds")
        found = FrozenQuery(text, query_sha256(text), date, tuple(asked), results)
        self._found.append(found)
        return found

    def _answer(self, backend: str, query: str) -> tuple[WebResult, ...]:
        """What one engine answered.

        Raises:
            SearchError: it did not.
        """
        try:
            found = self._engines[backend].search(query, region=self._region)
        except Exception as error:  # whatever a stranger's page makes the parser raise
            raise SearchError(f"{backend}: {type(error).__name__}: {error}") from error
        if found is None:  # any other status than 200, or an empty body
            raise SearchError(f"{backend}: it refused or answered nothing")
        return cleaned((str(result.title), str(result.href), str(result.body)) for result in found)


class FrozenSearch(Searches):
    """Replays recorded searches.

    Args:
        path: a file that ``Recording`` wrote.

    Raises:
        EpocheError: as ``read_frozen``.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._queries = read_frozen(path)

    @property
    def _rows(self) -> Iterable[FrozenQuery]:
        return self._queries.values()

    def params(self) -> dict[str, object]:
        """What is replayed."""
        dates = sorted(row.date for row in self._queries.values())
        return {
            "name": self.name,
            "frozen": True,
            "queries": len(self._queries),
            "first": dates[0] if dates else None,
            "last": dates[-1] if dates else None,
        }

    def ask(self, query: str) -> FrozenQuery:
        """What a query found when it was asked.

        Raises:
            SearchError: it was not asked, which is not the same as having found nothing.
        """
        row = self._queries.get(query_sha256(query))
        if row is None:
            raise SearchError(
                f"no search for {asked_as(query)!r} was recorded",
                where=str(self._path),
                hint="Record it with `epoche retrieval web --live --frozen FILE`.",
            )
        return row


class Recording(Searches):
    """Asks the web for what a file does not hold yet, and adds it there at once.

    Args:
        live: asks the web.
        path: the file; made at the first answer if it is not there. A torn last line, left by a
            process that was killed, is dropped.

    Raises:
        EpocheError: as ``read_frozen``.
    """

    def __init__(self, live: WebSearch, path: Path) -> None:
        self._live, self._path = live, path
        drop_torn_line(path)
        self._queries = read_frozen(path) if path.exists() else {}

    def holds(self, query: str) -> bool:
        """Whether a query was recorded already."""
        return query_sha256(query) in self._queries

    def ask(self, query: str) -> FrozenQuery:
        """What a query finds, or found when it was recorded.

        Raises:
            SearchError: as ``WebSearch.ask``; failures are not recorded.
            WriteError: the file cannot be written.
        """
        key = query_sha256(query)
        if key not in self._queries:
            row = self._live.ask(query)
            append_frozen(self._path, row)
            self._queries[key] = row
        return self._queries[key]

    @property
    def _rows(self) -> Iterable[FrozenQuery]:
        return self._queries.values()

    def params(self) -> dict[str, object]:
        """What is asked."""
        return self._live.params()


def _engines() -> dict[str, Any]:
    """The engines for text that ``ddgs`` has, by name.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        # By name rather than by statement: type checkers run without the extra installed.
        library = importlib.import_module("ddgs.engines")
    except ImportError as error:
        raise MissingExtraError(
            "ddgs is not installed",
            where="web search",
            hint="Install it with `pip install 'epoche[web]'`.",
        ) from error
    return dict(library.ENGINES["text"])
