"""Reads the claims of statements in a model's running text, with the question parser.

A statement differs from a question in four ways: a negation clearly denies the claim, it may begin
with connecting words ("However, it is well known that …"), it may leave out a subject that was just
named ("… and flows into the North Sea", "It flows …"), and it may list several entities ("flows
through Germany and France").

What cannot be read surely is not read: a name counts as the subject only where the grammar leaves
no other ("the river that joins the Aare flows into the Rhine" says nothing of the Aare).
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence
from typing import Literal, NamedTuple

from eval.questions.mentions import (
    ARTICLES,
    Mention,
    Token,
    is_capitalised,
    tokenise_text,
)
from eval.questions.parser import MAX_READINGS, ClaimParser, ParseFailure, Reading
from eval.questions.question import replace_mentions
from eval.questions.subjects import SubjectGrammar, has_subordinator, is_possessive
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
# A comma between two words, and the word that stands for it in the tokens of a list.
_COMMA = re.compile(r",(?=\s)")
_COMMA_WORD = "zzcommazz"
_LIST_MARK = re.compile(r"\s*(?:[-*•+>|#]+\s+|\d{1,3}[.)]\s+|\(?[a-z]\)\s+)", re.IGNORECASE)


class Statement(NamedTuple):
    """The claims of a statement: it asserts all of them or, if negated, denies all of them.

    ``claims`` has one entry per claim; each entry has one claim per combination of homonyms.
    """

    claims: tuple[tuple[Claim, ...], ...]
    negated: bool
    """Whether the statement denies its claims."""
    subject: str
    """IRI of the entity that a pronoun in the next clause refers to; empty if unclear."""
    omissible: bool
    """Whether this entity is the grammatical subject, which "… and flows into" leaves out."""
    is_open: bool = False
    """Whether it ends with a list that has no "and" yet, and so may go on after it."""


class StatementReader:
    """Reads statements about one knowledge base."""

    def __init__(self, parser: ClaimParser) -> None:
        self._parser = parser
        self._subjects = SubjectGrammar(parser.type_mentions, parser.verb_stems)

    def read_statement(self, text: str, subject: str = "") -> Statement | ParseFailure:
        """Reads the claims of a statement, or returns the reason why it cannot.

        Args:
            text: one clause.
            subject: name of the entity that "it" or "which" refers to, or that is left out; else
                empty.
        """
        clause = _remove_lead(_clean_clause(text))
        if denied_claims := self._parser.parse_denial(clause):
            tokens = tokenise_text(clause)
            mentions = self._parser.mention_index.find_mentions(tokens)
            return self._build_statement((Reading(denied_claims),), True, tokens, mentions)
        positive, negated = _remove_negation(clause)
        if positive is None:
            return ParseFailure("it is negated more than once")
        pronoun = _PRONOUN.match(positive) if subject else None
        if subject:
            positive = _insert_subject(positive, subject, pronoun)
        tokens = tokenise_text(positive)
        mentions = self._parser.mention_index.find_mentions(tokens)
        if problem := self._subjects.explain_unclear_subject(tokens, mentions):
            return ParseFailure(problem)
        reading = self._parser.parse_question(positive)
        is_open = False
        if isinstance(reading, ParseFailure):
            readings = self._read_as_question(tokens, mentions)
            if not readings:
                readings, is_open = self._read_list(positive)
            if not readings:
                return reading
        else:
            readings = (reading,)
        claims = [claim for parsed_reading in readings for claim in parsed_reading.claims]
        if subject and not any(map(self._parser.has_matching_classes, claims)):
            return ParseFailure("its subject may be another than that of the clause before")
        if wrong_type := self._parser.type_mentions.find_wrong_type(tokens, mentions, claims):
            return ParseFailure(
                f"nothing in the graph says that what it calls “{wrong_type}” is one"
            )
        statement = self._build_statement(readings, negated, tokens, mentions)
        statement = statement._replace(is_open=is_open)
        if pronoun and pronoun["its"]:
            # "Its mouth is …" keeps the topic, though the subject is the mouth.
            entities = mentions[0].entities
            topic = entities[0] if len(entities) == 1 else ""
            return statement._replace(subject=topic, omissible=False)
        return statement

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
            and is_capitalised(tokens[last_mention.start :])
        )
        return last_mention.entities[0] if last_mention is not None and is_unique else ""

    def is_name(self, text: str) -> bool:
        """Whether a text is nothing but the name of an entity, after "and" or an article."""
        tokens = tokenise_text(_remove_lead(_clean_clause(text)))
        mentions = self._parser.mention_index.find_mentions(tokens)
        mention = mentions[0] if len(mentions) == 1 else Mention(0, 0)
        return (
            bool(mention.entities)
            and mention.end == len(tokens)
            and self._subjects.begins_statement(tokens, mention)
        )

    def find_leading_subject(self, text: str) -> str:
        """Finds the entity that begins a clause and is followed by its verb.

        So the subject of a clause that cannot be parsed ("The Rhine rises in a glacier") can be
        clear. Returns an empty string if it is not.
        """
        tokens = tokenise_text(_remove_lead(_clean_clause(text)))
        mentions = self._parser.mention_index.find_mentions(tokens)
        if not mentions or len(mentions[0].entities) != 1 or has_subordinator(tokens):
            return ""
        is_subject = self._subjects.begins_statement(
            tokens, mentions[0]
        ) and self._subjects.begins_with_verb(tokens[mentions[0].end :])
        return mentions[0].entities[0] if is_subject else ""

    def is_clause(self, text: str) -> bool:
        """Whether a text has a finite verb, and no clause inside that the verb may belong to."""
        tokens = tokenise_text(text)
        return not has_subordinator(tokens) and self._subjects.has_finite_verb(tokens)

    def continues_clause(self, text: str, before: str) -> Literal["verb", "list", ""]:
        """Whether a part of a sentence continues the clause before it, with the same subject.

        It does so with a verb ("and flows into …"), or with a name of a list ("and Germany").

        Args:
            text: the part.
            before: the part before it.
        """
        tokens = tokenise_text(_remove_lead(_clean_clause(text)))
        if has_subordinator(tokens):
            return ""
        if self._subjects.begins_with_verb(tokens):
            return "verb"
        is_list = is_capitalised(tokenise_text(before)[-1:]) and all(
            token.key in ARTICLES | {"and"} or is_capitalised((token,)) for token in tokens
        )
        return "list" if is_list else ""

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
        self,
        readings: Sequence[Reading],
        negated: bool,
        tokens: Sequence[Token],
        mentions: Sequence[Mention],
    ) -> Statement:
        claims = tuple(reading.claims for reading in readings)
        names = [mention for mention in mentions if mention.entities]
        # The subject is named first, and all claims are about it. Where other names follow, it
        # must begin the statement: "A tributary of the Rhine is the Aare" has another subject.
        candidates = [
            iri
            for iri in (names[0].entities if names else ())
            if all(any(iri in (claim.subj, claim.obj) for claim in group) for group in claims)
        ]
        is_subject = len(names) == 1 or (
            len(candidates) == 1
            and self._subjects.begins_statement(tokens, names[0])
            and not is_possessive(tokens, names[0])
        )
        subject = candidates[0] if is_subject and len(candidates) == 1 else ""
        return Statement(claims, negated ^ readings[0].inverted, subject, bool(subject))

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

    def _read_list(self, text: str) -> tuple[tuple[Reading, ...], bool]:
        """Reads a statement once for each entity of its only list; empty if that fails.

        Also returns whether the list has no "and", and so may go on after the statement.
        """
        tokens = tokenise_text(_COMMA.sub(f" {_COMMA_WORD}", text))
        mentions = self._parser.mention_index.find_mentions(tokens)
        listed = _find_list(tokens, mentions)
        if not 2 <= len(listed) <= MAX_LISTED_ENTITIES:
            return (), False
        is_open = not any(t.key == "and" for t in tokens[listed[-2].end : listed[-1].start])
        if is_open and listed[-1].end < len(tokens):
            return (), False
        later_names = [m for m in mentions if m.entities and m.start >= listed[-1].end]
        # "The Rhine and the Elbe flow": a list that is the subject needs a verb in the plural.
        # "From the Rhine and the Elbe flows" has another subject.
        if (
            self._subjects.begins_statement(tokens, listed[0])
            and self._subjects.find_verb_number(tokens, listed[-1], later_names) != "plural"
        ):
            return (), False
        readings = []
        for mention in listed:
            statement_tokens = [
                *tokens[: listed[0].start],
                *tokens[mention.start : mention.end],
                *tokens[listed[-1].end :],
            ]
            words = [t.text for t in statement_tokens if t.key not in ("both", _COMMA_WORD)]
            reading = self._parser.parse_question(" ".join(words))
            if isinstance(reading, ParseFailure) or len(reading.claims) > MAX_READINGS:
                return (), False
            readings.append(reading)
        return tuple(readings), is_open


def _clean_clause(text: str) -> str:
    """Removes markup, list marks and invisible characters, and expands contracted negations."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(char for char in text if unicodedata.category(char) != "Cf")
    text = _MARKUP.sub("", _LIST_MARK.sub("", text, count=1) if _LIST_MARK.match(text) else text)
    text = _JOINED_NOT.sub(lambda match: "can not" if match.group() == "cannot" else " not", text)
    return text.strip(' \t\r\n.,;:!"“”«»„()[]')


