"""Collects the rankings of a run's retrievers, each of which is queried only once.

``hybrid`` and ``ensemble`` are fused from the recorded rankings of their components. The results
are the same as from the retrievers themselves (a test checks that), but the corpus is not embedded
again for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from eval.ranking.ablation import ENSEMBLE, ComponentVariant, RankingFuser
from eval.ranking.questions import Question
from eval.ranking.rankings import Rankings, rank_questions
from kg.base.errors import RunFolderError
from retrieval.factory import (
    ENSEMBLE_COMPONENTS,
    HYBRID_COMPONENTS,
    RetrieverOptions,
    list_run_passages,
    open_retriever,
)

if TYPE_CHECKING:
    from kg.text.run.folder import Run
    from retrieval.protocol import Retriever

KG_BY_PAGERANK = "kg by PageRank"
_KG_WITHOUT_LOOKUP = "kg by form alone"
"""``kg`` that finds the words of a question in the graph only by their form: words that the graph
does not contain are not looked up by their embedding."""

ProgressWrapper = Callable[[Sequence[Question], str], Iterable[Question]]
"""Yields the questions unchanged and shows progress under a name."""


class RankingCollector:
    """Ranks the chunks of one run with its retrievers.

    Args:
        run: the run whose chunks are searched.
        embedder: model of ``dense``; empty for the default model.
        progress: shows progress.
    """

    def __init__(self, run: Run, embedder: str, progress: ProgressWrapper) -> None:
        self.run = run
        self.passages = list_run_passages(run)
        self.ids = [passage.id for passage in self.passages]
        self._embedder = embedder
        self._progress = progress
        self._retrievers: dict[str, Retriever] = {}

    def list_components(self, name: str) -> tuple[str, ...]:
        """Lists the components of a fused retriever; for others the name itself.

        The section tree is omitted if the run was built without sections.
        """
        if name == ENSEMBLE:
            omitted = () if self.run.sections is not None else ("section_tree",)
            return tuple(component for component in ENSEMBLE_COMPONENTS if component not in omitted)
        return HYBRID_COMPONENTS if name == "hybrid" else (name,)

    def collect_rankings(
        self, names: Iterable[str], questions: Sequence[Question]
    ) -> dict[str, Rankings]:
        """Ranks the chunks for each question with each retriever.

        Returns:
            Name → rankings, in the order of ``names``.

        Raises:
            EpocheError: a file of the run or a model cannot be opened.
        """
        unique_names = list(dict.fromkeys(names))
        components = dict.fromkeys(
            component for name in unique_names for component in self.list_components(name)
        )
        component_rankings = {
            component: self._rank_for_questions(component, questions) for component in components
        }
        fuser = RankingFuser(self.passages, questions)
        return {
            name: fuser.fuse_rankings(
                [component_rankings[component] for component in self.list_components(name)], name
            )
            if self.list_components(name) != (name,)
            else component_rankings[name]
            for name in unique_names
        }

    def use_pagerank(
        self, components: Mapping[str, Rankings], questions: Sequence[Question]
    ) -> dict[str, Rankings]:
        """Returns the rankings of the components, with ``kg`` replaced by its PageRank variant."""
        pagerank_rankings = self._rank_for_questions(
            "kg", questions, KG_BY_PAGERANK, RetrieverOptions(walk="ppr")
        )
        return {
            (KG_BY_PAGERANK if name == "kg" else name): (
                pagerank_rankings if name == "kg" else rankings
            )
            for name, rankings in components.items()
        }

    def rank_variants(self, questions: Sequence[Question]) -> list[ComponentVariant]:
        """Ranks with variants of the components that use the graph or the sections."""
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
            ComponentVariant(
                component, self._rank_for_questions(component, questions, name, options), question
            )
            for component, name, options, question in variants
            if component in self.list_components(ENSEMBLE)
            # The lookup needs the table of keywords and their concepts, which a run may lack.
            and (name != _KG_WITHOUT_LOOKUP or self.run.table is not None)
        ]

    def rank_other_run(
        self, other: RankingCollector, questions: Sequence[Question]
    ) -> list[ComponentVariant]:
        """Ranks with the graph components of another run of the same chunks.

        Raises:
            RunFolderError: the two runs have different chunks.
        """
        if other.passages != self.passages:
            raise RunFolderError(
                "the chunks of --other-run differ from those of --run",
                where=str(other.run.folder),
                hint="Build both runs from the same documents with the same --chunk-size.",
            )
        shared_components = [
            component
            for component in self.list_components(ENSEMBLE)
            if component in other.list_components(ENSEMBLE)
        ]
        # The hybrid components use only the text of the chunks; all others use the graph.
        names = [component for component in shared_components if component not in HYBRID_COMPONENTS]
        return [
            ComponentVariant(
                name,
                Rankings(f"{name} of the other run", rankings.params, rankings.by_question),
                f"Is {name} of --run better than of --other-run?",
            )
            for name, rankings in other.collect_rankings(names, questions).items()
        ]

    def _rank_for_questions(
        self,
        retriever: str,
        questions: Sequence[Question],
        name: str = "",
        options: RetrieverOptions | None = None,
    ) -> Rankings:
        """Ranks with one retriever; it is opened on first use and kept for later calls."""
        name = name or retriever
        if name not in self._retrievers:
            self._retrievers[name] = open_retriever(
                retriever, self.run, embedder=self._embedder, options=options
            )
        return rank_questions(
            self._retrievers[name], self._progress(questions, name), self.ids, name=name
        )
