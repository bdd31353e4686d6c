"""Tests of keyword extraction with YAKE and of the cache file of keywords."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.base.errors import WriteError
from kg.text.chunks import Chunk
from kg.text.keywords.cache import KeywordCache
from kg.text.keywords.protocol import ChunkKeywords, KeywordExtractor
from kg.text.keywords.yake_extractor import MAX_KEYWORD_LENGTH, Yake
from kg.words.normaliser import normalise_phrase, repair_text

PROSE = """11.3 Two-phase locking

Under two-phase locking (2PL) a transaction takes locks in a growing phase and gives them back in a
shrinking phase. Strict 2PL holds exclusive locks until commit. A B+-tree index needs other locks:
crabbing down the B + -Tree takes latches, not locks. The ER diagram of the lock manager is simple.

- C++ code of the lock table
- 3NF is another matter, 4NF too"""


def extract_keywords(text: str, top_n: int | None = None, **metadata: object) -> list[str]:
    extractor = Yake(top_n)
    (row,) = extractor.extract_keywords([Chunk("c", text, dict(metadata))], lambda _row: None)
    assert row.chunk_id == "c"
    assert extractor.failed == 0
    return list(row.keywords)


def test_terms_with_digits_and_signs_are_keywords() -> None:
    keywords = {normalise_phrase(keyword) for keyword in extract_keywords(PROSE, 100)}
    assert {"2pl", "b+ tree", "3nf", "4nf", "lock", "two phase locking"} <= keywords
    assert any("c++" in keyword.split() for keyword in keywords)
    assert any("er" in keyword.split() for keyword in keywords)


def test_keywords_are_few_distinct_and_in_the_text() -> None:
    keywords = extract_keywords(PROSE)
    text = repair_text(PROSE).casefold()
    assert all(keyword.casefold() in text for keyword in keywords)
    assert (
        len({normalise_phrase(keyword) for keyword in keywords})
        == len(keywords)
        <= math.isqrt(len(PROSE))
    )
    assert all(len(keyword.split()) <= 3 for keyword in keywords)
    assert keywords[:4] == extract_keywords(PROSE, 4)
    # Keywords do not extend from a heading into its text, nor from one list item into the next.
    assert not any("locking Under" in keyword or "table 3NF" in keyword for keyword in keywords)


@pytest.mark.parametrize("text", ["of the", "…", "1 2 3", "a", "-", "+", "é"])
def test_a_chunk_without_content_has_no_keywords(text: str) -> None:
    assert extract_keywords(text) == []


@pytest.mark.parametrize("word", ["Word", "2PL", "B+-tree", "ER", "naïve", "Größe"])
def test_a_chunk_of_one_word_has_one_keyword(word: str) -> None:
    assert extract_keywords(word, 5) == [word]


def test_chunk_language_selects_function_words() -> None:
    text = "Der Fluss und die Stadt: der Fluss ist lang und die Stadt ist alt."
    assert "Der Fluss" in extract_keywords(text, 20)
    german_keywords = extract_keywords(text, 20, language="de")
    assert "Fluss" in german_keywords
    assert not any(keyword.startswith(("Der ", "der ")) for keyword in german_keywords)
    # An unknown language, even one that looks like a path, counts as none.
    assert extract_keywords(text, 20, language="../../etc") == extract_keywords(text, 20)


def test_scripts_without_spaces_give_no_clauses_as_keywords(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kg.base.console._warned", set())
    text = "数据库系统使用预写日志,以便恢复。用户运行 Debian 系统。\n\n下面安装 Debian 的步骤。"
    assert extract_keywords(text) == ["Debian"]
    assert capsys.readouterr().err.count("1 chunks are in a script without spaces") == 1
    assert extract_keywords("Die Größe der Seite") != []
    assert capsys.readouterr().err == ""


def test_keyword_length_is_limited() -> None:
    assert extract_keywords("x" * 500 + " and " + "word", 5) == ["word"]
    assert all(
        len(keyword) <= MAX_KEYWORD_LENGTH
        for keyword in extract_keywords("ab12" * 300 + " word " + PROSE)
    )


@given(st.text(max_size=80) | st.text(alphabet="aB2 +#-.qzQZ\n\u0301\u00ad漢\x00/%'", max_size=120))
@settings(deadline=None, max_examples=150)
def test_keywords_of_any_text_occur_in_it(text: str) -> None:
    keywords = extract_keywords(text)
    assert all(keyword.casefold() in repair_text(text).casefold() for keyword in keywords)
    assert all(
        normalise_phrase(keyword) and repair_text(keyword) == keyword for keyword in keywords
    )


def test_failures_of_the_library_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    import yake.core.yake as library

    def raise_error(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(library, "DataCore", raise_error)
    extractor = Yake()
    assert extractor.extract_keywords([Chunk("c", "some text")], lambda _row: None) == [
        ChunkKeywords("c", ())
    ]
    assert extractor.failed == 1


def test_keywords_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "from kg.text.keywords.yake_extractor import Yake\n"
        "from kg.text.chunks import Chunk\n"
        f"print(Yake().extract_keywords([Chunk('c', {PROSE!r})], lambda _row: None))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


class RecordingExtractor:
    """Returns the words of a chunk as its keywords and records the ids of the chunks.

    A word with ``!`` counts as a keyword that a model invented.
    """

    name = "recording"
    failed = 0

    def __init__(self, setting: int = 0, stop_after: int = 1_000) -> None:
        self.setting, self.stop_after = setting, stop_after
        self.requested_ids: list[str] = []

    def params(self) -> dict[str, object]:
        return {"setting": self.setting}

    def extract_keywords(
        self, chunks: Sequence[Chunk], on_done: Callable[[ChunkKeywords], None]
    ) -> list[ChunkKeywords]:
        rows = []
        for chunk in chunks:
            if len(self.requested_ids) == self.stop_after:
                raise KeyboardInterrupt
            self.requested_ids.append(chunk.id)
            rows.append(ChunkKeywords(chunk.id, tuple(chunk.text.split()), chunk.text.count("!")))
            on_done(rows[-1])
        return rows


CHUNKS = [Chunk(f"c{n}", f"word{n} shared") for n in range(5)]


def extract_with_cache(
    path: Path, extractor: KeywordExtractor, chunks: Sequence[Chunk] = CHUNKS
) -> tuple[list[ChunkKeywords], list[str]]:
    """Returns the rows, and the ids of the chunks that were reported as done."""
    reported_ids: list[str] = []
    with KeywordCache(path) as cache:
        return cache.extract_keywords(
            extractor, chunks, lambda row: reported_ids.append(row.chunk_id)
        ), reported_ids


def test_both_extractors_satisfy_the_protocol() -> None:
    assert isinstance(Yake(), KeywordExtractor)
    assert isinstance(RecordingExtractor(), KeywordExtractor)


def test_cached_chunks_are_not_extracted_again(tmp_path: Path) -> None:
    path = tmp_path / "made" / "cache.jsonl"
    first_extractor, second_extractor = RecordingExtractor(), RecordingExtractor()
    rows, reported_ids = extract_with_cache(path, first_extractor)
    second_rows, second_reported_ids = extract_with_cache(path, second_extractor, CHUNKS[::-1])
    assert (
        rows
        == second_rows[::-1]
        == RecordingExtractor().extract_keywords(CHUNKS, lambda _row: None)
    )
    assert (first_extractor.requested_ids, second_extractor.requested_ids) == (reported_ids, [])
    assert sorted(second_reported_ids) == sorted(reported_ids)


def test_cache_key_has_text_language_and_settings(tmp_path: Path) -> None:
    path = tmp_path / "cache.jsonl"
    extract_with_cache(path, RecordingExtractor())
    renamed_chunks = [Chunk("other id", CHUNKS[0].text, {"document": "elsewhere"})]
    second_extractor = RecordingExtractor()
    assert extract_with_cache(path, second_extractor, renamed_chunks)[0] == [
        ChunkKeywords("other id", ("word0", "shared"))
    ]
    assert second_extractor.requested_ids == []
    for extractor, chunks in (
        (RecordingExtractor(1), CHUNKS[:1]),
        (RecordingExtractor(), [Chunk("c0", "word0 shared ")]),
        (RecordingExtractor(), [Chunk("c0", "word0 shared", {"language": "de"})]),
    ):
        extract_with_cache(path, extractor, chunks)
        assert extractor.requested_ids == ["c0"]


def test_interrupted_extraction_resumes(tmp_path: Path) -> None:
    path = tmp_path / "cache.jsonl"
    with pytest.raises(KeyboardInterrupt):
        extract_with_cache(path, RecordingExtractor(stop_after=3))
    second_extractor = RecordingExtractor()
    rows, _ = extract_with_cache(path, second_extractor)
    assert second_extractor.requested_ids == ["c3", "c4"]
    assert rows == extract_with_cache(tmp_path / "fresh.jsonl", RecordingExtractor())[0]
    assert path.read_bytes() == (tmp_path / "fresh.jsonl").read_bytes()


@pytest.mark.parametrize("n_missing_bytes", [1, 20, 90])
def test_a_torn_last_line_is_dropped(tmp_path: Path, n_missing_bytes: int) -> None:
    path = tmp_path / "cache.jsonl"
    extract_with_cache(path, RecordingExtractor())
    full_bytes = path.read_bytes()
    path.write_bytes(full_bytes[:-n_missing_bytes])
    extractor = RecordingExtractor()
    rows, _ = extract_with_cache(path, extractor)
    assert extractor.requested_ids
    assert [row.chunk_id for row in rows] == [chunk.id for chunk in CHUNKS]
    assert path.read_bytes() == full_bytes


def test_invalid_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "cache.jsonl"
    extract_with_cache(path, RecordingExtractor())
    lines = path.read_bytes().splitlines(keepends=True)
    invalid_lines = [
        b"\xff\xfe\n",
        b"[" * 50_000 + b"\n",
        b'{"key":1,"keywords":[]}\n',
        b"\n",
        b"null\n",
    ]
    path.write_bytes(b"".join([*lines[:2], *invalid_lines, *lines[3:]]))
    extractor = RecordingExtractor()
    extract_with_cache(path, extractor)
    assert extractor.requested_ids == ["c2"]


def test_empty_results_are_not_cached_but_rows_with_invented_keywords_are(tmp_path: Path) -> None:
    path = tmp_path / "cache.jsonl"
    chunks = [Chunk("failed", " "), Chunk("found", "a! b!")]
    extract_with_cache(path, RecordingExtractor(), chunks)
    second_extractor = RecordingExtractor()
    rows, _ = extract_with_cache(path, second_extractor, chunks)
    assert second_extractor.requested_ids == ["failed"]
    assert rows[1] == ChunkKeywords("found", ("a!", "b!"), 2)


def test_chunks_of_equal_text_are_cached_once(tmp_path: Path) -> None:
    path = tmp_path / "cache.jsonl"
    rows, _ = extract_with_cache(
        path, RecordingExtractor(), [Chunk("one", "same text"), Chunk("two", "same text")]
    )
    assert [row.chunk_id for row in rows] == ["one", "two"]
    assert path.read_bytes().count(b"\n") == 1


def test_unwritable_cache_raises_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "cache.jsonl", Path("/dev/null")):
        with pytest.raises(WriteError):
            KeywordCache(path)
