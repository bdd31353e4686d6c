"""Splits the evidence on a question into pieces that a claim is compared with.

Facts and expected answers can license a claim or contradict it. Pages of the question's sources can
only license: they state much else, so a claim that differs from one of their sentences may be about
something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from eval.synthlink.corrected.pages import PageKey, parse_citation, parse_source
from eval.synthlink.corrected.wording import ContentWords, build_content_words, sentences
from eval.synthlink.question import Question
from kg.text.normaliser import extract_content_words

if TYPE_CHECKING:
    from retrieval.corpus import Corpus, CorpusPage

EvidenceKind = Literal["facts", "pages"]


class EvidencePiece(NamedTuple):
    """One piece of evidence."""

    content: ContentWords
    kind: EvidenceKind
    is_single_fact: bool = False
    """Whether it is the fact of a step, which states one thing, so that its numbers and negation
    belong to that thing. A sentence of an expected answer can state several things."""
    title_words: frozenset[str] = frozenset()
    """Content words of the title of its page."""


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
        return tuple(dict.fromkeys(cited for cited in pages if cited is not None))

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

    These are facts, sentences of the expected answers, whole expected answers, and sentences of the
    source pages.
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
    for source in pages.find_pages(question):
        about = frozenset(extract_content_words(source.title))
        for _, text in sentences(source.text):
            yield EvidencePiece(build_content_words(text), "pages", title_words=about)
