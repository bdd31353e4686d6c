"""The eight formats as systems that answer cards: by rules, and with a model on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers import behaviours as does
from servers.behaviours import Asked
from servers.scripted_server import ScriptedServer
from stage_calls import epoche

from cards.card import CardView, read_cards
from eval.manifest import read_manifest
from eval.model.options import ClientOptions
from eval.registry import make_systems, system_names
from eval.result import Answer, read_results
from eval.skn.formats.card_reading import CARD_READING
from eval.skn.pipelines import FAIR_ABLATION_PIPELINES, PIPELINES
from eval.system import SystemOptions
from kg.base.errors import ModelCallError, SettingError

FACTS = ("The Main flows into the Rhine.", "The Main is a river.", "The Inn is in Austria.")
RULES = ("A river flows into at most one body of water.",)
ASKED = "Does the Main flow into the Rhine?"
VIEW = CardView(FACTS, RULES, ASKED)
FLAT: dict[str, object] = {"entities": [], "relationships": [], "claims": []}
SKN = '[SKN]\n@src river | fresh:low | reliability:0.5\n@facts\n  ! "Noted alone." [0.9]\n[/SKN]'
SKN_RISKY = SKN.replace("[/SKN]", "@risk misdirection:low | missing_context:low\n[/SKN]")

System = Any


@pytest.fixture
def make(
    scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., System]:
    """Makes a system on the scripted server, from an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)

    def made(name: str, **settings: str) -> System:
        client = ClientOptions(
            model=f"custom/{scripted_server.model}", max_retries=0, backoff_s=0.001, timeout_s=5
        )
        (system,) = make_systems(name, SystemOptions(settings=settings, client=client))
        return system

    return made


def answer(system: System, view: CardView = VIEW) -> Answer:
    async def ask() -> Answer:
        try:
            found: Answer = await system.answer(view)
            return found
        finally:
            if hasattr(system, "aclose"):
                await system.aclose()

    return asyncio.run(ask())


def is_extraction(asked: Asked) -> bool:
    return "<text>" in str(asked.body["messages"][1]["content"])


def says(*extractions: str, pred: str = "YES") -> does.Behaviour:
    """A server that extracts thus, the last one again and again, and then answers thus."""
    left = list(extractions)

    def say(asked: Asked) -> str:
        if is_extraction(asked):
            return left.pop(0) if len(left) > 1 else left[0]
        return json.dumps({"answer": pred, "confidence": 0.75, "reason": "r"})

    return does.reply(say)


# --- by rules -------------------------------------------------------------------------------


def test_all_eight_are_registered_and_described() -> None:
    names = system_names()
    assert set(FAIR_ABLATION_PIPELINES) == set(PIPELINES)
    for name in (*PIPELINES, "formats"):
        assert len(names[name]) > 30


def test_formats_asks_all_eight_without_a_model() -> None:
    systems = make_systems("formats", SystemOptions())
    assert [system.name for system in systems] == [f"{n} (rules)" for n in FAIR_ABLATION_PIPELINES]
    for system in systems:
        assert answer(system).pred == "YES"
        assert answer(system, CardView(FACTS, RULES, "Is the Po in Austria?")).pred == "UNKNOWN"


def test_one_format_by_rules_says_what_decides() -> None:
    (system,) = make_systems("skn", SystemOptions(settings={"by": "rules", "words": "50"}))
    params = system.params()
    assert (params["extractor"]["pipeline"], params["extractor"]["words"]) == ("skn", 50)
    assert params["extractor"]["by"] == params["agent"]["by"] == "rules"
    found = answer(system)
    assert found.confidence == pytest.approx(0.9)
    assert FACTS[0] in found.raw


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
def test_settings_without_sense_or_effect_are_refused(
    make: Callable[..., System], name: str, settings: dict[str, str]
) -> None:
    with pytest.raises(SettingError):
        make(name, **settings)


def test_a_run_by_rules_gives_the_same_rows_twice_and_no_latency(
    card_file: Callable[[int], Path], tmp_path: Path
) -> None:
    cards = card_file(6)
    outs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for out in outs:
        done = epoche("eval", "--cards", cards, "--system", "formats", "--out", out)
        assert done.code == 0, done.err
    assert outs[0].read_bytes() == outs[1].read_bytes()
    rows = list(read_results(outs[0]))
    assert len(rows) == 8 * len(read_cards(cards))
    assert all(row.latency_s is None and row.usage is None for row in rows)
    manifest = read_manifest(outs[0].with_suffix(".manifest.json"))
    assert manifest.model is None
    assert set(manifest.params) == {f"{name} (rules)" for name in PIPELINES}


# --- with a model ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", PIPELINES)
def test_the_agent_sees_the_extraction_and_nothing_else_of_the_card(
    make: Callable[..., System], scripted_server: ScriptedServer, name: str
) -> None:
    pipeline = PIPELINES[name]
    extraction = SKN
    if not pipeline.typed:
        claim: dict[str, object] = {"statement": "Noted alone.", "category": "fact"}
        if pipeline.confidence:
            claim["confidence"] = 0.9
        extraction = json.dumps(FLAT | {"claims": [claim]})
    elif pipeline.notation == "json":
        fact = {"priority": "!", "text": "Noted alone.", "confidence": 0.9}
        source = {"domain": "river", "fresh": "low", "reliability": 0.5}
        extraction = json.dumps({"source": source, "facts": [fact]})
    scripted_server.behave(says(extraction))
    system = make(name)
    assert system.name == f"{name}:custom/{scripted_server.model}"
    found = answer(system)
    assert (found.pred, found.note) == ("YES", "")
    assert "Noted alone." in found.raw
    assert found.raw.endswith('"reason": "r"}')
    first, second = scripted_server.requests
    text = str(first.body["messages"][1]["content"])
    assert "\n".join((*FACTS, *RULES)) in text
    assert ASKED in text
    notes = str(second.body["messages"][1]["content"])
    assert "Noted alone." in notes
    assert ASKED in notes
    assert not any(fact in second.prompt for fact in (*FACTS, *RULES))
    assert second.body["messages"][0]["content"].startswith(CARD_READING.system)


