"""Keywords made from real vocabulary: phrases of the shipped textbook and the documentation.

What stands in the texts comes first (one to three words in a row that begin and end with a word of
content), then pairs and triples of their words; capitals, plurals and acronyms as authors write
them. The same bytes for the same texts, size and seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from kg.text.normaliser import FUNCTION_WORDS, normalise, words

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ("retrieval/corpora/keeping_data/book", "docs")
_SHORTEST = 4
"""Characters of a word that pairs and triples are made of."""


def keywords(size: int, seed: int = 0) -> list[str]:
    """``size`` keywords of distinct normal forms.

    Raises:
        ValueError: the texts' words do not make so many.
    """
    random_source = random.Random(seed)
    found: dict[str, str] = {}
    for tries, phrase in enumerate(_phrases(random_source)):
        if len(found) == size:
            return list(found.values())
        if tries > 40 * size + 100_000:
            break
        form = normalise(phrase)
        if form and form not in found:
            found[form] = _written(phrase, random_source)
    raise ValueError(f"the texts make only {len(found)} keywords")


def _phrases(random_source: random.Random) -> Iterator[str]:
    """Phrases of the texts, shuffled, then phrases made of their words, without end."""
    texts = [
        line
        for folder in TEXTS
        for path in sorted((ROOT / folder).rglob("*.md"))
        for line in path.read_text("utf-8").splitlines()
    ]
    real: dict[str, None] = {}
    for line in texts:
        tokens = words(line)
        for length in (1, 2, 3):
            for start in range(len(tokens) - length + 1):
                run = tokens[start : start + length]
                if not {run[0], run[-1]} & FUNCTION_WORDS and any(map(str.isalpha, run)):
                    real.setdefault(" ".join(run))
    phrases = list(real)
    random_source.shuffle(phrases)
    yield from phrases
    vocabulary = sorted(
        {word for phrase in phrases for word in phrase.split() if len(word) >= _SHORTEST}
        - FUNCTION_WORDS
    )
    while True:
        yield " ".join(random_source.sample(vocabulary, random_source.choice((2, 2, 3))))


def _written(phrase: str, random_source: random.Random) -> str:
    """A phrase as an author may write it: mostly plain, sometimes with capitals or a hyphen."""
    draw = random_source.random()
    if draw < 0.1:
        return phrase.title()
    if draw < 0.15:
        return phrase.replace(" ", "-", 1)
    return phrase
