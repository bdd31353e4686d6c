"""``rag``: retrieval over text, and a reader of what is retrieved.

The text is the graph put in words, the chunks of a run, or recorded web searches. What a text-only
pipeline over the same knowledge can do, built in earnest: a retriever finds passages by the
question, and a lexical reader decides from them. It has no constraints, no entity linking and no
language model, so it runs anywhere and gives the same answers every time. The card's own facts are
not read unless ``context=card`` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cards.card import CardView
from eval.reader import DEFAULT_THRESHOLD, Reader, Weights
from eval.registry import register
from eval.result import Answer
from eval.retrieving import Library, RetrievalPlan, open_library
from eval.settings import Settings
from eval.system import SystemOptions


class Rag:
    """Answers from the passages a retriever finds.

    Args:
        library: the corpus, and what finds passages in it by the question.
        reader: decides.
    """

    name = "rag"

    def __init__(self, library: Library, reader: Reader) -> None:
        self.graph_sha256 = library.graph_sha256
        self.reader = reader
        self._library = library
        self._lines = {passage.id: library.sentences(passage) for passage in library.passages}
        self._weights = Weights(line for lines in self._lines.values() for line in lines)

    def params(self) -> dict[str, Any]:
        """Retriever, corpus and reader."""
        return {
            "context": "retrieved",
            "threshold": self.reader.threshold,
            **self._library.params,
        }

    def answer(self, card: CardView) -> Answer:
        """YES, NO or UNKNOWN by the best sentence among the passages found."""
        found = self._library.retriever.search(card.question, self._library.top_k)
        sentences = [line for passage_id, _ in found for line in self._lines[passage_id]]
        return _decide(self.reader, card.question, sentences, self._weights)


class CardReader:
    """The same reader over the card's own facts: retrieval taken out of the question.

    Words are weighed by how rare they are among these facts. Needs no graph, so it reads any
    card file.
    """

    name = "rag"

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def params(self) -> dict[str, Any]:
        """The reader alone."""
        return {"context": "card", "threshold": self.reader.threshold}

    def answer(self, card: CardView) -> Answer:
        """YES, NO or UNKNOWN by the best of the card's facts."""
        return _decide(self.reader, card.question, card.facts, Weights(card.facts))


def _decide(reader: Reader, question: str, sentences: Sequence[str], weights: Weights) -> Answer:
    reading = reader.read(question, sentences, weights)
    if not reading.sentence:
        return Answer(pred=reading.pred, raw="no sentence mentions all that is asked about")
    return Answer(
        pred=reading.pred, raw=f"{reading.sentence} [covers {reading.coverage:.3f} of the question]"
    )


@register("rag")
def create(options: SystemOptions) -> Rag | CardReader:
    """Text only: the graph in words or a run's chunks, retrieval, and a lexical reader.

    Settings: ``context`` retrieved|card, ``threshold``, and those of ``eval.retrieving``.
    """
    settings = Settings(options.settings, "rag")
    context = settings.choice("context", ("retrieved", "card"))
    reader = Reader(settings.fraction("threshold", DEFAULT_THRESHOLD))
    if context == "card":
        # What only retrieval needs is refused here rather than silently without effect.
        settings.refuse_others()
        return CardReader(reader)
    plan = RetrievalPlan.read(settings)
    settings.refuse_others()
    return Rag(open_library(plan, options), reader)
