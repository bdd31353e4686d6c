"""The one table everything is derived from: label (E, C, U) × prediction, fifteen cells.

A cell is numbered ``5 * label + prediction`` in the orders of ``LABELS`` and ``PREDS``. Arrays of
length ``CELLS`` count cards per cell; metrics (``abstention.py``) are ratios of sums of cells, so
whatever resamples or bounds them re-adds counts and never looks at a card again.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from eval.metrics.record import Number, Table
from eval.result import PREDS, Pred
from kg.claims import GOLD_OF_LABEL, LABELS, Label

Floats = NDArray[np.float64]
Codes = NDArray[np.int8]

CELLS = len(LABELS) * len(PREDS)
"""Fifteen."""

LABEL_CODE: dict[str, int] = {label: code for code, label in enumerate(LABELS)}
PRED_CODE: dict[str, int] = {pred: code for code, pred in enumerate(PREDS)}
GOLD_CODE: dict[str, int] = {GOLD_OF_LABEL[label]: code for code, label in enumerate(LABELS)}

INVALID = PRED_CODE["INVALID"]
ERROR = PRED_CODE["ERROR"]

UNREADABLE: tuple[Pred, ...] = ("INVALID", "ERROR")


def read_pred(value: object) -> int:
    """Code of a prediction found in a file from elsewhere.

    Exactly ``"YES"``, ``"NO"`` and ``"UNKNOWN"`` are read as such; null and ``"ERROR"`` are a
    failed call; anything else (another case, blanks around it, a sentence, a number) is a reply
    that cannot be read. Guessing here would credit a system with an abstention it did not utter.
    """
    if isinstance(value, str):
        return PRED_CODE.get(value, INVALID)
    return ERROR if value is None else INVALID


def count_cells(labels: Codes, preds: Codes) -> Floats:
    """Replies per cell.

    Args:
        labels: label codes, shape (n,).
        preds: prediction codes, shape (n,) or (n, repeats).

    Returns:
        Counts, shape (``CELLS``,).
    """
    cells = _cells(labels, preds)
    return np.bincount(cells.ravel(), minlength=CELLS).astype(np.float64)


def cluster_cells(labels: Codes, preds: Codes, clusters: NDArray[np.int64], n: int) -> Floats:
    """Replies per cluster and cell: the sufficient statistics of every metric.

    Args:
        labels: label codes, shape (cards,).
        preds: prediction codes, shape (cards,) or (cards, repeats).
        clusters: cluster numbers below ``n``, shape (cards,).
        n: number of clusters, those without cards included.

    Returns:
        Counts, shape (n, ``CELLS``).
    """
    cells = _cells(labels, preds)
    own = clusters if preds.ndim == 1 else clusters[:, None]
    places = (own * CELLS + cells).ravel()
    return np.bincount(places, minlength=n * CELLS).reshape(n, CELLS).astype(np.float64)


def _cells(labels: Codes, preds: Codes) -> NDArray[np.int64]:
    """Cell numbers, in the shape of ``preds``."""
    rows = labels.astype(np.int64) * len(PREDS)
    return (rows if preds.ndim == 1 else rows[:, None]) + preds


def table_of(counts: Floats, *, labels: tuple[Label, ...] = LABELS) -> Table:
    """The readable table of cell counts, for ``labels`` only."""
    rows: Table = {}
    for label in labels:
        start = LABEL_CODE[label] * len(PREDS)
        row = counts[start : start + len(PREDS)]
        rows[label] = {pred: as_number(row[code]) for code, pred in enumerate(PREDS)}
    return rows


def counts_of(table: Mapping[str, Mapping[str, Number]]) -> Floats:
    """Cell counts of a readable table; absent labels and predictions count zero.

    Raises:
        KeyError: a label or prediction that does not exist.
    """
    counts = np.zeros(CELLS)
    for label, row in table.items():
        for pred, number in row.items():
            counts[LABEL_CODE[label] * len(PREDS) + PRED_CODE[pred]] = number
    return counts


def as_number(value: float) -> Number:
    """``value`` as an int where it is one, so that counts read as counts."""
    number = float(value)
    return int(number) if number.is_integer() else number


def cards_per_label(counts: Floats) -> dict[Label, int]:
    """Cards of each label, whatever was answered."""
    sums = counts.reshape(len(LABELS), len(PREDS)).sum(axis=1)
    return {label: round(float(sums[code])) for code, label in enumerate(LABELS)}


CONTROLS: dict[str, tuple[float, float, float]] = {
    "always-YES": (1.0, 0.0, 0.0),
    "always-NO": (0.0, 1.0, 0.0),
    "always-UNKNOWN": (0.0, 0.0, 1.0),
    "random": (1 / 3, 1 / 3, 1 / 3),
}
"""Systems that look at nothing, by their probabilities of YES, NO and UNKNOWN."""


def control_counts(cards: Mapping[Label, int]) -> dict[str, Floats]:
    """What each control scores on these cards: exact, and in expectation for ``random``.

    The expectation is of the *counts*; a metric of the random control is the ratio of two
    expected counts.
    """
    controls: dict[str, Floats] = {}
    for name, shares in CONTROLS.items():
        counts = np.zeros((len(LABELS), len(PREDS)))
        for code, label in enumerate(LABELS):
            counts[code, : len(shares)] = np.array(shares) * cards.get(label, 0)
        controls[name] = counts.reshape(CELLS)
    return controls


def right_cards(labels: Codes, preds: Codes, numerator: Floats, denominator: Floats) -> Floats:
    """Per card of a metric's denominator, whether it counts in the numerator.

    Args:
        labels: label codes, shape (n,).
        preds: prediction codes, shape (n,), or (n, repeats).
        numerator: cell weights of a metric whose denominator is fixed by the cards.
        denominator: its cell weights.

    Returns:
        0/1, or with repeats the mean of them, one per card the metric is about, in the order of
        the cards.
    """
    rows = labels.astype(np.int64)[:, None] * len(PREDS)
    cells = rows + (preds if preds.ndim == 2 else preds[:, None])
    right: Floats = numerator[cells].mean(axis=1)[(denominator[cells] > 0).all(axis=1)]
    return right
