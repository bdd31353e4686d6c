"""Tests of the section of SKN against JSON: its content, its files, and refused folders."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from benchmark_pages import check_same_bytes, check_self_contained
from section_blocks import find_grid
from skn_folders import (
    abstained_row,
    answered_row,
    failed_row,
    make_samples,
    write_run_folder,
    write_two_pipelines,
)

from eval.blocks.section import Section
from eval.runs.sections import build_section, build_sections, write_page
from eval.skn.agent import Response
from eval.skn.blocks.run_data import read_run
from eval.skn.blocks.samples import MARKS, find_mark
from eval.skn.blocks.texts import (
    METRIC_DESCRIPTIONS,
    RETENTION_NOTICE,
    format_value,
)
from eval.skn.judges.record import Failure, Hallucination, Verdicts
from eval.skn.retention.retention import Retention, Share
from kg.base.errors import CardSetMismatchError, MissingFileError, RecordError, SettingError
from reporting.html_report import main
from reporting.section_page import build_page_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_two_pipelines(tmp_path_factory.mktemp("skn") / "run")


@pytest.fixture(scope="module")
def section(folder: Path) -> Section:
    return build_section(folder)


def render_html(section: Section) -> str:
    return build_page_files(section)["report.html"].decode()


def test_writes_the_page_and_its_exports_into_the_folder(folder: Path) -> None:
    paths = write_page(folder)
    assert [path.name for path in paths] == [
        "report.html",
        "report.md",
        "report.json",
        "report.metrics.csv",
        "report.pairs.csv",
        "report.samples.csv",
    ]
    page = paths[0].read_text("utf-8")
    for path in paths[1:]:
        assert path.name in page
    assert page.count("<h1>") == 1


def test_hash_seed_does_not_change_the_bytes(folder: Path) -> None:
    check_same_bytes(folder)


def test_page_is_self_contained(folder: Path) -> None:
    check_self_contained(folder)


def test_headline_numbers_equal_the_metrics(section: Section, folder: Path) -> None:
    report = read_run(folder).report
    table = find_grid(section, "headline", "Every pipeline")
    for line in table.rows:
        value = report.pipelines[line.name].metrics["accuracy"]
        assert line.cells[0].text == f"{value.value:.3f}"
        assert line.cells[0].below[0] == f"{value.low:.3f}–{value.high:.3f}"
    failures = {line.name: line.cells[-2].text for line in table.rows}  # the last column but one
    assert failures == {"json": "0", "skn": "1"}
    bounds = [text for line in table.rows for cell in line.cells for text in cell.below]
    # One row failed, so some numbers have bounds: with that row counted as right and as wrong.
    assert any(text.startswith("bounds") for text in bounds)


def test_only_significant_differences_are_stated(tmp_path: Path) -> None:
    samples = make_samples(60)
    different_rows = [answered_row(sample, "json", right=False) for sample in samples]
    different_rows += [answered_row(sample, "skn", right=True) for sample in samples]
    different_section = build_section(write_run_folder(tmp_path / "apart", samples, different_rows))
    assert "skn more accurate than json by 100.0 points" in " ".join(different_section.verdict)
    equal_rows = [answered_row(sample, name) for sample in samples for name in ("json", "skn")]
    equal_verdict = " ".join(
        build_section(write_run_folder(tmp_path / "alike", samples, equal_rows)).verdict
    )
    assert "cannot tell skn from json by accuracy" in equal_verdict
    assert "more accurate" not in equal_verdict


def test_verdict_states_the_minimum_detectable_effect(section: Section) -> None:
    verdict = " ".join(section.verdict)
    assert "12 questions, 3 of which have no answer" in verdict
    match = re.search(r"a true difference below (\d+) points may well be missed", verdict)
    assert match
    assert int(match[1]) > 10


def test_caveats_name_failures_and_self_judging(tmp_path: Path) -> None:
    folder = write_two_pipelines(tmp_path, same_judge=True, mode="as-published")
    caveats = " ".join(build_section(folder).caveats)
    assert "1 of skn" in caveats
    assert "they are not abstentions" in caveats
    assert "The model that answered also judged" in caveats
    assert "It shows what that setting shows, not what the notation does." in caveats


def test_what_extractions_retain_has_a_table(tmp_path: Path) -> None:
    samples = make_samples(4)
    shares = dict.fromkeys(("negations", "numbers", "names", "hedges"), Share(1, 2))
    retention = Retention(facts=Share(1, 4), **shares, characters=30, words=5, tokens=7)
    rows = [answered_row(sample, "skn", retention=retention) for sample in samples]
    section = build_section(write_run_folder(tmp_path / "run", samples, rows))
    table = find_grid(section, "retention", "Retained of the text")
    cells = [(cell.text, cell.below) for cell in table.rows[0].cells[:2]]
    assert cells == [("0.25", ("4 of 16",)), ("0.50", ("4 of 8",))]
    assert RETENTION_NOTICE in render_html(section)


def test_marks_distinguish_failures_from_abstentions() -> None:
    answerable, unanswerable = make_samples(4)[0], make_samples(4)[3]
    assert find_mark(answered_row(answerable, "skn")) == "right"
    assert find_mark(answered_row(answerable, "skn", right=False)) == "wrong"
    assert find_mark(answered_row(unanswerable, "skn")) == "unfounded"
    assert find_mark(abstained_row(unanswerable, "skn")) == "abstained"
    assert find_mark(abstained_row(answerable, "skn")) == "held"
    assert find_mark(failed_row(unanswerable, "skn")) == "error"
    assert find_mark(failed_row(unanswerable, "skn", outcome="INVALID", stage="agent")) == "invalid"
    for verdicts in (Verdicts(failed=("accuracy",)), None):
        assert find_mark(answered_row(answerable, "skn", verdicts=verdicts)) == "unjudged"
    assert len({mark.key for mark in MARKS}) == len(MARKS) == 8


def test_samples_show_every_step_of_every_pipeline(section: Section) -> None:
    html = render_html(section)
    for text in (
        "Why does job 4 stall?",
        "True: A lock of job 4 is never released.",
        "Search results",
        "The lock stays, says skn.",
        "Reasoning",
        "1 of 2 claims made up, severity 0.40.",
        "Claims judged made up",
        "The lock is red.",
        "The extraction, parsed without changes",
        "Failed at extraction: the server is gone",
        "There is no answer to this.",
    ):
        assert text in html, text


def test_failed_judges_are_listed_by_vote(tmp_path: Path) -> None:
    samples = make_samples(3)
    incomplete_verdicts = Verdicts(
        correct=None,
        correct_votes=(True, None),
        planned_votes=2,
        hallucination=Hallucination(),
        failures={"accuracy": 1},
        failed=("accuracy",),
        problems=(Failure("accuracy", 1, "unreadable", "it answers with a list"),),
    )
    rows = [answered_row(sample, "skn", verdicts=incomplete_verdicts) for sample in samples]
    section = build_section(write_run_folder(tmp_path, samples, rows))
    assert "Right or wrong: 1 right, 1 no vote." in render_html(section)
    assert "No vote on accuracy: unreadable: it answers with a list" in render_html(section)
    assert "3 answers lack a verdict" in " ".join(section.caveats)
    assert "Missing votes: 3 on accuracy." in render_html(section)


def test_first_repeat_is_shown_and_others_counted(tmp_path: Path) -> None:
    samples = make_samples(2)
    rows = [
        answered_row(sample, "skn", right=n != 1, repeat=n) for sample in samples for n in range(3)
    ]
    section = build_section(write_run_folder(tmp_path, samples, rows))
    assert "each 3 times" in " ".join(section.verdict)
    assert "Asked 3 times; the first is shown" in render_html(section)
    assert "right 2, wrong 1" in render_html(section)


def test_effort_has_its_own_units(section: Section) -> None:
    assert format_value("tokens", 1234.4) == "1,234"
    assert format_value("latency_p50_s", 0.756) == "0.76 s"
    assert format_value("accuracy", 0.5) == "0.500"
    assert format_value("tokens", None) == "–"
    table = find_grid(section, "effort", "Tokens and time")
    column_names = [head.name for head in table.columns[1:]]
    cells = dict(zip(column_names, (cell.text for cell in table.rows[0].cells), strict=True))
    assert cells["median"] == "0.75 s"


def test_exports_agree_with_the_metrics(folder: Path) -> None:
    files = build_page_files(build_section(folder))
    report = read_run(folder).report
    rows = list(csv.DictReader(io.StringIO(files["report.metrics.csv"].decode(), newline="")))
    rows_by_metric = {
        (row["pipeline"], row["metric"]): row
        for row in rows
        if row["group"] == "metrics" and not row["category"]
    }
    for name, pipeline in report.pipelines.items():
        for key, value in pipeline.metrics.items():
            assert rows_by_metric[name, key]["value"] == (
                "" if value.value is None else str(value.value)
            )
    pairs = list(csv.DictReader(io.StringIO(files["report.pairs.csv"].decode(), newline="")))
    assert len(pairs) == len(report.comparisons)
    samples = list(csv.DictReader(io.StringIO(files["report.samples.csv"].decode(), newline="")))
    assert len(samples) == 24  # 12 samples × 2 pipelines
    document = json.loads(files["report.json"])
    assert document["schema"] == "epoche.section/1"
    assert document["metrics"]["pipelines"].keys() == report.pipelines.keys()
    assert document["manifest"]["model"] == "loop/answerer"
    assert files["report.md"].decode().startswith("# Does it matter how knowledge")


def write_degenerate_run(tmp_path: Path, kind: str) -> Path:
    single_sample, five_samples = make_samples(1), make_samples(5)
    unjudged = {"verdicts": None}
    response_without_confidence = Response(
        answer="It is.", confidence=None, reasoning="", abstained=False, readable=True
    )
    rows = {
        "all failed": [failed_row(s, name) for s in five_samples for name in ("json", "skn")],
        "one pipeline": [answered_row(s, "skn") for s in five_samples],
        "one sample": [answered_row(s, name) for s in single_sample for name in ("json", "skn")],
        "one row": [answered_row(s, "skn") for s in single_sample],
        "no judge": [
            answered_row(s, name, **unjudged) for s in five_samples for name in ("json", "skn")
        ],
        "no confidence": [
            answered_row(s, "skn", response=response_without_confidence) for s in five_samples
        ],
        "unanswerable": [abstained_row(s, "skn") for s in make_samples(4)[3:]],
    }[kind]
    ids = {row.id for row in rows}
    samples = [s for s in make_samples(5) if s.id in ids]
    return write_run_folder(tmp_path / "run", samples, rows, search_text="")


@pytest.mark.parametrize(
    "kind",
    [
        "all failed",
        "one pipeline",
        "one sample",
        "one row",
        "no judge",
        "no confidence",
        "unanswerable",
    ],
)
def test_degenerate_runs_have_a_section(tmp_path: Path, kind: str) -> None:
    section = build_section(write_degenerate_run(tmp_path, kind))
    files = build_page_files(section)
    page = files["report.html"].decode()
    markup = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.S)
    assert not re.search(r"[>=\"–(]\s*None\s*[<\"–)]", markup)
    assert ",nan" not in files["report.metrics.csv"].decode()
    assert ("No answer could be judged" in page) == (kind in ("no judge", "unanswerable"))
    if kind == "all failed":
        assert "json 0 % (0 to 49 %) and skn 0 % (0 to 49 %)" in section.verdict[1]
    if kind in ("one pipeline", "one row", "unanswerable"):
        assert "nothing to compare" in page


def test_folders_without_a_run_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such folder"):
        build_section(tmp_path / "nowhere")
    with pytest.raises(MissingFileError, match="run manifest"):
        build_section(tmp_path)
    for text in ("[]", "{" * 5_000, '{"kind": "sudoku"}'):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(RecordError, match="no readable manifest of a known benchmark"):
            build_section(tmp_path)
    with pytest.raises(SettingError, match="given twice"):
        build_sections([folder, folder / ".." / folder.name])


@pytest.mark.parametrize("name", ["metrics.json", "detailed_results.json", "rows.jsonl"])
def test_error_message_names_the_damaged_file(tmp_path: Path, name: str) -> None:
    folder = write_two_pipelines(tmp_path, 4)
    (folder / name).write_bytes(b'{"torn": ')
    with pytest.raises(RecordError, match=re.escape(name)):
        build_section(folder)
    (folder / name).unlink()
    with pytest.raises(MissingFileError):
        build_section(folder)


def test_rows_of_another_run_are_refused(tmp_path: Path) -> None:
    folder = write_two_pipelines(tmp_path / "a", 4)
    other_folder = write_two_pipelines(tmp_path / "b", 8)
    (folder / "rows.jsonl").write_bytes((other_folder / "rows.jsonl").read_bytes())
    with pytest.raises(CardSetMismatchError, match="has a row and no metrics"):
        build_section(folder)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    folder = write_two_pipelines(tmp_path, 4)
    metrics = json.loads((folder / "metrics.json").read_bytes())
    metrics["report"]["schema"] = "epoche.skn/0"
    (folder / "metrics.json").write_text(json.dumps(metrics))
    with pytest.raises(RecordError, match=r"epoche\.skn/0"):
        build_section(folder)


def test_card_report_appends_sections(finished_run: Any, folder: Path, tmp_path: Path) -> None:
    second_folder = write_two_pipelines(tmp_path / "second", 5)
    plain_report = tmp_path / "plain" / "report.html"
    extended_report = tmp_path / "more" / "report.html"
    main(finished_run.results, None, finished_run.metrics, plain_report)
    main(
        finished_run.results,
        None,
        finished_run.metrics,
        extended_report,
        section=[folder, second_folder],
    )
    page = extended_report.read_text("utf-8")
    assert '<a href="#skn">SKN against JSON</a>' in page
    assert page.index('id="provenance"') < page.index('<section id="skn"')
    assert page.index('<section id="skn"') < page.index('<section id="skn-2"')
    assert page.count("<h1>") == 1
    assert page.count('<h2 id="skn-h">') == 1
    names = {path.name for path in extended_report.parent.iterdir()}
    tables = {
        f"report.{section_id}.{name}.csv"
        for section_id in ("skn", "skn-2")
        for name in list_section_tables()
    }
    assert tables <= names
    assert names - tables == {path.name for path in plain_report.parent.iterdir()}
    markdown = (extended_report.parent / "report.md").read_text("utf-8")
    assert markdown.startswith((plain_report.parent / "report.md").read_text("utf-8").rstrip())
    assert markdown.count("## Does it matter how knowledge is written down?") == 2
    document = json.loads((extended_report.parent / "report.json").read_bytes())
    assert list(document["sections"]) == ["difficulty", "skn", "skn-2"]
    plain = json.loads((plain_report.parent / "report.json").read_bytes())
    assert list(plain["sections"]) == ["difficulty"]


def list_section_tables() -> tuple[str, ...]:
    return ("metrics", "pairs", "samples")


def test_report_never_overwrites_run_files(finished_run: Any, tmp_path: Path) -> None:
    folder = write_two_pipelines(tmp_path, 4)
    old_bytes = (folder / "metrics.json").read_bytes()
    with pytest.raises(SettingError, match="overwrite a file it is made from"):
        main(
            finished_run.results,
            None,
            finished_run.metrics,
            folder / "metrics.html",
            section=[folder],
        )
    assert (folder / "metrics.json").read_bytes() == old_bytes


def test_every_metric_has_a_description(folder: Path) -> None:
    for pipeline in read_run(folder).report.pipelines.values():
        assert pipeline.metrics.keys() <= METRIC_DESCRIPTIONS.keys()
