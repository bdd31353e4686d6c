"""Chunks: inside sections and size limits, with stable ids, and without loss of text."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.base.errors import DuplicateIdError, MissingFileError, RecordError, SettingError
from kg.text.chunker import chunk_documents, find_cuts
from kg.text.chunks import Chunk
from kg.text.chunks_file import MAX_CHUNK_CHARACTERS, read_chunks, write_chunks
from kg.text.documents import Block, Document, Heading, Paragraph, read_document


def make_document(*blocks: Block | str, name: str = "doc") -> Document:
    """Makes a document; a string that starts with ``#`` is a heading."""
    made: list[Block] = []
    for block in blocks:
        if isinstance(block, str):
            marks = len(block) - len(block.lstrip("#"))
            made.append(Heading(marks, block.lstrip("# ")) if marks else Paragraph(block))
        else:
            made.append(block)
    return Document(name, f"{name}.md", tuple(made))


def chunk_ids(*blocks: Block | str) -> list[str]:
    return [chunk.id.removeprefix("doc#") for chunk in chunk_documents([make_document(*blocks)])]


def test_one_section_is_one_chunk_with_its_heading() -> None:
    chunks = chunk_documents(
        [make_document("before", "# 1 Top", "## 1.2 Part", "text", "more text")]
    )
    assert [chunk.id for chunk in chunks] == ["doc#start", "doc#1.2"]
    assert chunks[1].text == "1.2 Part\n\ntext\n\nmore text"
    assert chunks[1].metadata == {
        "document": "doc",
        "filename": "doc.md",
        "section": "1.2 Part",
        "section_path": ["1 Top", "1.2 Part"],
        "section_id": "doc#1.2",
    }
    assert chunks[0].metadata["section_path"] == []


def test_keys_are_the_number_as_written_or_a_slug() -> None:
    assert chunk_ids("# Chapter IV: Trees", "a", "## A.1 Proofs", "b", "## SQL-92 & more", "c") == [
        "IV",
        "A.1",
        "sql-92-more",
    ]
    assert chunk_ids("# Summary", "a", "# Summary", "b", "# summary!", "c", "# Start", "d") == [
        "summary",
        "summary~2",
        "summary~3",
        "start~2",
    ]
    assert chunk_ids("# ...", "a", "# C#", "b") == ["section", "c-sharp"]


def test_sections_with_equal_headings_have_distinct_ids() -> None:
    # Trying ~2, ~3 … from the start each time would take quadratic time.
    found = chunk_ids(*["# Same"] * 30_000)
    assert found[:2] == ["same", "same~2"]
    assert len(set(found)) == 30_000


def test_headings_without_text_are_kept() -> None:
    assert chunk_ids("# A", "## B", "# C", "## D", "x") == ["b", "d"]
    chunks = chunk_documents([make_document("# A", "## B", "## C")])
    assert [chunk.text for chunk in chunks] == ["B", "C"]
    assert [chunk.metadata["section_path"] for chunk in chunks] == [["A", "B"], ["A", "C"]]
    assert chunk_ids("# A") == ["a"]


def test_cyclic_and_skipping_levels_make_a_path() -> None:
    chunks = chunk_documents([make_document("### A", "x", "# B", "y", "#### A", "z", "## B", "w")])
    assert [chunk.metadata["section_path"] for chunk in chunks] == [
        ["A"],
        ["B"],
        ["B", "A"],
        ["B", "B"],
    ]
    assert len({chunk.id for chunk in chunks}) == 4


def test_chunks_are_cut_at_paragraphs_then_sentences_then_words() -> None:
    text = "a" * 40 + "\n\n" + "b" * 30 + ". " + "c" * 20 + " " + "d" * 200
    pieces = [text[start:end] for start, end in find_cuts(text, 60, 0)]
    assert pieces[:2] == ["a" * 40, "b" * 30 + "."]
    # Cutting at a word in the first half would make a very short chunk, so a word is cut here.
    assert pieces[2:] == ["c" * 20 + " " + "d" * 39, "d" * 60, "d" * 60, "d" * 41]
    assert [end - start for start, end in find_cuts("b " * 59 + "b", 50, 0)] == [49, 49, 19]
    assert list(find_cuts("short", 60, 0)) == [(0, 5)]


