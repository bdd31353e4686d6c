"""Small sets of samples with their searches, and a scripted model that plays every part."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from servers.behaviours import Asked, Behaviour, reply
from stage_calls import Done

from kg.base.files import to_json_bytes
from retrieval.web_results import FrozenQuery, WebResult, query_sha256

CATEGORIES = ("diagnostic", "optimization", "insufficient_info")

LEAKS = ("an open cursor", "a full queue", "a stale lock", "a missing index", "a slow disk")


def sample(number: int) -> dict[str, Any]:
    """The n-th sample; every third has no answer."""
    category = CATEGORIES[number % 3]
    answerable = category != "insufficient_info"
    cause = LEAKS[number % len(LEAKS)]
    return {
        "id": f"q{number:02}",
        "category": category,
        "question": f"Why does service {number} stall after deployment {number + 40}?",
        "ground_truth": f"Service {number} stalls because of {cause}."
        if answerable
        else "INSUFFICIENT_INFO",
        "answerable": answerable,
    }


def searched(row: dict[str, Any], number: int, *, empty: bool = False) -> FrozenQuery:
    """What the search for a sample found: its truth where it has one, and something beside it."""
    told = row["ground_truth"] if row["answerable"] else "The weather was fine in May."
    results = (
        WebResult(f"Report {number}", f"https://example.org/{number}", told),
        WebResult("Notes", f"https://example.org/n/{number}", "Restarting it may help."),
    )
    query = row["question"]
    return FrozenQuery(
        query,
        query_sha256(query),
        "2026-01-01T00:00:00+00:00",
        ("written-by-hand",),
        () if empty else results,
    )


def shop_of(
    folder: Path, count: int, *, empty: Sequence[int] = (), lost: Sequence[int] = ()
) -> Path:
    """Writes ``samples.json`` and ``search.jsonl``; returns the folder.

    Args:
        folder: where.
        count: how many samples.
        empty: the searches that found nothing.
        lost: the searches that nobody recorded, so that they fail.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = [sample(number) for number in range(count)]
    (folder / "samples.json").write_bytes(to_json_bytes(rows))
    lines = [
        to_json_bytes(searched(row, number, empty=number in empty)) + b"\n"
        for number, row in enumerate(rows)
        if number not in lost
    ]
    (folder / "search.jsonl").write_bytes(b"".join(lines))
    return folder


def rows_of(out: Path) -> list[dict[str, Any]]:
    """The rows of a run."""
    return [json.loads(line) for line in (out / "rows.jsonl").read_bytes().splitlines()]


def part_of(asked: Asked) -> str:
    """Which part the model plays in a request: ``accuracy``, ``agent``, ``skn``, ``json`` …"""
    system = str(asked.body["messages"][0]["content"])
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


SKN = """[SKN]
@src operations | fresh:high | reliability:0.9
@facts
  ! "Service stalls because of an open cursor." [0.9]
  . "Restarting it may help." [0.5]
[/SKN]
"""

FLAT: dict[str, list[dict[str, str]]] = {
    "entities": [],
    "relationships": [],
    "claims": [
        {"statement": "Service stalls because of an open cursor.", "category": "fact"},
        {"statement": "Restarting it may help.", "category": "fact"},
    ],
}

META = {
    "source": {"domain": "operations", "fresh": "high", "reliability": 0.9},
    "facts": [
        {"priority": "!", "text": claim["statement"], "confidence": 0.9} for claim in FLAT["claims"]
    ],
}


def draw(asked: Asked, of: int) -> int:
    """A number below ``of`` that depends on what was asked, to the letter."""
    return hashlib.sha256(asked.prompt.encode()).digest()[0] % of


def answered(asked: Asked) -> str:
    """The agent's part: one question in four it does not answer."""
    lot = draw(asked, 16)
    question = str(asked.body["messages"][-1]["content"]).split("<question>")[-1].split("?")[0]
    return json.dumps(
        {
            "answer": f"As to{question}: because of {LEAKS[lot % len(LEAKS)]}.",
            "confidence": lot / 16,
            "reasoning": "The notes say so.",
            "abstained": lot % 4 == 3,
        }
    )


