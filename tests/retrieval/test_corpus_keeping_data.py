"""The labelled corpus that is shipped: a book whose sections exist, and questions that fit them."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import msgspec
import pytest

import retrieval
from kg.text.chunking import chunk_documents
from kg.text.chunks import Chunk
from kg.text.documents import read_document
from kg.text.normaliser import content_words

CORPUS = Path(retrieval.__file__).parent / "corpora" / "keeping_data"
Kind = Literal["single-hop", "multi-hop", "cross-section", "confusable", "unanswerable"]
KINDS: tuple[Kind, ...] = get_args(Kind)
LONGEST_SECTION = 1500
"""Characters, heading included: below the default chunk size, so one section is one chunk."""
LEAST_OF_A_KIND = 15
LOW_OVERLAP = 0.5
"""Share of a question's content words that stand in its gold sections."""


class Labelled(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of questions.jsonl."""

    id: str
    question: str
    kind: Kind
    split: Literal["dev", "test"]
    gold: tuple[str, ...]
    answer: str
    note: str


@cache
def chunks() -> dict[str, Chunk]:
    """The book as `epoche kg build` would cut it, by chunk id."""
    chapters = sorted((CORPUS / "book").glob("*.md"))
    return {chunk.id: chunk for chunk in chunk_documents(map(read_document, chapters))}


@cache
def questions() -> tuple[Labelled, ...]:
    """All questions of the set."""
    lines = (CORPUS / "questions.jsonl").read_bytes().splitlines()
    return tuple(msgspec.json.decode(line, type=Labelled) for line in lines)


def numbered() -> list[tuple[str, str]]:
    """Document and section number of all sections that have a number."""
    pairs = [tuple(chunk.split("#")) for chunk in chunks()]
    return [(document, key) for document, key in pairs if re.fullmatch(r"\d+(\.\d+)*", key)]


def test_sixteen_chapters_with_enough_sections() -> None:
    chapters = sorted({chunk.split("#")[0] for chunk in chunks()})
    assert [int(chapter.split("-")[0]) for chapter in chapters] == list(range(1, 17))
    assert len(chunks()) >= 150


def test_one_heading_is_one_chunk_whose_id_is_its_number() -> None:
    for chapter in (CORPUS / "book").glob("*.md"):
        headings = re.findall(r"(?m)^#+ (\S+)", chapter.read_text(encoding="utf-8"))
        assert headings[0] == str(int(chapter.stem.split("-")[0]))
        found = [chunk.id for chunk in chunks().values() if chunk.id.startswith(chapter.stem)]
        assert len(found) == len(headings)
        for number in headings:
            if "." in number:
                assert f"{chapter.stem}#{number}" in found


def test_sections_have_parents_and_no_gaps() -> None:
    there = set(numbered())
    for document, number in there:
        assert int(number.split(".")[0]) == int(document.split("-")[0])
        parent, dot, last = number.rpartition(".")
        if dot:
            assert (document, parent) in there
            assert last == "1" or (document, f"{parent}.{int(last) - 1}") in there


@pytest.mark.parametrize("chunk", chunks())
def test_a_section_is_a_short_piece_of_prose(chunk: str) -> None:
    text = chunks()[chunk].text
    assert len(text) <= LONGEST_SECTION
    assert 80 <= len(text.split()) <= 210


def test_references_in_words_lead_somewhere() -> None:
    numbers = {number for _, number in numbered()}
    for chunk in chunks().values():
        for found in re.findall(r"\b(?:Section|Chapter)s? (\d+(?:\.\d+)*)", chunk.text):
            assert found in numbers, f"{chunk.id} refers to {found}, which does not exist"


def test_question_ids_are_unique_and_in_order() -> None:
    ids = [question.id for question in questions()]
    assert ids == [f"q{number:03d}" for number in range(1, len(ids) + 1)]
    assert len({question.question.casefold() for question in questions()}) == len(ids)
    assert len(ids) >= 100


def test_every_kind_is_there_in_number_and_in_both_halves() -> None:
    of_kind = Counter(question.kind for question in questions())
    assert set(of_kind) == set(KINDS)
    assert min(of_kind.values()) >= LEAST_OF_A_KIND
    split = Counter((question.kind, question.split) for question in questions())
    for kind in KINDS:
        assert abs(split[kind, "dev"] - split[kind, "test"]) <= 1, kind


@pytest.mark.parametrize("question", questions(), ids=lambda question: question.id)
def test_gold_fits_the_kind(question: Labelled) -> None:
    assert set(question.gold) <= set(chunks())
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
        assert question.note, "why it is confusable, or what near text does not answer"


def test_questions_are_not_copied_from_their_gold() -> None:
    shares = []
    for question in questions():
        if question.gold:
            asked = set(content_words(question.question))
            told = set(content_words(" ".join(chunks()[chunk].text for chunk in question.gold)))
            shares.append(len(asked & told) / len(asked))
    low = sum(share <= LOW_OVERLAP for share in shares)
    assert low >= len(shares) / 2


def test_the_readme_counts_what_is_there() -> None:
    readme = (CORPUS / "README.md").read_text(encoding="utf-8")
    assert f"{len(chunks())} sections" in readme
    assert f"{len(questions())} questions" in readme
    for kind in KINDS:
        splits = [question.split for question in questions() if question.kind == kind]
        row = f"| {kind} | {len(splits)} | {splits.count('dev')} | {splits.count('test')} |"
        assert row in readme
