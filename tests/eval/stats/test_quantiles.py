"""Tests that quantiles match NumPy's ``inverted_cdf``, in the sample and in resamples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.stats.bootstrap import ClusterResamples
from eval.stats.quantiles import bootstrap_quantiles

LEVELS = (0.5, 0.95)


@given(
    values=st.lists(st.sampled_from([0.1, 0.2, 0.3, 1.5, 7.0]), min_size=1, max_size=40),
    repeats=st.integers(1, 3),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_quantiles_match_numpy_on_resampled_rows(
    values: list[float], repeats: int, seed: int
) -> None:
    rows = np.array(values)
    clusters = np.arange(len(values)) // repeats
    draws = ClusterResamples(int(clusters.max()) + 1, n_resamples=20, seed=seed)
    distribution = bootstrap_quantiles(rows, clusters, draws, LEVELS)
    assert distribution.values.tolist() == np.quantile(rows, LEVELS, method="inverted_cdf").tolist()
    drawn_clusters = np.random.default_rng(seed).integers(
        0, draws.n_clusters, (20, draws.n_clusters)
    )
    for replicate, resample in zip(distribution.replicates, drawn_clusters, strict=True):
        resampled_rows = np.concatenate([rows[clusters == cluster] for cluster in resample])
        assert (
            replicate.tolist()
            == np.quantile(resampled_rows, LEVELS, method="inverted_cdf").tolist()
        )
    assert np.isnan(distribution.jackknife).all(), "BCa intervals are not valid for quantiles"


def test_resample_without_rows_has_no_quantile() -> None:
    # Two of three samples have no latency, so some resamples have no value at all.
    distribution = bootstrap_quantiles(
        np.array([2.5]), np.array([1]), ClusterResamples(3, n_resamples=200, seed=1), (0.5,)
    )
    undefined = np.isnan(distribution.replicates[:, 0])
    assert 0 < undefined.sum() < 200
    assert set(distribution.replicates[~undefined, 0]) == {2.5}
    assert distribution.values[0] == pytest.approx(2.5)
    assert distribution.support[0] == 1
