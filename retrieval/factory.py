"""Makes retrievers by name, over any passages or over the chunks of a run.

| name | searches by |
|---|---|
| ``bm25`` | words |
| ``dense`` | embeddings |
| ``hybrid`` | a fusion of ``bm25`` and ``dense`` |
| ``facts`` | facts that the chunks state, and the graph of their phrases |
| ``kg`` | the concept graph |
| ``section_tree`` | the sections; BM25 breaks ties |
| ``ensemble`` | a fusion of all the others except ``hybrid``, by default of the first three |

``bm25``, ``dense`` and ``hybrid`` search any passages; the others need the chunks, concept graph or
sections of a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kg.base.errors import RunFolderError, SettingError
from retrieval.bm25 import BM25
from retrieval.ensemble import POOL_SIZE, EnsembleRanker, Method
from retrieval.names import (
    DEFAULT_WEIGHTS,
    FUSION_COMPONENTS,
    RUN_RETRIEVERS,
    TEXT_RETRIEVERS,
)
from retrieval.protocol import Passage, Retriever

if TYPE_CHECKING:
    from kg.embedding.embedder import Embedder
    from kg.text.canonical.lookup import CanonicalLookup
    from kg.text.run.folder import Run
    from retrieval.concepts import Mode
    from retrieval.dense import DenseRetriever


@dataclass(frozen=True)
class RetrieverOptions:
    """Options of retrievers. The defaults are the published ones, except for ``weights``.

    Attributes:
        weights: component → weight in a fusion, by default as in ``DEFAULT_WEIGHTS``. A component
            of weight 0 is not built.
        fusion: fusion method of ``hybrid`` and ``ensemble``.
        pool: number of passages that each component passes to a fusion.
        walk: how ``kg`` spreads scores from the query's concepts over the graph: ``bfs`` by
            breadth-first search, ``ppr`` by personalised PageRank.
        num_hops: hops of ``kg`` with ``bfs``.
        beta: weight of the section tree in the scores of ``kg``; 0 by default, since the ensemble
            has ``section_tree`` as a separate component.
        use_lookup: whether words that the graph does not contain are looked up by their embedding.
        break_ties: whether BM25 breaks the ties of ``section_tree``.
        facts: file of facts (JSONL) about the run's chunks; empty for facts found by rules.
        reranker: folder or hub name of a cross-encoder that reranks the results; empty for none.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    fusion: Method = "rrf"
    pool: int = POOL_SIZE
    walk: Mode = "bfs"
    num_hops: int = 1
    beta: float = 0.0
    use_lookup: bool = True
    break_ties: bool = True
    facts: str = ""
    reranker: str = ""


def open_retriever(
    name: str, run: Run, *, embedder: str = "", options: RetrieverOptions | None = None
) -> Retriever:
    """Makes a retriever over a run's chunks.

    Args:
        name: one of ``RUN_RETRIEVERS``.
        run: the run whose chunks are searched.
        embedder: model of ``dense`` and ``facts``: a folder or hub name, ``lexical``, or empty for
            the default.
        options: options of the retriever; by default the published ones.

    Raises:
        ValueError: there is no such retriever, or weights name a component that it does not have.
        SettingError: all weights are 0.
        RunFolderError: the run is damaged, or the retriever needs sections and the run has none.
        EmbedderMismatchError: the model for looking up concepts is not the run's.
        EpocheError: a model cannot be loaded.
    """
    factory = _RunRetrieverFactory(
        list_run_passages(run), embedder, options or RetrieverOptions(), run
    )
    return factory.make_retriever(name, RUN_RETRIEVERS)


def open_text_retriever(
    name: str,
    passages: Sequence[Passage],
    *,
    embedder: str = "",
    options: RetrieverOptions | None = None,
) -> Retriever:
    """Makes a retriever over any passages.

    Args:
        name: one of ``TEXT_RETRIEVERS``.
        passages: the passages to search.
        embedder: as for ``open_retriever``.
        options: as for ``open_retriever``; those that only apply to runs have no effect.

    Raises:
        ValueError, SettingError, EpocheError: as for ``open_retriever``.
    """
    return _RetrieverFactory(passages, embedder, options or RetrieverOptions()).make_retriever(
        name, TEXT_RETRIEVERS
    )


def parse_weights(pairs: Iterable[str], name: str) -> dict[str, float]:
    """Parses weights: ``["kg=0.5"]`` → ``{"kg": 0.5}``.

    Args:
        pairs: ``component=number`` texts from the user.
        name: the retriever.

    Raises:
        SettingError: a text is not of this form, its number is negative or not finite, its
            component occurs twice, or the retriever has no such component.
    """
    components = FUSION_COMPONENTS.get(name, ())
    weights: dict[str, float] = {}
    for pair in pairs:
        component, equals, number = pair.partition("=")
        try:
            weight = float(number) if equals else math.nan
        except ValueError:
            weight = math.nan
        if component not in components or component in weights or not 0 <= weight < math.inf:
            raise SettingError(
                f"{pair!r} is not a valid weight for {name}",
                where="weights",
                hint=f"For example {components[0]}=0.5; components: {', '.join(components)}, each "
                "at most once."
                if components
                else "Only hybrid and ensemble have components with weights.",
            )
        weights[component] = weight
    return weights


