"""Small libraries for SynthLink agents to search."""

from __future__ import annotations

from eval.synthlink.agents.library import CorpusLibrary
from retrieval.corpus import Corpus, CorpusPage


def make_library(*texts: str) -> CorpusLibrary:
    """Makes a library of pages, each given as "title: text"."""
    pages = []
    for text in texts:
        title, _, page_text = text.partition(": ")
        pages.append(CorpusPage(f"https://p.example/{title}", title, page_text))
    return CorpusLibrary(Corpus(tuple(pages), "small"))
