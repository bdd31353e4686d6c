"""Tests the 60 shipped SynthLink questions: their layout, and their paths in the graph.

``eval/synthlink/data/README.md`` states the rules that are tested here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from stage_calls import PRODUCT

from eval.synthlink.catalog import Catalog, read_catalog, render_catalog
from eval.synthlink.items import CATEGORIES, Question, Triple
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from kg.terms import XSD, write_literal

ROOT = Path(__file__).parents[3]
DATA = PRODUCT / "eval" / "synthlink" / "data"
LINES = (DATA / "catalog.jsonl").read_text("utf-8").splitlines()
YEAR = re.compile(r"\b(?:1[0-9]|20)[0-9]{2}\b(?!,|s\b)")
QUESTIONS = read_catalog().questions
for_every_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.id)


@cache
def open_knowledge() -> KnowledgeBase:
    return KnowledgeBase.open("synthlink")


def build_claim(triple: Triple) -> Claim:
    subj, pred, obj = triple
    domain = open_knowledge().domain
    value = write_literal(obj, XSD + "integer") if obj.isdigit() else domain.expand_iri(obj)
    return Claim(domain.expand_iri(subj), domain.expand_iri(pred), value)


def compute_longest_chain(triples: Iterable[Triple]) -> int:
    """Returns the number of triples of the longest path from subject to object."""
    successors: dict[str, list[str]] = {}
    for subj, _, obj in triples:
        successors.setdefault(subj, []).append(obj)

    def walk_from(node: str, visited: frozenset[str]) -> int:
        next_nodes = [
            successor for successor in successors.get(node, ()) if successor not in visited
        ]
        return max(
            (1 + walk_from(successor, visited | {successor}) for successor in next_nodes), default=0
        )

    return max(walk_from(node, frozenset({node})) for node in successors)


def split_words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.casefold().replace("'", "").replace("’", ""))


def test_sixty_questions_with_categories_in_turn() -> None:
    ids = [question.id for question in QUESTIONS]
    assert ids == [f"{name}-{number:02d}" for number in range(1, 11) for name in CATEGORIES]
    assert all(question.category == question.id[:3] for question in QUESTIONS)
    assert Catalog(QUESTIONS).categories == ("HIA", "EIS", "EEC", "STE", "PSM", "SFT")


def test_lines_are_json_in_one_order_of_keys() -> None:
    keys = ["id", "category", "question", "answer", "sources", "steps", "hops"]
    for line in LINES:
        row = json.loads(line)
        assert list(row) == keys
        assert all(list(step) == ["instruction", "fact", "keywords", "triples"]
                   for step in row["steps"])  # fmt: skip
        assert all(list(source) == ["title", "url"] for source in row["sources"])
        assert json.dumps(row, ensure_ascii=False) == line


def test_markdown_matches_the_json_lines() -> None:
    rendered = render_catalog(QUESTIONS)
    shipped = {str(path.relative_to(DATA)): path for path in DATA.glob("*/*.md")}
    assert sorted(rendered) == sorted(shipped)
    for name, path in shipped.items():
        assert path.read_text("utf-8") == rendered[name], name


def test_markdown_is_read_back() -> None:
    read_back = {question.id: question for question in read_catalog(DATA).questions}
    assert len(read_back) == len(QUESTIONS)
    for question in QUESTIONS:
        other = read_back[question.id]
        assert (other.id, other.question, other.answer) == (
            question.id, question.question, question.answer,
        )  # fmt: skip
        assert other.sources == question.sources
        instructions = [step.instruction for step in question.steps]
        assert [step.instruction for step in other.steps] == instructions


@for_every_question
def test_questions_and_steps_are_well_formed(question: Question) -> None:
    assert question.question.endswith("?")
    sentences = re.split(r"(?<=\w\w)\. (?=[A-Z])", question.answer.rstrip("."))
    assert 2 <= len(sentences) <= 3
    assert question.answer.endswith(".")
    assert 4 <= len(question.steps) <= 5
    for step in question.steps:
        for sentence in (step.instruction, step.fact):
            assert sentence[0].isupper() or sentence.startswith("CO")
            assert sentence.endswith(".")
            assert "|" not in sentence
        assert not re.search(r"\d\.", step.instruction), "the parser would read it as a step number"
        assert 1 <= len(step.keywords) <= 4
        assert len(set(step.keywords)) == len(step.keywords)
        for keyword in step.keywords:
            assert keyword.casefold() in step.fact.casefold()


@for_every_question
def test_instructions_do_not_reveal_their_fact(question: Question) -> None:
    for step in question.steps:
        revealed = [
            word for word in step.keywords if word.casefold() in step.instruction.casefold()
        ]
        assert len(revealed) < len(step.keywords), step.instruction


@for_every_question
def test_each_fact_can_be_checked_alone(question: Question) -> None:
    """Each fact names its subject, because "It grew" could not be checked alone."""
    for step in question.steps:
        first_word = split_words(step.fact)[0]
        assert first_word not in {"it", "its", "he", "his", "she", "her", "they", "their", "this"}
        assert not re.search(r"\b(?:it|them|there)\b(?! is safe)", step.fact), step.fact


@for_every_question
def test_answer_covers_every_step(question: Question) -> None:
    """The expected answer contains most words of each fact's keywords."""
    stems = {word[:5] for word in split_words(question.answer + " " + question.question)}
    for step in question.steps:
        keyword_stems = {word[:5] for keyword in step.keywords for word in split_words(keyword)}
        assert len(keyword_stems & stems) >= len(keyword_stems) / 2, step.fact


