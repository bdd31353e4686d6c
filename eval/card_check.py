"""Holds results against the card files they claim to be about, and fills in what they lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cards.card import Card, card_set_hash
from cards.joining import join_cards
from eval.metrics.observations import Observations, read_observations
from eval.metrics.outcomes import LABEL_CODE
from eval.result import read_results
from kg.base.console import warn
from kg.base.errors import CardSetMismatchError
from kg.claims import LABELS


def read_checked(
    results: Sequence[Path],
    cards: Sequence[Path] = (),
    *,
    skip_other_cards: bool = False,
    common: bool = False,
    distinguish: bool = False,
) -> Observations:
    """Reads result files and holds them against the card files, where any are given.

    Args:
        results: the result files.
        cards: the card files, in the order in which they were asked; may be none.
        skip_other_cards: leave out, with a warning, result files of other cards.
        common: as in ``read_observations``.
        distinguish: as in ``read_observations``.

    Raises:
        MissingFileError, RecordError, DuplicateIdError, CardSetMismatchError: as in
            ``read_observations`` and ``check_cards``.
    """
    if not cards:
        return read_observations(results, common=common, distinguish=distinguish)
    kept = only_of_these_cards(results, cards) if skip_other_cards else results
    return check_cards(read_observations(kept, common=common, distinguish=distinguish), cards)


def only_of_these_cards(results: Sequence[Path], cards: Sequence[Path]) -> list[Path]:
    """Leaves out, with a warning each, the result files of another card set.

    For pipelines that keep results of several runs in one folder. A file whose first row names no
    card set stays in: ``check_cards`` looks at its ids.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: as in ``join_cards`` and ``read_results``.
        CardSetMismatchError: none is left.
    """
    identity = card_set_hash(join_cards(cards))[:12]
    kept = []
    for path in results:
        first = next(iter(read_results(path)), None)
        if first is None or first.cards in ("", identity):
            kept.append(path)
        else:
            warn(f"{path} left out: it is of card set {first.cards}, not {identity}")
    if not kept:
        raise CardSetMismatchError(
            f"no results are of card set {identity}",
            where=", ".join(map(str, results)),
            hint="Run the systems over these cards first.",
        )
    return kept


def check_cards(observations: Observations, paths: Sequence[Path | str]) -> Observations:
    """Refuses results of other cards, or of cards with another label.

    Results that name no card set take the cards' identity, and from each card its kind,
    difficulty and cluster (its subject where it names none).

    Args:
        observations: what was read from result files.
        paths: the card files, in the order in which they were asked.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: as in ``join_cards``.
        CardSetMismatchError: the results are of other cards.
    """
    cards = join_cards([Path(path) for path in paths])
    where = ", ".join(str(path) for path in paths)
    by_id = {card.id: card for card in cards}
    identity = card_set_hash(cards)[:12]
    named = not observations.cards.startswith("ids-")
    if named and observations.cards != identity:
        raise CardSetMismatchError(
            f"the results are of card set {observations.cards}, these cards are {identity}",
            where=where,
            hint="Give the card files that were asked, in the same order, or run again.",
        )
    for card_id, label in zip(observations.ids, observations.labels.tolist(), strict=True):
        card = by_id.get(card_id)
        if card is None or LABEL_CODE[card.label] != label:
            raise CardSetMismatchError(
                f"the results hold card {card_id!r} as {LABELS[label]}, the card files "
                + ("do not hold it" if card is None else f"as {card.label}"),
                where=where,
                hint="These results were made from other cards.",
            )
    unanswered = len(by_id) - len(observations.ids)
    notes = observations.notes
    if unanswered:
        notes = (*notes, f"{unanswered} of {len(by_id)} cards have no result; they do not count.")
    checked = replace(observations, notes=notes)
    return checked if named else _described(checked, by_id, identity)


def _described(observations: Observations, by_id: dict[str, Card], identity: str) -> Observations:
    """Observations from elsewhere with what their cards say."""
    cards = [by_id[card_id] for card_id in observations.ids]
    names = [card.cluster or card.claim.subj for card in cards]
    number_of = {name: number for number, name in enumerate(sorted(set(names)))}
    return replace(
        observations,
        cards=identity,
        kinds=tuple(card.kind for card in cards),
        difficulties=tuple(card.difficulty or "" for card in cards),
        clusters=np.array([number_of[name] for name in names], dtype=np.int64),
        notes=tuple(note for note in observations.notes if "name no clusters" not in note),
    )
