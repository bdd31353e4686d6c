"""The section of SynthLink scores: its content."""

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

from eval.synthlink.metrics import AGGREGATE_WEIGHTS
from eval.synthlink.outputs import read_scores
from eval.synthlink.scores import score_predictions
from kg.base.proportions import wilson_interval
from reporting.benchmark_sections.blocks import Figures
from reporting.benchmark_sections.opening import section_of
from reporting.benchmark_sections.samples import Detail
from reporting.benchmark_sections.section import Section
from reporting.synthlink_section.losing import parts_of_score, steps_by_place
from reporting.synthlink_section.measure_words import DECIDED_BY, VERDICTS
from reporting.synthlink_section.measure_words import MEASURES as NAMED
from reporting.synthlink_section.reading import read_folder
from reporting.synthlink_section.samples_of_folder import mark_counts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return score_honest_answers(tmp_path_factory.mktemp("synthlink"))


@pytest.fixture(scope="module")
def section(folder: Path) -> Section:
    return section_of(folder)


def test_modes_are_shown_with_their_difference(section: Section, folder: Path) -> None:
    report = read_scores(folder).report
    table = find_grid(section, "headline", "Scores")
    rows = grid_cells(table)
    assert list(rows) == ["corrected", "literal", "literal − corrected"]
    for mode, scores in report.modes.items():
        for cell, measure in zip(rows[mode], NAMED, strict=True):
            value = scores.overall.measures[measure].value
            assert cell == ("–" if value is None else f"{value:.3f}")
    both = [report.modes[mode].overall.measures["f1"].value for mode in ("literal", "corrected")]
    assert both[0] is not None
    assert both[1] is not None
    assert rows["literal − corrected"][1] == f"{both[0] - both[1]:+.3f}".replace("-", "−")
    assert "the specification does not define this metric" in section.html


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
    read = read_folder(
        score_shipped_predictions(tmp_path, honest_predictions(read_six_questions()), catalog=path)
    )
    corrected = read.report.modes["corrected"]
    parts = {part.measure: part for part in parts_of_score(corrected, read.report.weights)}
    assert parts["rqs"].weight == pytest.approx(0.15)
    assert parts["f1"].weight == pytest.approx((0.3 + 0.3 / 0.7) / 2)
    assert sum(part.gained for part in parts.values()) == pytest.approx(
        corrected.overall.measures["aggregate"].value
    )


def test_verdict_compares_with_the_literal_score(tmp_path: Path, section: Section) -> None:
    catalog = read_six_questions()
    heap = section_of(
        score_shipped_predictions(tmp_path / "heap", attack_predictions("answer shuffled", catalog))
    )
    apart = re.search(
        r"would say 0\.\d+, (0\.\d+) more, above all because they give (\S+) instead of (\S+) for",
        verdict_text(heap),
    )
    assert apart
    more, first, second = map(float, apart.groups())
    assert first > second
    one, other = (
        read_scores(tmp_path / "heap" / "run").report.modes[mode].overall.measures["aggregate"]
        for mode in ("corrected", "literal")
    )
    assert f"The score is {one.value:.3f} of 1 ({one.low:.3f} to {one.high:.3f})." in verdict_text(
        heap
    )
    assert f"would say {other.value:.3f}" in verdict_text(heap)
    assert more == pytest.approx(other.value - one.value, abs=6e-4)
    assert more > 0.3
    assert "all are answered" in verdict_text(section)


def test_verdict_names_the_largest_loss(section: Section, folder: Path) -> None:
    read = read_folder(folder)
    parts = parts_of_score(read.headline, read.report.weights)
    first, second = sorted(parts, key=lambda part: -part.lost)[:2]
    lost = re.search(
        r"Of the ([\d.]+) that it lacks, ([\d.]+) is lost on .*? and ([\d.]+) on",
        verdict_text(section),
    )
    assert lost
    assert [float(one) for one in lost.groups()] == pytest.approx(
        [sum(part.lost for part in parts), first.lost, second.lost], abs=6e-4
    )
    table = find_grid(section, "losing", "What the corrected score is made of")
    down = [line.cells[2].text for line in table.lines if line.cells[2].tone == "down"]
    assert down == [f"{first.lost:.3f}"]


