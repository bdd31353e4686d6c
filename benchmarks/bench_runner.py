"""Compares speed and memory of ``epoche eval`` with a bare loop, inspect-ai and lm-eval.

    python benchmarks/bench_runner.py --harness-python ../harness/bin/python

All four send requests to a local server that answers after a fixed delay. Whole processes are
measured: start, imports, reading the questions, calling the server, writing the log. The four take
turns, and the best of ``--runs`` counts. The bare loop is the lower bound of the time: the official
client with aiohttp, without log or cache. Memory is the peak of the process and its children
together.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from runner_rivals import RUNNERS, Command, Job, how_to_install

PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass(frozen=True)
class Measurement:
    """Measurements of one run of one runner.

    Attributes:
        items_s: questions per second of the whole process.
        asking_s: seconds from the first request to the last reply, measured by the server.
        wall_s, cpu_s: wall-clock and CPU seconds of the process and its children.
        peak_mb: maximum resident memory of all of them together, in MB.
        in_flight: maximum number of requests at once, counted by the server.
        server_cpu_s: CPU seconds of the server, to show that it was not the bottleneck.
    """

    items_s: float
    asking_s: float
    wall_s: float
    cpu_s: float
    peak_mb: float
    in_flight: int
    server_cpu_s: float


class MemoryMonitor(threading.Thread):
    """A thread that records the peak resident memory of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.peak_mb = 0.0
        self._pid = pid
        self._stop_event = threading.Event()

    def run(self) -> None:
        """Samples the memory ten times a second."""
        while not self._stop_event.wait(0.1):
            self.peak_mb = max(
                self.peak_mb, sum(map(read_resident_mb, list_process_tree(self._pid)))
            )

    def stop(self) -> float:
        """Stops sampling; returns the peak in MB."""
        self._stop_event.set()
        self.join()
        return self.peak_mb


def list_process_tree(pid: int) -> list[int]:
    """Lists the ids of a process and its descendants."""
    processes = [pid]
    for parent in processes:
        try:
            for task in Path(f"/proc/{parent}/task").iterdir():
                processes += map(int, (task / "children").read_text().split())
        except OSError:  # the process has just ended
            continue
    return processes


