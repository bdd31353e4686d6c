"""Helpers of the SKN run tests: small sample sets with searches, and a scripted model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from extraction_reader import RECORDED
from servers.behaviours import Behaviour, ChatRequest, normal_reply
from stage_calls import CommandResult

from kg.base.files import to_json_bytes
from retrieval.web_results import FrozenQuery, WebResult, hash_query

CATEGORIES = ("diagnostic", "optimization", "insufficient_info")

CAUSES = ("an open cursor", "a full queue", "a stale lock", "a missing index", "a slow disk")


def make_sample(number: int) -> dict[str, Any]:
    """Makes the n-th sample; every third sample has no answer."""
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
    """Makes the recorded search of a sample; one of two results has the ground truth, if any."""
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
        folder: where the files are written.
        count: number of samples.
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
    """Reads the rows of a run."""
    return [json.loads(line) for line in (out / "rows.jsonl").read_bytes().splitlines()]


def find_request_role(request: ChatRequest) -> str:
    """Finds the model's role by a phrase of the system prompt: ``agent``, ``skn``, ``json`` …"""
    system = str(request.body["messages"][0]["content"])
    for phrase, role in (
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
        if phrase in system:
            return role
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


def hash_prompt(request: ChatRequest, limit: int) -> int:
    """Returns a number below ``limit`` that depends on the exact prompt."""
    return hashlib.sha256(request.prompt.encode()).digest()[0] % limit


def write_agent_reply(request: ChatRequest) -> str:
    """Writes the reply of the agent, which abstains on about one question in four."""
    number = hash_prompt(request, 16)
    question = str(request.body["messages"][-1]["content"]).split("<question>")[-1].split("?")[0]
    return json.dumps(
        {
            "answer": f"As to{question}: because of {CAUSES[number % len(CAUSES)]}.",
            "confidence": number / 16,
            "reasoning": "The notes say so.",
            "abstained": number % 4 == 3,
        }
    )


def write_judge_reply(request: ChatRequest) -> str:
    """Writes a judge's reply; it depends on the exact prompt, also on the order of its parts."""
    n_fabricated = hash_prompt(request, 3)
    properties = request.body["response_format"]["json_schema"]["schema"]["properties"]
    if "correct" in properties:
        return json.dumps({"correct": hash_prompt(request, 4) > 0})
    if "total_claims" in properties:
        claims = [f"claim {number}" for number in range(n_fabricated)]
        verdict = {"total_claims": 3, "fabricated_claims": claims, "severity": n_fabricated / 4}
        return json.dumps(verdict)
    unsupported_share = n_fabricated / 4
    return json.dumps(
        {
            "makes_claims": True,
            "groundedness": 1 - unsupported_share,
            "unsupported_fraction": unsupported_share,
        }
    )


REPLIES: dict[str, Callable[[ChatRequest], str]] = {
    "skn": lambda _: SKN_REPLY,
    "json": lambda _: json.dumps(JSON_REPLY),
    "json_conf": lambda _: json.dumps(
        {**JSON_REPLY, "claims": [{**claim, "confidence": 0.7} for claim in JSON_REPLY["claims"]]}
    ),
    "json_meta": lambda _: json.dumps(JSON_META_REPLY),
    "agent": write_agent_reply,
    "accuracy": write_judge_reply,
    "hallucination": write_judge_reply,
    "groundedness": write_judge_reply,
    "warm-up": lambda _: "ready",
}


def make_scripted_model(
    delay: float = 0.0, **role_replies: str | Callable[[ChatRequest], str]
) -> Callable[[ChatRequest], Behaviour]:
    """Makes a model that plays every role well, except those in ``role_replies``.

    Args:
        delay: seconds before each reply, times one to ten, so that replies overtake each other.
        role_replies: role → a reply text, or a function that writes it.
    """

    def pick_behaviour(request: ChatRequest) -> Behaviour:
        role = find_request_role(request)
        reply = role_replies.get(role, REPLIES.get(role, "?"))
        write_reply = reply if callable(reply) else lambda _: reply
        return normal_reply(write_reply, delay=delay * (1 + hash_prompt(request, 10)))

    return pick_behaviour


def make_failing_model(role: str, fault: Behaviour) -> Callable[[ChatRequest], Behaviour]:
    """Makes a model that fails in one role and plays the others well."""
    working_model = make_scripted_model()
    return lambda request: fault if find_request_role(request) == role else working_model(request)


REPLAY = (
    *("--formats", "json,json_meta,skn", "--model", RECORDED),
    *("--judge-model", "same", "--judge-repeats", 1),
)
"""Flags of a run of shipped samples whose replies are recorded; ``--limit`` asks at most 25."""

TIME_FIELDS = {"started", "ended", "resumed", "content_sha256"}
"""Fields of a manifest that differ from run to run."""

PUBLISHED_FILES = {
    *("search_results.json", "extractions.json", "agent_responses.json"),
    *("detailed_results.json", "metrics.json", "summary.txt"),
}
"""Output files that the published benchmark writes too (docs/reference/skn.md)."""


def online_command(
    workspace: Path, model: str, *options: object, out: str, judge: str | None
) -> list[object]:
    """Makes the command of a run with one model that answers and one that judges, if any."""
    files = ("--dataset", workspace / "samples.json", "--search", workspace / "search.jsonl")
    judging = ("--no-judge",) if judge is None else ("--judge-model", judge)
    models = ("--model", model, *judging)
    settings = ("--resamples", 100, "--retries", 0, "--no-cache")
    return ["skn", "run", *files, *models, *settings, "--out", workspace / out, *options]


def read_output_files(out: Path) -> dict[str, bytes]:
    """Reads the output files of a run, without the times of the manifest.

    The report pages contain those times too, so they are left out; their tables are compared.
    """
    files = {path.name: path.read_bytes() for path in sorted(out.iterdir())}
    for suffix in ("html", "md", "json"):
        assert files.pop(f"report.{suffix}")
    manifest = json.loads(files.pop("manifest.json"))
    manifest_without_times = {
        key: value for key, value in manifest.items() if key not in TIME_FIELDS
    }
    return {**files, "manifest.json": json.dumps(manifest_without_times).encode()}


def remove_latency(row: Any) -> Any:
    """Returns a row, or any part of a row, without its latencies."""
    if isinstance(row, dict):
        return {key: remove_latency(value) for key, value in row.items() if key != "latency_s"}
    return [remove_latency(element) for element in row] if isinstance(row, list) else row


def check_finished(result: CommandResult, out: Path, code: int = 0) -> list[dict[str, Any]]:
    """Checks that a run finished and wrote all its files; returns its rows."""
    assert result.code == code, result.err
    assert {path.name for path in out.iterdir()} >= {
        *PUBLISHED_FILES,
        "manifest.json",
        "report.html",
    }
    return read_rows(out)
