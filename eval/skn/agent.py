"""The agent: answers a question from an extraction, the same for every format.

Its reply is typed: an answer, a confidence, the reasoning, and whether it abstains. A reply that
is not of that form (a list where a text is wanted, a missing field, "eight", a refusal) is
unreadable: neither an abstention nor an error.
"""

from __future__ import annotations

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from eval.model.completion import Completion, Message
from eval.model.counting import counted, usage_of
from eval.model.options import ClientOptions
from eval.result import Usage
from eval.skn.formats.prompts import AGENT, AgentReply
from eval.skn.formats.published_prompts import PUBLISHED_AGENT, published_params
from eval.skn.setting import Setting, open_client
from kg.base.files import to_json_bytes
from kg.words.plain_text import plain

if TYPE_CHECKING:
    from eval.llm import ModelClient


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent made of one context and question.

    Attributes:
        answer: its answer; empty when the reply is unreadable.
        confidence: that the answer is right, 0 to 1, as stated; null when it states no share.
        reasoning: how it got there, in its words.
        abstained: whether it says that it does not answer; null where it is not asked
            (as published) or unreadable.
        raw: the reply before it was read.
        problem: what is wrong with it, in words; empty when nothing is.
        readable: whether the reply could be read.
        latency_s: seconds of all its calls; null where no call was made.
        usage: tokens of all its calls; null when a server does not count them.
    """

    answer: str
    confidence: float | None
    reasoning: str
    abstained: bool | None
    readable: bool
    raw: str = ""
    problem: str = ""
    latency_s: float | None = None
    usage: Usage | None = None


class Agent(Protocol):
    """Answers questions from extractions."""

    def params(self) -> dict[str, Any]:
        """Everything that decides its answers, as JSON values, for the manifest."""
        ...

    async def reason(self, context: str, question: str) -> Response:
        """Answers from ``context`` alone.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: this call failed for good.
        """
        ...


class PublishedReply(msgspec.Struct, frozen=True):
    """The reply that the published agent asks for; told to a server that constrains replies."""

    answer: str
    confidence: float
    reasoning: str


class ModelAgent:
    """Has a model answer.

    Args:
        client: the model; opened with ``open_client`` for the same setting.
        setting: whether it is asked as published.
    """

    def __init__(self, client: ModelClient, setting: Setting) -> None:
        self._client = client
        self._setting = setting

    def params(self) -> dict[str, Any]:
        """Prompt and model."""
        return {
            "prompt": published_params("skn_agent", PUBLISHED_AGENT)
            if self._setting.published
            else AGENT.params(),
            **self._client.params(),
        }

    async def reason(self, context: str, question: str) -> Response:
        """Asks for an answer from ``context``.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: this call failed for good.
        """
        with counted() as log:
            response = await (
                self._published(context, question)
                if self._setting.published
                else self._fair(context, question)
            )
        return msgspec.structs.replace(
            response,
            latency_s=round(log.latency_s, 4),
            usage=usage_of(log),
        )

    async def _fair(self, context: str, question: str) -> Response:
        reply = await self._client.ask(AGENT.messages(notes=context, question=question), AgentReply)
        value = reply.value
        if value is None:
            return _unreadable(reply.completion, reply.problem or "unreadable")
        if not value.answer.strip() and not value.abstained:
            return _unreadable(reply.completion, "neither an answer nor an abstention")
        return _response(
            reply.text, value.answer, value.confidence, value.reasoning, value.abstained
        )

    async def _published(self, context: str, question: str) -> Response:
        messages: list[Message] = [
            {"role": "system", "content": PUBLISHED_AGENT},
            {"role": "user", "content": f"Context:\n{context}\n\nQuestion: {question}"},
        ]
        completion = await self._client.complete(messages, schema=PublishedReply)
        if completion.refused:
            return _unreadable(completion, "refused")
        try:
            return _read_published(completion.text.strip())
        except (ValueError, RecursionError) as error:
            return _unreadable(completion, f"not as asked: {error}")


def _read_published(text: str) -> Response:
    """The reply as the published agent reads it, where that ends in an answer.

    A confidence may be missing or a text, and is cut to 0…1, as there. What ended the published
    run (an answer that is a list) or passed silently for an answer (none at all, or the raw text
    of a reply that is no JSON) is a fault here: ``raw`` keeps it, and no judge sees it.

    Raises:
        ValueError: it is no JSON object with an answer.
    """
    value = json.loads(text)
    if not isinstance(value, dict) or not isinstance(value.get("answer"), str):
        raise ValueError("no JSON object with an answer that is text")  # noqa: TRY004 - of a text
    reasoning = value.get("reasoning", "")
    told = reasoning if isinstance(reasoning, str) else json.dumps(reasoning)
    for said in (value["answer"], told):
        said.encode()  # half a surrogate pair is a ValueError
    try:
        confidence = float(value["confidence"])
    except (KeyError, TypeError, ValueError, OverflowError):
        confidence = math.nan
    share = confidence if math.isnan(confidence) else max(0.0, min(1.0, confidence))
    return _response(text, value["answer"], share, told, None)


def _response(
    raw: str, answer: str, confidence: float, reasoning: str, abstained: bool | None
) -> Response:
    share = 0.0 <= confidence <= 1.0
    return Response(
        answer=answer,
        confidence=confidence if share else None,
        reasoning=reasoning,
        abstained=abstained,
        readable=True,
        raw=raw,
        problem="" if share else "the stated confidence is no share",
    )


def _unreadable(completion: Completion, problem: str) -> Response:
    if completion.finish_reason == "length":
        problem = f"cut off, because it is too long; {problem}"
    return Response(
        answer="",
        confidence=None,
        reasoning="",
        abstained=None,
        readable=False,
        raw=completion.refusal or completion.text,
        problem=plain(problem, 300),
    )


def agent_reason(
    context: str | dict[str, Any],
    question: str,
    model: str | None = None,
    *,
    published: bool = False,
) -> dict[str, Any]:
    """Answers a question from an extraction, in one call that waits for it.

    Args:
        context: an extraction as text, or as plain values, which become compact JSON (as
            published: pretty-printed).
        question: the question.
        model: ``provider/model``; null means ``EPOCHE_MODEL``.
        published: ask as the published agent does.

    Returns:
        ``answer``, ``confidence``, ``reasoning`` and ``abstained``. If the reply cannot be read,
        the first is empty, the others are null or empty, and ``problem`` says why; it is empty
        else.

    Raises:
        EpocheError: the model cannot be used, or the call failed for good.
    """
    setting = Setting.as_published() if published else Setting()
    if isinstance(context, dict):
        context = json.dumps(context, indent=2) if published else to_json_bytes(context).decode()

    async def ask() -> Response:
        async with open_client(ClientOptions(model=model), setting) as client:
            return await ModelAgent(client, setting).reason(context, question)

    response = asyncio.run(ask())
    return {
        "answer": response.answer,
        "confidence": response.confidence,
        "reasoning": response.reasoning,
        "abstained": response.abstained,
        "problem": response.problem,
    }
