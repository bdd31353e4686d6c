"""Tests the language of documents, and which keywords are dropped as parts of sentences."""

from __future__ import annotations

import time

import pytest

from kg.text.chunks import Chunk
from kg.text.documents.language import detect_language
from kg.text.keywords.fragments import drop_fragments
from kg.text.keywords.protocol import ChunkKeywords

PROSE = {
    "en": "The package manager reads the list of all files that have been installed, and it "
    "removes those which are not needed by any of the other packages on this system.",
    "de": "Die Paketverwaltung liest die Liste aller Dateien, die installiert wurden, und sie "
    "entfernt diejenigen, die von keinem der anderen Pakete auf diesem System gebraucht werden.",
    "fr": "Le gestionnaire de paquets lit la liste de tous les fichiers qui ont été installés, et "
    "il supprime ceux dont aucun des autres paquets de ce système n'a besoin.",
    "es": "El gestor de paquetes lee la lista de todos los archivos que se han instalado y elimina "
    "los que no son necesarios para ninguno de los otros paquetes de este sistema.",
    "ja": "パッケージマネージャはインストールされたすべてのファイルの一覧を読みます。",
    "zh": "软件包管理器读取所有已安装文件的列表。",
    "ko": "패키지 관리자는 설치된 모든 파일의 목록을 읽습니다.",
}


@pytest.mark.parametrize("language", PROSE)
def test_language_is_detected_by_stop_words(language: str) -> None:
    assert detect_language([PROSE[language]]) == language
    # Code with English words does not decide.
    code = "while (true) { total += array[i]; }"
    assert detect_language([code, PROSE[language], PROSE[language]]) == language


def test_unclear_language_is_unknown() -> None:
    assert detect_language(["Too short."]) == ""
    assert detect_language(["int x = foo(bar, baz); return qux; " * 20]) == ""
    assert detect_language([PROSE["de"], PROSE["fr"], PROSE["es"]]) == ""
    assert detect_language([]) == ""


def drop_from(text: str, *keywords: str, language: str = "en") -> list[str]:
    chunk = Chunk("a#1", text, {"language": language})
    (row,) = drop_fragments([chunk], [ChunkKeywords("a#1", keywords)])
    return list(row.keywords)


def test_parts_of_sentences_are_dropped() -> None:
    text = (
        "To generate links, generate them. You generate links and must generate pages. "
        "They generate links. The link is in the page. A link of the page is on the page. "
        "The bugs were fixed. Bugs fixed. Errors fixed. Faults fixed. It was fixed. All fixed. "
    )
    assert drop_from(text, "generate links", "Bugs fixed", "generate", "link", "page") == [
        "link",
        "page",
    ]
    # Rare words are not judged.
    assert drop_from("Bugs fixed.", "Bugs fixed") == ["Bugs fixed"]
    assert drop_from("x", "order of magnitude", "index is written") == ["order of magnitude"]


def test_pieces_of_one_name_are_dropped() -> None:
    text = (
        "Cross site scripting is an attack. The cross site scripting of a page is seen. "
        "The page error is an error. Navigation and footer are set. See navigation and footer. "
        "The rare view function. "
    )
    keywords = ("cross site scripting", "site scripting", "scripting", "page error", "error")
    assert drop_from(text, *keywords) == ["cross site scripting", "page error", "error"]
    # What another keyword does not contain stays, and so do two things and what occurs once.
    assert drop_from(text, "site scripting") == ["site scripting"]
    others = ("navigation and footer", "navigation", "view function", "view")
    assert drop_from(text, *others) == list(others)


@pytest.mark.parametrize("language", ["en", "de"])
def test_constants_and_hexadecimal_numbers_are_no_keywords(language: str) -> None:
    values = ("True", "none", "null", "1f600", "00E9 00EA", "0x0660", "const Matrix")
    names = ("3D", "C64", "IPv4", "cafe", "truth value", "802.11", "F16")
    assert drop_from("x", *values, *names, language=language) == list(names)


def test_names_with_capitals_are_kept() -> None:
    text = "We use Sphinx here. They like Sphinx better. Use Sphinx. Run Sphinx! Get Sphinx twice."
    assert drop_from(text, "Sphinx") == ["Sphinx"]


def test_other_languages_have_only_their_function_words() -> None:
    text = "die den Request erhalten " * 9
    assert drop_from(text, "Antwort die den Request", "Request erhalten", language="de") == [
        "Request erhalten"
    ]


