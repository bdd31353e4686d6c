"""Small sets of samples, and a scripted model that extracts from them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from servers.behaviours import Asked, Behaviour, reply

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "x-match": "exact"},
        "company": {"type": "string"},
    },
    "required": ["name", "age", "company"],
    "additionalProperties": False,
}
"""Within what strict servers take."""

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "number": {"type": "integer"},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"what": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["what"],
            },
        },
    },
    "required": ["number"],
}
"""Beyond it: not all is required, and more is allowed."""


def row(number: int) -> dict[str, Any]:
    """The n-th sample; every third is an order."""
    if number % 3 == 2:
        text = f"Order {700 + number} is for {number} lamps and 2 cables, to be sent on Monday."
        expected: dict[str, Any] = {
            "number": 700 + number,
            "items": [{"what": "lamps", "count": number}, {"what": "cables", "count": 2}],
        }
        return {"id": f"s{number:02}", "text": text, "schema": ORDER, "expected_output": expected}
    name = f"{('Ada', 'Ben', 'Cleo', 'Dana')[number % 4]} Number{number}"
    text = f"{name} is {20 + number} years old and works at Firm{number} since spring."
    return {
        "id": f"s{number:02}",
        "text": text,
        "schema": PERSON,
        "expected_output": {"name": name, "age": 20 + number, "company": f"Firm{number}"},
        "domain": "people",
    }


def data_of(folder: Path, count: int) -> Path:
    """Writes so many samples; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(row(number)) + "\n" for number in range(count)))
    return path


def right(asked: Asked) -> str:
    """What is expected of the text that was shown."""
    text = asked.prompt
    if found := re.search(r"(\w+ Number(\d+)) is (\d+) years old and works at (\w+)", text):
        said: dict[str, Any] = {"name": found[1], "age": int(found[3]), "company": found[4]}
        return json.dumps(said)
    if found := re.search(r"Order (\d+) is for (\d+) lamps", text):
        items = [{"what": "lamps", "count": int(found[2])}, {"what": "cables", "count": 2}]
        return json.dumps({"number": int(found[1]), "items": items})
    return "ready"


def wrong(asked: Asked) -> str:
    """The same with one field wrong, whatever it is."""
    return right(asked).replace("Firm", "Company ").replace("lamps", "lanterns")


def extracting(**instead: str | Behaviour) -> Callable[[Asked], Behaviour]:
    """A model that extracts well, but for the samples named: what is said or done instead.

    Args:
        instead: by sample, ``s03=…``: a text, or a behaviour.
    """
    by_mark = {
        _mark(int(name[1:])): saying(act) if isinstance(act, str) else act
        for name, act in instead.items()
    }

    def pick(asked: Asked) -> Behaviour:
        found = (act for mark, act in by_mark.items() if mark in asked.prompt)
        return next(found, reply(right))

    return pick


def saying(text: str) -> Behaviour:
    """A normal reply with this text."""
    return reply(lambda _: text)


def _mark(number: int) -> str:
    return f"Order {700 + number} " if number % 3 == 2 else f"Number{number} "


def rows_of(out: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """The rows of a run by sample, system and repeat."""
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_bytes().splitlines()]
    return {(one["id"], one["system"], one["repeat"]): one for one in rows}


def metrics_of(out: Path) -> dict[str, Any]:
    """By system, the report's metrics."""
    report = json.loads((out / "metrics.json").read_bytes())["report"]
    return {name: system["metrics"] for name, system in report["systems"].items()}


OF_THE_MOMENT = frozenset({"started", "ended", "resumed"})
"""What a manifest says of when rather than of what."""


def files_of(out: Path) -> dict[str, bytes]:
    """Everything a run wrote but its page and cache; of its manifest, what is not of the moment."""
    kept = (*("rows.jsonl", "samples.jsonl", "metrics.json", "summary.txt"),)
    found = {
        name: (out / name).read_bytes() for name in (*kept, "predictions.jsonl", "per_sample.csv")
    }
    manifest = json.loads((out / "manifest.json").read_bytes())
    told = {key: value for key, value in manifest.items() if key not in OF_THE_MOMENT}
    return {**found, "manifest.json": json.dumps(told).encode()}
