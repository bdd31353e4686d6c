"""Asks about a claim in other words that fit every predicate, for domains without paraphrases."""

from __future__ import annotations

_ABOUT_CLAUSE = (
    "Is it correct that {clause}?",
    "Is it the case that {clause}?",
    "Is it a fact that {clause}?",
    "Would it be right to say that {clause}?",
    "Is the statement “{clause}” true?",
    "Does this hold: {clause}?",
)
_ABOUT_NOUN = ("For {subj}, is the {noun} {obj}?", "Is {obj} the {noun} of {subj}?")


def list_general_questions(clause: str, subj: str, obj: str, noun: str = "") -> list[str]:
    """Lists questions that ask whether a claim is true, whatever its predicate.

    All mean what "Is it true that …?" means, and none of them is a usual question.

    Args:
        clause: the claim: "the Rhine flows into the North Sea".
        subj: the name of its subject.
        obj: the name of its object.
        noun: what the object is to the subject, if it is its only one: "mouth".
    """
    questions = [question.replace("{clause}", clause) for question in _ABOUT_CLAUSE]
    if noun:
        questions += [q.format(subj=subj, obj=obj, noun=noun) for q in _ABOUT_NOUN]
    return questions
