"""Retrievers by name: over any passages, or over a run's chunks, all under the same ids.

| name | |
|---|---|
| ``bm25`` | words |
| ``dense`` | embeddings |
| ``hybrid`` | both, fused |
| ``kg`` | the concept graph |
| ``section_tree`` | the sections, ties settled by BM25 |
| ``ensemble`` | all four, fused; of a run without a section tree the other three |

The first three search any passages; the others need what a run knows of its chunks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kg.base.errors import RunFolderError, SettingError
from retrieval.bm25 import BM25
from retrieval.ensemble import POOL, EnsembleRanker, Method
from retrieval.protocol import Passage, Retriever

if TYPE_CHECKING:
    from kg.embedding.embedder import Embedder
    from kg.text.canonical.lookup import CanonicalLookup
    from kg.text.run.folder import Run
    from retrieval.concepts import Mode

COMPONENTS = ("bm25", "dense", "kg", "section_tree")
"""What ``ensemble`` fuses, in this order."""
HYBRID = ("bm25", "dense")
FUSED = {"hybrid": HYBRID, "ensemble": COMPONENTS}
"""What each fusion fuses."""
TEXT_NAMES = (*HYBRID, "hybrid")
"""What searches any passages."""
NAMES = (*TEXT_NAMES, "kg", "section_tree", "ensemble")
"""What searches the chunks of a run."""


@dataclass(frozen=True)
class Choices:
    """How retrievers are made. The defaults are the published ones.

    Attributes:
        weights: of a fusion's components by name; those not named have 1. One of weight 0 is not
            even made.
        fusion: of ``hybrid`` and ``ensemble``.
        pool: passages each component hands to a fusion.
        walk: of ``kg``.
        num_hops: of ``kg`` with ``bfs``.
        beta: share of the section tree in ``kg``; 0 by default, since the ensemble has it apart.
        lookup: whether words that the graph does not hold are looked up by their embedding.
        ties: whether BM25 settles the ties of ``section_tree``.
        reranker: a cross-encoder's folder or hub name, to put what was found in a new order.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    fusion: Method = "rrf"
    pool: int = POOL
    walk: Mode = "bfs"
    num_hops: int = 1
    beta: float = 0.0
    lookup: bool = True
    ties: bool = True
    reranker: str = ""


def open_retriever(
    name: str, run: Run, *, embedder: str = "", choices: Choices | None = None
) -> Retriever:
    """Makes a retriever over a run's chunks.

    Args:
        name: one of ``NAMES``.
        run: what is searched.
        embedder: of ``dense``: a folder or hub name, ``lexical``, or empty for the default model.
        choices: how it is made.

    Raises:
        ValueError: there is no such retriever, or weights name what it does not fuse.
        SettingError: all weights are 0.
        RunFolderError: the run is damaged, or has no section tree where one is needed.
        EmbedderMismatchError: the model that concepts are looked up with is not the run's.
        EpocheError: a model cannot be had.
    """
    maker = _RunMaker(passages_of_run(run), embedder, choices or Choices(), run)
    return maker.make(name, NAMES)


def open_text_retriever(
    name: str,
    passages: Sequence[Passage],
    *,
    embedder: str = "",
    choices: Choices | None = None,
) -> Retriever:
    """Makes a retriever over any passages.

    Args:
        name: one of ``TEXT_NAMES``.
        passages: what is searched.
        embedder: as for ``open_retriever``.
        choices: how it is made; those of other retrievers have no effect.

    Raises:
        ValueError, SettingError, EpocheError: as ``open_retriever``.
    """
    return _Maker(passages, embedder, choices or Choices()).make(name, TEXT_NAMES)


def weights_of(pairs: Iterable[str], name: str) -> dict[str, float]:
    """``["kg=0.5"]`` → ``{"kg": 0.5}``.

    Args:
        pairs: as the user gave them.
        name: the retriever they are for.

    Raises:
        SettingError: a pair is none, its number no finite one of at least 0, or the retriever does
            not fuse what it names.
    """
    fused = FUSED.get(name, ())
    weights: dict[str, float] = {}
    for pair in pairs:
        component, equals, number = pair.partition("=")
        try:
            weight = float(number) if equals else math.nan
        except ValueError:
            weight = math.nan
        if component not in fused or component in weights or not 0 <= weight < math.inf:
            raise SettingError(
                f"{pair!r} is no weight of {name}",
                where="weights",
                hint=f"For example {fused[0]}=0.5; it fuses {', '.join(fused)}, each named once."
                if fused
                else "Only hybrid and ensemble fuse several.",
            )
        weights[component] = weight
    return weights


