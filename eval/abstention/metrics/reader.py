"""Reads result lines into columns: cards in order of appearance, answers as one byte each.

Files are read in blocks. A block of rows such as ``epoche eval`` writes, with or without the name
of a card set, is read column by column, which is fast. From the first block with anything unusual
or wrong, the rest of the file is read row by row, which is slower but can report the line of an
error. Both ways give equal results (a test checks this).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from eval.abstention.metrics.outcomes import (
    ERROR,
    GOLD_CODE,
    LABEL_CODE,
    PRED_CODE,
    Codes,
    Floats,
    parse_pred,
)
from eval.abstention.metrics.record import Source
from eval.abstention.metrics.result_row import (
    ResultRow,
    SystemRepeat,
    Traits,
    UnreadablePredictions,
    build_row_decoder,
    encode_labels,
    group_rows,
    is_probability,
    parse_codes,
    parse_confidences,
)
from kg.base.errors import CardSetMismatchError, DuplicateIdError, RecordError
from kg.base.files import decode_block, iter_decoded_lines, iter_line_blocks
from kg.base.packed_strings import PackedStrings, StringNumbers
from kg.claims import LABELS

_MISSING = 255
"""Stored instead of a prediction code for a card without an answer; codes are single bytes."""
_NAN = float("nan")

_MAX_KNOWN_CLUSTERS = 10_000
"""Number of clusters whose numbers are kept in a dictionary, which is faster and larger."""
_FOREIGN_PRED_CODE: dict[Any, int] = {**PRED_CODE, None: ERROR}
"""Prediction of a row that names no card set → its code; others are read row by row."""
_get_pred = attrgetter("pred")
_get_traits = attrgetter("kind", "difficulty", "full_label", "mined_rules")


@dataclass
class ResultReader:
    """Collects cards and answers from result files, in the order of the files.

    Attributes:
        index: number of each card, by id.
        labels: label codes, by card number.
        golds: label codes of the gold answers.
        traits: numbers of the cards' traits in ``distinct_traits``.
        distinct_traits: the different traits by number.
        triplets: numbers in ``triplet_names``; -1 where unknown.
        triplet_names: the names of the triplets.
        clusters: numbers in ``cluster_names``; -1 for a card without a cluster.
        cluster_names: the names of the clusters.
        first_path: the first file that contains each system.
        card_set: the card set that rows name; empty if none does.
        n_unnamed_rows: number of rows that name no card set.
        n_invalid_confidences: number of rows whose confidence is not a number in [0, 1].
    """

    index: StringNumbers = field(default_factory=StringNumbers)
    labels: bytearray = field(default_factory=bytearray)
    golds: bytearray = field(default_factory=bytearray)
    traits: array[int] = field(default_factory=lambda: array("i"))
    distinct_traits: list[Traits] = field(default_factory=list)
    triplets: array[int] = field(default_factory=lambda: array("i"))
    triplet_names: StringNumbers = field(default_factory=StringNumbers)
    clusters: array[int] = field(default_factory=lambda: array("i"))
    cluster_names: StringNumbers = field(default_factory=StringNumbers)
    first_path: dict[str, Path] = field(default_factory=dict)
    card_set: str = ""
    n_unnamed_rows: int = 0
    n_invalid_confidences: int = 0
    _traits_numbers: dict[tuple[str, str, str, bool], int] = field(default_factory=dict)
    _known_clusters: dict[str, int] = field(default_factory=dict)
    _preds: dict[SystemRepeat, bytearray] = field(default_factory=dict)
    _confidences: dict[SystemRepeat, array[float]] = field(default_factory=dict)
    card_set_path: Path | None = None
    has_incomplete_cards: bool = False
    _unreadable: UnreadablePredictions = field(default_factory=UnreadablePredictions)

    def read_file(self, path: Path, *, suffix: str = "") -> Source:
        """Reads one file, appending a suffix to its system names.

        Raises:
            MissingFileError: no such file.
            RecordError: an incomplete or invalid line, an unknown label, gold or prediction, or no
                prediction of a system is one of our labels.
            DuplicateIdError: a system answers a card twice in one repeat.
            CardSetMismatchError: a row of another card set, or of a card with another label.
        """
        n_rows = 0
        names: dict[str, None] = {}
        self._unreadable = UnreadablePredictions()
        for first_line, n_lines, block in iter_line_blocks(path, "result file"):
            result = self._read_block(block, n_lines, path, suffix)
            if result is None:
                n_rows += self._read_rows(first_line, path, suffix, names)
                break
            n_block_rows, systems = result
            n_rows += n_block_rows
            names.update(dict.fromkeys(systems))
        if not n_rows:
            raise RecordError("no results", where=str(path), hint="Run a system over the cards.")
        self._unreadable.require_readable(str(path))
        for name in names:
            self.first_path.setdefault(name, path)
        return Source(path=str(path), rows=n_rows, systems=tuple(sorted(names)))

    def add_missing_answer(self, key: SystemRepeat, row: ResultRow) -> None:
        """Stores the answer of a row, which is a valid one, unless the card has an answer."""
        card = self.index.add(row.id)
        if card == len(self.labels):
            self._add_card(row, LABEL_CODE[row.label or ""], GOLD_CODE[row.gold or ""])
        answers = self._preds.setdefault(key, bytearray())
        answers.extend(bytes([_MISSING]) * (card + 1 - len(answers)))
        if answers[card] == _MISSING:
            answers[card] = PRED_CODE[row.pred]

    def count_answers(self) -> list[int]:
        """Counts the answers of all systems and repeats, by prediction code."""
        codes = range(len(PRED_CODE))
        return [sum(answers.count(code) for answers in self._preds.values()) for code in codes]

    def release_ids(self) -> PackedStrings:
        """Returns the ids of the cards by number; frees what finds these, and names of triplets."""
        ids = self.index.strings
        self.index, self.triplet_names = StringNumbers(), StringNumbers()
        return ids

    def list_systems(self) -> list[str]:
        """Lists the systems in the order of their first answer."""
        return list(dict.fromkeys(name for name, _ in self._preds))

    def list_repeats(self, system: str) -> list[int]:
        """Lists the repeats of a system, ascending; ``[0]`` for a run without repeats."""
        return sorted(repeat for name, repeat in self._preds if name == system)

    def get_preds(self, system: str, repeat: int) -> Codes:
        """Returns prediction codes by card number; negative where there is no answer."""
        codes_bytes = self._preds[system, repeat]
        codes_bytes.extend(bytes([_MISSING]) * (len(self.labels) - len(codes_bytes)))
        codes = np.frombuffer(bytes(codes_bytes), dtype=np.uint8)
        return np.where(codes == _MISSING, -1, codes).astype(np.int8)

    def has_confidence(self, system: str, repeats: Sequence[int]) -> bool:
        """Whether any reply of these repeats has a confidence."""
        return any((system, repeat) in self._confidences for repeat in repeats)

    def get_confidences(self, system: str, repeat: int) -> Floats:
        """Returns confidences by card number; nan where none is given."""
        confidences = np.full(len(self.labels), np.nan)
        stored = self._confidences.get((system, repeat))
        if stored is not None:
            confidences[: len(stored)] = stored
        return confidences

    # Fast path: whole blocks of rows of one kind, such as those that ``epoche eval`` writes.

    def _read_block(
        self, block: memoryview, n_lines: int, path: Path, suffix: str
    ) -> tuple[int, list[str]] | None:
        """Stores the answers of a block and returns its number of rows and its systems.

        Returns ``None`` and stores no answer if anything in the block is unusual. Cards may have
        been added even then; reading row by row finds them again.
        """
        rows = decode_block(block, n_lines, build_row_decoder())
        if rows is None:
            return None
        card_sets = {row.cards or "" for row in rows}
        card_set = card_sets.pop()
        if card_sets or (card_set and self.card_set and card_set != self.card_set):
            return None
        pred_codes = PRED_CODE if card_set else _FOREIGN_PRED_CODE
        try:
            preds = bytes(map(pred_codes.__getitem__, map(_get_pred, rows)))
            labels, golds = encode_labels(rows)
        except (KeyError, TypeError):
            return None
        confidences = parse_confidences(rows)
        if confidences is None:
            return None
        cards = self.index.add_all([row.id for row in rows])
        if len(self.index) - len(self.labels) == len(rows):
            self._add_cards(rows, labels, golds)  # all of them are new
        else:
            new_cards, first_rows = np.unique(cards, return_index=True)
            new = first_rows[new_cards >= len(self.labels)].tolist()
            new_codes = (bytes([codes[n] for n in new]) for codes in (labels, golds))
            self._add_cards([rows[n] for n in new], *new_codes)
            for card, row in zip(cards.tolist(), rows, strict=True):
                if self.has_incomplete_cards or row.mined_rules:
                    self.fill_missing_fields(card, row)
            if not (
                _equals_stored_codes(self.labels, cards, labels)
                and _equals_stored_codes(self.golds, cards, golds)
            ):
                return None
        answers = np.frombuffer(preds, dtype=np.uint8)
        indices_by_key = group_rows(rows, path.stem, suffix)
        if any(
            repeat < 0 or not self.are_unanswered((system, repeat), cards[row_indices])
            for (system, repeat), row_indices in indices_by_key.items()
        ):
            return None
        for key, row_indices in indices_by_key.items():
            self.store_answers(
                key, cards[row_indices], answers[row_indices], confidences[row_indices]
            )
            self._unreadable.add_readable(key[0], int((answers[row_indices] != ERROR).sum()))
        if not card_set:
            self.n_unnamed_rows += len(rows)
        elif not self.card_set:
            self.card_set, self.card_set_path = card_set, path
        return len(rows), [system for system, _ in indices_by_key]

    def _add_cards(self, rows: Sequence[ResultRow], labels: bytes, golds: bytes) -> None:
        """Stores the fields of cards whose ids were added last, in their order."""
        self.labels += labels
        self.golds += golds
        traits = list(map(_get_traits, rows))
        numbers = {
            key: self.number_traits((key[0] or "", key[1] or "", key[2] or "", bool(key[3])))
            for key in dict.fromkeys(traits)
        }
        self.traits.extend(map(numbers.__getitem__, traits))
        _extend_numbers(self.triplets, self.triplet_names, [row.triplet or "" for row in rows])
        clusters = [row.cluster or "" for row in rows]
        if not self._known_clusters.keys() >= set(clusters):
            n_before = len(self.clusters)
            _extend_numbers(self.clusters, self.cluster_names, clusters)
            if len(self._known_clusters) < _MAX_KNOWN_CLUSTERS:
                self._known_clusters.update(zip(clusters, self.clusters[n_before:], strict=True))
        else:
            self.clusters.extend(map(self._known_clusters.__getitem__, clusters))
        if not (all(kind and difficulty for kind, difficulty, *_ in numbers) and all(clusters)):
            self.has_incomplete_cards = True

    def are_unanswered(self, key: SystemRepeat, indices: np.ndarray[Any, Any]) -> bool:
        """Whether these cards are all different and none has an answer in this repeat yet."""
        if not (np.diff(indices) > 0).all() and np.unique(indices).size != indices.size:
            return False
        answers = self._preds.get(key)
        if answers is None:
            return True
        codes = np.frombuffer(answers, dtype=np.uint8)
        return bool((codes[indices[indices < codes.size]] == _MISSING).all())

    def store_answers(
        self,
        key: SystemRepeat,
        indices: np.ndarray[Any, Any],
        answers: np.ndarray[Any, Any],
        confidences: Floats,
    ) -> None:
        """Stores a system's answers to the cards with these numbers; nan for no confidence."""
        n_cards = len(self.index)
        codes = self._preds.setdefault(key, bytearray())
        codes.extend(bytes([_MISSING]) * (n_cards - len(codes)))
        np.frombuffer(codes, dtype=np.uint8)[indices] = answers
        if np.isnan(confidences).all():
            return
        stored = self._confidences.setdefault(key, array("d"))
        stored.extend([_NAN] * (n_cards - len(stored)))
        np.frombuffer(stored, dtype=np.float64)[indices] = confidences

    # Slow path: row by row.

    def _read_rows(self, first_line: int, path: Path, suffix: str, systems: dict[str, None]) -> int:
        """Reads the rows from a line to the end of the file and returns their number."""
        n_rows = 0
        for number, row in iter_decoded_lines(path, "result", build_row_decoder().decode):
            if number < first_line:
                continue
            n_rows += 1
            where = f"{path}:{number}"
            name = (row.system or path.stem) + suffix
            systems.setdefault(name)
            self._check_card_set(row, path, where)
            label, gold = parse_codes(row, where)
            card = self.index.add(row.id)
            if card == len(self.labels):
                self._add_card(row, label, gold)
            else:
                self._check_card(card, row, (label, gold), where)
            self._store_answer((name, row.repeat or 0), card, row, where)
        return n_rows

    def _check_card_set(self, row: ResultRow, path: Path, where: str) -> None:
        if not row.cards:
            self.n_unnamed_rows += 1
            return
        if row.cards == self.card_set:
            return
        if self.card_set:
            raise CardSetMismatchError(
                f"results of card set {row.cards}, but {self.card_set_path} has {self.card_set}",
                where=where,
                hint="Give only results of one card set.",
            )
        self.card_set, self.card_set_path = row.cards, path

    def _add_card(self, row: ResultRow, label: int, gold: int) -> None:
        """Stores the fields of a card whose id was added last."""
        self.labels.append(label)
        self.golds.append(gold)
        traits = row.kind or "", row.difficulty or "", row.full_label or "", bool(row.mined_rules)
        self.traits.append(self.number_traits(traits))
        self.triplets.append(self.triplet_names.add(row.triplet) if row.triplet else -1)
        self.clusters.append(self.cluster_names.add(row.cluster) if row.cluster else -1)
        if not (row.kind and row.difficulty and row.cluster):
            self.has_incomplete_cards = True

    def number_traits(self, traits: tuple[str, str, str, bool]) -> int:
        """Returns the number of the fields of ``Traits``."""
        number = self._traits_numbers.setdefault(traits, len(self.distinct_traits))
        if number == len(self.distinct_traits):
            self.distinct_traits.append(Traits(*traits))
        return number

    def _check_card(self, card: int, row: ResultRow, codes: tuple[int, int], where: str) -> None:
        if codes != (self.labels[card], self.golds[card]):
            earlier_label = LABELS[self.labels[card]]
            raise CardSetMismatchError(
                f"card {row.id!r} is {LABELS[codes[0]]} with gold {row.gold}, "
                f"and {earlier_label} earlier",
                where=where,
                hint="These results belong to different card sets; give only one set.",
            )
        self.fill_missing_fields(card, row)

    def fill_missing_fields(self, card: int, row: ResultRow) -> None:
        """Adds fields that earlier rows of a card lack; only Epoché's files always have them."""
        if row.triplet and self.triplets[card] < 0:
            self.triplets[card] = self.triplet_names.add(row.triplet)
        if row.cluster and self.clusters[card] < 0:
            self.clusters[card] = self.cluster_names.add(row.cluster)
        traits = self.distinct_traits[self.traits[card]]
        self.traits[card] = self.number_traits(
            Traits(
                traits.kind or row.kind or "",
                traits.difficulty or row.difficulty or "",
                traits.full_label or row.full_label or "",
                traits.is_mined or bool(row.mined_rules),
            )
        )

    def _store_answer(self, key: SystemRepeat, card: int, row: ResultRow, where: str) -> None:
        if row.cards and not (isinstance(row.pred, str) and row.pred in PRED_CODE):
            raise RecordError(
                f"unknown prediction {row.pred!r}",
                where=where,
                hint=f"One of {', '.join(PRED_CODE)}.",
            )
        if key[1] < 0:
            raise RecordError(f"repeat is {key[1]}", where=where, hint="Repeats count from 0.")
        answers = self._preds.setdefault(key, bytearray())
        if card >= len(answers):
            answers.extend(bytes([_MISSING]) * (card + 1 - len(answers)))
        elif answers[card] != _MISSING:
            repeat_clause = f" in repeat {key[1]}" if key[1] else ""
            raise DuplicateIdError(
                f"system {key[0]!r} answers card {row.id!r} twice{repeat_clause}",
                where=where,
                hint="Remove one of the two lines, or one of the files.",
            )
        answers[card] = parse_pred(row.pred)
        self._unreadable.add(key[0], row.pred, answers[card])
        confidence = self._parse_confidence(row, where)
        if confidence is not None:
            stored = self._confidences.setdefault(key, array("d"))
            stored.extend([_NAN] * (card + 1 - len(stored)))
            stored[card] = confidence

    def _parse_confidence(self, row: ResultRow, where: str) -> float | None:
        value = row.confidence
        if value is None or is_probability(value):
            return None if value is None else float(value)
        if row.cards:
            raise RecordError(
                f"confidence {value!r}", where=where, hint="A number from 0 to 1, or null."
            )
        self.n_invalid_confidences += 1
        return None


def _extend_numbers(numbers: array[int], names: StringNumbers, texts: Sequence[str]) -> None:
    """Appends the numbers of names, -1 for an empty one."""
    is_named = np.fromiter(map(bool, texts), dtype=np.bool_, count=len(texts))
    added = np.full(len(texts), -1, dtype=np.intc)
    if is_named.any():
        added[is_named] = names.add_all([text for text in texts if text])
    numbers.frombytes(added.tobytes())


def _equals_stored_codes(
    stored_codes: bytearray, indices: np.ndarray[Any, Any], codes: bytes
) -> bool:
    stored = np.frombuffer(stored_codes, dtype=np.uint8)[indices]
    return bool(np.array_equal(stored, np.frombuffer(codes, dtype=np.uint8)))
