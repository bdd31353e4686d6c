"""Asks a model for a typed reply and makes an answer of it: what all systems with a model share.

A reply becomes YES, NO or UNKNOWN only where it says so. A refusal, a reply that was cut off and
one that cannot be read are ``INVALID``; a failed call raises, and its row is ``ERROR``. Neither is
ever an abstention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from eval.model.probability import answer_probability
from eval.replies.parsing import read_reply
from eval.result import Answer
from eval.settings import Settings
from kg.claims import Gold

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.completion import Completion, Message, Reply
    from eval.model.options import ClientOptions

SERVERS_OWN = "server"
"""``--set temperature=server`` leaves the temperature to the server."""

Source = Literal["auto", "logprob", "stated", "none"]
"""Where confidence comes from; ``auto``: the log-probability if the server gives it, else what the
model states, else null."""


class Answered(Protocol):
    """A typed reply that holds an answer."""

    @property
    def answer(self) -> Gold:
        """YES, NO or UNKNOWN."""

    @property
    def confidence(self) -> float:
        """As the model states it, 0 to 1."""


T = TypeVar("T", bound=Answered)


@dataclass(frozen=True)
class Sampling:
    """What decides a model's replies, as asked for with ``--set``."""

    temperature: float | None
    top_p: float
    max_tokens: int
    seed: int | None
    structured: str
    confidence: str

    @classmethod
    def read(
        cls,
        settings: Settings,
        *,
        temperature: float = 0.0,
        max_tokens: int = 512,
        stated: bool = True,
    ) -> Sampling:
        """Reads the settings that all systems with a model have.

        They are ``temperature`` (``server``: not sent), ``top_p``, ``max_tokens``, ``model_seed``,
        ``structured`` and ``confidence``.

        Args:
            settings: as given with ``--set``.
            temperature: the default.
            max_tokens: the default, for a system whose replies are longer.
            stated: whether there is a confidence to choose; if not, none is asked for.

        Raises:
            SettingError: as ``Settings``.
        """
        # Some models refuse a request that names a temperature.
        unsent = settings.text("temperature", "") == SERVERS_OWN
        return cls(
            temperature=None
            if unsent
            else settings.number("temperature", temperature, least=0.0, most=2.0),
            top_p=settings.fraction("top_p", 1.0),
            max_tokens=settings.whole("max_tokens", max_tokens, least=1),
            seed=settings.optional_whole("model_seed"),
            structured=settings.choice(
                "structured", ("auto", "json_schema", "json_object", "text")
            ),
            confidence=settings.choice("confidence", ("auto", "logprob", "stated", "none"))
            if stated
            else "none",
        )


class Asker:
    """A model with the way it is asked and its replies are read.

    Args:
        client: the model.
        source: where confidence comes from.
    """

    def __init__(self, client: ModelClient, source: Source = "auto") -> None:
        self.client = client
        self._source: Source = source

    @classmethod
    def open(cls, options: ClientOptions, sampling: Sampling) -> Asker:
        """Opens the client.

        Raises:
            EpocheError: as ``ModelClient.open``.
        """
        from eval.llm import ModelClient

        structured: Any = sampling.structured  # checked when it was read
        source: Any = sampling.confidence
        client = ModelClient.open(
            options,
            temperature=sampling.temperature,
            max_tokens=sampling.max_tokens,
            top_p=sampling.top_p,
            seed=sampling.seed,
            structured=structured,
            logprobs=source in ("auto", "logprob"),
        )
        return cls(client, source)

    def params(self) -> dict[str, Any]:
        """The client's parameters, and where confidence comes from."""
        return {**self.client.params(), "confidence": self._source}

    def name(self, base: str) -> str:
        """A system's name with the model's, so that two models stand in one table."""
        return f"{base}:{self.client.model}"

    async def ask(
        self, messages: Sequence[Message], reply: type[T], *, sample: int = 0
    ) -> tuple[Answer, T | None]:
        """Asks once, with at most one repair turn.

        Returns:
            The answer, and the typed reply when there is one.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: this call failed for good.
        """
        got = await self.client.ask(messages, reply, sample=sample)
        return self._answer(got), got.value

    async def aclose(self) -> None:
        """Closes the client."""
        await self.client.aclose()

    def _answer(self, reply: Reply[T]) -> Answer:
        completion = reply.completion
        if completion.refused:
            return Answer(pred="INVALID", raw=completion.refusal or reply.text, note="refused")
        value = reply.value
        if value is not None:
            confidence, note = self._confidence(value.answer, value.confidence, completion)
            return Answer(pred=value.answer, confidence=confidence, raw=reply.text, note=note)
        if completion.finish_reason == "length":
            return Answer(pred="INVALID", raw=reply.text, note="cut off at max_tokens")
        # Servers and models that know no structured output may still have answered in words.
        read = read_reply(reply.text)
        torn = reply.text.lstrip().startswith("{") and not read.how.startswith("JSON")
        if read.pred == "INVALID" or torn:
            return Answer(pred="INVALID", raw=reply.text, note=f"unreadable: {reply.problem}")
        # In a sentence the word may also stand where it is no answer ("there is no doubt: yes").
        told = completion if read.how.startswith("JSON") or _is_bare(reply.text) else None
        confidence, note = self._confidence(read.pred, None, told)
        parts = filter(None, (f"read as text ({read.how})", note))
        return Answer(pred=read.pred, confidence=confidence, raw=reply.text, note="; ".join(parts))

    def _confidence(
        self, answer: Gold, stated: float | None, completion: Completion | None
    ) -> tuple[float | None, str]:
        """The confidence, and a note where its source is not the first choice.

        Args:
            answer: the answer read.
            stated: the model's own figure, if it gave one.
            completion: where the tokens of the answer are to be found, if anywhere.
        """
        if self._source == "none":
            return None, ""
        if self._source != "stated" and completion is not None:
            probability = answer_probability(completion, (answer,))
            if probability is not None:
                return round(probability, 6), ""
        if self._source == "logprob":
            return None, "no log-probability of the answer"
        if stated is None or not 0.0 <= stated <= 1.0:
            return None, "no confidence" if stated is None else "the stated confidence is no share"
        return stated, "confidence as stated" if self._source == "auto" else ""


def _is_bare(text: str) -> bool:
    """Whether a reply is one word, so that a word of it that is an answer is the answer."""
    return len(text.split()) == 1
