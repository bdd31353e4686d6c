"""Executes the code block of the documented adapter."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from eval.result import read_results

DOCS = Path(__file__).parents[2] / "docs" / "adapters.md"


def test_documented_adapter_runs(tmp_path: Path, card_file: Callable[..., Path]) -> None:
    text = DOCS.read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 17
    (tmp_path / "my_adapter.py").write_text(code)
    said = re.search(r"^\$ epoche eval --cards \S+ (--system \S+) --out \S+$", text, re.MULTILINE)
    assert said is not None
    cards, out = card_file(6), tmp_path / "mine.jsonl"
    done = subprocess.run(
        [sys.executable, "-m", "eval.run_epistemic_tests", "--cards", str(cards),
         *said.group(1).split(), "--out", str(out)],
        cwd=tmp_path, env={**os.environ}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = list(read_results(out))
    assert {row.system for row in rows} == {"literalist"}
    assert [row.pred for row in rows] == ["YES"] * 6
    assert rows[0].raw == "Brook 0 flows into Lake 0."