def test_overlap_begins_at_a_sentence() -> None:
    text = " ".join(f"Sentence number {n} is here." for n in range(40))
    pieces = [text[start:end] for start, end in find_cuts(text, 200, 60)]
    assert all(piece.startswith("Sentence number") for piece in pieces)
    assert all(piece.endswith(".") for piece in pieces)
    for one, two in itertools.pairwise(pieces):
        shared = two[: two.index(".") + 1]
        assert one.endswith(shared) or shared in one[-90:]


def test_chunk_pages_are_those_of_its_text() -> None:
    blocks = [Heading(1, "1 Top", 3), *(Paragraph(f"page {n} " * 8, n) for n in range(3, 7))]
    chunks = chunk_documents([make_document(*blocks)], size=150, overlap=0)
    for chunk in chunks:
        said = {int(number) for number in re.findall(r"page (\d)", chunk.text)}
        assert said <= set(chunk.metadata["page_numbers"]) <= said | {3}
    assert [chunk.id for chunk in chunks][:2] == ["doc#1", "doc#1/2"]


def test_duplicate_document_names_are_refused(tmp_path: Path) -> None:
    for name in ("Trees.md", "trees.txt"):
        (tmp_path / name).write_text("text")
    with pytest.raises(DuplicateIdError) as caught:
        chunk_documents(
            [read_document(tmp_path / "Trees.md"), read_document(tmp_path / "trees.txt")]
        )
    assert "Trees.md and trees.txt" in caught.value.format_line()


@pytest.mark.parametrize(("size", "overlap"), [(10, 0), (100, 51), (100, -1)])
def test_sizes_that_cannot_be_cut_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(SettingError):
        chunk_documents([make_document("x")], size, overlap)


PROSE = st.text(alphabet="abc é漢\u0301 .!?\n", min_size=1, max_size=400).filter(str.strip)
BLOCKS = st.lists(
    PROSE.map(lambda text: Paragraph(text.strip()))
    | st.builds(Heading, st.integers(1, 4), st.sampled_from(["1 A", "1.1 B", "Same", "C#", "..."])),
    min_size=1,
    max_size=12,
)
SIZES = st.tuples(st.integers(50, 120), st.integers(0, 25))


COUNTED = st.lists(
    st.integers(1, 4) | st.lists(st.sampled_from([" ", ". ", "\n"]), min_size=1, max_size=60),
    min_size=1,
    max_size=12,
)
"""Levels of headings, and paragraphs as the separators between their words."""


@given(COUNTED, SIZES)
def test_chunks_cover_the_text_and_overlap_only_in_sections(
    drawn: list[int | list[str]], sizes: tuple[int, int]
) -> None:
    size, overlap = sizes
    count = itertools.count()
    blocks: list[Block] = [
        Heading(piece, f"Heading {'abcdefghijklm'[at]}")
        if isinstance(piece, int)
        else Paragraph("".join(f"w{next(count)}{between}" for between in piece).strip())
        for at, piece in enumerate(drawn)
    ]
    chunks = chunk_documents([make_document(*blocks)], size, overlap)
    assert all(0 < len(chunk.text) <= size for chunk in chunks)
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    expected = 0
    for _, section in itertools.groupby(chunks, lambda chunk: chunk.metadata["section_id"]):
        for place, chunk in enumerate(section):
            said = [int(number) for number in re.findall(r"w(\d+)", chunk.text)]
            new = said[said.index(expected) :] if expected in said else []
            shared = said[: len(said) - len(new)]
            assert new == list(range(expected, expected + len(new)))
            assert shared == list(range(expected - len(shared), expected))
            assert not shared or place  # nothing of another section
            assert len(" ".join(f"w{number}" for number in shared)) <= overlap
            expected += len(new)
    assert expected == next(count)
    # Headings that only contain other sections are in the paths of those sections.
    in_paths = {heading for chunk in chunks for heading in chunk.metadata["section_path"]}
    assert {block.text for block in blocks if isinstance(block, Heading)} <= in_paths


@given(PROSE, SIZES)
def test_cuts_drop_only_white_space(text: str, sizes: tuple[int, int]) -> None:
    size, overlap = sizes
    text = text.strip()
    before = 0
    last_start = -1
    for start, end in find_cuts(text, size, overlap):
        assert last_start < start < end <= start + size
        assert not text[before:start].strip()
        assert before - start <= overlap
        assert text[start:end] == text[start:end].strip()
        before, last_start = max(before, end), start
    assert before == len(text)


