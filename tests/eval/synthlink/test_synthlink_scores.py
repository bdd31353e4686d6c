"""Tests the scores of a predictions file: denominators, intervals, tables and comparisons."""

from __future__ import annotations

import csv
import gc
import io
import json
import weakref
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from synthlink_six_answers import honest_predictions, make_prediction, read_six_questions

from eval.synthlink.claims.claim_decider import ClaimDecider
from eval.synthlink.corrected import answer_scores
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.metrics import AGGREGATE_WEIGHTS, METRICS
from eval.synthlink.scoring.comparison import ALL_GROUP, compare_reports
from eval.synthlink.scoring.scores import score_predictions
from eval.synthlink.scoring.tables import (
    build_category_rows,
    build_question_rows,
    render_overall_text,
)
from kg.base.errors import CardSetMismatchError
from kg.knowledge import KnowledgeBase

SIX_QUESTIONS = read_six_questions()
HONEST_PREDICTIONS = honest_predictions(SIX_QUESTIONS)


def make_gold_predictions() -> list[dict[str, Any]]:
    return [
        make_prediction(question, question.answer, [source.url for source in question.sources])
        for question in SIX_QUESTIONS.questions
    ]


def test_denominator_is_the_whole_catalogue() -> None:
    report = score_predictions(make_gold_predictions()[:1], SIX_QUESTIONS, "both", resamples=50)
    assert report.coverage == pytest.approx(1 / 6)
    for scores in report.modes.values():
        overall = scores.overall.measures["f1"]
        answered_mean = scores.overall.answered_only["f1"]
        assert overall.n == 6
        assert overall.value is not None
        assert answered_mean is not None
        assert overall.value == pytest.approx(answered_mean / 6)
        assert [row.status for row in scores.questions] == ["answered"] + ["missing"] * 5
        assert scores.categories["SFT"].measures["f1"].value == 0
        assert scores.categories["SFT"].coverage == 0
    assert "5 of 6 questions have no usable answer" in report.notes[0]


def test_answering_more_never_lowers_the_score() -> None:
    rows = make_gold_predictions()
    values = [
        score_predictions(rows[:count], SIX_QUESTIONS, resamples=10)
        .modes["corrected"]
        .overall.measures["f1"]
        .value
        for count in range(7)
    ]
    assert values[0] == 0
    assert all(after > before for before, after in zip(values, values[1:], strict=False))  # type: ignore[operator]  # noqa: RUF007


def test_refused_rows_are_named_and_score_zero(tmp_path: Path) -> None:
    rows = [
        *HONEST_PREDICTIONS,
        {**HONEST_PREDICTIONS[0], "predicted_answer": "another"},
        {"question_id": "XXX-01"},
        7,
    ]
    file = tmp_path / "predictions.json"
    file.write_text(json.dumps(rows))
    report = score_predictions(file, SIX_QUESTIONS, resamples=10)
    assert report.n_answered == 5
    assert [refusal.row for refusal in report.refused] == [1, 7, 8, 9]
    assert report.modes["corrected"].questions[0].status == "refused"
    assert report.modes["corrected"].questions[0].parts.aggregate == 0
    text = render_overall_text(report)
    assert "5 of 6 questions answered (coverage 0.833)" in text
    assert "refused: row 1 (HIA-01): the question is answered 2 times" in text


def test_means_match_the_questions_and_weights() -> None:
    report = score_predictions(HONEST_PREDICTIONS, SIX_QUESTIONS, "both", resamples=50)
    for scores in report.modes.values():
        for measure in METRICS:
            values = [getattr(row.parts, measure) for row in scores.questions]
            estimate = scores.overall.measures[measure]
            if estimate.value is None:
                assert values == [None] * 6
                continue
            assert estimate.value == pytest.approx(np.mean([v for v in values if v is not None]))
            assert estimate.low is not None
            assert estimate.high is not None
            assert estimate.low <= estimate.value <= estimate.high
        for row in scores.questions:
            weighted_sum = sum(
                weight * (getattr(row.parts, name) or 0)
                for name, weight in AGGREGATE_WEIGHTS.items()
            )
            if scores is report.modes["literal"]:
                assert row.parts.aggregate == pytest.approx(weighted_sum)
            else:
                assert row.parts.unjudged[-1:] == ("aggregate",)


