"""Extractions of the SKN benchmark as JSON of one schema, whatever form they are written in.

What two forms can both say is said alike: statements, causes with their effects, gaps. Confidences,
priorities and levels are left out: they are judgements, of which no gold can be made, and half
the forms have none. What a form has no place for is missing, and counts as omitted: that is what
choosing the form costs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from eval.extraction.own.predictions import Prediction
from eval.extraction.samples.sample import Sample
from eval.skn.formats.extracting import Extraction
from eval.skn.formats.forms import Content
from eval.skn.grammar.document import Document
from eval.skn.pipelines import PIPELINES
from eval.skn.rules.extractor import CAUSES, RuleExtractor
from eval.skn.running.row import SknRow
from eval.skn.setting import Setting
from kg.base.errors import RecordError

GOLD = Path(__file__).parents[1] / "data" / "skn_gold" / "gold.jsonl"
"""Twelve search texts of the shipped SKN data set, with what is to be extracted from them."""

QUESTION = "question"
"""Key of a gold sample's ``meta``: what the text was searched for."""


def as_fields(content: Content) -> dict[str, Any]:
    """What an extraction says, in the one form that all are scored in.

    Args:
        content: typed (SKN or JSON), or flat JSON. Of flat JSON claims are the statements,
            relationships that say a cause the causes; entities say nothing by themselves.

    Returns:
        ``facts`` [{text}], and where there are any ``causal`` [{cause, effect}], ``gaps`` [{text}].
    """
    if isinstance(content, Document):
        facts = [fact.text for fact in content.facts]
        causal = [(link.cause, link.effect) for link in content.causal or ()]
        gaps = list(content.gaps or ())
    else:
        facts = [claim.statement for claim in content.claims]
        causal = [
            (one.source, one.target)
            for one in content.relationships
            if one.relation.strip().casefold() in _CAUSAL
        ]
        gaps = []
    found: dict[str, Any] = {"facts": [{"text": text} for text in facts]}
    if causal:
        found["causal"] = [{"cause": cause, "effect": effect} for cause, effect in causal]
    if gaps:
        found["gaps"] = [{"text": text} for text in gaps]
    return found


_CAUSAL = frozenset(
    {CAUSES, "cause", "caused", "leads to", "results in", "brings about", "triggers"}
)
"""Relations of flat JSON that say a cause, from cause to effect. No other is taken for one."""


def of_run(rows: Iterable[SknRow], gold: Sequence[Sample]) -> Iterator[Prediction]:
    """The extractions of a finished SKN run, of those samples that have a gold document.

    A call that failed before there was an extraction is a failed call. One that failed later, at
    the agent or the judges, takes nothing from its extraction.

    Args:
        rows: of the run.
        gold: samples under the ids that the run has.

    Raises:
        RecordError: an extraction is none of its pipeline.
    """
    known = {sample.id for sample in gold}
    for row in rows:
        if row.id in known:
            yield _prediction(row.id, row.pipeline, row.extraction, row.repeat, row.error)


def by_rules(gold: Sequence[Sample], pipelines: Sequence[str]) -> Iterator[Prediction]:
    """What the rules extract in each form; nothing is called.

    Args:
        gold: with the question in ``meta``, and the text as it is scored.
        pipelines: names of forms.

    Raises:
        RecordError: a gold sample names no question.
    """
    for name in pipelines:
        extractor = RuleExtractor(PIPELINES[name], Setting())
        for sample in gold:
            question = sample.meta.get(QUESTION)
            if not isinstance(question, str):
                raise RecordError(
                    f"gold sample {sample.id!r} has no question in its meta",
                    hint="Rules, as models, are shown what the text was searched for.",
                )
            text = sample.text.removeprefix(heading(question))
            yield _prediction(sample.id, name, asyncio.run(extractor.extract(text, question)))


def heading(question: str) -> str:
    """What stands before the search text in a gold sample, so that the sample is complete alone."""
    return f"Question: {question}\n\n"


def _prediction(
    id_: str,
    pipeline: str,
    extraction: Extraction | None,
    repeat: int = 0,
    error: str | None = None,
) -> Prediction:
    if extraction is None:
        return Prediction(
            id=id_,
            system=pipeline,
            repeat=repeat,
            failed=True,
            problem=error or "the run has no extraction of it",
        )
    try:
        content = extraction.typed()
    except ValueError as error_of_form:  # msgspec.ValidationError is one
        raise RecordError(
            f"row {id_!r} of {pipeline!r} holds no extraction of its form: {error_of_form}",
            hint="The rows must be as `epoche skn run` wrote them.",
        ) from error_of_form
    return Prediction(
        id=id_,
        system=pipeline,
        repeat=repeat,
        predicted=None if content is None else as_fields(content),
        parsed=content is not None,
        raw=extraction.raw,
        problem=extraction.problem,
        notes=() if extraction.validity == "strict" else (f"read: {extraction.validity}",),
        latency_s=extraction.latency_s,
        usage=extraction.usage,
    )