def _remove_lead(clause: str) -> str:
    """Removes connecting words at the beginning."""
    lead = _LEADS.match(clause)
    return clause[lead.end() :] if lead else clause


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


def _insert_subject(text: str, subject: str, pronoun: re.Match[str] | None) -> str:
    """Inserts the subject into a statement that leaves it out or has a pronoun."""
    if pronoun:
        owner = subject + "'s" if pronoun["its"] else subject
        return owner + text[pronoun.end() :]
    return f"{subject} {text}"


def _find_list(tokens: Sequence[Token], mentions: Sequence[Mention]) -> list[Mention]:
    """Finds the only list of entities ("A, B and C") in a statement.

    Returns:
        Its entities; empty if there are no lists or several, or if a comma follows its last one, as
        in "From A and B, C flows".
    """
    runs: list[list[Mention]] = []
    has_last = False
    for first, second in itertools.pairwise(mentions):
        words_between = {token.key for token in tokens[first.end : second.start]} - ARTICLES
        is_joined = words_between and words_between <= {"and", _COMMA_WORD}
        if is_joined and first.entities and second.entities:
            is_last = "and" in words_between
            if runs and runs[-1][-1] is first:
                if has_last and not is_last:
                    return []
                runs[-1].append(second)
            else:
                runs.append([first, second])
            has_last = is_last
    return runs[0] if len(runs) == 1 else []
