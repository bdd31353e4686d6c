"""Parts of SKN run tests: small sample sets with searches, and a scripted model for every role."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from servers.behaviours import Behaviour, ChatRequest, normal_reply
from stage_calls import CommandResult

from kg.base.files import to_json_bytes
from retrieval.web_results import FrozenQuery, WebResult, hash_query

CATEGORIES = ("diagnostic", "optimization", "insufficient_info")

CAUSES = ("an open cursor", "a full queue", "a stale lock", "a missing index", "a slow disk")


def make_sample(number: int) -> dict[str, Any]:
    """The n-th sample; every third has no answer."""
    category = CATEGORIES[number % 3]
    answerable = category != "insufficient_info"
    cause = CAUSES[number % len(CAUSES)]
    return {
        "id": f"q{number:02}",
        "category": category,
        "question": f"Why does service {number} stall after deployment {number + 40}?",
        "ground_truth": f"Service {number} stalls because of {cause}."
        if answerable
        else "INSUFFICIENT_INFO",
        "answerable": answerable,
    }


def make_search(row: dict[str, Any], number: int, *, empty: bool = False) -> FrozenQuery:
    """The recorded search of a sample: its ground truth if it has one, and a second result."""
    text = row["ground_truth"] if row["answerable"] else "The weather was fine in May."
    results = (
        WebResult(f"Report {number}", f"https://example.org/{number}", text),
        WebResult("Notes", f"https://example.org/n/{number}", "Restarting it may help."),
    )
    query = row["question"]
    return FrozenQuery(
        query,
        hash_query(query),
        "2026-01-01T00:00:00+00:00",
        ("written-by-hand",),
        () if empty else results,
    )


def write_inputs(
    folder: Path,
    count: int,
    *,
    empty_searches: Sequence[int] = (),
    missing_searches: Sequence[int] = (),
) -> Path:
    """Writes ``samples.json`` and ``search.jsonl``; returns the folder.

    Args:
        folder: where.
        count: how many samples.
        empty_searches: numbers of the searches without results.
        missing_searches: numbers of the searches that are not recorded, so that they fail.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = [make_sample(number) for number in range(count)]
    (folder / "samples.json").write_bytes(to_json_bytes(rows))
    lines = [
        to_json_bytes(make_search(row, number, empty=number in empty_searches)) + b"\n"
        for number, row in enumerate(rows)
        if number not in missing_searches
    ]
    (folder / "search.jsonl").write_bytes(b"".join(lines))
    return folder


def read_rows(out: Path) -> list[dict[str, Any]]:
    """The rows of a run."""
    return [json.loads(line) for line in (out / "rows.jsonl").read_bytes().splitlines()]


def find_request_role(request: ChatRequest) -> str:
    """The role of the model in a request: ``accuracy``, ``agent``, ``skn``, ``json`` …"""
    system = str(request.body["messages"][0]["content"])
    for mark, part in (
        ("You judge whether an answer to a question is right", "accuracy"),
        ("You look for claims", "hallucination"),
        ("how well an answer is grounded", "groundedness"),
        ("You answer a question from notes", "agent"),
        ("[SKN]", "skn"),
        ('"priority"', "json_meta"),
        ('"fact","confidence"', "json_conf"),
        ('"entities"', "json"),
        ("ready", "warm-up"),
    ):
        if mark in system:
            return part
    return "warm-up"


SKN_REPLY = """[SKN]
@src operations | fresh:high | reliability:0.9
@facts
  ! "Service stalls because of an open cursor." [0.9]
  . "Restarting it may help." [0.5]
[/SKN]
"""

JSON_REPLY: dict[str, list[dict[str, str]]] = {
    "entities": [],
    "relationships": [],
    "claims": [
        {"statement": "Service stalls because of an open cursor.", "category": "fact"},
        {"statement": "Restarting it may help.", "category": "fact"},
    ],
}

JSON_META_REPLY = {
    "source": {"domain": "operations", "fresh": "high", "reliability": 0.9},
    "facts": [
        {"priority": "!", "text": claim["statement"], "confidence": 0.9}
        for claim in JSON_REPLY["claims"]
    ],
}


def hash_below(request: ChatRequest, limit: int) -> int:
    """A number below ``limit`` that depends on the exact prompt."""
    return hashlib.sha256(request.prompt.encode()).digest()[0] % limit


def agent_reply(request: ChatRequest) -> str:
    """The reply of the agent; it abstains on one question in four."""
    lot = hash_below(request, 16)
    question = str(request.body["messages"][-1]["content"]).split("<question>")[-1].split("?")[0]
    return json.dumps(
        {
            "answer": f"As to{question}: because of {CAUSES[lot % len(CAUSES)]}.",
            "confidence": lot / 16,
            "reasoning": "The notes say so.",
            "abstained": lot % 4 == 3,
        }
    )


