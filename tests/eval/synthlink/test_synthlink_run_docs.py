"""Tests that the agent in docs/reference/synthlink.md runs."""

from __future__ import annotations

import re
from pathlib import Path

from stage_calls import ROOT, command_line, run_process
from synthlink_run_parts import check_finished, make_run_command, write_inputs


def test_documented_agent_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "how-to" / "synthlink.md").read_text("utf-8")
    (code,) = re.findall(r"Save it as `my_agent.py`:\n\n```python\n(.*?)```", text, re.DOTALL)
    (system,) = re.findall(r"^\$ epoche synthlink run --system (my_agent:\w+)", text, re.MULTILINE)
    workspace = write_inputs(tmp_path, 3)
    (workspace / "my_agent.py").write_text(code)
    result = run_process(
        command_line(*make_run_command(workspace, "--no-score", system=system)), workspace
    )
    rows = check_finished(result, workspace / "out")
    assert [row["outcome"] for row in rows] == ["ANSWERED"] * 3
    assert rows[0]["trail"]["answer"] == "Observatory Alcor0 was founded by Mira Voss0."
