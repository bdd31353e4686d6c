"""The agent ``raw``: a model that answers from memory, without searching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eval.synthlink.agents.model_replies import record_reply
from eval.synthlink.agents.prompts import CLOSED_BOOK_PROMPT, ClosedReply
from eval.synthlink.agents.trail import Round, Trail
from eval.synthlink.predictions import is_blank

if TYPE_CHECKING:
    from eval.model.client import ModelClient


class ClosedBook:
    """Asks a model once, without showing it any page.

    Args:
        client: client of the model.
    """

    name = "raw"

    def __init__(self, client: ModelClient) -> None:
        self.client = client

    def params(self) -> dict[str, Any]:
        """Returns the settings of prompt and model."""
        return {"prompt": CLOSED_BOOK_PROMPT.params(), **self.client.params()}

    async def answer(self, question: str) -> Trail:
        """Answers in one round; a blank answer that is not marked as an abstention is unusable.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: this call failed for good.
        """
        reply = await self.client.ask(
            CLOSED_BOOK_PROMPT.build_messages(question=question), ClosedReply
        )
        raw, problem = record_reply(reply)
        value = reply.value
        if value is not None and is_blank(value.answer) and not value.abstained:
            problem = "neither an answer nor an abstention"
        if value is None or problem:
            return Trail(readable=False, rounds=(Round(raw=raw),), why=problem)
        answer = value.answer.strip()
        return Trail(
            answer="" if value.abstained else answer,
            abstained=value.abstained,
            rounds=(Round(answer=answer, done=True, raw=raw),),
            why="the model says that it does not know" if value.abstained else "",
        )
