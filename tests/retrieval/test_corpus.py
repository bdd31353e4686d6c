"""Tests that page files are read, cut into passages that link to their page, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.base.errors import DuplicateIdError, EpocheError, MissingFileError, RecordError
from retrieval.corpus import MAX_PARAGRAPHS, Corpus, CorpusPage, read_corpus
from retrieval.factory import open_text_retriever

GIN = CorpusPage("https://a.example/Gin", "Cotton gin", "It cleans cotton.\n\nIt was patented.")
LOOM = CorpusPage("https://a.example/Loom#parts", "Loom", "\n\nIt weaves cloth.\n \n")
SPIN = CorpusPage("https://a.example/Spin", "Spinning", "One\nparagraph on two lines.")


def write_pages(folder: Path, *lines: object) -> Path:
    """Writes a file with these lines: texts unchanged, other values as JSON."""
    path = folder / "pages.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_bytes("\n".join([*texts, ""]).encode("utf-8", "surrogatepass"))
    return path


def make_page_row(**changes: object) -> dict[str, object]:
    """Makes the row of a valid page, with the given fields changed."""
    return {"url": "https://a.example/Gin", "title": "Cotton gin", "text": "It cleans.", **changes}


def test_pages_are_read_in_order_and_other_keys_ignored(tmp_path: Path) -> None:
    corpus = read_corpus(
        write_pages(
            tmp_path, make_page_row(), make_page_row(url="http://b.example/É", more=[1]), ""
        )
    )
    assert [page.url for page in corpus.pages] == ["https://a.example/Gin", "http://b.example/É"]
    assert corpus.name == "pages.jsonl"
    assert corpus.get_page_of_passage("http://b.example/É#1") is corpus.pages[1]


def test_passages_link_to_their_page() -> None:
    corpus = Corpus((GIN, LOOM, SPIN), "three")
    passages = corpus.list_passages()
    assert [(passage.id, passage.text) for passage in passages] == [
        ("https://a.example/Gin#1", "It cleans cotton."),
        ("https://a.example/Gin#2", "It was patented."),
        ("https://a.example/Loom#parts#1", "It weaves cloth."),
        ("https://a.example/Spin#1", "One\nparagraph on two lines."),
    ]
    pages = [corpus.get_page_of_passage(passage.id) for passage in passages]
    assert pages == [GIN, GIN, LOOM, SPIN]


@pytest.mark.parametrize("suffix", ["#3", "#0", "#-1", "#one", "#", "#²", ""])
def test_unknown_passage_id_is_refused(suffix: str) -> None:
    with pytest.raises(KeyError):
        Corpus((GIN,), "one").get_page_of_passage(GIN.url + suffix)


def test_retrievers_search_the_passages() -> None:
    corpus = Corpus((GIN, LOOM, SPIN), "three")
    results = open_text_retriever("bm25", corpus.list_passages()).search("what weaves cloth?", 1)
    assert corpus.get_page_of_passage(results[0][0]) is LOOM


def test_corpus_hash_depends_on_page_content(tmp_path: Path) -> None:
    original_hash = read_corpus(write_pages(tmp_path, make_page_row())).sha256
    assert (
        read_corpus(
            write_pages(tmp_path, "  ", json.dumps(make_page_row(more=1), indent=None))
        ).sha256
        == original_hash
    )
    assert (
        read_corpus(write_pages(tmp_path, make_page_row(text="It cleans!"))).sha256 != original_hash
    )
    assert len(original_hash) == 64


def test_pages_with_equal_addresses_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DuplicateIdError, match=r"first in line 1 .*pages\.jsonl:3"):
        read_corpus(
            write_pages(
                tmp_path,
                make_page_row(),
                make_page_row(url="https://b.example"),
                make_page_row(title="Again"),
            )
        )
    with pytest.raises(DuplicateIdError, match="twins"):
        Corpus((GIN, SPIN, GIN), "twins")


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"none\.jsonl"):
        read_corpus(tmp_path / "none.jsonl")
    with pytest.raises(MissingFileError, match="folder"):
        read_corpus(tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "no pages"),
        ("{", "not JSON"),
        ('{"url": "https://a.example", "more": ' + "[" * 5_000, "deeply"),
        ('"text"', "not a valid corpus page"),
        ({"url": "https://a.example", "title": "No text"}, "text"),
        (make_page_row(text=7), "text"),
        (make_page_row(text=None), "text"),
        (make_page_row(text=" \n\n "), "text is empty"),
        (make_page_row(title="\t"), "title is empty"),
        (make_page_row(url=""), "url is empty"),
        (make_page_row(url="file:///etc/passwd"), "not an http or https URL"),
        (make_page_row(url="javascript:alert(1)"), "not an http or https URL"),
        (make_page_row(url="https://"), "not an http or https URL"),
        (make_page_row(url="https://a.example/a b"), "not an http or https URL"),
        (make_page_row(url="https://a.example/\x1b[2J"), "not an http or https URL"),
        (make_page_row(url="https://a.example/\u202egpj.exe"), "not an http or https URL"),
        (make_page_row(url="https://a.example/" + "a" * 2_000), "more than 2,000"),
        (make_page_row(title="t" * 501), "more than 500"),
        (make_page_row(text="t" * 200_001), "more than 200,000"),
        (make_page_row(text="p\n\n" * (MAX_PARAGRAPHS + 1)), "paragraphs"),
        ('{"url": "https://a.example", "title": "t", "text": "half \\ud800"}', "not JSON"),
        ('{"url": "https://a.example", "title": "t", "text": "half \ud800"}', "not JSON"),
    ],
)
def test_invalid_line_is_named(tmp_path: Path, line: object, message: str) -> None:
    with pytest.raises(RecordError, match=message) as error:
        read_corpus(write_pages(tmp_path, line))
    assert str(error.value).isprintable(), "quoted text has no control characters"


def test_torn_last_line_is_named(tmp_path: Path) -> None:
    path = write_pages(tmp_path, make_page_row())
    path.write_text(path.read_text() + '{"url": "https://b', encoding="utf-8")
    with pytest.raises(RecordError, match="the last line is cut off"):
        read_corpus(path)


def test_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    with path.open("wb") as handle:
        handle.truncate(300 * 1024 * 1024)
    with pytest.raises(RecordError, match="larger than"):
        read_corpus(path)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=60),
            st.fixed_dictionaries(
                {"url": st.sampled_from(["https://a.example", "https://b.example/#1", "x", ""])},
                optional={"title": st.text(max_size=9), "text": st.text(max_size=40)},
            ).map(json.dumps),
        ),
        max_size=4,
    )
)
def test_any_file_is_read_or_refused_with_a_message(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    path = write_pages(tmp_path_factory.mktemp("any"), *lines)
    try:
        corpus = read_corpus(path)
    except EpocheError:
        return
    passages = corpus.list_passages()
    assert {corpus.get_page_of_passage(passage.id).url for passage in passages} == {
        page.url for page in corpus.pages
    }
