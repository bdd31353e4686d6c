"""Finds verdicts, abstentions, doubt and silence of the sources in the sentences of a reply."""

from __future__ import annotations

from typing import Literal, NamedTuple

from eval.replies.lexicon import Lexicon, Sign, load_lexicon
from eval.replies.sentences import Clause, Sentence, split_sentences

Pred = Literal["YES", "NO", "UNKNOWN", "INVALID"]
_VERDICTS = ("YES", "NO")
_MAX_LEADS = 4
_STRONG_SEPARATORS = frozenset((":", "(", "-", "--", "‒", "–", "—", "―"))
"""Separators after which a clause is read on its own."""


class Signs(NamedTuple):
    """The signs that a text contains about the question."""

    yes: bool = False
    no: bool = False
    abstains: bool = False
    silent: bool = False
    doubts: bool = False
    conditional: bool = False

    def merge_with(self, other: Signs) -> Signs:
        """Returns the union of both sets of signs."""
        return Signs(*(a or b for a, b in zip(self, other, strict=True)))


class ProseVerdict(NamedTuple):
    """The answer of a text in prose, and the reason."""

    pred: Pred
    how: str


def find_signs(text: str) -> Signs:
    """Finds the signs in a cleaned text."""
    signs = Signs()
    for sentence in split_sentences(text):
        signs = signs.merge_with(_read_sentence(sentence, load_lexicon()))
    return signs


def classify_signs(signs: Signs) -> ProseVerdict:
    """Decides on an answer from the signs, by the rules of ``docs/replies.md``."""
    if signs.yes and signs.no:
        return ProseVerdict("INVALID", "it affirms and denies")
    if not (signs.yes or signs.no):
        if signs.abstains or signs.silent:
            return ProseVerdict("UNKNOWN", "it says that it cannot tell")
        return ProseVerdict("INVALID", "it says neither yes nor no, nor that it cannot tell")
    if signs.abstains:
        return ProseVerdict("INVALID", "it gives a verdict and says that it cannot tell")
    if signs.doubts or signs.conditional:
        return ProseVerdict("INVALID", "it takes its verdict back, or ties it to a condition")
    if signs.no and signs.silent:
        return ProseVerdict("INVALID", "its no rests on sources that do not say")
    return ProseVerdict("YES", "it affirms") if signs.yes else ProseVerdict("NO", "it denies")


def find_bare_sign(text: str) -> Sign | None:
    """Returns the sign of a text that consists of exactly one whole clause, or None."""
    found = [sentence for sentence in split_sentences(text) if sentence.clauses]
    if len(found) != 1 or len(found[0].clauses) != 1:
        return None
    return load_lexicon().sentences.get(found[0].clauses[0].words)


def _read_sentence(sentence: Sentence, words: Lexicon) -> Signs:
    clauses = sentence.clauses
    if not clauses:
        return Signs()
    signs = [_read_clause(clause, index, sentence, words) for index, clause in enumerate(clauses)]
    # Conditional clauses are left out: "If you do not know" is not an abstention of the writer.
    asserted = [
        word
        for clause in clauses
        if clause.words[0] not in words.conditions
        for word in clause.words
    ]
    abstains = "UNKNOWN" in signs or words.abstain.occur_in(asserted)
    if _lists_alternatives(clauses, signs, words) or words.chat.occur_in(asserted):
        return Signs(abstains=words.abstain.occur_in(asserted))
    verdicts = [index for index, sign in enumerate(signs) if sign in _VERDICTS]
    return Signs(
        yes="YES" in signs,
        no="NO" in signs,
        abstains=abstains,
        silent=words.silent.occur_in(asserted),
        doubts="DOUBT" in signs,
        conditional=bool(verdicts) and _is_conditional(clauses, verdicts[0], words),
    )


def _read_clause(clause: Clause, index: int, sentence: Sentence, words: Lexicon) -> Sign | None:
    """Returns the sign of a clause that is a whole verdict or begins with one, else None."""
    remaining = clause.words
    # "Correct: the Tiber …" means the same as "Correct.".
    is_sentence = index == 0 and all(
        other.separator in _STRONG_SEPARATORS for other in sentence.clauses[1:2]
    )
    known = words.sentences if is_sentence else words.clauses
    for _ in range(_MAX_LEADS):
        sign = known.get(remaining)
        if sign is not None:
            last = index == len(sentence.clauses) - 1
            return None if last and sentence.is_numbered and len(remaining) == 1 else sign
        if index == 0 or clause.separator in _STRONG_SEPARATORS:
            for size in range(min(words.max_clause_words, len(remaining) - 1), 0, -1):
                particle = remaining[:size]
                if particle in words.clauses and remaining[size] in words.follows.get(particle, ()):
                    return words.clauses[particle]
        size = next(
            (n for n in (4, 3, 2, 1) if remaining[:n] in words.leads and n < len(remaining)), 0
        )
        if not size:
            return None
        remaining = remaining[size:]
    return None


def _lists_alternatives(
    clauses: tuple[Clause, ...], signs: list[Sign | None], words: Lexicon
) -> bool:
    """Returns whether a sentence only lists the possible answers: "YES, NO, or UNKNOWN"."""
    for index, clause in enumerate(clauses):
        if clause.words[0] in words.alternatives and clause.words[1:] in words.clauses:
            return True
        if index and clause.separator in ("/", "|") and signs[index] and signs[index - 1]:
            return True
    return False


def _is_conditional(clauses: tuple[Clause, ...], verdict: int, words: Lexicon) -> bool:
    """Returns whether the verdict depends on a condition: "yes if …", "no, unless …"."""
    clause_words = clauses[verdict].words
    prefixes = (clause_words[: size + 1] for size in range(len(clause_words)))
    conditions = next(
        (found for prefix in prefixes if (found := words.conditions_by_verdict.get(prefix))),
        words.conditions,
    )
    following = clauses[verdict + 1 : verdict + 2]
    return bool(conditions.intersection(clause_words[1:])) or any(
        clause.words[0] in conditions for clause in following
    )
