"""One row from its search to its verdicts: extraction, agent, judges, and what became of it.

Whatever a model replies, or fails to, ends in a row that says so; a failure never passes for an
abstention. Only a model that nobody can reach ends the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from eval.answers import describe_error
from eval.model.calls import CallLog, current_calls
from eval.result import round_cost
from eval.skn.abstention import has_published_phrase, is_abstention
from eval.skn.agent import Agent, Response
from eval.skn.formats.extraction import Extractor
from eval.skn.judges.record import Judges
from eval.skn.rules.retention import measure_retention
from eval.skn.running.row import SknRow, Stage
from eval.skn.running.samples import Sample
from eval.skn.running.searching import Found
from kg.base.errors import ModelAccessError


@dataclass(frozen=True)
class Stages:
    """Who takes the steps of a row.

    Attributes:
        extractors: by pipeline.
        agent: answers, whichever pipeline the extraction is of.
        judges: judge answers, and are never told the pipeline.
        published: read abstentions, and judge them, as the published benchmark does.
    """

    extractors: Mapping[str, Extractor]
    agent: Agent
    judges: Judges
    published: bool

    async def row(self, sample: Sample, found: Found, pipeline: str, repeat: int) -> SknRow:
        """Takes one question through one pipeline.

        What it costs is read off the open ``CallLog``.

        Raises:
            ModelAccessError: no model answers at all, so no question is worth asking.
        """
        row = SknRow(
            id=sample.id,
            category=sample.category,
            pipeline=pipeline,
            repeat=repeat,
            answerable=sample.answerable,
            outcome="ERROR",
            search_s=found.seconds,
        )
        if found.error is not None:
            return _changed(row, stage="search", error=found.error)
        row = await self._answered(row, sample, found)
        log = current_calls()
        return await self._judged(
            _changed(row, latency_s=_waited(log), usage=round_cost(log.sum_usage())), sample, found
        )

    async def _answered(self, row: SknRow, sample: Sample, found: Found) -> SknRow:
        """The row with extraction and response, as far as it came."""
        stage: Stage = "extraction"
        try:
            extraction = await self.extractors[row.pipeline].extract(found.text, sample.question)
            row = _changed(
                row, extraction=extraction, retention=measure_retention(found.text, extraction)
            )
            if not extraction.readable:
                return _changed(row, outcome="INVALID", stage=stage)
            stage = "agent"
            response = await self.agent.answer_question(extraction.context, sample.question)
        except ModelAccessError:
            raise
        except Exception as error:  # whatever a reply made of it: a row, never the end
            return _changed(row, stage=stage, error=describe_error(error))
        row = _changed(row, response=response)
        if not response.readable:
            return _changed(row, outcome="INVALID", stage=stage)
        by = self._abstains_by(response)
        return _changed(row, outcome="ABSTAINED" if by else "ANSWERED", abstained_by=by)

    def _abstains_by(self, response: Response) -> Literal["field", "text", ""]:
        if self.published:
            return "text" if has_published_phrase(response.answer) else ""
        if response.abstained is None:
            return "text" if is_abstention(response.answer) else ""
        return "field" if response.abstained else ""

    async def _judged(self, row: SknRow, sample: Sample, found: Found) -> SknRow:
        """The row with its verdicts, if there is anything to judge.

        Whoever abstains from a question that has an answer is not right, and no judge is needed
        to say so; but what else an abstention states may be made up.
        """
        answer = "" if row.response is None else row.response.answer
        if row.outcome not in ("ANSWERED", "ABSTAINED") or not answer.strip():
            return row
        compared = sample.answerable and (self.published or row.outcome == "ANSWERED")
        try:
            verdicts = await self.judges.judge_answer(
                question=sample.question,
                answer=answer,
                ground_truth=sample.ground_truth if compared else None,
                sources=found.text,
                # The same for every pipeline, so that equal answers are judged by equal prompts.
                seed_key=sample.id,
            )
        except ModelAccessError:
            raise
        except Exception as error:  # votes that fail are in the verdicts; this is something else
            return _changed(row, outcome="ERROR", stage="judging", error=describe_error(error))
        exact = msgspec.structs.replace(verdicts, usage=round_cost(verdicts.usage))
        return _changed(row, verdicts=exact)


def _changed(row: SknRow, **changes: Any) -> SknRow:
    return msgspec.structs.replace(row, **changes)


def _waited(log: CallLog) -> float | None:
    return round(log.latency_s, 4) if log.calls else None
