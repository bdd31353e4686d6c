"""Compares the CPU time of making cards with that of rdflib's parse.

    python benchmarks/bench_cards.py --triples 1000000 --per-label 2000

Epoché loads the graph and makes 2,000 proved cards per label. Each side runs in a separate
process, so that its peak memory is measured alone. A first run on a small graph compiles the
modules, as an installation would. ``--scaling`` adds the cost per card on a graph of a tenth of the
size: the cost of one more card must not grow with the graph.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from generate_graph import write_rivers

CARDS = """
import json, resource, sys, time
from pathlib import Path
start = time.process_time()
from cards.card import write_cards
from cards.generation.card_plan import CardPlan
from cards.generator import make_cards
from kg.knowledge import KnowledgeBase
kb = KnowledgeBase.open("rivers", [sys.argv[1]])
open_end = time.process_time()
kb.labels.find_entities("")  # builds the index of names
index_end = time.process_time()
card_set = make_cards(kb, CardPlan(per_label=int(sys.argv[2])))
card_count = write_cards(Path(sys.argv[1] + ".cards.jsonl"), card_set.cards)
end = time.process_time()
print(json.dumps({
    "open_s": open_end - start, "name_index_s": index_end - open_end, "cards_s": end - index_end,
    "total_s": end - start, "cards": card_count,
    "ms_per_card": 1000 * (end - index_end) / card_count,
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""

PARSE = """
import json, resource, sys, time
import rdflib
start = time.process_time()
rdflib.Graph().parse(sys.argv[1], format="turtle")
print(json.dumps({
    "total_s": time.process_time() - start,
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


def run_in_process(cache_folder: Path, code: str, *arguments: str) -> dict[str, float]:
    """Runs ``code`` in a separate process and returns its measurements.

    Args:
        cache_folder: a folder for compiled modules.
        code: Python that prints one JSON object in its last line.
        arguments: its ``sys.argv[1:]``.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(cache_folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent,
        env=environment,
    )
    result: dict[str, float] = json.loads(process.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Measures and prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--triples", type=int, default=1_000_000)
    parser.add_argument("--per-label", type=int, default=2_000)
    parser.add_argument("--scaling", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cache_folder = Path(folder) / "compiled"
        small = str(write_rivers(Path(folder) / "small.ttl", arguments.triples // 10))
        for code in (CARDS, PARSE):
            run_in_process(cache_folder, code, small, "10")
        graph = str(write_rivers(Path(folder) / "graph.ttl", arguments.triples))
        cards = run_in_process(cache_folder, CARDS, graph, str(arguments.per_label))
        parse = run_in_process(cache_folder, PARSE, graph)
        report: dict[str, Any] = {
            "cards": cards,
            "rdflib": parse,
            "ratio": cards["total_s"] / parse["total_s"],
        }
        if arguments.scaling:
            report["tenth"] = run_in_process(cache_folder, CARDS, small, str(arguments.per_label))
            # A second run with a quarter of the cards separates the fixed cost per graph (lists of
            # candidates) from the cost of each further card.
            for name, path in (("cards", graph), ("tenth", small)):
                quarter_run = run_in_process(
                    cache_folder, CARDS, path, str(arguments.per_label // 4)
                )
                full_run = report[name]
                extra_cards = full_run["cards"] - quarter_run["cards"]
                extra_seconds = full_run["cards_s"] - quarter_run["cards_s"]
                full_run["ms_per_further_card"] = 1000 * extra_seconds / extra_cards
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
