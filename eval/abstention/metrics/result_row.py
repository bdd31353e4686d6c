"""The fields of a result line that metrics need, their codes, and predictions that are no label."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from eval.abstention.metrics.outcomes import ERROR, GOLD_CODE, LABEL_CODE, PRED_CODE, Floats
from eval.harness.predictions.foreign_labels import UnreadableTexts
from eval.model.foreign_values import make_storable
from kg.base.errors import RecordError
from kg.base.plain_text import clean_text

SystemRepeat = tuple[str, int]
"""A system's name and the number of one of its repeats."""
MAX_EXAMPLES: Final = 3
"""Maximum number of predictions that a message shows."""
_MAX_SHOWN_CHARS: Final = 60


class Traits(NamedTuple):
    """What many cards have in common; strings are empty where unknown.

    Attributes:
        kind, difficulty: as in the card.
        full_label: the label of a U card before facts were set aside.
        is_mined: whether the card is contradictory only by rules found in the data.
    """

    kind: str = ""
    difficulty: str = ""
    full_label: str = ""
    is_mined: bool = False


class ResultRow(msgspec.Struct, gc=False):
    """The fields of a result line that metrics need.

    Files that Epoché did not write may lack all fields but ``id`` and ``pred``.
    """

    id: str
    pred: Any
    gold: str | None = None
    label: str | None = None
    system: str | None = ""
    kind: str | None = ""
    cluster: str | None = ""
    difficulty: str | None = None
    cards: str | None = ""
    mined_rules: bool | None = False
    triplet: str | None = ""
    full_label: str | None = ""
    confidence: Any = None
    repeat: int | None = 0


def build_row_decoder() -> msgspec.json.Decoder[ResultRow]:
    """Returns a decoder for one or many lines of a result file."""
    return msgspec.json.Decoder(ResultRow)


def parse_codes(row: ResultRow, where: str) -> tuple[int, int]:
    """Returns the codes of the row's label and gold; if one is absent, the other replaces it.

    Raises:
        RecordError: both are absent, or one is unknown.
    """
    given = [
        (name, value, codes)
        for name, value, codes in (
            ("label", row.label, LABEL_CODE),
            ("gold", row.gold, GOLD_CODE),
        )
        if value is not None
    ]
    if not given:
        raise RecordError("neither label nor gold", where=where)
    for name, value, allowed in given:
        if value not in allowed:
            raise RecordError(
                f"unknown {name} {value!r}",
                where=where,
                hint=f"One of {', '.join(allowed)}, in capitals.",
            )
    found = [codes[value] for _, value, codes in given]
    return found[0], found[-1]


def encode_labels(rows: Sequence[ResultRow]) -> tuple[bytes, bytes]:
    """Returns the codes of many rows' labels and golds; where no row has one, the other's.

    Raises:
        KeyError: a label or gold is unknown, or only some rows have one.
    """
    given: list[tuple[list[Any], dict[str, int]]] = [
        ([row.label for row in rows], LABEL_CODE),
        ([row.gold for row in rows], GOLD_CODE),
    ]
    labels, golds = (
        b"" if values.count(None) == len(values) else bytes(map(codes.__getitem__, values))
        for values, codes in given
    )
    if not labels and not golds:
        raise KeyError(None)
    return labels or golds, golds or labels


def parse_confidences(rows: Sequence[ResultRow]) -> Floats | None:
    """Returns confidences, nan where there is none; ``None`` if one is not a probability."""
    values = [row.confidence for row in rows]
    types = set(map(type, values))
    if types == {type(None)}:
        return np.full(len(rows), np.nan)
    if not types <= {float, int, type(None)}:
        return None
    column = np.array(
        [float("nan") if value is None else value for value in values], dtype=np.float64
    )
    return None if ((column < 0) | (column > 1)).any() else column


def is_probability(value: object) -> bool:
    """Returns whether a confidence is a number from 0 to 1."""
    return type(value) in (float, int) and 0 <= value <= 1  # type: ignore[operator]


def group_rows(
    rows: Sequence[ResultRow], stem: str, suffix: str
) -> dict[SystemRepeat, np.ndarray[Any, Any]]:
    """Returns the row indices of each system and repeat, in the order of their first row."""
    given = [(row.system, row.repeat) for row in rows]
    indices: defaultdict[SystemRepeat, list[int]] = defaultdict(list)
    if len(set(given)) > 1:
        for index, (system, repeat) in enumerate(given):
            indices[(system or stem) + suffix, repeat or 0].append(index)
        return {key: np.array(row_indices) for key, row_indices in indices.items()}
    system, repeat = given[0]
    return {((system or stem) + suffix, repeat or 0): np.arange(len(rows))}


def describe_unreadable(examples: Iterable[object], n_unreadable: int, n_all: int) -> str:
    """Says how many predictions are no answer, and shows the first different ones."""
    texts = dict.fromkeys(make_storable(str(example)) for example in examples)
    shown = ", ".join(repr(clean_text(t, _MAX_SHOWN_CHARS)) for t in islice(texts, MAX_EXAMPLES))
    return f"{n_unreadable} of {n_all} predictions are no answer (INVALID): {shown}"


class UnreadablePredictions:
    """Counts the predictions of each system of a file that are none of our labels.

    A system of which none can be read is refused: its labels or their field are wrong. That is not
    so of a model's replies that were all unusable: its rows say ``INVALID``, one of our labels.
    """

    def __init__(self) -> None:
        self._n_readable: Counter[str] = Counter()
        self._n_errors: Counter[str] = Counter()
        self._texts: dict[str, UnreadableTexts] = {}
        self._examples: dict[str, dict[str, None]] = {}

    def add(self, system: str, pred: object, code: int) -> None:
        """Adds the prediction of a row, and the code that it was read as."""
        if code == ERROR:
            self._n_errors[system] += 1
        elif isinstance(pred, str) and pred in PRED_CODE:
            self._n_readable[system] += 1
        else:
            self._texts.setdefault(system, UnreadableTexts()).add(str(pred))
            examples = self._examples.setdefault(system, {})
            if len(examples) < MAX_EXAMPLES:
                examples[str(pred)] = None

    def add_readable(self, system: str, n_predictions: int) -> None:
        """Counts predictions of a system that are our labels."""
        self._n_readable[system] += n_predictions

    def require_readable(self, where: str) -> None:
        """Raises a ``RecordError`` if no prediction of a system can be read, and one was given.

        Also if a large part is labels of another set.
        """
        for system, texts in self._texts.items():
            n_all = texts.n_texts + self._n_errors[system] + self._n_readable[system]
            labels = texts.find_labels(n_all)
            if labels or not self._n_readable[system]:
                raise RecordError(
                    describe_unreadable(labels or self._examples[system], texts.n_texts, n_all),
                    where=f"{where}, field pred of {clean_text(system)!r}",
                    hint="Write YES, NO or UNKNOWN; `epoche score` also reads replies in words, "
                    "takes another field with --map pred=…, and other labels with "
                    "--value THEIRS=YES.",
                )
