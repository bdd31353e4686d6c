"""Every way in which a server fails, under every system that asks a model.

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
from servers import behaviours as does
from servers.behaviours import FAULTS, Asked
from servers.scripted_server import ScriptedServer, after, first
from stage_calls import epoche

from cards.card import Card, read_cards
from eval.manifest import RunManifest, read_manifest
from eval.model.options import ClientOptions
from eval.registry import make_systems, system_names
from eval.runner import Run, run
from eval.running.session import Limits
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


def describe(card: Card) -> dict[str, str | bool]:
    """The card's claim by its names, as a model would state it."""
    subj, obj = (
        term.rpartition("/")[2].replace("-", " ").title()
        for term in (card.claim.subj, card.claim.obj)
    )
    lies_in = card.claim.pred.endswith("country")
    predicate = "X is a city in Y" if lies_in else "X had Y as its mayor on 1 January 2020"
    return {"subject": subj, "predicate": predicate, "object": obj, "negated": False}


class Cards:
    """The cards, by what a server is shown of them."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.all = read_cards(file)
        assert len({card.question for card in self.all}) == len(self.all)

    def of(self, asked: Asked) -> Card:
        """The one card that a request asks about."""
        (card,) = [card for card in self.all if card.question in asked.prompt]
        return card

    def say(self, asked: Asked) -> str:
        """A sure answer, never UNKNOWN, in a form that every system reads; or an extraction."""
        card = self.of(asked)
        if extraction := asked_extraction(asked):
            return extraction
        odd = hashlib.sha256(card.question.encode()).digest()[0] % 2
        answer = {
            "answer": ("YES", "NO")[odd],
            "confidence": 0.75,
            "claims": [describe(card)],
            "reason": "because",
        }
        return json.dumps(answer)

    def prose(self, asked: Asked) -> str:
        """The same answer from a server that ignores what form it is asked for."""
        if extraction := asked_extraction(asked):
            return f"Here are the notes.\n{extraction}"
        return f"{json.loads(self.say(asked))['answer']}."

    def is_faulty(self, card: Card) -> bool:
        """Whether a card is one of those that meet the fault: every second."""
        return self.all.index(card) % 2 == 0

    def fault(self, name: str) -> does.Behaviour:
        """The fault, with these cards' answer where it leaves one possible."""
        special = {
            "prose": lambda: does.reply(self.prose),
            "no structured output": lambda: does.without_structure(self.say),
            "no JSON at all": lambda: does.without_structure(
                self.say, refuses=("json_schema", "json_object")
            ),
            "no usage": lambda: does.without_usage(self.say),
            "slow drip": lambda: does.drip(self.say, interval=0.05, size=10),
            "list of parts": lambda: does.edited(in_parts, self.say),
        }
        return special.get(name, FAULTS[name])()


def asked_extraction(asked: Asked) -> str:
    """An extraction in the notation that is asked for; empty where none is."""
    system, *others = (str(message["content"]) for message in asked.body["messages"])
    if not any("<text>" in other for other in others):
        return ""
    if "[SKN]" in system:
        return '[SKN]\n@src city | fresh:low | reliability:0.5\n@facts\n  ! "A city." [0.9]\n[/SKN]'
    return '{"entities": [], "relationships": [], "claims": []}'


def in_parts(body: dict[str, Any]) -> None:
    """Makes a list of parts of a reply's text."""
    message = body["choices"][0]["message"]
    message["content"] = [{"type": "text", "text": message["content"]}]


@pytest.fixture(scope="session")
def cards(tmp_path_factory: pytest.TempPathFactory) -> Cards:
    file = tmp_path_factory.mktemp("cards") / "cards.jsonl"
    done = epoche("cards", "--domain", "mayors", "--num-per-type", 2, "--out", file)
    assert done.code == 0, done.err
    return Cards(file)


def ask(server: ScriptedServer, cards: Cards, system: str, out: Path, **more: Any) -> Run:
    """Runs a system on the cards against a server, with little patience."""
    client = ClientOptions(
        model=f"custom/{server.model}",
        concurrency=8,
        timeout_s=more.pop("timeout_s", 5.0),
        max_retries=1,
        backoff_s=0.001,
        longest_wait_s=0.02,
    )
    options = SystemOptions(domain="mayors", settings=SYSTEMS[system], client=client)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(out.parent)
        patch.setenv("EPOCHE_BASE_URL", server.base_url)
        patch.setenv("EPOCHE_API_KEY", server.api_key)
        systems = make_systems(system, options)
    limits = Limits(concurrency=8, max_consecutive_errors=0)
    return run(cards.file, systems, out, asked_as=system, limits=limits, **more)


