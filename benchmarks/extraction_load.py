"""Samples of twenty fields with extractions of them, right and wrong, for the benchmarks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from eval.extraction.samples.sample import Sample

SCHEMA: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "invoice": {"type": "string"},
        "issued": {"type": "string", "format": "date"},
        "seller": {"type": "string"},
        "buyer": {"type": "string"},
        "currency": {"type": "string", "enum": ["EUR", "USD", "GBP"]},
        "total": {"type": "number"},
        "paid": {"type": "boolean"},
        "remark": {"type": "string"},
        "contact": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "email": {"type": "string", "format": "email"},
                "phone": {"type": "string"},
            },
            "required": ["name"],
        },
        "labels": {"type": "array", "items": {"type": "string"}},
        "discount": {"type": ["number", "null"]},
        "reference": {"type": "string"},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "item": {"type": "string"},
                    "quantity": {"type": "integer"},
                    "price": {"type": "number"},
                },
                "required": ["item"],
            },
        },
    },
    "required": ["invoice", "seller", "total"],
}
FIELDS = 20

_WORDS = (
    *("north", "river", "steel", "copper", "harbour", "garden", "light", "silver", "valley"),
    *("bridge", "stone", "winter", "market", "paper", "engine", "signal", "anchor", "timber"),
)


def samples(count: int, *, wrong: float = 0.25, seed: int = 7) -> Iterator[tuple[Sample, Any]]:
    """Samples, and an extraction of each.

    Args:
        count: how many.
        wrong: share of fields that the extraction has wrong, in ways that take turns: other words,
            more words, fewer words, another number, another type, missing, and one made up. Array
            elements are moved in every tenth.
        seed: of all choices.
    """
    rng = random.Random(seed)
    for number in range(count):
        expected = _invoice(rng, number)
        sample = Sample(
            id=str(number), text=_text(expected), schema=SCHEMA, expected=expected, domain="trade"
        )
        yield sample, _extracted(expected, rng, wrong)


def _phrase(rng: random.Random, least: int = 2, most: int = 5) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(least, most))).title()


def _invoice(rng: random.Random, number: int) -> dict[str, Any]:
    name = _phrase(rng, 2, 2)
    return {
        "invoice": f"INV-{number:06d}",
        "issued": f"2024-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
        "seller": f"{_phrase(rng)} Ltd",
        "buyer": f"{_phrase(rng)} AG",
        "currency": rng.choice(["EUR", "USD", "GBP"]),
        "total": round(rng.uniform(10, 9000), 2),
        "paid": rng.random() < 0.5,
        "remark": _phrase(rng, 6, 14),
        "contact": {
            "name": name,
            "email": f"{name.split()[0].lower()}@example.com",
            "phone": f"+49 30 {rng.randint(100000, 999999)}",
        },
        "labels": [_phrase(rng, 1, 1) for _ in range(3)],
        "discount": round(rng.uniform(0, 30), 1),
        "reference": f"{rng.randrange(16**8):08x}",
        "lines": [
            {
                "item": _phrase(rng, 1, 3),
                "quantity": rng.randint(1, 40),
                "price": round(rng.uniform(1, 300), 2),
            }
            for _ in range(2)
        ],
    }


def _text(invoice: dict[str, Any]) -> str:
    said = [
        f"{key} {value}" for key, value in invoice.items() if not isinstance(value, dict | list)
    ]
    said += [str(value) for value in invoice["contact"].values()]
    said += [f"{line['quantity']} x {line['item']} at {line['price']}" for line in invoice["lines"]]
    return ". ".join((*said, "Labels: " + ", ".join(invoice["labels"]))) + " " + "Thank you. " * 40


def _extracted(expected: dict[str, Any], rng: random.Random, wrong: float) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in expected.items():
        if isinstance(value, dict):
            found[key] = _extracted(value, rng, wrong)
        elif value and isinstance(value, list) and isinstance(value[0], dict):
            found[key] = [_extracted(one, rng, wrong) for one in value]
            if rng.random() < 0.1:
                found[key].reverse()
        elif rng.random() >= wrong:
            found[key] = value
        elif (changed := _changed(value, rng)) is not None:
            found[key] = changed
    if rng.random() < wrong / 4:
        found[rng.choice(_WORDS)] = _phrase(rng)
    return found


def _changed(value: Any, rng: random.Random) -> Any:
    way = rng.randrange(5)
    if way == 0:
        return None
    if isinstance(value, str):
        words = value.split()
        return [_phrase(rng), f"{value} {_phrase(rng, 1, 1)}", " ".join(words[1:]) or None,
                value.upper()][way - 1]  # fmt: skip
    if isinstance(value, list):
        return [value[1:], [*value, "Extra"], value[::-1], [_phrase(rng, 1, 1)]][way - 1]
    if isinstance(value, bool):
        return not value
    return [value + 1, value * 1.01, str(value), value * 2][way - 1]
