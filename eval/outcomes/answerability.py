"""Checks what rows say of the questions that have no answer.

Two files look alike: one where a good refusal is graded right, and one whose field says the
opposite, such as ``is_impossible``. Both have right answers to questions without an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from eval.harness.predictions.reader import show_text
from eval.outcomes.reader import Answer, GradedAnswers
from kg.base.errors import RecordError, SettingError
from kg.base.plain_text import format_count

MAX_IMPOSSIBLE: Final = 0.05
"""Share of the answers to questions without an answer that may be right, by mistakes of rows."""
_MIN_IMPOSSIBLE: Final = 3
"""Fewer right answers than these are mistakes of rows, whatever their share, unless all are."""
_OPPOSITES: Final = re.compile(
    r"un_?answerable|not_?answerable|impossible|should_?(abstain|refuse)|(^|_|has)no_?answer|false_?premise"
)
"""Names of fields that say that a question has no answer."""


def check_field_name(field_map: Mapping[str, str]) -> None:
    """Refuses a field for ``answerable`` whose name says the opposite, and two fields for it.

    Raises:
        SettingError: it does, or both fields are named.
    """
    name = field_map.get("answerable", "")
    if name and "unanswerable" in field_map:
        raise SettingError(
            "answerable and unanswerable say the same",
            where="--map",
            hint="Name a field for one of them.",
        )
    if _OPPOSITES.search(re.sub(r"[^a-z]+", "_", name.casefold())):
        raise SettingError(
            f"by its name, {show_text(name)} is true of questions that have no answer",
            where=f"--map answerable={name}",
            hint=f"If so, write --map unanswerable={name}; else rename the field.",
        )


def read_right_refusals(graded: GradedAnswers) -> None:
    """Takes answers that are graded right, on questions without an answer, as abstentions.

    Raises:
        SettingError: no question is marked as having no answer.
    """
    unanswerable = _find_unanswerable(graded)
    if not unanswerable:
        raise SettingError(
            "no question is marked as having no answer",
            where="--right-refusals",
            hint="Name the field that says so with --map answerable=… or --map unanswerable=….",
        )
    is_refusal = [a.outcome == "right" and a.id in unanswerable for a in graded.answers]
    graded.answers = [
        answer._replace(outcome="abstained") if refused else answer
        for answer, refused in zip(graded.answers, is_refusal, strict=True)
    ]
    graded.notes.append(
        f"{format_count(sum(is_refusal), 'right answer')} to questions without an answer "
        f"{'is' if sum(is_refusal) == 1 else 'are'} read as abstained, due to --right-refusals"
    )


def check_answerability(graded: GradedAnswers) -> list[str]:
    """Returns notes on rows that do not say whether a question has an answer, or contradict it.

    Raises:
        RecordError: more than ``MAX_IMPOSSIBLE`` of a system's answers to questions without an
            answer are right, so that its refusals must be graded so, or `answerable` says the
            opposite.
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
    n_expected = max((n for n, _ in graded.expected.values()), default=0)
    n_unseen = n_expected - len({answer.id for answer in graded.answers})
    if known and not unknown and n_unseen > 0:
        yield "whether the questions that a log lacks have an answer is not known: no skill"


def _find_unanswerable(graded: GradedAnswers) -> set[str]:
    # A question of both kinds is another error.
    answerable = {answer.id for answer in graded.answers if answer.answerable}
    return {a.id for a in graded.answers if a.answerable is False} - answerable


def _note_impossible(graded: GradedAnswers) -> Iterator[str]:
    """Notes right answers to questions that have none; raises as ``check_answerability``."""
    unanswerable = _find_unanswerable(graded)
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
        is_many = len(right) >= _MIN_IMPOSSIBLE and len(right) > MAX_IMPOSSIBLE * len(found)
        if is_many or len(right) == len(found):
            raise RecordError(
                f"{problem}, of {format_count(len(found), 'row')} on such questions",
                where=place,
                hint="If the file grades a good refusal as right, add --right-refusals. If the "
                "field says that a question has no answer, write --map unanswerable=FIELD. Else "
                "these rows are wrong, or their grade needs --value THEIRS=abstained.",
            )
        yield f"{problem}: a refusal is `abstained`, not right (the first: {place})"


def _get_place(graded: GradedAnswers, answer: Answer) -> str:
    return graded.places[answer.system, answer.id, answer.repeat]
