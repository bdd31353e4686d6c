"""Tests which failed attempts are retried, and after which wait."""

from __future__ import annotations

import math
from email.utils import formatdate
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.model.options import ClientOptions
from eval.model.server.backoff import Attempts, parse_retry_after
from eval.model.server.failures import Failure, FailureKind

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
def test_retry_after_is_parsed_in_both_formats(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header, NOW) == seconds


@given(st.text() | st.text(alphabet="0123456789+-.eE:, GMTJanFebWed") | st.floats().map(str))
def test_any_retry_after_gives_a_wait_or_none(header: str) -> None:
    seconds = parse_retry_after(header, NOW)
    assert seconds is None or (seconds >= 0 and math.isfinite(seconds))


@given(
    retries=st.integers(0, 12),
    backoff=st.floats(0.001, 10),
    max_wait=st.floats(0.001, 100),
    header=st.none() | st.floats(0, 1e6).map(str),
    seed=st.integers(0, 9),
)
def test_waits_double_up_to_a_limit(
    retries: int, backoff: float, max_wait: float, header: str | None, seed: int
) -> None:
    options = ClientOptions(max_retries=retries, backoff_s=backoff, max_wait_s=max_wait)
    attempts = Attempts(options, Random(seed))
    failure = Failure(FailureKind.temporary, "busy", header)
    for number in range(retries):
        wait = attempts.compute_wait(failure, has_answered=True)
        assert wait is not None
        upper_limit = min(backoff * 2**number, max_wait)
        if header is None:
            assert upper_limit / 2 <= wait.seconds <= upper_limit
            assert wait.pause_all_s == 0
        else:
            assert wait.pause_all_s == min(float(header), max_wait)
            assert wait.pause_all_s <= wait.seconds <= wait.pause_all_s + backoff
    assert attempts.compute_wait(failure, has_answered=True) is None
    assert attempts.retries == retries


def test_same_seed_gives_the_same_waits() -> None:
    def list_waits(seed: int) -> list[object]:
        attempts = Attempts(ClientOptions(), Random(seed))
        return [
            attempts.compute_wait(Failure(FailureKind.temporary, ""), has_answered=True)
            for _ in range(8)
        ]

    assert list_waits(1) == list_waits(1) != list_waits(2)


@pytest.mark.parametrize(
    "fault_kind",
    [k for k in FailureKind if k not in {FailureKind.temporary, FailureKind.unreached}],
)
def test_permanent_faults_are_not_retried(fault_kind: FailureKind) -> None:
    assert (
        Attempts(ClientOptions(), Random(0)).compute_wait(
            Failure(fault_kind, ""), has_answered=True
        )
        is None
    )


def test_unreachable_server_gets_fewer_retries() -> None:
    def count_retries(reached: bool) -> int:
        attempts = Attempts(ClientOptions(), Random(0))
        while attempts.compute_wait(Failure(FailureKind.unreached, ""), has_answered=reached):
            pass
        return attempts.retries

    full_count = count_retries(reached=True)
    assert full_count == ClientOptions().max_retries > count_retries(reached=False) > 0


def test_no_retry_begins_after_the_deadline() -> None:
    attempts = Attempts(ClientOptions(deadline_s=0.0), Random(0))
    assert attempts.compute_wait(Failure(FailureKind.temporary, ""), has_answered=True) is None
