"""Checks results against their card files, and adds card fields that the results do not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from sys import intern

import msgspec
import numpy as np

from cards.card import Card, hash_card_set
from cards.card_origin import read_card_origin
from cards.joiner import iter_joined_cards
from eval.abstention.metrics.mined_cards import leave_out_mined_cards
from eval.abstention.metrics.observations import Observations, read_observations
from eval.abstention.metrics.outcomes import LABEL_CODE
from eval.abstention.result import read_results
from eval.abstention.run_integrity import check_card_files
from kg.base.console import print_warning
from kg.base.errors import CardSetMismatchError
from kg.claims import LABELS


class _CheckedCard(msgspec.Struct, gc=False, frozen=True):
    """The fields of a card that are checked against results, or copied to them."""

    label: str
    kind: str
    difficulty: str
    cluster: str
    triplet: str
    full_label: str
    rests_on_mined_rules: bool


def read_checked_results(
    results: Sequence[Path],
    cards: Sequence[Path] = (),
    *,
    skip_other_cards: bool = False,
    common: bool = False,
    distinguish_equal_names: bool = False,
    without_mined: bool = False,
    allow_changed: bool = False,
) -> Observations:
    """Reads result files and checks them against the card files, if any are given.

    Args:
        results: the result files.
        cards: the card files, in the order in which they were asked; may be empty.
        skip_other_cards: leave out result files of other card sets, with a warning.
        common: keep only the cards that every system answered, instead of raising.
        distinguish_equal_names: make the names different where two files have the same system name.
        without_mined: leave out the C cards whose proof rests only on rules found in the data.
        allow_changed: accept rows and cards that are not as their run left them.

    Raises:
        MissingFileError, RecordError, DuplicateIdError, CardSetMismatchError, ChangedRunError: as
            in ``read_observations`` and ``check_cards``.
        SettingError: without the cards that rest on rules found in the data, none remains.
    """
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
    return leave_out_mined_cards(observations) if without_mined else observations


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
    cards_by_id: dict[str, _CheckedCard] = {}
    card_set_hash = hash_card_set(_iter_indexed_cards(paths, cards_by_id))[:12]
    where = ", ".join(str(path) for path in paths)
    # Observations without a card set have a hash of their ids instead, with this prefix.
    has_card_set = not observations.card_set.startswith("ids-")
    if has_card_set and observations.card_set != card_set_hash:
        raise CardSetMismatchError(
            f"the results are of card set {observations.card_set}, these cards are {card_set_hash}",
            where=where,
            hint="Give the card files of the run, in the same order, or run again.",
        )
    for card_id, label in zip(observations.ids, observations.labels.tolist(), strict=True):
        card = cards_by_id.get(card_id)
        if card is None or LABEL_CODE[card.label] != label:
            raise CardSetMismatchError(
                f"the results contain card {card_id!r} as {LABELS[label]}, the card files "
                + ("do not contain it" if card is None else f"as {card.label}"),
                where=where,
                hint="These results belong to other cards; give the card files of the run.",
            )
    n_unanswered = len(cards_by_id) - len(observations.ids)
    notes = observations.notes
    if n_unanswered:
        notes = (
            *notes,
            f"{n_unanswered} of {len(cards_by_id)} cards have no result; they do not count.",
        )
    integrity = check_card_files([Path(path) for path in paths], allow_changed=allow_changed)
    warnings = dict.fromkeys([*integrity.warnings, *observations.warnings])
    for path in paths:
        warnings |= dict.fromkeys(read_card_origin(path).warnings)
    checked_observations = replace(
        observations,
        notes=notes,
        warnings=tuple(warnings),
        signature_details=(*observations.signature_details, *integrity.signature_details),
        mined=frozenset(id_ for id_ in observations.ids if cards_by_id[id_].rests_on_mined_rules),
    )
    return (
        checked_observations
        if has_card_set
        else _copy_card_fields(checked_observations, cards_by_id, card_set_hash)
    )


def _iter_indexed_cards(
    paths: Sequence[Path | str], cards_by_id: dict[str, _CheckedCard]
) -> Iterator[Card]:
    """Yields the cards of the files, and stores of each what is checked or copied."""
    for card in iter_joined_cards([Path(path) for path in paths]):
        cards_by_id[card.id] = _CheckedCard(
            label=intern(card.label),
            kind=intern(card.kind),
            difficulty=intern(card.difficulty or ""),
            cluster=intern(card.cluster or card.claim.subj),
            triplet=intern(card.triplet),
            full_label=intern(card.full_label),
            rests_on_mined_rules=card.rests_on_mined_rules,
        )
        yield card


def _copy_card_fields(
    observations: Observations, cards_by_id: dict[str, _CheckedCard], card_set_hash: str
) -> Observations:
    """Adds the cards' kinds, difficulties and clusters to results of other programs."""
    cards = [cards_by_id[card_id] for card_id in observations.ids]
    clusters = [card.cluster for card in cards]
    number_by_cluster = {cluster: number for number, cluster in enumerate(sorted(set(clusters)))}
    return replace(
        observations,
        card_set=card_set_hash,
        kinds=tuple(card.kind for card in cards),
        difficulties=tuple(card.difficulty for card in cards),
        triplets=tuple(card.triplet for card in cards),
        full_labels=tuple(card.full_label for card in cards),
        clusters=np.array([number_by_cluster[cluster] for cluster in clusters], dtype=np.int64),
        notes=tuple(note for note in observations.notes if "name no clusters" not in note),
    )
