"""Pairs a system's answers to cards with its answers to the same cards in other words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cards.card import Card, hash_card_set, read_cards
from cards.paraphraser import TEMPLATE_ID
from eval.abstention.card_check import read_checked_results
from eval.abstention.metrics.observations import Observations
from eval.abstention.result import read_results
from kg.base.errors import CardSetMismatchError, RecordError, SystemNotFoundError
from kg.base.plain_text import join_list

SUFFIX = " (paraphrases)"
"""Appended to a system's name for its answers to the cards in other words."""


def read_paraphrase_pairs(
    results: Sequence[Path],
    paraphrases: Path,
    cards: Sequence[Path] = (),
    *,
    skip_other_cards: bool = False,
    without_mined: bool = False,
    allow_changed: bool = False,
) -> tuple[Observations, list[tuple[str, str]]]:
    """Reads results on paraphrased cards, and results of the same systems on the originals.

    Args:
        results: result files of both card sets; each row names the one it is of.
        paraphrases: card file made by ``epoche paraphrase``.
        cards: card files of the originals, checked if given.
        skip_other_cards: leave out result files of further card sets; needs ``cards``.
        without_mined: leave out the C cards whose proof rests only on rules found in the data.
        allow_changed: accept rows and cards that are not as their run left them.

    Returns:
        Each system's answers to the originals that it was also asked in other words, with both
        answers of a card as two systems; and the pairs (in other words, original).

    Raises:
        RecordError: the card file has no cards, or something else, such as results.
        SystemNotFoundError: no system answered both.
        CardSetMismatchError: no results of one of the two, or they are not of the same cards.
    """
    try:
        paraphrased_cards = read_cards(paraphrases)
    except RecordError as error:
        error.hint = (
            "--paraphrases takes the card file that `epoche paraphrase` wrote; the results on its "
            "cards are given beside those on the originals."
        )
        raise
    card_set = hash_card_set(paraphrased_cards)[:12]
    files: dict[bool, list[Path]] = {True: [], False: []}
    for path in results:
        row = next(iter(read_results(path)), None)
        files[row is not None and row.cards == card_set].append(path)
    for is_paraphrased, found in files.items():
        if not found:
            raise CardSetMismatchError(
                f"no results on the {'paraphrased' if is_paraphrased else 'original'} cards",
                where=str(paraphrases),
                hint="Give results of the same system on both: on the cards that `epoche "
                "paraphrase` read, and on those that it wrote.",
            )
    originals = read_checked_results(
        files[False], cards, skip_other_cards=skip_other_cards, common="paired",
        distinguish_equal_names=True, without_mined=without_mined,
        allow_changed=allow_changed, keep_ids=True,
    )  # fmt: skip
    reworded = read_checked_results(
        files[True], [paraphrases], common="paired", distinguish_equal_names=True,
        without_mined=without_mined, allow_changed=allow_changed, keep_ids=True,
    )  # fmt: skip
    systems = [name for name in originals.systems_under_test if name in reworded.preds]
    if not systems:
        raise SystemNotFoundError(
            "no system answered both the cards and their paraphrases",
            where=str(paraphrases),
            hint=f"On the cards: {join_list(list(originals.preds))}. On the paraphrases: "
            f"{join_list(list(reworded.preds))}.",
        )
    template_ids = _read_template_ids(paraphrased_cards, paraphrases)
    observations = _join_answers(originals, reworded, template_ids, systems, card_set)
    return observations, [(name + SUFFIX, name) for name in systems]


def _read_template_ids(cards: Sequence[Card], path: Path) -> dict[str, str]:
    """Returns the id of the original of each card."""
    template_ids = {card.id: card.meta.get(TEMPLATE_ID) for card in cards}
    unknown = [card_id for card_id, original in template_ids.items() if not original]
    if unknown:
        raise CardSetMismatchError(
            f"card {unknown[0]!r} does not say of which card it is a paraphrase",
            where=str(path),
            hint="Make the paraphrases with `epoche paraphrase`.",
        )
    return {card_id: str(original) for card_id, original in template_ids.items()}


def _join_answers(
    originals: Observations,
    reworded: Observations,
    template_ids: Mapping[str, str],
    systems: Sequence[str],
    card_set: str,
) -> Observations:
    """Puts the answers to both cards of each pair side by side."""
    row_by_id = {template_ids[card_id]: row for row, card_id in enumerate(reworded.ids)}
    kept = [row for row, card_id in enumerate(originals.ids) if card_id in row_by_id]
    rows = np.array(kept, dtype=np.int64)
    ids = originals.ids.take(rows)
    reworded_rows = np.array([row_by_id[card_id] for card_id in ids], dtype=np.int64)
    if not kept or not np.array_equal(originals.labels[rows], reworded.labels[reworded_rows]):
        raise CardSetMismatchError(
            "the paraphrases are of other cards than the other results",
            where=", ".join(source.path for source in originals.sources),
            hint="Give the results on the card file that `epoche paraphrase` read.",
        )

    n_left_out = len(originals.ids) - len(kept)
    note = f"{n_left_out} cards have no answered paraphrase and are left out."
    return replace(
        originals,
        ids=ids,
        labels=originals.labels[rows],
        golds=originals.golds[rows],
        kinds=originals.kinds.take(rows),
        difficulties=originals.difficulties.take(rows),
        triplets=originals.triplets[rows],
        full_labels=originals.full_labels.take(rows),
        clusters=np.unique(originals.clusters[rows], return_inverse=True)[1],
        preds={
            name + suffix: answers
            for name in systems
            for suffix, answers in (
                ("", originals.preds[name][rows]),
                (SUFFIX, reworded.preds[name][reworded_rows]),
            )
        },
        confidences={},  # The tests of pairs use none.
        mined=originals.mined[rows],
        sources=(*originals.sources, *reworded.sources),
        notes=(
            *dict.fromkeys((*originals.notes, *reworded.notes)),
            *([note] if n_left_out else []),
        ),
        warnings=tuple(dict.fromkeys((*originals.warnings, *reworded.warnings))),
        unanswered={},
        n_left_out=0,
        signature_details=(
            *dict.fromkeys((*originals.signature_details, *reworded.signature_details)),
            f"paraphrases:{card_set}",
        ),
    )
