"""Tests what every benchmark promises if calls of models and judges fail or are unreadable.

One run meets all faults, one per item; the last items meet none.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fault_cases import CASES, FaultCase, Outcomes
from servers import behaviours
from servers.behaviours import API_KEY, Behaviour, ChatRequest, ReplyWriter
from servers.scripted_server import ScriptedServer
from stage_calls import CommandResult, check_error_line, run_epoche

from eval.abstention.systems.registry import system_names
from eval.harness.benchmarks import find_benchmark
from eval.harness.reply import REPLIES, VOTES
from eval.model.providers import PROVIDERS
from eval.skn.formats.pipelines import PIPELINES

pytestmark = pytest.mark.usefixtures("kept_readers")

# Exit codes in these tests: 23 no access to the model, 26 cost limit, 27 too many errors.

MODEL = f"custom/{ScriptedServer.model}"


def reply_with_text(text: str) -> Callable[[ReplyWriter], Behaviour]:
    return lambda _: behaviours.normal_reply(lambda _: text)


FAULTS: dict[str, tuple[Callable[[ReplyWriter], Behaviour], str]] = {
    "429, then success": (lambda _: behaviours.rate_limit_error(0.01), "answered"),
    "500": (lambda _: behaviours.http_error(500, f"no answer for {API_KEY}"), "ERROR"),
    "429": (lambda _: behaviours.rate_limit_error(0.01), "ERROR"),
    "400": (lambda _: behaviours.http_error(400, f"too long, {API_KEY}"), "ERROR"),
    "reset": (lambda _: behaviours.reset_connection(), "ERROR"),
    "empty body": (lambda _: behaviours.reply_with_bytes(lambda _: b""), "ERROR"),
    "not JSON": (lambda _: behaviours.invalid_json_reply(), "ERROR"),
    "web page": (lambda _: behaviours.html_reply(), "ERROR"),
    "truncated body": (behaviours.truncated_reply, "ERROR"),
    "no choices": (lambda _: behaviours.reply_without_choices(), "ERROR"),
    "empty text": (lambda _: behaviours.empty_text_reply(), "INVALID"),
    "refusal": (lambda _: behaviours.refusal_reply(), "INVALID"),
    "cut off": (lambda _: behaviours.cut_off_reply(), "INVALID"),
    "prose": (reply_with_text(f"The weather was fine, {API_KEY}."), "INVALID"),
    "another schema": (reply_with_text('{"weather": ["fine"]}'), "INVALID"),
    "half JSON": (behaviours.half_json_reply, "ERROR"),
    "invalid UTF-8": (lambda _: behaviours.invalid_utf8_reply(), "ERROR"),
    "10 MB": (lambda _: behaviours.huge_reply(), "ERROR"),
    "null text": (lambda _: behaviours.null_text_reply(), "INVALID"),
    "content filter": (lambda _: behaviours.filtered_reply(), "INVALID"),
    "a nest": (reply_with_text("[" * 50_000), "INVALID"),
    "no usage": (behaviours.reply_without_usage, "answered"),
}
"""Name → the behaviour, given the writer of good replies, and what becomes of an item whose calls
all meet it. A command with fewer items meets the first faults."""
CHANGING_KEYS = {
    "rows_sha256",  # of rows with latencies
    "files_sha256",
    "line_digests",
    "content_sha256",
    "started",
    "ended",
    "resumed",
    "replies",
    "cached",
    "retries",
    "repairs",
    "spent_usd",
}
"""Keys of a manifest and of its ``calls`` that differ between equal runs: times, and numbers that
count the calls of all sessions. Tokens are those of the current rows."""
_TIMES = re.compile(rb'"(latency_s|ttft_s|at_s|retries)":[^,}]+')
"""Fields of a row that differ between equal runs, unless all replies come from the cache."""
N_HEALTHY = 3
"""Number of items that meet no fault."""
OPTIONS = ("--retries", 1, "--concurrency", 64)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    provider_variables = {
        name for p in PROVIDERS.values() for name in (p.url_variable, p.key_variable)
    }
    with ScriptedServer() as server, pytest.MonkeyPatch.context() as patch:
        for name in (*sorted(provider_variables), "EPOCHE_MODEL", "EPOCHE_JUDGE_MODEL"):
            patch.delenv(name, raising=False)
        patch.setenv("EPOCHE_BASE_URL", server.base_url)
        patch.setenv("EPOCHE_API_KEY", server.api_key)
        yield server


def is_warm_up(request: ChatRequest) -> bool:
    return "<" not in request.prompt and "ready" in request.prompt


@dataclass
class Workplace:
    """A folder with the inputs of a case, the server that it asks, and its command."""

    case: FaultCase
    folder: Path
    server: ScriptedServer
    faults: list[str]
    results: list[CommandResult] = field(default_factory=list)

    def run(self, name: str, *options: object) -> CommandResult:
        """Runs the command into the folder ``name``; later options take precedence."""
        out = self.folder / name / self.case.out
        command = self.case.build_command(self.folder, MODEL, out)
        self.results.append(run_epoche(*command, *OPTIONS, *options))
        return self.results[-1]

    def meet(self, pick_fault: Callable[[int, ChatRequest], Behaviour | None]) -> None:
        """Makes the server answer with the faults of a function of item and request."""
        good = behaviours.normal_reply(self.case.write_reply)
        find_item = self.case.find_item

        def pick_behaviour(request: ChatRequest) -> Behaviour:
            number = None if is_warm_up(request) else find_item(request)
            return good if number is None else pick_fault(number, request) or good

        self.server.behave_with(pick_behaviour)

    def meet_listed(self, *outcomes: str) -> None:
        """Makes each item meet its fault of ``FAULTS`` if it has one of these outcomes."""

        def pick_fault(number: int, request: ChatRequest) -> Behaviour | None:
            if number not in self.list_items(*outcomes):
                return None
            name = self.faults[number]
            if name == "429, then success" and request.attempt:
                return None
            return FAULTS[name][0](self.case.write_reply)

        self.meet(pick_fault)

    def list_items(self, *outcomes: str) -> set[int]:
        """Returns the numbers of the items whose faults have these outcomes."""
        return {number for number, name in enumerate(self.faults) if FAULTS[name][1] in outcomes}

    def read_outcomes(self, name: str) -> Outcomes:
        """Returns the outcomes of a run, ``answered`` for all that are no failure."""
        outcomes = self.case.read_outcomes(self.folder / name)
        return [(n, what if what in {"ERROR", "INVALID"} else "answered") for n, what in outcomes]

    @property
    def items(self) -> set[int]:
        """The numbers of all items."""
        return set(range(len(self.faults) + N_HEALTHY))

    def check_all_answered(self, name: str) -> None:
        """Checks that every item of a run has an answer."""
        assert {*self.read_outcomes(name)} == {(number, "answered") for number in self.items}

    def read_journal(self, name: str) -> list[bytes]:
        """Reads the lines of the journal of a run; none if there is no file."""
        path = self.folder / name / self.case.journal
        return path.read_bytes().splitlines() if path.exists() else []

    def read_records(self, name: str) -> dict[str, Any]:
        """Reads rows, replies, votes and manifests of a run, without ``CHANGING_KEYS``."""
        records: dict[str, Any] = {}
        for path in sorted((self.folder / name).glob("*.json*")):
            if path.suffix == ".jsonl":
                records[path.name] = _TIMES.sub(b"", path.read_bytes())
            elif path.name.endswith("manifest.json"):
                manifest = json.loads(path.read_bytes())
                flat = {**manifest, **(manifest.get("calls") or {}), "calls": None}
                records[path.name] = {key: flat[key] for key in flat.keys() - CHANGING_KEYS}
        return records


@pytest.fixture(scope="module", params=CASES)
def workplace(
    request: pytest.FixtureRequest, server: ScriptedServer, tmp_path_factory: pytest.TempPathFactory
) -> Workplace:
    """The inputs of a case, with one item for each fault and some more."""
    case, folder = CASES[request.param], tmp_path_factory.mktemp("faults")
    n_items = min(len(FAULTS) + N_HEALTHY, case.max_items)
    case.write_inputs(folder, n_items)
    return Workplace(case, folder, server, list(FAULTS)[: n_items - N_HEALTHY])


@dataclass(frozen=True)
class FaultRun:
    """A run with all faults, its repetition when the failed calls succeed, and a run without.

    Attributes:
        workplace: the runs are ``faulty`` and ``whole`` there.
        first: the outcomes before the repetition.
        asked_again: the items of the requests of the repetition.
    """

    workplace: Workplace
    first: Outcomes
    asked_again: set[int]


@pytest.fixture(scope="module")
def fault_run(workplace: Workplace) -> FaultRun:
    """Makes the three runs; they share a cache, so that equal replies have equal latencies."""
    case, server = workplace.case, workplace.server
    cache = ("--cache", workplace.folder / "replies.sqlite")
    workplace.meet_listed("ERROR", "INVALID", "answered")
    faulty = workplace.run("faulty", *cache)
    assert faulty.code == 0, faulty.err
    first = workplace.read_outcomes("faulty")
    server.clear_log()
    if case.retry:
        assert workplace.run("faulty", *cache).code == 0
        assert not server.requests, "errors are asked again only on request"
    workplace.meet_listed("INVALID")
    repeated = workplace.run("faulty", *cache, *case.retry)
    assert repeated.code == 0, repeated.err
    numbers = {case.find_item(request) for request in server.requests if not is_warm_up(request)}
    whole = workplace.run("whole", *cache)
    assert whole.code == 0, whole.err
    return FaultRun(workplace, first, {number for number in numbers if number is not None})


def test_every_command_with_a_model_is_tested() -> None:
    systems = {name for name, text in system_names().items() if "language model" in text}
    assert systems >= set(PIPELINES)
    tested = {name.removeprefix("cards ") for name in CASES if name.startswith("cards ")}
    assert systems - (set(PIPELINES) - {"json", "skn"}) == tested


def test_each_item_has_the_outcome_of_its_fault(fault_run: FaultRun) -> None:
    """So no row is missing, and neither a failed nor an unreadable reply is an abstention."""
    workplace = fault_run.workplace
    expected = {number: FAULTS[name][1] for number, name in enumerate(workplace.faults)}
    wrong = {
        (workplace.faults[number], outcome)
        for number, outcome in fault_run.first
        if outcome != expected.get(number, "answered")
    }
    assert not wrong
    whole = workplace.read_outcomes("whole")
    assert [number for number, _ in fault_run.first] == [number for number, _ in whole]
    assert {number for number, _ in whole} == workplace.items


def test_only_failed_calls_are_repeated_and_leave_no_trace(fault_run: FaultRun) -> None:
    workplace = fault_run.workplace
    # An unreadable reply may come from the cache.
    assert workplace.list_items("ERROR") <= fault_run.asked_again
    assert fault_run.asked_again <= workplace.list_items(*workplace.case.retried)
    records, expected = (workplace.read_records(name) for name in ("faulty", "whole"))
    assert len(records) > 1
    assert [name for name in {**records, **expected} if records[name] != expected[name]] == []


def test_the_number_of_failures_is_reported(fault_run: FaultRun) -> None:
    n_failed = sum(outcome in fault_run.workplace.case.retried for _, outcome in fault_run.first)
    assert n_failed
    assert fault_run.workplace.case.report.format(n_failed, len(fault_run.first)) in (
        fault_run.workplace.results[0].err
    )


def test_an_unusable_model_ends_a_run_that_can_be_resumed(workplace: Workplace) -> None:
    n_calls = count()
    workplace.meet(
        lambda _number, _request: behaviours.expired_key_error() if next(n_calls) > 8 else None
    )
    denied = workplace.run("denied", "--no-cache", "--concurrency", 2)
    assert "API key has expired" in check_error_line(denied, 23)
    lines = workplace.read_journal("denied")
    workplace.meet_listed()
    done = workplace.run("denied", "--no-cache")
    assert done.code == 0, done.err
    workplace.check_all_answered("denied")
    assert 0 < len(lines) < len(workplace.read_journal("denied"))
    assert set(lines) <= set(workplace.read_journal("denied"))


def test_a_refused_connection_ends_a_run_before_any_answer(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setenv("EPOCHE_BASE_URL", f"http://127.0.0.1:{port}/v1")
    refused = workplace.run("refused", "--no-cache", "--retries", 0)
    assert "the connection is refused" in check_error_line(refused, 23)
    assert workplace.read_journal("refused") == []


def test_too_many_errors_in_a_row_end_a_run(workplace: Workplace) -> None:
    workplace.meet(lambda _number, _request: behaviours.http_error(500))
    options = ("--no-cache", "--retries", 0, "--concurrency", 1, "--max-consecutive-errors", 3)
    line = check_error_line(workplace.run("stopped", *options), 27)
    assert re.search(r"3 \w+ in a row", line)
    assert ("--retry-errors" in line) == bool(workplace.case.retry), "the hint names a flag"
    assert len(workplace.read_journal("stopped")) == 3
    workplace.meet_listed()
    done = workplace.run("stopped", "--no-cache", *workplace.case.retry)
    assert done.code == 0, done.err
    workplace.check_all_answered("stopped")


def test_a_run_of_failures_only_is_complete_but_fails(workplace: Workplace) -> None:
    workplace.meet(lambda _number, _request: behaviours.http_error(500))
    options = ("--no-cache", "--retries", 0, "--max-consecutive-errors", 0)
    failed = workplace.run("failed", *options)
    assert failed.code == workplace.case.all_failed_code, failed.err
    outcomes = workplace.read_outcomes("failed")
    assert {outcome for _, outcome in outcomes} == {"ERROR"}
    assert {number for number, _ in outcomes} == workplace.items
    workplace.meet(lambda _number, _request: behaviours.expired_key_error())
    check_error_line(workplace.run("failed", *options, *workplace.case.retry), 23)
    if workplace.case.journal in {REPLIES, VOTES}:
        benchmark = find_benchmark(workplace.folder / "failed")
        outputs = [
            *(workplace.folder / "failed").glob("report.*"),
            *(
                path
                for file in benchmark.output_files
                for path in (workplace.folder / "failed").glob(file)
            ),
        ]
        assert outputs == [], "outputs of rows that are asked again must be deleted"


def test_a_cost_limit_ends_a_run_that_can_be_resumed(workplace: Workplace) -> None:
    price = {"prompt": 1_000.0, "completion": 1_000.0}
    prices = workplace.folder / "prices.json"
    prices.write_text(json.dumps({MODEL: price, "custom/judge-1": price}))
    workplace.meet_listed()
    options = ("--no-cache", "--prices", prices)
    poor = workplace.run("poor", *options, "--concurrency", 1, "--max-cost", 0.001)
    line = check_error_line(poor, 26)
    assert "--max-cost" in line
    lines = workplace.read_journal("poor")
    assert len(lines) < len(workplace.items)
    done = workplace.run("poor", *options, "--max-cost", 1_000)
    assert done.code == 0, done.err
    workplace.check_all_answered("poor")
    assert set(lines) <= set(workplace.read_journal("poor"))


def test_the_key_is_in_no_file_and_no_output(workplace: Workplace) -> None:
    """The last test of each case, after all its runs; some faults quote the key."""
    files = [path for path in workplace.folder.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert not [path for path in files if API_KEY.encode() in path.read_bytes()]
    assert not [result for result in workplace.results if API_KEY in result.out + result.err]
