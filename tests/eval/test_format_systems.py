"""Tests the eight formats as systems that answer cards, by rules and with a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers import behaviours
from servers.behaviours import ChatRequest
from servers.scripted_server import ScriptedServer
from stage_calls import run_epoche

from cards.card import CardView, read_cards
from eval.abstention.manifest import read_manifest
from eval.abstention.result import Answer, read_results
from eval.abstention.system import SystemOptions
from eval.abstention.systems.registry import make_systems, system_names
from eval.model.options import ClientOptions
from eval.skn.formats.card_prompt import CARD_PROMPT
from eval.skn.formats.pipelines import FAIR_ABLATION_PIPELINES, PIPELINES
from kg.base.errors import ModelCallError, SettingError

FACTS = ("The Main flows into the Rhine.", "The Main is a river.", "The Inn is in Austria.")
RULES = ("A river flows into at most one body of water.",)
QUESTION = "Does the Main flow into the Rhine?"
VIEW = CardView(FACTS, RULES, QUESTION)
FLAT_EXTRACTION: dict[str, object] = {"entities": [], "relationships": [], "claims": []}
SKN = '[SKN]\n@src river | fresh:low | reliability:0.5\n@facts\n  ! "Noted alone." [0.9]\n[/SKN]'
SKN_RISKY = SKN.replace("[/SKN]", "@risk misdirection:low | missing_context:low\n[/SKN]")

System = Any


@pytest.fixture
def make_system(
    scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., System]:
    """Makes a system on the scripted server, from an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)

    def build_system(name: str, **settings: str) -> System:
        client = ClientOptions(
            model=f"custom/{scripted_server.model}", max_retries=0, backoff_s=0.001, timeout_s=5
        )
        (system,) = make_systems(name, SystemOptions(settings=settings, client=client))
        return system

    return build_system


def answer_card(system: System, view: CardView = VIEW) -> Answer:
    async def run_system() -> Answer:
        try:
            answer: Answer = await system.answer(view)
            return answer
        finally:
            if hasattr(system, "aclose"):
                await system.aclose()

    return asyncio.run(run_system())


def is_extraction(request: ChatRequest) -> bool:
    return "<text>" in str(request.body["messages"][1]["content"])


def script_replies(*extractions: str, pred: str = "YES") -> behaviours.Behaviour:
    """Returns a behaviour that gives the extractions in turn, then the last one, and ``pred``."""
    remaining_extractions = list(extractions)

    def choose_reply(request: ChatRequest) -> str:
        if is_extraction(request):
            return (
                remaining_extractions.pop(0)
                if len(remaining_extractions) > 1
                else remaining_extractions[0]
            )
        return json.dumps({"answer": pred, "confidence": 0.75, "reason": "r"})

    return behaviours.normal_reply(choose_reply)


# --- by rules -------------------------------------------------------------------------------


def test_all_eight_formats_are_registered_and_described() -> None:
    names = system_names()
    assert set(FAIR_ABLATION_PIPELINES) == set(PIPELINES)
    for name in (*PIPELINES, "formats"):
        assert len(names[name]) > 30


def test_formats_asks_all_eight_without_a_model() -> None:
    systems = make_systems("formats", SystemOptions())
    assert [system.name for system in systems] == [f"{n} (rules)" for n in FAIR_ABLATION_PIPELINES]
    for system in systems:
        assert answer_card(system).pred == "YES"
        assert (
            answer_card(system, CardView(FACTS, RULES, "Is the Po in Austria?")).pred == "UNKNOWN"
        )


def test_one_format_by_rules_names_its_settings() -> None:
    (system,) = make_systems("skn", SystemOptions(settings={"by": "rules", "words": "50"}))
    params = system.params()
    assert (params["extractor"]["pipeline"], params["extractor"]["words"]) == ("skn", 50)
    assert params["extractor"]["by"] == params["agent"]["by"] == "rules"
    answer = answer_card(system)
    assert answer.confidence == pytest.approx(0.9)
    assert FACTS[0] in answer.raw


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("formats", {"by": "chance"}),
        ("formats", {"words": "19"}),
        ("formats", {"words": "many"}),
        ("formats", {"temperature": "0.5"}),
        ("formats", {"hide_question": "perhaps"}),
        ("skn", {"by": "rules", "constrained": "yes"}),
        ("json", {"colour": "red"}),
    ],
)
def test_invalid_or_unused_settings_are_refused(
    make_system: Callable[..., System], name: str, settings: dict[str, str]
) -> None:
    with pytest.raises(SettingError):
        make_system(name, **settings)


