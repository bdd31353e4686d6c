"""The outcome table that all metrics are computed from: label (E, C, U) × prediction, 15 cells.

A cell is numbered ``5 * label + prediction`` in the orders of ``LABELS`` and ``PREDS``. Arrays of
length ``CELLS`` count cards per cell. Metrics (``abstention.py``) are ratios of sums of cells, so
resampling and bounding only add up counts again and need no access to the cards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.abstention.metrics.record import Table
from eval.abstention.result import PREDS, Pred
from eval.metrics.metric_value import Number
from kg.claims import GOLD_OF_LABEL, LABELS, Label

Floats = NDArray[np.float64]
Codes = NDArray[np.int8]

CELLS = len(LABELS) * len(PREDS)
"""Number of cells: fifteen."""

_CHUNK = 100_000
"""Number of cards that are counted at once."""

LABEL_CODE: dict[str, int] = {label: code for code, label in enumerate(LABELS)}
PRED_CODE: dict[str, int] = {pred: code for code, pred in enumerate(PREDS)}
GOLD_CODE: dict[str, int] = {GOLD_OF_LABEL[label]: code for code, label in enumerate(LABELS)}
"""Gold answer → code of the label that has it."""

INVALID = PRED_CODE["INVALID"]
ERROR = PRED_CODE["ERROR"]

UNUSABLE: tuple[Pred, ...] = ("INVALID", "ERROR")


def parse_pred(value: object) -> int:
    """Returns the code of a prediction, also for files that Epoché did not write.

    Only exactly ``"YES"``, ``"NO"`` and ``"UNKNOWN"`` are read as such. Null and ``"ERROR"`` are a
    failed call. Anything else (another case, surrounding spaces, a sentence, a number) is INVALID:
    guessing could credit a system with an abstention it did not state.
    """
    if isinstance(value, str):
        return PRED_CODE.get(value, INVALID)
    return ERROR if value is None else INVALID


def count_cells(labels: Codes, preds: Codes) -> Floats:
    """Counts replies per cell.

    Args:
        labels: label codes, shape (n,).
        preds: prediction codes, shape (n,) or (n, repeats).

    Returns:
        Counts, shape (``CELLS``,).
    """
    counts = np.zeros(CELLS)
    for part in _iter_parts(len(labels)):
        cells = _number_cells(labels[part], preds[part])
        counts += np.bincount(cells.ravel(), minlength=CELLS)
    return counts


def count_cluster_cells(
    labels: Codes, preds: Codes, clusters: NDArray[np.integer[Any]], n: int
) -> Floats:
    """Counts replies per cluster and cell: the sufficient statistics of every metric.

    Args:
        labels: label codes, shape (cards,).
        preds: prediction codes, shape (cards,) or (cards, repeats).
        clusters: cluster numbers below ``n``, shape (cards,).
        n: number of clusters, those without cards included.

    Returns:
        Counts, shape (n, ``CELLS``).
    """
    counts = np.zeros(n * CELLS)
    for part in _iter_parts(len(labels)):
        cells = _number_cells(labels[part], preds[part])
        starts = clusters[part].astype(np.int64) * CELLS
        np.add.at(counts, starts + cells if preds.ndim == 1 else starts[:, None] + cells, 1)
    return counts.reshape(n, CELLS)


def _iter_parts(n_cards: int) -> Iterator[slice]:
    """Yields slices of the cards, since eight bytes for each of a million cards are too many."""
    for start in range(0, n_cards, _CHUNK):
        yield slice(start, start + _CHUNK)


def _number_cells(labels: Codes, preds: Codes) -> NDArray[np.int64]:
    """Returns cell numbers in the shape of ``preds``."""
    rows = labels.astype(np.int64) * len(PREDS)
    return (rows if preds.ndim == 1 else rows[:, None]) + preds


def counts_to_table(counts: Floats, *, labels: tuple[Label, ...] = LABELS) -> Table:
    """Converts cell counts to a table keyed by label and prediction, for ``labels`` only."""
    rows: Table = {}
    for label in labels:
        start = LABEL_CODE[label] * len(PREDS)
        row = counts[start : start + len(PREDS)]
        rows[label] = {pred: as_number(row[code]) for code, pred in enumerate(PREDS)}
    return rows


def as_number(value: float) -> Number:
    """Returns ``value`` as an int if it is a whole number, so that counts are written as ints."""
    number = float(value)
    return int(number) if number.is_integer() else number


def count_cards_per_label(counts: Floats) -> dict[Label, int]:
    """Counts the cards of each label, independent of the answers."""
    sums = counts.reshape(len(LABELS), len(PREDS)).sum(axis=1)
    return {label: round(float(sums[code])) for code, label in enumerate(LABELS)}


CONTROLS: dict[str, tuple[float, float, float]] = {
    "always-YES": (1.0, 0.0, 0.0),
    "always-NO": (0.0, 1.0, 0.0),
    "always-UNKNOWN": (0.0, 0.0, 1.0),
    "random": (1 / 3, 1 / 3, 1 / 3),
}
"""Systems that ignore their input, with their probabilities of YES, NO and UNKNOWN."""


def compute_control_counts(cards: Mapping[Label, int]) -> dict[str, Floats]:
    """Computes each control's cell counts on these cards: exact, or expected for ``random``.

    The expectation is that of the *counts*; a metric of the random control is the ratio of two
    expected counts.
    """
    controls: dict[str, Floats] = {}
    for name, shares in CONTROLS.items():
        counts = np.zeros((len(LABELS), len(PREDS)))
        for code, label in enumerate(LABELS):
            counts[code, : len(shares)] = np.array(shares) * cards.get(label, 0)
        controls[name] = counts.reshape(CELLS)
    return controls


def score_cards(labels: Codes, preds: Codes, numerator: Floats, denominator: Floats) -> Floats:
    """Scores each card in a metric's denominator: 1 if it counts in the numerator, else 0.

    Args:
        labels: label codes, shape (n,).
        preds: prediction codes, shape (n,), or (n, repeats).
        numerator: cell weights of the metric's numerator. The metric must be a plain proportion:
            the same cards are in its denominator, whatever the replies are.
        denominator: cell weights of its denominator.

    Returns:
        One score per card in the denominator, in the order of the cards; with repeats the mean
        score over the replies to the card.
    """
    rows = labels.astype(np.int64)[:, None] * len(PREDS)
    cells = rows + (preds if preds.ndim == 2 else preds[:, None])
    scores: Floats = numerator[cells].mean(axis=1)[(denominator[cells] > 0).all(axis=1)]
    return scores
