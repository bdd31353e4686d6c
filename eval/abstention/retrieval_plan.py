"""Reads the retrieval settings of systems, and opens the corpus and retriever that they select.

The corpus (setting ``passages``) is one of: the graph as sentences, by ``fact`` or by ``subject``;
the chunks of a run of ``epoche kg build`` (``chunk``); passages in a file (``text``); recorded web
searches (``web``). The other settings are listed in ``docs/reference/systems.md``; settings without
effect on the chosen corpus and retriever are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eval.abstention.system import SystemOptions
from eval.harness.systems.settings import Settings
from kg.base.errors import SettingError
from retrieval.names import RUN_RETRIEVERS, TEXT_RETRIEVERS

if TYPE_CHECKING:
    from retrieval.ensemble import Method
    from retrieval.factory import RetrieverOptions
    from retrieval.protocol import Passage, Retriever

DEFAULT_DENSE_WEIGHT = 0.5
DEFAULT_POOL = 100

_RETRIEVERS_BY_CORPUS = {
    "fact": TEXT_RETRIEVERS,
    "subject": TEXT_RETRIEVERS,
    "chunk": RUN_RETRIEVERS,
    "text": TEXT_RETRIEVERS,
    "web": ("web",),
}
_EMBEDDING_RETRIEVERS = ("dense", "hybrid", "facts", "ensemble")
_FUSION_RETRIEVERS = ("hybrid", "ensemble")
_FACT_RETRIEVERS = ("facts", "ensemble")
_WALK_RETRIEVERS = ("kg", "ensemble")


@dataclass(frozen=True)
class RetrievalPlan:
    """The corpus, the retriever and its settings, as given with ``--set``."""

    passages: str
    retriever: str
    top_k: int
    run: str = ""
    """Folder of the run whose chunks are searched."""
    texts: str = ""
    """File of passages, such as the one that is written beside cards about documents."""
    frozen: str = ""
    """File of recorded web searches."""
    embedder: str = ""
    fusion: Method = "rrf"
    dense_weight: float = DEFAULT_DENSE_WEIGHT
    weights: dict[str, float] = field(default_factory=dict)
    """Weights of the ensemble's components."""
    pool: int = DEFAULT_POOL
    """Number of passages that each retriever contributes to the fusion."""
    walk: Literal["bfs", "ppr"] = "bfs"
    facts: str = ""
    """File of facts about the run's chunks; empty for facts found by rules."""
    reranker: str = ""

    @classmethod
    def from_settings(cls, settings: Settings) -> RetrievalPlan:
        """Reads the retrieval settings.

        Settings without effect are not read, so that ``Settings.refuse_unknown`` refuses them.

        Raises:
            SettingError: a setting is invalid, or the file of the corpus is not named.
        """
        files = {
            corpus: (key, settings.get_text(key, ""))
            for corpus, key in (("chunk", "run"), ("text", "texts"), ("web", "frozen"))
        }
        # The first choice is the default: a named file implies the corpus that it belongs to.
        preferred = [corpus for corpus, (_, value) in files.items() if value][:1]
        passages = settings.get_choice(
            "passages", tuple(dict.fromkeys((*preferred, "fact", "subject", *files)))
        )
        for corpus, (key, value) in files.items():
            if (passages == corpus) != bool(value):
                raise SettingError(
                    f"passages={corpus} and {key} must be given together",
                    where=f"--set passages={passages}",
                    hint=f"For example --set {key}=PATH --set passages={corpus}.",
                )
        requested = settings.get_text("retriever", "")
        if requested in RUN_RETRIEVERS and requested not in _RETRIEVERS_BY_CORPUS[passages]:
            raise SettingError(
                f"retriever {requested} does not search passages={passages}",
                where=f"--set retriever={requested}",
                hint="--set run=FOLDER searches a run of `epoche kg build`."
                if passages != "web"
                else "Recorded searches are replayed as they are: leave the retriever out.",
            )
        retriever = settings.get_choice("retriever", _RETRIEVERS_BY_CORPUS[passages])
        top_k = settings.get_int("top_k", 5, minimum=1)
        paths = dict(files.values())
        return cls.for_retriever(settings, retriever, passages=passages, top_k=top_k, **paths)

    @classmethod
    def for_retriever(cls, settings: Settings, retriever: str, **fields: Any) -> RetrievalPlan:
        """Reads the settings that apply to one retriever.

        Args:
            settings: the settings given.
            retriever: name of the retriever.
            fields: the fields of the plan that apply to every retriever.
        """
        retriever_fields: dict[str, Any] = {}
        if retriever in _EMBEDDING_RETRIEVERS:
            retriever_fields["embedder"] = settings.get_text("embedder", "")
        if retriever in _FUSION_RETRIEVERS:
            retriever_fields["fusion"] = settings.get_choice("fusion", ("rrf", "linear"))
            retriever_fields["pool"] = settings.get_int("pool", DEFAULT_POOL, minimum=1)
        if retriever == "hybrid":
            retriever_fields["dense_weight"] = settings.get_fraction(
                "dense_weight", DEFAULT_DENSE_WEIGHT
            )
        if retriever == "ensemble":
            from retrieval.factory import parse_weights

            pairs = settings.get_text("weights", "")
            retriever_fields["weights"] = parse_weights(filter(None, pairs.split(",")), retriever)
        if retriever in _WALK_RETRIEVERS:
            retriever_fields["walk"] = settings.get_choice("walk", ("bfs", "ppr"))
        if retriever in _FACT_RETRIEVERS:
            retriever_fields["facts"] = settings.get_text("facts", "")
        if retriever != "web":
            retriever_fields["reranker"] = settings.get_text("reranker", "")
        return cls(retriever=retriever, **fields, **retriever_fields)


