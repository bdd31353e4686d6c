"""The page on which a person rejects facts, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stage_calls import run_epoche

from kg.text.facts.domain import read_extracted_facts

pytestmark = pytest.mark.browser

NAMES = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "@body",
    *(f"Town {number}" for number in range(40)),
)


def test_rejected_facts_are_left_out_of_the_graph(
    tmp_path: Path, open_report: Callable[..., Any]
) -> None:
    facts = tmp_path / "facts.jsonl"
    rows = [
        {"subject": name, "relation": relation, "object": target, "quote": f"<b>{name}</b>"}
        for number, name in enumerate(NAMES)
        for relation, target in (
            ("was founded in", str(1900 + number % 5)),
            ("lies in", f"Land {number % 3}"),
        )
    ]
    facts.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    out = tmp_path / "domain"
    arguments = ("kg", "init", facts, "--out", out)
    assert run_epoche(*arguments).code == 0

    reader = open_report(out / "review.html")
    assert "0 of" in reader.page.inner_text("#count")
    text = reader.page.inner_text("main")
    assert all(name in text for name in NAMES)
    wrong = next(fact for fact in read_extracted_facts([facts]) if fact.subject == "Town 7")
    reader.page.uncheck(f"[data-fact='{wrong.key}']")
    assert "1 of" in reader.page.inner_text("#count")
    with reader.page.expect_download() as download:
        reader.page.click("#save")
    assert download.value.suggested_filename == "review.json"
    download.value.save_as(out / "review.json")
    assert not reader.problems

    result = run_epoche(*arguments)
    assert "1 fact left out that you rejected" in result.out
    graph = (out / "graph.nt").read_text("utf-8")
    assert "town_7> <urn:epoche:text:relation:lies_in>" in graph
    assert "town_7> <urn:epoche:text:relation:founded_in>" not in graph
    page = open_report(out / "review.html").page
    assert not page.is_checked(f"[data-fact='{wrong.key}']")
