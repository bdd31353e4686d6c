"""Pages as a corpus: read whole, cut into passages that lead back to them, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.base.errors import DuplicateIdError, EpocheError, MissingFileError, RecordError
from retrieval.corpus import MOST_PARAGRAPHS, Corpus, CorpusPage, read_corpus
from retrieval.opening import open_text_retriever

GIN = CorpusPage("https://a.example/Gin", "Cotton gin", "It cleans cotton.\n\nIt was patented.")
LOOM = CorpusPage("https://a.example/Loom#parts", "Loom", "\n\nIt weaves cloth.\n \n")
SPIN = CorpusPage("https://a.example/Spin", "Spinning", "One\nparagraph on two lines.")


def written(folder: Path, *lines: object) -> Path:
    """A file of such lines; texts are written as they are."""
    path = folder / "pages.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_bytes("\n".join([*texts, ""]).encode("utf-8", "surrogatepass"))
    return path


def row(**changed: object) -> dict[str, object]:
    """A line that is a page but for what is changed."""
    return {"url": "https://a.example/Gin", "title": "Cotton gin", "text": "It cleans.", **changed}


def test_pages_are_read_in_order_and_further_keys_left_alone(tmp_path: Path) -> None:
    corpus = read_corpus(written(tmp_path, row(), row(url="http://b.example/É", more=[1]), ""))
    assert [page.url for page in corpus.pages] == ["https://a.example/Gin", "http://b.example/É"]
    assert corpus.name == "pages.jsonl"
    assert corpus.page("http://b.example/É") is corpus.pages[1]
    assert corpus.page("http://b.example/e") is None


def test_a_paragraph_is_a_passage_that_leads_back_to_its_page() -> None:
    corpus = Corpus((GIN, LOOM, SPIN), "three")
    passages = corpus.passages()
    assert [(one.id, one.text) for one in passages] == [
        ("https://a.example/Gin#1", "It cleans cotton."),
        ("https://a.example/Gin#2", "It was patented."),
        ("https://a.example/Loom#parts#1", "It weaves cloth."),
        ("https://a.example/Spin#1", "One\nparagraph on two lines."),
    ]
    assert [corpus.page_of(one.id) for one in passages] == [GIN, GIN, LOOM, SPIN]


@pytest.mark.parametrize("wrong", ["#3", "#0", "#-1", "#one", "#", "#²", ""])
def test_no_page_has_a_passage_it_has_not(wrong: str) -> None:
    with pytest.raises(KeyError):
        Corpus((GIN,), "one").page_of(GIN.url + wrong)


def test_retrievers_search_the_passages() -> None:
    corpus = Corpus((GIN, LOOM, SPIN), "three")
    found = open_text_retriever("bm25", corpus.passages()).search("what weaves cloth?", 1)
    assert corpus.page_of(found[0][0]) is LOOM


def test_the_hash_is_of_what_the_pages_say(tmp_path: Path) -> None:
    one = read_corpus(written(tmp_path, row())).sha256
    assert read_corpus(written(tmp_path, "  ", json.dumps(row(more=1), indent=None))).sha256 == one
    assert read_corpus(written(tmp_path, row(text="It cleans!"))).sha256 != one
    assert len(one) == 64


def test_two_pages_at_one_address_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DuplicateIdError, match=r"first in line 1 .*pages\.jsonl:3"):
        read_corpus(written(tmp_path, row(), row(url="https://b.example"), row(title="Again")))
    with pytest.raises(DuplicateIdError, match="twins"):
        Corpus((GIN, SPIN, GIN), "twins")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"none\.jsonl"):
        read_corpus(tmp_path / "none.jsonl")
    with pytest.raises(MissingFileError, match="folder"):
        read_corpus(tmp_path)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "no pages"),
        ("{", "not JSON"),
        ('{"url": "https://a.example", "more": ' + "[" * 5_000, "deeply"),
        ('"text"', "not a valid corpus page"),
        ({"url": "https://a.example", "title": "No text"}, "text"),
        (row(text=7), "text"),
        (row(text=None), "text"),
        (row(text=" \n\n "), "text is empty"),
        (row(title="\t"), "title is empty"),
        (row(url=""), "url is empty"),
        (row(url="file:///etc/passwd"), "no address"),
        (row(url="javascript:alert(1)"), "no address"),
        (row(url="https://"), "no address"),
        (row(url="https://a.example/a b"), "no address"),
        (row(url="https://a.example/\x1b[2J"), "no address"),
        (row(url="https://a.example/\u202egpj.exe"), "no address"),
        (row(url="https://a.example/" + "a" * 2_000), "more than 2,000"),
        (row(title="t" * 501), "more than 500"),
        (row(text="t" * 200_001), "more than 200,000"),
        (row(text="p\n\n" * (MOST_PARAGRAPHS + 1)), "paragraphs"),
        ('{"url": "https://a.example", "title": "t", "text": "half \\ud800"}', "not JSON"),
        ('{"url": "https://a.example", "title": "t", "text": "half \ud800"}', "not JSON"),
    ],
)
def test_a_line_that_is_no_page_is_named(tmp_path: Path, line: object, why: str) -> None:
    with pytest.raises(RecordError, match=why) as error:
        read_corpus(written(tmp_path, line))
    assert str(error.value).isprintable(), "what is quoted cannot drive a terminal"


def test_a_torn_last_line_is_said_to_be_one(tmp_path: Path) -> None:
    path = written(tmp_path, row())
    path.write_text(path.read_text() + '{"url": "https://b', encoding="utf-8")
    with pytest.raises(RecordError, match="torn"):
        read_corpus(path)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
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
def test_any_file_is_read_or_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    path = written(tmp_path_factory.mktemp("any"), *lines)
    try:
        corpus = read_corpus(path)
    except EpocheError:
        return
    passages = corpus.passages()
    assert {corpus.page_of(one.id).url for one in passages} == {page.url for page in corpus.pages}
