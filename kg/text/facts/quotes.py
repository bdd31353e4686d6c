"""Finds the words of a passage that state a fact, or that there are none."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from kg.text.facts.evidence import SourcePassage, pad_words
from kg.text.facts.fact import MAX_QUOTE_LENGTH, Fact
from kg.words.sentences import split_sentences

# English and German, between the spaces of ``pad_words``: "didn't" is "didn t" there, and "No. 5"
# is "no 5".
_NEGATION: Final = re.compile(
    r" (?:not|never|no|neither|nor|none|nobody|cannot|without|nicht|nie|niemals|kein\w*|weder|ohne|"
    r"(?:is|are|was|were|do|does|did|has|have|had|wo|would|ca|could|should)n t)"
    r"(?= (?!only |just |merely |least |until |later |less |fewer |nur |\d))"
)
_LATE_NEGATION: Final = re.compile(r"(?:nicht|nie|niemals) ")
_PRONOUN: Final = re.compile(
    r" (?:he|she|it|they|his|her|its|their|this|these|er|sie|es|ihre?|seine?) "
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_ARTICLE: Final = re.compile(r" (?:the|an?|der|die|das)(?= )")


class QuoteChecker:
    """Checks facts against their passages, and finds the sentence that states each.

    A sentence states a fact if its subject ends before its object begins, or if the passage's title
    names the subject and the sentence does not begin with the name of another subject. Neither
    states it if only one of fact and sentence has a negation, as in "She never lived in Paris".

    Args:
        facts: all facts, whose subjects tell what else sentences are about.
        passages: where they come from.
    """

    def __init__(self, facts: Iterable[Fact], passages: Iterable[SourcePassage]) -> None:
        self._passages = {passage.id: passage for passage in passages}
        self._compared: dict[str, _ComparedPassage] = {}
        self._names: dict[str, set[str]] = defaultdict(set)
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
                self._names[fact.chunk_id].add(_strip_article(pad_words(fact.subject)))

    def iter_quoted_facts(self, facts: Iterable[Fact]) -> Iterator[Fact]:
        """Yields the facts that their passages state, each with its quote."""
        for fact in facts:
            quote = self._find_quote(fact)
            if quote:
                yield msgspec.structs.replace(fact, quote=quote)

    def _find_quote(self, fact: Fact) -> str:
        passage = self._passages.get(fact.chunk_id)
        if passage is None:
            return ""
        compared = self._compared.get(passage.id)
        if compared is None:
            compared = self._compared[passage.id] = _ComparedPassage.from_passage(passage)
        claim = _Claim(
            pad_words(fact.subject),
            pad_words(fact.object),
            _NEGATION.search(pad_words(fact.relation)) is not None,
        )
        quoted = pad_words(fact.quote) if fact.quote else ""
        sentences = compared.sentences
        candidates: Iterable[int] = range(len(sentences))
        if quoted:
            candidates = compared.list_quoted_sentences(quoted)
        numbers = [number for number in candidates if claim.target in sentences[number].words]
        for number in numbers:
            text, words, _ = sentences[number]
            if claim.is_stated_by(words):
                return fact.quote if quoted in words and claim.is_stated_by(quoted) else text
        others = [
            name
            for name in self._names[fact.chunk_id]
            if name not in claim.subject and _strip_article(claim.subject) not in name
        ]
        for number in numbers:
            text, words, _ = sentences[number]
            if claim.subject in compared.title_words:
                if claim.is_completed_by(words) and not _begins_with(words, others):
                    return text
            elif quoted and number and _PRONOUN.match(words) and claim.is_completed_by(words):
                # "Ada Lovelace was born in London. She wrote to Babbage."
                before = sentences[number - 1]
                both = before.words + words
                if _begins_with(before.words, [_strip_article(claim.subject)]) and not any(
                    name in both for name in others
                ):
                    return f"{before.text} {text}"
        return ""


class _Claim(NamedTuple):
    """A fact in words, see ``pad_words``."""

    subject: str
    target: str
    is_negated: bool

    def is_stated_by(self, words: str) -> bool:
        """Returns whether a sentence names the subject, and after it the object."""
        position = words.find(self.subject)
        # The words share the space between them.
        start = words.find(self.target, position + len(self.subject) - 1) if position >= 0 else -1
        if start < 0:
            return False
        position = words.rfind(self.subject, 0, start + 1)
        # What is said before the subject matters in "it is not true that …".
        before = words[: position + 1]
        said = words if before.endswith(" that ") else words[position + len(self.subject) - 1 :]
        return self._agrees_in_negation(said, start - len(words) + len(said))

    def is_completed_by(self, words: str) -> bool:
        """Returns whether a sentence about the subject names the object, which is no part of it."""
        if self.target in self.subject:
            words = words.replace(self.subject, " " * len(self.subject))
        start = words.find(self.target)
        return start >= 0 and self._agrees_in_negation(words, start)

    def _agrees_in_negation(self, words: str, start: int) -> bool:
        """Returns whether words are negated as the fact is: before the object, in German after."""
        end = start + len(self.target)
        is_negated = _NEGATION.search(words, 0, start + 1) or _LATE_NEGATION.match(words, end)
        return (is_negated is not None) == self.is_negated


class _Sentence(NamedTuple):
    text: str
    words: str
    start: int
    """Position of ``words`` in the words of the passage."""


class _ComparedPassage(NamedTuple):
    """A passage in words, prepared once for all facts of it."""

    title_words: str
    text_words: str
    sentences: list[_Sentence]

    @classmethod
    def from_passage(cls, passage: SourcePassage) -> _ComparedPassage:
        """Prepares a passage; sentences that are too long for a quote are left out."""
        sentences: list[_Sentence] = []
        pieces, length = [" "], 1
        for part in split_sentences(passage.text):
            words = pad_words(part)
            if any(map(str.isalnum, words)):
                if len(part) <= MAX_QUOTE_LENGTH:
                    sentences.append(_Sentence(part.strip(), words, length - 1))
                pieces.append(words[1:])
                length += len(words) - 1
        return cls(pad_words(passage.title), "".join(pieces), sentences)

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
