"""What an extraction is, and the protocol of all who make one.

An extractor reads a text for what bears on a question and writes it in the form of one pipeline.
What it wrote is read here, strictly and then tolerantly, by the same rules for every format
(``eval.skn.formats.forms``), so that how often each format can be read is measured alike.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec

from eval.model.calling import UNREADABLE
from eval.model.calls import current_calls
from eval.model.completion import Completion, Message
from eval.model.counting import counted, usage_of
from eval.result import Usage
from eval.skn.formats.asked_forms import asked_form
from eval.skn.formats.flat_json import FlatExtraction
from eval.skn.formats.forms import Content, plain, read, write
from eval.skn.formats.prompts import extraction_prompt, repair_turn
from eval.skn.formats.published_prompts import PUBLISHED_EXTRACTION, published_params
from eval.skn.grammar.document import Document
from eval.skn.grammar.parsed import Problem
from eval.skn.pipelines import PIPELINES, Pipeline
from eval.skn.setting import Setting
from kg.base.errors import SettingError

if TYPE_CHECKING:
    from eval.llm import ModelClient

Validity: TypeAlias = Literal["strict", "tolerant", "repaired", "unreadable"]
"""How an extraction could be read: as it stands, without what stood around it, after one further
turn, or not at all."""

QUOTED_PER_TOKEN = 8
"""Characters a token of the budget of an unreadable reply that are shown back to the model: more
than replies have, or of the longer formats less would be shown than of the shorter ones."""

_WAYS: tuple[tuple[bool, Validity], ...] = ((True, "strict"), (False, "tolerant"))


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """What one extractor made of one text.

    Attributes:
        pipeline: name of the form it is written in.
        context: what the agent is given: canonical and compact, or, as published, what the model
            wrote. Empty when there is nothing to go on with.
        validity: how it could be read.
        problem: what was wrong with the last reply that could not be read; with line and column
            where it has a place. Empty when nothing was.
        raw: what the model wrote last; for an offline extractor, what it handed on.
        content: what was read, as plain values; null when it could not be. ``typed`` gives the
            record itself.
        latency_s: seconds of all its calls; null where no call was made.
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
        """Whether there is something to hand on to the agent."""
        return bool(self.context)

    def typed(self) -> Content | None:
        """What was read, as its record.

        Raises:
            msgspec.ValidationError: ``content`` is not what the pipeline holds.
        """
        if self.content is None:
            return None
        if PIPELINES[self.pipeline].typed:
            return msgspec.convert(self.content, Document)
        return msgspec.convert(self.content, FlatExtraction)


class Extractor(Protocol):
    """Makes extractions in the form of one pipeline."""

    def params(self) -> dict[str, Any]:
        """Everything that decides what it makes, as JSON values, for the manifest."""
        ...

    async def extract(self, text: str, question: str) -> Extraction:
        """Reads ``text``; whether it may look at the question is a matter of the setting.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: this call failed for good.
        """
        ...


