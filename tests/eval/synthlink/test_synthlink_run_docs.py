"""The agent in the docs is the one that runs: the code block itself is executed."""

from __future__ import annotations

import re
from pathlib import Path

from stage_calls import ROOT, call, command
from synthlink_run_parts import asking, ended, shop_of


def test_the_documented_agent_runs_as_documented(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "synthlink.md").read_text("utf-8")
    (code,) = re.findall(r"Save it as `my_agent.py`:\n\n```python\n(.*?)```", text, re.DOTALL)
    (system,) = re.findall(r"^\$ epoche synthlink run --system (my_agent:\w+)", text, re.MULTILINE)
    shop = shop_of(tmp_path, 3)
    (shop / "my_agent.py").write_text(code)
    done = call(command(*asking(shop, "--no-score", system=system)), shop)
    rows = ended(done, shop / "out")
    assert [row["outcome"] for row in rows] == ["ANSWERED"] * 3
    assert rows[0]["trail"]["answer"] == "Observatory Alcor0 was founded by Mira Voss0."
