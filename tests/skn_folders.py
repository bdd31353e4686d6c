"""Writes folders of SKN runs from rows made by tests; the product's code computes the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.model.usage import Usage
from eval.skn.agent import Response
from eval.skn.files import MANIFEST, ROWS, SAMPLES, SOURCES
from eval.skn.formats.extraction import Extraction
from eval.skn.items import Sample, sample_to_json
from eval.skn.judges.record import Hallucination, Verdicts
from eval.skn.manifest import SknManifest
from eval.skn.outputs import write_outputs
from eval.skn.row import SknRow
from eval.skn.search_source import Source
from kg.base.files import write_json_atomic, write_jsonl_atomic
from retrieval.web_results import WebResult


def make_samples(count: int, **changes: Any) -> list[Sample]:
    """Makes ``count`` samples; every fourth has no answer."""
    return [
        Sample(
            id=f"s{number}",
            question=f"Why does job {number} stall?",
            ground_truth=f"A lock of job {number} is never released.",
            category=("diagnostic", "architecture")[number % 2],
            answerable=number % 4 != 3,
            **changes,
        )
        for number in range(count)
    ]


def answered_row(sample: Sample, pipeline: str, *, right: bool = True, **changes: Any) -> SknRow:
    """Makes a row that was extracted, answered and judged, with the given fields changed."""
    usage = Usage(100, 20)
    fields: dict[str, Any] = {
        "id": sample.id,
        "category": sample.category,
        "pipeline": pipeline,
        "answerable": sample.answerable,
        "outcome": "ANSWERED",
        "abstained_by": "field",
        "extraction": Extraction(
            pipeline=pipeline,
            context='{"claims":["The lock stays."]}',
            validity="strict",
            raw='{"claims":["The lock stays."]}',
            usage=usage,
            latency_s=0.5,
        ),
        "response": Response(
            answer=f"The lock stays, says {pipeline}.",
            confidence=0.8 if right else 0.6,
            reasoning="The text says so.",
            abstained=False,
            readable=True,
            usage=usage,
            latency_s=0.25,
        ),
        "verdicts": Verdicts(
            correct=right if sample.answerable else None,
            correct_votes=(right, right) if sample.answerable else (),
            planned_votes=2,
            hallucination=Hallucination(
                total_claims=2.0,
                fabricated=0.0 if right else 1.0,
                fabricated_claims=() if right else ("The lock is red.",),
                severity=0.0 if right else 0.4,
                detected=not right,
            ),
            groundedness=1.0 if right else 0.5,
            unsupported_fraction=0.0 if right else 0.5,
        ),
        "latency_s": 0.75,
        "usage": usage,
    }
    return SknRow(**(fields | changes))


def abstained_row(sample: Sample, pipeline: str, **changes: Any) -> SknRow:
    """Makes a row whose agent abstains."""
    response = Response(
        answer="I cannot tell.", confidence=0.2, reasoning="", abstained=True, readable=True
    )
    return answered_row(
        sample,
        pipeline,
        **{"outcome": "ABSTAINED", "response": response, "verdicts": None} | changes,
    )


def failed_row(sample: Sample, pipeline: str, **changes: Any) -> SknRow:
    """Makes a row whose first call failed."""
    empty_fields = dict.fromkeys(("extraction", "response", "verdicts", "latency_s", "usage"))
    error_fields: dict[str, Any] = {
        "outcome": "ERROR",
        "stage": "extraction",
        "error": "the server is gone",
        "abstained_by": "",
    }
    return answered_row(sample, pipeline, **empty_fields, **error_fields | changes)


def write_run_folder(
    folder: Path,
    samples: Sequence[Sample],
    rows: Sequence[SknRow],
    *,
    search_text: str = "The lock stays.",
    **manifest: Any,
) -> Path:
    """Writes a finished run with these rows and the metrics that the product computes from them."""
    pipelines = tuple(dict.fromkeys(row.pipeline for row in rows))
    fields: dict[str, Any] = {
        "rows": ROWS,
        "dataset": "samples.json",
        "dataset_sha256": "0" * 64,
        "sample_count": len(samples),
        "repeats": 1 + max(row.repeat for row in rows),
        "pipelines": pipelines,
        "mode": "fair",
        "offline": False,
        "search": {},
        "setting": {},
        "extractors": {},
        "agent": {},
        "judges": {"by": "models"},
        "model": "loop/answerer",
        "judge_model": "loop/judge",
        "same_judge": False,
        "seed": 1,
        "resamples": 100,
        "started": "2026-01-01T00:00:00+00:00",
        "status": "complete",
    }
    run_manifest = SknManifest(**(fields | manifest))
    folder.mkdir(parents=True, exist_ok=True)
    write_json_atomic(folder / MANIFEST, run_manifest)
    write_jsonl_atomic(folder / ROWS, rows)
    write_jsonl_atomic(folder / SAMPLES, map(sample_to_json, samples))
    results = (WebResult("Notes", "https://example.org/1", search_text),) if search_text else ()
    write_jsonl_atomic(
        folder / SOURCES,
        [Source(id=sample.id, question=sample.question, results=results) for sample in samples],
    )
    write_outputs(folder)
    return folder


def write_two_pipelines(folder: Path, count: int = 12, **manifest: Any) -> Path:
    """Writes a run of two pipelines with right, wrong, abstained and failed rows.

    ``json`` is right on every third sample. ``skn`` fails on the second sample, is wrong on the
    fifth, abstains where there is no answer, and is right on all others.
    """
    samples = make_samples(count)
    rows: list[SknRow] = []
    for number, sample in enumerate(samples):
        rows.append(answered_row(sample, "json", right=number % 3 == 0))
        if number == 1:
            rows.append(failed_row(sample, "skn"))
        elif not sample.answerable:
            rows.append(abstained_row(sample, "skn"))
        else:
            rows.append(answered_row(sample, "skn", right=number != 4))
    return write_run_folder(folder, samples, rows, **manifest)