@for_every_question
def test_sources_are_pages_with_titles(question: Question) -> None:
    assert 3 <= len(question.sources) <= 5
    assert len({source.url for source in question.sources}) == len(question.sources)
    for source in question.sources:
        assert source.title.strip() == source.title != ""
        assert re.fullmatch(r"https?://[a-z0-9.-]+\.[a-z]+/\S*", source.url)
        article = source.url.removeprefix("https://en.wikipedia.org/wiki/")
        if article != source.url:
            assert " " not in article
            assert article[0].isupper() or article[0].isdigit()


@for_every_question
def test_every_step_is_licensed(question: Question) -> None:
    oracle = open_knowledge().oracle
    for step in question.steps:
        assert step.triples, step.fact
        for triple in step.triples:
            assert oracle.license(build_claim(triple)).label == "E", triple


@for_every_question
def test_hops_are_the_longest_chain(question: Question) -> None:
    assert question.hops == compute_longest_chain(question.triples)
    assert question.hops >= 3


def test_longest_chain() -> None:
    chain = [("a", "p", "b"), ("b", "p", "c"), ("c", "p", "a"), ("d", "p", "b")]
    assert compute_longest_chain(chain) == 3
    assert compute_longest_chain([("a", "p", "b"), ("c", "p", "b")]) == 1


@for_every_question
def test_steps_form_one_connected_graph(question: Question) -> None:
    """Without the years, the triples of a question form one connected graph."""
    neighbours: dict[str, set[str]] = {}
    for subj, _, obj in question.triples:
        if not obj.isdigit():
            neighbours.setdefault(subj, set()).add(obj)
            neighbours.setdefault(obj, set()).add(subj)
        else:
            neighbours.setdefault(subj, set())
    reached: set[str] = set()
    pending = [question.triples[0][0]]
    while pending:
        node = pending.pop()
        if node not in reached:
            reached.add(node)
            pending += neighbours[node]
    assert reached == set(neighbours)


@for_every_question
def test_years_agree_between_graph_and_text(question: Question) -> None:
    """Each year in a triple is given in a fact or the answer of the question."""
    years = {year for step in question.steps for year in YEAR.findall(step.fact)}
    years |= set(YEAR.findall(question.answer))
    for _, _, obj in question.triples:
        if obj.isdigit():
            assert obj in years


def test_graph_contains_only_triples_of_questions() -> None:
    """Each triple belongs to a question, whose sources give its origin."""
    question_claims = {build_claim(triple) for question in QUESTIONS for triple in question.triples}
    graph = open_knowledge().graph
    assert {
        claim for pred in open_knowledge().domain.predicates for claim in graph.iter_claims(pred)
    } == question_claims


def test_questions_are_all_different() -> None:
    questions_and_words = [
        (question.id, set(split_words(question.question))) for question in QUESTIONS
    ]
    for position, (name, words) in enumerate(questions_and_words):
        for other, other_words in questions_and_words[:position]:
            assert len(words & other_words) / len(words | other_words) < 0.5, (name, other)
    facts = Counter(step.fact for question in QUESTIONS for step in question.steps)
    assert max(facts.values()) == 1


def test_wording_differs_from_the_published_files(published_data: Path) -> None:
    published_questions = read_catalog(published_data / "synthlink").questions

    def list_six_word_runs(question: Question) -> set[tuple[str, ...]]:
        texts = [question.question, question.answer]
        texts += [step.instruction for step in question.steps]
        runs: set[tuple[str, ...]] = set()
        for text in texts:
            words = split_words(text)
            runs |= {tuple(words[start : start + 6]) for start in range(len(words) - 5)}
        return runs

    published_runs = {
        run for question in published_questions for run in list_six_word_runs(question)
    }
    for question in QUESTIONS:
        assert not list_six_word_runs(question) & published_runs, question.id
        question_words = set(split_words(question.question))
        for other in published_questions:
            other_words = set(split_words(other.question))
            assert len(question_words & other_words) / len(question_words | other_words) < 0.45, (
                question.id,
                other.id,
            )
