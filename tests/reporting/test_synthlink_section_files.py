"""The section of SynthLink scores: the files it writes for any input, and what it refuses."""

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
from synthlink_attacks import SIX_QUESTIONS_FILE, honest_predictions, read_six_questions
from synthlink_section_folders import (
    run_and_score,
    score_honest_answers,
    score_incomplete_answers,
    score_shipped_predictions,
)

from eval.synthlink.metrics import METRICS
from eval.synthlink.outputs import read_scores
from kg.base.errors import CardSetMismatchError, MissingFileError, RecordError, SettingError
from reporting.benchmark_sections.opening import section_of
from reporting.benchmark_sections.page import page_files, write_page
from reporting.benchmark_sections.section import Section
from reporting.html_report import main
from reporting.synthlink_section import samples_of_folder
from reporting.synthlink_section.measure_words import MEASURES as NAMED
from reporting.synthlink_section.reading import read_folder
from reporting.synthlink_section.samples_of_folder import MARKS, mark_counts
from reporting.synthlink_section.verdict_words import LITERAL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return score_honest_answers(tmp_path_factory.mktemp("synthlink"))


@pytest.fixture(scope="module")
def section(folder: Path) -> Section:
    return section_of(folder)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_and_score(tmp_path_factory.mktemp("ran"))


def test_writes_the_page_and_its_exports_into_the_folder(folder: Path) -> None:
    written = write_page(folder)
    assert [path.name for path in written] == [
        "report.html",
        "report.md",
        "report.json",
        "report.measures.csv",
        "report.pairs.csv",
        "report.questions.csv",
    ]
    page = written[0].read_text("utf-8")
    for path in written[1:]:
        assert path.name in page
    assert page.count("<h1>") == 1


def test_hash_seed_does_not_change_the_bytes(folder: Path) -> None:
    check_same_bytes(folder)


def test_page_is_self_contained(folder: Path) -> None:
    check_self_contained(folder)


def test_exports_agree_with_the_record(folder: Path, tmp_path: Path) -> None:
    rows = csv.DictReader(
        io.StringIO(section_of(score_incomplete_answers(tmp_path)).tables["measures"], newline="")
    )
    overall = read_scores(tmp_path / "run").report.modes["corrected"].overall
    assert overall.answered_only["aggregate"] != overall.measures["aggregate"].value
    for row in rows:
        if (row["mode"], row["category"]) == ("corrected", "all"):
            measure = row["measure"]
            assert row["answered_only"] == str(overall.answered_only[measure])
    files = page_files(section_of(folder))
    found = read_scores(folder)
    rows = [*csv.DictReader(io.StringIO(files["report.measures.csv"].decode(), newline=""))]
    by_key = {(row["mode"], row["category"], row["measure"]): row for row in rows}
    for mode, scores in found.report.modes.items():
        for category, group in {"all": scores.overall, **scores.categories}.items():
            for measure, value in group.measures.items():
                held = by_key[mode, category, measure]["value"]
                assert held == ("" if value.value is None else str(value.value))
    assert len(rows) == 2 * 7 * len(METRICS)
    pairs = list(csv.DictReader(io.StringIO(files["report.pairs.csv"].decode(), newline="")))
    assert len(pairs) == len(found.comparisons[0].differences)
    told = list(csv.DictReader(io.StringIO(files["report.questions.csv"].decode(), newline="")))
    assert [row["id"] for row in told] == [one.id for one in read_six_questions().questions]
    corrected = found.report.modes["corrected"].questions
    assert [row["aggregate_corrected"] for row in told] == [
        str(row.parts.aggregate) for row in corrected
    ]
    document = json.loads(files["report.json"])
    assert document["schema"] == "epoche.section/1"
    assert document["scores"]["report"]["n_questions"] == 6
    assert document["manifest"]["kind"] == "synthlink"
    assert files["report.md"].decode().startswith("# Can it link what no single page tells?")


def write_degenerate_scores(tmp_path: Path, kind: str) -> Path:
    catalog = read_six_questions()
    rows = honest_predictions(catalog)
    bare = tmp_path / "bare.jsonl"
    lines = [json.loads(line) for line in SIX_QUESTIONS_FILE.read_text("utf-8").splitlines()]
    for line in lines:
        line["steps"] = [{"instruction": step["instruction"]} for step in line["steps"]]
    if kind == "one question":
        lines = json.loads(f"[{SIX_QUESTIONS_FILE.read_text('utf-8').splitlines()[0]}]")
    bare.write_text("".join(json.dumps(line) + "\n" for line in lines))
    options: dict[str, Any] = {
        "literal alone": {"mode": "literal"},
        "corrected alone": {"mode": "corrected"},
        "no graph": {"domain": "none"},
        "no facts": {"catalog": bare},
        "one question": {"catalog": bare},
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
    found = section_of(write_degenerate_scores(tmp_path, kind))
    files = page_files(found)
    page = files["report.html"].decode()
    markup = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.S)
    assert not re.search(r"[>=\"–(]\s*(None|nan)\s*[<\"–)]", markup)
    assert ",nan" not in files["report.measures.csv"].decode()
    words = {
        "literal alone": LITERAL,
        "corrected alone": "The score is",
        "no graph": "No graph was asked",
        "no facts": "The catalogue states no facts",
        "one question": "The one question is answered.",
        "no answers": "none is answered and 6 have no answer",
        "all blank": "none is answered and 6 are abstained from",
        "bare answers": "0.300 is lost on the words of the answer",
    }[kind]
    assert words in page
    assert (LITERAL in page) == (kind == "literal alone")
    marks = mark_counts(read_folder(tmp_path / "run"))
    assert (marks["below"] > 0) == (kind == "no facts")
    assert ("would say" in verdict_text(found)) == (
        kind not in ("literal alone", "corrected alone")
    )


