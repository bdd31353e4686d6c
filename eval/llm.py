"""The model client: one way to ask any OpenAI-compatible server, for every system and judge.

    async with ModelClient.open(ClientOptions(model="ollama/llama3.2")) as client:
        reply = await client.ask([{"role": "user", "content": question}], Verdict)

A model is named ``provider/model``; where its server is and which key it wants is told by the
environment or ``.env`` (``docs/models.md``). What a call costs is entered into the open
``CallLog`` (``eval.model.calls``), so systems hand nothing upwards.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Literal, TypeVar

import msgspec

from eval.model.calling import UNREADABLE, Caller, FeatureRefusedError, release, shared_caller
from eval.model.calls import CallLog, current_calls
from eval.model.completion import Completion, Message, Mode, Reply
from eval.model.environment import read_variables
from eval.model.options import ClientOptions
from eval.model.prices import Price, find_price
from eval.model.providers import find_endpoint
from eval.model.request_body import request_body, request_head
from eval.model.schema_form import SchemaForm
from eval.model.structured import Asked, Read, form_of
from eval.model.wire import Received, read_usage
from eval.model.wishes import Wishes
from eval.result import Usage
from kg.base.errors import ModelCallError

__all__ = ["ClientOptions", "Completion", "Message", "ModelClient", "Reply", "SchemaForm"]

T = TypeVar("T")

_QUOTED = 4000
"""Characters of an unreadable reply that are shown back to the model."""
_MAX_STREAM_CHARS = 1_000_000
"""A streamed reply is broken off here."""


class ModelClient:
    """Asks one model. Make it with ``open``; close it with ``aclose`` or ``async with``.

    Attributes:
        model: ``provider/model`` as it was named.
    """

    def __init__(
        self,
        caller: Caller,
        *,
        price: Price | None,
        temperature: float | None,
        max_tokens: int,
        top_p: float,
        seed: int | None,
        structured: Literal["auto"] | Mode,
        logprobs: bool,
    ) -> None:
        self.model = caller.endpoint.name
        self._caller = caller
        self._price = price
        self._max_tokens = max_tokens
        self._seed = seed
        self._wishes = Wishes(caller, structured, logprobs=logprobs)
        self._fallbacks: Counter[str] = Counter()
        self._served: set[str] = set()
        self._open = True
        self._params = {
            "model": self.model,
            "endpoint": caller.endpoint.base_url,
            "temperature": temperature,
            "top_p": top_p,
            "max_tokens": max_tokens,
            "seed": seed,
            "structured": structured,
            "logprobs": logprobs,
        }
        self._head = request_head(caller.endpoint, temperature, top_p, max_tokens)

    @classmethod
    def open(
        cls,
        options: ClientOptions,
        *,
        temperature: float | None = 0.0,
        max_tokens: int = 512,
        top_p: float = 1.0,
        seed: int | None = None,
        structured: Literal["auto"] | Mode = "auto",
        logprobs: bool = True,
        price: Price | None = None,
    ) -> ModelClient:
        """Makes a client; nothing is sent yet.

        Args:
            options: which model, and how it is called.
            temperature: of the sampling; null leaves it to the server, as some models demand.
            max_tokens: most tokens of a reply.
            top_p: mass of the likeliest tokens that are sampled from.
            seed: of the sampling, where a server has one. Samples and repeats each get their own,
                counted on from this.
            structured: how ``ask`` wants its replies; ``auto`` takes the strictest way that the
                server accepts.
            logprobs: whether log-probabilities are asked for.
            price: of its tokens; null means that of the price tables.

        Raises:
            ModelAccessError: model, address or key are missing or malformed.
            MissingFileError, RecordError: the price table is.
            WriteError: the cache cannot be made.
        """
        variables = read_variables()
        endpoint = find_endpoint(options.model, variables, options.base_url)
        return cls(
            shared_caller(endpoint, options, variables),
            price=price or find_price(endpoint.name, options.prices),
            temperature=temperature,
            max_tokens=max_tokens,
            top_p=top_p,
            seed=seed,
            structured=structured,
            logprobs=logprobs,
        )

    def params(self) -> dict[str, Any]:
        """Everything that decides answers, without secrets; the same from start to end of a run."""
        return dict(self._params)

    def observed(self) -> dict[str, Any]:
        """What became of the wishes in ``params``, for a manifest written when the run ends.

        ``structured`` is the mode in force, ``fallbacks`` counts the calls that were made in
        another way than first wished, ``served`` names the models as the server calls them.
        """
        return {
            "structured": self._wishes.mode(),
            "logprobs": self._wishes.logprobs,
            "fallbacks": dict(sorted(self._fallbacks.items())),
            "served": sorted(self._served),
        }

    async def complete(
        self, messages: Sequence[Message], *, schema: type | None = None, sample: int = 0
    ) -> Completion:
        """One reply of the model.

        Args:
            messages: the conversation so far.
            schema: a msgspec struct that the server is asked to keep to (``ask`` reads it too).
            sample: which of several samples of one answer; each is cached for itself.

        Raises:
            ModelAccessError: every call would fail: no such model, a refused key, no quota left.
            ModelCallError: this call failed for good.
        """
        form: Asked[Any] | None = None if schema is None else form_of(schema)
        return await self._completed(messages, form, sample)

    async def ask(
        self, messages: Sequence[Message], reply: type[T], *, sample: int = 0
    ) -> Reply[T]:
        """A structured reply, validated here; one more turn asks for it if it cannot be read.

        The form of the reply is described at the end of the system message, in the same words
        whatever the server can do, so prompts need not describe it.

        Args:
            messages: the conversation so far.
            reply: a msgspec struct.
            sample: as for ``complete``.

        Raises:
            ModelAccessError, ModelCallError: as ``complete``.
        """
        form = form_of(reply)
        return await self._asked(form.instruct(messages), form, sample, repair=True)

    async def fill(
        self,
        messages: Sequence[Message],
        form: SchemaForm,
        *,
        sample: int = 0,
        repair: bool = False,
        streamed: bool = False,
    ) -> Reply[Any]:
        """A reply under a JSON Schema: any JSON value, not yet checked against the schema.

        Nothing is added to the messages. A server that refuses this schema is asked in the next
        looser way, of this schema alone.

        Args:
            messages: the conversation so far.
            form: made of the schema.
            sample: as for ``complete``.
            repair: whether one more turn asks for a reply that could not be read.
            streamed: whether the reply is streamed, so that the time to its first token is known.

        Returns:
            A value of null may be what the model said: only ``problem`` tells.

        Raises:
            ModelAccessError: as ``complete``.
            ModelCallError: as ``complete``; or the one way that was demanded is refused.
        """
        return await self._asked(messages, form, sample, repair=repair, streamed=streamed)

    async def stream(self, messages: Sequence[Message]) -> AsyncGenerator[str, None]:
        """The reply piece by piece, as the model writes it; never cached.

        Raises:
            ModelAccessError: as ``complete``.
            ModelCallError: the call failed, or the stream broke off after it had begun.
        """
        log = current_calls()
        body = request_body(self._head, msgspec.json.encode(messages), streamed=True)
        start, length, finished, usage = time.perf_counter(), 0, False, None
        chunks = self._caller.stream(body, log=log, max_tokens=self._max_tokens)
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    told: Any = chunk
                    if told.usage is not None:
                        counts = read_usage(msgspec.json.encode(told.usage.model_dump()))
                        usage = self._usage(*counts)
                    for choice in (told.choices or ())[:1]:
                        piece = choice.delta.content or "" if choice.delta else ""
                        finished = finished or choice.finish_reason is not None
                        length += len(piece)
                        if length > _MAX_STREAM_CHARS:
                            raise ModelCallError(
                                "the streamed reply does not end", where=self.model
                            )
                        if piece:
                            yield piece
            if not finished:
                raise ModelCallError("the streamed reply was cut off", where=self.model)
        finally:
            if length or finished:
                # Also when the reader stopped early: what was said so far has been paid for.
                log.add(latency_s=time.perf_counter() - start, usage=usage, cached=False)

    async def models(self) -> list[str]:
        """Names of the models the server lists.

        Raises:
            ModelAccessError, ModelCallError: as ``complete``.
        """
        return await self._caller.models()

    async def aclose(self) -> None:
        """Closes the client; the last of those that share a connection closes that too."""
        if self._open:
            self._open = False
            await release(self._caller)

    async def __aenter__(self) -> ModelClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _asked(
        self,
        prompt: Sequence[Message],
        form: Asked[T],
        sample: int,
        *,
        repair: bool,
        streamed: bool = False,
    ) -> Reply[T]:
        completion = await self._completed(prompt, form, sample, streamed)
        read = self._read(form, completion)
        if read.problem is None or completion.refused or not repair:
            return Reply(read.value, completion.text, completion, read.problem)
        current_calls().repairs += 1
        wrong = f"Your reply could not be read: {read.problem}."
        again: list[Message] = [
            *prompt,
            {"role": "assistant", "content": completion.text[:_QUOTED] or "(nothing)"},
            {"role": "user", "content": f"{wrong} Reply again, with the JSON object only."},
        ]
        second = await self._completed(again, form, sample, streamed)
        read = self._read(form, second)
        return Reply(read.value, second.text, second, read.problem, True, completion)

    async def _completed(
        self,
        messages: Sequence[Message],
        form: Asked[Any] | None,
        sample: int,
        streamed: bool = False,
    ) -> Completion:
        log = current_calls()
        turns = msgspec.json.encode(messages)
        # Far apart, so that no sample of one repeat is a sample of another.
        seed = None if self._seed is None else self._seed + 100_003 * log.repeat + sample
        while True:
            mode = None if form is None else self._wishes.mode(form)
            logprobs = self._wishes.logprobs
            body = request_body(
                self._head,
                turns,
                seed=seed,
                logprobs=logprobs,
                form=form,
                mode=mode,
                streamed=streamed,
            )
            try:
                received, cached = await self._caller.fetch(
                    body, log=log, sample=sample, max_tokens=self._max_tokens, streamed=streamed
                )
            except FeatureRefusedError as error:
                self._wishes.do_without(error, form, mode, logprobs)
                continue
            return self._entered(received, cached, mode, log)

    def _entered(
        self, received: Received, cached: bool, mode: Mode | None, log: CallLog
    ) -> Completion:
        usage = self._usage(received.prompt_tokens, received.completion_tokens, received.cost_usd)
        log.add(latency_s=received.latency_s, usage=usage, cached=cached)
        for fallback in self._wishes.shortfall(mode):
            self._note(log, fallback)
        if received.served is not None and len(self._served) < 20:
            self._served.add(received.served[:200])
        return Completion(
            text=received.text,
            finish_reason=received.finish_reason,
            refusal=received.refusal,
            mode=mode,
            usage=usage,
            latency_s=received.latency_s,
            logprobs=received.logprobs,
            cached=cached,
            ttft_s=received.ttft_s,
            at_s=received.at_s,
            retries=received.retries,
            timeouts=received.timeouts,
        )

    def _note(self, log: CallLog, fallback: str) -> None:
        self._fallbacks[fallback] += 1
        if fallback not in log.fallbacks:
            log.fallbacks.append(fallback)

    def _read(self, form: Asked[T], completion: Completion) -> Read[T]:
        if completion.refused:
            return Read(None, "refused")
        if completion.finish_reason == UNREADABLE:
            return Read(None, "the server could not read what its model wrote")
        read = form.read(completion.text)
        whole = completion.finish_reason in {"stop", None}  # Some servers give no reason.
        if not read.exact and completion.mode in {"json_schema", "guided_json"} and whole:
            # A server that follows schemas could not have said this: it ignores them silently.
            self._note(current_calls(), f"{completion.mode} not followed")
        return read

    def _usage(
        self, prompt: int | None, completion: int | None, told: float | None
    ) -> Usage | None:
        """Tokens as counted, and their price: the server's own figure before the table's."""
        if prompt is None:
            return None
        cost = told
        if cost is None and self._price is not None:
            cost = self._price.cost(prompt, completion or 0)
        return Usage(prompt, completion or 0, cost)
