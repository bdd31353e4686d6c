"""What sentences say about the question: verdicts, abstentions, doubt, silence of the sources."""

from __future__ import annotations

from typing import Literal, NamedTuple

from eval.replies.lexicon import Lexicon, Sign, lexicon
from eval.replies.wording import Clause, Sentence, sentences_of

Pred = Literal["YES", "NO", "UNKNOWN", "INVALID"]
_VERDICTS = ("YES", "NO")
_MAX_LEADS = 4
_STRONG = frozenset((":", "(", "-", "--", "‒", "–", "—", "―"))
"""Pauses behind which a clause stands for itself."""


class Signs(NamedTuple):
    """All that a stretch of text says about the question."""

    yes: bool = False
    no: bool = False
    abstains: bool = False
    silent: bool = False
    doubts: bool = False
    conditional: bool = False

    def joined(self, other: Signs) -> Signs:
        """What both say together."""
        return Signs(*(a or b for a, b in zip(self, other, strict=True)))


class Heard(NamedTuple):
    """What prose amounts to, and why."""

    pred: Pred
    how: str


def signs_of(text: str) -> Signs:
    """The signs in a cleaned text."""
    signs = Signs()
    for sentence in sentences_of(text):
        signs = signs.joined(_of_sentence(sentence, lexicon()))
    return signs


def heard(signs: Signs) -> Heard:
    """What a reply in prose says, by the rules of ``docs/replies.md``."""
    if signs.yes and signs.no:
        return Heard("INVALID", "it affirms and denies")
    if not (signs.yes or signs.no):
        if signs.abstains or signs.silent:
            return Heard("UNKNOWN", "it says that it cannot tell")
        return Heard("INVALID", "it says neither yes nor no, nor that it cannot tell")
    if signs.abstains:
        return Heard("INVALID", "it gives a verdict and says that it cannot tell")
    if signs.doubts or signs.conditional:
        return Heard("INVALID", "it takes its verdict back, or ties it to a condition")
    if signs.no and signs.silent:
        return Heard("INVALID", "its no rests on sources that do not say")
    return Heard("YES", "it affirms") if signs.yes else Heard("NO", "it denies")


def bare(text: str) -> Sign | None:
    """What a text says that is nothing but one whole clause."""
    found = [sentence for sentence in sentences_of(text) if sentence.clauses]
    if len(found) != 1 or len(found[0].clauses) != 1:
        return None
    return lexicon().sentences.get(found[0].clauses[0].words)


def _of_sentence(sentence: Sentence, words: Lexicon) -> Signs:
    clauses = sentence.clauses
    if not clauses:
        return Signs()
    said = [_of_clause(clause, at, sentence, words) for at, clause in enumerate(clauses)]
    # "If you do not know" says nothing about who writes it.
    told = [
        word
        for clause in clauses
        if clause.words[0] not in words.conditions
        for word in clause.words
    ]
    abstains = "UNKNOWN" in said or words.abstain.occur_in(told)
    if _lists_alternatives(clauses, said, words) or words.chat.occur_in(told):
        return Signs(abstains=words.abstain.occur_in(told))
    verdicts = [at for at, sign in enumerate(said) if sign in _VERDICTS]
    return Signs(
        yes="YES" in said,
        no="NO" in said,
        abstains=abstains,
        silent=words.silent.occur_in(told),
        doubts="DOUBT" in said,
        conditional=bool(verdicts) and _conditional(clauses, verdicts[0], words),
    )


def _of_clause(clause: Clause, at: int, sentence: Sentence, words: Lexicon) -> Sign | None:
    """What a clause says by itself: it is a whole verdict, or begins with one."""
    rest = clause.words
    # "Correct: the Tiber …" says as much as "Correct." does.
    whole = at == 0 and all(other.before in _STRONG for other in sentence.clauses[1:2])
    known = words.sentences if whole else words.clauses
    for _ in range(_MAX_LEADS):
        sign = known.get(rest)
        if sign is not None:
            last = at == len(sentence.clauses) - 1
            return None if last and sentence.numbered and len(rest) == 1 else sign
        if at == 0 or clause.before in _STRONG:
            for size in range(min(words.longest, len(rest) - 1), 0, -1):
                particle = rest[:size]
                if particle in words.clauses and rest[size] in words.follows.get(particle, ()):
                    return words.clauses[particle]
        size = next((n for n in (4, 3, 2, 1) if rest[:n] in words.leads and n < len(rest)), 0)
        if not size:
            return None
        rest = rest[size:]
    return None


def _lists_alternatives(
    clauses: tuple[Clause, ...], said: list[Sign | None], words: Lexicon
) -> bool:
    """Whether the sentence only names the possible answers: "YES, NO, or UNKNOWN", "yes/no"."""
    for at, clause in enumerate(clauses):
        if clause.words[0] in words.alternatives and clause.words[1:] in words.clauses:
            return True
        if at and clause.before in ("/", "|") and said[at] and said[at - 1]:
            return True
    return False


def _conditional(clauses: tuple[Clause, ...], verdict: int, words: Lexicon) -> bool:
    """Whether the verdict hangs on a condition: "yes if …", "no, unless …"."""
    said = clauses[verdict].words
    conditions = next(
        (found for n in range(len(said)) if (found := words.conditions_of.get(said[: n + 1]))),
        words.conditions,
    )
    following = clauses[verdict + 1 : verdict + 2]
    return bool(conditions.intersection(said[1:])) or any(
        clause.words[0] in conditions for clause in following
    )
