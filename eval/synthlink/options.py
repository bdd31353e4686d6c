"""Defines the options of a run and checks that they are compatible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from eval.harness.base_run import RunFlags
from eval.harness.journals.row_layout import ALL_ITEMS, Shard
from eval.harness.session import RunLimits
from eval.synthlink.agents.factory import MODEL_SYSTEMS, NO_SEARCH_SYSTEMS, SYSTEMS
from eval.synthlink.agents.trail import MAX_ROUNDS
from kg.base.errors import SettingError
from retrieval.names import TEXT_RETRIEVERS

if TYPE_CHECKING:
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run.

    Attributes:
        system: one of ``SYSTEMS``, or another system, as in ``SystemRegistry``.
        settings: ``--set key=value`` pairs.
        out: folder of the run.
        catalog: the questions; None for the shipped ones.
        pages: the corpus that is searched; None for the shipped one.
        retriever: how pages are searched; None for ``bm25``.
        embedder: model of ``dense`` and ``hybrid``; empty for the default model.
        search: file of recorded web searches to replay instead of searching pages.
        live: search the web instead, and record the searches in the folder.
        backends: search engines, tried in order; empty for the default ones.
        rounds: maximum number of rounds.
        client: how models are called; None for the defaults, with a cache in the folder.
        max_tokens: maximum tokens of a model's reply; None for the default.
        limit: ask only the first ``limit`` questions.
        shard: the part of the items that is asked.
        repeats: number of times each question is asked.
        seed: seed of the order of questions.
        resume: resume a run in the folder; otherwise a folder with rows is refused.
        overwrite: delete a run in the folder first.
        retry_errors: ask again the questions that ended in ``ERROR``.
        allow_changed: whether rows that were changed after the last session are resumed.
        limits: concurrency, and the limits at which the run is aborted.
    """

    system: str
    out: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    catalog: Path | None = None
    pages: Path | None = None
    retriever: str | None = None
    embedder: str = ""
    search: Path | None = None
    live: bool = False
    backends: tuple[str, ...] = ()
    rounds: int = MAX_ROUNDS
    client: ClientOptions | None = None
    max_tokens: int | None = None
    limit: int | None = None
    shard: Shard = ALL_ITEMS
    repeats: int = 1
    seed: int = 12345
    resume: bool = True
    overwrite: bool = False
    retry_errors: bool = False
    allow_changed: bool = False
    limits: RunLimits = field(default_factory=RunLimits)

    def __post_init__(self) -> None:
        if not 1 <= self.rounds <= MAX_ROUNDS:
            raise SettingError(
                f"the number of rounds must be from 1 to {MAX_ROUNDS}, not {self.rounds}",
                where="--rounds",
                hint=f"The specification scores at most {MAX_ROUNDS}.",
            )
        sources = {
            "--pages": self.pages is not None or self.retriever is not None or bool(self.embedder),
            "--search": self.search is not None,
            "--live": self.live,
        }
        named = [flag for flag, is_given in sources.items() if is_given]
        if len(named) > 1:
            raise SettingError(
                "a system searches either pages, recorded searches or the web",
                where=", ".join(named),
                hint="Keep one of them; --retriever and --embedder are for pages.",
            )
        if self.live and self.shard.count > 1:
            raise SettingError(
                "the searches of a live run cannot be merged",
                where="--shard, --live",
                hint="Record the searches in one run, and give them to the shards with --search.",
            )
        if self.backends and not self.live:
            raise SettingError(
                "--backend needs --live",
                where="--backend",
                hint="Add --live, or drop --backend.",
            )
        if self.retriever is not None and self.retriever not in TEXT_RETRIEVERS:
            raise SettingError(
                f"there is no retriever {self.retriever!r}",
                where="--retriever",
                hint=f"Retrievers are {', '.join(TEXT_RETRIEVERS)}.",
            )
        if self.embedder and self.retriever in (None, "bm25"):
            raise SettingError(
                "--embedder needs --retriever dense or hybrid",
                where="--embedder",
                hint="Add one of them, or drop --embedder.",
            )
        is_built_in = self.system in SYSTEMS
        if named and self.system in NO_SEARCH_SYSTEMS:
            raise SettingError(
                f"{self.system} does not search",
                where=f"--system {self.system}, {named[0]}",
                hint="Drop one of them.",
            )
        names_model = bool(self.client and self.client.model) or self.max_tokens is not None
        if is_built_in and self.system not in MODEL_SYSTEMS and names_model:
            raise SettingError(
                f"{self.system} calls no model, but one is given",
                where=f"--system {self.system}, --model, --max-tokens",
                hint=f"Drop them, or use --system {MODEL_SYSTEMS[0]}.",
            )

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
    def needs_library(self) -> bool:
        """Whether the system searches a library."""
        return self.system not in NO_SEARCH_SYSTEMS

    def get_client_options(self) -> ClientOptions:
        """Returns how models are called; by default with a cache in the folder."""
        from eval.model.options import CACHE_NAME, ClientOptions

        return self.client or ClientOptions(cache=self.out / CACHE_NAME)
