"""Decides claims by facts, chain and pages of a question, without a model."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from eval.synthlink.claims.cause_chain import CauseChain
from eval.synthlink.claims.comparison import Match, compare_texts, drop_given_names
from eval.synthlink.claims.consequences import (
    complete_passive,
    find_verb,
    list_consequences,
    make_passive,
)
from eval.synthlink.claims.german_claims import read_german, translate_words
from eval.synthlink.claims.known_words import KnownWords
from eval.synthlink.claims.lexicon import TELLING_FIRST_NAMES, UNTELLING_NAMES
from eval.synthlink.claims.polarity import SOMEBODY, Reading, drop_reason, read_polarity
from eval.synthlink.claims.splitter import ClaimText, split_claims, split_dated_verbs
from eval.synthlink.claims.traits import Traits
from eval.synthlink.claims.words import (
    Word,
    collect_names,
    get_content,
    get_relations,
    is_same,
    is_verb,
    split_text,
)
from eval.synthlink.sentences import list_expected_facts, split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eval.synthlink.corrected.evidence import EvidenceKind, SourcePages
    from eval.synthlink.items import Question, Triple

MAX_CLAIM_WORDS: Final = 120
"""Maximum number of words of a claim that is compared, which bounds the time that it takes."""
_MAX_SENTENCE_WORDS: Final = 120
# What is inserted between two commas after the first words of a sentence.
_INSERTED: Final = re.compile(r"(?<=\w),\s[^,;:]+,\s", re.DOTALL)
_PARTICLES_OF_NAMES: Final = frozenset(("von", "van", "de"))
_TOO_MANY_MISSING: Final = 2
# A name, and what it has to do with: "BASF: synthetic indigo, 1897".
_LABEL: Final = re.compile(r"[A-ZÄÖÜ0-9][^:;,.→]{1,60}:\s[^:;→]{3,80}")
_PARTICLES: Final = frozenset(("out", "up", "on", "off", "over"))
_UNDOING: Final = frozenset(("prevent", "end", "repeal", "ban", "refute", "lose", "ruin"))
"""Relations that a mere name and thing do not say."""
_REPORTING: Final = frozenset(("that", "whether", "if", "dass", "daß", "ob"))

Verdict = Literal["supported", "contradicted", "not found", "open"]


class Decision(NamedTuple):
    """What the evidence says of a claim."""

    verdict: Verdict
    by: Literal["facts", "pages", "form"] = "facts"


_OPEN: Final = Decision("open")


class Stated(NamedTuple):
    """What a claim says of the facts of the steps."""

    facts: frozenset[str] = frozenset()
    """Clauses of facts that it states."""
    wrong: frozenset[str] = frozenset()
    """Clauses of facts that it denies or contradicts."""
    triples: frozenset[Triple] = frozenset()
    wrong_triples: frozenset[Triple] = frozenset()


class _Sentence:
    """A sentence of the evidence, and what follows from it."""

    def __init__(self, text: str, words: list[Word], kind: EvidenceKind) -> None:
        self.text = text
        self.words = words
        self.kind = kind
        self._keys = {word.key for word in words}
        self._consequences: list[list[Word]] | None = None

    def count_missing(self, claim: Sequence[Word]) -> int:
        """Counts the words of a claim that the sentence does not have, up to two.

        With one, the claim may say the opposite; with two, the sentence decides nothing.
        """
        count = 0
        for word in claim:
            if word.key in self._keys or any(is_same(word, other) for other in self.words):
                continue
            count += 1
            if count == _TOO_MANY_MISSING:
                break
        return count

    def list_consequences(self) -> list[list[Word]]:
        """Returns what follows from the sentence, without the sentence itself."""
        if self._consequences is None:
            self._consequences = list_consequences(self.words)[1:]
        return self._consequences


class ClaimDecider:
    """The evidence on one question, in the form in which claims are compared with it.

    Args:
        question: the question; its facts, triples and expected answers are evidence.
        pages: source pages that are evidence too; None for none.
    """

    def __init__(self, question: Question, pages: SourcePages | None) -> None:
        facts = [step.fact for step in question.steps if step.fact]
        answers = [question.answer, *question.aliases]
        found = pages.find_pages(question) if pages is not None else ()
        titles = [source.title for source in question.sources] + [page.title for page in found]
        triples = [part for triple in question.triples for part in triple]
        page_texts = [page.text for page in found]
        texts = [question.question, *facts, *answers, *titles, *page_texts]
        self._names = collect_names(texts)
        self._sentences: list[_Sentence] = []
        self._add_sentences([*facts, *answers], "facts")
        self._add_sentences(page_texts, "pages")
        split = [split_text(text, self._names) for text in (question.question, *titles)]
        split += [sentence.words for sentence in self._sentences]
        self._given_names = {
            (first.key, second.key)
            for words in split[1:]
            for first, second in _iter_neighbours(words)
            if first.kind == second.kind == "name"
            and first.key not in TELLING_FIRST_NAMES
            and second.key not in UNTELLING_NAMES
        }
        # "Adolf von Baeyer" is called Baeyer.
        self._given_names |= {
            pair
            for words in split[1:]
            for first, particle, last in zip(words, words[1:], words[2:], strict=False)
            if first.kind == last.kind == "name" and particle.key in _PARTICLES_OF_NAMES
            for pair in ((first.key, particle.key), (particle.key, last.key))
        }
        split += [split_text(text.replace("-", " ")) for text in triples]
        self.known = KnownWords(split)
        self._facts = [
            (clause, split_text(clause, self._names))
            for fact in list_expected_facts(question).values()
            for clause in split_fact(fact)
        ]
        self._triples = question.triples
        self._chain = CauseChain(question, self._names)
        self._traits = Traits(question, self._names)
        self.has_pages = bool(found)

    def _add_sentences(self, texts: Iterable[str], kind: EvidenceKind) -> None:
        for text in texts:
            for sentence in _iter_statements(text, with_clauses=True):
                words = split_text(sentence, self._names)
                if len(words) <= _MAX_SENTENCE_WORDS:
                    self._sentences.append(_Sentence(sentence, words, kind))

    def decide(self, claim: ClaimText) -> Decision:
        """Returns what facts, chain and pages say of a claim; open if they are not sure."""
        if claim.is_list:
            return Decision("not found", "form")
        claim = claim._replace(text=claim.plain)
        reading, words = self.read(claim)
        if len(words) > MAX_CLAIM_WORDS or claim.is_retracted:
            return _OPEN
        decision = self._decide_reading(reading, words, claim.context)
        head = drop_reason(claim.text) if decision.verdict == "open" else ""
        if head:
            decision = self._decide_reading(*self.read(claim._replace(text=head)), claim.context)
        if decision.verdict == "open" and claim.german:
            decision = self._decide_german(reading, words, claim.context)
        if decision.verdict == "open" and claim.resolved:
            named = claim._replace(text=claim.resolved, context="")
            decision = self._decide_reading(*self.read(named), "")
        if decision.verdict != "open":
            return decision
        if reading.polarity != "denied":
            # What the evidence itself says word for word is supported, also if it says "almost".
            for sentence in self._sentences:
                if sentence.text.strip() == claim.text:
                    return Decision("supported", sentence.kind)
        if self.known.has_new_word(claim.text, claim.sentence or claim.text, self._names):
            return Decision("not found", "pages" if self.has_pages else "facts")
        return decision

    def read(self, claim: ClaimText) -> tuple[Reading, list[Word]]:
        """Returns whether a claim is asserted or denied, and its words as if it was asserted."""
        reading = read_polarity(claim.text)
        return reading, split_text(reading.text, self._names, german=claim.german)

    def _decide_reading(self, reading: Reading, words: list[Word], context: str) -> Decision:
        if reading.polarity == "unclear":
            return _OPEN
        is_denied = reading.polarity == "denied"
        decision = self._decide_asserted(reading.text, words, context)
        if not is_denied:
            return decision
        # To deny what is wrong is right, but it says nothing that the evidence states.
        is_stated = decision.verdict == "supported"
        return decision._replace(verdict="contradicted") if is_stated else _OPEN

    def _decide_german(self, reading: Reading, words: list[Word], context: str) -> Decision:
        """Decides a German claim by its English readings, of which one may be supported.

        Who did what is not sure enough in German to hold that a reading reverses the evidence.
        """
        if reading.polarity == "unclear" or _is_hedged(words):
            return _OPEN
        before = translate_words(split_text(context, self._names, german=True), self.known.words)
        for english in read_german(words, self.known.words):
            decision = self._decide_words(english, before)
            if decision.verdict == "supported":
                is_denied = reading.polarity == "denied"
                return decision._replace(verdict="contradicted") if is_denied else decision
        return _OPEN

    def _decide_words(self, words: Sequence[Word], context: Sequence[Word]) -> Decision:
        """Decides a claim in translation, of which only the words are known."""
        text = " ".join(word.text for word in words)
        is_forward = self._chain.find_link(text).direction == "forward"
        if is_forward or self._traits.compare(words, self._given_names).finding == "supported":
            return Decision("supported")
        return self._compare_sentences(words, context)

    def _decide_asserted(self, text: str, words: list[Word], context: str) -> Decision:
        """Decides a claim as if it was asserted."""
        is_plain = _is_plain(text, words)
        link = self._chain.find_link(text)
        if is_plain and link.direction != "open" and not _is_hedged(words):
            return Decision("supported" if link.direction == "forward" else "contradicted")
        trait = self._traits.compare(words, self._given_names).finding
        if is_plain and trait != "open":
            return Decision(trait)
        decision = self._compare_sentences(words, self._read_context(context))
        if decision.verdict == "open":
            is_somebody = words[:1] and words[0].text == SOMEBODY
            passive = make_passive(words) if is_somebody else complete_passive(words)
            if passive:
                decision = self._compare_sentences(passive, self._read_context(context))
        if decision.verdict == "open" and _LABEL.fullmatch(text) and not any(map(is_verb, words)):
            return self._compare_label(text)
        return decision

    def _compare_label(self, text: str) -> Decision:
        """Decides "X: Y, 1897", which says of X what a sentence says with some verb."""
        who, _, what = text.partition(":")
        first, second = (split_text(part, self._names) for part in (who, f"… {what}"))
        for sentence in self._sentences:
            verb = find_verb(sentence.words)
            if verb is None or get_relations(sentence.words[verb].key) & _UNDOING:
                continue
            end = verb + 1
            while end < len(sentence.words) and sentence.words[end].key in _PARTICLES:
                end += 1
            decision = self._compare_sentence(
                [*first, *sentence.words[verb:end], *second], sentence, ()
            )
            if decision.verdict == "supported":
                return decision
        return _OPEN

    def _compare_sentences(self, words: Sequence[Word], context: Sequence[Word]) -> Decision:
        """Compares a claim, read as an assertion, with the sentences of the evidence."""
        contradicted: Decision | None = None
        for sentence in self._sentences:
            decision = self._compare_sentence(words, sentence, context)
            if decision.verdict == "supported":
                return decision
            if decision.verdict == "contradicted" and contradicted is None:
                contradicted = decision
        return contradicted or _OPEN

    def _compare_sentence(
        self, words: Sequence[Word], sentence: _Sentence, context: Sequence[Word]
    ) -> Decision:
        """Compares a claim with a sentence of the evidence and what follows from it."""
        named = drop_given_names(words, self._given_names)
        content = [word for word in get_content(named) if word.kind != "number"]
        n_missing = sentence.count_missing(content)
        if n_missing == _TOO_MANY_MISSING:
            return _OPEN
        statements = [sentence.words]
        if content and not n_missing:
            statements += sentence.list_consequences()
        outcomes = set()
        for statement in statements:
            match = self._compare(words, statement, context)
            if match.outcome == "supported":
                return Decision("supported", sentence.kind)
            outcomes.add(match.outcome)
        return Decision("contradicted", sentence.kind) if "contradicted" in outcomes else _OPEN

    def find_stated(self, claim: ClaimText) -> Stated:
        """Returns which facts and triples a claim states or contradicts."""
        claim = claim._replace(text=claim.plain)
        reading, words = self.read(claim)
        if (
            claim.is_list
            or claim.is_retracted
            or reading.polarity == "unclear"
            or len(words) > MAX_CLAIM_WORDS
        ):
            return Stated()
        # A claim that says more than a fact states it, if all that it says is right.
        decision = self._decide_asserted(reading.text, words, claim.context)
        is_supported = reading.polarity == "asserted" and decision.verdict == "supported"
        stated: set[str] = set()
        wrong: set[str] = set()
        context = self._read_context(claim.context)
        for fact, fact_words in self._facts:
            match = self._compare(words, fact_words, context)
            if match.outcome == "contradicted":
                wrong.add(fact)
            elif match.has_all and (match.outcome == "supported" or is_supported):
                stated.add(fact)
        triples: set[Triple] = set()
        wrong_triples: set[Triple] = set()
        if not _is_plain(reading.text, words):
            is_denied = reading.polarity == "denied"
            return (
                Stated(wrong=frozenset(stated))
                if is_denied
                else Stated(frozenset(stated), frozenset(wrong))
            )
        trait = self._traits.compare(words, self._given_names)
        link = self._chain.find_link(reading.text)
        if trait.finding == "supported":
            triples |= trait.triples
        elif trait.finding == "contradicted":
            wrong_triples |= trait.triples
        if link.direction != "open" and link.edge is not None and not _is_hedged(words):
            edges = {triple for triple in self._triples if (triple[0], triple[2]) == link.edge}
            (triples if link.direction == "forward" else wrong_triples).update(edges)
        if reading.polarity == "denied":
            return Stated(wrong=frozenset(stated), wrong_triples=frozenset(triples))
        return Stated(
            frozenset(stated), frozenset(wrong), frozenset(triples), frozenset(wrong_triples)
        )

    def _read_context(self, context: str) -> Sequence[Word]:
        return split_text(context, self._names) if context else ()

    def _compare(
        self, words: Sequence[Word], evidence: Sequence[Word], context: Sequence[Word]
    ) -> Match:
        return compare_texts(words, evidence, context, self._given_names)


def split_fact(fact: str) -> list[str]:
    """Returns the clauses of a fact; an answer states the fact if it states all of them."""
    return [claim.text for claim in split_claims(fact)]


def _iter_statements(text: str, *, with_clauses: bool) -> Iterator[str]:
    """Yields the sentences of the evidence, their clauses, and both without what is inserted."""
    seen = set()
    for _, sentence in split_sentences(text):
        clauses = (
            [claim.text for claim in split_claims(sentence) if not claim.context]
            if with_clauses
            else []
        )
        for statement in (sentence, *clauses, *split_dated_verbs(sentence)):
            for variant in (statement, _INSERTED.sub(" ", statement)):
                if variant not in seen:
                    seen.add(variant)
                    yield variant


def _is_plain(text: str, words: Sequence[Word]) -> bool:
    """Returns whether a claim says itself what it says: nothing is reported, or titled."""
    return ":" not in text and not any(word.key in _REPORTING for word in words)


def _is_hedged(words: Sequence[Word]) -> bool:
    return any(word.kind in ("hedge", "negation") for word in words)


def _iter_neighbours(words: Sequence[Word]) -> Iterable[tuple[Word, Word]]:
    return (
        (first, second)
        for first, second in itertools.pairwise(words)
        if second.start - first.start - len(first.text) == 1
    )
