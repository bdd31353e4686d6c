"""Reads result lines into columns: cards in the order they come, answers as a byte each.

Files are read block by block. A block of rows as our runner writes them is taken in by columns;
at the first block in which anything is unusual or wrong, the rest of the file is read row by row,
which knows how to say in which line what is wrong. Both give the same (a test holds them to it).
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from eval.metrics.outcomes import GOLD_CODE, LABEL_CODE, PRED_CODE, Codes, Floats, read_pred
from eval.metrics.record import Source
from kg.base.errors import CardSetMismatchError, DuplicateIdError, RecordError
from kg.base.files import MAX_LINE_BYTES, iter_decoded_lines, require_file
from kg.claims import LABELS

_MISSING = 255
_BLOCK = 1 << 22
_NAN = float("nan")

Key = tuple[str, int]
"""A system, and which of its repeats."""


class Row(msgspec.Struct, gc=False):
    """The fields of a result line that metrics need; rows from elsewhere lack the later ones."""

    id: str
    pred: Any
    gold: str | None = None
    label: str | None = None
    system: str | None = ""
    kind: str | None = ""
    cluster: str | None = ""
    difficulty: str | None = None
    cards: str | None = ""
    confidence: Any = None
    repeat: int | None = 0


def row_decoder() -> msgspec.json.Decoder[Row]:
    """Decodes one line, or many, of a result file."""
    return msgspec.json.Decoder(Row)


@dataclass
class ResultReader:
    """Cards and answers as they come, in the order of the files.

    Attributes:
        index: number of each card, by id.
        labels: label codes, by card number.
        golds: label codes of the gold answers.
        kinds: empty where unknown.
        difficulties: empty where unknown.
        clusters: names; a card without one has NUL and its id.
        first_in: the file in which each system came first.
        cards: the card set that rows name; empty if none does.
        unnamed_rows: rows that name none.
        odd_confidences: rows from elsewhere whose confidence is no number in [0, 1].
    """

    index: dict[str, int] = field(default_factory=dict)
    labels: bytearray = field(default_factory=bytearray)
    golds: bytearray = field(default_factory=bytearray)
    kinds: list[str] = field(default_factory=list)
    difficulties: list[str] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)
    first_in: dict[str, Path] = field(default_factory=dict)
    cards: str = ""
    unnamed_rows: int = 0
    odd_confidences: int = 0
    _preds: dict[Key, bytearray] = field(default_factory=dict)
    _confidences: dict[Key, array[float]] = field(default_factory=dict)
    _cards_from: Path | None = None
    _cards_lack_something: bool = False

    def read(self, path: Path, *, rename: str = "") -> Source:
        """Takes in one file; ``rename`` is appended to its system names.

        Raises:
            MissingFileError: no such file.
            RecordError: a torn or unreadable line, an unknown label, gold or prediction.
            DuplicateIdError: a system answers a card twice in one repeat.
            CardSetMismatchError: a row of another card set, or of a card with another label.
        """
        rows = 0
        seen: dict[str, None] = {}
        for first_line, lines, block in _blocks(path):
            taken = self._take_block(block, lines, path, rename)
            if taken is None:
                rows += self._take_rows(first_line, path, rename, seen)
                break
            count, systems = taken
            rows += count
            seen.update(dict.fromkeys(systems))
        if not rows:
            raise RecordError("no results", where=str(path), hint="Run a system over the cards.")
        for name in seen:
            self.first_in.setdefault(name, path)
        return Source(path=str(path), rows=rows, systems=tuple(sorted(seen)))

    def repeats(self, system: str) -> list[int]:
        """The repeats of a system, ascending; ``[0]`` for a run without."""
        return sorted(repeat for name, repeat in self._preds if name == system)

    def preds(self, system: str, repeat: int) -> Codes:
        """Prediction codes by card number; negative where there is no answer."""
        raw = self._preds[system, repeat]
        raw.extend(bytes([_MISSING]) * (len(self.index) - len(raw)))
        codes = np.frombuffer(bytes(raw), dtype=np.uint8)
        return np.where(codes == _MISSING, -1, codes).astype(np.int8)

    def gives_confidence(self, system: str, repeats: Sequence[int]) -> bool:
        """Whether any of those rows has a confidence."""
        return any((system, repeat) in self._confidences for repeat in repeats)

    def confidences(self, system: str, repeat: int) -> Floats:
        """Confidences by card number; nan where none is given."""
        out = np.full(len(self.index), np.nan)
        given = self._confidences.get((system, repeat))
        if given is not None:
            out[: len(given)] = given
        return out

    # Whole blocks of rows as our runner writes them.

    def _take_block(
        self, block: bytes, lines: int, path: Path, rename: str
    ) -> tuple[int, list[str]] | None:
        """Rows and systems of a block; ``None``, and no answer taken, if anything is unusual."""
        if len(block) > MAX_LINE_BYTES:
            return None
        try:
            rows = row_decoder().decode_lines(block)
            preds = [PRED_CODE[row.pred] for row in rows]
            labels = bytes([LABEL_CODE[row.label or ""] for row in rows])
            golds = bytes([GOLD_CODE[row.gold or ""] for row in rows])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
            return None
        if len(rows) != lines + (not block.endswith(b"\n")):
            return None  # blank lines, or rows that are not one a line
        named = {row.cards for row in rows}
        if len(named) != 1 or not (name := named.pop()) or name != (self.cards or name):
            return None
        confidences = _column_of_confidences(rows)
        if confidences is None:
            return None
        for row in rows:
            if row.id not in self.index:
                self._new_card(row, LABEL_CODE[row.label or ""], GOLD_CODE[row.gold or ""])
            elif self._cards_lack_something:
                self._fill_in(self.index[row.id], row)
        index = self.index
        places = np.array([index[row.id] for row in rows], dtype=np.int64)
        if not (_agree(self.labels, places, labels) and _agree(self.golds, places, golds)):
            return None
        answers = np.array(preds, dtype=np.uint8)
        groups = _by_system_and_repeat(rows, path.stem, rename)
        if any(k[1] < 0 or not self._unanswered(k, places[at]) for k, at in groups.items()):
            return None
        for key, at in groups.items():
            self._enter(key, places[at], answers[at], confidences[at])
        if not self.cards:
            self.cards, self._cards_from = name, path
        return len(rows), [system for system, _ in groups]

    def _unanswered(self, key: Key, places: np.ndarray[Any, Any]) -> bool:
        """Whether none of these cards, all different, has an answer there yet."""
        if np.unique(places).size != places.size:
            return False
        answers = self._preds.get(key)
        if answers is None:
            return True
        known = np.frombuffer(bytes(answers), dtype=np.uint8)
        return bool((known[places[places < known.size]] == _MISSING).all())

    def _enter(
        self, key: Key, places: np.ndarray[Any, Any], answers: np.ndarray[Any, Any], sure: Floats
    ) -> None:
        count = len(self.index)
        raw = self._preds.setdefault(key, bytearray())
        raw.extend(bytes([_MISSING]) * (count - len(raw)))
        np.frombuffer(raw, dtype=np.uint8)[places] = answers
        if np.isnan(sure).all():
            return
        given = self._confidences.setdefault(key, array("d"))
        given.extend([_NAN] * (count - len(given)))
        np.frombuffer(given, dtype=np.float64)[places] = sure

    # Row by row.

    def _take_rows(self, first: int, path: Path, rename: str, seen: dict[str, None]) -> int:
        """Takes in the rows from line ``first`` to the end; returns how many."""
        rows = 0
        for number, row in iter_decoded_lines(path, "result", row_decoder().decode):
            if number < first:
                continue
            rows += 1
            where = f"{path}:{number}"
            name = (row.system or path.stem) + rename
            seen.setdefault(name)
            self._same_cards(row, path, where)
            label, gold = _codes(row, where)
            card = self.index.get(row.id)
            if card is None:
                card = self._new_card(row, label, gold)
            else:
                self._same_card(card, row, (label, gold), where)
            self._answer((name, row.repeat or 0), card, row, where)
        return rows

    def _same_cards(self, row: Row, path: Path, where: str) -> None:
        if not row.cards:
            self.unnamed_rows += 1
            return
        if row.cards == self.cards:
            return
        if self.cards:
            raise CardSetMismatchError(
                f"results of card set {row.cards}, but {self._cards_from} has {self.cards}",
                where=where,
                hint="Give only results of one card file.",
            )
        self.cards, self._cards_from = row.cards, path

    def _new_card(self, row: Row, label: int, gold: int) -> int:
        card = self.index[row.id] = len(self.index)
        self.labels.append(label)
        self.golds.append(gold)
        self.kinds.append(row.kind or "")
        self.difficulties.append(row.difficulty or "")
        # A card without a cluster is one of its own; NUL keeps ids and cluster names apart.
        self.clusters.append(row.cluster or f"\0{row.id}")
        if not (row.kind and row.difficulty and row.cluster):
            self._cards_lack_something = True
        return card

    def _same_card(self, card: int, row: Row, codes: tuple[int, int], where: str) -> None:
        if codes != (self.labels[card], self.golds[card]):
            was = LABELS[self.labels[card]]
            raise CardSetMismatchError(
                f"card {row.id!r} is {LABELS[codes[0]]} with gold {row.gold}, and {was} earlier",
                where=where,
                hint="These results belong to different card sets; give only one set.",
            )
        self._fill_in(card, row)

    def _fill_in(self, card: int, row: Row) -> None:
        """A file from elsewhere may have come first, without what ours knows of the card."""
        if row.kind and not self.kinds[card]:
            self.kinds[card] = row.kind
        if row.difficulty and not self.difficulties[card]:
            self.difficulties[card] = row.difficulty
        if row.cluster and self.clusters[card].startswith("\0"):
            self.clusters[card] = row.cluster

    def _answer(self, key: Key, card: int, row: Row, where: str) -> None:
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
            again = f" in repeat {key[1]}" if key[1] else ""
            raise DuplicateIdError(
                f"system {key[0]!r} answers card {row.id!r} twice{again}",
                where=where,
                hint="Remove one of the files or lines; which answer counts is not ours to guess.",
            )
        answers[card] = read_pred(row.pred)
        sure = self._confidence(row, where)
        if sure is not None:
            given = self._confidences.setdefault(key, array("d"))
            given.extend([_NAN] * (card + 1 - len(given)))
            given[card] = sure

    def _confidence(self, row: Row, where: str) -> float | None:
        value = row.confidence
        if value is None or _is_probability(value):
            return None if value is None else float(value)
        if row.cards:
            raise RecordError(
                f"confidence {value!r}", where=where, hint="A number from 0 to 1, or null."
            )
        self.odd_confidences += 1
        return None


def _blocks(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Whole lines of a file, some megabytes at a time: first line's number, line ends, bytes."""
    number = 1
    with require_file(path, "result file").open("rb") as handle:
        while block := handle.read(_BLOCK):
            # The rest of the last line; one that is too long is left to whoever names it.
            block += handle.readline(MAX_LINE_BYTES)
            lines = block.count(b"\n")
            yield number, lines, block
            number += lines


