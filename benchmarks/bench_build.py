"""Measures `epoche kg build` on documents and on a tenth of them, beside a plain BM25 index.

    python benchmarks/bench_build.py FOLDER...

Each command is measured as users run it, in a process of its own: CPU seconds with imports, and the
peak of its memory. No keywords are cached. The tenth is every tenth file. The index is that of the
library bm25s with its own tokens, over the chunks of the run and saved with them, as a run is.
Words are those of the chunks; ``× text`` compares with the size of the documents.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent))

from bench_canonicalise import MIB

if TYPE_CHECKING:
    from kg.text.documents.names import SourceFile

SAMPLED = 10
"""One of so many files is in the sample."""


def write_index(chunk_file: Path, folder: Path) -> None:
    """Writes a BM25 index of chunks, in this process."""
    import bm25s

    from kg.text.chunks_file import read_chunks

    texts = [chunk.text for chunk in read_chunks(chunk_file)]
    index = bm25s.BM25(method="lucene")
    index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    index.save(folder, corpus=texts, show_progress=False)


def copy_files(files: Sequence[SourceFile], folder: Path) -> int:
    """Copies documents, each with the folders that it is in; returns their size in bytes."""
    numbers: dict[Path, int] = {}
    for file in files:
        root = file.root or file.path.parent
        number = numbers.setdefault(root, len(numbers))
        target = folder / str(number) / file.path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.path, target)
    return measure_folder(folder)


def measure_folder(folder: Path) -> int:
    """Returns the size of all files in a folder in bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure_command(*arguments: str | Path) -> dict[str, float]:
    """Runs Python in a separate process; returns its CPU seconds and peak memory in MiB."""
    child = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{arguments[0]} ended in {child.returncode}")
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "peak_mib": usage.ru_maxrss / MIB}


def measure_build(files: Sequence[SourceFile], folder: Path) -> dict[str, dict[str, float]]:
    """Builds a run of copies of documents, and an index of its chunks."""
    text_bytes = copy_files(files, folder / "text")
    run, index = folder / "run", folder / "index"
    build = measure_command("-m", "epoche", "kg", "build", folder / "text", "--out", run)
    rows = {"build": build, "BM25": measure_command(__file__, "--index", run, index)}
    with (run / "chunks.jsonl").open("rb") as lines:
        words = sum(len(json.loads(line)["text"].split()) for line in lines)
    for row, output in zip(rows.values(), (run, index), strict=True):
        row |= {"words": words, "text_mib": text_bytes / 2**20}
        row["disk_mib"] = measure_folder(output) / 2**20
    return rows


def main() -> None:
    """Reads the flags, measures, prints the table or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("documents", type=Path, nargs="+", help="documents, and folders of them")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--index", action="store_true", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.index:
        write_index(flags.documents[0] / "chunks.jsonl", flags.documents[1])
        return
    from kg.text.documents import SUFFIXES
    from kg.text.run.sources import find_source_files

    files = find_source_files(flags.documents, SUFFIXES)
    table = {}
    for name, selected in (("a tenth", files[::SAMPLED]), ("all", files)):
        with tempfile.TemporaryDirectory() as folder:
            table[name] = measure_build(selected, Path(folder))
    if flags.json:
        print(json.dumps(table, indent=2))
        return
    print(
        f"{'':<16}{'words':>11}{'CPU s':>9}{'× BM25':>8}{'peak MiB':>10}{'× BM25':>8}"
        f"{'disk MiB':>10}{'× BM25':>8}{'× text':>8}"
    )
    for name, rows in table.items():
        for method, row in rows.items():
            cpu, peak, disk = (
                f"{row[figure] / rows['BM25'][figure]:>8.2f}"
                for figure in ("cpu_s", "peak_mib", "disk_mib")
            )
            print(
                f"{f'{name}, {method}':<16}{row['words']:>11,}{row['cpu_s']:>9.1f}{cpu}"
                f"{row['peak_mib']:>10.0f}{peak}{row['disk_mib']:>10.1f}{disk}"
                f"{row['disk_mib'] / row['text_mib']:>8.2f}"
            )
    growth = table["all"]["build"]["peak_mib"] / table["a tenth"]["build"]["peak_mib"]
    print(f"peak memory of the build: {growth:.2f} × that of a tenth")


if __name__ == "__main__":
    main()
