"""Tests of the section of structured extraction: content, figures, files, refused folders."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from benchmark_pages import check_same_bytes, check_self_contained
from extraction_folders import SYSTEMS, write_result_folder, write_run_folder
from extraction_outputs import Skill, load_shipped_samples, simulate_rows
from section_blocks import find_grid, list_blocks

from eval.blocks.blocks import Definitions, Figures, Paragraphs
from eval.blocks.samples import Compared, SampleRow, Samples
from eval.blocks.section import Section
from eval.extraction.blocks import exports
from eval.extraction.blocks.comparison_page import read_runs, write_comparison
from eval.extraction.blocks.metric_texts import (
    METRICS,
    format_dollars,
    format_grade_range,
    format_interval,
    format_value,
)
from eval.extraction.blocks.quality_charts import ZONES
from eval.extraction.blocks.run_data import OFFLINE, read_run
from eval.extraction.blocks.samples import MARKS, describe_verdict, get_mark_key
from eval.extraction.record import Metric
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.runs.sections import build_section, write_page
from kg.base.errors import CardSetMismatchError, MissingFileError, RecordError, SettingError
from reporting.charts.draw import draw_chart
from reporting.section_page import build_page_files
from reporting.section_renderer import PAGE_LEVEL, render_section_markdown

FIRST_SYSTEM, SECOND_SYSTEM = SYSTEMS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of two systems on thirty samples."""
    return write_run_folder(tmp_path_factory.mktemp("extraction") / "run", count=30)


@pytest.fixture(scope="module")
def section(folder: Path) -> Section:
    return build_section(folder)


def map_titles_to_drawings(section: Section, part: str) -> dict[str, str]:
    """Returns the SVG drawing of each figure, by its title."""
    return {
        figure.title: str(draw_chart(figure.chart, "figure", figure.title, figure.alt))
        for block in list_blocks(section, part)
        if isinstance(block, Figures)
        for figure in block.figures
    }


def list_paragraphs(section: Section, part: str) -> list[str]:
    return [
        text
        for block in list_blocks(section, part)
        if isinstance(block, Paragraphs)
        for text in block.paragraphs
    ]


def find_samples_table(section: Section) -> Samples:
    return next(block for block in list_blocks(section, "samples") if isinstance(block, Samples))


def list_table_rows(section: Section, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(section.tables[name])))


def test_writes_the_page_and_its_exports_into_the_folder(folder: Path) -> None:
    file_names = [path.name for path in write_page(folder)]
    names = ("metrics", "breakdowns", "errors", "correlations", "samples")
    assert file_names == [
        "report.html",
        "report.md",
        "report.json",
        *(f"report.{name}.csv" for name in names),
        *(f"report.{name}.parquet" for name in names),
    ]
    page = (folder / "report.html").read_text("utf-8")
    assert all(name in page for name in file_names[1:])
    assert page.count("<h1>") == 1


def test_hash_seed_does_not_change_the_bytes(folder: Path) -> None:
    check_same_bytes(folder)


def test_page_is_self_contained(folder: Path) -> None:
    check_self_contained(folder)


def test_every_metric_is_in_the_table_once(section: Section, folder: Path) -> None:
    table = find_grid(section, "metrics", "Every metric")
    names = [line.name for line in table.rows]
    assert len(names) == len(set(names)) == len(get_args(Metric))
    assert set(names) == {METRICS[key].full_name for key in get_args(Metric)}
    run = read_run(folder)
    f1 = next(line for line in table.rows if line.name == "Field F1 (partial)")
    for cell, (_, system) in zip(f1.cells, run.systems, strict=True):
        assert cell.text == format_value(
            "field_f1_partial", system.metrics["field_f1_partial"].value
        )


