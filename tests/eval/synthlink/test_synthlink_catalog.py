"""Tests the catalogue reader: the public Markdown layout, JSON lines, and refused files."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.synthlink.catalog import category_file_name, read_catalog, render_catalog
from eval.synthlink.catalog_markdown import LayoutError, read_category, render_category
from eval.synthlink.items import CATEGORIES, Question, Source, Step
from kg.base.errors import DuplicateIdError, EpocheError, MissingFileError, RecordError

HEADER = """# SynthLink60 Catalog: Policy and Social Movements

One paragraph.

| Question ID | Question Text | Expected Answer Summary | Traceable Sources | Reasoning Steps |
|-------------|---------------|-------------------------|-------------------|-----------------|
"""
TABLE_ROW = (
    "| PSM-01 | How did #MeToo change *U.S.* law? | Since 2017–18 it’s “harder” to hide. "
    "| Topics: #MeToo movement, Sexual harassment in the United States "
    "| 1. Confirm who began it (U.S., 2006). 2. Research Basel III. 3. Link to laws. "
    "4. Synthesize impact. |\n"
)


def test_row_is_parsed_exactly() -> None:
    ((line, question),) = read_category(HEADER + TABLE_ROW)
    assert line == 7
    assert question.id == "PSM-01"
    assert question.category == "PSM"
    assert question.question == "How did #MeToo change *U.S.* law?"
    assert question.answer == "Since 2017–18 it’s “harder” to hide."
    assert [source.title for source in question.sources] == [
        "#MeToo movement",
        "Sexual harassment in the United States",
    ]
    assert [step.instruction for step in question.steps] == [
        "Confirm who began it (U.S., 2006).",
        "Research Basel III.",
        "Link to laws.",
        "Synthesize impact.",
    ]


def test_out_of_order_number_is_part_of_its_step() -> None:
    row = TABLE_ROW.replace("Link to laws.", "Link to Title 9. 12. 3. and 1. laws.")
    ((_, question),) = read_category(HEADER + row)
    assert question.steps[2].instruction == "Link to Title 9. 12. 3. and 1. laws."


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_unusual_line_separators_do_not_end_a_row(line_end: str) -> None:
    unusual_text = "How did\u2028#MeToo\x0bchange\x85law?"
    row = TABLE_ROW.replace("How did #MeToo change *U.S.* law?", unusual_text)
    ((line, question),) = read_category((HEADER + row).replace("\n", line_end))
    assert (line, question.question) == (7, unusual_text)
    assert read_category(render_category("PSM", [question], "One paragraph."))[0][1] == question


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("", "headings", 1),
        (HEADER.replace("# S", "S") + TABLE_ROW, "0 first-level headings", 1),
        (HEADER + TABLE_ROW + "\n# Again\n", "2 first-level headings", 9),
        (HEADER.split("|")[0], "no table", 4),
        (HEADER.replace("Question Text", "Question"), "columns are not", 5),
        (HEADER.replace("|---", "| x "), "row of dashes", 6),
        (HEADER + TABLE_ROW.replace("PSM-01", "PSM-1"), "not an id", 7),
        (HEADER + TABLE_ROW.replace("PSM-01", "XYZ-01"), "not an id", 7),
        (HEADER + TABLE_ROW.replace("| Topics:", "Topics:"), "4 columns", 7),
        (HEADER + TABLE_ROW.replace("#MeToo change", "#MeToo | change"), "6 columns", 7),
        (HEADER + TABLE_ROW.replace("Topics: ", "Pages: "), "do not begin with", 7),
        (HEADER + TABLE_ROW.replace(" 1. Confirm", " Confirm"), "do not begin with '1. '", 7),
        (HEADER + TABLE_ROW.replace("1. Confirm who began it (U.S., 2006).", "1. "), "empty", 7),
        (HEADER + TABLE_ROW.rstrip().rstrip("|"), "end in a pipe", 7),
        (HEADER + TABLE_ROW + "\n" + TABLE_ROW, "a second table", 9),
    ],
)  # fmt: skip
def test_other_layout_is_refused_with_its_line(text: str, message: str, line: int) -> None:
    with pytest.raises(LayoutError, match=message) as error_info:
        read_category(text)
    assert error_info.value.line == line


_WORD = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp", "Zs"), exclude_characters="\\"),
    min_size=1,
    max_size=12,
)
_PHRASE = st.lists(_WORD, min_size=1, max_size=4).map(" ".join)
_URL = st.from_regex(r"https://[a-z]{1,8}\.example/[A-Za-z_()'%,.-]{0,12}", fullmatch=True)


@st.composite
def generate_question(draw: st.DrawFn) -> Question:
    """Generates a question whose steps do not start with a number and whose topics lack commas."""
    plain_text = _WORD.filter(lambda text: not text[0].isdigit() and "[" not in text)
    source_without_url = st.builds(Source, plain_text.filter(lambda text: "," not in text))
    source_with_url = st.builds(Source, _PHRASE.filter(lambda text: "\\" not in text), _URL)
    return Question(
        id="SFT-07",
        category="SFT",
        question=draw(_PHRASE),
        answer=draw(_PHRASE),
        sources=tuple(draw(st.lists(source_without_url | source_with_url, min_size=1, max_size=4))),
        steps=tuple(map(Step, draw(st.lists(plain_text, min_size=1, max_size=5)))),
    )


@settings(deadline=None, max_examples=200)
@given(generate_question())
def test_rendered_catalogue_is_read_back(question: Question) -> None:
    text = render_category("SFT", [question], "A paragraph.")
    assert [row for _, row in read_category(text)] == [question]


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    for document in (text, HEADER + text, HEADER + TABLE_ROW + text):
        line = 1
        try:
            read_category(document)
        except LayoutError as error:
            line = error.line
        assert 1 <= line <= len(document.splitlines()) + 1


def test_content_unsupported_by_the_layout_is_not_written() -> None:
    question = read_category(HEADER + TABLE_ROW)[0][1]
    for change in (
        {"question": "two\nlines"},
        {"sources": (Source("Paris, Texas"),)},
        {"sources": (Source("Paris", "https://a.example/ b"),)},
    ):
        with pytest.raises(ValueError, match=r"comma|line break|address"):
            render_category("PSM", [msgspec.structs.replace(question, **change)], "x")


def test_a_written_catalogue_is_read_back_from_its_folders(tmp_path: Path) -> None:
    first = read_category(HEADER + TABLE_ROW)[0][1]
    second = msgspec.structs.replace(first, id="HIA-01", category="HIA")
    for name, text in render_catalog([first, second]).items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    catalog = read_catalog(tmp_path)
    assert catalog.questions == (second, first)
    assert catalog.categories == ("HIA", "PSM")
    assert "no questions of EIS, EEC, STE, SFT" in catalog.notes[0]
    assert "2 of 2 questions state no fact" in catalog.notes[1]


def test_file_names_spell_out_the_category() -> None:
    assert [category_file_name(category) for category in CATEGORIES] == [
        "SynthLink_Historical_Impact_Analysis.md",
        "SynthLink_Economic_Industrial_Shifts.md",
        "SynthLink_Environmental_Ecological_Consequences.md",
        "SynthLink_Scientific_Technological_Evolution.md",
        "SynthLink_Policy_Social_Movements.md",
        "SynthLink_STEM_Future_Tech.md",
    ]


def write_lines_file(folder: Path, *rows: object) -> Path:
    file = folder / "catalog.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return file


JSON_ROW = {
    "id": "STE-01",
    "category": "STE",
    "question": "Who?",
    "answer": "She.",
    "sources": [{"title": "T", "url": "https://e.example/T"}],
    "steps": [{"instruction": "Ask.", "fact": "She did.", "triples": [["s:a", "s:b", "s:c"]]}],
    "hops": 2,
}


def test_json_lines_keep_fields_missing_from_markdown(tmp_path: Path) -> None:
    (question,) = read_catalog(write_lines_file(tmp_path, JSON_ROW)).questions
    assert question.hops == 2
    assert question.triples == (("s:a", "s:b", "s:c"),)
    assert question.steps[0].fact == "She did."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "STE-1"}, "not an id"),
        ({"category": "HIA"}, "has category 'HIA'"),
        ({"answer": " "}, "empty answer"),
        ({"question": "x" * 20_001}, "more than"),
        ({"steps": [{"instruction": "x", "fact": "y" * 300_000}]}, "larger than 262,144 bytes"),
        ({"sources": []}, "no sources"),
        ({"sources": [{"title": ""}]}, "no sources"),
        ({"steps": []}, "0 steps"),
        ({"steps": [{"instruction": ""}]}, "without an instruction"),
        ({"steps": "none"}, "steps"),
        ({"steps": [{"instruction": "x", "triples": [["a", "b"]]}]}, "triples"),
    ],
)
def test_invalid_line_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    file = write_lines_file(tmp_path, JSON_ROW, {**JSON_ROW, "id": "STE-02"} | change)
    with pytest.raises(RecordError, match=message) as error_info:
        read_catalog(file)
    assert f"{file}:2" in str(error_info.value)


def test_duplicate_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DuplicateIdError, match=r"STE-01 occurs twice, first at .*:1"):
        read_catalog(write_lines_file(tmp_path, JSON_ROW, JSON_ROW))


def test_missing_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        read_catalog(tmp_path / "none.jsonl")
    with pytest.raises(MissingFileError, match="no SynthLink_"):
        read_catalog(tmp_path)
    (tmp_path / "HIA").mkdir()
    file = tmp_path / "HIA" / "SynthLink_x.md"
    file.write_text(HEADER + TABLE_ROW, encoding="utf-8")
    with pytest.raises(RecordError, match="PSM-01 is in the folder of HIA"):
        read_catalog(tmp_path)
    for content in (b"\xff\xfe", b"#" * (5 << 20), HEADER.encode()):
        file.write_bytes(content)
        with pytest.raises(EpocheError):
            read_catalog(tmp_path)


def test_published_files_are_read_completely(published_data: Path) -> None:
    catalog = read_catalog(published_data / "synthlink")
    for category in ("HIA", "EIS", "EEC"):
        ids = [question.id for question in catalog.questions if question.category == category]
        assert ids == [f"{category}-{number:02}" for number in range(1, 11)]
    assert {len(question.steps) for question in catalog.questions} == {4}
    assert {len(question.sources) for question in catalog.questions} == {1, 2}
    assert not any(source.url for question in catalog.questions for source in question.sources)
    assert sum("’" in question.answer + question.question for question in catalog.questions)


def test_published_tables_are_reproduced_exactly(published_data: Path) -> None:
    for category in ("HIA", "EIS", "EEC"):
        file = published_data / "synthlink" / category / category_file_name(category)
        text = file.read_text(encoding="utf-8")
        rows = [question for _, question in read_category(text)]
        paragraph = text.splitlines()[2]
        assert render_category(category, rows, paragraph).strip() == text.strip()
