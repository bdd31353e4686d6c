"""Builds the row of a reply from its sample, the reply and the judges' vote."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from eval.harness.grid import RowKey
from eval.harness.reply import VOTES, Reply, Vote
from eval.replies.abstention import is_abstention
from eval.skn.agent import Response
from eval.skn.formats.extraction import Extraction
from eval.skn.items import Sample
from eval.skn.judges.record import Verdicts
from eval.skn.manifest import SknManifest
from eval.skn.published.abstention_phrases import has_published_phrase
from eval.skn.retention.retention import Retention
from eval.skn.row import OUTCOMES, STAGES, AbstentionSign, SknRow
from kg.base.errors import RecordError

Record = TypeVar("Record")

COUNTED: Final = (*OUTCOMES, "unjudged")
"""What the rows of a run are counted by: the outcome, or that a judge could not be called."""


def score_reply(sample: Sample, reply: Reply, vote: Vote | None, manifest: SknManifest) -> SknRow:
    """Builds the row of a run; see ``build_row``."""
    return build_row(sample, reply, vote, published=manifest.mode == "as-published")


def build_row(sample: Sample, reply: Reply, vote: Vote | None, *, published: bool) -> SknRow:
    """Builds the row of a reply.

    Args:
        sample: the sample.
        reply: the reply of a pipeline.
        vote: the vote of the judges on the reply; None if there is none.
        published: read abstentions as the published benchmark does.

    Raises:
        RecordError: the verdict of the vote is not one of this benchmark.
    """
    row = _build_unjudged_row(sample, reply, published=published)
    if vote is None:
        return row
    if vote.verdict is None:
        return msgspec.structs.replace(row, outcome="ERROR", stage="judging", error=vote.problem)
    try:
        verdicts = msgspec.convert(vote.verdict, Verdicts)
    except msgspec.ValidationError as error:
        raise RecordError(
            f"the vote on {sample.id!r} of {reply.system!r} has no readable verdict: {error}",
            where=VOTES,
            hint="Repair the line, or judge the run again with `epoche skn judge`.",
        ) from error
    return msgspec.structs.replace(row, verdicts=verdicts)


def _build_unjudged_row(sample: Sample, reply: Reply, *, published: bool) -> SknRow:
    response = _convert_or_none(reply.value, Response)
    row = SknRow(
        id=sample.id,
        category=sample.category,
        pipeline=reply.system,
        repeat=reply.repeat,
        answerable=sample.answerable,
        outcome="INVALID",
        stage=next((stage for stage in STAGES if stage == reply.stage), ""),
        extraction=_convert_or_none(reply.parts.get("extraction"), Extraction),
        response=response,
        retention=_convert_or_none(reply.parts.get("retention"), Retention),
        search_s=_convert_or_none(reply.parts.get("search_s"), float),
        latency_s=reply.latency_s,
        usage=reply.usage,
    )
    if reply.status == "error":
        return msgspec.structs.replace(row, outcome="ERROR", error=reply.problem)
    if reply.status == "invalid" or response is None or not response.readable:
        return row
    sign = find_abstention_sign(response, published=published)
    return msgspec.structs.replace(
        row, outcome="ABSTAINED" if sign else "ANSWERED", abstained_by=sign
    )


def find_abstention_sign(response: Response, *, published: bool) -> AbstentionSign:
    """Returns what shows that a response abstains; empty if it does not abstain.

    Args:
        response: a readable response.
        published: look for the published phrases only.
    """
    if published:
        return "text" if has_published_phrase(response.answer) else ""
    if response.abstained is None:
        return "text" if is_abstention(response.answer) else ""
    return "field" if response.abstained else ""


def get_row_key(row: SknRow) -> RowKey:
    """Returns the row key, whose outcome code is an index of ``COUNTED``."""
    name = "unjudged" if _is_unjudged(row) else row.outcome
    return RowKey(row.id, row.pipeline, row.repeat, COUNTED.index(name), row.usage)


def _is_unjudged(row: SknRow) -> bool:
    """Returns whether a row has yet to be judged, or a judge could not be called."""
    if row.verdicts is None:
        return row.has_answer_text
    return any(problem.kind == "call" for problem in row.verdicts.problems)


def _convert_or_none(value: Any, record_type: type[Record]) -> Record | None:
    """Converts JSON to a record; None if it is something else, as a foreign system may return."""
    if value is None:
        return None
    try:
        return msgspec.convert(value, record_type)
    except msgspec.ValidationError:
        return None
