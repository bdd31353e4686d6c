"""Tests every server fault with every system that asks a model.

Every call for half of the cards meets the fault. The run must end, every card must have one row, a
failed or unreadable reply must not count as an abstention, the other cards must be answered as
without faults, and the totals of the manifest must match the rows. Then the server is repaired and
the failed questions are asked again.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from servers import behaviours
from servers.behaviours import FAULTS, ChatRequest
from servers.scripted_server import ScriptedServer, fail_after, fail_first_attempts
from stage_calls import run_epoche

from cards.card import Card, read_cards
from eval.harness.session import RunLimits
from eval.manifest import RunManifest, read_manifest
from eval.model.options import ClientOptions
from eval.registry import make_systems, system_names
from eval.runner import Run, run
from eval.skn.pipelines import PIPELINES
from eval.system import SystemOptions
from kg.base.errors import ModelAccessError

SYSTEMS: dict[str, dict[str, str]] = {
    "raw": {},
    "rag_llm": {},
    "graph_rag_llm": {},
    "consistency": {"samples": "3"},
    "json": {},
    "skn": {},
}
"""Every system that asks a model, with settings for short runs. The eight formats (``PIPELINES``)
share one class, so one format of each notation, JSON and SKN, stands for them."""

Outcome = Literal["ERROR", "INVALID", "answered", "stops"]
EXPECTED_OUTCOMES: dict[str, Outcome] = {
    "429 without Retry-After": "ERROR",
    "429 with Retry-After in seconds": "ERROR",
    "429 with Retry-After as a date": "ERROR",
    "429 for good": "stops",
    "408": "ERROR",
    "500": "ERROR",
    "502": "ERROR",
    "503": "ERROR",
    "400": "ERROR",
    "401": "stops",
    "404": "stops",
    "reset": "ERROR",
    "hang": "ERROR",
    "slow drip": "ERROR",
    "truncated": "ERROR",
    "half JSON": "ERROR",
    "invalid JSON": "ERROR",
    "web page": "ERROR",
    "latin-1": "ERROR",
    "invalid UTF-8": "ERROR",
    "no choices": "ERROR",
    "empty text": "INVALID",
    "null text": "INVALID",
    "list of parts": "answered",
    "refusal": "INVALID",
    "content filter": "INVALID",
    "cut off": "INVALID",
    "10 MB": "ERROR",
    "prose": "answered",
    "no structured output": "answered",
    "no JSON at all": "answered",
    "no usage": "answered",
}
"""The outcome of a card if every call for it meets the fault. ``stops``: the run ends with exit
code 23, because no other call could succeed either."""


def describe_claim(card: Card) -> dict[str, str | bool]:
    """Returns the card's claim by names, as a model would write it."""
    subj, obj = (
        term.rpartition("/")[2].replace("-", " ").title()
        for term in (card.claim.subj, card.claim.obj)
    )
    is_city_claim = card.claim.pred.endswith("country")
    predicate = "X is a city in Y" if is_city_claim else "X had Y as its mayor on 1 January 2020"
    return {"subject": subj, "predicate": predicate, "object": obj, "negated": False}


class CardLookup:
    """Finds cards by the prompts that a server receives, and answers for them."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.all = read_cards(file)
        assert len({card.question for card in self.all}) == len(self.all)

    def find_card(self, request: ChatRequest) -> Card:
        """Returns the card that a request asks about."""
        (card,) = [card for card in self.all if card.question in request.prompt]
        return card

    def answer_request(self, request: ChatRequest) -> str:
        """Returns an answer that every system can parse, or an extraction if one is requested.

        The answer is a confident YES or NO, chosen by a hash of the question, never UNKNOWN.
        """
        card = self.find_card(request)
        if extraction := make_requested_extraction(request):
            return extraction
        answer_index = hashlib.sha256(card.question.encode()).digest()[0] % 2
        answer = {
            "answer": ("YES", "NO")[answer_index],
            "confidence": 0.75,
            "claims": [describe_claim(card)],
            "reason": "because",
        }
        return json.dumps(answer)

    def answer_in_prose(self, request: ChatRequest) -> str:
        """Returns the same answer as plain text, ignoring the requested form."""
        if extraction := make_requested_extraction(request):
            return f"Here are the notes.\n{extraction}"
        return f"{json.loads(self.answer_request(request))['answer']}."

    def is_faulty(self, card: Card) -> bool:
        """Returns whether a card meets the fault, which is true for every second card."""
        return self.all.index(card) % 2 == 0

    def make_fault(self, name: str) -> behaviours.Behaviour:
        """Returns the behaviour of a fault; some faults include the answer of the card."""
        faults_with_answer = {
            "prose": lambda: behaviours.normal_reply(self.answer_in_prose),
            "no structured output": lambda: behaviours.reject_structured_output(
                self.answer_request
            ),
            "no JSON at all": lambda: behaviours.reject_structured_output(
                self.answer_request, rejected_formats=("json_schema", "json_object")
            ),
            "no usage": lambda: behaviours.reply_without_usage(self.answer_request),
            "slow drip": lambda: behaviours.drip_reply(self.answer_request, interval=0.05, size=10),
            "list of parts": lambda: behaviours.edited_reply(split_content, self.answer_request),
        }
        return faults_with_answer.get(name, FAULTS[name])()


def make_requested_extraction(request: ChatRequest) -> str:
    """Returns an extraction in the requested notation; empty if none is requested."""
    system, *user_messages = (str(message["content"]) for message in request.body["messages"])
    if not any("<text>" in message for message in user_messages):
        return ""
    if "[SKN]" in system:
        return '[SKN]\n@src city | fresh:low | reliability:0.5\n@facts\n  ! "A city." [0.9]\n[/SKN]'
    return '{"entities": [], "relationships": [], "claims": []}'


def split_content(body: dict[str, Any]) -> None:
    """Replaces a reply's text by a list of parts."""
    message = body["choices"][0]["message"]
    message["content"] = [{"type": "text", "text": message["content"]}]


