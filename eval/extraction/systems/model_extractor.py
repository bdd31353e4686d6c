"""Extracts data with a language model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from eval.extraction.systems.prompt_builder import PromptBuilder
from eval.extraction.view import ExtractionView
from eval.harness.reply import Reply
from eval.model.calls import current_calls
from eval.model.client import Completion, ModelClient, SchemaForm
from eval.model.server.caller import UNREADABLE_FINISH_REASON
from eval.model.usage import Usage
from kg.base.errors import ModelCallError
from kg.base.files import to_json_bytes
from kg.base.plain_text import clean_text

_MAX_FORMS = 1000
"""Maximum number of schemas whose forms are cached; samples often share a schema."""
_MAX_PROBLEM_LENGTH = 500


class ModelExtractor:
    """Requests extractions from a model.

    Args:
        client: calls the model.
        prompts: builds the messages.
        stream: whether replies are streamed, to measure the time to the first token.
        repair: whether a reply that is not JSON is requested once more.

    Attributes:
        name: ``provider/model``.
    """

    returns_valid_replies = True

    def __init__(
        self, client: ModelClient, prompts: PromptBuilder, *, stream: bool, repair: bool
    ) -> None:
        self.name = client.model
        self.client = client
        self._prompts = prompts
        self._streamed = stream
        self._repair = repair
        self._forms: dict[bytes, SchemaForm] = {}

    def params(self) -> dict[str, Any]:
        """Returns everything that decides the extractions, without secrets, for the manifest."""
        return {**self.client.params(), "stream": self._streamed, "repair": self._repair}

    async def answer(self, view: ExtractionView, /) -> Reply:
        """Requests one extraction.

        Returns:
            The reply; a failed call is a reply with the status ``error``.

        Raises:
            ModelAccessError: the model cannot be used, so no further call can succeed.
        """
        messages = self._prompts.build_messages(view.text, view.schema)
        input_chars = sum(len(message["content"]) for message in messages)
        try:
            reply = await self.client.ask_schema(
                messages, self._get_form(view.schema), repair=self._repair, streamed=self._streamed
            )
        except ModelCallError as error:
            return self._make_failure(error, input_chars)
        turns = [turn for turn in (reply.earlier, reply.completion) if turn is not None]
        last = reply.completion
        parsed = reply.problem is None
        return Reply(
            status="ok" if parsed else "invalid",
            value=reply.value if parsed else None,
            raw="" if parsed and _is_only_json(last.text, reply.value) else last.text,
            problem=""
            if parsed
            else clean_text(_describe_problem(reply.problem or "", last), _MAX_PROBLEM_LENGTH),
            notes=tuple(current_calls().fallbacks),
            confidence=_compute_probability(last) if parsed else None,
            latency_s=_sum_seconds(turns),
            ttft_s=turns[0].ttft_s,
            at_s=last.at_s,
            usage=_sum_usage(turns),
            retries=sum(turn.retries for turn in turns),
            timed_out=any(turn.timeouts for turn in turns),
            input_chars=input_chars,
            output_chars=sum(len(turn.text) for turn in turns),
        )

    @staticmethod
    def _make_failure(error: ModelCallError, input_chars: int) -> Reply:
        calls = current_calls()
        return Reply(
            status="error",
            problem=clean_text(error.what, _MAX_PROBLEM_LENGTH),
            notes=tuple(calls.fallbacks),
            usage=calls.sum_usage(),
            retries=calls.retries,
            timed_out=calls.timeouts > 0,
            input_chars=input_chars,
        )

    def _get_form(self, schema: dict[str, Any]) -> SchemaForm:
        key = to_json_bytes(schema)
        form = self._forms.get(key)
        if form is None:
            if len(self._forms) >= _MAX_FORMS:
                self._forms.clear()
            form = self._forms[key] = SchemaForm(schema)
        return form


def _describe_problem(problem: str, completion: Completion) -> str:
    if completion.is_refused:
        return f"refused: {completion.refusal or 'by a content filter'}"
    if completion.finish_reason == "length":
        return f"cut off at max_tokens; {problem}"
    if completion.finish_reason == UNREADABLE_FINISH_REASON:
        return "the server could not read what its model wrote; it may be cut off at max_tokens"
    return problem


def _is_only_json(text: str, value: Any) -> bool:
    """Returns whether the reply is exactly its JSON value, so that the text need not be stored."""
    try:
        return bool(msgspec.json.decode(text.encode()) == value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False


def _sum_seconds(turns: Sequence[Completion]) -> float | None:
    """Returns the seconds of all turns; None if a turn was not timed."""
    if any(turn.latency_s <= 0 for turn in turns):
        return None
    return round(sum(turn.latency_s for turn in turns), 6)


def _sum_usage(turns: Sequence[Completion]) -> Usage | None:
    """Returns tokens and cost of all turns; None if a turn was not counted."""
    usages = [turn.usage for turn in turns if turn.usage is not None]
    if len(usages) < len(turns):
        return None
    costs = [usage.cost_usd for usage in usages]
    known = [cost for cost in costs if cost is not None]
    return Usage(
        sum(usage.prompt_tokens for usage in usages),
        sum(usage.completion_tokens for usage in usages),
        round(sum(known), 12) if len(known) == len(costs) else None,
    )


def _compute_probability(completion: Completion) -> float | None:
    """Returns the probability of the whole reply: the product over its tokens."""
    if not completion.logprobs:
        return None
    return round(math.exp(sum(logprob for _, logprob in completion.logprobs)), 6)
