"""Scores of a file of predictions: by question, by category, over the whole catalogue.

The denominator is always the catalogue: a question without an answer, or with a blank one, is worth
nothing. Intervals are the bootstrap's over questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from eval.stats.intervals import SEED, Draws, Floats, resample_blocks, tidy
from eval.stats.shown import edge, interval_of, ratios
from eval.synthlink.catalog import Catalog
from eval.synthlink.corrected.answering import aggregate, efficiency, score_corrected, unanswered
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.literal import Readings, score_literally
from eval.synthlink.measures import (
    MEASURES,
    MODES,
    WEIGHTS,
    Measure,
    Mode,
    Parts,
    QuestionScore,
    Status,
)
from eval.synthlink.predictions import (
    Prediction,
    Predictions,
    check_predictions,
    is_blank,
    read_predictions,
)
from eval.synthlink.question import Question
from eval.synthlink.record import Group, ModeScores, Swept, SynthLinkReport, Value
from eval.synthlink.verdicts.applying import with_verdicts
from eval.synthlink.verdicts.judge_report import judge_notes, judge_report
from kg.base.console import Watch
from kg.base.provenance import package_version
from kg.words.plain_text import listing

if TYPE_CHECKING:
    from eval.guard.stream import Guard
    from eval.synthlink.verdicts.record import Judgement
    from kg.knowledge import KnowledgeBase
    from retrieval.corpus import Corpus

RESAMPLES = 2000
CONFIDENCE = 0.95

_NAMED = 3
"""Refused rows that the note names; all stand in the report."""

_NOT_SPECIFIED = "the specification has no such measure"
_NOTHING_CLAIMED = "no answer claims anything"
_NOT_IN_CATALOGUE = "the catalogue lacks what it is measured by"


def score(
    predictions: str | Path | Predictions | Sequence[Any],
    catalog: Catalog,
    mode: Mode | Literal["both"] = "corrected",
    *,
    knowledge: KnowledgeBase | None = None,
    pages: Corpus | None = None,
    thresholds: Thresholds | None = None,
    readings: Readings | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    judged: Judgement | None = None,
    watch: Watch | None = None,
) -> SynthLinkReport:
    """Scores predictions against a catalogue.

    Args:
        predictions: a file, its rows as JSON gives them, or what was read already.
        catalog: the questions; every one counts.
        mode: ``corrected``, ``literal`` or ``both``.
        knowledge: the graph that claims are held against; none for none.
        pages: a corpus whose texts of the sources may license claims; none for none.
        thresholds: of the corrected scores.
        readings: of the literal ones.
        confidence: coverage that intervals aim at.
        resamples: of the bootstrap.
        seed: of its draws.
        judged: what a judge said of claims that the graph leaves open; none for nobody.
        watch: is told how many questions of each mode are scored.

    Returns:
        The report. Equal arguments give equal bytes.

    Raises:
        MissingFileError: there is no such file.
        RecordError: it is no JSON list. Rows that cannot be scored end nothing: see ``refused``.
    """
    read = _read(predictions, catalog)
    bar = thresholds or Thresholds()
    by_id = {row.question_id: row for row in read.rows}
    refused = {row.question_id for row in read.refused}
    guard = _guard(knowledge)
    texts = None if pages is None else SourcePages(pages)
    draws = Draws(len(catalog.questions), resamples, seed)
    modes: dict[Mode, ModeScores] = {}
    for one in MODES:
        if mode in (one, "both"):
            rows = []
            for done, question in enumerate(catalog.questions):
                if watch is not None:
                    watch(f"{one} scores", done, len(catalog.questions))
                given = by_id.get(question.id)
                row = _scored(question, given, refused, one, guard, texts, bar, readings, judged)
                rows.append(row)
            modes[one] = _mode_scores(tuple(rows), catalog, one, bar, draws, confidence)
    blank = sum(is_blank(row.predicted_answer) for row in read.rows)
    judge = None
    if judged is not None and "corrected" in modes:
        judge = judge_report(judged, modes["corrected"].questions)
    return SynthLinkReport(
        version=package_version(),
        n_questions=len(catalog.questions),
        n_answered=len(by_id) - blank,
        n_abstained=blank,
        coverage=(len(by_id) - blank) / len(catalog.questions),
        weights=dict(WEIGHTS),
        thresholds=bar,
        graph=knowledge.domain.name if knowledge is not None else "",
        pages="" if pages is None else pages.name,
        judge=judge,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        modes=modes,
        refused=read.refused,
        notes=(
            *catalog.notes,
            *_notes(read, catalog),
            # The literal scores hold claims against what the system itself brings.
            *(_evidence_notes(catalog, knowledge, texts) if "corrected" in modes else ()),
            *(judge_notes(judge) if judge is not None else ()),
        ),
    )


def _read(predictions: str | Path | Predictions | Sequence[Any], catalog: Catalog) -> Predictions:
    if isinstance(predictions, Predictions):
        return predictions
    if isinstance(predictions, (str, Path)):
        return read_predictions(predictions, catalog.ids)
    return check_predictions(predictions, catalog.ids)


def _guard(knowledge: KnowledgeBase | None) -> Guard | None:
    if knowledge is None:
        return None
    from eval.guard.stream import Guard

    return Guard(knowledge)


def _notes(read: Predictions, catalog: Catalog) -> Iterable[str]:
    whole = len(catalog.questions)
    missing = whole - len(read.rows)
    if missing:
        yield f"{missing} of {whole} questions have no usable answer and count as 0"
    blank = sum(is_blank(row.predicted_answer) for row in read.rows)
    if blank:
        yield f"{blank} of {whole} answers are blank: they abstain, and count as 0"
    if read.refused:
        count = len(read.refused)
        more = "; …" if count > _NAMED else ""
        named = "; ".join(map(str, read.refused[:_NAMED]))
        yield f"{count} row{'s are' if count > 1 else ' is'} refused: {named}{more}"


def _evidence_notes(
    catalog: Catalog, knowledge: KnowledgeBase | None, pages: SourcePages | None
) -> Iterable[str]:
    if knowledge is None:
        facts = any(step.fact for one in catalog.questions for step in one.steps)
        held = (
            ["step facts"] * facts
            + ["expected answers"]
            + ["pages of the sources"] * (pages is not None)
        )
        yield f"no graph: claims are held against {listing(held)} alone"
    if pages is not None and (lacking := pages.lacking(catalog.questions)):
        yield f"{lacking} sources have no page in the corpus"


def _scored(
    question: Question,
    prediction: Prediction | None,
    refused: set[str],
    mode: Mode,
    guard: Guard | None,
    pages: SourcePages | None,
    bar: Thresholds,
    readings: Readings | None,
    judged: Judgement | None,
) -> QuestionScore:
    status: Status = "answered"
    if prediction is None or is_blank(prediction.predicted_answer):
        status = "refused" if question.id in refused else "missing"
        if prediction is not None:
            status = "abstained"
        parts = unanswered(question)
        if mode == "literal":
            parts = msgspec.structs.replace(parts, recall_at_5=None, rqs=0.0, p_at_5=0.0)
    elif mode == "literal":
        parts = score_literally(prediction, question, readings)
    else:
        parts = score_corrected(prediction, question, guard, bar, pages)
        if judged is not None:
            parts = with_verdicts(parts, question, judged.by_claim)
    return QuestionScore(
        question_id=question.id, category=question.category, status=status, parts=_tidied(parts)
    )


def _tidied(parts: Parts) -> Parts:
    values: dict[str, Any] = {name: getattr(parts, name) for name in MEASURES}
    return msgspec.structs.replace(
        parts, **{name: None if value is None else tidy(value) for name, value in values.items()}
    )


def values_of(rows: Sequence[QuestionScore], measure: Measure) -> Floats:
    """One value for each question, nan where it has none, shape (questions,)."""
    found = [getattr(row.parts, measure) for row in rows]
    return np.array([np.nan if value is None else value for value in found], dtype=np.float64)


def _mode_scores(
    rows: tuple[QuestionScore, ...],
    catalog: Catalog,
    mode: Mode,
    bar: Thresholds,
    draws: Draws,
    confidence: float,
) -> ModeScores:
    groups = {"": [True] * len(rows)} | {
        category: [row.category == category for row in rows] for category in catalog.categories
    }
    found = {
        name: _group(rows, np.array(takes_part), mode, draws, confidence)
        for name, takes_part in groups.items()
    }
    verdicts = [claim.verdict for row in rows for claim in row.parts.claims]
    corrected = mode == "corrected"
    return ModeScores(
        overall=found.pop(""),
        categories=found,
        questions=rows,
        sweep=tuple(_sweep(rows, catalog, bar)) if corrected else (),
        claims={name: verdicts.count(name) for name in ("licensed", "contradicted", "unknown")}
        if corrected
        else {},
    )


def _group(
    rows: tuple[QuestionScore, ...], takes_part: Any, mode: Mode, draws: Draws, confidence: float
) -> Group:
    n = int(takes_part.sum())
    answered = np.array([row.status == "answered" for row in rows]) & takes_part
    values = [values_of(rows, measure) for measure in MEASURES]
    blocks = []
    for column in values:
        has = takes_part & ~np.isnan(column)
        blocks.append(np.column_stack([np.where(has, column, 0.0), has.astype(np.float64)]))
    measures: dict[Measure, Value] = {}
    only: dict[Measure, float | None] = {}
    for measure, column, data in zip(MEASURES, values, resample_blocks(blocks, draws), strict=True):
        count = int(data.totals[1])
        if not count:
            why = _NOT_IN_CATALOGUE
            if mode == "literal":
                why = _NOT_SPECIFIED
            elif measure == "fcs":
                why = _NOTHING_CLAIMED
            measures[measure] = Value(value=None, nulls=n, why=why)
            only[measure] = None
            continue
        spread = ratios(data, np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
        value = float(spread.values[0])
        interval = interval_of(spread.intervals(confidence), 0) or edge(value, count, confidence)
        measures[measure] = Value(
            value=tidy(value),
            low=tidy(interval.low),
            high=tidy(interval.high),
            method=interval.method,
            n=count,
            nulls=n - count,
        )
        held = column[answered & ~np.isnan(column)]
        only[measure] = tidy(float(held.mean())) if held.size else None
    return Group(
        n=n,
        answered=int(answered.sum()),
        abstained=sum(
            row.status == "abstained" for row, here in zip(rows, takes_part, strict=True) if here
        ),
        coverage=int(answered.sum()) / n,
        measures=measures,
        answered_only=only,
    )


def _sweep(rows: tuple[QuestionScore, ...], catalog: Catalog, bar: Thresholds) -> Iterable[Swept]:
    for correct in sorted({*bar.sweep, bar.correct}):
        found, totals, right = [], [], 0
        for row, question in zip(rows, catalog.questions, strict=True):
            parts = row.parts
            final = parts.f1 or 0.0
            found.append(efficiency(final, parts.iteration_f1, correct))
            right += row.status == "answered" and final >= correct
            held: dict[Measure, float | None] = {name: getattr(parts, name) for name in WEIGHTS}
            held["ie"] = found[-1]
            totals.append(aggregate(held, question))
        yield Swept(
            correct=correct,
            ie=tidy(sum(found) / len(found)),
            aggregate=tidy(sum(totals) / len(totals)),
            n_correct=right,
        )