def test_the_summary_has_score_date_data_grades_strengths_and_weaknesses(
    section: Section, folder: Path
) -> None:
    run = read_run(folder)
    assert run.names == (FIRST_SYSTEM, SECOND_SYSTEM)  # highest score first
    paragraphs = list_paragraphs(section, "summary")
    assert paragraphs[0] == "Evaluated 2026-01-01 on shipped, 30 samples."
    first_advice = run.report.systems[FIRST_SYSTEM].recommendation
    assert f"{FIRST_SYSTEM}: {first_advice.verdict}." in paragraphs
    assert all(f"✓ Strength: {text}." in paragraphs for text in first_advice.strengths)
    second_advice = run.report.systems[SECOND_SYSTEM].recommendation
    assert second_advice.weaknesses
    assert all(f"✗ Weakness: {text}." in paragraphs for text in second_advice.weaknesses)
    table = find_grid(section, "summary", "At a glance")
    grades = {grade.metric: grade for grade in run.report.systems[SECOND_SYSTEM].grades}
    for line in table.rows:
        key = next(key for key, metric in METRICS.items() if metric.full_name == line.name)
        # Where the interval spans several grades, those at its ends stand for the one.
        grade = grades[key]
        assert line.cells[1].text.startswith(f"{format_grade_range(grade) or grade.grade} · ")
    verdict = " ".join(section.verdict)
    assert "30 texts" in verdict
    assert (
        format_value("extraction_quality_score", run.systems[0][1].quality.score.value) in verdict
    )


def test_method_part_describes_the_run(section: Section, folder: Path) -> None:
    (terms,) = (block for block in list_blocks(section, "method") if isinstance(block, Definitions))
    facts = dict(terms.entries)
    assert facts["Data set"] == "shipped: 30 samples"
    assert facts["Systems"] == f"{FIRST_SYSTEM} and {SECOND_SYSTEM}"
    assert "temperature: 0.0" in facts[f"Settings of {FIRST_SYSTEM}"]
    assert facts["System prompt"].startswith("You are a precise data extraction assistant")
    assert (facts["Matching"], facts["Seed"]) == ("the defaults", "42")
    assert any(
        "aligned before anything is counted" in text for text in list_paragraphs(section, "method")
    )
    assert read_run(folder).report.signature in render_section_markdown(
        build_section(folder), PAGE_LEVEL
    )


# A title that ends with a colon stands for one figure of each system.
FIGURE_TITLES = {
    "summary": ("Extraction quality score: ", "The parts of the score: "),
    "accuracy": (
        "What became of the fields",
        "F1 by mode",
        "Precision and recall",
        "Precision and recall of every sample: ",
    ),
    "performance": ("Latency: ", "Latency against accuracy: ", "Throughput over time: "),
    "errors": ("Errors by kind: ", "Omissions by field", "Hallucinations by severity"),
    "complexity": (
        "F1 against the complexity of the schema: ",
        "F1 by bin of complexity: ",
        "Metrics against schemas: ",
        "Metrics against each other: ",
    ),
    "comparison": (
        "Key metrics",
        "Score against latency",
        "Score against cost",
        "Who wins how often",
        "Extraction quality score",
    ),
}


@pytest.mark.parametrize("part", FIGURE_TITLES)
def test_every_required_figure_is_drawn_and_described(section: Section, part: str) -> None:
    figures = map_titles_to_drawings(section, part)
    for title in FIGURE_TITLES[part]:
        full_titles = [f"{title}{name}" for name in SYSTEMS] if title.endswith(": ") else [title]
        for full_title in full_titles:
            svg = figures[full_title]
            assert re.search(r"<title id=[^>]*>[^<]+</title>\s*<desc id=[^>]*>[^<]+</desc>", svg)
            assert "NaN" not in svg
            assert "nan" not in re.sub(r"<[^>]*>", "", svg)


