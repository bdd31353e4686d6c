"""Where the nodes of a picture stand: the same places for the same graph, every time.

Kamada and Kawai's layout (An algorithm for drawing general undirected graphs, IPL 31, 1989) puts
nodes as far apart as they are hops apart; it starts from a circle in the given order, so nothing in
it is random. What it leaves crowded in the middle is then spread over the box and pushed apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import networkx as nx
    import numpy as np
    import numpy.typing as npt

    Places: TypeAlias = npt.NDArray[np.float64]

WIDTH, HEIGHT = 1200, 780
"""The box, in the units of the picture."""
MARGIN_X, MARGIN_Y = 64, 34
"""Kept free of nodes' centres, for labels."""
SPREAD = 0.55
"""How far a node goes from its own place (0) to that of its rank among all (1), each way."""
THIN = 0.35
"""Share of the longer extent below which the shorter one does not fill the box."""
APART_STEPS = 120
LABEL_SHAPE = 1.7
"""How much wider than high the room around a node is: a label stands beside it."""
LONGEST_PUSH = 150.0
"""Units that nodes are kept apart at most, where there are few."""
FAR = 2.5
"""Hops at which parts that nothing joins are held from each other, and the ends of an axis."""


def place(
    radii: Sequence[float],
    links: Sequence[tuple[int, int]],
    axis: tuple[int, int] | None = None,
) -> list[tuple[float, float]]:
    """Places of nodes inside ``WIDTH`` by ``HEIGHT``, rounded to a tenth.

    Args:
        radii: one for each node.
        links: pairs of places in ``radii``.
        axis: two nodes that shall stand left and right of the others; by default the picture is
            turned so that it is wider than high.
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
        graph.add_edge(*axis, hops=FAR)
    _join_parts(graph)
    found = nx.kamada_kawai_layout(graph, weight="hops")
    # Two runs may differ in the last digits of a sum; what follows compares, so they go first.
    places = np.round(np.array([found[node] for node in range(len(radii))]), 6)
    places = _turned(places, axis)
    places = _spread(places)
    places = _apart(places, np.array(radii, dtype=np.float64))
    return [(round(float(x), 1), round(float(y), 1)) for x, y in places]


def _join_parts(graph: nx.Graph) -> None:
    """Holds the parts of a graph together by their first nodes, without drawing anything."""
    import networkx as nx

    first = sorted(min(part) for part in nx.connected_components(graph))
    for node in first[1:]:
        graph.add_edge(first[0], node, hops=FAR)


def _turned(places: Places, axis: tuple[int, int] | None) -> Places:
    """The places turned so that ``axis``, or their longest extent, lies from left to right."""
    import numpy as np

    centred = places - places.mean(axis=0)
    if axis is not None:
        across = centred[axis[1]] - centred[axis[0]]
    else:
        (a, b), (_, d) = centred.T @ centred
        angle = 0.5 * np.arctan2(2 * b, a - d)
        across = np.array([np.cos(angle), np.sin(angle)])
    length = float(np.hypot(*across)) or 1.0
    cos, sin = across / length
    return np.asarray(centred @ np.array([[cos, -sin], [sin, cos]]))


def _spread(places: Places) -> Places:
    """The places stretched to the box, those of a crowd farther than those of outliers."""
    import numpy as np

    columns = []
    largest = float(np.ptp(places, axis=0).max()) or 1.0
    for column, size, margin in zip(places.T, (WIDTH, HEIGHT), (MARGIN_X, MARGIN_Y), strict=True):
        low, extent = column.min(), np.ptp(column)
        # What is nearly a line stays one: its ranks across would be noise.
        full = min(1.0, extent / largest / THIN)
        own = (column - low) / extent if extent > 1e-9 else np.full(len(column), 0.5)
        ranks = np.argsort(np.argsort(column, kind="stable"), kind="stable") / (len(column) - 1)
        share = SPREAD * full
        spread = 0.5 + full * ((1 - share) * own + share * ranks - 0.5)
        columns.append(margin + (size - 2 * margin) * spread)
    return np.stack(columns, axis=1)


def _apart(places: Places, radii: npt.NDArray[np.float64]) -> Places:
    """The places with overlapping nodes pushed apart, as far as the box has room."""
    import numpy as np

    count = len(radii)
    room = np.sqrt(WIDTH * HEIGHT / LABEL_SHAPE / count) * 0.8
    least = np.minimum(np.maximum(radii[:, None] + radii[None, :] + 6.0, room), LONGEST_PUSH)
    np.fill_diagonal(least, 0.0)
    shape = np.array([LABEL_SHAPE, 1.0])
    low = np.array([MARGIN_X, MARGIN_Y])
    high = np.array([WIDTH - MARGIN_X, HEIGHT - MARGIN_Y])
    # Two nodes in one place are pushed in directions that differ from pair to pair.
    angles = np.arange(count) * 2.399963  # the golden angle
    nudge = np.stack([np.cos(angles), np.sin(angles)], axis=1) * 1e-3
    found = places + nudge
    for _ in range(APART_STEPS):
        gaps = (found[:, None, :] - found[None, :, :]) / shape
        distance = np.sqrt((gaps**2).sum(axis=2))
        np.fill_diagonal(distance, 1.0)
        push = np.maximum(least - distance, 0.0) / np.maximum(distance, 1e-6)
        found = found + 0.25 * (push[:, :, None] * gaps).sum(axis=1) * shape
        found = np.clip(found, low, high)
    return np.asarray(found)
