"""Tests the requests and answers of systems that ask a model, here a local server."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers import behaviours
from servers.behaviours import ChatRequest
from servers.llama_server import LlamaServer
from servers.scripted_server import ScriptedServer
from stage_calls import check_error_line, run_epoche

from cards.card import CardView, read_cards
from eval.abstention.answer_client import read_raw_again
from eval.abstention.manifest import read_manifest
from eval.abstention.metrics.closed_book import find_closed_book
from eval.abstention.metrics.record import read_metrics
from eval.abstention.result import Answer, Result, read_results
from eval.abstention.runner import run
from eval.abstention.system import SystemOptions
from eval.abstention.systems.consistency import combine_samples
from eval.abstention.systems.registry import make_systems, system_names
from eval.harness.session import RunLimits
from eval.model.options import ClientOptions
from kg.base.errors import ModelAccessError, ModelCallError, SettingError
from kg.base.provenance import manifest_path

FACTS = ("The Main flows into the Rhine.", "The Main is a river.")
RULES = ("A river flows into at most one body of water.",)
QUESTION = "Does the Main flow into the Rhine?"
VIEW = CardView(FACTS, RULES, QUESTION)

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
            model=f"custom/{scripted_server.model}",
            max_retries=0,
            backoff_s=0.001,
            timeout_s=5,
        )
        options = SystemOptions(domain="rivers", settings=settings, client=client)
        (system,) = make_systems(name, options)
        return system

    return build_system


def ask_cards(system: System, *views: CardView) -> list[Answer]:
    """Asks one card after the other and closes the system."""

    async def run_system() -> list[Answer]:
        try:
            return [await system.answer(view) for view in views]
        finally:
            await system.aclose()

    return asyncio.run(run_system())


def reply_with_answer(answer: str, **fields: object) -> behaviours.Behaviour:
    """Returns a behaviour that gives the same answer to every request."""
    reply = {"answer": answer, "confidence": 0.75, "reason": "r", **fields}
    return behaviours.normal_reply(lambda request: json.dumps(reply))


def reply_with_text(text: str) -> behaviours.Behaviour:
    return behaviours.normal_reply(lambda request: text)


def get_last_prompt(server: ScriptedServer) -> str:
    """Returns the user message of the last request."""
    return str(server.requests[-1].body["messages"][-1]["content"])


# --- raw ------------------------------------------------------------------------------------


def test_raw_sends_only_facts_rules_and_question(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(reply_with_answer("YES"))
    system = make_system("raw")
    assert system.name == f"raw:custom/{scripted_server.model}"
    (answer,) = ask_cards(system, VIEW)
    assert answer.pred == "YES"
    assert json.loads(answer.raw)["answer"] == "YES"
    assert get_last_prompt(scripted_server) == (
        f"<facts>\n1. {FACTS[0]}\n2. {FACTS[1]}\n</facts>\n\n"
        f"<rules>\n1. {RULES[0]}\n</rules>\n\n<question>\n{QUESTION}\n</question>"
    )
    body = scripted_server.requests[-1].body
    assert body["temperature"] == 0
    assert [turn["role"] for turn in body["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("penalty", "mark", "sentence"),
    [
        ("0", "@t0", "costs 0 points"),
        ("0.5", "@t.5", "costs 1 points"),
        (".75", "@t.75", "costs 3 points, and UNKNOWN is worth 0 points where YES or NO would have "
         "been right. So answer YES or NO only if you are more than 75% sure of it."),
    ],
)  # fmt: skip
def test_a_penalty_is_announced_in_the_prompt_and_in_the_name(
    make_system: Callable[..., System],
    scripted_server: ScriptedServer,
    penalty: str,
    mark: str,
    sentence: str,
) -> None:
    scripted_server.behave(reply_with_answer("YES"))
    ask_cards(make_system("raw"), VIEW)
    without = scripted_server.requests[-1].body["messages"]
    system = make_system("raw", penalty=penalty)
    assert system.name == f"raw:custom/{scripted_server.model}{mark}"
    assert system.params()["penalty"] == float(penalty)
    ask_cards(system, VIEW)
    messages = scripted_server.requests[-1].body["messages"]
    paragraphs = messages[0]["content"].split("\n\n")
    (scoring,) = set(paragraphs) - set(without[0]["content"].split("\n\n"))
    assert sentence in scoring
    assert messages[1:] == without[1:]


def test_the_report_shows_what_is_answered_at_each_penalty(
    make_system: Callable[..., System],  # which names the server
    scripted_server: ScriptedServer,
    card_file: Callable[[int], Path],
    tmp_path: Path,
) -> None:
    del make_system

    def reply(request: ChatRequest) -> str:
        is_cautious = "more than 75% sure" in request.body["messages"][0]["content"]
        answer = "UNKNOWN" if is_cautious else "YES"
        return json.dumps({"answer": answer, "confidence": 0.5, "reason": "r"})

    scripted_server.behave(behaviours.normal_reply(reply))
    cards, results = card_file(9), tmp_path / "r.jsonl"
    model = f"custom/{scripted_server.model}"
    command = ("eval", "--cards", cards, "--system", "raw", "--model", model)
    done = run_epoche(*command, "--announce-penalty", "0,.5, .75", "--out", results)
    assert done.code == 0, done.err
    assert read_manifest(manifest_path(results)).systems == tuple(
        f"raw:{model}@t{penalty}" for penalty in ("0", ".5", ".75")
    )
    metrics, page = tmp_path / "m.json", tmp_path / "r.html"
    assert run_epoche("metrics", "--results", results, "--out", metrics).code == 0
    done = run_epoche(
        *("report", "--cards", cards, "--results", results, "--metrics", metrics, "--out", page)
    )
    assert done.code == 0, done.err
    text = page.read_text("utf-8")
    assert f"<bdi>raw:{model}</bdi></strong>: share answered against t" in text
    assert (re.findall(r"t = [\d.]+: answered [\d.]+", text)) == [
        "t = 0: answered 1.000",
        "t = 0.5: answered 1.000",
        "t = 0.75: answered 0.000",
    ]
    done = run_epoche(*command, "--announce-penalty", "2", "--out", tmp_path / "x.jsonl")
    assert "penalty" in check_error_line(done, 19)


@pytest.mark.parametrize("penalty", ["1", "-0.1", "x"])
def test_an_impossible_penalty_is_refused(make_system: Callable[..., System], penalty: str) -> None:
    with pytest.raises(SettingError, match="penalty"):
        make_system("raw", penalty=penalty)


def test_closed_book_sends_only_the_question(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(reply_with_answer("UNKNOWN"))
    system = make_system("raw", closed_book="yes")
    assert system.name == f"raw_closed_book:custom/{scripted_server.model}"
    assert ask_cards(system, VIEW)[0].pred == "UNKNOWN"
    prompt = scripted_server.requests[-1].prompt
    assert QUESTION in prompt
    assert not any(text in prompt for text in (*FACTS, *RULES))
    assert system.params()["prompt"]["name"] == "closed_book"


def test_the_report_shows_each_model_beside_itself_without_the_card(
    make_system: Callable[..., System],  # which names the server
    scripted_server: ScriptedServer,
    tmp_path: Path,
) -> None:
    """A model that reads cards perfectly, and without them says YES to everything."""
    del make_system
    path = tmp_path / "cards.jsonl"
    done = run_epoche(
        *("cards", "--domain", "rivers", "--num-per-type", 12, "--num-faithfulness", 6),
        *("--out", path),
    )
    assert done.code == 0, done.err
    cards = read_cards(path)
    n_faithfulness = len(cards) - 36
    golds = {(*card.facts, card.question): card.gold for card in cards}

    def reply(request: ChatRequest) -> str:
        texts = [
            html.unescape(re.sub(r"^\d+\. ", "", line)) for line in request.prompt.splitlines()
        ]
        answer = "YES"
        if "<facts>" in texts:
            facts = texts[texts.index("<facts>") + 1 : texts.index("</facts>")]
            answer = golds[(*facts, texts[texts.index("<question>") + 1])]
        return json.dumps({"answer": answer, "confidence": 0.5, "reason": "r"})

    scripted_server.behave(behaviours.normal_reply(reply))
    model = f"custom/{scripted_server.model}"
    results = [tmp_path / f"{name}.jsonl" for name in ("raw", "raw_closed_book")]
    for out in results:
        done = run_epoche(
            *("eval", "--cards", path, "--system", out.stem, "--model", model, "--out", out)
        )
        assert done.code == 0, done.err
    data, page = tmp_path / "m.json", tmp_path / "r.html"
    done = run_epoche("metrics", "--results", *results, "--out", data)
    assert done.code == 0, done.err
    assert "skill@.5 1.000, closed book -1.000, difference +2.000" in done.out
    assert "YES to withheld truths 0.000, closed book 1.000" in done.out
    assert re.search(rf"faithfulness: raw:{model}  1.000 .* counterfactual cards", done.out)
    metrics = read_metrics(data)
    assert [
        (pair.candidate, pair.baseline, pair.metric, pair.policy, pair.difference)
        for pair in metrics.closed_book
    ] == [
        (f"raw:{model}", f"raw_closed_book:{model}", metric, "licensed", difference)
        for metric, difference in (("skill@.5", 2.0), ("LA", 0.0))
    ]
    systems = metrics.policies["licensed"].systems
    assert metrics.n_faithfulness == n_faithfulness >= 8
    assert metrics.n_cards == systems[f"raw:{model}"].n_cards == 36
    done = run_epoche(
        *("report", "--cards", path, "--results", *results, "--metrics", data, "--out", page)
    )
    assert done.code == 0, done.err
    text = page.read_text("utf-8")
    assert "<h3>Closed book</h3>" in text
    assert 'id="faithfulness"' in text
    row = text[text.index('aria-label="Closed book"') :].partition("</table>")[0]
    cells = [
        re.sub(r"<small>.*|<[^>]+>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)
    ]
    assert [*cells[:3], *cells[4:7], *cells[8:]] == [
        *("1.000", "−1.000", "+2.000"),
        *("1.000", "1.000", "0.000"),
        *("0.000", "1.000"),
    ]
    assert "## Closed book" in page.with_suffix(".md").read_text("utf-8")


@pytest.mark.parametrize(
    ("system", "closed_book"),
    [
        ("raw:m", "raw_closed_book:m"),
        ("graph_rag_llm:m", "raw_closed_book:m"),
        ("raw:m@t.5", None),  # which was told how answers are scored, and the other was not
        ("raw:other", None),
        ("raw_closed_book:m", None),
        ("consistency_closed_book:m", None),
        ("rag", None),
        ("m", None),
    ],
)
def test_the_closed_book_answers_of_the_same_model(system: str, closed_book: str | None) -> None:
    assert find_closed_book(system, ("raw:m", "raw_closed_book:m", "rag")) == closed_book


@pytest.mark.parametrize(
    ("behaviour", "pred", "note"),
    [
        (reply_with_answer("NO"), "NO", ""),
        (reply_with_text("No."), "NO", "read as text"),
        (reply_with_text("I do not know whether it does."), "UNKNOWN", "read as text"),
        (reply_with_text('Sure! {"answer": "YES", "confidence": 0.5, "reason": "x"}'), "YES", ""),
        (reply_with_text("Bananas are yellow."), "INVALID", "unreadable"),
        (
            reply_with_text('{"answer": "MAYBE", "confidence": 1, "reason": ""}'),
            "INVALID",
            "unreadable",
        ),
        (reply_with_text('{"answer": "UNKNOWN", "reason": "it is unkn'), "INVALID", "unreadable"),
        (
            reply_with_text('Here:\n```json\n{"answer": "UNKNOWN", "confidence": high}\n```'),
            "INVALID",
            "unreadable",
        ),
        (reply_with_text('{"verdict": NO}'), "INVALID", "unreadable"),
        (reply_with_text(""), "INVALID", "unreadable"),
        (behaviours.refusal_reply(), "INVALID", "refused"),
        (behaviours.filtered_reply(), "INVALID", "refused"),
        (behaviours.cut_off_reply(), "INVALID", "cut off at max_tokens"),
    ],
)
def test_replies_become_answers(
    make_system: Callable[..., System],
    scripted_server: ScriptedServer,
    behaviour: behaviours.Behaviour,
    pred: str,
    note: str,
) -> None:
    scripted_server.behave(behaviour)
    (answer,) = ask_cards(make_system("raw"), VIEW)
    assert answer.pred == pred
    assert note in answer.note
    assert (answer.note == "") == (note == "")
    if pred == "INVALID":
        assert answer.confidence is None


ENDLESS = '{"answer": "YES", "confidence": 0.5, "reason": "' + "the answer is correct, " * 40


@pytest.mark.parametrize(
    ("text", "pred", "confidence"),
    [
        (ENDLESS, "YES", 0.5),
        ('{"answer": "UNKNOWN"' + "\n" * 90, "UNKNOWN", None),
        ('```json\n{"answer": "NO", "confidence": 0.2', "NO", None),
        ('{"answer": "NO", "confidence": 1} The answer is', "NO", 1),
        # The answer itself is unfinished, or there are two, or it does not begin the reply.
        ('{"answer": "NO', "INVALID", None),
        ('{"reason": "I do not know: NO", "ans', "INVALID", None),
        ('{"answer": "YES", "answer": "NO", "reason": "', "INVALID", None),
        ('{"answer": "YES", "confidence": 1} {"answer": "NO", "con', "INVALID", None),
        ("I know the answer: the Main is a", "INVALID", None),
        ("NO, I do not know", "INVALID", None),
    ],
)
def test_a_reply_cut_off_after_its_answer_is_read(
    make_system: Callable[..., System],
    scripted_server: ScriptedServer,
    text: str,
    pred: str,
    confidence: float | None,
) -> None:
    scripted_server.behave(behaviours.cut_off_reply(len(text), lambda request: text))
    system = make_system("raw", confidence="stated", reason="yes")
    (answer,) = ask_cards(system, VIEW)
    assert (answer.pred, answer.confidence) == (pred, confidence)
    assert answer.note.startswith("cut off at max_tokens")
    assert ("after its answer" in answer.note) == (pred != "INVALID")
    assert len(scripted_server.requests) == (1 if pred != "INVALID" else 2)  # a repair turn
    assert read_raw_again(answer.raw, answer.note) == pred


@pytest.mark.parametrize("name", ["raw", "graph_rag_llm"])
def test_a_reason_is_asked_for_only_if_it_is_wanted(
    make_system: Callable[..., System], scripted_server: ScriptedServer, name: str
) -> None:
    scripted_server.behave(reply_with_answer("YES", claims=[]))
    limits = {}
    for wanted in ("no", "yes"):
        system = make_system(name, **({"reason": "yes"} if wanted == "yes" else {}))
        ask_cards(system, VIEW)
        body = scripted_server.requests[-1].body
        schema = body["response_format"]["json_schema"]["schema"]
        assert ("reason" in schema["properties"]) == (wanted == "yes")
        assert ('"reason"' in body["messages"][0]["content"]) == (wanted == "yes")
        assert schema["required"] == list(schema["properties"])
        limits[wanted] = body["max_tokens"]
        assert system.params()["reason"] is (wanted == "yes")
    assert (
        limits == {"raw": {"no": 128, "yes": 512}, "graph_rag_llm": {"no": 192, "yes": 576}}[name]
    )


def test_a_proposal_cut_off_in_its_claims_is_licensed_by_the_question(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    text = '{"answer": "YES", "confidence": 0.5, "claims": [{"subject": "the the the'
    scripted_server.behave(behaviours.cut_off_reply(len(text), lambda request: text))
    (answer,) = ask_cards(make_system("graph_rag_llm"), VIEW)
    assert answer.pred == "YES"
    assert answer.raw.startswith("Licensed YES:")
    assert "cut off at max_tokens after its answer" in answer.note


def test_prompts_begin_with_what_stays_the_same(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    """Servers keep the work on the beginning of a prompt, so what differs by card comes last."""
    scripted_server.behave(reply_with_answer("YES", claims=[]))
    other = CardView(FACTS, RULES, "Is the Main a river?")
    for name in ("raw", "raw_closed_book", "rag_llm", "graph_rag_llm", "consistency"):
        n_before = len(scripted_server.requests)
        ask_cards(make_system(name), VIEW, other)
        messages = [request.body["messages"] for request in scripted_server.requests[n_before:]]
        (system_message,) = {turns[0]["content"] for turns in messages}
        assert "JSON Schema" in system_message
        first, second = sorted({turns[1]["content"] for turns in messages})
        for view in (VIEW, other):
            end = f"<question>\n{view.question}\n</question>"
            assert [text.endswith(end) for text in (first, second)].count(True) == 1
        if name not in ("rag_llm", "graph_rag_llm"):  # whose context depends on the question
            assert first.partition("<question>")[0] == second.partition("<question>")[0]


def test_failed_calls_raise_instead_of_answering(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    for behaviour, error in (
        (behaviours.http_error(500), ModelCallError),
        (behaviours.expired_key_error(), ModelAccessError),
    ):
        scripted_server.behave(behaviour)
        for name in ("raw", "rag_llm", "graph_rag_llm", "consistency"):
            with pytest.raises(error):
                ask_cards(make_system(name), VIEW)


# --- confidence -----------------------------------------------------------------------------


def make_logprob_reply(content: str, tokens: list[tuple[str, float]]) -> behaviours.Behaviour:
    """Returns a behaviour whose reply has tokens with the given log-probabilities."""

    def add_logprobs(body: dict[str, Any]) -> None:
        entries = [{"token": token, "logprob": value} for token, value in tokens]
        body["choices"][0]["logprobs"] = {"content": entries}

    return behaviours.edited_reply(add_logprobs, lambda request: content)


def make_plain_reply(content: str) -> behaviours.Behaviour:
    return behaviours.edited_reply(
        lambda body: body["choices"][0].pop("logprobs", None), lambda request: content
    )


REPLY = '{"answer": "NO", "confidence": 0.75, "reason": "NO way"}'
TOKENS = [('{"answer": "', -1.0), ("N", -0.5), ("O", -0.25), ('", "confidence": 0.75, ', -3.0),
          ('"reason": "', -0.1), ("NO", -9.0), (' way"}', -0.1)]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "behaviour", "confidence", "note"),
    [
        # exp(-0.5 - 0.25) = 0.472367: the tokens of the answer are "N" and "O".
        ("auto", make_logprob_reply(REPLY, TOKENS), 0.472367, ""),
        ("logprob", make_logprob_reply(REPLY, TOKENS), 0.472367, ""),
        ("stated", make_logprob_reply(REPLY, TOKENS), 0.75, ""),
        ("none", make_logprob_reply(REPLY, TOKENS), None, ""),
        ("auto", make_plain_reply(REPLY), 0.75, "confidence as stated"),
        ("logprob", make_plain_reply(REPLY), None, "no log-probability of the answer"),
        # Stated confidences outside 0 to 1 are ignored.
        ("auto", make_plain_reply(REPLY.replace("0.75", "75")), None, "stated confidence"),
        ("stated", make_plain_reply(REPLY.replace("0.75", "-1")), None, "stated confidence"),
        # exp(-0.25) = 0.778801.
        ("auto", make_logprob_reply("NO", [("NO", -0.25)]), 0.778801, "read as text"),
        # A token that contains more than the answer gives no confidence.
        ("auto", make_logprob_reply("There is no doubt: NO.", [("There is no doubt: NO.", -0.25)]),
         None, "no confidence"),
    ],
)  # fmt: skip
def test_confidence_sources(
    make_system: Callable[..., System],
    scripted_server: ScriptedServer,
    source: str,
    behaviour: behaviours.Behaviour,
    confidence: float | None,
    note: str,
) -> None:
    scripted_server.behave(behaviour)
    system = make_system("raw", confidence=source)
    assert system.params()["confidence"] == source
    (answer,) = ask_cards(system, VIEW)
    assert answer.confidence == confidence
    assert note in answer.note
    requested = scripted_server.requests[0].body.get("logprobs", False)
    assert requested is (source in ("auto", "logprob"))


# --- rag_llm --------------------------------------------------------------------------------


def test_rag_llm_uses_the_passages_of_rag(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(reply_with_answer("YES"))
    system = make_system("rag_llm", top_k="3")
    view = CardView(
        ("The Rhine flows into a hat.",), ("Rule.",), "Does the Rhine flow into the Elbe?"
    )
    ask_cards(system, view)
    prompt = get_last_prompt(scripted_server)
    passages = prompt.split("</passages>")[0].splitlines()[1:]
    assert [line.split(". ")[0] for line in passages] == ["1", "2", "3"]
    assert all("Rhine" in line or "Elbe" in line for line in passages)
    assert "hat" not in prompt
    assert "Rule" not in prompt
    params = system.params()
    assert params["retriever"]["name"] == "bm25"
    assert (params["top_k"], params["prompt"]["name"]) == (3, "passages")
    assert len(system.graph_sha256) == 64


# --- graph_rag_llm --------------------------------------------------------------------------


def make_claim(
    subject: str, predicate: str, object_: str, *, negated: bool = False
) -> dict[str, object]:
    return {"subject": subject, "predicate": predicate, "object": object_, "negated": negated}


OPEN_QUESTION = "Would a paper boat put into the Aare one day be seen on the Rhine?"
RHINE_MOUTH = make_claim("Rhine", "flows into", "North Sea")


RESTRICTED_QUESTIONS = (
    ("Has the Rhine never flowed into the North Sea?", "negated"),
    ("Is the Rhine not a river that flows into the North Sea?", "negated"),
    ("Does only the Rhine flow into the North Sea?", "“only”"),
    ("Do two rivers besides the Rhine flow into the North Sea?", "“besides”"),
    ("Does no tributary of the Rhine flow into the North Sea?", "negated"),
)


@pytest.mark.parametrize(
    ("question", "proposal", "claims", "pred", "reason"),
    [
        ("Does the Rhine flow into the North Sea?", "YES", [RHINE_MOUTH], "YES", "Licensed YES"),
        ("Does the Rhine flow into the North Sea?", "NO", [RHINE_MOUTH], "UNKNOWN", "Overruled NO"),
        ("Does the Rhine flow into the Elbe?", "NO", [make_claim("Rhine", "flows into", "Elbe")],
         "NO", "Licensed NO"),
        ("Does the Rhine flow into the Elbe?", "YES", [make_claim("Rhine", "flows into", "Elbe")],
         "UNKNOWN", "Overruled YES"),
        # A true claim that does not match the question licenses nothing.
        ("Does the Rhine flow into the Elbe?", "YES", [RHINE_MOUTH], "UNKNOWN",
         "the question asks something else"),
        # ... nor does it block the claim of the question.
        ("Does the Rhine flow into the Elbe?", "NO",
         [RHINE_MOUTH, make_claim("Rhine", "flows into", "Elbe")], "NO", "Licensed NO"),
        ("Does the Rhine flow into the North Sea?", "YES", [], "UNKNOWN", "proposed no claim"),
        ("Does the Rhine flow into the North Sea?", "YES",
         [make_claim("Zzyzx", "flows into", "Elbe")], "UNKNOWN", "“Zzyzx” names nothing"),
        ("Does the Rhine flow into the North Sea?", "UNKNOWN", [RHINE_MOUTH], "UNKNOWN", ""),
        ("Is it false that the Rhine flows into the North Sea?", "NO",
         [{**RHINE_MOUTH, "negated": True}], "NO", "Licensed NO"),
        ("Is it false that the Rhine flows into the North Sea?", "YES", [RHINE_MOUTH], "UNKNOWN",
         "only one of the claim and the question is negated"),
        # Only the model can parse this question: its claims must cover all names in it.
        (OPEN_QUESTION, "YES", [make_claim("Aare", "flows into", "Rhine")], "YES", "Licensed YES"),
        (OPEN_QUESTION, "YES", [make_claim("Rhine", "is a", "river")], "UNKNOWN", "leave out"),
        (OPEN_QUESTION, "YES", [RHINE_MOUTH], "UNKNOWN", "does not mention the North Sea"),
        (OPEN_QUESTION, "YES",
         [make_claim("Aare", "flows into", "Rhine"), make_claim("x", "y", "z")],
         "UNKNOWN", "names nothing"),
        # A true claim does not answer a question that negates or restricts it.
        *((question, "YES", [RHINE_MOUTH], "UNKNOWN", reason)
          for question, reason in RESTRICTED_QUESTIONS),
    ],
)  # fmt: skip
def test_only_licensed_answers_pass(
    make_system: Callable[..., System],
    scripted_server: ScriptedServer,
    question: str,
    proposal: str,
    claims: list[dict[str, object]],
    pred: str,
    reason: str,
) -> None:
    scripted_server.behave(reply_with_answer(proposal, claims=claims))
    system = make_system("graph_rag_llm", claims="always")
    (answer,) = ask_cards(system, CardView((), (), question))
    assert answer.pred == pred
    assert reason in answer.raw
    assert json.loads(answer.raw.splitlines()[-1])["answer"] == proposal
    is_overruled = pred != proposal
    assert (answer.note == f"overruled {proposal}") == is_overruled
    assert (answer.confidence is None) == is_overruled


def test_unlicensed_proposals_never_pass(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    """Whatever the model proposes, a YES or NO equals the answer of graph_rag."""
    from kg.knowledge import KnowledgeBase

    kb = KnowledgeBase.open_cached("rivers")
    system = make_system("graph_rag_llm", context="question", claims="always")
    names = ["Rhine", "Main", "North Sea", "Elbe", "Danube", "Germany", "1,233 km", "x"]
    predicates = [
        "flows into",
        "is the mouth of",
        "length",
        "is a",
        "X is part of Y",
        "flows through",
    ]
    views, replies = [], []
    for number in range(120):  # the names and predicates vary with the number
        a, b, c, d = (names[(number * k + k) % len(names)] for k in (1, 3, 5, 7))
        views.append(CardView((), (), f"Does the {a} flow into the {b}?"))
        # Every third proposal is about the names in the question, the others are about other names.
        subject, object_ = (c, d) if number % 3 else (a, b)
        claims = [make_claim(subject, predicates[number % len(predicates)], object_)]
        replies.append({"answer": ("YES", "NO")[number % 2], "confidence": 1, "claims": claims,
                        "reason": ""})  # fmt: skip
    scripted_server.behave(
        [
            behaviours.normal_reply(lambda request, reply=reply: json.dumps(reply))
            for reply in replies
        ]
    )
    from eval.abstention.systems.graph_rag import GraphRag

    graph_system = GraphRag(kb)
    passed_count = 0
    for view, answer in zip(views, ask_cards(system, *views), strict=True):
        if answer.pred in ("YES", "NO"):
            passed_count += 1
            assert graph_system.answer(view).pred == answer.pred
    assert passed_count >= 3


def test_answer_without_a_proposal_is_licensed_by_the_question(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(reply_with_text("Yes, it does."))
    questions = (
        "Does the Rhine flow into the North Sea?",
        "Does the Rhine flow into the Elbe?",
        OPEN_QUESTION,
    )
    views = [CardView((), (), question) for question in questions]
    answers = ask_cards(make_system("graph_rag_llm"), *views)
    assert [answer.pred for answer in answers] == ["YES", "UNKNOWN", "INVALID"]
    assert "no claims can be read" in answers[2].note


def test_neighbourhood_is_shown_unless_disabled(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(reply_with_answer("UNKNOWN", claims=[]))
    view = CardView(("SECRET fact.",), ("SECRET rule.",), "Does the Rhine flow into the Elbe?")
    system = make_system("graph_rag_llm", facts="7", claims="always")
    ask_cards(system, view)
    prompt = get_last_prompt(scripted_server)
    facts = prompt.split("<facts>")[1].split("</facts>")[0].strip().splitlines()
    assert len(facts) == 7
    assert all("Rhine" in fact or "Elbe" in fact for fact in facts)
    assert "1. X flows into Y" in prompt
    assert "SECRET" not in prompt
    assert system.params()["facts"] == 7
    question_only_system = make_system("graph_rag_llm", context="question", claims="always")
    ask_cards(question_only_system, view)
    assert "<facts>" not in get_last_prompt(scripted_server)
    assert question_only_system.params()["prompt_with_claims"]["name"] == "proposal_closed"


@pytest.mark.parametrize("context", ["neighbourhood", "question"])
def test_claims_are_asked_for_only_where_the_question_cannot_be_read(
    make_system: Callable[..., System], scripted_server: ScriptedServer, context: str
) -> None:
    questions = {
        "Does the Rhine flow into the Elbe?": (False, "NO"),
        OPEN_QUESTION: (True, "UNKNOWN"),  # the graph does not contradict its claim
        RESTRICTED_QUESTIONS[2][0]: (False, "UNKNOWN"),  # no claim answers it
    }
    claims = [make_claim("Aare", "flows into", "Rhine")]
    for question, (are_claims_asked, pred) in questions.items():

        def make_reply(request: ChatRequest, *, with_claims: bool = are_claims_asked) -> str:
            verdict = {"answer": "NO", "confidence": 0.9}
            return json.dumps(verdict | ({"claims": claims} if with_claims else {}))

        scripted_server.behave(behaviours.normal_reply(make_reply))
        system = make_system("graph_rag_llm", context=context)
        (answer,) = ask_cards(system, CardView((), (), question))
        prompt, body = get_last_prompt(scripted_server), scripted_server.requests[-1].body
        assert ("<predicates>" in prompt) == are_claims_asked
        assert ("<facts>" in prompt) == (context == "neighbourhood")
        schema = body["response_format"]["json_schema"]["schema"]
        assert ("claims" in schema["properties"]) == are_claims_asked
        assert answer.pred == pred


# --- consistency ----------------------------------------------------------------------------


def make_sample(pred: Any) -> Answer | ModelCallError:
    """Returns an answer, or the error of a failed call for ERROR."""
    return ModelCallError("failed") if pred == "ERROR" else Answer(pred=pred, raw=pred)


@pytest.mark.parametrize(
    ("samples", "pred", "confidence"),
    [
        ("YES YES NO YES UNKNOWN", "YES", 0.6),
        ("UNKNOWN UNKNOWN NO", "UNKNOWN", 0.666667),
        ("YES NO", "UNKNOWN", None),
        ("YES YES NO NO UNKNOWN", "UNKNOWN", None),
        ("YES NO UNKNOWN", "UNKNOWN", None),
        ("NO INVALID", "NO", 1.0),
        ("NO NO INVALID ERROR", "NO", 1.0),
        ("NO INVALID INVALID", "INVALID", None),
        ("INVALID INVALID INVALID", "INVALID", None),
        ("INVALID INVALID ERROR", "INVALID", None),
        ("YES YES NO NO INVALID", "INVALID", None),  # which could have broken the tie
    ],
)
def test_votes_decide_the_answer(samples: str, pred: str, confidence: float | None) -> None:
    answer = combine_samples([make_sample(text) for text in samples.split()])
    assert (answer.pred, answer.confidence) == (pred, confidence)
    assert len(answer.raw.splitlines()) == 1 + len(samples.split())
    if confidence is None or {"INVALID", "ERROR"} & {*samples.split()}:
        assert answer.note


@pytest.mark.parametrize(
    "samples",
    [
        *("ERROR ERROR", "YES ERROR ERROR", "INVALID ERROR ERROR", "YES YES NO NO ERROR"),
        # Two more answers could have won, or made it a tie.
        *("YES YES NO ERROR ERROR", "YES YES ERROR ERROR", "YES ERROR", "YES YES NO ERROR"),
    ],
)
def test_decisive_failed_calls_give_an_error(samples: str) -> None:
    with pytest.raises(ModelCallError):
        combine_samples([make_sample(text) for text in samples.split()])


@given(st.lists(st.sampled_from(["YES", "NO", "UNKNOWN", "INVALID", "ERROR"]), min_size=1))
def test_an_abstention_needs_votes(samples: list[str]) -> None:
    readable_count = sum(text in ("YES", "NO", "UNKNOWN") for text in samples)
    try:
        answer = combine_samples([make_sample(text) for text in samples])
    except ModelCallError:
        counts = sorted(samples.count(text) for text in ("YES", "NO", "UNKNOWN"))
        could_change = counts[-1] - counts[-2] <= samples.count("ERROR")
        assert 2 * readable_count < len(samples) or could_change
        assert "ERROR" in samples
        return
    if answer.pred == "INVALID":
        assert 2 * readable_count < len(samples) or "a tie" in answer.note
    else:
        assert 2 * readable_count >= len(samples)
        is_noted_tie = answer.note.startswith("tie")
        assert answer.pred in samples or is_noted_tie
        has_failed = {"ERROR", "INVALID"} & {*samples}
        assert not (is_noted_tie and has_failed), "failures must not become abstentions"
    answer_to_sorted_samples = combine_samples([make_sample(text) for text in sorted(samples)])
    assert (answer_to_sorted_samples.pred, answer_to_sorted_samples.confidence) == (
        answer.pred,
        answer.confidence,
    )


def test_samples_have_separate_cache_entries(
    make_system: Callable[..., System], scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    sample_answers = iter(["YES", "NO", "YES", "YES", "UNKNOWN"])
    scripted_server.behave(
        behaviours.normal_reply(
            lambda request: json.dumps(
                {"answer": next(sample_answers), "confidence": 1, "reason": ""}
            )
        )
    )
    client = ClientOptions(model=f"custom/{scripted_server.model}", cache=tmp_path / "c.sqlite")
    answers = []
    for _ in range(2):
        (system,) = make_systems("consistency", SystemOptions(client=client))
        answers += ask_cards(system, VIEW)
    assert len(scripted_server.requests) == 5, "the second run uses only the cache"
    assert scripted_server.requests[0].body["temperature"] == 0.7
    assert "logprobs" not in scripted_server.requests[0].body
    assert (answers[0].pred, answers[0].confidence) == ("YES", 0.6)
    assert (answers[1].pred, answers[1].confidence) == ("YES", 0.6)
    assert system.params()["samples"] == 5
    assert system.params()["confidence"] == "agreement"


# --- all of them ----------------------------------------------------------------------------


def test_model_systems_are_registered_and_described() -> None:
    names = system_names()
    for name in ("raw", "rag_llm", "graph_rag_llm", "nli", "consistency"):
        assert len(names[name]) > 30


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("raw", {"temperature": "3"}),
        ("raw", {"closed_book": "maybe"}),
        ("raw", {"samples": "3"}),
        ("raw", {"structured": "xml"}),
        ("raw", {"model_seed": "x"}),
        ("consistency", {"temperature": "0"}),
        ("consistency", {"samples": "1"}),
        ("consistency", {"confidence": "stated"}),
        ("graph_rag_llm", {"context": "question", "facts": "3"}),
        ("rag_llm", {"threshold": "0.5"}),
        ("rag_llm", {"dense_weight": "0.5"}),
        ("nli", {}),
        ("nli", {"model": "x", "premise": "some"}),
    ],
)
def test_invalid_or_unused_settings_are_refused(
    make_system: Callable[..., System], name: str, settings: dict[str, str]
) -> None:
    with pytest.raises(SettingError):
        make_system(name, **settings)


def test_settings_reach_the_server(
    make_system: Callable[..., System], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(reply_with_answer("YES"))
    ask_cards(
        make_system("raw", temperature="0.5", max_tokens="9", model_seed="4", top_p="0.9"), VIEW
    )
    body = scripted_server.requests[-1].body
    assert (body["temperature"], body["max_tokens"], body["seed"], body["top_p"]) == (
        0.5,
        9,
        4,
        0.9,
    )
    ask_cards(make_system("raw", temperature="server", structured="text"), VIEW)
    body = scripted_server.requests[-1].body
    assert not {"temperature", "response_format", "seed"} & set(body)


@pytest.mark.parametrize("name", ["raw", "rag_llm", "graph_rag_llm", "consistency"])
def test_rows_and_manifest_of_a_run(
    make_system: Callable[..., System],
    scripted_server: ScriptedServer,
    card_file: Callable[[int], Path],
    tmp_path: Path,
    name: str,
) -> None:
    def make_reply(request: ChatRequest) -> str:
        extra_fields = {"claims": []} if name == "graph_rag_llm" else {}
        return json.dumps({**json.loads(behaviours.write_verdict(request)), **extra_fields})

    scripted_server.behave(behaviours.normal_reply(make_reply))
    system = make_system(name)
    out = tmp_path / "out.jsonl"
    run(card_file(9), [system], out, system_name=name, limits=RunLimits(concurrency=4))
    rows: list[Result] = list(read_results(out))
    assert [row.system for row in rows] == [f"{name}:custom/{scripted_server.model}"] * 9
    assert all(row.pred in ("YES", "NO", "UNKNOWN") for row in rows)
    calls_per_card = 5 if name == "consistency" else 1
    assert len(scripted_server.requests) == 9 * calls_per_card
    assert all(row.usage is not None and row.usage.prompt_tokens > 0 for row in rows)
    manifest = read_manifest(tmp_path / "out.manifest.json")
    assert manifest.model == f"custom/{scripted_server.model}"
    assert manifest.params["prompt"]["version"] == 1
    assert scripted_server.api_key not in out.read_text() + str(manifest)
    prompts = "".join(chat_request.prompt for chat_request in scripted_server.requests)
    assert "hidden" not in prompts, "prompts contain only the card view"


@pytest.mark.slow
def test_real_server_with_random_replies(
    llama_server: LlamaServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Random replies must not break a system or count as valid answers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    client = ClientOptions(model=f"custom/{llama_server.model}", timeout_s=60)
    settings = {"max_tokens": "64"}
    (system,) = make_systems("raw", SystemOptions(client=client, settings=settings))
    for answer in ask_cards(system, VIEW, CardView((), (), QUESTION)):
        assert answer.pred in ("YES", "NO", "UNKNOWN", "INVALID")
        if answer.pred == "INVALID":
            assert answer.note
            assert answer.confidence is None
        else:
            assert json.loads(answer.raw)["answer"] == answer.pred
            assert answer.confidence is None or 0 <= answer.confidence <= 1
