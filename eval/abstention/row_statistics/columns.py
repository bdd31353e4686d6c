"""Turns what a reader of rows holds into statistics, and statistics into what it would hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from eval.abstention.manifest import RunManifest, write_manifest
from eval.abstention.row_statistics.record import (
    DIGEST_MODULUS,
    FORMAT,
    NO_NUMBER,
    Answers,
    RowStatistics,
    Strings,
    digest_rows,
    read_statistics,
    statistics_path,
    to_column,
    to_numbers,
)
from kg.base.files import convert_write_errors, sha256_bytes, sha256_file, write_bytes_atomic
from kg.base.packed_strings import PackedStrings, StringNumbers
from kg.base.provenance import manifest_path, package_version

if TYPE_CHECKING:
    from eval.abstention.metrics.reader import ResultReader

_Number = Callable[[Sequence[str]], NDArray[np.int64]]
"""Finds or adds the numbers of strings."""
_CHUNK: Final = 10_000
"""Number of strings that are unpacked at once, to need little memory."""
_NAN: Final = float("nan")


def compute_statistics(results: Path, reader: ResultReader) -> RowStatistics | None:
    """Computes the statistics of a result file from its rows.

    Args:
        results: the file.
        reader: a new reader.

    Returns:
        The statistics; None if there are no rows, or they do not say all that those of a run do.
    """
    if not results.stat().st_size:
        return None
    n_rows = reader.read_file(results).rows
    return _collect(reader, n_rows, sha256_file(results), int(digest_rows(results), 16), None)


def merge_statistics(
    shards: Sequence[Path], merged: Path, reader: ResultReader
) -> RowStatistics | None:
    """Adds the statistics of all shards of a run.

    Args:
        shards: the result files of the shards, in their order.
        merged: the merged result file.
        reader: a new reader.

    Returns:
        Those of the merged file, the same as from its rows; None if a shard with rows has none.
    """
    n_rows, digest = 0, 0
    places: list[NDArray[np.int64]] = []
    for path in shards:
        if not path.stat().st_size:
            continue
        statistics = read_statistics(path)
        if statistics is None or add_statistics(reader, statistics, path) is None:
            return None
        n_rows += statistics.n_rows
        digest += int(statistics.rows_digest, 16)
        places.append(np.arange(len(statistics.ids)))
    if not places:
        return None
    # Shard i of n has every n-th card, so the first cards of all shards come first.
    order = np.argsort(np.concatenate(places), kind="stable")
    return _collect(reader, n_rows, sha256_file(merged), digest % DIGEST_MODULUS, order)


def write_statistics(
    results: Path, manifest: RunManifest, statistics: RowStatistics | None
) -> RunManifest:
    """Writes statistics beside their rows, and their hash in the manifest, which is returned.

    If there are none, what is there is deleted: it is of rows that were there before.
    """
    if statistics is None:
        with convert_write_errors(statistics_path(results)):
            statistics_path(results).unlink(missing_ok=True)
        return manifest
    content = msgspec.msgpack.encode(statistics)
    write_bytes_atomic(statistics_path(results), content)
    manifest = msgspec.structs.replace(manifest, statistics_sha256=sha256_bytes(content))
    write_manifest(manifest_path(results), manifest)
    return manifest


def add_statistics(
    reader: ResultReader, statistics: RowStatistics, path: Path, *, suffix: str = ""
) -> tuple[str, ...] | None:
    """Adds statistics to a reader, which then holds what it would if it had read the rows.

    Returns:
        The systems, sorted. None, and nothing is added, if the rows do not
        fit to those that were read before, so that they must be read to say why.
    """
    if reader.n_unnamed_rows or (reader.card_set not in ("", statistics.card_set)):
        return None
    ids = statistics.ids.unpack()
    is_first = not len(reader.index)
    numbers = np.full(len(ids), -1) if is_first else _map_strings(ids, reader.index.find_all)
    answers = {(one.system + suffix, one.repeat): one for one in statistics.answers}
    known = np.flatnonzero(numbers >= 0)
    if known.size and not (
        _are_same_cards(reader, statistics, known, numbers[known])
        and all(reader.are_unanswered(key, numbers[known]) for key in answers)
    ):
        return None
    new = np.flatnonzero(numbers < 0)
    if new.size:
        _add_cards(reader, statistics, ids, new)
        numbers[new] = np.arange(len(reader.index) - new.size, len(reader.index))
    for key, one in answers.items():
        codes = np.frombuffer(one.preds, dtype=np.uint8)
        confidences = np.frombuffer(one.confidences, dtype="<f8")
        reader.store_answers(
            key, numbers, codes, confidences if confidences.size else np.full(len(ids), _NAN)
        )
        reader.first_path.setdefault(key[0], path)
    if not reader.card_set:
        reader.card_set, reader.card_set_path = statistics.card_set, path
    return tuple(sorted({system for system, _ in answers}))


def _are_same_cards(
    reader: ResultReader,
    statistics: RowStatistics,
    known: NDArray[np.int64],
    numbers: NDArray[np.int64],
) -> bool:
    """Returns whether the reader has the same fields of the cards that it knows.

    Args:
        reader: the reader.
        statistics: the statistics.
        known: the indices of these cards in the statistics.
        numbers: their numbers in the reader.
    """
    given_traits = statistics.distinct_traits
    traits = [
        reader.distinct_traits.index(one) if one in reader.distinct_traits else NO_NUMBER
        for one in given_traits
    ]
    triplets, clusters = _translate_names(
        statistics, reader.triplet_names.find_all, reader.cluster_names.find_all
    )
    columns = (
        (np.frombuffer(statistics.labels, np.uint8), np.frombuffer(reader.labels, np.uint8)),
        (np.frombuffer(statistics.golds, np.uint8), np.frombuffer(reader.golds, np.uint8)),
        (np.array(traits)[to_numbers(statistics.traits)], np.frombuffer(reader.traits, np.intc)),
        (triplets, np.frombuffer(reader.triplets, np.intc)),
        (clusters, np.frombuffer(reader.clusters, np.intc)),
    )
    return all(np.array_equal(given[known], stored[numbers]) for given, stored in columns)


def _add_cards(
    reader: ResultReader, statistics: RowStatistics, ids: PackedStrings, new: NDArray[np.int64]
) -> None:
    """Adds cards that the reader does not have, with these indices in the statistics."""
    if not len(reader.index):
        reader.index = StringNumbers(ids)
    else:
        _map_strings(ids.take(new), reader.index.add_all)
    reader.labels += np.frombuffer(statistics.labels, np.uint8)[new].tobytes()
    reader.golds += np.frombuffer(statistics.golds, np.uint8)[new].tobytes()
    given_traits = statistics.distinct_traits
    traits = np.array([reader.number_traits(one) for one in given_traits], dtype=np.intc)
    reader.traits.frombytes(traits[to_numbers(statistics.traits)[new]].tobytes())
    triplets, clusters = (
        column[new]
        for column in _translate_names(
            statistics, reader.triplet_names.add_all, reader.cluster_names.add_all
        )
    )
    reader.clusters.frombytes(clusters.astype(np.intc).tobytes())
    reader.triplets.frombytes(triplets.astype(np.intc).tobytes())
    if (
        not all(kind and difficulty for kind, difficulty, *_ in given_traits)
        or (clusters < 0).any()
    ):
        reader.has_incomplete_cards = True


def _translate_names(
    statistics: RowStatistics, number_triplets: _Number, number_clusters: _Number
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns a reader's numbers of the cards' triplets and clusters; ``NO_NUMBER`` for none."""
    columns = (
        (statistics.triplets, statistics.triplet_names, number_triplets),
        (statistics.clusters, statistics.cluster_names, number_clusters),
    )
    # The last number stands for no name, of which the number is -1.
    triplets, clusters = (
        np.append(_map_strings(names.unpack(), number), NO_NUMBER)[to_numbers(column)]
        for column, names, number in columns
    )
    return triplets, clusters