@pytest.fixture(scope="session")
def cards(tmp_path_factory: pytest.TempPathFactory) -> CardLookup:
    file = tmp_path_factory.mktemp("cards") / "cards.jsonl"
    result = run_epoche("cards", "--domain", "mayors", "--num-per-type", 2, "--out", file)
    assert result.code == 0, result.err
    return CardLookup(file)


def run_system(
    server: ScriptedServer, cards: CardLookup, system: str, out: Path, **run_options: Any
) -> Run:
    """Runs a system on the cards against a server, with short timeouts."""
    client = ClientOptions(
        model=f"custom/{server.model}",
        concurrency=8,
        timeout_s=run_options.pop("timeout_s", 5.0),
        max_retries=1,
        backoff_s=0.001,
        max_wait_s=0.02,
    )
    options = SystemOptions(domain="mayors", settings=SYSTEMS[system], client=client)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(out.parent)
        patch.setenv("EPOCHE_BASE_URL", server.base_url)
        patch.setenv("EPOCHE_API_KEY", server.api_key)
        systems = make_systems(system, options)
    limits = RunLimits(concurrency=8, max_consecutive_errors=0)
    return run(cards.file, systems, out, system_name=system, limits=limits, **run_options)


@pytest.fixture(scope="session")
def fault_free_results(
    cards: CardLookup, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Returns a function that gives a system's results without faults."""
    folder = tmp_path_factory.mktemp("clean")

    def run_without_faults(system: str) -> Path:
        out = folder / f"{system}.jsonl"
        if not out.exists():
            with ScriptedServer() as server:
                server.behave(behaviours.normal_reply(cards.answer_request))
                run_system(server, cards, system, out)
        return out

    return run_without_faults


def read_rows_by_id(out: Path) -> dict[str, dict[str, Any]]:
    """Returns the rows by card id, without latency; checks that no card has two rows."""
    rows = [json.loads(line) for line in out.read_bytes().splitlines()]
    for row in rows:
        del row["latency_s"]
    rows_by_id = {row["id"]: row for row in rows}
    assert len(rows_by_id) == len(rows)
    return rows_by_id


def check_totals(out: Path) -> RunManifest:
    """Checks that the totals of the manifest match the rows."""
    manifest = read_manifest(out.with_suffix(".manifest.json"))
    rows = read_rows_by_id(out).values()
    counts = Counter(row["pred"] for row in rows)
    assert {pred: n for pred, n in manifest.counts.items() if n} == counts
    usages = [row["usage"] for row in rows if row["usage"]]
    if manifest.calls is not None:
        for tokens in ("prompt_tokens", "completion_tokens"):
            assert getattr(manifest.calls, tokens) == sum(usage[tokens] for usage in usages)
    return manifest


def test_every_model_system_is_tested() -> None:
    # The one-line description of every system that asks a model mentions a language model.
    model_systems = {
        name for name, description in system_names().items() if "language model" in description
    }
    assert model_systems >= set(PIPELINES)
    assert sorted(model_systems - (set(PIPELINES) - {"json", "skn"})) == sorted(SYSTEMS)
    assert sorted(EXPECTED_OUTCOMES) == sorted(FAULTS)


@pytest.mark.parametrize("system", SYSTEMS)
def test_confident_model_does_not_abstain_without_faults(
    cards: CardLookup, fault_free_results: Callable[[str], Path], system: str
) -> None:
    preds = Counter(row["pred"] for row in read_rows_by_id(fault_free_results(system)).values())
    if system == "graph_rag_llm":  # It withholds answers that the graph does not license.
        assert preds.keys() <= {"YES", "NO", "UNKNOWN"}
        assert preds["YES"] + preds["NO"]
    else:
        assert preds.keys() == {"YES", "NO"}
    assert preds.total() == len(cards.all)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_on_half_the_cards_give_their_outcomes(
    cards: CardLookup,
    fault_free_results: Callable[[str], Path],
    scripted_server: ScriptedServer,
    tmp_path: Path,
    system: str,
    fault: str,
) -> None:
    out, fault_free_rows = tmp_path / "out.jsonl", read_rows_by_id(fault_free_results(system))
    healthy_reply, faulty_reply = (
        behaviours.normal_reply(cards.answer_request),
        cards.make_fault(fault),
    )
    scripted_server.behave_with(
        lambda request: faulty_reply if cards.is_faulty(cards.find_card(request)) else healthy_reply
    )
    outcome = EXPECTED_OUTCOMES[fault]
    timeout_s = 0.25 if fault in {"hang", "slow drip"} else 5.0
    if outcome == "stops":
        with pytest.raises(ModelAccessError):
            run_system(scripted_server, cards, system, out, timeout_s=timeout_s)
        assert check_totals(out).status == "failed"
        finished_rows = read_rows_by_id(out)
        assert finished_rows.items() <= fault_free_rows.items()
        assert not [
            card for card in cards.all if cards.is_faulty(card) and card.id in finished_rows
        ]
    else:
        run_system(scripted_server, cards, system, out, timeout_s=timeout_s)
        assert check_totals(out).status == "complete"
        rows = read_rows_by_id(out)
        assert list(rows) == [card.id for card in cards.all]
        for card in cards.all:
            card_outcome = outcome if cards.is_faulty(card) else "healthy"
            check_row(rows[card.id], fault_free_rows[card.id], card_outcome)
    scripted_server.behave(healthy_reply)
    retried_run = run_system(scripted_server, cards, system, out, retry_errors=True)
    assert check_totals(out).status == "complete"
    if outcome in {"ERROR", "stops"}:
        assert out.read_bytes().count(b"\n") == len(cards.all)
        assert read_rows_by_id(out) == fault_free_rows
        assert retried_run.asked + retried_run.already_answered == len(cards.all)
    else:
        assert retried_run.asked == 0


def check_row(
    row: dict[str, Any], fault_free_row: dict[str, Any], outcome: Outcome | Literal["healthy"]
) -> None:
    """Checks that a row has the expected outcome and is not an abstention."""
    if outcome == "healthy":
        compared_fields = ("id", "gold", "pred", "raw", "error")
        assert [row[key] for key in compared_fields] == [
            fault_free_row[key] for key in compared_fields
        ]
    elif outcome == "answered":
        assert row["pred"] == fault_free_row["pred"]
    else:
        assert row["pred"] == outcome, row
        assert (row["error"] is not None) == (outcome == "ERROR")
        assert row["pass"] is False
        assert row["confidence"] is None


TRANSIENT_FAULTS = [
    name
    for name, outcome in EXPECTED_OUTCOMES.items()
    if outcome == "ERROR" and name not in {"400", "10 MB"}
]


@pytest.mark.parametrize("fault", TRANSIENT_FAULTS)
def test_transient_faults_do_not_change_the_rows(
    cards: CardLookup,
    fault_free_results: Callable[[str], Path],
    scripted_server: ScriptedServer,
    tmp_path: Path,
    fault: str,
) -> None:
    out = tmp_path / "out.jsonl"
    scripted_server.behave_with(
        fail_first_attempts(
            1, cards.make_fault(fault), behaviours.normal_reply(cards.answer_request)
        )
    )
    run_system(scripted_server, cards, "raw", out, timeout_s=0.4)
    assert read_rows_by_id(out) == read_rows_by_id(fault_free_results("raw"))
    calls = check_totals(out).calls
    assert calls is not None
    assert (calls.replies, calls.retries) == (len(cards.all), len(cards.all))


@pytest.mark.parametrize("system", SYSTEMS)
def test_expired_key_keeps_finished_answers(
    cards: CardLookup,
    fault_free_results: Callable[[str], Path],
    scripted_server: ScriptedServer,
    tmp_path: Path,
    system: str,
) -> None:
    out, fault_free_rows = tmp_path / "out.jsonl", read_rows_by_id(fault_free_results(system))
    call_count = 3 * int(SYSTEMS[system].get("samples", "1"))  # enough for three cards
    scripted_server.behave_with(
        fail_after(
            call_count,
            behaviours.expired_key_error(),
            behaviours.normal_reply(cards.answer_request),
        )
    )
    with pytest.raises(ModelAccessError, match="expired"):
        run_system(scripted_server, cards, system, out)
    assert check_totals(out).status == "failed"
    assert read_rows_by_id(out).items() <= fault_free_rows.items()
    scripted_server.behave(behaviours.normal_reply(cards.answer_request))
    run_system(scripted_server, cards, system, out)
    assert check_totals(out).status == "complete"
    assert read_rows_by_id(out) == fault_free_rows
