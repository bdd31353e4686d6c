"""Reads the claims of statements in a model's running text, with the question parser.

A statement differs from a question in four ways: a negation clearly denies the claim, it may begin
with connecting words ("However, it is well known that …"), it may leave out a subject that was just
named ("… and flows into the North Sea", "It flows …"), and it may list several entities ("flows
through Germany and France").
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from eval.questions.mentions import (
    ARTICLES,
    Mention,
    Token,
    is_capitalised,
    tokenise_text,
)
from eval.questions.parser import MAX_READINGS, ClaimParser, ParseFailure, Reading
from eval.questions.question import replace_mentions
from kg.claims import Claim

MAX_LISTED_ENTITIES = 8
"""Maximum number of entities listed in one statement."""

_FALSE = r"(?:false|untrue|wrong|incorrect|not true|not correct|not the case)"
_TRUE = (
    r"(?:true|correct|a fact|clear|well known|known|certain|the case|worth noting|"
    r"important to note)"
)
_FALSE_LEAD = re.compile(rf"(?:it is|it's) {_FALSE} (?:that|to say that)\s+", re.IGNORECASE)
_LEADS = re.compile(
    # "First Creek flows …", "No Name Creek …": these words begin names too, so they only count as
    # connecting words before a comma or a lower-case letter.
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
_NEGATED_VERB = re.compile(
    r"\b(does|do|did|is|are|was|were|has|have|had|can|could|will|would) not\b|\bnever\b",
    re.IGNORECASE,
)
_JOINED_NOT = re.compile(r"\bcannot\b|(?<=\w)n['’]t\b", re.IGNORECASE)
_PRONOUN = re.compile(
    r"(?P<it>it|which|who)(?:\s+also)?(?=\s)|(?P<its>its|whose)(?=\s)", re.IGNORECASE
)
# Emphasis and code marks are removed, because underscores would count as letters of a token.
_MARKUP = re.compile(r"[*_`~]+")
_LIST_MARK = re.compile(r"\s*(?:[-*•+>|#]+\s+|\d{1,3}[.)]\s+|\(?[a-z]\)\s+)", re.IGNORECASE)


class Statement(NamedTuple):
    """The claims of a statement: it asserts all of them or, if negated, denies all of them.

    ``claims`` has one entry per claim; each entry has one claim per combination of homonyms.
    """

    claims: tuple[tuple[Claim, ...], ...]
    negated: bool
    """Whether the statement denies its claims."""
    subject: str
    """IRI of the entity named first, which the next clause may leave out; empty if unclear."""


class StatementReader:
    """Reads statements about one knowledge base."""

    def __init__(self, parser: ClaimParser) -> None:
        self._parser = parser

    def read_statement(self, text: str, subject: str = "") -> Statement | ParseFailure:
        """Reads the claims of a statement, or returns the reason why it cannot.

        Args:
            text: one clause.
            subject: name of the entity that "it" or "which" refers to, or that is left out; else
                empty.
        """
        clause = _clean_clause(text)
        clause = _LEADS.sub("", clause, count=1) if _LEADS.match(clause) else clause
        if denied_claims := self._parser.parse_denial(clause):
            mentions = self._parser.mention_index.find_mentions(tokenise_text(clause))
            return self._build_statement((Reading(denied_claims),), True, mentions)
        positive, negated = _remove_negation(clause)
        if positive is None:
            return ParseFailure("it is negated more than once")
        if subject:
            positive = _insert_subject(positive, subject)
        reading = self._parser.parse_question(positive)
        tokens = tokenise_text(positive)
        mentions = self._parser.mention_index.find_mentions(tokens)
        if isinstance(reading, ParseFailure):
            readings = self._read_as_question(tokens, mentions) or self._read_list(tokens, mentions)
            if not readings:
                return reading
        else:
            readings = (reading,)
        claims = [claim for parsed_reading in readings for claim in parsed_reading.claims]
        if wrong_type := self._parser.type_mentions.find_wrong_type(tokens, mentions, claims):
            return ParseFailure(
                f"nothing in the graph says that what it calls “{wrong_type}” is one"
            )
        return self._build_statement(readings, negated, mentions)

    def find_last_entity(self, text: str) -> str:
        """Finds the entity that a clause ends with, to which a "which" after it refers.

        Returns an empty string if the clause does not end with the name of exactly one entity.
        """
        tokens = tokenise_text(_clean_clause(text))
        last_mention = next(
            (m for m in reversed(self._parser.mention_index.find_mentions(tokens)) if m.entities),
            None,
        )
        is_unique = (
            last_mention is not None
            and last_mention.end == len(tokens)
            and len(last_mention.entities) == 1
        )
        return last_mention.entities[0] if last_mention is not None and is_unique else ""

    def concerns_graph(self, text: str, *, may_omit_subject: bool) -> bool:
        """Whether a clause may make a claim about the graph, even one that cannot be parsed.

        It may do so in three cases: it names an entity of the graph; it mentions a type of a
        left-out subject ("…, a lake"); or it has the words of a predicate together with a proper
        name, a number or a left-out subject.

        Args:
            text: one clause.
            may_omit_subject: whether the clause before it had a subject that this one may omit.
        """
        tokens = tokenise_text(_clean_clause(text))
        mentions = self._parser.mention_index.find_mentions(tokens)
        if any(m.entities and is_capitalised(tokens[m.start : m.end]) for m in mentions):
            return True
        if may_omit_subject and self._parser.type_mentions.has_type_word(tokens):
            return True
        has_subject = may_omit_subject or any(m.number for m in mentions)
        has_subject = has_subject or any(is_capitalised((t,)) and t.key != "i" for t in tokens[1:])
        return has_subject and self._parser.has_predicate_words(replace_mentions(tokens, mentions))

    def _build_statement(
        self, readings: Sequence[Reading], negated: bool, mentions: Sequence[Mention]
    ) -> Statement:
        claims = tuple(reading.claims for reading in readings)
        claim_terms = {
            term for group in claims for claim in group for term in (claim.subj, claim.obj)
        }
        first_mention = next((m for m in mentions if m.entities), None)
        claimed_entities = (
            [iri for iri in first_mention.entities if iri in claim_terms] if first_mention else []
        )
        is_denial = negated ^ readings[0].inverted
        return Statement(
            claims, is_denial, claimed_entities[0] if len(claimed_entities) == 1 else ""
        )

    def _read_as_question(
        self, tokens: Sequence[Token], mentions: Sequence[Mention]
    ) -> tuple[Reading, ...]:
        """Reads "The Rhine is a river" as the question "Is the Rhine a river"."""
        start = next((m.start for m in mentions if m.entities), -1)
        end = next((m.end for m in mentions if m.entities), -1)
        if start < 0 or not {token.key for token in tokens[:start]} <= ARTICLES:
            return ()
        if not tokens[end:] or tokens[end].key not in ("is", "are", "was", "were"):
            return ()
        question_tokens = [tokens[end], *tokens[:end], *tokens[end + 1 :]]
        reading = self._parser.parse_question(" ".join(token.text for token in question_tokens))
        return (reading,) if isinstance(reading, Reading) else ()

    def _read_list(
        self, tokens: Sequence[Token], mentions: Sequence[Mention]
    ) -> tuple[Reading, ...]:
        """Reads a statement once for each entity of its only list; empty if that fails."""
        listed_indices = _find_list(tokens, mentions)
        if not 2 <= len(listed_indices) <= MAX_LISTED_ENTITIES:
            return ()
        readings = []
        list_start, list_end = mentions[listed_indices[0]].start, mentions[listed_indices[-1]].end
        for index in listed_indices:
            entity_tokens = tokens[mentions[index].start : mentions[index].end]
            statement_tokens = [*tokens[:list_start], *entity_tokens, *tokens[list_end:]]
            words = [token.text for token in statement_tokens if token.key != "both"]
            reading = self._parser.parse_question(" ".join(words))
            if isinstance(reading, ParseFailure) or len(reading.claims) > MAX_READINGS:
                return ()
            readings.append(reading)
        return tuple(readings)


def _clean_clause(text: str) -> str:
    """Removes markup, list marks and invisible characters, and expands contracted negations."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(char for char in text if unicodedata.category(char) != "Cf")
    text = _MARKUP.sub("", _LIST_MARK.sub("", text, count=1) if _LIST_MARK.match(text) else text)
    text = _JOINED_NOT.sub(lambda match: "can not" if match.group() == "cannot" else " not", text)
    return text.strip(' \t\r\n.,;:!"“”«»„()[]')


