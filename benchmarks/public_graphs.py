"""Makes cards from public graphs, and writes what came of it as a Markdown table.

    python benchmarks/public_graphs.py FOLDER --out docs/reference/public-graphs.md

FOLDER has a subfolder for each graph with its files, plain or gzip'ed, and a ``SOURCE.md`` that has
a table with a row ``| NAME (data) | OWNER/REPO | …`` for each file of the graph, and
``| NAME (shapes) | …`` for each file of its publisher's shapes. For each graph this runs what
``make all KG=FILE`` does; ``--shapes`` uses the publisher's shapes beside drafted ones, for the
second table of the page.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

TIME_LIMIT = 600
"""Maximum number of seconds of one command."""


class Source(NamedTuple):
    """A public graph."""

    name: str
    origin: str
    data: list[Path]
    shapes: list[Path]


class Row(NamedTuple):
    """What came of one graph."""

    source: Source
    estimate: int
    cards: dict[int, Counter[str]]
    """Number of cards asked for per label → label → number of cards."""
    leaks: dict[int, int]
    near_misses: Counter[str]
    near_miss_leaks: int
    seconds: float
    problem: str


def read_source(folder: Path) -> Source:
    """Reads which files are the graph, and which are its publisher's shapes."""
    text = (folder / "SOURCE.md").read_text("utf-8")
    rows = re.findall(r"^\| (\S+) \((data|shapes)\) \| (\S+) \|", text, re.MULTILINE)
    files: dict[str, list[Path]] = {"data": [], "shapes": []}
    for name, role, _ in rows:
        found = [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
        files[role] += found[:1]
    origin = next((repository for _, role, repository in rows if role == "data"), "")
    return Source(folder.name, origin, files["data"], files["shapes"])


def run_command(*arguments: object) -> tuple[int, str]:
    """Runs ``epoche``; returns its exit code and all that it printed."""
    command = [sys.executable, "-m", "epoche", *map(str, arguments)]
    print("$ epoche", shlex.join(command[3:]), file=sys.stderr, flush=True)
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    output = done.stdout + done.stderr
    if "Traceback" in output:
        raise SystemExit(output)
    return done.returncode, output


def read_labels(cards: Path) -> Counter[str]:
    """Counts the labels of a card file; there may be none."""
    if not cards.exists():
        return Counter()
    lines = cards.read_text("utf-8").splitlines()
    return Counter(json.loads(line)["label"] for line in lines)


def count_leaks(cards: Path) -> int:
    """Counts the leaks that the manifest of a card file names."""
    manifest = Path(f"{cards}.manifest.json")
    if not manifest.exists():
        manifest = cards.with_suffix(".manifest.json")
    if not manifest.exists():
        return 0
    warnings = json.loads(manifest.read_text("utf-8")).get("warnings", ())
    return sum(warning.startswith("Labels can be predicted") for warning in warnings)


def find_problem(output: str) -> str:
    """Returns the first sentence that says why nothing came of a graph."""
    lines = [line for line in output.splitlines() if re.match(r"(warning: Nothing|error:)", line)]
    return get_sentence(re.sub(r"^(warning|error): ", "", lines[0])) if lines else ""


def get_sentence(text: str) -> str:
    """Returns the first sentence of a message."""
    return text.split(". ")[0].rstrip(".")


def find_missing_label(cards: Path) -> str:
    """Returns why a card set lacks a label, as its manifest says; empty if it has all three."""
    manifest = cards.with_suffix(".manifest.json")
    if not manifest.exists() or len(read_labels(cards)) == 3:
        return ""
    record = json.loads(manifest.read_text("utf-8"))
    [missing, *_] = [text for text in record["warnings"] if text.startswith("No card has")]
    # The first note says again which label is missing; the next says why, and how often.
    return "; ".join(
        [missing.split(",")[0], *(text.split(" (")[0] for text in record["notes"][1:2])]
    )


def try_graph(source: Source, numbers: Sequence[int], folder: Path, *, own_shapes: bool) -> Row:
    """Makes cards and near-misses, asks a system, and writes metrics and report."""
    start = time.perf_counter()
    shapes = [flag for path in source.shapes for flag in ("--shapes", path) if own_shapes]
    init = ("kg", "init", *source.data, *shapes, "--out", folder / "domain")
    _, output = run_command(*init)
    problem = find_problem(output)
    _, output = run_command(*init, "--json")
    report = json.loads(output[output.index("{") : output.rindex("}") + 1])
    estimate = report["ceiling"]
    domain = ["--domain", folder / "domain"]
    cards: dict[int, Counter[str]] = {}
    leaks: dict[int, int] = {}
    for number in numbers:
        out = folder / f"cards_{number}.jsonl"
        code, output = run_command(
            "cards", *domain, "--num-per-type", number, "--audit", "--out", out
        )
        problem = problem or (find_problem(output) if code else find_missing_label(out))
        cards[number], leaks[number] = read_labels(out), count_leaks(out)
    out, near = folder / f"cards_{numbers[0]}.jsonl", folder / "near.jsonl"
    if out.exists():
        run_command(
            "near-miss", "--cards", out, *domain, "--num", 2 * numbers[0], "--audit", "--out", near
        )
        joined, results = folder / "all.jsonl", folder / "kg.jsonl"
        for command in (
            ("join", out, *([near] if near.exists() else []), "--out", joined),
            ("eval", "--cards", joined, *domain, "--system", "kg", "--out", results),
            ("metrics", "--cards", joined, "--results", results, "--out", folder / "metrics.json"),
            ("report", "--cards", joined, "--results", results, "--metrics",
             folder / "metrics.json", "--out", folder / "report.html"),
        ):  # fmt: skip
            code, output = run_command(*command)
            if code:
                problem = problem or output.strip().splitlines()[-1]
    seconds = time.perf_counter() - start
    near_labels = read_labels(near)
    return Row(source, estimate, cards, leaks, near_labels, count_leaks(near), seconds, problem)


def render_labels(counts: Counter[str], labels: str, leaks: int) -> str:
    """Renders the number of cards of each label, and that of the leaks if there are any."""
    text = " / ".join(str(counts[label]) for label in labels)
    return f"{text}, {leaks} leak{'s' * (leaks != 1)}" if leaks else text


def render_table(rows: Sequence[Row], numbers: Sequence[int]) -> list[str]:
    """Renders the table in Markdown."""
    heads = [f"E / C / U of {number}" for number in numbers]
    lines = [
        f"| graph | estimate | {' | '.join(heads)} | near-misses C / U | seconds | remark |",
        f"|---|---:|{'---:|' * len(heads)}---:|---:|---|",
    ]
    for row in rows:
        cells = [render_labels(row.cards[n], "ECU", row.leaks[n]) for n in numbers]
        near = render_labels(row.near_misses, "CU", row.near_miss_leaks)
        lines.append(
            f"| {row.source.name} ({row.source.origin}) | {row.estimate or '–'} | "
            f"{' | '.join(cells)} | {near} | {row.seconds:.0f} | {row.problem.replace('|', ' ')} |"
        )
    return lines


def main() -> None:
    """Runs all graphs and prints or replaces the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--num", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--only", nargs="*", help="names of graphs; default all")
    parser.add_argument("--shapes", action="store_true", help="add the publishers' shapes")
    parser.add_argument("--out", type=Path, help="page whose table is replaced")
    parser.add_argument(
        "--keep", type=Path, help="folder for what is made; default a temporary one"
    )
    options = parser.parse_args()
    sources = [read_source(path.parent) for path in sorted(options.folder.glob("*/SOURCE.md"))]
    sources = [s for s in sources if not options.only or s.name in options.only]
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for source in sources:
            if options.shapes and not source.shapes:
                continue
            folder = (options.keep or Path(temporary)) / source.name
            folder.mkdir(parents=True, exist_ok=True)
            rows.append(try_graph(source, options.num, folder, own_shapes=options.shapes))
            print(render_table(rows[-1:], options.num)[-1], flush=True)
    table = "\n".join(render_table(rows, options.num))
    if options.out is None:
        print(table)
        return
    name = "own shapes" if options.shapes else "table"
    start, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
    page = options.out.read_text("utf-8")
    before, rest = page.split(start, 1)
    options.out.write_text(before + start + table + "\n" + end + rest.split(end, 1)[1], "utf-8")


if __name__ == "__main__":
    main()
