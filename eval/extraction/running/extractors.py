"""Who extracts: a language model, or rules.

An extractor is shown the text and the schema of a sample and nothing else of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from eval.extraction.running.prompts import PromptBuilder
from eval.llm import Completion, ModelClient, SchemaForm
from eval.model.caller import UNREADABLE_FINISH_REASON
from eval.model.calls import current_calls
from eval.result import Usage
from kg.base.errors import ModelCallError
from kg.words.plain_text import clean_text

_MOST_FORMS = 1000
"""Schemas whose forms are kept; samples often share theirs."""
_LONGEST_PROBLEM = 500


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one text, not yet scored. The fields are those of the row."""

    parsed: bool
    """Whether there is a value at all."""
    failed: bool = False
    """Whether the call failed, so that nothing is known of what would have come."""
    predicted: Any = None
    raw: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()
    confidence: float | None = None
    latency_s: float | None = None
    ttft_s: float | None = None
    at_s: float | None = None
    usage: Usage | None = None
    retries: int = 0
    timed_out: bool = False
    input_chars: int = 0
    output_chars: int = 0


class RuleExtractor(Protocol):
    """An extractor that answers on the spot."""

    name: str

    def params(self) -> dict[str, Any]:
        """What decides what it extracts."""
        ...

    def extract(self, text: str, schema: Mapping[str, Any]) -> Any:
        """What the text says, as an instance of the schema."""
        ...


class ModelExtractor:
    """Asks a model.

    Args:
        client: the model.
        prompts: how it is asked.
        streamed: whether replies are streamed, to time their first token.
        repair: whether a reply that is no JSON is asked for once more.

    Attributes:
        name: ``provider/model``.
    """

    def __init__(
        self, client: ModelClient, prompts: PromptBuilder, *, streamed: bool, repair: bool
    ) -> None:
        self.name = client.model
        self.client = client
        self._prompts = prompts
        self._streamed = streamed
        self._repair = repair
        self._forms: dict[int, tuple[Mapping[str, Any], SchemaForm]] = {}

    def params(self) -> dict[str, Any]:
        """What decides what it extracts, without secrets."""
        return {**self.client.params(), "stream": self._streamed, "repair": self._repair}

    async def extract(self, text: str, schema: dict[str, Any]) -> Extracted:
        """Asks for one extraction.

        Args:
            text: what to extract from.
            schema: what to extract.

        Returns:
            A failed call is one that says so; it raises nothing.

        Raises:
            ModelAccessError: every call would fail.
        """
        messages = self._prompts.build_messages(text, schema)
        asked = sum(len(message["content"]) for message in messages)
        try:
            reply = await self.client.ask_schema(
                messages, self._form(schema), repair=self._repair, streamed=self._streamed
            )
        except ModelCallError as error:
            return self._failed(error, asked)
        turns = [turn for turn in (reply.earlier, reply.completion) if turn is not None]
        last = reply.completion
        read = reply.problem is None
        return Extracted(
            parsed=read,
            predicted=reply.value,
            raw="" if read and _is_bare(last.text, reply.value) else last.text,
            problem=""
            if read
            else clean_text(_problem(reply.problem or "", last), _LONGEST_PROBLEM),
            notes=tuple(current_calls().fallbacks),
            confidence=_probability(last) if read else None,
            latency_s=_seconds(turns),
            ttft_s=turns[0].ttft_s,
            at_s=last.at_s,
            usage=_usage(turns),
            retries=sum(turn.retries for turn in turns),
            timed_out=any(turn.timeouts for turn in turns),
            input_chars=asked,
            output_chars=sum(len(turn.text) for turn in turns),
        )

    @staticmethod
    def _failed(error: ModelCallError, asked: int) -> Extracted:
        calls = current_calls()
        return Extracted(
            parsed=False,
            failed=True,
            problem=clean_text(error.what, _LONGEST_PROBLEM),
            notes=tuple(calls.fallbacks),
            usage=calls.sum_usage(),
            retries=calls.retries,
            timed_out=calls.timeouts > 0,
            input_chars=asked,
        )

    def _form(self, schema: dict[str, Any]) -> SchemaForm:
        known = self._forms.get(id(schema))
        if known is None or known[0] is not schema:
            if len(self._forms) >= _MOST_FORMS:
                self._forms.clear()
            # With the schema, so that no other can come to bear its id.
            known = self._forms[id(schema)] = (schema, SchemaForm(schema))
        return known[1]


def _problem(problem: str, completion: Completion) -> str:
    if completion.is_refused:
        return f"refused: {completion.refusal or 'by a content filter'}"
    if completion.finish_reason == "length":
        return f"cut off at max_tokens; {problem}"
    if completion.finish_reason == UNREADABLE_FINISH_REASON:
        return "the server could not read what its model wrote; it may be cut off at max_tokens"
    return problem


def _is_bare(text: str, value: Any) -> bool:
    """Whether a reply says nothing beyond its value, so that it need not be kept beside it."""
    try:
        return bool(msgspec.json.decode(text.encode()) == value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False


def _seconds(turns: Sequence[Completion]) -> float | None:
    """Seconds of all turns; null where one was not timed."""
    if any(turn.latency_s <= 0 for turn in turns):
        return None
    return round(sum(turn.latency_s for turn in turns), 6)


def _usage(turns: Sequence[Completion]) -> Usage | None:
    """Tokens and cost of all turns; null unless each was counted, or a part would pass for all."""
    counted = [turn.usage for turn in turns if turn.usage is not None]
    if len(counted) < len(turns):
        return None
    costs = [usage.cost_usd for usage in counted]
    known = [cost for cost in costs if cost is not None]
    return Usage(
        sum(usage.prompt_tokens for usage in counted),
        sum(usage.completion_tokens for usage in counted),
        round(sum(known), 12) if len(known) == len(costs) else None,
    )


def _probability(completion: Completion) -> float | None:
    """The probability the model gave to the whole reply: the product over its tokens."""
    if not completion.logprobs:
        return None
    return round(math.exp(sum(logprob for _, logprob in completion.logprobs)), 6)
