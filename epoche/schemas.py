"""Builds the JSON Schemas of records that commands read and write, for ``epoche schema NAME``."""

from __future__ import annotations

from typing import Annotated

import typer

# The names in the order of _list_record_types; the two lists must match line by line.
RECORDS = (
    *("card", "result", "manifest", "metrics", "question", "retrieval-row", "chunk", "fact"),
    *("skn", "skn-row", "sample"),
    *("extract-config", "extraction-row", "extraction-sample"),
    *("prediction", "synthlink-question", "synthlink-row", "synthlink-answer", "synthlink-scores"),
    *("synthlink-judged", "corpus"),
    *("run-metrics", "run-comparison", "degradation", "outcomes", "difficulty"),
)


def print_schema(
    record: Annotated[str, typer.Argument(help=f"One of: {', '.join(RECORDS)}.")],
) -> None:
    """Prints the JSON Schema of one of the records that commands read and write."""
    from kg.base.console import print_json

    print_json(build_schema(record))


def build_schema(record: str) -> str:
    """Builds the JSON Schema (2020-12) of one record, indented.

    Cards and results may have unknown keys, so their schemas allow additional properties. The field
    ``extra``, which holds these keys in memory, is not a key of the file and is removed.

    Raises:
        SettingError: there is no such record.
    """
    import json

    import msgspec

    from kg.base.errors import SettingError

    types = dict(zip(RECORDS, _list_record_types(), strict=True))
    if record not in types:
        raise SettingError(
            f"unknown record {record!r}",
            where="epoche schema",
            hint=f"Known: {', '.join(RECORDS)}.",
        )
    json_schema = msgspec.json.schema(types[record])
    for definition in json_schema["$defs"].values():
        definition.get("properties", {}).pop("extra", None)
    json_schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(json_schema, indent=2, ensure_ascii=False)


def _list_record_types() -> tuple[type, ...]:
    from cards.card import Card
    from eval.abstention.comparison.difficulty import CardDifficulty
    from eval.abstention.degradation.curves import Degradation
    from eval.abstention.manifest import RunManifest
    from eval.abstention.metrics.record import MetricsReport
    from eval.abstention.result import Result
    from eval.extraction.configuration.config import Config
    from eval.extraction.row import ExtractionRow
    from eval.extraction.samples.sample import Sample as ExtractionSample
    from eval.metrics.runs.report import RunComparison, RunMetrics
    from eval.outcomes.record import OutcomesReport
    from eval.retrieval_eval.questions import Question
    from eval.retrieval_eval.row import RetrievalRow
    from eval.skn.grammar.document import Document
    from eval.skn.items import Sample
    from eval.skn.row import SknRow
    from eval.synthlink.items import Question as SynthLinkQuestion
    from eval.synthlink.predictions import Prediction
    from eval.synthlink.row import SynthLinkRow
    from eval.synthlink.scoring.outputs import AnswerView, ScoredPredictions
    from eval.synthlink.verdicts.record import VerdictLine
    from kg.text.chunks import Chunk
    from kg.text.facts.fact import Fact
    from retrieval.corpus import CorpusPage

    return (
        *(Card, Result, RunManifest, MetricsReport, Question, RetrievalRow, Chunk, Fact),
        *(Document, SknRow, Sample),
        *(Config, ExtractionRow, ExtractionSample),
        *(Prediction, SynthLinkQuestion, SynthLinkRow, AnswerView, ScoredPredictions),
        *(VerdictLine, CorpusPage),
        *(RunMetrics, RunComparison, Degradation, OutcomesReport, CardDifficulty),
    )
