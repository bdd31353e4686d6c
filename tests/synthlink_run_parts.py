"""A small catalogue with its pages, agents that walk it, and a scripted model that does so too."""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from servers.behaviours import Asked, Behaviour, reply
from stage_calls import Done

from eval.synthlink.question import CATEGORIES
from kg.base.files import to_json_bytes

LETTERS = tuple(CATEGORIES)
OF_THE_MOMENT = {"started", "ended", "resumed"}
"""What a manifest says of when rather than of what."""


def question_id(number: int) -> str:
    """Id of the n-th question: all categories in turn."""
    return f"{LETTERS[number % 6]}-{number // 6 + 1:02}"


def question(number: int) -> dict[str, Any]:
    """The n-th question; what an agent must never see of it bears a mark of its own."""
    return {
        "id": question_id(number),
        "category": LETTERS[number % 6],
        "question": f"In which town was the founder of observatory Alcor{number} born?",
        "answer": f"Goldmark: the founder, Mira Voss{number}, came from Tarn{number}.",
        "aliases": [f"Aliasmark{number}."],
        "sources": [
            {"title": f"Alcor{number} observatory", "url": page(number)},
            {"title": f"Mira Voss{number}", "url": page(number, "founder")},
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


MARKS = ("Goldmark", "Aliasmark", "Stepmark", "Factmark", "Keymark")


def page(number: int, which: str = "observatory") -> str:
    """Address of a page."""
    return f"https://example.org/{which}/{number}"


def pages(number: int) -> list[dict[str, str]]:
    """The two pages that answer the n-th question."""
    founder = f"Mira Voss{number}"
    return [
        {
            "url": page(number),
            "title": f"Alcor{number} observatory",
            "text": f"Observatory Alcor{number} was founded by {founder}.\n\nIt stands on a hill.",
        },
        {
            "url": page(number, "founder"),
            "title": founder,
            "text": f"{founder} was born in Tarn{number}, and studied the moons of Jupiter.",
        },
    ]


AGENTS = '''
import asyncio

from eval.synthlink.agents.trail import Cited, Round, Trail


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
        found = tuple(dict.fromkeys(Cited(hit.page.url, hit.page.title) for hit in hits))
        number = int("".join(filter(str.isdigit, question)))
        told = hits[0].passage
        one = Round(query=question, found=found, read=found[:1], answer=told, done=True)
        if number % 5 == 4:
            return Trail(abstained=True, rounds=(one,), docs=found, why="it is a fifth")
        return Trail(answer=told, rounds=(one,), docs=found, verified=(told,))


class Slow(First):
    wait = 0.012
'''


def shop_of(folder: Path, count: int) -> Path:
    """Writes ``catalog.jsonl``, ``pages.jsonl`` and ``own_agents.py``; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "catalog.jsonl").write_bytes(
        b"".join(to_json_bytes(question(number)) + b"\n" for number in range(count))
    )
    (folder / "pages.jsonl").write_bytes(
        b"".join(to_json_bytes(one) + b"\n" for number in range(count) for one in pages(number))
    )
    (folder / "own_agents.py").write_text(AGENTS)
    return folder


def asking(
    shop: Path, *more: object, system: str = "own_agents:First", out: str = "out"
) -> list[object]:
    """The command that puts a shop's questions to a system."""
    files = ("--catalog", shop / "catalog.jsonl", "--pages", shop / "pages.jsonl")
    return ["synthlink", "run", "--system", system, *files, "--out", shop / out, *more]


def online(
    shop: Path, model: str, *more: object, system: str = "agent", out: str = "out"
) -> list[object]:
    """The command that asks a model; nothing is scored."""
    how = ("--model", model, "--retries", 0, "--no-cache", "--no-score")
    return asking(shop, *how, *more, system=system, out=out)


def rows_of(out: Path) -> list[dict[str, Any]]:
    """The rows of a run."""
    return [json.loads(line) for line in (out / "rows.jsonl").read_bytes().splitlines()]


def predictions_of(out: Path) -> list[dict[str, Any]]:
    """The predictions of a run."""
    found: list[dict[str, Any]] = json.loads((out / "predictions.json").read_bytes())
    return found


def manifest_of(out: Path) -> dict[str, Any]:
    """The manifest of a run."""
    found: dict[str, Any] = json.loads((out / "run_manifest.json").read_bytes())
    return found


def files_of(out: Path) -> dict[str, bytes]:
    """Everything a run wrote; of its manifest, what is not of the moment, and no page of it."""
    found = {
        path.name: path.read_bytes()
        for path in sorted(out.iterdir())
        if not path.name.startswith("report.")
    }
    manifest = json.loads(found.pop("run_manifest.json"))
    told = {key: value for key, value in manifest.items() if key not in OF_THE_MOMENT}
    return {**found, "run_manifest.json": json.dumps(told).encode()}


def ended(done: Done, out: Path) -> list[dict[str, Any]]:
    """The rows of a run that ended well."""
    assert done.code == 0, done.err
    assert (out / "predictions.json").exists()
    return rows_of(out)


def untimed(row: dict[str, Any]) -> dict[str, Any]:
    """A row without the seconds it took."""
    return {key: value for key, value in row.items() if key != "latency_s"}


# --- a model ----------------------------------------------------------------------------------


def number_of(asked: Asked) -> int | None:
    """Which question a request is about; null for the call that warms the model up."""
    named = re.search(r"<question>\n.*?Alcor(\d+)", asked.prompt)
    return int(named[1]) if named else None


def block(asked: Asked, name: str) -> str:
    """What a request shows in one block, with its entities undone."""
    found = re.search(
        rf"<{name}>\n(.*?)\n</{name}>", str(asked.body["messages"][1]["content"]), re.S
    )
    assert found is not None, name
    return html.unescape(found[1])


def linked(asked: Asked) -> str:
    """What a careful model replies: it looks the founder up, and then where they were born."""
    number = number_of(asked)
    shown = block(asked, "passages").splitlines()
    for place, line in enumerate(shown, start=1):
        if f"Voss{number} was born in" in line:
            told = f"Mira Voss{number} was born in Tarn{number}."
            return _said([(told, place)], f"It was Tarn{number}.", done=True)
    for place, line in enumerate(shown, start=1):
        if f"Alcor{number} was founded by" in line:
            told = f"Alcor{number} was founded by Mira Voss{number}."
            return _said([(told, place)], "", query=f"Voss{number} born")
    return _said([], "", done=True, abstained=True)


def _said(
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


def remembered(asked: Asked) -> str:
    """What a model replies that looks nothing up: of every other town it knows."""
    number = number_of(asked) or 0
    known = number % 2 == 0
    return json.dumps({"answer": f"Tarn{number}." if known else "", "abstained": not known})


def part_of(asked: Asked) -> str:
    """Which part the model plays in a request: ``agent``, ``raw`` or ``warm-up``."""
    system = str(asked.body["messages"][0]["content"])
    if "no single page answers" in system:
        return "agent"
    return "raw" if "from what you know" in system else "warm-up"


SAYS: dict[str, Callable[[Asked], str]] = {
    "agent": linked,
    "raw": remembered,
    "warm-up": lambda _: "ready",
}


def model(delay: float = 0.0) -> Callable[[Asked], Behaviour]:
    """A model that plays every part well.

    Args:
        delay: seconds before each reply, times one to ten, so that replies overtake each other.
    """

    def pick(asked: Asked) -> Behaviour:
        lot = hashlib.sha256(asked.prompt.encode()).digest()[0] % 10
        return reply(SAYS[part_of(asked)], delay=delay * (1 + lot))

    return pick
