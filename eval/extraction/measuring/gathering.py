"""The rows of a run as numbers, gathered one at a time: all that a report is made of.

Kept of a row are 34 numbers, and twelve for each type, depth, name and requiredness that
its fields have: for twenty fields some 1.6 kB. Its text, values and fields are not kept. Where
samples are put more than once, two hashes and a number of each predicted value are kept too.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from eval.extraction.measuring.consistency import Prints
from eval.extraction.row import ExtractionRow
from eval.extraction.schemas.complexity import Complexity
from eval.extraction.verdicts.sample_score import SampleScore, Tally
from eval.stats.intervals import Floats

TALLY: tuple[str, ...] = Tally.__struct_fields__
OUTCOMES = ("ok", "invalid", "unparsable", "error")
ERROR = OUTCOMES.index("error")

WHOLE = (
    *("sample", "repeat", "outcome", "match", "timed_out", "retries", "bounded"),
    *("domain", "language", "schema", "text_characters"),
    *TALLY,
    *(f"hallucination_{number}" for number in (1, 2, 3, 4)),
)
"""Whole numbers of a row; ``domain``, ``language`` and ``schema`` are places in lists."""
MEASURED = (
    *("latency_s", "ttft_s", "at_s", "confidence"),
    *("input_tokens", "output_tokens", "cost_usd", "input_chars", "output_chars"),
)
"""Measured numbers of a row; nan where nobody measured them."""
FIELD_DIMENSIONS = ("type", "depth", "name", "required")
OTHERS = "(other fields)"
"""What further keys are counted under once there are too many."""

_KEYS_AT_MOST = 50_000
_LARGEST = 2**31 - 1
_FIXED = 2**40
_DEEP = 2


class Gathered:
    """One system's rows.

    Attributes:
        ids: of the samples, in the order of their first row.
        complexities: of the schemas, each distinct one once.
        diagnostics: ``errors``, ``error_fields``, ``confusion``, ``composite``, ``token_f1``,
            ``levenshtein``, ``containment`` → what was counted over the scored rows.
        prints: what repeats are compared by; empty unless asked for.
    """

    def __init__(self, *, repeated: bool = False) -> None:
        self.ids: dict[str, int] = {}
        self.domains: dict[str, int] = {}
        self.languages: dict[str, int] = {}
        self.complexities: dict[Complexity, int] = {}
        self.keys: dict[tuple[str, str], int] = {}
        self.diagnostics: dict[str, Counter[Any]] = {
            name: Counter() for name in (*_COUNTED, *_HISTOGRAMS)
        }
        self.prints = Prints() if repeated else None
        self._fixed_sums = [0, 0, 0, 0]
        self._whole = array("i")
        self._measured = array("d")
        self._fields = array("i")

    def __len__(self) -> int:
        return len(self._whole) // len(WHOLE)

    def add(self, row: ExtractionRow) -> None:
        """Takes one row in."""
        score = row.score
        place = self.ids.setdefault(row.id, len(self.ids))
        outcome = _outcome(row)
        if self.prints is not None and outcome != ERROR:
            self.prints.add(place, row.predicted, parsed=score.parsed)
        self._fields.extend(self._of_fields(score, len(self)))
        self._whole.extend(
            (
                place,
                row.repeat,
                outcome,
                score.exact_match and score.valid,
                row.timed_out,
                min(row.retries, _LARGEST),
                score.bounded,
                self.domains.setdefault(score.domain, len(self.domains)),
                self.languages.setdefault(score.language, len(self.languages)),
                self.complexities.setdefault(score.complexity, len(self.complexities)),
                min(score.text_characters, _LARGEST),
                *msgspec.structs.astuple(score.tally),
                *score.hallucinations,
            )
        )
        usage = row.usage
        counted = usage is not None and usage.prompt_tokens + usage.completion_tokens > 0
        self._measured.extend(
            _nan(value)
            for value in (
                row.latency_s,
                row.ttft_s,
                row.at_s,
                row.confidence,
                usage.prompt_tokens if usage is not None and counted else None,
                usage.completion_tokens if usage is not None and counted else None,
                None if usage is None else usage.cost_usd,
                row.input_chars,
                row.output_chars,
            )
        )
        if outcome != ERROR:
            self._diagnose(score)

    def merge(self, other: Gathered) -> None:
        """Takes in all rows of another, as if they had been added here one by one."""
        samples = [self.ids.setdefault(name, len(self.ids)) for name in other.ids]
        first = len(self)
        whole = other.whole.copy()
        for column, names, theirs in (
            ("domain", self.domains, other.domains),
            ("language", self.languages, other.languages),
        ):
            places = [names.setdefault(name, len(names)) for name in theirs]
            _replace(whole, column, places)
        schemas = [
            self.complexities.setdefault(one, len(self.complexities)) for one in other.complexities
        ]
        _replace(whole, "schema", schemas)
        _replace(whole, "sample", samples)
        fields = other.fields.copy()
        if len(fields):
            keys = [self._key(dimension, key) for dimension, key in other.keys]
            fields[:, 0] += first
            fields[:, 1] = np.array(keys, dtype=np.int32)[fields[:, 1]]
        self._whole.frombytes(whole.tobytes())
        self._measured.frombytes(other.measured.tobytes())
        self._fields.frombytes(fields.tobytes())
        for name, counts in other.diagnostics.items():
            _count(self.diagnostics[name], counts)
        for place, amount in enumerate(other._fixed_sums):
            self._fixed_sums[place] += amount
        if self.prints is not None and other.prints is not None:
            self.prints.merge(other.prints, samples)

    def sort(self, places: NDArray[np.int64]) -> None:
        """Brings the rows into the order of their samples and repeats, however they came.

        Args:
            places: place in the run of each sample, in the order of ``ids``.
        """
        whole = self.whole
        by = (whole[:, WHOLE.index("repeat")], places[whole[:, WHOLE.index("sample")]])
        order = np.lexsort(by)
        now = np.empty_like(order)
        now[order] = np.arange(len(order))
        whole[:] = whole[order]
        self.measured[:] = self.measured[order]
        fields = self.fields
        fields[:, 0] = now[fields[:, 0]]

    # The arrays are seen as they are, not copied: adding rows while one is held raises BufferError.

    @property
    def whole(self) -> NDArray[np.int32]:
        """Shape (rows, len(WHOLE))."""
        return np.frombuffer(self._whole, dtype=np.int32).reshape(-1, len(WHOLE))

    @property
    def measured(self) -> Floats:
        """Shape (rows, len(MEASURED))."""
        return np.frombuffer(self._measured).reshape(-1, len(MEASURED))

    @property
    def fields(self) -> NDArray[np.int32]:
        """Row, place in ``keys``, then counts: shape (any, 2 + len(TALLY))."""
        return np.frombuffer(self._fields, dtype=np.int32).reshape(-1, 2 + len(TALLY))

    @property
    def similarity_sums(self) -> tuple[float, float, float]:
        """Sums of the three similarities over all pairs of texts."""
        one, two, three, _ = (amount / _FIXED for amount in self._fixed_sums)
        return one, two, three

    @property
    def score_sum(self) -> float:
        """Sum of the scores of all pairs."""
        return self._fixed_sums[3] / _FIXED

    def _of_fields(self, score: SampleScore, row: int) -> Iterable[int]:
        counts: dict[int, Tally] = {}
        for dimension in FIELD_DIMENSIONS:
            for key, tally in score.by.get(dimension, {}).items():
                place = self._key(dimension, _depth(key) if dimension == "depth" else key)
                counts[place] = counts[place] + tally if place in counts else tally
        for place, tally in counts.items():
            yield from (row, place, *msgspec.structs.astuple(tally))

    def _key(self, dimension: str, key: str) -> int:
        known = self.keys.get((dimension, key))
        if known is not None:
            return known
        # Names of fields come from replies too, and there is no end to what those may hold.
        if len(self.keys) >= _KEYS_AT_MOST:
            key = OTHERS
        return self.keys.setdefault((dimension, key), len(self.keys))

    def _diagnose(self, score: SampleScore) -> None:
        for name in (*_COUNTED, *_HISTOGRAMS):
            _count(self.diagnostics[name], getattr(score, name))
        # Fixed point, because sums of floats depend on their order and a report must not.
        for place, amount in enumerate((*score.similarity_sums, score.score_sum)):
            self._fixed_sums[place] += round(amount * _FIXED)


_COUNTED = ("errors", "error_fields", "confusion")
_HISTOGRAMS = ("composite", "token_f1", "levenshtein", "containment")


def gather(rows: Iterable[ExtractionRow], *, repeated: bool = False) -> dict[str, Gathered]:
    """The rows of some systems, in any order, by system in order of name.

    Args:
        rows: read once and not kept.
        repeated: whether samples are put more than once, so that repeats are to be compared.
    """
    found: dict[str, Gathered] = {}
    for row in rows:
        if row.system not in found:
            found[row.system] = Gathered(repeated=repeated)
        found[row.system].add(row)
    return dict(sorted(found.items()))


def _outcome(row: ExtractionRow) -> int:
    """The place of a row's outcome in ``OUTCOMES``, by what was scored."""
    if row.outcome == "ERROR":
        return ERROR
    if not row.score.parsed:
        return OUTCOMES.index("unparsable")
    return OUTCOMES.index("ok" if row.score.valid else "invalid")


def _depth(key: str) -> str:
    """Depths as they are reported: 0, 1, and 2 or more."""
    return key if not key.isdigit() or int(key) < _DEEP else f"{_DEEP}+"


def _count(counter: Counter[Any], counts: Mapping[Any, int]) -> None:
    for key, count in counts.items():
        known = key in counter or len(counter) < _KEYS_AT_MOST
        counter[key if known else OTHERS] += count


def _replace(whole: NDArray[np.int32], column: str, places: list[int]) -> None:
    at = WHOLE.index(column)
    if len(whole):
        whole[:, at] = np.array(places, dtype=np.int32)[whole[:, at]]


def _nan(value: float | None) -> float:
    return float("nan") if value is None else float(value)
