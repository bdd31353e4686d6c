"""Searches once for each question, so that all pipelines read the same text.

By default, shipped searches are replayed, so that a run needs no web and can be repeated at any
time. Live searches are recorded in the folder of the run. A failed search is distinguished from a
search without results: after the first there is nothing to measure, while the second gives a text
that contains no answer.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from eval.model.foreign_values import describe_error
from eval.skn.items import Sample
from kg.base.console import track_progress
from kg.base.errors import SearchError
from kg.base.files import iter_decoded_lines
from retrieval.web import BACKENDS, FrozenSearch, RecordingSearch, WebSearch
from retrieval.web_results import WebResult, hash_query, read_frozen_queries

MAX_RESULTS = 5
"""Number of search results that are read, as in the published benchmark."""

RECORDED = "search.jsonl"
"""Name of a file of recorded searches, in the folder of a live run and in ``SHIPPED``."""

SHIPPED = Path(__file__).parent / "data"
"""Folder of the shipped questions and of their recorded searches."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The search results of one sample; one line of ``sources.jsonl``."""

    id: str
    """Id of the sample."""
    question: str
    results: tuple[WebResult, ...] = ()
    error: str | None = None
    """Why the search failed; null if it did not, even if it found nothing."""
    seconds: float | None = None
    """Duration of the live search; null if it was replayed."""

    @property
    def text(self) -> str:
        """The results as one text, as extractors and judges see them; may be empty.

        Every part of a result is one line, so that none can look like the head of another.
        """
        return "\n\n".join(
            f"[Result {rank}]\nTitle: {result.title}\nURL: {result.href}\nContent: {result.body}"
            for rank, result in enumerate(self.results, start=1)
        )


def read_sources(path: Path) -> Iterable[Source]:
    """Yields the sources of a run, in the order of its samples.

    Raises:
        MissingFileError, RecordError: the file is missing or a line is damaged.
    """
    decode = msgspec.json.Decoder(Source).decode
    return (source for _, source in iter_decoded_lines(path, "sources", decode))


def require_recorded_searches(path: Path, samples: Sequence[Sample]) -> None:
    """Refuses to replay a file that has no search for any of the samples.

    If only some searches are missing, the replies to those samples are errors that say so.

    Raises:
        SearchError: no search for any of the questions was recorded there.
        EpocheError: as ``read_frozen_queries``.
    """
    recorded = read_frozen_queries(path)
    if not any(hash_query(sample.question) in recorded for sample in samples):
        raise SearchError(
            f"no search for any of the {len(samples):,} questions was recorded",
            where=str(path),
            hint="Name the file that holds them with --search, or search the web with --live.",
        )


class SourceFinder:
    """Finds the text from which a question is answered.

    Args:
        searches: searches the web, or replays recorded searches.
    """

    def __init__(self, searches: FrozenSearch | RecordingSearch) -> None:
        self._searches = searches
        self._recording = searches if isinstance(searches, RecordingSearch) else None

    @classmethod
    def open_replay(cls, path: Path) -> SourceFinder:
        """Replays the searches of a file.

        Raises:
            EpocheError: as ``read_frozen_queries``.
        """
        return cls(FrozenSearch(path))

    @classmethod
    def open_web(cls, recorded: Path, backends: Sequence[str] = ()) -> SourceFinder:
        """Searches the web for queries that are not in the file ``recorded`` yet.

        Args:
            recorded: the file.
            backends: search engines, tried in order; the default engines if empty.

        Raises:
            EpocheError: as ``WebSearch`` and ``RecordingSearch``.
        """
        return cls(RecordingSearch(WebSearch(backends or BACKENDS), recorded))

    def params(self) -> dict[str, object]:
        """Returns how is searched, for the manifest."""
        return {**self._searches.params(), "results": MAX_RESULTS}

    def find_source(self, sample: Sample) -> Source:
        """Searches for one question.

        Raises:
            WriteError: the search cannot be recorded.
        """
        is_live = self._recording is not None and not self._recording.is_recorded(sample.question)
        started = time.perf_counter()
        try:
            row = self._searches.run_query(sample.question)
        except SearchError as error:
            # Without the place, which is a path of this machine.
            problem = describe_error(SearchError(error.what))
            return Source(id=sample.id, question=sample.question, error=problem)
        return Source(
            id=sample.id,
            question=sample.question,
            results=row.results[:MAX_RESULTS],
            seconds=round(time.perf_counter() - started, 4) if is_live else None,
        )

    def find_sources(
        self, samples: Sequence[Sample], asked: Collection[str], earlier: Path
    ) -> list[Source]:
        """Searches for all questions.

        Args:
            samples: the samples of the run.
            asked: ids of the samples that a system is asked about. Only for these, a live search
                that failed in an earlier session is tried again.
            earlier: the file of sources that an earlier session wrote, if any.

        Raises:
            WriteError: a search cannot be recorded.
            RecordError: the file of an earlier session is damaged.
        """
        failures = {}
        if self._recording is not None and earlier.exists():
            failures = {source.id: source for source in read_sources(earlier) if source.error}
        return [
            failures[sample.id]
            if sample.id in failures and sample.id not in asked
            else self.find_source(sample)
            for sample in track_progress(samples, what="searching", total=len(samples))
        ]
