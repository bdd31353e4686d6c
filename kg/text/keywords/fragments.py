"""Drops keywords that are not names of things.

They are parts of sentences ("generate links", "bugs fixed") and headings that give a text its form
("Requirements", "Parameters").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import cache
from importlib import resources

import msgspec

from kg.text.chunks import Chunk
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.keywords.usage import FormUsage
from kg.words.normaliser import (
    FUNCTION_WORDS,
    list_ngrams,
    normalise_phrase,
    split_words,
    stem_word,
)

MIN_CAPITAL_SHARE = Fraction(1, 2)
"""Share of a word's occurrences inside sentences with a capital, from which it is a proper name."""

FILE_OF_LANGUAGE = {"cs": "cz", "nb": "no", "nn": "no"}
"""YAKE's names of lists of stop words that are not the codes of their languages."""

MIN_SHARED_HEADINGS = 3
"""Number of sections with the same heading, from which it says nothing about their subject."""

MIN_PIECE_USES = 2
"""Number of occurrences from which a keyword that never stands alone is a piece of a longer one."""

_PARTS_OF_DOCUMENTS = frozenset({"section", "chapter", "appendix", "figure", "table", "page"})
_REFERENCE = re.compile(
    rf"\b(?i:({'|'.join(sorted(_PARTS_OF_DOCUMENTS))})s?)\b(\s+(?:\d+|[A-Z])(?:\.\d+)*\b)?"
)
"""A word for a part of a document, and the number that follows it, if one does."""
_HEADING_NUMBER = re.compile(r"^(?:\d+|[A-Z])(?:\.\d+)*\.?\s+(?=\S)")
_ALLOWED_INSIDE = frozenset({"of", "and", "for", "de", "du", "des", "la", "le", "del", "di", "da"})
"""Function words that occur in names: "order of magnitude", "read and write", "mot de passe"."""
_CONSTANTS = frozenset({"true", "false", "none", "null", "nil", "nan", "undefined"})
# "1f600", "0x0660" and numbers beside them, but not names such as "3d", "802" and "c64".
_HEXADECIMAL = re.compile(r"0x[0-9a-f]+|(?![a-f]\d+$)(?=[a-f]*\d)[0-9a-f]{4,}")
# A capitalised word after a word in small letters, which therefore does not begin a sentence.
_INNER_WORD = re.compile(r"(?<=[a-z,] )[^\W\d_]\w*")


def drop_fragments(chunks: Sequence[Chunk], rows: Sequence[ChunkKeywords]) -> list[ChunkKeywords]:
    """Returns the keywords of each chunk without those that no rule allows to be names.

    * In every language: no function word inside, except a few such as "of".
    * In every language: no keyword that a chunk has only in its heading, if three or more sections
      have the same heading, apart from its number.
    * In every language: no constant of programs ("True") and no hexadecimal number.
    * In English: no keyword that occurs twice or more, but only as a part of a longer one of the
      same chunk, such as "site scripting" of "cross site scripting".
    * In English: no word for a part of a document ("section"), if a number follows it mostly.
    * In English: the last word is a noun, and a first word that is used as a verb is a noun too. A
      word is one if the text uses it so ("*the* page *is*") in a twentieth of its occurrences, or
      writes it with a capital inside sentences. Rare words are not judged. A phrase that is once
      used as a name is kept.

    Args:
        chunks: the text.
        rows: the keywords of each chunk, in the order of ``chunks``.
    """
    words = {stem_word(w) for row in rows for keyword in row.keywords for w in split_words(keyword)}
    english = [chunk for chunk in chunks if str(chunk.metadata.get("language", "en"))[:2] == "en"]
    phrases = {normalise_phrase(keyword) for row in rows for keyword in row.keywords}
    usage = FormUsage(english, words | phrases)
    names = _find_proper_names(english)
    shared_headings = _find_shared_headings(chunks)
    references = _find_references(english)
    kept_rows = []
    for chunk, row in zip(chunks, rows, strict=True):
        language = str(chunk.metadata.get("language", "en"))[:2]
        keywords = row.keywords
        if _get_heading(chunk) in shared_headings:
            body = chunk.prose.removeprefix(str(chunk.metadata["section"])).casefold()
            keywords = tuple(k for k in keywords if k.casefold() in body)
        if language == "en":
            keywords = tuple(k for k in keywords if normalise_phrase(k) not in references)
        kept = [k for k in keywords if not _is_value(k) and _is_name(k, language, usage, names)]
        if language == "en":
            kept = _drop_pieces(kept, usage)
        kept_rows.append(msgspec.structs.replace(row, keywords=tuple(kept)))
    return kept_rows


