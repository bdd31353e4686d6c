"""Tests Cohen's and Fleiss' kappa against scikit-learn, a published example and manual values."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef

from eval.stats.kappa import cohens_kappa, fleiss_kappa, phi_coefficient

PAIRS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60)


def test_cohens_kappa_matches_manual_values() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no. They agree on 35 of 50 = .7; by chance on
    # (25·30 + 25·20) / 50² = .5; so κ = (.7 - .5) / (1 - .5) = .4.
    first = [True] * 25 + [False] * 25
    second = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert cohens_kappa(first, second) == pytest.approx(0.4, abs=1e-15)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=60))
def test_cohens_kappa_matches_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    kappa = cohens_kappa(first, second)
    if len(set(first) | set(second)) < 2:
        assert kappa is None  # scikit-learn returns nan in this case
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = cohen_kappa_score(first, second)
    assert kappa == pytest.approx(reference, abs=1e-12)


def test_fleiss_kappa_of_the_published_example() -> None:
    # Ten items, fourteen raters, five categories: P̄ = .378, P̄_e = .213, κ = .210.
    table = [
        (0, 0, 0, 0, 14),
        (0, 2, 6, 4, 2),
        (0, 0, 3, 5, 6),
        (0, 3, 9, 2, 0),
        (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0),
        (3, 2, 6, 3, 0),
        (2, 5, 3, 2, 2),
        (6, 5, 2, 1, 0),
        (0, 2, 2, 3, 7),
    ]
    items = [[c for c, count in enumerate(row) for _ in range(count)] for row in table]
    assert fleiss_kappa(items) == pytest.approx(0.20993, abs=5e-6)


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=40))
def test_fleiss_kappa_matches_its_formula(items: list[list[bool]]) -> None:
    kappa = fleiss_kappa(items)
    yes_counts = np.array([sum(row) for row in items])
    yes_share = yes_counts.sum() / (3 * len(items))
    if yes_share in (0, 1):
        assert kappa is None
        return
    agreement = (yes_counts * (yes_counts - 1) + (3 - yes_counts) * (2 - yes_counts)) / 6
    chance_agreement = yes_share**2 + (1 - yes_share) ** 2
    assert kappa == pytest.approx(
        (agreement.mean() - chance_agreement) / (1 - chance_agreement), abs=1e-12
    )


@given(PAIRS)
def test_kappa_is_symmetric_and_bounded(pairs: list[tuple[bool, bool]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    kappa = cohens_kappa(first, second)
    assert kappa == cohens_kappa(second, first)
    # Fleiss' κ of two raters is Scott's π, which is never above Cohen's κ.
    scotts_pi = fleiss_kappa([list(pair) for pair in pairs])
    if kappa is not None and scotts_pi is not None:
        assert scotts_pi <= kappa + 1e-12
        assert kappa <= 1
        assert (kappa == 1) == (first == second)


@given(PAIRS)
def test_phi_equals_the_correlation(pairs: list[tuple[bool, bool]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    phi = phi_coefficient(first, second)
    if len(set(first)) < 2 or len(set(second)) < 2:
        assert phi is None
        return
    assert phi == pytest.approx(matthews_corrcoef(first, second), abs=1e-12)
    assert phi == pytest.approx(float(np.corrcoef(first, second)[0, 1]), abs=1e-9)


def test_no_ratings_give_null() -> None:
    assert cohens_kappa([], []) is None
    assert fleiss_kappa([]) is None
    assert phi_coefficient([], []) is None
    assert cohens_kappa([True, True], [True, True]) is None
    assert cohens_kappa([True, True], [False, False]) == 0.0
    assert fleiss_kappa([[True, False], [False, True]]) == -1.0
    assert math.isclose(phi_coefficient([True, False], [False, True]) or 0, -1.0)


def test_raters_who_rated_different_items_are_refused() -> None:
    with pytest.raises(ValueError, match="1 ratings against 2"):
        cohens_kappa([True], [True, False])
    with pytest.raises(ValueError, match="1 values against 0"):
        phi_coefficient([True], [])
    for items in ([[True]], [[True, False], [True, False, True]]):
        with pytest.raises(ValueError, match="same number of ratings"):
            fleiss_kappa(items)
