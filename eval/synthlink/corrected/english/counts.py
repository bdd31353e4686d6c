"""How often a class of words follows two others in English prose, as a table of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

from eval.synthlink.corrected.english.classes import END, START, sentence_classes

TABLE: Final = Path(__file__).with_name("counts.tsv")
Trigrams = Counter[tuple[str, str, str]]


def trigrams(classes: Iterable[str]) -> Iterable[tuple[str, str, str]]:
    """Each class of a sentence, and its end, behind the two before it."""
    before, last = START, START
    for one in (*classes, END):
        yield before, last, one
        before, last = last, one


def count(texts: Iterable[str]) -> Trigrams:
    """The trigrams of texts."""
    return Counter(
        found for text in texts for one in sentence_classes(text) for found in trigrams(one)
    )


def as_table(counts: Trigrams) -> str:
    """A row for each two classes: what follows them, and how often. ``read_table`` reads it."""
    rows: dict[tuple[str, str], list[str]] = {}
    for (before, last, one), number in sorted(counts.items()):
        rows.setdefault((before, last), []).append(f"{one} {number}")
    lines = [f"{before} {last}\t{chr(9).join(found)}" for (before, last), found in rows.items()]
    return "".join(f"{line}\n" for line in lines)


def from_table(text: str) -> Trigrams:
    """What ``as_table`` wrote."""
    counts: Trigrams = Counter()
    for line in text.splitlines():
        pair, *found = line.split("\t")
        before, last = pair.split(" ")
        for cell in found:
            one, number = cell.split(" ")
            counts[before, last, one] = int(number)
    return counts


@lru_cache(maxsize=1)
def shipped() -> Trigrams:
    """The counts of the shipped table, read once."""
    return from_table(TABLE.read_text("utf-8"))
