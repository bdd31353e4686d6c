"""Parts of SynthLink run tests: a small catalogue with pages, agents, and a scripted model."""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from servers.behaviours import Behaviour, ChatRequest, normal_reply
from stage_calls import CommandResult

from eval.synthlink.question import CATEGORIES
from kg.base.files import to_json_bytes

CATEGORY_CODES = tuple(CATEGORIES)
TIME_FIELDS = {"started", "ended", "resumed"}
"""Fields of a manifest that differ from run to run."""


def question_id(number: int) -> str:
    """Id of the n-th question; categories take turns."""
    return f"{CATEGORY_CODES[number % 6]}-{number // 6 + 1:02}"


def make_question(number: int) -> dict[str, Any]:
    """The n-th question; each field that an agent must not see has its own mark."""
    return {
        "id": question_id(number),
        "category": CATEGORY_CODES[number % 6],
        "question": f"In which town was the founder of observatory Alcor{number} born?",
        "answer": f"Goldmark: the founder, Mira Voss{number}, came from Tarn{number}.",
        "aliases": [f"Aliasmark{number}."],
        "sources": [
            {"title": f"Alcor{number} observatory", "url": page_address(number)},
            {"title": f"Mira Voss{number}", "url": page_address(number, "founder")},
        ],
        "hops": 2,
        "steps": [
            {
                "instruction": f"Stepmark: confirm the founder of Alcor{number}.",
                "fact": f"Factmark: Alcor{number} owes its founding to Mira Voss{number}.",
                "keywords": [f"Keymark{number}"],
            }
        ],
    }


SECRET_MARKS = ("Goldmark", "Aliasmark", "Stepmark", "Factmark", "Keymark")


def page_address(number: int, which: str = "observatory") -> str:
    """Address of a page."""
    return f"https://example.org/{which}/{number}"


def make_pages(number: int) -> list[dict[str, str]]:
    """The two pages that answer the n-th question."""
    founder = f"Mira Voss{number}"
    return [
        {
            "url": page_address(number),
            "title": f"Alcor{number} observatory",
            "text": f"Observatory Alcor{number} was founded by {founder}.\n\nIt stands on a hill.",
        },
        {
            "url": page_address(number, "founder"),
            "title": founder,
            "text": f"{founder} was born in Tarn{number}, and studied the moons of Jupiter.",
        },
    ]


AGENTS_SOURCE = '''
import asyncio

from eval.synthlink.agents.trail import CitedPage, Round, Trail


class First:
    """Answers with the first passage; every fifth question it declines."""

    name = "first"
    wait = 0.0

    def __init__(self, options):
        self._library = options.library

    def params(self):
        return {"version": 1}

    async def answer(self, question):
        hits = await self._library.search(question, 3)
        await asyncio.sleep(self.wait)
        found = tuple(dict.fromkeys(CitedPage(hit.page.url, hit.page.title) for hit in hits))
        number = int("".join(filter(str.isdigit, question)))
        told = hits[0].passage
        one = Round(query=question, found=found, read=found[:1], answer=told, done=True)
        if number % 5 == 4:
            return Trail(abstained=True, rounds=(one,), docs=found, why="it is a fifth")
        return Trail(answer=told, rounds=(one,), docs=found, verified=(told,))


class Slow(First):
    wait = 0.012
'''


