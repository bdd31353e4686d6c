"""Drops keywords that are not names of things.

They are parts of sentences ("generate links", "bugs fixed") and what gives a text its form:
headings ("Requirements", "Parameters"), labels ("Default: 16") and lines that documents share.
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

MIN_SHARED_LABELS = 5
"""Number of sections with the same label of a line, from which it says nothing about a subject."""

MIN_SHARED_LINES = 5
"""Number of documents with the same line, from which it is a signature, a greeting or the like."""

MAX_SHARE_OF_SHARED_LINES = Fraction(1, 3)
"""Share of the lines from which the documents are copies or versions of each other."""

MIN_PIECE_USES = 2
"""Number of occurrences from which a keyword that never stands alone is a piece of a longer one."""

_NUMBERED_WORDS = (
    "section|chapter|appendix|figure|table|page|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|"
    "may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_REFERENCE = re.compile(rf"\b(?i:({_NUMBERED_WORDS})s?)\b(,?\s+(?:\d+|[A-Z])(?:\.\d+)*\b)?")
"""A word for a part of a document, or a month, and the number that follows it, if one does."""
_HEADING_NUMBER = re.compile(r"^(?:\d+|[A-Z])(?:\.\d+)*\.?\s+(?=\S)")
_LABEL = re.compile(r"(?m)^[ \t*•-]*([A-Z][^\W_]*(?:[ -][^\W_]+){0,3}):(?=\s)")
_NAME_OF_PARTS = re.compile(r"(?<![^\W_])[^\W_]+(?:_+[^\W_]+)+")
_DIGITS = re.compile(r"\d+")
_ALLOWED_INSIDE = frozenset({"of", "and", "for", "de", "du", "des", "la", "le", "del", "di", "da"})
"""Function words that occur in names: "order of magnitude", "read and write", "mot de passe"."""
_CONSTANTS = frozenset({"true", "false", "none", "null", "nil", "nan", "undefined"})
_DECLARATIONS = frozenset({"const", "void"})
"""What begins declarations of programs: "const Matrix", and no name in prose."""
# "1f600", "0x0660" and numbers beside them, but not names such as "3d", "802" and "c64".
_HEXADECIMAL = re.compile(r"0x[0-9a-f]+|(?![a-f]\d+$)(?=[a-f]*\d)[0-9a-f]{4,}")
# A capitalised word after a word in small letters, which therefore does not begin a sentence.
_INNER_WORD = re.compile(r"(?<=[a-z,] )[^\W\d_]\w*")


def drop_fragments(chunks: Sequence[Chunk], rows: Sequence[ChunkKeywords]) -> list[ChunkKeywords]:
    """Returns the keywords of each chunk without those that no rule allows to be names.

    * In every language: no function word inside, except a few such as "of".
    * In every language: no keyword that a chunk has only in its heading, if three or more sections
      have the same heading, apart from its number; only in the labels of lines ("Default: 16") that
      five or more sections have; or only in lines of two or more words that five or more documents
      have, apart from numbers.
    * In every language: no constant ("True") or declaration ("const Matrix") of programs, and no
      hexadecimal number.
    * In English: no keyword that occurs twice or more, but only as a part of a longer one of the
      same chunk, such as "site scripting" of "cross site scripting".
    * In every language: no part of a name such as ``max_length`` that the chunk has only there.
    * In English: no phrase with "of" that goes on wherever the chunk has it, such as "list of
      Scrapy" of "list of Scrapy signals".
    * In English: no word for a part of a document ("section") and no month, if a number follows it
      mostly.
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
    form = _TextForm(chunks)
    references = _find_references(english)
    kept_rows = []
    for chunk, row in zip(chunks, rows, strict=True):
        language = str(chunk.metadata.get("language", "en"))[:2]
        keywords = row.keywords
        content = form.remove_from(chunk)
        if content is not None:
            keywords = tuple(k for k in keywords if "_" in k or _squeeze(k) in content)
        if language == "en":
            keywords = tuple(k for k in keywords if normalise_phrase(k) not in references)
        kept = [k for k in keywords if not _is_value(k) and _is_name(k, language, usage, names)]
        if language == "en":
            kept = _drop_pieces(kept, usage)
            kept = [k for k in kept if not _is_cut(k, chunk.prose)]
        kept_rows.append(msgspec.structs.replace(row, keywords=tuple(kept)))
    return kept_rows


