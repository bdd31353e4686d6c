"""Parses levels, scores and quotations as models write them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from eval.skn.grammar.document import LEVELS, Level
from eval.skn.grammar.lexical import STRING, unquote_string

GUESSED_SCORE = 0.5
"""Used if no score can be parsed; always reported as a guess."""
GUESSED_LEVEL: Level = "medium"
"""Used if no level can be parsed; always reported as a guess."""

_MAX_SCORE_LENGTH = 450
"""Characters; the smallest double needs 342 in plain decimals."""
_SCORE_OF_WORD = {"high": 0.9, "medium": 0.5, "low": 0.1}
_SCORE = re.compile(
    r"(?:(?:confidence|conf|strength|score|reliability|certainty)\b\s*(?:[:=]\s*)?)?"
    r"(?P<number>\d{0,3}(?:[.,]\d{1,400})?)\s*(?:(?P<percent>%)|/\s*(?P<of>10{0,2})(?:\.0)?)?",
    re.IGNORECASE,
)
_SCORE_NAME = re.compile(r"(?:confidence|conf|strength|score|certainty)\b", re.IGNORECASE)
_BRACKET = re.compile(r"\[([^\[\]]{1,450})\]")
_PARENTHESIS = re.compile(r"\(([^()]{1,450})\)")
# Separators and then a score, after a quotation.
_AFTER_QUOTE = re.compile(r"[\s|,:;–—-]*(?P<score>[^\s|,:;–—-].{0,440})?")
_TRAILING_PUNCTUATION = " \t.,;"
_QUOTES = {'"': '"“”', "“": '”"', "”": '”"', "„": "“”", "«": "»", "‘": "’", "'": "'", "`": "`"}
"""Opening quote → the closing quotes that models pair with it."""
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
"""An escape of JSON."""
_WORD = re.compile(r"[a-z]+")


class Score(NamedTuple):
    """A score, and whether its value is a guess."""

    value: float
    is_guess: bool


def parse_score(text: str) -> Score | None:
    """Parses a text that consists of a score only; returns None for any other text.

    ``0.9``, ``.9``, ``0,9``, ``90%``, ``9/10`` and ``confidence: 0.9`` are exact; ``90`` and
    ``high`` are guessed to mean 0.9.
    """
    text = text.strip().strip("<>").strip()
    if len(text) > _MAX_SCORE_LENGTH:
        return None
    found = _SCORE.fullmatch(text)
    if found is None or not found["number"]:
        word = text.lower()
        return Score(_SCORE_OF_WORD[word], True) if word in _SCORE_OF_WORD else None
    number = Decimal(found["number"].replace(",", "."))
    if found["percent"]:
        number /= 100
    elif found["of"]:
        number /= int(found["of"])
    if number <= 1:
        return Score(float(number), False)
    # 90 probably means 90 %, but a smaller number may be on any scale.
    is_plain_number = not found["percent"] and not found["of"]
    return Score(float(number / 100), True) if is_plain_number and 10 <= number <= 100 else None


class ScoreSplit(NamedTuple):
    """An item's line, split at its score.

    Attributes:
        text: the text before the score.
        score: the score, if there is one that can be parsed.
        rest: the text after the score; in a well-formed item there is none.
    """

    text: str
    score: Score | None
    trailing_text: str = ""


def split_score(body: str, *, parenthesised: bool = False) -> ScoreSplit:
    """Finds the score at the end of an item.

    Args:
        body: the item without its priority or bullet.
        parenthesised: whether ``(0.9)`` after unquoted text is a score too.
    """
    body = body.strip()
    stripped = body.rstrip(_TRAILING_PUNCTUATION)
    if stripped.endswith("]"):
        inner = stripped[stripped.rfind("[") + 1 : -1]
        score = parse_score(inner) if "[" in stripped else None
        if score is not None:
            return ScoreSplit(stripped[: stripped.rfind("[")].rstrip(), score)
    in_parentheses = (
        stripped[stripped.rfind("(") + 1 : -1] if stripped.endswith(")") and "(" in stripped else ""
    )
    if in_parentheses and (parenthesised or _SCORE_NAME.match(in_parentheses.strip())):
        score = parse_score(in_parentheses)
        if score is not None:
            return ScoreSplit(stripped[: stripped.rfind("(")].rstrip(), score)
    return _split_after_quotation(body) or ScoreSplit(body, None)


def _split_after_quotation(body: str) -> ScoreSplit | None:
    """Splits ``"words" 0.9``, ``"words" (0.9)`` or ``"words" [0.9] and more``."""
    if body[:1] not in _QUOTES:
        return None
    closing_index = max(body.rfind(sign) for sign in _QUOTES[body[0]])
    if closing_index <= 0:
        return None
    quotation, remainder = body[: closing_index + 1], body[closing_index + 1 :]
    for pattern in (_BRACKET, _PARENTHESIS):
        found = pattern.search(remainder)
        score = parse_score(found[1]) if found else None
        if found and score is not None:
            trailing_text = (remainder[: found.start()] + remainder[found.end() :]).strip(
                _TRAILING_PUNCTUATION
            )
            return ScoreSplit(quotation, score, trailing_text)
    tail = _AFTER_QUOTE.fullmatch(remainder.rstrip(_TRAILING_PUNCTUATION))
    score = parse_score(tail["score"]) if tail and tail["score"] else None
    return ScoreSplit(quotation, score) if score is not None else None


class UnquotedText(NamedTuple):
    """Text without its quotes, and what was dropped or guessed, if anything."""

    text: str
    loss: str = ""


def unquote_text(text: str) -> UnquotedText:
    """Removes the quotation marks around ``text``, if there are any."""
    text = text.strip()
    if STRING.fullmatch(text):
        content = unquote_string(text)
        if content is not None:
            return UnquotedText(content)
        return UnquotedText(
            _resolve_escapes(text[1:-1]), "an escape that JSON does not know, kept as it stands"
        )
    closing = _QUOTES.get(text[:1], "")
    if closing and len(text) > 1 and text[-1] in closing:
        inner = text[1:-1]
        if not _are_quotes_paired(text[0] + closing, inner):
            return UnquotedText(text)
        if text[0] != '"' or "\\" not in inner:
            return UnquotedText(inner)
        return UnquotedText(
            _resolve_escapes(inner), "a backslash beside quotes that are not escaped: a guess"
        )
    if text.startswith('"') and text.count('"') == 1:
        return UnquotedText(text[1:], "a quotation that does not end")
    return UnquotedText(text)


def _are_quotes_paired(quotes: str, inner: str) -> bool:
    """Returns whether the outer quotes are a pair: ``"say "x" now"``, but not ``"x" and "y"``.

    They are a pair unless the first quote between them directly follows a word, because such a
    quote closes the first part.
    """
    first_index = next((index for index, sign in enumerate(inner) if sign in quotes), 0)
    return first_index == 0 or inner[first_index - 1].isspace() or inner[first_index - 1] == "\\"


def _resolve_escapes(text: str) -> str:
    """Resolves the escapes that JSON has; leaves others unchanged."""

    def resolve_escape(escape: re.Match[str]) -> str:
        character = unquote_string(f'"{escape[0]}"')
        return escape[0] if character is None else character

    return _ESCAPE.sub(resolve_escape, text)


def parse_level(text: str) -> tuple[Level, str]:
    """Parses a level; also returns what was dropped or guessed to find it, if anything."""
    word = text.strip(" \t<>[]()\"'`*.,;|").lower()
    for level in LEVELS:
        if word == level:
            return level, ""
    named_levels = [level for level in LEVELS if level in _WORD.findall(word)]
    if len(named_levels) == 1:
        return named_levels[0], "more than a level; the rest is left out"
    return GUESSED_LEVEL, f"no level: {GUESSED_LEVEL} is a guess"
