"""What votes come to, what a verdict may say, and that a failed vote is never one."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.judges.votes import enough
from eval.model.structured import form_of, strict_schema
from eval.skn.judges.prompts import ACCURACY, GROUNDEDNESS, HALLUCINATION
from eval.skn.judges.record import GroundednessVote, HallucinationVote
from eval.skn.judges.voting import groundedness_of, hallucination_of, majority, tied

VOTES = st.lists(st.one_of(st.none(), st.booleans()), max_size=9)


@st.composite
def counts(draw: st.DrawFn) -> HallucinationVote:
    total = draw(st.integers(0, 12))
    claims = tuple(f"claim {n}" for n in range(draw(st.integers(0, total))))
    return HallucinationVote(total, claims, draw(st.floats(0, 1)), bool(claims))


@given(VOTES, st.integers(1, 5))
def test_a_majority_is_one(votes: list[bool | None], planned: int) -> None:
    found = majority(votes, planned)
    yes, no = votes.count(True), votes.count(False)
    if found is not None:
        assert (yes > no) == found
        assert 2 * (yes + no) >= planned
    else:
        assert yes == no or 2 * (yes + no) < planned
    # Order does not matter, and turning every vote round turns the verdict round.
    assert majority(votes[::-1], planned) == found
    turned = majority([None if vote is None else not vote for vote in votes], planned)
    assert turned == (None if found is None else not found)


@given(VOTES, st.integers(1, 5))
def test_a_failed_vote_counts_for_neither_side(votes: list[bool | None], planned: int) -> None:
    assert tied(votes) == tied([*votes, None])
    assert majority([*votes, None], planned) == majority(votes, planned)


def test_two_that_differ_are_tied_and_a_third_decides() -> None:
    assert tied([True, False])
    assert not tied([True, None])
    assert not tied([None, None])
    assert majority([True, False], 2) is None
    assert majority([True, False, False], 2) is False
    assert majority([True, False, None], 2) is None
    # One of two suffices, one of three does not.
    assert majority([True, None], 2) is True
    assert majority([True, None, None], 3) is None


@given(st.lists(st.one_of(st.none(), counts()), max_size=7), st.integers(1, 4))
def test_medians_of_counts_never_contradict_each_other(
    votes: list[HallucinationVote | None], planned: int
) -> None:
    found = hallucination_of(votes, planned)
    read = [vote for vote in votes if vote is not None]
    assert found.votes == tuple(votes)
    if not enough(len(read), planned):
        assert (found.total_claims, found.fabricated, found.severity) == (None, None, None)
        assert found.detected is None
        return
    assert found.total_claims is not None
    assert found.fabricated is not None
    assert found.severity is not None
    assert 0 <= found.fabricated <= found.total_claims
    assert 0 <= found.severity <= 1
    assert found.fabricated_claims in [vote.fabricated_claims for vote in read]


def test_groundedness_of_an_answer_without_claims_is_null_and_no_failure() -> None:
    nothing, half = GroundednessVote(None, None), GroundednessVote(0.5, 0.25)
    assert groundedness_of([nothing, nothing], 2) == (None, None, True)
    assert groundedness_of([nothing, None], 2) == (None, None, True)
    assert groundedness_of([None, None], 2) == (None, None, False)
    assert groundedness_of([half, nothing, nothing], 3) == (None, None, True)
    assert groundedness_of([half, None], 2) == (0.5, 0.25, True)
    assert groundedness_of([half, GroundednessVote(1.0, 0.0)], 2) == (0.75, 0.125, True)


GOOD = {
    "accuracy": ('{"correct": true}', '```json\n{"correct": false}\n```', 'So: {"correct": true}.'),
    "hallucination": (
        '{"total_claims": 3, "fabricated_claims": ["one"], "severity": 0.2}',
        '{"total_claims": 0, "fabricated_claims": [], "severity": 0}',
    ),
    "groundedness": (
        '{"makes_claims": true, "groundedness": 1, "unsupported_fraction": 0}',
        '{"makes_claims": true, "groundedness": 0.4, "unsupported_fraction": 0.5}',
        '{"makes_claims": false, "groundedness": 1, "unsupported_fraction": 0}',
    ),
}
BAD = {
    "accuracy": (
        '{"correct": "false"}',
        '{"correct": 1}',
        '{"correct": null}',
        '{"correct": NaN}',
        '{"correct": [true]}',
        '{"correct": true, "correct": false}',
        '{"correct": true} {"correct": false}',
        "{}",
        "true",
        "The answer is correct.",
        "",
    ),
    "hallucination": (
        '{"total_claims": null, "fabricated_claims": [], "severity": 0}',
        '{"total_claims": "eight", "fabricated_claims": [], "severity": 0}',
        '{"total_claims": "8", "fabricated_claims": [], "severity": 0}',
        '{"total_claims": 2.5, "fabricated_claims": [], "severity": 0}',
        '{"total_claims": [1], "fabricated_claims": [], "severity": 0}',
        '{"total_claims": true, "fabricated_claims": [], "severity": 0}',
        '{"total_claims": -1, "fabricated_claims": [], "severity": 0}',
        '{"total_claims": 1000000000, "fabricated_claims": [], "severity": 0}',
        '{"total_claims": 1, "fabricated_claims": ["a", "b"], "severity": 0.5}',
        '{"total_claims": 0, "fabricated_claims": ["a"], "severity": 0.5}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": 1.5}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": -0.5}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": NaN}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": Infinity}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": 1e999}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": "0.5"}',
        '{"total_claims": 3, "fabricated_claims": ["a"], "severity": 0}',
        '{"total_claims": 3, "fabricated_claims": [], "severity": 0.5}',
        '{"total_claims": 3, "fabricated_claims": null, "severity": 0.5}',
        '{"total_claims": 3, "fabricated_claims": "a", "severity": 0.5}',
        '{"total_claims": 3, "fabricated_claims": [1], "severity": 0.5}',
        '{"total_claims": 3, "fabricated_claims": ["a", " A"], "severity": 0.5}',
        '{"total_claims": 3, "fabricated_claims": [" "], "severity": 0.5}',
        '{"total_claims": 3, "severity": 0.5}',
        '[3, ["a"], 0.5]',
    ),
    "groundedness": (
        '{"makes_claims": true, "groundedness": 1.2, "unsupported_fraction": 0}',
        '{"makes_claims": true, "groundedness": -0.1, "unsupported_fraction": 1}',
        '{"makes_claims": true, "groundedness": NaN, "unsupported_fraction": 0}',
        '{"makes_claims": true, "groundedness": "0.8", "unsupported_fraction": 0.2}',
        '{"makes_claims": true, "groundedness": null, "unsupported_fraction": 0.2}',
        '{"makes_claims": true, "groundedness": 0.8, "unsupported_fraction": 20}',
        '{"makes_claims": true, "groundedness": 1, "unsupported_fraction": 0.2}',
        '{"makes_claims": true, "groundedness": 0, "unsupported_fraction": 0}',
        '{"makes_claims": "yes", "groundedness": 1, "unsupported_fraction": 0}',
        '{"groundedness": 0.8, "unsupported_fraction": 0.2}',
        "[0.8, 0.2]",
        "0.8",
    ),
}
KINDS = {kind.name: kind for kind in (ACCURACY, HALLUCINATION, GROUNDEDNESS)}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in GOOD.items() for t in texts])
def test_a_verdict_is_read(name: str, text: str) -> None:
    read = form_of(KINDS[name].reply).read(text)
    assert read.problem is None
    assert read.value is not None


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in BAD.items() for t in texts])
def test_a_verdict_that_is_none_or_contradicts_itself_is_unreadable(name: str, text: str) -> None:
    read = form_of(KINDS[name].reply).read(text)
    assert read.value is None
    assert read.problem


def test_servers_that_follow_schemas_are_given_every_field() -> None:
    for kind in KINDS.values():
        schema = strict_schema(kind.reply)
        assert schema["required"] == [field.name for field in msgspec.structs.fields(kind.reply)]
        assert schema["additionalProperties"] is False


def test_claims_are_kept_fit_to_show() -> None:
    text = '{"total_claims": 9, "fabricated_claims": ["a\\u001b[31m\\nb", "%s"], "severity": 1}'
    read = form_of(HALLUCINATION.reply).read(text % ("x" * 5_000))
    assert read.value is not None
    first, second = read.value.vote().fabricated_claims
    assert first == "a[31m b"
    assert len(second) == 500


def test_prompts_name_no_format() -> None:
    for kind in KINDS.values():
        words = (kind.prompt.system + " ".join(kind.prompt.blocks)).casefold()
        for name in ("skn", "json", "notation", "pipeline", "extract", "@", "format"):
            assert name not in words, (kind.name, name)


def test_every_prompt_asks_with_the_question() -> None:
    assert all("question" in kind.prompt.blocks for kind in KINDS.values())
    for one, other in itertools.combinations(KINDS.values(), 2):
        assert one.prompt.params() != other.prompt.params()
