"""Counts the rows that a run of cards lacks as ERROR, so that no metric has a smaller n."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from cards.card import Card, CardSetHash, hash_card_set
from cards.card_blocks import iter_card_blocks
from cards.joiner import iter_joined_cards
from eval.abstention.manifest import find_card_file, read_manifest, require_card_file
from eval.abstention.metrics.reader import ResultReader
from eval.abstention.metrics.record import Source
from eval.abstention.metrics.result_row import ResultRow
from eval.harness.verification.changed_files import ACCEPT_HINT
from eval.metrics.runs.run_set import describe_missing_rows
from kg.base.errors import CardSetMismatchError, ChangedRunError
from kg.base.files import iter_line_blocks
from kg.base.plain_text import join_first
from kg.base.provenance import manifest_path
from kg.claims import GOLD_OF_LABEL, LABELS

_MAX_NAMED_SYSTEMS = 3


def add_missing_rows(
    reader: ResultReader, source: Source, suffix: str, cards: Sequence[Path] = ()
) -> Iterator[str]:
    """Adds an ERROR for each card that a run should have asked and has no row of.

    A file without a manifest should have rows of all cards that the user names; if none are named,
    it is not known to lack anything. A run that was to ask only some cards (``--limit``,
    ``--shard``) may have enough rows, and of other cards.

    Args:
        reader: the reader that has read all files.
        source: the file.
        suffix: the suffix of its system names.
        cards: the card files of the run; by default the file that the manifest names.

    Yields:
        A note if the run was to ask only some cards, and one if rows are missing.

    Raises:
        MissingFileError: the card file is not there, so that it is not known which cards it is.
        CardSetMismatchError: the cards are not those of the run.
        RecordError, DuplicateIdError: manifest or cards are damaged.
    """
    manifest_file = manifest_path(Path(source.path))
    if not manifest_file.is_file():
        yield from _add_unanswered_cards(reader, source, cards)
        return
    manifest = read_manifest(manifest_file)
    n_missing = manifest.rows_expected - source.rows
    n_asked = len(manifest.layout.asked_items)
    if n_asked < manifest.card_count:
        yield (
            f"The run of {join_first(manifest.systems, _MAX_NAMED_SYSTEMS)} was to ask only "
            f"{n_asked:,} of its {manifest.card_count:,} cards."
        )
        if not cards and find_card_file(manifest_file) is None:
            n_asked = manifest.card_count
    if n_missing <= 0 and n_asked == manifest.card_count:
        return
    files = list(cards) or [require_card_file(manifest_file)]
    if hash_card_set(iter_joined_cards(files)) != manifest.cards_sha256:
        if n_missing <= 0:
            return  # whoever reads the rows compares the cards, too
        raise CardSetMismatchError(
            f"{n_missing} rows are missing, and these are not the cards of the run",
            where=", ".join(map(str, files)),
            hint="Give the command of the run again to finish it, or name its cards with --cards.",
        )
    n_before = sum(reader.count_answers())
    layout = manifest.layout
    asked = layout.asked_items
    for number, card in enumerate(iter_joined_cards(files)):
        if number not in asked:
            continue
        row = make_missing_row(card, manifest.cards_sha256[:12])
        for _, repeat, column in layout.iter_item_rows(number):
            reader.add_missing_answer((manifest.systems[column] + suffix, repeat), row)
    n_missing = sum(reader.count_answers()) - n_before
    yield from describe_missing_rows(Path(source.path).stem, n_missing, manifest.status)


def find_unasked_answers(
    reader: ResultReader, sources: Sequence[Source], cards: Sequence[Path]
) -> Iterator[ChangedRunError]:
    """Yields answers to cards that a run with ``--limit`` or ``--shard`` was not to ask.

    Shards with systems of the same name are left out: each has cards that the others lack.

    Args:
        reader: the reader that has read all files.
        sources: the files.
        cards: the card files of the runs; by default the files that the manifests name.
    """
    n_files = Counter(name for source in sources for name in source.systems)
    for source in sources:
        manifest_file = manifest_path(Path(source.path))
        if not manifest_file.is_file() or any(n_files[name] > 1 for name in source.systems):
            continue
        manifest = read_manifest(manifest_file)
        asked = manifest.layout.asked_items
        if len(asked) == manifest.card_count:
            continue
        named = find_card_file(manifest_file)
        files = list(cards) or ([named] if named is not None else [])
        is_answered = np.zeros(len(reader.labels), dtype=np.bool_)
        for name in source.systems:
            for repeat in reader.list_repeats(name):
                is_answered |= reader.get_preds(name, repeat) >= 0
        digest = CardSetHash()
        unasked: list[str] = []
        n_cards = 0
        for block in chain.from_iterable(map(iter_card_blocks, files)):
            digest.add(block.cards)
            numbers = reader.index.find_all([card.id for card in block.cards])
            for item, number in enumerate(numbers.tolist(), start=n_cards):
                if number >= 0 and item not in asked and is_answered[number]:
                    unasked.append(block.cards[item - n_cards].id)
            n_cards += len(block.cards)
        if unasked and digest.hexdigest() == manifest.cards_sha256:
            part = f"shard {manifest.shard} of " if manifest.shard else ""
            part += f"{n_cards:,}" if manifest.limit is None else f"the first {manifest.limit:,}"
            yield ChangedRunError(
                f"{Path(source.path).name} answers card {unasked[0]!r}, and its run asked only "
                f"{part} cards",
                where=str(manifest_file),
                hint=ACCEPT_HINT,
            )


def _add_unanswered_cards(
    reader: ResultReader, source: Source, cards: Sequence[Path]
) -> Iterator[str]:
    """Adds an ERROR for each named card that the systems of a file without a manifest lack."""
    if not cards:
        return
    keys = [(name, repeat) for name in source.systems for repeat in reader.list_repeats(name)]
    # To count lines takes far less time than to read cards, and mostly none is missing.
    if min(int((reader.get_preds(*key) >= 0).sum()) for key in keys) >= _count_lines(cards):
        return
    n_before = sum(reader.count_answers())
    for card in iter_joined_cards(cards):
        row = make_missing_row(card, "")
        for key in keys:
            reader.add_missing_answer(key, row)
    n_missing = sum(reader.count_answers()) - n_before
    yield from describe_missing_rows(Path(source.path).stem, n_missing, "without a manifest")


def _count_lines(files: Sequence[Path]) -> int:
    blocks = chain.from_iterable(iter_line_blocks(path, "card file") for path in files)
    return sum(n_lines for _, n_lines, _ in blocks)


def list_card_fields(reader: ResultReader, number: int) -> tuple[object, ...]:
    """Lists the ``COPIED_FIELDS`` of a card that was read, as its rows have them."""
    traits = reader.distinct_traits[reader.traits[number]]
    triplet, cluster = reader.triplets[number], reader.clusters[number]
    return (
        LABELS[reader.labels[number]],
        GOLD_OF_LABEL[LABELS[reader.golds[number]]],
        *traits,
        "" if triplet < 0 else reader.triplet_names.strings[triplet],
        "" if cluster < 0 else reader.cluster_names.strings[cluster],
    )


def make_missing_row(card: Card, card_set: str) -> ResultRow:
    """Makes the row of a card that has none: an ERROR with the fields of the card."""
    return ResultRow(
        id=card.id,
        pred="ERROR",
        gold=GOLD_OF_LABEL[card.label],
        label=card.label,
        kind=card.kind,
        cluster=card.cluster,
        difficulty=card.difficulty,
        cards=card_set,
        mined_rules=card.rests_on_mined_rules,
        triplet=card.triplet,
        full_label=card.full_label,
    )
