"""``rag_llm``: retrieves passages of text and answers from them with a language model.

It uses the same corpora and retrievers as ``rag``, so that the two differ only in their reader. The
model sees the passages and the question, but not the card's own facts and rules.
"""

from __future__ import annotations

from typing import Any

from cards.card import CardView
from eval.abstention.answer_client import AnswerClient, Sampling
from eval.abstention.result import Answer
from eval.abstention.retrieval_plan import PassageLibrary, RetrievalPlan, open_library
from eval.abstention.system import SystemOptions
from eval.abstention.systems.registry import register
from eval.harness.systems.settings import Settings
from eval.model.prompts import PASSAGES, TypedAnswer


class RagLlm:
    """Answers from the passages that a retriever finds.

    Args:
        library: the corpus with its retriever.
        answer_client: the client of the model that reads the passages, best first.
    """

    def __init__(self, library: PassageLibrary, answer_client: AnswerClient) -> None:
        self.name = answer_client.qualify_name("rag_llm")
        self.graph_sha256 = library.graph_sha256
        self._library = library
        self._texts = {passage.id: passage.text for passage in library.passages}
        self.client = answer_client.client
        self._answer_client = answer_client

    def params(self) -> dict[str, Any]:
        """Returns the parameters of retrieval, prompt and model."""
        return {**self._library.params, "prompt": PASSAGES.params(), **self._answer_client.params()}

    async def answer(self, card: CardView) -> Answer:
        """Returns the model's answer (YES, NO or UNKNOWN) from the passages found."""
        ranking = self._library.retriever.search(card.question, self._library.top_k)
        passages = [self._texts[passage_id] for passage_id, _ in ranking]
        messages = PASSAGES.build_messages(passages=passages, question=card.question)
        answer, _ = await self._answer_client.ask(messages, TypedAnswer)
        return answer

    async def aclose(self) -> None:
        """Closes the client."""
        await self._answer_client.aclose()


@register("rag_llm", asks_model=True)
def create_system(options: SystemOptions) -> RagLlm:
    """Retrieval over the graph in words or a run's chunks, and a language model as the reader."""
    settings = Settings(options.settings, "rag_llm")
    plan = RetrievalPlan.from_settings(settings)
    sampling = Sampling.from_settings(settings)
    settings.refuse_unknown()
    # Open the model first, so that a missing key is reported before the graph is loaded.
    answer_client = AnswerClient.open(options.client, sampling)
    return RagLlm(open_library(plan, options), answer_client)
