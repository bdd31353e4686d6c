"""Opens the library that a system may search: pages, recorded searches, or the web."""

from __future__ import annotations

from pathlib import Path

from eval.synthlink.agents.library import CorpusLibrary, Library, WebLibrary
from eval.synthlink.files import RECORDED_SEARCHES
from eval.synthlink.options import RunOptions
from kg.base.files import require_file


def open_library(options: RunOptions) -> Library | None:
    """Opens the library of a run; returns None for a system that does not search.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: pages or recorded searches cannot be read.
        MissingExtraError, SearchError: a live search is not possible.
        EpocheError: the model of a retriever cannot be loaded.
    """
    if not options.needs_library:
        return None
    if options.live:
        from retrieval.web import BACKENDS, RecordingSearch, WebSearch

        web = WebSearch(options.backends or BACKENDS)
        return WebLibrary(RecordingSearch(web, options.out / RECORDED_SEARCHES))
    if options.search is not None:
        from retrieval.web import FrozenSearch

        return WebLibrary(FrozenSearch(require_search_file(options.search)))
    from retrieval.corpus import read_corpus

    corpus = read_corpus(options.pages)
    return CorpusLibrary(corpus, options.retriever or "bm25", embedder=options.embedder)


def require_search_file(path: Path) -> Path:
    """Returns the path of a file of recorded searches.

    Raises:
        MissingFileError: the file does not exist.
    """
    return require_file(path, "frozen search file")
