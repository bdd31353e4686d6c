"""Makes columns of cards from the numbers that the reader stores, and names a card set by them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from cards.generation.kinds import FAITHFULNESS_KINDS, NEAR_MISS_PREFIX
from eval.abstention.metrics.outcomes import Codes
from kg.base.packed_strings import PackedStrings, StringColumn
from kg.claims import GOLD_OF_LABEL, LABELS


def make_column(strings: Sequence[str], numbers: NDArray[np.int32]) -> StringColumn:
    """Makes the column that has ``strings[number]`` for each number."""
    distinct = StringColumn.from_strings(strings)
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


def compute_fingerprint(ids: Sequence[str], labels: Codes, golds: Codes) -> str:
    """Computes an identity for a card set without a hash, from ids, labels and gold answers."""
    digest = hashlib.sha256()
    separator = b"["
    for card, label, gold in zip(ids, labels.tolist(), golds.tolist(), strict=True):
        row = [card, LABELS[label], GOLD_OF_LABEL[LABELS[gold]]]
        digest.update(separator + msgspec.json.encode(row))
        separator = b","
    digest.update(b"]")
    return f"ids-{digest.hexdigest()[:12]}"
