"""Reads what several systems answered to each card, cards that some were not asked included.

Unlike ``read_observations``, no card is left out because one system lacks it.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from cards.joiner import iter_joined_cards
from eval.abstention.manifest import find_card_file
from eval.abstention.metrics.card_columns import find_headline_cards, make_column, rank_clusters
from eval.abstention.metrics.missing_rows import add_missing_rows, make_missing_row
from eval.abstention.metrics.outcomes import CONTROLS, ERROR, Codes
from eval.abstention.metrics.reader import ResultReader
from eval.abstention.metrics.record import Source
from eval.abstention.result import RAW_CLOSED_BOOK
from eval.metrics.gate import select_systems
from kg.base.errors import CardSetMismatchError, MissingFileError, SystemNotFoundError
from kg.base.packed_strings import PackedStrings, StringColumn
from kg.base.plain_text import join_list
from kg.base.provenance import manifest_path

NOT_ASKED = -1
"""Stands instead of a prediction code where a system was not asked."""
MIN_SYSTEMS = 2
"""Minimum number of systems by which difficulty is measured."""


@dataclass(frozen=True, kw_only=True)
class CardAnswers:
    """The answers of some systems to n cards, sorted by id.

    Attributes:
        ids: ids of the cards.
        golds: codes of the gold answers, shape (n,).
        labels, kinds, levels, predicates: of the cards; empty where unknown. Levels are the stated
            difficulties.
        clusters: cluster numbers 0 … n_clusters-1, shape (n,).
        triplets: the number of each card's triplet, shape (n,); -1 where unknown.
        is_headline: mask of the cards that are no near-misses or faithfulness cards, shape (n,).
        preds: by system, prediction codes of shape (n, repeats); ``NOT_ASKED`` where it was not
            asked.
    """

    ids: PackedStrings
    golds: Codes
    labels: Codes
    kinds: StringColumn
    levels: StringColumn
    predicates: StringColumn
    clusters: NDArray[np.int64]
    triplets: NDArray[np.int32]
    is_headline: NDArray[np.bool_]
    preds: dict[str, Codes]

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.clusters.max()) + 1


def select_judging_systems(
    systems: Sequence[str],
    oracles: Collection[str],
    controls: Collection[str] = CONTROLS,
    selectors: Sequence[str] = (),
) -> list[str]:
    """Selects the systems whose failures say how hard a card is.

    By default all except controls, oracles (which see more than the card) and systems that are
    asked without the card.

    Args:
        systems: names of all systems.
        oracles: names of the declared oracles.
        controls: names of the controls.
        selectors: names or patterns that select other systems, as in conditions of a gate.

    Raises:
        SystemNotFoundError: a selector matches no system, or fewer than two systems are selected
            by selectors.
    """
    if selectors:
        option = "--difficulty-system"
        found = {
            name for text in selectors for name in select_systems(text, systems, systems, option)
        }
        if len(found) < MIN_SYSTEMS:
            raise SystemNotFoundError(
                f"difficulty is measured by at least two systems, and this is only {min(found)}",
                where=option,
                hint=f"The results have {join_list(list(systems))}.",
            )
        return [name for name in systems if name in found]
    return [
        name
        for name in systems
        if name not in oracles and name not in controls and not name.startswith(RAW_CLOSED_BOOK)
    ]


def read_card_answers(
    files: Sequence[Path],
    systems: Sequence[str],
    *,
    suffixes: Sequence[str] = (),
    cards: Sequence[Path] = (),
    without_mined: bool = False,
) -> CardAnswers:
    """Reads the answers of some systems to all cards that any of them was asked.

    A card that a system should have answered, by its manifest, and has no row of is an ERROR. So
    is a card that another system answered, if it is not known what the system was asked.

    Args:
        files: result files of one card set, which were checked before.
        systems: names of the systems, suffixes included.
        suffixes: for each file, what is appended to the names of its systems.
        cards: the card files; by default those that the manifests name and that exist.
        without_mined: leave out the C cards whose proof rests only on rules found in the data.

    Raises:
        EpocheError: as ``read_observations``.
    """
    reader = ResultReader()
    endings = suffixes or [""] * len(files)
    sources = [
        reader.read_file(path, suffix=suffix) for path, suffix in zip(files, endings, strict=True)
    ]
    unknown: set[str] = set()
    for source, suffix in zip(sources, endings, strict=True):
        if not _add_missing_rows(reader, source, suffix, cards):
            unknown |= set(source.systems)
    predicates = _read_card_fields(reader, list(cards) or _find_card_files(files))
    return _build_answers(reader, systems, unknown, predicates, without_mined=without_mined)


def _add_missing_rows(
    reader: ResultReader, source: Source, suffix: str, cards: Sequence[Path]
) -> bool:
    """Adds an ERROR for each missing row; returns whether it is known which cards were asked."""
    if not cards and not manifest_path(Path(source.path)).is_file():
        return False
    try:
        list(add_missing_rows(reader, source, suffix, cards))
    except (MissingFileError, CardSetMismatchError):
        return False
    return True


def _find_card_files(files: Sequence[Path]) -> list[Path]:
    manifests = [manifest for path in files if (manifest := manifest_path(path)).is_file()]
    found = (find_card_file(manifest) for manifest in manifests)
    return list(dict.fromkeys(path.resolve() for path in found if path is not None))


def _read_card_fields(reader: ResultReader, card_files: Sequence[Path]) -> StringColumn:
    """Adds fields of the cards that rows lack, and returns the predicates of the claims."""
    numbers: dict[str, int] = {"": 0}
    codes = array("i", bytes(4 * len(reader.labels)))
    for path in card_files:
        for card in iter_joined_cards([path]):
            number = reader.index.find(card.id)
            if number < 0:
                continue
            codes[number] = numbers.setdefault(card.claim.pred, len(numbers))
            row = make_missing_row(card, "")
            reader.fill_missing_fields(
                number, replace(row, cluster=card.cluster or card.claim.subj)
            )
    return StringColumn(list(numbers), np.array(codes, dtype=np.int32))


def _build_answers(
    reader: ResultReader,
    systems: Sequence[str],
    unknown: Collection[str],
    predicates: StringColumn,
    *,
    without_mined: bool,
) -> CardAnswers:
    preds = {}
    for name in systems:
        columns = [reader.get_preds(name, repeat) for repeat in reader.list_repeats(name)]
        preds[name] = np.stack(columns, axis=1)
        if name in unknown:
            preds[name][preds[name] < 0] = ERROR
    traits = np.array(reader.traits, dtype=np.int32)
    is_mined = np.array([t.is_mined for t in reader.distinct_traits], dtype=np.bool_)[traits]
    is_asked = np.any([(codes >= 0).any(axis=1) for codes in preds.values()], axis=0)
    ids = reader.release_ids()
    order = ids.sort_indices()
    order = order[is_asked[order] & ~(is_mined[order] & without_mined)]
    traits = traits[order]
    kinds = make_column([t.kind for t in reader.distinct_traits], traits)
    clusters = np.array(reader.clusters, dtype=np.int32)[order]
    return CardAnswers(
        ids=ids.take(order),
        golds=np.frombuffer(bytes(reader.golds), dtype=np.int8)[order],
        labels=np.frombuffer(bytes(reader.labels), dtype=np.int8)[order],
        kinds=kinds,
        levels=make_column([t.difficulty for t in reader.distinct_traits], traits),
        predicates=predicates.take(order),
        clusters=rank_clusters(clusters, reader.cluster_names.strings).astype(np.int64),
        triplets=np.array(reader.triplets, dtype=np.int32)[order],
        is_headline=find_headline_cards(kinds),
        preds={name: codes[order] for name, codes in preds.items()},
    )
