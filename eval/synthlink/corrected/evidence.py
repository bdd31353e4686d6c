"""What an evaluator holds about a question, cut into pieces that a claim is compared with.

Facts and expected answer can license a claim and contradict it. Pages of the question's sources
say much else, so that a claim which differs from one of their sentences may be about another
matter: they license, and never contradict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from eval.synthlink.corrected.pages import Page, page, source_page
from eval.synthlink.corrected.wording import Saying, saying, sentences
from eval.synthlink.question import Question
from kg.text.normaliser import content_words

if TYPE_CHECKING:
    from retrieval.corpus import Corpus, CorpusPage

Held = Literal["facts", "pages"]


class Piece(NamedTuple):
    """One piece of evidence."""

    told: Saying
    held: Held
    single: bool = False
    """Whether it says one thing, so that its numbers and negation are about that. A sentence of an
    expected answer says several."""
    about: frozenset[str] = frozenset()
    """Content words of the title of the page that it stands on."""


class SourcePages:
    """The pages of a corpus by what cites them.

    Args:
        corpus: the pages; another form of an address is the same page, as for P@5.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._by_address: dict[str, CorpusPage] = {}
        self._by_title: dict[str, CorpusPage] = {}
        for one in corpus.pages:
            cited = page(one.url)
            self._by_address.setdefault(cited.address, one)
            self._by_title.setdefault(page(one.title).title, one)

    def of(self, question: Question) -> tuple[CorpusPage, ...]:
        """The pages of a question's sources, each once; those the corpus lacks are left out.

        A source without an address is the page with its title.
        """
        found = (self._found(source_page(source)) for source in question.sources)
        return tuple(dict.fromkeys(one for one in found if one is not None))

    def lacking(self, questions: Iterable[Question]) -> int:
        """How many different sources of questions have no page here."""
        sources = {source for question in questions for source in question.sources}
        return sum(self._found(source_page(source)) is None for source in sources)

    def _found(self, cited: Page) -> CorpusPage | None:
        if cited.address:
            return self._by_address.get(cited.address)
        return self._by_title.get(cited.title)


def pieces(question: Question, pages: SourcePages | None = None) -> list[Piece]:
    """Facts, sentences of the expected answers, these as wholes, and sentences of the pages."""
    return [*_catalogued(question), *(_told(question, pages) if pages else ())]


def _catalogued(question: Question) -> Iterator[Piece]:
    facts = {step.fact for step in question.steps if step.fact}
    texts = [step.fact for step in question.steps if step.fact]
    for answer in (question.answer, *question.aliases):
        texts += [text for _, text in sentences(answer)]
        texts.append(answer)
    for text in dict.fromkeys(texts):
        yield Piece(saying(text), "facts", text in facts)


def _told(question: Question, pages: SourcePages) -> Iterator[Piece]:
    for one in pages.of(question):
        about = frozenset(content_words(one.title))
        for _, text in sentences(one.text):
            yield Piece(saying(text), "pages", about=about)
