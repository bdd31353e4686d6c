"""Defines the options of a run, and checks them against each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from eval.harness.base_run import RunFlags
from eval.harness.journals.row_layout import ALL_ITEMS, Shard
from eval.harness.session import RunLimits
from eval.skn.formats.pipelines import (
    ABLATION_PIPELINES,
    DEFAULT_PIPELINES,
    FAIR_ABLATION_PIPELINES,
    PIPELINES,
)
from eval.skn.formats.settings import Setting
from eval.stats.bootstrap import RESAMPLES
from kg.base.errors import SettingError

if TYPE_CHECKING:
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run.

    Attributes:
        dataset: file of the samples.
        out: folder of the run.
        client: the model that answers, and how models are called.
        systems: systems of others that are asked instead of the pipelines, as in
            ``eval.harness.systems.system_registry``.
        settings: ``--set key=value`` pairs for these.
        ablation: compare all pipelines, not only JSON and SKN.
        formats: names of the pipelines to compare instead, such as ``json_meta``.
        setting: the setting, the same for all pipelines.
        judge_models: the judges; ``same`` for the model that answers.
        judge_repeats: votes of each judge on each item; None for the default number.
        no_judge: leave the answers unjudged.
        search: file of recorded searches to replay; None for the shipped one.
        live: search the web instead, and record the searches in the folder.
        backends: search engines for ``live``, tried in order; the default engines if empty.
        limit: ask only the first ``limit`` samples.
        shard: the part of the samples that is asked.
        repeats: number of times each sample is asked of each pipeline.
        seed: seed of the order of questions, and of what judges are shown.
        resamples: bootstrap resamples of the intervals.
        resume: whether an existing run in the folder is resumed.
        overwrite: whether it is replaced.
        retry_errors: whether rows are asked again that are ``ERROR`` or could not be judged.
        allow_changed: whether rows that were changed after the last session are resumed.
        limits: concurrency, and the limits at which the run is aborted.

    Raises:
        SettingError: two options contradict each other.
    """

    dataset: Path
    out: Path
    client: ClientOptions | None = None
    systems: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    ablation: bool = False
    formats: tuple[str, ...] = ()
    setting: Setting = field(default_factory=Setting)
    judge_models: tuple[str, ...] = ()
    judge_repeats: int | None = None
    no_judge: bool = False
    search: Path | None = None
    live: bool = False
    backends: tuple[str, ...] = ()
    limit: int | None = None
    shard: Shard = ALL_ITEMS
    repeats: int = 1
    seed: int = 12345
    resamples: int = RESAMPLES
    resume: bool = True
    overwrite: bool = False
    retry_errors: bool = False
    allow_changed: bool = False
    limits: RunLimits = field(default_factory=RunLimits)

    def __post_init__(self) -> None:
        self._check_searches()
        self._check_judges()
        self._check_systems()
        self._check_formats()

    def _check_searches(self) -> None:
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
        if self.live and self.shard != ALL_ITEMS:
            raise SettingError(
                "shards replay recorded searches, so that all of them read the same texts",
                where="--shard, --live",
                hint="Record the searches with a run without --shard, then give its search.jsonl "
                "to the shards with --search.",
            )

    def _check_judges(self) -> None:
        names_judges = bool(self.judge_models) or self.judge_repeats is not None
        if self.no_judge and names_judges:
            raise SettingError(
                "with --no-judge nothing is judged, but judges are named",
                where="--no-judge, --judge-model, --judge-repeats",
                hint="Leave --no-judge out, or the flags for judges.",
            )
        if self.setting.published and names_judges:
            raise SettingError(
                "in the published setting the model that answers judges, once",
                where="--as-published, --judge-model, --judge-repeats",
                hint="Leave out --as-published, or the flags for judges.",
            )

    def _check_systems(self) -> None:
        if self.systems and (self.ablation or self.formats or self.setting != Setting()):
            raise SettingError(
                "--system replaces the pipelines, and these flags are for pipelines",
                where="--ablation, --formats, --as-published, --hide-question, --constrained, "
                "--words, --max-tokens",
                hint="Leave them out, or make a run without --system and compare both.",
            )
        if self.settings and not self.systems:
            raise SettingError(
                "--set is for systems named with --system",
                where="--set",
                hint="Leave it out, or add --system.",
            )

    def _check_formats(self) -> None:
        if self.formats and self.ablation:
            raise SettingError(
                "--ablation compares all formats, and --formats names some of them",
                where="--ablation, --formats",
                hint="Leave one of them out.",
            )
        known = ABLATION_PIPELINES if self.setting.published else tuple(PIPELINES)
        for name in self.formats:
            if name not in known:
                raise SettingError(
                    f"there is no format {name!r}"
                    + (" in the published setting" if self.setting.published else ""),
                    where="--formats",
                    hint=f"Formats: {', '.join(known)}.",
                )

    def client_options(self) -> ClientOptions:
        """Returns how models are called; by default with a cache in the folder."""
        from eval.model.options import CACHE_NAME, ClientOptions

        return self.client or ClientOptions(cache=self.out / CACHE_NAME)

    @property
    def flags(self) -> RunFlags:
        """The flags that every run command has."""
        return RunFlags(
            out=self.out,
            resume=self.resume,
            overwrite=self.overwrite,
            retry_errors=self.retry_errors,
            allow_changed=self.allow_changed,
            limits=self.limits,
        )

    @property
    def pipelines(self) -> tuple[str, ...]:
        """Names of the pipelines that are compared."""
        if self.formats:
            return self.formats
        if not self.ablation:
            return DEFAULT_PIPELINES
        return ABLATION_PIPELINES if self.setting.published else FAIR_ABLATION_PIPELINES


def build_setting(
    *,
    published: bool,
    hide_question: bool,
    constrained: bool,
    words: int | None,
    max_tokens: int | None,
) -> Setting:
    """Returns the setting that flags ask for; None keeps the default of a number.

    Raises:
        SettingError: the published setting is combined with other flags.
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
