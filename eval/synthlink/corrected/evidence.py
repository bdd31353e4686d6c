"""Collects the evidence on a question: facts, expected answers, and pages of its sources."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from eval.synthlink.corrected.pages import PageKey, parse_citation, parse_source
from eval.synthlink.items import Question
from eval.synthlink.sentences import normalise_wording, split_sentences

if TYPE_CHECKING:
    from retrieval.corpus import Corpus, CorpusPage

EvidenceKind = Literal["facts", "pages"]
"""``facts``: from the catalogue, expected answers included. ``pages``: from a source page."""


class SourcePages:
    """The pages of a corpus, indexed by address and title.

    Args:
        corpus: the pages; different forms of an address are the same page, as for P@5.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._by_address: dict[str, CorpusPage] = {}
        self._by_title: dict[str, CorpusPage] = {}
        for corpus_page in corpus.pages:
            self._by_address.setdefault(parse_citation(corpus_page.url).address, corpus_page)
            self._by_title.setdefault(parse_citation(corpus_page.title).title, corpus_page)

    def find_pages(self, question: Question) -> tuple[CorpusPage, ...]:
        """Finds the pages of a question's sources, each once; sources without a page are left out.

        A source without an address is looked up by its title.
        """
        pages = (self._find_page(parse_source(source)) for source in question.sources)
        return tuple(dict.fromkeys(page for page in pages if page is not None))

    def count_missing(self, questions: Iterable[Question]) -> int:
        """Counts the different sources of some questions that have no page in the corpus."""
        sources = {source for question in questions for source in question.sources}
        return sum(self._find_page(parse_source(source)) is None for source in sources)

    def _find_page(self, cited: PageKey) -> CorpusPage | None:
        if cited.address:
            return self._by_address.get(cited.address)
        return self._by_title.get(cited.title)


def collect_sentences(
    question: Question, pages: SourcePages | None = None
) -> dict[str, EvidenceKind]:
    """Collects the sentences of the evidence on a question.

    Returns:
        Sentence, as ``normalise_wording`` returns it → where it is from. Facts, expected answers
        and aliases come before pages; these may also be matched as a whole.
    """
    texts = [step.fact for step in question.steps if step.fact]
    texts += [question.answer, *question.aliases]
    kinds: dict[str, EvidenceKind] = {}
    for text in texts:
        for sentence in (text, *(part for _, part in split_sentences(text))):
            kinds.setdefault(normalise_wording(sentence), "facts")
    for page in pages.find_pages(question) if pages is not None else ():
        for _, sentence in split_sentences(page.text):
            kinds.setdefault(normalise_wording(sentence), "pages")
    return kinds
