"""``rag``: retrieval over the graph put in words, and a reader of the retrieved text.

What a text-only pipeline over the same knowledge can do, built in earnest: BM25 or embeddings
find passages by the question, and a lexical reader decides from them. It has no graph, no
constraints, no entity linking and no language model, so it runs anywhere and gives the same
answers every time. The card's own facts are not read unless ``context=card`` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cards.card import CardView
from eval.reader import DEFAULT_THRESHOLD, Reader, Weights
from eval.registry import register
from eval.result import Answer
from eval.settings import Settings
from eval.system import SystemOptions
from retrieval.protocol import Passage, Retriever


class Rag:
    """Answers from the passages a retriever finds.

    Args:
        retriever: finds passages by the question.
        passages: the corpus the retriever was built over; one sentence a line.
        reader: decides.
        top_k: how many passages are read.
        graph_sha256: hash of the graph the passages put in words, for the manifest.
        described: further parameters, for the manifest.
    """

    name = "rag"

    def __init__(
        self,
        retriever: Retriever,
        passages: Sequence[Passage],
        reader: Reader,
        *,
        top_k: int = 5,
        graph_sha256: str | None = None,
        described: dict[str, Any] | None = None,
    ) -> None:
        self.graph_sha256 = graph_sha256
        self._retriever = retriever
        self._lines = {passage.id: passage.text.splitlines() for passage in passages}
        self._weights = Weights(line for lines in self._lines.values() for line in lines)
        self.reader = reader
        self._top_k = top_k
        self._described = described or {}

    def params(self) -> dict[str, Any]:
        """Retriever, corpus and reader."""
        return {
            "context": "retrieved",
            "top_k": self._top_k,
            "threshold": self.reader.threshold,
            **self._described,
        }

    def answer(self, card: CardView) -> Answer:
        """YES, NO or UNKNOWN by the best sentence among the passages found."""
        found = self._retriever.search(card.question, self._top_k)
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
    """Text only: the graph in words, BM25 or dense retrieval, and a lexical reader.

    Settings: ``context`` retrieved|card, ``retriever`` bm25|dense, ``passages`` fact|subject,
    ``top_k``, ``threshold``, ``model`` (embedding model of ``dense``).
    """
    settings = Settings(options.settings, "rag")
    context = settings.choice("context", ("retrieved", "card"))
    reader = Reader(settings.fraction("threshold", DEFAULT_THRESHOLD))
    if context == "card":
        # What only retrieval needs is refused here rather than silently without effect.
        settings.refuse_others()
        return CardReader(reader)
    chosen = settings.choice("retriever", ("bm25", "dense"))
    grouping = settings.choice("passages", ("fact", "subject"))
    top_k = settings.whole("top_k", 5, least=1)
    model = settings.text("model", "") if chosen == "dense" else ""
    settings.refuse_others()

    from kg.knowledge import KnowledgeBase
    from retrieval.passages import passages_of

    knowledge = KnowledgeBase.shared(options.domain, options.graph, options.shapes)
    passages = passages_of(
        knowledge.graph, knowledge.words, "subject" if grouping == "subject" else "fact"
    )
    retriever, described = _retriever(chosen, passages, model)
    return Rag(
        retriever,
        passages,
        reader,
        top_k=top_k,
        graph_sha256=knowledge.graph.sha256,
        described={"passages": grouping, "retriever": described},
    )


def _retriever(
    name: str, passages: Sequence[Passage], model: str
) -> tuple[Retriever, dict[str, Any]]:
    if name == "dense":
        from retrieval.dense import Dense, load_encoder

        encode, model_name = load_encoder(model)
        dense = Dense(passages, encode, model=model_name)
        return dense, dense.params()
    from retrieval.bm25 import BM25

    bm25 = BM25(passages)
    return bm25, bm25.params()