@pytest.mark.parametrize("numbers", [("3.1. ", "4.2. ", "A.1 "), ("", "", "")])
@pytest.mark.parametrize("n_sections", [2, 3])
def test_headings_that_sections_share_are_no_keywords(
    numbers: tuple[str, ...], n_sections: int
) -> None:
    chunks = [
        Chunk(
            f"a#{n}",
            f"{number}Specific Options\n\nThe /home directory.{' Some options.' if n == 0 else ''}",
            {"section": f"{number}Specific Options", "section_id": f"a#{n}", "language": "de"},
        )
        for n, number in enumerate(numbers[:n_sections])
    ]
    # A second chunk of one section is no further section.
    chunks.append(Chunk("a#1/2", "More.", chunks[1].metadata))
    rows = [ChunkKeywords(chunk.id, ("Specific Options", "Options")) for chunk in chunks]
    kept = [list(row.keywords) for row in drop_fragments(chunks, rows)]
    if n_sections == 2:
        assert kept == [["Specific Options", "Options"]] * 3
    else:
        assert kept == [["Options"], [], [], []]


def test_words_for_parts_of_a_document_are_no_keywords_where_numbers_follow() -> None:
    text = "See Section 4.2 and section 7. Tables have pages. The table is large. Table 3."
    assert drop_from(text, "Section", "sections", "table") == ["table"]
    assert drop_from(text, "Section", "table", language="de") == ["Section", "table"]
    assert drop_from("The section is short. See section 3.", "section") == ["section"]


def drop_in_documents(*texts: str, keywords: tuple[str, ...]) -> list[list[str]]:
    chunks = [
        Chunk(f"d{n}#a", text, {"document": f"d{n}", "section_id": f"d{n}#a", "section": ""})
        for n, text in enumerate(texts)
    ]
    rows = [ChunkKeywords(chunk.id, keywords) for chunk in chunks]
    return [list(row.keywords) for row in drop_fragments(chunks, rows)]


@pytest.mark.parametrize("n_documents", [4, 5])
def test_lines_that_documents_share_have_no_keywords(n_documents: int) -> None:
    rest = [f"Page {'xyzuv'[n]} says what it is about, and more." for n in range(n_documents)]
    rest = [text.replace(" ", f" {'xyzuv'[n]}").replace(". ", "\n") for n, text in enumerate(rest)]
    texts = [f"{text}\nwell {n}\nok {text}\nHappy testing 1.{n}" for n, text in enumerate(rest)]
    kept = drop_in_documents(*texts, keywords=("Happy testing",))
    assert kept == [[] if n_documents == 5 else ["Happy testing"]] * n_documents


def test_lines_of_copies_have_keywords() -> None:
    texts = ["A locked page.\nThe tree index.\nA full leaf."] * 5
    assert drop_in_documents(*texts, keywords=("tree index",)) == [["tree index"]] * 5


def test_labels_that_sections_share_have_no_keywords() -> None:
    texts = [f"Default: {n}\n{word}" for n, word in enumerate(("a", "b", "c", "d", "The default."))]
    kept = drop_in_documents(*texts, keywords=("Default",))
    assert kept == [[], [], [], [], ["Default"]]


def test_parts_of_names_are_no_keywords() -> None:
    assert drop_from("The max_length counts.", "length", "max_length") == ["max_length"]
    assert drop_from("The max_length is a length.", "length") == ["length"]


def test_names_that_a_line_break_divides_stay_keywords() -> None:
    text = "The max_items limits the isolation\nlevel of others. A lock\tmode helps."
    assert drop_from(text, "isolation level", "lock mode") == ["isolation level", "lock mode"]
    # What stands on both sides of something removed is no name.
    assert drop_from("The tree max_items index.", "tree index") == []


@pytest.mark.parametrize("text", ["a" * 100_000, "\n" * 100_000, "a_" * 50_000, "* " * 50_000])
def test_long_runs_of_one_kind_take_little_time(text: str) -> None:
    start = time.process_time()
    drop_from(text, "tree")
    assert time.process_time() - start < 5  # 150 seconds, if the time grew with the square


def test_phrases_that_go_on_are_cut() -> None:
    assert drop_from("The list of Scrapy signals.", "list of Scrapy") == []
    text = "The list of Scrapy signals. The list of Scrapy is long."
    assert drop_from(text, "list of Scrapy") == ["list of Scrapy"]


def test_months_before_numbers_are_no_keywords() -> None:
    assert drop_from("Released Jan 05, 2024. Last in Jan 2025.", "Jan") == []
