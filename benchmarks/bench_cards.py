"""Compares the CPU time of making cards with that of rdflib's parse.

    python benchmarks/bench_cards.py --triples 1000000 --per-label 2000

Ours loads the graph and makes 2,000 proved cards per label. Each side runs in a separate process,
so that its peak memory is measured alone. It runs twice, so that its modules are already compiled,
as after an installation. ``--scaling`` adds the cost per card on a graph of a tenth of the size:
the cost of one more card must not grow with the graph.
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
from cards.generator import CardPlan, make_cards
from kg.knowledge import KnowledgeBase
kb = KnowledgeBase.open("rivers", [sys.argv[1]])
opened = time.process_time()
kb.labels.find("")
warmed = time.process_time()
made = make_cards(kb, CardPlan(per_label=int(sys.argv[2])))
written = write_cards(Path(sys.argv[1] + ".cards.jsonl"), made.cards)
end = time.process_time()
print(json.dumps({
    "open_s": opened - start, "name_index_s": warmed - opened, "cards_s": end - warmed,
    "total_s": end - start, "cards": written,
    "ms_per_card": 1000 * (end - warmed) / written,
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


def run_in_process(compiled: Path, code: str, *arguments: str) -> dict[str, float]:
    """Runs ``code`` in a separate process and returns its measurements.

    Args:
        compiled: a folder for compiled modules.
        code: Python that prints one JSON object in its last line.
        arguments: its ``sys.argv[1:]``.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(compiled)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent,
        env=environment,
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Measures and prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--triples", type=int, default=1_000_000)
    parser.add_argument("--per-label", type=int, default=2_000)
    parser.add_argument("--scaling", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compiled = Path(folder) / "compiled"
        small = str(write_rivers(Path(folder) / "small.ttl", arguments.triples // 10))
        for code in (CARDS, PARSE):
            run_in_process(compiled, code, small, "10")
        graph = str(write_rivers(Path(folder) / "graph.ttl", arguments.triples))
        cards = run_in_process(compiled, CARDS, graph, str(arguments.per_label))
        parse = run_in_process(compiled, PARSE, graph)
        report: dict[str, Any] = {
            "cards": cards,
            "rdflib": parse,
            "ratio": cards["total_s"] / parse["total_s"],
        }
        if arguments.scaling:
            report["tenth"] = run_in_process(compiled, CARDS, small, str(arguments.per_label))
            # Making a quarter of the cards separates the cost per graph (lists of candidates) from
            # the cost of each further card.
            for name, path in (("cards", graph), ("tenth", small)):
                some = run_in_process(compiled, CARDS, path, str(arguments.per_label // 4))
                full = report[name]
                more = full["cards"] - some["cards"]
                full["ms_per_further_card"] = 1000 * (full["cards_s"] - some["cards_s"]) / more
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
