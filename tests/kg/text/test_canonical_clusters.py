"""Tests that clustering without a distance matrix gives SciPy's clusters, and of its size limit."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from generate_keywords import make_keywords
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, pdist

from kg.embedding import embedder
from kg.embedding.lexical import make_lexical_embedder
from kg.text.canonical import similar_pairs
from kg.text.canonical.clusters import cluster_rows

Vectors = npt.NDArray[np.float32]
ROOT = Path(__file__).parents[3]


def make_unit_vectors(rows: npt.ArrayLike) -> Vectors:
    return embedder.normalise_rows(np.asarray(rows, dtype=np.float32))


def group_rows(cluster_numbers: npt.NDArray[np.int32]) -> list[list[int]]:
    return sorted(
        np.flatnonzero(cluster_numbers == cluster_number).tolist()
        for cluster_number in set(cluster_numbers.tolist())
    )


def cluster_dense(vectors: Vectors, threshold: float) -> list[list[int]]:
    """Clusters with SciPy's complete linkage on all pairwise distances, as the reference."""
    tree = linkage(vectors, method="complete", metric="cosine")
    return group_rows(fcluster(tree, t=1 - threshold, criterion="distance"))


def cluster_by_rank(vectors: Vectors, threshold: float) -> list[list[int]]:
    """Clusters with SciPy on the ranks of the distances, as the reference.

    Equal distances are ranked by the rows' bytes, so the result does not depend on the row order.
    The threshold lies between the ranks of the last pair that is similar enough and the next one.
    """
    order = sorted(range(len(vectors)), key=lambda row: (vectors[row] + np.float32(0)).tobytes())
    distances = pdist(vectors[order], "cosine")
    ranks = np.empty(len(distances))
    ranks[np.argsort(distances, kind="stable")] = np.arange(1, len(distances) + 1)
    near_pair_count = int((distances <= 1 - threshold).sum())
    groups = group_rows(
        fcluster(linkage(ranks, "complete"), t=near_pair_count + 0.5, criterion="distance")
    )
    return sorted(sorted(order[row] for row in group) for group in groups)


