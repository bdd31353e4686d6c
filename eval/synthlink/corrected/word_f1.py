"""Computes the F1 of an answer's words.

It compares words, not statements: the words of a right answer in any order have the same F1.
"""

from __future__ import annotations

from collections import Counter

from eval.synthlink.items import Question
from kg.words.normaliser import extract_content_words


def compute_word_f1(answer: str, question: Question) -> float:
    """Computes the F1 of content words with repetitions, against the best reference.

    Precision and recall are those of SQuAD (Rajpurkar et al., EMNLP 2016, §6.1). Words are compared
    in normal form; function words and words of the question are ignored, so that repeating the
    question is not an answer. If all words of a reference are in the question ("Was it A or B?"),
    they all count.

    Args:
        answer: the answer.
        question: the question; its expected answer, aliases and joined facts are the references.

    Returns:
        A value in [0, 1]; 0 for an answer whose words are all in the question.
    """
    question_words = frozenset(extract_content_words(question.question))
    return max(
        _compare_words(answer, reference, question_words) for reference in list_references(question)
    )


def list_references(question: Question) -> tuple[str, ...]:
    """Returns the references: the expected answer, its aliases, and all facts joined in order.

    The joined facts are a reference for answers that give their reasons: compared with the short
    expected answer only, they would lose precision because of their length.
    """
    facts = " ".join(step.fact for step in question.steps if step.fact)
    return tuple(dict.fromkeys([question.answer, *question.aliases, *([facts] if facts else [])]))


def _compare_words(answer: str, reference: str, ignored: frozenset[str]) -> float:
    expected = [word for word in extract_content_words(reference) if word not in ignored]
    if not expected:
        ignored = frozenset()
        expected = extract_content_words(reference)
    predicted = [word for word in extract_content_words(answer) if word not in ignored]
    n_common = (Counter(predicted) & Counter(expected)).total()
    return 2 * n_common / (len(predicted) + len(expected)) if n_common else 0.0
