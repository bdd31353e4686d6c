"""The model client, with which all systems and judges call OpenAI-compatible servers.

    async with ModelClient.open(ClientOptions(model="ollama/llama3.2")) as client:
        reply = await client.ask([{"role": "user", "content": question}], Verdict)

A model is named ``provider/model``; the address and key of its server come from the environment
or ``.env`` (``docs/how-to/models.md``). The cost of a call is added to the open ``CallLog``
(``eval.model.calls``), so systems need not pass it on.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Literal, TypeVar

import msgspec

from eval.model.calls import CallLog, current_calls
from eval.model.completion import Completion, Message, Mode, Reply
from eval.model.environment import read_variables
from eval.model.options import ClientOptions
from eval.model.prices import Price, find_price
from eval.model.providers import RECORDED, find_endpoint
from eval.model.redaction import hide_key
from eval.model.replies.reply_form import ReadResult, ReplyForm, get_form
from eval.model.replies.schema_form import SchemaForm
from eval.model.server.caller import (
    UNREADABLE_FINISH_REASON,
    Caller,
    FeatureRefusedError,
    get_shared_caller,
    release_caller,
)
from eval.model.server.capabilities import Capabilities
from eval.model.server.request_body import build_request_body, build_request_head
from eval.model.usage import Usage
from eval.model.wire import ReceivedReply, read_chunk
from kg.base.errors import ModelCallError

__all__ = ["ClientOptions", "Completion", "Message", "ModelClient", "Reply", "SchemaForm"]

T = TypeVar("T")

_MAX_QUOTED_CHARS = 4000
"""Maximum number of characters of an unreadable reply that the repair turn quotes to the model."""
_MAX_STREAM_CHARS = 1_000_000
"""Maximum number of characters of a streamed reply; a longer one is aborted."""


class ModelClient:
    """Calls one model. Create it with ``open``; close it with ``aclose`` or ``async with``.

    Attributes:
        model: ``provider/model`` as the user named it.
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
        self._capabilities = Capabilities(caller, structured, logprobs=logprobs)
        self._fallbacks: Counter[str] = Counter()
        self._served: set[str] = set()
        self._open = True
        self._params = {
            "model": self.model,
            **caller.params(),
            "temperature": temperature,
            "top_p": top_p,
            "max_tokens": max_tokens,
            "seed": seed,
            "structured": structured,
            "logprobs": logprobs,
        }
        self._head = build_request_head(caller.endpoint, temperature, top_p, max_tokens)

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
        """Creates a client; nothing is sent yet.

        Args:
            options: the model and the options for calling it.
            temperature: sampling temperature; None leaves it to the server, as some models require.
            max_tokens: maximum number of tokens of a reply.
            top_p: probability mass of the most likely tokens that are sampled from.
            seed: sampling seed, for servers that support one. Each sample and each repeat gets its
                own seed, derived from this one.
            structured: how ``ask`` requests structured replies; ``auto`` uses the strictest mode
                that the server accepts.
            logprobs: whether log-probabilities are requested.
            price: price of the tokens; None means the one in the price tables.

        Raises:
            ModelAccessError: model, address or key are missing or malformed.
            MissingFileError, RecordError: the price table is missing or malformed.
            WriteError: the cache cannot be created.
        """
        variables = read_variables()
        endpoint = find_endpoint(options.model, variables, options.base_url)
        return cls(
            get_shared_caller(endpoint, options, variables),
            price=price or find_price(endpoint.name, options.prices),
            temperature=temperature,
            max_tokens=max_tokens,
            top_p=top_p,
            seed=seed,
            structured=structured,
            logprobs=logprobs,
        )

    def params(self) -> dict[str, Any]:
        """Returns everything that decides answers, without secrets; constant during a run."""
        return dict(self._params)

    def observed(self) -> dict[str, Any]:
        """Returns the features that the server supported, for the manifest at the end of a run.

        ``structured`` is the mode in use, ``served`` lists the model names the server reported.
        ``fallbacks`` counts the calls that differ from what was first requested, by the difference:
        another mode, no log-probabilities, or a reply that does not follow the schema.
        """
        return {
            "structured": self._capabilities.choose_mode(),
            "logprobs": self._capabilities.logprobs,
            "fallbacks": dict(sorted(self._fallbacks.items())),
            "served": sorted(self._served),
        }

    async def complete(
        self, messages: Sequence[Message], *, schema: type | None = None, sample: int = 0
    ) -> Completion:
        """Requests one reply of the model.

        Args:
            messages: the conversation so far.
            schema: a msgspec struct whose schema the server is asked to follow; the reply is not
                parsed, unlike in ``ask``.
            sample: index of the sample, if an answer needs several; each is cached separately.

        Raises:
            ModelAccessError: every call would fail: no such model, a refused key, no quota left.
            ModelCallError: this call failed and will not be retried.
        """
        form: ReplyForm[Any] | None = None if schema is None else get_form(schema)
        return await self._request_completion(messages, form, sample)

    async def ask(
        self, messages: Sequence[Message], reply: type[T], *, sample: int = 0
    ) -> Reply[T]:
        """Requests a structured reply and validates it, with a repair turn if it cannot be read.

        The form of the reply is described at the end of the system message, in the same words
        for every server, so prompts need not describe it.

        Args:
            messages: the conversation so far.
            reply: a msgspec struct.
            sample: as for ``complete``.

        Raises:
            ModelAccessError, ModelCallError: as ``complete``.
        """
        form = get_form(reply)
        return await self._ask_with_repair(
            form.add_instruction(messages), form, sample, repair=True
        )

    async def ask_schema(
        self,
        messages: Sequence[Message],
        form: SchemaForm,
        *,
        sample: int = 0,
        repair: bool = False,
        streamed: bool = False,
    ) -> Reply[Any]:
        """Requests a reply that follows a JSON Schema, and parses it without validating it.

        Nothing is added to the messages. If the server refuses this schema, the next looser mode
        is used, for this schema only.

        Args:
            messages: the conversation so far.
            form: the form built from the schema.
            sample: as for ``complete``.
            repair: whether a repair turn follows a reply that could not be read.
            streamed: whether the reply is streamed, so that the time to its first token is known.

        Returns:
            The reply. A value of None may be a JSON null; ``problem`` says whether parsing failed.

        Raises:
            ModelAccessError: as ``complete``.
            ModelCallError: as ``complete``; or the client was opened with one mode as
                ``structured`` (not ``auto``) and the server refuses it.
        """
        return await self._ask_with_repair(messages, form, sample, repair=repair, streamed=streamed)

    def stream(self, messages: Sequence[Message]) -> AsyncGenerator[str, None]:
        """Yields the reply piece by piece, as the model writes it; never cached.

        A recorded model yields its recorded reply word by word.

        Raises:
            ModelAccessError: as ``complete``.
            ModelCallError: the call failed, the model refused, or the stream was cut off, also by
                ``max_tokens``, or got too long. What came before has been yielded.
        """
        return hide_key(self._stream_pieces(messages), self._caller.endpoint.key)

    async def _stream_pieces(self, messages: Sequence[Message]) -> AsyncGenerator[str, None]:
        if self._caller.endpoint.provider == RECORDED:
            completion = await self._request_completion(messages, None, 0)
            for word in re.findall(r"\s*\S+|\s+$", completion.text):
                yield word
            self._require_whole_stream(completion.finish_reason, completion.is_refused)
            return
        log = current_calls()
        body = build_request_body(self._head, msgspec.json.encode(messages), streamed=True)
        started_at, n_chars, usage = time.perf_counter(), 0, None
        finish_reason, is_refused = None, False
        chunks = self._caller.stream_chunks(body, log=log, max_tokens=self._max_tokens)
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    parts = read_chunk(chunk)
                    usage = self._price_usage(*parts.usage) if parts.usage else usage
                    is_refused = is_refused or bool(parts.refusal)
                    finish_reason = finish_reason or parts.finish_reason
                    n_chars += len(parts.text)
                    if n_chars > _MAX_STREAM_CHARS:
                        raise ModelCallError(
                            f"the streamed reply is longer than {_MAX_STREAM_CHARS} characters",
                            where=self.model,
                        )
                    if parts.text:
                        yield parts.text
            if finish_reason is None:
                raise ModelCallError("the streamed reply was cut off", where=self.model)
            self._require_whole_stream(finish_reason, is_refused)
        finally:
            if n_chars or finish_reason is not None:
                # Also counted if the caller stopped early: the tokens received so far are paid for.
                log.add_reply(latency_s=time.perf_counter() - started_at, usage=usage, cached=False)

    def _require_whole_stream(self, finish_reason: str | None, is_refused: bool) -> None:
        if is_refused or finish_reason == "content_filter":
            raise ModelCallError("the model refused to answer", where=self.model)
        if finish_reason == "length":
            raise ModelCallError(
                f"the reply was cut off after {self._max_tokens} tokens",
                where=self.model,
                hint="Allow more with --max-tokens.",
            )

    async def list_models(self) -> list[str]:
        """Returns the names of the models the server lists.

        Raises:
            ModelAccessError, ModelCallError: as ``complete``.
        """
        return await self._caller.list_models()

    async def aclose(self) -> None:
        """Closes the client; the last client of a shared connection closes that too."""
        if self._open:
            self._open = False
            await release_caller(self._caller)

    async def __aenter__(self) -> ModelClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _ask_with_repair(
        self,
        prompt: Sequence[Message],
        form: ReplyForm[T],
        sample: int,
        *,
        repair: bool,
        streamed: bool = False,
    ) -> Reply[T]:
        completion = await self._request_completion(prompt, form, sample, streamed)
        result = self._parse_completion(form, completion)
        if result.problem is None or completion.is_refused or not repair:
            return Reply(result.value, completion.text, completion, result.problem)
        current_calls().repairs += 1
        complaint = f"Your reply could not be read: {result.problem}."
        repair_prompt: list[Message] = [
            *prompt,
            {"role": "assistant", "content": completion.text[:_MAX_QUOTED_CHARS] or "(nothing)"},
            {"role": "user", "content": f"{complaint} Reply again, with the JSON object only."},
        ]
        repaired = await self._request_completion(repair_prompt, form, sample, streamed)
        result = self._parse_completion(form, repaired)
        return Reply(
            result.value,
            repaired.text,
            repaired,
            result.problem,
            repaired=True,
            earlier=completion,
        )

    async def _request_completion(
        self,
        messages: Sequence[Message],
        form: ReplyForm[Any] | None,
        sample: int,
        streamed: bool = False,
    ) -> Completion:
        log = current_calls()
        encoded_messages = msgspec.json.encode(messages)
        # The step between repeats is larger than any realistic number of samples, so that no
        # sample of one repeat gets the seed of a sample of another repeat.
        seed = None if self._seed is None else self._seed + 100_003 * log.repeat + sample
        while True:
            mode = None if form is None else self._capabilities.choose_mode(form)
            logprobs = self._capabilities.logprobs
            body = build_request_body(
                self._head,
                encoded_messages,
                seed=seed,
                logprobs=logprobs,
                form=form,
                mode=mode,
                streamed=streamed,
            )
            try:
                reply, is_cached = await self._caller.fetch_reply(
                    body, log=log, sample=sample, max_tokens=self._max_tokens, streamed=streamed
                )
            except FeatureRefusedError as error:
                self._capabilities.record_refusal(error, form, mode, logprobs)
                continue
            return self._record_completion(reply, is_cached, mode, log)

    def _record_completion(
        self, reply: ReceivedReply, cached: bool, mode: Mode | None, log: CallLog
    ) -> Completion:
        usage = self._price_usage(reply.prompt_tokens, reply.completion_tokens, reply.cost_usd)
        log.add_reply(latency_s=reply.latency_s, usage=usage, cached=cached)
        for fallback in self._capabilities.describe_fallbacks(mode):
            self._note_fallback(log, fallback)
        # Capped, since the server chooses these names.
        if reply.served is not None and len(self._served) < 20:
            self._served.add(reply.served[:200])
        return Completion(
            text=reply.text,
            finish_reason=reply.finish_reason,
            refusal=reply.refusal,
            mode=mode,
            usage=usage,
            latency_s=reply.latency_s,
            logprobs=reply.logprobs,
            cached=cached,
            ttft_s=reply.ttft_s,
            at_s=reply.at_s,
            retries=reply.retries,
            timeouts=reply.timeouts,
        )

    def _note_fallback(self, log: CallLog, fallback: str) -> None:
        self._fallbacks[fallback] += 1
        if fallback not in log.fallbacks:
            log.fallbacks.append(fallback)

    def _parse_completion(self, form: ReplyForm[T], completion: Completion) -> ReadResult[T]:
        if completion.is_refused:
            return ReadResult(None, "refused")
        if completion.finish_reason == UNREADABLE_FINISH_REASON:
            return ReadResult(None, "the server could not read what its model wrote")
        result = form.read_reply(completion.text, is_cut_off=completion.is_cut_off)
        is_finished = completion.finish_reason in {"stop", None}  # Some servers give no reason.
        if not result.exact and completion.mode in {"json_schema", "guided_json"} and is_finished:
            # Such a reply is impossible if the server enforces the schema, so this server ignores
            # schemas without saying so.
            self._note_fallback(current_calls(), f"{completion.mode} not followed")
        return result

    def _price_usage(
        self, prompt: int | None, completion: int | None, reported_cost: float | None
    ) -> Usage | None:
        """Returns the token counts with their price: the server's figure, else the table's."""
        if prompt is None:
            return None
        cost = reported_cost
        if cost is None and self._price is not None:
            cost = self._price.compute_cost(prompt, completion or 0)
        return Usage(prompt, completion or 0, cost)
