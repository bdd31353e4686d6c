"""Makes columns of cards from the numbers that the reader stores, and names a card set by them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from cards.generation.kinds import FAITHFULNESS_KINDS, NEAR_MISS_PREFIX
from eval.abstention.metrics.outcomes import Codes
from kg.base.packed_strings import PackedStrings, StringColumn
from kg.claims import GOLD_OF_LABEL, LABELS

_NAME_NO = " name no "
_CHUNK = 10_000
"""Number of cards whose values are listed at once, to need little memory."""


@dataclass(frozen=True)
class CardColumns:
    """What decides in which metrics cards count and which are resampled together, sorted by id.

    The attributes are those of ``Observations``.
    """

    ids: PackedStrings
    labels: Codes
    golds: Codes
    kinds: StringColumn
    difficulties: StringColumn
    full_labels: StringColumn
    clusters: NDArray[np.integer[Any]]
    triplets: NDArray[np.int32]
    mined: NDArray[np.bool_]


def make_column(strings: Sequence[str], numbers: NDArray[np.int32]) -> StringColumn:
    """Makes the column that has ``strings[number]`` for each number."""
    distinct = StringColumn.from_strings(strings)
    if len(distinct.names) == 1:  # one number stands for all
        return StringColumn(distinct.names, np.broadcast_to(distinct.codes[0], numbers.shape))
    return StringColumn(distinct.names, distinct.codes[numbers])


def rank_clusters(clusters: NDArray[np.int32], names: PackedStrings) -> NDArray[np.integer[Any]]:
    """Numbers the clusters that occur in the order of their names.

    A card without a cluster, -1, is a cluster of its own; these come first, in the order of the
    cards.
    """
    order = names.sort_indices()
    occurs = np.zeros(len(names), dtype=np.bool_)
    occurs[clusters[clusters >= 0]] = True
    order = order[occurs[order]]
    is_single = clusters < 0
    n_single = int(is_single.sum())
    ranks = np.zeros(len(names) + 1, dtype=np.int32)  # the last is that of -1
    ranks[order] = n_single + np.arange(len(order), dtype=np.int32)
    numbers: NDArray[np.int32] = ranks[clusters]
    numbers[is_single] = np.arange(n_single, dtype=np.int32)
    return numbers.astype(np.min_scalar_type(n_single + len(order)))


def find_near_misses(kinds: StringColumn) -> NDArray[np.bool_]:
    """Returns the mask of the cards that are near-misses, shape (n,)."""
    return kinds.select(lambda kind: kind.startswith(NEAR_MISS_PREFIX))


def find_headline_cards(kinds: StringColumn) -> NDArray[np.bool_]:
    """Returns the mask of the cards that enter the headline metrics, shape (n,).

    All except faithfulness cards and near-misses. If there are no other cards, the near-misses are
    the headline.
    """
    is_not_faithfulness = kinds.select(lambda kind: kind not in FAITHFULNESS_KINDS)
    is_ordinary = is_not_faithfulness & ~find_near_misses(kinds)
    return is_ordinary if is_ordinary.any() else is_not_faithfulness


def compute_fingerprint(cards: CardColumns) -> str:
    """Computes an identity for a card set without a hash.

    It is made from all that decides values: ids, labels, gold answers, and what rows say of kind,
    difficulty, full label, mined rules, cluster and triplet. Names of triplets do not matter, nor
    do those of clusters except for their order.
    """
    columns = _list_given_columns(cards)
    digest = hashlib.sha256(b" ".join(name.encode() for name in columns))
    # The cards are one JSON array, of which a part at a time is in memory.
    for start in range(0, len(cards.ids), _CHUNK):
        part = slice(start, start + _CHUNK)
        values = [_list_values(column[part]) for column in columns.values()]
        labels = [LABELS[code] for code in cards.labels[part].tolist()]
        golds = [GOLD_OF_LABEL[LABELS[code]] for code in cards.golds[part].tolist()]
        rows = list(zip(cards.ids[part], labels, golds, *values, strict=True))
        digest.update((b"," if start else b"[") + msgspec.json.encode(rows)[1:-1])
    digest.update(b"]")
    return f"ids-{digest.hexdigest()[:12]}"


def _list_values(column: Sequence[str] | NDArray[Any]) -> Sequence[object]:
    return column.tolist() if isinstance(column, np.ndarray) else column


def _list_given_columns(cards: CardColumns) -> dict[str, StringColumn | NDArray[Any]]:
    """Returns the columns, by name, in which the rows say something of some card."""
    columns: dict[str, StringColumn | NDArray[Any]] = {
        name: column
        for name, column in (
            ("kind", cards.kinds),
            ("difficulty", cards.difficulties),
            ("full_label", cards.full_labels),
        )
        if column.select(bool).any()
    }
    if cards.mined.any():
        columns["mined"] = cards.mined
    # The last number says so in most cases, without comparing all.
    n, clusters = len(cards.ids), cards.clusters
    if n and (clusters[-1] != n - 1 or (clusters != np.arange(n, dtype=clusters.dtype)).any()):
        columns["cluster"] = cards.clusters
    if (cards.triplets >= 0).any():
        columns["triplet"] = _find_first_cards(cards.triplets)
    return columns


def _find_first_cards(triplets: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the index of the first card of each card's triplet; -1 where there is none."""
    first_cards = np.full(int(triplets.max()) + 2, -1, dtype=np.int32)
    starts = range(0, len(triplets), _CHUNK)
    for start in reversed(starts):
        part = triplets[start : start + _CHUNK]
        # Of several cards for one place, the last one written stays, which is the first card.
        first_cards[part[::-1]] = np.arange(start + len(part) - 1, start - 1, -1)
    first_cards[-1] = -1  # the place of -1
    found = np.empty(len(triplets), dtype=np.int32)
    for start in starts:
        found[start : start + _CHUNK] = first_cards[triplets[start : start + _CHUNK]]
    return found


def describe_absent_fields(cards: CardColumns, *, has_clusters: bool) -> Iterator[str]:
    """Says which fields that decide what counts are not in the rows, and what that means."""
    n, n_absent = len(cards.ids), int(cards.kinds.select(lambda kind: not kind).sum())
    if n_absent:
        rows = "The rows" if n_absent == n else f"The rows of {n_absent:,} of {n:,} cards"
        yield (
            f"{rows}{_NAME_NO}kind, so near-misses and context-faithfulness cards, if any, count "
            "in every headline metric; give --cards."
        )
    if not has_clusters:
        yield f"The results{_NAME_NO}clusters: each card is resampled independently."
    if n_absent and (cards.triplets < 0).all():
        yield (
            f"The rows{_NAME_NO}triplets, so geomean-recall takes the place of all-three; give "
            "--cards if the cards have triplets."
        )


def is_about_absent_fields(note: str) -> bool:
    """Returns whether a note is one of those of ``describe_absent_fields``."""
    return note.startswith(("The rows", "The results")) and _NAME_NO in note
