"""Scores predictions: per question, per category, and over the whole catalogue.

Means are over all questions of the catalogue, except answers that could not be judged: a question
without an answer, or with a blank one, scores 0. Intervals are bootstrap intervals over questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from eval.stats.bootstrap import SEED, ClusterResamples, round_significant
from eval.synthlink.catalog import Catalog
from eval.synthlink.corrected.answer_scores import (
    aggregate_metrics,
    iteration_efficiency,
    keep_readers,
    open_guard,
    score_corrected,
    score_unanswered,
)
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.items import Question
from eval.synthlink.metrics import (
    AGGREGATE_WEIGHTS,
    METRICS,
    MODES,
    STEP_VERDICTS,
    VERDICTS,
    AnswerScores,
    AnswerStatus,
    MetricName,
    Mode,
    QuestionScore,
)
from eval.synthlink.predictions import (
    Prediction,
    Predictions,
    check_predictions,
    is_blank,
    read_predictions,
)
from eval.synthlink.scoring.literal_scores import SpecReadings, score_literal
from eval.synthlink.scoring.mean_scores import (
    collect_metric_values,
    compute_bounds,
    count_unjudged,
    estimate_means,
)
from eval.synthlink.scoring.record import (
    GroupScores,
    MeanScore,
    ModeScores,
    SweepPoint,
    SynthLinkReport,
)
from eval.synthlink.verdicts.judge_report import (
    build_judge_report,
    list_judge_notes,
    measure_anchors,
)
from kg.base.console import StageCallback
from kg.base.plain_text import join_list
from kg.base.provenance import package_version

if TYPE_CHECKING:
    from eval.guard.stream import Guard
    from eval.synthlink.verdicts.record import Judgement
    from kg.knowledge import KnowledgeBase
    from retrieval.corpus import Corpus

DEFAULT_RESAMPLES = 2000
DEFAULT_CONFIDENCE = 0.95

_MAX_NAMED_ROWS = 3
"""Maximum number of refused rows named in the note; the report lists all of them."""


@keep_readers()
def score_predictions(
    predictions: str | Path | Predictions | Sequence[Any],
    catalog: Catalog,
    mode: Mode | Literal["both"] = "corrected",
    *,
    knowledge: KnowledgeBase | None = None,
    pages: Corpus | None = None,
    thresholds: Thresholds | None = None,
    readings: SpecReadings | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = SEED,
    judged: Judgement | None = None,
    watch: StageCallback | None = None,
) -> SynthLinkReport:
    """Scores predictions against a catalogue.

    Args:
        predictions: a file, its rows as decoded from JSON, or predictions already read.
        catalog: the questions; all of them count.
        mode: ``literal`` (the specification's formulas as written), ``corrected`` (the metrics as
            intended) or ``both``.
        knowledge: the graph that claims are checked against; None for none.
        pages: a corpus whose source pages are used as evidence; None for none.
        thresholds: settings of the corrected scores.
        readings: settings of the literal scores.
        confidence: level of the intervals.
        resamples: number of bootstrap resamples.
        seed: seed of the bootstrap.
        judged: verdicts of a judge on claims that nothing else decides; None for none.
        watch: called with the progress of each mode: its name, the number of questions scored so
            far, and the number of all questions.

    Returns:
        The report. Equal arguments give equal bytes.

    Raises:
        MissingFileError: there is no such file.
        RecordError: the file is not a JSON list. Rows that cannot be scored raise no error: they
            are listed in ``refused``.
    """
    loaded = _load_predictions(predictions, catalog)
    thresholds = thresholds or Thresholds()
    by_id = {row.question_id: row for row in loaded.rows}
    refused = {row.question_id for row in loaded.refused}
    guard = open_guard(knowledge)
    source_pages = None if pages is None else SourcePages(pages)
    # A judge that fails its anchors decides nothing.
    is_used = judged is not None and measure_anchors(judged.lines).passed
    cluster_resamples = ClusterResamples(len(catalog.questions), resamples, seed)
    modes: dict[Mode, ModeScores] = {}
    for scored_mode in MODES:
        if mode in (scored_mode, "both"):
            rows = []
            for n_done, question in enumerate(catalog.questions):
                if watch is not None:
                    watch(f"{scored_mode} scores", n_done, len(catalog.questions))
                prediction = by_id.get(question.id)
                row = _score_question(
                    question,
                    prediction,
                    refused,
                    scored_mode,
                    guard,
                    source_pages,
                    thresholds,
                    readings,
                    judged if is_used else None,
                )
                rows.append(row)
            modes[scored_mode] = _build_mode_scores(
                tuple(rows), catalog, scored_mode, thresholds, cluster_resamples, confidence
            )
    n_blank = sum(is_blank(row.predicted_answer) for row in loaded.rows)
    judge = None
    if judged is not None and "corrected" in modes:
        judge = build_judge_report(judged, modes["corrected"].questions)
    return SynthLinkReport(
        version=package_version(),
        n_questions=len(catalog.questions),
        n_answered=len(by_id) - n_blank,
        n_abstained=n_blank,
        coverage=(len(by_id) - n_blank) / len(catalog.questions),
        weights=dict(AGGREGATE_WEIGHTS),
        thresholds=thresholds,
        graph=knowledge.domain.name if knowledge is not None else "",
        pages="" if pages is None else pages.name,
        judge=judge,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        modes=modes,
        refused=loaded.refused,
        notes=(
            *catalog.notes,
            *_list_notes(loaded, catalog),
            # The literal scores use neither graph nor pages, only what a prediction gives.
            *(
                _list_evidence_notes(catalog, knowledge, source_pages)
                if "corrected" in modes
                else ()
            ),
            *(_list_unjudged_notes(modes["corrected"]) if "corrected" in modes else ()),
            *(list_judge_notes(judge) if judge is not None else ()),
        ),
    )


def _load_predictions(
    predictions: str | Path | Predictions | Sequence[Any], catalog: Catalog
) -> Predictions:
    if isinstance(predictions, Predictions):
        return predictions
    if isinstance(predictions, (str, Path)):
        return read_predictions(predictions, catalog.ids)
    return check_predictions(predictions, catalog.ids)


def _list_notes(predictions: Predictions, catalog: Catalog) -> Iterable[str]:
    total = len(catalog.questions)
    n_blank = sum(is_blank(row.predicted_answer) for row in predictions.rows)
    yield from list_count_notes(total, total - len(predictions.rows), n_blank)
    if predictions.refused:
        count = len(predictions.refused)
        ellipsis = "; …" if count > _MAX_NAMED_ROWS else ""
        named_rows = "; ".join(map(str, predictions.refused[:_MAX_NAMED_ROWS]))
        yield f"{count} row{'s are' if count > 1 else ' is'} refused: {named_rows}{ellipsis}"


def list_count_notes(n_questions: int, n_missing: int, n_blank: int) -> Iterator[str]:
    """Yields the notes on questions that count as 0 because they have no answer.

    Args:
        n_questions: number of all questions.
        n_missing: number of questions without a usable answer.
        n_blank: number of questions whose answer is blank.
    """
    if n_missing:
        yield f"{n_missing} of {n_questions} questions have no usable answer and count as 0"
    if n_blank:
        yield f"{n_blank} of {n_questions} answers are blank: they abstain, and count as 0"


def _list_evidence_notes(
    catalog: Catalog, knowledge: KnowledgeBase | None, pages: SourcePages | None
) -> Iterable[str]:
    if knowledge is None:
        has_facts = any(step.fact for question in catalog.questions for step in question.steps)
        evidence = (
            ["step facts"] * has_facts
            + ["expected answers"]
            + ["pages of the sources"] * (pages is not None)
        )
        yield f"no graph: claims are checked against {join_list(evidence)} only"
    if pages is not None and (n_missing := pages.count_missing(catalog.questions)):
        yield f"{n_missing} sources have no page in the corpus"


def _list_unjudged_notes(scores: ModeScores) -> Iterator[str]:
    """Yields notes on steps and claims that nothing could judge."""
    if scores.unjudged_steps:
        yield (
            f"{scores.unjudged_steps} of {sum(scores.steps.values())} expected facts are unjudged: "
            "no rule is sure whether the answer states them, and no judge was asked or used. "
            "Corrected RQS leaves them out, and gives its lowest and highest possible value; F1, "
            "IE and the aggregate have bounds only"
        )
    if n_unjudged := scores.claims["unjudged"]:
        yield (
            f"{n_unjudged} of {sum(scores.claims.values())} claims are unjudged, neither true nor "
            "false: neither graph, facts nor pages decide them for certain, and no judge was asked "
            "or used (--judge-model, --nli). Corrected FCS leaves them out, and gives its lowest "
            "and highest possible value; F1 and IE have bounds only"
        )


def _score_question(
    question: Question,
    prediction: Prediction | None,
    refused: set[str],
    mode: Mode,
    guard: Guard | None,
    pages: SourcePages | None,
    thresholds: Thresholds,
    readings: SpecReadings | None,
    judged: Judgement | None,
) -> QuestionScore:
    status: AnswerStatus = "answered"
    if prediction is None or is_blank(prediction.predicted_answer):
        status = "refused" if question.id in refused else "missing"
        if prediction is not None:
            status = "abstained"
        parts = score_unanswered(question)
        if mode == "literal":
            # The literal formulas have no recall, and give 0 where the catalogue lacks the data.
            parts = msgspec.structs.replace(parts, recall_at_5=None, rqs=0.0, p_at_5=0.0)
    elif mode == "literal":
        parts = score_literal(prediction, question, readings)
    else:
        parts = score_corrected(prediction, question, guard, thresholds, pages, judged)
    return QuestionScore(
        question_id=question.id,
        category=question.category,
        status=status,
        parts=_round_scores(parts),
    )


def _round_scores(scores: AnswerScores) -> AnswerScores:
    values: dict[str, Any] = {name: getattr(scores, name) for name in METRICS}
    return msgspec.structs.replace(
        scores,
        bounds={
            name: (round_significant(low), round_significant(high))
            for name, (low, high) in scores.bounds.items()
        },
        **{
            name: None if value is None else round_significant(value)
            for name, value in values.items()
        },
    )


def _build_mode_scores(
    rows: tuple[QuestionScore, ...],
    catalog: Catalog,
    mode: Mode,
    thresholds: Thresholds,
    resamples: ClusterResamples,
    confidence: float,
) -> ModeScores:
    groups = {"": [True] * len(rows)} | {
        category: [row.category == category for row in rows] for category in catalog.categories
    }
    scores = {
        name: _score_group(rows, np.array(in_group), mode, resamples, confidence)
        for name, in_group in groups.items()
    }
    verdicts = [claim.verdict for row in rows for claim in row.parts.claims]
    step_verdicts = [step.verdict for row in rows for step in row.parts.steps]
    is_corrected = mode == "corrected"
    return ModeScores(
        overall=scores.pop(""),
        categories=scores,
        questions=rows,
        sweep=tuple(_sweep_efficiency(rows, catalog, thresholds)) if is_corrected else (),
        claims={name: verdicts.count(name) for name in VERDICTS} if is_corrected else {},
        steps={name: step_verdicts.count(name) for name in STEP_VERDICTS} if is_corrected else {},
    )


def _score_group(
    rows: tuple[QuestionScore, ...],
    in_group: Any,
    mode: Mode,
    resamples: ClusterResamples,
    confidence: float,
) -> GroupScores:
    n = int(in_group.sum())
    is_answered = np.array([row.status == "answered" for row in rows]) & in_group
    means: dict[MetricName, MeanScore] = {}
    answered_means: dict[MetricName, float | None] = {}
    for metric, estimate in estimate_means(rows, in_group, mode, resamples, confidence).items():
        means[metric] = MeanScore.from_estimate(
            estimate,
            count_unjudged(rows, metric, in_group),
            compute_bounds(rows, metric, in_group),
        )
        values = collect_metric_values(rows, metric, in_group)
        answered_values = values[is_answered & ~np.isnan(values)]
        answered_means[metric] = (
            round_significant(float(answered_values.mean())) if answered_values.size else None
        )
    return GroupScores(
        n=n,
        answered=int(is_answered.sum()),
        abstained=sum(
            row.status == "abstained"
            for row, is_in_group in zip(rows, in_group, strict=True)
            if is_in_group
        ),
        coverage=int(is_answered.sum()) / n,
        measures=means,
        answered_only=answered_means,
    )


def _sweep_efficiency(
    rows: tuple[QuestionScore, ...], catalog: Catalog, thresholds: Thresholds
) -> Iterable[SweepPoint]:
    """Computes efficiency and aggregate for several minimum F1 that make an answer correct."""
    is_measured = ~np.isnan(collect_metric_values(rows, "aggregate"))
    for min_f1 in sorted({*thresholds.sweep, thresholds.correct}):
        efficiencies: list[float | None] = []
        aggregates, n_correct = [], 0
        for row, question, is_row_measured in zip(
            rows, catalog.questions, is_measured, strict=True
        ):
            parts = row.parts
            efficiencies.append(
                iteration_efficiency(parts.f1_bounds, parts.iteration_f1, min_f1).value
            )
            n_correct += row.status == "answered" and parts.f1_bounds[0] >= min_f1
            if is_row_measured and efficiencies[-1] is not None:
                metrics: dict[MetricName, float | None] = {
                    name: getattr(parts, name) for name in AGGREGATE_WEIGHTS
                }
                metrics["ie"] = efficiencies[-1]
                aggregates.append(aggregate_metrics(metrics, question))
        known = [value for value in efficiencies if value is not None]
        is_known = len(known) == len(rows)
        yield SweepPoint(
            correct=min_f1,
            ie=round_significant(sum(known) / len(known)) if is_known else None,
            aggregate=(
                round_significant(sum(aggregates) / len(aggregates))
                if aggregates and is_known
                else None
            ),
            n_correct=n_correct,
        )
