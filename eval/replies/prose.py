"""Finds verdicts, abstentions, doubt and silence of the sources in the sentences of a reply."""

from __future__ import annotations

from typing import Literal, NamedTuple

from eval.replies.lexicon import Lexicon, Sign, load_lexicon
from eval.replies.sentences import Clause, Sentence, split_sentences

Pred = Literal["YES", "NO", "UNKNOWN", "INVALID"]
_VERDICTS = ("YES", "NO")
_MAX_LEADS = 4
"""Maximum number of introductory phrases before a verdict: "So, I would say, yes" has two."""
_NOT_ENOUGH_INFORMATION = "NEI"
"""FEVER's label "not enough info"; in other cases of its letters it is Norwegian for no."""
_AROUND_LABELS = " \t\n.!:;'\"()[]"
_STRONG_SEPARATORS = frozenset((":", "(", "-", "--", "‒", "–", "—", "―"))
"""Separators after which a clause is read on its own."""


class Signs(NamedTuple):
    """The signs that a text contains about the question."""

    yes: bool = False
    """It affirms."""
    no: bool = False
    """It denies."""
    abstains: bool = False
    """It states that the answer is not known."""
    silent: bool = False
    """It states that the sources do not contain the answer."""
    doubts: bool = False
    """It says "maybe" or the like."""
    limited: bool = False
    """It says "sometimes" or the like, which takes a yes back but no "no"."""
    conditional: bool = False
    """Its verdict depends on a condition."""
    refuses: bool = False
    """Its writer will not answer: "no" is then no answer to the question, but "yes" is."""

    def merge_with(self, other: Signs) -> Signs:
        """Returns the union of both sets of signs."""
        return Signs(*(a or b for a, b in zip(self, other, strict=True)))


class ProseVerdict(NamedTuple):
    """The answer of a text in prose, and the reason."""

    pred: Pred
    how: str


def find_signs(text: str) -> Signs:
    """Finds the signs in a cleaned text."""
    if _is_label(text):
        return Signs(abstains=True)
    signs = Signs()
    for sentence in split_sentences(text):
        signs = signs.merge_with(_read_sentence(sentence, load_lexicon()))
    return signs


def classify_signs(signs: Signs) -> ProseVerdict:
    """Decides on an answer from the signs, by the rules of ``docs/reference/replies.md``."""
    if signs.yes and signs.no:
        return ProseVerdict("INVALID", "it affirms and denies")
    if not (signs.yes or signs.no):
        if signs.abstains or signs.silent:
            return ProseVerdict("UNKNOWN", "it says that it cannot tell")
        return ProseVerdict("INVALID", "it says neither yes nor no, nor that it cannot tell")
    if signs.abstains:
        return ProseVerdict("INVALID", "it gives a verdict and says that it cannot tell")
    if signs.refuses and signs.no:
        return ProseVerdict("INVALID", "it refuses to answer")
    if signs.doubts or signs.conditional or (signs.limited and signs.yes):
        return ProseVerdict("INVALID", "it takes its verdict back, or ties it to a condition")
    if signs.no and signs.silent:
        return ProseVerdict("INVALID", "its no rests on sources that do not say")
    return ProseVerdict("YES", "it affirms") if signs.yes else ProseVerdict("NO", "it denies")


def find_clause_sign(text: str) -> Sign | None:
    """Returns the sign of a text that consists of exactly one whole clause, or None."""
    if _is_label(text):
        return "UNKNOWN"
    sentences = [sentence for sentence in split_sentences(text) if sentence.clauses]
    if len(sentences) != 1 or len(sentences[0].clauses) != 1:
        return None
    return load_lexicon().sentences.get(sentences[0].clauses[0].words)


def _is_label(text: str) -> bool:
    """Returns whether a text is nothing but the label for too little information."""
    return text.strip(_AROUND_LABELS) == _NOT_ENOUGH_INFORMATION