def test_only_significant_differences_are_stated(tmp_path: Path) -> None:
    from eval.synthlink.catalog import read_catalog

    catalog = read_catalog()
    rows = [
        {"question_id": one.id, "predicted_answer": one.answer,
         "retrieved_docs": [source.url for source in one.sources]}
        for one in catalog.questions
    ]  # fmt: skip
    plain = [row | {"retrieved_docs": []} for row in rows]
    keywords = [
        {"question_id": one.id, "retrieved_docs": [],
         "predicted_answer": ", ".join(word for step in one.steps for word in step.keywords)}
        for one in catalog.questions
    ]  # fmt: skip
    others = {"same": plain, "keywords": keywords}
    found = section_of(
        score_shipped_predictions(tmp_path, plain, others, catalog=None, domain="none")
    )
    assert re.search(r"find it better than keywords\.json by \d\d\.\d points", verdict_text(found))
    assert "cannot tell it from same.json" in verdict_text(found)
    assert "better than same" not in verdict_text(found)
    assert "would put" not in verdict_text(found)
    assert "could not be told apart" not in verdict_text(found)
    best = find_grid(found, "pairs", "answers.json less keywords.json, corrected")
    told = {line.name: line.cells[-1].text for line in best.lines}
    assert told["Score"] == "answers.json is better"
    assert told["Pages named"] == "no significant difference"
    drawn = [block for block in list_blocks(found, "pairs") if isinstance(block, Figures)]
    titles = [figure.title for block in drawn for figure in block.figures]
    assert "answers.json against keywords.json, corrected" in titles
    assert "answers.json against keywords.json, literal" in titles


def test_reversed_order_of_literal_scores_is_stated(tmp_path: Path) -> None:
    from eval.synthlink.catalog import read_catalog

    catalog = read_catalog()
    heaps = [
        {"question_id": one.id, "predicted_answer": ", ".join(sorted(one.answer.split())),
         "sources_verified": [", ".join(sorted(one.answer.split()))]}
        for one in catalog.questions
    ]  # fmt: skip
    facts = [
        {"question_id": one.id, "predicted_answer": " ".join(s.fact for s in one.steps[:2])}
        for one in catalog.questions
    ]
    options = {"catalog": None, "domain": "none"}
    found = section_of(score_shipped_predictions(tmp_path, facts, {"heaps": heaps}, **options))
    assert "better than heaps.json" in verdict_text(found)
    assert "The literal scores would put heaps.json first." in verdict_text(found)


def test_inconclusive_difference_is_stated(section: Section) -> None:
    assert re.search(
        r"cannot tell it from shuffled\.json; the \d+\.\d points between them would need more",
        verdict_text(section),
    )


def test_blank_missing_and_refused_answers_are_distinguished(tmp_path: Path) -> None:
    found = section_of(score_incomplete_answers(tmp_path))
    assert (
        "3 are answered, 1 is abstained from, 1 has no answer and 1 has a row that cannot be used"
        in verdict_text(found)
    )
    assert "Over the answered ones alone the score would be 0." in " ".join(found.caveats)
    table = grid_cells(find_grid(found, "headline", "Coverage"))
    assert table["all"] == ["6", "50 %", "3", "1", "1", "1"]
    assert table["STE"] == ["1", "0 %", "0", "1", "0", "0"]
    assert found.stats == (
        *(("6", "questions"), ("3", "answered"), ("1", "abstained")),
        *(("1", "missing"), ("1", "refused")),
    )
    marks = mark_counts(read_folder(tmp_path / "run"))
    assert marks.total() == 6
    assert (marks["abstained"], marks["missing"], marks["refused"]) == (1, 1, 1)
    text = found.html
    for words in (
        "It abstains: the answer is blank.",
        "There is no row for this question.",
        "Rows that are refused, and why",
        "retrieved_docs is not a list",
    ):
        assert words in text, words
    assert "&lt;b&gt;HIA-99&lt;/b&gt;" in text
    only = grid_cells(find_grid(found, "headline", "Over answered questions alone"))
    assert float(only["corrected"][0]) > float(
        grid_cells(find_grid(found, "headline", "Scores"))["corrected"][0]
    )


def test_steps_are_counted_by_position(section: Section, folder: Path) -> None:
    read = read_folder(folder)
    corrected = read.report.modes["corrected"]
    for one in steps_by_place(corrected, read.answers):
        with_it = [at for at, view in enumerate(read.answers) if len(view.facts) >= one.number]
        taken = [at for at in with_it if one.number in corrected.questions[at].parts.steps]
        assert (one.asked, one.taken) == (len(with_it), len(taken))
        low, high = wilson_interval(one.taken, one.asked)
        shown = find_grid(section, "losing", "Steps by their place").lines[one.number - 1].cells[2]
        assert (shown.text, shown.below) == (
            f"{one.taken / one.asked:.3f}",
            (f"{low:.3f}–{high:.3f}",),
        )
    chains = grid_cells(find_grid(section, "losing", "How far chains are followed"))
    assert sum(int(line[0]) for line in chains.values()) == 6
    assert all(int(a) == int(b) + int(c) + int(d) for a, b, c, d in chains.values())


