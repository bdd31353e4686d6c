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
from eval.model.completion import MODES, Completion, Message, Mode, Reply
from eval.model.environment import read_variables
from eval.model.failures import Kind
from eval.model.options import ClientOptions
from eval.model.prices import Price, find_price
from eval.model.providers import Endpoint, find_endpoint
from eval.model.structured import Form, Read, form_of
from eval.model.wire import Received, read_usage
from eval.result import Usage
from kg.base.errors import ModelAccessError, ModelCallError

__all__ = ["ClientOptions", "Completion", "Message", "ModelClient", "Reply"]

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
        self._structured = structured
        self._logprobs = logprobs
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
        self._head = _request_head(caller.endpoint, temperature, top_p, max_tokens)

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

        Raises:
            ModelAccessError: model, address or key are missing or malformed.
            MissingFileError, RecordError: the price table is.
            WriteError: the cache cannot be made.
        """
        variables = read_variables()
        endpoint = find_endpoint(options.model, variables)
        price = find_price(endpoint.name, options.prices)
        return cls(
            shared_caller(endpoint, options, variables),
            price=price,
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
            "structured": self._mode(),
            "logprobs": self._wants_logprobs(),
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
        form: Form[Any] | None = None if schema is None else form_of(schema)
        log = current_calls()
        turns = msgspec.json.encode(messages)
        while True:
            mode = None if form is None else self._mode()
            logprobs = self._wants_logprobs()
            body = self._body(turns, form, mode, logprobs, log.repeat, sample)
            try:
                received, cached = await self._caller.fetch(
                    body, log=log, sample=sample, max_tokens=self._max_tokens
                )
            except FeatureRefusedError as error:
                self._do_without(error, mode, logprobs)
                continue
            return self._entered(received, cached, mode, log)

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
        prompt = form.instruct(messages)
        completion = await self.complete(prompt, schema=reply, sample=sample)
        read = self._read(form, completion)
        if read.value is not None or completion.refused:
            return _reply(read, completion, repaired=False)
        current_calls().repairs += 1
        wrong = f"Your reply could not be read: {read.problem}."
        again: list[Message] = [
            *prompt,
            {"role": "assistant", "content": completion.text[:_QUOTED] or "(nothing)"},
            {"role": "user", "content": f"{wrong} Reply again, with the JSON object only."},
        ]
        completion = await self.complete(again, schema=reply, sample=sample)
        return _reply(self._read(form, completion), completion, repaired=True)

    async def stream(self, messages: Sequence[Message]) -> AsyncGenerator[str, None]:
        """The reply piece by piece, as the model writes it; never cached.

        Raises:
            ModelAccessError: as ``complete``.
            ModelCallError: the call failed, or the stream broke off after it had begun.
        """
        log = current_calls()
        head = self._head + b',"stream":true,"stream_options":{"include_usage":true}'
        body = head + b',"messages":' + msgspec.json.encode(messages) + b"}"
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

    def _body(
        self,
        turns: bytes,
        form: Form[Any] | None,
        mode: Mode | None,
        logprobs: bool,
        repeat: int,
        sample: int,
    ) -> bytes:
        parts = [self._head]
        if self._seed is not None:
            # Far apart, so that no sample of one repeat is a sample of another.
            parts.append(b',"seed":%d' % (self._seed + 100_003 * repeat + sample))
        if logprobs:
            # The chosen token only; llama.cpp gives twenty unless told.
            parts.append(b',"logprobs":true,"top_logprobs":1')
        if form is not None and mode is not None and (wish := form.response_format(mode)):
            parts += (b',"response_format":', wish)
        parts += (b',"messages":', turns, b"}")
        return b"".join(parts)

    def _mode(self) -> Mode:
        """The strictest way to ask for a structured reply that the server has not refused."""
        if self._structured != "auto":
            return self._structured
        return next(mode for mode in MODES if mode not in self._caller.refused)

    def _wants_logprobs(self) -> bool:
        return self._logprobs and "logprobs" not in self._caller.refused

    def _do_without(self, error: FeatureRefusedError, mode: Mode | None, logprobs: bool) -> None:
        """Notes what the server does not do, so that it is asked without from here on.

        Raises:
            ModelAccessError: it refuses the one mode that was demanded.
            ModelCallError: what it refuses was not asked for.
        """
        failure = error.failure
        if failure.kind is Kind.logprobs and logprobs:
            self._caller.note_refused("logprobs")
        elif failure.kind is Kind.format and mode in MODES[:2]:
            if self._structured != "auto":
                raise ModelAccessError(
                    f"the server refuses structured={mode}: {failure.what}",
                    where=self.model,
                    hint="Use --set structured=auto, or text.",
                ) from error
            self._caller.note_refused(mode)
        else:
            raise ModelCallError(
                f"a model call failed: {failure.what}", where=self.model
            ) from error

    def _entered(
        self, received: Received, cached: bool, mode: Mode | None, log: CallLog
    ) -> Completion:
        usage = self._usage(received.prompt_tokens, received.completion_tokens, received.cost_usd)
        log.add(latency_s=received.latency_s, usage=usage, cached=cached)
        if mode is not None and self._structured == "auto" and mode != MODES[0]:
            # Noted for every call it holds for, so that rows do not depend on who came first.
            self._note(log, f"{mode} instead of {MODES[0]}")
        if self._logprobs and "logprobs" in self._caller.refused:
            self._note(log, "no log-probabilities")
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
        )

    def _note(self, log: CallLog, fallback: str) -> None:
        self._fallbacks[fallback] += 1
        if fallback not in log.fallbacks:
            log.fallbacks.append(fallback)

    def _read(self, form: Form[T], completion: Completion) -> Read[T]:
        if completion.refused:
            return Read(None, "refused")
        if completion.finish_reason == UNREADABLE:
            return Read(None, "the server could not read what its model wrote")
        read = form.read(completion.text)
        whole = completion.finish_reason in {"stop", None}  # Some servers give no reason.
        if not read.exact and completion.mode == MODES[0] and whole:
            # A server that follows schemas could not have said this: it ignores them silently.
            self._note(current_calls(), f"{MODES[0]} not followed")
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


def _request_head(
    endpoint: Endpoint, temperature: float | None, top_p: float, max_tokens: int
) -> bytes:
    """The part of every request that never changes, as JSON without its closing brace."""
    # OpenAI's newer models refuse the older name, most other servers know only that one.
    length = "max_completion_tokens" if endpoint.provider == "openai" else "max_tokens"
    head: dict[str, Any] = {"model": endpoint.model, length: max_tokens}
    if temperature is not None:
        head["temperature"] = temperature
    if top_p != 1.0:
        head["top_p"] = top_p
    return msgspec.json.encode(head)[:-1]


def _reply(read: Read[T], completion: Completion, *, repaired: bool) -> Reply[T]:
    return Reply(read.value, completion.text, completion, read.problem, repaired)
