"""Every server fault, with every system that asks a model.

Half of the cards meet the fault, at every attempt. The run must end; every card must have its one
row; a failed or unreadable reply must never read as an abstention; cards that met no fault must be
answered as if there were none; the manifest's sums must be those of the rows. Then the server is
mended, and what had failed is asked again.
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
from eval.manifest import RunManifest, read_manifest
from eval.model.options import ClientOptions
from eval.registry import make_systems, system_names
from eval.runner import Run, run
from eval.running.session import RunLimits
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
"""Every system that asks a model, with settings that keep it quick; of the formats one in each
notation, since all eight are one class."""

Fate = Literal["ERROR", "INVALID", "answered", "stops"]
FATES: dict[str, Fate] = {
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
"""What becomes of a card whose every call meets the fault. ``stops``: the run ends with exit code
23, since no call can succeed."""


def describe_claim(card: Card) -> dict[str, str | bool]:
    """Returns the card's claim by names, as a model would write it."""
    subj, obj = (
        term.rpartition("/")[2].replace("-", " ").title()
        for term in (card.claim.subj, card.claim.obj)
    )
    lies_in = card.claim.pred.endswith("country")
    predicate = "X is a city in Y" if lies_in else "X had Y as its mayor on 1 January 2020"
    return {"subject": subj, "predicate": predicate, "object": obj, "negated": False}


class ShownCards:
    """The cards, found by the prompts that a server receives."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.all = read_cards(file)
        assert len({card.question for card in self.all}) == len(self.all)

    def find_card(self, request: ChatRequest) -> Card:
        """Returns the card that a request asks about."""
        (card,) = [card for card in self.all if card.question in request.prompt]
        return card

    def answer_request(self, request: ChatRequest) -> str:
        """Returns a confident answer (never UNKNOWN) any system can parse, or an extraction."""
        card = self.find_card(request)
        if extraction := requested_extraction(request):
            return extraction
        odd = hashlib.sha256(card.question.encode()).digest()[0] % 2
        answer = {
            "answer": ("YES", "NO")[odd],
            "confidence": 0.75,
            "claims": [describe_claim(card)],
            "reason": "because",
        }
        return json.dumps(answer)

    def answer_in_prose(self, request: ChatRequest) -> str:
        """Returns the same answer as plain text, ignoring the requested form."""
        if extraction := requested_extraction(request):
            return f"Here are the notes.\n{extraction}"
        return f"{json.loads(self.answer_request(request))['answer']}."

    def is_faulty(self, card: Card) -> bool:
        """Whether a card meets the fault, as every second one does."""
        return self.all.index(card) % 2 == 0

    def make_fault(self, name: str) -> behaviours.Behaviour:
        """Returns the fault, with the answer of the card where the fault allows one."""
        special = {
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
        return special.get(name, FAULTS[name])()


def requested_extraction(request: ChatRequest) -> str:
    """Returns an extraction in the requested notation; empty if none is requested."""
    system, *others = (str(message["content"]) for message in request.body["messages"])
    if not any("<text>" in other for other in others):
        return ""
    if "[SKN]" in system:
        return '[SKN]\n@src city | fresh:low | reliability:0.5\n@facts\n  ! "A city." [0.9]\n[/SKN]'
    return '{"entities": [], "relationships": [], "claims": []}'


def split_content(body: dict[str, Any]) -> None:
    """Replaces a reply's text by a list of parts."""
    message = body["choices"][0]["message"]
    message["content"] = [{"type": "text", "text": message["content"]}]


@pytest.fixture(scope="session")
def cards(tmp_path_factory: pytest.TempPathFactory) -> ShownCards:
    file = tmp_path_factory.mktemp("cards") / "cards.jsonl"
    done = run_epoche("cards", "--domain", "mayors", "--num-per-type", 2, "--out", file)
    assert done.code == 0, done.err
    return ShownCards(file)


