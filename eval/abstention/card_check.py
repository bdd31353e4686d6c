"""Checks results against their card files, and adds card fields that the results do not have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cards.card import hash_card_set
from cards.card_blocks import CardBlock, CheckedCard
from cards.card_origin import read_card_origin
from cards.joiner import iter_joined_cards, join_cards
from eval.abstention.metrics.card_columns import is_about_absent_fields
from eval.abstention.metrics.mined_cards import leave_out_mined_cards
from eval.abstention.metrics.observations import Common, Observations, read_observations
from eval.abstention.metrics.outcomes import LABEL_CODE
from eval.abstention.result import read_results
from eval.abstention.run_integrity import check_card_files
from kg.base.console import print_warning
from kg.base.errors import CardSetMismatchError
from kg.base.large_arrays import return_large_arrays
from kg.base.packed_strings import PackedStrings, StringColumn, StringNumbers
from kg.claims import LABELS


def read_checked_results(
    results: Sequence[Path],
    cards: Sequence[Path] = (),
    *,
    skip_other_cards: bool = False,
    common: Common = False,
    distinguish_equal_names: bool = False,
    without_mined: bool = False,
    allow_changed: bool = False,
    keep_ids: bool = False,
) -> Observations:
    """Reads result files and checks them against the card files, if any are given.

    Args:
        results: the result files.
        cards: the card files, in the order in which they were asked; may be empty.
        skip_other_cards: leave out result files of other card sets, with a warning.
        common: as in ``read_observations``.
        distinguish_equal_names: make the names different where two files have the same system name.
        without_mined: leave out the C cards whose proof rests only on rules found in the data.
        allow_changed: accept rows and cards that are not as their run left them.
        keep_ids: keep the ids of the cards, which take more memory than the rest; no metric needs
            them.

    Raises:
        MissingFileError, RecordError, DuplicateIdError, CardSetMismatchError, ChangedRunError: as
            in ``read_observations`` and ``check_cards``.
        SettingError: without the cards that rest on rules found in the data, none remains.
    """
    return_large_arrays()
    if skip_other_cards and cards:
        results = filter_results_by_cards(results, cards)
    observations = read_observations(
        results,
        common=common,
        distinguish_equal_names=distinguish_equal_names,
        cards=cards,
        allow_changed=allow_changed,
    )
    if cards:
        observations = check_cards(observations, cards, allow_changed=allow_changed)
    if without_mined:
        observations = leave_out_mined_cards(observations)
    if keep_ids:
        return observations
    return replace(observations, ids=PackedStrings(), row_order=np.empty(0, dtype=np.int32))


def filter_results_by_cards(results: Sequence[Path], cards: Sequence[Path]) -> list[Path]:
    """Leaves out the result files of other card sets, with a warning for each.

    This is for pipelines that write the results of several runs to one folder. A file whose first
    row names no card set is not left out; ``check_cards`` then compares the cards' ids.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: as in ``iter_joined_cards`` and
            ``read_results``.
        CardSetMismatchError: all files belong to other card sets.
    """
    card_set_hash = hash_card_set(iter_joined_cards(cards))[:12]
    matching_files = []
    for path in results:
        first_row = next(iter(read_results(path)), None)
        if first_row is None or first_row.cards in ("", card_set_hash):
            matching_files.append(path)
        else:
            print_warning(
                f"{path} left out: it is of card set {first_row.cards}, not {card_set_hash}"
            )
    if not matching_files:
        raise CardSetMismatchError(
            f"no results are of card set {card_set_hash}",
            where=", ".join(map(str, results)),
            hint="Run the systems over these cards first.",
        )
    return matching_files


def check_cards(
    observations: Observations, paths: Sequence[Path | str], *, allow_changed: bool = False
) -> Observations:
    """Raises an error for results of other cards, or of cards with another label.

    If the results name no card set, the hash of these cards is added, and the kind, difficulty and
    cluster of each card (the claim's subject for a card without a cluster).

    Returns:
        The observations, with added fields and notes.

    Args:
        observations: the contents of the result files.
        paths: the card files, in the order in which they were asked.
        allow_changed: accept copies of cards, and labels that their proofs contradict.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: as in ``iter_joined_cards``.
        CardSetMismatchError: the results are of other cards.
        ChangedRunError: as in ``check_card_files``.
    """
    # Observations without a card set have a hash of their ids instead, with this prefix.
    has_card_set = not observations.card_set.startswith("ids-")
    files = [Path(path) for path in paths]
    found = _FoundCards(files, observations, copies_fields=not has_card_set)
    integrity = check_card_files(files, found.store_block, allow_changed=allow_changed)
    card_set_hash = integrity.cards_sha256[:12]
    where = ", ".join(str(path) for path in paths)
    if has_card_set and observations.card_set != card_set_hash:
        raise CardSetMismatchError(
            f"the results are of card set {observations.card_set}, these cards are {card_set_hash}",
            where=where,
            hint="Give the card files of the run, in the same order, or run again.",
        )
    wrong_cards = np.flatnonzero(found.labels != observations.labels)
    if wrong_cards.size:
        card = int(wrong_cards[0])
        found_label = int(found.labels[card])
        raise CardSetMismatchError(
            f"the results contain card {observations.ids[card]!r} as "
            f"{LABELS[observations.labels[card]]}, the card files "
            + ("do not contain it" if found_label < 0 else f"as {LABELS[found_label]}"),
            where=where,
            hint="These results belong to other cards; give the card files of the run.",
        )
    n_unanswered = found.n_cards - len(observations.ids)
    notes = observations.notes
    if n_unanswered:
        notes = (
            *notes,
            f"{n_unanswered} of {found.n_cards} cards have no result; they do not count.",
        )
    warnings = dict.fromkeys([*integrity.warnings, *observations.warnings])
    for path in paths:
        warnings |= dict.fromkeys(read_card_origin(path).warnings)
    checked_observations = replace(
        observations,
        notes=notes,
        warnings=tuple(warnings),
        signature_details=(*observations.signature_details, *integrity.signature_details),
        mined=found.mined,
    )
    if has_card_set:
        return checked_observations
    names, clusters = np.unique(found.clusters, return_inverse=True)
    order = np.argsort(found.strings.strings.take(names).sort_indices())
    return replace(
        checked_observations,
        card_set=card_set_hash,
        kinds=found.make_column(found.kinds),
        difficulties=found.make_column(found.difficulties),
        full_labels=found.make_column(found.full_labels),
        triplets=np.where(found.triplets == found.strings.find(""), np.int32(-1), found.triplets),
        clusters=order[clusters].astype(np.int32),
        notes=tuple(note for note in notes if not is_about_absent_fields(note)),
    )


class _FoundCards:
    """What card files say of the cards of some observations, in the order of the observations.

    Attributes:
        n_cards: number of cards in the files.
        labels: label codes; -1 for a card that is not in the files.
        mined: mask of the cards that rest on rules found in the data.
        kinds, difficulties, full_labels, triplets, clusters: numbers in ``strings``, if fields are
            copied; the cluster of a card without one is the claim's subject.
        strings: the strings by number.
    """

    def __init__(
        self, files: Sequence[Path], observations: Observations, *, copies_fields: bool
    ) -> None:
        n = len(observations.ids)
        self._files = files
        self._ids, self._row_order = observations.ids, observations.row_order
        self._row_ids = self._ids.take(self._row_order)
        self._other_ids = StringNumbers()
        self._copies_fields = copies_fields
        self.n_cards = 0
        self.labels = np.full(n, -1, dtype=np.int8)
        self.mined = np.zeros(n, dtype=np.bool_)
        self.strings = StringNumbers()
        columns = (np.zeros(n if copies_fields else 0, dtype=np.int32) for _ in range(5))
        self.kinds, self.difficulties, self.full_labels, self.triplets, self.clusters = columns

    def store_block(self, block: CardBlock) -> None:
        """Stores what some cards say.

        Raises:
            DuplicateIdError: the id of a card occurs twice, in one file or in two.
        """
        cards = block.cards
        numbers = self._find_next_rows(cards)
        if numbers is None:
            numbers = self._index.find_all([card.id for card in block.cards])
            is_found = numbers >= 0
            cards = [block.cards[index] for index in np.flatnonzero(is_found).tolist()]
            others = [block.cards[index].id for index in np.flatnonzero(~is_found).tolist()]
            numbers = numbers[is_found]
            n_ids = len(self._other_ids) + len(others)
            self._other_ids.add_all(others)
            if len(self._other_ids) < n_ids or np.unique(numbers).size < numbers.size:
                join_cards(self._files)  # which names the id and its files
        if (self.labels[numbers] >= 0).any():
            join_cards(self._files)
        self.n_cards += len(block.cards)
        self.labels[numbers] = [LABEL_CODE[card.label] for card in cards]
        self.mined[numbers] = [card.meta.mined_rules is True for card in cards]
        if not self._copies_fields:
            return
        for column, texts in (
            (self.kinds, [card.kind for card in cards]),
            (self.difficulties, [card.difficulty or "" for card in cards]),
            (self.full_labels, [card.full_label for card in cards]),
            (self.triplets, [card.triplet for card in cards]),
            (self.clusters, [card.cluster or card.claim.subj for card in cards]),
        ):
            column[numbers] = self.strings.add_all(texts)

    def _find_next_rows(self, cards: Sequence[CheckedCard]) -> NDArray[np.integer[Any]] | None:
        """Returns the numbers of the cards if the rows are about the same ones in this order.

        Runs write them so, and to compare ids takes far less time than to look them up.
        """
        ids = [card.id.encode("utf-8", "surrogatepass") for card in cards]
        if not self._row_ids.has_run(self.n_cards, ids):
            return None
        return self._row_order[self.n_cards : self.n_cards + len(cards)]

    @cached_property
    def _index(self) -> StringNumbers:
        return StringNumbers(self._ids)

    def make_column(self, numbers: NDArray[np.int32]) -> StringColumn:
        """Makes a column of the strings with these numbers."""
        used, codes = np.unique(numbers, return_inverse=True)
        return StringColumn([self.strings.strings[number] for number in used.tolist()], codes)
