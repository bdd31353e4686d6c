"""Tests that chunks stay inside sections and size limits, have stable ids and lose no text."""

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
    document_blocks: list[Block] = []
    for block in blocks:
        if isinstance(block, str):
            heading_level = len(block) - len(block.lstrip("#"))
            document_blocks.append(
                Heading(heading_level, block.lstrip("# ")) if heading_level else Paragraph(block)
            )
        else:
            document_blocks.append(block)
    return Document(name, f"{name}.md", tuple(document_blocks))


def list_chunk_ids(*blocks: Block | str) -> list[str]:
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


def test_ids_contain_the_number_as_written_or_a_slug() -> None:
    assert list_chunk_ids(
        "# Chapter IV: Trees", "a", "## A.1 Proofs", "b", "## SQL-92 & more", "c"
    ) == [
        "IV",
        "A.1",
        "sql-92-more",
    ]
    assert list_chunk_ids(
        "# Summary", "a", "# Summary", "b", "# summary!", "c", "# Start", "d"
    ) == [
        "summary",
        "summary~2",
        "summary~3",
        "start~2",
    ]
    assert list_chunk_ids("# ...", "a", "# C#", "b") == ["section", "c-sharp"]


def test_sections_with_equal_headings_have_distinct_ids() -> None:
    # With this many headings, a search for a free suffix that always begins at ~2 would take
    # quadratic time.
    ids = list_chunk_ids(*["# Same"] * 30_000)
    assert ids[:2] == ["same", "same~2"]
    assert len(set(ids)) == 30_000


def test_headings_without_text_are_kept() -> None:
    assert list_chunk_ids("# A", "## B", "# C", "## D", "x") == ["b", "d"]
    chunks = chunk_documents([make_document("# A", "## B", "## C")])
    assert [chunk.text for chunk in chunks] == ["B", "C"]
    assert [chunk.metadata["section_path"] for chunk in chunks] == [["A", "B"], ["A", "C"]]
    assert list_chunk_ids("# A") == ["a"]


def test_section_paths_allow_repeated_headings_and_skipped_levels() -> None:
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
    # The only space is in the first half of the chunk; a cut there would make a very short chunk,
    # so the long word is cut instead.
    assert pieces[2:] == ["c" * 20 + " " + "d" * 39, "d" * 60, "d" * 60, "d" * 41]
    assert [end - start for start, end in find_cuts("b " * 59 + "b", 50, 0)] == [49, 49, 19]
    assert list(find_cuts("short", 60, 0)) == [(0, 5)]


def test_overlap_begins_at_a_sentence() -> None:
    text = " ".join(f"Sentence number {n} is here." for n in range(40))
    pieces = [text[start:end] for start, end in find_cuts(text, 200, 60)]
    assert all(piece.startswith("Sentence number") for piece in pieces)
    assert all(piece.endswith(".") for piece in pieces)
    for previous_piece, next_piece in itertools.pairwise(pieces):
        first_sentence = next_piece[: next_piece.index(".") + 1]
        # 90 characters hold the overlap of 60 characters and one more sentence.
        assert previous_piece.endswith(first_sentence) or first_sentence in previous_piece[-90:]


def test_chunk_has_the_page_numbers_of_its_text() -> None:
    blocks = [Heading(1, "1 Top", 3), *(Paragraph(f"page {n} " * 8, n) for n in range(3, 7))]
    chunks = chunk_documents([make_document(*blocks)], size=150, overlap=0)
    for chunk in chunks:
        # Each chunk may also name page 3, on which the heading stands.
        text_pages = {int(number) for number in re.findall(r"page (\d)", chunk.text)}
        assert text_pages <= set(chunk.metadata["page_numbers"]) <= text_pages | {3}
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


HEADINGS_AND_PARAGRAPHS = st.lists(
    st.integers(1, 4) | st.lists(st.sampled_from([" ", ". ", "\n"]), min_size=1, max_size=60),
    min_size=1,
    max_size=12,
)
"""Each number is the level of a heading; each list is a paragraph, given by its word separators."""


