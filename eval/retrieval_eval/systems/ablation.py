"""Makes ablations of the ensemble: variants with one component omitted or replaced.

Variants are fused from the same components, so each differs from the ensemble only in the change
that it is named after. The components keep their results, so a variant needs no second search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eval.retrieval_eval.record import Ablation
from retrieval.ensemble import EnsembleRanker
from retrieval.protocol import Passage, Retriever

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
        retriever: the variant.
        question: the question that a comparison of component and variant answers.
    """

    component: str
    retriever: Retriever
    question: str


def iter_ablations(
    passages: Sequence[Passage],
    components: Mapping[str, Retriever],
    component_variants: Sequence[ComponentVariant],
) -> Iterator[tuple[Ablation, Retriever]]:
    """Yields the variants of an ensemble with equal weights, and of its components.

    Args:
        passages: the corpus; its order breaks ties.
        components: name → retriever, for all components of the ensemble.
        component_variants: variants of single components.

    Yields:
        A comparison and its variant. ``candidate`` is the ensemble or the component, ``baseline``
        is the variant.
    """

    def fuse(retrievers: Sequence[Retriever], change: str) -> Retriever:
        return EnsembleRanker(passages, retrievers, name=f"{ENSEMBLE} {change}")

    for omitted in components:
        remaining = [retriever for name, retriever in components.items() if name != omitted]
        fused = fuse(remaining, f"without {omitted}")
        yield Ablation(ENSEMBLE, fused.name, f"What does {omitted} add?"), fused
    text_retrievers = [components[name] for name in components if name in TEXT_COMPONENTS]
    # If only one component uses the graph, this would repeat the variant without that component.
    if 0 < len(text_retrievers) < len(components) - 1:
        fused = fuse(text_retrievers, "without graph")
        question = "What do the concept graph and the section tree add together?"
        yield Ablation(ENSEMBLE, fused.name, question), fused
    linear = EnsembleRanker(
        passages, list(components.values()), method="linear", name=f"{ENSEMBLE} linear"
    )
    yield Ablation(ENSEMBLE, linear.name, "Is fusing ranks better than fusing scores?"), linear
    for variant in component_variants:
        if variant.component not in components:
            continue
        name = variant.retriever.name
        yield Ablation(variant.component, name, variant.question), variant.retriever
        fused = fuse(
            list({**components, variant.component: variant.retriever}.values()), f"with {name}"
        )
        yield Ablation(ENSEMBLE, fused.name, variant.question), fused
