"""Makes ablations of the ensemble: variants with one component omitted or replaced.

Variants are fused from recorded rankings, so each differs from the ensemble only in the change that
it is named after, and does not need a second search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eval.ranking.questions import Question
from eval.ranking.rankings import RANKING_DEPTH, Rankings, RecordedRetriever, rank_questions
from eval.ranking.record import Ablation
from retrieval.ensemble import EnsembleRanker, Method
from retrieval.protocol import Passage

ENSEMBLE = "ensemble"
TUNED_ENSEMBLE = "ensemble tuned"
TUNED_HYBRID = "hybrid tuned"
"""``hybrid`` tuned in the same way, so that the gain by tuning is not attributed to the graph."""
TEXT_COMPONENTS = frozenset({"bm25", "dense"})
"""Components that use neither the concept graph nor the section tree."""


@dataclass(frozen=True)
class ComponentVariant:
    """A variant of a component.

    Attributes:
        component: name of the component that the variant replaces.
        rankings: rankings of the variant.
        question: the question that a comparison of component and variant answers.
    """

    component: str
    rankings: Rankings
    question: str


@dataclass(frozen=True)
class RankingFuser:
    """Fuses recorded rankings.

    Attributes:
        passages: the corpus; its order breaks ties.
        questions: the questions of the rankings.
        depth: chunks used of each ranking.
    """

    passages: Sequence[Passage]
    questions: Sequence[Question]
    depth: int = RANKING_DEPTH

    def fuse_rankings(
        self,
        rankings: Sequence[Rankings],
        name: str,
        weights: Sequence[float] | None = None,
        method: Method = "rrf",
    ) -> Rankings:
        """Fuses several rankings into one; weights are equal if omitted."""
        retrievers = [RecordedRetriever(part, self.questions) for part in rankings]
        ranker = EnsembleRanker(
            self.passages, retrievers, weights, method=method, pool=self.depth, name=name
        )
        ids = [passage.id for passage in self.passages]
        return rank_questions(ranker, self.questions, ids, name=name, depth=self.depth)


def iter_ablations(
    fuser: RankingFuser,
    components: Mapping[str, Rankings],
    component_variants: Sequence[ComponentVariant],
) -> Iterator[tuple[Ablation, Rankings]]:
    """Yields the variants of an ensemble with equal weights, and of its components.

    Args:
        fuser: fuses rankings of the test questions.
        components: name → rankings, for all components of the ensemble.
        component_variants: variants of single components.

    Yields:
        A comparison and the rankings of its variant. ``candidate`` is the ensemble or the
        component, ``baseline`` is the variant.
    """
    for omitted in components:
        remaining = [rankings for name, rankings in components.items() if name != omitted]
        fused = fuser.fuse_rankings(remaining, f"{ENSEMBLE} without {omitted}")
        yield Ablation(ENSEMBLE, fused.name, f"What does {omitted} add?"), fused
    text_rankings = [rankings for name, rankings in components.items() if name in TEXT_COMPONENTS]
    # If only one component uses the graph, this would repeat the variant without that component.
    if 0 < len(text_rankings) < len(components) - 1:
        fused = fuser.fuse_rankings(text_rankings, f"{ENSEMBLE} without graph")
        question = "What do the concept graph and the section tree add together?"
        yield Ablation(ENSEMBLE, fused.name, question), fused
    fused = fuser.fuse_rankings(list(components.values()), f"{ENSEMBLE} linear", method="linear")
    yield Ablation(ENSEMBLE, fused.name, "Is fusing ranks better than fusing scores?"), fused
    for variant in component_variants:
        if variant.component not in components:
            continue
        yield Ablation(variant.component, variant.rankings.name, variant.question), variant.rankings
        with_variant = [
            variant.rankings if name == variant.component else rankings
            for name, rankings in components.items()
        ]
        fused = fuser.fuse_rankings(with_variant, f"{ENSEMBLE} with {variant.rankings.name}")
        yield Ablation(ENSEMBLE, fused.name, variant.question), fused
