"""Opens the retrievers of a text run, each of which searches only once for each question.

``hybrid`` and ``ensemble`` are fused from components that keep their results. The rankings are the
same as from the retrievers themselves (a test checks that), but the corpus is not embedded again
for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from eval.retrieval_eval.systems.ablation import ENSEMBLE, ComponentVariant
from eval.retrieval_eval.systems.cached_retriever import CachedRetriever
from kg.base.errors import RunFolderError
from retrieval.ensemble import EnsembleRanker, Method
from retrieval.factory import RetrieverOptions, list_run_passages, open_retriever
from retrieval.names import DEFAULT_WEIGHTS, FUSION_COMPONENTS, HYBRID_COMPONENTS

if TYPE_CHECKING:
    from kg.text.run.folder import Run
    from retrieval.protocol import Retriever

KG_BY_PAGERANK = "kg by PageRank"
_KG_WITHOUT_LOOKUP = "kg by form alone"
"""``kg`` that finds the words of a question in the graph only by their form: words that the graph
does not contain are not looked up by their embedding."""


class RetrieverSet:
    """The retrievers over the chunks of one run.

    Args:
        run: the run whose chunks are searched.
        embedder: model of ``dense`` and ``facts``; empty for the default model.
        facts: file of facts about the chunks; empty for facts found by rules.
    """

    def __init__(self, run: Run, embedder: str, facts: str = "") -> None:
        self.run = run
        self.passages = list_run_passages(run)
        self.ids = [passage.id for passage in self.passages]
        self._embedder, self._facts = embedder, facts
        self._retrievers: dict[str, CachedRetriever] = {}

    def list_components(self, name: str) -> tuple[str, ...]:
        """Lists the components that a fused retriever may have; for others the name itself.

        The section tree is omitted if the run was built without sections.
        """
        omitted = () if self.run.sections is not None else ("section_tree",)
        components = FUSION_COMPONENTS.get(name, (name,))
        return tuple(component for component in components if component not in omitted)

    def open_components(self, name: str) -> dict[str, Retriever]:
        """Opens the components of a fused retriever, and returns them by name.

        Raises:
            EpocheError: a file of the run or a model cannot be opened.
        """
        return {component: self._open(component) for component in self.list_components(name)}

    def open(self, name: str) -> Retriever:
        """Opens a retriever.

        Raises:
            EpocheError: as ``open_components``.
        """
        if name not in FUSION_COMPONENTS:
            return self._open(name)
        used = {
            component: self._open(component)
            for component in self.list_components(name)
            if DEFAULT_WEIGHTS[name][component] > 0
        }
        return self.fuse(used, name, [DEFAULT_WEIGHTS[name][component] for component in used])

    def fuse(
        self,
        components: Mapping[str, Retriever],
        name: str,
        weights: Sequence[float] | None = None,
        method: Method = "rrf",
    ) -> Retriever:
        """Fuses components into one retriever; weights are equal if omitted."""
        return EnsembleRanker(
            self.passages, list(components.values()), weights, method=method, name=name
        )

    def use_pagerank(self, components: Mapping[str, Retriever]) -> dict[str, Retriever]:
        """Returns the components, with ``kg`` replaced by its PageRank variant."""
        pagerank = self._open("kg", KG_BY_PAGERANK, RetrieverOptions(walk="ppr"))
        return {
            (KG_BY_PAGERANK if name == "kg" else name): (pagerank if name == "kg" else component)
            for name, component in components.items()
        }

    def open_variants(self) -> list[ComponentVariant]:
        """Opens variants of the components that use the graph or the sections."""
        variants = [
            (
                "kg",
                KG_BY_PAGERANK,
                RetrieverOptions(walk="ppr"),
                "Is one hop better than PageRank?",
            ),
            (
                "kg",
                "kg without edges",
                RetrieverOptions(num_hops=0),
                "What do the graph's edges add?",
            ),
            (
                "kg",
                _KG_WITHOUT_LOOKUP,
                RetrieverOptions(use_lookup=False),
                "What does the lookup add?",
            ),
            (
                "section_tree",
                "section_tree without ties",
                RetrieverOptions(break_ties=False),
                "What does breaking ties inside a section by BM25 add?",
            ),
        ]
        return [
            ComponentVariant(component, self._open(component, name, options), question)
            for component, name, options, question in variants
            if component in self.list_components(ENSEMBLE)
            # The lookup needs the table of keywords and their concepts, which a run may lack.
            and (name != _KG_WITHOUT_LOOKUP or self.run.table is not None)
        ]

    def open_other_run(self, other: RetrieverSet) -> list[ComponentVariant]:
        """Opens the graph components of another run of the same chunks.

        Raises:
            RunFolderError: the two runs have different chunks.
        """
        if other.passages != self.passages:
            raise RunFolderError(
                "the chunks of --other-run differ from those of --run",
                where=str(other.run.folder),
                hint="Build both runs from the same documents with the same --chunk-size.",
            )
        shared_components = set(self.list_components(ENSEMBLE)) & set(
            other.list_components(ENSEMBLE)
        )
        # The hybrid components use only the text of the chunks; all others use the graph.
        return [
            ComponentVariant(
                name,
                CachedRetriever(other.open(name), f"{name} of the other run"),
                f"Is {name} of --run better than of --other-run?",
            )
            for name in self.list_components(ENSEMBLE)
            if name in shared_components and name not in HYBRID_COMPONENTS
        ]

    def _open(
        self, retriever: str, name: str = "", options: RetrieverOptions | None = None
    ) -> CachedRetriever:
        """Opens one retriever on first use, and keeps it for later calls."""
        name = name or retriever
        if name not in self._retrievers:
            options = replace(options or RetrieverOptions(), facts=self._facts)
            opened = open_retriever(retriever, self.run, embedder=self._embedder, options=options)
            self._retrievers[name] = CachedRetriever(opened, name)
        return self._retrievers[name]
