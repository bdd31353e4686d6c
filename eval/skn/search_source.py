"""Searches once for each question, so that all pipelines read the same text.

By default, shipped searches are replayed, so that a run needs no web and can be repeated at any
time. Live searches are recorded in the folder of the run. Result files of this and of the published
benchmark can be replayed too. A failed search is distinguished from a search without results: after
the first there is nothing to measure, while the second gives a text that contains no answer.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from eval.model.foreign_values import describe_error
from eval.skn.items import Sample
from eval.skn.searches.found_texts import MAX_RESULTS, FoundTexts, format_results
from kg.base.console import track_progress
from kg.base.errors import SearchError
from kg.base.files import MAX_LINE_BYTES, iter_decoded_lines, require_file
from retrieval.web import BACKENDS, FrozenSearch, RecordingSearch, WebSearch
from retrieval.web_results import WebResult, normalise_query

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
    raw_text: str | UnsetType = UNSET
    """The text of a search that was recorded as a text only; missing if there are results."""

    @property
    def text(self) -> str:
        """What was found as one text, as extractors and judges see it; may be empty."""
        if isinstance(self.raw_text, str):
            return self.raw_text
        return format_results((found.title, found.href, found.body) for found in self.results)


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
        EpocheError: as ``read_frozen_queries`` and ``FoundTexts``.
    """
    recorded = _open_recorded(path)
    if not any(_is_recorded(recorded, sample) for sample in samples):
        raise SearchError(
            f"no search for any of the {len(samples):,} questions was recorded",
            where=str(path),
            hint="Name the file that holds them with --search, or search the web with --live.",
        )


def _open_recorded(path: Path) -> FrozenSearch | FoundTexts:
    """Opens recorded searches, in our form or in that of result files."""
    with require_file(path, "frozen search file").open("rb") as handle:
        first = handle.readline(MAX_LINE_BYTES)
    is_ours = first.startswith(b"{") and b'"query_sha256"' in first
    return FrozenSearch(path) if is_ours or not first else FoundTexts(path)


def _is_recorded(searches: FrozenSearch | FoundTexts, sample: Sample) -> bool:
    if isinstance(searches, FoundTexts):
        return searches.find_text(sample.id, sample.question) is not None
    return searches.is_recorded(sample.question)


class SourceFinder:
    """Finds the text from which a question is answered.

    Args:
        searches: searches the web, or replays recorded searches.
    """

    def __init__(self, searches: FrozenSearch | RecordingSearch | FoundTexts) -> None:
        self._searches = searches
        self._recording = searches if isinstance(searches, RecordingSearch) else None

    @classmethod
    def open_replay(cls, path: Path) -> SourceFinder:
        """Replays the searches of a file.

        Raises:
            EpocheError: as ``read_frozen_queries`` and ``FoundTexts``.
        """
        return cls(_open_recorded(path))

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
        if isinstance(self._searches, FoundTexts):
            return _find_recorded_text(self._searches, sample)
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


def _find_recorded_text(texts: FoundTexts, sample: Sample) -> Source:
    found = texts.find_text(sample.id, sample.question)
    if found is None:
        problem = f"no search for {normalise_query(sample.question)!r} was recorded"
        error: str | None = describe_error(SearchError(problem))
        return Source(id=sample.id, question=sample.question, error=error)
    return Source(
        id=sample.id,
        question=sample.question,
        results=found.results[:MAX_RESULTS],
        error=found.error,
        raw_text=found.raw_text or UNSET,
    )
