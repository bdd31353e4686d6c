"""Splits a sentence into clauses, only at the places where it joins several claims.

Punctuation does not show whether "and" joins two claims ("… and the Elbe flows into …") or two
names ("Trinidad and Tobago", "Germany and France"). So runs of adjacent parts are parsed together,
longest first, and a single part is a clause only if it parses as a claim or does not concern the
graph.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from eval.questions.parser import ParseFailure
from eval.questions.statements import Statement, StatementReader

MAX_JOINED_PARTS = 4
"""Maximum number of adjacent parts that are parsed together."""
MAX_PARTS = 24
"""A sentence with more parts is not split."""

CONNECTIVES = (
    r"(?:and|but|while|whereas|yet|so|although|though|because|since|which|where|as|then|however)"
)
# Places where a clause may end: after a comma, semicolon, colon or dash; before a connective, a
# spaced dash or a line break.
_PART_END = re.compile(rf"(?<=[,;:—–])(?=\s)|(?=\s(?:{CONNECTIVES})\s)|(?=\s[—–-]\s)|(?=\n)")
# These words may apply to the whole sentence: on its own, the second part of "it is false that A
# and B" would assert the opposite.
_SENTENCE_WIDE_WORDS = re.compile(
    r"\b(?:if|unless|suppose|supposing|assume|assuming|whether|neither|nor|either|false|untrue|wrong|"
    r"wrongly|incorrect|incorrectly|mistaken|mistakenly|mistake|myth|doubts?|deny|denies|denied|"
    r"disagree|pretend|impossible|not true|not the case|nobody|no one|none|without|instead|rather|"
    r"would|claims?|claimed|said|says|say|believes?|believed|thinks?|thought|argues?)\b",
    re.IGNORECASE,
)
_OR = re.compile(r"\s*or\b", re.IGNORECASE)
_RELATIVE = re.compile(r"\s*(?:which|who|whom|whose|where)\b", re.IGNORECASE)


class Clause(NamedTuple):
    """A clause of a sentence."""

    text: str
    reading: Statement | ParseFailure | None
    """The clause's claims, or why it cannot be parsed; None if it does not concern the graph."""
    subject: str
    """Name of the clause's subject, which the next clause may leave out; or empty."""


class ClauseSplitter:
    """Splits sentences into clauses."""

    def __init__(self, reader: StatementReader, get_name: Callable[[str], str]) -> None:
        self._reader = reader
        self._get_name = get_name

    def split_sentence(self, sentence: str, subject: str) -> Iterator[Clause]:
        """Yields the clauses of a sentence; concatenated they are the sentence.

        Args:
            sentence: the sentence.
            subject: name of the subject of the clause before the sentence, or empty.
        """
        if _RELATIVE.match(sentence):
            subject = ""
        reading = self._read_clause(sentence, subject)
        if isinstance(reading, Statement):
            yield self._build_clause(sentence, reading)
            return
        ends = [part_end.end() for part_end in _PART_END.finditer(sentence) if part_end.end()]
        cuts = [0, *dict.fromkeys(ends), len(sentence)]
        parts = [sentence[a:b] for a, b in itertools.pairwise(cuts) if a < b]
        if len(parts) == 1 or len(parts) > MAX_PARTS or _SENTENCE_WIDE_WORDS.search(sentence):
            concerns_graph = self._reader.concerns_graph(sentence, may_omit_subject=bool(subject))
            yield Clause(
                sentence, reading if concerns_graph else None, "" if concerns_graph else subject
            )
            return
        yield from self._split_parts(parts, subject)

    def _split_parts(self, parts: list[str], subject: str) -> Iterator[Clause]:
        unparsed, failure = "", ParseFailure("")
        index = 0
        while index < len(parts):
            is_relative = _RELATIVE.match(parts[index]) is not None
            if is_relative:
                # "The Moselle flows into the Rhine, which flows into …": the subject is the Rhine.
                # The subject of the clause after that is ambiguous, so it is dropped below.
                antecedent = self._reader.find_last_entity("".join(parts[:index]))
                subject = self._get_name(antecedent) if antecedent else ""
            n_parts, reading = self._find_longest_claim(parts, index, subject)
            text = "".join(parts[index : index + n_parts])
            index += n_parts
            if isinstance(reading, ParseFailure):
                # Adjacent parts that cannot be parsed usually belong to the same clause.
                unparsed, failure, subject = unparsed + text, reading, ""
                continue
            if unparsed:
                yield Clause(unparsed, failure, "")
                unparsed = ""
            if reading is None:
                yield Clause(text, None, subject)
            else:
                clause = self._build_clause(text, reading)
                if is_relative:
                    clause = clause._replace(subject="")
                subject = clause.subject
                yield clause
        if unparsed:
            yield Clause(unparsed, failure, "")

    def _find_longest_claim(
        self, parts: list[str], start: int, subject: str
    ) -> tuple[int, Statement | ParseFailure | None]:
        """Returns the largest number of parts that form a claim, and its reading.

        If there is no such number, returns 1 and the reason why the first part cannot be parsed,
        or None if that part does not concern the graph.
        """
        failure: ParseFailure | None = None
        for n_parts in range(min(MAX_JOINED_PARTS, len(parts) - start), 0, -1):
            reading = self._read_clause("".join(parts[start : start + n_parts]), subject)
            if isinstance(reading, Statement):
                return n_parts, reading
            failure = reading
        return 1, failure if self._reader.concerns_graph(
            parts[start], may_omit_subject=bool(subject)
        ) else None

    def _read_clause(self, text: str, subject: str) -> Statement | ParseFailure:
        if _OR.match(text):
            return ParseFailure("it is an alternative")
        reading = self._reader.read_statement(text)
        if isinstance(reading, ParseFailure) and subject:
            completed = self._reader.read_statement(text, subject)
            if isinstance(completed, Statement):
                return completed
        return reading

    def _build_clause(self, text: str, reading: Statement) -> Clause:
        return Clause(text, reading, self._get_name(reading.subject) if reading.subject else "")