def test_figures_show_the_report_values(section: Section, folder: Path) -> None:
    report = read_run(folder).report
    system = report.systems[FIRST_SYSTEM]
    gauge = map_titles_to_drawings(section, "summary")[f"Extraction quality score: {FIRST_SYSTEM}"]
    assert f">{system.quality.score.value:.3f}</text>" in gauge
    assert all(zone.name in gauge for zone in ZONES)
    words = system.quality.interpretation.split(" to ")
    assert set(words) <= {zone.name for zone in ZONES}
    assert (len(words) > 1) is (system.quality.score.low < 0.9 < system.quality.score.high)
    latency = map_titles_to_drawings(section, "performance")[f"Latency: {FIRST_SYSTEM}"]
    counts = re.findall(r" s: (\d+) calls</title>", latency)
    assert sum(map(int, counts)) == system.outcomes.scored
    tree = map_titles_to_drawings(section, "errors")[f"Errors by kind: {SECOND_SYSTEM}"]
    error_counts = [int(count) for count in re.findall(r": (\d+), [^<]* of all errors", tree)]
    assert sum(error_counts) == report.systems[SECOND_SYSTEM].errors.total
    wins = map_titles_to_drawings(section, "comparison")["Who wins how often"]
    comparison = read_run(folder).comparison
    assert comparison is not None
    rate = next(
        win_rate
        for win_rate in comparison.win_rates
        if (win_rate.candidate, win_rate.baseline) == (FIRST_SYSTEM, SECOND_SYSTEM)
    )
    assert (
        f"beats {SECOND_SYSTEM} on {rate.wins} samples, loses {rate.losses}, ties {rate.ties}"
        in wins
    )


def test_only_significant_differences_are_stated(tmp_path: Path) -> None:
    samples = load_shipped_samples(24)
    good_rows = simulate_rows(
        samples, "good", Skill(slip=0.0, extra=0.0, unparsable=0.0, error=0.0)
    )
    bad_rows = simulate_rows(samples, "bad", Skill(slip=0.5, constrained=False))
    different_section = build_section(
        write_result_folder(tmp_path / "apart", samples, [*good_rows, *bad_rows])
    )
    assert "Paired tests on the same samples find good better than bad by" in " ".join(
        different_section.verdict
    )
    assert find_grid(different_section, "comparison", "Ranking").rows[0].cells[0].text == "1 ★"
    assert "★" in map_titles_to_drawings(different_section, "comparison")["Key metrics"]
    copied_rows = [msgspec.structs.replace(row, system="twin") for row in good_rows]
    equal_section = build_section(
        write_result_folder(tmp_path / "alike", samples, [*good_rows, *copied_rows])
    )
    assert "better than" not in " ".join(equal_section.verdict)
    assert find_grid(equal_section, "comparison", "Ranking").rows[0].cells[0].text == "1"
    assert "★" not in re.sub(
        r"<desc.*?</desc>", "", map_titles_to_drawings(equal_section, "comparison")["Key metrics"]
    )


def test_advice_names_the_deciding_threshold(section: Section, folder: Path) -> None:
    run = read_run(folder)
    tree = find_grid(section, "advice", "Decision tree")
    branch = run.systems[0][1].recommendation.branches[0]
    line = tree.rows[0]
    assert line.group == branch.verdict
    assert line.cells[0].text == "at least 0.900"
    is_met = branch.checks[0].passed
    assert line.cells[1].text == ("✓ met" if is_met else "✗ missed")
    assert ("unsure" in line.cells[1].below) == (not branch.checks[0].sure)
    paragraphs = list_paragraphs(section, "advice")
    for _, system in run.systems:
        # The first letter is left out because the page may capitalise it.
        assert f"{system.recommendation.reasons[0][1:]}." in " ".join(paragraphs)
    levels = find_grid(section, "advice", "Service levels")
    assert {line.group for line in levels.rows} == {"minimum", "target", "excellence"}
    assert any("replies are no valid instance" in text for text in paragraphs)


def find_compared_fields(row: SampleRow, index: int) -> Compared:
    answer = row.answers[index]
    assert answer is not None
    return next(detail for detail in answer.details if isinstance(detail, Compared))


def test_samples_show_the_verdicts_of_the_scorer(section: Section, folder: Path) -> None:
    run = read_run(folder)
    table = find_samples_table(section)
    # The first facet of a sample says why it is shown.
    assert {row.facets[0].split(":")[0] for row in table.rows} >= {"best", "worst", "edge"}
    row = next(row for row in table.rows if row.facets[0] == "worst")
    (sample,) = run.read_samples([row.id])
    rows_by_system = {result.system: result for result in run.read_rows([row.id])}
    n_checked = 0
    for index, name in enumerate(run.names):
        if rows_by_system[name].outcome in ("ERROR", "UNPARSABLE"):
            continue
        fields = score_sample(sample, rows_by_system[name].predicted, run.matching).fields
        lines = {
            (line.cells[0], line.verdict, line.look)
            for line in find_compared_fields(row, index).lines
        }
        assert lines == {(field.path, *describe_verdict(field)) for field in fields}
        n_checked += 1
    assert n_checked
    assert row.answers[0] is not None
    assert row.answers[0].mark == get_mark_key(rows_by_system[run.names[0]])


