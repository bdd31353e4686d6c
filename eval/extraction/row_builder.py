"""Builds the row of a reply: its outcome and score."""

from __future__ import annotations

from eval.extraction.manifest import ExtractionManifest
from eval.extraction.row import OUTCOMES, ExtractionRow, Outcome
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.extraction.settings import Matching
from eval.extraction.verdicts.quotes import QUOTES, check_quotes, iter_value_quotes, read_quotes
from eval.extraction.verdicts.reply_faults import describe_fault
from eval.harness.grid import RowKey
from eval.harness.predictions.reader import CONFIDENCES
from eval.harness.reply import Reply, Vote

_MAX_SHOWN_ERRORS = 3


def score_reply(
    sample: Sample, reply: Reply, _vote: Vote | None, manifest: ExtractionManifest
) -> ExtractionRow:
    """Builds the row of a run; see ``build_row``."""
    return build_row(sample, reply, manifest.matching)


def build_row(sample: Sample, reply: Reply, matching: Matching) -> ExtractionRow:
    """Scores a reply and builds its row.

    Args:
        sample: the sample, with its expected output.
        reply: the reply of a system.
        matching: how fields are compared.
    """
    parsed = reply.status == "ok"
    grounding = None
    if parsed:
        grounding = check_quotes(
            sample.text,
            [*read_quotes(sample.meta.get(QUOTES)), *iter_value_quotes(sample.expected)],
            [*read_quotes(reply.parts.get(QUOTES)), *iter_value_quotes(reply.value)],
        )
    score = score_sample(
        sample, reply.value, matching, parsed=parsed, confidences=reply.parts.get(CONFIDENCES)
    ).score
    outcome: Outcome = "INVALID" if not score.valid else "NULLS" if score.nulls else "OK"
    if not parsed:
        outcome = "ERROR" if reply.status == "error" else "UNPARSABLE"
    problem = describe_fault(reply.raw, reply.problem) if outcome == "UNPARSABLE" else reply.problem
    if outcome == "INVALID":
        problem = "not valid under the schema: " + "; ".join(
            score.schema_errors[:_MAX_SHOWN_ERRORS]
        )
    return ExtractionRow(
        id=sample.id,
        system=reply.system,
        repeat=reply.repeat,
        outcome=outcome,
        predicted=reply.value if parsed else None,
        raw=reply.raw,
        problem=problem,
        notes=reply.notes,
        confidence=reply.confidence,
        latency_s=reply.latency_s,
        ttft_s=reply.ttft_s,
        at_s=reply.at_s,
        usage=reply.usage,
        retries=reply.retries,
        timed_out=reply.timed_out,
        input_chars=reply.input_chars,
        output_chars=reply.output_chars,
        grounding=grounding,
        score=score,
    )


def get_row_key(row: ExtractionRow) -> RowKey:
    """Returns the row key, with the outcome code and usage that the journal needs."""
    return RowKey(row.id, row.system, row.repeat, OUTCOMES.index(row.outcome), row.usage)
