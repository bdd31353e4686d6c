"""Clusters without a matrix are those of dense SciPy; large ones come apart where they should."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from generate_keywords import keywords
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, pdist

from kg.embedding import embedder
from kg.embedding.lexical import lexical_embedder
from kg.text.canonical import similar_pairs
from kg.text.canonical.clustering import cluster

Vectors = npt.NDArray[np.float32]
ROOT = Path(__file__).parents[3]


def unit(rows: npt.ArrayLike) -> Vectors:
    return embedder.unit_rows(np.asarray(rows, dtype=np.float32))


def as_groups(numbers: npt.NDArray[np.int32]) -> list[list[int]]:
    return sorted(np.flatnonzero(numbers == number).tolist() for number in set(numbers.tolist()))


def dense(vectors: Vectors, threshold: float) -> list[list[int]]:
    """SciPy as it is."""
    tree = linkage(vectors, method="complete", metric="cosine")
    return as_groups(fcluster(tree, t=1 - threshold, criterion="distance"))


def ranked(vectors: Vectors, threshold: float) -> list[list[int]]:
    """SciPy on the ranks of the distances, equal ones ordered by their rows' bytes."""
    order = sorted(range(len(vectors)), key=lambda row: (vectors[row] + np.float32(0)).tobytes())
    distances = pdist(vectors[order], "cosine")
    ranks = np.empty(len(distances))
    ranks[np.argsort(distances, kind="stable")] = np.arange(1, len(distances) + 1)
    near = int((distances <= 1 - threshold).sum())
    groups = as_groups(fcluster(linkage(ranks, "complete"), t=near + 0.5, criterion="distance"))
    return sorted(sorted(order[place] for place in group) for group in groups)


def clumps(seed: int, rows: int, dimensions: int, spread: float, copies: bool) -> Vectors:
    """Random directions around fewer random centres; some rows more than once."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((max(1, rows // 5), dimensions))
    found = centres[random.integers(0, len(centres), rows)]
    found = found + spread * random.standard_normal(found.shape)
    return unit(found[random.integers(0, rows, rows)] if copies else found)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(2, 250),
    dimensions=st.integers(2, 24),
    spread=st.sampled_from((0.1, 0.4, 1.0)),
    copies=st.booleans(),
    threshold=st.floats(0.05, 0.98),
)
def test_the_clusters_are_those_of_dense_scipy(
    seed: int, rows: int, dimensions: int, spread: float, copies: bool, threshold: float
) -> None:
    vectors = clumps(seed, rows, dimensions, spread, copies)
    assert cluster(vectors, threshold, None) == dense(vectors, threshold)


@settings(max_examples=60)
@given(data=st.data(), threshold=st.floats(0.05, 0.98), most_pairs=st.integers(2, 300))
def test_ties_are_ordered_by_content_whatever_the_order_and_the_memory(
    data: st.DataObject, threshold: float, most_pairs: int
) -> None:
    rows = data.draw(st.lists(st.tuples(*[st.integers(-1, 1)] * 4).filter(any), min_size=2))
    vectors = unit(rows)
    expected = ranked(vectors, threshold)
    assert cluster(vectors, threshold, None) == expected
    assert cluster(vectors, threshold, None, most_pairs=most_pairs) == expected
    order = data.draw(st.permutations(range(len(rows))))
    shuffled = cluster(vectors[order], threshold, None)
    assert sorted(sorted(order[place] for place in group) for group in shuffled) == expected


def test_few_pairs_at_a_time_and_small_blocks_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = clumps(3, 600, 8, 0.4, copies=True)
    expected = dense(vectors, 0.6)
    assert max(map(len, expected)) > 10
    monkeypatch.setattr(similar_pairs, "BLOCK", 4096)
    monkeypatch.setattr(similar_pairs, "_MEASURED", 5)
    assert cluster(vectors, 0.6, None, most_pairs=50) == expected


def test_one_component_of_near_copies_needs_no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every pair is within the threshold: SciPy holds 1.1 million distances, twice.
    monkeypatch.setattr(similar_pairs, "BLOCK", 1 << 16)
    random = np.random.default_rng(0)
    vectors = unit(1 + 0.05 * random.standard_normal((1500, 16)))
    tracemalloc.start()
    groups = cluster(vectors, 0.9, None, most_pairs=20_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert groups == [list(range(1500))]
    assert peak < 1500 * 1499 / 2 * 8


def test_real_words_in_the_lexical_embedding() -> None:
    vectors = unit(lexical_embedder().encode(keywords(2000)))
    for threshold in (0.6, 0.78):
        assert cluster(vectors, threshold, None) == ranked(vectors, threshold)


@pytest.mark.slow
def test_real_words_in_a_real_model(minilm: embedder.Embedder) -> None:
    vectors = unit(minilm.encode(keywords(800)))
    for threshold in (0.4, 0.6, 0.78):
        expected = dense(vectors, threshold)
        assert len(expected) < 790
        assert cluster(vectors, threshold, None) == expected
    repeated = np.concatenate([vectors, vectors[:100]])
    assert cluster(repeated, 0.6, None) == dense(repeated, 0.6)


def test_a_large_group_comes_apart_where_it_is_least_alike() -> None:
    # Bug 5: slices of the input's order would put the two kinds, which alternate, together.
    random = np.random.default_rng(5)
    centres = unit([[1, 0.2, 0], [1, -0.2, 0]])
    rows = centres[np.arange(60) % 2] + 0.01 * random.standard_normal((60, 3))
    assert cluster(unit(rows), 0.8, None) == [list(range(60))]
    assert cluster(unit(rows), 0.8, 30) == [list(range(0, 60, 2)), list(range(1, 60, 2))]


@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(1, 120),
    most=st.integers(1, 9),
    copies=st.booleans(),
)
@settings(max_examples=40)
def test_groups_are_small_whole_and_parts_of_the_large_ones(
    seed: int, rows: int, most: int, copies: bool
) -> None:
    vectors = clumps(seed, rows, 3, 0.3, copies)
    whole = cluster(vectors, 0.7, None)
    parts = cluster(vectors, 0.7, most)
    assert max(map(len, parts)) <= most
    assert sorted(place for group in parts for place in group) == list(range(rows))
    number = {place: n for n, group in enumerate(whole) for place in group}
    for group in parts:
        assert len({number[place] for place in group}) == 1
    distances = cdist(vectors.astype(np.float64), vectors.astype(np.float64), "cosine")
    for group in whole:
        assert distances[np.ix_(group, group)].max() <= 0.3 + 1e-12


def test_vectors_without_a_direction_stand_alone() -> None:
    vectors = unit([[0, 0], [1, 0], [0, 0], [1, 0.01]])
    assert cluster(vectors, 0.9) == [[0], [1, 3], [2]]
    assert cluster(np.zeros((0, 3), np.float32)) == []
    assert cluster(np.zeros((2, 3), np.float32)) == [[0], [1]]


def test_equal_vectors_are_one_group_of_at_most_so_many() -> None:
    vectors = unit(np.ones((70, 4)))
    assert [len(group) for group in cluster(vectors, 0.99)] == [30, 30, 10]


@pytest.mark.parametrize("threshold", [0.0, 1.0, -1.0, float("nan")])
def test_a_threshold_out_of_range_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        cluster(unit(np.ones((2, 2))), threshold)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        cluster(np.array([[1.0, np.nan]], np.float32))
    with pytest.raises(ValueError, match="at most 0"):
        cluster(unit(np.ones((2, 2))), 0.5, 0)