def test_chain_is_complete_with_every_step(tmp_path: Path) -> None:
    questions = read_six_questions().questions
    rows = [
        {"question_id": one.id, "predicted_answer": " ".join(step.fact for step in one.steps)}
        for one in questions[:4]
    ]
    rows += [
        {"question_id": one.id, "predicted_answer": one.steps[0].fact} for one in questions[4:]
    ]
    found = section_of(score_shipped_predictions(tmp_path, rows))
    chains = grid_cells(find_grid(found, "losing", "How far chains are followed"))
    assert [sum(int(line[at]) for line in chains.values()) for at in range(4)] == [6, 4, 2, 0]
    facets = [row.facets[1] for row in find_samples(found).rows]
    assert facets == ["every step"] * 4 + ["some steps"] * 2


def test_contradicted_claims_are_counted_in_markdown(section: Section, folder: Path) -> None:
    table = find_grid(section, "losing", "Lowest scores among the answered")
    assert "| Question | Score | Steps | Contradicted |" in section.markdown_at(1)
    of = {
        row.question_id: row.parts
        for row in read_folder(folder).report.modes["corrected"].questions
    }
    for line in table.lines:
        claims = of[line.name].claims
        wrong = sum(one.verdict == "contradicted" for one in claims)
        assert grid_cells(table)[line.name][2] == (f"{wrong} of {len(claims)}" if claims else "–")


def test_step_and_page_marks_equal_the_record(section: Section, folder: Path) -> None:
    read = read_folder(folder)
    corrected = read.report.modes["corrected"].questions
    rows = zip(find_samples(section).rows, corrected, read.answers, strict=True)
    for shown, row, view in rows:
        answer = shown.answers[0]
        assert answer is not None
        lists = {one.title: one for one in answer.details if isinstance(one, Detail)}
        steps = lists[f"Steps taken: {len(row.parts.steps)} of {len(view.facts)}"]
        marked = [at for at, tone in enumerate(steps.tones, start=1) if tone == "right"]
        assert marked == sorted(row.parts.steps)
        assert set(steps.tones) <= {"right", "wrong"}
        pages = lists["Pages it names; ✓ are sources"]
        urls = {source.url for source in view.sources}
        assert [tone == "right" for tone in pages.tones] == [doc in urls for doc in view.docs]
        missed = lists["Sources not among its first five pages"]
        assert list(missed.items) == [
            source.title for source in view.sources if source.url not in view.docs
        ]


def test_claims_are_counted_by_verdict_and_decider(section: Section, folder: Path) -> None:
    corrected = read_scores(folder).report.modes["corrected"]
    by_verdict = grid_cells(find_grid(section, "claims", "Claims by verdict"))
    assert by_verdict["all"] == [
        str(sum(corrected.claims.values())),
        *(str(corrected.claims[verdict]) for verdict in VERDICTS),
    ]
    whole = [int(text) for text in by_verdict.pop("all")]
    assert [sum(map(int, column)) for column in zip(*by_verdict.values(), strict=True)] == whole
    decided = grid_cells(find_grid(section, "claims", "What decided"))
    assert [sum(map(int, column)) for column in zip(*decided.values(), strict=True)] == whole[1:]
    assert set(decided) <= set(DECIDED_BY.values())


def test_every_round_and_threshold_is_shown(section: Section, folder: Path) -> None:
    corrected = read_scores(folder).report.modes["corrected"]
    table = find_grid(section, "rounds", "Speed by what counts as correct")
    assert [line.cells[1].text for line in table.lines] == [f"{s.ie:.3f}" for s in corrected.sweep]
    assert [line.below for line in table.lines].count("taken for the score") == 1
    rounds = grid_cells(find_grid(section, "rounds", "First correct"))
    assert sum(int(line[0]) for line in rounds.values()) == 6
    bar = read_scores(folder).report.thresholds.correct
    right = sum(max(row.parts.iteration_f1, default=0) >= bar for row in corrected.questions)
    assert int(rounds["never"][0]) == 6 - right


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
        assert str(escape(text)) in section.html, text
