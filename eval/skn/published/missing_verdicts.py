"""Judges wide rows (one per sample, with keys for every pipeline) that have no verdicts.

The published ``calculate_metrics`` judges all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eval.skn.published.wide_rows import build_groundedness_record, build_hallucination_record
from eval.skn.scoring.record import Mode

if TYPE_CHECKING:
    from eval.skn.judges.record import Judges, Verdicts

Wide = dict[str, Any]

_VERDICT_KEYS = ("correct", "hallucination", "groundedness")


def judge_rows(
    results: Sequence[Wide], pipelines: Sequence[str], model: str | None, mode: Mode
) -> None:
    """Asks a model to judge the rows without verdicts, and writes the verdicts into the rows.

    Rows that have all verdict keys are left unchanged, even if the values are null: an answer that
    could not be judged is not judged again.

    Args:
        results: wide rows, with ``raw_text`` and ``ground_truth`` where they need judging.
        pipelines: the pipelines whose answers are judged.
        model: ``provider/model`` of the judge; None means ``EPOCHE_JUDGE_MODEL``.
        mode: ``published`` uses the published judges.

    Raises:
        EpocheError: no judge is named, or the model cannot be used.
    """
    unjudged = [
        (row, pipeline)
        for row in results
        for pipeline in pipelines
        if _has_text(row, pipeline) and not all(f"{pipeline}_{key}" in row for key in _VERDICT_KEYS)
    ]
    if unjudged:
        asyncio.run(_judge_answers(unjudged, model, mode))


def _has_text(row: Wide, pipeline: str) -> bool:
    answer = row.get(f"{pipeline}_answer")
    return isinstance(answer, str) and bool(answer.strip())


async def _judge_answers(
    unjudged: Sequence[tuple[Wide, str]], model: str | None, mode: Mode
) -> None:
    judges = _open_judges(model, mode)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [
                (row, pipeline, group.create_task(_judge_row(judges, row, pipeline)))
                for row, pipeline in unjudged
            ]
    except BaseExceptionGroup as error_group:
        # Such an error (bad key, unknown model) affects every call, so one of them is enough.
        raise error_group.exceptions[0] from None
    finally:
        await judges.aclose()
    for row, pipeline, task in tasks:
        _write_verdicts(row, pipeline, task.result())


def _open_judges(model: str | None, mode: Mode) -> Any:
    from eval.judges.selection import choose_judges
    from eval.model.options import ClientOptions
    from eval.skn.judges.model_judges import ModelJudges
    from eval.skn.judges.published_judges import PublishedJudges

    models = (model,) if model is not None else choose_judges((), None).models
    if mode == "published":
        return PublishedJudges.open(ClientOptions(model=models[0]))
    return ModelJudges.open(ClientOptions(), models)


async def _judge_row(judges: Judges, row: Wide, pipeline: str) -> Verdicts:
    answerable = bool(row.get("answerable", True))
    return await judges.judge_answer(
        question=str(row.get("question", "")),
        answer=row[f"{pipeline}_answer"],
        ground_truth=str(row.get("ground_truth", "")) if answerable else None,
        sources=str(row.get("raw_text", "")),
        seed_key=str(row.get("id", "")),
    )


def _write_verdicts(row: Wide, pipeline: str, verdicts: Verdicts) -> None:
    row[f"{pipeline}_correct"] = verdicts.correct
    row[f"{pipeline}_hallucination"] = build_hallucination_record(verdicts)
    row[f"{pipeline}_groundedness"] = build_groundedness_record(verdicts)