def make_clumps(seed: int, row_count: int, dimensions: int, spread: float, copies: bool) -> Vectors:
    """Returns random directions around a few random centres, optionally with repeated rows."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(1, row_count // 5), dimensions))
    vectors = centres[rng.integers(0, len(centres), row_count)]
    vectors = vectors + spread * rng.standard_normal(vectors.shape)
    return make_unit_vectors(vectors[rng.integers(0, row_count, row_count)] if copies else vectors)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    row_count=st.integers(2, 250),
    dimensions=st.integers(2, 24),
    spread=st.sampled_from((0.1, 0.4, 1.0)),
    copies=st.booleans(),
    threshold=st.floats(0.05, 0.98),
)
def test_clusters_equal_those_of_dense_scipy(
    seed: int, row_count: int, dimensions: int, spread: float, copies: bool, threshold: float
) -> None:
    vectors = make_clumps(seed, row_count, dimensions, spread, copies)
    # The third argument, here and below, limits the size of a cluster; None sets no limit.
    assert cluster_rows(vectors, threshold, None) == cluster_dense(vectors, threshold)


@settings(max_examples=60)
@given(data=st.data(), threshold=st.floats(0.05, 0.98), max_pairs=st.integers(2, 300))
def test_ties_are_ordered_by_content(data: st.DataObject, threshold: float, max_pairs: int) -> None:
    rows = data.draw(st.lists(st.tuples(*[st.integers(-1, 1)] * 4).filter(any), min_size=2))
    vectors = make_unit_vectors(rows)
    expected = cluster_by_rank(vectors, threshold)
    given_vectors = vectors.copy()
    assert cluster_rows(vectors, threshold, None) == expected
    assert cluster_rows(vectors, threshold, None, max_pairs=max_pairs) == expected
    assert np.array_equal(vectors, given_vectors)
    assert cluster_rows(given_vectors, threshold, None, overwrite=True) == expected
    order = data.draw(st.permutations(range(len(rows))))
    shuffled = cluster_rows(vectors[order], threshold, None)
    assert sorted(sorted(order[row] for row in group) for group in shuffled) == expected


def test_block_and_pair_limits_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = make_clumps(3, 600, 8, 0.4, copies=True)
    expected = cluster_dense(vectors, 0.6)
    assert max(map(len, expected)) > 10
    monkeypatch.setattr(similar_pairs, "BLOCK_SIZE", 4096)
    monkeypatch.setattr(similar_pairs, "_DISTANCE_BLOCK_SIZE", 5)
    assert cluster_rows(vectors, 0.6, None, max_pairs=50) == expected


def test_near_copies_are_clustered_without_a_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every pair is within the threshold. A matrix of the 1.1 million distances, with 8 bytes each,
    # would exceed the memory that is asserted below.
    monkeypatch.setattr(similar_pairs, "BLOCK_SIZE", 1 << 16)
    rng = np.random.default_rng(0)
    vectors = make_unit_vectors(1 + 0.05 * rng.standard_normal((1500, 16)))
    tracemalloc.start()
    groups = cluster_rows(vectors, 0.9, None, max_pairs=20_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert groups == [list(range(1500))]
    assert peak < 1500 * 1499 / 2 * 8


def test_clusters_of_real_words_in_the_lexical_embedding() -> None:
    vectors = make_unit_vectors(make_lexical_embedder().encode(make_keywords(2000)))
    for threshold in (0.6, 0.78):
        assert cluster_rows(vectors, threshold, None) == cluster_by_rank(vectors, threshold)


@pytest.mark.slow
def test_clusters_of_real_words_in_a_real_model(minilm: embedder.Embedder) -> None:
    # The keywords are a sample of the documentation, so every change of a page draws others: how
    # many of them are clustered is not fixed, only that some are.
    vectors = make_unit_vectors(minilm.encode(make_keywords(800)))
    for threshold in (0.4, 0.6, 0.78):
        expected = cluster_dense(vectors, threshold)
        assert len(expected) < len(vectors)
        assert cluster_rows(vectors, threshold, None) == expected
    repeated = np.concatenate([vectors, vectors[:100]])
    assert cluster_rows(repeated, 0.6, None) == cluster_dense(repeated, 0.6)


def test_large_group_is_split_at_the_lowest_similarity() -> None:
    # Regression test: rows of the two groups alternate, so splitting the cluster into consecutive
    # rows would mix the groups.
    rng = np.random.default_rng(5)
    centres = make_unit_vectors([[1, 0.2, 0], [1, -0.2, 0]])
    rows = centres[np.arange(60) % 2] + 0.01 * rng.standard_normal((60, 3))
    assert cluster_rows(make_unit_vectors(rows), 0.8, None) == [list(range(60))]
    assert cluster_rows(make_unit_vectors(rows), 0.8, 30) == [
        list(range(0, 60, 2)),
        list(range(1, 60, 2)),
    ]


@given(
    seed=st.integers(0, 2**32),
    row_count=st.integers(1, 120),
    max_size=st.integers(1, 9),
    copies=st.booleans(),
)
@settings(max_examples=40)
def test_size_limit_splits_clusters_without_mixing_them(
    seed: int, row_count: int, max_size: int, copies: bool
) -> None:
    vectors = make_clumps(seed, row_count, 3, 0.3, copies)
    clusters = cluster_rows(vectors, 0.7, None)
    split_clusters = cluster_rows(vectors, 0.7, max_size)
    assert max(map(len, split_clusters)) <= max_size
    assert sorted(row for group in split_clusters for row in group) == list(range(row_count))
    cluster_of_row = {row: number for number, group in enumerate(clusters) for row in group}
    for group in split_clusters:
        assert len({cluster_of_row[row] for row in group}) == 1
    distances = cdist(vectors.astype(np.float64), vectors.astype(np.float64), "cosine")
    for group in clusters:
        assert distances[np.ix_(group, group)].max() <= 0.3 + 1e-12


def test_zero_vectors_are_clusters_of_one() -> None:
    vectors = make_unit_vectors([[0, 0], [1, 0], [0, 0], [1, 0.01]])
    assert cluster_rows(vectors, 0.9) == [[0], [1, 3], [2]]
    assert cluster_rows(np.zeros((0, 3), np.float32)) == []
    assert cluster_rows(np.zeros((2, 3), np.float32)) == [[0], [1]]


def test_equal_vectors_are_grouped_up_to_the_size_limit() -> None:
    vectors = make_unit_vectors(np.ones((70, 4)))
    assert [len(group) for group in cluster_rows(vectors, 0.99)] == [30, 30, 10]


@pytest.mark.parametrize("threshold", [0.0, 1.0, -1.0, float("nan")])
def test_threshold_out_of_range_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        cluster_rows(make_unit_vectors(np.ones((2, 2))), threshold)


def test_nan_and_invalid_size_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        cluster_rows(np.array([[1.0, np.nan]], np.float32))
    with pytest.raises(ValueError, match="at least 1, not 0"):
        cluster_rows(make_unit_vectors(np.ones((2, 2))), 0.5, 0)
