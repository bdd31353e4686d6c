"""What an extraction is, and the protocol of all who make one.

An extractor reads a text for what bears on a question and writes it in the form of one pipeline.
What it wrote is read here, strictly and then tolerantly, by the same rules for every format
(``eval.skn.forms``), so that how often each format can be read is measured alike.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from eval.result import Usage
from eval.skn.document import Document
from eval.skn.flat_json import FlatExtraction
from eval.skn.pipelines import PIPELINES

Validity: TypeAlias = Literal["strict", "tolerant", "repaired", "unreadable"]
"""How an extraction could be read: as it stands, without what stood around it, after one further
turn, or not at all."""

Content: TypeAlias = Document | FlatExtraction


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
        kind = Document if PIPELINES[self.pipeline].typed else FlatExtraction
        return msgspec.convert(self.content, kind)


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
