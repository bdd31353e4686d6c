"""Makes the systems of a retrieval run: retrievers, tuned fusions, variants and foreign ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from eval.harness.systems.system import System
from eval.harness.systems.system_registry import SystemRegistry
from eval.retrieval_eval.files import make_file_name
from eval.retrieval_eval.record import Ablation, Tuning
from eval.retrieval_eval.systems.ablation import (
    ENSEMBLE,
    TUNED_ENSEMBLE,
    TUNED_HYBRID,
    iter_ablations,
)
from eval.retrieval_eval.systems.tuner import FusionSetting, tune_fusion
from eval.retrieval_eval.systems.view import RetrievalOptions, RetrievalView
from kg.base.errors import SettingError
from retrieval.base import describe_retriever
from retrieval.ensemble import Method
from retrieval.names import DEFAULT_WEIGHTS, RUN_RETRIEVERS

if TYPE_CHECKING:
    from eval.retrieval_eval.questions import Question
    from eval.retrieval_eval.systems.retriever_set import RetrieverSet
    from retrieval.protocol import Retriever

SettingsProgress = Callable[[Sequence[FusionSetting]], Iterable[FusionSetting]]
"""Yields the settings that are tried unchanged, and shows progress."""


@dataclass(frozen=True)
class RetrieverSystem:
    """A retriever as a system of the harness.

    Attributes:
        retriever: the retriever.
    """

    retriever: Retriever

    @property
    def name(self) -> str:
        """Name of the retriever."""
        return self.retriever.name

    def params(self) -> dict[str, Any]:
        """Returns everything that determines the rankings."""
        params: Any = describe_retriever(self.retriever)
        return params if isinstance(params, dict) else {"params": params}

    def answer(self, view: RetrievalView) -> dict[str, float]:
        """Returns passage id → score, best first."""
        return self.retriever.get_scores(view.query, view.k)


@dataclass
class SystemSet:
    """The systems of a run, and what their differences mean.

    Attributes:
        systems: name → system, the variants last.
        variants: names of the systems that are only variants of another.
        ablations: comparisons of a system with a variant.
        tuning: name of a tuned fusion → its tuning.
    """

    systems: dict[str, System] = field(default_factory=dict)
    variants: list[str] = field(default_factory=list)
    ablations: list[Ablation] = field(default_factory=list)
    tuning: dict[str, Tuning] = field(default_factory=dict)

    def add_retriever(self, retriever: Retriever) -> None:
        """Adds a built-in retriever, if no system has its name yet."""
        self.systems.setdefault(retriever.name, RetrieverSystem(retriever))

    def add_ablations(self, ablations: Iterable[tuple[Ablation, Retriever]]) -> None:
        """Adds comparisons and their variants."""
        for ablation, variant in ablations:
            self.ablations.append(ablation)
            if variant.name not in self.systems:
                self.add_retriever(variant)
                self.variants.append(variant.name)

    def add_foreign(self, spec: str, options: RetrievalOptions) -> None:
        """Makes and adds somebody else's retrievers.

        Args:
            spec: what ``--system`` names.
            options: passed to the factory.

        Raises:
            SystemNotFoundError: no retriever can be made.
            SettingError: a retriever's name is that of another one.
        """
        for made in RETRIEVERS.make_systems(spec, options):
            system = RetrieverSystem(made) if _is_retriever(made) else made
            files = {make_file_name(name) for name in (*self.systems, *RUN_RETRIEVERS)}
            if make_file_name(system.name) in files:
                raise SettingError(
                    f"another retriever is called {system.name!r}, or has the same file name",
                    where=f"--system {spec}",
                    hint="Give it another name.",
                )
            self.systems[system.name] = system


def _is_retriever(product: object) -> bool:
    """Returns whether an object is a retriever that is no system of the harness."""
    return not hasattr(product, "answer") and callable(getattr(product, "get_scores", None))


RETRIEVERS: Final = SystemRegistry(noun="retriever", is_exempt=_is_retriever)
"""Makes the retrievers that ``--system`` names; an object with ``get_scores`` is one too."""


def tune_fusions(
    retrievers: RetrieverSet, dev: Sequence[Question], progress: SettingsProgress
) -> Iterator[tuple[Tuning, Retriever]]:
    """Tunes ``hybrid`` and ``ensemble`` on the dev questions.

    Args:
        retrievers: the retrievers of the run.
        dev: the dev questions.
        progress: shows progress.

    Yields:
        What was chosen, and the tuned retriever.

    Raises:
        RecordError: no dev question has gold.
    """
    for name, source in ((TUNED_HYBRID, "hybrid"), (TUNED_ENSEMBLE, ENSEMBLE)):
        component_sets: list[Mapping[str, Retriever]] = [retrievers.open_components(source)]
        if source == ENSEMBLE:
            component_sets.append(retrievers.use_pagerank(component_sets[0]))
        tuning = tune_fusion(retrievers.passages, dev, component_sets, progress)
        chosen = next(
            components for components in component_sets if tuple(components) == tuning.components
        )
        method: Method = "linear" if tuning.fusion == "linear" else "rrf"
        yield tuning, retrievers.fuse(chosen, name, tuning.weights, method)


def make_tuned_systems(
    team: SystemSet,
    retrievers: RetrieverSet,
    dev: Sequence[Question],
    progress: SettingsProgress,
) -> None:
    """Adds the fusions tuned on the dev questions, and their comparison with each other.

    Raises:
        RecordError: no dev question has gold.
    """
    for tuning, retriever in tune_fusions(retrievers, dev, progress):
        team.tuning[retriever.name] = tuning
        team.add_retriever(retriever)
    team.ablations.append(
        Ablation(TUNED_ENSEMBLE, TUNED_HYBRID, "What does the graph add where both are tuned?")
    )


def make_ablations(team: SystemSet, retrievers: RetrieverSet, other: RetrieverSet | None) -> None:
    """Adds the variants of the ensemble and of its components.

    Raises:
        RunFolderError: the other run has other chunks.
    """
    component_variants = retrievers.open_variants()
    if other is not None:
        component_variants += retrievers.open_other_run(other)
    components = retrievers.open_components(ENSEMBLE)
    team.add_ablations(
        iter_ablations(
            retrievers.passages, components, component_variants, DEFAULT_WEIGHTS[ENSEMBLE]
        )
    )
