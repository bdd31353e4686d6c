"""Tests the parsing of predictions and the counts of cards by label and prediction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from published_metrics import table_to_counts

from eval.abstention.metrics.outcomes import (
    CELLS,
    LABELS,
    PRED_CODE,
    as_number,
    compute_control_counts,
    count_cards_per_label,
    count_cells,
    count_cluster_cells,
    counts_to_table,
    parse_pred,
    score_cards,
)
from eval.abstention.result import PREDS

ANSWERS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 6)), max_size=60)


@pytest.mark.parametrize(
    ("value", "pred"),
    [
        ("YES", "YES"),
        ("NO", "NO"),
        ("UNKNOWN", "UNKNOWN"),
        ("INVALID", "INVALID"),
        ("ERROR", "ERROR"),
        (None, "ERROR"),
        ("unknown", "INVALID"),
        (" YES ", "INVALID"),
        ("I do not know", "INVALID"),
        ("", "INVALID"),
        (1, "INVALID"),
        (True, "INVALID"),
        (["YES"], "INVALID"),
    ],
)
def test_foreign_predictions_are_parsed_exactly(value: object, pred: str) -> None:
    assert parse_pred(value) == PRED_CODE[pred]


@given(ANSWERS)
def test_cell_counts_match_brute_force(answers: list[tuple[int, int, int]]) -> None:
    labels = np.array([answer[0] for answer in answers], dtype=np.int8)
    preds = np.array([answer[1] for answer in answers], dtype=np.int8)
    clusters = np.array([answer[2] for answer in answers], dtype=np.int64)
    table = counts_to_table(count_cells(labels, preds))
    for label_code, label in enumerate(LABELS):
        for pred_code, pred in enumerate(PREDS):
            expected = sum(answer[:2] == (label_code, pred_code) for answer in answers)
            assert table[label][pred] == expected
    cluster_counts = count_cluster_cells(labels, preds, clusters, 7)
    assert cluster_counts.shape == (7, CELLS)
    assert np.array_equal(cluster_counts.sum(axis=0), count_cells(labels, preds))
    assert cluster_counts.sum(axis=1).tolist() == [
        sum(answer[2] == n for answer in answers) for n in range(7)
    ]


@given(st.lists(st.integers(0, 99), min_size=CELLS, max_size=CELLS))
def test_table_survives_a_round_trip(numbers: list[int]) -> None:
    counts = np.array(numbers, dtype=np.float64)
    assert np.array_equal(table_to_counts(counts_to_table(counts)), counts)
    assert sum(count_cards_per_label(counts).values()) == sum(numbers)


def test_missing_table_cells_are_zero() -> None:
    counts = table_to_counts({"C": {"NO": 3}})
    assert counts.sum() == 3
    assert list(counts_to_table(counts, labels=("C",))) == ["C"]
    with pytest.raises(KeyError):
        table_to_counts({"X": {"NO": 1}})


def test_whole_counts_are_written_as_whole_numbers() -> None:
    assert isinstance(as_number(3.0), int)
    assert as_number(2.5) == 2.5


def test_controls_answer_every_card_and_nothing_else() -> None:
    cards = {"E": 200, "C": 400, "U": 100}
    controls = compute_control_counts(cards)
    assert list(controls) == ["always-YES", "always-NO", "always-UNKNOWN", "random"]
    assert counts_to_table(controls["always-NO"])["C"]["NO"] == 400
    for counts in controls.values():
        assert count_cards_per_label(counts) == cards
    assert counts_to_table(controls["random"])["U"]["YES"] == pytest.approx(100 / 3)


def test_score_cards_uses_only_the_cards_of_the_metric() -> None:
    # A metric of the five E cells, of which only the first, E answered YES, is right.
    numerator, denominator = np.zeros(15), np.zeros(15)
    numerator[0], denominator[:5] = 1, 1
    labels, preds = np.array([0, 1, 0, 2], np.int8), np.array([0, 0, 2, 1], np.int8)
    assert score_cards(labels, preds, numerator, denominator).tolist() == [1, 0]
