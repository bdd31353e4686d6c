"""Takes a sentence apart where it joins several claims, and nowhere else.

Whether "and" joins two claims ("… and the Elbe flows into …") or two names ("Trinidad and Tobago",
"Germany and France") no punctuation tells. So joins of neighbouring parts are read, longest first,
and a part stands for itself only where it is read as a claim or has nothing to do with the graph.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from eval.questions.parsing import Unread
from eval.questions.statements import Statement, StatementReader

MAX_JOINED = 4
"""Parts that are read together."""
MAX_PARTS = 24
"""Parts a sentence may have to be taken apart at all."""

CONNECTIVES = (
    r"(?:and|but|while|whereas|yet|so|although|though|because|since|which|where|as|then|however)"
)
_PART_END = re.compile(rf"(?<=[,;:—–])(?=\s)|(?=\s(?:{CONNECTIVES})\s)|(?=\s[—–-]\s)|(?=\n)")
# What is said in such words may reach over the whole sentence: taken out of it, a part of "it is
# false that A and B" would say the opposite.
_REACHING = re.compile(
    r"\b(?:if|unless|suppose|supposing|assume|assuming|whether|neither|nor|either|false|untrue|wrong|"
    r"wrongly|incorrect|incorrectly|mistaken|mistakenly|mistake|myth|doubts?|deny|denies|denied|"
    r"disagree|pretend|impossible|not true|not the case|nobody|no one|none|without|instead|rather|"
    r"would|claims?|claimed|said|says|say|believes?|believed|thinks?|thought|argues?)\b",
    re.IGNORECASE,
)


_OR = re.compile(r"\s*or\b", re.IGNORECASE)
_RELATIVE = re.compile(r"\s*(?:which|who|whom|whose|where)\b", re.IGNORECASE)


class Part(NamedTuple):
    """A clause of a sentence."""

    text: str
    reading: Statement | Unread | None
    """What it claims; why that could not be read; None when it does not concern the graph."""
    subject: str
    """Name of what it is about, for the next clause to leave out; or empty."""


class Splitter:
    """Takes sentences apart."""

    def __init__(self, reader: StatementReader, name_of: Callable[[str], str]) -> None:
        self._reader = reader
        self._name_of = name_of

    def split(self, sentence: str, subject: str) -> Iterator[Part]:
        """The clauses of a sentence; together they are the sentence.

        Args:
            sentence: the sentence.
            subject: what the clause before it was about, or empty.
        """
        if _RELATIVE.match(sentence):
            subject = ""
        reading = self._read(sentence, subject)
        if isinstance(reading, Statement):
            yield self._part(sentence, reading)
            return
        ends = [found.end() for found in _PART_END.finditer(sentence) if found.end()]
        cuts = [0, *dict.fromkeys(ends), len(sentence)]
        parts = [sentence[a:b] for a, b in itertools.pairwise(cuts) if a < b]
        if len(parts) == 1 or len(parts) > MAX_PARTS or _REACHING.search(sentence):
            concerns = self._reader.concerns(sentence, continues=bool(subject))
            yield Part(sentence, reading if concerns else None, "" if concerns else subject)
            return
        yield from self._apart(parts, subject)

    def _apart(self, parts: list[str], subject: str) -> Iterator[Part]:
        unread, why = "", Unread("")
        at = 0
        while at < len(parts):
            relative = _RELATIVE.match(parts[at]) is not None
            if relative:
                # "The Moselle flows into the Rhine, which flows into …": not the Moselle does. What
                # the clause behind is about then, nobody can tell.
                before = self._reader.named_last("".join(parts[:at]))
                subject = self._name_of(before) if before else ""
            size, found = self._longest(parts, at, subject)
            text = "".join(parts[at : at + size])
            at += size
            if isinstance(found, Unread):
                # Neighbours that are not understood belong together more often than not.
                unread, why, subject = unread + text, found, ""
                continue
            if unread:
                yield Part(unread, why, "")
                unread = ""
            if found is None:
                yield Part(text, None, subject)
            else:
                part = self._part(text, found)
                if relative:
                    part = part._replace(subject="")
                subject = part.subject
                yield part
        if unread:
            yield Part(unread, why, "")

    def _longest(
        self, parts: list[str], at: int, subject: str
    ) -> tuple[int, Statement | Unread | None]:
        """How many parts from here make a claim together, and which; else what the first is."""
        why: Unread | None = None
        for size in range(min(MAX_JOINED, len(parts) - at), 0, -1):
            reading = self._read("".join(parts[at : at + size]), subject)
            if isinstance(reading, Statement):
                return size, reading
            why = reading
        return 1, why if self._reader.concerns(parts[at], continues=bool(subject)) else None

    def _read(self, text: str, subject: str) -> Statement | Unread:
        if _OR.match(text):
            return Unread("it is an alternative")
        reading = self._reader.read(text)
        if isinstance(reading, Unread) and subject:
            borrowed = self._reader.read(text, subject)
            if isinstance(borrowed, Statement):
                return borrowed
        return reading

    def _part(self, text: str, reading: Statement) -> Part:
        return Part(text, reading, self._name_of(reading.subject) if reading.subject else "")
