"""Measures and compares retrieval evaluations for the commands that serve all benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from eval.metrics.comparison import Comparison
from eval.metrics.measurement import (
    MeasuredRuns,
    Measurement,
    MetricInfo,
    ResamplingPlan,
    SystemPair,
)
from eval.metrics.run_set import (
    describe_left_out,
    hash_items,
    list_systems,
    name_systems,
    require_distinct_folders,
    select_shared_items,
)
from eval.ranking.answerability import ANSWERABILITY_MEASURES, COMPARABLE_RETRIEVERS
from eval.ranking.differences import compare_retrievers
from eval.ranking.metrics import METRIC_NAMES, score_questions
from eval.ranking.outputs import METRICS_FILE, QUESTIONS_FILE, QuestionRow
from eval.ranking.question_scores import QuestionScores, RetrieverScores
from eval.ranking.questions import UNANSWERABLE, Kind, Question
from eval.ranking.rankings import Rankings
from eval.ranking.record import ALL_QUESTIONS, SCHEMA, RetrievalReport
from eval.stats.bootstrap import ClusterResamples
from eval.stats.estimates import Estimate
from kg.base.errors import CardSetMismatchError, RecordError
from kg.base.files import iter_decoded_lines, require_file

_NOUN: Final = "question"
_LOWER_IS_BETTER: Final = "FPR@TPR.90"
_METRICS: Final = {
    name: MetricInfo(higher_is_better=name != _LOWER_IS_BETTER)
    for name in (*METRIC_NAMES, *ANSWERABILITY_MEASURES)
}


class _Schema(msgspec.Struct):
    """The field that says what a metrics file contains."""

    schema: Any = None


class RetrievalMeasurement(Measurement):
    """Measures retrievers over all answerable questions.

    Args:
        scores: the scores of all retrievers.
        runs: what is measured.
        plan: how questions are resampled.
    """

    def __init__(self, scores: QuestionScores, runs: MeasuredRuns, plan: ResamplingPlan) -> None:
        super().__init__(runs, plan)
        self._scores = scores

    def estimates(self, system: str) -> Mapping[str, Estimate]:
        """See ``Measurement``."""
        deviations = self._scores.get_distribution(system, ALL_QUESTIONS).compute_standard_errors()
        estimates = self._scores.estimate_metrics(system, ALL_QUESTIONS)
        return {
            name: Estimate(
                value=estimate.value,
                low=estimate.low,
                high=estimate.high,
                method=estimate.method,
                n=estimate.n,
                std=None if np.isnan(deviation) else float(deviation),
                higher_is_better=_METRICS[name].higher_is_better,
                why=estimate.why,
            )
            for (name, estimate), deviation in zip(estimates.items(), deviations, strict=True)
        }

    def compare(
        self, pairs: Sequence[SystemPair], metric_names: Sequence[str]
    ) -> tuple[Comparison, ...]:
        """See ``Measurement``."""
        compared = compare_retrievers(self._scores, pairs)
        return tuple(
            comparison
            for name in metric_names
            for comparison in compared
            if comparison.metric == name and comparison.group == ALL_QUESTIONS
        )


def is_retrieval_folder(folder: Path) -> bool:
    """Returns whether ``epoche retrieval eval`` wrote a folder."""
    try:
        content = (folder / METRICS_FILE).read_bytes()
        return bool(msgspec.json.decode(content, type=_Schema).schema == SCHEMA)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def measure_runs(folders: Sequence[Path], plan: ResamplingPlan) -> RetrievalMeasurement:
    """Measures retrieval evaluations on the questions that all of them have.

    A question that has no row of a retriever counts as one for which it found nothing.

    Raises:
        SettingError: a folder is given twice.
        MissingFileError, RecordError: a file is missing or damaged.
        CardSetMismatchError: the evaluations are of different questions.
    """
    require_distinct_folders(folders)
    reports = [_read_report(folder / METRICS_FILE) for folder in folders]
    for folder, report in zip(folders, reports, strict=True):
        if report.questions.sha256 != reports[0].questions.sha256:
            raise CardSetMismatchError(
                "the evaluations are of different question files",
                where=f"{folders[0]} and {folder}",
                hint="Evaluate both with the same --questions.",
            )
    rows = [
        list(_iter_rows(folder / QUESTIONS_FILE, report))
        for folder, report in zip(folders, reports, strict=True)
    ]
    kinds: list[dict[str, Kind]] = [{row.id: row.kind for row in run_rows} for run_rows in rows]
    shared, n_left_out = select_shared_items(folders, kinds, noun=_NOUN)
    names = name_systems(folders, [_list_retrievers(report) for report in reports])
    retrievers = {
        name: _build_scores(own_name, run_rows, shared)
        for run_rows, run_names in zip(rows, names, strict=True)
        for own_name, name in run_names.items()
    }
    scores = QuestionScores(
        list(shared.values()),
        retrievers,
        ClusterResamples(len(shared), plan.resamples, plan.seed),
        plan.confidence,
    )
    runs = MeasuredRuns(
        benchmark="retrieval",
        noun=_NOUN,
        systems=list_systems(names),
        n_items=len(shared),
        n_left_out=n_left_out,
        metrics=_METRICS,
        headline=METRIC_NAMES,
        items=hash_items(shared),
        details={"questions": reports[0].questions.sha256[:12], "run": reports[0].corpus.run[:12]},
        notes=(
            *describe_left_out(len(shared), n_left_out, noun=_NOUN),
            *_list_notes(reports),
        ),
    )
    return RetrievalMeasurement(scores, runs, plan)


def _read_report(path: Path) -> RetrievalReport:
    require_file(path, "metrics file")
    try:
        return msgspec.json.decode(path.read_bytes(), type=RetrievalReport)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(
            f"not the metrics of retrievers: {error}",
            where=str(path),
            hint="Run `epoche retrieval eval` again to replace it.",
        ) from error


def _list_retrievers(report: RetrievalReport) -> list[str]:
    return [*report.retrievers, *report.variants]


def _iter_rows(path: Path, report: RetrievalReport) -> Iterator[QuestionRow]:
    """Yields the rows of all retrievers.

    Raises:
        MissingFileError, RecordError: the file is missing, a line is damaged or of an unknown
            retriever, or questions have no row at all.
    """
    names = frozenset(_list_retrievers(report))
    decode = msgspec.json.Decoder(QuestionRow).decode
    questions = set()
    for number, row in iter_decoded_lines(path, "retrieval-question", decode):
        if row.retriever not in names or (row.measures is None) != (row.kind == UNANSWERABLE):
            raise RecordError(
                "not a row of this evaluation: its retriever or its kind is wrong",
                where=f"{path}:{number}",
                hint="Run `epoche retrieval eval` again to replace the folder.",
            )
        questions.add(row.id)
        yield row
    if len(questions) != report.questions.n:
        raise RecordError(
            f"the file has rows of {len(questions)} of {report.questions.n} questions",
            where=str(path),
            hint="Run `epoche retrieval eval` again to replace the folder.",
        )


def _build_scores(
    name: str, rows: Sequence[QuestionRow], questions: Mapping[str, Kind]
) -> RetrieverScores:
    """Computes the scores of one retriever, in the order of the questions.

    The metrics are computed again from the ranks, since those in the rows are rounded.
    """
    row_by_id = {row.id: row for row in rows if row.retriever == name}
    gold = {row.id: row.gold for row in rows}
    values = score_questions(
        Rankings(name, None, {id_: _rebuild_ranking(row_by_id.get(id_)) for id_ in questions}),
        [
            Question(id=id_, question="", kind=kind, split="test", gold=gold[id_])
            for id_, kind in questions.items()
        ],
    )
    best_scores = np.full(len(questions), -np.inf)
    for index, id_ in enumerate(questions):
        row = row_by_id.get(id_)
        if row is not None and row.best_score is not None:
            best_scores[index] = row.best_score
    return RetrieverScores(values, best_scores, name in COMPARABLE_RETRIEVERS)


def _rebuild_ranking(row: QuestionRow | None) -> dict[str, float]:
    """Returns a ranking with each gold chunk at its rank, and others, called " 1" etc., between."""
    if row is None:
        return {}
    chunk_at = {rank: chunk_id for chunk_id, rank in row.ranks.items() if rank is not None}
    return {
        chunk_at.get(rank, f" {rank}"): -float(rank)
        for rank in range(1, max(chunk_at, default=0) + 1)
    }


def _list_notes(reports: Sequence[RetrievalReport]) -> Iterator[str]:
    if any(report.corpus.run != reports[0].corpus.run for report in reports):
        yield "The evaluations searched different runs of the text."
    if any(report.questions.split != "test" for report in reports):
        yield "Numbers include dev questions: settings chosen on these look better than they are."
