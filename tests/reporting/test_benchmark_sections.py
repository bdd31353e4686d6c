"""Tests of the sections of benchmarks: as a page, in a report, as Markdown and as JSON."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stage_calls import PRODUCT

from eval.blocks.blocks import (
    Block,
    Cell,
    Column,
    Definitions,
    Figure,
    Figures,
    Fold,
    Paragraphs,
    Part,
    Table,
    TableRow,
    Verbatim,
    make_estimate_cell,
)
from eval.blocks.charts import RadarChart
from eval.blocks.samples import MAX_TEXT_LENGTH, Answer, Detail, Mark, SampleRow, Samples
from eval.blocks.section import Section
from eval.blocks.text_format import ChartEstimate
from eval.extraction.benchmark import EXTRACTION
from eval.harness.folder_manifest import FolderManifest
from eval.runs.sections import write_page
from reporting.html_report import main
from reporting.sample_table import FIRST_ROWS, build_sample_data, list_first_rows
from reporting.section_page import build_page_files
from reporting.section_renderer import REPORT_LEVEL, render_section_markdown
from reporting.visible_text import make_visible

MARKS = (
    Mark("yes", "✓", "found", "found: the field is as it should be", "right"),
    Mark("no", "✗", "missed", "missed: the field is not there", "wrong"),
)


def make_samples(text: str, count: int = 2) -> Samples:
    answer = Answer(
        "no",
        text,
        (
            Detail("Fields", (text, "unit"), "list", ("wrong", "right")),
            Detail("Output", (text,), "code"),
        ),
    )
    rows = tuple(
        SampleRow(f"{n}", (text, "flat"), text, text, (Detail("Schema", (text,)),), (answer, None))
        for n in range(count)
    )
    return Samples(("document", "documents"), ("Domain",) * 2, ("a", text), MARKS, rows, "a file")


def make_toy_section(text: str, id_: str = "toy") -> Section:
    """Makes the section of an invented benchmark that uses every kind of block.

    ``text`` is put into every field, to see whether any text can break the page.
    """
    value = ChartEstimate(0.5, 0.25, 0.75, 0.1, 0.9)
    grid = Table(
        text,
        text,
        (Column(text, numeric=False), Column(text, text, text), Column("F1")),
        (
            TableRow(text, (make_estimate_cell(value), Cell(text)), text, text),
            TableRow("other", (Cell("–", (text,)), Cell("0.9", shade=0.9)), group="another"),
        ),
        "shares",
    )
    return Section(
        id=id_,
        name=text or "Toy",
        title=text or "Toy",
        about=text,
        verdict=(text, text),
        caveats=(text,),
        notices=(text,),
        stats=(("3", text),),
        parts=(
            Part("first", text, text, (Paragraphs((text,)), grid, Definitions(((text, text),)))),
            Part(
                "second",
                "Second",
                "Second",
                (
                    Figures(
                        (
                            Figure(
                                text,
                                text,
                                RadarChart(((text, 0.5),) * 3),
                                text,
                                finding=True,
                            ),
                        )
                    ),
                    Paragraphs((text, text), "list"),
                    Paragraphs((text,), "notice"),
                    Fold(text, (Verbatim(text), Figures((), "wide"))),
                ),
            ),
            Part("samples", "Documents", "Every document", (make_samples(text),)),
        ),
        version="1.0",
        tables={"fields": "a,b\r\n"},
        data={"numbers": [1, 2]},
    )


any_text = st.text(st.characters(codec=None), min_size=1, max_size=40) | st.sampled_from(
    ("</script><script>", "<!--", "</section>", "```\n# x", "a|b", "{{7*7}}", "'\"><img src=x>")
)


def list_tags(page: str) -> list[str]:
    """Lists all tags in order, leaving out optional line breaks (``wbr``) in names."""
    return [tag for tag in re.findall(r"</?[a-zA-Z!-]+", page) if tag != "<wbr"]


EXPECTED_PAGE = build_page_files(make_toy_section("river"))["report.html"].decode()


@given(any_text)
@settings(deadline=None, max_examples=60)
def test_any_text_leaves_the_markup_unchanged(text: str) -> None:
    files = build_page_files(make_toy_section(text))
    page = files["report.html"].decode("utf-8")
    assert list_tags(page) == list_tags(EXPECTED_PAGE)
    document = json.loads(files["report.json"])
    assert document["verdict"] == [make_visible(text)] * 2
    files["report.md"].decode("utf-8")
    assert files == build_page_files(make_toy_section(text))


@given(any_text)
@settings(deadline=None, max_examples=60)
def test_script_data_equals_the_page(text: str) -> None:
    samples = make_samples(text)
    data = json.loads(json.dumps(build_sample_data(samples)))
    strings = data["strings"]
    for packed_row, row in zip(data["rows"], list_first_rows(samples), strict=True):
        id_, facets, question, truth, details, answers = packed_row
        assert id_ == row.id
        assert [strings[index] for index in facets] == list(row.facets)
        assert (strings[question], strings[truth]) == (row.question, row.truth)
        assert strings[details[0][2][0]] == row.details[0].items[0] == make_visible(text)
        assert answers[1] == 0  # stands for the missing second answer
        mark, line, packed_details = answers[0]
        assert data["marks"][mark][3] == "wrong"
        assert strings[line] == make_visible(text)
        assert packed_details[0][3] == ["wrong", "right"]


def test_page_has_only_first_rows_and_cut_texts() -> None:
    samples = make_samples("x" * (MAX_TEXT_LENGTH + 5), FIRST_ROWS + 3)
    assert len(list_first_rows(samples)) == FIRST_ROWS
    assert list_first_rows(samples)[0].question.endswith("(5 more characters)")
    assert len(build_sample_data(samples)["rows"]) == FIRST_ROWS + 3
    assert samples.count == "13 documents"  # FIRST_ROWS + 3


def test_markdown_has_the_text_of_the_page() -> None:
    markdown = render_section_markdown(make_toy_section("river"), REPORT_LEVEL)
    for text in (
        "## river",
        "### Second",
        "**river** river",
        "| river: river | 0.500 (0.250–0.750; bounds 0.100–0.900) | river |",
        "| another: other | – (river) | 0.9 |",
        "- **river**: river",
        "- river",
        "> river",
        "2 documents, all of them in a file.",
        "```\nriver\n```",
    ):
        assert text in markdown, text


def test_markdown_omits_figures_without_findings() -> None:
    chart_part = Part("d", "Charts", "Charts", (Paragraphs(("Dots.",)), Figures((make_figure(),))))
    finding_part = Part("f", "Found", "Found", (Figures((make_figure(finding=True),)),))
    section = Section(
        id="toy",
        name="Toy",
        title="Toy",
        about="x",
        verdict=("v",),
        parts=(chart_part, finding_part),
        version="",
    )
    assert "Charts" not in render_section_markdown(section, REPORT_LEVEL)
    assert "### Found\n\ngauge: overconfident" in render_section_markdown(section, REPORT_LEVEL)
    assert "# Toy" in render_section_markdown(section, 2).splitlines()
    assert "## Found" in render_section_markdown(section, 2).splitlines()


def make_figure(*, finding: bool = False) -> Figure:
    return Figure("gauge", "overconfident", RadarChart((("a", 0.5),) * 3), "a", finding)


def test_fence_is_longer_than_its_content() -> None:
    section = make_toy_section("a ````` b")
    assert "\n``````\na ````` b\n``````\n" in render_section_markdown(section, REPORT_LEVEL)


def test_a_page_without_samples_runs_no_script() -> None:
    full_section = make_toy_section("river")
    section = Section(
        id="toy",
        name="Toy",
        title="Toy",
        about="",
        verdict=(),
        parts=full_section.parts[:2],
        version="1",
    )
    page = build_page_files(section)["report.html"].decode()
    assert "<script" not in page
    assert "script-src 'none'" in page


class ToyManifest(FolderManifest, kw_only=True):
    """The manifest of a benchmark of somebody else."""

    kind: str = "toy"

    @property
    def system_names(self) -> tuple[str, ...]:
        return ("boat",)


@pytest.fixture
def toy_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run of a benchmark that another package registers."""
    toy = dataclasses.replace(
        EXTRACTION,
        name="toy",
        manifest_type=ToyManifest,
        manifest_file="manifest.json",
        build_section=lambda folder, id_: make_toy_section(folder.name, id_),
    )
    monkeypatch.setattr("eval.harness.benchmarks.list_benchmarks", lambda: [toy])
    folder = tmp_path / "lakes"
    folder.mkdir()
    manifest = ToyManifest(
        rows="rows.jsonl",
        dataset="lakes",
        dataset_sha256="0" * 64,
        sample_count=1,
        offline=True,
        seed=1,
        started="2026-01-01T00:00:00+00:00",
        status="complete",
    )
    (folder / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    return folder


def test_new_benchmark_needs_only_a_registry_entry(
    toy_folder: Path, finished_run: Any, tmp_path: Path
) -> None:
    paths = write_page(toy_folder)
    assert [path.name for path in paths] == [
        "report.html",
        "report.md",
        "report.json",
        "report.fields.csv",
    ]
    out = tmp_path / "report" / "report.html"
    main(finished_run.results, None, finished_run.metrics, out, section=[toy_folder])
    page = out.read_text("utf-8")
    assert '<a href="#toy">lakes</a>' in page
    assert page.count('<svg class="chart plot radar"') == 1
    assert (out.parent / "report.toy.fields.csv").read_bytes() == b"a,b\r\n"
    assert json.loads((out.parent / "report.json").read_bytes())["sections"]["toy"]["numbers"] == [
        1,
        2,
    ]


def test_every_kind_of_block_has_html() -> None:
    """The template would leave a block that it does not know out, without a word."""
    template = (PRODUCT / "reporting" / "templates" / "_section.html.j2").read_text("utf-8")
    kinds = [kind.__name__ for kind in get_args(Block)]
    assert len(kinds) > 5
    assert [kind for kind in kinds if f'kind == "{kind}"' not in template] == []
