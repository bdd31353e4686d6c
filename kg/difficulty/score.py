"""Scores a question's difficulty: five dimensions of 0 to 2 points each, and a level.

The preset named ``seed`` (no random seed) has the thresholds of the published code, which were
never tuned on answers. A score calibrated on data is in ``kg.difficulty.calibration``.
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
    """Thresholds of each dimension: (largest value for 0 points, largest value for 1 point)."""

    name: str
    multihop: tuple[float, float]
    """Thresholds of ``max_path_length``."""
    fragmentation: tuple[float, float]
    """Thresholds of ``component_count``."""
    subgraph_size: tuple[float, float]
    """Thresholds of ``subgraph_node_count``."""
    branching: tuple[float, float]
    """Thresholds of ``avg_degree``."""
    dispersion: tuple[float, float]
    """Thresholds of ``doc_count``."""
    easy: int
    """Maximum total points of level EASY."""
    medium: int
    """Maximum total points of level MEDIUM."""


SEED_PRESET = Preset(
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
    """The difficulty of a question; if it names no node, only level and preset are set."""

    preset: str
    level: Level
    total: int | None
    """0 to 10 points; None for UNANSWERABLE."""
    dimensions: dict[Dimension, int] | None
    """0, 1 or 2 points each; None for UNANSWERABLE."""


def score_features(features: QueryFeatures, preset: Preset = SEED_PRESET) -> DifficultyScore:
    """Scores a question; the level is UNANSWERABLE if it names no node of the graph."""
    if not features.query_node_count:
        return DifficultyScore(
            preset=preset.name, level="UNANSWERABLE", total=None, dimensions=None
        )
    dimensions: dict[Dimension, int] = {
        "multihop": _count_points(features.max_path_length, preset.multihop),
        "fragmentation": _count_points(features.component_count, preset.fragmentation),
        "subgraph_size": _count_points(features.subgraph_node_count, preset.subgraph_size),
        "branching": _count_points(features.avg_degree, preset.branching),
        "dispersion": _count_points(features.doc_count, preset.dispersion),
    }
    total = sum(dimensions.values())
    level: Level = (
        "EASY" if total <= preset.easy else "MEDIUM" if total <= preset.medium else "HARD"
    )
    return DifficultyScore(preset=preset.name, level=level, total=total, dimensions=dimensions)


def _count_points(value: float, thresholds: tuple[float, float]) -> int:
    return (value > thresholds[0]) + (value > thresholds[1])