def run_system(
    server: ScriptedServer, cards: ShownCards, system: str, out: Path, **more: Any
) -> Run:
    """Runs a system on the cards against a server, with short timeouts."""
    client = ClientOptions(
        model=f"custom/{server.model}",
        concurrency=8,
        timeout_s=more.pop("timeout_s", 5.0),
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
    return run(cards.file, systems, out, system_name=system, limits=limits, **more)


@pytest.fixture(scope="session")
def fault_free_results(
    cards: ShownCards, tmp_path_factory: pytest.TempPathFactory
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


def rows_of(out: Path) -> dict[str, dict[str, Any]]:
    """Returns the rows by card id, without latency; checks that no card has two."""
    rows = [json.loads(line) for line in out.read_bytes().splitlines()]
    for row in rows:
        del row["latency_s"]
    found = {row["id"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def check_totals(out: Path) -> RunManifest:
    """Checks that the totals of the manifest match the rows."""
    manifest = read_manifest(out.with_suffix(".manifest.json"))
    rows = rows_of(out).values()
    counts = Counter(row["pred"] for row in rows)
    assert {pred: n for pred, n in manifest.counts.items() if n} == counts
    usages = [row["usage"] for row in rows if row["usage"]]
    if manifest.calls is not None:
        for tokens in ("prompt_tokens", "completion_tokens"):
            assert getattr(manifest.calls, tokens) == sum(usage[tokens] for usage in usages)
    return manifest


def test_every_model_system_is_tested() -> None:
    ours = {name for name, line in system_names().items() if "language model" in line}
    assert ours >= set(PIPELINES)
    assert sorted(ours - (set(PIPELINES) - {"json", "skn"})) == sorted(SYSTEMS)
    assert sorted(FATES) == sorted(FAULTS)


@pytest.mark.parametrize("system", SYSTEMS)
def test_confident_model_does_not_abstain_without_faults(
    cards: ShownCards, fault_free_results: Callable[[str], Path], system: str
) -> None:
    preds = Counter(row["pred"] for row in rows_of(fault_free_results(system)).values())
    if system == "graph_rag_llm":  # here an answer that the graph does not license is withheld
        assert preds.keys() <= {"YES", "NO", "UNKNOWN"}
        assert preds["YES"] + preds["NO"]
    else:
        assert preds.keys() == {"YES", "NO"}
    assert preds.total() == len(cards.all)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_on_half_the_cards_give_their_outcomes(
    cards: ShownCards,
    fault_free_results: Callable[[str], Path],
    scripted_server: ScriptedServer,
    tmp_path: Path,
    system: str,
    fault: str,
) -> None:
    out, right = tmp_path / "out.jsonl", rows_of(fault_free_results(system))
    healthy, broken = behaviours.normal_reply(cards.answer_request), cards.make_fault(fault)
    scripted_server.behave_with(
        lambda request: broken if cards.is_faulty(cards.find_card(request)) else healthy
    )
    fate = FATES[fault]
    timeout_s = 0.25 if fault in {"hang", "slow drip"} else 5.0
    if fate == "stops":
        with pytest.raises(ModelAccessError):
            run_system(scripted_server, cards, system, out, timeout_s=timeout_s)
        assert check_totals(out).status == "failed"
        kept = rows_of(out)
        assert kept.items() <= right.items()
        assert not [card for card in cards.all if cards.is_faulty(card) and card.id in kept]
    else:
        run_system(scripted_server, cards, system, out, timeout_s=timeout_s)
        assert check_totals(out).status == "complete"
        rows = rows_of(out)
        assert list(rows) == [card.id for card in cards.all]
        for card in cards.all:
            fated = fate if cards.is_faulty(card) else "healthy"
            check_row(rows[card.id], right[card.id], fated)
    scripted_server.behave(healthy)
    mended = run_system(scripted_server, cards, system, out, retry_errors=True)
    assert check_totals(out).status == "complete"
    if fate in {"ERROR", "stops"}:
        assert out.read_bytes().count(b"\n") == len(cards.all)
        assert rows_of(out) == right
        assert mended.asked + mended.already_answered == len(cards.all)
    else:
        assert mended.asked == 0


def check_row(row: dict[str, Any], right: dict[str, Any], fate: Fate | Literal["healthy"]) -> None:
    """Checks that a row has the expected outcome and is not an abstention."""
    if fate == "healthy":
        told = ("id", "gold", "pred", "raw", "error")
        assert [row[key] for key in told] == [right[key] for key in told]
    elif fate == "answered":
        assert row["pred"] == right["pred"]
    else:
        assert row["pred"] == fate, row
        assert (row["error"] is not None) == (fate == "ERROR")
        assert row["pass"] is False
        assert row["confidence"] is None


TRANSIENT_FAULTS = [
    name for name, fate in FATES.items() if fate == "ERROR" and name not in {"400", "10 MB"}
]


@pytest.mark.parametrize("fault", TRANSIENT_FAULTS)
def test_transient_faults_do_not_change_the_rows(
    cards: ShownCards,
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
    assert rows_of(out) == rows_of(fault_free_results("raw"))
    calls = check_totals(out).calls
    assert calls is not None
    assert (calls.replies, calls.retries) == (len(cards.all), len(cards.all))


@pytest.mark.parametrize("system", SYSTEMS)
def test_expired_key_keeps_finished_answers(
    cards: ShownCards,
    fault_free_results: Callable[[str], Path],
    scripted_server: ScriptedServer,
    tmp_path: Path,
    system: str,
) -> None:
    out, right = tmp_path / "out.jsonl", rows_of(fault_free_results(system))
    enough = 3 * int(SYSTEMS[system].get("samples", "1"))
    scripted_server.behave_with(
        fail_after(
            enough, behaviours.expired_key_error(), behaviours.normal_reply(cards.answer_request)
        )
    )
    with pytest.raises(ModelAccessError, match="expired"):
        run_system(scripted_server, cards, system, out)
    assert check_totals(out).status == "failed"
    assert rows_of(out).items() <= right.items()
    scripted_server.behave(behaviours.normal_reply(cards.answer_request))
    run_system(scripted_server, cards, system, out)
    assert check_totals(out).status == "complete"
    assert rows_of(out) == right
