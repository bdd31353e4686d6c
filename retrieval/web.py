"""Retrievers that search the web, or replay recorded searches from a file.

``WebSearch`` queries search engines through ``ddgs`` (extra ``web``); nothing else here uses the
network. ``FrozenSearch`` replays recorded searches; it needs neither network nor extra, and always
gives the same results. ``RecordingSearch`` replays recorded searches, and searches the web for new
queries and records them.

A failure is never reported as "nothing found". The main interface of ``ddgs`` reports "No results
found" for a refusal, a time-out and an empty page alike. Therefore its engines are called one by
one here, and only a page with status 200 that was read completely counts as a response. An engine
that returns status 200 with a CAPTCHA page instead of results cannot be detected. Therefore several
engines can be named, and a result counts as empty only if all of them find nothing.
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
from retrieval.base import BaseRetriever
from retrieval.protocol import Passage
from retrieval.web_results import (
    FrozenQuery,
    WebResult,
    append_frozen_query,
    clean_results,
    drop_incomplete_line,
    hash_query,
    normalise_query,
    read_frozen_queries,
)

BACKENDS = ("duckduckgo", "mojeek")
"""Search engines used by default, in this order."""
REGION = "us-en"
TIMEOUT_S = 10
PROXY_VARIABLE = "DDGS_PROXY"
"""Environment variable with a proxy for searches; the interface of ``ddgs`` uses the same one."""
CA_FILE_VARIABLE = "SSL_CERT_FILE"
"""Environment variable with a PEM file of the certificate authorities to trust."""


class WebRetriever(BaseRetriever):
    """A retriever whose passages are results of web searches; the n-th result has the score 1/n."""

    name = "web"

    @abstractmethod
    def run_query(self, query: str) -> FrozenQuery:
        """Returns the results of a query.

        Raises:
            SearchError: the search failed, which is not the same as an empty result.
        """

    @property
    @abstractmethod
    def _available_queries(self) -> Iterable[FrozenQuery]:
        """All searches whose results are available."""

    @property
    def passages(self) -> list[Passage]:
        """The results of all available searches, each once."""
        results = (result for row in self._available_queries for result in row.results)
        return list({result.id: result.passage for result in results}.values())

    @property
    def addresses(self) -> dict[str, str]:
        """Passage id → URL."""
        return {result.id: result.href for row in self._available_queries for result in row.results}

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """See ``Retriever``; a restriction to ``chunks`` does not change scores.

        Raises:
            EpocheError: as for ``run_query``.
        """
        row = self.run_query(query)
        scores = {result.id: 1.0 / rank for rank, result in enumerate(row.results, start=1)}
        selected_ids = [result_id for result_id in scores if chunks is None or result_id in chunks]
        return {result_id: scores[result_id] for result_id in selected_ids[: max(pool_size, 0)]}


class WebSearch(WebRetriever):
    """Queries search engines; every query uses the network.

    Args:
        backends: engines known to ``ddgs``, tried in order until one finds something.
        region: country and language, such as ``us-en``.
        timeout_s: time limit for each engine, in seconds.

    Raises:
        MissingExtraError: ``ddgs`` is not installed.
        SearchError: ``ddgs`` does not know an engine.
    """

    def __init__(
        self,
        backends: Sequence[str] = BACKENDS,
        *,
        region: str = REGION,
        timeout_s: int = TIMEOUT_S,
    ) -> None:
        engine_classes = _load_engines()
        unknown = [backend for backend in backends if backend not in engine_classes]
        if unknown or not backends:
            raise SearchError(
                f"unknown search engine {unknown[0]!r}" if unknown else "no search engine is named",
                where="--backend",
                hint=f"Known to ddgs: {', '.join(sorted(engine_classes))}.",
            )
        self._backends, self._region = tuple(backends), region
        engine_options = {
            "proxy": os.environ.get(PROXY_VARIABLE) or None,
            "timeout": timeout_s,
            "verify": os.environ.get(CA_FILE_VARIABLE) or True,
        }
        self._engines = {
            backend: engine_classes[backend](**engine_options) for backend in self._backends
        }
        self._finished_queries: list[FrozenQuery] = []

    @property
    def _available_queries(self) -> Iterable[FrozenQuery]:
        return self._finished_queries

    def params(self) -> dict[str, object]:
        """Returns how the web is searched; they do not determine the results, which change."""
        return {"name": self.name, "backends": list(self._backends), "region": self._region}

    def run_query(self, query: str) -> FrozenQuery:
        """Queries the engines in order, until one finds something.

        Raises:
            SearchError: the query is empty; or no engine found anything and at least one failed.
        """
        text = normalise_query(query)
        if not text:
            raise SearchError("the query is empty", where=repr(query))
        tried_backends: list[str] = []
        failures: list[str] = []
        results: tuple[WebResult, ...] = ()
        for backend in self._backends:
            tried_backends.append(backend)
            try:
                results = self._query_backend(backend, text)
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
        frozen = FrozenQuery(text, hash_query(text), date, tuple(tried_backends), results)
        self._finished_queries.append(frozen)
        return frozen

    def _query_backend(self, backend: str, query: str) -> tuple[WebResult, ...]:
        """Returns the results of one engine.

        Raises:
            SearchError: the engine failed or refused.
        """
        try:
            raw_results = self._engines[backend].search(query, region=self._region)
        # The page comes from an untrusted server, so its parser may raise anything.
        except Exception as error:
            raise SearchError(f"{backend}: {type(error).__name__}: {error}") from error
        if raw_results is None:  # a status other than 200, or an empty body
            raise SearchError(f"{backend}: refused, or returned an empty page")
        return clean_results(
            (str(result.title), str(result.href), str(result.body)) for result in raw_results
        )


class FrozenSearch(WebRetriever):
    """Replays recorded searches.

    Args:
        path: a file written by ``RecordingSearch``.

    Raises:
        EpocheError: as for ``read_frozen_queries``.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._queries = read_frozen_queries(path)

    @property
    def _available_queries(self) -> Iterable[FrozenQuery]:
        return self._queries.values()

    def params(self) -> dict[str, object]:
        """Returns the number of recorded searches, and the first and last date."""
        dates = sorted(row.date for row in self._queries.values())
        return {
            "name": self.name,
            "frozen": True,
            "queries": len(self._queries),
            "first": dates[0] if dates else None,
            "last": dates[-1] if dates else None,
        }

    def is_recorded(self, query: str) -> bool:
        """Whether a query is in the file."""
        return hash_query(query) in self._queries

    def run_query(self, query: str) -> FrozenQuery:
        """Returns the recorded results of a query.

        Raises:
            SearchError: the query was not recorded, which is not the same as an empty result.
        """
        row = self._queries.get(hash_query(query))
        if row is None:
            raise SearchError(
                f"no search for {normalise_query(query)!r} was recorded",
                where=str(self._path),
                hint="Record it with `epoche retrieval web --live --frozen FILE`.",
            )
        return row


