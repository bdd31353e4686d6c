"""When a failed attempt is made again, and how long that waits."""

from __future__ import annotations

import math
from email.utils import formatdate
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.model.failures import Failure, Kind
from eval.model.options import ClientOptions
from eval.model.retrying import Attempts, retry_after_seconds

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        (formatdate(NOW + 90, usegmt=True), 90.0),
        (formatdate(NOW - 90, usegmt=True), 0.0),
        ("Fri, 31 Feb 2026 00:00:00 GMT", None),
        ("Wed, 21 Oct 99999 07:28:00 GMT", None),
    ],
)
def test_retry_after_is_read_in_both_forms(header: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(header, NOW) == seconds


@given(st.text() | st.text(alphabet="0123456789+-.eE:, GMTJanFebWed") | st.floats().map(str))
def test_any_retry_after_gives_a_wait_or_nothing(header: str) -> None:
    seconds = retry_after_seconds(header, NOW)
    assert seconds is None or (seconds >= 0 and math.isfinite(seconds))


@given(
    retries=st.integers(0, 12),
    backoff=st.floats(0.001, 10),
    longest=st.floats(0.001, 100),
    header=st.none() | st.floats(0, 1e6).map(str),
    seed=st.integers(0, 9),
)
def test_waits_double_are_capped_and_end(
    retries: int, backoff: float, longest: float, header: str | None, seed: int
) -> None:
    options = ClientOptions(max_retries=retries, backoff_s=backoff, longest_wait_s=longest)
    attempts = Attempts(options, Random(seed))
    failure = Failure(Kind.again, "busy", header)
    for number in range(retries):
        wait = attempts.next_wait(failure, reached=True)
        assert wait is not None
        most = min(backoff * 2**number, longest)
        if header is None:
            assert most / 2 <= wait.seconds <= most
            assert wait.everyone == 0
        else:
            assert wait.everyone == min(float(header), longest)
            assert wait.everyone <= wait.seconds <= wait.everyone + backoff
    assert attempts.next_wait(failure, reached=True) is None
    assert attempts.retries == retries


def test_the_same_seed_waits_the_same() -> None:
    def waits(seed: int) -> list[object]:
        attempts = Attempts(ClientOptions(), Random(seed))
        return [attempts.next_wait(Failure(Kind.again, ""), reached=True) for _ in range(8)]

    assert waits(1) == waits(1) != waits(2)


@pytest.mark.parametrize("kind", [k for k in Kind if k not in {Kind.again, Kind.unreached}])
def test_what_will_not_pass_is_not_tried_again(kind: Kind) -> None:
    assert Attempts(ClientOptions(), Random(0)).next_wait(Failure(kind, ""), reached=True) is None


def test_a_server_that_never_answered_is_given_up_sooner() -> None:
    def granted(reached: bool) -> int:
        attempts = Attempts(ClientOptions(), Random(0))
        while attempts.next_wait(Failure(Kind.unreached, ""), reached=reached):
            pass
        return attempts.retries

    assert granted(True) == ClientOptions().max_retries > granted(False) > 0


def test_no_retry_begins_after_the_deadline() -> None:
    attempts = Attempts(ClientOptions(deadline_s=0.0), Random(0))
    assert attempts.next_wait(Failure(Kind.again, ""), reached=True) is None
