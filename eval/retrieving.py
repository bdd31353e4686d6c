"""What ``rag`` and ``rag_llm`` have in common: the graph in words, and a retriever over it.

Settings: ``passages`` fact|subject, ``retriever`` bm25|dense|hybrid, ``top_k``; of ``dense`` and
``hybrid``: ``embedder``; of ``hybrid``: ``fusion`` rrf|linear, ``dense_weight``, ``pool``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eval.settings import Settings
from eval.system import SystemOptions

if TYPE_CHECKING:
    from retrieval.protocol import Passage, Retriever

DENSE_WEIGHT = 0.5
POOL = 100


@dataclass(frozen=True)
class RetrievalPlan:
    """How passages are cut and found, as asked for with ``--set``."""

    passages: str
    retriever: str
    top_k: int
    embedder: str = ""
    fusion: str = "rrf"
    dense_weight: float = DENSE_WEIGHT
    pool: int = POOL
    """Passages each retriever hands to the fusion."""

    @classmethod
    def read(cls, settings: Settings) -> RetrievalPlan:
        """Reads the settings of retrieval; those without effect stay unread, and so are refused.

        Raises:
            SettingError: as ``Settings``.
        """
        grouping = settings.choice("passages", ("fact", "subject"))
        chosen = settings.choice("retriever", ("bm25", "dense", "hybrid"))
        top_k = settings.whole("top_k", 5, least=1)
        if chosen == "bm25":
            return cls(grouping, chosen, top_k)
        embedder = settings.text("embedder", "")
        if chosen == "dense":
            return cls(grouping, chosen, top_k, embedder)
        return cls(
            grouping,
            chosen,
            top_k,
            embedder,
            fusion=settings.choice("fusion", ("rrf", "linear")),
            dense_weight=settings.fraction("dense_weight", DENSE_WEIGHT),
            pool=settings.whole("pool", POOL, least=1),
        )


@dataclass(frozen=True)
class Library:
    """A corpus and what finds passages in it.

    Attributes:
        passages: the corpus; one sentence a line.
        retriever: finds them.
        top_k: how many are read.
        graph_sha256: of the graph that the corpus puts in words.
        params: everything that decides what is found, for the manifest.
    """

    passages: Sequence[Passage]
    retriever: Retriever
    top_k: int
    graph_sha256: str
    params: dict[str, Any]


def open_library(plan: RetrievalPlan, options: SystemOptions) -> Library:
    """Puts the graph in words and builds the retriever over it.

    Raises:
        EpocheError: whatever opening the graph or loading an embedder finds wrong.
    """
    from kg.knowledge import KnowledgeBase
    from retrieval.passages import passages_of

    knowledge = KnowledgeBase.shared(options.domain, options.graph, options.shapes)
    passages = passages_of(
        knowledge.graph, knowledge.words, "subject" if plan.passages == "subject" else "fact"
    )
    retriever, described = _retriever(plan, passages)
    params = {"top_k": plan.top_k, "passages": plan.passages, "retriever": described}
    return Library(passages, retriever, plan.top_k, knowledge.graph.sha256, params)


def _retriever(
    plan: RetrievalPlan, passages: Sequence[Passage]
) -> tuple[Retriever, dict[str, Any]]:
    from kg.embedding.embedder import load_embedder
    from retrieval.bm25 import BM25
    from retrieval.dense import Dense, cache_folder
    from retrieval.ensemble import EnsembleRanker

    if plan.retriever == "bm25":
        bm25 = BM25(passages)
        return bm25, bm25.params()
    dense = Dense(passages, load_embedder(plan.embedder), cache=cache_folder())
    if plan.retriever == "dense":
        return dense, dense.params()
    fusion = EnsembleRanker(
        passages,
        (BM25(passages), dense),
        (1.0 - plan.dense_weight, plan.dense_weight),
        method="linear" if plan.fusion == "linear" else "rrf",
        pool=plan.pool,
        name="hybrid",
    )
    return fusion, fusion.params()