def read_resident_mb(pid: int) -> float:
    """Returns the resident memory of a process in MB; 0 if it has just ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_MB
    except (OSError, IndexError):
        return 0.0


def write_questions(folder: Path, items: int) -> tuple[Path, Path]:
    """Writes the same different questions twice, as cards and as prompts."""
    from cards.card import Card, write_cards
    from kg.claims import GOLD_OF_LABEL, Claim

    labels = tuple(GOLD_OF_LABEL)

    def make_card(number: int) -> Card:
        label = labels[number % 3]
        return Card(
            id=f"q{number:07d}",
            facts=(
                f"Brook {number} flows into Lake {number}.",
                f"Lake {number} lies in Land {number % 50}.",
                f"Brook {number} is {number % 900 + 10} kilometres long.",
                f"Land {number % 50} borders Land {number % 49 + 50}.",
            ),
            rules=("A river flows into at most one body of water.",),
            question=f"Does Brook {number} flow into Lake {number}?",
            gold=GOLD_OF_LABEL[label],
            label=label,
            claim=Claim(f"urn:bench:s{number}", "urn:bench:p", f"urn:bench:o{number}"),
            cluster=f"urn:bench:s{number}",
        )

    cards = list(map(make_card, range(items)))
    write_cards(folder / "cards.jsonl", cards)
    with (folder / "prompts.jsonl").open("w", encoding="utf-8") as handle:
        for card in cards:
            prompt = "\n".join((*card.facts, *card.rules, card.question, "YES, NO or UNKNOWN?"))
            handle.write(json.dumps({"id": card.id, "prompt": prompt, "gold": card.gold}) + "\n")
    return folder / "cards.jsonl", folder / "prompts.jsonl"


def measure_command(
    command: Command, folder: Path, items: int, server: subprocess.Popen[str]
) -> Measurement:
    """Runs one command to its end and measures it.

    Raises:
        SystemExit: the command failed, or did not ask and log every question exactly once.
    """
    env = {**os.environ, **command.env, "NO_COLOR": "1"}
    start = time.perf_counter()
    times_before = os.times()
    process = subprocess.Popen(
        command.line,
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    memory = MemoryMonitor(process.pid)
    memory.start()
    output, error_output = process.communicate()
    wall = time.perf_counter() - start
    times_after = os.times()
    peak = memory.stop()
    server_counts = json.loads(server.communicate()[0])
    command_line = " ".join(command.line)
    if process.returncode:
        raise SystemExit(
            f"{command_line}\nended with {process.returncode}:\n{error_output[-3_000:]}"
        )
    logged_count = command.count_logged(output)
    if not items == logged_count == server_counts["requests"]:
        raise SystemExit(
            f"{command_line}\nwas given {items} questions, sent {server_counts['requests']} "
            f"requests and logged {logged_count} answers"
        )
    cpu = times_after.children_user + times_after.children_system
    cpu -= times_before.children_user + times_before.children_system
    return Measurement(
        items_s=items / wall,
        asking_s=server_counts["asking_s"],
        wall_s=wall,
        cpu_s=cpu,
        peak_mb=peak,
        in_flight=server_counts["most_in_flight"],
        server_cpu_s=server_counts["cpu_s"],
    )


def run_once(
    name: str, questions: tuple[Path, Path], flags: argparse.Namespace, concurrency: int
) -> Measurement:
    """Runs one runner once, with a separate server."""
    script = Path(__file__).with_name("delay_server.py")
    server = subprocess.Popen(
        [sys.executable, str(script), "--delay-ms", str(flags.delay_ms)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    base_url = server.stdout.readline().strip()
    try:
        with tempfile.TemporaryDirectory() as folder:
            job = Job(Path(folder), *questions, base_url, concurrency)
            command = RUNNERS[name](job, flags.harness_python or Path(sys.executable))
            return measure_command(command, Path(folder), flags.items, server)
    finally:
        server.kill()
        server.wait()


def print_table(rows: dict[str, Measurement], flags: argparse.Namespace, concurrency: int) -> None:
    """Prints the measurements at one concurrency, and compares ours with the others."""
    ceiling = concurrency / flags.delay_ms * 1_000
    print(
        f"\n{flags.items:,} items, {concurrency} at once, answers after {flags.delay_ms:g} ms: "
        f"no client can do more than {ceiling:,.0f} items/s"
    )
    print(
        f"{'':<12}{'items/s':>9}{'while asking':>14}{'wall s':>9}{'CPU ms/item':>13}"
        f"{'peak MB':>9}{'in flight':>11}{'server CPU':>12}"
    )
    for name, row in rows.items():
        print(
            f"{name:<12}{row.items_s:>9,.0f}{flags.items / row.asking_s:>14,.0f}{row.wall_s:>9.2f}"
            f"{row.cpu_s / flags.items * 1_000:>13.2f}{row.peak_mb:>9.0f}{row.in_flight:>11}"
            f"{row.server_cpu_s / row.wall_s:>12.0%}"
        )
    if "ours" not in rows:
        return
    our_row = rows["ours"]
    if "bare loop" in rows:
        print(f"ours / bare loop: {our_row.items_s / rows['bare loop'].items_s:.0%} of its items/s")
    if rivals := [row for name, row in rows.items() if name not in {"ours", "bare loop"}]:
        best_rate = max(row.items_s for row in rivals)
        lowest_peak = min(row.peak_mb for row in rivals)
        print(f"ours / best rival: {our_row.items_s / best_rate:.1f} × its items/s")
        print(f"ours / rival with least memory: {our_row.peak_mb / lowest_peak:.2f} × its memory")


def read_flags(arguments: list[str] | None = None) -> argparse.Namespace:
    """Reads the flags; by default those of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=2_000, help="questions")
    parser.add_argument(
        "--concurrency", type=int, nargs="+", default=[64, 256], help="requests in flight"
    )
    parser.add_argument("--delay-ms", type=float, default=50.0, help="delay before each reply")
    parser.add_argument("--runs", type=int, default=3, help="runs of each runner; the best counts")
    parser.add_argument(
        "--only", choices=RUNNERS, nargs="+", default=list(RUNNERS), help="runners to measure"
    )
    parser.add_argument(
        "--harness-python",
        type=Path,
        help="Python of the environment in which the rivals are installed",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args(arguments)


def main() -> None:
    """Measures, prints tables or JSON."""
    flags = read_flags()
    names = []
    for name in flags.only:
        if (help_text := how_to_install(name, flags.harness_python)) is None:
            names.append(name)
        else:
            print(
                f"{name} is not measured, because it is not installed: {help_text}", file=sys.stderr
            )
    results: dict[int, dict[str, Measurement]] = {}
    with tempfile.TemporaryDirectory() as folder:
        questions = write_questions(Path(folder), flags.items)
        for concurrency in flags.concurrency:
            best_runs = results[concurrency] = {}
            for _ in range(flags.runs):
                for name in names:
                    measurement = run_once(name, questions, flags, concurrency)
                    if name not in best_runs or measurement.items_s > best_runs[name].items_s:
                        best_runs[name] = measurement
            if not flags.json:
                print_table(best_runs, flags, concurrency)
    if flags.json:
        print(
            json.dumps(
                {
                    concurrency_level: {n: asdict(m) for n, m in r.items()}
                    for concurrency_level, r in results.items()
                }
            )
        )


if __name__ == "__main__":
    main()
