"""Makes ablations of the ensemble: variants with one component omitted or replaced.

Variants are fused from the same components, so each differs from the ensemble only in the change
that it is named after. The components keep their results, so a variant needs no second search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eval.retrieval_eval.record import Ablation
from retrieval.ensemble import EnsembleRanker, Method
from retrieval.protocol import Passage, Retriever

ENSEMBLE = "ensemble"
TUNED_ENSEMBLE = "ensemble tuned"
TUNED_HYBRID = "hybrid tuned"
"""``hybrid`` tuned in the same way, so that the gain by tuning is not attributed to the graph."""


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
    weights: Mapping[str, float] | None = None,
) -> Iterator[tuple[Ablation, Retriever]]:
    """Yields the variants of an ensemble, and of its components.

    Args:
        passages: the corpus; its order breaks ties.
        components: name → retriever, for all components that the ensemble may have.
        component_variants: variants of single components.
        weights: component → its weight in the ensemble, 0 for those that it does not have by
            default; all are equal if omitted.

    Yields:
        A comparison and its variant. One side is the ensemble or the component, the other is the
        variant.
    """
    weights = dict.fromkeys(components, 1.0) if weights is None else weights
    used = {name: components[name] for name in components if weights[name] > 0}

    def fuse(retrievers: Mapping[str, Retriever], change: str, method: Method = "rrf") -> Retriever:
        return EnsembleRanker(
            passages,
            list(retrievers.values()),
            # A component that is added to the ensemble has the weight 1.
            [weights[name] or 1.0 for name in retrievers],
            method=method,
            name=f"{ENSEMBLE} {change}",
        )

    for omitted in used:
        remaining = {name: retriever for name, retriever in used.items() if name != omitted}
        fused = fuse(remaining, f"without {omitted}")
        yield Ablation(ENSEMBLE, fused.name, f"What does {omitted} add?"), fused
    for added in components:
        if added not in used:
            fused = fuse({**used, added: components[added]}, f"with {added}")
            yield Ablation(fused.name, ENSEMBLE, f"What would {added} add?"), fused
    linear = fuse(used, "linear", "linear")
    yield Ablation(ENSEMBLE, linear.name, "Is fusing ranks better than fusing scores?"), linear
    for variant in component_variants:
        if variant.component not in components:
            continue
        name = variant.retriever.name
        yield Ablation(variant.component, name, variant.question), variant.retriever
        if variant.component in used:
            fused = fuse({**used, variant.component: variant.retriever}, f"with {name}")
            yield Ablation(ENSEMBLE, fused.name, variant.question), fused
