"""Tests that the shipped questions and recorded searches are as their README describes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from scipy.stats import mannwhitneyu

from eval.skn.items import Sample, read_samples
from eval.skn.search_source import SHIPPED, SourceFinder
from kg.base.files import to_json_bytes
from kg.words.normaliser import extract_content_words
from retrieval.web_results import MAX_QUERY_LENGTH, FrozenQuery, WebResult, read_frozen_queries

SAMPLES = SHIPPED / "samples.json"
SEARCH = SHIPPED / "search.jsonl"

# Required number of questions in each category.
QUESTIONS_PER_CATEGORY = {
    "diagnostic": 15,
    "optimization": 7,
    "architecture": 5,
    "insufficient_info": 8,
    "ambiguous": 5,
    "misleading": 5,
    "multi_step": 5,
}
TECHNOLOGIES = {
    "Python", "Java", "Go", "Rust", "TypeScript", "Node.js", "Docker", "Kubernetes", "PostgreSQL",
    "Redis", "Elasticsearch", "Kafka", "RabbitMQ", "Terraform", "AWS Lambda", "gRPC",
}  # fmt: skip


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return read_samples(SAMPLES)


@pytest.fixture(scope="module")
def search_results(samples: list[Sample]) -> dict[str, tuple[WebResult, ...]]:
    """Search results by sample id, found as in a run."""
    finder = SourceFinder.open_replay(SEARCH)
    searches = {sample.id: finder.find_source(sample) for sample in samples}
    assert not any(search.error for search in searches.values())
    return {name: search.results for name, search in searches.items()}


def get_key_facts(sample: Sample) -> list[str]:
    return msgspec.convert(sample.extra["key_facts"], list[str])


def get_invented_names(sample: Sample) -> list[str]:
    return msgspec.convert(sample.extra.get("invented", []), list[str])


def compute_fact_coverage(fact: str, text: str) -> float:
    """Returns the share of a fact's content words that a text contains."""
    words = set(extract_content_words(fact))
    return len(words & set(extract_content_words(text))) / len(words)


def list_bodies(results: Sequence[WebResult]) -> list[str]:
    return [result.body for result in results]


def test_dataset_has_the_required_counts_and_technologies(samples: list[Sample]) -> None:
    assert Counter(sample.category for sample in samples) == QUESTIONS_PER_CATEGORY
    assert sum(sample.answerable for sample in samples) == 42
    assert {name for sample in samples for name in sample.technologies} == TECHNOLOGIES


def test_the_first_half_has_half_of_every_category(samples: list[Sample]) -> None:
    counts = Counter(sample.category for sample in samples[:25])
    for category, total in QUESTIONS_PER_CATEGORY.items():
        assert abs(counts[category] - total / 2) <= 1, category


def test_ids_are_opaque_and_questions_unique(samples: list[Sample]) -> None:
    assert sorted(sample.id for sample in samples) == [f"q{n:02}" for n in range(1, 51)]
    assert len({sample.question for sample in samples}) == 50
    for sample in samples:
        assert len(sample.question) <= MAX_QUERY_LENGTH
        assert 20 <= len(sample.question.split()) <= 60


def test_every_true_answer_is_short_and_has_facts_and_sources(
    samples: list[Sample], search_results: dict[str, tuple[WebResult, ...]]
) -> None:
    for sample in samples:
        if not sample.answerable:
            continue
        sentences = re.findall(r"[.?!](?:\s|$)", sample.ground_truth)
        assert 2 <= len(sentences) <= 4, sample.id
        facts = get_key_facts(sample)
        assert 3 <= len(facts) <= 5, sample.id
        assert all(len(fact.split()) <= 20 for fact in facts), sample.id
        # The sources are among the pages that the search shows.
        result_pages = {(result.title, result.href) for result in search_results[sample.id]}
        sources = [(source.title, source.url) for source in sample.sources]
        assert len(sources) >= 2, sample.id
        assert set(sources) <= result_pages, sample.id


