"""``rag``: retrieves passages of text and answers from them with a lexical reader.

It is the text-only baseline for systems that query the graph. The text is the graph's facts as
sentences, the chunks of a run, or recorded web searches. A retriever finds passages for the
question, and a lexical reader chooses the answer from them. It uses no language model, so it needs
no server and its answers are reproducible. With ``context=card`` it reads the card's own facts
instead of retrieved passages. ``rag_dense`` is the same system with retrieval by embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cards.card import CardView
from eval.abstention.result import Answer
from eval.abstention.retrieval_plan import PassageLibrary, RetrievalPlan, open_library
from eval.abstention.system import SystemOptions
from eval.abstention.systems.registry import register
from eval.harness.systems.settings import Settings
from eval.questions.lexical_answerer import DEFAULT_THRESHOLD, Reader, WordWeights


class Rag:
    """Answers from the passages that a retriever finds.

    Args:
        library: the corpus with its retriever.
        reader: chooses the answer from the passages.
        name: the system's name.
    """

    def __init__(self, library: PassageLibrary, reader: Reader, name: str = "rag") -> None:
        self.name = name
        self.graph_sha256 = library.graph_sha256
        self.reader = reader
        self._library = library
        self._lines = {passage.id: library.split_sentences(passage) for passage in library.passages}
        self._weights = WordWeights(line for lines in self._lines.values() for line in lines)

    def params(self) -> dict[str, Any]:
        """Returns the parameters of retriever, corpus and reader."""
        return {
            "context": "retrieved",
            "threshold": self.reader.threshold,
            **self._library.params,
        }

    def answer(self, card: CardView) -> Answer:
        """Answers YES, NO or UNKNOWN by the best sentence among the passages found."""
        ranking = self._library.retriever.search(card.question, self._library.top_k)
        sentences = [line for passage_id, _ in ranking for line in self._lines[passage_id]]
        return _answer_question(self.reader, card.question, sentences, self._weights)


class CardReader:
    """Answers from the card's own facts with the lexical reader, without retrieval.

    Words are weighted by how rare they are among these facts. It needs no graph, so it works with
    any card file.
    """

    name = "rag"

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def params(self) -> dict[str, Any]:
        """Returns the parameters of the reader."""
        return {"context": "card", "threshold": self.reader.threshold}

    def answer(self, card: CardView) -> Answer:
        """Answers YES, NO or UNKNOWN by the best of the card's facts."""
        return _answer_question(self.reader, card.question, card.facts, WordWeights(card.facts))


def _answer_question(
    reader: Reader, question: str, sentences: Sequence[str], weights: WordWeights
) -> Answer:
    reading = reader.answer_question(question, sentences, weights)
    if not reading.sentence:
        return Answer(pred=reading.pred, raw="no sentence mentions all that is asked about")
    return Answer(
        pred=reading.pred, raw=f"{reading.sentence} [covers {reading.coverage:.3f} of the question]"
    )


@register("rag")
def create_system(options: SystemOptions) -> Rag | CardReader:
    """Text only: retrieval over the graph's facts as text or a run's chunks, and a lexical reader.

    Settings: ``context`` retrieved|card, ``threshold``, and those of ``retrieval_plan``.
    """
    settings = Settings(options.settings, "rag")
    context = settings.get_choice("context", ("retrieved", "card"))
    reader = Reader(settings.get_fraction("threshold", DEFAULT_THRESHOLD))
    if context == "card":
        # Settings that only retrieval uses are refused, since they would have no effect.
        settings.refuse_unknown()
        return CardReader(reader)
    return _open_rag("rag", settings, options, reader)


@register("rag_dense")
def create_dense_system(options: SystemOptions) -> Rag:
    """The same with passages retrieved by sentence embeddings (extra minilm).

    Settings: ``threshold``, and those of ``retrieval_plan`` except ``retriever``.
    """
    settings = Settings({"retriever": "dense", **options.settings}, "rag_dense")
    settings.get_choice("retriever", ("dense",))
    reader = Reader(settings.get_fraction("threshold", DEFAULT_THRESHOLD))
    return _open_rag("rag_dense", settings, options, reader)


def _open_rag(name: str, settings: Settings, options: SystemOptions, reader: Reader) -> Rag:
    plan = RetrievalPlan.from_settings(settings)
    settings.refuse_unknown()
    return Rag(open_library(plan, options), reader, name)
