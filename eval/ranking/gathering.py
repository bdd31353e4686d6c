"""Asking a run's retrievers every question, each only once.

``hybrid`` and ``ensemble`` are fused from what their components said, which is what they would say
themselves (a test holds them to it), without embedding the corpus once more for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from eval.ranking.ablation import WHOLE, Alternative, Fuser
from eval.ranking.questions import Question
from eval.ranking.rankings import Rankings, rank
from kg.base.errors import RunFolderError
from retrieval.opening import COMPONENTS, HYBRID, Choices, open_retriever, passages_of_run

if TYPE_CHECKING:
    from kg.text.run.folder import Run
    from retrieval.protocol import Retriever

BY_PAGERANK = "kg by PageRank"
_BY_FORM = "kg by form alone"

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
        self.passages = passages_of_run(run)
        self.ids = [passage.id for passage in self.passages]
        self._embedder = embedder
        self._watched = watched
        self._opened: dict[str, Retriever] = {}

    def parts(self, name: str) -> tuple[str, ...]:
        """The retrievers a name stands for: itself, or those it is fused from.

        A run that was built without sections has no section tree to search.
        """
        if name == WHOLE:
            without = () if self.run.sections is not None else ("section_tree",)
            return tuple(part for part in COMPONENTS if part not in without)
        return HYBRID if name == "hybrid" else (name,)

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
            if self.parts(name) != (name,)
            else said[name]
            for name in asked
        }

    def by_pagerank(
        self, components: Mapping[str, Rankings], questions: Sequence[Question]
    ) -> dict[str, Rankings]:
        """The components, with the concept graph walked by PageRank."""
        walked = self._ask("kg", questions, BY_PAGERANK, Choices(walk="ppr"))
        return {
            (BY_PAGERANK if name == "kg" else name): (walked if name == "kg" else part)
            for name, part in components.items()
        }

    def alternatives(self, questions: Sequence[Question]) -> list[Alternative]:
        """The components that the graph and the sections decide, made otherwise."""
        others = [
            ("kg", BY_PAGERANK, Choices(walk="ppr"), "Is one hop better than PageRank?"),
            ("kg", "kg without edges", Choices(num_hops=0), "What do the graph's edges add?"),
            ("kg", _BY_FORM, Choices(lookup=False), "What does the lookup add?"),
            (
                "section_tree",
                "section_tree without ties",
                Choices(ties=False),
                "What does settling ties inside a section by BM25 add?",
            ),
        ]
        return [
            Alternative(component, self._ask(component, questions, name, choices), question)
            for component, name, choices, question in others
            if component in self.parts(WHOLE) and (name != _BY_FORM or self.run.table is not None)
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
        shared = [part for part in self.parts(WHOLE) if part in other.parts(WHOLE)]
        names = [part for part in shared if part not in HYBRID]
        return [
            Alternative(
                name,
                Rankings(f"{name} of the other run", found.params, found.by_question),
                f"Is {name} better as --run has it?",
            )
            for name, found in other.rankings(names, questions).items()
        ]

    def _ask(
        self,
        retriever: str,
        questions: Sequence[Question],
        name: str = "",
        choices: Choices | None = None,
    ) -> Rankings:
        """What one retriever finds; it is made once, however often it is asked."""
        name = name or retriever
        if name not in self._opened:
            self._opened[name] = open_retriever(
                retriever, self.run, embedder=self._embedder, choices=choices
            )
        return rank(self._opened[name], self._watched(questions, name), self.ids, name=name)
