"""The section of structured extraction: its content, figures and files, and what it refuses."""

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

from eval.extraction.record import Metric
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from kg.base.errors import CardSetMismatchError, MissingFileError, RecordError, SettingError
from reporting.benchmark_sections.blocks import Figures, Prose, Terms
from reporting.benchmark_sections.opening import section_of
from reporting.benchmark_sections.page import page_files, write_page
from reporting.benchmark_sections.samples import Compared, SampleRow, Samples
from reporting.benchmark_sections.section import Section
from reporting.extraction_section import tables
from reporting.extraction_section.compare_page import comparison_of, write_comparison
from reporting.extraction_section.metric_words import METRICS, dollars, span_text, value_text
from reporting.extraction_section.quality_figures import ZONES
from reporting.extraction_section.reading import OFFLINE, read_run
from reporting.extraction_section.samples_of_run import MARKS, mark_of, verdict_of

FIRST, SECOND = SYSTEMS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems on thirty samples."""
    return write_run_folder(tmp_path_factory.mktemp("extraction") / "run", count=30)


@pytest.fixture(scope="module")
def section(folder: Path) -> Section:
    return section_of(folder)


def list_figures(section: Section, part: str) -> dict[str, str]:
    """Title → drawing."""
    return {
        figure.title: str(figure.drawing)
        for block in list_blocks(section, part)
        if isinstance(block, Figures)
        for figure in block.figures
    }


def list_paragraphs(section: Section, part: str) -> list[str]:
    return [
        text
        for block in list_blocks(section, part)
        if isinstance(block, Prose)
        for text in block.paragraphs
    ]


def list_samples(section: Section) -> Samples:
    return next(one for one in list_blocks(section, "samples") if isinstance(one, Samples))


def list_table_rows(section: Section, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(section.tables[name])))


def test_writes_the_page_and_its_exports_into_the_folder(folder: Path) -> None:
    written = [path.name for path in write_page(folder)]
    names = ("metrics", "breakdowns", "errors", "correlations", "samples")
    assert written == [
        *("report.html", "report.md", "report.json"),
        *(f"report.{name}.csv" for name in names),
        *(f"report.{name}.parquet" for name in names),
    ]
    page = (folder / "report.html").read_text("utf-8")
    assert all(name in page for name in written[1:])
    assert page.count("<h1>") == 1


def test_hash_seed_does_not_change_the_bytes(folder: Path) -> None:
    check_same_bytes(folder)


def test_page_is_self_contained(folder: Path) -> None:
    check_self_contained(folder)


def test_every_scalar_metric_is_in_its_tier_table(section: Section, folder: Path) -> None:
    table = find_grid(section, "metrics", "Every metric")
    names = [line.name for line in table.lines]
    assert len(names) == len(set(names)) == len(get_args(Metric))
    assert set(names) == {METRICS[key].full_name for key in get_args(Metric)}
    shown = read_run(folder)
    f1 = next(line for line in table.lines if line.name == "Field F1 (partial)")
    for cell, (_, one) in zip(f1.cells, shown.systems, strict=True):
        assert cell.text == value_text("field_f1_partial", one.metrics["field_f1_partial"].value)


def test_the_summary_has_score_date_data_grades_strengths_and_weaknesses(
    section: Section, folder: Path
) -> None:
    shown = read_run(folder)
    assert shown.names == (FIRST, SECOND)  # by falling score
    text = list_paragraphs(section, "summary")
    assert text[0] == "Evaluated 2026-01-01 on shipped, 30 samples."
    best = shown.report.systems[FIRST].recommendation
    assert f"{FIRST}: {best.verdict}." in text
    assert all(f"✓ Strength: {one}." in text for one in best.strengths)
    worse = shown.report.systems[SECOND].recommendation
    assert worse.weaknesses
    assert all(f"✗ Weakness: {one}." in text for one in worse.weaknesses)
    table = find_grid(section, "summary", "At a glance")
    graded = {one.metric: one for one in shown.report.systems[SECOND].grades}
    for line in table.lines:
        key = next(key for key, named in METRICS.items() if named.full_name == line.name)
        assert line.cells[1].text.startswith(f"{graded[key].grade} · ")
    opening = " ".join(section.verdict)
    assert "30 texts" in opening
    assert (
        value_text("extraction_quality_score", shown.systems[0][1].quality.score.value) in opening
    )


def test_method_part_describes_the_run(section: Section, folder: Path) -> None:
    (terms,) = (one for one in list_blocks(section, "method") if isinstance(one, Terms))
    facts = dict(terms.entries)
    assert facts["Data set"] == "shipped: 30 samples"
    assert facts["Systems"] == f"{FIRST} and {SECOND}"
    assert "temperature: 0.0" in facts[f"Settings of {FIRST}"]
    assert facts["System prompt"].startswith("You are a precise data extraction assistant")
    assert (facts["Matching"], facts["Seed"]) == ("the defaults", "42")
    assert any(
        "aligned before anything is counted" in text for text in list_paragraphs(section, "method")
    )
    assert read_run(folder).report.signature in section_of(folder).markdown


FIGURES = {
    "summary": ("Extraction quality score: ", "The parts of the score: "),
    "accuracy": (
        *("What became of the fields", "F1 by mode", "Precision and recall"),
        "Precision and recall of every sample: ",
    ),
    "performance": ("Latency: ", "Latency against accuracy: ", "Throughput over time: "),
    "errors": ("Errors by kind: ", "Omissions by field", "Hallucinations by severity"),
    "complexity": (
        *("F1 against the complexity of the schema: ", "F1 by bin of complexity: "),
        *("Metrics against schemas: ", "Metrics against each other: "),
    ),
    "comparison": (
        *("Key metrics", "Score against latency", "Score against cost", "Who wins how often"),
        "Extraction quality score",
    ),
}


@pytest.mark.parametrize("part", FIGURES)
def test_every_required_figure_is_drawn_and_described(section: Section, part: str) -> None:
    drawn = list_figures(section, part)
    for title in FIGURES[part]:
        wanted = [f"{title}{name}" for name in SYSTEMS] if title.endswith(": ") else [title]
        for one in wanted:
            svg = drawn[one]
            assert re.search(r"<title id=[^>]*>[^<]+</title>\s*<desc id=[^>]*>[^<]+</desc>", svg)
            assert "NaN" not in svg
            assert "nan" not in re.sub(r"<[^>]*>", "", svg)


def test_figures_show_the_report_values(section: Section, folder: Path) -> None:
    report = read_run(folder).report
    one = report.systems[FIRST]
    gauge = list_figures(section, "summary")[f"Extraction quality score: {FIRST}"]
    assert f">{one.quality.score.value:.3f}</text>" in gauge
    assert all(zone.name in gauge for zone in ZONES)
    assert one.quality.interpretation in [zone.name for zone in ZONES]
    latency = list_figures(section, "performance")[f"Latency: {FIRST}"]
    counts = re.findall(r" s: (\d+) calls</title>", latency)
    assert sum(map(int, counts)) == one.outcomes.scored
    tree = list_figures(section, "errors")[f"Errors by kind: {SECOND}"]
    told = [int(count) for count in re.findall(r": (\d+), [^<]* of all errors", tree)]
    assert sum(told) == report.systems[SECOND].errors.total
    wins = list_figures(section, "comparison")["Who wins how often"]
    compared = read_run(folder).comparison
    assert compared is not None
    rate = next(w for w in compared.win_rates if (w.first, w.second) == (FIRST, SECOND))
    assert f"beats {SECOND} on {rate.wins} samples, loses {rate.losses}, ties {rate.ties}" in wins


def test_only_significant_differences_are_stated(tmp_path: Path) -> None:
    samples = load_shipped_samples(24)
    good = simulate_rows(samples, "good", Skill(slip=0.0, extra=0.0, unparsable=0.0, error=0.0))
    bad = simulate_rows(samples, "bad", Skill(slip=0.5, constrained=False))
    told = section_of(write_result_folder(tmp_path / "apart", samples, [*good, *bad]))
    assert "Paired tests on the same samples find good better than bad by" in " ".join(told.verdict)
    assert find_grid(told, "comparison", "Ranking").lines[0].cells[0].text == "1 ★"
    assert "★" in list_figures(told, "comparison")["Key metrics"]
    twin = [msgspec.structs.replace(row, system="twin") for row in good]
    same = section_of(write_result_folder(tmp_path / "alike", samples, [*good, *twin]))
    assert "better than" not in " ".join(same.verdict)
    assert find_grid(same, "comparison", "Ranking").lines[0].cells[0].text == "1"
    assert "★" not in re.sub(
        r"<desc.*?</desc>", "", list_figures(same, "comparison")["Key metrics"]
    )


def test_advice_names_the_deciding_threshold(section: Section, folder: Path) -> None:
    shown = read_run(folder)
    tree = find_grid(section, "advice", "Decision tree")
    branch = shown.systems[0][1].recommendation.branches[0]
    line = tree.lines[0]
    assert line.group == branch.verdict
    assert line.cells[0].text == "at least 0.900"
    met = branch.checks[0].passed
    assert line.cells[1].text == ("✓ met" if met else "✗ missed")
    assert ("unsure" in line.cells[1].below) == (not branch.checks[0].sure)
    text = list_paragraphs(section, "advice")
    for _, one in shown.systems:
        assert f"{one.recommendation.reasons[0][1:]}." in " ".join(text)
    levels = find_grid(section, "advice", "Service levels")
    assert {line.group for line in levels.lines} == {"minimum", "target", "excellence"}
    assert any("replies are no valid instance" in one for one in text)


def list_compared_fields(row: SampleRow, index: int) -> Compared:
    answer = row.answers[index]
    assert answer is not None
    return next(one for one in answer.details if isinstance(one, Compared))


def test_samples_show_the_verdicts_of_the_scorer(section: Section, folder: Path) -> None:
    shown = read_run(folder)
    table = list_samples(section)
    assert {row.facets[0].split(":")[0] for row in table.rows} >= {"best", "worst", "edge"}
    row = next(row for row in table.rows if row.facets[0] == "worst")
    (sample,) = shown.samples_of([row.id])
    given = {one.system: one for one in shown.rows_of([row.id])}
    checked = 0
    for at, name in enumerate(shown.names):
        if given[name].outcome in ("ERROR", "UNPARSABLE"):
            continue
        fields = score_sample(sample, given[name].predicted, shown.matching).fields
        lines = {
            (line.cells[0], line.verdict, line.look) for line in list_compared_fields(row, at).lines
        }
        assert lines == {(one.path, *verdict_of(one)) for one in fields}
        checked += 1
    assert checked
    assert row.answers[0] is not None
    assert row.answers[0].mark == mark_of(given[shown.names[0]])


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
    found = list_samples(section_of(write_result_folder(tmp_path, [sample], [row]))).rows[0]
    lines = {line.cells[0]: line for line in list_compared_fields(found, 0).lines}
    assert lines["n"].cells[1:] == ("12", '"12"')
    assert (lines["n"].verdict, lines["n"].look) == ("✗ wrong type", "wrong")
    assert (lines["t"].verdict[0], lines["t"].look, lines["t"].cells[2]) == ("○", "none", "–")
    assert (lines["extra"].verdict[0], lines["extra"].cells[1]) == ("+", "–")


def test_files_have_every_row_and_parquet_equals_csv(section: Section, folder: Path) -> None:
    from pyarrow import BufferReader
    from pyarrow import parquet as pq

    rows = list_table_rows(section, "samples")
    shown = read_run(folder)
    assert len(rows) == sum(map(len, shown.points.values())) == 60
    for name, text in section.tables.items():
        found = pq.read_table(BufferReader(section.parquet[name])).to_pylist()
        plain = list(csv.DictReader(io.StringIO(text)))
        assert len(found) == len(plain) > 0
        for mine, theirs in zip(found, plain, strict=True):
            assert list(mine) == list(theirs)
            for key, value in mine.items():
                if isinstance(value, bool | float | int):
                    assert theirs[key] == str(value)
    score_ = next(
        row for row in list_table_rows(section, "metrics") if row["metric"] == "exact_match"
    )
    value = shown.report.systems[score_["system"]].metrics["exact_match"].value
    assert float(score_["value"]) == value


def test_missing_pyarrow_gives_a_note(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    files = page_files(section_of(folder))
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


def join_all_text(section: Section) -> str:
    return section.markdown + "".join(page_files(section, formats=["html"])["report.html"].decode())


ONE_SYSTEM: dict[str, Skill] = {"alone": Skill()}


@pytest.mark.parametrize(
    ("systems", "count", "more", "expected"),
    [
        ({"none": Skill(error=1.0)}, 6, {}, "No reply could be scored"),
        ({"x": Skill(error=1.0), "y": Skill(error=1.0)}, 4, {}, "No reply could be scored"),
        ({"mute": Skill(error=0.0, unparsable=1.0)}, 6, {}, "are invalid under"),
        (ONE_SYSTEM, 1, {}, "1 text with"),
        ({"rules": Skill(seconds=None, price=None)}, 8, {"offline": True}, OFFLINE[:40]),
        ({"a": Skill(price=None), "b": Skill(price=None)}, 8, {}, "Score against latency"),
        ({"a": Skill(seconds=None), "b": Skill()}, 8, {}, "no frontier"),
        ({"right": Skill(0, 0, 0, 0)}, 8, {}, "A+"),
    ],
    ids=["failed", "both failed", "no JSON", "one", "offline", "no cost", "one timed", "perfect"],
)
def test_degenerate_runs_have_a_page(
    tmp_path: Path, systems: dict[str, Skill], count: int, more: dict[str, Any], expected: str
) -> None:
    found = section_of(write_run_folder(tmp_path, systems, count=count, resamples=20, **more))
    text = join_all_text(found)
    assert expected in text
    assert not re.search(
        r"\bnan\b|\binf\b|None\b", re.sub(r"<style>.*?</style>", "", text, flags=re.S)
    )
    assert ("comparison" in {part.id for part in found.parts}) == (len(systems) > 1)


def test_confidence_and_repeats_have_their_own_part(tmp_path: Path) -> None:
    folder = write_run_folder(
        tmp_path, {"sure": Skill(sure=True)}, count=12, repeats=3, resamples=40
    )
    found = section_of(folder)
    assert find_grid(found, "confidence", "Calibration").lines[0].cells[0].text == "36"
    assert find_grid(found, "confidence", "Consistency").lines[0].cells[0].text == "12"
    answers = [row.answers[0] for row in list_samples(found).rows]
    assert all(one and one.details[0].title.startswith("Asked 3 times") for one in answers)


def make_many_samples(count: int) -> tuple[list[Sample], list[ExtractionRow]]:
    """``count`` samples: the shipped ones repeated, each with its own id."""
    base = load_shipped_samples(40)
    known = simulate_rows(base, "big", Skill(constrained=False))
    samples, rows = [], []
    for number in range(count):
        id_ = f"{number:05d}"
        row = known[number % 40]
        samples.append(msgspec.structs.replace(base[number % 40], id=id_))
        scored = msgspec.structs.replace(row.score, id=id_)
        rows.append(msgspec.structs.replace(row, id=id_, score=scored))
    return samples, rows


def test_large_run_has_a_small_page_and_complete_files(tmp_path: Path) -> None:
    found = section_of(write_result_folder(tmp_path, *make_many_samples(1_200), resamples=20))
    page = page_files(found, formats=["html"])["report.html"]
    assert len(page) < 1_500_000
    assert len(list_samples(found).rows) <= 60
    assert len(list_table_rows(found, "samples")) == 1_200
    assert "of 1,200 samples" in list_paragraphs(found, "samples")[0]


def test_huge_outputs_are_cut_on_the_page(tmp_path: Path) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "string"}}
    text = "word " * 150_000
    wide = {f"key {n}": "value " * 200 for n in range(1_500)}
    samples = [Sample(id=f"{n}", text=text, schema=schema, expected=wide) for n in range(3)]
    rows = [
        ExtractionRow(
            id=s.id, system="s", outcome="OK", predicted=wide, score=score_sample(s, wide).score
        )
        for s in samples
    ]
    found = section_of(write_result_folder(tmp_path, samples, rows, resamples=20))
    page = page_files(found, formats=["html"])["report.html"]
    assert len(page) < 1_000_000
    assert "1,440 more that are not shown" in page.decode()


def test_runs_are_compared_on_shared_samples(tmp_path: Path) -> None:
    samples = load_shipped_samples(20)
    first = write_result_folder(
        tmp_path / "one", samples[:16], simulate_rows(samples[:16], "m", Skill())
    )
    second = write_result_folder(
        tmp_path / "two", samples[4:], simulate_rows(samples[4:], "m", Skill(), seed=2)
    )
    shown = comparison_of([first, second])
    assert set(shown.names) == {"one: m", "two: m"}
    assert shown.report.n_samples == 12
    assert shown.comparison is not None
    assert "Only the 12 samples" in shown.notices[0]
    out = tmp_path / "comparison.html"
    written = write_comparison([first, second], out)
    assert written[0] == out
    assert "Who turns texts into data best?" in out.read_text("utf-8")
    assert {path.suffix for path in written} == {".html", ".md", ".json", ".csv", ".parquet"}


def test_incomparable_runs_are_refused(tmp_path: Path) -> None:
    samples = load_shipped_samples(8)
    rows = simulate_rows(samples, "m", Skill())
    one = write_result_folder(tmp_path / "one", samples, rows)
    with pytest.raises(SettingError, match="given twice"):
        comparison_of([one, tmp_path / "two" / ".." / "one"])
    with pytest.raises(SettingError, match="only one system"):
        comparison_of([one])
    others = [msgspec.structs.replace(sample, text="another") for sample in samples]
    changed = write_result_folder(tmp_path / "changed", others, rows)
    with pytest.raises(CardSetMismatchError, match="no sample in common"):
        comparison_of([one, changed])
    strict = read_run(one).matching
    loose = msgspec.structs.replace(strict, partial=0.4)
    other = write_result_folder(tmp_path / "loose", samples, rows, matching=loose)
    with pytest.raises(CardSetMismatchError, match="other rules"):
        comparison_of([one, other])
    two = write_result_folder(tmp_path / "two", samples, rows)
    with pytest.raises(SettingError, match="overwrite"):
        write_comparison([one, two], two / "comparison.html")


def test_damaged_folders_are_named(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path / "run", ONE_SYSTEM, count=4, resamples=20)
    rows = (folder / "rows.jsonl").read_bytes()
    (folder / "rows.jsonl").write_bytes(b"\n".join(rows.splitlines()[:-1]) + b"\n")
    with pytest.raises(CardSetMismatchError, match="3 rows of 'alone', but metrics of 4"):
        section_of(folder)
    (folder / "rows.jsonl").write_bytes(rows)
    metrics = (folder / "metrics.json").read_bytes()
    (folder / "metrics.json").write_bytes(
        metrics.replace(b"epoche.extraction/1", b"epoche.other/9")
    )
    with pytest.raises(RecordError, match=r"epoche\.other/9"):
        section_of(folder)
    (folder / "metrics.json").write_bytes(metrics[:100])
    with pytest.raises(RecordError, match="not a metrics file"):
        section_of(folder)
    (folder / "metrics.json").write_bytes(metrics)
    samples = (folder / "samples.jsonl").read_text("utf-8")
    (folder / "samples.jsonl").write_text(samples.replace('"schema":{', '"schema":7,"was":{', 1))
    with pytest.raises(RecordError, match=r"samples\.jsonl:1"):
        section_of(folder)
    (folder / "samples.jsonl").unlink()
    with pytest.raises(MissingFileError, match="sample"):
        section_of(folder)


def test_values_have_their_units() -> None:
    assert value_text("schema_validity", 0.98765) == "98.8 %"
    assert value_text("latency_p95_s", 0.034) == "34 ms"
    assert value_text("latency_p95_s", 1.234) == "1.23 s"
    assert value_text("throughput_rps", 12.0) == "12.00 /s"
    assert [dollars(x) for x in (0.0, 2.5, 0.000123456, None)] == [
        "$0.00",
        "$2.50",
        "$0.000123",
        "–",
    ]
    assert span_text("exact_match", 0.5, 0.75) == "50.0–75.0 %"
    assert span_text("latency_s", 0.05, 1.0) == "50 ms–1.00 s"
    assert span_text("extraction_quality_score", None, 1.0) == ""


def test_marks_have_a_sign_and_words() -> None:
    assert len({mark.name for mark in MARKS}) == len(MARKS)
    assert all(mark.symbol and mark.words for mark in MARKS)
