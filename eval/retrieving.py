"""What the systems that retrieve have in common: a corpus, and a retriever over it.

The corpus (setting ``passages``): the graph in words, ``fact`` or ``subject``; the chunks of a run
of ``epoche kg build``, ``chunk``; or recorded web searches, ``web``. The other settings are listed
in ``docs/systems.md``; those without effect on what was chosen are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from eval.settings import Settings
from eval.system import SystemOptions
from kg.base.errors import SettingError

if TYPE_CHECKING:
    from retrieval.ensemble import Method
    from retrieval.opening import Choices
    from retrieval.protocol import Passage, Retriever

DENSE_WEIGHT = 0.5
POOL = 100

TEXT_RETRIEVERS = ("bm25", "dense", "hybrid")
"""What searches any passages."""
RUN_RETRIEVERS = (*TEXT_RETRIEVERS, "kg", "section_tree", "ensemble")
"""What searches the chunks of a run."""
_RETRIEVERS = {
    "fact": TEXT_RETRIEVERS,
    "subject": TEXT_RETRIEVERS,
    "chunk": RUN_RETRIEVERS,
    "web": ("web",),
}
_EMBEDDING = ("dense", "hybrid", "ensemble")
_FUSING = ("hybrid", "ensemble")
_WALKING = ("kg", "ensemble")


@dataclass(frozen=True)
class RetrievalPlan:
    """How passages are cut and found, as asked for with ``--set``."""

    passages: str
    retriever: str
    top_k: int
    run: str = ""
    """Folder of the run whose chunks are searched."""
    frozen: str = ""
    """File of recorded web searches."""
    embedder: str = ""
    fusion: Method = "rrf"
    dense_weight: float = DENSE_WEIGHT
    weights: dict[str, float] = field(default_factory=dict)
    """Of the ensemble's components."""
    pool: int = POOL
    """Passages each retriever hands to the fusion."""
    walk: Literal["bfs", "ppr"] = "bfs"
    reranker: str = ""

    @classmethod
    def read(cls, settings: Settings) -> RetrievalPlan:
        """Reads the settings of retrieval; those without effect stay unread, and so are refused.

        Raises:
            SettingError: as ``Settings``; or a corpus lacks the file it is in.
        """
        run, frozen = settings.text("run", ""), settings.text("frozen", "")
        implied = ("chunk",) if run else ("web",) if frozen else ()
        passages = settings.choice(
            "passages", tuple(dict.fromkeys((*implied, "fact", "subject", "chunk", "web")))
        )
        for corpus, key, value in (("chunk", "run", run), ("web", "frozen", frozen)):
            if (passages == corpus) != bool(value):
                raise SettingError(
                    f"passages={corpus} and {key} belong together",
                    where=f"--set passages={passages}",
                    hint=f"For example --set {key}=PATH --set passages={corpus}.",
                )
        named = settings.text("retriever", "")
        if named in RUN_RETRIEVERS and named not in _RETRIEVERS[passages]:
            raise SettingError(
                f"retriever {named} does not search passages={passages}",
                where=f"--set retriever={named}",
                hint="--set run=FOLDER searches a run of `epoche kg build`."
                if passages != "web"
                else "Recorded searches are replayed: leave the retriever out.",
            )
        chosen = settings.choice("retriever", _RETRIEVERS[passages])
        top_k = settings.whole("top_k", 5, least=1)
        return cls.of_retriever(
            settings, chosen, passages=passages, top_k=top_k, run=run, frozen=frozen
        )

    @classmethod
    def of_retriever(cls, settings: Settings, chosen: str, **known: Any) -> RetrievalPlan:
        """Reads the settings that a retriever has.

        Args:
            settings: where they are.
            chosen: the retriever.
            known: the plan's other fields.
        """
        own: dict[str, Any] = {}
        if chosen in _EMBEDDING:
            own["embedder"] = settings.text("embedder", "")
        if chosen in _FUSING:
            own["fusion"] = settings.choice("fusion", ("rrf", "linear"))
            own["pool"] = settings.whole("pool", POOL, least=1)
        if chosen == "hybrid":
            own["dense_weight"] = settings.fraction("dense_weight", DENSE_WEIGHT)
        if chosen == "ensemble":
            from retrieval.opening import weights_of

            pairs = settings.text("weights", "")
            own["weights"] = weights_of(filter(None, pairs.split(",")), chosen)
        if chosen in _WALKING:
            own["walk"] = settings.choice("walk", ("bfs", "ppr"))
        if chosen != "web":
            own["reranker"] = settings.text("reranker", "")
        return cls(retriever=chosen, **known, **own)