def passages_of_run(run: Run) -> list[Passage]:
    """A run's chunks as passages, in the order of the text."""
    return [Passage(chunk.id, chunk.text) for chunk in run.chunks]


@dataclass
class _Maker:
    """Makes retrievers over passages, what they share only once."""

    passages: Sequence[Passage]
    embedder: str
    choices: Choices

    @cached_property
    def bm25(self) -> BM25:
        return BM25(self.passages)

    @cached_property
    def model(self) -> Embedder:
        """The model of ``dense``."""
        from kg.embedding.choosing import open_embedder

        return open_embedder(self.embedder)

    @property
    def lacking(self) -> tuple[str, ...]:
        """Components that a fusion does without unless they are asked for by name."""
        return ()

    def make(self, name: str, names: Sequence[str]) -> Retriever:
        """One of ``names``, its results put in a new order where that was chosen."""
        made: Retriever
        if name not in names:
            raise ValueError(f"no retriever {name!r}; there are {', '.join(names)}")
        if name in FUSED:
            made = self.fused(name)
        elif self.choices.weights:
            raise ValueError(f"{name} fuses nothing that could have weights")
        else:
            made = self.component(name)
        if not self.choices.reranker:
            return made
        from retrieval.reranking import Reranked, load_reranker

        return Reranked(self.passages, made, load_reranker(self.choices.reranker))

    def component(self, name: str) -> Retriever:
        """``bm25`` or ``dense``."""
        if name == "bm25":
            return self.bm25
        from retrieval.dense import Dense, cache_folder

        return Dense(self.passages, self.model, cache=cache_folder())

    def fused(self, name: str) -> EnsembleRanker:
        """Components fused, by the weights they were given."""
        weights = {one: 1.0 for one in FUSED[name] if one not in self.lacking}
        unknown = sorted(set(self.choices.weights).difference(FUSED[name]))
        if unknown:
            raise ValueError(f"{name} does not fuse {', '.join(unknown)}")
        weights |= self.choices.weights
        used = [one for one, weight in weights.items() if weight != 0]
        if not used:
            raise SettingError("all weights are 0", where="weights", hint="Leave one above 0.")
        return EnsembleRanker(
            self.passages,
            [self.component(one) for one in used],
            [weights[one] for one in used],
            method=self.choices.fusion,
            pool=self.choices.pool,
            name=name,
        )


@dataclass
class _RunMaker(_Maker):
    """Makes the retrievers over a run's chunks."""

    run: Run

    @cached_property
    def lookup(self) -> CanonicalLookup | None:
        """What finds the concepts of words that the graph does not hold."""
        if not self.choices.lookup:
            return None
        # A model from a folder cannot be found again by its name alone.
        same = self.embedder and self.model.name == self.run.embedder_name
        return self.run.lookup(self.model if same else None)

    @property
    def lacking(self) -> tuple[str, ...]:
        """The section tree, where the run has none; asked for by name, it says what is missing."""
        return ("section_tree",) if self.run.sections is None else ()

    def component(self, name: str) -> Retriever:
        """One of ``COMPONENTS``."""
        if name == "kg":
            return self._kg()
        return self._section_tree() if name == "section_tree" else super().component(name)

    def _kg(self) -> Retriever:
        from retrieval.concepts import ConceptRetriever

        choices = self.choices
        return ConceptRetriever(
            self.passages,
            self.run.concepts,
            lookup=self.lookup,
            mode=choices.walk,
            num_hops=choices.num_hops,
            sections=self.run.sections if choices.beta > 0 else None,
            beta=choices.beta,
        )

    def _section_tree(self) -> Retriever:
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
            ties=self.bm25 if self.choices.ties else None,
        )
