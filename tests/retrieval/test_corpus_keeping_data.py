"""Tests the shipped corpus keeping_data: its sections are regular, and its questions fit them."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import msgspec
import pytest

import retrieval
from kg.text.chunker import chunk_documents
from kg.text.chunks import Chunk
from kg.text.documents import read_document
from kg.words.normaliser import extract_content_words

CORPUS = Path(retrieval.__file__).parent / "corpora" / "keeping_data"
Kind = Literal["single-hop", "multi-hop", "cross-section", "confusable", "unanswerable"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MAX_SECTION_LENGTH = 1500
"""Characters, heading included: below the default chunk size, so one section is one chunk."""
MIN_PER_KIND = 15
LOW_OVERLAP = 0.5
"""Share of a question's content words that occur in its gold sections."""


class LabelledQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of questions.jsonl."""

    id: str
    question: str
    kind: Kind
    split: Literal["dev", "test"]
    gold: tuple[str, ...]
    answer: str
    note: str


@cache
def load_chunks() -> dict[str, Chunk]:
    """Returns the chunks of the book by id, as `epoche kg build` would make them."""
    chapters = sorted((CORPUS / "book").glob("*.md"))
    return {chunk.id: chunk for chunk in chunk_documents(map(read_document, chapters))}


@cache
def load_questions() -> tuple[LabelledQuestion, ...]:
    """Returns all questions of the corpus."""
    lines = (CORPUS / "questions.jsonl").read_bytes().splitlines()
    return tuple(msgspec.json.decode(line, type=LabelledQuestion) for line in lines)


def list_numbered_sections() -> list[tuple[str, str]]:
    """Lists (document, section number) of all sections that have a number."""
    pairs = [tuple(chunk.split("#")) for chunk in load_chunks()]
    return [(document, key) for document, key in pairs if re.fullmatch(r"\d+(\.\d+)*", key)]


def test_sixteen_chapters_with_enough_sections() -> None:
    chapters = sorted({chunk.split("#")[0] for chunk in load_chunks()})
    assert [int(chapter.split("-")[0]) for chapter in chapters] == list(range(1, 17))
    assert len(load_chunks()) >= 150


def test_every_heading_has_one_chunk_with_its_number() -> None:
    for chapter in (CORPUS / "book").glob("*.md"):
        # The first word of a heading is its number, if it has one.
        first_words = re.findall(r"(?m)^#+ (\S+)", chapter.read_text(encoding="utf-8"))
        assert first_words[0] == str(int(chapter.stem.split("-")[0]))
        chunk_ids = [
            chunk.id for chunk in load_chunks().values() if chunk.id.startswith(chapter.stem)
        ]
        assert len(chunk_ids) == len(first_words)
        for first_word in first_words:
            if "." in first_word:
                assert f"{chapter.stem}#{first_word}" in chunk_ids


def test_sections_have_parents_and_no_gaps() -> None:
    sections = set(list_numbered_sections())
    for document, number in sections:
        assert int(number.split(".")[0]) == int(document.split("-")[0])
        parent, dot, last = number.rpartition(".")
        if dot:
            assert (document, parent) in sections
            assert last == "1" or (document, f"{parent}.{int(last) - 1}") in sections


@pytest.mark.parametrize("chunk_id", load_chunks())
def test_a_section_is_a_short_piece_of_prose(chunk_id: str) -> None:
    text = load_chunks()[chunk_id].text
    assert len(text) <= MAX_SECTION_LENGTH
    assert 80 <= len(text.split()) <= 210


def test_references_in_the_text_resolve() -> None:
    numbers = {number for _, number in list_numbered_sections()}
    for chunk in load_chunks().values():
        for cited_number in re.findall(r"\b(?:Section|Chapter)s? (\d+(?:\.\d+)*)", chunk.text):
            assert cited_number in numbers, (
                f"{chunk.id} refers to {cited_number}, which does not exist"
            )


def test_question_ids_are_unique_and_in_order() -> None:
    ids = [question.id for question in load_questions()]
    assert ids == [f"q{number:03d}" for number in range(1, len(ids) + 1)]
    assert len({question.question.casefold() for question in load_questions()}) == len(ids)
    assert len(ids) >= 100


def test_every_kind_is_frequent_in_both_splits() -> None:
    kind_counts = Counter(question.kind for question in load_questions())
    assert set(kind_counts) == set(KINDS)
    assert min(kind_counts.values()) >= MIN_PER_KIND
    split_counts = Counter((question.kind, question.split) for question in load_questions())
    for kind in KINDS:
        assert abs(split_counts[kind, "dev"] - split_counts[kind, "test"]) <= 1, kind


@pytest.mark.parametrize("question", load_questions(), ids=lambda question: question.id)
def test_gold_fits_the_kind(question: LabelledQuestion) -> None:
    assert set(question.gold) <= set(load_chunks())
    assert len(set(question.gold)) == len(question.gold)
    assert (question.kind == "unanswerable") == (not question.gold)
    assert bool(question.answer) == bool(question.gold)
    if question.kind == "single-hop":
        assert len(question.gold) == 1
    if question.kind in ("multi-hop", "cross-section"):
        assert len(question.gold) >= 2
    if question.kind == "cross-section":
        assert len({chunk.split("#")[0] for chunk in question.gold}) >= 2
    if question.kind in ("confusable", "unanswerable"):
        assert question.note, "the note must say why it is confusable or not answered"


def test_questions_are_not_copied_from_their_gold() -> None:
    shares = []
    for question in load_questions():
        if question.gold:
            question_words = set(extract_content_words(question.question))
            gold_words = set(
                extract_content_words(
                    " ".join(load_chunks()[chunk].text for chunk in question.gold)
                )
            )
            shares.append(len(question_words & gold_words) / len(question_words))
    n_low = sum(share <= LOW_OVERLAP for share in shares)
    assert n_low >= len(shares) / 2


def test_readme_counts_are_right() -> None:
    readme = (CORPUS / "README.md").read_text(encoding="utf-8")
    assert f"{len(load_chunks())} sections" in readme
    assert f"{len(load_questions())} questions" in readme
    for kind in KINDS:
        splits = [question.split for question in load_questions() if question.kind == kind]
        row = f"| {kind} | {len(splits)} | {splits.count('dev')} | {splits.count('test')} |"
        assert row in readme
