"""Answers that are marked as such: JSON fields, "Answer: NO", boxes, tags, lines of one verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from eval.replies.lexicon import lexicon
from eval.replies.prose import Pred, bare, heard, signs_of
from eval.replies.wording import words_in

FINAL, ANSWER, SAID = 3, 2, 1
"""How strongly a mark speaks: the last of the final ones counts; others must agree."""

_JSON_TOKEN = re.compile(r'\\.|["{}]', re.DOTALL)
_MAX_DEPTH = 20
_MAX_TOPIC = 100
"""Characters of "the answer to … is"."""
_MAX_BEFORE = 300
"""Characters before "the answer is" that may overturn it."""
_SENTENCE_START = re.compile(r"[.!?\n。！？]")
_CLAUSE_START = re.compile(
    r"[.!?\n。！？,;:()、，；：\u2012-\u2015]|\b(?:so|thus|hence|therefore|and|but|then|also|donc|ergo)\b",
    re.IGNORECASE,
)
_KEYS = frozenset(("answer", "finalanswer", "verdict", "prediction", "pred"))
_BOXED = re.compile(
    r"\\boxed\s{0,3}\{([^{}\n]{1,100})\}|<(?:final_?)?answer>\s{0,9}([^<]{1,400})</", re.I
)


class Marked(NamedTuple):
    """One marked answer."""

    rank: int
    start: int
    end: int
    """Where the text after the answer begins."""
    pred: Pred


def json_answers(text: str) -> list[Marked]:
    """The answers in the JSON objects of a text, in order."""
    found = []
    for start, end in _objects(text):
        value = _answer_field(text[start:end])
        if value is not _MISSING:
            found.append(Marked(FINAL, start, end, _json_pred(value)))
    return found


def boxed_answers(text: str) -> list[Marked]:
    """Answers in LaTeX boxes or answer tags."""
    return [
        Marked(FINAL, m.start(), m.end(), heard(signs_of(m[1] or m[2])).pred)
        for m in _BOXED.finditer(text)
    ]


def worded_answers(text: str) -> list[Marked]:
    """Answers that words mark, and verdicts that have a line of their own; in order.

    Args:
        text: without quotations and markup.
    """
    found = list(_bare_lines(text))
    marks = list(_mark().finditer(text))
    for at, mark in enumerate(marks):
        limit = marks[at + 1].start() if at + 1 < len(marks) else len(text)
        colon = mark["colon"] is not None
        rank = (FINAL if mark["final"] or mark["behind"] else ANSWER) if colon else SAID
        if rank == SAID and _overturned(text[max(0, mark.start() - _MAX_BEFORE) : mark.start()]):
            continue
        answer = _value(text, mark.end(), limit, rank)
        if answer is not None:
            found.append(answer._replace(start=mark.start()))
    return sorted(found, key=lambda marked: marked.start)


def _overturned(before: str) -> bool:
    """Whether "the answer is …" is not said but doubted, denied, asked or supposed.

    Args:
        before: the text before it.
    """
    words = lexicon()
    sentence = words_in(_SENTENCE_START.split(before)[-1])
    clause = words_in(_CLAUSE_START.split(before)[-1])
    return bool(
        words.overturns.intersection(clause)
        or words.conditions.intersection(clause)
        or words.conditions.intersection(sentence[:1])
    )


def _value(text: str, start: int, limit: int, rank: int) -> Marked | None:
    """What is marked: the rest of the line; an empty one, the next line that holds something."""
    while start < limit and text[start].isspace():
        start += 1
    stop = text.find("\n", start, limit)
    stop = limit if stop < 0 else stop
    if rank == SAID:
        # Only what follows at once: "the answer is no, since …".
        ends = [e for e in (text.find(mark, start, stop) for mark in (". ", "!", "?")) if e >= 0]
        stop = min(ends, default=stop)
    pred = heard(signs_of(text[start:stop])).pred
    if pred == "INVALID":
        if rank == SAID:
            return None
        pred, stop = heard(signs_of(text[start:limit])).pred, limit
    return Marked(rank, start, stop, pred)


def _bare_lines(text: str) -> Iterator[Marked]:
    start = 0
    for line in text.splitlines(keepends=True):
        end = start + len(line)
        if len(line) <= _MAX_TOPIC:
            sign = bare(line)
            if sign in ("YES", "NO", "UNKNOWN") and "?" not in line:
                yield Marked(ANSWER, start, end, sign)
        start = end


@lru_cache(maxsize=1)
def _mark() -> re.Pattern[str]:
    words = lexicon()

    def either(choices: tuple[str, ...]) -> str:
        return "|".join(sorted(map(re.escape, choices), key=len, reverse=True))

    noun, copula, final = either(words.markers), either(words.copulas), either(words.finals)
    topic = rf"\s+(?:to|auf|à|a|на|alla|op|till)\s[^.:\n]{{1,{_MAX_TOPIC}}}?"
    # Han characters are letters too, but words are not set apart in that script.
    letter = r"[^\W\u3040-\u9fff\uac00-\ud7a3]"
    return re.compile(
        rf"(?<!{letter})(?:(?P<final>{final})\s*)?(?:{noun})"
        rf"(?:\s+(?P<behind>{final})(?!\w))?(?:{topic})?"
        rf"(?:\s*['\"]?\s*(?:(?:{copula})\s*)?(?P<colon>[:=])\s*['\"]?|\s*(?:{copula})(?!{letter}))",
        re.IGNORECASE,
    )


def _objects(text: str) -> Iterator[tuple[int, int]]:
    """The outermost balanced braces, strings inside them skipped; one pass over the text."""
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


def _answer_field(text: str) -> Any:
    """The value of the answer field of a JSON object; ``_MISSING`` when there is none."""
    if text.count("{") > _MAX_DEPTH or text.count("[") > _MAX_DEPTH:
        return _MISSING
    try:
        pairs = json.loads(text, object_pairs_hook=list)
    except ValueError:
        return _MISSING
    values = [
        value for key, value in pairs if key.casefold().replace("_", "").replace(" ", "") in _KEYS
    ]
    if not values:
        return _MISSING
    # A key given twice leaves open which one is meant.
    return values[0] if all(value == values[0] for value in values) else None


def _json_pred(value: Any) -> Pred:
    if isinstance(value, bool):
        return "YES" if value else "NO"
    if isinstance(value, str):
        return heard(signs_of(value)).pred
    return "INVALID"