@given(BLOCKS, PROSE, st.data())
def test_added_paragraph_changes_only_its_section(
    blocks: list[Block], extra: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(blocks)))
    longer = [*blocks[:place], Paragraph(extra.strip()), *blocks[place:]]
    before = {c.id: c for c in chunk_documents([make_document(*blocks)], 60, 10)}
    after = {c.id: c for c in chunk_documents([make_document(*longer)], 60, 10)}
    changed = {
        chunk.metadata["section_id"] for chunk in after.values() if before.get(chunk.id) != chunk
    }
    # Only the section that the paragraph was put into.
    assert len(changed) == 1
    for id_, chunk in before.items():
        if chunk.metadata["section_id"] not in changed:
            assert after.get(id_) == chunk


def test_ids_do_not_depend_on_the_order_of_documents() -> None:
    one, two = make_document("# A", "x", name="one"), make_document("# A", "y", name="two")
    assert {c.id for c in chunk_documents([one, two])} == {
        c.id for c in chunk_documents([two, one])
    }


def test_chunks_survive_their_file(tmp_path: Path) -> None:
    chunks = chunk_documents([make_document("# 1 A", "é " * 200, "漢字")], 100, 20)
    path = tmp_path / "chunks.jsonl"
    assert write_chunks(path, chunks) == len(chunks)
    assert read_chunks(path) == chunks
    first = path.read_bytes()
    write_chunks(path, read_chunks(path))
    assert path.read_bytes() == first


def test_unknown_keys_are_kept_as_metadata(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(
        '{"id":"a","text":"one","section":"1.1 X","metadata":{"mine":[1,{"x":null}]}}\n\n'
        '{"id":"b","text":"word","section":"2","metadata":{"section":"2.1"}}\n'
    )
    assert read_chunks(path) == [
        Chunk("a", "one", {"section": "1.1 X", "mine": [1, {"x": None}]}),
        Chunk("b", "word", {"section": "2.1"}),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id":"a"}', "text"),
        ('{"id":1,"text":"x"}', "id"),
        ('{"id":"","text":"x"}', "id must have"),
        ('{"id":"a\\u001b","text":"x"}', "printable"),
        ('{"id":"a\\u202e","text":"x"}', "printable"),
        (json.dumps({"id": "a" * 501, "text": "x"}), "id must have"),
        ('{"id":"a","text":" \\n"}', "empty"),
        (json.dumps({"id": "a", "text": "x" * (MAX_CHUNK_CHARACTERS + 1)}), "at most 100,000"),
        ('{"id":"a","text":"x","metadata":[]}', "metadata"),
        ("[1]", "not a JSON object"),
        ("{", "cut off"),
        ('{"id":"a","text":"\\ud800"}', "a.jsonl:1"),
        ("[" * 100_000, "a.jsonl:1"),
    ],
)
def test_invalid_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line)
    with pytest.raises(RecordError, match=re.escape(said)):
        read_chunks(path)


def test_huge_line_and_missing_chunks_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id":"a","text":"' + b"word " * 2_000_000 + b'"}\n')
    with pytest.raises(RecordError, match="10,000,000 characters"):
        read_chunks(path)
    path.write_text("\n\n")
    with pytest.raises(RecordError, match="no chunk"):
        read_chunks(path)
    with pytest.raises(MissingFileError):
        read_chunks(tmp_path / "none.jsonl")


def test_duplicate_ids_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id":"same","text":"x"}\n{"id":"same","text":"y"}\n')
    with pytest.raises(DuplicateIdError, match="'same'"):
        read_chunks(path)


def test_every_retriever_uses_the_same_chunk_ids() -> None:
    # Bug 9 of the reference pipeline: only some retrievers used list positions as ids.
    from kg.text.keywords.yake_extractor import Yake

    chunks = chunk_documents(
        [make_document("# 1 Locks", "Two-phase locking.", "# 2 Logs", "Redo logs.")]
    )
    rows = Yake().extract_keywords(chunks[::-1], lambda _row: None)
    assert {row.chunk_id for row in rows} == {chunk.id for chunk in chunks}
    decoded = msgspec.json.decode(msgspec.json.encode(chunks), type=list[Chunk])
    assert [chunk.id for chunk in decoded] == ["doc#1", "doc#2"]
