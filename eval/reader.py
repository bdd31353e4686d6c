"""Answers questions from retrieved text alone, by names and word overlap with one sentence.

Lexical overlap is the classic baseline of textual entailment (V. Jijkoun and M. de Rijke,
Recognizing textual entailment using lexical similarity, PASCAL RTE workshop, 2005): the claim in
a question is assumed to follow from a sentence that covers enough of its words, weighted by rarity.
In addition, a sentence must mention every name and number in the question; these are recognised
by capitals and digits, nothing is looked up. The reader does not understand meaning: the direction
of a relation, that a river has only one mouth, or what follows from two sentences together.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from kg.claims import Gold
from kg.text.normaliser import extract_content_words, split_cased_words, split_words

DEFAULT_THRESHOLD = 0.5
"""Share of the question's word weight that one sentence must cover."""

NEGATIONS = frozenset({"not", "no", "never", "neither", "nor", "none", "cannot", "without"})
_CONTRACTED = re.compile(r"\b[a-z]+n['’]t\b", re.IGNORECASE)


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

    ``idf(w) = ln(1 + (N − n(w) + ½) / (n(w) + ½))``, as in Lucene's BM25, over N sentences. A name
    or number that occurs in no sentence has the full weight, because the question then asks about
    something that no text mentions. Any other word that occurs nowhere has no weight: it belongs to
    the phrasing of the question ("empties into"), and no sentence could match it.
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
        holding = self._sentence_counts[word]
        return math.log(1 + (self._n_sentences - holding + 0.5) / (holding + 0.5))


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
        sentence and question agree in negation, and NO if only one of them is negated. If the best
        agreeing and the best disagreeing sentence tie, the texts contradict each other: UNKNOWN.
        """
        question = _CONTRACTED.sub("not", question)  # "doesn't": only the negation has content
        question_words = Counter(extract_content_words(question))
        names = find_names(question)
        counted = weights.weigh_words(question_words, names)
        if not counted:
            return ReaderDecision("UNKNOWN")
        negated = is_negated(question)
        best: dict[bool, ReaderDecision] = {}
        for sentence in sentences:
            sentence_words = Counter(extract_content_words(sentence))
            if any(sentence_words[name] < question_words[name] for name in names):
                continue
            agrees = is_negated(sentence) == negated
            covered = compute_coverage(question_words, counted, sentence_words)
            if agrees not in best or covered > best[agrees].coverage:
                best[agrees] = ReaderDecision("YES" if agrees else "NO", sentence, covered)
        if not best:
            return ReaderDecision("UNKNOWN")
        chosen = max(best.values(), key=lambda reading: reading.coverage)
        tied = len(best) == 2 and best[True].coverage == best[False].coverage
        if tied or chosen.coverage < self.threshold:
            return ReaderDecision("UNKNOWN", chosen.sentence, chosen.coverage)
        return chosen


def find_names(text: str) -> frozenset[str]:
    """Returns the stems of words that begin with a capital or digit, without function words."""
    return frozenset(
        stemmed
        for token in split_cased_words(text)
        if token[0].isupper() or token[0].isdigit()
        for stemmed in extract_content_words(token)
        if stemmed not in NEGATIONS
    )


def compute_coverage(
    question_words: Counter[str], weights: dict[str, float], sentence_words: Counter[str]
) -> float:
    """Returns the share of the question's word weight that a sentence covers.

    A word that the question has twice ("Is the Main part of the Main system?") is covered fully
    only if the sentence has it twice.
    """
    total = math.fsum(weight * question_words[word] for word, weight in weights.items())
    found = math.fsum(
        weight * min(question_words[word], sentence_words[word]) for word, weight in weights.items()
    )
    return found / total if total else 0.0


def is_negated(text: str) -> bool:
    """Returns whether a sentence contains a negation."""
    return bool(_CONTRACTED.search(text)) or not NEGATIONS.isdisjoint(split_words(text))
