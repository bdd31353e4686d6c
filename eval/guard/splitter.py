"""Splits a sentence into clauses, only at the places where it joins several claims.

Punctuation does not show whether "and" joins two claims ("… and the Elbe flows into …") or two
names ("Trinidad and Tobago", "Germany and France"). So runs of adjacent parts are parsed together,
longest first, and a single part is a clause only if it parses as a claim or does not concern the
graph.

After words that could not be read, a name may be the last of a list in them: in "The river that
crosses Austria and Germany flows into …", it is not Germany that flows. There, a claim is read only
where a clause must begin.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from eval.questions.parser import ParseFailure
from eval.questions.statements import Statement, StatementReader
from kg.words.label_words import PREPOSITIONS

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
_AND = re.compile(r"\s*and\b", re.IGNORECASE)
_DASH = re.compile(r"\s[—–-]\s")
_RELATIVE = re.compile(r"\s*(?:which|who|whom|whose|where)\b", re.IGNORECASE)
_RELATIVE_PLACE = re.compile(r"\s*where\b", re.IGNORECASE)
_CONNECTIVE = re.compile(rf"\s*(?:{CONNECTIVES}|or|nor)\b", re.IGNORECASE)
# Connectives that join clauses and never names; and those that do so after a comma.
_SUBORDINATOR = re.compile(r"\s*(?:while|whereas|although|though|because)\b", re.IGNORECASE)
_CONTRAST = re.compile(r"\s*(?:but|so|yet|however)\b", re.IGNORECASE)
_NOT = re.compile(r"\bnot\b|n['’]t\b", re.IGNORECASE)
# First words of phrases that stand before the subject: "Unlike the Danube, the Rhine …".
_INTRODUCTION = re.compile(
    rf"\W*(?:{'|'.join(sorted(PREPOSITIONS))}|unlike|like|although|though|while|whereas|because|when|"
    r"[a-z]+ing)\b",
    re.IGNORECASE,
)
# "The river" may be another one than the subject of the clause before; "a river" always is.
_INDEFINITE = re.compile(r"\s*(?:an?|another|one)\b", re.IGNORECASE)
_NOUN_PHRASE = re.compile(rf"\s*(?:(?:{CONNECTIVES})\s+)?(?:an?|the|another|one)\b", re.IGNORECASE)
_PRONOUN = re.compile(rf"\s*(?:(?:{CONNECTIVES})\s+)?(?:its?|which|who|whose)\b", re.IGNORECASE)


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
        may_omit = _INDEFINITE.match(sentence) is None
        reading = self._read_clause(sentence, subject, may_omit=may_omit)
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
        yield from self._split_parts(parts, subject, may_omit=may_omit)

    def _split_parts(self, parts: list[str], subject: str, *, may_omit: bool) -> Iterator[Clause]:
        unparsed, failure = "", ParseFailure("")
        # The text since the last claim, and whether it concerns the graph.
        before, is_unread = "", False
        index = 0
        while index < len(parts):
            is_relative = _RELATIVE.match(parts[index]) is not None
            if is_relative:
                # "The Moselle flows into the Rhine, which flows into …": the subject is the Rhine.
                # The subject of the clause after that is ambiguous, so it is dropped below.
                antecedent = self._reader.find_last_entity("".join(parts[:index]))
                is_place = _RELATIVE_PLACE.match(parts[index]) is not None
                subject = self._get_name(antecedent) if antecedent and not is_place else ""
                may_omit = False
            n_parts = 1
            reading: Statement | ParseFailure | None
            reading = ParseFailure("it may continue what stands before it")
            is_continued = self._continues_subject(parts, index, subject, is_unread=is_unread)
            if (
                is_relative
                or is_continued == "verb"
                or self._may_start_clause(parts, index, before, is_unread=is_unread)
            ):
                n_parts, reading = self._find_longest_claim(
                    parts, index, subject, may_omit=may_omit
                )
            if isinstance(reading, ParseFailure) and not self._reader.concerns_graph(
                parts[index], may_omit_subject=bool(subject)
            ):
                reading = None
            text = "".join(parts[index : index + n_parts])
            index += n_parts
            if isinstance(reading, ParseFailure):
                # Adjacent parts that cannot be parsed usually belong to the same clause.
                unparsed, failure = unparsed + text, reading
                if index == 1:
                    leading = self._reader.find_leading_subject(text)
                    subject, may_omit = (self._get_name(leading) if leading else ""), True
                elif not is_continued:
                    subject = ""
                before, is_unread = before + text, True
                continue
            if unparsed:
                yield Clause(unparsed, failure, "")
                unparsed = ""
            if reading is None:
                before += text
                subject = "" if is_unread and not is_continued else subject
                yield Clause(text, None, subject)
            elif is_relative:
                # After it, the clause that it interrupts goes on.
                before = before and before + text
                subject = ""
                yield Clause(text, reading, subject)
            else:
                # Without a verb of its own, or with a list that goes on, the clause has not ended.
                is_unread = reading.is_open or self._has_only_relative_clause(parts, index, n_parts)
                before = text if is_unread else ""
                clause = self._build_clause(text, reading)
                subject, may_omit = clause.subject, reading.omissible
                yield clause
        if unparsed:
            yield Clause(unparsed, failure, "")

    def _continues_subject(
        self, parts: list[str], index: int, subject: str, *, is_unread: bool
    ) -> Literal["verb", "list", ""]:
        """Whether a part continues an unread clause that begins with its subject.

        "The Rhine rises in a glacier, crosses Germany and flows into …": the subject stays the
        Rhine up to a part that may have one of its own.
        """
        if not (index and subject and is_unread):
            return ""
        return self._reader.continues_clause(parts[index], parts[index - 1])

    def _may_start_clause(
        self, parts: list[str], index: int, before: str, *, is_unread: bool
    ) -> bool:
        """Whether a clause begins with a part, so that it is not the end of what stands before it.

        Args:
            parts: the parts of the sentence.
            index: index of the part.
            before: the text between the last claim and the part.
            is_unread: whether that text concerns the graph.
        """
        part, before = parts[index], before.rstrip()
        if index == 0:
            return True
        if self._reader.is_name(part) and (before or part.endswith(",")):
            return False
        if not before or before[-1] in ";:—–" or _DASH.match(part) or _SUBORDINATOR.match(part):
            return True
        if before[-1] != ",":
            return False
        if _CONTRAST.match(part):
            return _NOT.search(before) is None  # "not Austria, but Germany"
        if _AND.match(part):
            # A list with a comma before "and" has another comma.
            return before.count(",") == 1 and self._reader.is_clause(before)
        return not _CONNECTIVE.match(part) and (not is_unread or bool(_INTRODUCTION.match(before)))

    def _has_only_relative_clause(self, parts: list[str], end: int, n_parts: int) -> bool:
        """Whether the last parts are but a name and its relative clause: "The Rhine, which …"."""
        start = end - n_parts
        return (
            n_parts > 1
            and _RELATIVE.match(parts[start + 1]) is not None
            and self._reader.is_name(parts[start])
        )

    def _find_longest_claim(
        self, parts: list[str], start: int, subject: str, *, may_omit: bool
    ) -> tuple[int, Statement | ParseFailure]:
        """Returns the largest number of parts that form a claim, and its reading.

        If there is no such number, returns 1 and the reason why the first part cannot be parsed.
        """
        # A clause that follows "the", as in "…, the river of …", may describe the name before it.
        may_omit = may_omit and not (start and _NOUN_PHRASE.match(parts[start]))
        failure = ParseFailure("")
        for n_parts in range(min(MAX_JOINED_PARTS, len(parts) - start), 0, -1):
            end = start + n_parts
            reading = self._read_clause("".join(parts[start:end]), subject, may_omit=may_omit)
            if isinstance(reading, ParseFailure):
                failure = reading
            elif self._may_end_clause(parts, end, reading):
                return n_parts, reading
            else:
                failure = ParseFailure("it is unclear where it ends")
        return 1, failure

    def _may_end_clause(self, parts: list[str], end: int, reading: Statement) -> bool:
        """Whether a clause ends before a part, so that no list goes across its end."""
        if self._starts_with_list(parts, end - 1):
            # "A flows into B and C and D flow into E": C belongs to the second clause.
            return False
        is_list_of_subjects = len(reading.claims) > 1 and not reading.subject
        # "A and B flow into C and D": it is unclear which flows into which.
        return not (
            is_list_of_subjects
            and end < len(parts)
            and _AND.match(parts[end])
            and self._reader.is_name(parts[end])
            and not self._starts_with_list(parts, end)
        )

    def _starts_with_list(self, parts: list[str], index: int) -> bool:
        """Whether a part and the next form a claim about two names: "the Rhine and the Elbe …"."""
        return (
            index + 1 < len(parts)
            and _AND.match(parts[index + 1]) is not None
            and self._reader.is_name(parts[index])
            and isinstance(
                self._read_clause("".join(parts[index : index + 2]), "", may_omit=False), Statement
            )
        )

    def _read_clause(self, text: str, subject: str, *, may_omit: bool) -> Statement | ParseFailure:
        """Reads a clause, if need be with the subject of the clause before.

        Args:
            text: the clause.
            subject: name of that subject, or empty.
            may_omit: whether the clause may leave it out, and not only have a pronoun for it.
        """
        if _OR.match(text):
            return ParseFailure("it is an alternative")
        reading = self._reader.read_statement(text)
        may_complete = bool(subject) and (may_omit or _PRONOUN.match(text) is not None)
        if isinstance(reading, ParseFailure) and may_complete:
            completed = self._reader.read_statement(text, subject)
            if isinstance(completed, Statement):
                return completed
        return reading

    def _build_clause(self, text: str, reading: Statement) -> Clause:
        return Clause(text, reading, self._get_name(reading.subject) if reading.subject else "")
