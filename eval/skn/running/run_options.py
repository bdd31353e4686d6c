"""What is asked for: the flags of a run, checked against each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from eval.harness.session import RunLimits
from eval.skn.pipelines import ABLATION_PIPELINES, DEFAULT_PIPELINES, FAIR_ABLATION_PIPELINES
from eval.skn.run_settings import Setting
from kg.base.errors import SettingError

if TYPE_CHECKING:
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What is asked for.

    Attributes:
        dataset: the samples.
        out: the run's folder.
        client: the model that answers, and how models are called.
        ablation: all pipelines, and not only JSON and SKN.
        offline: rules instead of models.
        setting: what is the same for all pipelines.
        judge_models: who judges; ``same`` for the model that answers.
        judge_repeats: how often each answer is judged by each model; null for the usual number.
        search: replays these searches; by default those shipped.
        live: searches the web instead, and records it in the folder.
        backends: the search engines asked in turn; none named means the usual ones.
        limit: only the first so many samples.
        repeats: how often every sample is asked of every pipeline.
        seed: of the order of questions and of what judges are shown.
        resume: take up what the folder holds; else it is refused if it holds anything.
        overwrite: forget what the folder holds.
        retry_errors: ask again what ended in ``ERROR``, or could not be judged.
        limits: how many are asked at once, and when to give up.
    """

    dataset: Path
    out: Path
    client: ClientOptions | None = None
    ablation: bool = False
    offline: bool = False
    setting: Setting = field(default_factory=Setting)
    judge_models: tuple[str, ...] = ()
    judge_repeats: int | None = None
    search: Path | None = None
    live: bool = False
    backends: tuple[str, ...] = ()
    limit: int | None = None
    repeats: int = 1
    seed: int = 12345
    resume: bool = True
    overwrite: bool = False
    retry_errors: bool = False
    limits: RunLimits = field(default_factory=RunLimits)

    def __post_init__(self) -> None:
        if self.live and self.search is not None:
            raise SettingError(
                "searches are either replayed or made",
                where="--search, --live",
                hint="Leave one of them out.",
            )
        if self.backends and not self.live:
            raise SettingError(
                "engines are asked in a live search only",
                where="--backend",
                hint="Add --live, or leave it out.",
            )
        if self.offline and self.setting.published:
            raise SettingError(
                "the published setting is prompts, and rules read none",
                where="--offline, --as-published",
                hint="Leave one of them out.",
            )
        if self.offline and (self.judge_models or (self.client and self.client.model)):
            raise SettingError(
                "--offline asks no model, but one is named",
                where="--offline, --model, --judge-model",
                hint="Leave --offline out, or the models.",
            )
        usual = Setting()
        if self.offline and (
            self.judge_repeats is not None
            or self.setting.constrained
            or self.setting.max_tokens != usual.max_tokens
        ):
            raise SettingError(
                "rules are neither constrained nor counted in tokens, and vote once",
                where="--offline, --constrained, --max-tokens, --judge-repeats",
                hint="Leave --offline out, or what is for models.",
            )
        if self.setting.published and (self.judge_models or self.judge_repeats is not None):
            raise SettingError(
                "as published the model that answers judges, once",
                where="--as-published, --judge-model, --judge-repeats",
                hint="Leave out --as-published, or the judges' flags.",
            )

    def model_options(self) -> ClientOptions:
        """How models are called; unless told otherwise, with a cache in the folder."""
        from eval.model.options import CACHE_NAME, ClientOptions

        return self.client or ClientOptions(cache=self.out / CACHE_NAME)

    @property
    def pipelines(self) -> tuple[str, ...]:
        """The pipelines that are compared."""
        if not self.ablation:
            return DEFAULT_PIPELINES
        return ABLATION_PIPELINES if self.setting.published else FAIR_ABLATION_PIPELINES


def setting_of(
    *,
    published: bool,
    hide_question: bool,
    constrained: bool,
    words: int | None,
    max_tokens: int | None,
) -> Setting:
    """The setting that flags ask for; null leaves a number as it is.

    Raises:
        SettingError: the published setting is asked for together with another.
    """
    if not published:
        usual = Setting()
        return Setting(
            show_question=not hide_question,
            constrained=constrained,
            words=usual.words if words is None else words,
            max_tokens=usual.max_tokens if max_tokens is None else max_tokens,
        )
    if hide_question or constrained or words is not None or max_tokens is not None:
        raise SettingError(
            "the published setting has no question, its own length and JSON mode",
            where="--as-published",
            hint="Leave out --hide-question, --constrained, --words and --max-tokens.",
        )
    return Setting.as_published()