class RecordingSearch(WebRetriever):
    """Replays recorded searches; for other queries, searches the web and records the results.

    Args:
        live: searches the web.
        path: the file; created with the first result if it does not exist. An incomplete last
            line, left by a process that was killed, is removed.

    Raises:
        EpocheError: as for ``read_frozen_queries``.
    """

    def __init__(self, live: WebSearch, path: Path) -> None:
        self._live, self._path = live, path
        drop_incomplete_line(path)
        self._queries = read_frozen_queries(path) if path.exists() else {}

    def is_recorded(self, query: str) -> bool:
        """Whether a query is in the file."""
        return hash_query(query) in self._queries

    def run_query(self, query: str) -> FrozenQuery:
        """Returns the recorded results of a query; if there are none, searches and records it.

        Raises:
            SearchError: as for ``WebSearch.run_query``; failures are not recorded.
            WriteError: the file cannot be written.
        """
        key = hash_query(query)
        if key not in self._queries:
            row = self._live.run_query(query)
            append_frozen_query(self._path, row)
            self._queries[key] = row
        return self._queries[key]

    @property
    def _available_queries(self) -> Iterable[FrozenQuery]:
        return self._queries.values()

    def params(self) -> dict[str, object]:
        """Returns how the web is searched."""
        return self._live.params()


def _load_engines() -> dict[str, Any]:
    """Returns the text search engines of ``ddgs`` by name.

    Raises:
        MissingExtraError: ``ddgs`` is not installed.
    """
    try:
        # Not an import statement, because type checkers run without the extra installed.
        library = importlib.import_module("ddgs.engines")
    except ImportError as error:
        raise MissingExtraError(
            "ddgs is not installed",
            where="web search",
            hint="Install it with `pip install 'epoche[web]'`.",
        ) from error
    return dict(library.ENGINES["text"])
