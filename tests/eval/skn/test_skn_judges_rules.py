"""Tests what rule-based judges can and cannot decide, and that they are deterministic."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.skn.items import read_samples
from eval.skn.judges.record import Verdicts
from eval.skn.judges.rule_judges import RuleJudges, is_correct, judge_claims
from eval.skn.search_source import SHIPPED

QUESTION = "Why does my pod end with exit code 137?"
TRUTH = "The container exceeded its memory limit and was killed by the OOM killer."
SOURCES = """[Result 1]
Title: Exit codes
URL: https://example.org/1
Content: Exit code 137 means that the container got SIGKILL. The OOM killer ended it after it \
exceeded its memory limit of 512 MiB.

[Result 2]
Title: Probes
URL: https://example.org/2
Content: A failing liveness probe does not raise the memory limit."""
ANSWER_SENTENCES = (
    *("The container exceeded its memory limit.", "It needs 512 MiB.", "It needs 256 MiB.", "Why?"),
    *("A probe does not raise the limit.", "I cannot tell.", "Zebras run.", "\n", " ", "\x00"),
)
TEXT = st.lists(st.sampled_from(ANSWER_SENTENCES), max_size=6).map(" ".join)


def judge_answer(answer: str, truth: str | None = TRUTH, key: str = "k") -> Verdicts:
    return asyncio.run(
        RuleJudges().judge_answer(
            question=QUESTION, answer=answer, ground_truth=truth, sources=SOURCES, seed_key=key
        )
    )


def test_answer_from_the_sources_is_grounded() -> None:
    verdicts = judge_answer("The OOM killer ended the container. It exceeded its memory limit.")
    assert verdicts.correct is True
    assert verdicts.correct_votes == (True,)
    assert (verdicts.hallucination.total_claims, verdicts.hallucination.fabricated) == (2, 0)
    assert verdicts.hallucination.severity == 0
    assert verdicts.unsupported_fraction == 0
    assert verdicts.failures == {}
    assert verdicts.failed == ()
    assert verdicts.usage is None


def test_invented_answer_is_hallucinated() -> None:
    verdicts = judge_answer("Zebras stampeded through the datacentre. They chewed the cables.")
    assert verdicts.correct is False
    assert verdicts.hallucination.fabricated == verdicts.hallucination.total_claims == 2
    assert verdicts.hallucination.fabricated_claims[0] == "Zebras stampeded through the datacentre."
    assert verdicts.hallucination.severity == 1
    assert (verdicts.groundedness, verdicts.unsupported_fraction) == (0, 1)


@pytest.mark.parametrize(
    ("claim", "supported"),
    [
        ("It exceeded its memory limit of 512 MiB.", True),
        ("It exceeded its memory limit of 256 MiB.", False),
        ("A failing liveness probe does not raise the memory limit.", True),
        ("A failing liveness probe raises the memory limit.", False),
        ("The OOM killer did not end it.", False),
    ],
)
def test_numbers_and_negations_decide_support(claim: str, supported: bool) -> None:
    counts, groundedness = judge_claims(QUESTION, claim, SOURCES)
    assert counts.total_claims == 1
    assert counts.detected is not supported
    assert groundedness.unsupported_fraction == (0 if supported else 1)


@pytest.mark.parametrize(
    "answer", ["", "I cannot tell.", "Exit code 137?", "The pod ends with 137."]
)
def test_answer_without_claims_has_no_groundedness(answer: str) -> None:
    verdicts = judge_answer(answer)
    assert verdicts.hallucination.total_claims == 0
    assert verdicts.groundedness is None
    assert verdicts.unsupported_fraction is None
    assert verdicts.failed == ()


def test_repeating_the_question_is_not_correct() -> None:
    assert not is_correct(QUESTION, QUESTION, TRUTH)
    # It is correct if the right answer has no other words.
    assert is_correct("Is it the memory limit?", "The memory limit.", "The memory limit.")
    assert not is_correct("", "", "")


def test_without_sources_nothing_is_supported() -> None:
    counts, groundedness = judge_claims(QUESTION, "It exceeded its memory limit.", "")
    assert counts.fabricated_claims == ("It exceeded its memory limit.",)
    assert groundedness.groundedness == 0


def test_accuracy_is_not_judged_without_ground_truth() -> None:
    verdicts = judge_answer("It exceeded its memory limit.", truth=None)
    assert verdicts.correct is None
    assert verdicts.correct_votes == ()


def test_verdicts_do_not_depend_on_the_format() -> None:
    expected = judge_answer("The OOM killer ended it, notes say.")
    assert judge_answer("The OOM killer ended it, @facts say.") == expected
    assert judge_answer("[SKN] The OOM killer ended it, @gaps say.") == expected


@given(TEXT)
def test_verdicts_are_consistent_and_deterministic(answer: str) -> None:
    verdicts = judge_answer(answer)
    assert verdicts == judge_answer(answer, key="another")
    counts = verdicts.hallucination
    assert counts.total_claims is not None
    assert counts.fabricated is not None
    assert counts.severity is not None
    assert 0 <= counts.fabricated <= counts.total_claims
    assert (counts.severity == 0) == (counts.fabricated == 0)
    assert (verdicts.groundedness is None) == (counts.total_claims == 0)
    if verdicts.groundedness is not None:
        assert 0 <= verdicts.groundedness <= 1
        assert verdicts.unsupported_fraction == counts.severity


@given(TEXT, TEXT)
def test_added_text_never_makes_an_answer_wrong(answer: str, addition: str) -> None:
    if is_correct(QUESTION, answer, TRUTH):
        assert is_correct(QUESTION, f"{answer}\n{addition}", TRUTH)


def test_rule_judges_describe_themselves() -> None:
    params = RuleJudges().params()
    assert params["by"] == "rules"
    assert "overlap" in str(params)


def test_shipped_answers_are_wrong_for_other_samples() -> None:
    samples = [sample for sample in read_samples(SHIPPED / "samples.json") if sample.answerable]
    accepted_pairs = [
        (question_sample.id, answer_sample.id)
        for question_sample in samples
        for answer_sample in samples
        if is_correct(
            question_sample.question, answer_sample.ground_truth, question_sample.ground_truth
        )
    ]
    assert accepted_pairs == [(sample.id, sample.id) for sample in samples]
