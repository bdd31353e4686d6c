"""A reader that decides from retrieved text alone: names, and word overlap with one sentence.

Lexical overlap is the classic baseline of textual entailment (V. Jijkoun and M. de Rijke,
Recognizing textual entailment using lexical similarity, PASCAL RTE workshop, 2005): the claim in
a question is held to follow from a sentence that covers enough of its words, each weighed by how
rare it is. On top of it, a sentence must mention every name and number that is asked about; that
is a matter of capitals and digits, nothing is looked up. Meaning beyond words is out of reach: who
flows into whom, that a river has one mouth only, what two sentences say together.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from kg.claims import Gold
from kg.text.normaliser import content_words, words, written_words

DEFAULT_THRESHOLD = 0.5
"""Share of the question's weight that one sentence must cover."""

NEGATIONS = frozenset({"not", "no", "never", "neither", "nor", "none", "cannot", "without"})
_CONTRACTED = re.compile(r"\b[a-z]+n['’]t\b", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """What the reader made of a question.

    Attributes:
        pred: its decision.
        sentence: the sentence that mentions all names and covers most of the question; empty when
            there is none.
        coverage: how much of the question's weight that sentence covers, 0 to 1.
    """

    pred: Gold
    sentence: str = ""
    coverage: float = 0.0


class Weights:
    """How much each word of a question counts, from the texts the reader may read.

    ``idf(w) = ln(1 + (N − n(w) + ½) / (n(w) + ½))``, as in Lucene's BM25, over N sentences. A word
    that occurs nowhere counts fully if it is a name or number, because then something is asked
    about that no text mentions. Otherwise it counts nothing: it is how the question is phrased
    ("empties into"), and no sentence could match it.
    """

    def __init__(self, sentences: Iterable[str]) -> None:
        self._count = 0
        self._holding: Counter[str] = Counter()
        for sentence in sentences:
            self._count += 1
            self._holding.update(set(content_words(sentence)))

    def of(self, asked: Counter[str], names: Collection[str]) -> dict[str, float]:
        """Weight by word, of the words that count.

        Args:
            asked: the question's content words.
            names: those of them that are names or numbers.
        """
        return {
            word: self._idf(word)
            for word in asked
            if word not in NEGATIONS and (self._holding[word] or word in names)
        }

    def _idf(self, word: str) -> float:
        holding = self._holding[word]
        return math.log(1 + (self._count - holding + 0.5) / (holding + 0.5))


class Reader:
    """Reads sentences for the claim in a yes-no question.

    Args:
        threshold: least coverage, 0 to 1, that counts as support.
    """

    def __init__(self, threshold: float = DEFAULT_THRESHOLD) -> None:
        self.threshold = threshold

    def read(self, question: str, sentences: Sequence[str], weights: Weights) -> Reading:
        """Decides.

        Of the sentences that mention all names and numbers of the question, the one with the
        highest coverage speaks. Below the threshold, nothing does: UNKNOWN. Otherwise YES, or NO
        if it is negated where the question is not. If a negated and a plain sentence cover equally
        much, the texts contradict each other: UNKNOWN.
        """
        question = _CONTRACTED.sub("not", question)  # "doesn't" has no content besides
        asked = Counter(content_words(question))
        names = names_in(question)
        counted = weights.of(asked, names)
        if not counted:
            return Reading("UNKNOWN")
        negated = is_negated(question)
        best: dict[bool, Reading] = {}
        for sentence in sentences:
            present = Counter(content_words(sentence))
            if any(present[name] < asked[name] for name in names):
                continue
            agrees = is_negated(sentence) == negated
            covered = coverage(asked, counted, present)
            if agrees not in best or covered > best[agrees].coverage:
                best[agrees] = Reading("YES" if agrees else "NO", sentence, covered)
        if not best:
            return Reading("UNKNOWN")
        chosen = max(best.values(), key=lambda reading: reading.coverage)
        tied = len(best) == 2 and best[True].coverage == best[False].coverage
        if tied or chosen.coverage < self.threshold:
            return Reading("UNKNOWN", chosen.sentence, chosen.coverage)
        return chosen


def names_in(text: str) -> frozenset[str]:
    """The stemmed words that are written with a capital or digit, grammar words left out."""
    return frozenset(
        stemmed
        for token in written_words(text)
        if token[0].isupper() or token[0].isdigit()
        for stemmed in content_words(token)
        if stemmed not in NEGATIONS
    )


def coverage(asked: Counter[str], weights: dict[str, float], present: Counter[str]) -> float:
    """Share of the question's weight that a sentence covers.

    A word asked twice ("Is the Main part of the Main system?") must be there twice to count twice.
    """
    total = math.fsum(weight * asked[word] for word, weight in weights.items())
    found = math.fsum(weight * min(asked[word], present[word]) for word, weight in weights.items())
    return found / total if total else 0.0


def is_negated(text: str) -> bool:
    """Whether a sentence holds a negation."""
    return bool(_CONTRACTED.search(text)) or not NEGATIONS.isdisjoint(words(text))
