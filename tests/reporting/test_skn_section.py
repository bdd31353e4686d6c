"""The section of SKN against JSON: its content, its files, and what it refuses."""

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

from eval.skn.agent import Response
from eval.skn.judges.record import Failure, Hallucination, Verdicts
from kg.base.errors import CardSetMismatchError, MissingFileError, RecordError, SettingError
from reporting.benchmark_sections.opening import section_of, sections_of
from reporting.benchmark_sections.page import page_files, write_page
from reporting.benchmark_sections.section import Section
from reporting.html_report import main
from reporting.skn_section.metric_names import METRICS, OFFLINE, RETENTION, value_text
from reporting.skn_section.reading import read_run
from reporting.skn_section.samples_of_run import MARKS, mark_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_two_pipelines(tmp_path_factory.mktemp("skn") / "run")


@pytest.fixture(scope="module")
def section(folder: Path) -> Section:
    return section_of(folder)


def test_writes_the_page_and_its_exports_into_the_folder(folder: Path) -> None:
    written = write_page(folder)
    assert [path.name for path in written] == [
        "report.html",
        "report.md",
        "report.json",
        "report.metrics.csv",
        "report.pairs.csv",
        "report.samples.csv",
    ]
    page = written[0].read_text("utf-8")
    for path in written[1:]:
        assert path.name in page
    assert page.count("<h1>") == 1


def test_hash_seed_does_not_change_the_bytes(folder: Path) -> None:
    check_same_bytes(folder)


def test_page_is_self_contained(folder: Path) -> None:
    check_self_contained(folder)


def test_headline_numbers_equal_the_metrics(section: Section, folder: Path) -> None:
    report = read_run(folder).report
    table = find_grid(section, "headline", "Every pipeline")
    for line in table.lines:
        value = report.pipelines[line.name].metrics["accuracy"]
        assert line.cells[0].text == f"{value.value:.3f}"
        assert line.cells[0].below[0] == f"{value.low:.3f}–{value.high:.3f}"
    failures = {line.name: line.cells[-2].text for line in table.lines}
    assert failures == {"json": "0", "skn": "1"}
    bounds = [text for line in table.lines for cell in line.cells for text in cell.below]
    assert any(text.startswith("bounds") for text in bounds)  # the failed row could matter


def test_only_significant_differences_are_stated(tmp_path: Path) -> None:
    samples = make_samples(60)
    apart = [answered_row(one, "json", right=False) for one in samples]
    apart += [answered_row(one, "skn", right=True) for one in samples]
    told = section_of(write_run_folder(tmp_path / "apart", samples, apart))
    assert "skn more accurate than json by 100.0 points" in " ".join(told.verdict)
    alike = [answered_row(one, name) for one in samples for name in ("json", "skn")]
    same = " ".join(section_of(write_run_folder(tmp_path / "alike", samples, alike)).verdict)
    assert "cannot tell skn from json by accuracy" in same
    assert "more accurate" not in same


def test_verdict_states_the_minimum_detectable_effect(section: Section) -> None:
    said = " ".join(section.verdict)
    assert "12 questions, 3 of which have no answer" in said
    found = re.search(r"a true difference below (\d+) points may well be missed", said)
    assert found
    assert int(found[1]) > 10


def test_caveats_name_failures_and_self_judging(tmp_path: Path) -> None:
    folder = write_two_pipelines(tmp_path, same_judge=True, mode="as-published")
    said = " ".join(section_of(folder).caveats)
    assert "1 of skn" in said
    assert "they are not abstentions" in said
    assert "The model that answered also judged" in said
    assert "It shows what that setting shows, not what the notation does." in said


def test_offline_outputs_say_no_models_were_measured(
    tmp_path: Path,
) -> None:
    from eval.skn.benchmark import run_benchmark

    shipped = Path(__file__).parents[2] / "eval" / "skn" / "data" / "samples.json"
    run_benchmark(shipped, tmp_path, offline=True, limit=6)
    section = section_of(tmp_path)
    files = page_files(section)
    assert OFFLINE in section.notices
    for name in ("report.html", "report.md", "report.json"):
        assert "says nothing about models" in files[name].decode()
    page = files["report.html"].decode()
    assert RETENTION in page
    kept = find_grid(section, "retention", "Kept of the text")
    report = read_run(tmp_path).report
    for line in kept.lines:
        value = report.pipelines[line.name].retention["facts"]
        assert line.cells[0].text == f"{value.value:.2f}"
        assert line.cells[0].below == (f"{value.numerator:,.0f} of {value.denominator:,.0f}",)
    assert "no tokens to count" in page


