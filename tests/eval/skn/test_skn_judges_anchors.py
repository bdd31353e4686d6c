"""Tests the measures of judge quality: errors on anchors, and agreement between votes."""

from __future__ import annotations

import asyncio
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.skn.judges.agreement import measure_agreement
from eval.skn.judges.anchors import AnchorRow, assign_wrong_answers, judge_anchors
from eval.skn.judges.record import (
    Failure,
    GroundednessVote,
    Hallucination,
    HallucinationVote,
    Verdicts,
)
from kg.base.proportions import wilson_interval
from kg.words.normaliser import normalise_phrase

TRUTHS = st.dictionaries(
    st.text("ab1\ud800", min_size=1, max_size=4),
    st.sampled_from(["x", "X.", "y", "z w"]),
    max_size=12,
)


@given(TRUTHS, st.integers(0, 5))
def test_every_sample_gets_the_answer_of_another_sample(truths: dict[str, str], seed: int) -> None:
    wrong_answers = assign_wrong_answers(truths, seed)
    assert wrong_answers == assign_wrong_answers(dict(reversed(truths.items())), seed)
    for name, wrong_answer in wrong_answers.items():
        assert normalise_phrase(wrong_answer) != normalise_phrase(truths[name])
        assert wrong_answer in truths.values()
    distinct_truths = {normalise_phrase(truth) for truth in truths.values()}
    assert set(wrong_answers) == (set(truths) if len(distinct_truths) > 1 else set())


def test_every_answer_is_used_once_in_a_seeded_order() -> None:
    truths = {f"s{n}": f"answer {n}" for n in range(42)}
    assignments = [assign_wrong_answers(truths, seed) for seed in (1, 2)]
    assert all(
        Counter(wrong_answers.values()) == Counter(truths.values()) for wrong_answers in assignments
    )
    assert assignments[0] != assignments[1]


class ScriptedJudges:
    """Judges that look up the votes of an answer in a table and always give one verdict."""

    def __init__(self, votes: dict[str, tuple[bool | None, ...]], verdict: bool | None) -> None:
        self.votes = votes
        self.verdict = verdict

    def params(self) -> dict[str, object]:
        return {}

    async def judge_answer(self, **_: object) -> Verdicts:
        raise AssertionError("anchors ask for accuracy only")

    async def judge_correctness(
        self, *, question: str, answer: str, ground_truth: str, seed_key: str
    ) -> Verdicts:
        failure = Failure("accuracy", 1, "call", "HTTP 500")
        return Verdicts(
            correct=self.verdict,
            correct_votes=self.votes[answer],
            planned_votes=2,
            problems=(failure,) if None in self.votes[answer] else (),
        )


def test_anchor_keeps_only_planned_votes_and_failure_reasons() -> None:
    judges = ScriptedJudges({"right": (True, False, True), "wrong": (None, False)}, True)

    def judge_anchor(wrong_answer: str | None) -> AnchorRow:
        return asyncio.run(
            judge_anchors(
                judges,
                id="s1",
                question="Why?",
                ground_truth="right",
                wrong_answer=wrong_answer,
                seed_key="s1",
            )
        )

    row = judge_anchor("wrong")
    assert (row.right_votes, row.wrong_votes) == ((True, False), (None, False))
    assert [problem.kind for problem in row.problems] == ["call"]
    assert row.asked_wrong
    assert msgspec.json.decode(msgspec.json.encode(row), type=AnchorRow) == row
    right_only_row = judge_anchor(None)
    assert (right_only_row.wrong, right_only_row.wrong_votes, right_only_row.asked_wrong) == (
        None,
        (),
        False,
    )


def make_anchor(
    right_votes: tuple[bool | None, ...], wrong_votes: tuple[bool | None, ...]
) -> AnchorRow:
    return AnchorRow(
        id="s",
        right=right_votes[0],
        wrong=wrong_votes[0],
        right_votes=right_votes,
        wrong_votes=wrong_votes,
    )


def make_verdict(*votes: bool | None, deciding_votes: tuple[bool, ...] = ()) -> Verdicts:
    return Verdicts(
        correct_votes=(*votes, *deciding_votes),
        planned_votes=len(votes),
        hallucination=Hallucination(),
    )


