"""Finds answers that are marked as such: JSON fields, "Answer: NO", boxes, tags, one-word lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from eval.replies.lexicon import load_lexicon
from eval.replies.prose import Pred, classify_signs, find_bare_sign, find_signs
from eval.replies.sentences import split_words

RANK_FINAL, RANK_ANSWER, RANK_SENTENCE = 3, 2, 1
"""Ranks of marks. Of several final answers the last one counts; those of lower rank must agree."""

_JSON_TOKEN = re.compile(r'\\.|["{}]', re.DOTALL)
_MAX_DEPTH = 20
_MAX_TOPIC = 100
"""Maximum length of the topic in "the answer to … is", and of a line with one verdict."""
_MAX_BEFORE = 300
"""Number of characters before "the answer is" that are searched for words that negate it."""
_SENTENCE_START = re.compile(r"[.!?\n。！？]")
_CLAUSE_START = re.compile(
    r"[.!?\n。！？,;:()、，；：\u2012-\u2015]|\b(?:so|thus|hence|therefore|and|but|then|also|donc|ergo)\b",
    re.IGNORECASE,
)
_ANSWER_KEYS = frozenset(("answer", "finalanswer", "verdict", "prediction", "pred"))
_BOXED = re.compile(
    r"\\boxed\s{0,3}\{([^{}\n]{1,100})\}|<(?:final_?)?answer>\s{0,9}([^<]{1,400})</", re.I
)


class MarkedAnswer(NamedTuple):
    """One marked answer."""

    rank: int
    start: int
    end: int
    """Offset of the text after the answer."""
    pred: Pred


def find_json_answers(text: str) -> list[MarkedAnswer]:
    """Returns the answers in the JSON objects of a text, in order."""
    found = []
    for start, end in _find_objects(text):
        value = _get_answer_field(text[start:end])
        if value is not _MISSING:
            found.append(MarkedAnswer(RANK_FINAL, start, end, _read_json_pred(value)))
    return found


def find_boxed_answers(text: str) -> list[MarkedAnswer]:
    """Returns the answers in LaTeX boxes or answer tags, in order."""
    return [
        MarkedAnswer(RANK_FINAL, m.start(), m.end(), classify_signs(find_signs(m[1] or m[2])).pred)
        for m in _BOXED.finditer(text)
    ]


def find_worded_answers(text: str) -> list[MarkedAnswer]:
    """Returns answers marked by words ("Answer: NO"), and lines of one verdict; in order.

    Args:
        text: the reply without quotations and markup.
    """
    found = list(_find_bare_lines(text))
    marks = list(_compile_mark_pattern().finditer(text))
    for index, mark in enumerate(marks):
        limit = marks[index + 1].start() if index + 1 < len(marks) else len(text)
        colon = mark["colon"] is not None
        rank = (
            (RANK_FINAL if mark["final"] or mark["behind"] else RANK_ANSWER)
            if colon
            else RANK_SENTENCE
        )
        if rank == RANK_SENTENCE and _is_overturned(
            text[max(0, mark.start() - _MAX_BEFORE) : mark.start()]
        ):
            continue
        answer = _read_value(text, mark.end(), limit, rank)
        if answer is not None:
            found.append(answer._replace(start=mark.start()))
    return sorted(found, key=lambda marked: marked.start)


def _is_overturned(before: str) -> bool:
    """Returns whether "the answer is …" is doubted, denied, asked or supposed.

    Args:
        before: the text before it.
    """
    words = load_lexicon()
    sentence = split_words(_SENTENCE_START.split(before)[-1])
    clause = split_words(_CLAUSE_START.split(before)[-1])
    return bool(
        words.overturns.intersection(clause)
        or words.conditions.intersection(clause)
        or words.conditions.intersection(sentence[:1])
    )


def _read_value(text: str, start: int, limit: int, rank: int) -> MarkedAnswer | None:
    """Reads the marked answer: the rest of the line, or the next line that is not empty."""
    while start < limit and text[start].isspace():
        start += 1
    stop = text.find("\n", start, limit)
    stop = limit if stop < 0 else stop
    if rank == RANK_SENTENCE:
        # Only up to the end of the sentence: "the answer is no, since …".
        ends = [e for e in (text.find(mark, start, stop) for mark in (". ", "!", "?")) if e >= 0]
        stop = min(ends, default=stop)
    pred = classify_signs(find_signs(text[start:stop])).pred
    if pred == "INVALID":
        if rank == RANK_SENTENCE:
            return None
        pred, stop = classify_signs(find_signs(text[start:limit])).pred, limit
    return MarkedAnswer(rank, start, stop, pred)


def _find_bare_lines(text: str) -> Iterator[MarkedAnswer]:
    start = 0
    for line in text.splitlines(keepends=True):
        end = start + len(line)
        if len(line) <= _MAX_TOPIC:
            sign = find_bare_sign(line)
            if sign in ("YES", "NO", "UNKNOWN") and "?" not in line:
                yield MarkedAnswer(RANK_ANSWER, start, end, sign)
        start = end


@lru_cache(maxsize=1)
def _compile_mark_pattern() -> re.Pattern[str]:
    words = load_lexicon()

    def join_choices(choices: tuple[str, ...]) -> str:
        return "|".join(sorted(map(re.escape, choices), key=len, reverse=True))

    noun, copula, final = (
        join_choices(words.markers),
        join_choices(words.copulas),
        join_choices(words.finals),
    )
    topic = rf"\s+(?:to|auf|à|a|на|alla|op|till)\s[^.:\n]{{1,{_MAX_TOPIC}}}?"
    # CJK characters are excluded: those scripts do not separate words by spaces.
    letter = r"[^\W\u3040-\u9fff\uac00-\ud7a3]"
    return re.compile(
        rf"(?<!{letter})(?:(?P<final>{final})\s*)?(?:{noun})"
        rf"(?:\s+(?P<behind>{final})(?!\w))?(?:{topic})?"
        rf"(?:\s*['\"]?\s*(?:(?:{copula})\s*)?(?P<colon>[:=])\s*['\"]?|\s*(?:{copula})(?!{letter}))",
        re.IGNORECASE,
    )


def _find_objects(text: str) -> Iterator[tuple[int, int]]:
    """Yields the spans of the outermost balanced braces, in one pass; braces in strings ignored."""
    depth, start, quoted = 0, 0, False
    for token in _JSON_TOKEN.finditer(text):
        mark = token.group()
        if not depth:
            if mark == "{":
                depth, start, quoted = 1, token.start(), False
        elif mark == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            if not depth:
                yield start, token.end()


_MISSING = object()


def _get_answer_field(text: str) -> Any:
    """Returns the value of the answer field of a JSON object, or ``_MISSING``."""
    if text.count("{") > _MAX_DEPTH or text.count("[") > _MAX_DEPTH:
        return _MISSING
    try:
        pairs = json.loads(text, object_pairs_hook=list)
    except ValueError:
        return _MISSING
    values = [
        value
        for key, value in pairs
        if key.casefold().replace("_", "").replace(" ", "") in _ANSWER_KEYS
    ]
    if not values:
        return _MISSING
    # Duplicate keys with different values are ambiguous.
    return values[0] if all(value == values[0] for value in values) else None


def _read_json_pred(value: Any) -> Pred:
    if isinstance(value, bool):
        return "YES" if value else "NO"
    if isinstance(value, str):
        return classify_signs(find_signs(value)).pred
    return "INVALID"