def _read_sentence(sentence: Sentence, lexicon: Lexicon) -> Signs:
    clauses = sentence.clauses
    if not clauses:
        return Signs()
    signs = [_read_clause(clause, index, sentence, lexicon) for index, clause in enumerate(clauses)]
    # Conditional clauses are left out: "If you do not know" is not an abstention of the writer.
    asserted_words = [
        word
        for clause in clauses
        if clause.words[0] not in lexicon.conditions
        for word in clause.words
    ]
    abstains = "UNKNOWN" in signs or lexicon.abstain.occur_in(asserted_words)
    # Phrases of politeness (``chat``) make a "yes" mean something else: "Yes, I can help".
    if _lists_alternatives(clauses, signs, lexicon) or lexicon.chat.occur_in(asserted_words):
        return Signs(abstains=lexicon.abstain.occur_in(asserted_words))
    verdicts = [index for index, sign in enumerate(signs) if sign in _VERDICTS]
    return Signs(
        yes="YES" in signs,
        no="NO" in signs,
        abstains=abstains,
        silent=lexicon.silent.occur_in(asserted_words),
        doubts="DOUBT" in signs,
        # A sentence of its own, "Only sometimes.", is about the verdict of another one.
        limited="LIMIT" in signs and (bool(verdicts) or set(signs) == {"LIMIT"}),
        conditional=bool(verdicts) and _is_conditional(clauses, verdicts[0], lexicon),
        refuses=lexicon.refuse.occur_in(asserted_words),
    )


def _read_clause(clause: Clause, index: int, sentence: Sentence, lexicon: Lexicon) -> Sign | None:
    """Returns the sign of a clause that is a whole verdict or begins with one, else None."""
    remaining = clause.words
    # A sentence of one clause, or a first clause before a colon or dash: "Correct: the Tiber …"
    # means the same as "Correct.".
    stands_alone = index == 0 and all(
        next_clause.separator in _STRONG_SEPARATORS for next_clause in sentence.clauses[1:2]
    )
    signs_by_words = lexicon.sentences if stands_alone else lexicon.clauses
    for _ in range(_MAX_LEADS):
        sign = signs_by_words.get(remaining)
        if sign is not None:
            is_last = index == len(sentence.clauses) - 1
            # "No. 5" is a number, not a verdict.
            return None if is_last and sentence.is_numbered and len(remaining) == 1 else sign
        if index == 0 or clause.separator in _STRONG_SEPARATORS:
            for size in range(min(lexicon.max_clause_words, len(remaining) - 1), 0, -1):
                # A verdict whose next word may follow it without a pause: "yes it does".
                verdict_words = remaining[:size]
                if verdict_words in lexicon.clauses and remaining[size] in lexicon.follows.get(
                    verdict_words, ()
                ):
                    return lexicon.clauses[verdict_words]
        size = next(
            (n for n in (4, 3, 2, 1) if remaining[:n] in lexicon.leads and n < len(remaining)), 0
        )
        if not size:
            return None
        remaining = remaining[size:]
    return None


def _lists_alternatives(
    clauses: tuple[Clause, ...], signs: list[Sign | None], lexicon: Lexicon
) -> bool:
    """Returns whether a sentence only lists the possible answers: "YES, NO, or UNKNOWN"."""
    for index, clause in enumerate(clauses):
        if clause.words[0] in lexicon.alternatives and clause.words[1:] in lexicon.clauses:
            return True
        if index and clause.separator in ("/", "|") and signs[index] and signs[index - 1]:
            return True
    return False


def _is_conditional(clauses: tuple[Clause, ...], verdict_index: int, lexicon: Lexicon) -> bool:
    """Returns whether the verdict depends on a condition: "yes if …", "no, unless …"."""
    clause_words = clauses[verdict_index].words
    prefixes = (clause_words[: size + 1] for size in range(len(clause_words)))
    conditions = next(
        (
            verdict_conditions
            for prefix in prefixes
            if (verdict_conditions := lexicon.conditions_by_verdict.get(prefix))
        ),
        lexicon.conditions,
    )
    next_clauses = clauses[verdict_index + 1 :]
    after_buts = (
        # "But only, if" has a comma in German.
        [word for part in next_clauses[index : index + 2] for word in part.words][1:3]
        for index, clause in enumerate(next_clauses)
        if clause.words[0] in lexicon.buts
    )
    return (
        bool(conditions.intersection(clause_words[1:]))
        or any(clause.words[0] in conditions for clause in next_clauses[:1])
        or any(
            tuple(words[:size]) in lexicon.but_conditions for words in after_buts for size in (1, 2)
        )
    )