def test_unanswerable_questions_are_about_invented_things(
    samples: list[Sample], search_results: dict[str, tuple[WebResult, ...]]
) -> None:
    all_text = " ".join(
        " ".join((result.title, result.href, result.body))
        for results in search_results.values()
        for result in results
    ).casefold()
    for sample in samples:
        assert sample.answerable == (sample.category != "insufficient_info")
        if sample.answerable:
            continue
        assert sample.ground_truth == "INSUFFICIENT_INFO"
        assert get_key_facts(sample) == []
        assert sample.sources == ()
        assert len(get_invented_names(sample)) >= 2, sample.id
        for name in get_invented_names(sample):
            assert name in sample.question, sample.id
            assert name.casefold() not in all_text, sample.id


def test_search_file_is_canonical_and_in_sample_order(samples: list[Sample]) -> None:
    rows = read_frozen_queries(SEARCH)
    assert [row.query for row in rows.values()] == [sample.question for sample in samples]
    assert {row.backends for row in rows.values()} == {("written-by-hand",)}
    # Reading changes nothing: no text is too long, all addresses are http or https.
    assert SEARCH.read_bytes() == b"".join(to_json_bytes(row) + b"\n" for row in rows.values())


def test_each_question_has_five_results_but_one_has_none(
    search_results: dict[str, tuple[WebResult, ...]],
) -> None:
    assert Counter(len(results) for results in search_results.values()) == {5: 49, 0: 1}
    for name, results in search_results.items():
        assert len({result.href for result in results}) == len(results), name
        for result in results:
            assert 40 <= len(result.body.split()) <= 90, name
            assert result.title, name
            assert re.match(r"https?://[^/\s]+\.[a-zA-Z]+(/\S*)?$", result.href), result.href
            assert "PLACEHOLDER" not in result.body


def test_empty_search_belongs_to_an_unanswerable_question(
    samples: list[Sample], search_results: dict[str, tuple[WebResult, ...]]
) -> None:
    (empty,) = [sample for sample in samples if not search_results[sample.id]]
    assert not empty.answerable
    assert empty.notes


def test_snippets_contain_every_key_fact(
    samples: list[Sample], search_results: dict[str, tuple[WebResult, ...]]
) -> None:
    """Checks words only; a person checked the meaning (README).

    The limits leave room for facts that are worded differently in the snippets.
    """
    for sample in samples:
        texts = list_bodies(search_results[sample.id])
        for fact in get_key_facts(sample):
            assert max(compute_fact_coverage(fact, text) for text in texts) >= 0.55, (
                sample.id,
                fact,
            )
            assert compute_fact_coverage(fact, " ".join(texts)) >= 0.75, (sample.id, fact)


def test_no_single_snippet_contains_a_whole_answer(
    samples: list[Sample], search_results: dict[str, tuple[WebResult, ...]]
) -> None:
    for sample in samples:
        facts = get_key_facts(sample)
        for text in list_bodies(search_results[sample.id]):
            covered_facts = sum(compute_fact_coverage(fact, text) >= 0.75 for fact in facts)
            assert covered_facts < max(len(facts), 1), sample.id


def test_multi_step_answers_are_spread_over_snippets(
    samples: list[Sample], search_results: dict[str, tuple[WebResult, ...]]
) -> None:
    for sample in samples:
        if sample.category != "multi_step":
            continue
        texts = list_bodies(search_results[sample.id])
        best_snippets = {
            max(range(len(texts)), key=lambda index: compute_fact_coverage(fact, texts[index]))
            for fact in get_key_facts(sample)
        }
        assert len(best_snippets) >= 3, sample.id


def test_snippets_do_not_support_another_question(
    samples: list[Sample], search_results: dict[str, tuple[WebResult, ...]]
) -> None:
    """Shows that the check of the key facts fails on the snippets of another question."""
    answerable = [sample for sample in samples if sample.answerable]
    for sample, other_sample in pairwise(answerable):
        texts = list_bodies(search_results[other_sample.id])
        coverages = [
            max(compute_fact_coverage(fact, text) for text in texts)
            for fact in get_key_facts(sample)
        ]
        assert min(coverages) < 0.55, (sample.id, other_sample.id)


def test_file_sizes_are_within_limits() -> None:
    """Checks that the files are small enough to ship, and not truncated."""
    assert 40_000 < SAMPLES.stat().st_size < 120_000
    assert 80_000 < SEARCH.stat().st_size < 200_000


