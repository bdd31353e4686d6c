"""Checks results against their card files, and adds card fields that the results do not have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cards.card import Card, hash_card_set
from cards.joiner import join_cards
from eval.metrics.observations import Observations, read_observations
from eval.metrics.outcomes import LABEL_CODE
from eval.result import read_results
from kg.base.console import print_warning
from kg.base.errors import CardSetMismatchError
from kg.claims import LABELS


def read_checked_results(
    results: Sequence[Path],
    cards: Sequence[Path] = (),
    *,
    skip_other_cards: bool = False,
    common: bool = False,
    distinguish: bool = False,
) -> Observations:
    """Reads result files and checks them against the card files, if any are given.

    Args:
        results: the result files.
        cards: the card files, in the order in which they were asked; may be empty.
        skip_other_cards: leave out, with a warning, result files of other card sets.
        common: as in ``read_observations``.
        distinguish: as in ``read_observations``.

    Raises:
        MissingFileError, RecordError, DuplicateIdError, CardSetMismatchError: as in
            ``read_observations`` and ``check_cards``.
    """
    if not cards:
        return read_observations(results, common=common, distinguish=distinguish)
    selected = filter_results_by_cards(results, cards) if skip_other_cards else results
    return check_cards(read_observations(selected, common=common, distinguish=distinguish), cards)


def filter_results_by_cards(results: Sequence[Path], cards: Sequence[Path]) -> list[Path]:
    """Leaves out the result files of other card sets, with a warning for each.

    For pipelines that keep results of several runs in one folder. A file whose first row names no
    card set is included: ``check_cards`` compares its ids.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: as in ``join_cards`` and ``read_results``.
        CardSetMismatchError: no file is left.
    """
    identity = hash_card_set(join_cards(cards))[:12]
    matching = []
    for path in results:
        first = next(iter(read_results(path)), None)
        if first is None or first.cards in ("", identity):
            matching.append(path)
        else:
            print_warning(f"{path} left out: it is of card set {first.cards}, not {identity}")
    if not matching:
        raise CardSetMismatchError(
            f"no results are of card set {identity}",
            where=", ".join(map(str, results)),
            hint="Run the systems over these cards first.",
        )
    return matching


def check_cards(observations: Observations, paths: Sequence[Path | str]) -> Observations:
    """Refuses results of other cards, or of cards with another label.

    Results that name no card set get the hash of these cards, and the kind, difficulty and cluster
    of each card (its subject where the card has no cluster).

    Args:
        observations: the contents of the result files.
        paths: the card files, in the order in which they were asked.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: as in ``join_cards``.
        CardSetMismatchError: the results are of other cards.
    """
    cards = join_cards([Path(path) for path in paths])
    where = ", ".join(str(path) for path in paths)
    by_id = {card.id: card for card in cards}
    identity = hash_card_set(cards)[:12]
    named = not observations.card_set.startswith("ids-")
    if named and observations.card_set != identity:
        raise CardSetMismatchError(
            f"the results are of card set {observations.card_set}, these cards are {identity}",
            where=where,
            hint="Give the card files of the run, in the same order, or run again.",
        )
    for card_id, label in zip(observations.ids, observations.labels.tolist(), strict=True):
        card = by_id.get(card_id)
        if card is None or LABEL_CODE[card.label] != label:
            raise CardSetMismatchError(
                f"the results contain card {card_id!r} as {LABELS[label]}, the card files "
                + ("do not contain it" if card is None else f"as {card.label}"),
                where=where,
                hint="These results belong to other cards; give the card files of the run.",
            )
    unanswered = len(by_id) - len(observations.ids)
    notes = observations.notes
    if unanswered:
        notes = (*notes, f"{unanswered} of {len(by_id)} cards have no result; they do not count.")
    checked = replace(observations, notes=notes)
    return checked if named else _copy_card_fields(checked, by_id, identity)


def _copy_card_fields(
    observations: Observations, by_id: dict[str, Card], identity: str
) -> Observations:
    """Adds the cards' kinds, difficulties and clusters to results of other programs."""
    cards = [by_id[card_id] for card_id in observations.ids]
    names = [card.cluster or card.claim.subj for card in cards]
    number_of = {name: number for number, name in enumerate(sorted(set(names)))}
    return replace(
        observations,
        card_set=identity,
        kinds=tuple(card.kind for card in cards),
        difficulties=tuple(card.difficulty or "" for card in cards),
        clusters=np.array([number_of[name] for name in names], dtype=np.int64),
        notes=tuple(note for note in observations.notes if "name no clusters" not in note),
    )
