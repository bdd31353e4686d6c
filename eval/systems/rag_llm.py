"""``rag_llm``: retrieval over text, and a language model that reads the passages.

The same corpus and retrievers as ``rag``, so that the two differ in their reader alone. The model
sees the passages and the question; the card's own facts and rules it does not see.
"""

from __future__ import annotations

from typing import Any

from cards.card import CardView
from eval.asking import Asker, Sampling
from eval.prompts import PASSAGES, TypedAnswer
from eval.registry import register
from eval.result import Answer
from eval.retrieving import Library, RetrievalPlan, open_library
from eval.settings import Settings
from eval.system import SystemOptions


class RagLlm:
    """Answers from the passages a retriever finds.

    Args:
        library: the corpus, and what finds passages in it by the question.
        asker: the model that reads them, best first.
    """

    def __init__(self, library: Library, asker: Asker) -> None:
        self.name = asker.name("rag_llm")
        self.graph_sha256 = library.graph_sha256
        self._library = library
        self._texts = {passage.id: passage.text for passage in library.passages}
        self.client = asker.client
        self._asker = asker

    def params(self) -> dict[str, Any]:
        """Retrieval, prompt and model."""
        return {**self._library.params, "prompt": PASSAGES.params(), **self._asker.params()}

    async def answer(self, card: CardView) -> Answer:
        """YES, NO or UNKNOWN as the model reads the passages."""
        found = self._library.retriever.search(card.question, self._library.top_k)
        passages = [self._texts[passage_id] for passage_id, _ in found]
        messages = PASSAGES.messages(passages=passages, question=card.question)
        answer, _ = await self._asker.ask(messages, TypedAnswer)
        return answer

    async def aclose(self) -> None:
        """Closes the client."""
        await self._asker.aclose()


@register("rag_llm")
def create(options: SystemOptions) -> RagLlm:
    """The graph in words or a run's chunks, retrieval, and a language model as the reader."""
    settings = Settings(options.settings, "rag_llm")
    plan = RetrievalPlan.read(settings)
    sampling = Sampling.read(settings)
    settings.refuse_others()
    # The model first: a missing key is found out before a graph is read.
    asker = Asker.open(options.client, sampling)
    return RagLlm(open_library(plan, options), asker)
