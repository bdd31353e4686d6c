"""``raw``: a language model given the card's facts and rules, or the question alone."""

from __future__ import annotations

from typing import Any

from cards.card import CardView
from eval.abstention.answer_client import AnswerClient, Sampling
from eval.abstention.result import RAW_CLOSED_BOOK, Answer
from eval.abstention.system import SystemOptions
from eval.abstention.systems.registry import register
from eval.harness.systems.settings import Settings
from eval.model.completion import Message
from eval.model.prompts import CLOSED_BOOK, RAW, TypedAnswer


def build_card_messages(card: CardView, *, closed_book: bool) -> list[Message]:
    """Builds the prompt for a card, with its facts and rules or with the question alone."""
    if closed_book:
        return CLOSED_BOOK.build_messages(question=card.question)
    return RAW.build_messages(facts=card.facts, rules=card.rules, question=card.question)


class Raw:
    """Asks the model once per card.

    Args:
        answer_client: the client of the model.
        closed_book: whether the facts and rules are withheld, so that the model must answer from
            what it learned in training. The system's name is then ``raw_closed_book``.
    """

    def __init__(self, answer_client: AnswerClient, *, closed_book: bool = False) -> None:
        self.name = answer_client.qualify_name(RAW_CLOSED_BOOK if closed_book else "raw")
        self.client = answer_client.client
        self._answer_client = answer_client
        self._closed_book = closed_book

    def params(self) -> dict[str, Any]:
        """Returns prompt and model."""
        prompt = CLOSED_BOOK if self._closed_book else RAW
        return {"prompt": prompt.params(), **self._answer_client.params()}

    async def answer(self, card: CardView) -> Answer:
        """Returns the model's answer: YES, NO or UNKNOWN."""
        messages = build_card_messages(card, closed_book=self._closed_book)
        answer, _ = await self._answer_client.ask(messages, TypedAnswer)
        return answer

    async def aclose(self) -> None:
        """Closes the client."""
        await self._answer_client.aclose()


@register("raw", asks_model=True)
def create_system(options: SystemOptions) -> Raw:
    """A language model, given the card's facts and rules; --set closed_book=yes withholds them."""
    settings = Settings(options.settings, "raw")
    closed_book = settings.get_flag("closed_book")
    return _open_system(options, settings, closed_book=closed_book)


@register(RAW_CLOSED_BOOK, asks_model=True)
def create_closed_book(options: SystemOptions) -> Raw:
    """The same model without the card's facts and rules: what it knows, or guesses."""
    return _open_system(options, Settings(options.settings, RAW_CLOSED_BOOK), closed_book=True)


def _open_system(options: SystemOptions, settings: Settings, *, closed_book: bool) -> Raw:
    sampling = Sampling.from_settings(settings)
    settings.refuse_unknown()
    return Raw(AnswerClient.open(options.client, sampling), closed_book=closed_book)
