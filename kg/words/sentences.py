"""Splits texts into sentences, lists and tables into their lines."""

from __future__ import annotations

import re
from typing import Final

from kg.words.normaliser import FUNCTION_WORDS

MIN_WRAPPED_LINE: Final = 40
"""Number of characters below which the break after a line is not one that an editor put there."""

_BORDER: Final = re.compile(
    r"(?<![.!?…])(?<!\s(?=…|\.\.))(?P<stop>[.!?…]++)[\"”’»›)\]]*+(?P<gap>\s+)"
    r"|(?P<full_stop>[。！？．।॥؟۔]++)[」』”’）]*+\s*"
    r"|(?P<break>\n\s*)"
)
# Ends of words whose full stop does not end a sentence: titles before names, and initials ("J. S.
# Bach", "e.g."). They are compared with the last characters before the stop.
_INITIAL: Final = re.compile(r"\b[^\W\d_]$")
_NEXT_WORD: Final = re.compile(r"[^\W\d_]+")
_NO_NAMES: Final = FUNCTION_WORDS | frozenset(
    """he she they we you i however while after before during when since until although because
    here thus so also one two both each every some any all most many no not
    der die das ein eine er sie es wir ich im am""".split()  # noqa: SIM905
)
"""Words that begin sentences, and no names after an initial: "in the U.S. He left"."""
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:St|Mr|Mrs|Ms|Dr|Prof|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Gov|Sen|Rep|vs|No|Nos|Jr|"
    r"Sr|Mt|Ft|Fig|Eq|cf|ca|approx|bzw|Nr|Abb|Abs|Art|Bd|vgl|usw))$"
)
_MAX_ABBREVIATION: Final = 8
_ITEM_NUMBER: Final = re.compile(r"(?:^|\n)[ \t]*[(\[]?\d{1,4}(?:\.\d{1,4})*$")
_DAY: Final = re.compile(r"\b\d{1,2}$")
_MONTH_AFTER_DAY: Final = re.compile(
    "(?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sept|Okt|Nov|Dez)"  # "5. Mai"
)


def split_sentences(text: str) -> list[str]:
    """Splits a text into sentences; each keeps the white space after it.

    A line break ends a sentence too, so that the items of a list and the rows of a table are apart,
    except where a long line goes on: the next one begins with a small letter, or the line ends with
    a comma or a function word.

    Returns:
        The sentences, none of them blank; joined they are the text. Empty for a blank text.
    """
    sentences: list[str] = []
    start = 0
    for match in _BORDER.finditer(text):
        end = match.end()
        if end == len(text):
            break
        if _ends_sentence(text, match) and not text[start:end].isspace():
            sentences.append(text[start:end])
            start = end
    rest = text[start:]
    return [*sentences, rest] if rest and not rest.isspace() else sentences


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    if match["full_stop"]:
        return True
    following = text[match.end()]
    gap = match["gap"] or match["break"]
    if gap.count("\n") > 1:
        return True
    if match["break"]:
        return not _is_wrapped(
            text[text.rfind("\n", 0, match.start()) + 1 : match.start()], following
        )
    if "\n" in gap and not following.isalnum():
        return True  # the next item of a list
    return not following.islower() and not (
        match["stop"] == "." and _is_abbreviated(text, match.start(), match.end())
    )


def _is_wrapped(line: str, following: str) -> bool:
    """Returns whether a line goes on after its break, before the character ``following``."""
    line = line.strip()
    if len(line) < MIN_WRAPPED_LINE or line[-1] in ":;|" or not following.isalnum():
        return False
    return (
        following.islower()
        or line[-1] == ","
        or line[-MIN_WRAPPED_LINE:].split()[-1].casefold() in FUNCTION_WORDS
    )


def _is_abbreviated(text: str, stop: int, following: int) -> bool:
    """Returns whether the full stop at ``stop`` belongs to the word or number before it."""
    before = text[max(0, stop - _MAX_ABBREVIATION) : stop]
    if _INITIAL.search(before):
        word = _NEXT_WORD.match(text, following)
        return word is None or word[0].casefold() not in _NO_NAMES
    if not before[-1:].isdigit():
        return _ABBREVIATION.search(before) is not None
    # "1. Introduction", "am 5. Mai 1900"
    is_day = _DAY.search(before) and _MONTH_AFTER_DAY.match(text, following)
    return bool(is_day or _ITEM_NUMBER.search(text, max(0, stop - 20), stop))
