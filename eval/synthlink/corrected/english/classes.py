"""The classes of a text's words: what the words of grammar are, and how others end."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from eval.synthlink.corrected.wording import sentences

START: Final = "^"
"""Stands before a sentence."""
END: Final = "$"
"""Stands behind one."""
PAUSE: Final = ","
OWNER: Final = "'s"
NAME: Final = "name"
"""A word with a capital that does not begin its sentence."""
NUMBER: Final = "number"
OTHER: Final = "other"
"""Content, and nothing more is known."""

_TOKEN = re.compile(
    r"\d[\d.,]*\d|\d"  # a number
    r"|[^\W\d_]+(?:['\u2019][^\W\d_]+)?"  # a word, "didn't", "Whitney's"
    r"|[,;:()\u2013\u2014]"
)
_PAUSES = frozenset(",;:()\u2013\u2014")


class Lexicon(NamedTuple):
    """``classes.toml``, as it is looked up."""

    of_word: dict[str, str]
    """Class of each listed word."""
    endings: tuple[tuple[str, int, tuple[str, ...]], ...]
    """Class, least number of letters, endings; the first that fits counts."""
    content: frozenset[str]
    """Classes of words that carry content."""


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """The lexicon, read once."""
    data = tomllib.loads(Path(__file__).with_name("classes.toml").read_text("utf-8"))
    listed = {**data["small"], **data["verbs"]}
    return Lexicon(
        {word: name for name, listing in listed.items() for word in listing.split()},
        tuple(
            (name, entry["letters"], tuple(entry["endings"].split()))
            for name, entry in data["endings"].items()
        ),
        frozenset([*data["verbs"], *data["endings"], NAME, NUMBER, OTHER]),
    )


def sentence_classes(text: str) -> Iterator[list[str]]:
    """The classes of the words of each sentence, pauses among them, without its ends.

    Pauses one behind the other are one, and none begins or ends a sentence. A sentence without a
    word is left out.
    """
    for _, sentence in sentences(text):
        found: list[str] = []
        for token in _TOKEN.findall(sentence):
            if token not in _PAUSES:
                found += _of(token, begins=not found)
            elif found and found[-1] != PAUSE:
                found.append(PAUSE)
        if found and found[-1] == PAUSE:
            del found[-1]
        if found:
            yield found


def _of(token: str, *, begins: bool) -> Iterable[str]:
    """Class of a word; behind an owner's, that of the ending."""
    known = lexicon()
    word = token.casefold().replace("\u2019", "'")
    if word in known.of_word:
        return (known.of_word[word],)
    bare = word.removesuffix("'s")
    owner = (OWNER,) if bare != word else ()
    if token[0].isdigit():
        return (NUMBER,)
    if token[0].isupper() and not begins:
        return (NAME, *owner)
    for name, letters, endings in known.endings:
        if len(bare) >= letters and bare.endswith(endings):
            return (name, *owner)
    return (OTHER, *owner)