def judge_reply(request: ChatRequest) -> str:
    """The replies of the judges; votes depend on the order in which things are shown."""
    made_up = hash_below(request, 3)
    properties = request.body["response_format"]["json_schema"]["schema"]["properties"]
    if "correct" in properties:
        return json.dumps({"correct": hash_below(request, 4) > 0})
    if "total_claims" in properties:
        claims = [f"claim {number}" for number in range(made_up)]
        verdict = {"total_claims": 3, "fabricated_claims": claims, "severity": made_up / 4}
        return json.dumps(verdict)
    share = made_up / 4
    return json.dumps(
        {"makes_claims": True, "groundedness": 1 - share, "unsupported_fraction": share}
    )


REPLIES: dict[str, Callable[[ChatRequest], str]] = {
    "skn": lambda _: SKN_REPLY,
    "json": lambda _: json.dumps(JSON_REPLY),
    "json_conf": lambda _: json.dumps(
        {**JSON_REPLY, "claims": [{**claim, "confidence": 0.7} for claim in JSON_REPLY["claims"]]}
    ),
    "json_meta": lambda _: json.dumps(JSON_META_REPLY),
    "agent": agent_reply,
    "accuracy": judge_reply,
    "hallucination": judge_reply,
    "groundedness": judge_reply,
    "warm-up": lambda _: "ready",
}


def make_scripted_model(
    delay: float = 0.0, **instead: str | Callable[[ChatRequest], str]
) -> Callable[[ChatRequest], Behaviour]:
    """A model that plays every role well, except those in ``instead``.

    Args:
        delay: seconds before each reply, times one to ten, so that replies overtake each other.
        instead: role → a reply text, or a function that makes it.
    """

    def pick_behaviour(request: ChatRequest) -> Behaviour:
        part = find_request_role(request)
        reply = instead.get(part, REPLIES.get(part, "?"))
        write_reply = reply if callable(reply) else lambda _: reply
        return normal_reply(write_reply, delay=delay * (1 + hash_below(request, 10)))

    return pick_behaviour


def failing_model(part: str, fault: Behaviour) -> Callable[[ChatRequest], Behaviour]:
    """A model that fails in one role and plays the others well."""
    well = make_scripted_model()
    return lambda request: fault if find_request_role(request) == part else well(request)


TIME_FIELDS = {"started", "ended", "resumed"}
"""Fields of a manifest that differ from run to run."""

PUBLISHED_FILES = {
    *("search_results.json", "extractions.json", "agent_responses.json"),
    *("detailed_results.json", "metrics.json", "summary.txt"),
}
"""Output files that the published benchmark writes too."""


def offline_command(
    workspace: Path, *more: object, out: str = "out", limit: int | None = None
) -> list[object]:
    cut = () if limit is None else ("--limit", limit)
    files = ("--dataset", workspace / "samples.json", "--search", workspace / "search.jsonl")
    how = ("--offline", "--ablation", "--resamples", 100)
    return ["skn", "run", *files, *how, "--out", workspace / out, *cut, *more]


def online_command(
    workspace: Path, model: str, *more: object, out: str, judge: str
) -> list[object]:
    """The command that asks a model, and another one to judge."""
    files = ("--dataset", workspace / "samples.json", "--search", workspace / "search.jsonl")
    who = ("--model", model, "--judge-model", judge)
    how = ("--resamples", 100, "--retries", 0, "--no-cache")
    return ["skn", "run", *files, *who, *how, "--out", workspace / out, *more]


def read_output_files(out: Path) -> dict[str, bytes]:
    """Everything a run wrote, with the manifest without its times.

    The page shows the manifest with its times, so only its tables are compared.
    """
    found = {path.name: path.read_bytes() for path in sorted(out.iterdir())}
    for suffix in ("html", "md", "json"):
        assert found.pop(f"report.{suffix}")
    manifest = json.loads(found.pop("manifest.json"))
    timeless = {key: value for key, value in manifest.items() if key not in TIME_FIELDS}
    return {**found, "manifest.json": json.dumps(timeless).encode()}


def remove_latency(row: Any) -> Any:
    """A row, or any part of one, without its latencies."""
    if isinstance(row, dict):
        return {key: remove_latency(value) for key, value in row.items() if key != "latency_s"}
    return [remove_latency(one) for one in row] if isinstance(row, list) else row


def check_finished(done: CommandResult, out: Path, code: int = 0) -> list[dict[str, Any]]:
    """The rows of a finished run, after checking that it wrote all its files."""
    assert done.code == code, done.err
    assert {path.name for path in out.iterdir()} >= {
        *PUBLISHED_FILES,
        "manifest.json",
        "report.html",
    }
    return read_rows(out)
