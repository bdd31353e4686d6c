"""The extraction record, the protocol of extractors, and the extractor that asks a model.

An extractor extracts content for a question from a text, in the form of one pipeline. The reply is
parsed here, first strictly and then tolerantly. The rules of parsing are the same for every format
(``eval.skn.formats.forms``), so that the formats' shares of readable replies are comparable.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec

from eval.model.call_counter import count_calls, get_complete_usage
from eval.model.calls import current_calls
from eval.model.completion import Completion, Message
from eval.model.server.caller import UNREADABLE_FINISH_REASON
from eval.model.usage import Usage
from eval.skn.formats.flat_json import FlatExtraction
from eval.skn.formats.forms import ExtractionContent, parse_content, to_plain_values, write_content
from eval.skn.formats.pipelines import PIPELINES, Pipeline
from eval.skn.formats.prompts import build_extraction_prompt, build_repair_turn
from eval.skn.formats.published_prompts import PUBLISHED_EXTRACTION, describe_published_prompt
from eval.skn.formats.reply_schemas import get_reply_schema
from eval.skn.formats.settings import Setting
from eval.skn.grammar.document import Document
from eval.skn.grammar.parse_result import Problem
from kg.base.errors import SettingError

if TYPE_CHECKING:
    from eval.model.client import ModelClient

Validity: TypeAlias = Literal["strict", "tolerant", "repaired", "unreadable"]
"""How an extraction could be parsed: by the strict rules, only by the tolerant ones, after one
repair turn, or not at all."""

QUOTED_CHARS_PER_TOKEN = 8
"""A repair turn quotes this many characters of an unreadable reply per token of the budget. Replies
have fewer characters per token, so every reply is quoted in full, whatever its format."""

_PARSING_MODES: tuple[tuple[bool, Validity], ...] = ((True, "strict"), (False, "tolerant"))
"""The argument ``strict`` of the parser, and the validity of a reply that it can parse."""


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """One extractor's result for one text.

    Attributes:
        pipeline: name of the pipeline whose form it has.
        context: the text for the agent: canonical and compact, or, as published, what the model
            wrote. Empty if there is no text to pass on.
        validity: how the reply could be parsed.
        problem: what is wrong with the last unreadable reply, with line and column if known.
            Empty if every reply could be read.
        raw: the model's last reply; for the extractor by rules, the context.
        content: the parsed content as JSON values; null if it could not be parsed. ``to_content``
            returns the record itself.
        latency_s: seconds of all its calls; null when no call was made.
        usage: tokens of all its calls; null when a server does not count them.
    """

    pipeline: str
    context: str
    validity: Validity
    problem: str = ""
    raw: str = ""
    content: dict[str, Any] | None = None
    latency_s: float | None = None
    usage: Usage | None = None

    @property
    def readable(self) -> bool:
        """Whether there is a context for the agent."""
        return bool(self.context)

    def to_content(self) -> ExtractionContent | None:
        """Converts ``content`` to its record; None if there is no content.

        Raises:
            msgspec.ValidationError: ``content`` is not of the pipeline's form.
        """
        if self.content is None:
            return None
        if PIPELINES[self.pipeline].typed:
            return msgspec.convert(self.content, Document)
        return msgspec.convert(self.content, FlatExtraction)


class Extractor(Protocol):
    """Extracts content from texts, in the form of one pipeline."""

    def params(self) -> dict[str, Any]:
        """Returns everything that determines its results, as JSON values, for the manifest."""
        ...

    async def extract(self, text: str, question: str) -> Extraction:
        """Extracts from ``text``; the setting determines whether it may use the question.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: this call failed for good.
        """
        ...


class ModelExtractor:
    """An extractor that calls a model, for the form of one pipeline.

    In the fair setting a reply is parsed strictly, then tolerantly. If both fail, one repair turn
    quotes the problem with its line and column, and the new reply is parsed in the same way. In
    the published setting there is no repair turn; JSON is passed on pretty-printed and SKN as it
    was written, and its validity is only recorded.

    Args:
        pipeline: the pipeline.
        client: the model; opened with ``open_client`` for the same setting.
        setting: the options that are the same for every pipeline.

    Raises:
        SettingError: the published benchmark does not have this pipeline.
    """

    def __init__(self, pipeline: Pipeline, client: ModelClient, setting: Setting) -> None:
        if setting.published and pipeline.name not in PUBLISHED_EXTRACTION:
            raise SettingError(
                "the published benchmark has no such pipeline",
                where=f"--as-published with {pipeline.name}",
                hint=f"Choose from {', '.join(PUBLISHED_EXTRACTION)}.",
            )
        self.pipeline = pipeline
        self._client = client
        self._setting = setting
        self._prompt = build_extraction_prompt(pipeline, setting)
        can_be_constrained = pipeline.notation == "json" and setting.constrained
        self._schema = get_reply_schema(pipeline) if can_be_constrained else None

    def params(self) -> dict[str, Any]:
        """Returns form, setting, prompt and model, for the manifest."""
        name = self.pipeline.name
        return {
            "pipeline": self.pipeline.params(),
            "setting": self._setting.params(),
            "prompt": describe_published_prompt(
                f"skn_extraction_{name}", PUBLISHED_EXTRACTION[name]
            )
            if self._setting.published
            else self._prompt.params(),
            **self._client.params(),
        }

    async def extract(self, text: str, question: str) -> Extraction:
        """Asks the model for an extraction of ``text``.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: this call failed for good.
        """
        with count_calls() as log:
            extraction = await (
                self._extract_as_published(text)
                if self._setting.published
                else self._extract_in_fair_setting(text, question)
            )
        return msgspec.structs.replace(
            extraction,
            latency_s=round(log.latency_s, 4),
            usage=get_complete_usage(log),
        )

    async def _extract_in_fair_setting(self, text: str, question: str) -> Extraction:
        data = {"text": text}
        if self._setting.show_question:
            data["question"] = question
        messages = self._prompt.build_messages(**data)
        completion = await self._client.complete(messages, schema=self._schema)
        if completion.is_refused:
            return self._build_refusal(completion)
        content, validity, problem = self._parse_reply(completion)
        if content is not None or problem is None:
            return self._build_extraction(completion, content, validity)
        current_calls().repairs += 1
        quoted_reply = completion.text[: QUOTED_CHARS_PER_TOKEN * self._setting.max_tokens]
        repair_messages: list[Message] = [
            *messages,
            {"role": "assistant", "content": quoted_reply or "(nothing)"},
            {"role": "user", "content": build_repair_turn(problem)},
        ]
        completion = await self._client.complete(repair_messages, schema=self._schema)
        if completion.is_refused:
            return self._build_refusal(completion)
        content, _, second_problem = self._parse_reply(completion)
        if content is None:
            return self._build_extraction(completion, None, "unreadable", second_problem)
        return self._build_extraction(completion, content, "repaired", problem)

    def _parse_reply(
        self, completion: Completion
    ) -> tuple[ExtractionContent | None, Validity, Problem | None]:
        """Parses strictly, then tolerantly; the problem returned is that of tolerant parsing."""
        for strict, validity in _PARSING_MODES:
            content, problem = parse_content(completion.text, self.pipeline, strict=strict)
            if content is not None:
                return content, validity, None
        if completion.finish_reason == UNREADABLE_FINISH_REASON:
            problem = Problem(1, 1, "the server could not read what its model wrote")
        if completion.finish_reason == "length" and problem is not None:
            problem = problem._replace(what=f"cut off, because it is too long; {problem.what}")
        return None, "unreadable", problem

    def _build_extraction(
        self,
        completion: Completion,
        content: ExtractionContent | None,
        validity: Validity,
        problem: Problem | None = None,
    ) -> Extraction:
        return Extraction(
            pipeline=self.pipeline.name,
            context="" if content is None else write_content(content, self.pipeline),
            validity=validity,
            problem="" if problem is None else str(problem),
            raw=completion.text,
            content=None if content is None else to_plain_values(content),
        )

    def _build_refusal(self, completion: Completion) -> Extraction:
        return Extraction(
            pipeline=self.pipeline.name,
            context="",
            validity="unreadable",
            problem="refused",
            raw=completion.refusal or completion.text,
        )

    async def _extract_as_published(self, text: str) -> Extraction:
        messages: list[Message] = [
            {"role": "system", "content": PUBLISHED_EXTRACTION[self.pipeline.name]},
            {"role": "user", "content": text},
        ]
        completion = await self._client.complete(messages, schema=self._schema)
        if completion.is_refused:
            return self._build_refusal(completion)
        content, validity, problem = self._parse_reply(completion)
        extraction = self._build_extraction(completion, content, validity, problem)
        reply = completion.text.strip()
        context = format_published_json(reply) if self.pipeline.notation == "json" else reply
        return msgspec.structs.replace(extraction, context=context)


def format_published_json(reply: str) -> str:
    """Formats a JSON reply as the published code passes it to its agent; empty if it is not JSON.

    The published code silently replaces an unreadable reply by three empty lists. Here nothing is
    passed on in that case.
    """
    try:
        value = json.loads(reply)
        text = json.dumps(value, indent=2) if isinstance(value, dict) else str(value)
        text.encode()  # raises a ValueError for a lone surrogate, which no file can store
    except (ValueError, RecursionError):
        return ""
    return text
