"""Tests what the report section of SynthLink scores contains.

The mode ``literal`` takes the published formulas as they stand; ``corrected`` computes what they
are meant to say (docs/synthlink.md).
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from markupsafe import escape
from section_blocks import find_grid, find_samples, grid_cells, list_blocks, verdict_text
from synthlink_attacks import (
    ATTACKS,
    SIX_QUESTIONS_FILE,
    attack_predictions,
    honest_predictions,
    read_six_questions,
)
from synthlink_section_folders import (
    score_honest_answers,
    score_incomplete_answers,
    score_shipped_predictions,
)

from eval.blocks.blocks import Figures
from eval.blocks.samples import Detail
from eval.blocks.section import Section
from eval.run_sections import build_section
from eval.synthlink.blocks.losses import parts_of_score, steps_by_place
from eval.synthlink.blocks.metric_texts import DECIDED_BY, VERDICTS
from eval.synthlink.blocks.metric_texts import MEASURES as MEASURE_NAMES
from eval.synthlink.blocks.samples import mark_counts
from eval.synthlink.blocks.score_data import read_folder
from eval.synthlink.metrics import AGGREGATE_WEIGHTS
from eval.synthlink.scoring.outputs import read_scores
from eval.synthlink.scoring.scores import score_predictions
from kg.base.proportions import wilson_interval
from reporting.section_renderer import SectionView, render_section_markdown


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return score_honest_answers(tmp_path_factory.mktemp("synthlink"))


@pytest.fixture(scope="module")
def section(folder: Path) -> Section:
    return build_section(folder)


def test_modes_are_shown_with_their_difference(section: Section, folder: Path) -> None:
    report = read_scores(folder).report
    table = find_grid(section, "headline", "Scores")
    rows = grid_cells(table)
    assert list(rows) == ["corrected", "literal", "literal − corrected"]
    for mode, scores in report.modes.items():
        for cell, measure in zip(rows[mode], MEASURE_NAMES, strict=True):
            value = scores.overall.measures[measure].value
            assert cell == ("–" if value is None else f"{value:.3f}")
    f1_values = [
        report.modes[mode].overall.measures["f1"].value for mode in ("literal", "corrected")
    ]
    assert f1_values[0] is not None
    assert f1_values[1] is not None
    assert rows["literal − corrected"][1] == f"{f1_values[0] - f1_values[1]:+.3f}".replace("-", "−")
    assert "the specification does not define this metric" in SectionView(section).html


def test_gained_and_lost_parts_sum_to_the_score(tmp_path: Path) -> None:
    catalog = read_six_questions()
    for rows in (
        honest_predictions(catalog),
        [],
        *(attack_predictions(name, catalog) for name in ATTACKS),
    ):
        report = score_predictions(rows, catalog, "both", resamples=2)
        for scores in report.modes.values():
            parts = parts_of_score(scores, report.weights)
            total = scores.overall.measures["aggregate"].value
            assert total is not None
            assert sum(part.gained for part in parts) == pytest.approx(total, abs=1e-8)
            assert sum(part.lost for part in parts) == pytest.approx(1 - total, abs=1e-8)
            assert [part.measure for part in parts][:2] == ["f1", "rqs"]
            weights = {part.measure: part.weight for part in parts}
            assert weights == pytest.approx(dict(AGGREGATE_WEIGHTS))


def test_weights_are_redistributed_without_steps(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in SIX_QUESTIONS_FILE.read_text("utf-8").splitlines()]
    for line in lines[:3]:
        line["steps"] = [{"instruction": "Look it up."}]
    path = tmp_path / "half.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    section_data = read_folder(
        score_shipped_predictions(tmp_path, honest_predictions(read_six_questions()), catalog=path)
    )
    corrected = section_data.report.modes["corrected"]
    parts = {part.measure: part for part in parts_of_score(corrected, section_data.report.weights)}
    # Half of the questions have no facts: for them the weight 0.3 of the steps (rqs) is spread over
    # the other measures.
    assert parts["rqs"].weight == pytest.approx(0.15)
    assert parts["f1"].weight == pytest.approx((0.3 + 0.3 / 0.7) / 2)
    assert sum(part.gained for part in parts.values()) == pytest.approx(
        corrected.overall.measures["aggregate"].value
    )


def test_verdict_compares_with_the_literal_score(tmp_path: Path, section: Section) -> None:
    catalog = read_six_questions()
    shuffled_section = build_section(
        score_shipped_predictions(tmp_path / "heap", attack_predictions("answer shuffled", catalog))
    )
    match = re.search(
        r"would say 0\.\d+, (0\.\d+) more, above all because they give (\S+) instead of (\S+) for",
        verdict_text(shuffled_section),
    )
    assert match
    stated_difference, literal_part, corrected_part = map(float, match.groups())
    assert literal_part > corrected_part
    corrected, literal = (
        read_scores(tmp_path / "heap" / "run").report.modes[mode].overall.measures["aggregate"]
        for mode in ("corrected", "literal")
    )
    assert (
        f"The score is {corrected.value:.3f} of 1 ({corrected.low:.3f} to {corrected.high:.3f})."
        in verdict_text(shuffled_section)
    )
    assert f"would say {literal.value:.3f}" in verdict_text(shuffled_section)
    assert stated_difference == pytest.approx(literal.value - corrected.value, abs=6e-4)
    assert stated_difference > 0.3
    assert "all are answered" in verdict_text(section)


def test_verdict_names_the_largest_loss(section: Section, folder: Path) -> None:
    section_data = read_folder(folder)
    parts = parts_of_score(section_data.headline, section_data.report.weights)
    largest_loss, second_loss = sorted(parts, key=lambda part: -part.lost)[:2]
    match = re.search(
        r"Of the ([\d.]+) that it lacks, ([\d.]+) is lost on .*? and ([\d.]+) on",
        verdict_text(section),
    )
    assert match
    assert [float(number) for number in match.groups()] == pytest.approx(
        [sum(part.lost for part in parts), largest_loss.lost, second_loss.lost], abs=6e-4
    )
    table = find_grid(section, "losing", "What the corrected score is made of")
    marked_losses = [line.cells[2].text for line in table.rows if line.cells[2].tone == "down"]
    assert marked_losses == [f"{largest_loss.lost:.3f}"]


def test_only_significant_differences_are_stated(tmp_path: Path) -> None:
    from eval.synthlink.catalog import read_catalog

    catalog = read_catalog()
    right_predictions = [
        {"question_id": question.id, "predicted_answer": question.answer,
         "retrieved_docs": [source.url for source in question.sources]}
        for question in catalog.questions
    ]  # fmt: skip
    without_pages = [row | {"retrieved_docs": []} for row in right_predictions]
    keyword_predictions = [
        {"question_id": question.id, "retrieved_docs": [],
         "predicted_answer": ", ".join(word for step in question.steps for word in step.keywords)}
        for question in catalog.questions
    ]  # fmt: skip
    other_answers = {"same": without_pages, "keywords": keyword_predictions}
    compared_section = build_section(
        score_shipped_predictions(
            tmp_path, without_pages, other_answers, catalog=None, domain="none"
        )
    )
    assert re.search(
        r"find it better than keywords\.json by \d\d\.\d points", verdict_text(compared_section)
    )
    assert "cannot tell it from same.json" in verdict_text(compared_section)
    assert "better than same" not in verdict_text(compared_section)
    assert "would put" not in verdict_text(compared_section)
    assert "could not be told apart" not in verdict_text(compared_section)
    comparison_table = find_grid(
        compared_section, "pairs", "answers.json less keywords.json, corrected"
    )
    outcomes = {line.name: line.cells[-1].text for line in comparison_table.rows}
    assert outcomes["Score"] == "answers.json is better"
    assert outcomes["Pages named"] == "no significant difference"
    figure_blocks = [
        block for block in list_blocks(compared_section, "pairs") if isinstance(block, Figures)
    ]
    titles = [figure.title for block in figure_blocks for figure in block.figures]
    assert "answers.json against keywords.json, corrected" in titles
    assert "answers.json against keywords.json, literal" in titles


def test_reversed_order_of_literal_scores_is_stated(tmp_path: Path) -> None:
    from eval.synthlink.catalog import read_catalog

    catalog = read_catalog()
    # An answer whose words are sorted is no answer, but the literal formulas reward its words.
    heap_predictions = [
        {"question_id": question.id, "predicted_answer": ", ".join(sorted(question.answer.split())),
         "sources_verified": [", ".join(sorted(question.answer.split()))]}
        for question in catalog.questions
    ]  # fmt: skip
    fact_predictions = [
        {
            "question_id": question.id,
            "predicted_answer": " ".join(step.fact for step in question.steps[:2]),
        }
        for question in catalog.questions
    ]
    options = {"catalog": None, "domain": "none"}
    compared_section = build_section(
        score_shipped_predictions(
            tmp_path, fact_predictions, {"heaps": heap_predictions}, **options
        )
    )
    assert "better than heaps.json" in verdict_text(compared_section)
    assert "The literal scores would put heaps.json first." in verdict_text(compared_section)


def test_inconclusive_difference_is_stated(section: Section) -> None:
    assert re.search(
        r"cannot tell it from shuffled\.json; the \d+\.\d points between them would need more",
        verdict_text(section),
    )


def test_blank_missing_and_refused_answers_are_distinguished(tmp_path: Path) -> None:
    incomplete_section = build_section(score_incomplete_answers(tmp_path))
    assert (
        "3 are answered, 1 is abstained from, 1 has no answer and 1 has a row that cannot be used"
        in verdict_text(incomplete_section)
    )
    assert "Over the answered ones alone the score would be 0." in " ".join(
        incomplete_section.caveats
    )
    table = grid_cells(find_grid(incomplete_section, "headline", "Coverage"))
    assert table["all"] == ["6", "50 %", "3", "1", "1", "1"]
    assert table["STE"] == ["1", "0 %", "0", "1", "0", "0"]
    assert incomplete_section.stats == (
        *(("6", "questions"), ("3", "answered"), ("1", "abstained")),
        *(("1", "missing"), ("1", "refused")),
    )
    marks = mark_counts(read_folder(tmp_path / "run"))
    assert marks.total() == 6
    assert (marks["abstained"], marks["missing"], marks["refused"]) == (1, 1, 1)
    text = SectionView(incomplete_section).html
    for phrase in (
        "It abstains: the answer is blank.",
        "There is no row for this question.",
        "Rows that are refused, and why",
        "retrieved_docs is not a list",
    ):
        assert phrase in text, phrase
    assert "&lt;b&gt;HIA-99&lt;/b&gt;" in text
    answered_only = grid_cells(
        find_grid(incomplete_section, "headline", "Over answered questions alone")
    )
    assert float(answered_only["corrected"][0]) > float(
        grid_cells(find_grid(incomplete_section, "headline", "Scores"))["corrected"][0]
    )


def test_steps_are_counted_by_position(section: Section, folder: Path) -> None:
    section_data = read_folder(folder)
    corrected = section_data.report.modes["corrected"]
    for step in steps_by_place(corrected, section_data.answers):
        answers_with_step = [
            index
            for index, view in enumerate(section_data.answers)
            if len(view.facts) >= step.number
        ]
        answers_taking_step = [
            index
            for index in answers_with_step
            if step.number in corrected.questions[index].parts.steps
        ]
        assert (step.asked, step.taken) == (len(answers_with_step), len(answers_taking_step))
        low, high = wilson_interval(step.taken, step.asked)
        cell = find_grid(section, "losing", "Steps by their place").rows[step.number - 1].cells[2]
        assert (cell.text, cell.below) == (
            f"{step.taken / step.asked:.3f}",
            (f"{low:.3f}–{high:.3f}",),
        )
    chains = grid_cells(find_grid(section, "losing", "How far chains are followed"))
    assert sum(int(line[0]) for line in chains.values()) == 6
    for total, all_steps, some_steps, no_step in chains.values():
        assert int(total) == int(all_steps) + int(some_steps) + int(no_step)


def test_chain_is_complete_with_every_step(tmp_path: Path) -> None:
    questions = read_six_questions().questions
    rows = [
        {
            "question_id": question.id,
            "predicted_answer": " ".join(step.fact for step in question.steps),
        }
        for question in questions[:4]
    ]
    rows += [
        {"question_id": question.id, "predicted_answer": question.steps[0].fact}
        for question in questions[4:]
    ]
    chain_section = build_section(score_shipped_predictions(tmp_path, rows))
    chains = grid_cells(find_grid(chain_section, "losing", "How far chains are followed"))
    # The columns: questions, and those with every step, some steps and no step.
    totals = [sum(int(line[column]) for line in chains.values()) for column in range(4)]
    assert totals == [6, 4, 2, 0]
    facets = [row.facets[1] for row in find_samples(chain_section).rows]
    assert facets == ["every step"] * 4 + ["some steps"] * 2


def test_contradicted_claims_are_counted_in_markdown(section: Section, folder: Path) -> None:
    table = find_grid(section, "losing", "Lowest scores among the answered")
    assert "| Question | Score | Steps | Contradicted |" in render_section_markdown(section, 1)
    parts_by_question = {
        row.question_id: row.parts
        for row in read_folder(folder).report.modes["corrected"].questions
    }
    for line in table.rows:
        claims = parts_by_question[line.name].claims
        contradicted = sum(claim.verdict == "contradicted" for claim in claims)
        assert grid_cells(table)[line.name][2] == (
            f"{contradicted} of {len(claims)}" if claims else "–"
        )


def test_step_and_page_marks_equal_the_record(section: Section, folder: Path) -> None:
    section_data = read_folder(folder)
    corrected = section_data.report.modes["corrected"].questions
    rows = zip(find_samples(section).rows, corrected, section_data.answers, strict=True)
    for sample, row, view in rows:
        answer = sample.answers[0]
        assert answer is not None
        details = {detail.title: detail for detail in answer.details if isinstance(detail, Detail)}
        steps = details[f"Steps taken: {len(row.parts.steps)} of {len(view.facts)}"]
        steps_taken = [
            number for number, tone in enumerate(steps.tones, start=1) if tone == "right"
        ]
        assert steps_taken == sorted(row.parts.steps)
        assert set(steps.tones) <= {"right", "wrong"}
        pages = details["Pages it names; ✓ are sources"]
        urls = {source.url for source in view.sources}
        assert [tone == "right" for tone in pages.tones] == [doc in urls for doc in view.docs]
        missed_sources = details["Sources not among its first five pages"]
        assert list(missed_sources.items) == [
            source.title for source in view.sources if source.url not in view.docs
        ]


def test_claims_are_counted_by_verdict_and_decider(section: Section, folder: Path) -> None:
    corrected = read_scores(folder).report.modes["corrected"]
    by_verdict = grid_cells(find_grid(section, "claims", "Claims by verdict"))
    assert by_verdict["all"] == [
        str(sum(corrected.claims.values())),
        *(str(corrected.claims[verdict]) for verdict in VERDICTS),
    ]
    totals = [int(text) for text in by_verdict.pop("all")]
    assert [sum(map(int, column)) for column in zip(*by_verdict.values(), strict=True)] == totals
    by_decider = grid_cells(find_grid(section, "claims", "What decided"))
    decided_claims = [sum(map(int, column)) for column in zip(*by_decider.values(), strict=True)]
    assert decided_claims == totals[1:]
    assert set(by_decider) <= set(DECIDED_BY.values())


def test_every_round_and_threshold_is_shown(section: Section, folder: Path) -> None:
    corrected = read_scores(folder).report.modes["corrected"]
    table = find_grid(section, "rounds", "Speed by what counts as correct")
    assert [line.cells[1].text for line in table.rows] == [
        f"{point.ie:.3f}" for point in corrected.sweep
    ]
    assert [line.below for line in table.rows].count("taken for the score") == 1
    rounds = grid_cells(find_grid(section, "rounds", "First correct"))
    assert sum(int(line[0]) for line in rounds.values()) == 6
    threshold = read_scores(folder).report.thresholds.correct
    n_correct = sum(
        max(row.parts.iteration_f1, default=0) >= threshold for row in corrected.questions
    )
    assert int(rounds["never"][0]) == 6 - n_correct


def test_samples_show_every_round(section: Section, folder: Path) -> None:
    rows = read_scores(folder).report.modes["corrected"].questions
    claims = [claim.text for row in rows for claim in row.parts.claims]
    assert len({claim.verdict for row in rows for claim in row.parts.claims}) == 3
    for text in (
        "How did a machine for cleaning cotton",
        "Expected: Whitney's cotton gin",
        "In 1794 Eli Whitney patented the cotton gin",
        f"Steps taken: {len(rows[0].parts.steps)} of 4",
        "1. Eli Whitney patented the cotton gin in 1794.",
        "What it claims",
        *(" ".join(verdict) for verdict in VERDICTS.values()),
        *claims,
        "Pages it names; ✓ are sources",
        "Sources not among its first five pages",
        "https://news.example/timeline",
        "Round 3. F1",
        "Literal against corrected",
    ):
        assert str(escape(text)) in SectionView(section).html, text
