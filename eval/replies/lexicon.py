"""The words of verdicts, by language, ready to be looked for in linear time.

``languages.toml`` is the data. Two kinds of entries stand in it:

* *whole clauses* (``yes``, ``no``, ``unknown``, ``doubt``): they count only when they are all that
  a clause says, so that no letter of "know" or "yesterday" can ever be read as a verdict. ``(a|b)``
  stands for either word, ``(a|b)?`` for either or none. ``yes_alone`` and ``no_alone`` count only
  when they are all that a sentence says ("True.", but not "True, but …").
* *phrases* (``abstain``, ``silent``, ``chat``): they count wherever they occur in a sentence.
  Besides alternatives, ``~`` stands for up to three words and ``deter*`` for any word that so
  begins. In languages written without spaces ``~`` stands for up to six characters.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from eval.replies.wording import fold, words_in

Sign = Literal["YES", "NO", "UNKNOWN", "DOUBT"]
"""What a clause says by itself; ``DOUBT`` ("maybe") neither answers nor abstains."""

_CLAUSES: tuple[tuple[str, Sign], ...] = (
    ("yes", "YES"),
    ("no", "NO"),
    ("unknown", "UNKNOWN"),
    ("doubt", "DOUBT"),
)
_SENTENCES: tuple[tuple[str, Sign], ...] = (("yes_alone", "YES"), ("no_alone", "NO"))
# Italian and Portuguese for "if"; Spanish and Romanian sentences begin with it for other reasons.
_REFLEXIVE = frozenset(("se",))
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_GROUP = re.compile(r"\((?P<words>[^()]*)\)(?P<optional>\?)?|(?P<word>[^\s()]+)")


class Phrases:
    """Phrases that are looked for anywhere in a sentence."""

    def __init__(self, spaced: Iterable[str], unspaced: Iterable[str]) -> None:
        heads: dict[str, list[str]] = {}
        for phrase in spaced:
            for head, rest in _spaced(phrase):
                heads.setdefault(head, []).append(rest)
        self._heads = {head: re.compile("|".join(rests)) for head, rests in heads.items()}
        joined = "|".join(dict.fromkeys(map(_unspaced, unspaced)))
        self._joined = re.compile(joined) if joined else None

    def occur_in(self, words: list[str]) -> bool:
        """Whether one of them occurs in a sentence of these folded words."""
        text = " ".join(words) + " "
        at = 0
        for word in words:
            rest = self._heads.get(word)
            at += len(word) + 1
            if rest is not None and rest.match(text, at):
                return True
        if self._joined is None or not _UNSPACED.search(text):
            return False
        return self._joined.search(text.replace(" ", "")) is not None


class Lexicon(NamedTuple):
    """Everything that is looked up, all languages together."""

    clauses: dict[tuple[str, ...], Sign]
    sentences: dict[tuple[str, ...], Sign]
    """The clauses, and what says yes or no only when it is a whole sentence."""
    longest: int
    """Words of the longest whole clause."""
    leads: frozenset[tuple[str, ...]]
    """What may stand before a verdict without changing it: "so", "i would say"."""
    follows: dict[tuple[str, ...], frozenset[str]]
    """Words that may follow a verdict without a pause: "yes it does", but not "no one"."""
    alternatives: frozenset[str]
    """The words for "or"."""
    conditions: frozenset[str]
    """The words for "if" and "unless" with which a clause may begin."""
    conditions_of: dict[tuple[str, ...], frozenset[str]]
    """The same words behind a verdict, by its languages: "se" is Italian for "if", but not
    Romanian."""
    abstain: Phrases
    """The writer does not know, or it cannot be known."""
    silent: Phrases
    """The sources do not say."""
    chat: Phrases
    """Politeness: "Yes, I can help with that"."""
    markers: tuple[str, ...]
    """The words for "answer"."""
    finals: tuple[str, ...]
    """The words for "final"."""
    copulas: tuple[str, ...]
    """What may stand between "answer" and the answer: "is", "lautet"."""
    overturns: frozenset[str]
    """Words of a clause that keep it from saying what it holds: "I doubt the answer is yes"."""


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """The lexicon, read once."""
    languages: dict[str, dict[str, Any]] = tomllib.loads(
        Path(__file__).with_name("languages.toml").read_text("utf-8")
    )
    follows: dict[tuple[str, ...], set[str]] = {}
    for entry in languages.values():
        for particle, words in entry.get("follows", {}).items():
            follows.setdefault(words_in(particle), set()).update(map(fold, words))
    clauses = _signs(languages.values(), _CLAUSES)
    conditions_of: dict[tuple[str, ...], frozenset[str]] = {}
    for entry in languages.values():
        own = frozenset(map(fold, entry.get("if", ())))
        for said in _signs([entry], (*_CLAUSES, *_SENTENCES)):
            conditions_of[said] = conditions_of.get(said, frozenset()) | own

    def listed(field: str) -> list[str]:
        return [phrase for entry in languages.values() for phrase in entry.get(field, ())]

    def phrases(field: str) -> Phrases:
        spaced = (p for e in languages.values() if not e.get("unspaced") for p in e.get(field, ()))
        unspaced = (p for e in languages.values() if e.get("unspaced") for p in e.get(field, ()))
        return Phrases(spaced, unspaced)

    return Lexicon(
        clauses=clauses,
        sentences={**_signs(languages.values(), _SENTENCES), **clauses},
        longest=max(map(len, clauses)),
        leads=frozenset(words for phrase in listed("leads") for words in _expanded(phrase)),
        follows={particle: frozenset(words) for particle, words in follows.items()},
        alternatives=frozenset(map(fold, listed("or"))),
        conditions=frozenset(map(fold, listed("if"))) - _REFLEXIVE,
        conditions_of=conditions_of,
        abstain=phrases("abstain"),
        silent=phrases("silent"),
        chat=phrases("chat"),
        markers=tuple(dict.fromkeys(map(fold, listed("answer")))),
        finals=tuple(dict.fromkeys(map(fold, listed("final")))),
        copulas=tuple(dict.fromkeys(map(fold, listed("is")))),
        overturns=frozenset(map(fold, listed("overturns"))),
    )


def _signs(
    languages: Iterable[dict[str, Any]], fields: Iterable[tuple[str, Sign]]
) -> dict[tuple[str, ...], Sign]:
    """What the entries of these fields say, by their words."""
    found: dict[tuple[str, ...], Sign] = {}
    for entry, (field, sign) in itertools.product(languages, fields):
        for phrase in entry.get(field, ()):
            for words in _expanded(phrase):
                # What two languages understand differently would be decided by their order.
                if found.setdefault(words, sign) != sign:
                    raise ValueError(f"languages.toml: {words} is both {found[words]} and {sign}")
    return found


def _parts(phrase: str) -> Iterator[tuple[list[str], bool]]:
    """Each word of a phrase as its alternatives, and whether it may be left out."""
    for part in _GROUP.finditer(phrase):
        if part["word"] is not None:
            yield [part["word"]], False
        else:
            yield part["words"].split("|"), part["optional"] is not None


def _expanded(phrase: str) -> Iterator[tuple[str, ...]]:
    """Every way to read a whole clause, as folded words."""
    choices = [[*words, ""] if optional else words for words, optional in _parts(phrase)]
    for chosen in itertools.product(*choices):
        words = words_in(" ".join(chosen))
        yield words
        if _UNSPACED.search(phrase) and len(words) > 1:
            yield ("".join(words),)


def _spaced(phrase: str) -> Iterator[tuple[str, str]]:
    """The possible first words of a phrase, each with a pattern for what follows it."""
    parts = list(_parts(phrase))
    for at, (heads, optional) in enumerate(parts):
        rest = "".join(itertools.starmap(_pattern, parts[at + 1 :]))
        for head in heads:
            first, *more = words_in(head)
            if "*" in head or "~" in head:
                raise ValueError(f"languages.toml: a phrase must begin with whole words: {phrase}")
            yield first, "".join(f"{re.escape(word)} " for word in more) + rest
        if not optional:
            break


def _pattern(words: list[str], optional: bool) -> str:
    """One part of a phrase as a pattern that ends behind a space."""
    if words == ["~"]:
        return r"(?:\S+ ){0,3}"
    either = "|".join(
        re.escape(" ".join(words_in(word.replace("*", "")))) + (r"\S*" if "*" in word else "")
        for word in words
    )
    return f"(?:(?:{either}) )" + ("?" if optional else "")


def _unspaced(phrase: str) -> str:
    """A phrase of a language without spaces as a pattern."""
    pattern = ""
    for words, optional in _parts(phrase):
        either = "|".join(re.escape(fold(word)).replace("\\~", ".{0,6}") for word in words)
        pattern += f"(?:{either})" + ("?" if optional else "")
    return pattern