def test_two_runs_by_rules_give_the_same_rows_without_latency(
    card_file: Callable[[int], Path], tmp_path: Path
) -> None:
    cards = card_file(6)
    outs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for out in outs:
        result = run_epoche("eval", "--cards", cards, "--system", "formats", "--out", out)
        assert result.code == 0, result.err
    assert outs[0].read_bytes() == outs[1].read_bytes()
    rows = list(read_results(outs[0]))
    assert len(rows) == 8 * len(read_cards(cards))
    assert all(row.latency_s is None and row.usage is None for row in rows)
    manifest = read_manifest(outs[0].with_suffix(".manifest.json"))
    assert manifest.model is None
    assert set(manifest.params) == {f"{name} (rules)" for name in PIPELINES}


# --- with a model ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", PIPELINES)
def test_agent_sees_only_the_extraction(
    make_system: Callable[..., System], scripted_server: ScriptedServer, name: str
) -> None:
    pipeline = PIPELINES[name]
    extraction = SKN
    if not pipeline.typed:
        claim: dict[str, object] = {"statement": "Noted alone.", "category": "fact"}
        if pipeline.confidence:
            claim["confidence"] = 0.9
        extraction = json.dumps(FLAT_EXTRACTION | {"claims": [claim]})
    elif pipeline.notation == "json":
        fact = {"priority": "!", "text": "Noted alone.", "confidence": 0.9}
        source = {"domain": "river", "fresh": "low", "reliability": 0.5}
        extraction = json.dumps({"source": source, "facts": [fact]})
    scripted_server.behave(script_replies(extraction))
    system = make_system(name)
    assert system.name == f"{name}:custom/{scripted_server.model}"
    answer = answer_card(system)
    assert (answer.pred, answer.note) == ("YES", "")
    assert "Noted alone." in answer.raw
    assert answer.raw.endswith('"reason": "r"}')
    extraction_request, answer_request = scripted_server.requests
    extraction_prompt = str(extraction_request.body["messages"][1]["content"])
    assert "\n".join((*FACTS, *RULES)) in extraction_prompt
    assert QUESTION in extraction_prompt
    answer_prompt = str(answer_request.body["messages"][1]["content"])
    assert "Noted alone." in answer_prompt
    assert QUESTION in answer_prompt
    assert not any(fact in answer_request.prompt for fact in (*FACTS, *RULES))
    assert answer_request.body["messages"][0]["content"].startswith(CARD_PROMPT.system)


def test_a_model_never_sees_gold_label_kind_or_id(
    make_system: Callable[..., System],
    scripted_server: ScriptedServer,
    card_file: Callable[[int], Path],
) -> None:
    (card, *_) = read_cards(card_file(1))
    scripted_server.behave(script_replies(SKN))
    answer_card(make_system("skn"), card.view)
    prompts = "\n".join(request.prompt for request in scripted_server.requests)
    assert card.question in prompts
    assert card.id not in prompts
    assert card.claim.subj not in prompts
    assert not card.cluster or card.cluster not in prompts


