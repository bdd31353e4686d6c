"""Asking a run's retrievers every question, each only once.

``hybrid`` and ``ensemble`` are fused from what their components said, which is what they would say
themselves (a test holds them to it), without embedding the corpus once more for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from eval.ranking.ablation import WHOLE, Alternative, Fuser
from eval.ranking.questions import Question
from eval.ranking.rankings import Rankings, rank
from kg.base.errors import RunFolderError
from retrieval.protocol import Passage

if TYPE_CHECKING:
    from kg.text.run.folder import Run
    from retrieval.protocol import Retriever

HYBRID = "hybrid"
FUSED = {HYBRID: ("bm25", "dense"), WHOLE: ("bm25", "dense", "kg", "section_tree")}
"""What each fused retriever is made of, with equal weights."""

Watched = Callable[[Sequence[Question], str], Iterable[Question]]
"""Passes questions through while it shows, under a name, how many are done."""


class Gathering:
    """The rankings of one run's retrievers.

    Args:
        run: what is searched.
        embedder: of ``dense``; the default model when empty.
        watched: shows progress.
    """

    def __init__(self, run: Run, embedder: str, watched: Watched) -> None:
        self.run = run
        self.passages = [Passage(chunk.id, chunk.text) for chunk in run.chunks]
        self.ids = [passage.id for passage in self.passages]
        self._embedder = embedder
        self._watched = watched
        self._opened: dict[str, Retriever] = {}

    def parts(self, name: str) -> tuple[str, ...]:
        """The retrievers a name stands for: itself, or those it is fused from.

        A run that was built without sections has no section tree to search.
        """
        parts = FUSED.get(name, (name,))
        if name in FUSED and self.run.sections is None:
            return tuple(part for part in parts if part != "section_tree")
        return parts

    def rankings(self, names: Iterable[str], questions: Sequence[Question]) -> dict[str, Rankings]:
        """What each retriever finds for each question, by name and in the order of names.

        Raises:
            EpocheError: whatever opening the run's parts or a model finds wrong.
        """
        asked = list(dict.fromkeys(names))
        parts = dict.fromkeys(part for name in asked for part in self.parts(name))
        said = {part: self._ask(part, questions) for part in parts}
        fuser = Fuser(self.passages, questions)
        return {
            name: fuser.fuse([said[part] for part in self.parts(name)], name)
            if name in FUSED
            else said[name]
            for name in asked
        }

    def alternatives(self, questions: Sequence[Question]) -> list[Alternative]:
        """The concept retriever, walked and asked otherwise."""
        from retrieval.concepts import ConceptRetriever

        def ask(retriever: ConceptRetriever, name: str) -> Rankings:
            return rank(retriever, self._watched(questions, name), self.ids, name=name)

        graph, lookup = self.run.concepts, self.run.lookup()
        walked = ConceptRetriever(self.passages, graph, lookup=lookup, mode="ppr")
        still = ConceptRetriever(self.passages, graph, lookup=lookup, num_hops=0)
        return [
            Alternative(
                "kg",
                ask(walked, "kg by PageRank"),
                "Is walking one hop better than personalised PageRank?",
            ),
            Alternative(
                "kg",
                ask(still, "kg without edges"),
                "What do the graph's edges add to finding the concepts that are named?",
            ),
        ]

    def of_another_run(self, other: Gathering, questions: Sequence[Question]) -> list[Alternative]:
        """The components that a run decides, from a run of the same chunks built otherwise.

        Raises:
            RunFolderError: the runs' chunks are not the same.
        """
        if other.passages != self.passages:
            raise RunFolderError(
                "the chunks are not those of --run",
                where=str(other.run.folder),
                hint="Build both runs from the same documents with the same --chunk-size.",
            )
        names = [part for part in self.parts(WHOLE) if part not in FUSED[HYBRID]]
        names = [part for part in names if part in other.parts(WHOLE)]
        return [
            Alternative(
                name,
                Rankings(f"{name} of the other run", found.params, found.by_question),
                f"Is {name} better as --run has it?",
            )
            for name, found in other.rankings(names, questions).items()
        ]

    def _ask(self, name: str, questions: Sequence[Question]) -> Rankings:
        from retrieval.opening import open_retriever

        if name not in self._opened:
            self._opened[name] = open_retriever(name, self.run, embedder=self._embedder)
        return rank(self._opened[name], self._watched(questions, name), self.ids, name=name)