def test_a_model_never_sees_gold_label_kind_or_id(
    make: Callable[..., System],
    scripted_server: ScriptedServer,
    card_file: Callable[[int], Path],
) -> None:
    (card, *_) = read_cards(card_file(1))
    scripted_server.behave(says(SKN))
    answer(make("skn"), card.view)
    sent = "\n".join(asked.prompt for asked in scripted_server.requests)
    assert card.question in sent
    assert card.id not in sent
    assert card.claim.subj not in sent
    assert not card.cluster or card.cluster not in sent


def test_the_question_can_be_kept_from_the_extractor(
    make: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(says(SKN))
    answer(make("skn", hide_question="yes", words="77"))
    first, second = scripted_server.requests
    assert ASKED not in first.prompt
    assert "77" in first.prompt
    assert ASKED in second.prompt


def test_an_extraction_that_was_repaired_says_so(
    make: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(says("[SKN]\n@src river", SKN, pred="NO"))
    found = answer(make("skn"))
    assert (found.pred, found.note) == ("NO", "extraction repaired")
    assert len(scripted_server.requests) == 3


def test_an_extraction_in_a_fence_is_read_tolerantly(
    make: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(says(f"Here:\n```\n{SKN}\n```"))
    found = answer(make("skn"))
    assert (found.pred, found.note) == ("YES", "extraction tolerant")


@pytest.mark.parametrize(
    ("name", "extraction"),
    [
        ("skn", "[SKN]\n@src river | fresh:low"),
        ("skn", "I cannot do that."),
        ("skn", ""),
        ("skn_no_risk", SKN_RISKY),
        ("json", "[1, 2]"),
        ("json", json.dumps(FLAT)[:-8]),
        ("json_conf", json.dumps(FLAT | {"claims": [{"statement": "a", "category": "fact"}]})),
        ("json_meta", "{}"),
    ],
)
def test_an_unreadable_extraction_is_invalid_and_no_abstention(
    make: Callable[..., System], scripted_server: ScriptedServer, name: str, extraction: str
) -> None:
    scripted_server.behave(says(extraction, pred="UNKNOWN"))
    found = answer(make(name))
    assert found.pred == "INVALID"
    assert found.note.startswith("extraction: ")
    assert len(scripted_server.requests) == 2, "asked once more, and no agent after it"


@pytest.mark.parametrize(
    "fault", ["refusal", "content filter", "cut off", "empty text", "null text"]
)
def test_faults_of_the_extraction_are_invalid(
    make: Callable[..., System], scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave(does.FAULTS[fault]())
    assert answer(make("json")).pred == "INVALID"


def test_a_failed_call_raises_whichever_it_is(
    make: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    well, fails = says(SKN), does.FAULTS["500"]()
    scripted_server.behave(fails)
    with pytest.raises(ModelCallError):
        answer(make("skn"))
    scripted_server.behave_by(lambda asked: well if is_extraction(asked) else fails)
    with pytest.raises(ModelCallError):
        answer(make("skn"))


def test_an_answer_that_cannot_be_read_is_invalid(
    make: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(says(SKN, pred="PERHAPS"))
    found = answer(make("skn"))
    assert found.pred == "INVALID"
    assert found.note.startswith("unreadable")


def test_settings_reach_the_server(
    make: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(says(json.dumps(FLAT)))
    answer(make("json", max_tokens="321", temperature="0.5"))
    answer(make("json"))
    bodies = [asked.body for asked in scripted_server.requests]
    assert [body["temperature"] for body in bodies] == [0.5, 0.5, 0, 0]
    assert [body["max_tokens"] for body in bodies] == [321, 321, 900, 900]
    assert "response_format" not in bodies[0], "an extraction is asked for as plain text"
    assert "response_format" in bodies[1]
    scripted_server.forget()
    answer(make("json", constrained="yes"))
    assert "response_format" in scripted_server.requests[0].body


def test_all_eight_with_a_model(scripted_server: ScriptedServer, make: object) -> None:
    client = ClientOptions(model=f"custom/{scripted_server.model}")
    systems = make_systems("formats", SystemOptions(settings={"by": "model"}, client=client))
    model = f"custom/{scripted_server.model}"
    assert [system.name for system in systems] == [f"{n}:{model}" for n in FAIR_ABLATION_PIPELINES]


def test_the_documentation_shows_the_prompt_as_it_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "systems.md").read_text("utf-8")
    assert f"### `{CARD_READING.name}`, version {CARD_READING.version}:" in page
    assert f"```text\n{CARD_READING.system}\n```" in page
    # Words that change need a new version, so that runs can be told apart by eye.
    assert CARD_READING.params() == {"name": "skn_card", "version": 1, "sha256": "0e99ff4ef89dfda3"}
