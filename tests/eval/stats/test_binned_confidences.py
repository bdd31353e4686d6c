"""Statistics of binned confidences against those of the same replies without bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eval.metrics.calibration import build_calibration_report
from eval.stats import binned_confidences
from eval.stats.binned_confidences import BinnedReplies
from eval.stats.bootstrap import ClusterResamples, Floats
from eval.stats.calibration import equal_width_bins
from eval.stats.confidences import STATISTICS, ConfidentReplies

ROUNDING = 1e-12


def make_pair(
    confidences: Floats, right: Floats, *, n_clusters: int = 7, repeats: int = 1
) -> tuple[BinnedReplies, ConfidentReplies, np.ndarray]:
    n = len(confidences)
    cards = np.arange(n, dtype=np.int32) // repeats
    clusters = (cards * 31 % n_clusters).astype(np.int32)
    exact = ConfidentReplies(confidences, right, clusters)
    # Ten clusters have no replies.
    return BinnedReplies(confidences, right, clusters, cards, n_clusters + 10), exact, cards


def assert_within_bounds(binned: BinnedReplies, exact: ConfidentReplies) -> None:
    differences = np.abs(binned.compute_values() - exact.compute_values())
    for name, difference in zip(STATISTICS, differences.tolist(), strict=True):
        assert difference <= binned.max_errors[name] + ROUNDING, name


@pytest.fixture
def few_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binned_confidences, "N_FINE_BINS", 20)
    monkeypatch.setattr(binned_confidences, "_CHUNK", 13)


@pytest.mark.usefixtures("few_bins")
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_error_is_within_its_bound(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 60))
    scale = data.draw(st.sampled_from([1.0, 0.1, 0.004]))
    elements = st.floats(0, 1) | st.sampled_from([0.0, 0.3, 0.7, 0.95, 1.0])
    confidences = data.draw(arrays(np.float64, n, elements=elements)) * scale
    right = data.draw(arrays(np.float64, n, elements=st.sampled_from([0.0, 1.0])))
    assert_within_bounds(*make_pair(confidences, right)[:2])


@pytest.mark.parametrize("seed", range(6))
def test_the_error_of_many_replies_is_small(seed: int) -> None:
    rng = np.random.default_rng(seed)
    confidences = rng.beta(8, 1 + seed, 30_000)
    right = (rng.random(30_000) < confidences).astype(np.float64)
    binned, exact, _ = make_pair(confidences, right)
    assert_within_bounds(binned, exact)
    assert 0 < binned.max_errors["aurc"] < 2e-3
    assert 0 < binned.max_errors["augrc"] < 2e-5
    assert 0 < binned.max_errors["ece_equal_mass"] < 2e-3


@pytest.mark.parametrize("repeats", [1, 3])
def test_confidences_of_five_decimals_are_exact(repeats: int) -> None:
    rng = np.random.default_rng(1)
    confidences = np.round(rng.random(6000), 5)
    confidences[:3] = 0.3, 0.6, 1.0
    right = (rng.random(6000) < confidences).astype(np.float64)
    binned, exact, cards = make_pair(confidences, right, n_clusters=50, repeats=repeats)
    assert set(binned.max_errors.values()) == {0.0}
    resamples = ClusterResamples(60, 200, 3)
    ours, expected = (replies.compute_distribution(resamples) for replies in (binned, exact))
    np.testing.assert_allclose(ours.values, expected.values, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(ours.replicates, expected.replicates, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.jackknife, expected.jackknife, rtol=0, atol=1e-9)
    assert ours.support.tolist() == expected.support.tolist()
    options = {"confidence": 0.95, "seed": 5}
    report, expected_report = (
        build_calibration_report(replies, known, distribution, **options)  # type: ignore[arg-type]
        for replies, known, distribution in ((binned, cards[:0], ours), (exact, cards, expected))
    )
    assert [bin_.n for bin_ in report.bins] == [bin_.n for bin_ in expected_report.bins]
    for name in ("bins", "bins_equal_mass"):
        for one, other in zip(getattr(report, name), getattr(expected_report, name), strict=True):
            assert (one.n, one.n_right, one.low, one.high) == (
                *(other.n, other.n_right, other.low, other.high),
            )
            assert one.accuracy_low == pytest.approx(other.accuracy_low, abs=1e-11)
            assert one.confidence == pytest.approx(other.confidence, abs=1e-11)
    assert report.ece_expected.mean == pytest.approx(expected_report.ece_expected.mean, abs=1e-9)
    assert report.ece_expected.p == expected_report.ece_expected.p
    assert report.brier_parts.within == pytest.approx(expected_report.brier_parts.within, abs=1e-11)


def test_sums_are_the_same() -> None:
    rng = np.random.default_rng(2)
    confidences = rng.random(5000)
    right = (rng.random(5000) < 0.5).astype(np.float64)
    binned, exact, cards = make_pair(confidences, right, repeats=5)
    assert binned.count.sum() == 5000
    assert binned.n_right.sum() == right.sum()
    assert binned.mean_confidence == pytest.approx(exact.mean_confidence, abs=ROUNDING)
    pairs = zip(binned.list_bins("ece", cards), exact.list_bins("ece", cards), strict=True)
    for ours, expected in pairs:
        assert (ours.number, ours.n, ours.n_right, ours.n_cards, ours.lowest, ours.highest) == (
            *(expected.number, expected.n, expected.n_right),
            *(expected.n_cards, expected.lowest, expected.highest),
        )


def test_no_bin_crosses_an_edge_of_the_calibration_error() -> None:
    edges = np.array([k / 10 for k in range(11)])
    values = np.sort(np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges[:-1], 1)]))
    fine = equal_width_bins(values, binned_confidences.N_FINE_BINS)
    assert (equal_width_bins(values) == fine * 10 // binned_confidences.N_FINE_BINS).all()
