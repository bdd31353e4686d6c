"""Tests the section of SynthLink scores for folders that also have a run or a judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from section_blocks import find_grid, grid_cells
from synthlink_section_folders import (
    RESAMPLES,
    ScriptedAgent,
    run_and_score,
    score_honest_answers,
)
from synthlink_six_answers import SIX_QUESTIONS_FILE, honest_predictions, read_six_questions

from eval.runs.sections import build_section
from eval.synthlink.blocks.samples import mark_counts
from eval.synthlink.blocks.score_data import read_folder
from eval.synthlink.blocks.trails import Reached, reached
from eval.synthlink.corrected.answer_scores import apply_verdicts
from eval.synthlink.row import read_rows
from eval.synthlink.score_files import write_scores
from eval.synthlink.scoring.options import ScoreOptions
from eval.synthlink.scoring.outputs import read_scores
from eval.synthlink.verdicts.judge_report import build_judge_report
from eval.synthlink.verdicts.record import ANCHOR_KINDS, Judgement, JudgeReport, VerdictLine
from kg.base.errors import CardSetMismatchError, MissingFileError
from kg.base.files import to_json_bytes
from reporting.section_renderer import SectionView


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_and_score(tmp_path_factory.mktemp("ran"))


def test_run_next_to_the_scores_is_shown_by_round(run_folder: Path) -> None:
    section = build_section(run_folder)
    assert ScriptedAgent.name in section.about
    for text in (
        "Round 1, searching: HIA first",
        "3 pages found; read: ",
        "It was so.",
        "Answer then, F1",  # the answer as it stood after this round
        "It abstains: no page says so",
        "Its reply cannot be read: a list, no object",
        "It failed: ",
        "the line is dead",
    ):
        assert text in SectionView(section).html, text
    assert "1 in a reply that cannot be read and 1 in a failure" in " ".join(section.caveats)
    marks = mark_counts(read_folder(run_folder))
    assert (marks["invalid"], marks["error"], marks["missing"], marks["abstained"]) == (1, 1, 0, 1)
    outcomes = grid_cells(find_grid(section, "run", "Outcomes"))
    assert outcomes == {"ANSWERED": ["3"], "ABSTAINED": ["1"], "INVALID": ["1"], "ERROR": ["1"]}
    work = grid_cells(find_grid(section, "run", "What it took"))
    assert work["Rounds"] == ["7", "1.2"]
    assert work["Searches"] == ["7", "1.2"]
    assert work["Pages found"] == ["12", "2.0"]
    links = grid_cells(find_grid(section, "run", "Sentences noted"))
    assert links == {"supported": ["3", "50 %"], "contradicted": ["3", "50 %"]}


def test_tokens_and_seconds_use_rows_that_have_them(tmp_path: Path) -> None:
    folder = run_and_score(tmp_path)
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text("utf-8").splitlines()]
    assert "Tokens read by the model" not in SectionView(build_section(folder)).html
    for row, tokens in zip(rows, (100, 300), strict=False):
        row["usage"] = {"prompt_tokens": tokens, "completion_tokens": 7}
        row["latency_s"] = 1.25
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = find_grid(build_section(folder, allow_changed=True), "run", "What it took")
    work = grid_cells(table)
    assert work["Tokens read by the model"] == ["400", "200.0"]
    assert work["Tokens written by it"] == ["14", "7.0"]
    assert work["Seconds waiting for it"] == ["2.5", "1.2"]
    # The small note under the line about seconds says how many rows have a latency.
    assert [line.below for line in table.rows][-1] == "2 of 6 rows tell it"


def test_found_read_and_named_sources_are_counted(run_folder: Path) -> None:
    section_data = read_folder(run_folder)
    assert section_data.run is not None
    sources = [len(view.sources) for view in section_data.answers]
    answered = [index for index, row in enumerate(read_rows(run_folder / "rows.jsonl")) if row.trail
                and row.outcome == "ANSWERED"]  # fmt: skip
    assert len(answered) == 3
    table = grid_cells(find_grid(build_section(run_folder), "run", "Sources"))
    assert table["named"] == ["3", f"{300 / sum(sources):.0f} %"]
    # For each answer, `ScriptedAgent` finds the first two sources, and reads and names the first.
    assert reached(section_data.run, section_data.answers) == Reached(
        sources=sum(sources),
        found=sum(min(2, sources[index]) for index in answered),
        read=3,
        named=3,
    )


def test_run_on_some_questions_is_noted(tmp_path: Path) -> None:
    section = build_section(run_and_score(tmp_path, limit=2))
    assert "Only 2 of 6 questions were asked; the others count as missing." in section.caveats


def test_system_answering_from_the_graph_gets_a_caveat(
    tmp_path: Path,
) -> None:
    from eval.synthlink.options import RunOptions
    from eval.synthlink.run import run

    finished_run = run(RunOptions(system="graph_walk", out=tmp_path, limit=1))
    options = {
        "output_dir": tmp_path,
        "predictions": finished_run.folder / "predictions.json",
        "resamples": RESAMPLES,
    }
    write_scores(ScoreOptions(**options))
    assert "answers from the very graph" in " ".join(build_section(tmp_path).caveats)
    write_scores(ScoreOptions(**options, domain="none"))
    assert "answers from the very graph" not in " ".join(build_section(tmp_path).caveats)


def write_judge_report(folder: Path) -> JudgeReport:
    """Records a judge whose verdict is "supported" on every unjudged claim.

    So are its verdicts on two anchors: a fact about the question ("own fact") and a fact about
    another question ("other fact").
    """
    scores = read_scores(folder)
    questions = read_six_questions().questions
    corrected = scores.report.modes["corrected"]
    shared_fields: dict[str, Any] = {
        "planned": 2,
        "verdict": "supported",
        "votes": ("supported",) * 2,
    }
    lines = [
        VerdictLine(
            key="", kind="claim", question_id=row.question_id, claim=claim.text, **shared_fields
        )
        for row in corrected.questions
        for claim in row.parts.claims
    ]
    lines += [
        VerdictLine(key="", kind=kind, question_id="HIA-01", claim="It was.", **shared_fields)
        for kind in ANCHOR_KINDS
    ]
    judgement = Judgement(
        models=("loop/<b>judge</b>",), same=True, planned=2, params={}, lines=tuple(lines)
    )
    rows = tuple(
        replace(row, parts=apply_verdicts(row.parts, question, "", judgement))
        for row, question in zip(corrected.questions, questions, strict=True)
    )
    report = build_judge_report(judgement, rows)
    modes = scores.report.modes | {"corrected": replace(corrected, questions=rows)}
    new_scores = replace(scores, report=replace(scores.report, judge=report, modes=modes))
    (folder / "synthlink_scores.json").write_bytes(to_json_bytes(new_scores))
    return report


def test_judge_verdicts_and_reliability_are_shown(tmp_path: Path) -> None:
    folder = score_honest_answers(tmp_path)
    report = write_judge_report(folder)
    section = build_section(folder, allow_changed=True)
    trust = grid_cells(find_grid(section, "claims", "How far the judge can be trusted"))
    assert trust["Every vote is the same"][0] == "100 %"
    # It calls everything supported.
    assert trust["Wrong claims called supported"][1] == "4"
    assert trust["Wrong claims called supported"][0].startswith("1.000")
    assert trust["True claims not called supported"][1] == "1"
    assert trust["Called supported: facts that are denied"][1] == "1"
    decided = grid_cells(find_grid(section, "claims", "What decided"))
    assert decided["a model that judges"][0] == str(report.decided)
    judge = "loop/&lt;b&gt;judge&lt;/b&gt;"
    assert f"{judge} judged {report.decided:,} of the {report.open:,}" in SectionView(section).html
    assert "The model that answered also judged" in SectionView(section).html
    without_judge = SectionView(build_section(score_honest_answers(tmp_path / "nobody"))).html
    assert "claims that neither graph, facts nor pages decide" not in without_judge


def test_rows_other_than_the_scored_are_refused(tmp_path: Path) -> None:
    folder = run_and_score(tmp_path / "run")
    rows = folder / "rows.jsonl"
    rows.write_text(rows.read_text("utf-8").replace("In 1794 Eli Whitney", "In 1795 Eli Whitney"))
    with pytest.raises(CardSetMismatchError, match="'HIA-01' is not what was scored"):
        build_section(folder)
    rows.unlink()
    with pytest.raises(MissingFileError):
        build_section(folder)


def test_run_rows_are_ignored_for_another_scored_file(tmp_path: Path) -> None:
    folder = run_and_score(tmp_path / "run")
    (tmp_path / "mine.json").write_text(json.dumps(honest_predictions(read_six_questions())))
    write_scores(
        ScoreOptions(
            predictions=tmp_path / "mine.json",
            output_dir=folder,
            catalog=SIX_QUESTIONS_FILE,
            resamples=RESAMPLES,
        )
    )
    section = build_section(folder)
    assert ScriptedAgent.name not in section.about
    assert "mine.json" in section.about
    assert all(part.id != "run" for part in section.parts)