@dataclass(frozen=True)
class PassageLibrary:
    """A corpus and a retriever over it.

    Attributes:
        passages: the corpus.
        retriever: searches the passages.
        top_k: number of passages to retrieve.
        graph_sha256: hash of the graph that the corpus verbalises; None for other corpora.
        params: all settings that affect the search results, for the manifest.
        prose: whether passages are prose; if not, each of their lines is a sentence.
        headings: by passage id, the headings above the passage, which are part of its content.
    """

    passages: Sequence[Passage]
    retriever: Retriever
    top_k: int
    graph_sha256: str | None
    params: dict[str, Any]
    prose: bool = False
    headings: Mapping[str, str] = field(default_factory=dict)

    def split_sentences(self, passage: Passage) -> list[str]:
        """Returns the sentences of a passage, preceded by its headings as one sentence."""
        if not self.prose:
            return passage.text.splitlines()
        from eval.guard.segmenter import Segmenter

        segmenter = Segmenter()
        sentences = [*segmenter.feed(passage.text), *segmenter.close()]
        texts = [
            self.headings.get(passage.id, ""),
            *(sentence.text.strip() for sentence in sentences),
        ]
        return list(filter(None, texts))


def open_library(plan: RetrievalPlan, options: SystemOptions) -> PassageLibrary:
    """Opens the corpus and builds the retriever over it.

    Raises:
        EpocheError: the graph, run or file cannot be opened, or a model cannot be loaded.
    """
    if plan.passages == "chunk":
        return _open_run_library(plan)
    if plan.passages == "text":
        return _open_text_library(plan)
    if plan.passages == "web":
        return _open_web_library(plan)
    from kg.knowledge import KnowledgeBase
    from retrieval.passages import build_passages

    knowledge = KnowledgeBase.open_cached(options.domain, options.graph, options.shapes)
    passages = build_passages(
        knowledge.graph, knowledge.verbaliser, "subject" if plan.passages == "subject" else "fact"
    )
    retriever = make_text_retriever(plan, passages)
    return PassageLibrary(
        passages, retriever, plan.top_k, knowledge.graph.sha256, describe_plan(plan, retriever)
    )


def describe_plan(plan: RetrievalPlan, retriever: Retriever) -> dict[str, Any]:
    """Returns the parameters that affect the search results, for the manifest."""
    from retrieval.base import describe_retriever

    return {
        "top_k": plan.top_k,
        "passages": plan.passages,
        "retriever": describe_retriever(retriever),
    }


def make_text_retriever(plan: RetrievalPlan, passages: Sequence[Passage]) -> Retriever:
    """Builds one of ``TEXT_RETRIEVERS`` over any passages.

    Raises:
        EpocheError: an embedding or reranking model cannot be loaded.
    """
    from retrieval.factory import open_text_retriever

    return open_text_retriever(
        plan.retriever, passages, embedder=plan.embedder, options=_build_retriever_options(plan)
    )


def _build_retriever_options(plan: RetrievalPlan) -> RetrieverOptions:
    from retrieval.factory import RetrieverOptions

    weights = plan.weights
    if plan.retriever == "hybrid":
        weights = {"bm25": 1.0 - plan.dense_weight, "dense": plan.dense_weight}
    return RetrieverOptions(
        weights=weights,
        fusion=plan.fusion,
        pool=plan.pool,
        walk=plan.walk,
        facts=plan.facts,
        reranker=plan.reranker,
    )


def _open_run_library(plan: RetrievalPlan) -> PassageLibrary:
    from kg.text.run.folder import open_run
    from retrieval.factory import list_run_passages, open_retriever

    run = open_run(plan.run)
    retriever = open_retriever(
        plan.retriever, run, embedder=plan.embedder, options=_build_retriever_options(plan)
    )
    params = {"run_sha256": run.sha256, **describe_plan(plan, retriever)}
    headings = {chunk.id: chunk.headings for chunk in run.chunks}
    return PassageLibrary(
        list_run_passages(run), retriever, plan.top_k, None, params, prose=True, headings=headings
    )


def _open_text_library(plan: RetrievalPlan) -> PassageLibrary:
    from kg.base.files import sha256_file
    from kg.text.facts.evidence import read_passages
    from retrieval.protocol import Passage

    sources = read_passages(Path(plan.texts))
    passages = [Passage(source.id, source.text) for source in sources]
    retriever = make_text_retriever(plan, passages)
    params = {"texts_sha256": sha256_file(plan.texts), **describe_plan(plan, retriever)}
    headings = {source.id: source.title for source in sources if source.title}
    return PassageLibrary(
        passages, retriever, plan.top_k, None, params, prose=True, headings=headings
    )


def _open_web_library(plan: RetrievalPlan) -> PassageLibrary:
    from kg.base.files import sha256_file
    from retrieval.web import FrozenSearch

    search = FrozenSearch(plan.frozen)
    params = {"frozen_sha256": sha256_file(plan.frozen), **describe_plan(plan, search)}
    return PassageLibrary(search.passages, search, plan.top_k, None, params, prose=True)
