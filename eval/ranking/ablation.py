"""What each part of the ensemble adds: the same questions with one thing left out or exchanged.

Variants are fused from what the retrievers said already, so that they differ from the whole in
the one thing they are named by, and cost no second search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eval.ranking.questions import Question
from eval.ranking.rankings import DEPTH, Rankings, Recorded, rank
from eval.ranking.record import Ablation
from retrieval.ensemble import EnsembleRanker, Method
from retrieval.protocol import Passage

WHOLE = "ensemble"
TUNED = "ensemble tuned"
TUNED_TEXT = "hybrid tuned"
"""``hybrid`` tuned alike: what tuning adds is not to be counted as what the graph adds."""
TEXT_ALONE = frozenset({"bm25", "dense"})
"""Components that use neither the concept graph nor the section tree."""


@dataclass(frozen=True)
class Alternative:
    """A component made otherwise.

    Attributes:
        component: which it stands in for.
        rankings: what it found.
        question: what the comparison answers.
    """

    component: str
    rankings: Rankings
    question: str


@dataclass(frozen=True)
class Fuser:
    """Fuses recorded rankings.

    Attributes:
        passages: the corpus; settles ties.
        questions: what was asked.
        depth: chunks taken of each ranking.
    """

    passages: Sequence[Passage]
    questions: Sequence[Question]
    depth: int = DEPTH

    def fuse(
        self,
        parts: Sequence[Rankings],
        name: str,
        weights: Sequence[float] | None = None,
        method: Method = "rrf",
    ) -> Rankings:
        """One ranking of several; weights are equal when omitted."""
        recorded = [Recorded(part, self.questions) for part in parts]
        ranker = EnsembleRanker(
            self.passages, recorded, weights, method=method, pool=self.depth, name=name
        )
        ids = [passage.id for passage in self.passages]
        return rank(ranker, self.questions, ids, name=name, depth=self.depth)


def variants(
    fuser: Fuser, components: Mapping[str, Rankings], alternatives: Sequence[Alternative]
) -> Iterator[tuple[Ablation, Rankings]]:
    """The variants of an ensemble of equal weights, and of its components.

    Args:
        fuser: over the questions measured.
        components: of the whole ensemble, by name.
        alternatives: components made otherwise.

    Yields:
        What is compared, the whole (or the component) first, and the rankings of the second.
    """
    for left_out in components:
        rest = [part for name, part in components.items() if name != left_out]
        fused = fuser.fuse(rest, f"{WHOLE} without {left_out}")
        yield Ablation(WHOLE, fused.name, f"What does {left_out} add?"), fused
    text = [part for name, part in components.items() if name in TEXT_ALONE]
    if 0 < len(text) < len(components) - 1:
        fused = fuser.fuse(text, f"{WHOLE} without graph")
        question = "What do the concept graph and the section tree add together?"
        yield Ablation(WHOLE, fused.name, question), fused
    fused = fuser.fuse(list(components.values()), f"{WHOLE} linear", method="linear")
    yield Ablation(WHOLE, fused.name, "Is fusing ranks better than fusing scores?"), fused
    for other in alternatives:
        if other.component not in components:
            continue
        yield Ablation(other.component, other.rankings.name, other.question), other.rankings
        exchanged = [
            other.rankings if name == other.component else part for name, part in components.items()
        ]
        fused = fuser.fuse(exchanged, f"{WHOLE} with {other.rankings.name}")
        yield Ablation(WHOLE, fused.name, other.question), fused
