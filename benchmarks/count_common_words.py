"""Counts the words that collections of documentation have in common.

    python benchmarks/count_common_words.py FOLDER... --out kg/text/run/common_words.tsv

Each argument is a collection: a folder or file that `epoche kg build` reads. A row has a stemmed
word and the upper quartile, over all collections, of the share of their chunks that has it.
``epoche kg inspect`` ranks concepts with it.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path
from statistics import quantiles

from kg.text.chunker import DEFAULT_OVERLAP, DEFAULT_SIZE
from kg.text.documents.reader import SUFFIXES
from kg.text.run.sources import find_source_files, read_sources
from kg.words.normaliser import extract_content_words

MIN_SHARE = 0.01
"""Smallest share of a word in the list."""
MIN_LETTERS = 3


def count_shares(folder: Path) -> dict[str, float]:
    """Returns each stemmed word of a collection → the share of its chunks that has it."""
    files = find_source_files([folder], SUFFIXES)
    chunks = read_sources(files, DEFAULT_SIZE, DEFAULT_OVERLAP, lambda _: None).chunks
    counts: Counter[str] = Counter()
    for chunk in chunks:
        counts.update(set(extract_content_words(chunk.prose)))
    return {word: count / len(chunks) for word, count in counts.items()}


def main() -> None:
    """Writes the list."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", required=True, type=Path)
    arguments = parser.parse_args()
    if len(arguments.folders) < 2:
        parser.error("name at least two collections: a word is common if several have it")
    shares: defaultdict[str, list[float]] = defaultdict(list)
    for folder in arguments.folders:
        for word, share in count_shares(folder).items():
            shares[word].append(share)
    n_collections = len(arguments.folders)
    quartiles = {
        word: quantiles([*found, *[0.0] * (n_collections - len(found))], method="inclusive")[2]
        for word, found in shares.items()
        if word.isalpha() and word.isascii() and len(word) >= MIN_LETTERS
    }
    rows = sorted((-share, word) for word, share in quartiles.items() if share >= MIN_SHARE)
    text = "".join(f"{word}\t{-share:.3f}\n" for share, word in rows)
    arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
