"""Scores of a whole file: denominators, coverage, intervals, tables, the sweep and comparisons."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from synthlink_attacks import honest_predictions, make_prediction, read_six_questions

from eval.synthlink.comparison import ALL_GROUP, compare_reports
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.metrics import AGGREGATE_WEIGHTS, METRICS
from eval.synthlink.scores import score_predictions
from eval.synthlink.tables import build_category_rows, build_question_rows, render_overall_text
from kg.base.errors import CardSetMismatchError
from kg.knowledge import KnowledgeBase

SIX = read_six_questions()
HONEST = honest_predictions(SIX)


def gold_predictions() -> list[dict[str, Any]]:
    return [
        make_prediction(one, one.answer, [source.url for source in one.sources])
        for one in SIX.questions
    ]


def test_denominator_is_the_whole_catalogue() -> None:
    report = score_predictions(gold_predictions()[:1], SIX, "both", resamples=50)
    assert report.coverage == pytest.approx(1 / 6)
    for scores in report.modes.values():
        total = scores.overall.measures["aggregate"]
        only = scores.overall.answered_only["aggregate"]
        assert total.n == 6
        assert total.value is not None
        assert only is not None
        assert total.value == pytest.approx(only / 6)
        assert [row.status for row in scores.questions] == ["answered"] + ["missing"] * 5
        assert scores.categories["SFT"].measures["aggregate"].value == 0
        assert scores.categories["SFT"].coverage == 0
    assert "5 of 6 questions have no usable answer" in report.notes[0]


def test_answering_more_never_lowers_the_score() -> None:
    rows = gold_predictions()
    values = [
        score_predictions(rows[:count], SIX, resamples=10)
        .modes["corrected"]
        .overall.measures["aggregate"]
        .value
        for count in range(7)
    ]
    assert values[0] == 0
    assert all(after > before for before, after in zip(values, values[1:], strict=False))  # type: ignore[operator]  # noqa: RUF007


def test_refused_rows_are_named_and_score_zero(tmp_path: Path) -> None:
    twice = [*HONEST, {**HONEST[0], "predicted_answer": "another"}, {"question_id": "XXX-01"}, 7]
    file = tmp_path / "predictions.json"
    file.write_text(json.dumps(twice))
    report = score_predictions(file, SIX, resamples=10)
    assert report.n_answered == 5
    assert [one.row for one in report.refused] == [1, 7, 8, 9]
    assert report.modes["corrected"].questions[0].status == "refused"
    assert report.modes["corrected"].questions[0].parts.aggregate == 0
    text = render_overall_text(report)
    assert "5 of 6 questions answered (coverage 0.833)" in text
    assert "refused: row 1 (HIA-01): the question is answered 2 times" in text


def test_means_match_the_questions_and_weights() -> None:
    report = score_predictions(HONEST, SIX, "both", resamples=50)
    for scores in report.modes.values():
        for measure in METRICS:
            values = [getattr(row.parts, measure) for row in scores.questions]
            found = scores.overall.measures[measure]
            if found.value is None:
                assert values == [None] * 6
                continue
            assert found.value == pytest.approx(np.mean([v for v in values if v is not None]))
            assert found.low is not None
            assert found.high is not None
            assert found.low <= found.value <= found.high
        for row in scores.questions:
            parts = sum(
                weight * (getattr(row.parts, name) or 0)
                for name, weight in AGGREGATE_WEIGHTS.items()
            )
            assert row.parts.aggregate == pytest.approx(parts)


def test_equal_values_still_have_an_interval_width() -> None:
    found = (
        score_predictions(gold_predictions(), SIX, resamples=50)
        .modes["corrected"]
        .overall.measures["p_at_5"]
    )
    assert found.value == 1
    assert found.method == "wilson-edge"
    assert found.low is not None
    assert found.low < 0.7


def test_file_order_does_not_change_the_bytes() -> None:
    first = score_predictions(HONEST, SIX, "both", resamples=50)
    again = score_predictions(HONEST[::-1], SIX, "both", resamples=50)
    assert msgspec.json.encode(first) == msgspec.json.encode(again)


def test_efficiency_is_reported_for_all_thresholds() -> None:
    report = score_predictions(HONEST, SIX, thresholds=Thresholds(correct=0.35), resamples=10)
    scores = report.modes["corrected"]
    sweep = {one.correct: one for one in scores.sweep}
    assert sorted(sweep) == [0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8]
    # Both are means, rounded at the twelfth decimal place.
    for measure in ("ie", "aggregate"):
        value = scores.overall.measures[measure].value
        assert getattr(sweep[0.35], measure) == pytest.approx(value, abs=2e-12)
    counts = [sweep[correct].n_correct for correct in sorted(sweep)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] == 0


def test_graph_is_named_and_used() -> None:
    knowledge = KnowledgeBase.open_cached("rivers")
    report = score_predictions(HONEST, SIX, knowledge=knowledge, resamples=10)
    assert report.graph == "rivers"
    assert score_predictions(HONEST, SIX, resamples=10).graph == ""


def test_tables_have_one_row_per_question_and_category() -> None:
    report = score_predictions(HONEST[:5], SIX, "both", resamples=20)
    rows = build_question_rows(report)
    assert len(rows) == 2 * 6
    assert {row["mode"] for row in rows} == {"corrected", "literal"}
    assert rows[5]["status"] == "missing"
    assert rows[5]["aggregate"] == 0
    first = report.modes["corrected"].questions[0].parts
    assert rows[0]["f1"] == first.f1
    assert rows[0]["claims_licensed"] == sum(one.verdict == "licensed" for one in first.claims)
    groups = build_category_rows(report)
    assert len(groups) == 2 * 7
    assert [row["category"] for row in groups[:7]] == [*report.modes["corrected"].categories, "all"]
    assert groups[6]["answered"] == 5
    for table in (rows, groups):
        out = io.StringIO()
        writer = csv.DictWriter(out, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
        assert len(list(csv.DictReader(io.StringIO(out.getvalue())))) == len(table)


def test_two_files_are_compared_question_by_question() -> None:
    better, worse = (
        score_predictions(rows, SIX, "both", resamples=300) for rows in (gold_predictions(), HONEST)
    )
    found = compare_reports({"gold": better, "honest": worse})
    assert len(found) == 2 * 7 * len(METRICS)
    assert {(one.first, one.second) for one in found} == {("gold", "honest")}
    total = next(
        one
        for one in found
        if (one.mode, one.group, one.measure) == ("corrected", ALL_GROUP, "aggregate")
    )
    assert total.difference is not None
    assert total.low is not None
    values = [
        score.modes["corrected"].overall.measures["aggregate"].value for score in (better, worse)
    ]
    assert total.difference == pytest.approx(values[0] - values[1])  # type: ignore[operator]
    assert 0 < total.low < total.difference
    # All six questions differ one way: 2 of the 64 patterns of signs are as far from 0.
    assert (total.n, total.exact, total.p) == (6, True, 2 / 64)
    assert total.better is None, "six questions are too few after Holm's adjustment"
    back = compare_reports({"honest": worse, "gold": better})
    assert [one.difference for one in back] == [
        None if one.difference is None else -one.difference for one in found
    ]
    assert all(one.p in (1.0, None) for one in compare_reports({"a": better, "b": better}))


def test_more_compared_files_tighten_each_test() -> None:
    better, worse = (
        score_predictions(rows, SIX, resamples=100) for rows in (gold_predictions(), HONEST)
    )
    one, two = (
        {
            (found.group, found.measure): found
            for found in compare_reports({"gold": better, **others})
            if found.second == "b"
        }
        for others in ({"b": worse}, {"a": better, "b": worse})
    )
    assert one.keys() == two.keys()
    for key, alone in one.items():
        assert alone.p == two[key].p
        if alone.p is not None:
            assert two[key].p_holm >= alone.p_holm >= alone.p  # type: ignore[operator]
    key = (ALL_GROUP, "aggregate")
    assert two[key].p_holm > one[key].p_holm  # type: ignore[operator]


def test_incomparable_inputs_are_refused() -> None:
    one = score_predictions(HONEST, SIX, resamples=10)
    other = msgspec.structs.replace(SIX, questions=SIX.questions[:3])
    with pytest.raises(CardSetMismatchError, match="different questions"):
        compare_reports({"a": one, "b": score_predictions(HONEST[:3], other, resamples=10)})
    with pytest.raises(CardSetMismatchError, match="no mode in common"):
        compare_reports({"a": one, "b": score_predictions(HONEST, SIX, "literal", resamples=10)})
    stricter = score_predictions(HONEST, SIX, thresholds=Thresholds(correct=0.4), resamples=10)
    with pytest.raises(CardSetMismatchError, match="different thresholds"):
        compare_reports({"a": one, "b": stricter})
