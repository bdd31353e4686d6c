"""Tests of the tokeniser for keywords, headings, queries and passages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.words.normaliser import (
    FUNCTION_WORDS,
    extract_content_words,
    is_acronym_of,
    list_ngrams,
    normalise_phrase,
    repair_text,
    split_cased_words,
    split_words,
    stem_word,
)

TRICKY_TEXTS = st.text() | st.text(alphabet="aBcS+#-–. 129,\u00ad\u0301\u3099\u094d\nßİ")
"""Any text, and texts of characters that the rules depend on."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Rhine's 1,233 km", ["the", "rhine", "s", "1233", "km"]),
        ("4.5 is not 45", ["4.5", "is", "not", "45"]),
        ("Łódź Çoruh São_Tomé", ["łodz", "coruh", "sao", "tome"]),
        ("1,23 and 1,234,567", ["1,23", "and", "1234567"]),
        ("<b>{{x}}</b>", ["b", "x", "b"]),
        ("長江 flows", ["長江", "flows"]),
        ("", []),
        ("The B+-tree, the B-tree", ["the", "b+", "tree", "the", "b", "tree"]),
        ("C++11 and C# in Notepad++.", ["c++", "11", "and", "c#", "in", "notepad++"]),
        ("2PL, 3NF; 1.5km", ["2pl", "3nf", "1.5", "km"]),
        ("a+b = x+10, 18+", ["a", "b", "x", "10", "18"]),
        ("two-phase SQL-92", ["two", "phase", "sql", "92"]),
        ("B+tree B⁺-tree", ["b+", "tree", "b+", "tree"]),
        ("trans\u00adaction", ["transaction"]),
        ("हिन्दी में がき 한국어 นี้", ["हिन्दी", "में", "がき", "한국어", "นี้"]),
        ("שָׁלוֹם كِتَاب", ["שלום", "كتاب"]),
    ],
)
def test_text_is_split_into_words(text: str, expected: list[str]) -> None:
    assert split_words(text) == expected


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("flows", "flow"),
        ("tributaries", "tributary"),
        ("traverses", "traverse"),
        ("thames", "thame"),
        ("mississippi", "mississippi"),
        ("columbus", "columbus"),
        ("ross", "ross"),
        ("has", "has"),
        ("sea", "sea"),
    ],
)
def test_words_are_reduced_to_stems(word: str, stem: str) -> None:
    assert stem_word(word) == stem


def test_content_words_keep_negations_and_drop_grammar() -> None:
    assert extract_content_words("Does the Main not flow into the Rhine?") == [
        "main",
        "not",
        "flow",
        "rhine",
    ]


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("Section 14.3  B + -Tree Index Files", "Section 14.3 B+-Tree Index Files"),
        ("B+ -Tree, B + – tree and B + Trees", "B+-Tree, B+-tree and B+ Trees"),
        ("C + + and C+ +", "C++ and C++"),
        ("a + b is A + B", "a + b is A + B"),
        ("ﬁle\u00a0of\u200bx\x00\u202ey", "file of\u200bxy"),
        ("  two\n lines\t", "two lines"),
    ],
)
def test_words_broken_by_ocr_and_layout_are_joined(text: str, repaired: str) -> None:
    assert repair_text(text) == repaired


@pytest.mark.parametrize(
    "spellings",
    [
        ("B+-Trees", "B + -Tree", "b+ tree", "B+ trees", "B+tree", "B⁺-tree"),
        ("Overview of Physical Storage Media", "overview of physical  storage medias"),
        ("DBMS", "DBMSs", "dbms"),
        ("Two-Phase Locking", "two phase locking", "two‐phase locking"),
        ("C++", "C + +", "c++"),
        ("Größe", "GRÖSSE", "gröſse"),
    ],
)
def test_spellings_of_one_keyword_are_equal(spellings: tuple[str, ...]) -> None:
    assert len({normalise_phrase(phrase) for phrase in spellings}) == 1


