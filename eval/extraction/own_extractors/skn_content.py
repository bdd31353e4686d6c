"""Converts extractions of the SKN benchmark, in any format, to JSON of one schema.

Content that several formats can express is mapped to the same fields: statements, causes with their
effects, gaps. Confidences, priorities and levels are left out: they are judgements without a gold
standard, and half of the formats lack them. Content that a format cannot express counts as omitted,
because that is a cost of choosing the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from eval.extraction.samples.sample import Sample
from eval.harness.reply import Reply
from eval.skn.formats.extraction import Extraction
from eval.skn.formats.forms import ExtractionContent
from eval.skn.grammar.document import Document
from eval.skn.row import SknRow
from kg.base.errors import RecordError

GOLD_FILE = Path(__file__).parents[1] / "data" / "skn_gold" / "gold.jsonl"
"""Twelve search texts of the shipped SKN data set, with the expected extraction."""


def content_to_json(content: ExtractionContent) -> dict[str, Any]:
    """Converts an extraction to the JSON in which all formats are scored.

    Args:
        content: a typed document (from SKN or JSON), or flat JSON. The claims of flat JSON become
            facts and its causal relationships become causes; its entities are ignored.

    Returns:
        ``facts`` [{text}], and if there are any, ``causal`` [{cause, effect}] and ``gaps``
        [{text}].
    """
    if isinstance(content, Document):
        facts = [fact.text for fact in content.facts]
        causal = [(causal_link.cause, causal_link.effect) for causal_link in content.causal or ()]
        gaps = list(content.gaps or ())
    else:
        facts = [claim.statement for claim in content.claims]
        causal = [
            (relationship.source, relationship.target)
            for relationship in content.relationships
            if relationship.relation.strip().casefold() in _CAUSAL_RELATIONS
        ]
        gaps = []
    fields: dict[str, Any] = {"facts": [{"text": text} for text in facts]}
    if causal:
        fields["causal"] = [{"cause": cause, "effect": effect} for cause, effect in causal]
    if gaps:
        fields["gaps"] = [{"text": text} for text in gaps]
    return fields


_CAUSAL_RELATIONS = frozenset(
    {"causes", "cause", "caused", "leads to", "results in", "brings about", "triggers"}
)
"""Relations of flat JSON that are read as causal, from cause to effect."""


def predictions_from_run(rows: Iterable[SknRow], gold: Sequence[Sample]) -> Iterator[Reply]:
    """Yields the extractions of a finished SKN run for the samples that have a gold document.

    A row whose call failed before there was an extraction is a failed call. A later failure, of the
    agent or the judges, does not affect the extraction.

    Args:
        rows: rows of the run.
        gold: gold samples with the ids of the run.

    Raises:
        RecordError: an extraction does not have the format of its pipeline.
    """
    gold_ids = {sample.id for sample in gold}
    for row in rows:
        if row.id in gold_ids:
            yield _build_prediction(row.id, row.pipeline, row.extraction, row.repeat, row.error)


def _build_prediction(
    id_: str,
    pipeline: str,
    extraction: Extraction | None,
    repeat: int = 0,
    error: str | None = None,
) -> Reply:
    if extraction is None:
        return Reply(
            id=id_,
            system=pipeline,
            repeat=repeat,
            status="error",
            problem=error or "the run has no extraction of it",
        )
    try:
        content = extraction.to_content()
    except ValueError as format_error:  # includes msgspec.ValidationError
        raise RecordError(
            f"row {id_!r} of {pipeline!r} has no extraction in its pipeline's format: "
            f"{format_error}",
            hint="Use the rows file exactly as `epoche skn run` wrote it.",
        ) from format_error
    return Reply(
        id=id_,
        system=pipeline,
        repeat=repeat,
        status="invalid" if content is None else "ok",
        value=None if content is None else content_to_json(content),
        raw=extraction.raw,
        problem=extraction.problem,
        output_chars=len(extraction.raw),
        notes=() if extraction.validity == "strict" else (f"read: {extraction.validity}",),
        latency_s=extraction.latency_s,
        usage=extraction.usage,
    )