def test_numeric_text_is_distinguished_from_a_number(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "t": {"type": "string"}}}
    sample = Sample(id="a", text="n is 12", schema=schema, expected={"n": 12, "t": "x"})
    predicted = {"n": "12", "extra": 1}
    row = ExtractionRow(
        id="a",
        system="s",
        outcome="INVALID",
        predicted=predicted,
        score=score_sample(sample, predicted).score,
    )
    sample_row = find_samples_table(
        build_section(write_result_folder(tmp_path, [sample], [row]))
    ).rows[0]
    lines = {line.cells[0]: line for line in find_compared_fields(sample_row, 0).lines}
    assert lines["n"].cells[1:] == ("12", '"12"')
    # The rule "types" accepts it, and the line says so.
    assert (lines["n"].verdict, lines["n"].look) == ("✓ same (types)", "right")
    assert (lines["t"].verdict[0], lines["t"].look, lines["t"].cells[2]) == ("○", "none", "–")
    assert (lines["extra"].verdict[0], lines["extra"].cells[1]) == ("+", "–")


def test_files_have_every_row_and_parquet_equals_csv(section: Section, folder: Path) -> None:
    from pyarrow import BufferReader
    from pyarrow import parquet as pq

    rows = list_table_rows(section, "samples")
    run = read_run(folder)
    assert len(rows) == sum(map(len, run.summaries.values())) == 60  # 30 samples × 2 systems
    for name, text in section.tables.items():
        parquet_rows = pq.read_table(BufferReader(section.parquet[name])).to_pylist()
        csv_rows = list(csv.DictReader(io.StringIO(text)))
        assert len(parquet_rows) == len(csv_rows) > 0
        for parquet_row, csv_row in zip(parquet_rows, csv_rows, strict=True):
            assert list(parquet_row) == list(csv_row)
            for key, value in parquet_row.items():
                if isinstance(value, bool | float | int):
                    assert csv_row[key] == str(value)
    metric_row = next(
        row for row in list_table_rows(section, "metrics") if row["metric"] == "exact_match"
    )
    value = run.report.systems[metric_row["system"]].metrics["exact_match"].value
    assert float(metric_row["value"]) == value


def test_missing_pyarrow_gives_a_note(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "find_spec", lambda name: None)
    files = build_page_files(build_section(folder))
    assert not [name for name in files if name.endswith(".parquet")]
    assert "pyarrow is not installed" in files["report.html"].decode()
    assert "report.samples.csv" in files


