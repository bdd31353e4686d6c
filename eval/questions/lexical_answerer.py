"""Answers questions from retrieved text alone, by names and word overlap with one sentence.

Lexical overlap is the classic baseline of textual entailment (V. Jijkoun and M. de Rijke,
Recognizing textual entailment using lexical similarity, PASCAL RTE workshop, 2005): the claim in
a question is assumed to follow from a sentence that covers enough of its words, weighted by rarity.
In addition, a sentence must mention every name and number in the question. These are recognised by
capitals and digits; nothing is looked up. The reader does not understand meaning. For example, it
ignores the direction of a relation, does not know that a river has only one mouth, and cannot
combine two sentences.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from kg.claims import Gold
from kg.words.normaliser import extract_content_words, split_cased_words, split_words

DEFAULT_THRESHOLD = 0.5
"""Share of the question's word weight that one sentence must cover."""

NEGATIONS = frozenset({"not", "no", "never", "neither", "nor", "none", "cannot", "without"})
_CONTRACTED_NOT = re.compile(r"\b[a-z]+n['’]t\b", re.IGNORECASE)


@dataclass(frozen=True)
class ReaderDecision:
    """The reader's decision on a question.

    Attributes:
        pred: the answer.
        sentence: the sentence that mentions all names and covers most of the question; empty when
            there is none.
        coverage: share of the question's word weight that the sentence covers, 0 to 1.
    """

    pred: Gold
    sentence: str = ""
    coverage: float = 0.0


class WordWeights:
    """Inverse document frequencies of words, over the sentences that the reader may read.

    ``idf(w) = ln(1 + (N − n(w) + ½) / (n(w) + ½))``, as in Lucene's BM25, where n(w) of N sentences
    contain the word w. A name or number that occurs in no sentence has the full weight, because the
    question then asks about something that no text mentions. Any other word that occurs nowhere has
    no weight: it belongs to the phrasing of the question ("empties into"), and no sentence could
    match it.
    """

    def __init__(self, sentences: Iterable[str]) -> None:
        self._n_sentences = 0
        self._sentence_counts: Counter[str] = Counter()
        for sentence in sentences:
            self._n_sentences += 1
            self._sentence_counts.update(set(extract_content_words(sentence)))

    def weigh_words(self, question_words: Counter[str], names: Collection[str]) -> dict[str, float]:
        """Returns the weight of each question word that has one.

        Args:
            question_words: the question's content words.
            names: the question words that are names or numbers.
        """
        return {
            word: self._compute_idf(word)
            for word in question_words
            if word not in NEGATIONS and (self._sentence_counts[word] or word in names)
        }

    def _compute_idf(self, word: str) -> float:
        n_containing = self._sentence_counts[word]
        return math.log(1 + (self._n_sentences - n_containing + 0.5) / (n_containing + 0.5))


class Reader:
    """Answers yes-no questions from sentences.

    Args:
        threshold: minimum coverage, 0 to 1, that counts as support.
    """

    def __init__(self, threshold: float = DEFAULT_THRESHOLD) -> None:
        self.threshold = threshold

    def answer_question(
        self, question: str, sentences: Sequence[str], weights: WordWeights
    ) -> ReaderDecision:
        """Answers a question from the sentence that covers most of it.

        Only sentences that mention all names and numbers of the question are considered. If the
        highest coverage is below the threshold, the answer is UNKNOWN. Otherwise it is YES if
        sentence and question agree in negation, and NO if only one of them is negated. If an
        agreeing and a disagreeing sentence both have the highest coverage, the texts contradict
        each other and the answer is UNKNOWN.
        """
        # The "does" of "doesn't" has no content, so only the negation is kept.
        question = _CONTRACTED_NOT.sub("not", question)
        question_words = Counter(extract_content_words(question))
        names = find_names(question)
        word_weights = weights.weigh_words(question_words, names)
        if not word_weights:
            return ReaderDecision("UNKNOWN")
        is_question_negated = is_negated(question)
        best_by_agreement: dict[bool, ReaderDecision] = {}
        for sentence in sentences:
            sentence_words = Counter(extract_content_words(sentence))
            if any(sentence_words[name] < question_words[name] for name in names):
                continue
            agrees = is_negated(sentence) == is_question_negated
            coverage = compute_coverage(question_words, word_weights, sentence_words)
            if agrees not in best_by_agreement or coverage > best_by_agreement[agrees].coverage:
                best_by_agreement[agrees] = ReaderDecision(
                    "YES" if agrees else "NO", sentence, coverage
                )
        if not best_by_agreement:
            return ReaderDecision("UNKNOWN")
        decision = max(best_by_agreement.values(), key=lambda candidate: candidate.coverage)
        is_tied = (
            len(best_by_agreement) == 2
            and best_by_agreement[True].coverage == best_by_agreement[False].coverage
        )
        if is_tied or decision.coverage < self.threshold:
            return ReaderDecision("UNKNOWN", decision.sentence, decision.coverage)
        return decision


def find_names(text: str) -> frozenset[str]:
    """Returns the stems of words that begin with a capital or digit, without function words."""
    return frozenset(
        stem
        for token in split_cased_words(text)
        if token[0].isupper() or token[0].isdigit()
        for stem in extract_content_words(token)
        if stem not in NEGATIONS
    )


def compute_coverage(
    question_words: Counter[str], weights: dict[str, float], sentence_words: Counter[str]
) -> float:
    """Returns the share of the question's word weight that a sentence covers.

    A word that the question has twice ("Is the Main part of the Main system?") is covered fully
    only if the sentence has it twice.
    """
    total_weight = math.fsum(weight * question_words[word] for word, weight in weights.items())
    covered_weight = math.fsum(
        weight * min(question_words[word], sentence_words[word]) for word, weight in weights.items()
    )
    return covered_weight / total_weight if total_weight else 0.0


def is_negated(text: str) -> bool:
    """Returns whether a sentence contains a negation."""
    return bool(_CONTRACTED_NOT.search(text)) or not NEGATIONS.isdisjoint(split_words(text))
