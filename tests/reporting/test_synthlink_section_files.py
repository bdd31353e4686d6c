"""Tests the files that the SynthLink section writes for any input, and the inputs it refuses."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from benchmark_pages import check_same_bytes, check_self_contained
from hypothesis import given, settings
from hypothesis import strategies as st
from section_blocks import find_grid, find_samples, verdict_text
from synthlink_section_folders import (
    run_and_score,
    score_honest_answers,
    score_incomplete_answers,
    score_shipped_predictions,
)
from synthlink_six_answers import SIX_QUESTIONS_FILE, honest_predictions, read_six_questions

from eval.blocks.section import Section
from eval.runs.sections import build_section, write_page
from eval.synthlink.blocks.metric_texts import MEASURES as MEASURE_NAMES
from eval.synthlink.blocks.samples import MARKS, mark_counts
from eval.synthlink.blocks.score_data import read_folder
from eval.synthlink.blocks.texts import LITERAL
from eval.synthlink.metrics import METRICS
from eval.synthlink.scoring.outputs import read_scores
from kg.base.errors import CardSetMismatchError, MissingFileError, RecordError, SettingError
from reporting.html_report import main
from reporting.section_page import build_page_files
from reporting.section_renderer import SectionView


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return score_honest_answers(tmp_path_factory.mktemp("synthlink"))


@pytest.fixture(scope="module")
def section(folder: Path) -> Section:
    return build_section(folder)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_and_score(tmp_path_factory.mktemp("ran"))


def test_writes_the_page_and_its_exports_into_the_folder(folder: Path) -> None:
    paths = write_page(folder)
    assert [path.name for path in paths] == [
        "report.html",
        "report.md",
        "report.json",
        "report.measures.csv",
        "report.pairs.csv",
        "report.questions.csv",
    ]
    page = paths[0].read_text("utf-8")
    for path in paths[1:]:
        assert path.name in page
    assert page.count("<h1>") == 1


def test_hash_seed_does_not_change_the_bytes(folder: Path) -> None:
    check_same_bytes(folder)


def test_page_is_self_contained(folder: Path) -> None:
    check_self_contained(folder)


def test_exports_agree_with_the_record(folder: Path, tmp_path: Path) -> None:
    incomplete_rows = csv.DictReader(
        io.StringIO(
            build_section(score_incomplete_answers(tmp_path)).tables["measures"], newline=""
        )
    )
    overall = read_scores(tmp_path / "run").report.modes["corrected"].overall
    assert overall.answered_only["p_at_5"] != overall.measures["p_at_5"].value
    for row in incomplete_rows:
        if (row["mode"], row["category"]) == ("corrected", "all"):
            measure = row["measure"]
            value = overall.answered_only[measure]
            assert row["answered_only"] == ("" if value is None else str(value))
    files = build_page_files(build_section(folder))
    record = read_scores(folder)
    rows = [*csv.DictReader(io.StringIO(files["report.measures.csv"].decode(), newline=""))]
    by_key = {(row["mode"], row["category"], row["measure"]): row for row in rows}
    for mode, mode_scores in record.report.modes.items():
        for category, group in {"all": mode_scores.overall, **mode_scores.categories}.items():
            for measure, value in group.measures.items():
                exported = by_key[mode, category, measure]["value"]
                assert exported == ("" if value.value is None else str(value.value))
    assert len(rows) == 2 * 7 * len(METRICS)  # two modes, six categories and all of them together
    pairs = list(csv.DictReader(io.StringIO(files["report.pairs.csv"].decode(), newline="")))
    assert len(pairs) == len(record.comparisons[0].differences)
    question_rows = list(
        csv.DictReader(io.StringIO(files["report.questions.csv"].decode(), newline=""))
    )
    assert [row["id"] for row in question_rows] == [
        question.id for question in read_six_questions().questions
    ]
    corrected = record.report.modes["corrected"].questions
    assert [row["f1_corrected"] for row in question_rows] == [
        "" if row.parts.f1 is None else str(row.parts.f1) for row in corrected
    ]
    assert [row["claims_unjudged"] for row in question_rows] == [
        str(sum(claim.verdict == "unjudged" for claim in row.parts.claims)) for row in corrected
    ]
    document = json.loads(files["report.json"])
    assert document["schema"] == "epoche.section/1"
    assert document["scores"]["report"]["n_questions"] == 6
    assert document["manifest"]["kind"] == "synthlink"
    assert (
        files["report.md"].decode().startswith("# Can it answer questions that need several pages?")
    )


def write_degenerate_scores(tmp_path: Path, kind: str) -> Path:
    catalog = read_six_questions()
    rows = honest_predictions(catalog)
    catalog_file = tmp_path / "bare.jsonl"
    lines = [json.loads(line) for line in SIX_QUESTIONS_FILE.read_text("utf-8").splitlines()]
    for line in lines:
        line["steps"] = [{"instruction": step["instruction"]} for step in line["steps"]]
    if kind == "one question":
        lines = json.loads(f"[{SIX_QUESTIONS_FILE.read_text('utf-8').splitlines()[0]}]")
    catalog_file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    options: dict[str, Any] = {
        "literal alone": {"mode": "literal"},
        "corrected alone": {"mode": "corrected"},
        "no graph": {"domain": "none"},
        "no facts": {"catalog": catalog_file},
        "one question": {"catalog": catalog_file},
    }.get(kind, {})
    answers = {
        "no answers": [],
        "all blank": [row | {"predicted_answer": ""} for row in rows],
        "bare answers": [
            {"question_id": row["question_id"], "predicted_answer": "Sea."} for row in rows
        ],
    }.get(kind, rows)
    return score_shipped_predictions(tmp_path, answers, **options)


KINDS = (
    *("literal alone", "corrected alone", "no graph", "no facts", "one question"),
    *("no answers", "all blank", "bare answers"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_degenerate_scores_have_a_section(tmp_path: Path, kind: str) -> None:
    degenerate_section = build_section(write_degenerate_scores(tmp_path, kind))
    files = build_page_files(degenerate_section)
    page = files["report.html"].decode()
    markup = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.S)
    assert not re.search(r"[>=\"–(]\s*(None|nan)\s*[<\"–)]", markup)
    assert ",nan" not in files["report.measures.csv"].decode()
    phrase = {
        "literal alone": LITERAL,
        "corrected alone": "There is no corrected score",
        "no graph": "No graph was asked",
        "no facts": "The catalogue states no facts",
        "one question": "The one question is answered.",
        "no answers": "none is answered and 6 have no answer",
        "all blank": "none is answered and 6 are abstained from",
        "bare answers": "None of 6 claims is judged.",
    }[kind]
    assert phrase in page
    assert (LITERAL in page) == (kind == "literal alone")
    marks = mark_counts(read_folder(tmp_path / "run"))
    # Honest answers are in words of their own, so rules cannot tell whether they are correct.
    if kind != "bare answers":
        has_answers = kind in ("corrected alone", "no graph", "no facts", "one question")
        assert (marks["unjudged"] > 0) == has_answers
    assert ("would give" in verdict_text(degenerate_section)) == (
        kind in ("no answers", "all blank")
    )


SCORE_FILES = ("manifest.json", "synthlink_scores.json", "synthlink_answers.jsonl")


@pytest.mark.parametrize("name", SCORE_FILES)
def test_damaged_files_are_named(tmp_path: Path, name: str) -> None:
    folder = score_honest_answers(tmp_path)
    text = (folder / name).read_bytes()
    (folder / name).write_bytes(text[: len(text) // 2])
    with pytest.raises(RecordError, match=re.escape(name)):
        build_section(folder)
    (folder / name).unlink()
    with pytest.raises(MissingFileError, match=re.escape(name)):
        build_section(folder)


def test_mismatched_files_are_refused(tmp_path: Path) -> None:
    folder = score_honest_answers(tmp_path)
    answers = folder / "synthlink_answers.jsonl"
    answer_bytes = answers.read_bytes()
    answers.write_bytes(b"".join(answer_bytes.splitlines(keepends=True)[:-1]))
    with pytest.raises(CardSetMismatchError, match="of other questions"):
        build_section(folder)
    answers.write_bytes(b"")
    with pytest.raises(RecordError, match="no question"):
        build_section(folder)
    answers.write_bytes(answer_bytes)
    record = folder / "synthlink_scores.json"
    for change, error, message in (
        (
            lambda scores: scores["report"].update(schema="epoche.synthlink/0"),
            RecordError,
            "schema",
        ),
        (lambda scores: scores["report"]["weights"].update(f1=1.0), RecordError, "other weights"),
        (
            lambda scores: scores["report"]["modes"].pop("literal"),
            CardSetMismatchError,
            "other modes",
        ),
    ):
        document = json.loads(record.read_bytes())
        record_bytes = record.read_bytes()
        change(document)
        record.write_text(json.dumps(document))
        with pytest.raises(error, match=message):
            build_section(folder)
        record.write_bytes(record_bytes)


def test_report_never_overwrites_folder_files(finished_run: Any, tmp_path: Path) -> None:
    folder = score_honest_answers(tmp_path)
    old_bytes = (folder / "synthlink_scores.json").read_bytes()
    out = folder / "synthlink_scores.html"
    with pytest.raises(SettingError, match="overwrite a file it is made from"):
        main(finished_run.results, None, finished_run.metrics, out, section=[folder])
    assert (folder / "synthlink_scores.json").read_bytes() == old_bytes


def test_card_report_appends_the_section(
    finished_run: Any, folder: Path, run_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "report.html"
    main(finished_run.results, None, finished_run.metrics, out, section=[folder, run_folder])
    page = out.read_text("utf-8")
    assert '<a href="#synthlink">SynthLink</a>' in page
    assert page.index('<section id="synthlink"') < page.index('<section id="synthlink-2"')
    assert page.count("<h1>") == 1
    names = {path.name for path in tmp_path.iterdir()}
    tables = {
        f"report.{section_id}.{name}.csv"
        for section_id in ("synthlink", "synthlink-2")
        for name in ("measures", "pairs", "questions")
    }
    assert tables <= names
    markdown = (tmp_path / "report.md").read_text("utf-8")
    assert markdown.count("## Can it answer questions that need several pages?") == 2
    document = json.loads((tmp_path / "report.json").read_bytes())
    assert list(document["sections"]) == ["difficulty", "synthlink", "synthlink-2"]


def test_questions_on_a_page_are_limited(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    total_characters = sum(row.length for row in find_samples(build_section(folder)).rows)
    monkeypatch.setattr("eval.synthlink.blocks.samples.CHARACTERS", total_characters // 2)
    limited_section = build_section(folder)
    rows = find_samples(limited_section).rows
    assert 1 < len(rows) < 6
    assert sum(row.length for row in rows) <= total_characters // 2
    assert f"The first {len(rows)} of 6; the CSV file has all." in SectionView(limited_section).html
    table = build_page_files(limited_section)["report.questions.csv"].decode()
    assert len(list(csv.DictReader(io.StringIO(table, newline="")))) == 6


def test_long_lists_are_cut(tmp_path: Path) -> None:
    rows = honest_predictions(read_six_questions())
    rows[0]["retrieved_docs"] = [f"https://news.example/{n}" for n in range(400)]
    rows[0]["iterations"] = [{"answers": [f"{n} ships sank."], "docs": []} for n in range(400)]
    rows[0]["predicted_answer"] += "".join(f" In {n} a ship sank." for n in range(400))
    html = SectionView(build_section(score_shipped_predictions(tmp_path, rows))).html
    # Of 400 entries 30 are shown, and the title says how many are not. The answer has some claims
    # besides the 400 ships, so only the first digit of their number is given.
    for title in ("Pages it names; ✓ are sources; 370", "Rounds; 370", "What it claims; 3"):
        assert title in html, title
    assert "https://news.example/29<" in html
    assert "https://news.example/30<" not in html


STRANGE_ANSWERS = st.one_of(
    st.just(""),
    st.text(max_size=80),
    st.lists(st.sampled_from(read_six_questions().questions[0].answer.split()), max_size=30).map(
        " ".join
    ),
)


@settings(max_examples=12)
@given(st.lists(STRANGE_ANSWERS, min_size=6, max_size=6), st.lists(STRANGE_ANSWERS, max_size=3))
def test_any_answer_can_be_shown(
    tmp_path_factory: pytest.TempPathFactory, answers: list[str], pages: list[str]
) -> None:
    rows = [
        {
            "question_id": question.id,
            "predicted_answer": answer,
            "retrieved_docs": pages,
            "iterations": [{"answers": [answer], "docs": pages}],
        }
        for question, answer in zip(read_six_questions().questions, answers, strict=True)
    ]
    folder = score_shipped_predictions(
        tmp_path_factory.mktemp("any"), rows, domain="none", resamples=20
    )
    section_data = read_folder(folder)
    assert mark_counts(section_data).total() == 6
    answered = section_data.report.n_answered
    total_line = find_grid(
        build_section(folder), "losing", "What the literal score is made of"
    ).rows[-1]
    total = section_data.report.modes["literal"].overall.measures["aggregate"].value
    assert float(total_line.cells[1].text) == pytest.approx(total, abs=6e-4)
    files = build_page_files(build_section(folder))
    assert files["report.html"].count(b"<script") == 2
    assert (b"all are answered" in files["report.html"]) == (answered == 6)


def test_every_mark_and_measure_has_a_name() -> None:
    assert len({mark.key for mark in MARKS}) == len(MARKS)
    assert set(MEASURE_NAMES) == set(METRICS)
