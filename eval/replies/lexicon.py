"""Loads the words for verdicts in all languages, in a form that is searched in linear time.

The data are in ``languages.toml``, with two kinds of entries:

* *whole clauses* (``yes``, ``no``, ``unknown``, ``doubt``, ``limits``) match only a whole clause:
  "no" in "no one" is not read as a verdict. ``(a|b)`` stands for either word, ``(a|b)?`` for either
  or none. ``yes_alone`` and ``no_alone`` match only a whole sentence ("True.", but not
  "True, but …").
* *phrases* (``abstain``, ``silent``, ``chat``, ``refuse``) match anywhere in a sentence. Besides
  alternatives, ``~`` stands for up to three words and ``deter*`` for any word with that beginning,
  and none of the three words after ``!(a|b)`` is one of these.
  In languages written without spaces ``~`` stands for up to six characters.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from eval.replies.sentences import fold_word, split_words

Sign = Literal["YES", "NO", "UNKNOWN", "DOUBT", "LIMIT"]
"""The meaning of a clause without context; ``DOUBT`` ("maybe") is no answer and no abstention, and
with ``LIMIT`` ("only sometimes") a verdict holds in part."""

_CLAUSE_FIELDS: tuple[tuple[str, Sign], ...] = (
    ("yes", "YES"),
    ("no", "NO"),
    ("unknown", "UNKNOWN"),
    ("doubt", "DOUBT"),
    ("limits", "LIMIT"),
)
_SENTENCE_FIELDS: tuple[tuple[str, Sign], ...] = (("yes_alone", "YES"), ("no_alone", "NO"))
# "se" means "if" in Italian and Portuguese, but is a reflexive pronoun in Spanish and Romanian. So
# it does not mark a condition at the start of a clause.
_AMBIGUOUS_CONDITIONS = frozenset(("se",))
# A character of Japanese, Chinese or Korean.
_UNSPACED_SCRIPT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
# One word of a phrase, or a group of alternatives in brackets.
_PHRASE_PART = re.compile(
    r"(?P<barred>!)?\((?P<words>[^()]*)\)(?P<optional>\?)?|(?P<word>[^\s()]+)"
)
_BARRED = "!"
"""Alternative that marks the others as words that must not follow."""


class Phrases:
    """Phrases that are searched anywhere in a sentence.

    Args:
        spaced: phrases of languages that separate words by spaces.
        unspaced: phrases of languages written without spaces.
    """

    def __init__(self, spaced: Iterable[str], unspaced: Iterable[str]) -> None:
        patterns_by_word: dict[str, list[str]] = {}
        for phrase in spaced:
            for first_word, pattern in _build_spaced_patterns(phrase):
                patterns_by_word.setdefault(first_word, []).append(pattern)
        self._patterns_by_word = {
            first_word: re.compile("|".join(patterns))
            for first_word, patterns in patterns_by_word.items()
        }
        unspaced_patterns = "|".join(dict.fromkeys(map(_build_unspaced_pattern, unspaced)))
        self._unspaced_pattern = re.compile(unspaced_patterns) if unspaced_patterns else None

    def occur_in(self, words: list[str]) -> bool:
        """Returns whether any of the phrases occurs in a sentence of these folded words."""
        # Each pattern is tried only after its first word, so the search takes linear time.
        text = " ".join(words) + " "
        offset = 0
        for word in words:
            pattern = self._patterns_by_word.get(word)
            offset += len(word) + 1
            if pattern is not None and pattern.match(text, offset):
                return True
        if self._unspaced_pattern is None or not _UNSPACED_SCRIPT.search(text):
            return False
        return self._unspaced_pattern.search(text.replace(" ", "")) is not None


class Lexicon(NamedTuple):
    """The words and phrases of all languages together."""

    clauses: dict[tuple[str, ...], Sign]
    sentences: dict[tuple[str, ...], Sign]
    """The clauses, and those that mean yes or no only as a whole sentence."""
    max_clause_words: int
    """Number of words of the longest whole clause."""
    leads: frozenset[tuple[str, ...]]
    """Words that may precede a verdict without changing it: "so", "i would say"."""
    follows: dict[tuple[str, ...], frozenset[str]]
    """Words that may follow a verdict without a pause: "yes it does", but not "no one"."""
    alternatives: frozenset[str]
    """The words for "or"."""
    conditions: frozenset[str]
    """The words for "if" and "unless" at the start of a clause."""
    conditions_by_verdict: dict[tuple[str, ...], frozenset[str]]
    """The same words after a verdict, by verdict, since they depend on the language: "se" means
    "if" in Italian, but not in Romanian."""
    buts: frozenset[str]
    """Words that may stand between a verdict and its condition: "yes, but only if"."""
    but_conditions: frozenset[tuple[str, ...]]
    """How a condition begins after these words, with one or two words."""
    abstain: Phrases
    """Phrases that state that the writer does not know the answer, or that it cannot be known."""
    silent: Phrases
    """Phrases that state that the sources do not contain the answer."""
    chat: Phrases
    """Phrases of politeness: "Yes, I can help with that"."""
    refuse: Phrases
    """Phrases by which the writer refuses to answer: "No, I cannot help with that"."""
    markers: tuple[str, ...]
    """The words for "answer"."""
    finals: tuple[str, ...]
    """The words for "final"."""
    copulas: tuple[str, ...]
    """The words between "answer" and the answer: "is", "lautet"."""
    overturns: frozenset[str]
    """Words that deny or doubt the rest of their clause: "I doubt the answer is yes"."""


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """Loads the lexicon; the file is read only once."""
    languages: dict[str, dict[str, Any]] = tomllib.loads(
        Path(__file__).with_name("languages.toml").read_text("utf-8")
    )
    follows: dict[tuple[str, ...], set[str]] = {}
    for entry in languages.values():
        for particle, words in entry.get("follows", {}).items():
            follows.setdefault(split_words(particle), set()).update(map(fold_word, words))
    clauses = _collect_signs(languages.values(), _CLAUSE_FIELDS)
    conditions_by_verdict: dict[tuple[str, ...], frozenset[str]] = {}
    for entry in languages.values():
        condition_words = frozenset(map(fold_word, entry.get("if", ())))
        for verdict in _collect_signs([entry], (*_CLAUSE_FIELDS, *_SENTENCE_FIELDS)):
            conditions_by_verdict[verdict] = (
                conditions_by_verdict.get(verdict, frozenset()) | condition_words
            )

    def list_entries(field: str) -> list[str]:
        return [phrase for entry in languages.values() for phrase in entry.get(field, ())]

    def build_phrases(field: str) -> Phrases:
        spaced = (p for e in languages.values() if not e.get("unspaced") for p in e.get(field, ()))
        unspaced = (p for e in languages.values() if e.get("unspaced") for p in e.get(field, ()))
        return Phrases(spaced, unspaced)

    return Lexicon(
        clauses=clauses,
        sentences={**_collect_signs(languages.values(), _SENTENCE_FIELDS), **clauses},
        max_clause_words=max(map(len, clauses)),
        leads=frozenset(
            words for phrase in list_entries("leads") for words in _expand_clause(phrase)
        ),
        follows={particle: frozenset(words) for particle, words in follows.items()},
        alternatives=frozenset(map(fold_word, list_entries("or"))),
        conditions=frozenset(map(fold_word, list_entries("if"))) - _AMBIGUOUS_CONDITIONS,
        conditions_by_verdict=conditions_by_verdict,
        buts=frozenset(map(fold_word, list_entries("but"))),
        but_conditions=frozenset(
            words for phrase in list_entries("but_if") for words in _expand_clause(phrase)
        ),
        abstain=build_phrases("abstain"),
        silent=build_phrases("silent"),
        chat=build_phrases("chat"),
        refuse=build_phrases("refuse"),
        markers=tuple(dict.fromkeys(map(fold_word, list_entries("answer")))),
        finals=tuple(dict.fromkeys(map(fold_word, list_entries("final")))),
        copulas=tuple(dict.fromkeys(map(fold_word, list_entries("is")))),
        overturns=frozenset(map(fold_word, list_entries("overturns"))),
    )


def _collect_signs(
    languages: Iterable[dict[str, Any]], fields: Iterable[tuple[str, Sign]]
) -> dict[tuple[str, ...], Sign]:
    """Returns the signs of the entries of some fields, by their words."""
    signs: dict[tuple[str, ...], Sign] = {}
    for entry, (field, sign) in itertools.product(languages, fields):
        for phrase in entry.get(field, ()):
            for words in _expand_clause(phrase):
                # Otherwise the order of the languages would decide between two signs, unnoticed.
                if signs.setdefault(words, sign) != sign:
                    raise ValueError(f"languages.toml: {words} is both {signs[words]} and {sign}")
    return signs


def _split_phrase(phrase: str) -> Iterator[tuple[list[str], bool]]:
    """Yields each word of a phrase as its alternatives, and whether it may be left out."""
    for part in _PHRASE_PART.finditer(phrase):
        if part["word"] is not None:
            yield [part["word"]], False
        else:
            barred = [_BARRED] if part["barred"] else []
            yield barred + part["words"].split("|"), part["optional"] is not None


def _expand_clause(phrase: str) -> Iterator[tuple[str, ...]]:
    """Yields every alternative of a whole clause, as folded words."""
    choices = [[*words, ""] if optional else words for words, optional in _split_phrase(phrase)]
    for combination in itertools.product(*choices):
        words = split_words(" ".join(combination))
        yield words
        if _UNSPACED_SCRIPT.search(phrase) and len(words) > 1:
            yield ("".join(words),)


def _build_spaced_patterns(phrase: str) -> Iterator[tuple[str, str]]:
    """Yields the possible first words of a phrase, each with a pattern for the words after it."""
    parts = list(_split_phrase(phrase))
    for index, (alternatives, optional) in enumerate(parts):
        rest_pattern = "".join(itertools.starmap(_build_part_pattern, parts[index + 1 :]))
        for alternative in alternatives:
            first_word, *more_words = split_words(alternative)
            if "*" in alternative or "~" in alternative:
                raise ValueError(f"languages.toml: a phrase must begin with whole words: {phrase}")
            yield first_word, "".join(f"{re.escape(word)} " for word in more_words) + rest_pattern
        if not optional:
            break


def _build_part_pattern(words: list[str], optional: bool) -> str:
    """Returns one part of a phrase as a pattern that ends with a space."""
    if words == ["~"]:
        return r"(?:\S+ ){0,3}"
    if words[0] == _BARRED:
        return rf"(?!(?:\S+ ){{0,2}}(?:{'|'.join(map(re.escape, words[1:]))}) )"
    alternatives = "|".join(
        re.escape(" ".join(split_words(word.replace("*", "")))) + (r"\S*" if "*" in word else "")
        for word in words
    )
    return f"(?:(?:{alternatives}) )" + ("?" if optional else "")


def _build_unspaced_pattern(phrase: str) -> str:
    """Returns the pattern of a phrase in a language written without spaces."""
    pattern = ""
    for words, optional in _split_phrase(phrase):
        alternatives = "|".join(
            re.escape(fold_word(word)).replace("\\~", ".{0,6}") for word in words
        )
        pattern += f"(?:{alternatives})" + ("?" if optional else "")
    return pattern