def test_only_requested_formats_are_written(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.htm"
    assert write_page(folder, out, ["html", "json"]) == [out, tmp_path / "page.json"]
    document = json.loads((tmp_path / "page.json").read_bytes())
    assert document["metrics"]["n_samples"] == 30
    assert document["comparison"]["pairs"]
    assert "page.md" not in out.read_text("utf-8")
    with pytest.raises(SettingError, match="overwrite a file it is made from"):
        write_page(folder, folder / "metrics.html")


def join_report_text(section: Section) -> str:
    return (
        render_section_markdown(section, PAGE_LEVEL)
        + build_page_files(section, formats=["html"])["report.html"].decode()
    )


ONE_SYSTEM: dict[str, Skill] = {"alone": Skill()}


@pytest.mark.parametrize(
    ("systems", "count", "options", "expected"),
    [
        ({"none": Skill(error=1.0)}, 6, {}, "No reply could be scored"),
        ({"x": Skill(error=1.0), "y": Skill(error=1.0)}, 4, {}, "No reply could be scored"),
        ({"mute": Skill(error=0.0, unparsable=1.0)}, 6, {}, "are invalid under"),
        (ONE_SYSTEM, 1, {}, "1 text with"),
        # The first 40 characters are enough to recognise the notice.
        ({"rules": Skill(seconds=None, price=None)}, 8, {"offline": True}, OFFLINE[:40]),
        ({"a": Skill(price=None), "b": Skill(price=None)}, 8, {}, "Score against latency"),
        ({"a": Skill(seconds=None), "b": Skill()}, 8, {}, "no frontier"),
        ({"right": Skill(slip=0, extra=0, unparsable=0, error=0)}, 8, {}, "A+"),
    ],
    ids=["failed", "both failed", "no JSON", "one", "offline", "no cost", "one timed", "perfect"],
)
def test_degenerate_runs_have_a_page(
    tmp_path: Path, systems: dict[str, Skill], count: int, options: dict[str, Any], expected: str
) -> None:
    run_section = build_section(
        write_run_folder(tmp_path, systems, count=count, resamples=20, **options)
    )
    text = join_report_text(run_section)
    assert expected in text
    assert not re.search(
        r"\bnan\b|\binf\b|None\b", re.sub(r"<style>.*?</style>", "", text, flags=re.S)
    )
    assert ("comparison" in {part.id for part in run_section.parts}) == (len(systems) > 1)


def test_confidence_and_repeats_have_their_own_part(tmp_path: Path) -> None:
    folder = write_run_folder(
        tmp_path, {"sure": Skill(gives_confidence=True)}, count=12, repeats=3, resamples=40
    )
    run_section = build_section(folder)
    # 12 samples, each asked 3 times.
    assert find_grid(run_section, "confidence", "Calibration").rows[0].cells[0].text == "36"
    assert find_grid(run_section, "confidence", "Consistency").rows[0].cells[0].text == "12"
    answers = [row.answers[0] for row in find_samples_table(run_section).rows]
    assert all(answer and answer.details[0].title.startswith("Asked 3 times") for answer in answers)


def make_many_samples(count: int) -> tuple[list[Sample], list[ExtractionRow]]:
    """Repeats the shipped samples and their rows, with new ids, until there are ``count``."""
    base_samples = load_shipped_samples(40)
    base_rows = simulate_rows(base_samples, "big", Skill(constrained=False))
    samples, rows = [], []
    for number in range(count):
        id_ = f"{number:05d}"
        row = base_rows[number % 40]
        samples.append(msgspec.structs.replace(base_samples[number % 40], id=id_))
        scored = msgspec.structs.replace(row.score, id=id_)
        rows.append(msgspec.structs.replace(row, id=id_, score=scored))
    return samples, rows


def test_large_run_has_a_small_page_and_complete_files(tmp_path: Path) -> None:
    run_section = build_section(
        write_result_folder(tmp_path, *make_many_samples(1_200), resamples=20)
    )
    html = build_page_files(run_section, formats=["html"])["report.html"]
    assert len(html) < 1_500_000
    assert len(find_samples_table(run_section).rows) <= 60
    assert len(list_table_rows(run_section, "samples")) == 1_200
    assert "of 1,200 samples" in list_paragraphs(run_section, "samples")[0]


def test_huge_outputs_are_cut_on_the_page(tmp_path: Path) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "string"}}
    text = "word " * 150_000
    output = {f"key {n}": "value " * 200 for n in range(1_500)}
    samples = [Sample(id=f"{n}", text=text, schema=schema, expected=output) for n in range(3)]
    rows = [
        ExtractionRow(
            id=s.id, system="s", outcome="OK", predicted=output, score=score_sample(s, output).score
        )
        for s in samples
    ]
    run_section = build_section(write_result_folder(tmp_path, samples, rows, resamples=20))
    page = build_page_files(run_section, formats=["html"])["report.html"]
    assert len(page) < 1_000_000
    assert "1,440 more that are not shown" in page.decode()  # of 1,500; 60 are shown