def test_equal_values_still_have_an_interval_width() -> None:
    estimate = (
        score_predictions(make_gold_predictions(), SIX_QUESTIONS, resamples=50)
        .modes["corrected"]
        .overall.measures["p_at_5"]
    )
    assert estimate.value == 1
    assert estimate.method == "wilson-edge"
    assert estimate.low is not None
    assert estimate.low < 0.7


def test_row_order_does_not_change_the_bytes() -> None:
    report = score_predictions(HONEST_PREDICTIONS, SIX_QUESTIONS, "both", resamples=50)
    reversed_report = score_predictions(
        HONEST_PREDICTIONS[::-1], SIX_QUESTIONS, "both", resamples=50
    )
    assert msgspec.json.encode(report) == msgspec.json.encode(reversed_report)


def test_efficiency_is_reported_for_all_thresholds() -> None:
    """Two answers are right in the second round, one also says much that is not, others deny."""
    rows = []
    for position, question in enumerate(SIX_QUESTIONS.questions):
        denied = " ".join(f"It is not true that {step.fact}" for step in question.steps)
        answer = question.answer if position < 2 else denied
        if position == 2:
            kings = ("Ottokar", "Wenceslas", "Sigismund", "Ladislaus", "Casimir")
            wrong = (f"King {king} of Bohemia paid all scribes of Prague." for king in kings)
            answer = f"{question.answer} {' '.join(wrong)}"
        rows.append(make_prediction(question, answer, [], rounds=["", answer]))
    scores = score_predictions(
        rows, SIX_QUESTIONS, thresholds=Thresholds(correct=0.35), resamples=10
    ).modes["corrected"]
    sweep = {entry.correct: entry for entry in scores.sweep}
    assert sorted(sweep) == [0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8]
    # The values are means, rounded at the twelfth decimal place.
    assert sweep[0.35].ie == pytest.approx(scores.overall.measures["ie"].value, abs=2e-12)
    counts = [sweep[correct].n_correct for correct in sorted(sweep)]
    assert (counts[0], counts[-1]) == (3, 2)
    assert counts == sorted(counts, reverse=True)
    assert [sweep[correct].ie for correct in sorted(sweep)] == [
        pytest.approx(count / 2 / 6) for count in counts
    ]


def test_efficiency_of_unjudged_answers_has_bounds() -> None:
    report = score_predictions(HONEST_PREDICTIONS, SIX_QUESTIONS, resamples=10)
    scores = report.modes["corrected"]
    for metric in ("f1", "ie"):
        mean = scores.overall.measures[metric]
        assert (mean.value, mean.unjudged) == (None, 6)
        assert mean.lowest is not None
        assert mean.highest is not None
        assert 0 <= mean.lowest < mean.highest <= 1
    assert {point.ie for point in scores.sweep if point.correct <= 0.5} == {None}


def test_report_names_the_graph() -> None:
    knowledge = KnowledgeBase.open_cached("rivers")
    report = score_predictions(HONEST_PREDICTIONS, SIX_QUESTIONS, knowledge=knowledge, resamples=10)
    assert report.graph == "rivers"
    assert score_predictions(HONEST_PREDICTIONS, SIX_QUESTIONS, resamples=10).graph == ""


def test_a_graph_is_freed_after_its_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(
        answer_scores,
        "ClaimDecider",
        lambda question, pages: made.append(question.id) or ClaimDecider(question, pages),
    )
    knowledge = KnowledgeBase.open("rivers")
    with answer_scores.keep_readers():
        for _ in range(2):
            score_predictions(HONEST_PREDICTIONS, SIX_QUESTIONS, knowledge=knowledge, resamples=10)
    assert len(made) == len(set(made)) > 0, "a question is read once in the block"
    graph = weakref.ref(knowledge)
    del knowledge
    gc.collect()
    assert graph() is None


