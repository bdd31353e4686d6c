"""A system without a model that fills schemas, and a recorded model, for cheap runs."""

from __future__ import annotations

import re
from typing import Any

READER = ("--system", "extraction_reader:Reader")
"""Flags of a run of ``Reader``. A subprocess needs a copy of this file in its working folder."""
RECORDED = "recorded/Qwen2.5-Coder-1.5B-Instruct.Q4_K_M"
REPLAY = ("--model", RECORDED, "--sample", 60, "--seed", 12345)
"""Flags of a run of shipped samples whose replies are recorded; ``--limit`` asks fewer."""


class Reader:
    """Takes the word after a field's name; else the next number or capitalised word."""

    name = "reader"

    def params(self) -> dict[str, Any]:
        """Returns what determines the answers."""
        return {"version": 1}

    def answer(self, view: Any) -> dict[str, Any]:
        """Fills the numbers and texts at the top level of a schema, and the first of choices."""
        numbers = iter(re.findall(r"\d+", view.text))
        names = iter(re.findall(r"\b[A-Z]\w+", view.text))
        found: dict[str, Any] = {}
        for field, schema in view.schema.get("properties", {}).items():
            kinds = schema.get("type", ())
            words = re.escape(field).replace("_", r"[\W_]+")
            label = re.search(rf"\b{words}\W+(\S*\w)", view.text, re.IGNORECASE)
            if "enum" in schema:
                found[field] = schema["enum"][0]
            elif "integer" in kinds or "number" in kinds:
                found[field] = int(label[1] if label and label[1].isdigit() else next(numbers, 0))
            elif "string" in kinds:
                found[field] = label[1] if label else next(names, None)
        return {field: value for field, value in found.items() if value is not None}
