"""Searching once for every question, so that all pipelines read the same text.

By default the searches are replayed from a file that is shipped, so that a run needs no web and
can be repeated for ever; live searches are recorded in the run's own folder. A search that failed
is told apart from one that found nothing: the first leaves nothing to measure, the second is a
source that holds no answer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from eval.answers import describe_error
from eval.skn.running.samples import Sample
from kg.base.errors import SearchError
from retrieval.web import BACKENDS, FrozenSearch, RecordingSearch, WebSearch
from retrieval.web_results import WebResult, hash_query, read_frozen_queries

MOST_RESULTS = 5
"""Results of a search that are read, as published."""

RECORDED = "search.jsonl"
"""Recorded searches, in the folder of a run and in ``SHIPPED``."""

SHIPPED = Path(__file__).parents[1] / "data"
"""Folder of the questions and of the searches that were recorded for them."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What the search for one question came to."""

    id: str
    """Of the sample."""
    question: str
    results: tuple[WebResult, ...] = ()
    error: str | None = None
    """Why the search failed; null where it did not, whatever it found."""
    seconds: float | None = None
    """How long it took; null where it was replayed."""

    @property
    def text(self) -> str:
        """The results as one text, as extractors and judges are given them; may be empty.

        Every part of a result is one line, so that none can pass for the head of another.
        """
        return "\n\n".join(
            f"[Result {rank}]\nTitle: {one.title}\nURL: {one.href}\nContent: {one.body}"
            for rank, one in enumerate(self.results, start=1)
        )


def require_recorded(path: Path, samples: Sequence[Sample]) -> None:
    """Refuses to replay a file that has nothing to do with the samples.

    One that lacks some of them is no mistake: those rows are errors, and say so.

    Raises:
        SearchError: no search for any of the questions was recorded there.
        EpocheError: as ``read_frozen``.
    """
    recorded = read_frozen_queries(path)
    if not any(hash_query(sample.question) in recorded for sample in samples):
        raise SearchError(
            f"no search for any of the {len(samples):,} questions was recorded",
            where=str(path),
            hint="Name the file that holds them with --search, or search the web with --live.",
        )


class SourceFinder:
    """Finds the text that a question is answered from.

    Args:
        searches: asks the web, or replays what it was asked.
        live: whether it may ask the web.
    """

    def __init__(self, searches: FrozenSearch | RecordingSearch, *, live: bool) -> None:
        self._searches = searches
        self._recording = searches if isinstance(searches, RecordingSearch) else None
        self.live = live

    @classmethod
    def replaying(cls, path: Path) -> SourceFinder:
        """Replays a file.

        Raises:
            EpocheError: as ``read_frozen``.
        """
        return cls(FrozenSearch(path), live=False)

    @classmethod
    def asking(cls, recorded: Path, backends: Sequence[str] = ()) -> SourceFinder:
        """Asks the web for what ``recorded`` does not hold yet.

        Args:
            recorded: the file.
            backends: engines asked in turn; none named means the usual ones.

        Raises:
            EpocheError: as ``WebSearch`` and ``Recording``.
        """
        return cls(RecordingSearch(WebSearch(backends or BACKENDS), recorded), live=True)

    def params(self) -> dict[str, object]:
        """How is searched, as the manifest states it."""
        return {**self._searches.params(), "results": MOST_RESULTS}

    def holds(self, question: str) -> bool:
        """Whether a question can be searched for without the web."""
        return self._recording is None or self._recording.is_recorded(question)

    def find(self, sample: Sample) -> Found:
        """Searches for one question.

        Raises:
            WriteError: what was found cannot be recorded.
        """
        at_hand = self.holds(sample.question)
        started = time.perf_counter()
        try:
            row = self._searches.run_query(sample.question)
        except SearchError as error:
            # Without the place, which is a path of this machine.
            why = describe_error(SearchError(error.what))
            return Found(id=sample.id, question=sample.question, error=why)
        return Found(
            id=sample.id,
            question=sample.question,
            results=row.results[:MOST_RESULTS],
            seconds=None if at_hand else round(time.perf_counter() - started, 4),
        )

    def find_again(self, sample: Sample, error: str | None) -> Found:
        """What was found for a question whose rows are there already; the web is not asked.

        Args:
            sample: the question.
            error: why its search failed, if a row says so.
        """
        if error is None or self.holds(sample.question):
            return self.find(sample)
        return Found(id=sample.id, question=sample.question, error=error)
