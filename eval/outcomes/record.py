"""The record of ``epoche outcomes``, which gates and reports read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from eval.harness.predictions.rows import MAX_ARRAY_BYTES
from eval.metrics.comparison import Comparison
from eval.metrics.record_digest import check_digest
from eval.outcomes.grades import OUTCOMES
from eval.outcomes.measures import compute_value, list_measures, vote
from eval.stats.bootstrap import Floats
from eval.stats.estimates import Estimate
from kg.base.errors import RecordError
from kg.base.files import require_file

SCHEMA = "epoche.outcomes/1"


class SystemOutcomes(msgspec.Struct, frozen=True, kw_only=True):
    """The measures of one system."""

    counts: dict[str, int]
    """Number of answers by outcome."""
    missing: int = 0
    """Number of answers that it lacks and other systems have; they count as unusable."""
    repeats: int = 1
    measures: dict[str, Estimate]
    n_confidences: int = 0
    """Number of right and wrong answers with a confidence, which ``confidences`` is about."""
    confidences: dict[str, Estimate] = {}
    """ECE, Brier score, AURC and AUGRC of the confidences; empty if there is none."""
    risk_coverage: tuple[tuple[float, float, float], ...] = ()
    """Threshold, coverage and risk, by falling threshold: if only the answers of at least that
    confidence are given, the share of them that is given, and the share of these that is wrong. Of
    the answers that ``confidences`` is about, thinned to at most 200 points."""
    official: dict[str, Estimate] = {}
    """Of SQuAD 2.0 the scores of its script as shares, over all questions and over those with
    (HasAns) and without (NoAns) an answer; empty for graded answers."""
    majority: dict[str, Estimate] = {}
    """The measures of the outcome that more than half of the answers to a question have; without
    one, the question counts as abstained, or as unusable if failed calls left it open. Only for
    systems that answered several times."""

    @property
    def n_given(self) -> int:
        """Number of right and wrong answers."""
        return self.counts["right"] + self.counts["wrong"]


class QuestionOutcomes(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of all questions, so that a later record can be compared question by question.

    Texts have a letter for each question, in the order of ``ids``.
    """

    ids: tuple[str, ...]
    """The starts of the SHA-256 hashes of the questions' ids, which are often the questions."""
    contents: tuple[str, ...] | None = None
    """The starts of the SHA-256 hashes of the questions' texts, empty where one is not known; null
    if none is, and in records of versions that did not write it."""
    answerable: str | None = None
    """y or n; null if it is not known of all questions."""
    clusters: tuple[int, ...] | None = None
    """The number of each question's cluster; null if each question is one of its own."""
    outcomes: dict[str, tuple[str, ...]]
    """By system, a text for each repeat: r right, w wrong, a abstained, u unusable. The answers to
    a question are in the order of their outcomes."""


class OutcomeComparison(Comparison, frozen=True, kw_only=True):
    """Two systems compared on one measure, over all questions."""

    n_shared: int | None = None
    """Number of questions that both systems have an answer to; the others count as unusable for
    the system that lacks them. Null in records of versions that did not write it."""


