"""Reads statements, as a model writes them in running text, by the same means as questions.

A statement differs from a question in four ways: its negation says no instead of leaving the yes
open, it may be wrapped in words that only connect ("However, it is well known that …"), it may
leave out a subject that was just named ("… and flows into the North Sea", "It flows …"), and it may
speak of several things at once ("flows through Germany and France").
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from eval.questions.form import cut_out
from eval.questions.linking import ARTICLES, Mention, Token, is_capitalised, tokens_of
from eval.questions.parsing import MAX_READINGS, ClaimParser, Reading, Unread
from kg.claims import Claim

MAX_LISTED = 8
"""Things that may be listed in one statement."""

_FALSE = r"(?:false|untrue|wrong|incorrect|not true|not correct|not the case)"
_TRUE = (
    r"(?:true|correct|a fact|clear|well known|known|certain|the case|worth noting|"
    r"important to note)"
)
_INVERTING = re.compile(rf"(?:it is|it's) {_FALSE} (?:that|to say that)\s+", re.IGNORECASE)
_LEADS = re.compile(
    # "First Creek flows …", "No Name Creek …": these words begin names too, so they lead only where
    # a comma or a small letter follows.
    r"(?:(?:(?:no|well|first|second|next)(?=\s*,|\s+(?-i:[a-z]))|yes|so|and|but|also|then|thus|"
    r"therefore|hence|however|moreover|furthermore|in addition|additionally|likewise|similarly|"
    r"meanwhile|indeed|in fact|of course|finally|firstly|secondly|note that|notably|"
    r"for example|for instance|in turn|while|whereas|interestingly|overall|in short|in summary|"
    r"to summarise|to summarize|as you may know|"
    rf"as (?:is )?(?:well )?known|(?:it is|it's) {_TRUE} that|the fact is that|we know that|"
    r"i know that|remember that|keep in mind that|according to the graph|the graph says that)"
    r"(?![\w'])\s*,?\s*)+",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(does|do|did|is|are|was|were|has|have|had|can|could|will|would) not\b|\bnever\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\bcannot\b|(?<=\w)n['’]t\b", re.IGNORECASE)
_PRONOUN = re.compile(
    r"(?P<it>it|which|who)(?:\s+also)?(?=\s)|(?P<its>its|whose)(?=\s)", re.IGNORECASE
)
# Emphasis and code marks stand between no letters, and underscores count as letters to tokens.
_MARKUP = re.compile(r"[*_`~]+")
_LIST_MARK = re.compile(r"\s*(?:[-*•+>|#]+\s+|\d{1,3}[.)]\s+|\(?[a-z]\)\s+)", re.IGNORECASE)


class Statement(NamedTuple):
    """A statement understood: all its claims hold, or, when negated, none does.

    ``claims`` has one entry for each claim made; each entry holds the ways to take its homonyms.
    """

    claims: tuple[tuple[Claim, ...], ...]
    negated: bool
    subject: str
    """IRI of what the statement names first, for what follows to leave out; or empty."""


class StatementReader:
    """Reads statements about one knowledge base."""

    def __init__(self, parser: ClaimParser) -> None:
        self._parser = parser

    def read(self, text: str, subject: str = "") -> Statement | Unread:
        """The claims a statement makes, or why none could be read.

        Args:
            text: one clause.
            subject: what "it", "which" or a verb without a subject is about, by name, or empty.
        """
        clean = _plain(text)
        clean = _LEADS.sub("", clean, count=1) if _LEADS.match(clean) else clean
        if denied := self._parser.denied(clean):
            mentions = self._parser.mentions.scan(tokens_of(clean))
            return self._statement((Reading(denied),), True, mentions)
        positive, negated = _undenied(clean)
        if positive is None:
            return Unread("it is negated more than once")
        if subject:
            positive = _with_subject(positive, subject)
        reading = self._parser.parse(positive)
        tokens = tokens_of(positive)
        mentions = self._parser.mentions.scan(tokens)
        if isinstance(reading, Unread):
            readings = self._turned(tokens, mentions) or self._listed(tokens, mentions)
            if not readings:
                return reading
        else:
            readings = (reading,)
        claims = [claim for one in readings for claim in one.claims]
        if kind := self._parser.callings.wrong(tokens, mentions, claims):
            return Unread(f"nothing in the graph says that what it calls “{kind}” is one")
        return self._statement(readings, negated, mentions)

    def named_last(self, text: str) -> str:
        """IRI of the thing a clause ends with, which "which" behind it is about; or empty."""
        tokens = tokens_of(_plain(text))
        last = next((m for m in reversed(self._parser.mentions.scan(tokens)) if m.entities), None)
        alone = last is not None and last.end == len(tokens) and len(last.entities) == 1
        return last.entities[0] if last is not None and alone else ""

    def concerns(self, text: str, *, continues: bool) -> bool:
        """Whether a clause may speak of what the graph is about, understood or not.

        It does when it names a thing of the graph, when it calls the subject it may have left out
        something ("…, a lake"), or when it has the words of a predicate and a proper name, a
        number, or such a subject.

        Args:
            text: one clause.
            continues: the clause before it had a subject that this one may have left out.
        """
        tokens = tokens_of(_plain(text))
        mentions = self._parser.mentions.scan(tokens)
        if any(m.entities and is_capitalised(tokens[m.start : m.end]) for m in mentions):
            return True
        if continues and self._parser.callings.names_a_kind(tokens):
            return True
        bears = continues or any(m.number for m in mentions)
        bears = bears or any(is_capitalised((t,)) and t.key != "i" for t in tokens[1:])
        return bears and self._parser.speaks(cut_out(tokens, mentions))

    def _statement(
        self, readings: Sequence[Reading], negated: bool, mentions: Sequence[Mention]
    ) -> Statement:
        claims = tuple(reading.claims for reading in readings)
        ends = {end for group in claims for claim in group for end in (claim.subj, claim.obj)}
        first = next((m for m in mentions if m.entities), None)
        known = [iri for iri in first.entities if iri in ends] if first else []
        inverted = negated ^ readings[0].inverted
        return Statement(claims, inverted, known[0] if len(known) == 1 else "")

    def _turned(self, tokens: Sequence[Token], mentions: Sequence[Mention]) -> tuple[Reading, ...]:
        """Reads "The Rhine is a river" by the question that begins with its verb."""
        start = next((m.start for m in mentions if m.entities), -1)
        end = next((m.end for m in mentions if m.entities), -1)
        if start < 0 or not {token.key for token in tokens[:start]} <= ARTICLES:
            return ()
        if not tokens[end:] or tokens[end].key not in ("is", "are", "was", "were"):
            return ()
        asked = [tokens[end], *tokens[:end], *tokens[end + 1 :]]
        reading = self._parser.parse(" ".join(token.text for token in asked))
        return (reading,) if isinstance(reading, Reading) else ()

    def _listed(self, tokens: Sequence[Token], mentions: Sequence[Mention]) -> tuple[Reading, ...]:
        """One reading for each thing of the only list in a statement; empty when that fails."""
        run = _list_of(tokens, mentions)
        if not 2 <= len(run) <= MAX_LISTED:
            return ()
        readings = []
        first, last = mentions[run[0]].start, mentions[run[-1]].end
        for at in run:
            kept = [*tokens[:first], *tokens[mentions[at].start : mentions[at].end], *tokens[last:]]
            words = [token.text for token in kept if token.key != "both"]
            reading = self._parser.parse(" ".join(words))
            if isinstance(reading, Unread) or len(reading.claims) > MAX_READINGS:
                return ()
            readings.append(reading)
        return tuple(readings)


def _plain(text: str) -> str:
    """A clause without markup, list marks and invisible characters, its negations written out."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(char for char in text if unicodedata.category(char) != "Cf")
    text = _MARKUP.sub("", _LIST_MARK.sub("", text, count=1) if _LIST_MARK.match(text) else text)
    text = _NOT.sub(lambda match: "can not" if match.group() == "cannot" else " not", text)
    return text.strip(' \t\r\n.,;:!"“”«»„()[]')