def judged(asked: Asked) -> str:
    """The judges' parts: votes differ with the order in which things are shown."""
    made_up = draw(asked, 3)
    properties = asked.body["response_format"]["json_schema"]["schema"]["properties"]
    if "correct" in properties:
        return json.dumps({"correct": draw(asked, 4) > 0})
    if "total_claims" in properties:
        claims = [f"claim {number}" for number in range(made_up)]
        said = {"total_claims": 3, "fabricated_claims": claims, "severity": made_up / 4}
        return json.dumps(said)
    share = made_up / 4
    return json.dumps(
        {"makes_claims": True, "groundedness": 1 - share, "unsupported_fraction": share}
    )


SAID: dict[str, Callable[[Asked], str]] = {
    "skn": lambda _: SKN,
    "json": lambda _: json.dumps(FLAT),
    "json_conf": lambda _: json.dumps(
        {**FLAT, "claims": [{**claim, "confidence": 0.7} for claim in FLAT["claims"]]}
    ),
    "json_meta": lambda _: json.dumps(META),
    "agent": answered,
    "accuracy": judged,
    "hallucination": judged,
    "groundedness": judged,
    "warm-up": lambda _: "ready",
}


def model(
    delay: float = 0.0, **instead: str | Callable[[Asked], str]
) -> Callable[[Asked], Behaviour]:
    """A model that plays every part well, but for the parts given, where it says that instead.

    Args:
        delay: seconds before each reply, times one to ten, so that replies overtake each other.
        instead: by part, what is said, or what says it.
    """

    def pick(asked: Asked) -> Behaviour:
        part = part_of(asked)
        said = instead.get(part, SAID.get(part, "?"))
        say = said if callable(said) else lambda _: said
        return reply(say, delay=delay * (1 + draw(asked, 10)))

    return pick


def broken(part: str, fault: Behaviour) -> Callable[[Asked], Behaviour]:
    """A model that fails in one part and plays the others well."""
    well = model()
    return lambda asked: fault if part_of(asked) == part else well(asked)


OF_THE_MOMENT = {"started", "ended", "resumed"}
"""What a manifest says of when rather than of what."""

SIX = {
    *("search_results.json", "extractions.json", "agent_responses.json"),
    *("detailed_results.json", "metrics.json", "summary.txt"),
}
"""The published benchmark's files."""


def offline(shop: Path, *more: object, out: str = "out", limit: int | None = None) -> list[object]:
    cut = () if limit is None else ("--limit", limit)
    files = ("--dataset", shop / "samples.json", "--search", shop / "search.jsonl")
    how = ("--offline", "--ablation", "--resamples", 100)
    return ["skn", "run", *files, *how, "--out", shop / out, *cut, *more]


def online(shop: Path, model: str, *more: object, out: str, judge: str) -> list[object]:
    """The command that asks a model, and another to judge."""
    files = ("--dataset", shop / "samples.json", "--search", shop / "search.jsonl")
    who = ("--model", model, "--judge-model", judge)
    how = ("--resamples", 100, "--retries", 0, "--no-cache")
    return ["skn", "run", *files, *who, *how, "--out", shop / out, *more]


def files_of(out: Path) -> dict[str, bytes]:
    """Everything a run wrote; of its manifest, what is not of the moment.

    The page shows the manifest, and so when it was; its tables are compared.
    """
    found = {path.name: path.read_bytes() for path in sorted(out.iterdir())}
    for suffix in ("html", "md", "json"):
        assert found.pop(f"report.{suffix}")
    manifest = json.loads(found.pop("manifest.json"))
    told = {key: value for key, value in manifest.items() if key not in OF_THE_MOMENT}
    return {**found, "manifest.json": json.dumps(told).encode()}


def untimed(row: Any) -> Any:
    """A row, or anything in one, without the seconds it took."""
    if isinstance(row, dict):
        return {key: untimed(value) for key, value in row.items() if key != "latency_s"}
    return [untimed(one) for one in row] if isinstance(row, list) else row


def ended(done: Done, out: Path, code: int = 0) -> list[dict[str, Any]]:
    """The rows of a run that came to its end, with all its files."""
    assert done.code == code, done.err
    assert {path.name for path in out.iterdir()} >= {*SIX, "manifest.json", "report.html"}
    return rows_of(out)
