"""Flags of the commands whose SynthLink claims a model may judge, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from eval.model.options import ClientOptions
    from eval.running.session import Limits
    from eval.synthlink.judging.judging_run import JudgeOptions
    from eval.synthlink.running.answerer import Answerer
    from eval.synthlink.verdicts.record import JudgeReport

JudgeModels: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--judge-model",
        help="Let this model judge claims that the graph leaves open; repeatable. `same`: whoever "
        "answered.",
    ),
]
JudgeRepeats: TypeAlias = Annotated[
    int | None,
    typer.Option("--judge-repeats", min=1, help="Votes of each judge.", show_default="2"),
]


def judge_of_flags(
    models: Sequence[str] | None,
    repeats: int | None,
    *,
    client: ClientOptions,
    limits: Limits,
    answerers: Callable[[], tuple[Answerer, ...]],
) -> JudgeOptions | None:
    """Who is to judge; None where nobody is named.

    Args:
        models: ``--judge-model``.
        repeats: ``--judge-repeats``.
        client: how models are called.
        limits: when to give up.
        answerers: tells who answered in each file that is scored; not asked where nobody judges.

    Raises:
        SettingError: votes are asked for and nobody is to cast them; or as
            ``JudgeOptions.choose``.
        ModelAccessError: as there.
        EpocheError: as ``answerers``.
    """
    from eval.synthlink.judging.judging_run import JudgeOptions
    from kg.base.errors import SettingError

    if not models:
        if repeats is not None:
            raise SettingError(
                "nobody is named as judge",
                where="--judge-repeats",
                hint="Add --judge-model, or leave it out.",
            )
        return None
    chosen = JudgeOptions(
        models=tuple(models),
        repeats=repeats,
        client=client,
        limits=limits,
        answerers=answerers(),
    )
    chosen.choose()  # before anything is asked or paid
    return chosen


def report_judge(report: JudgeReport | None, where: Path) -> None:
    """Says what a judge took, and of which claims it said nothing; one of none at all has failed.

    Args:
        report: of the judge; None for nobody.
        where: the journal.

    Raises:
        TooManyErrorsError: claims were put to the judge, and it said nothing of any.
    """
    from eval.running.totals import CallTotals
    from kg.base.console import say, warn
    from kg.base.errors import TooManyErrorsError

    if report is None:
        return
    if (used := report.usage) is not None:
        took = CallTotals(
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            cost_usd=used.cost_usd,
        )
        say(f"judge: {took.in_words()}")
    if not report.lost:
        return
    said = f"{report.lost} of {report.asked} claims got no verdict from the judge"
    again = "give the same command to ask again"
    if report.lost == report.asked:
        raise TooManyErrorsError(
            f"{said}; words decided all of them",
            where=str(where),
            hint=f"See `lost` in its lines; when it is mended, {again}.",
        )
    warn(f"{said}, so words decided about them; {again}")
