"""Tests prices, rate limits and answer probabilities."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.model.completion import Completion
from eval.model.options import ClientOptions
from eval.model.prices import Price, find_price, read_prices
from eval.model.replies.probability import compute_answer_probability
from eval.model.server.limits import RateLimits
from kg.base.errors import MissingFileError, RecordError


def test_a_price_is_dollars_per_million_tokens() -> None:
    price = find_price("openai/gpt-4o-mini", None)
    assert price == Price(0.15, 0.6)
    assert price.compute_cost(1_000_000, 500_000) == pytest.approx(0.45)
    assert price.compute_cost(0, 0) == 0.0


@pytest.mark.parametrize("name", ["ollama/gpt-4o-mini", "gpt-4o-mini", "openai/gpt-4o-mini-x", ""])
def test_an_unknown_model_has_no_price(name: str) -> None:
    assert find_price(name, None) is None


def test_user_prices_override_shipped_prices(tmp_path: Path) -> None:
    price_file = tmp_path / "prices.json"
    price_file.write_text('{"openai/gpt-4o-mini": {"prompt": 1, "completion": 2}}')
    assert find_price("openai/gpt-4o-mini", price_file) == Price(1, 2)
    assert find_price("openai/gpt-4o", price_file) == find_price("openai/gpt-4o", None)
    with pytest.raises(MissingFileError):
        find_price("openai/gpt-4o", tmp_path / "none.json")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b'{"m": 1}',
        b'{"m": {"prompt": 1}}',
        b'{"m": {"prompt": -1, "completion": 1}}',
        b'{"m": {"prompt": "1", "completion": 1}}',
        b'{"m": {"prompt": 1, "completion": 1, "per": "1k"}}',
        b"\xff",
        b"[" * 100_000,
        b" " * 5_000_000 + b"{}",
    ],
)
def test_price_table_in_another_format_is_refused(raw: bytes) -> None:
    with pytest.raises(RecordError):
        read_prices(raw, "prices.json")


def measure_start_times(options: ClientOptions, calls: int, used: int = 0) -> list[float]:
    """Returns the start times in seconds of ``calls`` calls of 400 bytes and 100 tokens each.

    ``used`` is the number of tokens that the server counts per call; 0: as many as were reserved.
    """

    async def run_calls() -> list[float]:
        limits = RateLimits(options)
        times = []
        start = time.monotonic()
        for _ in range(calls):
            reserved = await limits.wait_for_turn(400, 100)
            times.append(time.monotonic() - start)
            limits.correct_reservation(reserved, used or reserved)
        return times

    return asyncio.run(run_calls())


def test_no_limits_cause_no_wait() -> None:
    assert measure_start_times(ClientOptions(), 1000)[-1] < 10


def test_requests_are_spread_evenly() -> None:
    times = measure_start_times(ClientOptions(requests_per_minute=600), 16)
    # The limit is ten calls a second: ten start at once, and the other six every tenth of a second.
    assert times[15] - times[9] >= 0.55
    assert times[15] < 10


def test_token_limit_uses_the_token_counts_of_the_server() -> None:
    # Each call reserves 200 tokens: 100 for its 400 bytes and 100 for the reply. At 6,000 a minute,
    # 1,000 tokens may be used at once and then 100 a second.
    options = ClientOptions(tokens_per_minute=6_000)
    # If each call uses only 20 tokens, sixteen calls fit into the first 1,000. With 200 each they
    # would take 22 s.
    assert measure_start_times(options, 16, used=20)[-1] < 10
    # If each call uses 520 tokens, the second call also pays for the excess of the first, and the
    # third has to wait.
    assert measure_start_times(options, 3, used=520)[-1] > 0.3


@pytest.mark.parametrize(
    ("options", "burst"),
    [
        (ClientOptions(requests_per_minute=600), 10),
        (ClientOptions(tokens_per_minute=120_000), 100),
    ],
    ids=["requests", "tokens"],
)
def test_a_pause_also_stops_calls_that_already_wait(options: ClientOptions, burst: int) -> None:
    async def run_calls() -> list[float]:
        limits = RateLimits(options)
        times: list[float] = []

        async def start_call() -> None:
            await limits.wait_for_turn(400, 100)
            times.append(time.monotonic())

        # The first calls start at once; the others wait for the limit of ten a second.
        calls = [asyncio.create_task(start_call()) for _ in range(burst + 16)]
        while len(times) < burst:
            await asyncio.sleep(0)
        limits.pause_requests(1.2)
        resumed = time.monotonic() + 1.2
        await asyncio.gather(*calls)
        return [started - resumed for started in times]

    times = asyncio.run(run_calls())
    assert all(seconds >= -0.01 for seconds in times[burst:])
    if burst == 10:  # no more start at once after the pause than at the beginning
        assert sum(0 <= seconds < 0.05 for seconds in times) <= burst + 1


def test_a_request_larger_than_the_limit_still_starts() -> None:
    assert len(measure_start_times(ClientOptions(tokens_per_minute=600), 1)) == 1


def make_completion(*tokens: tuple[str, float]) -> Completion:
    return Completion("".join(token for token, _ in tokens), logprobs=tokens)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([('{"', -1.0), ("answer", -1.0), ('": "', -1.0), ("YES", -0.1), ('"}', -1.0)], -0.1),
        ([('{"answer":"', -1.0), ("UN", -0.2), ("KNOWN", -0.3), ('"', -1.0), ("}", -1.0)], -0.5),
        ([('{"answer": "N', -0.7), ('O"}', -0.4)], -1.1),
        # Only the answer field counts, not an answer word in the reason.
        (
            [
                ('{"reason": "', 0.0),
                ("YES", -3.0),
                ('", "answer": "', 0.0),
                ("NO", -0.2),
                ('"}', 0),
            ],
            -0.2,
        ),
        ([('{"reason": "\\"answer\\": \\"YES\\""', -3.0), (', "answer": "NO"}', -0.2)], -0.2),
        ([("The answer", -1.0), (" is", -1.0), (" No", -0.3), (".", -1.0)], -0.3),
        ([("Unknown", -0.6), (", not yes", -2.0)], -0.6),
        ([("There is no doubt", -9.0), (': {"answer": "', 0.0), ("no", -0.4), ('"}', 0.0)], -0.4),
        (
            [('<think>{"answer": "NO"}</think>{"answer": "', -9.0), ("YES", -0.1), ('"}', 0.0)],
            -0.1,
        ),
    ],
)
def test_probability_uses_the_answer_tokens(
    tokens: list[tuple[str, float]], expected: float
) -> None:
    assert compute_answer_probability(make_completion(*tokens)) == pytest.approx(math.exp(expected))


def test_no_tokens_or_answer_give_no_probability() -> None:
    assert compute_answer_probability(Completion("YES")) is None
    assert (
        compute_answer_probability(make_completion(("Nobody", -0.1), (" yesterday", -0.1))) is None
    )
    assert compute_answer_probability(make_completion(('{"answer": "MAYBE"}', -0.1))) is None


@given(st.text(), st.sampled_from(["YES", "NO", "UNKNOWN"]), st.data())
def test_probability_is_valid_for_any_tokenisation(
    reason: str, answer: str, data: st.DataObject
) -> None:
    import json

    text = json.dumps({"answer": answer, "reason": reason})
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)))) | {0, len(text)})
    tokens = [
        (text[token_start:token_end], -0.01) for token_start, token_end in itertools.pairwise(cuts)
    ]
    probability = compute_answer_probability(make_completion(*tokens))
    assert probability is not None
    assert 0 < probability <= 1
    start = text.index(answer)
    answer_tokens = sum(
        token_start < start + len(answer) and token_end > start
        for token_start, token_end in itertools.pairwise(cuts)
    )
    assert probability == pytest.approx(math.exp(-0.01 * answer_tokens))