def _remove_negation(text: str) -> tuple[str | None, bool]:
    """Removes the negation of a statement.

    Returns:
        The statement without it, and whether it was negated; None and False if it was negated more
        than once.
    """
    false_lead = _FALSE_LEAD.match(text)
    text, count = _NEGATED_VERB.subn(
        lambda match: match[1] or "", text[false_lead.end() :] if false_lead else text
    )
    if count + bool(false_lead) > 1:
        return None, False
    return text, bool(count or false_lead)


def _insert_subject(text: str, subject: str) -> str:
    """Inserts the subject into a statement that leaves it out or has a pronoun."""
    pronoun = _PRONOUN.match(text)
    if pronoun:
        owner = subject + "'s" if pronoun["its"] else subject
        return owner + text[pronoun.end() :]
    return f"{subject} {text}"


def _find_list(tokens: Sequence[Token], mentions: Sequence[Mention]) -> list[int]:
    """Finds the only list of entities ("A, B and C") in a statement.

    Returns:
        Indices of its entities in ``mentions``; empty if there are no lists or several.
    """
    runs: list[list[int]] = []
    for index, (first, second) in enumerate(itertools.pairwise(mentions)):
        words_between = {token.key for token in tokens[first.end : second.start]} - ARTICLES
        if words_between <= {"and"} and first.entities and second.entities:
            if runs and runs[-1][-1] == index:
                runs[-1].append(index + 1)
            else:
                runs.append([index, index + 1])
    return runs[0] if len(runs) == 1 else []
