"""Finds the words of a passage that state a fact, or that there are none."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate, takewhile
from typing import Final, NamedTuple

import msgspec

from kg.text.documents.language import detect_language
from kg.text.facts.assertions import (
    LANGUAGES,
    asks,
    list_markers,
    may_state,
    pad_statement,
    remove_markers,
    split_clauses,
)
from kg.text.facts.clauses import belongs_together
from kg.text.facts.evidence import SourcePassage
from kg.text.facts.fact import MAX_QUOTE_LENGTH, Fact
from kg.text.facts.relation_words import EMPTY_WORDS, list_stems, stem_verb
from kg.text.facts.surroundings import is_only_mentioned
from kg.text.facts.table_values import find_continued_passages, quote_row
from kg.text.facts.topics import quote_headings
from kg.words.sentences import split_sentences

_PRONOUN: Final = re.compile(
    r" (?:he|she|it|they|his|her|its|their|this|these|er|sie|es|ihre?|seine?) "
)
# "In May 1900 she …", "Although often ill, he …": what has no other name before the subject
_OPENING: Final = re.compile(
    r"\W*[^\W\d_]+(?: (?:[^\W_A-Z][\w-]*|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
    r"))*?(?:, | (?=(?:he|she|it|they) ))"
)
_BY: Final = re.compile(r" (?:by|von|durch) ")
_BY_ENDS: Final = (" by ", " von ", " durch ")
_WORD: Final = re.compile(r"[^\W\d_]+")
_ARTICLE: Final = re.compile(r" (?:the|an?|der|die|das)(?= )")
# "Her father …", "The film's sequel …"
_OWNED: Final = re.compile(
    r" (?:(?:his|her|its|their|ihre?|seine?)|(?:\w+ ){1,4}?s) (?P<owned>\w+)(?= )"
)
# "Ann's father …", "Ann and Bob's father …", after "Ann"
_OWNER: Final = re.compile(r" (?:(?:and|und) (?:\w+ ){1,3}?)?s (?P<owned>\w+)(?= )")
# "was owned by Bo until 1990" does not state "is owned by Bo".
_IS_NOW: Final = re.compile(r" (?:is|are|ist|sind) ")
_WAS_ONCE: Final = re.compile(r" (?:was|were|wurde|wurden|war|waren) ")
_ENDED: Final = re.compile(r" (?:until|now|bis|jetzt|(?:from|between|von) \d+ (?:to|and|bis) \d+) ")
_COPULA: Final = re.compile(r" (?:is|are|was|were) (?:an? |the )?")

_UNSTATED: Final = "whose passage has no sentence that states them"
_IMPLIED: Final = "whose passage names both things together, but not as they are related"
_FOREIGN: Final = "whose passage is neither in English nor in German"


class QuoteChecker:
    """Checks facts against their passages, and finds the sentence that states each.

    A sentence states a fact if its subject ends before its object begins, or if the passage's title
    names the subject and the sentence begins with what stands for it: a pronoun, its kind ("the
    film"), a word of its name, or the verb of the relation. In both cases

    * it has the content words of the relation, with any endings;
    * both are in the clause of the relation, in their roles, see ``clauses``;
    * it is no question or order, and it denies, supposes or reports only what the relation does;
    * the passage is in English or in German, whose words for that are known.

    Args:
        facts: all facts, whose subjects tell what else sentences are about.
        passages: where they come from.
        accept_implied: whether a sentence may lack words of the relation.

    Attributes:
        refused: why facts were refused, and how many were.
    """

    def __init__(
        self,
        facts: Iterable[Fact],
        passages: Iterable[SourcePassage],
        *,
        accept_implied: bool = False,
    ) -> None:
        self._passages = {passage.id: passage for passage in passages}
        self._continued = find_continued_passages(self._passages.values())
        self._accept_implied = accept_implied
        self.refused: Counter[str] = Counter()
        self._compared: dict[str, _ComparedPassage] = {}
        self._names: dict[str, set[str]] = defaultdict(set)
        # A passage that is too short to tell is taken to be in the language of all.
        self._language = detect_language(self._passages[id_].text for id_ in sorted(self._passages))
        small = {
            word
            for passage in self._passages.values()
            for word in _WORD.findall(passage.text)
            if word.islower()
        }
        for fact in facts:
            # Not "The band", and not "Land" where other sentences have "land".
            last = fact.subject.split()[-1:]
            if last and last[0][0].isupper() and last[0].casefold() not in small:
                self._names[fact.chunk_id].add(_strip_article(pad_statement(fact.subject)))

    def iter_quoted_facts(self, facts: Iterable[Fact]) -> Iterator[Fact]:
        """Yields the facts that their passages state, each with its quote."""
        for fact in facts:
            quote, reason = self._find_quote(fact)
            if quote:
                yield msgspec.structs.replace(fact, quote=quote)
            else:
                self.refused[reason] += 1

    def _find_quote(self, fact: Fact) -> tuple[str, str]:
        """Returns the quote, or why there is none."""
        passage = self._passages.get(fact.chunk_id)
        if passage is None:
            return "", _UNSTATED
        if heading := quote_headings(fact, passage.title):
            return heading, ""
        if row := quote_row(fact, passage, goes_on=passage.id in self._continued):
            return row, ""
        compared = self._compared.get(passage.id)
        if compared is None:
            compared = _ComparedPassage.from_passage(passage, self._language)
            self._compared[passage.id] = compared
        if compared.language not in ("", *LANGUAGES):
            return "", _FOREIGN
        claim = _Claim.from_fact(fact, compared.language)
        quote = self._find_statement(fact, claim, compared)
        if quote:
            return quote, ""
        implied = self._find_statement(fact, claim._replace(stems=frozenset()), compared)
        if self._accept_implied:
            return implied, _UNSTATED
        return "", _IMPLIED if implied else _UNSTATED

    def _find_statement(self, fact: Fact, claim: _Claim, compared: _ComparedPassage) -> str:
        quoted = pad_statement(fact.quote) if fact.quote else ""
        sentences = compared.sentences
        candidates: Iterable[int] = range(len(sentences))
        if quoted:
            candidates = compared.list_quoted_sentences(quoted)
        numbers = [
            number
            for number in candidates
            if sentences[number].may_state and claim.target in sentences[number].words
        ]
        for number in numbers:
            sentence = sentences[number]
            if claim.is_stated_by(sentence.text, sentence.words, sentence.cuts):
                is_enough = quoted in sentence.words and claim.is_stated_by(fact.quote, quoted, ())
                return fact.quote if is_enough else sentence.text
        others = [
            name
            for name in self._names[fact.chunk_id]
            if name not in claim.subject and _strip_article(claim.subject) not in name
        ]
        for number in numbers:
            sentence = sentences[number]
            if not claim.is_completed_by(sentence):
                continue
            before = sentences[number - 1] if number else None
            has_pronoun = any(map(_PRONOUN.match, sentence.starts))
            if claim.subject in compared.title_words:
                is_about = has_pronoun or claim.begins(sentence, compared.kind)
                starts = [sentence, before] if has_pronoun and before else [sentence]
                if is_about and not any(_begins_with(one.words, others) for one in starts):
                    return sentence.text
            elif quoted and before and has_pronoun:
                # "Ada Lovelace was born in London. She wrote to Babbage."
                both = before.words + sentence.words
                if _begins_with(before.words, [_strip_article(claim.subject)]) and not any(
                    name in both for name in others
                ):
                    return f"{before.text} {sentence.text}"
        return ""


class _Claim(NamedTuple):
    """A fact in words, see ``pad_statement``."""

    subject: str
    target: str
    relation: str
    markers: list[str]
    """What makes the relation no plain statement."""
    stems: frozenset[str]
    """The stems of what else it says; empty if they do not matter."""
    language: str

    @classmethod
    def from_fact(cls, fact: Fact, language: str) -> _Claim:
        """Prepares a fact of a passage in a language."""
        relation = pad_statement(fact.relation)
        return cls(
            pad_statement(fact.subject),
            pad_statement(fact.object),
            relation,
            list_markers(relation, language),
            frozenset(list_stems(remove_markers(relation, language))),
            language,
        )

    def is_stated_by(self, text: str, words: str, cuts: Iterable[int]) -> bool:
        """Returns whether a sentence names the subject, and after it the object.

        Args:
            text: the sentence.
            words: its words.
            cuts: where its clauses begin.
        """
        position = words.find(self.subject)
        # The words share the space between them.
        start = words.find(self.target, position + len(self.subject) - 1) if position >= 0 else -1
        if start < 0:
            return False
        position = words.rfind(self.subject, 0, start + 1)
        before = words[: position + 1]
        between = words[position + len(self.subject) - 1 : start + 1]
        if self._is_owner(before, between):
            return False
        is_asserted = self._is_asserted(before, between, words, start, cuts)
        return is_asserted and self._is_related(text, words, position, start)

    def _is_related(self, text: str, words: str, position: int, start: int) -> bool:
        """Returns whether a sentence says of its subject that it is related to its object.

        Args:
            text: the sentence.
            words: its words.
            position: where the subject, or what stands for it, begins.
            start: where the object begins.
        """
        length = len(self.subject) if words.startswith(self.subject, position) else 0
        end = position + length - 1 if length else words.find(" ", position + 1)
        before, between = words[: position + 1], words[end : start + 1]
        after = words[start + len(self.target) - 1 :]
        said = (self.relation, self.target)
        if is_only_mentioned(before, between, after, said, self.stems):
            return False
        claim = (self.subject, self.relation, self.target)
        return not self.stems or belongs_together(text, words, (end, start), claim, self.stems)

    def _is_owner(self, before: str, between: str) -> bool:
        """Returns whether something of the subject is spoken of: "Ann's son was born in Rome"."""
        owned = ""
        if owner := _OWNER.match(between):
            owned = owner["owned"]
        elif before.endswith((" of ", " of the ")):
            owned = before
        # Not if the relation says what: "Ann's son is Bo", "The capital of Peru is Lima"
        return bool(owned) and self.stems.isdisjoint(list_stems(owned))

    def is_completed_by(self, sentence: _Sentence) -> bool:
        """Returns whether a sentence about the subject names the object, which is no part of it."""
        for owned in filter(None, map(_OWNED.match, sentence.starts)):
            if stem_verb(owned["owned"]) not in self.stems:
                return False
        words = sentence.words
        if self.target in self.subject:
            words = words.replace(self.subject, f" {'_' * (len(self.subject) - 2)} ")
        start = words.find(self.target)
        if start < 0 or not self._is_asserted("", words[: start + 1], words, start, sentence.cuts):
            return False
        return self._is_related(sentence.text, sentence.words, sentence.find_subject(), start)

    def _is_asserted(
        self, before: str, between: str, words: str, start: int, cuts: Iterable[int]
    ) -> bool:
        """Returns whether a sentence states the relation, and not more or less than that.

        Args:
            before: what is before the subject.
            between: what is between subject and object.
            words: the sentence.
            start: where the object begins.
            cuts: where clauses begin.
        """
        end = start + len(self.target) - 1
        after = words[end : next((cut + 1 for cut in cuts if cut >= end), len(words))]
        # Names may have any words.
        parts = [part.replace(self.subject, " _ ") for part in (before, between, after)]
        early = " _ ".join(parts[:2]) if before else parts[1]
        said = f"{early} _ {parts[2]}"
        is_complete = bool(self.stems) and self.stems <= list_stems(early)
        if between.endswith((" or ", " oder ", " non ")) or after.startswith(
            (" or ", " oder ", " s ")
        ):
            return False
        if _IS_NOW.match(self.relation) and _WAS_ONCE.search(between) and _ENDED.search(words):
            return False
        markers = list_markers(said, self.language, early if is_complete else None)
        if markers != self.markers or asks(said, self.language):
            return False
        if not self.stems:
            return True
        # "Bo founded Acme" and "Bo was founded by Acme" have the same stems.
        is_passive = self.relation.endswith(_BY_ENDS)
        has_agent = _BY.search(between) is not None if is_passive else between.endswith(_BY_ENDS)
        return has_agent == is_passive and self.stems <= list_stems(said)

    def begins(self, sentence: _Sentence, kind: frozenset[str]) -> bool:
        """Returns whether a sentence begins with what stands for the subject, in its passage.

        Args:
            sentence: the sentence.
            kind: the words that say what the subject is.
        """
        first = {word for words in sentence.starts for word in _strip_article(words).split()[:1]}
        known = {*kind, *self.subject.split(), *self.relation.split()} - EMPTY_WORDS
        if not first.isdisjoint(known):
            return True
        # "In 1900 Ann moved", but not "It grew in 1900, when Ann moved"
        early, _, late = sentence.words.partition(self.target)
        is_complete = bool(self.stems) and self.stems <= list_stems(early)
        return self.subject in f" {late}" and not is_complete


class _Sentence(NamedTuple):
    text: str
    words: str
    starts: tuple[str, ...]
    """Its words, and those after what opens it: "In 1900 she …"."""
    start: int
    """Position of ``words`` in the words of the passage."""
    cuts: tuple[int, ...]
    """Positions in ``words`` where clauses begin; see ``split_clauses``."""
    may_state: bool
    """Whether it can state anything; see ``may_state``."""

    def find_subject(self) -> int:
        """Returns where the pronoun or other word begins that the sentence is about."""
        rest = next((one for one in self.starts if _PRONOUN.match(one)), self.words)
        return len(self.words) - len(_strip_article(rest))


class _ComparedPassage(NamedTuple):
    """A passage in words, prepared once for all facts of it."""

    title_words: str
    text_words: str
    sentences: list[_Sentence]
    language: str
    kind: frozenset[str]
    """The words by which its beginning says what it is about: "radio station"."""

    @classmethod
    def from_passage(cls, passage: SourcePassage, language: str) -> _ComparedPassage:
        """Prepares a passage; sentences that are too long for a quote are left out.

        Args:
            passage: the passage.
            language: its language, if its own words do not tell.
        """
        sentences: list[_Sentence] = []
        pieces, length = [" "], 1
        parts = split_sentences(passage.text)
        for part in parts:
            clauses = [
                words for words in map(pad_statement, split_clauses(part)) if _has_word(words)
            ]
            if clauses:
                words = f" {''.join(clause[1:] for clause in clauses)}"
                if len(part) <= MAX_QUOTE_LENGTH:
                    cuts = tuple(accumulate(len(clause) - 1 for clause in clauses[:-1]))
                    opening = _OPENING.match(part)
                    rest = pad_statement(part[opening.end() :]) if opening else ""
                    starts = (words, rest) if _has_word(rest) else (words,)
                    sentences.append(
                        _Sentence(part.strip(), words, starts, length - 1, cuts, may_state(part))
                    )
                pieces.append(words[1:])
                length += len(words) - 1
        # The first sentence may be the heading.
        copulas = (_COPULA.split(one.words, 1) for one in sentences[:2])
        following = next((rest.split() for _, *after in copulas for rest in after), [])
        return cls(
            pad_statement(passage.title),
            "".join(pieces),
            sentences,
            detect_language([passage.text]) or language,
            frozenset(takewhile(lambda word: word not in EMPTY_WORDS, following)),
        )

    def list_quoted_sentences(self, quoted: str) -> list[int]:
        """Returns the numbers of the sentences that a quote is in or has a part of."""
        numbers: list[int] = []
        start = self.text_words.find(quoted)
        while start >= 0:
            end = start + len(quoted)
            numbers += [
                number
                for number, sentence in enumerate(self.sentences)
                if sentence.start < end - 1 and start < sentence.start + len(sentence.words) - 1
            ]
            start = self.text_words.find(quoted, end - 1)
        return numbers


def _strip_article(words: str) -> str:
    return _ARTICLE.sub("", words, count=1) if _ARTICLE.match(words) else words


def _begins_with(words: str, names: Iterable[str]) -> bool:
    """Returns whether a sentence begins with a name, apart from an article."""
    return _strip_article(words).startswith(tuple(names))


def _has_word(words: str) -> bool:
    return any(map(str.isalnum, words))