def test_marks_distinguish_failures_from_abstentions() -> None:
    yes, no = make_samples(4)[0], make_samples(4)[3]
    assert mark_of(answered_row(yes, "skn")) == "right"
    assert mark_of(answered_row(yes, "skn", right=False)) == "wrong"
    assert mark_of(answered_row(no, "skn")) == "unfounded"
    assert mark_of(abstained_row(no, "skn")) == "abstained"
    assert mark_of(abstained_row(yes, "skn")) == "held"
    assert mark_of(failed_row(no, "skn")) == "error"
    assert mark_of(failed_row(no, "skn", outcome="INVALID", stage="agent")) == "invalid"
    lost = Verdicts(failed=("accuracy",))
    assert mark_of(answered_row(yes, "skn", verdicts=lost)) == "unjudged"
    assert len({mark.key for mark in MARKS}) == len(MARKS) == 8


def test_samples_show_every_step_of_every_pipeline(section: Section) -> None:
    shown = section.html
    for text in (
        "Why does job 4 stall?",
        "True: A lock of job 4 is never released.",
        "What the search found",
        "The lock stays, says skn.",
        "Its reasoning",
        "1 of 2 claims made up, severity 0.40.",
        "Claims judged made up",
        "The lock is red.",
        "The extraction, read as it stands",
        "Failed at extraction: the server is gone",
        "There is no answer to this.",
    ):
        assert text in shown, text


def test_failed_judges_are_listed_by_vote(tmp_path: Path) -> None:
    samples = make_samples(3)
    lost = Verdicts(
        correct=None,
        correct_votes=(True, None),
        planned_votes=2,
        hallucination=Hallucination(),
        failures={"accuracy": 1},
        failed=("accuracy",),
        problems=(Failure("accuracy", 1, "unreadable", "it answers with a list"),),
    )
    rows = [answered_row(one, "skn", verdicts=lost) for one in samples]
    section = section_of(write_run_folder(tmp_path, samples, rows))
    assert "Right or wrong: 1 right, 1 no vote." in section.html
    assert "No vote on accuracy: unreadable: it answers with a list" in section.html
    assert "3 answers lack a verdict" in " ".join(section.caveats)
    assert "Votes that could not be had: 3 on accuracy." in section.html


def test_first_repeat_is_shown_and_others_counted(tmp_path: Path) -> None:
    samples = make_samples(2)
    rows = [answered_row(one, "skn", right=n != 1, repeat=n) for one in samples for n in range(3)]
    section = section_of(write_run_folder(tmp_path, samples, rows))
    assert "each 3 times" in " ".join(section.verdict)
    assert "Asked 3 times; the first is shown" in section.html
    assert "right 2, wrong 1" in section.html


def test_effort_has_its_own_units(section: Section) -> None:
    assert value_text("tokens", 1234.4) == "1,234"
    assert value_text("latency_p50_s", 0.756) == "0.76 s"
    assert value_text("accuracy", 0.5) == "0.500"
    assert value_text("tokens", None) == "–"
    table = find_grid(section, "effort", "Tokens and time")
    named = [head.name for head in table.heads[1:]]
    cells = dict(zip(named, (cell.text for cell in table.lines[0].cells), strict=True))
    assert cells["median"] == "0.75 s"


def test_exports_agree_with_the_metrics(folder: Path) -> None:
    files = page_files(section_of(folder))
    report = read_run(folder).report
    rows = list(csv.DictReader(io.StringIO(files["report.metrics.csv"].decode(), newline="")))
    mine = {
        (row["pipeline"], row["metric"]): row
        for row in rows
        if row["group"] == "metrics" and not row["category"]
    }
    for name, one in report.pipelines.items():
        for key, value in one.metrics.items():
            assert mine[name, key]["value"] == ("" if value.value is None else str(value.value))
    pairs = list(csv.DictReader(io.StringIO(files["report.pairs.csv"].decode(), newline="")))
    assert len(pairs) == len(report.comparisons)
    samples = list(csv.DictReader(io.StringIO(files["report.samples.csv"].decode(), newline="")))
    assert len(samples) == 24
    document = json.loads(files["report.json"])
    assert document["schema"] == "epoche.section/1"
    assert document["metrics"]["pipelines"].keys() == report.pipelines.keys()
    assert document["manifest"]["model"] == "loop/answerer"
    assert files["report.md"].decode().startswith("# Does it matter how knowledge")


