"""Computes the positions of a picture's nodes; the same graph gets the same positions every time.

Kamada and Kawai's layout (An algorithm for drawing general undirected graphs, IPL 31, 1989) makes
distances proportional to hops. It starts from a circle in the given order, so it is deterministic.
Its positions are crowded in the middle; they are then spread over the box, and overlapping nodes
are pushed apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import networkx as nx
    import numpy as np
    import numpy.typing as npt

    Positions: TypeAlias = npt.NDArray[np.float64]

WIDTH, HEIGHT = 1200, 780
"""The box, in the units of the picture."""
MARGIN_X, MARGIN_Y = 64, 34
"""Margin without node centres, which leaves room for labels."""
RANK_SHARE = 0.55
"""How much a node's new coordinate depends on its rank from left to right (or top to bottom): with
0 only the old coordinate counts, with 1 only the rank. Ranks are evenly spaced, so they spread
crowded nodes."""
MIN_FILLED_RATIO = 0.35
"""The shorter extent is stretched to the whole box only if it is at least this share of the longer
one."""
N_PUSH_STEPS = 120
"""Number of steps in which overlapping nodes are pushed apart."""
LABEL_ASPECT = 1.7
"""Width over height of the space around a node, which includes the label next to it."""
MAX_NODE_DISTANCE = 150.0
"""Nodes this far apart are never pushed further; only relevant if there are few nodes."""
FAR_HOPS = 2.5
"""Distance in hops between unconnected components, and between the two nodes of an axis."""


def place_nodes(
    radii: Sequence[float],
    links: Sequence[tuple[int, int]],
    axis: tuple[int, int] | None = None,
) -> list[tuple[float, float]]:
    """Computes positions of nodes inside ``WIDTH`` by ``HEIGHT``, rounded to a tenth.

    Args:
        radii: one for each node.
        links: pairs of node indices.
        axis: two nodes: the first is put on the left, the second on the right. By default the
            picture is rotated so that it is wider than high.
    """
    import numpy as np

    if not radii:
        return []
    if len(radii) == 1:
        return [(WIDTH / 2, HEIGHT / 2)]
    import networkx as nx

    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(range(len(radii)))
    graph.add_edges_from(links, hops=1.0)
    if axis is not None:
        graph.add_edge(*axis, hops=FAR_HOPS)
    _join_components(graph)
    positions = nx.kamada_kawai_layout(graph, weight="hops")
    # The last digits of sums may differ between machines. They are rounded away here, since the
    # next steps rank positions and would turn such differences into large ones.
    coordinates = np.round(np.array([positions[node] for node in range(len(radii))]), 6)
    coordinates = _rotate_positions(coordinates, axis)
    coordinates = _stretch_positions(coordinates)
    coordinates = _push_apart(coordinates, np.array(radii, dtype=np.float64))
    return [(round(float(x), 1), round(float(y), 1)) for x, y in coordinates]


def _join_components(graph: nx.Graph) -> None:
    """Connects the components of a graph by their first nodes, for the layout only.

    The distances of the layout are undefined in a graph that is not connected.
    """
    import networkx as nx

    first_nodes = sorted(min(component) for component in nx.connected_components(graph))
    for node in first_nodes[1:]:
        graph.add_edge(first_nodes[0], node, hops=FAR_HOPS)


def _rotate_positions(positions: Positions, axis: tuple[int, int] | None) -> Positions:
    """Rotates the positions so that ``axis``, or their longest extent, is horizontal."""
    import numpy as np

    centred = positions - positions.mean(axis=0)
    if axis is not None:
        axis_vector = centred[axis[1]] - centred[axis[0]]
    else:
        # Direction of the first principal axis, from the 2×2 scatter matrix.
        (a, b), (_, d) = centred.T @ centred
        angle = 0.5 * np.arctan2(2 * b, a - d)
        axis_vector = np.array([np.cos(angle), np.sin(angle)])
    length = float(np.hypot(*axis_vector)) or 1.0
    cos, sin = axis_vector / length
    return np.asarray(centred @ np.array([[cos, -sin], [sin, cos]]))


def _stretch_positions(positions: Positions) -> Positions:
    """Stretches the positions to the box, and moves crowded positions apart by their ranks."""
    import numpy as np

    columns = []
    largest = float(np.ptp(positions, axis=0).max()) or 1.0
    for column, size, margin in zip(
        positions.T, (WIDTH, HEIGHT), (MARGIN_X, MARGIN_Y), strict=True
    ):
        low, extent = column.min(), np.ptp(column)
        # Nearly collinear positions stay so: their ranks in the thin dimension would be noise.
        fill_share = min(1.0, extent / largest / MIN_FILLED_RATIO)
        relative = (column - low) / extent if extent > 1e-9 else np.full(len(column), 0.5)
        ranks = np.argsort(np.argsort(column, kind="stable"), kind="stable") / (len(column) - 1)
        rank_share = RANK_SHARE * fill_share
        stretched = 0.5 + fill_share * ((1 - rank_share) * relative + rank_share * ranks - 0.5)
        columns.append(margin + (size - 2 * margin) * stretched)
    return np.stack(columns, axis=1)


def _push_apart(positions: Positions, radii: npt.NDArray[np.float64]) -> Positions:
    """Moves overlapping nodes away from each other, as far as the box has room."""
    import numpy as np

    count = len(radii)
    # Spacing if nodes and labels filled the box evenly; 0.8, since they never fill it completely.
    node_spacing = np.sqrt(WIDTH * HEIGHT / LABEL_ASPECT / count) * 0.8
    min_distance = np.minimum(
        np.maximum(radii[:, None] + radii[None, :] + 6.0, node_spacing), MAX_NODE_DISTANCE
    )
    np.fill_diagonal(min_distance, 0.0)
    axis_scales = np.array([LABEL_ASPECT, 1.0])
    low = np.array([MARGIN_X, MARGIN_Y])
    high = np.array([WIDTH - MARGIN_X, HEIGHT - MARGIN_Y])
    # Without a nudge, two nodes at the same position would have no direction to be pushed in.
    angles = np.arange(count) * 2.399963  # the golden angle, so that directions differ
    nudge = np.stack([np.cos(angles), np.sin(angles)], axis=1) * 1e-3
    current = positions + nudge
    for _ in range(N_PUSH_STEPS):
        gaps = (current[:, None, :] - current[None, :, :]) / axis_scales
        distance = np.sqrt((gaps**2).sum(axis=2))
        np.fill_diagonal(distance, 1.0)
        push = np.maximum(min_distance - distance, 0.0) / np.maximum(distance, 1e-6)
        # Each of two nodes moves by a quarter of their overlap, so that steps do not overshoot.
        current = current + 0.25 * (push[:, :, None] * gaps).sum(axis=1) * axis_scales
        current = np.clip(current, low, high)
    return np.asarray(current)
