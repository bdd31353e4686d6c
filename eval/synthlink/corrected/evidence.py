"""Splits the evidence on a question into pieces that a claim is compared with.

Facts can license a claim or contradict it. Expected answers, and pages of the question's sources,
can only license it: they state several things, so a claim that differs from one of their sentences
may be about another thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from eval.synthlink.corrected.pages import PageKey, parse_citation, parse_source
from eval.synthlink.corrected.wording import ContentWords, build_content_words, sentences
from eval.synthlink.items import Question
from kg.words.normaliser import extract_content_words

if TYPE_CHECKING:
    from retrieval.corpus import Corpus, CorpusPage

EvidenceKind = Literal["facts", "pages"]
"""``facts``: from the catalogue, expected answers included. ``pages``: from a source page."""


class EvidencePiece(NamedTuple):
    """One piece of evidence."""

    content: ContentWords
    kind: EvidenceKind
    is_single_fact: bool = False
    """Whether it is the fact of a step. Such a fact states one thing, so its numbers and negation
    belong to that thing; a sentence of an expected answer can state several things."""
    title_words: frozenset[str] = frozenset()
    """Content words of the title of its page; empty for ``facts``."""


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


def collect_pieces(question: Question, pages: SourcePages | None = None) -> list[EvidencePiece]:
    """Collects the pieces of evidence on a question.

    These are facts, single sentences of the expected answers, complete expected answers, and
    sentences of the source pages.
    """
    return [
        *_iter_catalogue_pieces(question),
        *(_iter_page_pieces(question, pages) if pages else ()),
    ]


def _iter_catalogue_pieces(question: Question) -> Iterator[EvidencePiece]:
    facts = {step.fact for step in question.steps if step.fact}
    texts = [step.fact for step in question.steps if step.fact]
    for answer in (question.answer, *question.aliases):
        texts += [text for _, text in sentences(answer)]
        texts.append(answer)
    for text in dict.fromkeys(texts):
        yield EvidencePiece(build_content_words(text), "facts", text in facts)


def _iter_page_pieces(question: Question, pages: SourcePages) -> Iterator[EvidencePiece]:
    for page in pages.find_pages(question):
        title_words = frozenset(extract_content_words(page.title))
        for _, text in sentences(page.text):
            yield EvidencePiece(build_content_words(text), "pages", title_words=title_words)
