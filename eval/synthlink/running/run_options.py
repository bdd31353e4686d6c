"""What is asked for: the flags of a run, checked against each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from eval.running.session import RunLimits
from eval.synthlink.agents.factory import MODEL_SYSTEMS, NO_SEARCH_SYSTEMS, SYSTEMS
from eval.synthlink.agents.trail import MAX_ROUNDS
from kg.base.errors import SettingError
from retrieval.factory import TEXT_RETRIEVERS

if TYPE_CHECKING:
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What is asked for.

    Attributes:
        system: one of ``SYSTEMS``, or ``module:Class``.
        out: the run's folder.
        catalog: the questions; null for those shipped.
        pages: corpus that is searched; null for the one shipped.
        retriever: how it is searched; null for ``bm25``.
        embedder: of ``dense`` and ``hybrid``; empty for the default model.
        search: replays these searches of the web instead of searching a corpus.
        live: searches the web instead, and records it in the folder.
        backends: the search engines asked in turn; none named means the usual ones.
        rounds: iterations that the system has.
        client: how models are called; null for a cache in the folder and the usual patience.
        max_tokens: most tokens of a model's reply; null for the usual number.
        limit: only the first so many questions.
        seed: of the order of questions.
        resume: take up what the folder holds; else it is refused if it holds anything.
        overwrite: forget what the folder holds.
        retry_errors: ask again what ended in ``ERROR``.
        limits: how many are asked at once, and when to give up.
    """

    system: str
    out: Path
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
    seed: int = 12345
    resume: bool = True
    overwrite: bool = False
    retry_errors: bool = False
    limits: RunLimits = field(default_factory=RunLimits)

    def __post_init__(self) -> None:
        if not 1 <= self.rounds <= MAX_ROUNDS:
            raise SettingError(
                f"there are 1 to {MAX_ROUNDS} iterations, not {self.rounds}",
                where="--rounds",
                hint="The specification counts no more.",
            )
        ways = {
            "--pages": self.pages is not None or self.retriever is not None or bool(self.embedder),
            "--search": self.search is not None,
            "--live": self.live,
        }
        named = [flag for flag, given in ways.items() if given]
        if len(named) > 1:
            raise SettingError(
                "a system searches pages, or recorded searches, or the web",
                where=", ".join(named),
                hint="Keep one of them; --retriever and --embedder belong to pages.",
            )
        if self.backends and not self.live:
            raise SettingError(
                "engines are asked in a live search only",
                where="--backend",
                hint="Add --live, or leave it out.",
            )
        if self.retriever is not None and self.retriever not in TEXT_RETRIEVERS:
            raise SettingError(
                f"no retriever of pages is called {self.retriever!r}",
                where="--retriever",
                hint=f"There are {', '.join(TEXT_RETRIEVERS)}.",
            )
        if self.embedder and self.retriever in (None, "bm25"):
            raise SettingError(
                "bm25 embeds nothing",
                where="--embedder",
                hint="Add --retriever dense or --retriever hybrid, or leave it out.",
            )
        ours = self.system in SYSTEMS
        if named and self.system in NO_SEARCH_SYSTEMS:
            raise SettingError(
                f"{self.system} looks nothing up",
                where=f"--system {self.system}, {named[0]}",
                hint="Leave one of them out.",
            )
        asked = bool(self.client and self.client.model) or self.max_tokens is not None
        if ours and self.system not in MODEL_SYSTEMS and asked:
            raise SettingError(
                f"{self.system} asks no model, but one is named",
                where=f"--system {self.system}, --model, --max-tokens",
                hint=f"Leave them out, or take --system {MODEL_SYSTEMS[0]}.",
            )

    @property
    def looks_up(self) -> bool:
        """Whether the system is given anything to search."""
        return self.system not in NO_SEARCH_SYSTEMS

    def model_options(self) -> ClientOptions:
        """How models are called; unless told otherwise, with a cache in the folder."""
        from eval.model.options import CACHE_NAME, ClientOptions

        return self.client or ClientOptions(cache=self.out / CACHE_NAME)
