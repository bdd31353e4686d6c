"""JSON Schemas of the records that pass between rooms, for ``epoche schema NAME``."""

from __future__ import annotations

RECORDS = (
    *("card", "result", "manifest", "metrics", "question", "chunk"),
    *("skn", "skn-row", "sample"),
    *("extract-config", "extraction-row", "extraction-sample"),
    *("prediction", "synthlink-question", "synthlink-row", "synthlink-answer", "synthlink-scores"),
    *("synthlink-judged", "corpus"),
)


def schema(record: str) -> str:
    """The JSON Schema (2020-12) of one record, indented.

    Cards and results keep keys they do not know, so their schemas allow more properties; ``extra``
    is how Python holds those and is no key of the file.

    Raises:
        SettingError: no such record.
    """
    import json

    import msgspec

    from kg.base.errors import SettingError

    types = dict(zip(RECORDS, _types(), strict=True))
    if record not in types:
        raise SettingError(
            f"no record is called {record!r}",
            where="epoche schema",
            hint=f"Say one of: {', '.join(RECORDS)}.",
        )
    found = msgspec.json.schema(types[record])
    for definition in found["$defs"].values():
        definition.get("properties", {}).pop("extra", None)
    found["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(found, indent=2, ensure_ascii=False)


def _types() -> tuple[type, ...]:
    from cards.card import Card
    from eval.extraction.row import ExtractionRow
    from eval.extraction.running.config import Config
    from eval.extraction.samples.sample import Sample as ExtractionSample
    from eval.manifest import RunManifest
    from eval.metrics.record import MetricsReport
    from eval.ranking.questions import Question
    from eval.result import Result
    from eval.skn.grammar.document import Document
    from eval.skn.running.row import SknRow
    from eval.skn.running.samples import Sample
    from eval.synthlink.outputs import AnswerView, Scored
    from eval.synthlink.predictions import Prediction
    from eval.synthlink.question import Question as SynthLinkQuestion
    from eval.synthlink.running.row import SynthLinkRow
    from eval.synthlink.verdicts.record import JudgedLine
    from kg.text.chunks import Chunk
    from retrieval.corpus import CorpusPage

    return (
        *(Card, Result, RunManifest, MetricsReport, Question, Chunk),
        *(Document, SknRow, Sample),
        *(Config, ExtractionRow, ExtractionSample),
        *(Prediction, SynthLinkQuestion, SynthLinkRow, AnswerView, Scored),
        *(JudgedLine, CorpusPage),
    )
