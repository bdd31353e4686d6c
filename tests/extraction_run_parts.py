"""Sample sets and a scripted model for tests of extraction runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from servers.behaviours import Behaviour, ChatRequest, normal_reply

PERSON_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "x-match": "exact"},
        "company": {"type": "string"},
    },
    "required": ["name", "age", "company"],
    "additionalProperties": False,
}
"""A schema that servers with strict structured output accept."""

ORDER_SCHEMA: dict[str, Any] = {
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
"""A schema that servers with strict structured output reject: not all fields are required, and
additional ones are allowed."""


def make_sample(number: int) -> dict[str, Any]:
    """Returns sample ``number``; every third one is about an order, the others about a person."""
    if number % 3 == 2:
        text = f"Order {700 + number} is for {number} lamps and 2 cables, to be sent on Monday."
        expected: dict[str, Any] = {
            "number": 700 + number,
            "items": [{"what": "lamps", "count": number}, {"what": "cables", "count": 2}],
        }
        return {
            "id": f"s{number:02}",
            "text": text,
            "schema": ORDER_SCHEMA,
            "expected_output": expected,
        }
    name = f"{('Ada', 'Ben', 'Cleo', 'Dana')[number % 4]} Number{number}"
    text = f"{name} is {20 + number} years old and works at Firm{number} since spring."
    return {
        "id": f"s{number:02}",
        "text": text,
        "schema": PERSON_SCHEMA,
        "expected_output": {"name": name, "age": 20 + number, "company": f"Firm{number}"},
        "domain": "people",
    }


def write_samples(folder: Path, count: int) -> Path:
    """Writes ``count`` samples to a file; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(make_sample(number)) + "\n" for number in range(count)))
    return path


def reply_correctly(request: ChatRequest) -> str:
    """Replies with the expected output of the text in the request."""
    text = request.prompt
    if match := re.search(r"(\w+ Number(\d+)) is (\d+) years old and works at (\w+)", text):
        person: dict[str, Any] = {"name": match[1], "age": int(match[3]), "company": match[4]}
        return json.dumps(person)
    if match := re.search(r"Order (\d+) is for (\d+) lamps", text):
        items = [{"what": "lamps", "count": int(match[2])}, {"what": "cables", "count": 2}]
        return json.dumps({"number": int(match[1]), "items": items})
    return "ready"


def reply_with_wrong_field(request: ChatRequest) -> str:
    """Replies with one field wrong."""
    return reply_correctly(request).replace("Firm", "Company ").replace("lamps", "lanterns")


def make_extraction_model(**overrides: str | Behaviour) -> Callable[[ChatRequest], Behaviour]:
    """Returns a model that extracts correctly, except for the samples in ``overrides``.

    Args:
        overrides: replies to some samples: the sample id as keyword, and a reply text or a
            behaviour as value, e.g. ``s03="{}"``.
    """
    behaviour_by_marker = {
        _get_sample_marker(int(name[1:])): make_text_reply(value)
        if isinstance(value, str)
        else value
        for name, value in overrides.items()
    }

    def pick_behaviour(request: ChatRequest) -> Behaviour:
        matches = (
            behaviour
            for marker, behaviour in behaviour_by_marker.items()
            if marker in request.prompt
        )
        return next(matches, normal_reply(reply_correctly))

    return pick_behaviour


def make_text_reply(text: str) -> Behaviour:
    """Returns a normal reply with this text."""
    return normal_reply(lambda _: text)


def _get_sample_marker(number: int) -> str:
    """Returns words that only the text of this sample contains."""
    return f"Order {700 + number} " if number % 3 == 2 else f"Number{number} "


def read_rows(out: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Reads the rows of a run, by sample, system and repeat."""
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_bytes().splitlines()]
    return {(row["id"], row["system"], row["repeat"]): row for row in rows}


def read_metrics(out: Path) -> dict[str, Any]:
    """Reads the metrics of a run, by system."""
    report = json.loads((out / "metrics.json").read_bytes())["report"]
    return {name: system["metrics"] for name, system in report["systems"].items()}


TIME_FIELDS = frozenset({"started", "ended", "resumed", "content_sha256"})
"""Fields of a manifest that differ from run to run."""


def read_output_files(out: Path) -> dict[str, bytes]:
    """Reads the outputs that are the same in equal runs: all except the report and the cache.

    The manifest is returned without its times.
    """
    names = ("rows.jsonl", "samples.jsonl", "metrics.json", "summary.txt")
    outputs = {
        name: (out / name).read_bytes() for name in (*names, "predictions.jsonl", "per_sample.csv")
    }
    manifest = json.loads((out / "manifest.json").read_bytes())
    manifest_without_times = {
        key: value for key, value in manifest.items() if key not in TIME_FIELDS
    }
    return {**outputs, "manifest.json": json.dumps(manifest_without_times).encode()}
