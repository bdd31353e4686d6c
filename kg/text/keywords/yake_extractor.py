"""Extracts keywords with YAKE, from statistics of each chunk, without a model or corpus."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kg.base.console import print_warning_once
from kg.base.log_capture import capture_logs
from kg.text.chunks import Chunk
from kg.text.keywords.fragments import FILE_OF_LANGUAGE
from kg.text.keywords.protocol import ChunkKeywords
from kg.words.normaliser import (
    FUNCTION_WORDS,
    find_unspaced_runs,
    normalise_phrase,
    repair_text,
    split_words,
)

MAX_KEYWORD_WORDS = 3
"""Maximum number of words in a keyword."""
DEDUP_LIMIT = 0.9
"""If two keywords are more similar than this (YAKE's ``seqm``), the lower-ranked one is dropped."""
MAX_KEYWORD_LENGTH = 100
"""Maximum number of characters in a keyword; longer ones are file names, hashes and the like."""
DEFAULT_LANGUAGE = "en"
"""Language of chunks whose metadata name none."""

_SENTENCE_BOUNDARY = re.compile(r"\n{2,}|\n(?=\s*(?:[-*•]|\d+[.)]) )")
"""Matches between paragraphs, and before the items of a list."""
# A word with its inner hyphens and signs, and its final signs: "2PL", "B+-tree", "C++", "C#".
_TERM = re.compile(r"[^\W_]+(?:[-+#]+[^\W_]+)*(?:\+{1,2}|#)?")
_MAX_TERM_LENGTH = 40
"""Maximum number of characters in a term that gets a placeholder."""


class Yake:
    """Extracts the keywords of each chunk with YAKE.

    R. Campos et al., YAKE! Keyword extraction from single documents using multiple local features,
    Information Sciences 509, 2020. Features and ranking are those of the ``yake`` library. It drops
    words that contain digits or signs and words of two letters, but technical texts are about such
    terms ("2PL", "B+-tree", "C++", "ER"). They are therefore replaced by placeholder words before
    the library runs, and restored in the keywords it returns.

    Args:
        top_n: maximum number of keywords per chunk; None: the integer square root of the chunk's
            length in characters.
    """

    name = "yake"

    def __init__(self, top_n: int | None = None) -> None:
        self.top_n = top_n
        self.failed = 0

    def params(self) -> dict[str, object]:
        """Returns every parameter that affects the keywords."""
        from importlib.metadata import version

        return {
            "top_n": self.top_n,
            "longest": MAX_KEYWORD_WORDS,
            "dedup": DEDUP_LIMIT,
            "version": version("yake"),
        }

    def extract_keywords(
        self, chunks: Sequence[Chunk], on_done: Callable[[ChunkKeywords], None]
    ) -> list[ChunkKeywords]:
        """Returns the keywords of each chunk: none if it consists of function words or code.

        Blocks of code are left out. The stop words are those of the language in the chunk's
        metadata, English by default. Keywords in scripts without spaces between words are dropped,
        because the library takes clauses for words there; a warning says how many chunks are
        written so.
        """
        unspaced = sum(map(_is_unspaced, chunks))
        if unspaced:
            print_warning_once(
                f"{unspaced:,} chunks are in a script without spaces between words (Chinese, "
                "Japanese, Thai …), in which YAKE finds no keywords; use --keywords model"
            )
        rows = []
        for chunk in chunks:
            row = ChunkKeywords(chunk.id, tuple(self._extract_from_chunk(chunk)))
            on_done(row)
            rows.append(row)
        return rows

    def _extract_from_chunk(self, chunk: Chunk) -> list[str]:
        prose = chunk.prose
        if not prose.strip():
            return []
        text = repair_text(prose).casefold()
        max_keywords = self.top_n or math.isqrt(len(prose))
        keyword_by_form: dict[str, str] = {}
        with capture_logs("yake") as log_messages:
            ranked = _rank_keywords(prose, chunk.metadata, 2 * max_keywords)
        if log_messages:  # the library does not raise: on any error it logs and returns nothing
            self.failed += 1
        for keyword in ranked:
            key = normalise_phrase(keyword)
            # The library joins words with single spaces, so a keyword may not occur verbatim.
            if key and key not in keyword_by_form and _is_usable(keyword):
                if keyword.casefold() in text:
                    keyword_by_form[key] = keyword
                if len(keyword_by_form) == max_keywords:
                    break
        return list(keyword_by_form.values())


def _is_unspaced(chunk: Chunk) -> bool:
    """Whether a third of a chunk's letters are of scripts without spaces between words."""
    letters = sum(map(str.isalpha, chunk.text)) if not chunk.text.isascii() else 0
    return 3 * sum(map(len, find_unspaced_runs(chunk.text))) > letters


def _is_usable(keyword: str) -> bool:
    return len(keyword) <= MAX_KEYWORD_LENGTH and not find_unspaced_runs(keyword)


def _rank_keywords(prose: str, metadata: Mapping[str, Any], max_keywords: int) -> list[str]:
    """Returns the library's keywords of a chunk, best first."""
    from yake import KeywordExtractor

    language = str(metadata.get("language", DEFAULT_LANGUAGE))[:2].lower()
    # Ends a sentence at each boundary, since headings and list items have no full stop.
    text = " . ".join(repair_text(piece) for piece in _SENTENCE_BOUNDARY.split(prose))
    terms = _TermPlaceholders()
    library = KeywordExtractor(
        lan=FILE_OF_LANGUAGE.get(language, language if language.isalpha() else DEFAULT_LANGUAGE),
        n=MAX_KEYWORD_WORDS,
        dedup_lim=DEDUP_LIMIT,
        dedup_func="seqm",
        window_size=1,
        top=max_keywords,
    )
    ranked = library.extract_keywords(_TERM.sub(terms.make_placeholder, text))
    return [terms.restore_terms(keyword) for keyword, _ in ranked]


class _TermPlaceholders:
    """Replaces terms that YAKE would drop by placeholder words, and restores them.

    One object serves one chunk.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._terms: dict[str, str] = {}

    def make_placeholder(self, match: re.Match[str]) -> str:
        """Returns a placeholder made of letters, or the term itself if YAKE keeps it.

        Singular and plural get the same placeholder (the plural with an s), and capitals are
        copied, because YAKE's features depend on both.
        """
        term = match[0]
        if not _is_dropped(term):
            return term
        key = normalise_phrase(term)
        letters = _number_to_letters(self._numbers.setdefault(key, len(self._numbers)))
        word = f"qz{letters}zq"  # no word of a text looks like this
        if term.isupper():
            word = word.upper()
        elif term[0].isupper():
            word = word.capitalize()
        if not key.endswith("s") and term.endswith("s"):
            word += "s"
        self._terms[word] = term
        return word

    def restore_terms(self, keyword: str) -> str:
        """Replaces the placeholders in a keyword by their terms."""
        return " ".join(self._terms.get(word, word) for word in keyword.split(" "))


def _is_dropped(term: str) -> bool:
    """Whether YAKE would drop a term that is a useful keyword."""
    if len(term) > _MAX_TERM_LENGTH or not any(char.isalpha() for char in term):
        return False
    if len(term) == 2 and term.isupper():
        return term.casefold() not in FUNCTION_WORDS
    return any(char.isdigit() for char in term) or any(
        word[-1] in "+#" for word in split_words(term)
    )


def _number_to_letters(number: int) -> str:
    """Writes a number in letters: 0 is a, 25 is z, 26 is ba."""
    quotient, remainder = divmod(number, 26)
    return (_number_to_letters(quotient) if quotient else "") + chr(ord("a") + remainder)