def test_agreement_matches_manual_values() -> None:
    # Votes as in the example of Cohen's κ: 20 both yes, 5 and 10 split, 15 both no.
    verdicts = [
        *[make_verdict(True, True)] * 20,
        *[make_verdict(True, False, deciding_votes=(True,))] * 5,
        *[make_verdict(False, True, deciding_votes=(True,))] * 10,
        *[make_verdict(False, False)] * 15,
        make_verdict(True, None),
        Verdicts(correct=False, planned_votes=2),  # an answer without text, which has no votes
    ]
    rows = [
        *[make_anchor((True, True), (False, False))] * 6,
        *[make_anchor((True, True), (True, True))] * 2,
        *[make_anchor((False, False), (False, True))],
        *[make_anchor((None, True), (False, None))],
    ]
    agreement = measure_agreement(verdicts, rows)
    assert agreement.votes == 2
    assert agreement.kappa == pytest.approx(0.4)
    assert (agreement.n, agreement.accuracy.incomplete) == (50, 1)
    assert agreement.accuracy.agreed == pytest.approx(0.7)
    assert (
        agreement.sensitivity.value,
        agreement.sensitivity.n,
        agreement.sensitivity.unjudged,
    ) == (
        8 / 9,
        9,
        1,
    )
    assert (agreement.specificity.value, agreement.specificity.n) == (8 / 10, 10)
    assert (agreement.specificity.low, agreement.specificity.high) == wilson_interval(8, 10)
    # Of 18 anchors with both votes, both judges err on 3 and only the second errs on 1 more:
    # φ = (18·3 - 3·4) / √(3·15·4·14).
    assert agreement.error_correlation == pytest.approx(42 / 2520**0.5)


def test_one_vote_has_no_agreement() -> None:
    agreement = measure_agreement(
        [make_verdict(True), make_verdict(False)], [make_anchor((True,), (True,))]
    )
    assert (agreement.kappa, agreement.error_correlation) == (None, None)
    assert (agreement.accuracy.agreed, agreement.accuracy.n) == (None, 2)
    assert agreement.sensitivity.value == 1.0
    assert agreement.specificity.value == 0.0


def test_no_verdicts_give_nulls() -> None:
    agreement = measure_agreement([], [])
    assert (agreement.votes, agreement.kappa, agreement.n) == (0, None, 0)
    assert agreement.accuracy.agreed is None
    assert agreement.sensitivity.value is None
    assert agreement.groundedness_gap is None
    assert agreement.failures == {}
    unjudged = AnchorRow(
        id="s", right=None, wrong=None, right_votes=(None, None), wrong_votes=(), asked_wrong=False
    )
    agreement = measure_agreement([], [unjudged])
    assert (agreement.sensitivity.value, agreement.sensitivity.unjudged) == (None, 1)
    assert (agreement.specificity.n, agreement.specificity.unjudged) == (0, 0)


def test_three_votes_use_fleiss_kappa_and_pairwise_errors() -> None:
    verdicts = [
        make_verdict(True, True, False),
        make_verdict(False, False, False),
        make_verdict(True, True, True),
    ]
    agreement = measure_agreement(
        verdicts, [make_anchor((False, False, True), (False, False, False))]
    )
    # Calculated by hand: P̄ = (1/3 + 1 + 1) / 3 = 7/9, P̄_e = (5/9)² + (4/9)² = 41/81, κ = 22/40.
    assert agreement.kappa == pytest.approx(22 / 40)
    # The third judge never errs, so only the first two have a correlation.
    assert agreement.error_correlation == pytest.approx(1.0)


def test_verdicts_of_different_panels_are_not_mixed() -> None:
    with pytest.raises(ValueError, match="different numbers of planned votes"):
        measure_agreement([make_verdict(True), make_verdict(True, True)])


def test_agreement_on_hallucination_and_groundedness() -> None:
    def make_claim_verdicts(
        first_fabricated: int, second_fabricated: int, *groundedness_values: float | None
    ) -> Verdicts:
        votes = tuple(
            HallucinationVote(3, ("a",) * count, 0.1 * count, bool(count))
            for count in (first_fabricated, second_fabricated)
        )
        return Verdicts(
            planned_votes=2,
            hallucination=Hallucination(votes=votes),
            groundedness_votes=tuple(
                GroundednessVote(value, None) for value in groundedness_values
            ),
            failures={"groundedness": 1} if None in groundedness_values else {},
        )

    agreement = measure_agreement(
        [
            make_claim_verdicts(1, 2, 0.75, 0.5),
            make_claim_verdicts(0, 0, 1.0, 1.0),
            make_claim_verdicts(0, 1, None, 0.5),
        ]
    )
    assert agreement.hallucination.agreed == pytest.approx(2 / 3)
    # Yes-yes, no-no, no-yes: observed 2/3, by chance (1·2 + 2·1) / 9, so κ = (6 - 4) / (9 - 4).
    assert agreement.hallucination.kappa == pytest.approx(0.4)
    assert agreement.groundedness_gap == pytest.approx(0.125)
    assert agreement.failures == {"groundedness": 1}
    assert agreement.kappa is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_deciding_votes_do_not_change_agreement(pairs: list[tuple[bool, bool]]) -> None:
    without_deciding = [make_verdict(*pair) for pair in pairs]
    with_deciding = [
        make_verdict(first, second, deciding_votes=(True,) if first != second else ())
        for first, second in pairs
    ]
    assert measure_agreement(without_deciding) == measure_agreement(with_deciding)
