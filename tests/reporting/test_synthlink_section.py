"""Tests what the report section of SynthLink scores contains.

The mode ``literal`` takes the published formulas as they stand; ``corrected`` computes what they
are meant to say (docs/reference/synthlink.md).
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from markupsafe import escape
from section_blocks import find_grid, find_samples, grid_cells, list_blocks, verdict_text
from synthlink_section_folders import (
    score_honest_answers,
    score_incomplete_answers,
    score_shipped_predictions,
)
from synthlink_six_answers import (
    SIX_QUESTIONS_FILE,
    echo_predictions,
    read_six_questions,
)

from eval.blocks.blocks import Figures
from eval.blocks.samples import Detail
from eval.blocks.section import Section
from eval.runs.sections import build_section
from eval.synthlink.blocks.losses import parts_of_score
from eval.synthlink.blocks.metric_texts import DECIDED_BY, VERDICTS
from eval.synthlink.blocks.metric_texts import MEASURES as MEASURE_NAMES
from eval.synthlink.blocks.samples import mark_counts
from eval.synthlink.blocks.score_data import read_folder
from eval.synthlink.catalog import read_catalog
from eval.synthlink.items import Step
from eval.synthlink.scoring.outputs import read_scores
from eval.synthlink.scoring.scores import score_predictions
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
    values = [
        report.modes[mode].overall.measures["p_at_5"].value for mode in ("literal", "corrected")
    ]
    assert values[0] is not None
    assert values[1] is not None
    assert rows["literal − corrected"][2] == f"{values[0] - values[1]:+.3f}".replace("-", "−")
    assert "the specification does not define this metric" in SectionView(section).html


def write_catalog_without_facts(path: Path, n_without: int = 6) -> Path:
    """Writes the six questions, the first ones without facts, so that no step is unjudged."""
    lines = [json.loads(line) for line in SIX_QUESTIONS_FILE.read_text("utf-8").splitlines()]
    for line in lines[:n_without]:
        line["steps"] = [{"instruction": "Look it up."}]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def expected_predictions(**changes: object) -> list[dict[str, object]]:
    """Answers the six questions with the expected answers."""
    return [
        {"question_id": question.id, "predicted_answer": question.answer,
         "retrieved_docs": [source.url for source in question.sources],
         "iterations": [{"opened": [source.url for source in question.sources]}]} | changes
        for question in read_six_questions().questions
    ]  # fmt: skip


def test_gained_and_lost_parts_sum_to_the_score(tmp_path: Path) -> None:
    catalog = read_catalog(write_catalog_without_facts(tmp_path / "bare.jsonl"))
    for rows in (expected_predictions(), echo_predictions(catalog), []):
        report = score_predictions(rows, catalog, "both", resamples=2)
        for scores in report.modes.values():
            parts = parts_of_score(scores, report.weights)
            total = scores.overall.measures["aggregate"].value
            assert total is not None
            assert sum(part.gained for part in parts) == pytest.approx(total, abs=1e-8)
            assert sum(part.lost for part in parts) == pytest.approx(1 - total, abs=1e-8)


def test_weights_are_redistributed_without_steps(tmp_path: Path) -> None:
    path = write_catalog_without_facts(tmp_path / "half.jsonl", 3)
    # Only the questions without facts have a score; the others are not answered.
    rows = expected_predictions()[:3]
    section_data = read_folder(score_shipped_predictions(tmp_path, rows, catalog=path))
    corrected = section_data.report.modes["corrected"]
    parts = {part.measure: part for part in parts_of_score(corrected, section_data.report.weights)}
    # Half of the questions have no facts: for them the weight 0.3 of the steps (rqs) is spread over
    # the other measures.
    assert parts["rqs"].weight == pytest.approx(0.15)
    assert parts["f1"].weight == pytest.approx((0.3 + 0.3 / 0.7) / 2)
    assert sum(part.gained for part in parts.values()) == pytest.approx(
        corrected.overall.measures["aggregate"].value
    )


def test_verdict_says_why_there_is_no_score(section: Section, folder: Path) -> None:
    measures = read_scores(folder).report.modes["corrected"].overall.measures
    text = verdict_text(section)
    assert "all are answered" in text
    assert "There is no corrected score (unjudged, because parts of it are)." in text
    assert f"P@5 {measures['p_at_5'].value:.3f}, " in text
    assert "F1 " not in text, "it is unjudged"
    assert "The published formulas give 0." in text
    section_data = read_folder(folder)
    assert parts_of_score(section_data.headline, section_data.report.weights) == ()
    assert "steps is unjudged" in " ".join(section.caveats)


def test_verdict_compares_with_the_literal_score(tmp_path: Path) -> None:
    catalog = write_catalog_without_facts(tmp_path / "bare.jsonl")
    echo_section = build_section(
        score_shipped_predictions(
            tmp_path, echo_predictions(read_six_questions()), catalog=catalog, domain="none"
        )
    )
    match = re.search(
        r"would give 0\.\d+, (0\.\d+) more, above all because they give (\S+) instead of (\S+) for",
        verdict_text(echo_section),
    )
    assert match
    stated_difference, literal_part, corrected_part = map(float, match.groups())
    assert literal_part > corrected_part
    corrected, literal = (
        read_scores(tmp_path / "run").report.modes[mode].overall.measures["aggregate"]
        for mode in ("corrected", "literal")
    )
    assert (
        f"The score is {corrected.value:.3f} of 1 ({corrected.low:.3f} to {corrected.high:.3f})."
        in verdict_text(echo_section)
    )
    assert f"would give {literal.value:.3f}" in verdict_text(echo_section)
    assert stated_difference == pytest.approx(literal.value - corrected.value, abs=6e-4)


def test_verdict_names_the_largest_loss(tmp_path: Path) -> None:
    catalog = write_catalog_without_facts(tmp_path / "bare.jsonl")
    folder = score_shipped_predictions(
        tmp_path, expected_predictions(), catalog=catalog, domain="none"
    )
    section, section_data = build_section(folder), read_folder(folder)
    parts = parts_of_score(section_data.headline, section_data.report.weights)
    largest_loss = max(parts, key=lambda part: part.lost)
    match = re.search(r"Of the ([\d.]+) that it lacks, ([\d.]+) is lost on", verdict_text(section))
    assert match
    assert [float(number) for number in match.groups()] == pytest.approx(
        [sum(part.lost for part in parts), largest_loss.lost], abs=6e-4
    )
    table = find_grid(section, "losing", "What the corrected score is made of")
    marked_losses = [line.cells[2].text for line in table.rows if line.cells[2].tone == "down"]
    assert marked_losses == [f"{largest_loss.lost:.3f}"]


def test_only_significant_differences_are_stated(tmp_path: Path) -> None:
    catalog = read_catalog()
    path = tmp_path / "bare.jsonl"
    path.write_bytes(
        b"".join(
            msgspec.json.encode(msgspec.structs.replace(question, steps=(Step("Look it up."),)))
            + b"\n"
            for question in catalog.questions
        )
    )
    right_predictions = [
        {"question_id": question.id, "predicted_answer": question.answer}
        for question in catalog.questions
    ]
    echoes = [
        {"question_id": question.id, "predicted_answer": question.question}
        for question in catalog.questions
    ]
    compared_section = build_section(
        score_shipped_predictions(
            tmp_path,
            right_predictions,
            {"same": right_predictions, "echoes": echoes},
            catalog=path,
            domain="none",
        )
    )
    assert re.search(
        r"find it better than echoes\.json by \d\d\.\d points", verdict_text(compared_section)
    )
    assert "find no difference from same.json" in verdict_text(compared_section)
    assert "better than same" not in verdict_text(compared_section)
    assert "would put" not in verdict_text(compared_section)
    assert "could not be told apart" not in verdict_text(compared_section)
    comparison_table = find_grid(
        compared_section, "pairs", "answers.json less echoes.json, corrected"
    )
    outcomes = {line.name: line.cells[-1].text for line in comparison_table.rows}
    assert outcomes["Score"] == "answers.json is better"
    assert outcomes["Pages named"] == "no significant difference"
    figure_blocks = [
        block for block in list_blocks(compared_section, "pairs") if isinstance(block, Figures)
    ]
    titles = [figure.title for block in figure_blocks for figure in block.figures]
    assert "answers.json against echoes.json, corrected" in titles
    assert "answers.json against echoes.json, literal" in titles


def test_blank_missing_and_refused_answers_are_distinguished(tmp_path: Path) -> None:
    incomplete_section = build_section(score_incomplete_answers(tmp_path))
    assert (
        "3 are answered, 1 is abstained from, 1 has no answer and 1 has a row that cannot be used"
        in verdict_text(incomplete_section)
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
    # The third column is P@5; the first two, score and F1, are unjudged.
    assert answered_only["corrected"][:2] == ["–", "–"]
    assert float(answered_only["corrected"][2]) > float(
        grid_cells(find_grid(incomplete_section, "headline", "Scores"))["corrected"][2]
    )


def test_contradicted_claims_are_counted_in_markdown(section: Section, folder: Path) -> None:
    table = find_grid(section, "losing", "Lowest F1 among the answered")
    assert "| Question | F1 | Contradicted |" in render_section_markdown(section, 1)
    parts_by_question = {
        row.question_id: row.parts
        for row in read_folder(folder).report.modes["corrected"].questions
    }
    for line in table.rows:
        claims = [
            claim for claim in parts_by_question[line.name].claims if claim.verdict != "unjudged"
        ]
        contradicted = sum(claim.verdict == "contradicted" for claim in claims)
        assert grid_cells(table)[line.name][1] == (
            f"{contradicted} of {len(claims)}" if claims else "–"
        )


def test_page_marks_equal_the_record(section: Section, folder: Path) -> None:
    section_data = read_folder(folder)
    for sample, view in zip(find_samples(section).rows, section_data.answers, strict=True):
        answer = sample.answers[0]
        assert answer is not None
        details = {detail.title: detail for detail in answer.details if isinstance(detail, Detail)}
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
        "–" if point.ie is None else f"{point.ie:.3f}" for point in corrected.sweep
    ]
    assert [line.below for line in table.rows].count("taken for the score") == 1
    rounds = grid_cells(find_grid(section, "rounds", "First correct"))
    assert sum(int(line[0]) for line in rounds.values()) == 6
    threshold = read_scores(folder).report.thresholds.correct
    f1 = [
        [ends if isinstance(ends, tuple) else (ends, ends) for ends in row.parts.iteration_f1]
        for row in corrected.questions
    ]
    n_never = sum(all(high < threshold for _, high in rounds) for rounds in f1)
    assert int(rounds["never"][0]) == n_never
    assert 0 < int(rounds["unjudged"][0]) == 6 - n_never, "no answer is correct for certain"


def test_samples_show_every_round(section: Section, folder: Path) -> None:
    rows = read_scores(folder).report.modes["corrected"].questions
    claims = [claim.text for row in rows for claim in row.parts.claims]
    verdicts = {claim.verdict for row in rows for claim in row.parts.claims}
    assert "unjudged" in verdicts
    for text in (
        "How did a machine for cleaning cotton",
        "Expected: Whitney's cotton gin",
        "In 1794 Eli Whitney patented the cotton gin",
        "Eli Whitney patented the cotton gin in 1794.",
        "What it claims",
        *(" ".join(VERDICTS[verdict]) for verdict in verdicts),
        *claims,
        "Pages it names; ✓ are sources",
        "Sources not among its first five pages",
        "https://news.example/timeline",
        "Round 3. F1",
        "Literal against corrected",
    ):
        assert str(escape(text)) in SectionView(section).html, text
