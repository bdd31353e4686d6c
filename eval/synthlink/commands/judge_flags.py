"""Judge flags of the SynthLink commands, and their conversion to ``JudgeOptions``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from eval.harness.session import RunLimits
    from eval.model.options import ClientOptions
    from eval.synthlink.answer_source import AnswerSource
    from eval.synthlink.judges.judge_run import JudgeOptions
    from eval.synthlink.verdicts.record import JudgeReport

JudgeModels: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--judge-model",
        help="Model that judges the claims which the graph does not decide; repeatable. `same`: "
        "the model that answered.",
    ),
]
NliFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--nli",
        help="Folder of an NLI cross-encoder (ONNX) that judges instead of a model; needs the "
        "extra `onnx`.",
    ),
]
JudgeRepeats: TypeAlias = Annotated[
    int | None,
    typer.Option("--judge-repeats", min=1, help="Votes of each judge.", show_default="2"),
]


def build_judge_options(
    models: Sequence[str] | None,
    repeats: int | None,
    *,
    client: ClientOptions,
    limits: RunLimits,
    answerers: Callable[[], tuple[AnswerSource, ...]],
    nli: Path | None = None,
) -> JudgeOptions | None:
    """Builds the judge's options from the flags; ``None`` without a judge.

    Args:
        models: ``--judge-model``.
        repeats: ``--judge-repeats``.
        client: options for calling models.
        limits: limits on concurrency, cost and consecutive errors.
        answerers: returns the models that answered in each scored file; only called if there is a
            judge.
        nli: ``--nli``.

    Raises:
        SettingError: ``--nli`` with ``--judge-model``; ``--judge-repeats`` without
            ``--judge-model``; or an error of ``JudgeOptions.select_judges``.
        MissingFileError, ModelAccessError: an error of ``JudgeOptions.select_judges``.
        EpocheError: an error of ``answerers``.
    """
    from eval.synthlink.answer_source import AnswerSource
    from eval.synthlink.judges.judge_run import JudgeOptions
    from kg.base.errors import SettingError

    if nli is not None and models:
        raise SettingError(
            "either models or an NLI cross-encoder judge the claims",
            where="--judge-model, --nli",
            hint="Drop one of the two.",
        )
    if not models and repeats is not None:
        raise SettingError(
            "--judge-repeats needs a judge that is a model",
            where="--judge-repeats",
            hint="Add --judge-model, or drop --judge-repeats.",
        )
    if not models and nli is None:
        return None
    judge_options = JudgeOptions(
        models=tuple(models or ()),
        repeats=repeats,
        client=client,
        limits=limits,
        answerers=answerers() if models else (AnswerSource(),),
        nli=nli,
    )
    judge_options.select_judges()  # unusable models must fail before any paid call
    return judge_options


def report_judge_usage(report: JudgeReport | None, journal_path: Path) -> None:
    """Prints a judge's usage, and warns about claims without a verdict.

    Args:
        report: the judge's report; ``None`` without a judge.
        journal_path: the judge's journal.

    Raises:
        TooManyErrorsError: the judge gave no verdict on any claim.
    """
    from eval.harness.totals import CallTotals
    from kg.base.console import print_text, print_warning
    from kg.base.errors import TooManyErrorsError

    if report is None:
        return
    if (usage := report.usage) is not None:
        totals = CallTotals(
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cost_usd=usage.cost_usd,
        )
        print_text(f"judge: {totals.format_summary()}")
    if not report.lost:
        return
    problem = f"{report.lost} of {report.asked} claims got no verdict from the judge"
    if report.lost == report.asked:
        raise TooManyErrorsError(
            f"{problem}; all of them are unjudged",
            where=str(journal_path),
            hint="See `lost` in its lines; fix the cause and run the same command again.",
        )
    print_warning(f"{problem} and are unjudged; run the same command to ask the judge again")