class ModelExtractor:
    """Has a model write extractions in the form of one pipeline.

    In a fair setting a reply is read strictly, then tolerantly; if it can be read in neither way,
    one further turn quotes the problem with its line and column, and its reply is read likewise.
    As published there is no further turn, JSON goes on pretty-printed and SKN as it was written;
    whether it can be read is only measured.

    Args:
        pipeline: the form.
        client: the model; opened with ``open_client`` for the same setting.
        setting: what is the same for every pipeline.

    Raises:
        SettingError: the published benchmark has no such pipeline.
    """

    def __init__(self, pipeline: Pipeline, client: ModelClient, setting: Setting) -> None:
        if setting.published and pipeline.name not in PUBLISHED_EXTRACTION:
            raise SettingError(
                "the published benchmark has no such pipeline",
                where=f"--as-published with {pipeline.name}",
                hint=f"It has {', '.join(PUBLISHED_EXTRACTION)}.",
            )
        self.pipeline = pipeline
        self._client = client
        self._setting = setting
        self._prompt = extraction_prompt(pipeline, setting)
        can_be_constrained = pipeline.notation == "json" and setting.constrained
        self._schema = asked_form(pipeline) if can_be_constrained else None

    def params(self) -> dict[str, Any]:
        """Form, setting, prompt and model."""
        name = self.pipeline.name
        return {
            "pipeline": self.pipeline.params(),
            "setting": self._setting.params(),
            "prompt": published_params(f"skn_extraction_{name}", PUBLISHED_EXTRACTION[name])
            if self._setting.published
            else self._prompt.params(),
            **self._client.params(),
        }

    async def extract(self, text: str, question: str) -> Extraction:
        """Asks for an extraction of ``text``.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: this call failed for good.
        """
        with counted() as log:
            extracted = await (
                self._published(text) if self._setting.published else self._fair(text, question)
            )
        return msgspec.structs.replace(
            extracted,
            latency_s=round(log.latency_s, 4),
            usage=usage_of(log),
        )

    async def _fair(self, text: str, question: str) -> Extraction:
        data = {"text": text}
        if self._setting.show_question:
            data["question"] = question
        messages = self._prompt.messages(**data)
        completion = await self._client.complete(messages, schema=self._schema)
        if completion.refused:
            return self._refusal(completion)
        content, validity, problem = self._read(completion)
        if content is not None or problem is None:
            return self._extraction(completion, content, validity)
        current_calls().repairs += 1
        quoted = completion.text[: QUOTED_PER_TOKEN * self._setting.max_tokens]
        again: list[Message] = [
            *messages,
            {"role": "assistant", "content": quoted or "(nothing)"},
            {"role": "user", "content": repair_turn(problem)},
        ]
        completion = await self._client.complete(again, schema=self._schema)
        if completion.refused:
            return self._refusal(completion)
        content, _, second = self._read(completion)
        if content is None:
            return self._extraction(completion, None, "unreadable", second)
        return self._extraction(completion, content, "repaired", problem)

    def _read(self, completion: Completion) -> tuple[Content | None, Validity, Problem | None]:
        """Strictly, then tolerantly; the problem is the one that stands in the tolerant way."""
        for strict, validity in _WAYS:
            content, problem = read(completion.text, self.pipeline, strict=strict)
            if content is not None:
                return content, validity, None
        if completion.finish_reason == UNREADABLE:
            problem = Problem(1, 1, "the server could not read what its model wrote")
        if completion.finish_reason == "length" and problem is not None:
            problem = problem._replace(what=f"cut off, because it is too long; {problem.what}")
        return None, "unreadable", problem

    def _extraction(
        self,
        completion: Completion,
        content: Content | None,
        validity: Validity,
        problem: Problem | None = None,
    ) -> Extraction:
        return Extraction(
            pipeline=self.pipeline.name,
            context="" if content is None else write(content, self.pipeline),
            validity=validity,
            problem="" if problem is None else str(problem),
            raw=completion.text,
            content=None if content is None else plain(content),
        )

    def _refusal(self, completion: Completion) -> Extraction:
        return Extraction(
            pipeline=self.pipeline.name,
            context="",
            validity="unreadable",
            problem="refused",
            raw=completion.refusal or completion.text,
        )

    async def _published(self, text: str) -> Extraction:
        messages: list[Message] = [
            {"role": "system", "content": PUBLISHED_EXTRACTION[self.pipeline.name]},
            {"role": "user", "content": text},
        ]
        completion = await self._client.complete(messages, schema=self._schema)
        if completion.refused:
            return self._refusal(completion)
        content, validity, problem = self._read(completion)
        extracted = self._extraction(completion, content, validity, problem)
        reply = completion.text.strip()
        context = published_json(reply) if self.pipeline.notation == "json" else reply
        return msgspec.structs.replace(extracted, context=context)


def published_json(reply: str) -> str:
    """JSON as the published agent is given it, whatever it says; empty if it is no JSON.

    There an unreadable reply became three empty lists without a word. Here it goes no further.
    """
    try:
        value = json.loads(reply)
        text = json.dumps(value, indent=2) if isinstance(value, dict) else str(value)
        text.encode()
    except (ValueError, RecursionError):
        return ""
    return text
