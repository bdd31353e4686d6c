"""Tests that votes give a verdict by majority, and that a lost vote never counts either way."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from eval.judges.agreement import measure_vote_agreement
from eval.judges.votes import find_majority, is_undecided

FINDINGS = ("supported", "contradicted", "not_told")
VOTE_LISTS = st.one_of(
    st.lists(st.one_of(st.none(), st.booleans()), max_size=9),
    st.lists(st.sampled_from([*FINDINGS, None]), max_size=9),
)


@given(VOTE_LISTS, st.integers(1, 5))
def test_majority_of_readable_votes_decides(votes: list[object], planned: int) -> None:
    readable = [vote for vote in votes if vote is not None]
    verdict = find_majority(votes, planned)
    if 2 * len(readable) < planned or not readable:
        assert verdict is None
        assert not is_undecided(votes, planned), "a deciding vote replaces no lost ones"
    else:
        most_common, count = Counter(readable).most_common(1)[0]
        has_majority = 2 * count > len(readable)
        assert verdict == (most_common if has_majority else None)
        assert is_undecided(votes, planned) == (not has_majority)
    # Neither the order nor further lost votes matter.
    assert find_majority(votes[::-1], planned) == verdict
    assert find_majority([*votes, None], planned) == verdict
    assert is_undecided([*votes, None], planned) == is_undecided(votes, planned)


def test_tie_of_two_votes_is_decided_by_a_third() -> None:
    for first, second in itertools.product(FINDINGS, FINDINGS):
        assert is_undecided([first, second], 2) == (first != second)
    assert find_majority([True, False], 2) is None
    assert find_majority([True, False, False], 2) is False
    assert find_majority([True, False, None], 2) is None
    assert find_majority(["supported", "not_told", "contradicted"], 2) is None
    # One readable vote of two suffices, one of three does not.
    assert find_majority([True, None], 2) is True
    assert find_majority([True, None, None], 3) is None
    assert not is_undecided([True, None], 2)
    assert not is_undecided([None, None], 2)


def test_agreement_leaves_out_answers_with_lost_votes() -> None:
    agreement = measure_vote_agreement(
        [(True, True), (True, False), (False, None), (), (False,) * 2]
    )
    assert (agreement.agreed, agreement.n, agreement.incomplete) == (2 / 3, 3, 1)
    assert agreement.kappa is not None
    assert measure_vote_agreement([("supported",), ("not_told",)]).agreed is None
    assert measure_vote_agreement([]).agreed is None
