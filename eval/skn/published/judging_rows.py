"""Judges wide rows that lack verdicts, as the published ``calculate_metrics`` does with all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eval.skn.published.wide_rows import claims_of, grounds_of
from eval.skn.scoring.record import Mode

if TYPE_CHECKING:
    from eval.skn.judges.record import Judges, Verdicts

Wide = dict[str, Any]

_VERDICTS = ("correct", "hallucination", "groundedness")


def judge_rows(
    results: Sequence[Wide], pipelines: Sequence[str], model: str | None, mode: Mode
) -> None:
    """Has a model judge what was not judged, and writes the verdicts into the rows.

    Rows whose verdict keys are there, null or not, are left as they are: nobody judges twice what
    could not be judged once.

    Args:
        results: wide rows, with ``raw_text`` and ``ground_truth`` where they are to be judged.
        pipelines: whose answers.
        model: ``provider/model`` of the judge; null means ``EPOCHE_JUDGE_MODEL``.
        mode: ``published`` asks the published judges.

    Raises:
        EpocheError: no judge is named, or the model cannot be used.
    """
    asked = [
        (row, pipeline)
        for row in results
        for pipeline in pipelines
        if _has_text(row, pipeline) and not all(f"{pipeline}_{key}" in row for key in _VERDICTS)
    ]
    if asked:
        asyncio.run(_judge(asked, model, mode))


def _has_text(row: Wide, pipeline: str) -> bool:
    answer = row.get(f"{pipeline}_answer")
    return isinstance(answer, str) and bool(answer.strip())


async def _judge(asked: Sequence[tuple[Wide, str]], model: str | None, mode: Mode) -> None:
    judges = _open(model, mode)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [
                (row, pipeline, group.create_task(_verdicts(judges, row, pipeline)))
                for row, pipeline in asked
            ]
    except BaseExceptionGroup as errors:
        # One is as good as another: each concerns every call.
        raise errors.exceptions[0] from None
    finally:
        await judges.aclose()
    for row, pipeline, task in tasks:
        _write(row, pipeline, task.result())


def _open(model: str | None, mode: Mode) -> Any:
    from eval.judges.choosing import choose_judges
    from eval.model.options import ClientOptions
    from eval.skn.judges.model_judges import ModelJudges
    from eval.skn.judges.published_judges import PublishedJudges

    models = (model,) if model is not None else choose_judges((), None).models
    if mode == "published":
        return PublishedJudges.open(ClientOptions(model=models[0]))
    return ModelJudges.open(ClientOptions(), models)


async def _verdicts(judges: Judges, row: Wide, pipeline: str) -> Verdicts:
    answerable = bool(row.get("answerable", True))
    return await judges.judge(
        question=str(row.get("question", "")),
        answer=row[f"{pipeline}_answer"],
        ground_truth=str(row.get("ground_truth", "")) if answerable else None,
        sources=str(row.get("raw_text", "")),
        seed_key=str(row.get("id", "")),
    )


def _write(row: Wide, pipeline: str, verdicts: Verdicts) -> None:
    row[f"{pipeline}_correct"] = verdicts.correct
    row[f"{pipeline}_hallucination"] = claims_of(verdicts)
    row[f"{pipeline}_groundedness"] = grounds_of(verdicts)
