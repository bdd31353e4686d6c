"""Turns questions with quotes into labelled questions about the chunks of a run.

    epoche kg build borgbackup-1.4.5/docs --out run
    python benchmarks/label_quotes.py run benchmarks/questions/borgbackup-1.4.5.jsonl labelled.jsonl
    epoche retrieval eval --run run --questions labelled.jsonl --retriever ensemble --out eval

The gold of a question is the chunk of its file that has most of its quote, counted in runs of three
words, since a chunk has lost the markup between words. A quote is left out, and listed, if no chunk
has half of it.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from kg.text.chunks_file import read_chunks

RUN_LENGTH = 3
MIN_SHARE = 0.5
_ROLE = re.compile(r":[\w:]+:`")
_WORD = re.compile(r"\w+")

WordRuns = set[tuple[str, ...]]


def main() -> None:
    """Labels the questions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of `epoche kg build`")
    parser.add_argument("questions", type=Path, help="JSONL with id, question, file and quote")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    runs_by_file: dict[str, dict[str, WordRuns]] = {}
    for chunk in read_chunks(arguments.run / "chunks.jsonl"):
        name = chunk.metadata["filename"]
        runs_by_file.setdefault(name, {})[chunk.id] = list_word_runs(chunk.text)
    labelled = []
    rows = [json.loads(line) for line in arguments.questions.read_text("utf-8").splitlines()]
    for row in rows:
        quoted = list_word_runs(row["quote"])
        shares = {
            id_: len(quoted & runs) / max(1, len(quoted))
            for id_, runs in runs_by_file.get(row["file"], {}).items()
        }
        best = max(shares, key=lambda id_: shares[id_], default=None)
        if best is None or shares[best] < MIN_SHARE:
            print(f"left out: {row['id']} ({row['file']}): {row['quote'][:60]}")
            continue
        label = {"kind": "single-hop", "split": "test", "gold": [best], "answer": row["answer"]}
        labelled.append({"id": row["id"], "question": row["question"], **label})
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in labelled)
    arguments.out.write_text("".join(lines), "utf-8")
    print(f"{len(labelled)} of {len(rows)} questions → {arguments.out}")


def list_word_runs(text: str) -> WordRuns:
    """Returns all runs of words in a text, without the roles of reStructuredText."""
    words = _WORD.findall(_ROLE.sub("`", text).casefold())
    return {tuple(words[n : n + RUN_LENGTH]) for n in range(len(words) - RUN_LENGTH + 1)}


if __name__ == "__main__":
    main()
