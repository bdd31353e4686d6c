"""Finds answers that are marked as such: JSON fields, "Answer: NO", boxes, tags, one-word lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from eval.replies.lexicon import load_lexicon
from eval.replies.prose import Pred, classify_signs, find_clause_sign, find_signs
from eval.replies.sentences import split_words

RANK_FINAL, RANK_ANSWER, RANK_SENTENCE = 3, 2, 1
"""Ranks of marks: "Final answer: NO", "Answer: NO", and "The answer is NO".

If several answers in words have the rank ``RANK_FINAL``, the last one counts. Answers of a lower
rank must agree.
"""

_JSON_TOKEN = re.compile(r'\\.|["{}]', re.DOTALL)
_MAX_DEPTH = 20
"""Maximum number of braces, and of brackets, in a JSON object that is parsed.

This limits its depth, so that parsing cannot exceed the recursion limit.
"""
_MAX_TOPIC_LENGTH = 100
"""Maximum length of the topic in "the answer to … is", and of a line with one verdict."""
_MAX_CONTEXT_LENGTH = 300
"""Number of characters before "the answer is" that are searched for words that negate it."""
_SENTENCE_START = re.compile(r"[.!?\n。！？]")
_CLAUSE_START = re.compile(
    r"[.!?\n。！？;:()、，；：\u2012-\u2015]|,(?!\s*(?:that|whether|dass|daß|ob)\b)|\b(?:so|thus|hence|therefore|and|but|then|also|donc|ergo)\b",
    re.IGNORECASE,
)
_SUBORDINATION = re.compile(
    r"(?:\b(?:that|whether|to say|dass|daß|ob|doubt|deny)"
    r"|(?:\bnot|n't) (?:think|believe|say|claim))"
    r"(?:\s+(?:the|my|its|die|das|der|meine))?\s*$",
    re.IGNORECASE,
)
"""What ties "the answer is: …" to the words before it. After any others, a colon begins anew."""
_ASSERTION = re.compile(
    r"\b(?:no|not|never|nobody|no one|without|beyond) (?:a |any |the slightest )?doubt(?:s|ed)?\b"
    r"|\bcan ?not be (?:denied|doubted|disputed)\b|\bkein(?:en|erlei)? zweifel\b",
    re.IGNORECASE,
)
"""Words that deny or doubt nothing, but assert what follows."""
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
    answers = []
    for start, end in _find_json_objects(text):
        value = _get_answer_field(text[start:end])
        if value is not _MISSING:
            answers.append(MarkedAnswer(RANK_FINAL, start, end, _read_json_pred(value)))
    return answers


def find_boxed_answers(text: str) -> list[MarkedAnswer]:
    """Returns the answers in LaTeX boxes or answer tags, in order."""
    return [
        MarkedAnswer(
            RANK_FINAL,
            match.start(),
            match.end(),
            classify_signs(find_signs(match[1] or match[2])).pred,
        )
        for match in _BOXED.finditer(text)
    ]


def find_worded_answers(text: str) -> list[MarkedAnswer]:
    """Returns answers marked by words ("Answer: NO"), and lines of one verdict; in order.

    Args:
        text: the reply without quotations and markup.
    """
    answers = list(_find_verdict_lines(text))
    marks = list(_compile_mark_pattern().finditer(text))
    for index, mark in enumerate(marks):
        next_mark = marks[index + 1].start() if index + 1 < len(marks) else len(text)
        has_colon = mark["colon"] is not None
        rank = (
            (RANK_FINAL if mark["final"] or mark["behind"] else RANK_ANSWER)
            if has_colon
            else RANK_SENTENCE
        )
        text_before = text[max(0, mark.start() - _MAX_CONTEXT_LENGTH) : mark.start()]
        is_clause = rank == RANK_SENTENCE or (
            mark["copula"] is not None and _SUBORDINATION.search(text_before) is not None
        )
        if is_clause and _is_overturned(text_before):
            # What follows a colon would else be read as a clause of its own.
            if has_colon:
                answers.append(MarkedAnswer(RANK_SENTENCE, mark.start(), mark.end(), "INVALID"))
            continue
        answer = _read_value(text, mark.end(), next_mark, rank)
        if answer is not None:
            answers.append(answer._replace(start=mark.start()))
    return sorted(answers, key=lambda marked: marked.start)


def _is_overturned(text_before: str) -> bool:
    """Returns whether "the answer is …" is doubted, denied, asked or supposed.

    Args:
        text_before: the text before "the answer is".
    """
    lexicon = load_lexicon()
    text_before = _ASSERTION.sub(" ", text_before)
    sentence = split_words(_SENTENCE_START.split(text_before)[-1])
    clause = split_words(_CLAUSE_START.split(text_before)[-1])
    return bool(
        lexicon.overturns.intersection(clause)
        or lexicon.conditions.intersection(clause)
        or lexicon.conditions.intersection(sentence[:1])
    )


def _read_value(text: str, start: int, limit: int, rank: int) -> MarkedAnswer | None:
    """Reads the marked answer: the rest of the line, or the next line that is not empty."""
    while start < limit and text[start].isspace():
        start += 1
    value_end = text.find("\n", start, limit)
    value_end = limit if value_end < 0 else value_end
    if rank == RANK_SENTENCE:
        # Only up to the end of the sentence: "the answer is no, since …".
        sentence_ends = [
            end
            for end in (text.find(mark, start, value_end) for mark in (". ", "!", "?"))
            if end >= 0
        ]
        value_end = min(sentence_ends, default=value_end)
    signs = find_signs(text[start:value_end])
    pred = classify_signs(signs).pred
    if pred == "INVALID":
        if rank == RANK_SENTENCE:
            # "The answer is no, but I am not sure" says two things; "the answer is long" says none.
            is_answer = bool(signs.yes or signs.no)
            return MarkedAnswer(rank, start, value_end, pred) if is_answer else None
        pred, value_end = classify_signs(find_signs(text[start:limit])).pred, limit
    return MarkedAnswer(rank, start, value_end, pred)


def _find_verdict_lines(text: str) -> Iterator[MarkedAnswer]:
    start = 0
    for line in text.splitlines(keepends=True):
        end = start + len(line)
        if len(line) <= _MAX_TOPIC_LENGTH:
            sign = find_clause_sign(line)
            if sign in ("YES", "NO", "UNKNOWN") and "?" not in line:
                yield MarkedAnswer(RANK_ANSWER, start, end, sign)
        start = end


@lru_cache(maxsize=1)
def _compile_mark_pattern() -> re.Pattern[str]:
    """Compiles the pattern of "answer:", "final answer:", "the answer to … is" in all languages.

    Group ``final`` is "final" before the noun, ``behind`` is "final" after it, and ``colon`` is the
    colon or equals sign, after ``copula`` if there is one.
    """
    lexicon = load_lexicon()

    def join_choices(choices: tuple[str, ...]) -> str:
        return "|".join(sorted(map(re.escape, choices), key=len, reverse=True))

    noun, copula, final = (
        join_choices(lexicon.markers),
        join_choices(lexicon.copulas),
        join_choices(lexicon.finals),
    )
    topic = rf"\s+(?:to|auf|à|a|на|alla|op|till|på)\s[^.:\n]{{1,{_MAX_TOPIC_LENGTH}}}?"
    # CJK characters are excluded: those scripts do not separate words by spaces.
    letter = r"[^\W\u3040-\u9fff\uac00-\ud7a3]"
    return re.compile(
        rf"(?<!{letter})(?:(?P<final>{final})\s*)?(?:{noun})"
        rf"(?:\s+(?P<behind>{final})(?!\w))?(?:{topic})?"
        rf"(?:\s*['\"]?\s*(?:(?<!{letter})(?P<copula>{copula})\s*)?(?P<colon>[:=])\s*['\"]?"
        rf"|\s*(?<!{letter})(?:{copula})(?!{letter}))",
        re.IGNORECASE,
    )


def _find_json_objects(text: str) -> Iterator[tuple[int, int]]:
    """Yields the spans of the outermost balanced braces; braces in strings are ignored."""
    depth, start, in_string = 0, 0, False
    for token in _JSON_TOKEN.finditer(text):
        mark = token.group()
        if not depth:
            if mark == "{":
                depth, start, in_string = 1, token.start(), False
        elif mark == '"':
            in_string = not in_string
        elif in_string:
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