@pytest.fixture(scope="session")
def clean(cards: Cards, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Results of a system when nothing fails."""
    folder = tmp_path_factory.mktemp("clean")

    def results(system: str) -> Path:
        out = folder / f"{system}.jsonl"
        if not out.exists():
            with ScriptedServer() as server:
                server.behave(does.reply(cards.say))
                ask(server, cards, system, out)
        return out

    return results


def rows_of(out: Path) -> dict[str, dict[str, Any]]:
    """Rows by card id, without latency; no card may have two."""
    rows = [json.loads(line) for line in out.read_bytes().splitlines()]
    for row in rows:
        del row["latency_s"]
    found = {row["id"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def check_sums(out: Path) -> RunManifest:
    """Checks that the manifest says of the rows what they say themselves."""
    manifest = read_manifest(out.with_suffix(".manifest.json"))
    rows = rows_of(out).values()
    counts = Counter(row["pred"] for row in rows)
    assert {pred: n for pred, n in manifest.counts.items() if n} == counts
    usages = [row["usage"] for row in rows if row["usage"]]
    if manifest.calls is not None:
        for tokens in ("prompt_tokens", "completion_tokens"):
            assert getattr(manifest.calls, tokens) == sum(usage[tokens] for usage in usages)
    return manifest


def test_every_system_that_asks_a_model_is_here() -> None:
    ours = {name for name, line in system_names().items() if "language model" in line}
    assert ours >= set(PIPELINES)
    assert sorted(ours - (set(PIPELINES) - {"json", "skn"})) == sorted(SYSTEMS)
    assert sorted(FATES) == sorted(FAULTS)


@pytest.mark.parametrize("system", SYSTEMS)
def test_without_a_fault_a_sure_model_does_not_abstain(
    cards: Cards, clean: Callable[[str], Path], system: str
) -> None:
    preds = Counter(row["pred"] for row in rows_of(clean(system)).values())
    if system == "graph_rag_llm":  # here an answer that the graph does not license is withheld
        assert preds.keys() <= {"YES", "NO", "UNKNOWN"}
        assert preds["YES"] + preds["NO"]
    else:
        assert preds.keys() == {"YES", "NO"}
    assert preds.total() == len(cards.all)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("fault", FAULTS)
def test_half_the_cards_meet_a_fault(
    cards: Cards,
    clean: Callable[[str], Path],
    scripted_server: ScriptedServer,
    tmp_path: Path,
    system: str,
    fault: str,
) -> None:
    out, right = tmp_path / "out.jsonl", rows_of(clean(system))
    healthy, broken = does.reply(cards.say), cards.fault(fault)
    scripted_server.behave_by(lambda asked: broken if cards.is_faulty(cards.of(asked)) else healthy)
    fate = FATES[fault]
    timeout_s = 0.25 if fault in {"hang", "slow drip"} else 5.0
    if fate == "stops":
        with pytest.raises(ModelAccessError):
            ask(scripted_server, cards, system, out, timeout_s=timeout_s)
        assert check_sums(out).status == "failed"
        kept = rows_of(out)
        assert kept.items() <= right.items()
        assert not [card for card in cards.all if cards.is_faulty(card) and card.id in kept]
    else:
        ask(scripted_server, cards, system, out, timeout_s=timeout_s)
        assert check_sums(out).status == "complete"
        rows = rows_of(out)
        assert list(rows) == [card.id for card in cards.all]
        for card in cards.all:
            fated = fate if cards.is_faulty(card) else "healthy"
            check_row(rows[card.id], right[card.id], fated)
    scripted_server.behave(healthy)
    mended = ask(scripted_server, cards, system, out, retry_errors=True)
    assert check_sums(out).status == "complete"
    if fate in {"ERROR", "stops"}:
        assert out.read_bytes().count(b"\n") == len(cards.all)
        assert rows_of(out) == right
        assert mended.asked + mended.kept == len(cards.all)
    else:
        assert mended.asked == 0


def check_row(row: dict[str, Any], right: dict[str, Any], fate: Fate | Literal["healthy"]) -> None:
    """Checks that a row is what became of its card, and above all no abstention."""
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


PASSING = [name for name, fate in FATES.items() if fate == "ERROR" and name not in {"400", "10 MB"}]


@pytest.mark.parametrize("fault", PASSING)
def test_what_passes_leaves_no_trace_in_the_rows(
    cards: Cards,
    clean: Callable[[str], Path],
    scripted_server: ScriptedServer,
    tmp_path: Path,
    fault: str,
) -> None:
    out = tmp_path / "out.jsonl"
    scripted_server.behave_by(first(1, cards.fault(fault), does.reply(cards.say)))
    ask(scripted_server, cards, "raw", out, timeout_s=0.4)
    assert rows_of(out) == rows_of(clean("raw"))
    calls = check_sums(out).calls
    assert calls is not None
    assert (calls.replies, calls.retries) == (len(cards.all), len(cards.all))


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_key_that_expires_keeps_what_was_answered(
    cards: Cards,
    clean: Callable[[str], Path],
    scripted_server: ScriptedServer,
    tmp_path: Path,
    system: str,
) -> None:
    out, right = tmp_path / "out.jsonl", rows_of(clean(system))
    enough = 3 * int(SYSTEMS[system].get("samples", "1"))
    scripted_server.behave_by(after(enough, does.expired_key(), does.reply(cards.say)))
    with pytest.raises(ModelAccessError, match="expired"):
        ask(scripted_server, cards, system, out)
    assert check_sums(out).status == "failed"
    assert rows_of(out).items() <= right.items()
    scripted_server.behave(does.reply(cards.say))
    ask(scripted_server, cards, system, out)
    assert check_sums(out).status == "complete"
    assert rows_of(out) == right
