"""Measures memory and speed of the runner itself, with ten thousand and with a million answers.

    python benchmarks/bench_runner_memory.py

The cards are tiny and the system answers after one turn of the event loop, so the runner itself is
measured: reading cards, asking questions, writing rows one by one, and sorting them at the end.
Each size is run once. Then the finished run is resumed in a separate process, which only reads all
rows back. Times are CPU seconds with imports; memory is the peak of the whole process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from bench_load import read_peak_mb

SIZES = (10_000, 1_000_000)
CONCURRENCY = 64


class InstantSystem:
    """A system that answers YES after one turn of the event loop."""

    name = "instant"

    def params(self) -> dict[str, Any]:
        """Returns no parameters."""
        return {}

    async def answer(self, _card: object) -> str:
        """Answers YES after one turn of the event loop."""
        await asyncio.sleep(0)
        return "YES"


def write_tiny_cards(path: Path, count: int) -> None:
    """Writes cards with one fact each."""
    claim = {"subj": "urn:s", "pred": "urn:p", "obj": "urn:o"}
    with path.open("w", encoding="utf-8") as handle:
        for number in range(count):
            card = {"id": f"{number:x}", "facts": [f"{number} is."], "question": f"Is {number}?"}
            handle.write(json.dumps({**card, "gold": "YES", "label": "E", "claim": claim}) + "\n")


def measure_run(cards: Path, out: Path) -> dict[str, float]:
    """Runs in this process; returns number of rows, CPU and wall seconds, and peak memory."""
    from eval.abstention.runner import run
    from eval.harness.session import RunLimits

    start = time.perf_counter()
    result = run(
        cards,
        [InstantSystem()],
        out,
        system_name="instant",
        limits=RunLimits(concurrency=CONCURRENCY),
    )
    return {
        "rows": result.asked + result.already_answered,
        "asked": result.asked,
        "cpu_s": time.process_time(),
        "wall_s": time.perf_counter() - start,
        "peak_mb": read_peak_mb(),
    }


def main() -> None:
    """Reads the flags, measures, prints the table or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="answers of each run")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.measure:
        print(json.dumps(measure_run(flags.measure / "cards.jsonl", flags.measure / "rows.jsonl")))
        return
    table: list[dict[str, float | str]] = []
    for size in flags.sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_tiny_cards(Path(folder) / "cards.jsonl", size)
            command = [sys.executable, __file__, "--measure", folder]
            for stage in ("run", "resumed"):
                process = subprocess.run(command, check=True, capture_output=True)
                table.append({"what": stage, **json.loads(process.stdout)})
    if flags.json:
        print(json.dumps(table, indent=2))
        return
    print(f"{'':<16}{'rows':>11}{'CPU s':>9}{'wall s':>9}{'rows/CPU s':>12}{'peak MB':>9}")
    for row in table:
        print(
            f"{row['what']:<16}{row['rows']:>11,}{row['cpu_s']:>9.2f}{row['wall_s']:>9.2f}"
            f"{float(row['rows']) / float(row['cpu_s']):>12,.0f}{row['peak_mb']:>9.1f}"
        )


if __name__ == "__main__":
    main()
