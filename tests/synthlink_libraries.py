"""Small libraries for agents of SynthLink to look things up in."""

from __future__ import annotations

from eval.synthlink.agents.library import CorpusLibrary
from retrieval.corpus import Corpus, CorpusPage


def library_of(*texts: str) -> CorpusLibrary:
    """A library of pages: title, colon, text."""
    pages = []
    for text in texts:
        title, _, rest = text.partition(": ")
        pages.append(CorpusPage(f"https://p.example/{title}", title, rest))
    return CorpusLibrary(Corpus(tuple(pages), "small"))