def test_question_can_be_hidden_from_the_extractor(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(script_replies(SKN))
    answer_card(make_system("skn", hide_question="yes", words="77"))
    extraction_request, answer_request = scripted_server.requests
    assert QUESTION not in extraction_request.prompt
    assert "77" in extraction_request.prompt
    assert QUESTION in answer_request.prompt


def test_repaired_extraction_is_noted(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(script_replies("[SKN]\n@src river", SKN, pred="NO"))
    answer = answer_card(make_system("skn"))
    assert (answer.pred, answer.note) == ("NO", "extraction repaired")
    assert len(scripted_server.requests) == 3


def test_fenced_extraction_is_parsed_tolerantly(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(script_replies(f"Here:\n```\n{SKN}\n```"))
    answer = answer_card(make_system("skn"))
    assert (answer.pred, answer.note) == ("YES", "extraction tolerant")


@pytest.mark.parametrize(
    ("name", "extraction"),
    [
        ("skn", "[SKN]\n@src river | fresh:low"),
        ("skn", "I cannot do that."),
        ("skn", ""),
        ("skn_no_risk", SKN_RISKY),
        ("json", "[1, 2]"),
        ("json", json.dumps(FLAT_EXTRACTION)[:-8]),
        (
            "json_conf",
            json.dumps(FLAT_EXTRACTION | {"claims": [{"statement": "a", "category": "fact"}]}),
        ),
        ("json_meta", "{}"),
    ],
)
def test_unreadable_extraction_is_invalid_and_not_an_abstention(
    make_system: Callable[..., System], scripted_server: ScriptedServer, name: str, extraction: str
) -> None:
    scripted_server.behave(script_replies(extraction, pred="UNKNOWN"))
    answer = answer_card(make_system(name))
    assert answer.pred == "INVALID"
    assert answer.note.startswith("extraction: ")
    assert len(scripted_server.requests) == 2, "expected one extraction, one repair, no agent call"


@pytest.mark.parametrize(
    "fault", ["refusal", "content filter", "cut off", "empty text", "null text"]
)
def test_faults_of_the_extraction_are_invalid(
    make_system: Callable[..., System], scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave(behaviours.FAULTS[fault]())
    assert answer_card(make_system("json")).pred == "INVALID"


def test_any_failed_call_raises(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    healthy_reply, failing_reply = script_replies(SKN), behaviours.FAULTS["500"]()
    scripted_server.behave(failing_reply)
    with pytest.raises(ModelCallError):
        answer_card(make_system("skn"))
    scripted_server.behave_with(
        lambda request: healthy_reply if is_extraction(request) else failing_reply
    )
    with pytest.raises(ModelCallError):
        answer_card(make_system("skn"))


def test_unreadable_answer_is_invalid(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(script_replies(SKN, pred="PERHAPS"))
    answer = answer_card(make_system("skn"))
    assert answer.pred == "INVALID"
    assert answer.note.startswith("unreadable")


def test_settings_reach_the_server(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(script_replies(json.dumps(FLAT_EXTRACTION)))
    answer_card(make_system("json", max_tokens="321", temperature="0.5"))
    answer_card(make_system("json"))
    # Each card takes two requests: one for the extraction and one for the answer.
    bodies = [request.body for request in scripted_server.requests]
    assert [body["temperature"] for body in bodies] == [0.5, 0.5, 0, 0]
    assert [body["max_tokens"] for body in bodies] == [321, 321, 900, 900]
    assert "response_format" not in bodies[0], "extractions are requested as plain text"
    assert "response_format" in bodies[1]
    scripted_server.clear_log()
    answer_card(make_system("json", constrained="yes"))
    assert "response_format" in scripted_server.requests[0].body


def test_formats_makes_all_eight_with_a_model(
    scripted_server: ScriptedServer, make_system: object
) -> None:
    client = ClientOptions(model=f"custom/{scripted_server.model}")
    systems = make_systems("formats", SystemOptions(settings={"by": "model"}, client=client))
    model = f"custom/{scripted_server.model}"
    assert [system.name for system in systems] == [f"{n}:{model}" for n in FAIR_ABLATION_PIPELINES]


def test_documentation_shows_the_current_prompt() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "prompts.md").read_text("utf-8")
    assert f"## `{CARD_PROMPT.name}`, version {CARD_PROMPT.version}:" in page
    assert f"```text\n{CARD_PROMPT.system}\n```" in page
    # Changed wording needs a new version, so that runs can be distinguished.
    assert CARD_PROMPT.params() == {"name": "skn_card", "version": 1, "sha256": "0e99ff4ef89dfda3"}