@dataclass(frozen=True)
class Library:
    """A corpus and what finds passages in it.

    Attributes:
        passages: the corpus.
        retriever: finds them.
        top_k: how many are read.
        graph_sha256: of the graph that the corpus puts in words; None where it is no graph.
        params: everything that decides what is found, for the manifest.
        prose: whether passages are prose; else each line is a sentence.
        headings: of passages, the headings above them: what they say of a text is part of it.
    """

    passages: Sequence[Passage]
    retriever: Retriever
    top_k: int
    graph_sha256: str | None
    params: dict[str, Any]
    prose: bool = False
    headings: Mapping[str, str] = field(default_factory=dict)

    def sentences(self, passage: Passage) -> list[str]:
        """The sentences of a passage; before them the headings above it, as one."""
        if not self.prose:
            return passage.text.splitlines()
        from eval.guard.cutting import Cutter

        cutter = Cutter()
        pieces = [*cutter.feed(passage.text), *cutter.close()]
        texts = [self.headings.get(passage.id, ""), *(piece.text.strip() for piece in pieces)]
        return list(filter(None, texts))


def open_library(plan: RetrievalPlan, options: SystemOptions) -> Library:
    """Opens the corpus and builds the retriever over it.

    Raises:
        EpocheError: whatever opening graph, run or file, or loading a model, finds wrong.
    """
    if plan.passages == "chunk":
        return _run_library(plan)
    if plan.passages == "web":
        return _web_library(plan)
    from kg.knowledge import KnowledgeBase
    from retrieval.passages import passages_of

    knowledge = KnowledgeBase.shared(options.domain, options.graph, options.shapes)
    passages = passages_of(
        knowledge.graph, knowledge.words, "subject" if plan.passages == "subject" else "fact"
    )
    retriever = retriever_over(plan, passages)
    return Library(
        passages, retriever, plan.top_k, knowledge.graph.sha256, described_plan(plan, retriever)
    )


def described_plan(plan: RetrievalPlan, retriever: Retriever) -> dict[str, Any]:
    """What decides what is found, for the manifest."""
    from retrieval.ranking import described

    return {"top_k": plan.top_k, "passages": plan.passages, "retriever": described(retriever)}


def retriever_over(plan: RetrievalPlan, passages: Sequence[Passage]) -> Retriever:
    """One of ``TEXT_RETRIEVERS`` over any passages.

    Raises:
        EpocheError: a model cannot be had.
    """
    from retrieval.opening import open_text_retriever

    return open_text_retriever(
        plan.retriever, passages, embedder=plan.embedder, choices=_choices(plan)
    )


def _choices(plan: RetrievalPlan) -> Choices:
    from retrieval.opening import Choices

    weights = plan.weights
    if plan.retriever == "hybrid":
        weights = {"bm25": 1.0 - plan.dense_weight, "dense": plan.dense_weight}
    return Choices(
        weights=weights,
        fusion=plan.fusion,
        pool=plan.pool,
        walk=plan.walk,
        reranker=plan.reranker,
    )


def _run_library(plan: RetrievalPlan) -> Library:
    from kg.text.run.folder import open_run
    from retrieval.opening import open_retriever, passages_of_run

    run = open_run(plan.run)
    retriever = open_retriever(plan.retriever, run, embedder=plan.embedder, choices=_choices(plan))
    params = {"run_sha256": run.sha256, **described_plan(plan, retriever)}
    headings = {
        chunk.id: " › ".join(map(str, path))
        for chunk in run.chunks
        if isinstance(path := chunk.metadata.get("section_path"), list)
    }
    return Library(
        passages_of_run(run), retriever, plan.top_k, None, params, prose=True, headings=headings
    )


def _web_library(plan: RetrievalPlan) -> Library:
    from kg.base.files import sha256_file
    from retrieval.web import FrozenSearch

    search = FrozenSearch(plan.frozen)
    params = {"frozen_sha256": sha256_file(plan.frozen), **described_plan(plan, search)}
    return Library(search.passages, search, plan.top_k, None, params, prose=True)
