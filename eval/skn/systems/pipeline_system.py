"""Defines the system of one pipeline: an extractor, and the agent that answers from its notes."""

from __future__ import annotations

from typing import Any

import msgspec

from eval.harness.reply import Reply
from eval.harness.systems.system_call import FATAL_ERRORS
from eval.model.calls import current_calls
from eval.model.foreign_values import describe_failure
from eval.model.usage import round_cost
from eval.skn.agent import Agent
from eval.skn.formats.extraction import Extractor
from eval.skn.retention.retention import measure_retention
from eval.skn.row import Stage
from eval.skn.systems.view import SknView


class PipelineSystem:
    """Answers a question from an extraction of its search results.

    Every failure of a model gives a reply that says so, and none is an abstention.

    Args:
        name: name of the pipeline.
        extractor: writes the extraction in the form of the pipeline.
        agent: answers from the extraction, in the same way for every pipeline.
    """

    returns_valid_replies = True

    def __init__(self, name: str, extractor: Extractor, agent: Agent) -> None:
        self.name = name
        self.extractor = extractor
        self.agent = agent

    def params(self) -> dict[str, Any]:
        """Returns the parameters of extractor and agent."""
        return {"extractor": self.extractor.params(), "agent": self.agent.params()}

    async def answer(self, view: SknView) -> Reply:
        """Answers one question.

        Returns:
            A reply whose value is a ``Response``, and whose parts are ``extraction``,
            ``retention`` and ``search_s``, as far as they exist.

        Raises:
            ModelAccessError: the model cannot be used, so no question can be answered.
        """
        parts: dict[str, Any] = {} if view.search_s is None else {"search_s": view.search_s}
        if view.search_error is not None:
            return Reply(status="error", stage="search", problem=view.search_error, parts=parts)
        reply = await self._ask_stages(view, parts)
        log = current_calls()
        return msgspec.structs.replace(
            reply,
            parts=parts,
            latency_s=round(log.latency_s, 4) if log.calls else None,
            usage=round_cost(log.sum_usage()),
        )

    async def _ask_stages(self, view: SknView, parts: dict[str, Any]) -> Reply:
        """Asks extractor and agent; adds the intermediate results to ``parts``."""
        stage: Stage = "extraction"
        try:
            extraction = await self.extractor.extract(view.text, view.question)
            parts["extraction"] = extraction
            parts["retention"] = measure_retention(view.text, extraction)
            if not extraction.readable:
                return Reply(status="invalid", stage=stage, problem=extraction.problem)
            stage = "agent"
            response = await self.agent.answer_question(extraction.context, view.question)
        except FATAL_ERRORS:
            raise
        except Exception as error:
            return Reply(status="error", stage=stage, problem=describe_failure(error))
        if not response.readable:
            return Reply(status="invalid", stage=stage, problem=response.problem, value=response)
        return Reply(value=response, confidence=response.confidence)