def list_run_passages(run: Run) -> list[Passage]:
    """Returns a run's chunks as passages, in the order of the text."""
    return [Passage(chunk.id, chunk.text) for chunk in run.chunks]


@dataclass
class _RetrieverFactory:
    """Makes retrievers over passages; shared parts (BM25, models) are built only once."""

    passages: Sequence[Passage]
    embedder: str
    options: RetrieverOptions

    @cached_property
    def bm25(self) -> BM25:
        return BM25(self.passages)

    @cached_property
    def model(self) -> Embedder:
        """The model of ``dense`` and ``facts``."""
        from kg.embedding.factory import open_embedder

        return open_embedder(self.embedder)

    @cached_property
    def dense(self) -> DenseRetriever:
        from retrieval.dense import DenseRetriever, get_cache_folder

        return DenseRetriever(self.passages, self.model, cache=get_cache_folder())

    def make_retriever(self, name: str, names: Sequence[str]) -> Retriever:
        """Makes one of ``names``, with reranking if the options ask for it."""
        retriever: Retriever
        if name not in names:
            raise ValueError(f"unknown retriever {name!r}; known: {', '.join(names)}")
        if name in FUSION_COMPONENTS:
            retriever = self.make_fusion(name)
        elif self.options.weights:
            raise ValueError(f"{name} has no components, so it takes no weights")
        else:
            retriever = self.make_component(name)
        if not self.options.reranker:
            return retriever
        from retrieval.reranker import RerankingRetriever, load_reranker

        return RerankingRetriever(self.passages, retriever, load_reranker(self.options.reranker))

    def make_component(self, name: str) -> Retriever:
        """Makes ``bm25`` or ``dense``."""
        return self.bm25 if name == "bm25" else self.dense

    def make_fusion(self, name: str) -> EnsembleRanker:
        """Makes a fusion of the components with a weight above 0."""
        unknown = sorted(set(self.options.weights).difference(FUSION_COMPONENTS[name]))
        if unknown:
            raise ValueError(f"{name} has no component {', '.join(unknown)}")
        weights = {**DEFAULT_WEIGHTS[name], **self.options.weights}
        used_components = [component for component, weight in weights.items() if weight != 0]
        if not used_components:
            raise SettingError(
                "all weights are 0", where="weights", hint="Give at least one weight above 0."
            )
        return EnsembleRanker(
            self.passages,
            [self.make_component(component) for component in used_components],
            [weights[component] for component in used_components],
            method=self.options.fusion,
            pool=self.options.pool,
            name=name,
        )


@dataclass
class _RunRetrieverFactory(_RetrieverFactory):
    """Makes the retrievers over a run's chunks."""

    run: Run

    @cached_property
    def lookup(self) -> CanonicalLookup | None:
        """Finds the concepts of words that the graph does not contain."""
        if not self.options.use_lookup:
            return None
        # Pass the loaded model if it is the run's own: the run records only the model's name, which
        # does not locate a model that was loaded from a folder.
        is_run_model = self.embedder and self.model.name == self.run.embedder_name
        return self.run.open_lookup(self.model if is_run_model else None)

    def make_component(self, name: str) -> Retriever:
        """Makes one of ``ENSEMBLE_COMPONENTS``."""
        if name == "facts":
            return self._make_fact_retriever()
        if name == "kg":
            return self._make_concept_retriever()
        return (
            self._make_section_retriever()
            if name == "section_tree"
            else super().make_component(name)
        )

    def _make_fact_retriever(self) -> Retriever:
        from kg.embedding.lexical import NAME as LEXICAL
        from kg.text.facts.fact import read_facts
        from kg.text.facts.rules import find_facts
        from retrieval.dense import get_cache_folder
        from retrieval.facts.retriever import FactRetriever

        file = self.options.facts
        facts = (
            read_facts(file, {passage.id: passage.text for passage in self.passages})
            if file
            else find_facts(self.run.chunks)
        )
        return FactRetriever(
            self.passages,
            facts,
            self.model,
            # The lexical embedder compares spellings, so words show better what a passage is about.
            self.bm25 if self.model.name == LEXICAL else self.dense,
            source="file" if file else "rules",
            cache=get_cache_folder(),
        )

    def _make_concept_retriever(self) -> Retriever:
        from retrieval.concepts import ConceptRetriever

        options = self.options
        return ConceptRetriever(
            self.passages,
            self.run.concepts,
            lookup=self.lookup,
            mode=options.walk,
            num_hops=options.num_hops,
            sections=self.run.sections if options.beta > 0 else None,
            beta=options.beta,
        )

    def _make_section_retriever(self) -> Retriever:
        from retrieval.sections import SectionRetriever

        if self.run.sections is None:
            raise RunFolderError(
                "the run was built without a section tree",
                where=str(self.run.folder),
                hint="Build it without --no-sections, or name another retriever.",
            )
        return SectionRetriever(
            self.passages,
            self.run.sections,
            self.run.concepts,
            lookup=self.lookup,
            tie_breaker=self.bm25 if self.options.break_ties else None,
        )