def test_different_terms_stay_different() -> None:
    terms = [
        "B-tree",
        "B+-tree",
        "2PL",
        "3PL",
        "2NF",
        "3NF",
        "C",
        "C++",
        "C#",
        "strict 2PL",
        "SQL-92",
    ]
    assert len({normalise_phrase(term) for term in terms}) == len(terms)
    assert len({tuple(split_words(term)) for term in terms}) == len(terms)


def test_query_matches_the_heading_despite_capitals() -> None:
    # An earlier pipeline had this bug: "physical storage media" never matched this heading.
    heading = "Overview of Physical Storage Media"
    heading_ngrams = {normalise_phrase(gram) for gram in list_ngrams(split_words(heading))}
    assert normalise_phrase("physical storage media") in heading_ngrams
    assert set(extract_content_words("PHYSICAL STORAGE MEDIA")) <= set(
        extract_content_words(heading)
    )


def test_ngrams_come_longest_first_and_once() -> None:
    assert list_ngrams(["a", "b", "a", "b"], 2) == ["a b", "b a", "a", "b"]
    assert list_ngrams(["a"], 3) == ["a"]
    assert list_ngrams([], 3) == []


@pytest.mark.parametrize(
    ("acronym", "phrase"),
    [
        ("DBMS", "database management system"),
        ("DBMSs", "database management systems"),
        ("2PL", "two-phase locking"),
        ("3NF", "third normal form"),
        ("BCNF", "Boyce-Codd normal form"),
        ("RAID", "redundant array of independent disks"),
        ("XML", "extensible markup language"),
        ("acid", "Atomicity, Consistency, Isolation, Durability"),
        ("MVCC", "multiversion concurrency control"),
    ],
)
def test_acronyms_are_recognised(acronym: str, phrase: str) -> None:
    assert is_acronym_of(acronym, phrase)
    assert not is_acronym_of(phrase, acronym)


@pytest.mark.parametrize(
    ("acronym", "phrase"),
    [
        ("2PL", "three-phase locking"),
        ("3NF", "second normal form"),
        ("data", "data tables access"),
        ("SQL", "sequential query"),
        ("index", "indexed file"),
        ("a", "atomicity consistency"),
        ("DB", "database"),
        ("", "database system"),
        ("DS", ""),
        ("BT", "binary search tree"),
    ],
)
def test_other_pairs_are_not_acronyms(acronym: str, phrase: str) -> None:
    assert not is_acronym_of(acronym, phrase)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("数据库 SQL查询 川", ["数据", "据库", "sql", "查询", "川"]),
        ("メモリー", ["メモ", "モリ", "リー"]),
        ("한국어 문서", ["한국어", "문서"]),
        ("C++ the page's", ["c++", "page"]),
    ],
)
def test_text_without_spaces_gives_pairs_of_characters(text: str, words: list[str]) -> None:
    assert extract_content_words(text) == words


@given(TRICKY_TEXTS)
@settings(deadline=None, max_examples=300)
def test_repairing_and_normalising_are_idempotent(text: str) -> None:
    assert repair_text(repair_text(text)) == repair_text(text)
    assert normalise_phrase(normalise_phrase(text)) == normalise_phrase(text)
    assert normalise_phrase(repair_text(text)) == normalise_phrase(text)


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "M", "Zs", "Po"])))
@settings(deadline=None, max_examples=200)
def test_cased_words_stems_and_content_words_are_consistent(text: str) -> None:
    assert [word.casefold() for word in split_cased_words(text)] == split_words(text)
    assert all(stem_word(stem_word(word)) == stem_word(word) for word in split_words(text))
    assert not FUNCTION_WORDS & set(extract_content_words(text)) - {
        stem_word(word) for word in FUNCTION_WORDS
    }


@given(TRICKY_TEXTS)
@settings(deadline=None, max_examples=300)
def test_tokenising_words_again_changes_nothing(text: str) -> None:
    words = split_words(text)
    assert split_words(" ".join(words)) == words
    assert all(word and not word.isspace() for word in words)
