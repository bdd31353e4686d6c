"""Makes samples of twenty fields with correct and wrong extractions, for the benchmarks."""

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


def make_samples(count: int, *, wrong: float = 0.25, seed: int = 7) -> Iterator[tuple[Sample, Any]]:
    """Yields samples, each with an extraction.

    Args:
        count: number of samples.
        wrong: share of fields that are wrong in the extraction. Kinds of error take turns: other
            words, more words, fewer words, another number, another type, a missing field, and a
            hallucinated one. One of ten arrays of objects is reversed.
        seed: seed of all random choices.
    """
    rng = random.Random(seed)
    for number in range(count):
        expected = _make_invoice(rng, number)
        sample = Sample(
            id=str(number),
            text=_render_text(expected),
            schema=SCHEMA,
            expected=expected,
            domain="trade",
        )
        yield sample, _simulate_extraction(expected, rng, wrong)


def _make_phrase(rng: random.Random, min_words: int = 2, max_words: int = 5) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(min_words, max_words))).title()


def _make_invoice(rng: random.Random, number: int) -> dict[str, Any]:
    name = _make_phrase(rng, 2, 2)
    return {
        "invoice": f"INV-{number:06d}",
        "issued": f"2024-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
        "seller": f"{_make_phrase(rng)} Ltd",
        "buyer": f"{_make_phrase(rng)} AG",
        "currency": rng.choice(["EUR", "USD", "GBP"]),
        "total": round(rng.uniform(10, 9000), 2),
        "paid": rng.random() < 0.5,
        "remark": _make_phrase(rng, 6, 14),
        "contact": {
            "name": name,
            "email": f"{name.split()[0].lower()}@example.com",
            "phone": f"+49 30 {rng.randint(100000, 999999)}",
        },
        "labels": [_make_phrase(rng, 1, 1) for _ in range(3)],
        "discount": round(rng.uniform(0, 30), 1),
        "reference": f"{rng.randrange(16**8):08x}",
        "lines": [
            {
                "item": _make_phrase(rng, 1, 3),
                "quantity": rng.randint(1, 40),
                "price": round(rng.uniform(1, 300), 2),
            }
            for _ in range(2)
        ],
    }


def _render_text(invoice: dict[str, Any]) -> str:
    text_parts = [
        f"{key} {value}" for key, value in invoice.items() if not isinstance(value, dict | list)
    ]
    text_parts += [str(value) for value in invoice["contact"].values()]
    text_parts += [
        f"{line['quantity']} x {line['item']} at {line['price']}" for line in invoice["lines"]
    ]
    return (
        ". ".join((*text_parts, "Labels: " + ", ".join(invoice["labels"])))
        + " "
        + "Thank you. " * 40
    )


def _simulate_extraction(
    expected: dict[str, Any], rng: random.Random, wrong: float
) -> dict[str, Any]:
    extraction: dict[str, Any] = {}
    for key, value in expected.items():
        if isinstance(value, dict):
            extraction[key] = _simulate_extraction(value, rng, wrong)
        elif value and isinstance(value, list) and isinstance(value[0], dict):
            extraction[key] = [_simulate_extraction(element, rng, wrong) for element in value]
            if rng.random() < 0.1:
                extraction[key].reverse()
        elif rng.random() >= wrong:
            extraction[key] = value
        elif (changed_value := _change_value(value, rng)) is not None:
            extraction[key] = changed_value
    if rng.random() < wrong / 4:
        extraction[rng.choice(_WORDS)] = _make_phrase(rng)
    return extraction


def _change_value(value: Any, rng: random.Random) -> Any:
    error_kind = rng.randrange(5)
    if error_kind == 0:
        return None
    if isinstance(value, str):
        words = value.split()
        return [_make_phrase(rng), f"{value} {_make_phrase(rng, 1, 1)}",
                " ".join(words[1:]) or None, value.upper()][error_kind - 1]  # fmt: skip
    if isinstance(value, list):
        return [value[1:], [*value, "Extra"], value[::-1], [_make_phrase(rng, 1, 1)]][
            error_kind - 1
        ]
    if isinstance(value, bool):
        return not value
    return [value + 1, value * 1.01, str(value), value * 2][error_kind - 1]