def _column_of_confidences(rows: Sequence[Row]) -> Floats | None:
    """Confidences, nan where there is none; ``None`` if one is no probability."""
    values = [row.confidence for row in rows]
    kinds = set(map(type, values))
    if kinds == {type(None)}:
        return np.full(len(rows), np.nan)
    if not kinds <= {float, int, type(None)}:
        return None
    column = np.array([_NAN if value is None else value for value in values], dtype=np.float64)
    return None if ((column < 0) | (column > 1)).any() else column


def _is_probability(value: object) -> bool:
    return type(value) in (float, int) and 0 <= value <= 1  # type: ignore[operator]


def _agree(known: bytearray, places: np.ndarray[Any, Any], found: bytes) -> bool:
    here = np.frombuffer(bytes(known), dtype=np.uint8)[places]
    return bool(np.array_equal(here, np.frombuffer(found, dtype=np.uint8)))


def _by_system_and_repeat(
    rows: Sequence[Row], stem: str, rename: str
) -> dict[Key, np.ndarray[Any, Any]]:
    """Places of the rows of each system and repeat, in the order of their first row."""
    keys = [((row.system or stem) + rename, row.repeat or 0) for row in rows]
    if len(set(keys)) == 1:
        return {keys[0]: np.arange(len(rows))}
    places: defaultdict[Key, list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        places[key].append(place)
    return {key: np.array(at) for key, at in places.items()}


def _codes(row: Row, where: str) -> tuple[int, int]:
    """Codes of the row's label and of its gold, each standing in for the other if absent."""
    label = None if row.label is None else LABEL_CODE.get(row.label, -1)
    gold = None if row.gold is None else GOLD_CODE.get(row.gold, -1)
    if label is None:
        label = gold
    if gold is None:
        gold = label
    if label is None or gold is None:
        raise RecordError("neither label nor gold", where=where)
    if label < 0 or gold < 0:
        what, allowed = (
            (f"unknown label {row.label!r}", LABEL_CODE)
            if label < 0
            else (f"unknown gold {row.gold!r}", GOLD_CODE)
        )
        raise RecordError(what, where=where, hint=f"One of {', '.join(allowed)}.")
    return label, gold