def write_inputs(folder: Path, count: int) -> Path:
    """Writes ``catalog.jsonl``, ``pages.jsonl`` and ``own_agents.py``; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "catalog.jsonl").write_bytes(
        b"".join(to_json_bytes(make_question(number)) + b"\n" for number in range(count))
    )
    (folder / "pages.jsonl").write_bytes(
        b"".join(
            to_json_bytes(one) + b"\n" for number in range(count) for one in make_pages(number)
        )
    )
    (folder / "own_agents.py").write_text(AGENTS_SOURCE)
    return folder


def run_command(
    workspace: Path, *more: object, system: str = "own_agents:First", out: str = "out"
) -> list[object]:
    """The command that asks a system the questions of a folder."""
    files = ("--catalog", workspace / "catalog.jsonl", "--pages", workspace / "pages.jsonl")
    return ["synthlink", "run", "--system", system, *files, "--out", workspace / out, *more]


def online_command(
    workspace: Path, model: str, *more: object, system: str = "agent", out: str = "out"
) -> list[object]:
    """The command that asks a model, without scoring."""
    how = ("--model", model, "--retries", 0, "--no-cache", "--no-score")
    return run_command(workspace, *how, *more, system=system, out=out)


def read_rows(out: Path) -> list[dict[str, Any]]:
    """The rows of a run."""
    return [json.loads(line) for line in (out / "rows.jsonl").read_bytes().splitlines()]


def load_predictions(out: Path) -> list[dict[str, Any]]:
    """The predictions of a run."""
    found: list[dict[str, Any]] = json.loads((out / "predictions.json").read_bytes())
    return found


def read_manifest(out: Path) -> dict[str, Any]:
    """The manifest of a run."""
    found: dict[str, Any] = json.loads((out / "run_manifest.json").read_bytes())
    return found


def read_output_files(out: Path) -> dict[str, bytes]:
    """Everything a run wrote but its page, with the manifest without its times."""
    found = {
        path.name: path.read_bytes()
        for path in sorted(out.iterdir())
        if not path.name.startswith("report.")
    }
    manifest = json.loads(found.pop("run_manifest.json"))
    told = {key: value for key, value in manifest.items() if key not in TIME_FIELDS}
    return {**found, "run_manifest.json": json.dumps(told).encode()}


def check_finished(done: CommandResult, out: Path) -> list[dict[str, Any]]:
    """The rows of a successfully finished run."""
    assert done.code == 0, done.err
    assert (out / "predictions.json").exists()
    return read_rows(out)


def without_latency(row: dict[str, Any]) -> dict[str, Any]:
    """A row without its latency."""
    return {key: value for key, value in row.items() if key != "latency_s"}


# --- a model ----------------------------------------------------------------------------------


def question_number(request: ChatRequest) -> int | None:
    """Number of the question that a request is about; None for the warm-up call."""
    named = re.search(r"<question>\n.*?Alcor(\d+)", request.prompt)
    return int(named[1]) if named else None


def read_block(request: ChatRequest, name: str) -> str:
    """The content of one block of a request, with entities decoded."""
    found = re.search(
        rf"<{name}>\n(.*?)\n</{name}>", str(request.body["messages"][1]["content"]), re.S
    )
    assert found is not None, name
    return html.unescape(found[1])


def follow_links(request: ChatRequest) -> str:
    """The reply of a careful model: it looks up the founder, then their birthplace."""
    number = question_number(request)
    shown = read_block(request, "passages").splitlines()
    for place, line in enumerate(shown, start=1):
        if f"Voss{number} was born in" in line:
            told = f"Mira Voss{number} was born in Tarn{number}."
            return _round_reply([(told, place)], f"It was Tarn{number}.", done=True)
    for place, line in enumerate(shown, start=1):
        if f"Alcor{number} was founded by" in line:
            told = f"Alcor{number} was founded by Mira Voss{number}."
            return _round_reply([(told, place)], "", query=f"Voss{number} born")
    return _round_reply([], "", done=True, abstained=True)


def _round_reply(
    links: list[tuple[str, int]],
    answer: str,
    *,
    done: bool = False,
    abstained: bool = False,
    query: str = "",
) -> str:
    told = [{"statement": text, "passage": place} for text, place in links]
    return json.dumps(
        {"links": told, "answer": answer, "done": done, "abstained": abstained, "query": query}
    )


def answer_from_memory(request: ChatRequest) -> str:
    """The reply of a model that looks nothing up: it knows every second town."""
    number = question_number(request) or 0
    known = number % 2 == 0
    return json.dumps({"answer": f"Tarn{number}." if known else "", "abstained": not known})


def role_of_request(request: ChatRequest) -> str:
    """The role of the model in a request: ``agent``, ``raw`` or ``warm-up``."""
    system = str(request.body["messages"][0]["content"])
    if "no single page answers" in system:
        return "agent"
    return "raw" if "from what you know" in system else "warm-up"


REPLIES: dict[str, Callable[[ChatRequest], str]] = {
    "agent": follow_links,
    "raw": answer_from_memory,
    "warm-up": lambda _: "ready",
}


def make_scripted_model(delay: float = 0.0) -> Callable[[ChatRequest], Behaviour]:
    """A model that plays every role well.

    Args:
        delay: seconds before each reply, times one to ten, so that replies overtake each other.
    """

    def pick_behaviour(request: ChatRequest) -> Behaviour:
        lot = hashlib.sha256(request.prompt.encode()).digest()[0] % 10
        return normal_reply(REPLIES[role_of_request(request)], delay=delay * (1 + lot))

    return pick_behaviour
