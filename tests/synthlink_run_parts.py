"""Helpers of the SynthLink run tests: a small catalogue with pages, agents, a scripted model."""

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

from eval.synthlink.items import CATEGORIES
from kg.base.files import to_json_bytes

CATEGORY_CODES = tuple(CATEGORIES)
TIME_FIELDS = {"started", "ended", "resumed", "content_sha256"}
"""Fields of a manifest that differ from run to run."""


def question_id(number: int) -> str:
    """Returns the id of the n-th question; the categories take turns."""
    return f"{CATEGORY_CODES[number % 6]}-{number // 6 + 1:02}"


def make_question(number: int) -> dict[str, Any]:
    """Makes the n-th question; each field that an agent must not see contains a secret mark."""
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
"""Words that occur only in fields that an agent must not see."""


def page_address(number: int, which: str = "observatory") -> str:
    """Returns the address of one of the two pages of a question."""
    return f"https://example.org/{which}/{number}"


def make_pages(number: int) -> list[dict[str, str]]:
    """Makes the two pages that answer the n-th question."""
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
    """Answers with the first passage, and abstains on every fifth question."""

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
        passage = hits[0].passage
        rounds = (Round(query=question, found=found, read=found[:1], answer=passage, done=True),)
        if number % 5 == 4:
            return Trail(abstained=True, rounds=rounds, docs=found, why="it is a fifth")
        return Trail(answer=passage, rounds=rounds, docs=found, verified=(passage,))


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
            to_json_bytes(page) + b"\n" for number in range(count) for page in make_pages(number)
        )
    )
    (folder / "own_agents.py").write_text(AGENTS_SOURCE)
    return folder


def make_run_command(
    workspace: Path, *options: object, system: str = "own_agents:First", out: str = "out"
) -> list[object]:
    """Makes the command that asks a system the questions of a folder."""
    files = ("--catalog", workspace / "catalog.jsonl", "--pages", workspace / "pages.jsonl")
    return ["synthlink", "run", "--system", system, *files, "--out", workspace / out, *options]


def online_command(
    workspace: Path, model: str, *options: object, system: str = "agent", out: str = "out"
) -> list[object]:
    """Makes the command that asks a model, without scoring."""
    model_options = ("--model", model, "--retries", 0, "--no-cache", "--no-score")
    return make_run_command(workspace, *model_options, *options, system=system, out=out)


def read_rows(out: Path) -> list[dict[str, Any]]:
    """Reads the rows of a run."""
    return [json.loads(line) for line in (out / "rows.jsonl").read_bytes().splitlines()]


def load_predictions(out: Path) -> list[dict[str, Any]]:
    """Reads the predictions of a run."""
    predictions: list[dict[str, Any]] = json.loads((out / "predictions.json").read_bytes())
    return predictions


def read_manifest(out: Path) -> dict[str, Any]:
    """Reads the manifest of a run."""
    manifest: dict[str, Any] = json.loads((out / "run_manifest.json").read_bytes())
    return manifest


def read_output_files(out: Path) -> dict[str, bytes]:
    """Reads the output files of a run, without its report page and the times of its manifest."""
    files = {
        path.name: path.read_bytes()
        for path in sorted(out.iterdir())
        if not path.name.startswith("report.")
    }
    manifest = json.loads(files.pop("run_manifest.json"))
    manifest_without_times = {
        key: value for key, value in manifest.items() if key not in TIME_FIELDS
    }
    return {**files, "run_manifest.json": json.dumps(manifest_without_times).encode()}


def check_finished(done: CommandResult, out: Path) -> list[dict[str, Any]]:
    """Checks that a run finished successfully; returns its rows."""
    assert done.code == 0, done.err
    assert (out / "predictions.json").exists()
    return read_rows(out)


def remove_latency(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row without its latency."""
    return {key: value for key, value in row.items() if key != "latency_s"}


# --- the scripted model -----------------------------------------------------------------------


def question_number(request: ChatRequest) -> int | None:
    """Returns the number of the question in a request; None for the warm-up call."""
    match = re.search(r"<question>\n.*?Alcor(\d+)", request.prompt)
    return int(match[1]) if match else None


def read_block(request: ChatRequest, name: str) -> str:
    """Reads the content of one block of a request, with entities decoded."""
    match = re.search(
        rf"<{name}>\n(.*?)\n</{name}>", str(request.body["messages"][1]["content"]), re.S
    )
    assert match is not None, name
    return html.unescape(match[1])


def follow_links(request: ChatRequest) -> str:
    """Writes the reply of a careful model, which looks up the founder and then their birthplace."""
    number = question_number(request)
    passages = read_block(request, "passages").splitlines()
    for position, line in enumerate(passages, start=1):
        if f"Voss{number} was born in" in line:
            statement = f"Mira Voss{number} was born in Tarn{number}."
            return _round_reply([(statement, position)], f"It was Tarn{number}.", done=True)
    for position, line in enumerate(passages, start=1):
        if f"Alcor{number} was founded by" in line:
            statement = f"Alcor{number} was founded by Mira Voss{number}."
            return _round_reply([(statement, position)], "", query=f"Voss{number} born")
    return _round_reply([], "", done=True, abstained=True)


def _round_reply(
    links: list[tuple[str, int]],
    answer: str,
    *,
    done: bool = False,
    abstained: bool = False,
    query: str = "",
) -> str:
    link_rows = [{"statement": text, "passage": passage} for text, passage in links]
    return json.dumps(
        {"links": link_rows, "answer": answer, "done": done, "abstained": abstained, "query": query}
    )


def answer_from_memory(request: ChatRequest) -> str:
    """Writes the reply of a model without search, which knows every second town."""
    number = question_number(request) or 0
    is_known = number % 2 == 0
    return json.dumps({"answer": f"Tarn{number}." if is_known else "", "abstained": not is_known})


def find_request_role(request: ChatRequest) -> str:
    """Finds the model's role by a phrase of the prompt: ``agent``, ``raw`` or ``warm-up``."""
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
    """Makes a model that plays every role well.

    Args:
        delay: seconds before each reply, times one to ten, so that replies overtake each other.
    """

    def pick_behaviour(request: ChatRequest) -> Behaviour:
        number = hashlib.sha256(request.prompt.encode()).digest()[0] % 10
        return normal_reply(REPLIES[find_request_role(request)], delay=delay * (1 + number))

    return pick_behaviour
