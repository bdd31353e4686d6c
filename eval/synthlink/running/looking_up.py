"""Where a run looks things up: pages, recorded searches, or the web."""

from __future__ import annotations

from pathlib import Path

from eval.synthlink.agents.library import CorpusLibrary, Library, WebLibrary
from eval.synthlink.running.output_files import RECORDED
from eval.synthlink.running.run_options import RunOptions
from kg.base.files import require_file


def library_of(options: RunOptions) -> Library | None:
    """What a system may search; null for one that looks nothing up.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: of the pages or of the recorded searches.
        MissingExtraError, SearchError: a live search cannot be made at all.
        EpocheError: a retriever's model cannot be had.
    """
    if not options.looks_up:
        return None
    if options.live:
        from retrieval.web import BACKENDS, RecordingSearch, WebSearch

        web = WebSearch(options.backends or BACKENDS)
        return WebLibrary(RecordingSearch(web, options.out / RECORDED))
    if options.search is not None:
        from retrieval.web import FrozenSearch

        return WebLibrary(FrozenSearch(replayed(options.search)))
    from retrieval.corpus import read_corpus

    corpus = read_corpus(options.pages)
    return CorpusLibrary(corpus, options.retriever or "bm25", embedder=options.embedder)


def replayed(path: Path) -> Path:
    """The file of recorded searches.

    Raises:
        MissingFileError: it is not there.
    """
    return require_file(path, "frozen search file")