def _map_strings(strings: PackedStrings, number: _Number) -> NDArray[np.int64]:
    """Numbers many strings, some at a time."""
    parts = [number(strings[start : start + _CHUNK]) for start in range(0, len(strings), _CHUNK)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _collect(
    reader: ResultReader,
    n_rows: int,
    rows_sha256: str,
    digest: int,
    order: NDArray[np.int64] | None,
) -> RowStatistics | None:
    """Returns what a reader holds of a single run, with the cards in the given order."""
    if reader.n_unnamed_rows or reader.n_invalid_confidences:
        return None
    n = len(reader.index)
    order = np.arange(n) if order is None else order
    traits, traits_order = _renumber(np.frombuffer(reader.traits, np.intc)[order])
    triplets, triplet_order = _renumber(np.frombuffer(reader.triplets, np.intc)[order])
    clusters, cluster_order = _renumber(np.frombuffer(reader.clusters, np.intc)[order])
    keys = [
        (name, repeat) for name in reader.list_systems() for repeat in reader.list_repeats(name)
    ]
    return RowStatistics(
        format=FORMAT,
        version=package_version(),
        rows_sha256=rows_sha256,
        rows_digest=f"{digest:064x}",
        card_set=reader.card_set,
        n_rows=n_rows,
        ids=_pack(reader.index, order),
        labels=np.frombuffer(reader.labels, np.uint8)[order].tobytes(),
        golds=np.frombuffer(reader.golds, np.uint8)[order].tobytes(),
        traits=to_column(traits),
        distinct_traits=[tuple(reader.distinct_traits[number]) for number in traits_order.tolist()],
        triplets=to_column(triplets),
        triplet_names=_pack(reader.triplet_names, triplet_order),
        clusters=to_column(clusters),
        cluster_names=_pack(reader.cluster_names, cluster_order),
        answers=[
            Answers(
                name,
                repeat,
                reader.get_preds(name, repeat)[order].astype(np.uint8).tobytes(),
                reader.get_confidences(name, repeat)[order].astype("<f8").tobytes()
                if reader.has_confidence(name, [repeat])
                else b"",
            )
            for name, repeat in keys
        ],
    )


def _pack(strings: StringNumbers, order: NDArray[Any]) -> Strings:
    taken = strings.strings.take(order)
    return Strings(*taken.to_bytes())


def _renumber(numbers: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Numbers what occurs in the order of its first place; also returns the old numbers by new."""
    distinct, firsts, places = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    old_numbers = distinct[order]
    new_numbers = np.empty(len(distinct), dtype=np.int64)
    named = old_numbers >= 0
    new_numbers[order] = np.where(named, np.cumsum(named) - 1, NO_NUMBER)
    return new_numbers[places], old_numbers[named]
