"""Makes keywords from real vocabulary: phrases of the shipped textbook and the documentation.

Phrases of the texts (one to three consecutive words that begin and end with a content word) are
followed by random pairs and triples of their words. Capitals, plurals and acronyms vary as in
authors' texts. The same texts, size and seed give the same bytes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from kg.words.normaliser import FUNCTION_WORDS, normalise_phrase, split_words

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ("retrieval/corpora/keeping_data/book", "docs")
_MIN_WORD_LENGTH = 4
"""Minimum number of characters of a word used in pairs and triples."""


def make_keywords(size: int, seed: int = 0) -> list[str]:
    """Makes ``size`` keywords with distinct normal forms.

    Raises:
        ValueError: the texts have too few words for ``size`` keywords.
    """
    random_source = random.Random(seed)
    keywords: dict[str, str] = {}
    # The random combinations never end, so the number of tries is limited.
    for tries, phrase in enumerate(_iter_phrases(random_source)):
        if len(keywords) == size:
            return list(keywords.values())
        if tries > 40 * size + 100_000:
            break
        normal_form = normalise_phrase(phrase)
        if normal_form and normal_form not in keywords:
            keywords[normal_form] = _vary_spelling(phrase, random_source)
    raise ValueError(f"the texts make only {len(keywords)} keywords")


def _iter_phrases(random_source: random.Random) -> Iterator[str]:
    """Yields phrases of the texts, shuffled, then endlessly random combinations of their words."""
    lines = [
        line
        for folder in TEXTS
        for path in sorted((ROOT / folder).rglob("*.md"))
        for line in path.read_text("utf-8").splitlines()
    ]
    text_phrases: dict[str, None] = {}
    for line in lines:
        tokens = split_words(line)
        for length in (1, 2, 3):
            for start in range(len(tokens) - length + 1):
                words = tokens[start : start + length]
                if not {words[0], words[-1]} & FUNCTION_WORDS and any(map(str.isalpha, words)):
                    text_phrases.setdefault(" ".join(words))
    phrases = list(text_phrases)
    random_source.shuffle(phrases)
    yield from phrases
    vocabulary = sorted(
        {word for phrase in phrases for word in phrase.split() if len(word) >= _MIN_WORD_LENGTH}
        - FUNCTION_WORDS
    )
    while True:
        yield " ".join(random_source.sample(vocabulary, random_source.choice((2, 2, 3))))


def _vary_spelling(phrase: str, random_source: random.Random) -> str:
    """Varies a phrase as authors do: most stay plain, some get capitals or a hyphen."""
    draw = random_source.random()
    if draw < 0.1:
        return phrase.title()
    if draw < 0.15:
        return phrase.replace(" ", "-", 1)
    return phrase
