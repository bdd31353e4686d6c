"""The score of a question: five dimensions of 0 to 2 points each, and a level.

Preset ``seed`` holds the thresholds as they were found in the published code; they were never
tuned against anyone's answers. The calibrated score beside it is in ``kg.difficulty.calibrated``.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from kg.difficulty.features import QueryFeatures

Level: TypeAlias = Literal["EASY", "MEDIUM", "HARD", "UNANSWERABLE"]
Dimension: TypeAlias = Literal[
    "multihop", "fragmentation", "subgraph_size", "branching", "dispersion"
]


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    """Where points begin. Each pair: the largest value for 0 points, the largest for 1."""

    name: str
    multihop: tuple[float, float]
    """Over ``max_path_length``."""
    fragmentation: tuple[float, float]
    """Over ``component_count``."""
    subgraph_size: tuple[float, float]
    """Over ``subgraph_node_count``."""
    branching: tuple[float, float]
    """Over ``avg_degree``."""
    dispersion: tuple[float, float]
    """Over ``doc_count``."""
    easy: int
    """The largest total that is EASY."""
    medium: int
    """The largest total that is MEDIUM."""


SEED = Preset(
    name="seed",
    multihop=(1, 2),
    fragmentation=(1, 2),
    subgraph_size=(20, 60),
    branching=(3, 6),
    dispersion=(2, 4),
    easy=3,
    medium=7,
)


class DifficultyScore(msgspec.Struct, frozen=True, kw_only=True):
    """How hard a question is. Where nothing matched, level and preset are all there is."""

    preset: str
    level: Level
    total: int | None
    """0 to 10; None for UNANSWERABLE, which is no hardness at all."""
    dimensions: dict[Dimension, int] | None
    """0, 1 or 2 points each; None for UNANSWERABLE."""


def score_of(features: QueryFeatures, preset: Preset = SEED) -> DifficultyScore:
    """The score of a question; UNANSWERABLE when it names no node of the graph."""
    if not features.query_node_count:
        return DifficultyScore(
            preset=preset.name, level="UNANSWERABLE", total=None, dimensions=None
        )
    dimensions: dict[Dimension, int] = {
        "multihop": _points(features.max_path_length, preset.multihop),
        "fragmentation": _points(features.component_count, preset.fragmentation),
        "subgraph_size": _points(features.subgraph_node_count, preset.subgraph_size),
        "branching": _points(features.avg_degree, preset.branching),
        "dispersion": _points(features.doc_count, preset.dispersion),
    }
    total = sum(dimensions.values())
    level: Level = (
        "EASY" if total <= preset.easy else "MEDIUM" if total <= preset.medium else "HARD"
    )
    return DifficultyScore(preset=preset.name, level=level, total=total, dimensions=dimensions)


def _points(value: float, steps: tuple[float, float]) -> int:
    return (value > steps[0]) + (value > steps[1])