class OutcomesReport(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file of ``epoche outcomes --out``."""

    schema: str = SCHEMA
    version: str
    n_questions: int
    n_answerable: int | None = None
    """Null if it is not known of all questions."""
    n_clusters: int
    headline: str
    systems: dict[str, SystemOutcomes]
    controls: dict[str, dict[str, float | None]]
    """The measures of systems that need no answer: always abstaining, and, as an upper bound,
    always answering right whatever can be answered and wrong otherwise."""
    comparisons: tuple[OutcomeComparison, ...] = ()
    questions: QuestionOutcomes | None = None
    """Null in records of versions that did not write it."""
    confidence: float
    resamples: int
    seed: int
    notes: tuple[str, ...] = ()
    content_sha256: str = ""
    """Digest of all other fields, so that edited numbers are noticed."""


OUTCOME_LETTERS: Final = {outcome[0]: outcome for outcome in OUTCOMES}

MAX_RISK_POINTS = 200
"""Maximum number of points of a risk-coverage curve."""

_TOLERANCE: Final = 1e-6
"""Maximum difference of a measure from that of the outcomes, due to rounding."""


class _SchemaName(msgspec.Struct):
    schema: str = ""


def is_outcomes_record(path: Path) -> bool:
    """Returns whether a file says of itself that it is a record of ``epoche outcomes``."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    if path.stat().st_size > MAX_ARRAY_BYTES:
        return False
    try:
        return msgspec.json.decode(path.read_bytes(), type=_SchemaName).schema == SCHEMA
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def read_outcomes(path: Path, *, allow_changed: bool = False) -> OutcomesReport:
    """Reads a record.

    Args:
        path: the file.
        allow_changed: accept one that was edited, if its measures are those of its outcomes.

    Returns:
        The record; its notes say so if it was edited, or has no digest.

    Raises:
        MissingFileError: no such file.
        RecordError: the file has another structure.
        ChangedRunError: it was edited after it was computed, and this is not accepted.
    """
    path = require_file(path, "record of graded answers")
    try:
        report = msgspec.json.decode(path.read_bytes(), type=OutcomesReport)
        _check_record(report)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(
            f"not a record of graded answers: {error}",
            where=str(path),
            hint="Make it with `epoche outcomes --out`.",
        ) from error
    warnings = check_digest(path, command="epoche outcomes", allow_changed=allow_changed)
    return msgspec.structs.replace(report, notes=(*warnings, *report.notes))


def _check_record(report: OutcomesReport) -> None:
    """Checks what the types of a record do not say.

    Raises:
        msgspec.ValidationError: a system has no answers, a count or the headline is missing, or
            counts or measures are not those of the questions' outcomes.
    """
    for name, system in report.systems.items():
        if set(system.counts) != set(OUTCOMES) or sum(system.counts.values()) <= 0:
            raise msgspec.ValidationError(f"system {name!r} has no counts of all outcomes")
        if report.headline not in system.measures:
            raise msgspec.ValidationError(f"system {name!r} has no measure {report.headline!r}")
    if report.questions is not None:
        _check_questions(report.questions, report.systems)
    for name, measures in report.controls.items():
        if report.headline not in measures:
            raise msgspec.ValidationError(f"control {name!r} has no measure {report.headline!r}")


def _check_questions(questions: QuestionOutcomes, systems: Mapping[str, SystemOutcomes]) -> None:
    n, letters = len(questions.ids), set(OUTCOME_LETTERS)
    texts = [text for found in questions.outcomes.values() for text in found]
    lengths = {len(text) for text in texts}
    if questions.answerable is not None:
        lengths.add(len(questions.answerable))
    if questions.contents is not None:
        lengths.add(len(questions.contents))
    if questions.clusters is not None:
        lengths.add(len(questions.clusters))
    if lengths != {n} or len(set(questions.ids)) != n:
        raise msgspec.ValidationError("its questions do not have one outcome each")
    if any(set(text) - letters for text in texts) or set(questions.answerable or "") - set("yn"):
        raise msgspec.ValidationError("outcomes of its questions have unknown letters")
    for name, system in systems.items():
        found = "".join(questions.outcomes.get(name, ()))
        if any(
            found.count(letter) != system.counts[outcome]
            for letter, outcome in OUTCOME_LETTERS.items()
        ):
            raise msgspec.ValidationError(f"the counts of system {name!r} are not its outcomes")
        counts = _count_answers(questions.outcomes[name])
        _check_measures(questions, counts, system.measures, name)
        _check_measures(questions, vote(counts), system.majority, f"{name} by majority")


def _count_answers(texts: Sequence[str]) -> Floats:
    """Counts the answers to each question by outcome, shape (questions, outcomes)."""
    letters = np.frombuffer("".join(texts).encode(), dtype=np.uint8).reshape(len(texts), -1)
    counts = [(letters == ord(letter)).sum(axis=0) for letter in OUTCOME_LETTERS]
    return np.stack(counts, axis=1).astype(np.float64)


def _check_measures(
    questions: QuestionOutcomes, counts: Floats, measures: Mapping[str, Estimate], name: str
) -> None:
    """Raises an error if a measure is not that of the outcomes."""
    answerable = questions.answerable or "y" * len(questions.ids)
    is_answerable = np.array([known == "y" for known in answerable])
    totals = np.concatenate([counts[is_answerable].sum(axis=0), counts[~is_answerable].sum(axis=0)])
    for measure in list_measures(is_answerability_known=questions.answerable is not None):
        if measure.name not in measures:
            continue
        stated, found = measures[measure.name].value, compute_value(totals, measure)
        if stated is None or found is None:
            is_same = stated is found
        else:
            is_same = math.isclose(stated, found, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
        if not is_same:
            raise msgspec.ValidationError(
                f"{measure.name} of system {name!r} is {stated}, that of its outcomes {found}"
            )
