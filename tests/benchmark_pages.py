"""Checks that a benchmark's page has reproducible bytes and no references to other files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from eval.runs.sections import build_section
from reporting.section_page import build_page_files

PRINT_PAGE_CODE = (
    "import sys; from eval.runs.sections import build_section;"
    "from reporting.section_page import build_page_files;"
    "files = build_page_files(build_section(sys.argv[1]));"
    "[sys.stdout.buffer.write(data) for data in files.values()]"
)


def check_same_bytes(folder: Path) -> None:
    """Checks that the files of a page are the same for any ``PYTHONHASHSEED``."""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", PRINT_PAGE_CODE, str(folder)],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[1],
        ).stdout
        for seed in ("0", "1")
    ]
    assert outputs[0] == outputs[1] == b"".join(build_page_files(build_section(folder)).values())


def check_self_contained(folder: Path) -> None:
    """Checks that the page loads no other file and links only to itself."""
    page = build_page_files(build_section(folder))["report.html"].decode()
    markup = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.S)
    addresses = re.findall(r"""\b(?:src|href|action|poster)\s*=\s*["']?([^"'>\s]*)""", markup)
    # In scripts, an address may begin with the quotation mark of a template literal.
    assert [name for name in addresses if not name.startswith(("#", "`#"))] == []
    assert not re.search(r"@import|url\(", markup)