@given(HEADINGS_AND_PARAGRAPHS, SIZES)
def test_chunks_cover_the_text_and_overlap_only_in_sections(
    parts: list[int | list[str]], sizes: tuple[int, int]
) -> None:
    size, overlap = sizes
    word_counter = itertools.count()
    blocks: list[Block] = [
        Heading(part, f"Heading {'abcdefghijklm'[position]}")
        if isinstance(part, int)
        else Paragraph("".join(f"w{next(word_counter)}{separator}" for separator in part).strip())
        for position, part in enumerate(parts)
    ]
    chunks = chunk_documents([make_document(*blocks)], size, overlap)
    assert all(0 < len(chunk.text) <= size for chunk in chunks)
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    next_number = 0
    for _, section in itertools.groupby(chunks, lambda chunk: chunk.metadata["section_id"]):
        for chunk_index, chunk in enumerate(section):
            word_numbers = [int(number) for number in re.findall(r"w(\d+)", chunk.text)]
            new_numbers = (
                word_numbers[word_numbers.index(next_number) :]
                if next_number in word_numbers
                else []
            )
            shared_numbers = word_numbers[: len(word_numbers) - len(new_numbers)]
            assert new_numbers == list(range(next_number, next_number + len(new_numbers)))
            assert shared_numbers == list(range(next_number - len(shared_numbers), next_number))
            # The first chunk of a section repeats no text, since sections do not overlap.
            assert not shared_numbers or chunk_index
            assert len(" ".join(f"w{number}" for number in shared_numbers)) <= overlap
            next_number += len(new_numbers)
    assert next_number == next(word_counter)
    # Headings that only contain other sections are in the paths of those sections.
    path_headings = {heading for chunk in chunks for heading in chunk.metadata["section_path"]}
    assert {block.text for block in blocks if isinstance(block, Heading)} <= path_headings


@given(PROSE, SIZES)
def test_cuts_drop_only_white_space(text: str, sizes: tuple[int, int]) -> None:
    size, overlap = sizes
    text = text.strip()
    covered_end = 0
    last_start = -1
    for start, end in find_cuts(text, size, overlap):
        assert last_start < start < end <= start + size
        assert not text[covered_end:start].strip()
        assert covered_end - start <= overlap
        assert text[start:end] == text[start:end].strip()
        covered_end, last_start = max(covered_end, end), start
    assert covered_end == len(text)


@given(BLOCKS, PROSE, st.data())
def test_added_paragraph_changes_only_its_section(
    blocks: list[Block], extra: str, data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, len(blocks)))
    extended_blocks = [*blocks[:position], Paragraph(extra.strip()), *blocks[position:]]
    old_chunks = {c.id: c for c in chunk_documents([make_document(*blocks)], 60, 10)}
    new_chunks = {c.id: c for c in chunk_documents([make_document(*extended_blocks)], 60, 10)}
    changed_sections = {
        chunk.metadata["section_id"]
        for chunk in new_chunks.values()
        if old_chunks.get(chunk.id) != chunk
    }
    # The only changed section is the one that contains the added paragraph.
    assert len(changed_sections) == 1
    for id_, chunk in old_chunks.items():
        if chunk.metadata["section_id"] not in changed_sections:
            assert new_chunks.get(id_) == chunk


def test_ids_do_not_depend_on_the_order_of_documents() -> None:
    first_document, second_document = (
        make_document("# A", "x", name="one"),
        make_document("# A", "y", name="two"),
    )
    assert {c.id for c in chunk_documents([first_document, second_document])} == {
        c.id for c in chunk_documents([second_document, first_document])
    }


def test_written_chunks_are_read_back_unchanged(tmp_path: Path) -> None:
    chunks = chunk_documents([make_document("# 1 A", "é " * 200, "漢字")], 100, 20)
    path = tmp_path / "chunks.jsonl"
    assert write_chunks(path, chunks) == len(chunks)
    assert read_chunks(path) == chunks
    first_bytes = path.read_bytes()
    write_chunks(path, read_chunks(path))
    assert path.read_bytes() == first_bytes


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
    ("line", "message"),
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
def test_error_message_describes_the_invalid_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line)
    with pytest.raises(RecordError, match=re.escape(message)):
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


def test_error_message_names_the_duplicate_id(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id":"same","text":"x"}\n{"id":"same","text":"y"}\n')
    with pytest.raises(DuplicateIdError, match="'same'"):
        read_chunks(path)


def test_keywords_and_json_keep_the_chunk_ids() -> None:
    # An earlier pipeline had this bug: some of its retrievers used list positions as ids.
    from kg.text.keywords.yake_extractor import Yake

    chunks = chunk_documents(
        [make_document("# 1 Locks", "Two-phase locking.", "# 2 Logs", "Redo logs.")]
    )
    rows = Yake().extract_keywords(chunks[::-1], lambda _row: None)
    assert {row.chunk_id for row in rows} == {chunk.id for chunk in chunks}
    decoded = msgspec.json.decode(msgspec.json.encode(chunks), type=list[Chunk])
    assert [chunk.id for chunk in decoded] == ["doc#1", "doc#2"]
