"""Tests that the adapter in docs/adapters.md runs."""

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
    code_lines = [line for line in code.splitlines() if line.strip()]
    assert len(code_lines) <= 17, "the documented adapter should stay short"
    (tmp_path / "my_adapter.py").write_text(code)
    command = re.search(
        r"^\$ epoche eval --cards \S+ (--system \S+) --out \S+$", text, re.MULTILINE
    )
    assert command is not None
    cards, out = card_file(6), tmp_path / "mine.jsonl"
    result = subprocess.run(
        [sys.executable, "-m", "eval.run_epistemic_tests", "--cards", str(cards),
         *command.group(1).split(), "--out", str(out)],
        cwd=tmp_path, env={**os.environ}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    rows = list(read_results(out))
    assert {row.system for row in rows} == {"literalist"}
    assert [row.pred for row in rows] == ["YES"] * 6
    assert rows[0].raw == "Brook 0 flows into Lake 0."