def test_tables_have_one_row_per_question_and_category() -> None:
    report = score_predictions(HONEST_PREDICTIONS[:5], SIX_QUESTIONS, "both", resamples=20)
    rows = build_question_rows(report)
    assert len(rows) == 2 * 6
    assert {row["mode"] for row in rows} == {"corrected", "literal"}
    assert rows[5]["status"] == "missing"
    assert rows[5]["aggregate"] == 0
    parts = report.modes["corrected"].questions[0].parts
    assert rows[0]["f1"] == parts.f1
    assert rows[0]["claims_supported"] == sum(
        claim.verdict == "supported" for claim in parts.claims
    )
    category_rows = build_category_rows(report)
    assert len(category_rows) == 2 * 7
    assert [row["category"] for row in category_rows[:7]] == [
        *report.modes["corrected"].categories,
        "all",
    ]
    assert category_rows[6]["answered"] == 5
    for table in (rows, category_rows):
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
        assert len(list(csv.DictReader(io.StringIO(buffer.getvalue())))) == len(table)


def test_two_files_are_compared_question_by_question() -> None:
    gold_report, honest_report = (
        score_predictions(rows, SIX_QUESTIONS, "both", resamples=300)
        for rows in (make_gold_predictions(), HONEST_PREDICTIONS)
    )
    comparisons = compare_reports({"gold": gold_report, "honest": honest_report})
    assert len(comparisons) == 2 * 7 * len(METRICS)
    assert {(comparison.candidate, comparison.baseline) for comparison in comparisons} == {
        ("gold", "honest")
    }
    difference = next(
        comparison
        for comparison in comparisons
        if (comparison.mode, comparison.group, comparison.metric) == ("literal", ALL_GROUP, "f1")
    )
    assert difference.difference is not None
    assert difference.low is not None
    values = [
        report.modes["literal"].overall.measures["f1"].value
        for report in (gold_report, honest_report)
    ]
    assert difference.difference == pytest.approx(values[0] - values[1])  # type: ignore[operator]
    assert 0 < difference.low < difference.difference
    # All six differences have one sign: of the 2**6 = 64 sign patterns, 2 are this extreme.
    assert (difference.n, difference.exact, difference.p) == (6, True, 2 / 64)
    assert difference.better is None, "six questions are too few after Holm's correction"
    swapped = compare_reports({"honest": honest_report, "gold": gold_report})
    assert [comparison.difference for comparison in swapped] == [
        None if comparison.difference is None else -comparison.difference
        for comparison in comparisons
    ]
    assert all(
        comparison.p in (1.0, None)
        for comparison in compare_reports({"a": gold_report, "b": gold_report})
    )


def test_more_compared_files_raise_the_adjusted_p() -> None:
    gold_report, honest_report = (
        score_predictions(rows, SIX_QUESTIONS, "literal", resamples=100)
        for rows in (make_gold_predictions(), HONEST_PREDICTIONS)
    )
    two_file_results, three_file_results = (
        {
            (comparison.group, comparison.metric): comparison
            for comparison in compare_reports({"gold": gold_report, **other_reports})
            if comparison.baseline == "b"
        }
        for other_reports in ({"b": honest_report}, {"a": gold_report, "b": honest_report})
    )
    assert two_file_results.keys() == three_file_results.keys()
    for key, comparison in two_file_results.items():
        assert comparison.p == three_file_results[key].p
        if comparison.p is not None:
            assert three_file_results[key].p_holm >= comparison.p_holm >= comparison.p  # type: ignore[operator]
    key = (ALL_GROUP, "f1")
    assert three_file_results[key].p_holm > two_file_results[key].p_holm  # type: ignore[operator]


def test_incomparable_inputs_are_refused() -> None:
    report = score_predictions(HONEST_PREDICTIONS, SIX_QUESTIONS, resamples=10)
    smaller_catalog = msgspec.structs.replace(SIX_QUESTIONS, questions=SIX_QUESTIONS.questions[:3])
    with pytest.raises(CardSetMismatchError, match="different questions"):
        compare_reports(
            {
                "a": report,
                "b": score_predictions(HONEST_PREDICTIONS[:3], smaller_catalog, resamples=10),
            }
        )
    with pytest.raises(CardSetMismatchError, match="no mode in common"):
        compare_reports(
            {
                "a": report,
                "b": score_predictions(HONEST_PREDICTIONS, SIX_QUESTIONS, "literal", resamples=10),
            }
        )
    stricter_report = score_predictions(
        HONEST_PREDICTIONS, SIX_QUESTIONS, thresholds=Thresholds(correct=0.4), resamples=10
    )
    with pytest.raises(CardSetMismatchError, match="different thresholds"):
        compare_reports({"a": report, "b": stricter_report})
