"""The agent: answers a question from an extraction, in the same way for every format.

The reply is typed: an answer, a confidence, the reasoning, and whether the agent abstains. A reply
of any other form (a list instead of a text, a missing field, "eight" for a number, a refusal) is
unreadable. An unreadable reply is neither an abstention nor an error.
"""

from __future__ import annotations

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from eval.model.call_counter import count_calls, get_complete_usage
from eval.model.completion import Completion, Message
from eval.model.options import ClientOptions
from eval.model.usage import Usage
from eval.skn.formats.prompts import AGENT_PROMPT, AgentReply
from eval.skn.formats.published_prompts import PUBLISHED_AGENT, describe_published_prompt
from eval.skn.formats.settings import Setting, open_client
from kg.base.files import to_json_bytes
from kg.base.plain_text import clean_text

if TYPE_CHECKING:
    from eval.model.client import ModelClient


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's response to one context and question.

    Attributes:
        answer: the answer; empty if the reply is unreadable.
        confidence: stated probability that the answer is right, 0 to 1; null if none is stated.
        reasoning: the agent's explanation of its answer.
        abstained: whether the agent declines to answer; null if the reply is unreadable, or if the
            prompt does not request this field (as the published prompt does not).
        raw: the reply before parsing.
        problem: what is wrong with the reply, in words; empty if nothing is.
        readable: whether the reply could be parsed.
        latency_s: total seconds of the calls; null if no call was made.
        usage: total tokens of the calls; null if a server does not count them.
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
        """Returns everything that determines its answers, as JSON values, for the manifest."""
        ...

    async def answer_question(self, context: str, question: str) -> Response:
        """Answers from ``context`` alone.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: this call failed for good.
        """
        ...


# Name and docstring are part of the schema that servers get, and so of the prompt and of the keys
# of cached replies: leave them as they are.
class PublishedReply(msgspec.Struct, frozen=True):
    """The reply that the published agent asks for; told to a server that constrains replies."""

    answer: str
    confidence: float
    reasoning: str


class ModelAgent:
    """An agent that calls a model.

    Args:
        client: the model; opened with ``open_client`` for the same setting.
        setting: the setting; ``published`` selects the published prompt.
    """

    def __init__(self, client: ModelClient, setting: Setting) -> None:
        self._client = client
        self._setting = setting

    def params(self) -> dict[str, Any]:
        """Returns prompt and model, for the manifest."""
        return {
            "prompt": describe_published_prompt("skn_agent", PUBLISHED_AGENT)
            if self._setting.published
            else AGENT_PROMPT.params(),
            **self._client.params(),
        }

    async def answer_question(self, context: str, question: str) -> Response:
        """Asks the model for an answer from ``context``.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: this call failed for good.
        """
        with count_calls() as log:
            response = await (
                self._ask_as_published(context, question)
                if self._setting.published
                else self._ask_in_fair_setting(context, question)
            )
        return msgspec.structs.replace(
            response,
            latency_s=round(log.latency_s, 4),
            usage=get_complete_usage(log),
        )

    async def _ask_in_fair_setting(self, context: str, question: str) -> Response:
        reply = await self._client.ask(
            AGENT_PROMPT.build_messages(notes=context, question=question), AgentReply
        )
        value = reply.value
        if value is None:
            return _build_unreadable_response(reply.completion, reply.problem or "unreadable")
        if not value.answer.strip() and not value.abstained:
            return _build_unreadable_response(
                reply.completion, "neither an answer nor an abstention"
            )
        return _build_response(
            reply.text, value.answer, value.confidence, value.reasoning, value.abstained
        )

    async def _ask_as_published(self, context: str, question: str) -> Response:
        messages: list[Message] = [
            {"role": "system", "content": PUBLISHED_AGENT},
            {"role": "user", "content": f"Context:\n{context}\n\nQuestion: {question}"},
        ]
        completion = await self._client.complete(messages, schema=PublishedReply)
        if completion.is_refused:
            return _build_unreadable_response(completion, "refused")
        try:
            return _parse_published_reply(completion.text.strip())
        except (ValueError, RecursionError) as error:
            return _build_unreadable_response(completion, f"not as asked: {error}")


def _parse_published_reply(text: str) -> Response:
    """Parses a reply as the published agent does, if that yields an answer.

    As in the published code, the confidence may be missing or may be a text, and it is clipped to
    [0, 1]. Two kinds of replies are errors here only: those that crashed the published run (the
    answer is a list), and those that it silently used as an answer (an empty text, or the raw text
    of a reply that is not JSON). They are recorded in ``raw``, and no judge sees them.

    Raises:
        ValueError: the reply is not a JSON object with an answer.
    """
    value = json.loads(text)
    if not isinstance(value, dict) or not isinstance(value.get("answer"), str):
        # TRY004 suggests a TypeError, but the fault is in the reply, not in the caller's types.
        raise ValueError("no JSON object with an answer that is text")  # noqa: TRY004
    reasoning = value.get("reasoning", "")
    explanation = reasoning if isinstance(reasoning, str) else json.dumps(reasoning)
    for text_field in (value["answer"], explanation):
        text_field.encode()  # raises a ValueError for a lone surrogate, which no file can store
    try:
        confidence = float(value["confidence"])
    except (KeyError, TypeError, ValueError, OverflowError):
        confidence = math.nan
    clipped_confidence = confidence if math.isnan(confidence) else max(0.0, min(1.0, confidence))
    return _build_response(text, value["answer"], clipped_confidence, explanation, None)


def _build_response(
    raw: str, answer: str, confidence: float, reasoning: str, abstained: bool | None
) -> Response:
    is_probability = 0.0 <= confidence <= 1.0
    return Response(
        answer=answer,
        confidence=confidence if is_probability else None,
        reasoning=reasoning,
        abstained=abstained,
        readable=True,
        raw=raw,
        problem="" if is_probability else "the stated confidence is not a number from 0 to 1",
    )


def _build_unreadable_response(completion: Completion, problem: str) -> Response:
    if completion.finish_reason == "length":
        problem = f"cut off, because it is too long; {problem}"
    return Response(
        answer="",
        confidence=None,
        reasoning="",
        abstained=None,
        readable=False,
        raw=completion.refusal or completion.text,
        problem=clean_text(problem, 300),
    )


def agent_reason(
    context: str | dict[str, Any],
    question: str,
    model: str | None = None,
    *,
    published: bool = False,
) -> dict[str, Any]:
    """Answers a question from an extraction, in one blocking call.

    Args:
        context: an extraction as text, or as JSON values. JSON values are written compactly, or
            indented if ``published``.
        question: the question.
        model: ``provider/model``; None means ``EPOCHE_MODEL``.
        published: use the prompt and parsing of the published agent.

    Returns:
        ``answer``, ``confidence``, ``reasoning``, ``abstained`` and ``problem``. ``problem`` is
        empty unless the reply cannot be read; then it gives the reason, and the others are null or
        empty.

    Raises:
        EpocheError: the model cannot be used, or the call failed for good.
    """
    setting = Setting.as_published() if published else Setting()
    if isinstance(context, dict):
        context = json.dumps(context, indent=2) if published else to_json_bytes(context).decode()

    async def ask_agent() -> Response:
        async with open_client(ClientOptions(model=model), setting) as client:
            return await ModelAgent(client, setting).answer_question(context, question)

    response = asyncio.run(ask_agent())
    return {
        "answer": response.answer,
        "confidence": response.confidence,
        "reasoning": response.reasoning,
        "abstained": response.abstained,
        "problem": response.problem,
    }