def _undenied(text: str) -> tuple[str | None, bool]:
    """A statement without its negation, and whether it had one; None when it had several."""
    inverting = _INVERTING.match(text)
    text, count = _NEGATED.subn(
        lambda match: match[1] or "", text[inverting.end() :] if inverting else text
    )
    if count + bool(inverting) > 1:
        return None, False
    return text, bool(count or inverting)


def _with_subject(text: str, subject: str) -> str:
    """A statement with its subject put in, where it has left it out or says "it"."""
    pronoun = _PRONOUN.match(text)
    if pronoun:
        owner = subject + "'s" if pronoun["its"] else subject
        return owner + text[pronoun.end() :]
    return f"{subject} {text}"


def _list_of(tokens: Sequence[Token], mentions: Sequence[Mention]) -> list[int]:
    """Positions of the mentions of the only list, "A, B and C", in a statement."""
    runs: list[list[int]] = []
    for at, (one, two) in enumerate(itertools.pairwise(mentions)):
        between = {token.key for token in tokens[one.end : two.start]} - ARTICLES
        if between <= {"and"} and one.entities and two.entities:
            if runs and runs[-1][-1] == at:
                runs[-1].append(at + 1)
            else:
                runs.append([at, at + 1])
    return runs[0] if len(runs) == 1 else []