def _is_value(keyword: str) -> bool:
    """Returns whether a keyword is a constant of programs, or numbers with hexadecimal ones."""
    words = split_words(keyword)
    is_hexadecimal = all(map(_HEXADECIMAL.fullmatch, words)) and not keyword.isdigit()
    return bool(words) and (is_hexadecimal or _CONSTANTS.issuperset(words))


def _drop_pieces(keywords: Sequence[str], usage: FormUsage) -> list[str]:
    """Returns the keywords of a chunk without those that occur only as a part of another one."""
    forms = [normalise_phrase(keyword) for keyword in keywords]
    pieces = {
        piece
        for form in forms
        if _ALLOWED_INSIDE.isdisjoint(form.split())  # "navigation and footer" are two things
        for piece in list_ngrams(form.split())
        if piece != form and MIN_PIECE_USES <= usage.count_uses(piece) <= usage.count_uses(form)
    }
    return [k for k, form in zip(keywords, forms, strict=True) if form not in pieces]


def _is_name(keyword: str, language: str, usage: FormUsage, names: Collection[str]) -> bool:
    words = split_words(keyword)
    function_words = FUNCTION_WORDS if language == "en" else load_stop_words(language)
    if any(word in function_words and word not in _ALLOWED_INSIDE for word in words[1:-1]):
        return False
    if language != "en" or not words or usage.is_ever_name(normalise_phrase(keyword)):
        return True
    first, last = stem_word(words[0]), stem_word(words[-1])

    def is_noun(word: str) -> bool:
        return word in names or not word.isalpha() or not usage.is_rarely_name(word)

    return is_noun(last) and (not usage.is_verb(first) or is_noun(first))


def _find_references(chunks: Sequence[Chunk]) -> set[str]:
    """Returns the words for parts of documents that a number follows in most places."""
    counts: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for chunk in chunks:
        for match in _REFERENCE.finditer(chunk.prose):
            word = match[1].casefold()
            totals[word] += 1
            counts[word] += match[2] is not None
    return {normalise_phrase(word) for word, count in counts.items() if 2 * count > totals[word]}


def _find_shared_headings(chunks: Sequence[Chunk]) -> set[str]:
    sections = {(_get_heading(chunk), str(chunk.metadata.get("section_id"))) for chunk in chunks}
    counts = Counter(heading for heading, _ in sections if heading)
    return {heading for heading, count in counts.items() if count >= MIN_SHARED_HEADINGS}


def _get_heading(chunk: Chunk) -> str:
    """Returns the heading of a chunk's section without its number, in small letters."""
    return _HEADING_NUMBER.sub("", str(chunk.metadata.get("section", ""))).casefold()


def _find_proper_names(chunks: Sequence[Chunk]) -> set[str]:
    capitals: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for chunk in chunks:
        for word in _INNER_WORD.findall(chunk.prose):
            form = stem_word(word.casefold())
            totals[form] += 1
            capitals[form] += word[0].isupper()
    return {form for form, count in capitals.items() if count >= MIN_CAPITAL_SHARE * totals[form]}


@cache
def load_stop_words(language: str) -> frozenset[str]:
    """Returns the stop words of a language as YAKE lists them; none for an unknown language."""
    name = FILE_OF_LANGUAGE.get(language, language)
    file = resources.files("yake.core") / "StopwordsList" / f"stopwords_{name}.txt"
    if not language.isalpha() or not file.is_file():
        return frozenset()
    return frozenset(file.read_bytes().decode("utf-8", "replace").casefold().split())