def write_degenerate_run(tmp_path: Path, kind: str) -> Path:
    one, some = make_samples(1), make_samples(5)
    unjudged = {"verdicts": None}
    silent = Response(
        answer="It is.", confidence=None, reasoning="", abstained=False, readable=True
    )
    rows = {
        "all failed": [failed_row(s, name) for s in some for name in ("json", "skn")],
        "one pipeline": [answered_row(s, "skn") for s in some],
        "one sample": [answered_row(s, name) for s in one for name in ("json", "skn")],
        "one row": [answered_row(s, "skn") for s in one],
        "no judge": [answered_row(s, name, **unjudged) for s in some for name in ("json", "skn")],
        "no confidence": [answered_row(s, "skn", response=silent) for s in some],
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
    section = section_of(write_degenerate_run(tmp_path, kind))
    files = page_files(section)
    page = files["report.html"].decode()
    markup = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.S)
    assert not re.search(r"[>=\"–(]\s*None\s*[<\"–)]", markup)
    assert ",nan" not in files["report.metrics.csv"].decode()
    if kind in ("all failed", "no judge"):
        assert "No answer could be judged" in page or "json 0 %" in section.verdict[1]
    if kind in ("one pipeline", "one row", "unanswerable"):
        assert "nothing to compare" in page


def test_folders_without_a_run_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such folder"):
        section_of(tmp_path / "nowhere")
    with pytest.raises(MissingFileError, match="manifest"):
        section_of(tmp_path)
    for text, message in (
        ("[]", "names no kind of run"),
        ("{" * 5_000, "names no kind of run"),
        ('{"kind": "sudoku"}', "no section for a run of kind 'sudoku'"),
    ):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(RecordError, match=message):
            section_of(tmp_path)
    with pytest.raises(SettingError, match="given twice"):
        sections_of([folder, folder / ".." / folder.name])


@pytest.mark.parametrize("name", ["metrics.json", "detailed_results.json", "rows.jsonl"])
def test_damaged_files_are_named(tmp_path: Path, name: str) -> None:
    folder = write_two_pipelines(tmp_path, 4)
    (folder / name).write_bytes(b'{"torn": ')
    with pytest.raises(RecordError, match=re.escape(name)):
        section_of(folder)
    (folder / name).unlink()
    with pytest.raises(MissingFileError):
        section_of(folder)


def test_rows_of_another_run_are_refused(tmp_path: Path) -> None:
    folder = write_two_pipelines(tmp_path / "a", 4)
    other = write_two_pipelines(tmp_path / "b", 8)
    (folder / "rows.jsonl").write_bytes((other / "rows.jsonl").read_bytes())
    with pytest.raises(CardSetMismatchError, match="has a row and no metrics"):
        section_of(folder)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    folder = write_two_pipelines(tmp_path, 4)
    metrics = json.loads((folder / "metrics.json").read_bytes())
    metrics["report"]["schema"] = "epoche.skn/0"
    (folder / "metrics.json").write_text(json.dumps(metrics))
    with pytest.raises(RecordError, match=r"epoche\.skn/0"):
        section_of(folder)


def test_card_report_appends_sections(world: Any, folder: Path, tmp_path: Path) -> None:
    second = write_two_pipelines(tmp_path / "second", 5)
    plain, more = tmp_path / "plain" / "report.html", tmp_path / "more" / "report.html"
    main(world.results, None, world.metrics, plain)
    main(world.results, None, world.metrics, more, section=[folder, second])
    page = more.read_text("utf-8")
    assert '<a href="#skn">SKN against JSON</a>' in page
    assert page.index('id="provenance"') < page.index('<section id="skn"')
    assert page.index('<section id="skn"') < page.index('<section id="skn-2"')
    assert page.count("<h1>") == 1
    assert page.count('<h2 id="skn-h">') == 1
    names = {path.name for path in more.parent.iterdir()}
    tables = {
        f"report.{one}.{name}.csv" for one in ("skn", "skn-2") for name in list_section_tables()
    }
    assert tables <= names
    assert names - tables == {path.name for path in plain.parent.iterdir()}
    markdown = (more.parent / "report.md").read_text("utf-8")
    assert markdown.startswith((plain.parent / "report.md").read_text("utf-8").rstrip())
    assert markdown.count("## Does it matter how knowledge is written down?") == 2
    document = json.loads((more.parent / "report.json").read_bytes())
    assert list(document["sections"]) == ["skn", "skn-2"]
    assert "sections" not in json.loads((plain.parent / "report.json").read_bytes())


def list_section_tables() -> tuple[str, ...]:
    return ("metrics", "pairs", "samples")


def test_report_never_overwrites_run_files(world: Any, tmp_path: Path) -> None:
    folder = write_two_pipelines(tmp_path, 4)
    before = (folder / "metrics.json").read_bytes()
    with pytest.raises(SettingError, match="overwrite a file it is made from"):
        main(world.results, None, world.metrics, folder / "metrics.html", section=[folder])
    assert (folder / "metrics.json").read_bytes() == before


def test_every_metric_has_a_description(folder: Path) -> None:
    for one in read_run(folder).report.pipelines.values():
        assert one.metrics.keys() <= METRICS.keys()
