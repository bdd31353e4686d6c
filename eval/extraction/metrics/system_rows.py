"""Collects the rows of a run in compact numeric tables; the report is computed from these.

A row takes 49 numbers, plus sixteen for each group of its fields (each type, depth and name, and
required or optional): about 2.1 kB for twenty fields. Texts, values and fields are not stored. If
samples have several repeats, two hashes and one number per predicted value are stored as well, to
compare the repeats.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from eval.extraction.metrics.consistency import OutputHashes
from eval.extraction.metrics.quality_score import compute_score_parts
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import UNNAMED
from eval.extraction.schemas.complexity import Complexity
from eval.extraction.schemas.violations import ViolationSums
from eval.extraction.verdicts.quotes import Grounding
from eval.extraction.verdicts.sample_score import SampleScore, Tally
from eval.stats.bootstrap import Floats

TALLY_COLUMNS: tuple[str, ...] = Tally.__struct_fields__
OUTCOMES = ("ok", "invalid", "unparsable", "error", "nulls")
VALID_OUTCOMES = ("ok", "nulls")
ERROR = OUTCOMES.index("error")

INTEGER_COLUMNS = (
    *("sample", "repeat", "outcome", "match", "timed_out", "retries", "bounded", "unchecked"),
    *("match_literal", "valid_literal", "nulls", "ambiguous_values"),
    *("domain", "language", "schema", "text_characters"),
    *TALLY_COLUMNS,
    *(f"hallucination_{number}" for number in (1, 2, 3, 4)),
    *("searched", "not_found", "quotes", "quotes_found", "gold_quotes", "quotes_covered"),
)
"""Integer columns of a row; ``domain``, ``language`` and ``schema`` are positions in the attributes
``domains``, ``languages`` and ``complexities`` of ``SystemRows``."""
FLOAT_COLUMNS = (
    *("latency_s", "ttft_s", "at_s", "confidence"),
    *("input_tokens", "output_tokens", "cost_usd", "input_chars", "output_chars"),
)
"""Float columns of a row; nan if not measured."""
FIELD_DIMENSIONS = ("type", "depth", "name", "required")
OTHER_FIELDS = "(other fields)"
"""Key under which further keys are pooled once there are too many."""

_MAX_KEYS = 50_000
_MAX_INT32 = 2**31 - 1
_FIXED_POINT_SCALE = 2**40
_MAX_DEPTH = 2


class FieldDecisions:
    """Decisions on one field: a value, or none.

    Attributes:
        confidences: the confidence of each.
        right: whether each is right.
        samples: position of its sample in ``ids``.
    """

    def __init__(self) -> None:
        self.confidences = array("d")
        self.right = array("b")
        self.samples = array("i")


class SystemRows:
    """The rows of one system as numbers.

    Attributes:
        ids: sample id → position, in the order of their first row.
        domains: domain → position.
        languages: language → position.
        complexities: distinct schema complexity → position.
        keys: group of fields (dimension of the breakdown, key) → position.
        confidences: path of a field → the decisions on it that have a confidence.
        diagnostics: ``errors``, ``error_fields``, ``confusion``, ``rules``, ``composite``,
            ``token_f1``, ``levenshtein``, ``containment`` → counts over the scored rows.
        violations: why replies are invalid, by keyword and field.
        unreadable: why replies are not JSON → number of replies.
        output_hashes: hashes for comparing repeats; ``None`` unless ``repeated``.
    """

    def __init__(self, *, repeated: bool = False) -> None:
        self.violations = ViolationSums()
        self.unreadable: Counter[str] = Counter()
        self.ids: dict[str, int] = {}
        self.domains: dict[str, int] = {}
        self.languages: dict[str, int] = {}
        self.complexities: dict[Complexity, int] = {}
        self.keys: dict[tuple[str, str], int] = {}
        self.diagnostics: dict[str, Counter[Any]] = {
            name: Counter() for name in (*_COUNTERS, *_HISTOGRAMS)
        }
        self.output_hashes = OutputHashes() if repeated else None
        self.confidences: dict[str, FieldDecisions] = {}
        # Sums of the three similarities and of the scores, in units of 1 / _FIXED_POINT_SCALE.
        self._fixed_sums = [0, 0, 0, 0]
        self._integers = array("i")
        self._floats = array("d")
        self._fields = array("i")

    def __len__(self) -> int:
        return len(self._integers) // len(INTEGER_COLUMNS)

    def add_row(self, row: ExtractionRow) -> None:
        """Adds one row."""
        score = row.score
        sample_position = self.ids.setdefault(row.id, len(self.ids))
        outcome = _outcome_code(row)
        if OUTCOMES[outcome] == "unparsable":
            _add_counts(self.unreadable, {_shorten_problem(row.problem): 1})
        if self.output_hashes is not None and outcome != ERROR:
            self.output_hashes.add_reply(sample_position, row.predicted, parsed=score.parsed)
        self._fields.extend(self._field_counts(score, len(self)))
        self._integers.extend(
            (
                sample_position,
                row.repeat,
                outcome,
                score.exact_match and score.valid,
                row.timed_out,
                min(row.retries, _MAX_INT32),
                score.bounded,
                score.unchecked,
                score.exact_match_literal,
                score.valid_literal,
                min(score.nulls, _MAX_INT32),
                min(score.ambiguous_values, _MAX_INT32),
                self.domains.setdefault(score.domain or UNNAMED, len(self.domains)),
                self.languages.setdefault(score.language or UNNAMED, len(self.languages)),
                self.complexities.setdefault(score.complexity, len(self.complexities)),
                min(score.text_characters, _MAX_INT32),
                *msgspec.structs.astuple(score.tally),
                *score.hallucinations,
                score.searched,
                score.not_found,
                *msgspec.structs.astuple(row.grounding or _NO_QUOTES),
            )
        )
        usage = row.usage
        has_token_counts = usage is not None and usage.prompt_tokens + usage.completion_tokens > 0
        self._floats.extend(
            _none_to_nan(value)
            for value in (
                row.latency_s,
                row.ttft_s,
                row.at_s,
                row.confidence,
                usage.prompt_tokens if usage is not None and has_token_counts else None,
                usage.completion_tokens if usage is not None and has_token_counts else None,
                None if usage is None else usage.cost_usd,
                row.input_chars,
                row.output_chars,
            )
        )
        if outcome != ERROR:
            self._add_diagnostics(score)
            self._add_confidences(row, sample_position)
        if score.violations:
            self.violations.add_reply(score.violations, compute_score_parts(1.0, score.tally))

    def sort_rows(self, positions: NDArray[np.int64]) -> None:
        """Sorts the rows by sample and repeat, so that results do not depend on their order.

        Args:
            positions: position in the run of each sample, in the order of ``ids``.
        """
        integers = self.integers
        # lexsort sorts by its last key first: by sample, then by repeat.
        sort_keys = (
            integers[:, INTEGER_COLUMNS.index("repeat")],
            positions[integers[:, INTEGER_COLUMNS.index("sample")]],
        )
        order = np.lexsort(sort_keys)
        new_position = np.empty_like(order)
        new_position[order] = np.arange(len(order))
        integers[:] = integers[order]
        self.floats[:] = self.floats[order]
        fields = self.fields
        fields[:, 0] = new_position[fields[:, 0]]

    # These are views, not copies: adding a row while a view is alive raises BufferError.

    @property
    def integers(self) -> NDArray[np.int32]:
        """Shape (rows, len(INTEGER_COLUMNS))."""
        return np.frombuffer(self._integers, dtype=np.int32).reshape(-1, len(INTEGER_COLUMNS))

    @property
    def floats(self) -> Floats:
        """Shape (rows, len(FLOAT_COLUMNS))."""
        return np.frombuffer(self._floats).reshape(-1, len(FLOAT_COLUMNS))

    @property
    def fields(self) -> NDArray[np.int32]:
        """One line per row and group of fields, shape (n, 2 + len(TALLY_COLUMNS)).

        The columns are the row, the position of the group in ``keys``, and the counts.
        """
        return np.frombuffer(self._fields, dtype=np.int32).reshape(-1, 2 + len(TALLY_COLUMNS))

    @property
    def similarity_sums(self) -> tuple[float, float, float]:
        """Sums of the three similarities over all pairs of texts."""
        token_f1, levenshtein, containment, _ = (
            amount / _FIXED_POINT_SCALE for amount in self._fixed_sums
        )
        return token_f1, levenshtein, containment

    @property
    def score_sum(self) -> float:
        """Sum of the scores of all pairs."""
        return self._fixed_sums[3] / _FIXED_POINT_SCALE

    def _field_counts(self, score: SampleScore, row: int) -> Iterable[int]:
        counts: dict[int, Tally] = {}
        for dimension in FIELD_DIMENSIONS:
            for key, tally in score.by.get(dimension, {}).items():
                key_position = self._key_position(
                    dimension, _depth_key(key) if dimension == "depth" else key
                )
                counts[key_position] = (
                    counts[key_position] + tally if key_position in counts else tally
                )
        for key_position, tally in counts.items():
            yield from (row, key_position, *msgspec.structs.astuple(tally))

    def _add_confidences(self, row: ExtractionRow, sample_position: int) -> None:
        """Adds the confidences of the fields; where there are none, that of the whole reply."""
        score = row.score
        by_field: dict[str, Iterable[tuple[float, bool]]] = dict(score.field_confidences)
        if not by_field and row.confidence is not None:
            for name, tally in score.by.get("name", {}).items():
                n_right = tally.right + tally.left_out
                n_wrong = tally.expected + tally.absent - n_right
                outcomes = [True] * n_right + [False] * n_wrong
                by_field[name] = [(row.confidence, is_right) for is_right in outcomes]
        for name, decisions in by_field.items():
            if name not in self.confidences and len(self.confidences) >= _MAX_KEYS:
                name = OTHER_FIELDS
            kept = self.confidences.setdefault(name, FieldDecisions())
            for confidence, is_right in decisions:
                kept.confidences.append(confidence)
                kept.right.append(is_right)
                kept.samples.append(sample_position)

    def _key_position(self, dimension: str, key: str) -> int:
        position = self.keys.get((dimension, key))
        if position is not None:
            return position
        # Field names also come from replies, so their number must be capped.
        if len(self.keys) >= _MAX_KEYS:
            key = OTHER_FIELDS
        return self.keys.setdefault((dimension, key), len(self.keys))

    def _add_diagnostics(self, score: SampleScore) -> None:
        for name in (*_COUNTERS, *_HISTOGRAMS):
            _add_counts(self.diagnostics[name], getattr(score, name))
        # Fixed point: float sums depend on the order of rows, but a report must not.
        for index, amount in enumerate((*score.similarity_sums, score.score_sum)):
            self._fixed_sums[index] += round(amount * _FIXED_POINT_SCALE)


_NO_QUOTES = Grounding()
_COUNTERS = ("errors", "error_fields", "confusion", "rules")
_HISTOGRAMS = ("composite", "token_f1", "levenshtein", "containment")


def collect_rows(rows: Iterable[ExtractionRow], *, repeated: bool = False) -> dict[str, SystemRows]:
    """Collects rows by system, sorted by the system's name.

    Args:
        rows: rows of any systems in any order; iterated once and not stored.
        repeated: whether samples have several repeats, which must be compared.
    """
    rows_by_system: dict[str, SystemRows] = {}
    for row in rows:
        if row.system not in rows_by_system:
            rows_by_system[row.system] = SystemRows(repeated=repeated)
        rows_by_system[row.system].add_row(row)
    return dict(sorted(rows_by_system.items()))


def _outcome_code(row: ExtractionRow) -> int:
    """Returns the position of a row's outcome in ``OUTCOMES``, derived from its score."""
    if row.outcome == "ERROR":
        return ERROR
    if not row.score.parsed:
        return OUTCOMES.index("unparsable")
    if not row.score.valid:
        return OUTCOMES.index("invalid")
    return OUTCOMES.index("nulls" if row.score.nulls else "ok")


def _shorten_problem(problem: str) -> str:
    """Returns why a reply is not JSON, without its place and words."""
    return _PLACE.sub("", problem.removeprefix("not JSON: ")) or "no reason is known"


_PLACE: Final = re.compile(
    r" at line.*|:? the text ends before.*|, and nothing says.*|, “.*| '\w.*?'"
)


def _depth_key(key: str) -> str:
    """Returns the key under which a depth is reported: 0, 1, or 2+."""
    return key if not key.isdigit() or int(key) < _MAX_DEPTH else f"{_MAX_DEPTH}+"


def _add_counts(counter: Counter[Any], counts: Mapping[Any, int]) -> None:
    for key, count in counts.items():
        has_room = key in counter or len(counter) < _MAX_KEYS
        counter[key if has_room else OTHER_FIELDS] += count


def _none_to_nan(value: float | None) -> float:
    return float("nan") if value is None else float(value)
