"""Levels, scores and quotations as models write them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from eval.skn.grammar.document import LEVELS, Level
from eval.skn.grammar.lexical import STRING, unquoted

GUESSED_SCORE = 0.5
"""Stands where no score can be read; always said to be a guess."""
GUESSED_LEVEL: Level = "medium"
"""Stands where no level can be read; always said to be a guess."""

_LONGEST_SCORE = 450
"""Characters; the smallest double takes 342."""
_SCORE_OF_WORD = {"high": 0.9, "medium": 0.5, "low": 0.1}
_SCORE = re.compile(
    r"(?:(?:confidence|conf|strength|score|reliability|certainty)\b\s*(?:[:=]\s*)?)?"
    r"(?P<number>\d{0,3}(?:[.,]\d{1,400})?)\s*(?:(?P<percent>%)|/\s*(?P<of>10{0,2})(?:\.0)?)?",
    re.IGNORECASE,
)
_NAMED = re.compile(r"(?:confidence|conf|strength|score|certainty)\b", re.IGNORECASE)
_BRACKET = re.compile(r"\[([^\[\]]{1,450})\]")
_PARENTHESIS = re.compile(r"\(([^()]{1,450})\)")
_AFTER_QUOTE = re.compile(r"[\s|,:;–—-]*(?P<score>[^\s|,:;–—-].{0,440})?")
_TRAILING = " \t.,;"
_QUOTES = {'"': '"“”', "“": '”"', "”": '”"', "„": "“”", "«": "»", "‘": "’", "'": "'", "`": "`"}
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_WORD = re.compile(r"[a-z]+")


class Value(NamedTuple):
    """A number that was read, and whether it is a guess."""

    number: float
    guessed: bool


def score_of(text: str) -> Value | None:
    """The score that ``text`` says, and nothing else beside it; ``None`` if it says none.

    ``0.9``, ``.9``, ``0,9``, ``90%``, ``9/10`` and ``confidence: 0.9`` are read as written; ``90``
    and ``high`` are guessed to mean 0.9.
    """
    text = text.strip().strip("<>").strip()
    if len(text) > _LONGEST_SCORE:
        return None
    found = _SCORE.fullmatch(text)
    if found is None or not found["number"]:
        word = text.lower()
        return Value(_SCORE_OF_WORD[word], True) if word in _SCORE_OF_WORD else None
    number = Decimal(found["number"].replace(",", "."))
    if found["percent"]:
        number /= 100
    elif found["of"]:
        number /= int(found["of"])
    if number <= 1:
        return Value(float(number), False)
    bare = not found["percent"] and not found["of"]
    return Value(float(number / 100), True) if bare and 10 <= number <= 100 else None


class Split(NamedTuple):
    """An item's line cut in two.

    Attributes:
        words: what stands before the score.
        score: the score, if there is one that can be read.
        rest: what stands after the score, which no item has.
    """

    words: str
    score: Value | None
    rest: str = ""


def split_score(body: str, *, parenthesised: bool = False) -> Split:
    """Finds the score at the end of an item.

    Args:
        body: the item without its sign.
        parenthesised: whether ``(0.9)`` behind words without quotes is a score too.
    """
    body = body.strip()
    ending = body.rstrip(_TRAILING)
    if ending.endswith("]"):
        inner = ending[ending.rfind("[") + 1 : -1]
        score = score_of(inner) if "[" in ending else None
        if score is not None:
            return Split(ending[: ending.rfind("[")].rstrip(), score)
    inside = ending[ending.rfind("(") + 1 : -1] if ending.endswith(")") and "(" in ending else ""
    if inside and (parenthesised or _NAMED.match(inside.strip())):
        score = score_of(inside)
        if score is not None:
            return Split(ending[: ending.rfind("(")].rstrip(), score)
    return _split_after_quotation(body) or Split(body, None)


def _split_after_quotation(body: str) -> Split | None:
    """``"words" 0.9``, ``"words" (0.9)``, ``"words" [0.9] and more``."""
    if body[:1] not in _QUOTES:
        return None
    closing = max(body.rfind(sign) for sign in _QUOTES[body[0]])
    if closing <= 0:
        return None
    words, rest = body[: closing + 1], body[closing + 1 :]
    for pattern in (_BRACKET, _PARENTHESIS):
        found = pattern.search(rest)
        score = score_of(found[1]) if found else None
        if found and score is not None:
            left = (rest[: found.start()] + rest[found.end() :]).strip(_TRAILING)
            return Split(words, score, left)
    tail = _AFTER_QUOTE.fullmatch(rest.rstrip(_TRAILING))
    score = score_of(tail["score"]) if tail and tail["score"] else None
    return Split(words, score) if score is not None else None


class Words(NamedTuple):
    """Text taken out of its quotes, and what that dropped or guessed, if anything."""

    text: str
    loss: str = ""


def words_of(text: str) -> Words:
    """``text`` without the quotation marks around it, if there are any."""
    text = text.strip()
    if STRING.fullmatch(text):
        said = unquoted(text)
        if said is not None:
            return Words(said)
        return Words(_unescaped(text[1:-1]), "an escape that JSON does not know, kept as it stands")
    closing = _QUOTES.get(text[:1], "")
    if closing and len(text) > 1 and text[-1] in closing:
        inner = text[1:-1]
        if not _wraps(text[0] + closing, inner):
            return Words(text)
        if text[0] != '"' or "\\" not in inner:
            return Words(inner)
        return Words(_unescaped(inner), "a backslash beside quotes that are not escaped: a guess")
    if text.startswith('"') and text.count('"') == 1:
        return Words(text[1:], "a quotation that does not end")
    return Words(text)


def _wraps(quotes: str, inner: str) -> bool:
    """Whether quotation marks belong together, as in ``"say "x" now"`` but not ``"x" and "y"``.

    They do if none between them is written as one that closes: right behind a word.
    """
    first = next((at for at, sign in enumerate(inner) if sign in quotes), 0)
    return first == 0 or inner[first - 1].isspace() or inner[first - 1] == "\\"


def _unescaped(text: str) -> str:
    """``text`` with those escapes resolved that JSON knows; others stay as they stand."""

    def resolve(escape: re.Match[str]) -> str:
        said = unquoted(f'"{escape[0]}"')
        return escape[0] if said is None else said

    return _ESCAPE.sub(resolve, text)


def level_of(text: str) -> tuple[Level, str]:
    """The level that ``text`` says, and what was dropped or guessed to find it, if anything."""
    word = text.strip(" \t<>[]()\"'`*.,;|").lower()
    for level in LEVELS:
        if word == level:
            return level, ""
    named = [level for level in LEVELS if level in _WORD.findall(word)]
    if len(named) == 1:
        return named[0], "more than a level; the rest is left out"
    return GUESSED_LEVEL, f"no level: {GUESSED_LEVEL} is a guess"