DAMAGED = ("manifest.json", "synthlink_scores.json", "synthlink_answers.jsonl")


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_named(tmp_path: Path, name: str) -> None:
    folder = score_honest_answers(tmp_path)
    text = (folder / name).read_bytes()
    (folder / name).write_bytes(text[: len(text) // 2])
    with pytest.raises(RecordError, match=re.escape(name)):
        section_of(folder)
    (folder / name).unlink()
    with pytest.raises(MissingFileError, match=re.escape(name)):
        section_of(folder)


def test_mismatched_files_are_refused(tmp_path: Path) -> None:
    folder = score_honest_answers(tmp_path)
    answers = folder / "synthlink_answers.jsonl"
    whole = answers.read_bytes()
    answers.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    with pytest.raises(CardSetMismatchError, match="of other questions"):
        section_of(folder)
    answers.write_bytes(b"")
    with pytest.raises(RecordError, match="no question"):
        section_of(folder)
    answers.write_bytes(whole)
    record = folder / "synthlink_scores.json"
    for change, error, message in (
        (lambda one: one["report"].update(schema="epoche.synthlink/0"), RecordError, "schema"),
        (lambda one: one["report"]["weights"].update(f1=1.0), RecordError, "other weights"),
        (lambda one: one["report"]["modes"].pop("literal"), CardSetMismatchError, "other modes"),
    ):
        document = json.loads(record.read_bytes())
        keep = record.read_bytes()
        change(document)
        record.write_text(json.dumps(document))
        with pytest.raises(error, match=message):
            section_of(folder)
        record.write_bytes(keep)


def test_report_never_overwrites_folder_files(world: Any, tmp_path: Path) -> None:
    folder = score_honest_answers(tmp_path)
    before = (folder / "synthlink_scores.json").read_bytes()
    out = folder / "synthlink_scores.html"
    with pytest.raises(SettingError, match="overwrite a file it is made from"):
        main(world.results, None, world.metrics, out, section=[folder])
    assert (folder / "synthlink_scores.json").read_bytes() == before


def test_card_report_appends_the_section(
    world: Any, folder: Path, run_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "report.html"
    main(world.results, None, world.metrics, out, section=[folder, run_folder])
    page = out.read_text("utf-8")
    assert '<a href="#synthlink">SynthLink</a>' in page
    assert page.index('<section id="synthlink"') < page.index('<section id="synthlink-2"')
    assert page.count("<h1>") == 1
    names = {path.name for path in tmp_path.iterdir()}
    tables = {
        f"report.{one}.{name}.csv"
        for one in ("synthlink", "synthlink-2")
        for name in ("measures", "pairs", "questions")
    }
    assert tables <= names
    markdown = (tmp_path / "report.md").read_text("utf-8")
    assert markdown.count("## Can it link what no single page tells?") == 2
    document = json.loads((tmp_path / "report.json").read_bytes())
    assert list(document["sections"]) == ["synthlink", "synthlink-2"]


def test_questions_on_a_page_are_limited(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sum(row.characters for row in find_samples(section_of(folder)).rows)
    monkeypatch.setattr(samples_of_folder, "CHARACTERS", whole // 2)
    found = section_of(folder)
    rows = find_samples(found).rows
    assert 1 < len(rows) < 6
    assert sum(row.characters for row in rows) <= whole // 2
    assert f"The first {len(rows)} of 6; the CSV file has all." in found.html
    table = page_files(found)["report.questions.csv"].decode()
    assert len(list(csv.DictReader(io.StringIO(table, newline="")))) == 6


def test_long_lists_are_cut(tmp_path: Path) -> None:
    rows = honest_predictions(read_six_questions())
    rows[0]["retrieved_docs"] = [f"https://news.example/{n}" for n in range(400)]
    rows[0]["iterations"] = [{"answers": [f"{n} ships sank."], "docs": []} for n in range(400)]
    rows[0]["predicted_answer"] += "".join(f" In {n} a ship sank." for n in range(400))
    html = section_of(score_shipped_predictions(tmp_path, rows)).html
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
            "question_id": one.id,
            "predicted_answer": answer,
            "retrieved_docs": pages,
            "iterations": [{"answers": [answer], "docs": pages}],
        }
        for one, answer in zip(read_six_questions().questions, answers, strict=True)
    ]
    folder = score_shipped_predictions(
        tmp_path_factory.mktemp("any"), rows, domain="none", resamples=20
    )
    read = read_folder(folder)
    assert mark_counts(read).total() == 6
    answered = read.report.n_answered
    whole = find_grid(section_of(folder), "losing", "What the corrected score is made of").lines[-1]
    total = read.report.modes["corrected"].overall.measures["aggregate"].value
    assert float(whole.cells[1].text) == pytest.approx(total, abs=6e-4)
    files = page_files(section_of(folder))
    assert files["report.html"].count(b"<script") == 2
    assert (b"all are answered" in files["report.html"]) == (answered == 6)


def test_every_mark_and_measure_has_a_name() -> None:
    assert len({mark.key for mark in MARKS}) == len(MARKS)
    assert set(NAMED) == set(METRICS)