# Surface features that could reveal an unanswerable question.
QUESTION_FEATURES: dict[str, Callable[[str], float]] = {
    "words": lambda text: len(text.split()),
    "characters": len,
    "sentences": lambda text: len(re.findall(r"[.?!](?:\s|$)", text)),
    "commas": lambda text: text.count(","),
    "digits": lambda text: sum(map(str.isdigit, text)),
    "capitals": lambda text: len(re.findall(r"(?<![.?!] )(?<!^)\b[A-Z]\w*", text)),
    "codes": lambda text: len(re.findall(r"\b[A-Z]{2,4}-\d+", text)),
    "our": lambda text: len(re.findall(r"\b(?:our|we|us)\b", text, re.IGNORECASE)),
    "asking words": lambda text: len(re.findall(r"\b(?:why|wh?o|what)\b", text, re.IGNORECASE)),
    "which": lambda text: len(re.findall(r"\bwhich\b", text, re.IGNORECASE)),
    "past": lambda text: len(re.findall(r"\b(?:did|was|were)\b", text)),
}
RESULT_FEATURES: dict[str, Callable[[Sequence[WebResult]], float]] = {
    "words": lambda results: sum(len(text.split()) for text in list_bodies(results)),
    "title characters": lambda results: sum(len(result.title) for result in results),
    "digits": lambda results: sum(map(str.isdigit, " ".join(list_bodies(results)))),
    "commas": lambda results: " ".join(list_bodies(results)).count(","),
}


def find_leaks(texts: Sequence[str], answerable: Sequence[bool]) -> list[str]:
    """Returns surface features that differ between the two kinds of questions (Bonferroni, 5 %)."""
    leaks = []
    for name, feature in QUESTION_FEATURES.items():
        values: dict[bool, list[float]] = {True: [], False: []}
        for text, is_answerable in zip(texts, answerable, strict=True):
            values[is_answerable].append(feature(text))
        if mannwhitneyu(values[True], values[False]).pvalue < 0.05 / len(QUESTION_FEATURES):
            leaks.append(name)
    return leaks


def test_question_surface_does_not_reveal_answerability(samples: list[Sample]) -> None:
    answerable = [sample.answerable for sample in samples]
    assert find_leaks([sample.question for sample in samples], answerable) == []


def test_find_leaks_detects_a_planted_leak(samples: list[Sample]) -> None:
    answerable = [sample.answerable for sample in samples]
    leaky_questions = [
        sample.question if sample.answerable else f"{sample.question} See ticket XY-1, please."
        for sample in samples
    ]
    assert "codes" in find_leaks(leaky_questions, answerable)


def test_result_surface_does_not_reveal_answerability(
    samples: list[Sample], search_results: dict[str, tuple[WebResult, ...]]
) -> None:
    for name, feature in RESULT_FEATURES.items():
        values: dict[bool, list[float]] = {True: [], False: []}
        for sample in samples:
            if search_results[sample.id]:
                values[sample.answerable].append(feature(search_results[sample.id]))
        assert mannwhitneyu(values[True], values[False]).pvalue >= 0.05 / len(RESULT_FEATURES), name


def test_invented_names_occur_in_answerable_questions_too(samples: list[Sample]) -> None:
    """An invented company name must not reveal that a question is unanswerable."""
    companies = [
        "Halvorsen Freight", "Calder and Voss", "Ostrava Rail", "Lindqvist Retail", "Meridian Wool",
    ]  # fmt: skip
    for name in companies:
        answerable_values = {sample.answerable for sample in samples if name in sample.question}
        assert answerable_values == {True, False}, name


def test_readme_describes_how_the_data_was_made() -> None:
    readme = (SHIPPED / "README.md").read_text("utf-8")
    for phrase in ("written manually", "no recording", "One author", "English", "software"):
        assert phrase in readme, phrase


def test_edited_question_is_detected(tmp_path: Path) -> None:
    first, *_ = SEARCH.read_bytes().splitlines(keepends=True)
    row = msgspec.json.decode(first, type=FrozenQuery)
    path = tmp_path / "search.jsonl"
    path.write_bytes(to_json_bytes(msgspec.structs.replace(row, query="Why?")) + b"\n")
    with pytest.raises(Exception, match="hash"):
        read_frozen_queries(path)
