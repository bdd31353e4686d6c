"""Checks what rows say of the questions that have no answer."""

from __future__ import annotations

from collections.abc import Iterator

from eval.harness.predictions.reader import show_text
from eval.outcomes.reader import Answer, GradedAnswers
from kg.base.errors import RecordError
from kg.base.plain_text import format_count


def check_answerability(graded: GradedAnswers) -> list[str]:
    """Returns notes on rows that do not say whether a question has an answer, or contradict it.

    Raises:
        RecordError: all answers of a system to questions without an answer are right, so that its
            refusals must be graded so, or `answerable` says the opposite.
    """
    return [*_explain_missing_skill(graded), *_note_impossible(graded)]


def _explain_missing_skill(graded: GradedAnswers) -> Iterator[str]:
    """Notes that there is no skill, if only some questions say whether they are answerable."""
    known = {answer.id for answer in graded.answers if answer.answerable is not None}
    unknown = [answer for answer in graded.answers if answer.id not in known]
    if known and unknown:
        n_unknown = len({answer.id for answer in unknown})
        yield (
            f"{n_unknown:,} of {format_count(len(known) + n_unknown, 'question')} "
            f"{'has' if n_unknown == 1 else 'have'} no `answerable`: no skill; "
            f"{'it' if n_unknown == 1 else 'the first'} is {show_text(unknown[0].id)} "
            f"({_get_place(graded, unknown[0])})"
        )


def _note_impossible(graded: GradedAnswers) -> Iterator[str]:
    """Notes right answers to questions that have none; raises as ``check_answerability``."""
    # A question of both kinds is another error.
    answerable = {answer.id for answer in graded.answers if answer.answerable}
    unanswerable = {a.id for a in graded.answers if a.answerable is False} - answerable
    by_system: dict[str, list[Answer]] = {}
    for answer in graded.answers:
        if answer.id in unanswerable:
            by_system.setdefault(answer.system, []).append(answer)
    for system, found in by_system.items():
        right = [answer for answer in found if answer.outcome == "right"]
        if not right:
            continue
        is_one = len(right) == 1
        problem = (
            f"{format_count(len(right), 'row')} of {system} {'is' if is_one else 'are'} right "
            f"although {'its question is' if is_one else 'their questions are'} marked as having "
            "no answer"
        )
        place = _get_place(graded, right[0])
        if len(right) == len(found):
            raise RecordError(
                f"{problem}, and all rows on such questions are right",
                where=place,
                hint="A refusal is `abstained`, not right: change these rows, or say what their "
                "grade means with --value THEIRS=abstained. Or does the field for `answerable` say "
                "the opposite?",
            )
        yield f"{problem}: a refusal is `abstained`, not right (the first: {place})"


def _get_place(graded: GradedAnswers, answer: Answer) -> str:
    return graded.places[answer.system, answer.id, answer.repeat]