def _is_value(keyword: str) -> bool:
    """Returns whether a keyword is a constant or declaration of programs, or such numbers."""
    words = split_words(keyword)
    is_hexadecimal = all(map(_HEXADECIMAL.fullmatch, words)) and not keyword.isdigit()
    is_constant = is_hexadecimal or _CONSTANTS.issuperset(words)
    return bool(words) and (is_constant or words[0] in _DECLARATIONS)


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


def _is_cut(keyword: str, text: str) -> bool:
    """Returns whether a phrase with "of" goes on in every place: "method of priority queues"."""
    if " of " not in keyword:
        return False
    found = re.findall(rf"(?i)\b{re.escape(keyword)}\b(?: ([^\W\d_][\w-]*))?", text)
    return bool(found) and all(
        word and word.casefold() not in FUNCTION_WORDS and not word.endswith(("ed", "ing"))
        for word in found
    )


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


class _TextForm:
    """What gives texts their form: headings, labels and lines that many sections share.

    What is left of a text is what it says, without names such as ``max_length``.

    Args:
        chunks: all chunks.
    """

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        headings, labels, lines = (set[tuple[str, str]]() for _ in range(3))
        for chunk in chunks:
            section = str(chunk.metadata.get("section_id"))
            headings.add((_get_heading(chunk), section))
            labels.update((label.casefold(), section) for label in _LABEL.findall(chunk.prose))
            document = str(chunk.metadata.get("document"))
            lines.update((_get_line_form(line), document) for line in chunk.prose.split("\n"))
        self._headings = _find_shared_forms(headings, MIN_SHARED_HEADINGS)
        self._labels = _find_shared_forms(labels, MIN_SHARED_LABELS)
        self._lines = _find_shared_forms(lines, MIN_SHARED_LINES)
        n_lines = sum(bool(form) for form, _ in lines)
        n_shared = sum(form in self._lines for form, _ in lines)
        if n_shared > MAX_SHARE_OF_SHARED_LINES * n_lines:
            self._lines = set()

    def remove_from(self, chunk: Chunk) -> str | None:
        """Returns the rest of a chunk's text in small letters; None if nothing is removed.

        It is squeezed, so that names in it may go on in the next line; "|" stands for what is
        removed, so that no names arise.
        """
        text = chunk.prose
        has_shared_heading = _get_heading(chunk) in self._headings
        if has_shared_heading:
            text = text.removeprefix(str(chunk.metadata["section"]))
        kept = "\n".join(
            "|" if _get_line_form(line) in self._lines else line for line in text.split("\n")
        )
        kept = _NAME_OF_PARTS.sub("|", kept)
        kept = _LABEL.sub(lambda m: "|" if m[1].casefold() in self._labels else m[0], kept)
        is_changed = has_shared_heading or kept != chunk.prose
        return _squeeze(kept) if is_changed else None


def _squeeze(text: str) -> str:
    """Returns a text in small letters with a single space between words."""
    return " ".join(text.casefold().split())


def _find_shared_forms(pairs: Collection[tuple[str, str]], minimum: int) -> set[str]:
    """Returns the forms that stand in a minimum number of different places."""
    counts = Counter(form for form, _ in pairs if form)
    return {form for form, count in counts.items() if count >= minimum}


def _get_line_form(line: str) -> str:
    """Returns a line in small letters without numbers; empty if it has less than two words."""
    words = line.strip(" \t*•-").casefold().split()
    return _DIGITS.sub("#", " ".join(words)) if len(words) > 1 else ""


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