def test_runs_are_compared_on_shared_samples(tmp_path: Path) -> None:
    samples = load_shipped_samples(20)
    first_folder = write_result_folder(
        tmp_path / "one", samples[:16], simulate_rows(samples[:16], "m", Skill())
    )
    second_folder = write_result_folder(
        tmp_path / "two", samples[4:], simulate_rows(samples[4:], "m", Skill(), seed=2)
    )
    result = read_runs([first_folder, second_folder])
    assert set(result.names) == {"m@one", "m@two"}
    assert result.report.n_samples == 12
    assert result.comparison is not None
    assert "Only the 12 samples" in result.notices[0]
    out = tmp_path / "comparison.html"
    paths = write_comparison([first_folder, second_folder], out)
    assert paths[0] == out
    assert "Who turns texts into data best?" in out.read_text("utf-8")
    assert {path.suffix for path in paths} == {".html", ".md", ".json", ".csv", ".parquet"}


def test_incomparable_runs_are_refused(tmp_path: Path) -> None:
    samples = load_shipped_samples(8)
    rows = simulate_rows(samples, "m", Skill())
    first_folder = write_result_folder(tmp_path / "one", samples, rows)
    with pytest.raises(SettingError, match="given twice"):
        read_runs([first_folder, tmp_path / "two" / ".." / "one"])
    with pytest.raises(SettingError, match="only one system"):
        read_runs([first_folder])
    other_samples = [msgspec.structs.replace(sample, text="another") for sample in samples]
    changed_folder = write_result_folder(tmp_path / "changed", other_samples, rows)
    with pytest.raises(CardSetMismatchError, match="no sample in common"):
        read_runs([first_folder, changed_folder])
    strict = read_run(first_folder).matching
    loose = msgspec.structs.replace(strict, partial=0.4)
    loose_folder = write_result_folder(tmp_path / "loose", samples, rows, matching=loose)
    with pytest.raises(CardSetMismatchError, match="other rules"):
        read_runs([first_folder, loose_folder])
    second_folder = write_result_folder(tmp_path / "two", samples, rows)
    with pytest.raises(SettingError, match="overwrite"):
        write_comparison([first_folder, second_folder], second_folder / "comparison.html")


def test_damaged_folders_are_refused(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path / "run", ONE_SYSTEM, count=4, resamples=20)
    rows = (folder / "rows.jsonl").read_bytes()
    (folder / "rows.jsonl").write_bytes(b"\n".join(rows.splitlines()[:-1]) + b"\n")
    with pytest.raises(CardSetMismatchError, match="3 rows of 'alone', but metrics of 4"):
        build_section(folder)
    (folder / "rows.jsonl").write_bytes(rows)
    metrics = (folder / "metrics.json").read_bytes()
    (folder / "metrics.json").write_bytes(
        metrics.replace(b"epoche.extraction/1", b"epoche.other/9")
    )
    with pytest.raises(RecordError, match=r"epoche\.other/9"):
        build_section(folder)
    (folder / "metrics.json").write_bytes(metrics[:100])
    with pytest.raises(RecordError, match="not a metrics file"):
        build_section(folder)
    (folder / "metrics.json").write_bytes(metrics)
    samples = (folder / "samples.jsonl").read_text("utf-8")
    (folder / "samples.jsonl").write_text(samples.replace('"schema":{', '"schema":7,"was":{', 1))
    with pytest.raises(RecordError, match=r"samples\.jsonl:1"):
        build_section(folder)
    (folder / "samples.jsonl").unlink()
    with pytest.raises(MissingFileError, match="sample"):
        build_section(folder)


def test_values_have_their_units() -> None:
    assert format_value("schema_validity", 0.98765) == "98.8 %"
    assert format_value("latency_p95_s", 0.034) == "34 ms"
    assert format_value("latency_p95_s", 1.234) == "1.23 s"
    assert format_value("throughput_rps", 12.0) == "12.00 /s"
    assert [format_dollars(x) for x in (0.0, 2.5, 0.000123456, None)] == [
        "$0.00",
        "$2.50",
        "$0.000123",
        "–",
    ]
    assert format_interval("exact_match", 0.5, 0.75) == "50.0–75.0 %"
    assert format_interval("latency_s", 0.05, 1.0) == "50 ms–1.00 s"
    assert format_interval("extraction_quality_score", None, 1.0) == ""


def test_marks_have_a_sign_and_words() -> None:
    assert len({mark.name for mark in MARKS}) == len(MARKS)
    assert all(mark.symbol and mark.words for mark in MARKS)
