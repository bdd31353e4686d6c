"""``raw``: a language model that is given the card's facts and rules, or nothing (closed book)."""

from __future__ import annotations

from typing import Any

from cards.card import CardView
from eval.asking import Asker, Sampling
from eval.model.completion import Message
from eval.prompts import CLOSED_BOOK, RAW, TypedAnswer
from eval.registry import register
from eval.result import Answer
from eval.settings import Settings
from eval.system import SystemOptions


def card_messages(card: CardView, *, closed_book: bool) -> list[Message]:
    """The prompt for a card, with its facts and rules or with the question alone."""
    if closed_book:
        return CLOSED_BOOK.messages(question=card.question)
    return RAW.messages(facts=card.facts, rules=card.rules, question=card.question)


class Raw:
    """Asks the model once.

    Args:
        asker: the model.
        closed_book: whether the facts and rules are withheld, so that the model must answer from
            what it learnt; its name then says so.
    """

    def __init__(self, asker: Asker, *, closed_book: bool = False) -> None:
        self.name = asker.name("raw_closed_book" if closed_book else "raw")
        self.client = asker.client
        self._asker = asker
        self._closed_book = closed_book

    def params(self) -> dict[str, Any]:
        """Prompt and model."""
        prompt = CLOSED_BOOK if self._closed_book else RAW
        return {"prompt": prompt.params(), **self._asker.params()}

    async def answer(self, card: CardView) -> Answer:
        """YES, NO or UNKNOWN as the model says."""
        messages = card_messages(card, closed_book=self._closed_book)
        answer, _ = await self._asker.ask(messages, TypedAnswer)
        return answer

    async def aclose(self) -> None:
        """Closes the client."""
        await self._asker.aclose()


@register("raw")
def create(options: SystemOptions) -> Raw:
    """A language model, given the card's facts and rules; --set closed_book=yes withholds them."""
    settings = Settings(options.settings, "raw")
    closed_book = settings.flag("closed_book")
    sampling = Sampling.read(settings)
    settings.refuse_others()
    return Raw(Asker.open(options.client, sampling), closed_book=closed_book)
